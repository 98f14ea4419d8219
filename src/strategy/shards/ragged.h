/*
 * veScale's planner: tensors one after another in a buffer that M ranks share in equal shards,
 * between which no block of a tensor is cut.
 *
 * A tensor lies in one stretch, padding only between tensors; rank k owns [k S, (k + 1) S). The
 * least S is wanted, which is NP-hard. In a given order each tensor starts as early as it may; S is
 * searched for as the paper does, among multiples of what tensors that hold whole shards make it a
 * multiple of. Source: arXiv:2602.22437, Algorithm 1.
 */
#pragma once

#include <glib.h>

typedef struct
{
  guint64 elements;
  guint64 block; /* elements, of which `elements` is a multiple; 1: may be cut anywhere */
} RaggedTensor;

/* In which order tensors lie: the paper's three, one of ours, and the best of them. */
typedef enum
{
  RAGGED_ORDER_MODEL, /* as they come: what users debug best */
  RAGGED_ORDER_BLOCK, /* the largest block first */
  RAGGED_ORDER_SHAPE, /* the largest tensor first */
  RAGGED_ORDER_FIT,   /* next is what leaves the least gap, of these the largest block's */
  RAGGED_ORDER_BEST,
} RaggedOrder;

extern const char *const ragged_order_names[]; /* "model"; by RaggedOrder, NULL-terminated */

/*
 * The least shard that the search finds for the N TENSORS on M ranks, a multiple of ALIGNMENT
 * elements, and where each of them starts (STARTS[N], or NULL). 0: there are no elements.
 */
guint64 ragged_plan (const RaggedTensor *tensors, guint n, guint64 m, guint64 alignment,
                     RaggedOrder order, guint64 *starts);

/* As many tensors as the exact solver takes. */
#define RAGGED_EXACT_MOST 14

/*
 * The least shard there is over all orders of at most RAGGED_EXACT_MOST tensors, by branch and
 * bound: time goes with their number as its power of two, for each shard that is too small.
 */
guint64 ragged_exact (const RaggedTensor *tensors, guint n, guint64 m, guint64 alignment);
