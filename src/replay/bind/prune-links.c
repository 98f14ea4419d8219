/*
 * Without the links that cannot move a time: under a hash a collective crosses thousands of links,
 * each loaded a little differently, which costs the engine time and splits ranks that are alike.
 *
 * Set: with what op o puts on link r a byte, over what r carries a second, as x_or, r holds
 * sum over o of rate_o x_or <= 1. Computed, of links that traffic alone loads: which of these
 * others dominate, so that the rates are the same without them.
 * - An op alone has at most the rate b_o. At most one of a communicator runs at a time; of messages
 *   and copies any number may, but those that one link holds to b_o share it. So r never fills
 *   where the sum, over communicators and such links, of the largest b_o x_or is below 1.
 * - r is dominated by s where x_or <= x_os for all o: every op that crosses r crosses s, and s is
 *   full when r is, or before. Of links loaded alike one is kept.
 * Of the links that an op loads most one is kept in the first pass, and so it, or one above it, in
 * the second.
 */
#include "replay/bind/bind-private.h"

#include <string.h>

#define ROOM  1e-9  /* below a full link: what rounding may hide */
#define ALIKE 1e-12 /* by which loads differ that are the same in another order */
#define MOST_TRIES \
  128 /* links that one is held against: what is kept beyond need costs time only */

/* What op OP puts on a link, over what the link carries. */
typedef struct
{
  guint32 op;
  double  load;
} LinkLoad;

typedef struct
{
  BindGraph *graph;
  guint32   *first, *n; /* [resources], in `loads` */
  LinkLoad  *loads;     /* of each resource, by op */
  guint      n_owners;
  guint32   *owner; /* [ops]: its communicator, or of others (n_owners +) the link that binds it */
  double    *rate;  /* [ops]: alone, bytes a second */
  guint32   *binds; /* [ops]: of the links that it loads most the first */
  gboolean  *keep;  /* [resources] */
} LinkPruner;

static const GraphOp *
op_at (const LinkPruner *self, guint op)
{
  return &g_array_index (self->graph->ops, GraphOp, op);
}

static const OpLoad *
load_at (const LinkPruner *self, guint i)
{
  return &g_array_index (self->graph->loads, OpLoad, i);
}

gboolean
bind_graph_is_link (const BindGraph *self, guint32 resource)
{
  switch (cluster_resource (self->cluster, resource)->kind)
    {
    case RESOURCE_SM:
    case RESOURCE_HBM:
    case RESOURCE_DRAM:
    case RESOURCE_CORES:
      return FALSE;
    default:
      return TRUE;
    }
}

static const LinkLoad *
loads_of (const LinkPruner *self, guint32 resource)
{
  return self->loads + self->first[resource];
}

static const LinkLoad *
loads_end (const LinkPruner *self, guint32 resource)
{
  return loads_of (self, resource) + self->n[resource];
}

/* ---- loads by link --------------------------------------------------------------------------- */

/* Op O's I-th load goes to its link, joined with those of the op that are there. */
static void
add_link_load (LinkPruner *self, guint32 o, guint i)
{
  guint32   r = load_at (self, i)->resource;
  LinkLoad *loads = self->loads + self->first[r];
  double load = load_at (self, i)->service / cluster_resource (self->graph->cluster, r)->capacity;

  if (self->n[r] > 0 && loads[self->n[r] - 1].op == o)
    loads[self->n[r] - 1].load += load;
  else
    loads[self->n[r]++] = (LinkLoad){ o, load };
}

static void
sort_loads (LinkPruner *self)
{
  const guint n = self->graph->n_resources, n_loads = self->graph->loads->len;

  self->first = g_new0 (guint32, n + 1);
  self->n = g_new0 (guint32, n + 1);
  self->loads = g_new0 (LinkLoad, n_loads + 1);
  for (guint i = 0; i < n_loads; i++)
    self->first[load_at (self, i)->resource + 1]++;
  for (guint r = 0; r < n; r++)
    self->first[r + 1] += self->first[r];
  for (guint o = 0; o < self->graph->ops->len; o++)
    for (guint i = 0; i < op_at (self, o)->n_loads; i++)
      add_link_load (self, o, op_at (self, o)->first_load + i);
}

/* ---- what runs at once, and how fast --------------------------------------------------------- */

/* The ops of a group, of any kind, take turns. */
static void
find_owners (LinkPruner *self)
{
  const BindGraph *graph = self->graph;

  self->owner = g_new (guint32, graph->ops->len + 1);
  memset (self->owner, 0xff, graph->ops->len * sizeof (guint32));
  for (CommRef comm = 0; comm < schedule_n_comms (graph->schedule); comm++)
    {
      guint n_groups = graph->n_ranks / schedule_comm_info (graph->schedule, comm)->group.size;

      for (guint kind = 0; kind < COLLECTIVE_N_KINDS; kind++)
        {
          const GraphUse *use = &graph->uses[comm * COLLECTIVE_N_KINDS + kind];

          for (guint i = 0; use->sizes != NULL && i < n_groups * use->n_algorithms; i++)
            self->owner[use->first_op + i] = self->n_owners + i / use->n_algorithms;
        }
      self->n_owners += n_groups;
    }
}

/* The most that the caps of costs of op FIRST + VARIANT let through, as its links count it. */
static double
largest_cap (const LinkPruner *self, guint first, guint variant)
{
  const GraphOp *op = op_at (self, first);
  double         cap = 0;

  for (guint i = op->first_cost; i < op->first_cost + op->n_costs; i++)
    {
      const BoundCost *cost = &g_array_index (self->graph->costs, BoundCost, i);

      if (cost->plan == variant)
        cap = MAX (cap, cost->rate_cap > 0 ? cost->rate_cap * cost->service_scale : G_MAXDOUBLE);
    }
  return cap;
}

static void
find_rates (LinkPruner *self)
{
  const guint        n_ops = self->graph->ops->len;
  g_autofree double *most = g_new0 (double, n_ops + 1);
  guint              first = 0;

  self->rate = g_new0 (double, n_ops + 1);
  self->binds = g_new0 (guint32, n_ops + 1);
  for (guint r = 0; r < self->graph->n_resources; r++)
    for (const LinkLoad *l = loads_of (self, r); l < loads_end (self, r); l++)
      if (l->load > most[l->op])
        {
          most[l->op] = l->load;
          self->binds[l->op] = r;
        }
  for (guint o = 0; o < n_ops; o++)
    {
      if (op_at (self, o)->n_costs > 0)
        first = o;
      if (most[o] > 0)
        self->rate[o] = 1 / most[o];
      if (self->owner[o] == REPLAY_NONE)
        self->owner[o] = self->n_owners + self->binds[o];
      else
        self->rate[o] = MIN (self->rate[o], largest_cap (self, first, o - first));
    }
}

/* ---- links that never saturate --------------------------------------------------------------- */

/* Whether all that cross RESOURCE leave some of it, each as fast as it is alone; MOST: [owners]. */
static gboolean
never_saturates (const LinkPruner *self, guint32 resource, double *most)
{
  double sum = 0;

  for (const LinkLoad *l = loads_of (self, resource); l < loads_end (self, resource); l++)
    most[self->owner[l->op]] = 0;
  for (const LinkLoad *l = loads_of (self, resource); l < loads_end (self, resource); l++)
    {
      double *of_owner = &most[self->owner[l->op]];
      double  more = MAX (self->rate[l->op] * l->load - *of_owner, 0);

      sum += more;
      *of_owner += more;
    }
  return sum < 1 - ROOM;
}

/* But for one of those that each op loads most, so that none is left without. */
static void
drop_unsaturated (LinkPruner *self)
{
  const guint        n = self->graph->n_resources;
  g_autofree double *most = g_new0 (double, self->n_owners + n + 1);

  for (guint r = 0; r < n; r++)
    self->keep[r] = !bind_graph_is_link (self->graph, r) || !never_saturates (self, r, most);
  for (guint o = 0; o < self->graph->ops->len; o++)
    self->keep[self->binds[o]] = TRUE;
}

/* ---- links that others dominate -------------------------------------------------------------- */

typedef struct
{
  guint32 resource, n;
  double  sum;
} Candidate;

static int
compare_candidates (const void *a, const void *b)
{
  const Candidate *x = a, *y = b;

  if (x->n != y->n)
    return x->n > y->n ? -1 : 1;
  if (x->sum != y->sum)
    return x->sum > y->sum ? -1 : 1;
  return x->resource < y->resource ? -1 : x->resource > y->resource;
}

/* Whether every op loads S at least as much as R. */
static gboolean
is_dominated_by (const LinkPruner *self, guint32 r, guint32 s)
{
  const LinkLoad *b = loads_of (self, s), *end = loads_end (self, s);

  for (const LinkLoad *a = loads_of (self, r); a < loads_end (self, r); a++, b++)
    {
      while (b < end && b->op < a->op)
        b++;
      if (b == end || b->op != a->op || a->load > b->load * (1 + ALIKE))
        return FALSE;
    }
  return TRUE;
}

/* Links of OP that are known to stay. */
static guint
n_kept (GArray *const *kept, guint32 op)
{
  return kept[op] != NULL ? kept[op]->len : 0;
}

/* Whether R is dominated by one of those that are known to stay, by op: KEPT, NULL for none. */
static gboolean
is_dominated_by_any (const LinkPruner *self, guint32 r, GArray *const *kept)
{
  guint32 fewest = loads_of (self, r)->op;

  for (const LinkLoad *l = loads_of (self, r) + 1; l < loads_end (self, r); l++)
    if (n_kept (kept, l->op) < n_kept (kept, fewest))
      fewest = l->op;
  for (guint i = 0; i < MIN (n_kept (kept, fewest), MOST_TRIES); i++)
    if (is_dominated_by (self, r, g_array_index (kept[fewest], guint32, i)))
      return TRUE;
  return FALSE;
}

/* Those of most ops first: what a link dominates comes after it. */
static GArray *
candidates_of (const LinkPruner *self)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (Candidate));

  for (guint32 r = 0; r < self->graph->n_resources; r++)
    {
      Candidate candidate = { r, self->n[r], 0 };

      for (const LinkLoad *l = loads_of (self, r); l < loads_end (self, r); l++)
        candidate.sum += l->load;
      if (self->keep[r] && self->n[r] > 0 && bind_graph_is_link (self->graph, r))
        g_array_append_val (found, candidate);
    }
  g_array_sort (found, compare_candidates);
  return found;
}

static void
drop_dominated (LinkPruner *self)
{
  g_autoptr (GArray)  candidates = candidates_of (self);
  const guint         n_ops = self->graph->ops->len;
  g_autofree GArray **kept = g_new0 (GArray *, n_ops + 1);

  for (guint o = 0; o < n_ops; o++)
    kept[o] = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (guint c = 0; c < candidates->len; c++)
    {
      guint32 r = g_array_index (candidates, Candidate, c).resource;

      self->keep[r] = !is_dominated_by_any (self, r, kept);
      for (const LinkLoad *l = loads_of (self, r); self->keep[r] && l < loads_end (self, r); l++)
        g_array_append_val (kept[l->op], r);
    }
  for (guint o = 0; o < n_ops; o++)
    g_array_unref (kept[o]);
}

/* ---- what is left ---------------------------------------------------------------------------- */

static void
prune_loads (LinkPruner *self)
{
  GArray *loads = self->graph->loads;
  guint   n = 0;

  for (guint o = 0; o < self->graph->ops->len; o++)
    {
      GraphOp *op = &g_array_index (self->graph->ops, GraphOp, o);
      guint    first = op->first_load, end = first + op->n_loads;

      op->first_load = n;
      for (guint i = first; i < end; i++)
        if (self->keep[load_at (self, i)->resource])
          g_array_index (loads, OpLoad, n++) = *load_at (self, i);
      op->n_loads = n - op->first_load;
    }
  g_array_set_size (loads, n);
}

static void
prune_edges (LinkPruner *self)
{
  GArray       *edges = self->graph->edges;
  const guint32 resources = bind_graph_resource (self->graph, 0);
  guint         n = 0;

  for (guint i = 0; i < edges->len; i++)
    {
      const OrbitEdge edge = g_array_index (edges, OrbitEdge, i);

      if (edge.relation != RELATION_LOAD || self->keep[edge.b - resources])
        g_array_index (edges, OrbitEdge, n++) = edge;
    }
  g_array_set_size (edges, n);
}

void
bind_graph_prune_links (BindGraph *graph)
{
  LinkPruner self = { .graph = graph, .keep = g_new (gboolean, graph->n_resources + 1) };

  sort_loads (&self);
  find_owners (&self);
  find_rates (&self);
  drop_unsaturated (&self);
  drop_dominated (&self);
  prune_loads (&self);
  prune_edges (&self);
  g_free (self.first);
  g_free (self.n);
  g_free (self.loads);
  g_free (self.owner);
  g_free (self.rate);
  g_free (self.binds);
  g_free (self.keep);
}
