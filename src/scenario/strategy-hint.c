#include "scenario/strategy-hint.h"

#include <string.h>

#include "hardware/profile/profile.h"

char *
strategy_hint (const StrategySet *set, const char *name)
{
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);
  g_autoptr (DiagList)     ignored = diag_list_new ();
  g_auto (GStrv)           ids = profile_set_list (profiles, "framework");
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv)           found = NULL;
  g_autofree char         *all = NULL;

  for (guint i = 0; ids[i] != NULL; i++)
    {
      const FrameworkProfile *framework =
          g_ascii_strncasecmp (ids[i], name, strlen (name)) == 0
              ? profile_set_framework (profiles, ids[i], NULL, ignored)
              : NULL;

      if (framework != NULL && framework->default_for != NULL
          && strcmp (framework->default_for, "*") != 0)
        g_strv_builder_add (builder, framework->default_for);
    }
  found = g_strv_builder_end (builder);
  all = g_strjoinv (" ", found);
  return *name != '\0' && *all != '\0'
             ? g_strdup_printf ("that is a framework; it runs the strategies %s", all)
             : strategy_set_hint (set, name);
}
