#include "collective/lay-private.h"

#include "collective/collnet-private.h"
#include "collective/factors-private.h"
#include "collective/nvls-private.h"
#include "collective/pairwise-private.h"
#include "collective/pat-private.h"
#include "collective/rounds-private.h"
#include "collective/tree-private.h"

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

/* The members' HBM traffic of KIND over N ranks with buffers of SCALE x S. */
static void
add_hbm (LoadSum *sum, const Members *members, CollectiveKind kind, guint n_ranks, double scale)
{
  double share = collective_wire_factor (kind, n_ranks) / collective_kind_rounds (kind);

  for (guint i = 0; i < members->n_gpus; i++)
    load_sum_add (sum, cluster_gpu_resource (sum->cluster, members->gpus[i], RESOURCE_HBM),
                  scale * share * memory_factors[kind]);
}

/* Adds one ring collective over MEMBERS on SCALE x S to the plan. */
static void
plan_ring (const LayContext *context, const Members *members, CollectiveKind kind, double scale,
           RingEnds ends)
{
  if (members->n_gpus == 1)
    return;
  ring_lay (context, members, scale * collective_passed_on (kind, members->n_gpus), ends);
  add_hbm (context->sum, members, kind, members->n_gpus, scale);
}

/* Edges noted from now on are of rings of their own, in PHASE. */
static void
begin_section (const LayContext *context, guint8 phase)
{
  if (context->edges == NULL)
    return;
  context->edges->section++;
  context->edges->phase = phase;
}

/* One phase of a hierarchical collective: the members of each node among themselves. */
static void
plan_inside (const LayContext *context, const Members *members, CollectiveKind kind, guint8 phase)
{
  for (guint slot = 0; slot < members->n_nodes; slot++)
    {
      MemberNode node = members->nodes[slot];
      Members    inside = {
           .gpus = members->gpus + node.first, .n_gpus = node.n, .nodes = &node, .n_nodes = 1
      };

      node.first = 0;
      begin_section (context, phase);
      plan_ring (context, &inside, kind, 1, RING_CLOSED);
    }
}

/* The other phase: the i-th members of all nodes, for every i, each set on its part of S. */
static void
plan_across (const LayContext *context, const Members *members, CollectiveKind kind, guint8 phase)
{
  guint                  n = members->n_nodes, each = members->nodes[0].n;
  g_autofree guint32    *gpus = g_new (guint32, n);
  g_autofree MemberNode *nodes = g_new (MemberNode, n);
  Members                across = { .gpus = gpus, .n_gpus = n, .nodes = nodes, .n_nodes = n };

  for (guint i = 0; i < each; i++)
    {
      for (guint slot = 0; slot < n; slot++)
        {
          gpus[slot] = members->gpus[members->nodes[slot].first + i];
          nodes[slot] = (MemberNode){ members->nodes[slot].node, slot, 1 };
        }
      begin_section (context, phase);
      plan_ring (context, &across, kind, 1.0 / each, RING_CLOSED);
    }
}

LAY (hierarchical)
{
  (void) ranks;
  switch (kind)
    {
    case COLLECTIVE_ALL_GATHER:
      plan_across (context, members, kind, 1);
      plan_inside (context, members, kind, 2);
      break;
    case COLLECTIVE_REDUCE_SCATTER:
      plan_inside (context, members, kind, 1);
      plan_across (context, members, kind, 2);
      break;
    default: /* all-reduce */
      plan_inside (context, members, COLLECTIVE_REDUCE_SCATTER, 1);
      plan_across (context, members, COLLECTIVE_ALL_REDUCE, 2);
      plan_inside (context, members, COLLECTIVE_ALL_GATHER, 3);
      break;
    }
}

LAY (ring)
{
  (void) ranks;
  plan_ring (context, members, kind, 1, RING_CLOSED);
}

LAY (chain)
{
  const RingEnds ends = { .first = kind == COLLECTIVE_BROADCAST ? ranks[0] : G_MAXUINT32,
                          .last = kind == COLLECTIVE_REDUCE ? ranks[0] : G_MAXUINT32 };

  plan_ring (context, members, kind, 1, ends);
}

LAY (tree)
{
  (void) ranks;
  tree_lay (context, members, 1);
  add_hbm (context->sum, members, kind, members->n_gpus, 1);
}

/* The switch's traffic of memory is its own (nvls.c). */
LAY (nvls)
{
  (void) ranks;
  nvls_lay (context, members, kind);
}

LAY (nvls_tree)
{
  (void) ranks;
  nvls_lay (context, members, kind);
  tree_lay_nodes (context, members, 1);
}

LAY (pat)
{
  (void) ranks;
  pat_lay (context, members, kind);
  add_hbm (context->sum, members, kind, members->n_gpus, 1);
}

LAY (collnet_direct)
{
  (void) ranks;
  collnet_lay (context, members, FALSE);
  add_hbm (context->sum, members, kind, members->n_gpus, 1);
}

LAY (collnet_chain)
{
  (void) ranks;
  collnet_lay (context, members, TRUE);
  add_hbm (context->sum, members, kind, members->n_gpus, 1);
}

LAY (all_pairs)
{
  (void) ranks;
  begin_section (context, 1);
  pairwise_lay_inside (context, members, 1.0 / members->n_gpus);
  begin_section (context, 2);
  pairwise_lay_inside (context, members, 1.0 / members->n_gpus);
  add_hbm (context->sum, members, kind, members->n_gpus, 1);
}

LAY (all_to_all)
{
  (void) ranks;
  pairwise_lay_all_to_all (context, members, 1.0 / members->n_gpus);
  add_hbm (context->sum, members, kind, members->n_gpus, 1);
}

/*
 * A byte of S is 1 / G of a token's row, G being the GPUs that the token reaches. Memory: the row
 * is read; for each other node it is written into a buffer, read by the card, written by the card
 * there, and read; for each GPU written into a buffer there, read, and written. The way back is the
 * same.
 */
LAY (two_level)
{
  const Dispatch *dispatch = &members->dispatch;
  const guint     n = members->n_nodes;
  const double    gpus = dispatch_parts (dispatch, members->n_gpus),
               to_each = dispatch_nodes (dispatch, n) / n;

  (void) kind, (void) ranks;
  pairwise_lay_rails (context, members, to_each / gpus);
  pairwise_lay_inside (context, members, 1.0 / members->nodes[0].n);
  for (guint i = 0; i < members->n_gpus; i++)
    load_sum_add (context->sum,
                  cluster_gpu_resource (context->sum->cluster, members->gpus[i], RESOURCE_HBM),
                  (1 + 4 * (n - 1) * to_each) / gpus + 3);
}

LAY (send_recv)
{
  pairwise_lay_send_recv (context, members, ranks, 1);
  add_hbm (context->sum, members, kind, members->n_gpus, 1);
}

LAY (rounds)
{
  (void) ranks;
  rounds_lay (context, members, 1.0 / members->n_gpus);
  add_hbm (context->sum, members, kind, members->n_gpus, 1);
}

void
lay_one_message (const LayContext *context, const Members *members, const guint32 *ranks)
{
  pairwise_lay_message (context, members, ranks[0], ranks[1], 1);
  /* read at one end, written at the other */
  add_hbm (context->sum, members, COLLECTIVE_SEND_RECV, 2, 0.5);
}
