#include "cost/collective/layout/layout-private.h"

#include <stdlib.h>

#include "cost/collective/algorithm/algorithm-private.h"

/* What a resource takes, s per byte of S: for all that is there, and for a byte that crosses it. */
typedef struct
{
  double all, own;
} Seconds;

/* By number in SUM. */
static Seconds *
resource_seconds (const CollectiveLayout *plan, LoadSum *sum)
{
  Seconds *seconds = g_new0 (Seconds, sum->entries->len);

  for (guint i = 0; i < plan->n_loads; i++)
    {
      const CollectiveLoad *load = &plan->loads[i];
      const double          capacity = cluster_resource (sum->cluster, load->resource)->capacity;

      seconds[numbering_find (&sum->numbers, load->resource)] =
          (Seconds){ load->service / capacity, load->service / load->payload / capacity };
    }
  return seconds;
}

/*
 * The slowest resource of EDGE, by SECONDS: for a byte of it alone (as many as cross the resource),
 * and for all that is there, which its part has to wait for.
 */
static Seconds
slowest_of (LoadSum *sum, const RoutedEdges *edges, const RoutedEdge *edge, const Seconds *seconds)
{
  const guint32 *resources = (const guint32 *) (gpointer) edges->resources->data;
  const double  *shares = (const double *) (gpointer) edges->shares->data;
  Seconds        slowest = { 0, 0 };

  for (guint i = edge->first; i < edge->first + edge->n; i++)
    {
      guint32 number = numbering_find (&sum->numbers, resources[i]);

      if (number == NUMBERING_NONE)
        continue;
      slowest.all = MAX (slowest.all, seconds[number].all);
      slowest.own = MAX (slowest.own, seconds[number].own * shares[i]);
    }
  return slowest;
}

static RingHops
describe_ring (const CollectiveLayout *plan, LoadSum *sum, const RoutedEdges *edges)
{
  g_autofree Seconds *seconds = resource_seconds (plan, sum);
  RingHops            hops = { .n_net_least = G_MAXUINT };
  guint               n[2] = { 0 }, of_lane = 0;
  double              least[2] = { G_MAXDOUBLE, G_MAXDOUBLE };

  for (guint i = 0; i < edges->edges->len && !stop_poll (&sum->poll); i++)
    {
      const RoutedEdge *edge = &g_array_index (edges->edges, RoutedEdge, i);
      const Seconds     slowest = slowest_of (sum, edges, edge, seconds);
      const double      by_itself = edge->bytes * slowest.own;

      if (i == 0 || edge[-1].lane != edge->lane)
        {
          of_lane = 0;
          hops.n_rings++;
        }
      of_lane += edge->net;
      hops.n_net = MAX (hops.n_net, of_lane);
      if (i + 1 == edges->edges->len || edge[1].lane != edge->lane)
        hops.n_net_least = MIN (hops.n_net_least, of_lane);
      n[edge->net]++;
      *(edge->net ? &hops.net : &hops.intra) += slowest.all;
      hops.intra_most = MAX (hops.intra_most, edge->net ? 0 : slowest.all);
      hops.intra_most_alone = MAX (hops.intra_most_alone, edge->net ? 0 : by_itself);
      *(edge->net ? &hops.net_alone : &hops.intra_alone) += by_itself;
      least[edge->net] = MIN (least[edge->net], by_itself);
    }
  for (guint net = 0; net < 2; net++)
    hops.least = n[net] > 0 ? MAX (hops.least, least[net]) : hops.least;
  hops.intra /= MAX (n[0], 1);
  hops.intra_alone /= MAX (n[0], 1);
  hops.net /= MAX (n[1], 1);
  hops.net_alone /= MAX (n[1], 1);
  return hops;
}

/* The edges of a ring that leaves its site, one by one. */
static void
note_edges (CollectiveLayout *plan, LoadSum *sum, const RoutedEdges *edges)
{
  g_autofree Seconds *seconds = resource_seconds (plan, sum);

  plan->n_edges = edges->edges->len;
  plan->edges = g_new0 (RingEdge, plan->n_edges);
  for (guint i = 0; i < plan->n_edges; i++)
    {
      const RoutedEdge *edge = &g_array_index (edges->edges, RoutedEdge, i);
      const Seconds     slowest = slowest_of (sum, edges, edge, seconds);

      plan->edges[i] = (RingEdge){ .seconds = slowest.all,
                                   .alone = edge->bytes * slowest.own,
                                   .flow = edge->flow > 0 ? edge->bytes / edge->flow : 0,
                                   .way = edge->way,
                                   .lane = edge->lane,
                                   .net = edge->net };
    }
}

/* Whether EDGE crosses RESOURCE. */
static gboolean
crosses (const RoutedEdges *edges, const RoutedEdge *edge, guint32 resource)
{
  for (guint i = edge->first; i < edge->first + edge->n; i++)
    if (g_array_index (edges->resources, guint32, i) == resource)
      return TRUE;
  return FALSE;
}

/* The resource inside nodes that keeps EDGE longest. */
static guint32
slowest_inside (LoadSum *sum, const RoutedEdges *edges, const RoutedEdge *edge,
                const Seconds *seconds)
{
  guint32 slowest = G_MAXUINT32;
  double  most = 0;

  for (guint i = edge->first; i < edge->first + edge->n; i++)
    {
      guint32 resource = g_array_index (edges->resources, guint32, i);
      guint32 number = numbering_find (&sum->numbers, resource);

      if (number == NUMBERING_NONE || seconds[number].all <= most)
        continue;
      most = seconds[number].all;
      slowest = resource;
    }
  return slowest;
}

/* The longest that what only edges between nodes cross keeps EDGE, per byte of S. */
static double
slowest_outside (LoadSum *sum, const RoutedEdges *edges, const RoutedEdge *edge,
                 const Seconds *seconds)
{
  double slowest = 0;

  for (guint i = edge->first; i < edge->first + edge->n; i++)
    {
      guint32 number = numbering_find (&sum->numbers, g_array_index (edges->resources, guint32, i));

      if (number != NUMBERING_NONE
          && g_array_index (sum->entries, LoadEntry, number).hops == LOAD_HOP_NET)
        slowest = MAX (slowest, seconds[number].all);
    }
  return slowest;
}

/* Whether each of RING's EDGES at the last of PLACES, and no other, leaves its node. */
static gboolean
has_like_nodes (const RoutedEdges *edges, guint places)
{
  for (guint i = 0; i < edges->edges->len; i++)
    if (g_array_index (edges->edges, RoutedEdge, i).net != (i % places + 1 == places))
      return FALSE;
  return TRUE;
}

/* What fills RING's `meet`, `meet_net` and `net_own`, where all links inside nodes are alike. */
static void
describe_meetings (const CollectiveLayout *plan, LoadSum *sum, const RoutedEdges *edges,
                   RingHops *ring)
{
  const guint         n = edges->edges->len, nets = ring->n_rings * ring->n_net;
  const guint         places = nets > 0 ? n / nets : 0;
  const RoutedEdge   *all = (const RoutedEdge *) (gpointer) edges->edges->data;
  g_autofree Seconds *seconds = resource_seconds (plan, sum);
  guint               meet[2] = { 0 };
  guint32             link;

  if (places < 2 || !has_like_nodes (edges, places) || ring->intra_most > ring->intra * (1 + 1e-9)
      || ring->intra_most_alone > ring->intra_alone * (1 + 1e-9))
    return;
  link = slowest_inside (sum, edges, all, seconds);
  for (guint i = 0; i < n; i++)
    meet[all[i].net] += crosses (edges, &all[i], link);
  if (meet[FALSE] < places - 1)
    return;
  for (guint i = places - 1; i < n; i += places)
    ring->net_own += slowest_outside (sum, edges, &all[i], seconds) / nets;
  ring->meet = meet[FALSE] / (places - 1.0);
  ring->meet_net = meet[TRUE];
}

/* Edges of both kinds (HOPS) meet on the slowest resource, or those inside nodes meet unequally. */
static gboolean
shares_unevenly (const CollectiveLayout *plan, guint8 hops)
{
  const RingHops *ring = &plan->ring;

  return hops == (LOAD_HOP_INTRA | LOAD_HOP_NET)
         || (ring->intra > ring->intra_alone * (1 + 1e-9)
             && plan->intra_seconds_per_byte > ring->intra * (1 + 1e-9));
}

/* Steps of PAT are lanes, those of hierarchical collectives phases. */
static gboolean
is_same_step (const RoutedEdge *a, const RoutedEdge *b)
{
  return a->join.phase == b->join.phase && (a->join.phase > 0 || a->lane == b->lane);
}

/* Adds EDGE to what the resources that it crosses are busy for, s per byte by number in SUM. */
static void
add_busy (LoadSum *sum, const RoutedEdges *edges, const RoutedEdge *edge, const Seconds *seconds,
          double *busy)
{
  for (guint i = edge->first; i < edge->first + edge->n; i++)
    {
      guint32 number = numbering_find (&sum->numbers, g_array_index (edges->resources, guint32, i));

      if (number != NUMBERING_NONE)
        busy[number] +=
            edge->bytes * seconds[number].own * g_array_index (edges->shares, double, i);
    }
}

static void
clear_busy (LoadSum *sum, const RoutedEdges *edges, const RoutedEdge *edge, double *busy)
{
  for (guint i = edge->first; i < edge->first + edge->n; i++)
    {
      guint32 number = numbering_find (&sum->numbers, g_array_index (edges->resources, guint32, i));

      if (number != NUMBERING_NONE)
        busy[number] = 0;
    }
}

/* The longest that a resource of EDGE is BUSY. */
static double
busiest_of (LoadSum *sum, const RoutedEdges *edges, const RoutedEdge *edge, const double *busy)
{
  double most = 0;

  for (guint i = edge->first; i < edge->first + edge->n; i++)
    {
      guint32 number = numbering_find (&sum->numbers, g_array_index (edges->resources, guint32, i));

      if (number != NUMBERING_NONE)
        most = MAX (most, busy[number]);
    }
  return most;
}

/* What sets edges FIRST to END of a step apart: those that cross what is BUSY longest. */
static void
describe_rest (LoadSum *sum, const RoutedEdges *edges, guint first, guint end, const double *busy,
               StepHop *step)
{
  guint n_slow = 0;

  for (guint i = first; i < end; i++)
    {
      const double most =
          busiest_of (sum, edges, &g_array_index (edges->edges, RoutedEdge, i), busy);

      if (most >= step->seconds * (1 - 1e-9))
        n_slow++;
      else
        step->rest = MAX (step->rest, most);
    }
  step->slow = (double) n_slow / (end - first);
}

/*
 * The edges from FIRST on: one step of them. Where the next one begins. SECONDS and BUSY
 * (scratch, all zero): by number in SUM.
 */
static guint
describe_step (LoadSum *sum, const RoutedEdges *edges, guint first, const Seconds *seconds,
               double *busy, StepHop *step)
{
  const RoutedEdge *all = (const RoutedEdge *) (gpointer) edges->edges->data;
  double            fastest = G_MAXDOUBLE, slowest = 0;
  guint             end = first;

  *step = (StepHop){ 0 };
  for (; end < edges->edges->len && is_same_step (&all[end], &all[first]); end++)
    {
      add_busy (sum, edges, &all[end], seconds, busy);
      slowest = MAX (slowest, busiest_of (sum, edges, &all[end], busy));
      fastest = MIN (fastest, all[end].bytes * slowest_of (sum, edges, &all[end], seconds).own);
      step->share += all[end].bytes;
      step->way = MAX (step->way, all[end].way);
    }
  step->seconds = slowest;
  step->alone = fastest;
  describe_rest (sum, edges, first, end, busy, step);
  for (guint i = first; i < end; i++)
    clear_busy (sum, edges, &all[i], busy);
  return end;
}

static void
describe_steps (CollectiveLayout *plan, LoadSum *sum, const RoutedEdges *edges)
{
  g_autofree Seconds *seconds = resource_seconds (plan, sum);
  g_autofree double  *busy = g_new0 (double, sum->entries->len);
  g_autoptr (GArray)  steps = g_array_new (FALSE, FALSE, sizeof (StepHop));
  double              sent = 0;

  for (guint first = 0; first < edges->edges->len;)
    {
      StepHop step;

      first = describe_step (sum, edges, first, seconds, busy, &step);
      if (g_array_index (edges->edges, RoutedEdge, first - 1).join.phase == 0)
        plan->wan.steps += step.way;
      g_array_append_val (steps, step);
      sent += step.share;
    }
  plan->n_steps = steps->len;
  plan->steps = (StepHop *) (gpointer) g_array_free (g_steal_pointer (&steps), FALSE);
  for (guint i = 0; i < plan->n_steps; i++)
    plan->steps[i].share /= sent;
}

/* An edge of a chain, by what its first chunk has behind it. */
typedef struct
{
  guint net, intra; /* edges */
  guint edge;
} ChainPlace;

static gint
compare_places (gconstpointer a, gconstpointer b)
{
  const ChainPlace *x = a, *y = b;

  if (x->net != y->net)
    return x->net < y->net ? -1 : 1;
  if (x->intra != y->intra)
    return x->intra < y->intra ? -1 : 1;
  return x->edge < y->edge ? -1 : 1;
}

/* The PLACES of the chain of edges FIRST to END, which stand in the order of a ring. */
static void
note_places (const RoutedEdge *all, guint first, guint end, ChainPlace *places)
{
  const guint n = end - first;
  guint       start = 0, passed[2] = { 0 };

  while (start < n && all[first + (start + n - 1) % n].to == all[first + start].from)
    start++;
  for (guint i = 0; i < n; i++)
    {
      const guint edge = first + (start + i) % n;

      places[edge] = (ChainPlace){ passed[TRUE], passed[FALSE], edge };
      passed[all[edge].net]++;
    }
}

/*
 * What the first chunks of chains find on their way: those of other chains that have as many edges
 * of either kind behind them, and come to a link at the same time.
 */
static void
describe_firsts (const CollectiveLayout *plan, LoadSum *sum, const RoutedEdges *edges,
                 RingHops *ring)
{
  const RoutedEdge      *all = (const RoutedEdge *) (gpointer) edges->edges->data;
  const guint            n = edges->edges->len;
  g_autofree Seconds    *seconds = resource_seconds (plan, sum);
  g_autofree ChainPlace *places = g_new (ChainPlace, n);
  g_autofree double     *busy = g_new0 (double, sum->entries->len);
  guint                  of_kind[2] = { 0 };

  for (guint first = 0, end; first < n; first = end)
    {
      for (end = first + 1; end < n && all[end].lane == all[first].lane;)
        end++;
      note_places (all, first, end, places);
    }
  qsort (places, n, sizeof *places, compare_places);
  for (guint first = 0, end; first < n; first = end)
    {
      for (end = first; end < n && places[end].net == places[first].net
                        && places[end].intra == places[first].intra;
           end++)
        add_busy (sum, edges, &all[places[end].edge], seconds, busy);
      for (guint i = first; i < end; i++)
        {
          const RoutedEdge *edge = &all[places[i].edge];

          of_kind[edge->net]++;
          *(edge->net ? &ring->net_first : &ring->intra_first) +=
              busiest_of (sum, edges, edge, busy);
        }
      for (guint i = first; i < end; i++)
        clear_busy (sum, edges, &all[places[i].edge], busy);
    }
  ring->intra_first /= MAX (of_kind[FALSE], 1);
  ring->net_first /= MAX (of_kind[TRUE], 1);
}

static void
plan_lay (CollectiveLayout *plan, const Cluster *cluster, const Members *members,
          const guint32 *ranks, guint flows, RoutedEdges *edges)
{
  const Algorithm        *algorithm = plan->algorithm;
  LoadSum                 sum;
  RoutingContext          context = { &sum, edges, flows };
  g_autoptr (RoutedEdges) own = NULL;

  if (algorithm->edges != EDGES_ARE_SUMS && edges == NULL)
    own = routed_edges_new ();
  if (own != NULL)
    context.edges = own;
  load_sum_init (&sum, cluster, members->stop);
  algorithm->route (&context, members, plan->kind, ranks);
  if (!stop_poll_now (&sum.poll))
    load_sum_store (&sum, plan);
  if (!sum.poll.cut && algorithm->edges == EDGES_ARE_STEPS)
    describe_steps (plan, &sum, context.edges);
  if (!sum.poll.cut && algorithm->edges == EDGES_ARE_RINGS)
    {
      plan->ring = describe_ring (plan, &sum, context.edges);
      describe_meetings (plan, &sum, context.edges, &plan->ring);
      if ((algorithm->kinds & KINDS_OF_CHAINS) != 0)
        describe_firsts (plan, &sum, context.edges, &plan->ring);
      if (plan->wan.way > 0 && algorithm->note_sites != NULL)
        algorithm->note_sites (plan, cluster, members);
      else if (plan->wan.way > 0)
        note_edges (plan, &sum, context.edges);
      plan->ring.uneven = shares_unevenly (plan, load_sum_get (&sum, plan->binding).hops);
    }
  plan->cut = sum.poll.cut;
  load_sum_clear (&sum);
}

CollectiveLayout *
collective_layout_new (const Cluster *cluster, CollectiveKind kind, const Algorithm *algorithm,
                       const Members *members, const guint32 *ranks, guint flows)
{
  CollectiveLayout *self = g_new0 (CollectiveLayout, 1);

  self->kind = kind;
  self->algorithm = algorithm;
  plan_lay (self, cluster, members, ranks, flows, NULL);
  return self;
}

CollectiveLayout *
collective_layout_new_message (const Cluster *cluster, const Members *members, const guint32 *ranks,
                               guint flows)
{
  CollectiveLayout *self = g_new0 (CollectiveLayout, 1);
  LoadSum           sum;
  RoutingContext    context = { &sum, NULL, flows };

  self->kind = COLLECTIVE_SEND_RECV;
  load_sum_init (&sum, cluster, members->stop);
  route_one_message (&context, members, ranks);
  load_sum_store (&sum, self);
  load_sum_clear (&sum);
  return self;
}

RoutedEdges *
collective_layout_edges (const Cluster *cluster, CollectiveKind kind, const Algorithm *algorithm,
                         const Members *members, const guint32 *ranks, guint flows)
{
  RoutedEdges     *edges = routed_edges_new ();
  CollectiveLayout layout = { .kind = kind, .algorithm = algorithm };

  plan_lay (&layout, cluster, members, ranks, flows, edges);
  g_free (layout.loads);
  g_free (layout.edges);
  g_clear_pointer (&layout.sites, g_array_unref);
  g_clear_pointer (&layout.tree_flows, g_array_unref);
  g_free (layout.steps);
  return edges;
}

CollectiveLayout *
collective_layout_share (CollectiveLayout *self)
{
  g_atomic_int_inc (&self->n_sharers);
  return self;
}

void
collective_layout_free (CollectiveLayout *self)
{
  if (self == NULL || g_atomic_int_add (&self->n_sharers, -1) > 0)
    return;
  g_free (self->loads);
  g_free (self->edges);
  g_clear_pointer (&self->sites, g_array_unref);
  g_clear_pointer (&self->tree_flows, g_array_unref);
  g_free (self->steps);
  g_free (self);
}
