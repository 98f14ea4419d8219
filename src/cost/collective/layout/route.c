#include "cost/collective/layout/route-private.h"

#include "cost/collective/layout/pairs-private.h"
#include "cost/collective/layout/trees-private.h"
#include "cost/collective/library/factors-private.h"

/*
 * HBM bytes that each rank moves per byte of (n-1)/n S (send/receive: of S), under Simple without
 * registered buffers [memory, estimate]: write what arrives and read it to forward; a reduction
 * reads the local part as well.
 */
static const double memory_factors[COLLECTIVE_N_KINDS] = {
  [COLLECTIVE_ALL_GATHER] = 2.0, [COLLECTIVE_REDUCE_SCATTER] = 2.5, [COLLECTIVE_ALL_REDUCE] = 4.5,
  [COLLECTIVE_BROADCAST] = 2.0,  [COLLECTIVE_REDUCE] = 2.5,         [COLLECTIVE_ALL_TO_ALL] = 2.0,
  [COLLECTIVE_SEND_RECV] = 2.0,
};

void
route_memory (LoadSum *sum, const Members *members, CollectiveKind kind, guint n_ranks,
              double scale)
{
  double share = collective_wire_factor (kind, n_ranks) / collective_kind_rounds (kind);

  for (guint i = 0; i < members->n_gpus; i++)
    load_sum_add (sum, cluster_gpu_resource (sum->cluster, members->gpus[i], RESOURCE_HBM),
                  scale * share * memory_factors[kind]);
}

void
route_rings (const RoutingContext *context, const Members *members, CollectiveKind kind,
             double scale, RingEnds ends)
{
  if (members->n_gpus == 1)
    return;
  ring_add_traffic (context, members, scale * collective_passed_on (kind, members->n_gpus), ends);
  route_memory (context->sum, members, kind, members->n_gpus, scale);
}

void
route_begin_section (const RoutingContext *context, guint8 phase)
{
  if (context->edges == NULL)
    return;
  context->edges->section++;
  context->edges->phase = phase;
}

void
route_chain (const RoutingContext *context, const Members *members, CollectiveKind kind,
             const guint32 *ranks)
{
  const RingEnds ends = { .first = kind == COLLECTIVE_BROADCAST ? ranks[0] : G_MAXUINT32,
                          .last = kind == COLLECTIVE_REDUCE ? ranks[0] : G_MAXUINT32 };

  route_rings (context, members, kind, 1, ends);
}

void
route_one_message (const RoutingContext *context, const Members *members, const guint32 *ranks)
{
  pairs_add_message (context, members, ranks[0], ranks[1], 1);
  /* read at one end, written at the other */
  route_memory (context->sum, members, COLLECTIVE_SEND_RECV, 2, 0.5);
}

void
route_all_to_all (const RoutingContext *context, const Members *members, CollectiveKind kind,
                  const guint32 *ranks)
{
  (void) ranks;
  pairs_add_all_to_all (context, members, 1.0 / members->n_gpus);
  route_memory (context->sum, members, kind, members->n_gpus, 1);
}
