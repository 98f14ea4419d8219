/*
 * What every strategy sends, by hand: from the systems' code and papers, whose places
 * docs/strategies has. Nobody who emits or expects schedules reads this.
 */
#pragma once

#include <glib.h>

/*
 * Eight ranks in four nodes of two, three micro-steps, a llama of three blocks. A line of `hops`:
 *
 *   all_gather 2 int8-block: F123 B12, node, on all_gather
 *
 * an all-gather over 2 neighbours (`4 every 2`: over four ranks that lie two apart; `m to n`: a
 * move of the own part), encoded, in forward passes of all micro-steps and in backward passes of
 * the first two, on communicator 'node' and stream 'all_gather'. Phases: F forward, R
 * recomputation, B backward, O optimizer; X3 X6 the exchange behind the third and the sixth step of
 * a round, in all of whose steps the inner strategy does the same.
 */
typedef struct
{
  const char *strategy, *options, *hops;
} System;

/* What needs more: an inner strategy; roles; options of the training. */
typedef struct
{
  System      system;
  const char *inner;
  const char *others;   /* hops of ranks that do not lead; NULL: the same as of those that do */
  const char *training; /* "key=value" */
} Nested;

extern const System hop_rows[];
extern const Nested hop_rows_nested[];
extern const guint  hop_rows_n, hop_rows_nested_n;
