/* Documents that are packed into sequences, as rows of context ranks. */
#include "model/step/sequence-lengths-private.h"
#include "model/step/training.h"

#include <string.h>

#include "base/intern.h"

/* A micro-batch of a data rank. */
typedef struct
{
  GPtrArray *sequences; /* GArray of gint64 each, documents in order */
  gint64     tokens;
  guint      rank, micro;
} Cell;

static void
clear_cell (gpointer data)
{
  g_ptr_array_unref (((Cell *) data)->sequences);
}

static gint
more_tokens_first (gconstpointer a, gconstpointer b)
{
  const Cell *x = a, *y = b;

  if (x->tokens != y->tokens)
    return x->tokens < y->tokens ? 1 : -1;
  if (x->rank != y->rank)
    return x->rank < y->rank ? -1 : 1;
  return (x->micro > y->micro) - (x->micro < y->micro);
}

/* A document more where tokens of SEQUENCE are no multiple of UNIT, or none. */
static void
pad_sequence (GArray *sequence, gint64 unit)
{
  const gint64 tokens = sequence_lengths_tokens (sequence);
  const gint64 wanted = MAX ((tokens + unit - 1) / unit, 1) * unit - tokens;

  if (wanted > 0)
    g_array_append_val (sequence, wanted);
}

/* The step's sequences as micro-batches: the i-th is rank i modulo N_RANKS's. */
static GArray *
deal_cells (const PackedLengths *self, GPtrArray *sequences)
{
  GArray     *cells = g_array_new (FALSE, FALSE, sizeof (Cell));
  const guint per_micro = sequences->len / (self->n_ranks * self->n_micros);

  g_array_set_clear_func (cells, clear_cell);
  for (guint i = 0; i < self->n_ranks * self->n_micros; i++)
    {
      const Cell cell = { g_ptr_array_new (), 0, i % self->n_ranks, i / self->n_ranks };

      g_array_append_val (cells, cell);
    }
  for (guint i = 0; i < sequences->len; i++)
    {
      const guint rank = i % self->n_ranks, micro = i / self->n_ranks / per_micro;
      Cell       *cell = &g_array_index (cells, Cell, micro * self->n_ranks + rank);
      GArray     *sequence = g_ptr_array_index (sequences, i);

      pad_sequence (sequence, self->unit);
      g_ptr_array_add (cell->sequences, sequence);
      cell->tokens += sequence_lengths_tokens (sequence);
    }
  g_array_sort (cells, more_tokens_first);
  return cells;
}

/* Every document of CELL, the longest first. */
static GArray *
batch_of_cell (const Cell *cell)
{
  GArray *batch = g_array_new (FALSE, FALSE, sizeof (gint64));

  for (guint s = 0; s < cell->sequences->len; s++)
    {
      const GArray *sequence = g_ptr_array_index (cell->sequences, s);

      g_array_append_vals (batch, sequence->data, sequence->len);
    }
  g_array_sort (batch, document_packing_longer_first);
  return batch;
}

/* What RANK attends to of CELL; NULL: an equal share of sequences that are one document each. */
static GArray *
pieces_of_rank (const Cell *cell, DocumentSharding how, guint ranks, guint rank)
{
  gboolean whole = TRUE;

  for (guint s = 0; s < cell->sequences->len; s++)
    whole = whole && ((const GArray *) g_ptr_array_index (cell->sequences, s))->len == 1;
  return whole ? NULL : document_sharding_pieces (cell->sequences, how, ranks, rank);
}

static gboolean
arrays_equal (const GArray *one, const GArray *other, gsize size)
{
  if (one == NULL || other == NULL)
    return one == other;
  return one->len == other->len && memcmp (one->data, other->data, one->len * size) == 0;
}

/* The batch of SELF with these documents and PIECES (taken, may be NULL), or a new one. */
static guint32
batch_with (SequenceLengths *self, GArray *batch, GArray *pieces)
{
  for (guint b = 0; b < self->batches->len; b++)
    if (arrays_equal (g_ptr_array_index (self->batches, b), batch, sizeof (gint64))
        && arrays_equal (g_ptr_array_index (self->pieces, b), pieces, sizeof (DocumentPiece)))
      {
        g_clear_pointer (&pieces, g_array_unref);
        return b;
      }
  g_ptr_array_add (self->batches, g_array_ref (batch));
  g_ptr_array_add (self->pieces, pieces);
  return self->batches->len - 1;
}

static void
free_pieces (gpointer pieces)
{
  if (pieces != NULL)
    g_array_unref (pieces);
}

static SequenceLengths *
divide_cells (const PackedLengths *wanted, const GArray *cells)
{
  SequenceLengths *self = g_new0 (SequenceLengths, 1);

  self->n_ranks = wanted->n_ranks * wanted->cp;
  self->width = wanted->n_micros;
  self->batches = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  self->pieces = g_ptr_array_new_with_free_func (free_pieces);
  self->table = g_new0 (guint32, (gsize) self->n_ranks * self->width);
  for (guint i = 0; i < cells->len; i++)
    {
      const Cell            *cell = &g_array_index (cells, Cell, i);
      g_autoptr (GArray)     batch = batch_of_cell (cell);
      const DocumentSharding how = wanted->sharding == SHARDING_ADAPTIVE
                                       ? document_sharding_choose (cell->sequences, wanted->cp)
                                       : wanted->sharding;

      for (guint c = 0; c < wanted->cp; c++)
        self->table[(gsize) (cell->rank * wanted->cp + c) * self->width + cell->micro] =
            batch_with (self, batch, pieces_of_rank (cell, how, wanted->cp, c));
    }
  self->ranks = g_new (guint, self->batches->len);
  for (guint b = 0; b < self->batches->len; b++)
    self->ranks[b] = wanted->cp;
  return self;
}

/* ---- documents ------------------------------------------------------------------------------- */

static guint
most_steps (const PackedLengths *self)
{
  return CLAMP (PACKED_SEQUENCES / self->packing.sequences, 1, PACKED_STEPS);
}

/* As many as fill all steps are drawn. */
static GArray *
draw_documents (const PackedLengths *self)
{
  const double wanted =
      (double) most_steps (self) * (double) self->packing.sequences * (double) self->packing.window;

  for (guint64 n = 1024;; n *= 2)
    {
      GArray *documents = length_distribution_draw (self->drawn, n, 1, self->packing.window);

      if ((double) sequence_lengths_tokens (documents) >= wanted)
        return documents;
      g_array_unref (documents);
    }
}

/* Steps that DOCUMENTS fill, as far as they are looked at. */
static guint
whole_steps (const PackedLengths *self, const GArray *documents)
{
  const gint64 step = (gint64) self->packing.sequences * self->packing.window;

  return (guint) MIN (sequence_lengths_tokens (documents) / step, most_steps (self));
}

static gboolean
check_documents (const PackedLengths *self, const GArray *documents, DiagList *diags)
{
  const SourceMark mark = { .file = intern_text (self->file) }; /* outlives it */
  const gint64     step = (gint64) self->packing.sequences * self->packing.window;
  const gint64     tokens = sequence_lengths_tokens (documents);

  if (tokens >= step)
    return TRUE;
  diag_error (diags, &mark, "give more documents, or fewer micro-batches",
              "documents of %" G_GINT64_FORMAT " tokens, but %u sequences of %" G_GINT64_FORMAT
              " are %" G_GINT64_FORMAT,
              tokens, self->packing.sequences, self->packing.window, step);
  return FALSE;
}

/* What sequence_lengths_packed asks for. */
typedef struct
{
  InputFiles          *files;
  const PackedLengths *lengths;
} Wanted;

static gpointer
make_packed (gconstpointer user, DiagList *diags)
{
  const PackedLengths  *wanted = ((const Wanted *) user)->lengths;
  g_autoptr (GArray)    drawn = wanted->drawn != NULL ? draw_documents (wanted) : NULL;
  g_autoptr (GArray)    cells = NULL;
  const GArray         *documents = drawn;
  g_autoptr (GPtrArray) sequences = NULL;
  const gint64         *lengths;
  guint                 step;

  if (documents == NULL)
    documents = sequence_lengths_documents (((const Wanted *) user)->files, wanted->file,
                                            wanted->packing.window, diags);
  if (documents == NULL || !check_documents (wanted, documents, diags))
    return NULL;
  lengths = (const gint64 *) documents->data;
  step = whole_steps (wanted, documents) - 1;
  sequences = wanted->balanced
                  ? document_packing_balanced (&wanted->packing, lengths, documents->len, step)
                  : document_packing_fixed (&wanted->packing, lengths, documents->len, step);
  cells = deal_cells (wanted, sequences);
  return divide_cells (wanted, cells);
}

const SequenceLengths *
sequence_lengths_packed (InputFiles *files, const PackedLengths *wanted, DiagList *diags)
{
  const Wanted           asked = { files, wanted };
  const DocumentPacking *packing = &wanted->packing;
  g_autofree char       *source =
      wanted->drawn == NULL
                ? g_strdup (wanted->file)
                : g_strdup_printf ("%d %.17g %.17g %u", (int) wanted->drawn->distribution,
                                   wanted->drawn->median, wanted->drawn->tail, wanted->drawn->seed);
  g_autofree char *key = g_strdup_printf (
      "packed %u x %u x %u, %d %d, of %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT
      " x %u, %u queues, %" G_GINT64_FORMAT ", %.17g %.17g: %s",
      wanted->n_ranks, wanted->n_micros, wanted->cp, wanted->balanced, (int) wanted->sharding,
      wanted->unit, packing->window, packing->sequences, packing->queues, packing->most,
      packing->work.attention, packing->work.linear, source);

  return input_files_get (files, key, make_packed, &asked, (GDestroyNotify) sequence_lengths_free,
                          diags);
}
