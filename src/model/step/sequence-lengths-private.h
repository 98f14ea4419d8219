/* What sequence-lengths.c reads and sequence-lengths-hybrid.c divides. */
#pragma once

#include "model/step/sequence-lengths.h"

struct _SequenceLengths
{
  guint      n_ranks, width;
  GPtrArray *batches;  /* GArray of gint64 */
  guint     *ranks;    /* [batch]; NULL: 1 */
  GPtrArray *parts;    /* [batch]: GArray of AttentionPart; NULL: none */
  double    *remapped; /* [batch], with those */
  GPtrArray *pieces;   /* [batch]: GArray of DocumentPiece, or NULL; NULL: none */
  guint32   *table, *counts;
  guint8    *barriers;
  guint      read;  /* LengthsTable */
  guint64    moved; /* likewise */
};

/*
 * Lengths of the documents in FILE, gint64 in its order, each up to LONGEST; NULL after
 * diagnostics. Owned by FILES.
 */
const GArray *sequence_lengths_documents (InputFiles *files, const char *file, gint64 longest,
                                          DiagList *diags);
