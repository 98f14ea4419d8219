#include "collective/algorithm-private.h"

/*
 * GPUs in the order of the enumeration, but for messages; these and hosts in the order of
 * preference: the first of a kind that exists is what runs unasked.
 */
static const Algorithm *const algorithms[] = {
  &algorithm_ring,           &algorithm_chain,
  &algorithm_tree,           &algorithm_nvls,
  &algorithm_nvls_tree,      &algorithm_pat,
  &algorithm_collnet_direct, &algorithm_collnet_chain,
  &algorithm_two_level,      &algorithm_all_to_all,
  &algorithm_send_recv,      &algorithm_hierarchical,
  &algorithm_all_pairs,      &algorithm_host_rounds,
  &algorithm_host_exchange,  &algorithm_host_linear,
  &algorithm_host_pipeline,  &algorithm_host_ring,
  &algorithm_host_chain,     NULL,
};

const Algorithm *
algorithm_next (gboolean hosts, CollectiveKind kind, const Algorithm *before)
{
  const Algorithm *const *at = algorithms;

  while (before != NULL && *at++ != before)
    ;
  for (; *at != NULL; at++)
    if ((*at)->hosts == hosts && ((*at)->kinds & KIND_BIT (kind)) != 0)
      return *at;
  return NULL;
}

const Algorithm *
algorithm_find (gboolean hosts, CollectiveKind kind, CollectiveAlgorithm id)
{
  const Algorithm *found = algorithm_next (hosts, kind, NULL);

  while (found != NULL && found->id != id)
    found = algorithm_next (hosts, kind, found);
  return found;
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
