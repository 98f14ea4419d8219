/*
 * model_import over arbitrary bytes: a diagnostic, or a shape whose workload can be built, with
 * layers that add up. Models of more than 200 layers are only imported: building them is slow.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
check_workload (const ModelShape *shape)
{
  TrainingOptions training = { .seq_len = 16, .micro_batch = 1, .grad_accum = 1, .causal = TRUE };
  g_autoptr (Workload) workload = workload_new (shape, &training);
  guint64              sum = 0;

  for (guint i = 0; i < workload_n_layers (workload); i++)
    sum += workload_layer (workload, i)->elements;
  g_assert (sum == workload_n_parameters (workload));
  g_assert (workload_n_active_parameters (workload) <= sum);
  g_assert (flops_per_token (shape, FLOPS_CAUSAL, 16) > 0);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *file = fuzz_file ("config.json", data, size);
  ModelShape           shape;

  fuzz_begin ();
  if (!model_import (file, &shape, diags))
    {
      g_assert (diag_list_has_errors (diags));
      g_assert (shape.name == NULL && shape.family == NULL);
      return 0;
    }
  g_assert (!diag_list_has_errors (diags));
  if (shape.n_layers <= 200)
    check_workload (&shape);
  model_shape_clear (&shape);
  return 0;
}
