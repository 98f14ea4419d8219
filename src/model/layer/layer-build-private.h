/*
 * Builds one layer: its modules and tensors, and the record of its operations, in one walk, so that
 * parameters and kernels cannot drift apart. Internal to the layer.
 */
#pragma once

#include "model/shape/family-private.h"
#include "model/tape/tape-private.h"

typedef struct
{
  LayerKind      kind;
  ModelLayer     block; /* of a block: what it is made of */
  CheckpointMode checkpoint;
  gboolean       wide; /* its products are in 16 bits, whatever the recipe */
} LayerClass;

typedef struct
{
  GArray   *tensors; /* TensorDesc */
  GArray   *modules; /* ModuleDesc */
  Tape     *tape;
  TapeValue output;
  double    head_bytes;   /* head: its output, where it is there as a whole */
  double    held_bytes;   /* head: of its output, that the framework holds on to */
  double    logits_bytes; /* head: vocabulary-wide memory of its backward pass */
} LayerBuild;

/*
 * SHAPE, TRAINING and MESH (normalised) must outlive the result.
 */
LayerBuild layer_build (const ModelShape *shape, const TrainingOptions *training,
                        const MeshOptions *mesh, LayerClass layer);
void       layer_build_clear (LayerBuild *self); /* frees what is not NULL */
