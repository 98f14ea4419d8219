/* State-space layers: Mamba-2 and Mamba-1, beside attention or alone. */
#include "model/family/import-blocks-private.h"
#include "model/family/import-hybrid-private.h"
#include "model/family/import-values-private.h"

#define MAX_EXPAND 1024

/* ---- widths ---- */

/* Channels: KEY times the width. FALSE: diagnosed. */
static gboolean
read_channels (const ConfigNode *map, const char *key, const ModelShape *shape, gint64 *channels,
               DiagList *diags)
{
  gint64 expand = 2;

  if (!import_read (map, key, 1, &expand, diags))
    return FALSE;
  if (expand > MAX_EXPAND)
    {
      diag_error (diags, config_node_mark (config_node_get (map, key)), NULL,
                  "expected at most %d for '%s'", MAX_EXPAND, key);
      return FALSE;
    }
  *channels = expand * shape->d_model;
  return TRUE;
}

/* Absent, null or "auto". */
static gboolean
is_automatic (const ConfigNode *node)
{
  return import_absent (node) || g_strcmp0 (config_node_text (node), "auto") == 0;
}

/* CHANNELS in heads: mamba_d_head wide each, or else as many as there are. */
static void
read_heads (const ConfigNode *map, gint64 channels, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *head = config_node_get (map, "mamba_d_head");

  if (!is_automatic (head))
    import_integer (head, "mamba_d_head", 1, &shape->ssm_head_dim, diags);
  else if (shape->ssm_heads == 0 || channels % shape->ssm_heads != 0)
    diag_error (diags, config_node_mark (map), NULL,
                "'mamba_n_heads' of %" G_GINT64_FORMAT " does not divide the width of the states",
                shape->ssm_heads);
  else
    shape->ssm_head_dim = channels / shape->ssm_heads;
}

void
import_mamba_heads (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  gint64 channels;

  if (read_channels (map, "mamba_expand", shape, &channels, diags))
    read_heads (map, channels, shape, diags);
}

void
import_shared_mlp (G_GNUC_UNUSED const ConfigNode *map, ModelShape *shape,
                   G_GNUC_UNUSED DiagList *diags)
{
  if (shape->n_experts > 0)
    return;
  shape->d_ff = shape->d_shared;
  shape->d_shared = shape->d_expert = shape->n_experts_per_token = 0;
}

/* Of Mamba-1 a head is a channel. Time steps pass KEY, or (auto) a sixteenth of the width. */
static void
set_channels (const ConfigNode *map, const char *key, gint64 channels, ModelShape *shape,
              DiagList *diags)
{
  const ConfigNode *rank = config_node_get (map, key);

  shape->ssm_heads = channels;
  shape->ssm_head_dim = shape->ssm_groups = 1;
  shape->ssm_rank = (shape->d_model + 15) / 16;
  if (!is_automatic (rank))
    import_integer (rank, key, 1, &shape->ssm_rank, diags);
}

/* ---- alone ---- */

/* A norm and MIXER are all of a block; heads of attention are those of the states. */
static void
list_alone (ModelShape *shape, ModelMixer mixer)
{
  ModelLayer *blocks = import_new_blocks (1);

  *blocks = (ModelLayer){ .mixer = mixer, .feed = MODEL_FEED_NONE };
  import_list_blocks (shape, blocks, 1);
  shape->n_heads = shape->n_kv_heads = shape->ssm_heads;
  shape->head_dim = shape->ssm_head_dim;
}

void
import_all_mamba (G_GNUC_UNUSED const ConfigNode *map, ModelShape *shape,
                  G_GNUC_UNUSED DiagList *diags)
{
  list_alone (shape, MODEL_MIXER_MAMBA2);
}

/* Files of Falcon-Mamba have an 'expand' of 16 that is of no use beside their width. */
void
import_all_mamba1 (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  gint64 channels;

  if (!read_channels (map, "expand", shape, &channels, diags)
      || !import_read (map, "intermediate_size", 1, &channels, diags))
    return;
  set_channels (map, "time_step_rank", channels, shape, diags);
  list_alone (shape, MODEL_MIXER_MAMBA1);
}

/* ---- Mamba-2 beside attention ---- */

static const ImportMixerWord mamba_words[] = {
  { "mamba", MODEL_MIXER_MAMBA2 },
  { "linear_attention", MODEL_MIXER_MAMBA2 },
  { "attention", MODEL_MIXER_ATTENTION },
  { "full_attention", MODEL_MIXER_ATTENTION },
  { NULL, MODEL_MIXER_NONE },
};

void
import_mamba_blocks (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  if (!import_read_words (map, "layer_types", mamba_words, shape, diags)
      && !diag_list_has_errors (diags)
      && !import_read_words (map, "layers_block_type", mamba_words, shape, diags)
      && !diag_list_has_errors (diags))
    import_alternate (shape, MODEL_MIXER_MAMBA2, G_MAXINT64, 1);
}

void
import_attention_indices (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  import_alternate (shape, MODEL_MIXER_MAMBA2, G_MAXINT64, 1);
  import_mark_numbers (config_node_get (map, "attn_layer_indices"), "attn_layer_indices", 0,
                       MODEL_MIXER_ATTENTION, shape, diags);
}

/* ---- Mamba-1 beside attention ---- */

/* A turn of so many layers, and which of them it is. FALSE: diagnosed. */
static gboolean
read_turn (const ConfigNode *map, const char *period, const char *offset, gint64 turn[2],
           DiagList *diags)
{
  if (!import_read (map, period, 1, &turn[0], diags)
      || !import_read (map, offset, 0, &turn[1], diags))
    return FALSE;
  if (turn[1] < turn[0])
    return TRUE;
  diag_error (diags, config_node_mark (map), NULL,
              "'%s' of %" G_GINT64_FORMAT " is not below '%s' of %" G_GINT64_FORMAT, offset,
              turn[1], period, turn[0]);
  return FALSE;
}

static void
list_turns (ModelShape *shape, const gint64 attend[2], const gint64 experts[2])
{
  ModelLayer *blocks = import_new_blocks ((guint) shape->n_layers);

  for (gint64 i = 0; i < shape->n_layers; i++)
    {
      gboolean attends = i % attend[0] == attend[1];
      gboolean routes = shape->n_experts > 0 && i % experts[0] == experts[1];

      blocks[i].mixer = attends ? MODEL_MIXER_ATTENTION : MODEL_MIXER_MAMBA1;
      blocks[i].feed = routes ? MODEL_FEED_EXPERTS : MODEL_FEED_DENSE;
    }
  import_list_blocks (shape, blocks, (guint) shape->n_layers);
}

/* Of each eight layers the fifth attends; every second one has experts (configuration_jamba.py). */
void
import_jamba_blocks (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  gint64 attend[] = { 8, 4 }, experts[] = { 2, 1 }, channels;

  if (!read_channels (map, "mamba_expand", shape, &channels, diags)
      || !read_turn (map, "attn_layer_period", "attn_layer_offset", attend, diags)
      || !read_turn (map, "expert_layer_period", "expert_layer_offset", experts, diags))
    return;
  set_channels (map, "mamba_dt_rank", channels, shape, diags);
  shape->d_expert = shape->d_ff;
  if (shape->n_experts <= 1) /* one is an MLP */
    shape->n_experts = shape->n_experts_per_token = shape->d_expert = 0;
  list_turns (shape, attend, experts);
}

/* ---- attention and Mamba-2 side by side ---- */

/* Channels are mamba_d_ssm, or (null) so many times the width. */
void
import_side_blocks (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *given = config_node_get (map, "mamba_d_ssm");
  ModelLayer       *blocks;
  gint64            channels;

  if (!read_channels (map, "mamba_expand", shape, &channels, diags))
    return;
  if (given == NULL)
    channels = 1024;
  if (!import_read (map, "mamba_d_ssm", 1, &channels, diags))
    return;
  read_heads (map, channels, shape, diags);
  if (channels / shape->ssm_heads != shape->ssm_head_dim || channels % shape->ssm_heads != 0)
    diag_error (diags, config_node_mark (map), NULL,
                "%" G_GINT64_FORMAT " heads of %" G_GINT64_FORMAT
                " are not the width of the states of %" G_GINT64_FORMAT,
                shape->ssm_heads, shape->ssm_head_dim, channels);
  if (import_says (map, "mamba_rms_norm", FALSE, diags))
    shape->ssm_norm = MODEL_SSM_NORM_OWN;
  if (import_says (map, "projectors_bias", shape->ssm_bias, diags) != shape->ssm_bias)
    diag_error (diags, config_node_mark (config_node_get (map, "projectors_bias")), NULL,
                "a bias of one of the two projections of Mamba-2 is not simulated");
  blocks = import_new_blocks (1);
  *blocks = (ModelLayer){ .mixer = MODEL_MIXER_SIDE, .feed = MODEL_FEED_DENSE };
  import_list_blocks (shape, blocks, 1);
}
