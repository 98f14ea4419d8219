/* Who trains where ranks have unlike numbers of micro-steps. */
#include "driver/walk/driver-private.h"

/* A collective of ROUTE in other micro-steps than the last one, or NULL. */
static const PolicyHop *
early_collective (const PolicyRoute *route)
{
  for (guint h = 0; h < route->n; h++)
    if (route->hops[h].hop == HOP_COLLECTIVE && route->hops[h].group.size > 1
        && route->hops[h].cadence != CADENCE_LAST)
      return &route->hops[h];
  return NULL;
}

static gboolean
has_collective (const PolicyRoute *route)
{
  for (guint h = 0; h < route->n; h++)
    if (route->hops[h].hop == HOP_COLLECTIVE)
      return TRUE;
  return FALSE;
}

/*
 * What fetches updates as it gathers does so in both passes of the first micro-step, which of some
 * ranks is the last one too: reductions come in between. NULL: nothing does.
 */
static const PolicyHop *
fetching_collective (const UnitPolicy *kind)
{
  const PolicyRoute *update = &kind->routes[ROUTE_UPDATE];

  for (guint h = 0; h < update->n && has_collective (&kind->routes[ROUTE_GATHER]); h++)
    if (update->hops[h].hop == HOP_COLLECTIVE && update->hops[h].group.size > 1)
      return &update->hops[h];
  return NULL;
}

gboolean
policy_check_partition (const Strategy *strategy, const Policy *policy, const PlanInput *in,
                        DiagList *diags)
{
  if (in->batches == NULL || in->batches->counts == NULL)
    return TRUE;
  for (guint kind = 0; kind < policy->n_kinds; kind++)
    for (guint r = 0; r < ROUTE_N; r++)
      {
        const PolicyHop *hop = early_collective (&policy->kinds[kind].routes[r]);

        if (hop == NULL && r == ROUTE_UPDATE)
          hop = fetching_collective (&policy->kinds[kind]);
        if (hop == NULL)
          continue;
        diag_option_error (diags, "partition",
                           "take a strategy that reduces once a step, such as ddp or zero1, or "
                           "'partition: even'",
                           "'partition: hybrid' gives ranks unlike numbers of micro-steps, and "
                           "strategy '%s' has all of them meet in each ('%s')",
                           strategy->name, hop->name);
        return FALSE;
      }
  return TRUE;
}
