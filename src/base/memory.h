/*
 * Categories of memory: the words that schedules, pools and reports share, and the order of
 * allocations inside a buffer.
 */
#pragma once

#include <glib.h>

typedef enum
{
  POOL_PARAMETER, /* persistent parameters (shards, or full copies) */
  POOL_GRADIENT,
  POOL_OPTIMIZER,
  POOL_ACTIVATION,
  POOL_GATHERED,      /* transient gathered parameters */
  POOL_COMMUNICATION, /* bucket and staging buffers of collectives */
  POOL_CACHE,         /* parameter caches (FCDP's host cache, secondary shards) */
  POOL_WORKSPACE,     /* kernel workspaces, logits and other short-lived tensors */
  POOL_RUNTIME,       /* CUDA context, NCCL: outside the framework's allocator */
  POOL_OUTER,         /* outer parameters and momentum of workers that train on their own */
  POOL_N_CATEGORIES,
} PoolCategory;

/* Whether it holds what training begins with: what is there before anything writes it. */
static inline gboolean
pool_category_is_filled (PoolCategory category)
{
  return category == POOL_PARAMETER || category == POOL_OPTIMIZER || category == POOL_OUTER;
}

/* "parameter", "gradient", ... */
const char *pool_category_name (PoolCategory category);

/* How a framework gives out a GPU's memory. */
typedef enum
{
  ALLOCATOR_CACHING,
  ALLOCATOR_EXPANDABLE,
  ALLOCATOR_IDEAL, /* no allocator: every byte counts as itself */
} AllocatorKind;

/* A tensor comes (`bytes` > 0) or goes. */
typedef struct
{
  guint32 tensor; /* below MemoryProgram.n_tensors */
  guint64 bytes;
} MemoryStep;

/*
 * The allocations and frees of one pass over a layer, in the order in which the host makes them.
 * The first `n_to_peak` lead to the moment when most is alive. Passes that hand tensors on (forward
 * to backward) number them alike.
 */
typedef struct
{
  const MemoryStep *steps;
  guint             n_steps, n_to_peak, n_tensors;
} MemoryProgram;
