#include "cli/argument/value-lists.h"

#include <string.h>

gboolean
value_list_of_names (const char *key)
{
  return g_str_has_suffix (key, "strategy.name") || g_str_has_suffix (key, ".inner.name")
         || g_str_equal (key, "model.config") || g_str_equal (key, "cluster.name");
}

/* The option that KEY sets; NULL where that depends on the strategy, or there is none. */
static const OptionSpec *
find_option (const char *key)
{
  const char       *dot = strchr (key, '.');
  g_autofree char  *section = dot != NULL ? g_strndup (key, (gsize) (dot - key)) : NULL;
  const OptionSpec *table = section != NULL ? scenario_section_table (section) : NULL;

  return table != NULL ? option_table_find (table, dot + 1) : NULL;
}

/* A text may hold commas of its own ("0:0.8,17:0.5"); numbers, choices and names do not. */
gboolean
value_list_is_in (const ScenarioOverride *override)
{
  g_autofree char  *key = scenario_whole_key (override->key);
  const OptionSpec *spec = find_option (key);

  return (strchr (override->value, ',') != NULL || strstr (override->value, "..") != NULL)
         && (value_list_of_names (key) || scenario_key_is_figure (key)
             || (spec != NULL && spec->type != OPTION_STRING));
}

gboolean
value_lists_refuse (const GArray *overrides, DiagList *diags)
{
  gboolean found = FALSE;

  for (guint i = 0; i < overrides->len; i++)
    {
      const ScenarioOverride *override = &g_array_index (overrides, ScenarioOverride, i);
      const SourceMark        mark = scenario_override_mark (override);

      if (!value_list_is_in (override))
        continue;
      diag_error (diags, &mark,
                  "'shardsim compare' takes lists; 'sweep' and 'search' do with --vary KEY=LIST",
                  "one value is wanted here, got the list '%s'", override->value);
      found = TRUE;
    }
  return found;
}
