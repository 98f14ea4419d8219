#include "scenario/strategy-hint.h"

#include <string.h>

#include "base/config/suggest.h"
#include "hardware/profile/profile.h"
#include "scenario/framework.h"

/* The strategies that frameworks beginning with NAME are today's software of; "": none. */
static char *
strategies_of (ProfileSet *profiles, char *const *ids, const char *name)
{
  g_autoptr (DiagList)     ignored = diag_list_new ();
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv)           found = NULL;

  for (guint i = 0; *name != '\0' && ids[i] != NULL; i++)
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
  return g_strjoinv (" ", found);
}

/* Whether NAME is that of a profile of IDS, perhaps without its year. */
static gboolean
has_profile (char *const *ids, const char *name)
{
  const gsize length = strlen (name);

  for (guint i = 0; length > 0 && ids[i] != NULL; i++)
    if (g_ascii_strncasecmp (ids[i], name, length) == 0
        && (ids[i][length] == '\0' || ids[i][length] == '-'))
      return TRUE;
  return FALSE;
}

char *
strategy_hint (const StrategySet *set, const char *name)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_auto (GStrv)         ids = profile_set_list (profiles, "framework");
  g_auto (GStrv)         readers = framework_names (FALSE);
  g_autofree char       *own = strategies_of (profiles, ids, name);
  g_autofree char       *others = strategy_set_hint (set, name);
  const gint             reader = name_index (name, (const char *const *) readers);

  if (*own != '\0')
    return g_strdup_printf ("that is a framework; it runs the strategies %s", own);
  if (reader >= 0)
    return g_strdup_printf ("that is a framework; its jobs are read: shardsim simulate JOB --as %s "
                            "--cluster CLUSTER; %s",
                            readers[reader], others);
  return has_profile (ids, name) ? g_strdup_printf ("that is a framework; %s", others)
                                 : g_steal_pointer (&others);
}
