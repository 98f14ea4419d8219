/*
 * Documents become sequences.
 *
 * Fixed: they lie one behind the other in the order of the loader, and a sequence ends behind each
 * WINDOW tokens; a document across that end goes on in the next sequence, where attention does not
 * see its first part (Megatron-LM, core/datasets/gpt_dataset.py).
 *
 * Balanced: WLB-LLM (arXiv:2503.17924), algorithm 1. A document of at least the threshold of a
 * queue waits in the queue of the greatest such threshold until it holds as many as a step has
 * sequences; then each of them may get one. The others, the longest first, go to the sequence of
 * least work if that has room, else to the shortest one if that has; else they are the first of the
 * next step. Work is attention's, by the square of a document, and that of all else, by its tokens.
 *
 * The paper leaves open: thresholds, which it tunes by trial. Here they divide the upper half of
 * the window evenly; two queues are one of 1/2 and one of 3/4 of it. What a loader hands over as a
 * step's documents are those of the sequences that fixed packing makes, cut documents as two.
 */
#pragma once

#include <glib.h>

/* FLOPs of a document of s tokens: attention s^2 + linear s. */
typedef struct
{
  double attention, linear;
} DocumentWork;

typedef struct
{
  gint64       window;    /* tokens of a sequence of fixed packing */
  guint        sequences; /* a step */
  guint        queues;    /* of outliers; 0: no document waits */
  gint64       most;      /* tokens that a balanced sequence may hold: at least WINDOW */
  DocumentWork work;
} DocumentPacking;

/*
 * The sequences of a step, GArray of gint64 in order: of the STEP-th (from 0), where N documents of
 * LENGTHS, up to WINDOW each, begin with the first step and suffice. Balanced ones may be empty.
 * Free with g_ptr_array_unref.
 */
GPtrArray *document_packing_fixed (const DocumentPacking *self, const gint64 *lengths, guint n,
                                   guint step);
GPtrArray *document_packing_balanced (const DocumentPacking *self, const gint64 *lengths, guint n,
                                      guint step);

/* Orders lengths, gint64, by g_array_sort. */
gint document_packing_longer_first (gconstpointer a, gconstpointer b);
