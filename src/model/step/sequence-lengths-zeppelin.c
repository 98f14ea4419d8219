/* Sequences of which each context rank attends to some, as rows of ranks. */
#include "model/step/sequence-lengths-private.h"
#include "model/step/training.h"
#include "model/step/zeppelin-partition.h"

#include <math.h>

/* What sequence_lengths_zeppelin asks for. */
typedef struct
{
  const SequenceLengths *dealt;
  guint                  cp, per_node;
  gint64                 tokens_per_rank;
} Wanted;

static AttentionPart *
part_of (GArray *parts, guint ranks)
{
  AttentionPart fresh = { .ranks = ranks };
  guint         i = 0;

  while (i < parts->len && g_array_index (parts, AttentionPart, i).ranks > ranks)
    i++;
  if (i == parts->len || g_array_index (parts, AttentionPart, i).ranks != ranks)
    g_array_insert_val (parts, i, fresh);
  return &g_array_index (parts, AttentionPart, i);
}

/*
 * What RANK attends to of BATCH, whose sequences lie at PLACES; a token of padding where that is
 * nothing, as kernels take no empty batch.
 */
static GArray *
parts_of_rank (const GArray *batch, const ZeppelinPlace *places, guint rank)
{
  GArray *parts = g_array_new (FALSE, TRUE, sizeof (AttentionPart));

  for (guint i = 0; i < batch->len; i++)
    if (rank >= places[i].first && rank < places[i].first + places[i].ranks)
      {
        AttentionPart *part = part_of (parts, places[i].ranks);
        const double   length = (double) g_array_index (batch, gint64, i);

        part->tokens += length;
        part->squares += length * length;
      }
  if (parts->len == 0)
    *part_of (parts, 1) = (AttentionPart){ .ranks = 1, .tokens = 1, .squares = 1 };
  return parts;
}

static double
tokens_of (const GArray *parts)
{
  double sum = 0;

  for (guint i = 0; i < parts->len; i++)
    sum += g_array_index (parts, AttentionPart, i).tokens
           / g_array_index (parts, AttentionPart, i).ranks;
  return sum;
}

static gboolean
parts_equal (const GArray *one, const GArray *other)
{
  if (one->len != other->len)
    return FALSE;
  for (guint i = 0; i < one->len; i++)
    {
      const AttentionPart *x = &g_array_index (one, AttentionPart, i);
      const AttentionPart *y = &g_array_index (other, AttentionPart, i);

      if (x->ranks != y->ranks || x->tokens != y->tokens || x->squares != y->squares)
        return FALSE;
    }
  return TRUE;
}

/* The batch of SELF, from FIRST on, that has PARTS (taken) of these sequences, or a new one. */
static guint32
batch_with (SequenceLengths *self, GArray *remapped, guint first, GArray *batch, GArray *parts,
            double moved)
{
  for (guint b = first; b < self->parts->len; b++)
    if (parts_equal (g_ptr_array_index (self->parts, b), parts))
      {
        g_array_unref (parts);
        return b;
      }
  g_ptr_array_add (self->parts, parts);
  g_ptr_array_add (self->batches, g_array_ref (batch));
  g_array_append_val (remapped, moved);
  return self->parts->len - 1;
}

/* One micro-batch, BATCH, of the context ranks whose first row is FIRST. */
static void
divide_batch (SequenceLengths *self, const Wanted *wanted, GArray *remapped, GArray *batch,
              guint first, guint micro)
{
  const double mean = (double) sequence_lengths_tokens (batch) / wanted->cp;
  const gint64 capacity =
      wanted->tokens_per_rank > 0 ? wanted->tokens_per_rank : (gint64) ceil (mean);
  g_autofree ZeppelinPlace *places = zeppelin_partition_of (
      (const gint64 *) batch->data, batch->len, wanted->cp, wanted->per_node, capacity);
  g_autofree double *tokens = g_new (double, wanted->cp);
  GArray           **parts = g_new (GArray *, wanted->cp);
  const guint        known = self->parts->len;
  double             moved;

  for (guint c = 0; c < wanted->cp; c++)
    {
      parts[c] = parts_of_rank (batch, places, c);
      tokens[c] = tokens_of (parts[c]);
    }
  moved = zeppelin_remapped (tokens, wanted->cp);
  for (guint c = 0; c < wanted->cp; c++)
    self->table[(gsize) (first + c) * self->width + micro] =
        batch_with (self, remapped, known, batch, parts[c], moved);
  g_free (parts);
}

static gpointer
make_zeppelin (gconstpointer user, G_GNUC_UNUSED DiagList *diags)
{
  const Wanted          *wanted = user;
  const SequenceLengths *dealt = wanted->dealt;
  SequenceLengths       *self = g_new0 (SequenceLengths, 1);
  GArray                *remapped = g_array_new (FALSE, FALSE, sizeof (double));

  self->n_ranks = dealt->n_ranks * wanted->cp;
  self->width = dealt->width;
  self->batches = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  self->parts = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  self->table = g_new0 (guint32, (gsize) self->n_ranks * self->width);
  /* the one of most tokens comes first */
  for (guint batch = 0; batch < dealt->batches->len; batch++)
    for (guint i = 0; i < dealt->n_ranks * dealt->width; i++)
      if (dealt->table[i] == batch)
        divide_batch (self, wanted, remapped, g_ptr_array_index (dealt->batches, batch),
                      i / dealt->width * wanted->cp, i % dealt->width);
  self->ranks = g_new (guint, self->batches->len);
  for (guint b = 0; b < self->batches->len; b++)
    self->ranks[b] = wanted->cp;
  self->remapped = (double *) (gpointer) g_array_free (remapped, FALSE);
  return self;
}

const SequenceLengths *
sequence_lengths_zeppelin (InputFiles *files, const SequenceLengths *dealt, guint cp,
                           guint per_node, gint64 tokens_per_rank, DiagList *diags)
{
  const Wanted     wanted = { dealt, cp, per_node, tokens_per_rank };
  g_autofree char *key =
      g_strdup_printf ("zeppelin of %p, %u ranks, %u a node, %" G_GINT64_FORMAT " tokens a rank",
                       (gpointer) dealt, cp, per_node, tokens_per_rank);

  return input_files_get (files, key, make_zeppelin, &wanted,
                          (GDestroyNotify) sequence_lengths_free, diags);
}
