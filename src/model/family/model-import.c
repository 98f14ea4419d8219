/* Hugging Face config.json: what the rows of families take from it. */
#include <string.h>

#include "base/config/suggest.h"
#include "model/family/import-beside-private.h"
#include "model/family/import-family-private.h"
#include "model/family/import-refused-private.h"
#include "model/family/import-values-private.h"
#include "model/shape/family-private.h"

#define TIED "tie_word_embeddings"

/* ---- keys ---- */

/* What NODE says of a member that is one of a family's words. */
static void
read_word (const ConfigNode *node, const ImportKey *key, gpointer member, DiagList *diags)
{
  const char *text = config_node_text (node);

  if (text == NULL)
    {
      config_node_expect (node, CONFIG_SCALAR, diags);
      return;
    }
  for (const ImportWord *word = key->words; word->word != NULL; word++)
    if (strcmp (word->word, text) == 0)
      *(gint *) member = word->value;
}

static void
read_key (const ConfigNode *node, const ImportKey *key, ModelShape *shape, DiagList *diags)
{
  gpointer member = (char *) shape + key->offset;
  gboolean none = config_node_is_null (node);

  switch (key->kind)
    {
    case KEY_SIZE:
      import_integer (node, key->key, 1, member, diags);
      break;
    case KEY_COUNT:
    case KEY_AMOUNT:
      if (none)
        *(gint64 *) member = 0;
      else
        import_integer (node, key->key, key->kind == KEY_COUNT ? 1 : 0, member, diags);
      break;
    case KEY_FLAG:
    case KEY_NOT_FLAG:
      if (!none && import_flag (node, key->key, member, diags) && key->kind == KEY_NOT_FLAG)
        *(gboolean *) member = !*(gboolean *) member;
      break;
    case KEY_WORD:
      if (!none)
        read_word (node, key, member, diags);
      break;
    }
}

/* Whether one of FAMILY's keys for the member of KEY is in MAP. */
static gboolean
says_member (const ConfigNode *map, const ImportFamily *family, const ImportKey *key)
{
  for (const ImportKey *other = family->keys; other->key != NULL; other++)
    if (other->offset == key->offset && import_find (map, other->key) != NULL)
      return TRUE;
  return FALSE;
}

/* Sizes that MAP leaves out are the family's defaults, which is said, or missing. */
static void
check_sizes (const ConfigNode *map, const ImportFamily *family, DiagList *diags)
{
  g_autoptr (GString) taken = g_string_new (NULL);

  for (const ImportKey *key = family->keys; key->key != NULL; key++)
    {
      gint64 fallback;

      if (key->kind != KEY_SIZE || says_member (map, family, key))
        continue;
      fallback = G_STRUCT_MEMBER (gint64, &family->shape, key->offset);
      if (fallback == 0)
        diag_error (diags, config_node_mark (map), NULL, "missing key '%s'", key->key);
      else
        g_string_append_printf (taken, "%s%s %" G_GINT64_FORMAT, taken->len > 0 ? ", " : "",
                                key->key, fallback);
    }
  if (taken->len > 0 && !diag_list_has_errors (diags))
    diag_warning (diags, config_node_mark (map), NULL,
                  "keys that are not given have the defaults of Transformers: %s", taken->str);
}

/* ---- the whole ---- */

/* The key that says how many heads there are. */
static const ConfigNode *
heads_node (const ConfigNode *map, const ImportFamily *family)
{
  const ConfigNode *node = map;

  for (const ImportKey *key = family->keys; key->key != NULL; key++)
    if (key->offset == G_STRUCT_OFFSET (ModelShape, n_heads) && import_find (map, key->key) != NULL)
      node = import_find (map, key->key);
  return node;
}

/* Derived widths. */
static void
finish_shape (const ConfigNode *map, const ImportFamily *family, ModelShape *shape, DiagList *diags)
{
  if (shape->n_kv_heads == 0 || shape->kv_lora_rank > 0)
    shape->n_kv_heads =
        shape->n_heads; /* multi-head latent attention has a key head for each query head */
  if (shape->head_dim == 0)
    {
      shape->head_dim =
          shape->kv_lora_rank > 0 ? shape->v_head_dim : shape->d_model / shape->n_heads;
      if (shape->kv_lora_rank == 0 && shape->d_model % shape->n_heads != 0)
        diag_error (diags, config_node_mark (heads_node (map, family)), NULL,
                    "%" G_GINT64_FORMAT " heads do not divide the width %" G_GINT64_FORMAT,
                    shape->n_heads, shape->d_model);
    }
  if (shape->d_ff == 0 && !shape->gated_mlp)
    shape->d_ff = 4 * shape->d_model;
  if (shape->n_experts > 0 && shape->moe_period == 0)
    shape->moe_period = 1;
}

/* The first word of a list, or NULL. */
static const ConfigNode *
first_of (const ConfigNode *list)
{
  return list != NULL && config_node_kind (list) == CONFIG_LIST && config_node_length (list) > 0
             ? config_node_item (list, 0)
             : NULL;
}

static void
refuse_family (const ConfigNode *node, DiagList *diags)
{
  g_auto (GStrv)   names = import_family_names ();
  g_autofree char *lower = g_ascii_strdown (config_node_text (node), -1);
  g_autofree char *near = suggest_near (lower, (const char *const *) names);
  g_autofree char *hint =
      g_strdup_printf ("%s%sany shape can be given by '--arch llama --n-layers ... --d-model ...'",
                       near != NULL ? near : "", near != NULL ? "; " : "");

  if (!import_refuse_family (node, lower, diags))
    diag_error (diags, config_node_mark (node), hint, "unsupported model family '%s'",
                config_node_text (node));
}

/* That of model_type NAME, or of what a larger model of that type has as its language model. */
static const ImportFamily *
family_of_type (const char *name)
{
  g_autofree char    *text = g_strconcat (name, "_text", NULL);
  const ImportFamily *family = import_family_by_type (name);

  return family != NULL ? family : import_family_by_type (text);
}

/*
 * The family that MAP names by model_type, or else by architectures[0]; a language model that says
 * neither is what the model_type of ROOT implies.
 */
static const ImportFamily *
find_family (const ConfigNode *root, const ConfigNode *map, DiagList *diags)
{
  const ConfigNode   *node = config_node_get (map, "model_type");
  gboolean            by_type = !import_absent (node);
  const ImportFamily *family;

  if (!by_type && first_of (config_node_get (map, "architectures")) == NULL)
    {
      node = config_node_get (root, "model_type");
      by_type = !import_absent (node);
    }
  if (!by_type)
    node = first_of (config_node_get (map, "architectures"));
  if (node == NULL)
    {
      diag_error (diags, config_node_mark (map), "a config.json says 'llama', for instance",
                  "missing key 'model_type'");
      return NULL;
    }
  if (!config_node_expect (node, CONFIG_SCALAR, diags))
    return NULL;
  family = by_type ? family_of_type (config_node_text (node))
                   : import_family_by_architecture (config_node_text (node));
  if (family == NULL)
    refuse_family (node, diags);
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

/* MAP: of the language model within ROOT, or ROOT. */
static gboolean
import_map (const ConfigNode *root, const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  guint               before = diag_list_n_errors (diags);
  const ImportFamily *family = find_family (root, map, diags);
  const OptionMarks   marks = { .section = *config_node_mark (map) };
  char               *name = shape->name;

  if (family == NULL || import_refuse_keys (map, diags))
    return FALSE;
  *shape = family->shape;
  shape->name = name;
  shape->family = import_family_name (family);
  for (const ImportKey *key = family->keys; key->key != NULL; key++)
    {
      const ConfigNode *node = import_find (map, key->key);

      if (node != NULL)
        read_key (node, key, shape, diags);
    }
  if (config_node_get (map, TIED) == NULL && !import_absent (config_node_get (root, TIED)))
    shape->tied_embeddings = import_says (root, TIED, shape->tied_embeddings, diags);
  check_sizes (map, family, diags);
  if (shape->n_layers > MODEL_MAX_LAYERS) /* too many to list */
    diag_error (diags, &marks.section, NULL, "'n_layers' is %" G_GINT64_FORMAT ", expected 1 to %d",
                shape->n_layers, MODEL_MAX_LAYERS);
  for (guint i = 0;
       i < IMPORT_MAX_READERS && family->readers[i] != NULL && diag_list_n_errors (diags) == before;
       i++)
    family->readers[i](map, shape, diags);
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
  text = import_text_map (map, diags);
  if (text == NULL)
    return FALSE;
  shape->name = name_of_file (file);
  if (!import_map (map, text, shape, diags))
    {
      model_shape_clear (shape);
      return FALSE;
    }
  import_warn_of_towers (map, text, diags);
  import_warn_of_quantization (map, text, diags);
  return TRUE;
}
