#include "model/step/zeppelin-partition.h"

#include <math.h>

typedef struct
{
  const gint64  *lengths;
  guint          n_ranks, per_node;
  double         capacity;
  double        *tokens, *work; /* [rank] */
  ZeppelinPlace *places;
} Zeppelin;

static gint
longer_first (gconstpointer a, gconstpointer b, gpointer user)
{
  const gint64 *lengths = user;
  const guint   x = *(const guint *) a, y = *(const guint *) b;

  if (lengths[x] != lengths[y])
    return lengths[x] < lengths[y] ? 1 : -1;
  return (x > y) - (x < y);
}

/* SEQUENCE lies on RANKS ranks from FIRST on. */
static void
put (Zeppelin *self, guint sequence, guint first, guint ranks)
{
  const double length = (double) self->lengths[sequence];

  self->places[sequence] = (ZeppelinPlace){ first, ranks };
  for (guint r = first; r < first + ranks; r++)
    {
      self->tokens[r] += length / ranks;
      self->work[r] += length * length / ranks;
    }
}

/* The least power of two of parts of SIZE that hold LENGTH, at most MOST. */
static guint
parts_of (double length, double size, guint most)
{
  guint n = 1;

  while (n < most && n * size < length)
    n *= 2;
  return n;
}

static double
sum_of (const double *values, guint first, guint n)
{
  double sum = 0;

  for (guint i = first; i < first + n; i++)
    sum += values[i];
  return sum;
}

/* ---- over nodes ------------------------------------------------------------------------------ */

/* The first rank of the block of N nodes that has the fewest tokens; the first of several. */
static guint
least_nodes (const double *tokens, guint n_ranks, guint per_node, guint n)
{
  guint best = 0;

  for (guint first = 0; first < n_ranks; first += n * per_node)
    if (sum_of (tokens, first, n * per_node) < sum_of (tokens, best, n * per_node))
      best = first;
  return best;
}

/* Those that no node holds get their place, the others their node: its first rank, in NODES. */
static void
deal_nodes (Zeppelin *self, const guint *order, guint n, guint *nodes)
{
  const double       node = self->per_node * self->capacity;
  const guint        n_nodes = self->n_ranks / self->per_node;
  g_autofree double *planned = g_new0 (double, self->n_ranks);

  for (guint i = 0; i < n; i++)
    {
      const double length = (double) self->lengths[order[i]];
      const guint  parts = parts_of (length, node, n_nodes);
      const guint  first = least_nodes (planned, self->n_ranks, self->per_node, parts);

      for (guint r = first; r < first + parts * self->per_node; r++)
        planned[r] += length / (parts * self->per_node);
      nodes[order[i]] = first;
      if (parts > 1)
        put (self, order[i], first, parts * self->per_node);
    }
}

/* ---- inside a node --------------------------------------------------------------------------- */

static gboolean
has_room (const Zeppelin *self, guint first, guint ranks, double part)
{
  for (guint r = first; r < first + ranks; r++)
    if (self->tokens[r] + part > self->capacity)
      return FALSE;
  return TRUE;
}

/* Of the blocks of RANKS on the node at NODE that have room the one of least work; FALSE: none. */
static gboolean
find_block (const Zeppelin *self, guint node, guint ranks, double length, guint *best)
{
  gboolean found = FALSE;

  for (guint first = node; first < node + self->per_node; first += ranks)
    if (has_room (self, first, ranks, length / ranks)
        && (!found || sum_of (self->work, first, ranks) < sum_of (self->work, *best, ranks)))
      {
        *best = first;
        found = TRUE;
      }
  return found;
}

static void
place_inside (Zeppelin *self, guint sequence, guint node)
{
  const double length = (double) self->lengths[sequence];
  guint        ranks = parts_of (length, self->capacity, self->per_node), first = node;

  while (ranks < self->per_node && !find_block (self, node, ranks, length, &first))
    ranks *= 2;
  put (self, sequence, ranks < self->per_node ? first : node, ranks);
}

ZeppelinPlace *
zeppelin_partition_of (const gint64 *lengths, guint n, guint n_ranks, guint per_node,
                       gint64 capacity)
{
  Zeppelin          self = { .lengths = lengths,
                             .n_ranks = n_ranks,
                             .per_node = per_node,
                             .capacity = (double) capacity,
                             .tokens = g_new0 (double, n_ranks),
                             .work = g_new0 (double, n_ranks),
                             .places = g_new0 (ZeppelinPlace, n) };
  g_autofree guint *order = g_new (guint, n), *nodes = g_new (guint, n);

  for (guint i = 0; i < n; i++)
    order[i] = i;
  g_qsort_with_data (order, (gint) n, sizeof *order, longer_first, (gpointer) lengths);
  deal_nodes (&self, order, n, nodes);
  for (guint i = 0; i < n; i++)
    if (self.places[order[i]].ranks == 0)
      place_inside (&self, order[i], nodes[order[i]]);
  g_free (self.tokens);
  g_free (self.work);
  return self.places;
}

double
zeppelin_remapped (const double *tokens, guint n_ranks)
{
  const double mean = sum_of (tokens, 0, n_ranks) / n_ranks;
  double       most = 0;

  for (guint r = 0; r < n_ranks; r++)
    most = fmax (most, fabs (tokens[r] - mean));
  return most;
}
