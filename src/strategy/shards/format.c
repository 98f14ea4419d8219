#include "strategy/shards/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static guint64
rounded_up (guint64 elements, guint64 m)
{
  return (elements + m - 1) / m * m;
}

static double
ceiling (double elements, double m)
{
  return m * ceil (elements / m);
}

static guint64
layout_flat (const TensorDesc *tensors, guint n, guint m, G_GNUC_UNUSED guint order,
             guint64 *starts)
{
  guint64 end = 0;

  for (guint i = 0; i < n; end += tensors[i++].elements)
    if (starts != NULL)
      starts[i] = end;
  return rounded_up (end, m);
}

static guint64
padded_flat (const TensorDesc *tensors, guint n, guint m)
{
  return layout_flat (tensors, n, m, 0, NULL);
}

static double
formula_flat (const TensorDesc *tensors, guint n, guint m)
{
  double sum = 0;

  while (n > 0)
    sum += (double) tensors[--n].elements;
  return ceiling (sum, m);
}

static guint64
padded_rows (const TensorDesc *tensors, guint n, guint m)
{
  guint64 sum = 0;

  for (guint i = 0; i < n; i++)
    sum += rounded_up (tensors[i].shape[0], m) * (tensors[i].elements / tensors[i].shape[0]);
  return sum;
}

static double
formula_rows (const TensorDesc *tensors, guint n, guint m)
{
  double sum = 0;

  while (n > 0)
    {
      const TensorDesc *tensor = &tensors[--n];
      double            rows = (double) tensor->shape[0];

      sum += ceiling (rows, m) * ((double) tensor->elements / rows);
    }
  return sum;
}

/*
 * Stacked experts, fewer than the M ranks, are cut along their second dimension: along the first
 * one most ranks would hold padding.
 */
static gboolean
cut_inside (const TensorDesc *tensor, guint m)
{
  return tensor->n_dims == TENSOR_MAX_DIMS && tensor->shape[0] < m;
}

static guint64
padded_rows_inside (const TensorDesc *tensors, guint n, guint m)
{
  guint64 sum = 0;

  for (guint i = 0; i < n; i++)
    {
      guint64 rows = tensors[i].shape[cut_inside (&tensors[i], m) ? 1 : 0];

      sum += rounded_up (rows, m) * (tensors[i].elements / rows);
    }
  return sum;
}

static double
formula_rows_inside (const TensorDesc *tensors, guint n, guint m)
{
  double sum = 0;

  while (n > 0)
    {
      const TensorDesc *tensor = &tensors[--n];
      double            experts = tensor->n_dims == 3 ? (double) tensor->shape[0] : m;
      double            rows = (double) (experts < m ? tensor->shape[1] : tensor->shape[0]);

      sum += ceiling (rows, m) * ((double) tensor->elements / rows);
    }
  return sum;
}

static guint64
strided_rows_inside (const TensorDesc *tensors, guint n, guint m)
{
  guint64 sum = 0;

  for (guint i = 0; i < n; i++)
    sum += cut_inside (&tensors[i], m) ? tensors[i].elements : 0;
  return sum;
}

static guint64
padded_each (const TensorDesc *tensors, guint n, guint m)
{
  guint64 sum = 0;

  for (guint i = 0; i < n; i++)
    sum += rounded_up (tensors[i].elements, m);
  return sum;
}

static double
formula_each (const TensorDesc *tensors, guint n, guint m)
{
  double sum = 0;

  while (n > 0)
    sum += ceiling ((double) tensors[--n].elements, m);
  return sum;
}

/* ---- blocks that are never cut --------------------------------------------------------------- */

#define RAGGED_ALIGNMENT 8 /* elements: 16 bytes of two each, as NCCL moves them */

static guint64
layout_ragged (const TensorDesc *tensors, guint n, guint m, guint order, guint64 *starts)
{
  g_autofree RaggedTensor *ragged = g_new (RaggedTensor, n + 1);

  for (guint i = 0; i < n; i++)
    ragged[i] = (RaggedTensor){ tensors[i].elements, MAX (tensors[i].block, 1) };
  return m * ragged_plan (ragged, n, m, RAGGED_ALIGNMENT, (RaggedOrder) order, starts);
}

static guint64
padded_ragged (const TensorDesc *tensors, guint n, guint m)
{
  return layout_ragged (tensors, n, m, RAGGED_ORDER_MODEL, NULL);
}

/* A plan has no formula: its oracle is the planner's own (ragged_exact). */
static double
planned_ragged (const TensorDesc *tensors, guint n, guint m)
{
  return (double) padded_ragged (tensors, n, m);
}

/* ---- tensors that are never cut -------------------------------------------------------------- */

static int
larger_first (gconstpointer a, gconstpointer b)
{
  guint64 one = *(const guint64 *) a, other = *(const guint64 *) b;

  return (one < other) - (one > other);
}

/* The least of a heap of N, its root, has grown. */
static void
sink_root (guint64 *heap, guint n)
{
  guint at = 0;

  for (;;)
    {
      guint   least = at, child = 2 * at + 1;
      guint64 swapped = heap[at];

      if (child < n && heap[child] < heap[least])
        least = child;
      if (child + 1 < n && heap[child + 1] < heap[least])
        least = child + 1;
      if (least == at)
        return;
      heap[at] = heap[least];
      heap[least] = swapped;
      at = least;
    }
}

/* The largest tensor that is left goes to the rank that owns least. Owners are in no order. */
static void
owned_whole (const TensorDesc *tensors, guint n, guint m, guint64 *elements)
{
  g_autofree guint64 *sizes = g_new (guint64, n + 1);

  for (guint i = 0; i < n; i++)
    sizes[i] = tensors[i].elements;
  qsort (sizes, n, sizeof *sizes, larger_first);
  memset (elements, 0, m * sizeof *elements);
  for (guint i = 0; i < n; i++)
    {
      elements[0] += sizes[i];
      sink_root (elements, m);
    }
}

/* As if every owner had as much as the one that has most. */
static guint64
padded_whole (const TensorDesc *tensors, guint n, guint m)
{
  g_autofree guint64 *elements = g_new (guint64, m);
  guint64             most = 0;

  owned_whole (tensors, n, m, elements);
  for (guint r = 0; r < m; r++)
    most = MAX (most, elements[r]);
  return m * most;
}

static int
more_first (gconstpointer a, gconstpointer b)
{
  const double *one = a, *other = b;

  return *one < *other ? 1 : *one > *other ? -1 : 0;
}

/* The same by sizes alone: the largest that is left, to one of those that have least. */
static double
formula_whole (const TensorDesc *tensors, guint n, guint m)
{
  g_autofree double *owned = g_new0 (double, m), *sizes = g_new (double, n + 1);
  double             most = 0;

  for (guint i = 0; i < n; i++)
    sizes[i] = (double) tensors[i].elements;
  qsort (sizes, n, sizeof *sizes, more_first);
  for (guint i = 0; i < n; i++)
    {
      guint rank = i < m ? i : 0; /* who has nothing comes first */

      for (guint r = 1; r < m && i >= m; r++)
        if (owned[r] < owned[rank])
          rank = r;
      owned[rank] += sizes[i];
      most = MAX (most, owned[rank]);
    }
  return m * most;
}

/* ---- the table ------------------------------------------------------------------------------- */

const ShardFormat format_flat = {
  .name = "flat",
  .title = "one buffer a unit, padded at its tail",
  .source = "Zhao et al., arXiv:2304.11277, 3.2.1 (FSDP1)",
  .padded = padded_flat,
  .formula = formula_flat,
  .layout = layout_flat,
};

const ShardFormat format_rows = {
  .name = "rows",
  .title = "every tensor on its leading dimension: m ceil (d0 / m) rows",
  .source = "torch/distributed/fsdp/_fully_shard",
  .padded = padded_rows,
  .formula = formula_rows,
};

const ShardFormat format_rows_inside = {
  .name = "rows-inside",
  .title = "as rows; stacked experts, where ranks outnumber them, on their second dimension",
  .source = "torchtitan, distributed/fsdp.py: Shard(1) where the ranks outnumber the experts",
  .padded = padded_rows_inside,
  .formula = formula_rows_inside,
  .strided = strided_rows_inside,
};

const ShardFormat format_each = {
  .name = "each",
  .title = "every tensor on its own: m ceil (n / m) elements",
  .source = "deepspeed/runtime/zero/partition_parameters.py",
  .padded = padded_each,
  .formula = formula_each,
};

const ShardFormat format_ragged = {
  .name = "ragged",
  .title = "one buffer a unit, in which veScale's planner lets no boundary cut a block",
  .source = "arXiv:2602.22437, Algorithm 1",
  .padded = padded_ragged,
  .formula = planned_ragged,
  .layout = layout_ragged,
  .heeds_blocks = TRUE,
};

const ShardFormat format_whole = {
  .name = "whole",
  .title = "no tensor is cut: the largest that is left goes to the rank that owns least",
  .source = "InternEvo, internlm/solver/optimizer/hybrid_zero_optim.py, _partition_param_list",
  .padded = padded_whole,
  .formula = formula_whole,
  .owned = owned_whole,
};

const ShardFormat *const *
shard_format_list (void)
{
  static const ShardFormat *const list[] = {
    &format_flat,     &format_rows,   &format_each, &format_rows_inside,
    &format_lcm_rows, &format_ragged, NULL
  };

  return list;
}

const ShardFormat *
shard_format_find (const char *name)
{
  for (const ShardFormat *const *list = shard_format_list (); *list != NULL; list++)
    if (g_str_equal ((*list)->name, name))
      return *list;
  return NULL;
}

const char *const shard_format_all[] = { "flat",     "rows",   "each", "rows-inside",
                                         "lcm-rows", "ragged", NULL };
const char *const shard_format_in_place[] = { "flat", "lcm-rows", "ragged", NULL };
const char *const shard_format_copied[] = { "rows", "each", NULL };
