#include "strategy/format.h"

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
padded_flat (const TensorDesc *tensors, guint n, guint m)
{
  guint64 sum = 0;

  for (guint i = 0; i < n; i++)
    sum += tensors[i].elements;
  return rounded_up (sum, m);
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

/* ---- rows that are never cut ----------------------------------------------------------------- */

static guint64
row_of (const TensorDesc *tensor)
{
  guint64 row = tensor->elements / tensor->shape[0];

  g_assert (row > 0); /* no tensor is empty */
  return row;
}

static guint64
greatest_common_divisor (guint64 a, guint64 b)
{
  while (b > 0)
    {
      guint64 rest = a % b;

      a = b;
      b = rest;
    }
  return a;
}

/* The least common multiple of the rows of all tensors: shards are multiples of it. */
static guint64
common_block (const TensorDesc *tensors, guint n)
{
  guint64 block = 1;

  for (guint i = 0; i < n; i++)
    block = block / greatest_common_divisor (block, row_of (&tensors[i])) * row_of (&tensors[i]);
  return block;
}

typedef struct
{
  const TensorDesc *tensors;
  guint             n;
  guint64           block;
  guint64          *starts;
  gboolean         *placed;
} RowLayout;

static guint64
place (RowLayout *self, guint i, guint64 start)
{
  self->starts[i] = start;
  self->placed[i] = TRUE;
  return start + self->tensors[i].elements;
}

/*
 * A gap before GAP_END that begins at AT takes the tail of no tensor: the first later large tensor
 * whose remainder fits starts inside it, so that its whole blocks begin at GAP_END. Returns where
 * the gap goes on to, and sets *END to where what follows may begin.
 */
static guint64
place_conjugate (RowLayout *self, guint after, guint64 at, guint64 gap_end, guint64 *end)
{
  for (guint i = after + 1; i < self->n; i++)
    {
      guint64 elements = self->tensors[i].elements, rest = elements % self->block;

      if (self->placed[i] || elements < self->block || rest == 0 || rest > gap_end - at)
        continue;
      *end = place (self, i, gap_end - rest);
      return gap_end - rest;
    }
  *end = gap_end;
  return gap_end;
}

/*
 * Tensors smaller than a block fill [AT, END), the largest that fits first, each on its own rows.
 */
static void
place_fragments (RowLayout *self, guint64 at, guint64 end)
{
  for (;;)
    {
      guint   best = self->n;
      guint64 start = 0;

      for (guint i = 0; i < self->n; i++)
        {
          guint64 from = rounded_up (at, row_of (&self->tensors[i]));

          if (self->placed[i] || self->tensors[i].elements >= self->block
              || from + self->tensors[i].elements > end
              || (best < self->n && self->tensors[best].elements >= self->tensors[i].elements))
            continue;
          best = i;
          start = from;
        }
      if (best == self->n)
        return;
      at = place (self, best, start);
    }
}

/* Tensors of a block and more, in order; what they leave open is filled. Returns their end. */
static guint64
place_large (RowLayout *self)
{
  guint64 cursor = 0;

  for (guint i = 0; i < self->n; i++)
    {
      guint64 end, gap_end, open;

      if (self->placed[i] || self->tensors[i].elements < self->block)
        continue;
      end = place (self, i, cursor);
      gap_end = rounded_up (end, self->block);
      open = gap_end == end ? end : place_conjugate (self, i, end, gap_end, &cursor);
      if (gap_end == end)
        cursor = end;
      place_fragments (self, end, open);
    }
  return cursor;
}

guint64
lcm_rows_layout (const TensorDesc *tensors, guint n, guint64 *starts)
{
  g_autofree gboolean *placed = g_new0 (gboolean, MAX (n, 1));
  RowLayout            self = { tensors, n, common_block (tensors, n), starts, placed };
  guint64              cursor = place_large (&self), end = 0;

  place_fragments (&self, cursor, G_MAXUINT64);
  for (guint i = 0; i < n; i++)
    end = MAX (end, starts[i] + tensors[i].elements);
  return end;
}

static guint64
padded_lcm_rows (const TensorDesc *tensors, guint n, guint m)
{
  g_autofree guint64 *starts = g_new (guint64, MAX (n, 1));

  return rounded_up (lcm_rows_layout (tensors, n, starts), m * common_block (tensors, n));
}

/*
 * The same by remainders: in order, a large tensor that does not end with its last block shares
 * that one with the first later one whose own remainder fits beside; small ones that fit into what
 * is left of such a block vanish there, the largest first; those that are left follow at the end.
 */
typedef struct
{
  guint64  elements, row;
  gboolean gone;
} RowItem;

/* Where the small ones of N ITEMS end that fit from AT to END, largest first; they are gone. */
static guint64
formula_fill (RowItem *items, guint n, guint64 block, guint64 at, guint64 end)
{
  RowItem *next;

  do
    {
      next = NULL;
      for (guint i = n; i-- > 0;)
        {
          RowItem *item = &items[i];
          guint64  skip = (item->row - at % item->row) % item->row;

          if (!item->gone && item->elements < block && at + skip + item->elements <= end
              && (next == NULL || item->elements >= next->elements))
            next = item;
        }
      if (next != NULL)
        {
          at += (next->row - at % next->row) % next->row + next->elements;
          next->gone = TRUE;
        }
    }
  while (next != NULL);
  return at;
}

static double
formula_lcm_rows (const TensorDesc *tensors, guint n, guint m)
{
  g_autofree RowItem *items = g_new0 (RowItem, n + 1);
  guint64             block = 1, blocks = 0, shard;

  for (guint i = 0; i < n; i++)
    {
      guint64 common, rest;

      items[i] = (RowItem){ tensors[i].elements, tensors[i].elements / tensors[i].shape[0], FALSE };
      g_assert (items[i].row > 0); /* no tensor is empty */
      common = block;
      for (guint64 of = items[i].row; of > 0; common = rest)
        {
          rest = of;
          of = common % of;
        }
      block = block / common * items[i].row;
    }
  for (guint i = 0; i < n; i++)
    {
      guint64 rest = items[i].elements % block, left = block - rest;

      if (items[i].gone || items[i].elements < block)
        continue;
      blocks += items[i].elements / block + (rest > 0);
      for (guint o = i + 1; o < n && rest > 0; o++)
        if (!items[o].gone && items[o].elements > block && items[o].elements % block != 0
            && items[o].elements % block <= block - rest)
          {
            items[o].gone = TRUE;
            blocks += items[o].elements / block;
            left -= items[o].elements % block;
            break;
          }
      if (rest > 0)
        formula_fill (items, n, block, rest, rest + left);
    }
  shard = blocks * block + formula_fill (items, n, block, 0, G_MAXUINT64 / 2);
  shard = shard / m / block + (shard % (m * block) != 0);
  return (double) (shard * m * block);
}

/* ---- blocks that are never cut --------------------------------------------------------------- */

#define RAGGED_ALIGNMENT 8 /* elements: 16 bytes of two each, as NCCL moves them */

guint64
ragged_layout (const TensorDesc *tensors, guint n, guint m, RaggedOrder order, guint64 *starts)
{
  g_autofree RaggedTensor *ragged = g_new (RaggedTensor, n + 1);

  for (guint i = 0; i < n; i++)
    ragged[i] = (RaggedTensor){ tensors[i].elements, MAX (tensors[i].block, 1) };
  return ragged_plan (ragged, n, m, RAGGED_ALIGNMENT, order, starts);
}

static guint64
padded_ragged (const TensorDesc *tensors, guint n, guint m)
{
  return m * ragged_layout (tensors, n, m, RAGGED_ORDER_MODEL, NULL);
}

/* A plan has no formula: its oracle is the planner's own (ragged_exact). */
static double
planned_ragged (const TensorDesc *tensors, guint n, guint m)
{
  return (double) padded_ragged (tensors, n, m);
}

/* ---- any format ------------------------------------------------------------------------------ */

guint64
shard_format_padded (const ShardFormat *format, const TensorDesc *tensors, guint n, guint m,
                     RaggedOrder order)
{
  return format == &format_ragged ? m * ragged_layout (tensors, n, m, order, NULL)
                                  : format->padded (tensors, n, m);
}

gboolean
shard_format_layout (const ShardFormat *format, const TensorDesc *tensors, guint n, guint m,
                     RaggedOrder order, guint64 *starts)
{
  guint64 end = 0;

  if (format == &format_ragged)
    ragged_layout (tensors, n, m, order, starts);
  else if (format == &format_lcm_rows)
    lcm_rows_layout (tensors, n, starts);
  else
    for (guint i = 0; i < n; end += tensors[i++].elements)
      starts[i] = end;
  return format->in_place;
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
  .in_place = TRUE,
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

const ShardFormat format_lcm_rows = {
  .name = "lcm-rows",
  .title = "one buffer a unit, whose shards are multiples of all its tensors' rows",
  .source = "Megatron-LM, megatron/core/distributed/fsdp, layout.py",
  .padded = padded_lcm_rows,
  .formula = formula_lcm_rows,
  .in_place = TRUE,
};

const ShardFormat format_ragged = {
  .name = "ragged",
  .title = "one buffer a unit, in which veScale's planner lets no boundary cut a block",
  .source = "arXiv:2602.22437, Algorithm 1",
  .padded = padded_ragged,
  .formula = planned_ragged,
  .in_place = TRUE,
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
