#include "cost/collective/steps/step-build-private.h"

#include <math.h>

#include "cost/collective/library/factors-private.h"

/*
 * Items of a pipeline at most; of a chain this or so many a rank. The first item passes all ranks,
 * so more would change its time by less than one part in fifty.
 */
#define MAX_ITEMS      4096
#define MAX_RANK_ITEMS 50

/* ---- loads ----------------------------------------------------------------------------------- */

static const CollectiveLoad *
find_load (const CollectiveCost *cost, guint32 resource)
{
  guint low = 0, high = cost->n_loads;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (cost->loads[middle].resource < resource)
        low = middle + 1;
      else
        high = middle;
    }
  return low < cost->n_loads && cost->loads[low].resource == resource ? &cost->loads[low] : NULL;
}

static void
add_memory (StepBuild *self, guint32 gpu)
{
  const CollectiveLoad *load;
  StepLoad              step = { 0, 0 };

  step.resource = cluster_gpu_resource (self->source->cluster, gpu, RESOURCE_HBM);
  load = find_load (self->source->cost, step.resource);
  if (load == NULL)
    return;
  step.service = load->service * self->source->cost->service_scale / self->touched[gpu];
  g_array_append_val (self->loads, step);
}

/* ---- edges ----------------------------------------------------------------------------------- */

void
step_build_edge (StepBuild *self, const RoutedEdge *edge, guint n_items, double at_once)
{
  const StepSource *source = self->source;
  double            hop = edge->net ? source->parameters->hop_net : source->parameters->hop_intra;
  gboolean          capped = !edge->net || !source->parameters->capped_inside;
  double            cap = capped ? edge->bytes * source->parameters->rate_cap / at_once : 0;
  double            flow = edge->flow * source->parameters->flows;

  g_array_set_size (self->loads, 0);
  for (guint i = 0; i < edge->n; i++)
    {
      guint32      resource = g_array_index (source->edges->resources, guint32, edge->first + i);
      const double share = g_array_index (source->edges->shares, double, edge->first + i);
      const CollectiveLoad *load = find_load (self->source->cost, resource);
      StepLoad              step = { resource, self->source->cost->service_scale * share };

      g_assert (load != NULL && load->payload > 0);
      step.service *= load->service / load->payload;
      g_array_append_val (self->loads, step);
    }
  if (!source->edges->names_memory)
    {
      add_memory (self, edge->from);
      add_memory (self, edge->to);
    }
  step_program_add_edge (
      self->program,
      &(StepEdge){ .n_items = n_items,
                   .bytes = edge->bytes * source->bytes / n_items,
                   .hop = hop + edge->way * source->parameters->ways,
                   .cap = cap > 0 && flow > 0 ? MIN (cap, flow) : MAX (cap, flow),
                   .weight = source->cost->weight * edge->bytes / source->payload / at_once },
      (const StepLoad *) (gpointer) self->loads->data, self->loads->len);
}

guint
step_build_ring_end (const GArray *edges, guint first)
{
  const RoutedEdge *ring = &g_array_index (edges, RoutedEdge, first);
  guint             end = first + 1;

  while (end < edges->len && g_array_index (edges, RoutedEdge, end).lane == ring->lane
         && g_array_index (edges, RoutedEdge, end).section == ring->section)
    end++;
  return end;
}

void
step_build_ring_waits (StepBuild *self, guint lag)
{
  const GArray *edges = self->source->edges->edges;

  for (guint first = 0, end; first < edges->len; first = end)
    {
      end = step_build_ring_end (edges, first);
      for (guint i = first; i < end; i++)
        {
          guint next = i + 1 < end ? i + 1 : first;

          if (g_array_index (edges, RoutedEdge, i).to
              == g_array_index (edges, RoutedEdge, next).from)
            step_program_add_wait (self->program, i, next, lag);
        }
    }
}

static void
build_lanes (StepBuild *self, guint n_items, guint lag)
{
  const GArray *edges = self->source->edges->edges;

  for (guint i = 0; i < edges->len; i++)
    step_build_edge (self, &g_array_index (edges, RoutedEdge, i), n_items, 1);
  step_build_ring_waits (self, lag);
}

void
step_build_ring (StepBuild *self)
{
  build_lanes (self, collective_ring_steps (self->source->kind, self->source->n_ranks), 1);
  if (self->source->parameters->credits == 2)
    {
      const GArray *edges = self->source->edges->edges;

      /*
       * A connection holds two chunks (NCCL_STEPS slots of its buffer, four a chunk): a rank sends
       * the next one when its receiver, which passes on in step i what it got in step i - 1, has
       * passed on the one before the last.
       */
      for (guint first = 0, end; first < edges->len; first = end)
        {
          end = step_build_ring_end (edges, first);
          for (guint i = first; i < end; i++)
            {
              guint next = i + 1 < end ? i + 1 : first;

              if (next != i
                  && g_array_index (edges, RoutedEdge, i).to
                         == g_array_index (edges, RoutedEdge, next).from)
                step_program_add_wait (self->program, next, i, 1);
            }
        }
    }
}

void
step_build_chain (StepBuild *self)
{
  const StepSource *source = self->source;
  const guint       most = MAX (MAX_ITEMS, MAX_RANK_ITEMS * source->n_ranks);

  build_lanes (self, (guint) CLAMP (ceil (source->bytes / source->parameters->chunk), 1, most), 0);
}

/* All peers side by side: the launch runs them in batches, but on channels that do not wait. */
void
step_build_at_once (StepBuild *self)
{
  const GArray *edges = self->source->edges->edges;

  for (guint i = 0; i < edges->len; i++)
    step_build_edge (self, &g_array_index (edges, RoutedEdge, i), 1, 1);
}

static guint32
edge_end (const RoutedEdge *edge, gboolean receiver)
{
  return receiver ? edge->to : edge->from;
}

/*
 * Edges of [FIRST, END) begin when what their sender (or RECEIVER) got and sent in [BEFORE, FIRST)
 * has arrived.
 */
static void
add_step_waits (StepBuild *self, guint before, guint first, guint end, gboolean receiver)
{
  const GArray     *edges = self->source->edges->edges;
  guint             n_gpus = cluster_n_gpus (self->source->cluster);
  g_autofree guint *start = g_new0 (guint, n_gpus + 1), *order = g_new (guint, end - first);

  for (guint i = first; i < end; i++)
    start[edge_end (&g_array_index (edges, RoutedEdge, i), receiver) + 1]++;
  for (guint gpu = 0; gpu < n_gpus; gpu++)
    start[gpu + 1] += start[gpu];
  for (guint i = end; i-- > first;) /* leaves each count at the beginning of its GPU's */
    order[--start[edge_end (&g_array_index (edges, RoutedEdge, i), receiver) + 1]] = i;
  for (guint i = before; i < first; i++)
    for (guint way = 0; way < 2; way++)
      {
        const RoutedEdge *edge = &g_array_index (edges, RoutedEdge, i);
        guint             gpu = way == 0 ? edge->from : edge->to;
        guint             stop = gpu + 2 <= n_gpus ? start[gpu + 2] : end - first;

        for (guint j = start[gpu + 1]; j < stop; j++)
          step_program_add_wait (self->program, i, order[j], 0);
      }
}

/*
 * A rank's channels make one step after another. Those that send in a step send equally much; their
 * edges stand together.
 */
static void
build_rounds (StepBuild *self, gboolean rendezvous)
{
  const GArray *edges = self->source->edges->edges;
  guint         before = 0;

  for (guint first = 0, end; first < edges->len; first = end)
    {
      guint32 lane = g_array_index (edges, RoutedEdge, first).lane, sender = G_MAXUINT32;
      guint   n_senders = 0;
      double  bytes = 0;

      for (end = first; end < edges->len && g_array_index (edges, RoutedEdge, end).lane == lane;
           end++)
        {
          const RoutedEdge *edge = &g_array_index (edges, RoutedEdge, end);

          n_senders += edge->from != sender;
          sender = edge->from;
          bytes += edge->bytes;
        }
      for (guint i = first; i < end; i++)
        step_build_edge (self, &g_array_index (edges, RoutedEdge, i), 1,
                         bytes / n_senders / self->source->payload);
      add_step_waits (self, before, first, end, FALSE);
      if (rendezvous)
        add_step_waits (self, before, first, end, TRUE);
      before = first;
    }
}

void
step_build_rounds (StepBuild *self)
{
  build_rounds (self, FALSE);
}

void
step_build_exchanges (StepBuild *self)
{
  build_rounds (self, TRUE);
}

/* ---- pipelines ------------------------------------------------------------------------------- */

static gint
compare_targets (gconstpointer a, gconstpointer b, gpointer data)
{
  const RoutedEdge *x = &g_array_index ((const GArray *) data, RoutedEdge, *(const guint *) a);
  const RoutedEdge *y = &g_array_index ((const GArray *) data, RoutedEdge, *(const guint *) b);

  if (x->join.target != y->join.target)
    return x->join.target < y->join.target ? -1 : 1;
  return *(const guint *) a < *(const guint *) b ? -1 : 1;
}

/* The first in ORDER, sorted by their targets, whose target is not below TARGET. */
static guint
find_target (const GArray *edges, const guint *order, guint32 target)
{
  guint low = 0, high = edges->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (edges, RoutedEdge, order[middle]).join.target < target)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

void
step_build_join_waits (StepBuild *self, guint lag)
{
  const GArray     *edges = self->source->edges->edges;
  g_autofree guint *order = g_new (guint, edges->len);

  for (guint i = 0; i < edges->len; i++)
    order[i] = i;
  g_qsort_with_data (order, (gint) edges->len, sizeof *order, compare_targets, (gpointer) edges);
  for (guint i = 0; i < edges->len; i++)
    {
      const RoutedJoin *join = &g_array_index (edges, RoutedEdge, i).join;

      for (guint at = find_target (edges, order, join->source); at < edges->len; at++)
        {
          const RoutedJoin *before = &g_array_index (edges, RoutedEdge, order[at]).join;

          if (before->target != join->source)
            break;
          if (before->phase <= join->until && order[at] != i)
            step_program_add_wait (self->program, order[at], i, lag);
        }
    }
}

void
step_build_pipeline (StepBuild *self)
{
  const StepSource *source = self->source;
  const GArray     *edges = source->edges->edges;
  double chunks = source->bytes / source->parameters->chunk; /* whole, but for rounding */
  guint  n_items = (guint) CLAMP (ceil (chunks * (1 - 1e-9)), 1, MAX_ITEMS);

  for (guint i = 0; i < edges->len; i++)
    step_build_edge (self, &g_array_index (edges, RoutedEdge, i), n_items, 1);
  step_build_join_waits (self, 0);
}

StepProgram *
step_build_nothing (double launch)
{
  StepProgram *program = step_program_new (launch);

  step_program_finish (program);
  return program;
}

StepProgram *
step_build (const StepSource *source)
{
  StepBuild self = { .source = source, .program = step_program_new (source->parameters->launch) };

  self.touched = g_new0 (double, cluster_n_gpus (source->cluster));
  self.loads = g_array_new (FALSE, FALSE, sizeof (StepLoad));
  if (!source->edges->names_memory)
    {
      const GArray *edges = self.source->edges->edges;

      for (guint i = 0; i < edges->len; i++)
        {
          const RoutedEdge *edge = &g_array_index (edges, RoutedEdge, i);

          self.touched[edge->from] += edge->bytes;
          self.touched[edge->to] += edge->bytes;
        }
    }
  source->build (&self);
  g_array_unref (self.loads);
  g_free (self.touched);
  step_program_finish (self.program);
  return self.program;
}
