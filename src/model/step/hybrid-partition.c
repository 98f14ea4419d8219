#include "model/step/hybrid-partition.h"

#define BUCKET_SLACK 1.1  /* a bucket may pass its share of the work by that */
#define BALANCED     0.05 /* ranks are balanced where they differ by no more of the fullest */

typedef struct
{
  HybridSet set;
  double    work; /* of each of its ranks */
} Loaded;

/* One group while it is made. */
typedef struct
{
  const gint64 *lengths;
  gint64        tokens_per_rank;
  guint         n_ranks, n_used; /* sets lie one behind the other from rank 0 on */
  GArray       *sets;            /* Loaded */
} Grouping;

guint
hybrid_partition_need (gint64 length, gint64 tokens_per_rank)
{
  guint need = 1;

  while ((gint64) need * tokens_per_rank < length)
    need *= 2;
  return need;
}

static guint
need_of (const Grouping *self, guint sequence)
{
  return hybrid_partition_need (self->lengths[sequence], self->tokens_per_rank);
}

static double
work_of (const Grouping *self, guint sequence)
{
  const double length = (double) self->lengths[sequence];

  return length * length / need_of (self, sequence);
}

static Loaded *
set_at (const Grouping *self, guint i)
{
  return &g_array_index (self->sets, Loaded, i);
}

/* ---- buckets --------------------------------------------------------------------------------- */

static guint
count_needs (const Grouping *self, const GArray *left)
{
  guint64 seen = 0;
  guint   n = 0;

  for (guint i = 0; i < left->len; i++)
    seen |= need_of (self, g_array_index (left, guint, i));
  for (; seen > 0; seen &= seen - 1)
    n++;
  return n;
}

/*
 * Where the buckets of LEFT end: as many of about equal work as there are different needs. The
 * number that are still to come is taken off twice for each that closes, as Megatron-LM does.
 */
static GArray *
bucket_ends (const Grouping *self, const GArray *left)
{
  GArray *ends = g_array_new (FALSE, FALSE, sizeof (guint));
  double  all = 0, work = 0;
  guint   n = count_needs (self, left), first = 0;
  gint    to_come = (gint) n;

  for (guint i = 0; i < left->len; i++)
    all += work_of (self, g_array_index (left, guint, i));
  for (guint i = 0; i < left->len; i++)
    {
      const double more = work_of (self, g_array_index (left, guint, i));

      if (i > first
          && (work + more > all / n * BUCKET_SLACK
              || (gint) (left->len - i) <= to_come - (gint) ends->len))
        {
          g_array_append_val (ends, i);
          first = i;
          work = 0;
          to_come--;
        }
      work += more;
    }
  g_array_append_val (ends, left->len);
  return ends;
}

/* ---- sets ------------------------------------------------------------------------------------ */

/* The least loaded set of exactly NEED ranks, or NULL. */
static Loaded *
find_set (const Grouping *self, guint need)
{
  Loaded *best = NULL;

  for (guint i = 0; i < self->sets->len; i++)
    {
      Loaded *one = set_at (self, i);

      if (one->set.ranks == need && (best == NULL || one->work < best->work))
        best = one;
    }
  return best;
}

/* FALSE where neither a set nor enough free ranks are there. Free ranks have no work: they win. */
static gboolean
place (Grouping *self, guint sequence)
{
  const guint need = need_of (self, sequence);
  Loaded     *set = find_set (self, need);

  if (self->n_ranks - self->n_used >= need)
    {
      Loaded fresh = { .set = { self->n_used, need, g_array_new (FALSE, FALSE, sizeof (guint)) } };

      g_array_append_val (self->sets, fresh);
      self->n_used += need;
      set = set_at (self, self->sets->len - 1);
    }
  if (set == NULL)
    return FALSE;
  g_array_append_val (set->set.sequences, sequence);
  set->work += work_of (self, sequence);
  return TRUE;
}

/* Least and most work of a rank, where set LESS has BY less. */
static void
work_range (const Grouping *self, const Loaded *less, double by, double *least, double *most)
{
  *least = self->n_used < self->n_ranks ? 0 : G_MAXDOUBLE;
  *most = 0;
  for (guint i = 0; i < self->sets->len; i++)
    {
      const Loaded *one = set_at (self, i);
      const double  work = one->work - (one == less ? by : 0);

      *least = MIN (*least, work);
      *most = MAX (*most, work);
    }
}

static gboolean
is_balanced (const Grouping *self)
{
  double least, most;

  work_range (self, NULL, 0, &least, &most);
  return most - least <= BALANCED * most;
}

/* The fullest set gives back its last sequence, at the end of LEFT, while that evens the ranks. */
static void
trim (Grouping *self, GArray *left)
{
  double least, most, less_least, less_most, work;
  guint  last;

  while (!is_balanced (self))
    {
      Loaded *fullest = NULL;

      work_range (self, NULL, 0, &least, &most);
      for (guint i = 0; i < self->sets->len && fullest == NULL; i++)
        fullest = set_at (self, i)->work == most ? set_at (self, i) : NULL;
      if (fullest == NULL || least == 0 || fullest->set.sequences->len <= 1)
        return;
      last = g_array_index (fullest->set.sequences, guint, fullest->set.sequences->len - 1);
      work = work_of (self, last);
      work_range (self, fullest, work, &less_least, &less_most);
      if (less_most - less_least >= most - least)
        return;
      g_array_set_size (fullest->set.sequences, fullest->set.sequences->len - 1);
      fullest->work -= work;
      g_array_append_val (left, last);
    }
}

/* The first of the smallest sets is doubled, those behind it move on, while ranks are idle. */
static void
fill (Grouping *self)
{
  while (self->n_used < self->n_ranks)
    {
      guint smallest = 0, more;

      for (guint i = 1; i < self->sets->len; i++)
        if (set_at (self, i)->set.ranks < set_at (self, smallest)->set.ranks)
          smallest = i;
      more = MIN (set_at (self, smallest)->set.ranks, self->n_ranks - self->n_used);
      set_at (self, smallest)->set.ranks += more;
      for (guint i = smallest + 1; i < self->sets->len; i++)
        set_at (self, i)->set.first += more;
      self->n_used += more;
    }
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The next group takes its sequences out of LEFT. */
static void
deal_group (Grouping *self, GArray *left)
{
  g_autoptr (GArray) ends = bucket_ends (self, left);
  g_autoptr (GArray) over = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autofree guint  *heads = g_new (guint, ends->len);
  const guint        first_need = need_of (self, g_array_index (left, guint, 0));
  gboolean           placed = TRUE, fell = FALSE, done = FALSE;

  for (guint b = 0; b < ends->len; b++)
    heads[b] = b == 0 ? 0 : g_array_index (ends, guint, b - 1);
  while (placed && !done)
    {
      gboolean more = FALSE;

      placed = FALSE;
      for (guint b = 0; b < ends->len && !placed; b++)
        if (heads[b] < g_array_index (ends, guint, b))
          {
            const guint sequence = g_array_index (left, guint, heads[b]);

            placed = place (self, sequence);
            heads[b] += placed;
            fell = fell || (placed && need_of (self, sequence) < first_need);
          }
      for (guint b = 0; b < ends->len; b++)
        more = more || heads[b] < g_array_index (ends, guint, b);
      done = !more || (fell && is_balanced (self));
    }
  for (guint b = 0; b < ends->len; b++)
    for (guint i = heads[b]; i < g_array_index (ends, guint, b); i++)
      g_array_append_val (over, g_array_index (left, guint, i));
  trim (self, over);
  fill (self);
  g_array_set_size (left, 0);
  g_array_append_vals (left, over->data, over->len);
}

static gint
longer_first (gconstpointer a, gconstpointer b, gpointer user)
{
  const gint64 *lengths = user;
  const guint   x = *(const guint *) a, y = *(const guint *) b;

  if (lengths[x] != lengths[y])
    return lengths[x] < lengths[y] ? 1 : -1;
  return (x > y) - (x < y);
}

static void
clear_set (gpointer data)
{
  g_array_unref (((HybridSet *) data)->sequences);
}

HybridPartition
hybrid_partition_of (const gint64 *lengths, guint n, guint n_ranks, gint64 tokens_per_rank)
{
  HybridPartition    self = { g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref) };
  g_autoptr (GArray) left = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < n; i++)
    g_array_append_val (left, i);
  g_array_sort_with_data (left, longer_first, (gpointer) lengths);
  while (left->len > 0)
    {
      Grouping grouping = { .lengths = lengths,
                            .tokens_per_rank = tokens_per_rank,
                            .n_ranks = n_ranks,
                            .sets = g_array_new (FALSE, FALSE, sizeof (Loaded)) };
      GArray  *sets = g_array_new (FALSE, FALSE, sizeof (HybridSet));

      deal_group (&grouping, left);
      g_array_set_clear_func (sets, clear_set);
      for (guint i = 0; i < grouping.sets->len; i++)
        g_array_append_val (sets, set_at (&grouping, i)->set);
      g_ptr_array_add (self.groups, sets);
      g_array_unref (grouping.sets);
    }
  return self;
}

void
hybrid_partition_clear (HybridPartition *self)
{
  g_clear_pointer (&self->groups, g_ptr_array_unref);
}
