#include "scenario/memory-config.h"

static const char *const allocators[] = {
  [ALLOCATOR_CACHING] = "caching",
  [ALLOCATOR_EXPANDABLE] = "expandable",
  [ALLOCATOR_IDEAL] = "ideal",
  NULL,
};

const OptionSpec memory_options[] = {
  { .key = "allocator",
    .type = OPTION_ENUM,
    .choices = allocators,
    .offset = G_STRUCT_OFFSET (MemoryConfig, allocator),
    .fallback = "caching",
    .help =
        "of GPU memory: PyTorch's caching allocator, the same with expandable segments, or every "
        "byte as itself",
    .source = "pytorch c10/cuda/CUDACachingAllocator.cpp" },
  { 0 },
};
