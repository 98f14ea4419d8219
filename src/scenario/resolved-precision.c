/* What the precision asks of the GPUs and of the products. */
#include "model/layer/fp8.h"
#include "scenario/resolved-private.h"

/* Where the precision was set; where it is the default, the GPU. */
static const SourceMark *
precision_mark (const Scenario *scenario)
{
  const OptionMarks *training = scenario_marks (scenario, training_options);
  const SourceMark  *mark = option_mark (training, "precision", NULL);

  if (mark != NULL && mark != &training->section)
    return mark;
  return option_mark (scenario_marks (scenario, cluster_options), "gpu", "node", "name", NULL);
}

/* The optimizer does not update narrower weights than those that kernels read. */
static gboolean
check_roles (const Resolution *self, DiagList *diags)
{
  Dtype master = training_master_dtype (&self->training);
  Dtype compute = training_compute_dtype (&self->training);

  if (dtype_bits (master) >= dtype_bits (compute)
      && (dtype_bits (master) > dtype_bits (compute) || master == compute))
    return TRUE;
  diag_error (diags,
              option_mark (scenario_marks (self->scenario, training_options), "master_dtype",
                           "precision", NULL),
              "leave it 'auto', or take fp32",
              "'master_dtype' of %s goes with no weights of %s, which kernels read",
              dtype_name (master), dtype_name (compute));
  return FALSE;
}

/* ---- fp8 ------------------------------------------------------------------------------------- */

static const SourceMark *
fp8_mark (const Resolution *self)
{
  return option_mark (scenario_marks (self->scenario, training_options), "fp8_recipe", NULL);
}

/* What GPU lacks for the recipe KIND, and what goes instead; NULL: nothing. */
static const char *
missing_units (const GpuProfile *gpu, gint kind, const char **hint)
{
  const gboolean fp8 = gpu->matmul_fp8.value > 0;

  *hint = fp8 ? "set 'training.fp8_recipe' to tensorwise, rowwise, delayed or blockwise"
              : "set 'training.fp8_recipe' to none";
  if (kind == FP8_NVFP4)
    return gpu->matmul_fp4.value > 0 ? NULL : "fp4 matrix units (no 'matmul_fp4' in its profile)";
  if (!fp8)
    return "fp8 matrix units";
  return kind != FP8_MXFP8 || gpu->mxfp8 ? NULL : "fp8 matrix units that take block scales";
}

static gboolean
check_fp8_units (const Resolution *self, const Fp8Recipe *recipe, DiagList *diags)
{
  for (guint r = 0; r < cluster_n_gpus (self->view.cluster); r++)
    {
      const GpuProfile *gpu = cluster_gpu_profile (self->view.cluster, r);
      const char       *hint, *missing = missing_units (gpu, self->training.fp8_recipe, &hint);

      if (missing == NULL)
        continue;
      diag_error (diags, fp8_mark (self), hint, "GPU '%s' has no %s: fp8_recipe '%s'", gpu->id,
                  missing, recipe->name);
      return FALSE;
    }
  return TRUE;
}

/* Tokens of one expert are padded, so that their number does not matter. */
static gboolean
is_of_expert (const LayerDesc *layer, const KernelDesc *kernel)
{
  return kernel->module >= 0 && layer->tensors[layer->modules[kernel->module].first_tensor].expert;
}

static gboolean
fits_recipe (const LayerDesc *layer, const KernelDesc *kernel, const Fp8Recipe *recipe)
{
  const guint64 multiple = recipe->multiple;

  return kernel->kind != KERNEL_MATMUL || kernel->dtype != recipe->dtype
         || ((kernel->m % multiple == 0 || is_of_expert (layer, kernel))
             && kernel->n % multiple == 0 && kernel->k % multiple == 0);
}

/* Its forward products: the others have the same dimensions. */
static gboolean
check_fp8_stage (const Resolution *self, const Workload *stage, const Fp8Recipe *recipe,
                 DiagList *diags)
{
  for (guint l = 0; l < workload_n_layers (stage); l++)
    for (guint i = 0; i < workload_layer (stage, l)->n_forward; i++)
      {
        const KernelDesc *kernel = &workload_layer (stage, l)->forward[i];

        if (fits_recipe (workload_layer (stage, l), kernel, recipe))
          continue;
        diag_error (diags, fp8_mark (self),
                    "change the sequences, the model or the tensor ranks, or set it to none",
                    "'%s' multiplies %" G_GUINT64_FORMAT " tokens by a weight of %" G_GUINT64_FORMAT
                    " x %" G_GUINT64_FORMAT ": fp8_recipe '%s' takes multiples of %u",
                    kernel->name, kernel->m, kernel->n, kernel->k, recipe->name, recipe->multiple);
        return FALSE;
      }
  return TRUE;
}

static gboolean
check_fp8 (const Resolution *self, DiagList *diags)
{
  const Fp8Recipe recipe = fp8_recipe (&self->training);

  if (recipe.name == NULL)
    return TRUE;
  if (training_compute_dtype (&self->training) == DTYPE_FP32)
    {
      diag_error (diags, fp8_mark (self), "set 'training.precision' to bf16-mixed",
                  "fp8_recipe '%s' goes with activations of 16 bits, not with fp32", recipe.name);
      return FALSE;
    }
  if (recipe.hadamard && training_compute_dtype (&self->training) != DTYPE_BF16)
    {
      diag_error (diags, fp8_mark (self), "set 'training.precision' to bf16-mixed or bf16",
                  "fp8_recipe '%s' transforms bf16 alone", recipe.name);
      return FALSE;
    }
  if (self->training.fp8_recipe == FP8_ROWWISE && self->training.traits.keeps_fp8)
    {
      diag_error (diags, fp8_mark (self), "take tensorwise, delayed, blockwise, mxfp8 or nvfp4",
                  "fp8_recipe '%s' is torchao's: the framework's library does not have it",
                  recipe.name);
      return FALSE;
    }
  if (!check_fp8_units (self, &recipe, diags))
    return FALSE;
  for (guint b = 0; b < resolved_n_batches (self); b++)
    for (guint s = 0; s < (guint) MAX (self->scenario->mesh.pp, 1); s++)
      if (!check_fp8_stage (self, self->batches[b][s], &recipe, diags))
        return FALSE;
  return TRUE;
}

gboolean
resolved_check_precision (const Resolution *self, DiagList *diags)
{
  if (!check_roles (self, diags) || !check_fp8 (self, diags))
    return FALSE;
  if (training_compute_dtype (&self->training) != DTYPE_BF16)
    return TRUE;
  for (guint r = 0; r < cluster_n_gpus (self->view.cluster); r++)
    if (!cluster_gpu_profile (self->view.cluster, r)->bf16)
      {
        diag_error (diags, precision_mark (self->scenario),
                    "set 'training.precision' to fp16-mixed or fp32",
                    "GPU '%s' has no bf16 matrix units",
                    cluster_gpu_profile (self->view.cluster, r)->id);
        return FALSE;
      }
  return TRUE;
}
