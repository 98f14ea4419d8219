/*
 * Errors of compression as somebody measured them: a CSV table of what a rank loses of the
 * gradients of which matrices.
 *
 *   layer,tensor,rank,error
 *   1-12,*q_proj*,16,0.31
 *
 * `layer` is a layer of the whole model (0 the embedding, then blocks, last the head), a range of
 * them, or *; `tensor` a pattern of names with * and ?; `error` in any unit that all lines share.
 * Of lines that say the same the first one counts.
 */
#pragma once

#include "base/file/input-files.h"

typedef struct _LayerErrors LayerErrors;

/* Of FILE, read once for all who ask FILES; NULL after diagnostics. */
const LayerErrors *layer_errors_get (InputFiles *files, const char *file, DiagList *diags);

/* What RANK loses of the matrix TENSOR of model layer LAYER; INFINITY: no line says. */
double layer_errors_of (const LayerErrors *self, guint layer, const char *tensor, guint rank);
