#include "cost/collective/algorithm/algorithm-private.h"

const Algorithm *
algorithm_find (gboolean hosts, CollectiveKind kind, CollectiveAlgorithm id)
{
  const Algorithm *one = id < ALGORITHM_N ? algorithm_list[id] : NULL;

  while (one != NULL && (one->hosts != hosts || (one->kinds & KIND_BIT (kind)) == 0))
    one = one->next;
  return one;
}

const Algorithm *
algorithm_next (gboolean hosts, CollectiveKind kind, const Algorithm *before)
{
  gboolean passed = before == NULL;

  for (guint i = 0; i < 2 * ALGORITHM_N; i++) /* those that are preferred, and then the others */
    {
      const Algorithm *one = algorithm_find (hosts, kind, (CollectiveAlgorithm) (i % ALGORITHM_N));

      if (one == NULL || one->preferred != (i < ALGORITHM_N))
        continue;
      if (passed)
        return one;
      passed = one == before;
    }
  return NULL;
}

gboolean
algorithm_exists (const Algorithm *self, const CollectiveGraph *graph, gboolean even)
{
  return self->exists == NULL || self->exists (graph, even);
}

gboolean
algorithm_has_protocol (const Algorithm *self, const CollectiveGraph *graph,
                        CollectiveProtocol protocol)
{
  return (self->protocols & PROTOCOL_BIT (protocol)) != 0
         && (protocol != PROTOCOL_LL128 || graph->ll128);
}

guint
algorithm_flows (const Algorithm *self, const CollectiveGraph *graph, guint hashed_qps)
{
  guint in_flight = CONNECTION_STEPS / MAX (self->slice_steps, 1), connections;

  if (hashed_qps == 0 || graph->hosts || graph->n_cards == 0)
    return 1;
  connections =
      self->connections != NULL ? self->connections (graph) : graph->channels / graph->n_cards;
  return MAX (connections, 1) * (graph->split_data ? hashed_qps : MIN (hashed_qps, in_flight));
}
