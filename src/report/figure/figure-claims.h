/* The score of published figures: what their claims rest on, and how many numbers hold. */
#pragma once

#include "evidence/figures/figure-claims.h"

/* A line of score, and a table of the claims. Nothing where nothing was published. */
void report_claims_text (const FigureClaims *claims, const GArray *evidence, GString *out);

/*
 * Adds "score", null where nothing was published, and "claims" to the JSON document in OUT: each
 * with `claim`, `published`, `predicted` and `counts_as` as the text has them, `verdict`
 * (mechanism, follows, missed), and the rows of each as `n_mechanism`, `n_follows`, `n_missed`.
 */
void report_claims_json (const FigureClaims *claims, const GArray *evidence, GString *out);
