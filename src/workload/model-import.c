/*
 * Hugging Face config.json: the keys that the tables of import-family.c name, and lists that say
 * which layers are special.
 */
#include <string.h>

#include "workload/family-private.h"
#include "workload/import-family-private.h"

/* ---- values ---- */

#define INTEGER_MAX (G_GINT64_CONSTANT (1) << 40)

static gboolean
read_integer (const ConfigNode *node, const char *key, gint64 min, gint64 *value, DiagList *diags)
{
  const char *text = config_node_text (node);

  if (text == NULL)
    return config_node_expect (node, CONFIG_SCALAR, diags);
  if (!g_ascii_string_to_signed (text, 10, min, INTEGER_MAX, value, NULL))
    {
      diag_error (diags, config_node_mark (node), NULL, "expected %s integer for '%s', got '%s'",
                  min > 0 ? "a positive" : "a non-negative", key, text);
      return FALSE;
    }
  return TRUE;
}

static gboolean
read_bool (const ConfigNode *node, const char *key, gboolean *value, DiagList *diags)
{
  const char *text = config_node_text (node);

  if (text == NULL)
    return config_node_expect (node, CONFIG_SCALAR, diags);
  if (strcmp (text, "true") != 0 && strcmp (text, "false") != 0)
    {
      diag_error (diags, config_node_mark (node), NULL, "expected true or false for '%s', got '%s'",
                  key, text);
      return FALSE;
    }
  *value = text[0] == 't';
  return TRUE;
}

static gboolean
is_absent (const ConfigNode *node)
{
  return node == NULL || config_node_is_null (node);
}

static void
load_key (const ConfigNode *map, const ImportKey *key, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *node = config_node_get (map, key->key);
  gpointer          member = (char *) shape + key->offset;

  if (key->need == KEY_BOOL)
    {
      *(gboolean *) member = (gboolean) key->fallback;
      if (!is_absent (node))
        read_bool (node, key->key, member, diags);
      return;
    }
  if (node == NULL && (key->need == KEY_REQUIRED || key->need == KEY_NULLABLE))
    diag_error (diags, config_node_mark (map), NULL, "missing key '%s'", key->key);
  else if (is_absent (node) && key->need != KEY_REQUIRED)
    *(gint64 *) member = key->fallback;
  else
    read_integer (node, key->key, key->need == KEY_OPTIONAL_ZERO ? 0 : 1, member, diags);
}

/* ---- lists that say which layers are special ---- */

/* qwen3_moe's mlp_only_layers: only leading layers can be dense here. */
static void
load_dense_layers (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *list = config_node_get (map, "mlp_only_layers");

  if (is_absent (list) || !config_node_expect (list, CONFIG_LIST, diags))
    return;
  for (guint i = 0; i < config_node_length (list); i++)
    {
      const ConfigNode *item = config_node_item (list, i);
      gint64            layer = 0;

      if (!read_integer (item, "mlp_only_layers", 0, &layer, diags))
        return;
      if (layer != (gint64) i)
        {
          diag_error (diags, config_node_mark (item),
                      "only leading dense layers 0, 1, ... are modelled",
                      "unsupported dense layer %" G_GINT64_FORMAT " in 'mlp_only_layers'", layer);
          return;
        }
    }
  shape->first_dense_layers = config_node_length (list);
}

/* TRUE when layer i attends fully exactly when (i + 1) % PERIOD == 0 (PERIOD 0: never). */
static gboolean
matches_period (const gboolean *full, guint n, guint period)
{
  for (guint i = 0; i < n; i++)
    if (full[i] != (period > 0 && (i + 1) % period == 0))
      return FALSE;
  return TRUE;
}

static gboolean
read_layer_types (const ConfigNode *list, gboolean *full, DiagList *diags)
{
  for (guint i = 0; i < config_node_length (list); i++)
    {
      const ConfigNode *item = config_node_item (list, i);
      const char       *text = config_node_text (item);

      full[i] = g_strcmp0 (text, "full_attention") == 0;
      if (!full[i] && g_strcmp0 (text, "sliding_attention") != 0)
        {
          diag_error (diags, config_node_mark (item),
                      "supported: full_attention, sliding_attention", "unsupported layer type '%s'",
                      text != NULL ? text : "(not a word)");
          return FALSE;
        }
    }
  return TRUE;
}

static void
load_layer_types (const ConfigNode *list, ModelShape *shape, DiagList *diags)
{
  guint                n = config_node_length (list);
  g_autofree gboolean *full = NULL;

  if (!config_node_expect (list, CONFIG_LIST, diags))
    return;
  if (n == 0 || n != shape->n_layers)
    {
      diag_error (diags, config_node_mark (list), NULL,
                  "'layer_types' has %u entries for %" G_GINT64_FORMAT " layers", n,
                  shape->n_layers);
      return;
    }
  full = g_new (gboolean, n);
  if (!read_layer_types (list, full, diags))
    return;
  for (guint period = 0; period <= n; period++)
    if (matches_period (full, n, period))
      {
        shape->sliding_period = period;
        if (period == 1)
          shape->sliding_window = shape->sliding_period = 0;
        return;
      }
  diag_error (diags, config_node_mark (list), "full attention in every n-th layer is modelled",
              "unsupported pattern of 'layer_types'");
}

/*
 * Qwen's use_sliding_window (default: false) and max_window_layers: that many leading layers attend
 * fully.
 */
static void
load_qwen_window (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *leading = config_node_get (map, "max_window_layers");
  const ConfigNode *node = config_node_get (map, "use_sliding_window");
  gboolean          use = FALSE;
  gint64            n_full = 0;

  if (!is_absent (node))
    read_bool (node, "use_sliding_window", &use, diags);
  if (use && !is_absent (leading)
      && !read_integer (leading, "max_window_layers", 0, &n_full, diags))
    return;
  if (!use || n_full >= shape->n_layers)
    shape->sliding_window = 0;
  else if (n_full > 0 && config_node_get (map, "layer_types") == NULL)
    diag_error (diags, config_node_mark (leading), "windows in all layers or in none are modelled",
                "unsupported 'max_window_layers'");
}

static void
load_windows (const ConfigNode *map, const ImportFamily *family, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *types = config_node_get (map, "layer_types");

  if (!family->sliding)
    return;
  if (family->sliding_flag)
    load_qwen_window (map, shape, diags);
  if (shape->sliding_window == 0)
    shape->sliding_period = 0;
  else if (!is_absent (types))
    load_layer_types (types, shape, diags);
}

/* ---- the whole ---- */

/* Derived widths and what only the whole file tells. */
static void
finish_shape (const ConfigNode *map, const ImportFamily *family, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *freq = config_node_get (map, "moe_layer_freq");
  gint64            value = 0;

  if (shape->n_kv_heads == 0 || shape->kv_lora_rank > 0)
    shape->n_kv_heads =
        shape->n_heads; /* multi-head latent attention has a key head for each query head */
  if (shape->head_dim == 0)
    {
      shape->head_dim =
          shape->kv_lora_rank > 0 ? shape->v_head_dim : shape->d_model / shape->n_heads;
      if (shape->kv_lora_rank == 0 && shape->d_model % shape->n_heads != 0)
        diag_error (diags, config_node_mark (config_node_get (map, family->heads)), NULL,
                    "%" G_GINT64_FORMAT " heads do not divide the width %" G_GINT64_FORMAT,
                    shape->n_heads, shape->d_model);
    }
  if (family->finish != NULL)
    family->finish (shape);
  if (shape->n_experts > 0 && shape->moe_period == 0)
    shape->moe_period = 1;
  if (family->dense_list)
    load_dense_layers (map, shape, diags);
  if (family->expert_period && !is_absent (freq)
      && read_integer (freq, "moe_layer_freq", 1, &value, diags) && value != 1)
    diag_error (diags, config_node_mark (freq),
                "experts in every layer after the first ones are modelled",
                "unsupported 'moe_layer_freq'");
  load_windows (map, family, shape, diags);
}

/* The family that MAP names by model_type, or else by architectures[0]. */
static const ImportFamily *
find_family (const ConfigNode *map, DiagList *diags)
{
  const ConfigNode   *node = config_node_get (map, "model_type");
  const ConfigNode   *list = config_node_get (map, "architectures");
  gboolean            by_type = !is_absent (node);
  const ImportFamily *family;

  if (!by_type)
    node = list != NULL && config_node_kind (list) == CONFIG_LIST && config_node_length (list) > 0
               ? config_node_item (list, 0)
               : NULL;
  if (node == NULL)
    {
      diag_error (diags, config_node_mark (map), IMPORT_FAMILIES, "missing key 'model_type'");
      return NULL;
    }
  if (!config_node_expect (node, CONFIG_SCALAR, diags))
    return NULL;
  family = by_type ? import_family_by_type (config_node_text (node))
                   : import_family_by_architecture (config_node_text (node));
  if (family == NULL)
    diag_error (diags, config_node_mark (node), IMPORT_FAMILIES, "unsupported model family '%s'",
                config_node_text (node));
  return family;
}

/* A name for reports, as text: the file's, or its folder's when the file is called config.json. */
static char *
name_of_file (const char *file)
{
  g_autofree char *path =
      g_canonicalize_filename (file, NULL); /* "config.json" alone has a folder too */
  g_autofree char *base = g_path_get_basename (path);

  if (strcmp (base, "config.json") == 0)
    {
      g_autofree char *folder = g_path_get_dirname (path);
      g_autofree char *name = g_path_get_basename (folder);

      return g_utf8_make_valid (name, -1);
    }
  if (g_str_has_suffix (base, ".json"))
    base[strlen (base) - strlen (".json")] = '\0';
  return g_utf8_make_valid (base, -1);
}

static gboolean
import_map (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  guint               before = diag_list_n_errors (diags);
  const ImportFamily *family = find_family (map, diags);
  const OptionMarks   marks = { .section = *config_node_mark (map) };

  if (family == NULL)
    return FALSE;
  family->fill (shape);
  shape->family = g_strdup (family->family);
  for (const ImportKey *key = family->keys; key->key != NULL; key++)
    load_key (map, key, shape, diags);
  if (diag_list_n_errors (diags) == before)
    finish_shape (map, family, shape, diags);
  return diag_list_n_errors (diags) == before && model_shape_check (shape, &marks, diags);
}

gboolean
model_import (const char *file, ModelShape *shape, DiagList *diags)
{
  guint                 before = diag_list_n_errors (diags);
  g_autoptr (ConfigDoc) doc = config_load (file, diags);
  const ConfigNode     *map, *text;

  *shape = (ModelShape){ 0 };
  if (doc == NULL || diag_list_n_errors (diags) != before)
    return FALSE;
  map = config_doc_root (doc);
  if (!config_node_expect (map, CONFIG_MAP, diags))
    return FALSE;
  text = config_node_get (map, "text_config"); /* multimodal models keep the language model there */
  if (text != NULL && !config_node_expect (text, CONFIG_MAP, diags))
    return FALSE;

  shape->name = name_of_file (file);
  if (!import_map (text != NULL ? text : map, shape, diags))
    {
      model_shape_clear (shape);
      return FALSE;
    }
  return TRUE;
}
