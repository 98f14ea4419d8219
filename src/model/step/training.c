#include "model/step/training.h"

#include <string.h>

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
training_has_wide_stream (const TrainingOptions *training)
{
  return training->prepare_model_for_kbit_training && training->load_in_4bit
         && training->peft != PEFT_NONE;
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

LengthDistribution
training_lengths_drawn (const TrainingOptions *training)
{
  return training->lengths != NULL ? length_distribution_find (training->lengths) : LENGTHS_N;
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

/* Megatron-Core, is_first_last_bf16_layer: MTP layers have a context without a number. */
gboolean
training_block_in_16bit (const TrainingOptions *training, gint64 block, gint64 n)
{
  return training->fp8_recipe != FP8_NONE && block < n
         && (block < training->num_layers_at_start_in_bf16
             || block >= n - training->num_layers_at_end_in_bf16);
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

static void
say (gint option, gboolean *trait)
{
  if (option != SAYS_AUTO)
    *trait = option == SAYS_TRUE;
}

void
training_take_traits (TrainingOptions *self, const FrameworkTraits *traits)
{
  if (traits != NULL)
    self->traits = *traits;
  say (self->fused_gate, &self->traits.fused_gate);
  say (self->fused_rotary, &self->traits.fused_rotary);
  say (self->fp8_params, &self->traits.fp8_params);
}
