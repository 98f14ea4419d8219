/* How a mesh brings a model's tokens to their experts: the keys `dispatch` and its kin. */
#pragma once

#include "model/mesh/parallel.h"
#include "model/shape/model.h"
#include "vocabulary/dispatch.h"

/* Of `dispatch: two-level`; else none: zeroed. */
Dispatch expert_dispatch (const ModelShape *shape, const MeshOptions *mesh);

/*
 * Bytes that an element of SHAPE's tokens takes on its way to experts in fp8: 128 of a token share
 * a scale of 4 bytes (arXiv:2412.19437, 3.3.2). 0: it goes as activations are kept.
 */
double expert_dispatch_bytes (const ModelShape *shape, const MeshOptions *mesh);
