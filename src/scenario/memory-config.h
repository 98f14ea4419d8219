/*
 * The `memory` section of a scenario: how a GPU's memory is given out. The same table drives the
 * command line.
 */
#pragma once

#include "base/memory.h"
#include "base/option.h"

typedef struct
{
  gint allocator; /* AllocatorKind */
} MemoryConfig;

extern const OptionSpec memory_options[];
