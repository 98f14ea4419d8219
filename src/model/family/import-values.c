#include "model/family/import-values-private.h"

#include <string.h>

#define INTEGER_MAX (G_GINT64_CONSTANT (1) << 40)

gboolean
import_absent (const ConfigNode *node)
{
  return node == NULL || config_node_is_null (node);
}

/* What all entries of a list say, as some files repeat a number for each layer; else NODE. */
static const ConfigNode *
same_entry (const ConfigNode *node)
{
  const ConfigNode *first;

  if (config_node_kind (node) != CONFIG_LIST || config_node_length (node) == 0)
    return node;
  first = config_node_item (node, 0);
  for (guint i = 0; i < config_node_length (node); i++)
    if (config_node_text (first) == NULL
        || g_strcmp0 (config_node_text (config_node_item (node, i)), config_node_text (first)) != 0)
      return node;
  return first;
}

gboolean
import_integer (const ConfigNode *node, const char *key, gint64 min, gint64 *value, DiagList *diags)
{
  const char *text;

  node = same_entry (node);
  text = config_node_text (node);
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

gboolean
import_flag (const ConfigNode *node, const char *key, gboolean *value, DiagList *diags)
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

gboolean
import_read (const ConfigNode *map, const char *key, gint64 min, gint64 *value, DiagList *diags)
{
  const ConfigNode *node = config_node_get (map, key);

  return import_absent (node) || import_integer (node, key, min, value, diags);
}

gboolean
import_says (const ConfigNode *map, const char *key, gboolean fallback, DiagList *diags)
{
  const ConfigNode *node = config_node_get (map, key);
  gboolean          value = fallback;

  if (!import_absent (node))
    import_flag (node, key, &value, diags);
  return value;
}

const ConfigNode *
import_find (const ConfigNode *map, const char *key)
{
  const char      *dot = strchr (key, '.');
  g_autofree char *first = dot != NULL ? g_strndup (key, (gsize) (dot - key)) : NULL;

  if (dot == NULL)
    return config_node_get (map, key);
  map = config_node_get (map, first);
  return map != NULL ? config_node_get (map, dot + 1) : NULL;
}
