/* Names of parameters that an optimizer cannot take, and options that it does not read. */
#include "workload/optimizer.h"

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

typedef struct
{
  const char *key;
  gboolean    moved; /* from its default */
  gboolean    read;  /* by the optimizer */
  const char *who;
} ReadOption;

/* Options that are about another optimizer are more likely a mistake than meant. */
static gboolean
check_read (const TrainingOptions *training, const OptionMarks *marks, DiagList *diags)
{
  UpdateScope scope = optimizer_scope (training);
  gboolean    muon = training->optimizer == OPTIMIZER_MUON;
  gboolean    matrices = scope == SCOPE_MATRIX, exchanges = matrices || scope == SCOPE_BLOCK;
  gboolean    ok = TRUE;

  const ReadOption options[] = {
    { "optimizer_tile", training->optimizer_tile > 0, scope == SCOPE_BLOCK, "adamw-8bit" },
    { "ns_steps", training->ns_steps > 0, muon, "muon" },
    { "precondition_frequency", training->precondition_frequency > 0, matrices && !muon,
      "shampoo and soap" },
    { "max_preconditioner_dim", training->max_preconditioner_dim > 0, matrices && !muon,
      "shampoo and soap" },
    { "matrix_parameters", training->matrix_parameters != NULL, matrices,
      "muon, shampoo and soap" },
    { "matrix_exchange", training->matrix_exchange != MATRIX_EXCHANGE_ALL_TO_ALL, exchanges,
      "muon, shampoo, soap and adamw-8bit" },
    { "matrix_bucket_layers", training->matrix_bucket_layers > 0, matrices,
      "muon, shampoo and soap" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (options); i++)
    if (options[i].moved && !options[i].read)
      {
        diag_error (diags, option_mark (marks, options[i].key, "optimizer", NULL),
                    "leave it out, or take such an optimizer",
                    "'%s' is an option of %s, and 'optimizer' is %s", options[i].key,
                    options[i].who, optimizer_name (training));
        ok = FALSE;
      }
  return ok;
}

static gboolean
check_buckets (const TrainingOptions *training, const OptionMarks *marks, DiagList *diags)
{
  const OptionSpec *spec = option_table_find (training_options, "matrix_exchange");

  if (training->matrix_bucket_layers == 0
      || training->matrix_exchange == MATRIX_EXCHANGE_ALL_TO_ALL)
    return TRUE;
  diag_error (diags, option_mark (marks, "matrix_bucket_layers", "matrix_exchange", NULL),
              "leave one of the two out",
              "'matrix_bucket_layers' is an option of 'matrix_exchange: all-to-all', and "
              "'matrix_exchange' is %s",
              spec->choices[training->matrix_exchange]);
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

gboolean
optimizer_check (const Workload *workload, const OptionMarks *marks, DiagList *diags)
{
  const TrainingOptions *training = workload_training (workload);
  const SourceMark      *mark = option_mark (marks, "matrix_parameters", "optimizer", NULL);

  if (!check_read (training, marks, diags) || !check_buckets (training, marks, diags)
      || (training->matrix_parameters != NULL && !check_names (workload, mark, diags)))
    return FALSE;
  warn_of_none (workload, mark, diags);
  return TRUE;
}
