#include "model/step/document-sharding.h"

#include "model/step/documents.h"

#include <math.h>

static gboolean
is_mine (guint chunk, guint ranks, guint rank)
{
  return chunk == rank || chunk == 2 * ranks - 1 - rank;
}

static void
add_piece (GArray *pieces, gint64 document, gint64 from, gint64 to)
{
  const DocumentPiece piece = { document, from, to };

  if (from < to)
    g_array_append_val (pieces, piece);
}

/* The documents of SEQUENCE, of which FIRST are before it, cut where its chunks end. */
static void
cut_sequence (GArray *pieces, const GArray *sequence, guint first, guint ranks, guint rank)
{
  gint64 tokens = 0, width, begin = 0;

  for (guint i = 0; i < sequence->len; i++)
    tokens += g_array_index (sequence, gint64, i);
  width = tokens / (2 * (gint64) ranks);
  for (guint i = 0; i < sequence->len; i++)
    {
      const gint64 end = begin + g_array_index (sequence, gint64, i);

      for (gint64 chunk = begin / width; chunk * width < end; chunk++)
        if (is_mine ((guint) chunk, ranks, rank))
          add_piece (pieces, first + i, MAX (chunk * width, begin) - begin,
                     MIN ((chunk + 1) * width, end) - begin);
      begin = end;
    }
}

/* Each document of SEQUENCE cut; tokens that are left over go to chunks in turn. */
static void
cut_documents (GArray *pieces, const GArray *sequence, guint first, guint ranks, guint rank)
{
  const guint n = 2 * ranks;
  guint       due = 0;

  for (guint i = 0; i < sequence->len; i++)
    {
      const gint64 length = g_array_index (sequence, gint64, i);
      const guint  over = (guint) (length % n);
      gint64       from = 0;

      for (guint chunk = 0; chunk < n; chunk++)
        {
          const gint64 to = from + length / n + ((chunk + n - due) % n < over);

          if (is_mine (chunk, ranks, rank))
            add_piece (pieces, first + i, from, to);
          from = to;
        }
      due = (due + over) % n;
    }
}

static void
keep_whole (GArray *pieces, const GArray *sequence, guint first)
{
  for (guint i = 0; i < sequence->len; i++)
    add_piece (pieces, first + i, 0, g_array_index (sequence, gint64, i));
}

GArray *
document_sharding_pieces (const GPtrArray *sequences, DocumentSharding how, guint ranks, guint rank)
{
  GArray *pieces = g_array_new (FALSE, FALSE, sizeof (DocumentPiece));
  guint   first = 0;

  for (guint s = 0; s < sequences->len; s++)
    {
      const GArray *sequence = g_ptr_array_index (sequences, s);

      if (ranks == 1)
        keep_whole (pieces, sequence, first);
      else if (how == SHARDING_PER_DOCUMENT)
        cut_documents (pieces, sequence, first, ranks, rank);
      else
        cut_sequence (pieces, sequence, first, ranks, rank);
      first += sequence->len;
    }
  return pieces;
}

/* What the blocks of the fullest rank compute. */
static double
fullest (const GPtrArray *sequences, DocumentSharding how, guint ranks)
{
  double most = 0;

  for (guint rank = 0; rank < ranks; rank++)
    {
      g_autoptr (GArray) pieces = document_sharding_pieces (sequences, how, ranks, rank);
      double             sum = 0;

      for (guint i = 0; i < pieces->len; i++)
        sum += document_piece_computed (&g_array_index (pieces, DocumentPiece, i), G_MAXDOUBLE);
      most = fmax (most, sum);
    }
  return most;
}

DocumentSharding
document_sharding_choose (const GPtrArray *sequences, guint ranks)
{
  return fullest (sequences, SHARDING_PER_DOCUMENT, ranks)
                 < fullest (sequences, SHARDING_PER_SEQUENCE, ranks)
             ? SHARDING_PER_DOCUMENT
             : SHARDING_PER_SEQUENCE;
}

double
document_piece_pairs (const DocumentPiece *self, double window)
{
  return documents_prefix_pairs ((double) self->to, window)
         - documents_prefix_pairs ((double) self->from, window);
}

double
document_piece_computed (const DocumentPiece *self, double window)
{
  const double block = DOCUMENT_BLOCK;
  double       blocks = 0;

  for (gint64 from = self->from; from < self->to; from += DOCUMENT_BLOCK)
    {
      const double to = (double) MIN (from + DOCUMENT_BLOCK, self->to);
      const double seen = fmax ((double) from - window, 0);

      blocks += ceil (to / block) - floor (seen / block);
    }
  return blocks * block * block;
}
