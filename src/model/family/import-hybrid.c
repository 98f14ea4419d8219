#include "model/family/import-blocks-private.h"
#include "model/family/import-hybrid-private.h"

#include <string.h>

#include "model/family/import-values-private.h"
#include "model/shape/family-private.h"

/* ---- Nemotron-H: a block is one branch ---- */

static const struct
{
  char        letter;
  const char *words[2];
  ModelLayer  block;
} nemotron_blocks[] = {
  { 'M',
    { "mamba", "linear_attention" },
    { .mixer = MODEL_MIXER_MAMBA2, .feed = MODEL_FEED_NONE } },
  { '*',
    { "attention", "full_attention" },
    { .mixer = MODEL_MIXER_ATTENTION, .feed = MODEL_FEED_NONE } },
  { '-', { "mlp", NULL }, { .mixer = MODEL_MIXER_NONE, .feed = MODEL_FEED_DENSE } },
  { 'E', { "moe", NULL }, { .mixer = MODEL_MIXER_NONE, .feed = MODEL_FEED_EXPERTS } },
};

/* The block of a LETTER, or (0) of a WORD. */
static const ModelLayer *
nemotron_block (char letter, const char *word)
{
  for (gsize i = 0; i < G_N_ELEMENTS (nemotron_blocks); i++)
    if (letter != 0 ? nemotron_blocks[i].letter == letter
                    : g_strcmp0 (nemotron_blocks[i].words[0], word) == 0
                          || g_strcmp0 (nemotron_blocks[i].words[1], word) == 0)
      return &nemotron_blocks[i].block;
  return NULL;
}

static void
refuse_block (const ConfigNode *node, const char *text, DiagList *diags)
{
  diag_error (diags, config_node_mark (node),
              "supported: mamba (M), attention (*), mlp (-) and moe (E)",
              "unsupported layer type '%s'", text);
}

static void
read_pattern (const ConfigNode *node, ModelShape *shape, DiagList *diags)
{
  const char *text = config_node_text (node);
  ModelLayer *blocks;
  gsize       n;

  if (text == NULL)
    {
      config_node_expect (node, CONFIG_SCALAR, diags);
      return;
    }
  n = strlen (text);
  blocks = import_new_blocks ((guint) n);
  for (gsize i = 0; i < n; i++)
    {
      const ModelLayer *block = nemotron_block (text[i], NULL);
      const char        letter[] = { text[i], '\0' };

      if (block == NULL)
        {
          refuse_block (node, g_ascii_isprint (text[i]) ? letter : "(no letter)", diags);
          g_free (blocks);
          return;
        }
      blocks[i] = *block;
    }
  import_list_blocks (shape, blocks, (guint) n);
}

static void
read_block_types (const ConfigNode *list, ModelShape *shape, DiagList *diags)
{
  const guint n = config_node_kind (list) == CONFIG_LIST ? config_node_length (list) : 0;
  ModelLayer *blocks;

  if (!config_node_expect (list, CONFIG_LIST, diags))
    return;
  blocks = import_new_blocks (n);
  for (guint i = 0; i < n; i++)
    {
      const ConfigNode *item = config_node_item (list, i);
      const ModelLayer *block = nemotron_block (0, config_node_text (item));

      if (block == NULL)
        {
          refuse_block (
              item, config_node_text (item) != NULL ? config_node_text (item) : "(no word)", diags);
          g_free (blocks);
          return;
        }
      blocks[i] = *block;
    }
  import_list_blocks (shape, blocks, n);
}

/* The list says how many layers there are (configuration_nemotron_h.py). */
void
import_nemotron_blocks (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *pattern = config_node_get (map, "hybrid_override_pattern");
  const ConfigNode *types = config_node_get (map, "layers_block_type");

  if (!import_absent (pattern))
    read_pattern (pattern, shape, diags);
  else if (!import_absent (types))
    read_block_types (types, shape, diags);
  else
    {
      diag_error (diags, config_node_mark (map), NULL,
                  "missing key 'hybrid_override_pattern' or 'layers_block_type'");
      return;
    }
  if (shape->n_listed == 0 && !diag_list_has_errors (diags))
    diag_error (diags, config_node_mark (map), NULL, "the model has no layers");
  if (shape->n_listed > 0)
    shape->n_layers = shape->n_listed;
  if (!model_has_feed (shape, MODEL_FEED_EXPERTS)) /* files without them have their widths, too */
    shape->n_experts = shape->n_experts_per_token = shape->d_expert = shape->n_shared_experts =
        shape->d_shared = shape->moe_latent = 0;
}

/* ---- Nemotron-NAS: blocks of their own widths ---- */

static gboolean
read_switch (const ConfigNode *map, const char *key, DiagList *diags)
{
  const ConfigNode *node = config_node_get (map, key);
  gboolean          on = FALSE;

  return !import_absent (node) && import_flag (node, key, &on, diags) && on;
}

/* DeciLM's: 2/3 of the multiple of the width, rounded up to 256. */
static gint64
deci_width (double multiple, gint64 d_model)
{
  const gint64 width = (gint64) (2 * multiple * (double) d_model / 3);

  return (width + 255) / 256 * 256;
}

static gboolean
read_deci_attention (const ConfigNode *node, const ModelShape *shape, ModelLayer *block,
                     DiagList *diags)
{
  const ConfigNode *group = config_node_get (node, "n_heads_in_group");
  gint64            heads = 1;

  if (read_switch (node, "no_op", diags))
    {
      block->mixer = MODEL_MIXER_NONE;
      return TRUE;
    }
  if (read_switch (node, "replace_with_linear", diags))
    {
      diag_error (diags, config_node_mark (node), NULL,
                  "attention that is replaced by a linear layer is not simulated");
      return FALSE;
    }
  if (import_absent (group) || !import_integer (group, "n_heads_in_group", 1, &heads, diags))
    return FALSE;
  block->n_kv_heads = MAX (shape->n_heads / heads, 1);
  return TRUE;
}

static gboolean
read_deci_mlp (const ConfigNode *node, const ModelShape *shape, ModelLayer *block, DiagList *diags)
{
  const ConfigNode *mult = config_node_get (node, "ffn_mult");
  const char       *text = mult != NULL ? config_node_text (mult) : NULL;
  double            value = text != NULL ? g_ascii_strtod (text, NULL) : 0;

  if (read_switch (node, "no_op", diags))
    {
      block->feed = MODEL_FEED_NONE;
      return TRUE;
    }
  if (read_switch (node, "replace_with_linear", diags))
    {
      diag_error (diags, config_node_mark (node), NULL,
                  "an MLP that is replaced by a linear layer is not simulated");
      return FALSE;
    }
  if (!(value > 0 && value < 1024))
    {
      diag_error (diags, config_node_mark (mult != NULL ? mult : node), NULL,
                  "expected a number above 0 for 'ffn_mult'");
      return FALSE;
    }
  block->d_ff = deci_width (value, shape->d_model);
  return TRUE;
}

/* Blocks of which neither half is left do nothing: they are left out. */
void
import_deci_blocks (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *list = config_node_get (map, "block_configs");
  ModelLayer       *blocks;
  guint             n, kept = 0;

  if (import_absent (list))
    {
      diag_error (diags, config_node_mark (map), NULL, "missing key 'block_configs'");
      return;
    }
  if (!config_node_expect (list, CONFIG_LIST, diags)
      || !import_check_length (list, "block_configs", shape, diags))
    return;
  n = config_node_length (list);
  blocks = import_new_blocks (n);
  for (guint i = 0; i < n; i++)
    {
      const ConfigNode *item = config_node_item (list, i);
      const ConfigNode *attention = config_node_get (item, "attention");
      const ConfigNode *mlp = config_node_get (item, "ffn");
      ModelLayer        block = { 0 };

      if (import_absent (attention) || import_absent (mlp))
        diag_error (diags, config_node_mark (item), NULL,
                    "a block has 'attention' and 'ffn': one is missing");
      if (import_absent (attention) || import_absent (mlp)
          || !read_deci_attention (attention, shape, &block, diags)
          || !read_deci_mlp (mlp, shape, &block, diags))
        {
          g_free (blocks);
          return;
        }
      if (block.mixer != MODEL_MIXER_NONE || block.feed != MODEL_FEED_NONE)
        blocks[kept++] = block;
    }
  import_list_blocks (shape, blocks, kept);
  shape->n_layers = kept;
  shape->n_kv_heads = shape->n_heads;
  for (guint i = 0; i < kept; i++)
    shape->d_ff = MAX (shape->d_ff, blocks[i].d_ff);
}

/* ---- linear attention of several kinds ---- */

static const ImportMixerWord delta_words[] = {
  { "full_attention", MODEL_MIXER_ATTENTION },
  { "linear_attention", MODEL_MIXER_DELTA },
  { NULL, MODEL_MIXER_NONE },
};

void
import_delta_blocks (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *interval = config_node_get (map, "full_attention_interval");
  gint64            period = 4;

  if (import_read_words (map, "layer_types", delta_words, shape, diags)
      || diag_list_has_errors (diags))
    return;
  if (!import_absent (interval)
      && !import_integer (interval, "full_attention_interval", 1, &period, diags))
    return;
  import_alternate (shape, MODEL_MIXER_DELTA, period, 1);
}

static const ImportMixerWord lightning_words[] = {
  { "full_attention", MODEL_MIXER_ATTENTION },
  { "linear_attention", MODEL_MIXER_LIGHTNING },
  { "1", MODEL_MIXER_ATTENTION }, /* of attn_type_list */
  { "0", MODEL_MIXER_LIGHTNING },
  { NULL, MODEL_MIXER_NONE },
};

/* Lightning attention has as many heads of as many elements as attention has. */
void
import_lightning_blocks (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  if (!import_read_words (map, "layer_types", lightning_words, shape, diags)
      && !diag_list_has_errors (diags)
      && !import_read_words (map, "attn_type_list", lightning_words, shape, diags)
      && !diag_list_has_errors (diags))
    import_alternate (shape, MODEL_MIXER_LIGHTNING, 2, 0);
  shape->linear_key_heads = shape->linear_value_heads = shape->n_heads;
  shape->linear_key_dim = shape->linear_value_dim =
      shape->head_dim > 0 ? shape->head_dim : shape->d_model / shape->n_heads;
}

static const ImportMixerWord kimi_words[] = {
  { "full_attention", MODEL_MIXER_ATTENTION },
  { "kda_attention", MODEL_MIXER_KDA },
  { "linear_attention", MODEL_MIXER_KDA },
  { NULL, MODEL_MIXER_NONE },
};

static void
read_kimi_widths (const ConfigNode *config, ModelShape *shape, DiagList *diags)
{
  const struct
  {
    const char *key;
    gint64     *member;
  } keys[] = { { "head_dim", &shape->linear_key_dim },
               { "num_heads", &shape->linear_key_heads },
               { "short_conv_kernel_size", &shape->conv_taps } };

  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    if (!import_absent (config_node_get (config, keys[i].key)))
      import_integer (config_node_get (config, keys[i].key), keys[i].key, 1, keys[i].member, diags);
  shape->linear_whole_gate = read_switch (config, "use_full_rank_gate", diags);
}

/* Numbers of layers begin with 1 there. */
void
import_kimi_blocks (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *config = config_node_get (map, "linear_attn_config");
  gboolean          given = !import_absent (config);

  if (given && !config_node_expect (config, CONFIG_MAP, diags))
    return;
  if (given)
    read_kimi_widths (config, shape, diags);
  shape->linear_value_heads = shape->linear_key_heads;
  shape->linear_value_dim = shape->linear_key_dim;
  if (import_read_words (map, "layer_types", kimi_words, shape, diags)
      || diag_list_has_errors (diags))
    return;
  import_alternate (shape, MODEL_MIXER_KDA, G_MAXINT64, 1);
  if (given)
    import_mark_numbers (config_node_get (config, "full_attn_layers"), "full_attn_layers", 1,
                         MODEL_MIXER_ATTENTION, shape, diags);
}

/* ---- short convolutions beside attention ---- */

static const ImportMixerWord conv_words[] = {
  { "conv", MODEL_MIXER_CONV },
  { "full_attention", MODEL_MIXER_ATTENTION },
  { NULL, MODEL_MIXER_NONE },
};

void
import_conv_blocks (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *indices = config_node_get (map, "full_attn_idxs");

  if (import_read_words (map, "layer_types", conv_words, shape, diags)
      || diag_list_has_errors (diags))
    return;
  import_alternate (shape, import_absent (indices) ? MODEL_MIXER_ATTENTION : MODEL_MIXER_CONV,
                    G_MAXINT64, 1);
  import_mark_numbers (indices, "full_attn_idxs", 0, MODEL_MIXER_ATTENTION, shape, diags);
}

/* 2/3 of the width, times a factor, rounded up to a multiple (modeling_lfm2.py). */
void
import_conv_width (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *adjust = config_node_get (map, "block_auto_adjust_ff_dim");
  const ConfigNode *factor = config_node_get (map, "block_ffn_dim_multiplier");
  const ConfigNode *multiple = config_node_get (map, "block_multiple_of");
  const char       *text = import_absent (factor) ? NULL : config_node_text (factor);
  const double      times = text != NULL ? g_ascii_strtod (text, NULL) : 1;
  gboolean          on = TRUE;
  gint64            unit = 256, thirds;

  if ((!import_absent (adjust) && !import_flag (adjust, "block_auto_adjust_ff_dim", &on, diags))
      || (!import_absent (multiple)
          && !import_integer (multiple, "block_multiple_of", 1, &unit, diags)))
    return;
  if (!on)
    return;
  if (!(times > 0 && times < 1024))
    {
      diag_error (diags, config_node_mark (factor), NULL,
                  "expected a number above 0 for 'block_ffn_dim_multiplier'");
      return;
    }
  thirds = 2 * shape->d_ff / 3;
  shape->d_ff = (gint64) (times * (double) thirds);
  shape->d_ff = (shape->d_ff + unit - 1) / unit * unit;
}
