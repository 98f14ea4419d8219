#include "cost/collective/algorithm/host-ring-private.h"

#include <stdlib.h>

#include "cost/collective/layout/load-private.h"
#include "cost/collective/layout/ring-order.h"
#include "cost/collective/library/factors-private.h"
#include "hardware/sites/sites.h"

#define KEPT_BYTES 4.0 /* of an element that is added up: fp32 */

/* From one rank to the next. */
typedef struct
{
  guint  first_load, n_loads; /* in HostRing.loads */
  double hop;                 /* s, from the end of a transfer to its arrival */
  double flow;                /* B/s at most; 0: no limit */
} HostEdge;

struct _HostRing
{
  const Cluster    *cluster;
  CollectiveKind    kind;
  guint32          *ranks; /* in the order of the ring */
  guint             n;
  CollectiveLayout *layout;
  HostEdge         *edges; /* [n] */
  GArray           *loads; /* StepLoad of the edges, per byte on them */
  double            codec; /* bytes of memory that a rank works on, per byte of S */
  double            flow;  /* s per byte of S that TCP asks between sites */
  double            ways;  /* s: of an all-to-all, the longest hop of each round in sum */
};

static gboolean
is_ring (CollectiveKind kind)
{
  return kind == COLLECTIVE_ALL_REDUCE || kind == COLLECTIVE_ALL_GATHER
         || kind == COLLECTIVE_REDUCE_SCATTER;
}

/* ---- edges ----------------------------------------------------------------------------------- */

static guint
dram_of (const Cluster *cluster, guint32 rank)
{
  return cluster_node_resource (cluster, cluster_node_of_gpu (cluster, rank), RESOURCE_DRAM,
                                cluster_socket_of_gpu (cluster, rank));
}

static void
add_load (HostRing *self, LoadSum *sum, guint32 resource, double share, double bytes)
{
  StepLoad load = { resource, share };

  load_sum_add (sum, resource, share * bytes);
  g_array_append_val (self->loads, load);
}

static HostEdge
add_edge (HostRing *self, LoadSum *sum, guint32 from, guint32 to, double bytes)
{
  const guint a = cluster_node_of_gpu (self->cluster, from);
  const guint b = cluster_node_of_gpu (self->cluster, to);
  HostEdge    edge = { .first_load = self->loads->len };
  WanLink     wan;

  add_load (self, sum, dram_of (self->cluster, from), 1, bytes);
  add_load (self, sum, dram_of (self->cluster, to), 1, bytes);
  if (a != b)
    {
      const LinkProfile *nic = cluster_nic_profile (self->cluster, a);
      const Cluster     *cluster = self->cluster;
      guint nodes[2] = { cluster_node_of_gpu (cluster, from), cluster_node_of_gpu (cluster, to) };
      guint cards[2] = { cluster_nearest_card (cluster, from), cluster_nearest_card (cluster, to) };
      FabricLink links[FABRIC_MAX];
      guint n = cluster_route_fabric (cluster, nodes[0], cards[0], nodes[1], cards[1], 1, links);

      /* Both cards, and what lies between their leaves and sites. */
      add_load (self, sum, cluster_node_resource (cluster, nodes[0], RESOURCE_NIC_TX, cards[0]), 1,
                bytes);
      add_load (self, sum, cluster_node_resource (cluster, nodes[1], RESOURCE_NIC_RX, cards[1]), 1,
                bytes);
      for (guint i = 0; i < n; i++)
        add_load (self, sum, links[i].resource, links[i].share, bytes);
      edge.hop = nic != NULL ? nic->latency.value : 0;
    }
  if (cluster_wan_between (self->cluster, a, b, &wan))
    {
      edge.hop += wan.rtt / 2;
      edge.flow = wan.flow;
    }
  edge.n_loads = self->loads->len - edge.first_load;
  return edge;
}

/* All pairs, round after round: each waits for its slowest. */
static void
add_pairs (HostRing *self, LoadSum *sum)
{
  for (guint round = 1; round < self->n; round++)
    {
      double hop = 0, flow = 0;

      for (guint i = 0; i < self->n; i++)
        {
          const HostEdge edge = add_edge (self, sum, self->ranks[i],
                                          self->ranks[(i + round) % self->n], 1.0 / self->n);

          hop = MAX (hop, edge.hop);
          flow = edge.flow > 0 ? MAX (flow, 1 / edge.flow) : flow;
        }
      self->ways += hop;
      self->flow += flow / self->n;
    }
}

static double
codec_bytes (const Codec *codec, CollectiveKind kind, guint n)
{
  const double rest = (n - 1.0) / n;
  double       kept;

  if (codec == NULL || !codec->every_hop)
    return 0;
  kept = KEPT_BYTES * 1e6 / (double) codec_wire_bytes (codec, 1000000); /* a byte on the wire */
  if (kind == COLLECTIVE_ALL_REDUCE)
    return (kept + 1) + rest * (1 + 2 * kept) + rest * (1 + kept);
  return kind == COLLECTIVE_REDUCE_SCATTER ? rest * (kept + 1) + rest * (1 + 2 * kept) : 0;
}

HostRing *
host_ring_new (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks, guint n_ranks,
               const CollectiveOptions *options)
{
  HostRing    *self = g_new0 (HostRing, 1);
  const double bytes = collective_passed_on (kind, n_ranks);
  /* What comes from one rank, or goes to one, takes a chain. */
  const guint n_edges = n_ranks - (collective_kind_is_rooted (kind) ? 1 : 0);
  LoadSum     sum;

  self->cluster = cluster;
  self->kind = kind;
  self->n = n_ranks;
  self->ranks = g_memdup2 (ranks, n_ranks * sizeof *ranks);
  self->layout = g_new0 (CollectiveLayout, 1);
  self->layout->kind = kind;
  self->edges = g_new0 (HostEdge, n_ranks);
  self->loads = g_array_new (FALSE, FALSE, sizeof (StepLoad));
  self->codec = codec_bytes (options->codec, kind, n_ranks);
  if (is_ring (kind) && collective_ring_order (options) == RING_ORDER_BEST)
    ring_order_ranks (cluster, ranks, n_ranks, self->ranks);
  load_sum_init (&sum, cluster, NULL);
  if (kind == COLLECTIVE_ALL_TO_ALL)
    add_pairs (self, &sum);
  for (guint i = 0; i < n_edges && kind != COLLECTIVE_ALL_TO_ALL; i++)
    {
      HostEdge *edge = &self->edges[i];

      *edge = add_edge (self, &sum, self->ranks[i], self->ranks[(i + 1) % n_ranks], bytes);
      if (edge->flow > 0)
        self->flow = MAX (self->flow, bytes / edge->flow);
    }
  for (guint i = 0; i < n_ranks && self->codec > 0; i++)
    {
      const guint node = cluster_node_of_gpu (self->cluster, self->ranks[i]);
      const guint sockets = (guint) cluster_node_profile (self->cluster, node)->sockets.value;

      /* What re-encoding takes of the memory of the rank's node. */
      for (guint k = 0; k < sockets; k++)
        load_sum_add (&sum, cluster_node_resource (self->cluster, node, RESOURCE_DRAM, k),
                      self->codec / sockets);
    }
  load_sum_store (&sum, self->layout);
  load_sum_clear (&sum);
  return self;
}

void
host_ring_free (HostRing *self)
{
  if (self == NULL)
    return;
  collective_layout_free (self->layout);
  g_array_unref (self->loads);
  g_free (self->edges);
  g_free (self->ranks);
  g_free (self);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Steps that follow each other: each waits for the message of the one before. */
static guint
steps_of (CollectiveKind kind, guint n_ranks)
{
  switch (kind)
    {
    case COLLECTIVE_ALL_REDUCE:
      return 2 * (n_ranks - 1);
    case COLLECTIVE_SEND_RECV:
      return 1;
    default:
      return n_ranks - 1;
    }
}

static int
compare_load (const void *key, const void *load)
{
  const guint32 resource = *(const guint32 *) key;
  const guint32 other = ((const CollectiveLoad *) load)->resource;

  return (resource > other) - (resource < other);
}

static const CollectiveLoad *
load_on (const HostRing *self, guint32 resource)
{
  return bsearch (&resource, self->layout->loads, self->layout->n_loads,
                  sizeof *self->layout->loads, compare_load);
}

/* What an item on edge I takes, of S BYTES in STEPS. */
static double
item_seconds (const HostRing *self, guint i, double bytes, guint steps)
{
  const HostEdge *edge = &self->edges[i];
  double          most = 0;

  for (guint k = 0; k < edge->n_loads; k++)
    {
      const StepLoad *load = &g_array_index (self->loads, StepLoad, edge->first_load + k);

      most = MAX (most, load_on (self, load->resource)->service
                            / cluster_resource (self->cluster, load->resource)->capacity);
    }
  if (edge->flow > 0)
    most = MAX (most, collective_wire_factor (self->kind, self->n) / edge->flow);
  return most * bytes / steps;
}

/* At one place: of the slowest card, as a ring goes at the pace of its slowest edge. */
static double
latency_of (const HostRing *self, double bytes, double rate)
{
  double most = 0;

  if (self->kind == COLLECTIVE_ALL_TO_ALL)
    return self->ways;
  if (self->layout->sites != NULL || cluster_n_sites (self->cluster) > 0)
    {
      const guint           steps = steps_of (self->kind, self->n);
      g_autofree StepClass *ring = g_new0 (StepClass, self->n);

      /* The longest path through the steps, beyond what the slowest link takes: RATE s per byte. */
      for (guint i = 0; i < self->n; i++)
        ring[i] = (StepClass){ item_seconds (self, i, bytes, steps), self->edges[i].hop };
      return MAX (step_ring_unlike (ring, self->n, steps) - bytes * rate, 0);
    }
  for (guint i = 0; i < self->n; i++)
    most = MAX (most, self->edges[i].hop);
  return steps_of (self->kind, self->n) * most;
}

void
host_ring_cost (const HostRing *self, double bytes, CollectiveCost *cost)
{
  const CollectiveLayout *layout = self->layout;
  const double            links = layout->link_seconds_per_byte;

  *cost = (CollectiveCost){ .algorithm = ALGORITHM_RING,
                            .protocol = PROTOCOL_SIMPLE,
                            .weight = 1,
                            .latency = latency_of (self, bytes, MAX (links, self->flow)),
                            .rate_cap = self->flow > 0 ? 1 / self->flow : 0,
                            .service_scale = 1,
                            .loads = layout->loads,
                            .n_loads = layout->n_loads };
  cost->time = cost->latency + bytes * MAX (links, self->flow);
  cost->binding =
      links >= self->flow && bytes * links >= cost->latency ? layout->binding : G_MAXUINT32;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Edge I, with its part of what re-encoding takes of the receiver's memory. */
static void
add_step_edge (const HostRing *self, StepProgram *program, guint i, guint items, double bytes)
{
  const HostEdge    *edge = &self->edges[i];
  const double       passed = collective_wire_factor (self->kind, self->n);
  const guint        node = cluster_node_of_gpu (self->cluster, self->ranks[(i + 1) % self->n]);
  const guint        sockets = (guint) cluster_node_profile (self->cluster, node)->sockets.value;
  g_autoptr (GArray) loads = g_array_new (FALSE, FALSE, sizeof (StepLoad));

  for (guint k = 0; k < edge->n_loads; k++)
    {
      StepLoad load = g_array_index (self->loads, StepLoad, edge->first_load + k);

      load.service *=
          load_on (self, load.resource)->service / load_on (self, load.resource)->payload;
      g_array_append_val (loads, load);
    }
  for (guint s = 0; s < sockets && self->codec > 0; s++)
    {
      StepLoad load = { cluster_node_resource (self->cluster, node, RESOURCE_DRAM, s),
                        self->codec / passed / sockets };

      g_array_append_val (loads, load);
    }
  step_program_add_edge (program,
                         &(StepEdge){ .n_items = items,
                                      .bytes = passed * bytes / items,
                                      .hop = edge->hop,
                                      .cap = edge->flow,
                                      .weight = 1 },
                         (const StepLoad *) (gpointer) loads->data, loads->len);
}

/* Everything at once, after the latency. */
static StepProgram *
one_step (const HostRing *self, double bytes)
{
  g_autoptr (GArray) loads = g_array_new (FALSE, FALSE, sizeof (StepLoad));
  CollectiveCost     cost;
  StepProgram       *program;

  host_ring_cost (self, bytes, &cost);
  program = step_program_new (cost.latency);
  for (guint i = 0; i < cost.n_loads; i++)
    {
      StepLoad load = { cost.loads[i].resource, cost.loads[i].service };

      g_array_append_val (loads, load);
    }
  step_program_add_edge (
      program, &(StepEdge){ .n_items = 1, .bytes = bytes, .cap = cost.rate_cap, .weight = 1 },
      (const StepLoad *) (gpointer) loads->data, loads->len);
  step_program_finish (program);
  return program;
}

StepProgram *
host_ring_steps (const HostRing *self, double bytes)
{
  const guint  steps = steps_of (self->kind, self->n);
  StepProgram *program;

  if (!is_ring (self->kind) && self->kind != COLLECTIVE_SEND_RECV)
    return one_step (self, bytes);
  program = step_program_new (0);
  for (guint i = 0; i < self->n; i++)
    add_step_edge (self, program, i, steps, bytes);
  for (guint i = 0; i < self->n && is_ring (self->kind); i++)
    step_program_add_wait (program, i, (i + 1) % self->n, 1);
  step_program_finish (program);
  return program;
}
