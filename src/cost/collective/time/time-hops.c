#include "cost/collective/algorithm/algorithm-private.h"

#define LL_WIRE    2.0 /* 4 bytes of flag beside 4 of data */
#define LL128_WIRE (1 / 0.92)

double
timed_figure_or (const Figure *figure, double fallback)
{
  return figure->value > 0 ? figure->value : fallback;
}

double
timed_wire_scale (CollectiveProtocol protocol)
{
  return protocol == PROTOCOL_LL ? LL_WIRE : protocol == PROTOCOL_LL128 ? LL128_WIRE : 1;
}

static double
link_hop (const LinkProfile *link, CollectiveProtocol protocol, double fallback)
{
  switch (protocol)
    {
    case PROTOCOL_LL:
      return timed_figure_or (&link->hop_ll, fallback) + link->latency.value;
    case PROTOCOL_LL128:
      return timed_figure_or (&link->hop_ll128, fallback) + link->latency.value;
    default: /* the network is read back once more to flush */
      return timed_figure_or (&link->hop_simple, fallback)
             + (link->kind == LINK_NETWORK ? 2 : 1) * link->latency.value;
    }
}

/* Whether the links of a node say what LL takes inside it, and nothing else is involved. */
static gboolean
is_inside_ll (const Timed *self)
{
  return self->graph->n_nodes == 1 && self->protocol == PROTOCOL_LL
         && self->algorithm->peers == NULL && self->graph->intra->inside_hop_ll.value > 0;
}

double
timed_base (const Timed *self)
{
  if (is_inside_ll (self))
    return self->graph->intra->inside_start_ll.value;
  return self->graph->library->base[self->algorithm->id][self->protocol];
}

double
timed_link_hop_intra (const Timed *self)
{
  const LinkProfile *intra = self->graph->intra;

  if (is_inside_ll (self))
    return intra->inside_hop_ll.value + intra->latency.value;
  return link_hop (intra, self->protocol,
                   self->graph->library->hop[self->graph->hop][ALGORITHM_RING][self->protocol]);
}

static double
net_hop (const Timed *self, CollectiveAlgorithm row)
{
  if (self->graph->nic == NULL)
    return 0;
  return self->graph->hops
         * link_hop (self->graph->nic, self->protocol,
                     self->graph->library->hop[HOP_NET][row][self->protocol]);
}

/* Bytes on the wire of what a channel sends to another node at once. */
static double
message_bytes (const Timed *self)
{
  const Algorithm *algorithm = self->algorithm;
  const guint      channels = algorithm->channels != NULL ? algorithm->channels (self) : 1;
  const double     part = self->bytes / channels * timed_wire_scale (self->protocol);

  return algorithm->connects_rings ? part / self->graph->n_ranks : part;
}

/*
 * A message above the network's eager limit is announced, and the receiver fetches it: one way
 * there and one back before its bytes leave.
 */
static double
announcement (const Timed *self)
{
  const LinkProfile *nic = self->graph->nic;

  if (nic == NULL || nic->eager_limit.value <= 0 || message_bytes (self) <= nic->eager_limit.value)
    return 0;
  return self->graph->hops * 2 * nic->latency.value;
}

/* With one rank a node nothing hides the network's latency: NCCL's tree row has it in full. */
double
timed_link_hop_net (const Timed *self)
{
  return net_hop (self, self->graph->per_node == 1 ? ALGORITHM_TREE : ALGORITHM_RING)
         + announcement (self);
}

double
timed_hop_across (const Timed *self)
{
  return net_hop (self, ALGORITHM_TREE) + self->way;
}

double
timed_ring_hop_intra (const Timed *self)
{
  const LinkProfile *nic = self->graph->nic;
  double             fallback = self->graph->library->post[self->protocol];

  if (nic == NULL)
    return self->hop_intra;
  switch (self->protocol)
    {
    case PROTOCOL_LL:
      return MAX (self->hop_intra, timed_figure_or (&nic->post_ll, fallback));
    case PROTOCOL_LL128:
      return MAX (self->hop_intra, timed_figure_or (&nic->post_ll128, fallback));
    default:
      return MAX (self->hop_intra, fallback);
    }
}

StepParameters
timed_link_hops (const Timed *self)
{
  return (StepParameters){ .hop_intra = self->hop_intra, .hop_net = self->hop_net };
}

guint
timed_tree_levels (const Timed *self)
{
  return self->graph->n_nodes > 1 ? g_bit_storage (self->graph->n_nodes - 1) : 0;
}
