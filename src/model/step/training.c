#include "model/step/training.h"

#include <string.h>

#define FIELD(member) G_STRUCT_OFFSET (TrainingOptions, member)

static const char *const checkpoint_choices[] = {
  "none", "selective", "full", "selective-op", "selective-layer", "layers:K", NULL
};
static const char *const dropout_choices[] = { "auto", "true", "false", NULL };
static const char *const attention_choices[] = { "flash2", "flash1", "fused-softmax",
                                                 "eager",  "flash3", "cudnn",
                                                 NULL };
static const char *const loss_choices[] = { "auto", "fp32", "16-bit", "fused", "chunked", NULL };
static const char *const expert_choices[] = { "grouped", "streams", "sequential", NULL };
static const char *const expert_tensor_choices[] = { "stacked", "each", NULL };
static const char *const precision_choices[] = { "bf16-mixed", "fp16-mixed", "fp32",
                                                 "bf16",       "fp16",       NULL };
static const char *const reduce_choices[] = { "fp32", "bf16", "fp16", "auto", NULL }; /* as Dtype */
static const char *const fp8_choices[] = { "none",      "tensorwise", "rowwise", "delayed",
                                           "blockwise", "mxfp8",      NULL };
static const char *const optimizer_choices[] = { "adamw",      "adamw-fused",  "sgd",  "none",
                                                 "adamw-8bit", "sgd-momentum", "lamb", "adafactor",
                                                 "muon",       "shampoo",      "soap", NULL };
static const char *const exchange_choices[] = { "all-to-all", "owner", "all-gather", NULL };
static const char *const component_choices[] = { "auto", "model+loss", "model", "loss", NULL };
static const char *const graph_choices[] = { "none", "block", "step", NULL };
static const char *const sync_choices[] = { "none", "forward", "backward", NULL };
static const char *const peft_choices[] = { "none", "lora", NULL };
static const char *const flops_choices[] = { "palm", "causal", "6n", NULL };

const OptionSpec training_options[] = {
  { .key = "seq_len",
    .type = OPTION_INT,
    .offset = FIELD (seq_len),
    .min = 1,
    .max = 1 << 26,
    .help = "tokens of a sequence" },
  { .key = "micro_batch",
    .type = OPTION_INT,
    .offset = FIELD (micro_batch),
    .fallback = "1",
    .min = 1,
    .max = 1 << 20,
    .help = "sequences of a data-parallel rank and micro-step" },
  { .key = "grad_accum",
    .type = OPTION_INT,
    .offset = FIELD (grad_accum),
    .fallback = "1",
    .min = 1,
    .max = 1 << 20,
    .follows = "global_batch",
    .help = "micro-steps of an optimizer step; where 'global_batch' is set they follow from it" },
  { .key = "global_batch",
    .type = OPTION_INT,
    .offset = FIELD (global_batch),
    .optional = TRUE,
    .min = 1,
    .max = 1 << 30,
    .help = "sequences of an optimizer step, of all data-parallel ranks; 'grad_accum' follows",
    .source = "Megatron-LM, --global-batch-size" },
  { .key = "activation_checkpointing",
    .type = OPTION_ENUM,
    .choices = checkpoint_choices,
    .offset = FIELD (checkpointing),
    .fallback = "none",
    .help = "what is recomputed in the backward pass: nothing, parts (the attention core), whole "
            "blocks, every second product, or every K-th block (selective-layer: K = 2)",
    .source = "arXiv:2205.05198; pytorch/torchtitan" },
  { .key = "recompute_layers",
    .type = OPTION_INT,
    .offset = FIELD (recompute_layers),
    .fallback = "0",
    .max = 100000,
    .needs = "activation_checkpointing: full",
    .help = "blocks that `full` recomputes, the first ones of each chunk of a pipeline's stage; "
            "0: all",
    .source = "Megatron-LM, --recompute-method block and --recompute-num-layers" },
  { .key = "recompute_modules",
    .type = OPTION_STRING,
    .offset = FIELD (recompute_modules),
    .fallback = "core_attn",
    .needs = "activation_checkpointing: selective",
    .help = "what `selective` recomputes, with commas between them: core_attn, layernorm, "
            "qk_layernorm, mla_up_proj, mlp, moe, moe_act, shared_experts",
    .source = "Megatron-LM, --recompute-modules; arXiv:2412.19437, 3.2.3" },
  { .key = "cpu_checkpointing",
    .type = OPTION_BOOL,
    .offset = FIELD (cpu_checkpointing),
    .fallback = "false",
    .needs = "blocks that are recomputed as a whole",
    .help = "inputs of blocks that are recomputed as a whole leave for host memory behind the "
            "forward pass and return before the backward pass",
    .source = "arXiv:2104.07857; DeepSpeed, activation_checkpointing.cpu_checkpointing" },
  { .key = "partition_activations",
    .type = OPTION_BOOL,
    .offset = FIELD (partition_activations),
    .fallback = "false",
    .needs = "blocks that are recomputed as a whole, tensor ranks that hold the same activations",
    .help = "tensor ranks keep a slice each of the inputs of recomputed blocks and gather them for "
            "the backward pass",
    .source = "arXiv:1910.02054; DeepSpeed, activation_checkpointing.partition_activations" },
  { .key = "tiled_in_splits",
    .type = OPTION_INT,
    .offset = FIELD (tiled_in_splits),
    .fallback = "1",
    .min = 1,
    .max = 256,
    .help = "parts into which the input of each linear of a block is cut: TiledLinear's in_splits",
    .source = "arXiv:2104.07857, 5.1.3; deepspeed/runtime/zero/tiling.py" },
  { .key = "tiled_out_splits",
    .type = OPTION_INT,
    .offset = FIELD (tiled_out_splits),
    .fallback = "1",
    .min = 1,
    .max = 256,
    .help = "parts of its output: the tiles of a linear are modules that run one after the other",
    .source = "arXiv:2104.07857, 5.1.3; deepspeed/runtime/zero/tiling.py" },
  { .key = "attention",
    .type = OPTION_ENUM,
    .choices = attention_choices,
    .offset = FIELD (attention),
    .fallback = "flash2",
    .help = "how attention is computed; a GPU without such a kernel falls back: flash3 to cudnn, "
            "cudnn and flash1 to flash2",
    .source = "arXiv:2307.08691" },
  { .key = "causal",
    .type = OPTION_BOOL,
    .offset = FIELD (causal),
    .fallback = "true",
    .help = "flash attention skips the masked half" },
  { .key = "dropout",
    .type = OPTION_ENUM,
    .choices = dropout_choices,
    .offset = FIELD (dropout),
    .fallback = "auto",
    .help =
        "dropouts of the classic GPT block: embedding, attention, both branches; auto: in a gpt of "
        "a framework that has them",
    .source = "arXiv:2205.05198; NVIDIA/Megatron-LM, --hidden-dropout and --attention-dropout" },
  { .key = "loss",
    .type = OPTION_ENUM,
    .choices = loss_choices,
    .offset = FIELD (loss),
    .fallback = "auto",
    .help = "how cross entropy is made: of logits cast to fp32, in their own type, by one kernel, "
            "or together with the head, some tokens at a time; auto: as the framework's profile "
            "says, else fp32" },
  { .key = "loss_chunk",
    .type = OPTION_INT,
    .offset = FIELD (loss_chunk),
    .fallback = "512",
    .min = 1,
    .max = 1 << 26,
    .needs = "loss: chunked",
    .help = "tokens of which a chunked loss makes the logits at once",
    .source = "NVIDIA-NeMo/Automodel, ChunkedCrossEntropy.chunk_len" },
  { .key = "expert_products",
    .type = OPTION_ENUM,
    .choices = expert_choices,
    .offset = FIELD (expert_products),
    .fallback = "grouped",
    .needs = "experts, several experts a rank",
    .help = "products of a rank's experts: one kernel for all; a kernel each on four streams; or "
            "one expert after the other",
    .source = "Megatron-LM, --moe-grouped-gemm; Transformer Engine, GroupedLinear" },
  { .key = "expert_tensors",
    .type = OPTION_ENUM,
    .choices = expert_tensor_choices,
    .offset = FIELD (expert_tensors),
    .fallback = "stacked",
    .needs = "experts, several experts a rank",
    .help = "tensors of routed experts: a weight of all of a rank's, or of each by itself; what "
            "sharding formats cut and pad",
    .source = "torchtitan, GroupedExperts; transformers 4, DeepseekV3MoE" },
  { .key = "fused_norm",
    .type = OPTION_BOOL,
    .offset = FIELD (fused_norm),
    .fallback = "false",
    .help = "one kernel an RMSNorm instead of the eager chain" },
  { .key = "compile",
    .type = OPTION_BOOL,
    .offset = FIELD (compile),
    .fallback = "false",
    .help =
        "compiled blocks: element-wise chains are fused; embedding, head, most losses are eager" },
  { .key = "compile_components",
    .type = OPTION_ENUM,
    .choices = component_choices,
    .offset = FIELD (compile_components),
    .fallback = "auto",
    .needs = "compile: true",
    .help =
        "what 'compile' compiles: blocks and loss, one of them; auto: blocks, and the loss where "
        "the framework does so",
    .source = "torchtitan, compile.components" },
  { .key = "precision",
    .type = OPTION_ENUM,
    .choices = precision_choices,
    .offset = FIELD (precision),
    .fallback = "bf16-mixed",
    .help = "type of activations and of gathered parameters; bf16 and fp16: of all else as well, "
            "without a wider copy of the weights" },
  { .key = "reduce_dtype",
    .type = OPTION_ENUM,
    .choices = reduce_choices,
    .offset = FIELD (reduce_dtype),
    .fallback = "auto",
    .help = "type of the gradient reduction; auto: the strategy's own default" },
  { .key = "master_dtype",
    .type = OPTION_ENUM,
    .choices = reduce_choices,
    .offset = FIELD (master_dtype),
    .fallback = "auto",
    .help = "type of the weights that the optimizer updates; auto: what the precision implies" },
  { .key = "moment_dtype",
    .type = OPTION_ENUM,
    .choices = reduce_choices,
    .offset = FIELD (moment_dtype),
    .fallback = "auto",
    .needs = "moments of an optimizer",
    .help = "type of the optimizer's moments; auto: what the precision implies" },
  { .key = "fp8_recipe",
    .type = OPTION_ENUM,
    .choices = fp8_choices,
    .offset = FIELD (fp8_recipe),
    .fallback = "none",
    .help = "products of the blocks' linear layers in fp8, and how they are scaled; head, router "
            "and attention stay as `precision` says",
    .source = "Megatron-LM, --fp8-recipe; torchao.float8, Float8LinearConfig.from_recipe_name" },
  { .key = "optimizer",
    .type = OPTION_ENUM,
    .choices = optimizer_choices,
    .offset = FIELD (optimizer),
    .fallback = "adamw",
    .help = "optimizer and how its update is launched; none: no update, no clipping" },
  { .key = "optimizer_tile",
    .type = OPTION_INT,
    .offset = FIELD (optimizer_tile),
    .optional = TRUE,
    .min = 1,
    .max = 1 << 16,
    .needs = "optimizer: adamw-8bit",
    .help = "rows and columns of the tiles of a matrix that share a scale under adamw-8bit, as 32; "
            "unset: 256 elements of a rank's own share one, and nothing is exchanged",
    .source = "arXiv:2602.22437; bitsandbytes" },
  { .key = "optimizer_paged",
    .type = OPTION_BOOL,
    .offset = FIELD (optimizer_paged),
    .fallback = "false",
    .needs = "optimizer: adamw-fused|adamw-8bit, no optimizer_tile",
    .help = "its moments are in unified memory: where they have no room beside all else, each step "
            "moves them to the GPU and back to the host",
    .source = "bitsandbytes, Optimizer8bit, is_paged; arXiv:2305.14314" },
  { .key = "ns_steps",
    .type = OPTION_INT,
    .offset = FIELD (ns_steps),
    .optional = TRUE,
    .min = 1,
    .max = 99,
    .needs = "optimizer: muon",
    .help = "steps of muon's Newton-Schulz iteration; unset: 5",
    .source = "torch.optim.Muon, ns_steps" },
  { .key = "precondition_frequency",
    .type = OPTION_INT,
    .offset = FIELD (precondition_frequency),
    .optional = TRUE,
    .min = 1,
    .max = 1 << 20,
    .needs = "optimizer: shampoo|soap",
    .help = "steps between two decompositions of a preconditioner of shampoo or soap; unset: 50 "
            "and 10",
    .source = "facebookresearch/optimizers, precondition_frequency" },
  { .key = "max_preconditioner_dim",
    .type = OPTION_INT,
    .offset = FIELD (max_preconditioner_dim),
    .optional = TRUE,
    .min = 16,
    .max = 1 << 20,
    .needs = "optimizer: shampoo|soap",
    .help = "longest side of a preconditioner: shampoo cuts matrices into such blocks, soap leaves "
            "longer sides alone; unset: 1024 and 10000",
    .source = "facebookresearch/optimizers, max_preconditioner_dim" },
  { .key = "matrix_parameters",
    .type = OPTION_STRING,
    .offset = FIELD (matrix_parameters),
    .optional = TRUE,
    .needs = "optimizer: muon|shampoo|soap",
    .help = "parameters that muon, shampoo and soap take, by name, '*q_proj*, *experts*'; unset: "
            "the matrices of blocks. AdamW takes the others" },
  { .key = "matrix_exchange",
    .type = OPTION_ENUM,
    .choices = exchange_choices,
    .offset = FIELD (matrix_exchange),
    .fallback = "all-to-all",
    .needs = "an update of tiles or matrices",
    .help = "where shards cut what an update needs as a whole: buckets of layers go to owners and "
            "back, two at a time; everything at once to owners and back; every rank gathers all",
    .source = "torchtitan, flex_shard; arXiv:2602.22437, Algorithm 2; DTensor.full_tensor" },
  { .key = "matrix_bucket_layers",
    .type = OPTION_INT,
    .offset = FIELD (matrix_bucket_layers),
    .optional = TRUE,
    .min = 1,
    .max = 1 << 20,
    .needs = "optimizer: muon|shampoo|soap, matrix_exchange: all-to-all",
    .help = "layers a bucket of 'matrix_exchange: all-to-all'; unset: so many that each rank owns "
            "a matrix",
    .source = "torchtitan, BucketConfig" },
  { .key = "clip_gradients",
    .type = OPTION_BOOL,
    .offset = FIELD (clip_gradients),
    .fallback = "true",
    .needs = "an optimizer",
    .help = "gradients are clipped by their global norm" },
  { .key = "peft",
    .type = OPTION_ENUM,
    .choices = peft_choices,
    .offset = FIELD (peft),
    .fallback = "none",
    .help = "lora: low-rank adapters are trained and the model's own parameters are frozen",
    .source = "arXiv:2106.09685; huggingface/peft" },
  { .key = "lora_r",
    .type = OPTION_INT,
    .offset = FIELD (lora_r),
    .fallback = "8",
    .min = 1,
    .max = 1 << 16,
    .needs = "peft: lora",
    .help = "rank of LoRA's adapters",
    .source = "huggingface/peft, LoraConfig.r" },
  { .key = "lora_target_modules",
    .type = OPTION_STRING,
    .offset = FIELD (lora_target_modules),
    .fallback = "all-linear",
    .needs = "peft: lora",
    .help = "modules that get an adapter: names or their last parts, with commas between them",
    .source = "huggingface/peft, LoraConfig.target_modules" },
  { .key = "lora_a2a",
    .type = OPTION_BOOL,
    .offset = FIELD (lora_a2a),
    .fallback = "false",
    .needs = "peft: lora, tensor ranks that divide the sequence",
    .help = "tensor ranks with 'sp' exchange what an adapter makes by an all-to-all, where they "
            "would gather all of it and keep a part",
    .source = "Megatron-Bridge, LoRA.a2a_experimental" },
  { .key = "use_dora",
    .type = OPTION_BOOL,
    .offset = FIELD (use_dora),
    .fallback = "false",
    .needs = "peft: lora",
    .help = "DoRA: adapted modules train the magnitude of each of their outputs, too",
    .source = "arXiv:2402.09353; huggingface/peft, LoraConfig.use_dora" },
  { .key = "load_in_4bit",
    .type = OPTION_BOOL,
    .offset = FIELD (load_in_4bit),
    .fallback = "false",
    .needs = "peft: lora",
    .help = "QLoRA: frozen linear modules of the blocks are kept in 4 bits (NF4)",
    .source = "arXiv:2305.14314; huggingface/transformers, BitsAndBytesConfig.load_in_4bit" },
  { .key = "bnb_4bit_use_double_quant",
    .type = OPTION_BOOL,
    .offset = FIELD (bnb_4bit_use_double_quant),
    .fallback = "false",
    .needs = "load_in_4bit: true",
    .help = "the scales of 4-bit weights are kept in 8 bits",
    .source = "huggingface/transformers, BitsAndBytesConfig.bnb_4bit_use_double_quant" },
  { .key = "trained_slices",
    .type = OPTION_INT,
    .offset = FIELD (trained_slices),
    .fallback = "1",
    .min = 1,
    .max = 1024,
    .help = "slices of the width of MLPs, of which a rank trains one and holds the others frozen; "
            "1: it trains all",
    .source = "Filippova et al., arXiv:2509.22418" },
  { .key = "slice_heads",
    .type = OPTION_BOOL,
    .offset = FIELD (slice_heads),
    .fallback = "false",
    .needs = "trained_slices > 1",
    .help = "'trained_slices' cuts the heads of attention, too",
    .source = "arXiv:2509.22418" },
  { .key = "flops_convention",
    .type = OPTION_ENUM,
    .choices = flops_choices,
    .offset = FIELD (flops),
    .fallback = "causal",
    .help = "how MFU counts a model's FLOPs: with the pairs of tokens that masks leave (causal), "
            "with all pairs (palm), with none (6n)",
    .source = "arXiv:2204.02311, appendix B" },
  { .key = "kernels",
    .type = OPTION_STRING,
    .offset = FIELD (kernels),
    .optional = TRUE,
    .help = "release of the libraries of products and attention, as cuda-12.1 or rocm-6.1; unset: "
            "what the framework's year implies, else as the GPUs' profiles have them" },
  { .key = "framework",
    .type = OPTION_STRING,
    .offset = FIELD (framework),
    .optional = TRUE,
    .help = "generation of the framework: what it launches and implies, and what that costs the "
            "host; none: PyTorch's kernels and the node's costs; unset: the strategy's of today" },
  { .key = "launch_blocking",
    .type = OPTION_BOOL,
    .offset = FIELD (launch_blocking),
    .fallback = "false",
    .help = "the host waits for each kernel before it issues the next (CUDA_LAUNCH_BLOCKING=1)" },
  { .key = "cuda_graphs",
    .type = OPTION_ENUM,
    .choices = graph_choices,
    .offset = FIELD (cuda_graphs),
    .fallback = "none",
    .help = "what the host launches at once: each pass of a block, or the passes of a step",
    .source = "Megatron-LM, --cuda-graph-impl transformer_engine and full_iteration" },
  { .key = "micro_step_sync",
    .type = OPTION_ENUM,
    .choices = sync_choices,
    .offset = FIELD (micro_step_sync),
    .fallback = "none",
    .help = "the host waits for the GPU in each micro-step: behind the loss, or behind the "
            "backward pass",
    .source = "huggingface/transformers, Trainer: logging_nan_inf_filter" },
  { .key = "document_length",
    .type = OPTION_INT,
    .offset = FIELD (document_length),
    .optional = TRUE,
    .min = 1,
    .max = 1 << 26,
    .help = "mean tokens of the documents that a sequence is packed of: attention ends at their "
            "ends; unset: a sequence is one",
    .source = "arXiv:2407.21783, section 3.2" },
  { .key = "shard_block",
    .type = OPTION_STRING,
    .offset = FIELD (shard_block),
    .optional = TRUE,
    .help = "what no boundary of shards cuts of matrices, under formats that heed it: rows or "
            "tiles, '16rows', '32x32', by name '*experts*=128rows, 1row'; unset: a row",
    .source = "arXiv:2602.22437, orig_param_policy" },
  { .key = "lengths",
    .type = OPTION_STRING,
    .file = TRUE,
    .offset = FIELD (lengths),
    .optional = TRUE,
    .help = "CSV of sequence lengths by data rank and micro-batch; unset: all of seq_len" },
  { .key = "measured_kernels",
    .type = OPTION_STRING,
    .file = TRUE,
    .offset = FIELD (measured_kernels),
    .optional = TRUE,
    .help = "file of 'shardsim import trace': times of kernels in place of the model's" },
  { 0 },
};

/* What a precision implies for each role. */
static const struct
{
  Dtype compute, master, moments;
} roles[] = {
  [PRECISION_BF16_MIXED] = { DTYPE_BF16, DTYPE_FP32, DTYPE_FP32 },
  [PRECISION_FP16_MIXED] = { DTYPE_FP16, DTYPE_FP32, DTYPE_FP32 },
  [PRECISION_FP32] = { DTYPE_FP32, DTYPE_FP32, DTYPE_FP32 },
  [PRECISION_BF16] = { DTYPE_BF16, DTYPE_BF16, DTYPE_BF16 },
  [PRECISION_FP16] = { DTYPE_FP16, DTYPE_FP16, DTYPE_FP16 },
};

Dtype
training_compute_dtype (const TrainingOptions *training)
{
  return roles[training->precision].compute;
}

Dtype
training_master_dtype (const TrainingOptions *training)
{
  return training->master_dtype == ROLE_AUTO ? roles[training->precision].master
                                             : (Dtype) training->master_dtype;
}

Dtype
training_moment_dtype (const TrainingOptions *training)
{
  return training->moment_dtype == ROLE_AUTO ? roles[training->precision].moments
                                             : (Dtype) training->moment_dtype;
}

gboolean
training_has_master (const TrainingOptions *training)
{
  return dtype_bits (training_master_dtype (training))
         > dtype_bits (training_compute_dtype (training));
}

guint
training_compute_bytes (const TrainingOptions *training)
{
  return dtype_bytes (training_compute_dtype (training));
}

guint
training_flash_version (const TrainingOptions *training)
{
  guint asked;

  switch ((AttentionKind) training->attention)
    {
    case ATTENTION_FLASH1:
      asked = FLASH_1;
      break;
    case ATTENTION_FLASH2:
      asked = FLASH_2;
      break;
    case ATTENTION_FLASH3:
      asked = FLASH_3;
      break;
    case ATTENTION_CUDNN:
      return FLASH_CUDNN;
    default:
      return FLASH_NONE;
    }
  return training->traits.newest_flash > 0 ? MIN (asked, (guint) training->traits.newest_flash)
                                           : asked;
}

gboolean
training_fuses_loss (const TrainingOptions *training)
{
  return training->loss == LOSS_FUSED
         || (training->loss == LOSS_AUTO && training->traits.fused_loss);
}

gboolean
training_compiles_blocks (const TrainingOptions *training)
{
  return training->compile && training->compile_components != COMPONENTS_LOSS;
}

gboolean
training_compiles_loss (const TrainingOptions *training)
{
  if (training->compile_components == COMPONENTS_AUTO)
    return training->compile && training->traits.compiled_loss;
  return training->compile && training->compile_components != COMPONENTS_MODEL;
}

double
training_loss_bytes (const TrainingOptions *training, double e)
{
  return training->loss == LOSS_16_BIT ? e : 4;
}

guint64
training_tokens (const TrainingOptions *training)
{
  guint64 sum = 0;

  if (training->batch == NULL)
    return (guint64) training->seq_len * (guint64) training->micro_batch;
  for (guint i = 0; i < training->batch->len; i++)
    sum += (guint64) g_array_index (training->batch, gint64, i);
  return sum;
}

guint
training_slices (const TrainingOptions *training)
{
  return (guint) MAX (training->trained_slices, 1);
}

double
training_mean_length (const TrainingOptions *training)
{
  double squares = 0;

  if (training->batch == NULL)
    return (double) training->seq_len;
  for (guint i = 0; i < training->batch->len; i++)
    {
      double length = (double) g_array_index (training->batch, gint64, i);

      squares += length * length;
    }
  return squares / (double) training_tokens (training);
}

double
training_sequences (const TrainingOptions *training)
{
  if (training->batch == NULL)
    return (double) training->micro_batch;
  return (double) training_tokens (training) / training_mean_length (training);
}

CheckpointMode
training_block_checkpoint (const TrainingOptions *training, gint64 block, gint64 nth)
{
  gint64 period = training->checkpointing - CHECKPOINT_LAYERS;

  if (training->recompute_layers > 0 && nth >= training->recompute_layers)
    return CHECKPOINT_NONE;
  if (training->checkpointing < CHECKPOINT_SELECTIVE_LAYER)
    return (CheckpointMode) training->checkpointing;
  if (training->checkpointing == CHECKPOINT_SELECTIVE_LAYER)
    period = 2;
  return (block + 1) % period == 0 ? CHECKPOINT_FULL : CHECKPOINT_NONE;
}

gboolean
training_has_dropout (const TrainingOptions *training, const char *family)
{
  if (training->dropout != DROPOUT_AUTO)
    return training->dropout == DROPOUT_ON;
  return training->traits.gpt_dropout && g_strcmp0 (family, "gpt") == 0;
}

guint
training_held_outputs (const TrainingOptions *training)
{
  return (guint) training->traits.held_outputs;
}
