/* Scenarios on other numbers of nodes. */
#include <string.h>

#include "scenario/scenario.h"

const char *
scenario_node_type (const Scenario *self)
{
  const char *name = self->cluster.name;
  const char *x = name != NULL ? name + strspn (name, "0123456789 ") : NULL;

  if (x == NULL || x == name || (*x != 'x' && *x != '*'))
    return name;
  x++;
  return x + strspn (x, " ");
}

Scenario *
scenario_on_nodes (const Scenario *source, const StrategySet *strategies, const char *type,
                   guint n_nodes, const char *site_nodes, const char *origin, DiagList *diags)
{
  g_autofree char *value =
      type != NULL ? g_strdup_printf ("%u x %s", n_nodes, type) : g_strdup_printf ("%u", n_nodes);
  const ScenarioOverride changes[] = {
    { type != NULL ? "cluster.name" : "cluster.nodes", value, origin },
    { "cluster.site_nodes", site_nodes, origin },
  };

  return scenario_with (source, strategies, changes, site_nodes != NULL ? 2 : 1, diags);
}
