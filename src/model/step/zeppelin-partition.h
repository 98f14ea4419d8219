/*
 * Which ranks attend to which sequence under Zeppelin (arXiv:2509.21841, algorithms 1 and 2, whose
 * structure is published; what it leaves open is said below).
 *
 * The longest first: a sequence that is longer than a node's ranks may hold lies on whole nodes,
 * the block of nodes with the fewest tokens; any other on the node with the fewest. Inside a node
 * the same: one that is longer than a rank may hold is split over as many ranks as it needs, the
 * block with the least work; any other goes to the rank with the least work that has room for it,
 * or to the least block in which each has room for its part. Work is s^2 / ranks for each of the
 * ranks, as 2 G chunks balance a causal mask.
 *
 * Open: how many ranks share a sequence. Here it is a power of two, of neighbours from a multiple
 * of that on, so that ring groups are few; the paper takes any least loaded GPUs.
 */
#pragma once

#include <glib.h>

/* The RANKS that attend to a sequence, from FIRST on. */
typedef struct
{
  guint first, ranks;
} ZeppelinPlace;

/*
 * A place for each of the N LENGTHS on N_RANKS ranks, PER_NODE of them a node: powers of two. Each
 * rank may hold CAPACITY tokens; where all together have no room, what is left over goes to all
 * ranks of its node. Free with g_free.
 */
ZeppelinPlace *zeppelin_partition_of (const gint64 *lengths, guint n, guint n_ranks, guint per_node,
                                      gint64 capacity);

/*
 * Tokens that the fullest rank sends or gets where N_RANKS ranks with TOKENS each for attention
 * leave it with equally many of them: the largest difference from the mean.
 */
double zeppelin_remapped (const double *tokens, guint n_ranks);
