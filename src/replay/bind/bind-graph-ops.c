/*
 * What the graph that folding refines is made of: nodes with colours, edges with labels, and ops
 * with what they load and cost.
 */
#include "replay/bind/bind-private.h"

#include <math.h>
#include <string.h>

/* ---- colours and labels ---------------------------------------------------------------------- */

guint64
colour_mix (guint64 colour, guint64 value)
{
  colour = (colour ^ value) + G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  colour = (colour ^ (colour >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  colour = (colour ^ (colour >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return colour ^ (colour >> 31);
}

guint64
colour_mix_double (guint64 colour, double value)
{
  guint64 bits;

  memcpy (&bits, &value, sizeof bits);
  return colour_mix (colour, bits);
}

/*
 * 12 significant digits (40 bits): the order in which a planner adds loads up must not split a
 * class.
 */
static double
round_label (double value)
{
  int    exponent;
  double mantissa = frexp (value, &exponent);

  return ldexp (nearbyint (mantissa * 0x1p40), exponent - 40);
}

void
bind_graph_add_edge (BindGraph *self, guint32 a, guint32 b, Relation relation, double label)
{
  OrbitEdge edge = { a, b, label, relation };

  g_array_append_val (self->edges, edge);
}

void
bind_graph_add_colour (BindGraph *self, guint64 colour)
{
  g_array_append_val (self->colours, colour);
}

/* ---- ops ------------------------------------------------------------------------------------- */

void
bind_graph_add_load (BindGraph *self, guint op, guint32 resource, double service)
{
  OpLoad load = { resource, service };

  if (!(service > 0))
    return;
  g_array_append_val (self->loads, load);
  bind_graph_add_edge (self, bind_graph_op (self, op), bind_graph_resource (self, resource),
                       RELATION_LOAD, round_label (service));
}

GraphOp *
bind_graph_begin_op (BindGraph *self, double latency)
{
  GraphOp op = { .first_load = self->loads->len, .latency = latency };

  g_array_append_val (self->ops, op);
  return &g_array_index (self->ops, GraphOp, self->ops->len - 1);
}

void
bind_graph_end_op (BindGraph *self, guint64 colour)
{
  GraphOp *op = &g_array_index (self->ops, GraphOp, self->ops->len - 1);

  op->n_loads = self->loads->len - op->first_load;
  bind_graph_add_colour (self, colour_mix_double (colour, round_label (op->latency)));
}

/* ---- collectives and messages ---------------------------------------------------------------- */

/* Where BYTES stand among SIZES, or belong. */
static guint
find_size (const GArray *sizes, guint64 bytes)
{
  guint low = 0, high = sizes->len;

  while (low < high)
    {
      guint middle = (low + high) / 2;

      if (g_array_index (sizes, guint64, middle) < bytes)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

void
bind_graph_note_size (GraphUse *use, guint64 bytes)
{
  guint at;

  if (use->sizes == NULL)
    use->sizes = g_array_new (FALSE, FALSE, sizeof (guint64));
  at = find_size (use->sizes, bytes);
  if (at == use->sizes->len || g_array_index (use->sizes, guint64, at) != bytes)
    g_array_insert_val (use->sizes, at, bytes);
}

/*
 * What a plan moves between nodes, and between GPUs of a node: cards are reached over PCIe as well,
 * which is not counted twice.
 */
static void
sum_payloads (const Cluster *cluster, const CollectiveCost *plan, double *inter, double *intra)
{
  double pcie = 0, nvlink = 0;

  *inter = 0;
  for (guint i = 0; i < plan->n_loads; i++)
    switch (cluster_resource (cluster, plan->loads[i].resource)->kind)
      {
      case RESOURCE_NIC_TX:
        *inter += plan->loads[i].payload;
        break;
      case RESOURCE_PCIE_UP:
        pcie += plan->loads[i].payload;
        break;
      case RESOURCE_NVLINK_OUT:
      case RESOURCE_NVLINK_PAIR:
        nvlink += plan->loads[i].payload;
        break;
      default:
        break;
      }
  *intra = nvlink + MAX (pcie - *inter, 0);
}

void
bind_graph_collect_costs (GraphUse *use, CollectivePlan *plan, CollectiveCost *costs)
{
  for (guint i = 0; i < use->sizes->len; i++)
    {
      guint known = 0;

      collective_plan_cost (plan, (double) g_array_index (use->sizes, guint64, i), &costs[i]);
      while (known < use->n_algorithms && use->algorithms[known] != costs[i].algorithm)
        known++;
      if (known == use->n_algorithms)
        use->algorithms[use->n_algorithms++] = costs[i].algorithm;
    }
}

guint64
colour_mix_cost (guint64 colour, const CollectiveCost *cost)
{
  colour = colour_mix (colour_mix (colour, cost->algorithm), cost->protocol);
  colour = colour_mix (colour, cost->channels);
  colour = colour_mix_double (colour, round_label (cost->weight));
  colour = colour_mix_double (colour, round_label (cost->latency));
  colour = colour_mix_double (colour, round_label (cost->rate_cap));
  return colour_mix_double (colour, cost->service_scale);
}

void
bind_graph_add_variant (BindGraph *self, const CollectiveCost *cost, guint first, guint64 colour)
{
  guint    index = self->ops->len;
  GraphOp *op = bind_graph_begin_op (self, 0);

  if (cost != NULL)
    sum_payloads (self->cluster, cost, &op->inter, &op->intra);
  if (index != first)
    bind_graph_add_edge (self, bind_graph_op (self, index), bind_graph_op (self, first),
                         RELATION_SAME, 1);
  for (guint i = 0; cost != NULL && cost->weight > 0 && i < cost->n_loads; i++)
    bind_graph_add_load (self, index, cost->loads[i].resource, cost->loads[i].service);
  bind_graph_end_op (self, colour_mix (colour, cost != NULL));
}

void
bind_graph_add_costs (BindGraph *self, const GraphUse *use, const CollectiveCost *costs,
                      double payload)
{
  GraphOp *op = &g_array_index (self->ops, GraphOp, self->ops->len - use->n_algorithms);

  op->first_cost = self->costs->len;
  op->n_costs = use->sizes->len;
  for (guint i = 0; i < use->sizes->len; i++)
    {
      BoundCost cost = {
        .bytes = g_array_index (use->sizes, guint64, i),
        .channels = costs[i].channels,
        .weight = costs[i].weight,
        .latency = costs[i].latency,
        .rate_cap = costs[i].rate_cap,
        .unaligned = costs[i].unaligned,
        .service_scale = costs[i].service_scale,
        .payload = payload,
        .algorithm = costs[i].algorithm,
        .protocol = costs[i].protocol,
      };

      while (use->algorithms[cost.plan] != cost.algorithm)
        cost.plan++;
      g_array_append_val (self->costs, cost);
    }
}
