/*
 * Kernels of the optimizer step. Bytes an element, with weights of m bytes, moments of v each, and
 * gradients of g:
 *   fused AdamW      reads p, g, both moments = m + 2v + g; writes p and the moments = m + 2v
 *                    (fp32: 16 and 12)
 *   AdamW by lists   the eight passes of a foreach implementation over (p, moments, denominator):
 *                    p *= 1-lr*wd | m1.lerp(g) | m2 *= b2 | m2 += g*g | d = sqrt m2 | d /= c |
 *                    d += eps | p += m1/d
 *                    reads m, v+g, v, v+g, v, v, v, m+2v = 2m + 8v + 2g; writes 2m + 6v
 *   SGD              p -= lr*g: reads m + g, writes m
 * Loss scaling copies the gradients to the master's type, multiplies them by the inverse scale and
 * looks for overflows, before all that; what follows reads the copy. Without an optimizer there is
 * nothing at all.
 *
 * Beside the states it holds the denominators, v an element, where AdamW goes by lists as
 * torch.optim does (torch/optim/adamw.py, _multi_tensor_adamw: exp_avg_sq_sqrt of all tensors, then
 * their uses), and that copy of the gradients, m an element (Megatron-LM's 20 bytes a parameter).
 */
#include "workload/workload.h"

static void
append_stream (GArray *kernels, KernelKind kind, const char *name, double read_bytes,
               double write_bytes, guint launches)
{
  KernelDesc desc = kernel_desc_stream (kind, name, DTYPE_FP32, read_bytes, write_bytes, launches);
  g_array_append_val (kernels, desc);
}

static OptimizerKind
kind_of (const TrainingOptions *training)
{
  if (training->traits.fused_adam && training->optimizer == OPTIMIZER_ADAMW)
    return OPTIMIZER_ADAMW_FUSED;
  return (OptimizerKind) training->optimizer;
}

static gboolean
scales_loss (const TrainingOptions *training)
{
  return training->traits.loss_scaling && training->precision == PRECISION_FP16_MIXED;
}

OptimizerTemporaries
workload_optimizer_temporaries (const TrainingOptions *training, guint gradient_bytes)
{
  OptimizerTemporaries temporaries = { 0 };
  OptimizerKind        kind = kind_of (training);
  guint                master = dtype_bytes (training_master_dtype (training));

  if (kind == OPTIMIZER_NONE)
    return temporaries;
  if (scales_loss (training) && gradient_bytes < master)
    temporaries.gradients = master;
  if (kind == OPTIMIZER_ADAMW && training->traits.adam_lists)
    temporaries.denominators = dtype_bytes (training_moment_dtype (training));
  return temporaries;
}

void
workload_optimizer_kernels (const TrainingOptions *training, guint64 elements, guint master_bytes,
                            guint gradient_bytes, guint parameter_bytes, GArray *kernels)
{
  double n = (double) elements, m = master_bytes * n, g = gradient_bytes * n,
         p = parameter_bytes * n, v = dtype_bytes (training_moment_dtype (training)) * n;
  OptimizerKind kind = kind_of (training);

  if (kind == OPTIMIZER_NONE)
    return;
  if (scales_loss (training))
    {
      append_stream (kernels, KERNEL_COPY, "optimizer.copy_gradients", g, m, 1);
      append_stream (kernels, KERNEL_OPTIMIZER, "optimizer.unscale", m, m, 1);
      g = m;
    }
  if (training->clip_gradients)
    {
      append_stream (kernels, KERNEL_REDUCTION, "optimizer.grad_norm", g, 0,
                     2); /* partial norms, their norm */
      append_stream (kernels, KERNEL_OPTIMIZER, "optimizer.clip", g, g, 1);
    }

  switch (kind)
    {
    case OPTIMIZER_ADAMW_FUSED:
      append_stream (kernels, KERNEL_OPTIMIZER, "optimizer.adamw", m + 2 * v + g, m + 2 * v + p, 1);
      return;
    case OPTIMIZER_ADAMW:
      append_stream (kernels, KERNEL_OPTIMIZER, "optimizer.adamw", 2 * m + 8 * v + 2 * g,
                     2 * m + 6 * v, 8);
      break;
    case OPTIMIZER_SGD:
      append_stream (kernels, KERNEL_OPTIMIZER, "optimizer.sgd", m + g, m, 1);
      break;
    case OPTIMIZER_NONE:
      break;
    }
  if (parameter_bytes > 0)
    append_stream (kernels, KERNEL_COPY, "optimizer.cast_parameters", m, p, 1);
}
