/*
 * The lengths of the sequences that each data rank works on, micro-batch by micro-batch, from a
 * table or a distribution: where they differ, ranks wait for each other, and attention, whose cost
 * grows with the square of a length, unbalances them more than tokens do.
 */
#pragma once

#include "base/file/input-files.h"
#include "model/step/document-packing.h"
#include "model/step/document-sharding.h"
#include "model/step/length-distribution.h"

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

/*
 * The same of sequences that are DRAWN and dealt in order; a drawn length that is longer is cut at
 * LONGEST, a shorter one is padded to a multiple of UNIT.
 */
const SequenceLengths *sequence_lengths_draw (InputFiles *files, const LengthDraw *drawn,
                                              guint n_ranks, guint n_micros, guint per_micro,
                                              gint64 unit, gint64 longest, DiagList *diags);

/*
 * The sequences of DEALT, each on as many of its data ranks as it needs: hybrid-partition.h, whose
 * sets lie on aligned blocks of ranks, the largest first in each group (Megatron-LM has no process
 * group for others). Lengths are padded to a multiple of UNIT times their ranks. DEALT has a power
 * of two of ranks, which hold its longest sequence. Owned by FILES, as DEALT is.
 */
const SequenceLengths *sequence_lengths_hybrid (InputFiles *files, const SequenceLengths *dealt,
                                                gint64 tokens_per_rank, gint64 unit,
                                                DiagList *diags);

/*
 * The sequences of DEALT, those of a data rank on CP context ranks, PER_NODE of them a node, each
 * on as many of them as zeppelin-partition.h says: powers of two. TOKENS_PER_RANK of 0: as many as
 * a micro-batch has for each. Rows are of context ranks, those of a data rank one after the other.
 */
const SequenceLengths *sequence_lengths_zeppelin (InputFiles *files, const SequenceLengths *dealt,
                                                  guint cp, guint per_node, gint64 tokens_per_rank,
                                                  DiagList *diags);

/*
 * Documents that are packed: sequences of a step go to N_RANKS data ranks of CP context ranks in
 * turn, equally many to each of N_MICROS micro-batches. What is looked at is not the first step, as
 * outliers of balanced packing wait, and in the first steps all do: it is the PACKED_STEPS-th, the
 * last one that the file fills if that is earlier, or an earlier one of very many sequences a step,
 * as these steps are alike.
 */
#define PACKED_STEPS     17
#define PACKED_SEQUENCES (1 << 14) /* of all steps */

typedef struct
{
  const LengthDraw *drawn; /* NULL: FILE, documents in order, without ranks */
  const char       *file;
  guint             n_ranks, n_micros, cp;
  gint64            unit; /* that tokens of a sequence are padded to a multiple of */
  DocumentPacking   packing;
  gboolean          balanced;
  DocumentSharding  sharding; /* not AUTO */
} PackedLengths;

/* Rows are of context ranks. Owned by FILES; NULL after diagnostics. */
const SequenceLengths *sequence_lengths_packed (InputFiles *files, const PackedLengths *wanted,
                                                DiagList *diags);

/* Pieces of documents that the rank of a micro-batch attends to; NULL: its share of each. */
const GArray *sequence_lengths_pieces (const SequenceLengths *self, guint batch);

/*
 * What the rank of a micro-batch of these attends to (AttentionPart), and TrainingOptions.remapped.
 * NULL: its share of each sequence.
 */
const GArray *sequence_lengths_parts (const SequenceLengths *self, guint batch, double *remapped);

void sequence_lengths_free (SequenceLengths *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SequenceLengths, sequence_lengths_free)

/* Different micro-batches, the one of most tokens first. */
guint         sequence_lengths_n_batches (const SequenceLengths *self);
const GArray *sequence_lengths_batch (const SequenceLengths *self,
                                      guint batch); /* of gint64, the longest first */

/* Data ranks that work on it together, of sequence_lengths_hybrid; else 1. */
guint sequence_lengths_ranks (const SequenceLengths *self, guint batch);

/*
 * [rank][micro]: which of them. A row is as wide as that of the rank with most micro-batches;
 * COUNTS [rank] says how many it has, BARRIERS [rank][micro] behind which all ranks wait for each
 * other; NULL: all of them, and nowhere.
 */
typedef struct
{
  guint          n_ranks, width;
  const guint32 *table, *counts;
  const guint8  *barriers;
  guint          read;  /* sequences that a rank reads at most, where others get some; else 0 */
  guint64        moved; /* tokens of them that the rank which sends or gets most sends or gets */
} LengthsTable;

LengthsTable sequence_lengths_table (const SequenceLengths *self);

/* The micro-batches of RANK. */
guint sequence_lengths_n_micros (const SequenceLengths *self, guint rank);
guint sequence_lengths_at (const SequenceLengths *self, guint rank, guint micro);

/* Tokens of a micro-batch. */
gint64 sequence_lengths_tokens (const GArray *batch);
