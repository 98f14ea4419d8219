/* Tensors that an update has to have as a whole, and where shards cut them. */
#pragma once

#include "driver/matrix-plan.h"

/* A trained tensor, block by block. */
typedef struct
{
  guint             unit;
  const TensorDesc *tensor;
  MatrixShape       shape;        /* of all its matrices; count 0: of none */
  double            cost;         /* of one of them, for who shares them out */
  guint64           bytes;        /* of one of them, that live for ever */
  guint64           matrix;       /* elements behind which blocks begin anew; */
  guint64           block;        /* of a block: at its end there may be a part of one */
  guint64           offset;       /* of its beginning behind a boundary of shards, */
  guint64           stride;       /* which lie so far apart; 0: its shards are no stretches */
  guint64           n_blocks;     /* all of them; */
  guint64           n_cut;        /* that boundaries cut, */
  guint64           cut_elements; /* and what they have */
} MatrixPart;

/* Blocks, matrices and elements that lie on a rank as a whole. */
typedef struct
{
  guint64 blocks, matrices, elements;
} MatrixLot;

/*
 * Those of KIND among UNITS under POLICY, by unit: an array of MatrixPart. Where one rank has
 * everything, or a format gives whole tensors to ranks (OWNERS), nothing is cut.
 */
GArray *matrix_parts_new (const TrainingOptions *training, const UnitPolicy *policy,
                          const PlanUnit *units, guint n_units, guint kind, gboolean owners);

/* What of PART lies on RANK of the ranks that share it and is not cut. */
MatrixLot matrix_part_on (const MatrixPart *part, guint rank);

/* Sets what is cut of PART, whose place and blocks are known. */
void matrix_part_find_cuts (MatrixPart *part);

/* Matrices of PART that are cut. */
guint64 matrix_part_cut (const MatrixPart *part);
