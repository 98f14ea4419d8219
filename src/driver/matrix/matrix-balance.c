#include "driver/matrix/matrix-balance.h"

/* A binary heap of ranks, the one with the least load on top. */
typedef struct
{
  const double *loads, *before;
  guint        *ranks;
  guint         n;
} Heap;

static gboolean
is_less (const Heap *self, guint a, guint b)
{
  if (self->loads[a] != self->loads[b])
    return self->loads[a] < self->loads[b];
  return self->before[a] != self->before[b] ? self->before[a] < self->before[b] : a < b;
}

/* What stands AT has more than it had. */
static void
sink (Heap *self, guint at)
{
  for (guint child = 2 * at + 1; child < self->n; at = child, child = 2 * at + 1)
    {
      guint rank = self->ranks[at];

      if (child + 1 < self->n && is_less (self, self->ranks[child + 1], self->ranks[child]))
        child++;
      if (!is_less (self, self->ranks[child], rank))
        return;
      self->ranks[at] = self->ranks[child];
      self->ranks[child] = rank;
    }
}

typedef struct
{
  guint  kind;
  double cost;
} Kind;

static int
by_cost (gconstpointer a, gconstpointer b)
{
  const Kind *one = a, *other = b;

  if (one->cost != other->cost)
    return one->cost > other->cost ? -1 : 1;
  return one->kind < other->kind ? -1 : 1;
}

static void
give (MatrixBalance *self, guint rank, const Kind *kind, guint64 count)
{
  self->counts[(gsize) rank * self->n_kinds + kind->kind] += (guint) count;
  self->loads[rank] += (double) count * kind->cost;
}

/*
 * COUNT matrices of KIND. Where loads differ by no more than one of them costs, each rank gets one
 * before any gets a second one.
 */
static void
give_all (MatrixBalance *self, Heap *heap, const Kind *kind, guint64 count)
{
  double least = G_MAXDOUBLE, most = 0;

  for (guint r = 0; r < heap->n; r++)
    {
      least = MIN (least, self->loads[r]);
      most = MAX (most, self->loads[r]);
    }
  if (most - least <= kind->cost)
    for (guint r = 0; r < heap->n && count >= heap->n; r++)
      give (self, r, kind, count / heap->n);
  if (most - least <= kind->cost && count >= heap->n)
    count %= heap->n;
  for (; count > 0; count--)
    {
      give (self, heap->ranks[0], kind, 1);
      sink (heap, 0);
    }
}

MatrixBalance *
matrix_balance_new (const guint64 *counts, const double *costs, guint n_kinds, guint n_ranks,
                    const double *start, double *before)
{
  MatrixBalance     *self = g_new0 (MatrixBalance, 1);
  g_autofree guint  *ranks = g_new0 (guint, n_ranks);
  g_autoptr (GArray) kinds = g_array_sized_new (FALSE, FALSE, sizeof (Kind), n_kinds);
  Heap               heap;

  /* Those that cost most come first. */
  for (guint k = 0; k < n_kinds; k++)
    {
      Kind kind = { k, costs[k] };

      g_array_append_val (kinds, kind);
    }
  g_array_sort (kinds, by_cost);
  self->n_kinds = n_kinds;
  self->counts = g_new0 (guint, (gsize) n_ranks * n_kinds);
  self->loads =
      start != NULL ? g_memdup2 (start, n_ranks * sizeof *start) : g_new0 (double, n_ranks);
  heap = (Heap){ self->loads, before, ranks, n_ranks };
  for (guint r = 0; r < n_ranks; r++)
    ranks[r] = r;
  for (guint r = n_ranks / 2; r > 0; r--)
    sink (&heap, r - 1);
  for (guint i = 0; i < kinds->len; i++)
    {
      const Kind *kind = &g_array_index (kinds, Kind, i);

      give_all (self, &heap, kind, counts[kind->kind]);
    }
  for (guint r = 0; r < n_ranks; r++)
    before[r] += self->loads[r];
  return self;
}

void
matrix_balance_free (MatrixBalance *self)
{
  if (self == NULL)
    return;
  g_free (self->counts);
  g_free (self->loads);
  g_free (self);
}
