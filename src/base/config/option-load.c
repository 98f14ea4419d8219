/* Keys of option tables: of a map, and one by one. */
#include "base/config/option.h"
#include "base/config/suggest.h"

static void
diagnose_unknown (const OptionSpec *table, const char *key, const char *const *more,
                  const SourceMark *mark, DiagList *diags)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char      *hint = NULL;

  for (const OptionSpec *spec = table; spec->key; spec++)
    g_ptr_array_add (names, (gpointer) spec->key);
  for (; more && *more; more++)
    if (option_table_find (table, *more) == NULL)
      g_ptr_array_add (names, (gpointer) *more);
  g_ptr_array_add (names, NULL);

  if (suggest_nearest (key, (const char *const *) names->pdata))
    hint = suggest_hint (key, (const char *const *) names->pdata);
  else
    {
      g_autofree char *list = g_strjoinv (", ", (char **) names->pdata);
      hint = g_strdup_printf ("valid keys: %s", list);
    }
  diag_error (diags, mark, hint, "unknown key '%s'", key);
}

gboolean
option_set_key (const OptionSpec *table, gpointer structure, const char *key, const char *text,
                const SourceMark *mark, DiagList *diags)
{
  const OptionSpec *spec = option_table_find (table, key);

  if (spec)
    return option_set (spec, structure, text, mark, diags);
  diagnose_unknown (table, key, NULL, mark, diags);
  return FALSE;
}

/* The map NODE as "NAME=VALUE, NAME=VALUE". FALSE after diagnostics. */
static gboolean
load_pairs (const OptionSpec *spec, gpointer structure, const ConfigNode *node, DiagList *diags)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean            ok = TRUE;

  for (guint i = 0; i < config_node_length (node); i++)
    {
      const ConfigNode *value = config_node_item (node, i);

      ok = config_node_expect (value, CONFIG_SCALAR, diags) && ok;
      if (ok)
        g_string_append_printf (text, "%s%s=%s", i > 0 ? ", " : "", config_node_key (node, i),
                                config_node_text (value));
    }
  if (ok && text->len == 0)
    return TRUE; /* no pairs: none is set */
  return ok && option_set (spec, structure, text->str, config_node_mark (node), diags);
}

/* The value of one key of a map. */
static gboolean
load_entry (const OptionSpec *spec, gpointer structure, const ConfigNode *value,
            const SourceMark *key_mark, DiagList *diags)
{
  gboolean is_null = config_node_kind (value) == CONFIG_SCALAR && config_node_is_null (value);

  if (spec->pairs && config_node_kind (value) == CONFIG_MAP)
    return load_pairs (spec, structure, value, diags);
  if (config_node_kind (value) != CONFIG_SCALAR)
    {
      const gboolean list = config_node_kind (value) == CONFIG_LIST;
      if (list && config_node_length (value) == 0)
        diag_error (diags, config_node_mark (value), NULL, "the list of '%s' is empty", spec->key);
      else
        diag_error (diags, config_node_mark (value), NULL,
                    "expected a single value for '%s', got a %s", spec->key, list ? "list" : "map");
      return FALSE;
    }
  if (is_null && !spec->optional && !(spec->type == OPTION_STRING && spec->fallback))
    {
      diag_error (diags, key_mark, NULL, "'%s' has no value", spec->key);
      return FALSE;
    }
  if (is_null)
    option_unset (spec, structure);
  return is_null
         || option_set (spec, structure, config_node_text (value), config_node_mark (value), diags);
}

/* The keys of GROUP in a map of their own. */
static gboolean
load_group (const OptionSpec *table, gpointer structure, const char *group, const ConfigNode *node,
            DiagList *diags)
{
  gboolean ok = TRUE;

  for (guint i = 0; i < config_node_length (node); i++)
    {
      const char       *key = option_table_find_in_group (table, group, config_node_key (node, i));
      const SourceMark *mark = config_node_key_mark (node, i);
      g_autofree char  *unknown = g_strconcat (group, "_", config_node_key (node, i), NULL);

      if (key != NULL)
        ok = load_entry (option_table_find (table, key), structure, config_node_item (node, i),
                         mark, diags)
             && ok;
      else
        {
          diagnose_unknown (table, unknown, NULL, mark, diags);
          ok = FALSE;
        }
    }
  return ok;
}

gboolean
option_load_map (const OptionSpec *table, gpointer structure, const ConfigNode *node,
                 const char *const *ignore, DiagList *diags)
{
  gboolean ok = TRUE;

  if (config_node_kind (node) == CONFIG_SCALAR && config_node_is_null (node))
    return TRUE; /* a section without keys */
  if (!config_node_expect (node, CONFIG_MAP, diags))
    return FALSE;
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const char       *key = config_node_key (node, i);
      const SourceMark *mark = config_node_key_mark (node, i);
      const OptionSpec *spec = option_table_find (table, key);

      if (ignore && g_strv_contains (ignore, key))
        continue;
      if (spec)
        ok = load_entry (spec, structure, config_node_item (node, i), mark, diags) && ok;
      else if (config_node_kind (config_node_item (node, i)) == CONFIG_MAP
               && option_table_find_in_group (table, key, NULL) != NULL)
        ok = load_group (table, structure, key, config_node_item (node, i), diags) && ok;
      else
        {
          diagnose_unknown (table, key, ignore, mark, diags);
          ok = FALSE;
        }
    }
  return ok;
}
