/*
 * What --set and --cluster take: a line "section.key=value" is a setting, any other the text of
 * --cluster. They make a scenario, or diagnostics; a scenario prints as what reads back to the
 * same, and a small one is replayed.
 */
#include <string.h>

#include "fuzz.h"
#include "mutate.h"

#define MAX_SETTINGS 64

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

char *
fuzz_option_line (const char *section, const char *key, const char *value)
{
  return g_strdup_printf ("%s.%s=%s", section, key, value);
}

static ScenarioOverride
setting_of_line (char *line)
{
  char *equals = strchr (line, '=');

  if (equals == NULL || equals == line)
    return (ScenarioOverride){ "cluster.name", line, "--cluster" };
  *equals = '\0';
  return (ScenarioOverride){ line, equals + 1, "--set" };
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autofree char      *text = g_strndup ((const char *) data, size);
  g_auto (GStrv)        lines = g_strsplit (text, "\n", MAX_SETTINGS);
  const guint           n = g_strv_length (lines);
  ScenarioOverride      settings[MAX_SETTINGS];
  g_autoptr (GPtrArray) all = NULL;

  /* A command line's words are UTF-8 when they get here. */
  if (!g_utf8_validate (text, -1, NULL))
    return 0;
  fuzz_begin ();
  for (guint i = 0; i < n; i++)
    settings[i] = setting_of_line (lines[i]);
  all = scenario_load (NULL, NULL, settings, n, diags);
  fuzz_check_diags (diags, all == NULL);
  if (all == NULL)
    return 0;
  g_assert (all->len == 1);
  {
    const Scenario *scenario = g_ptr_array_index (all, 0);

    fuzz_check_round_trip (scenario);
    fuzz_check_cluster (&scenario->cluster, fuzz_profiles (), FALSE);
    fuzz_check_prediction (scenario, fuzz_profiles ());
  }
  return 0;
}
