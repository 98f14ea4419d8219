/* Sequences of which each has as many ranks as it needs, as rows of ranks. */
#include "model/step/hybrid-partition.h"
#include "model/step/sequence-lengths-private.h"

/* What sequence_lengths_hybrid asks for. */
typedef struct
{
  const SequenceLengths *dealt;
  gint64                 tokens_per_rank, unit;
} Hybrid;

/* A sequence of a set. */
typedef struct
{
  gint64 length;
  guint  ranks;
} Shared;

/* By tokens of a rank, most first; a total order. */
static gint
compare_shared (gconstpointer a, gconstpointer b)
{
  const Shared *x = a, *y = b;
  const gint64  one = x->length / x->ranks, other = y->length / y->ranks;

  if (one != other)
    return one < other ? 1 : -1;
  return (x->ranks < y->ranks) - (x->ranks > y->ranks);
}

static gint
larger_first (gconstpointer a, gconstpointer b)
{
  const HybridSet *x = a, *y = b;

  if (x->ranks != y->ranks)
    return x->ranks < y->ranks ? 1 : -1;
  return (x->first > y->first) - (x->first < y->first);
}

/* Every length that is dealt, in the order of the table. */
static GArray *
all_lengths (const SequenceLengths *dealt)
{
  GArray *lengths = g_array_new (FALSE, FALSE, sizeof (gint64));

  for (guint i = 0; i < dealt->n_ranks * dealt->width; i++)
    {
      const GArray *batch = sequence_lengths_batch (dealt, dealt->table[i]);

      g_array_append_vals (lengths, batch->data, batch->len);
    }
  return lengths;
}

/* The batch SHARED of SELF, of which ALL are sorted and different. */
static guint32
shared_batch (const GArray *all, Shared shared)
{
  guint at = 0;

  if (!g_array_binary_search ((GArray *) all, &shared, compare_shared, &at))
    g_assert_not_reached ();
  return at;
}

/* SET's sequence I of LENGTHS, padded. */
static Shared
shared_of (const Hybrid *self, const GArray *lengths, const HybridSet *set, guint i)
{
  const gint64 length = g_array_index (lengths, gint64, g_array_index (set->sequences, guint, i));
  const gint64 unit = set->ranks > 1 ? self->unit * set->ranks : 1;

  return (Shared){ (length + unit - 1) / unit * unit, set->ranks };
}

/* All different sequences of PARTITION. */
static GArray *
different_sequences (const Hybrid *self, const GArray *lengths, const HybridPartition *partition)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (Shared));
  GArray            *different = g_array_new (FALSE, FALSE, sizeof (Shared));

  for (guint g = 0; g < partition->groups->len; g++)
    {
      const GArray *sets = g_ptr_array_index (partition->groups, g);

      for (guint s = 0; s < sets->len; s++)
        for (guint i = 0; i < g_array_index (sets, HybridSet, s).sequences->len; i++)
          {
            Shared one = shared_of (self, lengths, &g_array_index (sets, HybridSet, s), i);

            g_array_append_val (all, one);
          }
    }
  g_array_sort (all, compare_shared);
  for (guint i = 0; i < all->len; i++)
    if (i == 0
        || compare_shared (&g_array_index (all, Shared, i - 1), &g_array_index (all, Shared, i))
               != 0)
      g_array_append_val (different, g_array_index (all, Shared, i));
  return different;
}

/* Gives the ranks of GROUP its sequences, LAST: no barrier follows. */
static void
deal_sets (SequenceLengths *self, const Hybrid *hybrid, const GArray *lengths, GArray *sets,
           const GArray *different, gboolean last)
{
  guint first = 0;

  g_array_sort (sets, larger_first);
  for (guint s = 0; s < sets->len; s++)
    {
      const HybridSet *set = &g_array_index (sets, HybridSet, s);

      for (guint rank = first; rank < first + set->ranks; rank++)
        {
          const gsize row = (gsize) rank * self->width;

          for (guint i = 0; i < set->sequences->len; i++)
            self->table[row + self->counts[rank]++] =
                shared_batch (different, shared_of (hybrid, lengths, set, i));
          self->barriers[row + self->counts[rank] - 1] = !last;
        }
      first += set->ranks;
    }
}

/* ---- what is read elsewhere ------------------------------------------------------------------ */

/* The rank that reads each of DEALT's sequences, in the order of all_lengths. */
static GArray *
all_readers (const SequenceLengths *dealt, guint *most)
{
  GArray *readers = g_array_new (FALSE, FALSE, sizeof (guint));

  *most = 0;
  for (guint rank = 0; rank < dealt->n_ranks; rank++)
    {
      const guint before = readers->len;

      for (guint micro = 0; micro < dealt->width; micro++)
        {
          const guint at = sequence_lengths_at (dealt, rank, micro);

          for (guint i = 0; i < sequence_lengths_batch (dealt, at)->len; i++)
            g_array_append_val (readers, rank);
        }
      *most = MAX (*most, readers->len - before);
    }
  return readers;
}

/*
 * Every rank of a set gets its sequences whole, from the one that reads them: SENT and GOT are
 * tokens of each rank.
 */
static void
count_moved (const Hybrid *hybrid, const GArray *lengths, const GArray *readers, const GArray *sets,
             guint64 *sent, guint64 *got)
{
  guint first = 0;

  for (guint s = 0; s < sets->len; s++)
    {
      const HybridSet *set = &g_array_index (sets, HybridSet, s);

      for (guint i = 0; i < set->sequences->len; i++)
        {
          const guint reader =
              g_array_index (readers, guint, g_array_index (set->sequences, guint, i));
          const guint64 length = (guint64) shared_of (hybrid, lengths, set, i).length;

          for (guint rank = first; rank < first + set->ranks; rank++)
            if (rank != reader)
              {
                sent[reader] += length;
                got[rank] += length;
              }
        }
      first += set->ranks;
    }
}

/* PARTITION's sets lie as they were dealt. */
static void
take_moved (SequenceLengths *self, const Hybrid *hybrid, const GArray *lengths,
            const HybridPartition *partition)
{
  g_autoptr (GArray)  readers = all_readers (hybrid->dealt, &self->read);
  g_autofree guint64 *sent = g_new0 (guint64, self->n_ranks);
  g_autofree guint64 *got = g_new0 (guint64, self->n_ranks);

  for (guint g = 0; g < partition->groups->len; g++)
    count_moved (hybrid, lengths, readers, g_ptr_array_index (partition->groups, g), sent, got);
  for (guint rank = 0; rank < self->n_ranks; rank++)
    self->moved = MAX (self->moved, MAX (sent[rank], got[rank]));
}

/* Micro-batches of the rank that has most, at most: sets may change their ranks. */
static guint
widest_row (const HybridPartition *partition)
{
  guint width = 0;

  for (guint g = 0; g < partition->groups->len; g++)
    {
      const GArray *sets = g_ptr_array_index (partition->groups, g);
      guint         most = 0;

      for (guint s = 0; s < sets->len; s++)
        most = MAX (most, g_array_index (sets, HybridSet, s).sequences->len);
      width += most;
    }
  return width;
}

static gpointer
make_hybrid (gconstpointer user, G_GNUC_UNUSED DiagList *diags)
{
  const Hybrid            *wanted = user;
  SequenceLengths         *self = g_new0 (SequenceLengths, 1);
  g_autoptr (GArray)       lengths = all_lengths (wanted->dealt);
  const guint              n = wanted->dealt->n_ranks;
  g_auto (HybridPartition) partition = hybrid_partition_of (
      (const gint64 *) lengths->data, lengths->len, n, wanted->tokens_per_rank);
  g_autoptr (GArray) different = different_sequences (wanted, lengths, &partition);

  self->n_ranks = n;
  self->width = widest_row (&partition);
  self->batches = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  self->ranks = g_new (guint, different->len);
  for (guint i = 0; i < different->len; i++)
    {
      const Shared *one = &g_array_index (different, Shared, i);
      GArray       *batch = g_array_new (FALSE, FALSE, sizeof (gint64));

      g_array_append_val (batch, one->length);
      g_ptr_array_add (self->batches, batch);
      self->ranks[i] = one->ranks;
    }
  self->table = g_new0 (guint32, (gsize) n * self->width);
  self->counts = g_new0 (guint32, n);
  self->barriers = g_new0 (guint8, (gsize) n * self->width);
  for (guint g = 0; g < partition.groups->len; g++)
    deal_sets (self, wanted, lengths, g_ptr_array_index (partition.groups, g), different,
               g + 1 == partition.groups->len);
  take_moved (self, wanted, lengths, &partition);
  return self;
}

const SequenceLengths *
sequence_lengths_hybrid (InputFiles *files, const SequenceLengths *dealt, gint64 tokens_per_rank,
                         gint64 unit, DiagList *diags)
{
  const Hybrid     wanted = { dealt, tokens_per_rank, unit };
  g_autofree char *key =
      g_strdup_printf ("hybrid of %p, %" G_GINT64_FORMAT " tokens a rank, of %" G_GINT64_FORMAT,
                       (gpointer) dealt, tokens_per_rank, unit);

  return input_files_get (files, key, make_hybrid, &wanted, (GDestroyNotify) sequence_lengths_free,
                          diags);
}
