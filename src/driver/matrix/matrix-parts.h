/* Tensors that an update has to have as a whole, and where shards cut them. */
#pragma once

#include "driver/matrix/matrix-plan.h"

/* A trained tensor, block by block. */
typedef struct
{
  guint             unit;
  const TensorDesc *tensor;
  MatrixShape       shape;        /* of all its matrices; count 0: of none */
  double            flops;        /* of one of them, */
  guint64           bytes;        /* that live for ever */
  guint64           matrix;       /* elements behind which blocks begin anew; */
  guint64           block;        /* of a block: at its end there may be a part of one */
  guint64           turn;         /* elements behind which shards begin anew: of a tensor that is
                                     cut along its second dimension each matrix, else all of it */
  guint64           offset;       /* of its beginning behind a boundary of shards, */
  guint64           stride;       /* which lie so far apart; 0: a rank has all of it */
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

/* Ranks that have some of PART. */
guint matrix_part_first_rank (const MatrixPart *part);
guint matrix_part_last_rank (const MatrixPart *part);

/* Sets what is cut of PART, whose place and blocks are known. */
void matrix_part_find_cuts (MatrixPart *part);

/* All of it travels. */
void matrix_part_cut_all (MatrixPart *part);

/* Matrices of PART that are cut. */
guint64 matrix_part_cut (const MatrixPart *part);
