/*
 * The lengths of the sequences that each data rank works on, micro-batch by micro-batch, from a
 * table: where they differ, ranks wait for each other, and attention, whose cost grows with the
 * square of a length, unbalances them more than tokens do.
 */
#pragma once

#include "base/file/input-files.h"

typedef struct _SequenceLengths SequenceLengths;

/*
 * FILE is CSV with a column `length` (tokens: a multiple of UNIT up to LONGEST), one sequence a
 * row. With the columns `rank` and `micro_batch`, both from 0, each row says where its sequence
 * goes; a micro-batch may hold several, packed. Without them sequences are dealt in order, as a
 * distributed sampler does: the i-th to rank i modulo N_RANKS, PER_MICRO a micro-batch; more rows
 * than a step of N_MICROS micro-batches takes are left for later steps. NULL after diagnostics that
 * name row and column.
 */
SequenceLengths *sequence_lengths_load (const char *file, guint n_ranks, guint n_micros,
                                        guint per_micro, gint64 unit, gint64 longest,
                                        DiagList *diags);

/* The same from FILES, which owns it: the file is read once, and once what it is to these ranks. */
const SequenceLengths *sequence_lengths_get (InputFiles *files, const char *file, guint n_ranks,
                                             guint n_micros, guint per_micro, gint64 unit,
                                             gint64 longest, DiagList *diags);

void sequence_lengths_free (SequenceLengths *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SequenceLengths, sequence_lengths_free)

/* Different micro-batches, the one of most tokens first. */
guint         sequence_lengths_n_batches (const SequenceLengths *self);
const GArray *sequence_lengths_batch (const SequenceLengths *self,
                                      guint batch); /* of gint64, the longest first */

/* [rank][micro]: which of them. */
const guint32 *sequence_lengths_table (const SequenceLengths *self);

/* Tokens of a micro-batch. */
gint64 sequence_lengths_tokens (const GArray *batch);
