/*
 * A run whose nodes leave and join, by a trace in CSV of how many are there from when on, in all or
 * at each site of the cluster; the last row lasts.
 *
 *   time,nodes          time,oregon,virginia,tokyo
 *   0 h,4               0 h,2,2,2
 *   30 h,14             30 h,2,2,0
 *
 * Each row is a cluster of its own, whose pace the caller predicts. Workers exchange at the end of
 * rounds of H steps, and only there does it matter who is there: the round that a change falls in
 * goes on to its end. What those who leave did in it is lost, and all wait until they are left out;
 * after it all wait until those who join have the state. Nodes that leave and come back within a
 * round lose it as well.
 */
#pragma once

#include "predict/prediction.h"

typedef struct
{
  double from_s;
  guint *nodes; /* [n_places] */
  guint  n_nodes;
} MembershipRow;

typedef struct
{
  guint   n_places;
  char  **places; /* sites, or "nodes"; [n_places], then NULL */
  GArray *rows;   /* MembershipRow, of ascending times, from 0 on */
} Membership;

/* NULL after diagnostics. SITES: names of the cluster's, NULL-ended; NULL: it has none. */
Membership *membership_read (const char *file, const char *const *sites, DiagList *diags);
void        membership_free (Membership *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Membership, membership_free)

const MembershipRow *membership_row (const Membership *self, guint i);

/* "oregon:2,virginia:2" of a row, as cluster.site_nodes. Newly allocated; NULL: without sites. */
char *membership_site_nodes (const Membership *self, guint row);

/* What the cluster of a row does. */
typedef struct
{
  double step_s, tokens_per_step;
  guint  round_steps; /* H */
} MembershipPace;

/* A row that rounds saw: what came of it. */
typedef struct
{
  guint   row;
  double  from_s, to_s; /* from the end of a round to that of another, with what all wait then */
  double  tokens;
  double  lost_tokens; /* of those that left in its last round */
  guint64 n_rounds;
  guint   n_left, n_joined; /* nodes, in its last round and at its end */
} MembershipSpan;

/* The pace of a row that has nodes; FALSE after diagnostics: there is none. */
typedef gboolean (*MembershipPredict) (guint row, gpointer who, MembershipPace *pace);

/*
 * Until TOKENS are trained, to whole rounds. NOTICE_S, JOIN_S: how long all wait for those that are
 * lost, and for those that join, together. Appends to SPANS (MembershipSpan). FALSE: PREDICT
 * failed, or (*STUCK) the last row has no nodes and tokens are left.
 */
gboolean membership_walk (const Membership *self, double tokens, double notice_s, double join_s,
                          MembershipPredict predict, gpointer who, GArray *spans, gboolean *stuck);
