#include "collective/step-build-private.h"

#include "collective/choose-private.h"

#include <math.h>

/* Of a chain; more would change its time by less than one part in a hundred. */
#define MAX_ITEMS 4096

typedef struct
{
  const StepSource *source;
  StepProgram      *program;
  double           *touched; /* [gpu] payload of all edges there, per byte of S */
  GArray           *loads;   /* StepLoad: scratch */
} Build;

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
add_link (Build *self, guint32 resource)
{
  const CollectiveLoad *load = find_load (self->source->cost, resource);
  StepLoad              step = { resource, self->source->cost->service_scale };

  g_assert (load != NULL && load->payload > 0);
  step.service *= load->service / load->payload;
  g_array_append_val (self->loads, step);
}

static void
add_memory (Build *self, guint32 gpu)
{
  guint32               resource = cluster_gpu_resource (self->source->cluster, gpu, RESOURCE_HBM);
  const CollectiveLoad *load = find_load (self->source->cost, resource);
  StepLoad              step = { resource, 0 };

  if (load == NULL)
    return;
  step.service = load->service * self->source->cost->service_scale / self->touched[gpu];
  g_array_append_val (self->loads, step);
}

static void
sum_touched (Build *self)
{
  const GArray *edges = self->source->edges->edges;

  for (guint i = 0; i < edges->len; i++)
    {
      const LayEdge *edge = &g_array_index (edges, LayEdge, i);

      self->touched[edge->from] += edge->bytes;
      self->touched[edge->to] += edge->bytes;
    }
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* AT_ONCE: of what a rank sends in all, the part that it sends while EDGE does. */
static void
add_edge (Build *self, const LayEdge *edge, guint n_items, double at_once)
{
  const StepSource *source = self->source;
  double            hop = edge->net ? source->parameters->hop_net : source->parameters->hop_intra;

  g_array_set_size (self->loads, 0);
  for (guint i = 0; i < edge->n; i++)
    add_link (self, g_array_index (source->edges->resources, guint32, edge->first + i));
  add_memory (self, edge->from);
  add_memory (self, edge->to);
  step_program_add_edge (
      self->program,
      &(StepEdge){ .n_items = n_items,
                   .bytes = edge->bytes * source->bytes / n_items,
                   .hop = hop,
                   .cap = edge->bytes * source->parameters->rate_cap / at_once,
                   .weight = source->cost->weight * edge->bytes / source->payload / at_once },
      (const StepLoad *) (gpointer) self->loads->data, self->loads->len);
}

/*
 * Edges of a lane in the order in which the ring visits them: each waits for the one before it.
 * LAG: 1 where every rank has a chunk of its own to begin with, 0 where chunks come from one end.
 */
static void
add_waits (Build *self, guint lag)
{
  const GArray *edges = self->source->edges->edges;

  for (guint first = 0, end; first < edges->len; first = end)
    {
      guint32 lane = g_array_index (edges, LayEdge, first).lane;

      for (end = first; end < edges->len && g_array_index (edges, LayEdge, end).lane == lane;)
        end++;
      for (guint i = first; i < end; i++)
        {
          guint next = i + 1 < end ? i + 1 : first;

          if (g_array_index (edges, LayEdge, i).to == g_array_index (edges, LayEdge, next).from)
            step_program_add_wait (self->program, i, next, lag);
        }
    }
}

static guint
count_items (const StepSource *source)
{
  switch (source->kind)
    {
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_REDUCE:
      return (guint) CLAMP (ceil (source->bytes / source->parameters->chunk), 1, MAX_ITEMS);
    default:
      return collective_ring_steps (source->kind, source->n_ranks);
    }
}

static void
build_ring (Build *self)
{
  const GArray *edges = self->source->edges->edges;
  gboolean      chain =
      self->source->kind == COLLECTIVE_BROADCAST || self->source->kind == COLLECTIVE_REDUCE;
  guint n_items = count_items (self->source);

  for (guint i = 0; i < edges->len; i++)
    add_edge (self, &g_array_index (edges, LayEdge, i), n_items, 1);
  add_waits (self, chain ? 0 : 1);
}

/* All peers side by side: the launch runs them in batches, but on channels that do not wait. */
static void
build_pairwise (Build *self)
{
  const GArray *edges = self->source->edges->edges;

  for (guint i = 0; i < edges->len; i++)
    add_edge (self, &g_array_index (edges, LayEdge, i), 1, 1);
}

/* Edges of [FIRST, END) begin when what their sender got and sent in [BEFORE, FIRST) has arrived. */
static void
add_step_waits (Build *self, guint before, guint first, guint end)
{
  const GArray     *edges = self->source->edges->edges;
  guint             n_gpus = cluster_n_gpus (self->source->cluster);
  g_autofree guint *start = g_new0 (guint, n_gpus + 1), *order = g_new (guint, end - first);

  for (guint i = first; i < end; i++)
    start[g_array_index (edges, LayEdge, i).from + 1]++;
  for (guint gpu = 0; gpu < n_gpus; gpu++)
    start[gpu + 1] += start[gpu];
  for (guint i = end; i-- > first;) /* leaves each count at the beginning of its GPU's */
    order[--start[g_array_index (edges, LayEdge, i).from + 1]] = i;
  for (guint i = before; i < first; i++)
    for (guint way = 0; way < 2; way++)
      {
        const LayEdge *edge = &g_array_index (edges, LayEdge, i);
        guint          gpu = way == 0 ? edge->from : edge->to;
        guint          stop = gpu + 2 <= n_gpus ? start[gpu + 2] : end - first;

        for (guint j = start[gpu + 1]; j < stop; j++)
          step_program_add_wait (self->program, i, order[j], 0);
      }
}

/* A rank's channels make one step after another. */
static void
build_pat (Build *self)
{
  const GArray *edges = self->source->edges->edges;
  guint         before = 0;

  for (guint first = 0, end; first < edges->len; first = end)
    {
      guint32 lane = g_array_index (edges, LayEdge, first).lane;
      double  bytes = 0;

      for (end = first; end < edges->len && g_array_index (edges, LayEdge, end).lane == lane; end++)
        bytes += g_array_index (edges, LayEdge, end).bytes;
      for (guint i = first; i < end; i++)
        add_edge (self, &g_array_index (edges, LayEdge, i), 1,
                  bytes / self->source->n_ranks / self->source->payload);
      add_step_waits (self, before, first, end);
      before = first;
    }
}

static void
build_whole (Build *self)
{
  const StepSource     *source = self->source;
  const CollectiveCost *cost = source->cost;

  for (guint i = 0; i < cost->n_loads; i++)
    {
      StepLoad load = { cost->loads[i].resource, cost->loads[i].service * cost->service_scale };

      g_array_append_val (self->loads, load);
    }
  step_program_add_edge (self->program,
                         &(StepEdge){ .n_items = 1,
                                      .bytes = source->bytes,
                                      .cap = cost->rate_cap,
                                      .weight = cost->weight / source->payload },
                         (const StepLoad *) (gpointer) self->loads->data, self->loads->len);
}

StepProgram *
step_build (const StepSource *source)
{
  Build self = { .source = source, .program = step_program_new (source->parameters->launch) };

  if (source->edges != NULL)
    {
      self.touched = g_new0 (double, cluster_n_gpus (source->cluster));
      self.loads = g_array_new (FALSE, FALSE, sizeof (StepLoad));
      sum_touched (&self);
      if (source->cost->algorithm == ALGORITHM_RING)
        build_ring (&self);
      else if (source->cost->algorithm == ALGORITHM_PAIRWISE)
        build_pairwise (&self);
      else if (source->cost->algorithm == ALGORITHM_PAT)
        build_pat (&self);
      else
        build_whole (&self);
      g_array_unref (self.loads);
      g_free (self.touched);
    }
  step_program_finish (self.program);
  return self.program;
}
