#include "scenario/memory-config.h"

static const char *const allocators[] = {
  [ALLOCATOR_CACHING] = "caching",
  [ALLOCATOR_EXPANDABLE] = "expandable",
  [ALLOCATOR_IDEAL] = "ideal",
  NULL,
};

static const char *const workspaces[] = {
  [WORKSPACES_NONE] = "none",
  [WORKSPACES_TORCH] = "torch",
  [WORKSPACES_TRANSFORMER_ENGINE] = "transformer-engine",
  NULL,
};

/* Of entry i > 0 the i-th power of two. */
static const char *const divisions[] = { "none", "2", "4", "8", "16", "32", "64", NULL };

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
  { .key = "max_split_size",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    .offset = G_STRUCT_OFFSET (MemoryConfig, max_split_size),
    .optional = TRUE,
    .min = (20 << 20) + 1,
    .max = 1e12,
    .help = "blocks as large as this stay whole, for requests as large; unset = all are split",
    .source = "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb" },
  { .key = "roundup_power2_divisions",
    .type = OPTION_ENUM,
    .choices = divisions,
    .offset = G_STRUCT_OFFSET (MemoryConfig, roundup_power2_divisions),
    .fallback = "none",
    .help = "into so many steps sizes of blocks go from a power of two to the next; none = "
            "multiples of 512 B",
    .source = "PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions" },
  { .key = "workspaces",
    .type = OPTION_ENUM,
    .choices = workspaces,
    .offset = G_STRUCT_OFFSET (MemoryConfig, workspaces),
    .fallback = "none",
    .help = "that matrix products keep: PyTorch's for cuBLAS in the forward and the backward "
            "pass, or these and Transformer Engine's",
    .source = "pytorch aten/src/ATen/cuda/CublasHandlePool.cpp" },
  { 0 },
};
