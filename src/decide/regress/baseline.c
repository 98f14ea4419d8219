/* The baseline: read from its file, changed row by row. regress-baseline.c writes it. */
#include <math.h>
#include <string.h>

#include "decide/regress/regress.h"

#define NEW_FILE "take the file that was stored, or remove it and write it anew with --update"

Baseline *
baseline_new (void)
{
  Baseline *self = g_new0 (Baseline, 1);

  self->rows = g_ptr_array_new_with_free_func ((GDestroyNotify) regress_row_free);
  return self;
}

void
baseline_free (Baseline *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->rows);
  g_free (self);
}

/* Where the row of SCENARIO is, or would be. */
static guint
place_of (const Baseline *self, const char *scenario, gboolean *found)
{
  guint at = 0;

  while (at < self->rows->len
         && strcmp (((RegressRow *) g_ptr_array_index (self->rows, at))->scenario, scenario) < 0)
    at++;
  *found = at < self->rows->len
           && g_str_equal (((RegressRow *) g_ptr_array_index (self->rows, at))->scenario, scenario);
  return at;
}

const RegressRow *
baseline_find (const Baseline *self, const char *scenario)
{
  gboolean    found;
  const guint at = place_of (self, scenario, &found);

  return found ? g_ptr_array_index (self->rows, at) : NULL;
}

void
baseline_put (Baseline *self, RegressRow *row)
{
  gboolean    found;
  const guint at = place_of (self, row->scenario, &found);

  if (found)
    g_ptr_array_remove_index (self->rows, at);
  g_ptr_array_insert (self->rows, (gint) at, row);
}

void
baseline_prune (Baseline *self, const GPtrArray *rows)
{
  g_autoptr (GHashTable) kept = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < rows->len; i++)
    g_hash_table_add (kept, ((RegressRow *) g_ptr_array_index (rows, i))->scenario);
  for (guint i = self->rows->len; i-- > 0;)
    if (!g_hash_table_contains (kept, ((RegressRow *) g_ptr_array_index (self->rows, i))->scenario))
      g_ptr_array_remove_index (self->rows, i);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The entry KEY of NODE, which is to be of KIND; NULL after a diagnostic. */
static const ConfigNode *
wanted_entry (const ConfigNode *node, const char *key, ConfigKind kind, DiagList *diags)
{
  const ConfigNode *entry = config_node_get (node, key);

  if (entry == NULL)
    diag_error (diags, config_node_mark (node), NEW_FILE, "missing '%s'", key);
  return entry != NULL && config_node_expect (entry, kind, diags) ? entry : NULL;
}

static gboolean
check_schema (const ConfigNode *root, DiagList *diags)
{
  const ConfigNode *schema = wanted_entry (root, "baseline_schema", CONFIG_SCALAR, diags);

  if (schema == NULL)
    return FALSE;
  if (g_str_equal (config_node_text (schema), G_STRINGIFY (BASELINE_SCHEMA)))
    return TRUE;
  diag_error (diags, config_node_mark (schema), NEW_FILE,
              "this baseline has schema '%s', this program reads " G_STRINGIFY (BASELINE_SCHEMA),
              config_node_text (schema));
  return FALSE;
}

/* The scalars of the map NODE as inputs of GROUP. */
static void
read_inputs (RegressRow *row, const char *group, const ConfigNode *node, DiagList *diags)
{
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const ConfigNode *value = config_node_item (node, i);

      if (config_node_expect (value, CONFIG_SCALAR, diags))
        regress_row_add_input (row, group, config_node_key (node, i), config_node_text (value));
    }
}

static void
read_results (RegressRow *row, const ConfigNode *node, DiagList *diags)
{
  for (guint i = 0; i < config_node_length (node); i++)
    if (config_node_expect (config_node_item (node, i), CONFIG_SCALAR, diags))
      {
        /* A number, null, or words. */
        const ConfigNode *value = config_node_item (node, i);
        RegressResult     result = { .name = g_strdup (config_node_key (node, i)), .number = NAN };
        const char       *text = config_node_text (value);
        char             *end;
        const double      number = g_ascii_strtod (text, &end);

        result.mark = source_mark_keep (config_node_mark (value));
        if (*text != '\0' && *end == '\0' && isfinite (number))
          result.number = number;
        else if (!config_node_is_null (value))
          result.text = g_strdup (text);
        g_array_append_val (row->results, result);
      }
}

/* What row NODE names of PROFILES: "gpu h100-sxm-80 (1f2e3d4c)", without the version. */
static void
read_profiles (RegressRow *row, const ConfigNode *node, const ConfigNode *profiles, DiagList *diags)
{
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const ConfigNode *name = config_node_item (node, i), *words;
      const char       *text, *version;
      g_autofree char  *group = NULL;

      if (!config_node_expect (name, CONFIG_SCALAR, diags))
        continue;
      text = config_node_text (name);
      version = strrchr (text, '(');
      words = config_node_get (profiles, text);
      if (words == NULL)
        diag_error (diags, config_node_mark (name), NEW_FILE, "there is no '%s' under 'profiles'",
                    text);
      if (words == NULL || !config_node_expect (words, CONFIG_MAP, diags))
        continue;
      group =
          g_strchomp (g_strndup (text, version != NULL ? (gsize) (version - text) : strlen (text)));
      if (strchr (group, ' ') == NULL || regress_row_has_group (row, group))
        diag_error (diags, config_node_mark (name), NEW_FILE, "'%s' is no profile, or named twice",
                    text);
      else
        read_inputs (row, group, words, diags);
    }
}

static RegressRow *
read_row (const char *scenario, const ConfigNode *node, const ConfigNode *profiles, DiagList *diags)
{
  static const char *const groups[] = { "options", "model", "lengths" };
  const ConfigNode        *version = wanted_entry (node, "program_version", CONFIG_SCALAR, diags);
  const ConfigNode        *used = wanted_entry (node, "profiles", CONFIG_LIST, diags);
  const ConfigNode        *results = wanted_entry (node, "results", CONFIG_MAP, diags);
  RegressRow              *row =
      regress_row_new (scenario, version != NULL ? config_node_text (version) : "unknown");

  row->mark = source_mark_keep (config_node_mark (node));
  for (guint i = 0; i < G_N_ELEMENTS (groups); i++)
    {
      const ConfigNode *group = config_node_get (node, groups[i]);

      if (group != NULL && config_node_expect (group, CONFIG_MAP, diags))
        read_inputs (row, groups[i], group, diags);
    }
  if (used != NULL)
    read_profiles (row, used, profiles, diags);
  if (results != NULL)
    read_results (row, results, diags);
  regress_row_sort (row);
  return row;
}

Baseline *
baseline_load (const char *file, DiagList *diags)
{
  const guint           n_errors = diag_list_n_errors (diags);
  g_autoptr (ConfigDoc) doc = config_load (file, diags);
  const ConfigNode     *root = doc != NULL ? config_doc_root (doc) : NULL, *profiles, *scenarios;
  g_autoptr (Baseline)  self = baseline_new ();

  if (doc == NULL)
    diag_error (diags, NULL, NEW_FILE, "'%s' is no baseline", file);
  if (root == NULL || !config_node_expect (root, CONFIG_MAP, diags) || !check_schema (root, diags))
    return NULL;
  profiles = wanted_entry (root, "profiles", CONFIG_MAP, diags);
  scenarios = wanted_entry (root, "scenarios", CONFIG_MAP, diags);
  for (guint i = 0; profiles != NULL && scenarios != NULL && i < config_node_length (scenarios);
       i++)
    {
      const ConfigNode *node = config_node_item (scenarios, i);

      if (config_node_expect (node, CONFIG_MAP, diags))
        baseline_put (self, read_row (config_node_key (scenarios, i), node, profiles, diags));
    }
  return diag_list_n_errors (diags) == n_errors ? g_steal_pointer (&self) : NULL;
}
