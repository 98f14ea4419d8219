/* Tensors that an update has to have as a whole, and where shards cut them. */
#pragma once

#include "driver/matrix-plan.h"

/* A trained tensor, block by block. */
typedef struct
{
  guint             unit;
  const TensorDesc *tensor;
  MatrixShape       shape;  /* of all its matrices; count 0: of none */
  double            flops;  /* of one of them, */
  guint64           bytes;  /* that live for ever */
  guint64           block;  /* elements */
  guint64           offset; /* of its beginning behind a boundary of shards, */
  guint64           stride; /* which lie so far apart; 0: its shards are no stretches */
  gboolean          cut;
} MatrixPart;

/*
 * Those of KIND among UNITS under POLICY, by unit: an array of MatrixPart. Where one rank has
 * everything, or a format gives whole tensors to ranks (OWNERS), nothing is cut.
 */
GArray *matrix_parts_new (const TrainingOptions *training, const UnitPolicy *policy,
                          const PlanUnit *units, guint n_units, guint kind, gboolean owners);

/* Of an uncut PART: how many matrices lie on RANK of the ranks that share it. */
guint64 matrix_part_on (const MatrixPart *part, guint rank);
