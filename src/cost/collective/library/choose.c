#include "cost/collective/library/choose-private.h"

#include <math.h>

#include "cost/collective/algorithm/algorithm-private.h"

/* The first that exists, not by cost; small messages under LL (NCCL_P2P_LL_THRESHOLD). */
static CollectiveChoice
choose_pairwise (const CollectiveGraph *graph, CollectiveKind kind, double bytes,
                 CollectiveProtocol asked, gboolean even)
{
  const double     pair = kind == COLLECTIVE_ALL_TO_ALL ? bytes / graph->n_ranks : bytes;
  CollectiveChoice choice = { algorithm_next (FALSE, kind, NULL), PROTOCOL_SIMPLE, 0 };

  while (!algorithm_exists (choice.algorithm, graph, even))
    choice.algorithm = algorithm_next (FALSE, kind, choice.algorithm);
  if (algorithm_has_protocol (choice.algorithm, graph, PROTOCOL_LL)
      && (asked == PROTOCOL_LL
          || (asked != PROTOCOL_SIMPLE && pair <= graph->library->p2p_ll.value)))
    choice.protocol = PROTOCOL_LL;
  return choice;
}

/* Unasked; what is asked for overrides the settings of networks. */
static gboolean
is_left (const CollectiveGraph *graph, CollectiveProtocol protocol)
{
  switch (graph->protocols)
    {
    case LINK_PROTOCOLS_SIMPLE:
      return protocol == PROTOCOL_SIMPLE;
    case LINK_PROTOCOLS_NO_LL:
      return protocol != PROTOCOL_LL;
    default:
      return TRUE;
    }
}

static CollectiveChoice
choose_protocol (const CollectiveGraph *graph, CollectiveKind kind, double bytes,
                 const Algorithm *algorithm, CollectiveProtocol asked)
{
  CollectiveChoice best = { algorithm, PROTOCOL_SIMPLE, INFINITY };

  for (guint p = 0; p < PROTOCOL_N; p++)
    {
      CollectiveChoice one = { algorithm, (CollectiveProtocol) p, 0 };

      if (!algorithm_has_protocol (algorithm, graph, one.protocol)
          || (asked == PROTOCOL_N && !is_left (graph, one.protocol))
          || (asked != PROTOCOL_N && asked != one.protocol
              && algorithm_has_protocol (algorithm, graph, asked)))
        continue;
      if (algorithm->believed_latency != NULL)
        one.seconds = algorithm->believed_latency (graph, kind, one.protocol, bytes)
                      + bytes / algorithm->believed_rate (graph, kind, one.protocol, bytes);
      if (one.seconds < best.seconds)
        best = one;
    }
  return best;
}

/* Between plain hosts: what Open MPI is told to run (docs/collectives.md), as whole messages. */
static CollectiveChoice
choose_messages (CollectiveKind kind, CollectiveAlgorithm asked)
{
  const Algorithm *algorithm = algorithm_find (TRUE, kind, asked);

  if (algorithm == NULL)
    algorithm = algorithm_next (TRUE, kind, NULL);
  return (CollectiveChoice){ algorithm, PROTOCOL_SIMPLE, 0 };
}

/* What the library considers by itself. */
static gboolean
is_eligible (const Algorithm *algorithm, const CollectiveGraph *graph, double bytes,
             const CollectiveOptions *asked, gboolean even)
{
  return !algorithm->on_request && (!algorithm->in_switches || asked->sharp)
         && algorithm_exists (algorithm, graph, even)
         && (asked->protocol == PROTOCOL_N
             || algorithm_has_protocol (algorithm, graph, asked->protocol))
         && (algorithm->most == NULL || bytes <= algorithm->most (graph));
}

/* What the network's plug-in tells the library to run; FALSE: nothing. */
static gboolean
choose_tuned (const CollectiveGraph *graph, CollectiveKind kind, double bytes,
              const CollectiveOptions *asked, gboolean even, CollectiveChoice *choice)
{
  if (graph->tuner == NULL || graph->n_nodes < graph->tuner->nodes_from)
    return FALSE;
  for (guint i = 0; i < graph->tuner->regions->len; i++)
    {
      const TunerRegion       *region = &g_array_index (graph->tuner->regions, TunerRegion, i);
      const CollectiveProtocol protocol = (CollectiveProtocol) region->protocol;
      const Algorithm         *algorithm;

      if (!tuner_region_holds (region, kind, bytes, graph->n_ranks, graph->n_nodes)
          || (asked->protocol != PROTOCOL_N && asked->protocol != protocol))
        continue;
      algorithm = algorithm_find (FALSE, kind, (CollectiveAlgorithm) region->algorithm);
      if (algorithm == NULL || !is_eligible (algorithm, graph, bytes, asked, even)
          || !algorithm_has_protocol (algorithm, graph, protocol))
        continue;
      *choice = (CollectiveChoice){ algorithm, protocol, 0 };
      return TRUE;
    }
  return FALSE;
}

CollectiveChoice
collective_choose (const CollectiveGraph *graph, CollectiveKind kind, double bytes,
                   const CollectiveOptions *asked, gboolean even)
{
  const Algorithm *algorithm = algorithm_find (FALSE, kind, asked->algorithm);
  CollectiveChoice best = { NULL, PROTOCOL_SIMPLE, INFINITY };

  if (graph->hosts)
    return choose_messages (kind, asked->algorithm);
  if (collective_kind_is_paired (kind))
    return choose_pairwise (graph, kind, bytes, asked->protocol, even);
  if (algorithm != NULL && algorithm_exists (algorithm, graph, even))
    return choose_protocol (graph, kind, bytes, algorithm, asked->protocol);
  if (choose_tuned (graph, kind, bytes, asked, even, &best))
    return best;
  best.algorithm = algorithm_next (FALSE, kind, NULL);
  for (algorithm = best.algorithm; algorithm != NULL;
       algorithm = algorithm_next (FALSE, kind, algorithm))
    {
      CollectiveChoice one;

      if (!is_eligible (algorithm, graph, bytes, asked, even))
        continue;
      one = choose_protocol (graph, kind, bytes, algorithm, asked->protocol);
      if (algorithm->most != NULL) /* RCCL takes it wherever its kernels cover the size */
        return one;
      if (one.seconds < best.seconds)
        best = one;
    }
  return best;
}
