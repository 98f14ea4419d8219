#include "strategy/shards/ragged-private.h"

#include <string.h>

const char *const ragged_order_names[] = { "model", "block", "shape", "fit", "best", NULL };

/* ---- a shard that is given ------------------------------------------------------------------- */

static gboolean
place_in_order (const RaggedProblem *self, guint64 shard, guint64 *starts)
{
  guint64 at = 0;

  for (guint i = 0; i < self->n; i++)
    {
      guint   tensor = self->order[i];
      guint64 start = ragged_earliest (&self->tensors[tensor], at, shard);

      if (start == G_MAXUINT64 || start + self->tensors[tensor].elements > self->m * shard)
        return FALSE;
      if (starts != NULL)
        starts[tensor] = start;
      at = start + self->tensors[tensor].elements;
    }
  return TRUE;
}

static gboolean
place (const RaggedProblem *self, guint64 shard, guint64 *starts)
{
  return self->fits ? ragged_place_fitting (self, shard, starts)
                    : place_in_order (self, shard, starts);
}

/* ---- the least shard ------------------------------------------------------------------------- */

static guint64
rounded_up (guint64 value, guint64 of)
{
  return (value + of - 1) / of * of;
}

/* G_MAXUINT64: beyond what 64 bits hold. */
static guint64
common_multiple (guint64 a, guint64 b)
{
  guint64 x = a, y = b, product;

  while (y > 0)
    {
      guint64 rest = x % y;

      x = y;
      y = rest;
    }
  return __builtin_mul_overflow (a / x, b, &product) ? G_MAXUINT64 : product;
}

static guint64
sum_of (const RaggedTensor *tensors, guint n)
{
  guint64 sum = 0;

  for (guint i = 0; i < n; i++)
    sum += tensors[i].elements;
  return sum;
}

/*
 * The least multiple of STEP from LEAST on, below BELOW, that has room, as far as room grows with
 * the shard; BELOW: none.
 */
static guint64
least_multiple (const RaggedProblem *self, guint64 step, guint64 least, guint64 below)
{
  guint64 low = rounded_up (least, step) / step, high = low, reach = 1;

  while (high * step < below && !place (self, high * step, NULL))
    {
      low = high + 1;
      high += reach;
      reach *= 2;
    }
  high = MIN (high, rounded_up (below, step) / step);
  while (low < high)
    {
      guint64 middle = low + (high - low) / 2;

      if (place (self, middle * step, NULL))
        high = middle;
      else
        low = middle + 1;
    }
  return MIN (high * step, below);
}

static int
larger_first (gconstpointer a, gconstpointer b, gpointer data)
{
  const RaggedTensor *tensors = data;
  const RaggedTensor *one = &tensors[*(const guint *) a], *other = &tensors[*(const guint *) b];

  return (one->elements < other->elements) - (one->elements > other->elements);
}

static int
larger_block_first (gconstpointer a, gconstpointer b, gpointer data)
{
  const RaggedTensor *tensors = data;
  const RaggedTensor *one = &tensors[*(const guint *) a], *other = &tensors[*(const guint *) b];

  if (one->block != other->block)
    return (one->block < other->block) - (one->block > other->block);
  return larger_first (a, b, data);
}

/*
 * Steps: the alignment, which is enough where no tensor holds a whole shard; then, tensor by tensor
 * from the largest one (SIZES), what lets that one hold some. One shard that holds all is always
 * enough.
 */
static guint64
least_shard (const RaggedProblem *self, const guint *sizes, guint64 alignment)
{
  const guint64 sum = sum_of (self->tensors, self->n), least = (sum + self->m - 1) / self->m;
  guint64       step = alignment, best = rounded_up (sum, alignment);

  best = least_multiple (self, step, least, best);
  for (guint i = 0; i < self->n; i++)
    {
      guint64 next = common_multiple (step, self->tensors[sizes[i]].block);

      if (next >= best)
        break;
      if (next != step)
        best = least_multiple (self, next, least, best);
      step = next;
    }
  return best;
}

/* What is in order ORDER, of which BEST is none. */
static guint64
plan_in (const RaggedTensor *tensors, guint n, guint64 m, guint64 alignment, RaggedOrder order,
         guint64 *starts)
{
  g_autofree guint *sizes = g_new (guint, n + 1), *taken = g_new (guint, n + 1);
  RaggedProblem     self = { .tensors = tensors, .n = n, .m = m, .order = taken };
  guint64           shard;

  for (guint i = 0; i < n; i++)
    sizes[i] = taken[i] = i;
  g_qsort_with_data (sizes, (gint) n, sizeof *sizes, larger_first, (gpointer) tensors);
  if (order == RAGGED_ORDER_SHAPE)
    memcpy (taken, sizes, n * sizeof *sizes);
  else if (order != RAGGED_ORDER_MODEL)
    g_qsort_with_data (taken, (gint) n, sizeof *taken, larger_block_first, (gpointer) tensors);
  self.fits = order == RAGGED_ORDER_FIT;
  shard = least_shard (&self, sizes, alignment);
  if (starts != NULL)
    place (&self, shard, starts);
  return shard;
}

guint64
ragged_plan (const RaggedTensor *tensors, guint n, guint64 m, guint64 alignment, RaggedOrder order,
             guint64 *starts)
{
  RaggedOrder best = order;
  guint64     least = G_MAXUINT64;

  if (sum_of (tensors, n) == 0)
    return 0;
  for (guint o = 0; order == RAGGED_ORDER_BEST && o < RAGGED_ORDER_BEST; o++)
    {
      guint64 shard = plan_in (tensors, n, m, alignment, (RaggedOrder) o, NULL);

      if (shard >= least)
        continue;
      least = shard;
      best = (RaggedOrder) o;
    }
  return plan_in (tensors, n, m, alignment, best, starts);
}
