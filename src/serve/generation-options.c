#include "serve/generation-options.h"

#define OPTION(member) .offset = G_STRUCT_OFFSET (GenerationOptions, member)
#define DEGREE(key_, help_)                                                                     \
  {                                                                                             \
    .key = #key_, .type = OPTION_INT, OPTION (key_), .fallback = "1", .min = 1, .max = 1 << 16, \
    .help = help_                                                                               \
  }

static const char *const weights[] = { "bf16", "fp8", "fp8-block", "int4", "nvfp4", NULL };
static const char *const all_reduces[] = { "auto", "nccl", "one-shot", "two-shot", NULL };
static const char *const cache_dtypes[] = { "bf16", "fp8", "fp8-per-token-head", NULL };

const OptionSpec generation_options[] = {
  DEGREE (tp, "tensor-parallel ranks of an instance"),
  DEGREE (pp, "pipeline stages of an instance; its sequences are as many micro-batches"),
  DEGREE (dp, "replicas of attention that share experts: each has its own sequences, the experts "
              "are divided over all of them"),
  { .key = "enable_expert_parallel",
    .type = OPTION_BOOL,
    OPTION (enable_expert_parallel),
    .fallback = "false",
    .help = "tensor ranks have whole experts, for which all tokens are there already; else a slice "
            "of each expert",
    .source = "vLLM, enable_expert_parallel" },
  { .key = "weights",
    .type = OPTION_ENUM,
    .choices = weights,
    OPTION (weights),
    .fallback = "bf16",
    .help =
        "of the blocks' matrices; products are in that too where the GPU multiplies it, else in "
        "16 bits, as those of int4 are" },
  { .key = "cache_dtype",
    .type = OPTION_ENUM,
    .choices = cache_dtypes,
    OPTION (cache_dtype),
    .fallback = "bf16",
    .help = "of cached keys and values; fp8 has a scale a tensor, or one for each token and head",
    .source = "vLLM, kv_cache_dtype: fp8, fp8_per_token_head" },
  { .key = "all_reduce",
    .type = OPTION_ENUM,
    .choices = all_reduces,
    OPTION (all_reduce),
    .fallback = "auto",
    .help = "of tensor ranks: the library's, or kernels for small messages between the GPUs of a "
            "node; auto takes the fastest" },
  { .key = "enforce_eager",
    .type = OPTION_BOOL,
    OPTION (enforce_eager),
    .fallback = "false",
    .help = "decoding steps are launched kernel by kernel, as prompts always are; else as a graph",
    .source = "vLLM, enforce_eager" },
  { .key = "memory_utilization",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    OPTION (memory_utilization),
    .fallback = "0.9",
    .min = 0.05,
    .max = 1,
    .help = "share of a GPU's memory that is used in all",
    .source = "vLLM, gpu_memory_utilization" },
  { .key = "prefill_tokens",
    .type = OPTION_INT,
    OPTION (prefill_tokens),
    .fallback = "8192",
    .min = 1,
    .max = 1 << 24,
    .help = "of prompts that one step takes at most: longer ones are cut",
    .source = "vLLM, max_num_batched_tokens" },
  { .key = "issue_kernel",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_TIME,
    OPTION (issue_s),
    .fallback = "6 us",
    .min = 0,
    .max = 1,
    .or_zero = TRUE,
    .help = "what the host takes to launch a kernel outside of graphs [estimate]" },
  { .key = "step_overhead",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_TIME,
    OPTION (step_overhead_s),
    .fallback = "1 ms",
    .min = 0,
    .max = 10,
    .or_zero = TRUE,
    .help = "what the host does between two steps, with nothing on the GPU: scheduling, drawn "
            "tokens [estimate]; 0 where it schedules ahead" },
  { .key = "sequence_overhead",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_TIME,
    OPTION (sequence_overhead_s),
    .fallback = "0 us",
    .min = 0,
    .max = 1,
    .or_zero = TRUE,
    .help = "the same for each sequence of a step: its place in the batch, its token's text" },
  { 0 },
};

guint
generation_ranks (const GenerationOptions *self)
{
  return (guint) (self->tp * self->pp * self->dp);
}

double
generation_weight_bytes (const GenerationOptions *self)
{
  static const double bytes[] = { [SERVE_WEIGHTS_16BIT] = 2,
                                  [SERVE_WEIGHTS_FP8] = 1,
                                  [SERVE_WEIGHTS_FP8_BLOCK] = 1 + 4.0 / (128 * 128),
                                  [SERVE_WEIGHTS_INT4] = 0.5 + 2.5 / 128,
                                  [SERVE_WEIGHTS_NVFP4] = 0.5 + 1.0 / 16 };

  return bytes[self->weights];
}

MeshOptions
generation_mesh (const GenerationOptions *self)
{
  MeshOptions mesh = { .tp = self->tp, .pp = self->pp, .ep = self->dp };

  mesh.routing_skew = 1;
  mesh.whole_experts = self->enable_expert_parallel;
  mesh_normalise (&mesh);
  return mesh;
}

void
generation_take_gpu (GenerationOptions *self, const GpuProfile *gpu)
{
  const gboolean fp8 = gpu->matmul_fp8.value > 0, fp4 = gpu->matmul_fp4.value > 0;

  self->widens_weights = (self->weights == SERVE_WEIGHTS_FP8 && !fp8)
                         || (self->weights == SERVE_WEIGHTS_FP8_BLOCK && !fp8)
                         || (self->weights == SERVE_WEIGHTS_NVFP4 && !fp4);
}

void
generation_set_training (const GenerationOptions *self, ModelPass pass, TrainingOptions *training)
{
  static const Fp8Kind recipes[] = { [SERVE_WEIGHTS_16BIT] = FP8_NONE,
                                     [SERVE_WEIGHTS_FP8] = FP8_TENSORWISE,
                                     [SERVE_WEIGHTS_FP8_BLOCK] = FP8_BLOCKWISE,
                                     [SERVE_WEIGHTS_INT4] = FP8_NONE,
                                     [SERVE_WEIGHTS_NVFP4] = FP8_NVFP4 };

  training->pass = pass;
  training->precision = PRECISION_BF16;
  training->optimizer = OPTIMIZER_NONE;
  training->checkpointing = CHECKPOINT_NONE;
  training->dropout = DROPOUT_OFF;
  training->compile = TRUE;
  training->fused_norm = TRUE;
  training->cuda_graphs = pass == PASS_DECODE && !self->enforce_eager ? GRAPHS_STEP : GRAPHS_NONE;
  training->expert_routing = training->expert_permutation = EXPERT_KERNELS_FUSED;
  if (self->widens_weights || self->weights == SERVE_WEIGHTS_INT4)
    training->weight_bytes = generation_weight_bytes (self);
  else
    training->fp8_recipe = recipes[self->weights];
}
