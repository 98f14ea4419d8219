/* Categories of memory: the words that schedules, pools and reports share. */
#pragma once

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
  POOL_N_CATEGORIES,
} PoolCategory;

/* "parameter", "gradient", ... */
const char *pool_category_name (PoolCategory category);
