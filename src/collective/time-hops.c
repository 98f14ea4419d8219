#include "collective/time-parts-private.h"

#include <math.h>

#define LL_WIRE    2.0 /* 4 bytes of flag beside 4 of data */
#define LL128_WIRE (1 / 0.92)

double
timed_figure_or (const Figure *figure, double stock)
{
  return figure->value > 0 ? figure->value : stock;
}

double
timed_wire_scale (CollectiveProtocol protocol)
{
  return protocol == PROTOCOL_LL ? LL_WIRE : protocol == PROTOCOL_LL128 ? LL128_WIRE : 1;
}

static double
link_hop (const LinkProfile *link, CollectiveProtocol protocol, double stock)
{
  switch (protocol)
    {
    case PROTOCOL_LL:
      return timed_figure_or (&link->hop_ll, stock) + link->latency.value;
    case PROTOCOL_LL128:
      return timed_figure_or (&link->hop_ll128, stock) + link->latency.value;
    default: /* the network is read back once more to flush */
      return timed_figure_or (&link->hop_simple, stock)
             + (link->kind == LINK_NETWORK ? 2 : 1) * link->latency.value;
    }
}

double
timed_hop_intra (const Timed *self)
{
  return link_hop (self->graph->intra, self->protocol,
                   self->graph->tables->hop[self->graph->hop][ALGORITHM_RING][self->protocol]);
}

/* With one rank a node nothing hides the network's latency: NCCL's tree row has it in full. */
double
timed_hop_net (const Timed *self)
{
  CollectiveAlgorithm row = self->graph->per_node == 1 ? ALGORITHM_TREE : ALGORITHM_RING;

  if (self->graph->nic == NULL)
    return 0;
  if (self->graph->hosts)
    return timed_message_hop (self);
  return link_hop (self->graph->nic, self->protocol,
                   self->graph->tables->hop[HOP_NET][row][self->protocol]);
}

/*
 * What rings and trees between nodes take before their first chunk has arrived, beyond hops: once,
 * whatever their length. 2 to 16 nodes of 8 GPUs show 170 to 200 us under Simple alike.
 */
double
timed_net_start (const Timed *self)
{
  if (self->graph->nic == NULL)
    return 0;
  switch (self->protocol)
    {
    case PROTOCOL_LL128:
      return self->graph->nic->start_ll128.value;
    case PROTOCOL_SIMPLE:
      return self->graph->nic->start_simple.value;
    default:
      return 0;
    }
}

double
timed_nvls_latency (const Timed *self, const LinkProfile *link, HopClass class_)
{
  return timed_figure_or (&link->nvls_latency,
                          self->graph->tables->hop[class_][ALGORITHM_NVLS_TREE][PROTOCOL_SIMPLE]);
}

/* Between nodes its rings have one rank a node. */
double
timed_hierarchical_hop_net (const Timed *self)
{
  CollectiveGraph across = *self->graph;
  Timed           out = *self;

  across.per_node = 1;
  out.graph = &across;
  return timed_hop_net (&out);
}

/*
 * Between nodes, of a pair. Under Simple what is calibrated on rings holds more than a hop (the
 * chunk that a card waits for in each step), so the library's own figure stands here.
 */
double
timed_pair_hop (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;

  if (self->protocol == PROTOCOL_LL || graph->hosts)
    return timed_hop_net (self);
  return graph->tables->hop[HOP_NET][ALGORITHM_RING][PROTOCOL_SIMPLE]
         + 2 * graph->nic->latency.value;
}

double
timed_pat_hop (const Timed *self)
{
  return log2 (self->graph->n_nodes) * timed_hop_net (self) / 3.5 / MAX (self->layout->n_steps, 1);
}
