#include "cost/collective/steps/steps.h"

#include <stdlib.h>

#define MOST_RUNS    (1u << 17) /* edges of runs that are followed one by one */
#define MOST_THROUGH 16

StepProgram *
step_program_new (double launch)
{
  StepProgram *self = g_new0 (StepProgram, 1);

  self->launch = launch;
  self->edges = g_array_new (FALSE, FALSE, sizeof (StepEdge));
  self->loads = g_array_new (FALSE, FALSE, sizeof (StepLoad));
  self->nexts = g_array_new (FALSE, FALSE, sizeof (StepNext));
  self->froms = g_array_new (FALSE, FALSE, sizeof (guint32));
  return self;
}

void
step_program_free (StepProgram *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->edges);
  g_array_unref (self->loads);
  g_array_unref (self->nexts);
  g_array_unref (self->froms);
  g_free (self);
}

static int
compare_loads (const void *a, const void *b)
{
  const StepLoad *x = a, *y = b;

  return (x->resource > y->resource) - (x->resource < y->resource);
}

/* Sorts the loads from FIRST on and adds up those of one resource; their number. */
static guint
merge_loads (GArray *loads, guint first)
{
  StepLoad *all = (StepLoad *) (gpointer) loads->data;
  guint     n = first;

  qsort (all + first, loads->len - first, sizeof *all, compare_loads);
  for (guint i = first; i < loads->len; i++)
    if (n > first && all[n - 1].resource == all[i].resource)
      all[n - 1].service += all[i].service;
    else
      all[n++] = all[i];
  g_array_set_size (loads, n);
  return n - first;
}

guint
step_program_add_edge (StepProgram *self, const StepEdge *edge, const StepLoad *loads,
                       guint n_loads)
{
  StepEdge added = *edge;

  g_assert (edge->n_items > 0 && edge->bytes >= 0 && edge->weight > 0);
  added.first_load = self->loads->len;
  if (n_loads > 0)
    g_array_append_vals (self->loads, loads, n_loads);
  added.n_loads = merge_loads (self->loads, added.first_load);
  added.first_next = added.n_next = added.n_first = added.n_later = 0;
  g_array_append_val (self->edges, added);
  return self->edges->len - 1;
}

void
step_program_add_wait (StepProgram *self, guint from, guint to, guint lag)
{
  guint32  sender = from;
  StepNext next = { to, lag };

  g_assert (lag <= STEP_AFTER);
  g_assert (lag == STEP_AFTER
            || step_program_edge (self, from)->n_items + lag
                   >= step_program_edge (self, to)->n_items);
  g_array_append_val (self->nexts, next);
  g_array_append_val (self->froms, sender);
  step_program_edge (self, from)->n_next++;
  step_program_edge (self, to)->n_first += lag != 1;
  step_program_edge (self, to)->n_later += lag != STEP_AFTER;
}

void
step_program_finish (StepProgram *self)
{
  guint     n = self->nexts->len, first = 0;
  StepNext *sorted = g_new (StepNext, n);

  for (guint i = 0; i < self->edges->len; i++)
    {
      StepEdge *edge = step_program_edge (self, i);

      edge->first_next = first;
      first += edge->n_next;
      edge->n_next = 0;
    }
  for (guint i = 0; i < n; i++)
    {
      StepEdge *edge = step_program_edge (self, g_array_index (self->froms, guint32, i));

      sorted[edge->first_next + edge->n_next++] = g_array_index (self->nexts, StepNext, i);
    }
  g_array_set_size (self->froms, 0);
  g_array_set_size (self->nexts, 0);
  g_array_append_vals (self->nexts, sorted, n);
  g_free (sorted);
}

/* ---- closed forms ---------------------------------------------------------------------------- */

static double
run_gain (StepRun run, double intra, double net)
{
  return run.intra * intra + run.net * net;
}

static StepRun
better_run (StepRun a, StepRun b, double intra, double net)
{
  return run_gain (a, intra, net) >= run_gain (b, intra, net) ? a : b;
}

/*
 * Network edges gain. Runs begin and end with one; between two of them lie PER_NODE - 1 others.
 * When these gain as well, the run takes what is left of the steps.
 */
static StepRun
run_from_net (guint per_node, guint steps, double intra, double net)
{
  guint nets = (steps - 1) / per_node + 1;

  if (intra >= 0)
    return (StepRun){ steps - nets, nets };
  return better_run ((StepRun){ 0, 1 }, (StepRun){ (nets - 1) * (per_node - 1), nets }, intra, net);
}

/* Edges inside nodes gain more: runs begin with the first edge of a node. */
static StepRun
run_from_node (guint per_node, guint steps, double intra, double net)
{
  guint   nodes = steps / per_node, rest = steps % per_node;
  StepRun one = { MIN (steps, per_node - 1), 0 };
  StepRun whole = { nodes * (per_node - 1), nodes > 0 ? nodes - 1 : 0 };
  StepRun longer = { nodes * (per_node - 1) + rest, nodes };

  return better_run (one, better_run (whole, longer, intra, net), intra, net);
}

StepRun
step_ring_run (guint nodes, guint per_node, guint steps, double intra, double net)
{
  if (steps == 0)
    return (StepRun){ 0, 0 };
  if (nodes == 1)
    return (StepRun){ steps, 0 };
  if (per_node == 1)
    return (StepRun){ 0, steps };
  return intra > net ? run_from_node (per_node, steps, intra, net)
                     : run_from_net (per_node, steps, intra, net);
}

double
step_ring_credits (guint nodes, guint per_node, guint steps, StepClass intra, StepClass net)
{
  const guint  less = steps / 2, more = steps - less;
  const double a = intra.item + intra.hop, b = net.item + net.hop;

  return nodes == 1 || per_node == 1 ? 0 : more * MAX (a, b) + less * MIN (a, b);
}

double
step_ring_exposed (guint nodes, guint per_node, guint steps, double intra, double net)
{
  return run_gain (step_ring_run (nodes, per_node, steps, intra, net), intra, net);
}

/* ---- unlike edges ---------------------------------------------------------------------------- */

static gboolean
differs_from_last (const StepClass *edges, guint n, guint i)
{
  const StepClass *own = &edges[i % n], *last = &edges[(i + n - 1) % n];

  return own->item != last->item || own->hop != last->hop;
}

/* The best run that begins at edge FIRST. */
static double
longest_from (const StepClass *edges, guint n, guint steps, guint first)
{
  double sum = 0, slowest = 0, most = 0;

  for (guint k = 1; k <= steps; k++)
    {
      const StepClass *edge = &edges[(first + k - 1) % n];

      sum += edge->item + edge->hop;
      slowest = MAX (slowest, edge->item);
      most = MAX (most, (steps - k) * slowest + sum);
    }
  return most;
}

/*
 * A run inside like edges is as good as one that is moved along them to where they end: it begins,
 * or what follows it does, with an edge that is unlike the one before.
 */
static gboolean
may_begin (const StepClass *edges, guint n, guint steps, guint first)
{
  return first == 0 || differs_from_last (edges, n, first)
         || differs_from_last (edges, n, first + steps);
}

/* ---- long rings ------------------------------------------------------------------------------ */

/* Runs of all STEPS edges, which stay nowhere. */
static double
longest_whole_run (const StepClass *edges, guint n, guint steps)
{
  double sum = 0, most;

  for (guint i = 0; i < steps; i++)
    sum += edges[i % n].item + edges[i % n].hop;
  most = sum;
  for (guint first = 1; first < n; first++)
    {
      const StepClass *gone = &edges[first - 1], *come = &edges[(first - 1 + steps) % n];

      sum += come->item + come->hop - gone->item - gone->hop;
      most = MAX (most, sum);
    }
  return most;
}

/* Runs with edge AT in them, the slowest of all: what moving on adds to staying there. */
static double
longest_through (const StepClass *edges, guint n, guint steps, guint at)
{
  const double       slowest = edges[at].item;
  g_autofree double *right = g_new0 (double, steps); /* [r]: the best of up to r edges behind it */
  double             sum = 0, most = 0;

  for (guint r = 1; r < steps; r++)
    {
      const StepClass *edge = &edges[(at + r) % n];

      sum += edge->item + edge->hop - slowest;
      right[r] = MAX (right[r - 1], sum);
    }
  sum = 0;
  for (guint l = 0; l < steps; l++)
    {
      const StepClass *edge = &edges[(at + n * 2 - l) % n];

      sum += edge->item + edge->hop - slowest;
      most = MAX (most, sum + right[steps - 1 - l]);
    }
  return steps * slowest + most;
}

/*
 * Of long rings those runs that stay on the slowest edge or nowhere, through MOST_THROUGH of the
 * edges that are as slow: no more than the longest run of all.
 */
static double
longest_of_many (const StepClass *edges, guint n, guint steps)
{
  double most = longest_whole_run (edges, n, steps), slowest = 0;
  guint  n_slow = 0, k = 0;

  for (guint i = 0; i < n; i++)
    slowest = MAX (slowest, edges[i].item);
  for (guint i = 0; i < n; i++)
    n_slow += edges[i].item == slowest;
  for (guint i = 0; i < n; i++)
    if (edges[i].item == slowest && k++ % (n_slow / MOST_THROUGH + 1) == 0)
      most = MAX (most, longest_through (edges, n, steps, i));
  return most;
}

double
step_ring_unlike (const StepClass *edges, guint n, guint steps)
{
  guint64 starts = 0;
  double  most = 0;

  for (guint first = 0; first < n; first++)
    starts += may_begin (edges, n, steps, first);
  if (starts * steps > MOST_RUNS)
    return longest_of_many (edges, n, steps);
  for (guint first = 0; first < n; first++)
    if (may_begin (edges, n, steps, first))
      most = MAX (most, longest_from (edges, n, steps, first));
  return most;
}
