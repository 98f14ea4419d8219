/* Attention of a context rank over documents that are packed (model/step/document-sharding.h). */
#include "model/layer/layer-parts-private.h"
#include "model/step/document-sharding.h"

/* Of all pieces of a rank; squares: of its queries of each document. */
typedef struct
{
  double queries, squares, pairs, computed;
} Attended;

static Attended
attended (const GArray *pieces, double window)
{
  Attended self = { 0 };
  double   of_document = 0;

  for (guint i = 0; i < pieces->len; i++)
    {
      const DocumentPiece *piece = &g_array_index (pieces, DocumentPiece, i);
      const double         queries = (double) (piece->to - piece->from);
      const gboolean       same = i > 0 && piece[-1].document == piece->document;

      self.squares += queries * (queries + (same ? 2 * of_document : 0));
      of_document = queries + (same ? of_document : 0);
      self.queries += queries;
      self.pairs += document_piece_pairs (piece, window);
      self.computed += document_piece_computed (piece, window);
    }
  return self;
}

/*
 * As many queries and pairs as the pieces have, in sequences of one length: the mean over queries
 * of those that the rank has of their document.
 */
void
layer_attend_pieces (const LayerBuilder *b, gboolean windowed, AttentionSpec *spec)
{
  const double   window = windowed ? (double) b->shape->sliding_window : G_MAXDOUBLE;
  const Attended all = attended (b->training->pieces, window);

  spec->seq_len = all.squares / all.queries;
  spec->sequences = all.queries / spec->seq_len;
  spec->pairs = all.pairs / spec->sequences;
  spec->packed = TRUE;
  spec->padded = all.computed / all.pairs;
}
