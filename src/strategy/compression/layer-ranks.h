/*
 * A rank a matrix for PowerSGD, as L-GreCo chooses them (strategy/compression/l-greco.h).
 *
 * Of every matrix that the uniform rank r0 compresses, ranks from floor (low r0) to ceil (high r0)
 * are tried: those that compress it, and of which the table of errors has a line where there is
 * one. The sum of errors stays within `budget` times that of r0. Without a table the error is that
 * of singular values which fall by a power law: of the exponent e - s in the first layer to e + s
 * in the last, and as if all gradients had one norm.
 */
#pragma once

#include "strategy/compression/compression.h"

typedef struct _LayerRanks LayerRanks;

/*
 * Of the tensors of the KIND that IN's stage trains; NULL: every one has the uniform rank, or there
 * is a diagnostic.
 */
LayerRanks *layer_ranks_new (const PlanInput *in, const CompressionOptions *options, guint kind,
                             DiagList *diags);
void        layer_ranks_free (LayerRanks *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LayerRanks, layer_ranks_free)

/* Of TENSOR of the stage's layer LAYER; 0: it is not compressed. */
guint64 layer_ranks_of (const LayerRanks *self, guint layer, const TensorDesc *tensor);

/* Of a matrix with the uniform rank; 0: its factors are not small enough. */
guint64 layer_ranks_uniform (const CompressionOptions *options, const TensorDesc *tensor);

/* Whether ranks are chosen anew as training goes on. */
static inline gboolean
layer_ranks_adjusts (const CompressionOptions *options)
{
  return options->layer_ranks == LAYER_RANKS_GRECO && options->adjust_freq > 0;
}

/* The ranks that are tried of TENSOR, from *FIRST on: so many, 0 where it is not compressed. */
guint64 layer_ranks_tried (const CompressionOptions *options, const TensorDesc *tensor,
                           guint64 *first);
