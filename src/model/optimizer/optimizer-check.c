/* Names of parameters that an optimizer cannot take, */
#include "model/optimizer/optimizer.h"

#include <fnmatch.h>
#include <string.h>

/* The first tensor that PATTERN matches and that has no two dimensions; *ANY: whether it does. */
static const TensorDesc *
find_vector (const Workload *workload, const char *pattern, gboolean *any)
{
  *any = FALSE;
  for (guint l = 0; l < workload_n_layers (workload); l++)
    {
      const LayerDesc *layer = workload_layer (workload, l);

      for (guint t = 0; t < layer->n_tensors; t++)
        if (fnmatch (pattern, layer->tensors[t].name, 0) == 0)
          {
            *any = TRUE;
            if (layer->tensors[t].n_dims < 2)
              return &layer->tensors[t];
          }
    }
  return NULL;
}

static gboolean
check_pattern (const Workload *workload, const char *pattern, const SourceMark *mark,
               DiagList *diags)
{
  const char       *optimizer = optimizer_name (workload_training (workload));
  gboolean          any;
  const TensorDesc *vector = find_vector (workload, pattern, &any);

  if (!any)
    diag_error (diags, mark, WORKLOAD_NAMES_HINT,
                "'matrix_parameters' has '%s', which matches no parameter of '%s'", pattern,
                workload_shape (workload)->name);
  else if (vector != NULL)
    diag_error (diags, mark, "leave it to AdamW: name matrices only, or leave the option out",
                "'%s' updates matrices, and '%s' matches '%s', which has one dimension, of %" //
                G_GUINT64_FORMAT,
                optimizer, pattern, vector->name, vector->elements);
  else
    return TRUE;
  return FALSE;
}

static gboolean
check_names (const Workload *workload, const SourceMark *mark, DiagList *diags)
{
  const char    *names = workload_training (workload)->matrix_parameters;
  g_auto (GStrv) list = g_strsplit_set (names, OPTIMIZER_NAME_SEPARATORS, -1);
  gboolean       ok = TRUE;

  if (names[strspn (names, OPTIMIZER_NAME_SEPARATORS)] == '\0')
    {
      diag_error (diags, mark,
                  "such as '*q_proj*, *experts*'; without the option it is the matrices of blocks",
                  "'matrix_parameters' is an empty list: '%s'", names);
      return FALSE;
    }
  for (guint i = 0; list[i] != NULL; i++)
    if (*list[i] != '\0')
      ok = check_pattern (workload, list[i], mark, diags) && ok;
  return ok;
}

/* Whether a matrix is trained that the optimizer takes. */
static gboolean
takes_one (const Workload *workload)
{
  for (guint l = 0; l < workload_n_layers (workload); l++)
    for (guint t = 0; t < workload_layer (workload, l)->n_trainable; t++)
      if (workload_layer (workload, l)->trainable[t].matrix)
        return TRUE;
  return FALSE;
}

/* Adapters may be all that is trained: names of what they adapt are names, but nothing is done. */
static void
warn_of_none (const Workload *workload, const SourceMark *mark, DiagList *diags)
{
  const TrainingOptions *training = workload_training (workload);
  gboolean               named = training->matrix_parameters != NULL;

  if (optimizer_scope (training) == SCOPE_MATRIX && !takes_one (workload))
    diag_warning (diags, mark,
                  named ? "name matrices that are trained, as '*lora_A*', or take adamw-fused"
                        : "name some in 'matrix_parameters', or take adamw-fused",
                  "'%s' takes no matrix of '%s': %s, and AdamW updates everything",
                  optimizer_name (training), workload_shape (workload)->name,
                  named ? "all that 'matrix_parameters' names is frozen"
                        : "none of its blocks' is trained");
}

/* Tiles that are above all matrices are refused; those that divide none leave parts everywhere. */
static gboolean
check_tiles (const Workload *workload, const SourceMark *mark, DiagList *diags)
{
  const guint64 side = optimizer_tile_side (workload_training (workload));
  guint64       most = 0;
  gboolean      divides = FALSE;

  for (guint l = 0; side > 0 && l < workload_n_layers (workload); l++)
    for (guint t = 0; t < workload_layer (workload, l)->n_tensors; t++)
      {
        const TensorDesc *tensor = &workload_layer (workload, l)->tensors[t];
        const guint64    *shape = tensor->shape + tensor->n_dims;

        if (tensor->n_dims < 2)
          continue;
        most = MAX (most, MIN (shape[-1], shape[-2]));
        divides |= shape[-1] % side == 0 && shape[-2] % side == 0;
      }
  if (side > most)
    diag_error (diags, mark, "tiles of 32 are usual",
                "'optimizer_tile' of %" G_GUINT64_FORMAT " is above the shorter side of every "
                "matrix, %" G_GUINT64_FORMAT " at most",
                side, most);
  else if (side > 0 && !divides)
    diag_warning (diags, mark, "tiles of 32 are usual",
                  "'optimizer_tile' of %" G_GUINT64_FORMAT " divides no matrix: tiles at all edges "
                  "are parts",
                  side);
  return side <= most;
}

gboolean
optimizer_check (const Workload *workload, const OptionMarks *marks, DiagList *diags)
{
  const TrainingOptions *training = workload_training (workload);
  const SourceMark      *mark = option_mark (marks, "matrix_parameters", "optimizer", NULL);

  if (optimizer_scope (training) == SCOPE_MATRIX && training->matrix_parameters != NULL
      && !check_names (workload, mark, diags))
    return FALSE;
  warn_of_none (workload, mark, diags);
  return check_tiles (workload, option_mark (marks, "optimizer_tile", NULL), diags);
}
