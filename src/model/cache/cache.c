#include "model/cache/cache.h"

#include <math.h>

#include "model/shape/family-private.h"

#define STATE_BYTES 4.0 /* of a state's element: fp32, which engines may narrow. [estimate] */
#define TAP_BYTES   2.0 /* of a channel's last inputs, as activations are */

/* Whole heads of a rank; where there are fewer key-value heads than ranks, each keeps one. */
static gint64
heads_here (gint64 heads, gint64 tp)
{
  return MAX (heads / tp, 1);
}

static gboolean
attends (const ModelLayer *block)
{
  return model_mixer_attends (block->mixer) || block->mixer == MODEL_MIXER_SIDE;
}

static gboolean
is_sparse (const ModelShape *shape, const ModelLayer *block)
{
  return shape->index_topk > 0 && block->mixer == MODEL_MIXER_ATTENTION;
}

static double
dtype_size (Dtype dtype)
{
  return dtype_bits (dtype) / 8.0;
}

/* Elements of the states of a rank, and channels that its convolutions remember. */
static double
state_elements (const ModelShape *shape, const ModelLayer *block, gint64 tp, double *channels)
{
  const double here = 1.0 / (double) tp;
  const double values = (double) shape->linear_value_heads * (double) shape->linear_value_dim,
               keys = (double) shape->linear_key_heads * (double) shape->linear_key_dim;
  const double inner = (double) (shape->ssm_heads * shape->ssm_head_dim);

  *channels = 0;
  switch (block->mixer)
    {
    case MODEL_MIXER_MAMBA2:
    case MODEL_MIXER_SIDE:
      *channels = (inner + 2.0 * (double) (shape->ssm_groups * shape->ssm_state)) * here;
      return inner * (double) shape->ssm_state * here;
    case MODEL_MIXER_MAMBA1:
      *channels = (double) shape->ssm_heads * here;
      return (double) (shape->ssm_heads * shape->ssm_state) * here;
    case MODEL_MIXER_DELTA:
    case MODEL_MIXER_KDA:
      *channels = (2 * keys + values) * here;
      return values * (double) shape->linear_key_dim * here;
    case MODEL_MIXER_LIGHTNING:
      return values * (double) shape->linear_key_dim * here;
    case MODEL_MIXER_CONV:
      *channels = (double) shape->d_model * here;
      return 0;
    default:
      return 0;
    }
}

/* Of a token, elements that attention keeps. */
static double
token_elements (const ModelShape *shape, const ModelLayer *block, gint64 tp)
{
  const double index = is_sparse (shape, block) ? (double) shape->index_dim : 0;

  if (!attends (block))
    return 0;
  if (shape->kv_lora_rank > 0)
    return (double) (shape->kv_lora_rank + shape->qk_rope_head_dim) + index;
  return (double) heads_here (block->n_kv_heads, tp)
         * (double) (model_qk_dim (shape) + model_value_dim (shape));
}

CacheDesc
cache_of_block (const ModelShape *model, const ModelLayer *block, gint64 tp, Dtype dtype)
{
  const ModelShape shape = model_layer_shape (model, block);
  double           channels;
  const double     states = state_elements (&shape, block, tp, &channels);

  return (CacheDesc){
    .token_bytes = token_elements (&shape, block, tp) * dtype_size (dtype),
    .heads = attends (block) && shape.kv_lora_rank == 0
                 ? (guint64) heads_here (block->n_kv_heads, tp)
                 : 0,
    .window = block->mixer == MODEL_MIXER_WINDOW ? (guint64) shape.sliding_window : 0,
    .state_bytes =
        STATE_BYTES * states + TAP_BYTES * channels * (double) MAX (shape.conv_taps - 1, 0),
  };
}

double
cache_bytes (const CacheDesc *self, double length)
{
  const double kept = self->window > 0 ? MIN (length, (double) self->window) : length;

  return self->token_bytes * kept + self->state_bytes;
}

/* Keys that a token with so many before it attends to, itself among them. */
static double
keys_of (const ModelShape *shape, const ModelLayer *block, double cached)
{
  double keys = cached + 1;

  if (block->mixer == MODEL_MIXER_WINDOW)
    keys = MIN (keys, (double) shape->sliding_window);
  if (is_sparse (shape, block))
    keys = MIN (keys, (double) shape->index_topk);
  return keys;
}

gboolean
cache_decode_kernel (const ModelShape *model, const ModelLayer *block, gint64 tp, Dtype dtype,
                     double sequences, double cached, KernelDesc *kernel)
{
  const ModelShape shape = model_layer_shape (model, block);
  const guint64    n = (guint64) MAX (round (sequences), 1),
                keys = (guint64) round (keys_of (&shape, block, cached)),
                heads = (guint64) heads_here (block->n_heads, tp);

  if (!attends (block))
    return FALSE;
  if (shape.kv_lora_rank > 0)
    *kernel = kernel_desc_decode ("attn.decode", dtype, n, heads, 1,
                                  (guint64) (shape.kv_lora_rank + shape.qk_rope_head_dim), 0, keys);
  else
    *kernel = kernel_desc_decode (
        "attn.decode", dtype, n, heads, (guint64) heads_here (block->n_kv_heads, tp),
        (guint64) model_qk_dim (&shape), (guint64) model_value_dim (&shape), keys);
  return TRUE;
}

/* Pairs of TOKENS queries, of which the first has CACHED keys before it. */
static double
pairs_of (const ModelShape *shape, const ModelLayer *block, double tokens, double cached)
{
  const double all = tokens * cached + tokens * tokens / 2;
  const double most = keys_of (shape, block, cached + tokens - 1); /* of the last query */

  return MIN (all, tokens * most);
}

gboolean
cache_prefill_kernel (const ModelShape *model, const ModelLayer *block, gint64 tp,
                      FlashKernel flash, double sequences, double tokens, double cached,
                      KernelDesc *kernel)
{
  const ModelShape shape = model_layer_shape (model, block);
  const double     heads = (double) heads_here (block->n_heads, tp),
               kv_heads =
                   shape.kv_lora_rank > 0 ? heads : (double) heads_here (block->n_kv_heads, tp),
               qk = (double) model_qk_dim (&shape), v = (double) model_value_dim (&shape);

  if (!attends (block))
    return FALSE;
  *kernel = (KernelDesc){
    .kind = KERNEL_ATTENTION,
    .name = "attn.prefill",
    .dtype = DTYPE_BF16,
    .batch = (guint64) MAX (round (sequences), 1) * (guint64) heads,
    .m = (guint64) ceil (tokens),
    .n = (guint64) ceil (cached + tokens),
    .k = (guint64) qk,
    .flops = 2 * sequences * heads * pairs_of (&shape, block, tokens, cached) * (qk + v),
    .read_bytes = 2 * sequences * (tokens * heads * qk + (cached + tokens) * kv_heads * (qk + v)),
    .write_bytes = 2 * sequences * tokens * heads * v,
    .launches = 1,
    .flash = flash,
    .module = -1,
  };
  return TRUE;
}
