/* What optimizers are: a table, and which tensors those of matrices take. */
#include "model/optimizer/optimizer.h"

#include <fnmatch.h>

typedef struct
{
  UpdateScope scope;
  guint       moments; /* of every element; of those of matrices: */
  guint       rest;    /* moments more that the elements of all other tensors have */
  gboolean    host;
  gboolean    paged; /* there is one with moments in unified memory */
} OptimizerDesc;

static const OptimizerDesc descs[OPTIMIZER_N] = {
  [OPTIMIZER_ADAMW] = { .moments = 2, .host = TRUE },
  [OPTIMIZER_ADAMW_FUSED] = { .moments = 2, .host = TRUE, .paged = TRUE },
  [OPTIMIZER_SGD] = { .host = TRUE },
  [OPTIMIZER_NONE] = { .host = TRUE },
  [OPTIMIZER_ADAMW_8BIT] = { .moments = 2, .host = TRUE, .paged = TRUE }, /* without tiles */
  [OPTIMIZER_SGD_MOMENTUM] = { .moments = 1 },
  [OPTIMIZER_LAMB] = { .scope = SCOPE_TENSOR, .moments = 2 },
  [OPTIMIZER_ADAFACTOR] = { .scope = SCOPE_TENSOR },
  [OPTIMIZER_MUON] = { .scope = SCOPE_MATRIX, .moments = 1, .rest = 1 },
  [OPTIMIZER_SHAMPOO] = { .scope = SCOPE_MATRIX, .moments = 2 },
  [OPTIMIZER_SOAP] = { .scope = SCOPE_MATRIX, .rest = 2 }, /* a matrix' are where it is updated */
};

static const OptimizerDesc *
desc_of (const TrainingOptions *training)
{
  return &descs[training->optimizer];
}

UpdateScope
optimizer_scope (const TrainingOptions *training)
{
  return optimizer_tile_side (training) > 0 ? SCOPE_BLOCK : desc_of (training)->scope;
}

const char *
optimizer_name (const TrainingOptions *training)
{
  return option_table_find (training_options, "optimizer")->choices[training->optimizer];
}

gboolean
optimizer_runs_on_host (const TrainingOptions *training)
{
  return desc_of (training)->host && optimizer_scope (training) == SCOPE_ELEMENT;
}

gboolean
optimizer_is_paged (const TrainingOptions *training)
{
  return training->optimizer_paged && desc_of (training)->paged
         && optimizer_tile_side (training) == 0;
}

guint
optimizer_moments (const TrainingOptions *training)
{
  return desc_of (training)->moments;
}

Dtype
optimizer_moment_dtype (const TrainingOptions *training)
{
  return training->optimizer == OPTIMIZER_ADAMW_8BIT ? DTYPE_INT8
                                                     : training_moment_dtype (training);
}

guint64
optimizer_tile_side (const TrainingOptions *training)
{
  return training->optimizer == OPTIMIZER_ADAMW_8BIT ? (guint64) training->optimizer_tile : 0;
}

guint
optimizer_rest_moments (const TrainingOptions *training)
{
  return desc_of (training)->rest;
}

static gboolean
names_one_of (const char *patterns, const TensorDesc *tensor)
{
  g_auto (GStrv) list = g_strsplit_set (patterns, OPTIMIZER_NAME_SEPARATORS, -1);

  for (guint i = 0; list[i] != NULL; i++)
    if (*list[i] != '\0' && fnmatch (list[i], tensor->name, 0) == 0)
      return TRUE;
  return FALSE;
}

gboolean
optimizer_accepts (const TrainingOptions *training, const TensorDesc *tensor, gboolean in_block)
{
  if (tensor->n_dims < 2 || optimizer_scope (training) != SCOPE_MATRIX)
    return FALSE;
  return training->matrix_parameters != NULL ? names_one_of (training->matrix_parameters, tensor)
                                             : in_block;
}
