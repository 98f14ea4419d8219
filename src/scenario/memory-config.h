/*
 * The `memory` section of a scenario: how a GPU's memory is given out. The same table drives the
 * command line.
 */
#pragma once

#include "base/config/option.h"
#include "base/memory.h"

/* Of matrix products, from the framework's allocator, for good. */
typedef enum
{
  WORKSPACES_NONE,
  WORKSPACES_TORCH,              /* one a handle of cuBLAS and stream */
  WORKSPACES_TRANSFORMER_ENGINE, /* and its own */
} Workspaces;

typedef struct
{
  gint   allocator;                /* AllocatorKind */
  double max_split_size;           /* bytes; 0: none */
  gint   roundup_power2_divisions; /* log2 of them; 0: sizes of 512 B */
  gint   workspaces;               /* Workspaces */
} MemoryConfig;

extern const OptionSpec memory_options[];
