/*
 * Matrices, or tensors of them, that are shared out over ranks: what the rank with most work has
 * then. Who gets what is driver/matrix/matrix-balance.h's to say.
 */
#pragma once

#include "model/optimizer/optimizer.h"

/* Things that go to one rank or another as a whole: a matrix, or a tensor of some or none. */
typedef struct
{
  MatrixShape shape; /* count: its matrices */
  guint64     n;
  double      weight; /* of one, for who shares them out */
} MatrixItem;

typedef struct
{
  GArray *shapes; /* MatrixShape: its matrices */
  guint   rank;
  guint64 elements, held; /* of all ranks, which the caller sets; of this one */
} MatrixSpread;

/*
 * ITEMS (MatrixItem) over M ranks, the heaviest first. START: what ranks have already, if weights
 * are FLOPs; else NULL. BEFORE: as matrix_balance_new takes it. Adds what lives for ever on each
 * rank to BYTES. The caller's: matrix_spread_clear.
 */
MatrixSpread matrix_spread_new (const TrainingOptions *training, const GArray *items, guint m,
                                const double *start, double *before, guint64 *bytes);
void         matrix_spread_clear (MatrixSpread *self);

/* Adds SHAPE to a list that has each shape once. */
void matrix_shapes_add (GArray *shapes, MatrixShape shape);

/* The first of N ranks that has the greatest load. */
guint matrix_busiest (const double *loads, guint n);
