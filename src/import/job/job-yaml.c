#include "import/job/job-yaml.h"
#include "import/job/job-interpolate.h"

static void read_node (GPtrArray *settings, const char *key, const ConfigNode *node,
                       const SourceMark *mark);

static char *
key_below (const char *key, const char *name)
{
  return *key == '\0' ? g_strdup (name) : g_strdup_printf ("%s.%s", key, name);
}

static gboolean
is_flat (const ConfigNode *list)
{
  for (guint i = 0; i < config_node_length (list); i++)
    if (config_node_kind (config_node_item (list, i)) != CONFIG_SCALAR)
      return FALSE;
  return TRUE;
}

static void
read_list (GPtrArray *settings, const char *key, const ConfigNode *list, const SourceMark *mark)
{
  g_autoptr (GString) all = g_string_new (NULL);
  const gboolean      flat = is_flat (list);

  for (guint i = 0; i < config_node_length (list); i++)
    {
      const ConfigNode *item = config_node_item (list, i);

      if (flat)
        g_string_append_printf (all, "%s%s", i > 0 ? "," : "", config_node_text (item));
      else
        {
          g_autofree char *number = g_strdup_printf ("%u", i);
          g_autofree char *below = key_below (key, number);

          read_node (settings, below, item, config_node_mark (item));
        }
    }
  if (flat)
    g_ptr_array_add (settings, job_setting_new (key, all->str, mark));
}

/* TEXT; YAML 1.1, which the frameworks read, groups digits of a number: "500_000". */
static char *
scalar_text (const char *text)
{
  const char    *digits = text + (*text == '-' || *text == '+');
  g_auto (GStrv) groups = NULL;

  if (!g_ascii_isdigit (*digits) || digits[strspn (digits, "0123456789_.")] != '\0')
    return g_strdup (text);
  groups = g_strsplit (text, "_", -1);
  return g_strjoinv (NULL, groups);
}

static void
read_scalar (GPtrArray *settings, const char *key, const ConfigNode *node, const SourceMark *mark)
{
  g_autofree char *text = NULL;

  if (!config_node_is_null (node))
    text = scalar_text (config_node_text (node));
  g_ptr_array_add (settings, job_setting_new (key, text, mark));
}

static void
read_node (GPtrArray *settings, const char *key, const ConfigNode *node, const SourceMark *mark)
{
  switch (config_node_kind (node))
    {
    case CONFIG_SCALAR:
      read_scalar (settings, key, node, mark);
      break;
    case CONFIG_LIST:
      read_list (settings, key, node, mark);
      break;
    case CONFIG_MAP:
      for (guint i = 0; i < config_node_length (node); i++)
        {
          g_autofree char  *below = key_below (key, config_node_key (node, i));
          const ConfigNode *item = config_node_item (node, i);

          read_node (settings, below, item,
                     config_node_kind (item) == CONFIG_LIST ? config_node_key_mark (node, i)
                                                            : config_node_mark (item));
        }
      break;
    }
}

GPtrArray *
job_yaml_read (const char *file, const char *text, DiagList *diags)
{
  g_autoptr (ConfigDoc) doc = config_load_text_foreign (file, text, diags);
  GPtrArray            *settings;

  if (doc == NULL)
    return NULL;
  settings = g_ptr_array_new_with_free_func ((GDestroyNotify) job_setting_free);
  read_node (settings, "", config_doc_root (doc), config_node_mark (config_doc_root (doc)));
  job_interpolate (settings);
  return settings;
}
