/* What makes tokens under a strategy worth another amount than those of synchronous training. */
#include "driver/walk/driver-private.h"

static void
add (GPtrArray *parts, char *text)
{
  g_ptr_array_add (parts, text);
}

static void
add_exchange (const PlanInput *in, const Exchange *exchange, GPtrArray *parts)
{
  double trained = (double) workload_n_trainable_parameters (in->workload);
  double all = (double) workload_n_parameters (in->workload);

  if (exchange->every > 1)
    add (parts, g_strdup_printf ("%u local steps", exchange->every));
  add (parts, g_strdup_printf ("%u replicas", exchange_workers (exchange)));
  /* A worker trains a part of the parameters. */
  if (exchange->slices > 1)
    add (parts, g_strdup_printf ("a worker trains %.0f %% of the parameters, 1 of %u slices",
                                 100 * trained / all, exchange->slices));
  if (exchange->delay == EXCHANGE_ROUND_LATE)
    add (parts, g_strdup ("used one round late"));
  else if (exchange->delay > 0)
    add (parts,
         g_strdup_printf ("used %u step%s late", exchange->delay, exchange->delay > 1 ? "s" : ""));
  if (exchange->codec != NULL)
    add (parts, g_strdup_printf ("sent as %s", exchange->codec->name));
  else if (dtype_bits (exchange->dtype) < 32)
    add (parts, g_strdup_printf ("sent in %s", dtype_name (exchange->dtype)));
}

/* Takes AS: hops, and kinds of units, are often alike. */
static void
add_once (GPtrArray *parts, char *as)
{
  if (g_ptr_array_find_with_equal_func (parts, as, g_str_equal, NULL))
    g_free (as);
  else
    add (parts, as);
}

/* What HOP sends as less than it was computed; a group of one sends nothing. */
static void
add_hop (const Policy *policy, const PolicyHop *hop, GPtrArray *parts)
{
  if (hop->hop != HOP_COLLECTIVE || hop->group.size < 2)
    return;
  if (hop->codec != NULL)
    add_once (parts, g_strdup_printf ("gradients sent as %s", hop->codec->name));
  else if (dtype_bits (hop->dtype) < dtype_bits (policy->compute))
    add_once (parts, g_strdup_printf ("gradients sent as %s", dtype_name (hop->dtype)));
}

/* Gradients that are sent as less than they are: over the shard group, and between replicas. */
static void
add_reduction (const Strategy *strategy, const PlanInput *in, gconstpointer options,
               GPtrArray *parts)
{
  static const PolicyRouteKind routes[] = { ROUTE_REDUCE, ROUTE_REST };
  Policy                       policy = { 0 };

  if (strategy->policy == NULL)
    return;
  strategy->policy (in, options, &policy);
  for (guint k = 0; k < policy.n_kinds; k++)
    {
      const UnitPolicy *kind = &policy.kinds[k];
      const Compressor *compressor = kind->compressor;

      if (compressor != NULL && kind->routes[ROUTE_REDUCE].hops[0].group.size > 1)
        add_once (parts,
                  g_strdup_printf ("gradients sent by %s",
                                   compressor->sends != NULL ? compressor->sends (kind->compression)
                                                             : compressor->name));
      for (guint r = 0; r < G_N_ELEMENTS (routes) && compressor == NULL; r++)
        for (guint h = 0; h < kind->routes[routes[r]].n; h++)
          add_hop (&policy, &kind->routes[routes[r]].hops[h], parts);
    }
}

char *
strategy_caveats (const PlanInput *in, const StrategyChoice *choice)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func (g_free);
  g_autofree char      *all = NULL;
  PlanInput             input = *in, inner;
  const double          dropped = 1 - mesh_rows_kept (workload_mesh (in->workload));

  /* Tokens that find no room at their experts pass the layer by. */
  if (dropped > 1e-9)
    add (parts,
         g_strdup_printf ("experts drop %.3g %% of the tokens routed to them", 100 * dropped));
  for (const StrategyChoice *c = choice; c != NULL; c = c->inner)
    {
      Exchange exchange;

      if (strategy_whole_exchange (&input, c, &exchange) && exchange_workers (&exchange) > 1)
        add_exchange (&input, &exchange, parts);
      if (c->strategy->caveat != NULL)
        add (parts, g_strdup (c->strategy->caveat));
      add_reduction (c->strategy, &input, c->options, parts);
      strategy_narrow_input (c->strategy, &input, c->options, &inner);
      input = inner;
    }
  if (parts->len == 0)
    return NULL;
  g_ptr_array_add (parts, NULL);
  all = g_strjoinv (", ", (char **) parts->pdata);
  return g_strdup_printf ("convergence is not modelled: %s", all);
}
