/* `plan --membership`: what runs come to whose nodes leave and join. RUNS: MembershipRun*. */
#pragma once

#include "analysis/membership-run.h"

void report_membership_text (const GPtrArray *runs, GString *out);

/* A row a span. */
void report_membership_csv (const GPtrArray *runs, GString *out);

/* {"schema": 1, "runs": [{"scenario": ..., "wall_s": ..., "spans": [...]}]} */
void report_membership_json (const GPtrArray *runs, GString *out);
