/* Documents that extend others: config_load_extended. */
#include "base/config/config-private.h"

#include <stdlib.h>
#include <string.h>

/*
 * The merge of OVER into BASE: a new map of DOC where both are maps, else OVER. The depth is
 * bounded by the loader.
 */
static const ConfigNode *
merge_nodes (ConfigDoc *doc, const ConfigNode *base, const ConfigNode *over)
{
  ConfigNode *merged;

  if (base->kind != CONFIG_MAP || over->kind != CONFIG_MAP)
    return over;

  merged = config_doc_add_node (doc, CONFIG_MAP, &over->mark);
  for (guint i = 0; i < base->entries->len; i++)
    {
      const ConfigEntry *old = config_node_entry (base, i);
      const ConfigEntry *new = config_node_find (over, old->key);

      if (new)
        config_node_append (merged, new->key, &new->mark,
                            merge_nodes (doc, old->value, new->value));
      else
        config_node_append (merged, old->key, &old->mark, old->value);
    }
  for (guint i = 0; i < over->entries->len; i++)
    {
      const ConfigEntry *new = config_node_entry (over, i);

      if (!config_node_find (base, new->key))
        config_node_append (merged, new->key, &new->mark, new->value);
    }
  return merged;
}

/* One name for each file, however it is spelt. Newly allocated. */
static char *
real_name (const char *file)
{
  char *real = realpath (file, NULL);
  char *name = g_strdup (real ? real : file);

  free (real);
  return name;
}

/* "a.yaml -> b.yaml -> a.yaml": the files of the chain SEEN from REAL on. */
static char *
describe_circle (const GPtrArray *seen, const char *real)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char    *end = g_path_get_basename (real);
  guint               i = 0;

  g_ptr_array_find_with_equal_func ((GPtrArray *) seen, real, g_str_equal, &i);
  for (; i < seen->len; i++)
    {
      g_autofree char *name = g_path_get_basename (g_ptr_array_index (seen, i));

      g_string_append_printf (text, "%s -> ", name);
    }
  g_string_append (text, end);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/*
 * Path of the file that DOC extends; NULL when it extends none or, after a diagnostic, when that is
 * not to be had. SEEN holds the real names of the files of the chain so far.
 */
static char *
next_in_chain (const ConfigDoc *doc, ConfigResolve resolve, gpointer user, GPtrArray *seen,
               DiagList *diags)
{
  const ConfigNode *extends = config_node_get (doc->root, "extends");
  g_autofree char  *path = NULL;
  g_autofree char  *real = NULL;

  if (!extends || !config_node_expect (extends, CONFIG_SCALAR, diags))
    return NULL;
  path = resolve (extends->text, user);
  if (!path)
    {
      diag_error (diags, &extends->mark, NULL, "cannot find '%s' to extend", extends->text);
      return NULL;
    }
  real = real_name (path);
  if (g_ptr_array_find_with_equal_func (seen, real, g_str_equal, NULL))
    {
      g_autofree char *circle = describe_circle (seen, real);

      diag_error (diags, &extends->mark, "one of them has to do without", "'%s' extends itself: %s",
                  extends->text, circle);
      return NULL;
    }
  g_ptr_array_add (seen, g_steal_pointer (&real));
  return g_steal_pointer (&path);
}

static gpointer
load_file (gconstpointer user, DiagList *diags)
{
  return config_load (user, diags);
}

/* What FILE says, which FILES keeps (NULL: OWNER does). NULL after diagnostics. */
static const ConfigDoc *
get_document (const char *file, InputFiles *files, ConfigDoc *owner, DiagList *diags)
{
  g_autofree char *key = NULL;
  ConfigDoc       *own;

  if (files != NULL)
    {
      key = g_strconcat ("document ", file, NULL);
      return input_files_get (files, key, load_file, file, (GDestroyNotify) config_doc_free, diags);
    }
  own = config_load (file, diags);
  if (own != NULL)
    g_ptr_array_add (owner->bases, own);
  return own;
}

/* ROOT without its key 'extends'. */
static const ConfigNode *
without_extends (ConfigDoc *doc, const ConfigNode *root)
{
  ConfigNode *own;

  if (config_node_get (root, "extends") == NULL)
    return root;
  own = config_doc_add_node (doc, CONFIG_MAP, &root->mark);
  for (guint i = 0; i < root->entries->len; i++)
    {
      const ConfigEntry *entry = config_node_entry (root, i);

      if (strcmp (entry->key, "extends") != 0)
        config_node_append (own, entry->key, &entry->mark, entry->value);
    }
  return own;
}

ConfigDoc *
config_load_extended (const char *file, ConfigResolve resolve, gpointer user, InputFiles *files,
                      DiagList *diags)
{
  g_autoptr (ConfigDoc) merged = config_doc_new (file, "", 0);
  g_autoptr (GPtrArray) seen = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) chain = g_ptr_array_new ();
  const ConfigDoc      *last = get_document (file, files, merged, diags);
  const ConfigNode     *root;

  g_ptr_array_add (seen, real_name (file));
  while (last != NULL && config_node_get (last->root, "extends") != NULL)
    {
      g_autofree char *path = next_in_chain (last, resolve, user, seen, diags);

      g_ptr_array_add (chain, (gpointer) last);
      last = path != NULL ? get_document (path, files, merged, diags) : NULL;
    }
  if (last == NULL)
    return NULL;

  root = last->root;
  for (guint i = chain->len; i-- > 0;)
    root = merge_nodes (merged, root, ((const ConfigDoc *) chain->pdata[i])->root);
  merged->root = (ConfigNode *) without_extends (merged, root);
  return g_steal_pointer (&merged);
}
