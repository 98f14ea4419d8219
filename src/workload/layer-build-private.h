/*
 * Builds one layer: its modules and tensors, and the record of its operations, in one walk, so that
 * parameters and kernels cannot drift apart. Internal to the layer.
 */
#pragma once

#include "workload/family-private.h"
#include "workload/tape-private.h"

typedef struct
{
  LayerKind kind;
  gboolean  moe;      /* blocks: routed experts */
  gboolean  windowed; /* blocks: attention over the sliding window only */
} LayerClass;

typedef struct
{
  GArray   *tensors; /* TensorDesc */
  GArray   *modules; /* ModuleDesc */
  Tape     *tape;
  TapeValue output;
  double    vocab_elements; /* head: logits of one micro-batch */
} LayerBuild;

/*
 * SHAPE, TRAINING and MESH (normalised) must outlive the result. DROPOUT: with the classic GPT block's dropouts (tests
 * of published formulas).
 */
LayerBuild layer_build (const ModelShape *shape, const TrainingOptions *training,
                        const MeshOptions *mesh, LayerClass layer, gboolean dropout);
void       layer_build_clear (LayerBuild *self); /* frees what is not NULL */
