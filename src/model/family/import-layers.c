#include "model/family/import-layers-private.h"

#include "model/family/import-values-private.h"

/* ---- layers of experts and others ---- */

void
import_set_dense (ModelShape *shape, const gboolean *dense)
{
  gint64 leading = 0, rest;

  while (leading < shape->n_layers && dense[leading])
    leading++;
  rest = leading;
  while (rest < shape->n_layers && !dense[rest])
    rest++;
  if (rest == shape->n_layers && shape->layers == NULL)
    {
      shape->first_dense_layers = leading;
      shape->moe_period = 1;
      return;
    }
  model_list_layers (shape);
  for (gint64 i = 0; i < shape->n_layers; i++)
    shape->layers[i].feed = dense[i] ? MODEL_FEED_DENSE : MODEL_FEED_EXPERTS;
}

void
import_dense_layers (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode    *list = config_node_get (map, "mlp_only_layers");
  g_autofree gboolean *dense = NULL;

  if (import_absent (list) || !config_node_expect (list, CONFIG_LIST, diags)
      || config_node_length (list) == 0)
    return;
  dense = g_new0 (gboolean, shape->n_layers);
  for (gint64 i = 0; i < shape->n_layers; i++)
    dense[i] = model_layer (shape, i).feed == MODEL_FEED_DENSE;
  for (guint i = 0; i < config_node_length (list); i++)
    {
      gint64 layer = 0;

      if (!import_integer (config_node_item (list, i), "mlp_only_layers", 0, &layer, diags))
        return;
      if (layer < shape->n_layers)
        dense[layer] = TRUE;
    }
  import_set_dense (shape, dense);
}

/* An entry a layer, 0 or 1: has it experts? */
static void
load_expert_list (const ConfigNode *list, ModelShape *shape, DiagList *diags)
{
  g_autofree gboolean *dense = g_new0 (gboolean, shape->n_layers);

  if (config_node_length (list) != shape->n_layers)
    {
      diag_error (diags, config_node_mark (list), NULL,
                  "'moe_layer_freq' has %u entries for %" G_GINT64_FORMAT " layers",
                  config_node_length (list), shape->n_layers);
      return;
    }
  for (guint i = 0; i < config_node_length (list); i++)
    {
      gint64 experts = 0;

      if (!import_integer (config_node_item (list, i), "moe_layer_freq", 0, &experts, diags))
        return;
      dense[i] = experts == 0;
    }
  import_set_dense (shape, dense);
}

void
import_moe_layer_freq (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode    *freq = config_node_get (map, "moe_layer_freq");
  g_autofree gboolean *dense = NULL;
  gint64               period = 1;

  if (import_absent (freq))
    return;
  if (config_node_kind (freq) == CONFIG_LIST)
    {
      load_expert_list (freq, shape, diags);
      return;
    }
  if (!import_integer (freq, "moe_layer_freq", 1, &period, diags) || period == 1)
    return;
  dense = g_new0 (gboolean, shape->n_layers);
  for (gint64 i = 0; i < shape->n_layers; i++)
    dense[i] = i < shape->first_dense_layers || i % period != 0;
  import_set_dense (shape, dense);
}

/* ---- layers that attend over a window ---- */

/* TRUE when layer i attends fully exactly when (i + 1) % PERIOD == 0 (PERIOD 0: never). */
static gboolean
matches_period (const gboolean *windowed, gint64 n, gint64 period)
{
  for (gint64 i = 0; i < n; i++)
    if (windowed[i] == (period > 0 && (i + 1) % period == 0))
      return FALSE;
  return TRUE;
}

void
import_set_windows (ModelShape *shape, const gboolean *windowed)
{
  for (gint64 period = 0; shape->layers == NULL && period <= shape->n_layers; period++)
    if (matches_period (windowed, shape->n_layers, period))
      {
        shape->sliding_period = period;
        if (period == 1)
          shape->sliding_window = shape->sliding_period = 0;
        return;
      }
  model_list_layers (shape);
  for (gint64 i = 0; i < shape->n_layers; i++)
    shape->layers[i].mixer = windowed[i] ? MODEL_MIXER_WINDOW : MODEL_MIXER_ATTENTION;
}

static gboolean
read_layer_types (const ConfigNode *list, gboolean *windowed, DiagList *diags)
{
  for (guint i = 0; i < config_node_length (list); i++)
    {
      const ConfigNode *item = config_node_item (list, i);
      const char       *text = config_node_text (item);

      windowed[i] = g_strcmp0 (text, "full_attention") != 0;
      if (windowed[i] && g_strcmp0 (text, "sliding_attention") != 0
          && g_strcmp0 (text, "chunked_attention") != 0)
        {
          diag_error (diags, config_node_mark (item),
                      "supported: full_attention, sliding_attention, chunked_attention",
                      "unsupported layer type '%s'", text != NULL ? text : "(not a word)");
          return FALSE;
        }
    }
  return TRUE;
}

static void
load_layer_types (const ConfigNode *list, ModelShape *shape, DiagList *diags)
{
  guint                n = config_node_length (list);
  g_autofree gboolean *windowed = NULL;

  if (!config_node_expect (list, CONFIG_LIST, diags))
    return;
  if (n == 0 || n != shape->n_layers)
    {
      diag_error (diags, config_node_mark (list), NULL,
                  "'layer_types' has %u entries for %" G_GINT64_FORMAT " layers", n,
                  shape->n_layers);
      return;
    }
  windowed = g_new0 (gboolean, n);
  if (read_layer_types (list, windowed, diags))
    import_set_windows (shape, windowed);
}

/*
 * Qwen's use_sliding_window (default: false) and max_window_layers: that many leading layers attend
 * fully.
 */
static void
load_qwen_window (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode    *leading = config_node_get (map, "max_window_layers");
  gboolean             use = import_says (map, "use_sliding_window", FALSE, diags);
  g_autofree gboolean *windowed = NULL;
  gint64               n_full = 0;

  if (use && !import_absent (leading)
      && !import_integer (leading, "max_window_layers", 0, &n_full, diags))
    return;
  if (!use || n_full >= shape->n_layers)
    shape->sliding_window = 0;
  else if (n_full > 0 && shape->sliding_window > 0 && config_node_get (map, "layer_types") == NULL)
    {
      windowed = g_new0 (gboolean, shape->n_layers);
      for (gint64 i = 0; i < shape->n_layers; i++)
        windowed[i] = i >= n_full;
      import_set_windows (shape, windowed);
    }
}

void
import_layer_types (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *types = config_node_get (map, "layer_types");

  if (shape->sliding_window == 0)
    shape->sliding_period = 0;
  else if (!import_absent (types))
    load_layer_types (types, shape, diags);
}

void
import_qwen_windows (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  load_qwen_window (map, shape, diags);
  import_layer_types (map, shape, diags);
}

void
import_window_pattern (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *node = config_node_get (map, "sliding_window_pattern");

  if (!import_absent (node))
    import_integer (node, "sliding_window_pattern", 1, &shape->sliding_period, diags);
  if (shape->sliding_period == 1)
    shape->sliding_window = shape->sliding_period = 0;
}

/* index_topk_freq, index_topk_pattern, indexer_types: layers that take the choice of one before. */
void
import_indexers (const ConfigNode *map, G_GNUC_UNUSED ModelShape *shape, DiagList *diags)
{
  static const char *const lists[] = { "indexer_types", "index_topk_pattern" };
  const ConfigNode        *freq = config_node_get (map, "index_topk_freq");
  gint64                   every = 1;

  if (!import_absent (freq))
    import_integer (freq, "index_topk_freq", 1, &every, diags);
  if (every > 1)
    diag_error (diags, config_node_mark (freq), NULL,
                "layers that share the choice of an indexer before are not simulated");
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    if (!import_absent (config_node_get (map, lists[i])))
      diag_error (diags, config_node_mark (config_node_get (map, lists[i])), NULL,
                  "layers that share the choice of an indexer before are not simulated");
}
