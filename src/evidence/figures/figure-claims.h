/*
 * What the claims of a paper rest on. A figure has evidence: published numbers
 * beside predictions of them, over all settings that nobody published. NAME.claims.csv, which may
 * stand beside the figures NAME, says which of it each headline is about, a line a claim:
 *
 *   claim,meaning,rows,metric,goal_percent,free,rests_on,remark
 *   "FCDP over ZeRO-3, LoRA at 1 Gb/s",up to,"LoRA at 1 Gb/s, FCDP over ZeRO-3","...",10,
 *     "models, lengths and batches",,
 *
 * `rows` has what names of rows begin with, several apart by " | "; `metric` the same of theirs. A
 * claim is about all rows that both allow, and empty they allow all.
 *
 * A row is judged by whether the goal is met: in every setting, which is by mechanism; in some,
 * which follows from the settings; or in none, which is a miss. So is what does not fit memory.
 * What is published as "up to" is measured against the greatest prediction, and follows where
 * something is free. What rests on an input that is itself part of the claim, or of what it is
 * compared with, follows from that. A claim counts as the worst of its rows.
 */
#pragma once

#include "base/config/diag.h"

typedef struct
{
  const char *row, *metric;              /* the figure's */
  double      published, published_high; /* equal, or a range */
  double      low, high; /* of the predictions; NAN: there is none, as a limit of time was met */
  gboolean    fits;
} FigureEvidence;

typedef enum
{
  CLAIM_MECHANISM,
  CLAIM_FOLLOWS,
  CLAIM_MISSED,
  CLAIM_N_VERDICTS,
} ClaimVerdict;

/* How many rows count as what, and how far the worst of each is off. */
typedef struct
{
  guint  n[CLAIM_N_VERDICTS];
  double worst[CLAIM_N_VERDICTS]; /* predicted / published - 1: in the worst setting of what is by
                                     mechanism, in the best of the others; 0 where n is */
} ClaimCount;

typedef struct
{
  const char *claim, *meaning, *rows, *metric, *free, *rests_on, *remark;
  double      goal_percent;
  double      published_low, published_high, low, high; /* of all its rows */
  ClaimCount  count;
} FigureClaim;

typedef struct
{
  GArray       *claims; /* FigureClaim */
  GStringChunk *strings;
} FigureClaims;

/* What claim counts as. */
ClaimVerdict figure_claim_verdict (const FigureClaim *claim);

/* All of EVIDENCE that is predicted, each number by itself, against GOAL_PERCENT. */
ClaimCount figure_evidence_count (const GArray *evidence, double goal_percent);

/* |predicted / published - 1| of the farther end of each; of doubles, newly allocated. */
GArray *figure_evidence_errors (const GArray *evidence);

/*
 * The claims of the figures NAME in FOLDER, judged by EVIDENCE, but those of which nothing is
 * predicted; none where there is no such file. NULL after diagnostics: a claim must have rows.
 */
FigureClaims *figure_claims_judge (const char *folder, const char *name, const GArray *evidence,
                                   DiagList *diags);
void          figure_claims_free (FigureClaims *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FigureClaims, figure_claims_free)
