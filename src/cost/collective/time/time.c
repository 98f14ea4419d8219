#include "cost/collective/algorithm/algorithm-private.h"
#include "cost/collective/time/time-messages-private.h"

static Timed
timed_new (const CollectiveGraph *graph, CollectiveKind kind, const Algorithm *algorithm,
           CollectiveProtocol protocol, double bytes, const CollectiveLayout *layout)
{
  Timed self = { .graph = graph,
                 .kind = kind,
                 .algorithm = algorithm,
                 .protocol = protocol,
                 .bytes = bytes,
                 .layout = layout,
                 .ways = 1,
                 .flows = 1 };

  self.hop_intra = timed_link_hop_intra (&self);
  self.hop_net = algorithm->hosts ? timed_message_hop (&self) : timed_link_hop_net (&self);
  if (algorithm->hosts && graph->n_nodes > 1)
    self.ways = timed_message_ways (&self);
  self.flows = timed_flows (&self, algorithm->channels != NULL ? algorithm->channels (&self) : 1);
  self.way = self.ways * timed_site_hop (&self);
  self.hop_net += self.way;
  return self;
}

/*
 * Issue of one process that drives every GPU of a node: a floor of the whole, because launches of
 * one operation and the next overlap.
 */
static double
process_floor (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;
  const guint            peers = self->algorithm->peers != NULL ? self->algorithm->peers (self) : 0;

  return graph->per_node
         * (graph->library->process_launch.value + peers * graph->library->process_peer.value);
}

/* Of two limits, where 0 is none. */
static double
less_of (double a, double b)
{
  return a > 0 && b > 0 ? MIN (a, b) : MAX (a, b);
}

void
collective_time (const CollectiveGraph *graph, CollectiveKind kind, CollectiveChoice choice,
                 double bytes, const CollectiveOptions *options, const CollectiveLayout *layout,
                 CollectiveCost *cost)
{
  const Algorithm *algorithm = choice.algorithm;
  Timed            self = timed_new (graph, kind, algorithm, choice.protocol, bytes, layout);
  double           links, capped;

  cost->algorithm = algorithm->id;
  cost->protocol = choice.protocol;
  cost->channels = algorithm->channels != NULL ? algorithm->channels (&self) : 1;
  cost->weight = MAX (cost->channels, algorithm->connects_rings ? layout->ring.n_rings : 1);
  cost->service_scale = timed_wire_scale (choice.protocol);
  cost->unaligned = timed_is_unaligned (&self);
  cost->rate_cap = timed_unaligned_cap (&self, algorithm->rate_cap (&self, cost->channels));
  cost->latency =
      graph->gpu->kernel_latency.value + graph->intra->launch.value
      + algorithm->latency (&self, cost->channels, cost->rate_cap)
      + (algorithm->fill != NULL ? algorithm->fill (&self, cost->channels, cost->rate_cap) : 0);
  cost->latency += graph->issue;
  cost->rate_cap = less_of (cost->rate_cap, timed_flow_cap (&self));
  if (options->single_process)
    cost->latency += cost->channels * graph->library->process_channel.value;
  links = bytes * layout->link_seconds_per_byte * cost->service_scale;
  capped = cost->rate_cap > 0 ? bytes / cost->rate_cap : 0;
  if (options->single_process)
    cost->latency = MAX (cost->latency, process_floor (&self) - MAX (links, capped));
  cost->time = cost->latency + MAX (links, capped);
  cost->binding = links >= capped && links > cost->latency ? layout->binding : G_MAXUINT32;
  if (algorithm->spread != NULL)
    algorithm->spread (&self, cost);
}

/* The part of the latency that no step spends. */
static double
launch_of (const Timed *self, const CollectiveCost *cost, double cap)
{
  const Algorithm *algorithm = self->algorithm;
  const double     stepped =
      algorithm->stepped != NULL ? algorithm->stepped (self, cost->channels, cap) : 0;

  return MAX (cost->latency - stepped, 0);
}

void
collective_time_steps (const CollectiveGraph *graph, CollectiveKind kind,
                       const Algorithm *algorithm, double bytes, const CollectiveLayout *layout,
                       const CollectiveCost *cost, StepParameters *parameters)
{
  Timed  self = timed_new (graph, kind, algorithm, cost->protocol, bytes, layout), bare = self;
  double cap = timed_unaligned_cap (&self, algorithm->rate_cap (&self, cost->channels));

  bare.hop_net -= self.way; /* an edge has its own */
  bare.way = 0;
  *parameters = algorithm->hops != NULL ? algorithm->hops (&bare) : (StepParameters){ 0 };
  parameters->ways = self.ways;
  parameters->flows = self.flows;
  parameters->launch = launch_of (&self, cost, cap);
  parameters->rate_cap = cap;
  parameters->capped_inside = algorithm->capped_inside;
  parameters->chunk = MAX (algorithm->chunk (&self, cost->channels), 1);
}

double
collective_time_bound (const CollectiveGraph *graph, CollectiveKind kind,
                       const Algorithm *algorithm, double bytes, const CollectiveLayout *layout,
                       const CollectiveCost *cost)
{
  Timed  self = timed_new (graph, kind, algorithm, cost->protocol, bytes, layout);
  double cap = timed_unaligned_cap (&self, algorithm->rate_cap (&self, cost->channels));

  if (algorithm->bound == NULL)
    return cost->time;
  return launch_of (&self, cost, cap) + algorithm->bound (&self, cost->channels, cap);
}
