/* `plan --membership`: what runs come to whose nodes leave and join. */
#pragma once

#include "analysis/membership.h"

/* A scenario's run over the trace. */
typedef struct
{
  char             *label; /* of the scenario; owned */
  const Membership *membership;
  GPtrArray        *predictions; /* Prediction* of each row, owned; NULL: it was not asked for */
  GArray           *spans;       /* MembershipSpan, owned */
  char             *why;         /* there is no run; owned, NULL: there is */
  double            goal_s;      /* when it has to be over; 0: whenever */
} MembershipRun;

/* Without predictions and spans. MEMBERSHIP outlives it. */
MembershipRun *membership_run_new (const char *label, const Membership *membership);
void           membership_run_free (MembershipRun *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MembershipRun, membership_run_free)

double membership_run_wall (const MembershipRun *self); /* s */

/* RUNS: MembershipRun*. */
void report_membership_text (const GPtrArray *runs, GString *out);

/* A row a span. */
void report_membership_csv (const GPtrArray *runs, GString *out);

/* {"schema": 1, "runs": [{"scenario": ..., "wall_s": ..., "spans": [...]}]} */
void report_membership_json (const GPtrArray *runs, GString *out);
