/*
 * Sequences that are packed of documents, at whose ends attention ends (Llama 3, arXiv:2407.21783,
 * section 3.2). A document may end at any token, with the same probability 1 / L: lengths are
 * exponential of mean L, and the first and last one of a sequence are cut. A token attends to those
 * at most w behind it (w: the window, or the sequence) if no document ends between, so that a
 * sequence of s tokens has
 *
 *   integral over 0 .. w of (s - x) exp (-x / L) = s L (1 - q) - L^2 + q L (L + w),
 *   q = exp (-w / L)
 *
 * pairs on average under a causal mask, s w - w^2 / 2 for documents that never end.
 */
#pragma once

#include <glib.h>

double documents_pairs (double seq_len, double window, double length);

/* Pairs of the first TOKENS of a document, of which each attends to at most WINDOW, itself too. */
double documents_prefix_pairs (double tokens, double window);

/*
 * RANKS context ranks have the first and last, the second and last but one, ... of 2 RANKS chunks
 * of a sequence. A causal mask alone is balanced so; where documents end is not: the mean over
 * sequences of the fullest rank's pairs, over the mean rank's. Drawn with a fixed seed.
 */
double documents_imbalance (double seq_len, double length, guint ranks);
