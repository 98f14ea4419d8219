/*
 * Kernels of the optimizer step. Bytes an element, with master copies of m bytes (the moments have
 * the type of the master copy) and gradients of g:
 *   fused AdamW      reads p, g, both moments = 3m + g; writes p and the moments = 3m (fp32: 16 and
 *   12) AdamW by lists   the eight passes of a foreach implementation over (p, moments,
 *   denominator):
 *                    p *= 1-lr*wd | m1.lerp(g) | m2 *= b2 | m2 += g*g | d = sqrt m2 | d /= c | d +=
 *                    eps | p += m1/d reads m, m+g, m, m+g, m, m, m, 3m = 10m + 2g; each writes m
 *   SGD              p -= lr*g: reads m + g, writes m
 * Loss scaling copies the gradients to the master's type, multiplies them by the inverse scale and
 * looks for overflows, before all that; what follows reads the copy. Without an optimizer there is
 * nothing at all.
 */
#include "workload/workload.h"

static void
append_stream (GArray *kernels, KernelKind kind, const char *name, double read_bytes,
               double write_bytes, guint launches)
{
  KernelDesc desc = kernel_desc_stream (kind, name, DTYPE_FP32, read_bytes, write_bytes, launches);
  g_array_append_val (kernels, desc);
}

void
workload_optimizer_kernels (const TrainingOptions *training, guint64 elements, guint master_bytes,
                            guint gradient_bytes, guint parameter_bytes, GArray *kernels)
{
  double n = (double) elements, m = master_bytes * n, g = gradient_bytes * n,
         p = parameter_bytes * n;
  OptimizerKind kind = (OptimizerKind) training->optimizer;

  if (kind == OPTIMIZER_NONE)
    return;
  if (training->traits.loss_scaling && training->precision == PRECISION_FP16_MIXED)
    {
      append_stream (kernels, KERNEL_COPY, "optimizer.copy_gradients", g, m, 1);
      append_stream (kernels, KERNEL_OPTIMIZER, "optimizer.unscale", m, m, 1);
      g = m;
    }
  if (training->traits.fused_adam && kind == OPTIMIZER_ADAMW)
    kind = OPTIMIZER_ADAMW_FUSED;

  if (training->clip_gradients)
    {
      append_stream (kernels, KERNEL_REDUCTION, "optimizer.grad_norm", g, 0,
                     2); /* partial norms, their norm */
      append_stream (kernels, KERNEL_OPTIMIZER, "optimizer.clip", g, g, 1);
    }

  switch (kind)
    {
    case OPTIMIZER_ADAMW_FUSED:
      append_stream (kernels, KERNEL_OPTIMIZER, "optimizer.adamw", 3 * m + g, 3 * m + p, 1);
      return;
    case OPTIMIZER_ADAMW:
      append_stream (kernels, KERNEL_OPTIMIZER, "optimizer.adamw", 10 * m + 2 * g, 8 * m, 8);
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
