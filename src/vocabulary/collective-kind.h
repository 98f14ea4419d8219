/*
 * Kinds of collectives: the one list from what a strategy issues to what a cluster runs.
 *
 * The size S of an operation is nccl-tests': see beside each kind.
 */
#pragma once

#include <glib.h>

typedef enum
{
  COLLECTIVE_ALL_GATHER,     /* bytes: total received (members x contribution) */
  COLLECTIVE_REDUCE_SCATTER, /* bytes: total input (members x result) */
  COLLECTIVE_ALL_REDUCE,     /* bytes: the buffer */
  COLLECTIVE_BROADCAST,      /* bytes: the buffer */
  COLLECTIVE_REDUCE,         /* bytes: the buffer */
  COLLECTIVE_ALL_TO_ALL,     /* bytes: a rank's whole send buffer */
  COLLECTIVE_SEND_RECV,      /* bytes: one message; every member sends to the next of the group and
                                receives from the one before */
  COLLECTIVE_N_KINDS,
} CollectiveKind;

extern const char *const collective_kind_names[]; /* of all, then NULL */

const char *collective_kind_name (CollectiveKind kind); /* "all_gather" */

gboolean collective_kind_is_rooted (CollectiveKind kind); /* out of one rank, or into one */
gboolean collective_kind_is_paired (CollectiveKind kind); /* messages, each of two ranks */
gboolean collective_kind_sums (CollectiveKind kind);      /* the ranks' data are added up */
guint    collective_kind_rounds (CollectiveKind kind); /* through all ranks: 2 of all-reduce, which
                                                          scatters sums and gathers them */

/*
 * COLLECTIVE_N_KINDS when there is none. Underscores do not count, so that nccl-tests' spellings
 * "alltoall" and "sendrecv" are taken as well, and neither does case.
 */
CollectiveKind collective_kind_parse (const char *name);
