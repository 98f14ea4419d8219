/* Rings and messages between sites, whose links are unlike. */
#include <string.h>

#include "cost/collective/algorithm/algorithm-private.h"
#include "cost/collective/library/factors-private.h"

/*
 * Flows of two neighbours on one lane: a connection of the library has TCP connections of its own.
 * Lanes carry equal parts here and channels there, so a mean: six channels on four cards are one
 * and a half each, and every flow carries a sixth. Messages of plain hosts have one.
 */
double
timed_flows (const Timed *self, guint channels)
{
  const Algorithm       *algorithm = self->algorithm;
  const CollectiveGraph *graph = self->graph;

  if (algorithm->hosts || graph->n_cards == 0)
    return 1;
  if (algorithm->connects_rings)
    return (double) channels / MAX (self->layout->ring.n_rings, 1);
  if (algorithm->connections != NULL)
    return MAX (algorithm->connections (graph), 1);
  return (double) channels / graph->n_cards;
}

/* B/s of S that TCP lets through between sites; 0: no limit. */
double
timed_flow_cap (const Timed *self)
{
  return self->layout->wan.flow > 0 ? self->flows / self->layout->wan.flow : 0;
}

/*
 * How much later than the last byte left the last one of messages that leave at once arrives: those
 * of a fast link have a longer way for nothing.
 */
static double
last_way (const Timed *self)
{
  const CollectiveLayout *layout = self->layout;
  const double            scale = timed_wire_scale (self->protocol);
  double                  slowest = 0, arrived = 0, all;

  for (guint i = 0; i < layout->sites->len; i++)
    {
      const SiteFlow *site = &g_array_index (layout->sites, SiteFlow, i);
      const double    left = self->bytes * MAX (site->link * scale, site->flow / self->flows);

      slowest = MAX (slowest, left);
      arrived = MAX (arrived, left + site->way);
    }
  all = self->bytes * layout->link_seconds_per_byte * scale;
  return all > slowest * (1 + 1e-9) ? layout->wan.way : arrived - slowest;
}

/* Flows of one link, in order of their beginnings. */
typedef struct
{
  const TreeFlow *flow;
  double          left; /* s of the link's time that it still needs */
} LinkFlow;

/* Those of N that have begun at NOW; *STEP: until one of them is over or another begins. */
static guint
count_active (const LinkFlow *flows, guint n, double now, double *step)
{
  double least = G_MAXDOUBLE, next = G_MAXDOUBLE;
  guint  active = 0;

  for (guint i = 0; i < n; i++)
    if (flows[i].left > 0 && flows[i].flow->before > now)
      next = MIN (next, flows[i].flow->before - now);
    else if (flows[i].left > 0)
      {
        active++;
        least = MIN (least, flows[i].left);
      }
  *step = active > 0 ? MIN (least * active, next) : next;
  return active;
}

/*
 * When the last byte that crosses LINK, which is busy for BUSY s with equal flows, arrives at the
 * end of its tree. A flow begins when its first chunk has come; those that are there share the link
 * evenly, so the first to begin is ahead by what it had for itself.
 */
static double
link_arrives (const GArray *all, guint32 link, double busy)
{
  g_autofree LinkFlow *flows = g_new0 (LinkFlow, all->len + 1);
  double               now = 0, arrives = 0, step;
  guint                n = 0, done = 0;

  for (guint i = 0; i < all->len; i++)
    if (g_array_index (all, TreeFlow, i).link == link)
      flows[n++].flow = &g_array_index (all, TreeFlow, i);
  for (guint i = 0; i < n; i++)
    flows[i].left = busy / n;
  while (busy > 0 && done < n)
    {
      const guint active = count_active (flows, n, now, &step);

      for (guint i = 0; i < n; i++)
        {
          if (flows[i].left <= 0 || flows[i].flow->before > now)
            continue;
          flows[i].left -= step / active;
          if (flows[i].left > busy * 1e-12)
            continue;
          flows[i].left = 0;
          arrives = MAX (arrives, now + step + flows[i].flow->after);
          done++;
        }
      now += step;
    }
  return arrives;
}

/*
 * How much later than the slowest link was busy the last chunk of a tree arrives. Few bytes take
 * the longest branch.
 */
static double
tree_ways (const Timed *self)
{
  const CollectiveLayout *layout = self->layout;
  const double            scale = timed_wire_scale (self->protocol);
  double                  slowest = 0, arrived = layout->wan.path;

  for (guint i = 0; i < layout->sites->len; i++)
    {
      const SiteFlow *site = &g_array_index (layout->sites, SiteFlow, i);
      const double    busy = self->bytes * MAX (site->link * scale, site->flow / self->flows);

      slowest = MAX (slowest, busy);
      arrived = MAX (arrived, link_arrives (layout->tree_flows, site->resource, busy));
    }
  if (self->bytes * layout->link_seconds_per_byte * scale > slowest * (1 + 1e-9))
    return layout->wan.path;
  return MAX (arrived - slowest, 0);
}

/*
 * What a hop takes longer where sites lie between its ends: the longest way; of a tree its
 * branches' share a level, of steps the mean of their longest ways, of messages that leave at once
 * what the last one takes. Rings have each edge's own.
 */
double
timed_site_hop (const Timed *self)
{
  const CollectiveLayout *layout = self->layout;
  const guint             levels = timed_tree_levels (self);

  if (layout->edges != NULL || layout->wan.way == 0)
    return 0;
  if (self->algorithm->edges == EDGES_ARE_SUMS)
    return last_way (self);
  if (layout->tree_flows != NULL)
    return tree_ways (self) / (2 * levels);
  return layout->wan.steps > 0 ? layout->wan.steps / layout->n_steps : layout->wan.way;
}

/* Where the lane that begins at edge FIRST ends. */
static guint
lane_end (const CollectiveLayout *layout, guint first)
{
  guint end = first + 1;

  while (end < layout->n_edges && layout->edges[end].lane == layout->edges[first].lane)
    end++;
  return end;
}

/* The longest of the rings step by step, s; ALONE: each edge has its links to itself. */
double
timed_unlike_seconds (const Timed *self, double cap, gboolean alone)
{
  const CollectiveLayout *layout = self->layout;
  const guint             steps = collective_ring_steps (self->kind, self->graph->n_ranks);
  const double            scale = timed_wire_scale (self->protocol), each = self->bytes / steps;
  const double inside = self->algorithm->hosts ? self->hop_intra : timed_ring_hop_intra (self);
  g_autofree StepClass *ring = g_new0 (StepClass, layout->n_edges);
  double                most = 0;

  for (guint i = 0; i < layout->n_edges; i++)
    {
      const RingEdge *edge = &layout->edges[i];
      const double    link = (alone ? edge->alone : edge->seconds) * scale;

      ring[i].item = each * MAX (MAX (link, cap > 0 ? 1 / cap : 0), edge->flow / self->flows);
      ring[i].hop = edge->net ? self->hop_net + edge->way * self->ways : inside;
    }
  for (guint first = 0, end; first < layout->n_edges; first = end)
    {
      const guint    n = lane_end (layout, first) - first;
      const gboolean known =
          first >= n && memcmp (ring + first - n, ring + first, n * sizeof *ring) == 0;

      end = first + n;
      if (!known) /* as the ring before */
        most = MAX (most, step_ring_unlike (ring + first, n, steps));
    }
  return most;
}

/* From the root of a chain to its end, of the ring whose ways are longest. */
double
timed_chain_ways (const Timed *self)
{
  const CollectiveLayout *layout = self->layout;
  double                  most = 0;

  for (guint first = 0, end; first < layout->n_edges; first = end)
    {
      double sum = 0;

      end = lane_end (layout, first);
      for (guint i = first; i < end; i++)
        sum += layout->edges[i].way * self->ways;
      most = MAX (most, sum);
    }
  return most;
}
