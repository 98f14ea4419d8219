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
  guint32   *table, *counts;
  guint8    *barriers;
};
