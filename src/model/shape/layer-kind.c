#include "model/shape/layer-kind.h"

#include "model/shape/family-private.h"

static const char *const mixer_names[MODEL_N_MIXERS] = {
  [MODEL_MIXER_ATTENTION] = "attention",
  [MODEL_MIXER_WINDOW] = "windowed attention",
  [MODEL_MIXER_MAMBA2] = "Mamba-2",
  [MODEL_MIXER_DELTA] = "gated delta rule",
  [MODEL_MIXER_KDA] = "Kimi delta attention",
  [MODEL_MIXER_LIGHTNING] = "lightning attention",
  [MODEL_MIXER_CONV] = "short convolution",
  [MODEL_MIXER_MAMBA1] = "Mamba-1",
  [MODEL_MIXER_SIDE] = "attention and Mamba-2 side by side",
  [MODEL_MIXER_NONE] = "nothing",
};

const char *
model_mixer_name (ModelMixer mixer)
{
  g_assert (mixer < MODEL_N_MIXERS);
  return mixer_names[mixer];
}

gboolean
model_mixer_attends (ModelMixer mixer)
{
  return mixer == MODEL_MIXER_ATTENTION || mixer == MODEL_MIXER_WINDOW || mixer == MODEL_MIXER_SIDE;
}

/* ---- blocks of a model ---- */

/* Of a model that lists no blocks. */
static ModelLayer
layer_by_rule (const ModelShape *shape, gint64 i)
{
  gboolean experts = shape->n_experts > 0 && i >= shape->first_dense_layers
                     && (i + 1) % MAX (shape->moe_period, 1) == 0;
  gboolean window = shape->sliding_window > 0
                    && (shape->sliding_period == 0 || (i + 1) % shape->sliding_period != 0);

  return (ModelLayer){ .mixer = window ? MODEL_MIXER_WINDOW : MODEL_MIXER_ATTENTION,
                       .feed = experts ? MODEL_FEED_EXPERTS : MODEL_FEED_DENSE };
}

static gint64
or_else (gint64 own, gint64 whole)
{
  return own > 0 ? own : whole;
}

gint64
model_n_blocks (const ModelShape *shape)
{
  return shape->n_layers + shape->n_mtp;
}

guint
model_mtp_left (const ModelShape *shape)
{
  return (guint) MAX (shape->n_mtp_layers - shape->n_mtp, 0);
}

ModelLayer
model_layer (const ModelShape *shape, gint64 i)
{
  gint64     like = MIN (i, shape->n_layers - 1);
  ModelLayer layer =
      shape->layers != NULL ? shape->layers[like % shape->n_listed] : layer_by_rule (shape, like);

  layer.mtp = i - like;
  layer.n_heads = or_else (layer.n_heads, shape->n_heads);
  layer.n_kv_heads = or_else (layer.n_kv_heads, shape->n_kv_heads);
  layer.head_dim = or_else (layer.head_dim, shape->head_dim);
  layer.d_ff = or_else (layer.d_ff, shape->d_ff);
  return layer;
}

void
model_list_layers (ModelShape *shape)
{
  ModelLayer *layers;

  if (shape->layers != NULL && shape->n_listed == shape->n_layers)
    return;
  layers = g_new (ModelLayer, shape->n_layers);
  for (gint64 i = 0; i < shape->n_layers; i++)
    layers[i] =
        shape->layers != NULL ? shape->layers[i % shape->n_listed] : layer_by_rule (shape, i);
  g_free (shape->layers);
  shape->layers = layers;
  shape->n_listed = shape->n_layers;
}

ModelShape
model_layer_shape (const ModelShape *shape, const ModelLayer *layer)
{
  ModelShape own = *shape;

  own.n_heads = or_else (layer->n_heads, shape->n_heads);
  own.n_kv_heads = or_else (layer->n_kv_heads, shape->n_kv_heads);
  own.head_dim = or_else (layer->head_dim, shape->head_dim);
  own.d_ff = or_else (layer->d_ff, shape->d_ff);
  return own;
}

gboolean
model_has_mixer (const ModelShape *shape, ModelMixer mixer)
{
  for (gint64 i = 0; i < shape->n_layers; i++)
    if (model_layer (shape, i).mixer == mixer)
      return TRUE;
  return FALSE;
}

gboolean
model_has_feed (const ModelShape *shape, ModelFeed feed)
{
  for (gint64 i = 0; i < shape->n_layers; i++)
    if (model_layer (shape, i).feed == feed)
      return TRUE;
  return FALSE;
}

gboolean
model_attends (const ModelShape *shape)
{
  for (gint64 i = 0; i < shape->n_layers; i++)
    if (model_mixer_attends (model_layer (shape, i).mixer))
      return TRUE;
  return FALSE;
}
