/*
 * Passes over elements. Bytes an element, with weights of m bytes, moments of v each, and gradients
 * of g:
 *   fused AdamW      reads p, g, both moments = m + 2v + g; writes p and the moments = m + 2v
 *                    (fp32: 16 and 12)
 *   AdamW by lists   the eight passes of a foreach implementation over (p, moments, denominator):
 *                    p *= 1-lr*wd | m1.lerp(g) | m2 *= b2 | m2 += g*g | d = sqrt m2 | d /= c |
 *                    d += eps | p += m1/d
 *                    reads m, v+g, v, v+g, v, v, v, m+2v = 2m + 8v + 2g; writes 2m + 6v
 *   AdamW in 8 bits  as the fused one with v = 1; its scales are 1/32 of a byte an element, or less
 *   SGD              p -= lr*g: reads m + g, writes m; with momentum v more of both
 *   LAMB             moments and update u, which takes the gradient's place | norms of p and u |
 *                    p -= r*u: reads m + 2v + g | m + u | m + u, writes u + 2v | - | m
 *                    (apex, FusedLAMB: stages 1 and 2)
 *   Adafactor        g^2 by rows and columns | u = g / sqrt of their product | its norm, and p's |
 *                    p -= u: reads g | g | u + m | u + m, writes - | u | - | m
 * Loss scaling copies the gradients to the master's type, multiplies them by the inverse scale and
 * looks for overflows, before all that; what follows reads the copy. Without an optimizer there is
 * nothing at all.
 *
 * Beside the states it holds the denominators, v an element, where AdamW goes by lists as
 * torch.optim does (torch/optim/adamw.py, _multi_tensor_adamw: exp_avg_sq_sqrt of all tensors, then
 * their uses), and that copy of the gradients, m an element (Megatron-LM's 20 bytes a parameter).
 */
#include "model/optimizer/optimizer.h"

/* Below so many elements a tensor keeps moments of its own type (bitsandbytes, min_8bit_size). */
#define LEAST_QUANTISED 4096

/* So many elements of a rank's a tensor has at least whose moments are paged (bitsandbytes). */
#define LEAST_PAGED 100000

#define SCALE_BYTES    8 /* two of fp32 a tile, or a block of so many elements: */
#define BLOCK_ELEMENTS 256

/* ---- tensors --------------------------------------------------------------------------------- */

/* Tiles are of matrices. */
static gboolean
is_quantised (const TrainingOptions *training, const TensorDesc *tensor)
{
  return tensor->elements >= LEAST_QUANTISED
         && (tensor->n_dims > 1 || optimizer_tile_side (training) == 0);
}

static guint64
columns_of (const TensorDesc *tensor)
{
  return tensor->shape[tensor->n_dims - 1];
}

/*
 * Pairs of scales: a tile at the edge of a matrix may be a part of one, and so may the last block.
 */
static guint64
scales_of (const TrainingOptions *training, const TensorDesc *tensor)
{
  guint64 side = optimizer_tile_side (training), columns = columns_of (tensor);
  guint64 rows = tensor->elements / columns;

  if (side == 0)
    return (tensor->elements + BLOCK_ELEMENTS - 1) / BLOCK_ELEMENTS;
  return (rows + side - 1) / side * ((columns + side - 1) / side);
}

/* A rank with some rows has the means of these, and those of all columns. */
static OptimizerBytes
factored_bytes (const TrainingOptions *training, const TensorDesc *tensor)
{
  guint   each = dtype_bytes (training_moment_dtype (training));
  guint64 rows = tensor->elements / columns_of (tensor);
  guint64 matrices = tensor->n_dims > 2 ? tensor->shape[0] : 1;

  if (tensor->n_dims < 2)
    return (OptimizerBytes){ .shared = each * tensor->elements };
  return (OptimizerBytes){ .shared = each * rows, .each = each * matrices * columns_of (tensor) };
}

OptimizerBytes
optimizer_bytes (const TrainingOptions *training, const TensorDesc *tensor)
{
  guint64 moment = dtype_bytes (training_moment_dtype (training));

  if (training->optimizer == OPTIMIZER_ADAMW_8BIT)
    {
      guint whole = 2 * dtype_bytes (training_moment_dtype (training)), kept = 2;

      return (OptimizerBytes){ .shared = is_quantised (training, tensor)
                                             ? SCALE_BYTES * scales_of (training, tensor)
                                             : (whole - kept) * tensor->elements };
    }
  if (training->optimizer == OPTIMIZER_ADAFACTOR)
    return factored_bytes (training, tensor);
  if (tensor->matrix && !optimizer_is_bare (training, tensor))
    return (OptimizerBytes){ 0 };
  return (OptimizerBytes){ .shared =
                               optimizer_rest_moments (training) * moment * tensor->elements };
}

guint64
optimizer_paged_bytes (const TrainingOptions *training, const TensorDesc *tensor, guint m)
{
  guint64 share = tensor->elements / m;

  if (!optimizer_is_paged (training) || share < LEAST_PAGED)
    return 0;
  return share * optimizer_moments (training) * dtype_bytes (optimizer_moment_dtype (training));
}

guint64
optimizer_block (const TrainingOptions *training, const TensorDesc *tensor)
{
  MatrixShape shape = optimizer_matrices (training, tensor);
  guint64     rows = shape.count > 0 ? shape.rows : 0;

  if (optimizer_tile_side (training) > 0 && is_quantised (training, tensor))
    rows = optimizer_tile_side (training);
  return rows > 0 ? MIN (rows * columns_of (tensor), tensor->elements) : 1;
}

guint64
optimizer_sum (const TrainingOptions *training, OptimizerSum sum, const TensorDesc *tensor)
{
  switch (sum)
    {
    case SUM_TENSORS:
      return 2; /* of the parameters and of their update */
    case SUM_COLUMNS:
      return factored_bytes (training, tensor).each
             / dtype_bytes (training_moment_dtype (training));
    default:
      return 0;
    }
}

/* ---- passes ---------------------------------------------------------------------------------- */

static void
append_pass (GArray *passes, KernelKind kind, const char *name, double read, double written,
             guint launches, OptimizerSum sum)
{
  OptimizerPass pass = { kernel_desc_stream (kind, name, DTYPE_FP32, read, written, launches),
                         sum };

  g_array_append_val (passes, pass);
}

static void
append (GArray *passes, KernelKind kind, const char *name, double read, double written,
        guint launches)
{
  append_pass (passes, kind, name, read, written, launches, SUM_NOTHING);
}

static gboolean
scales_loss (const TrainingOptions *training)
{
  return training->traits.loss_scaling && training->precision == PRECISION_FP16_MIXED;
}

/*
 * As it runs: a framework may fuse what is asked for by lists; those of matrices leave the rest to
 * a fused AdamW.
 */
static OptimizerKind
kind_of (const TrainingOptions *training)
{
  if (training->traits.fused_adam && training->optimizer == OPTIMIZER_ADAMW)
    return OPTIMIZER_ADAMW_FUSED;
  if (optimizer_scope (training) == SCOPE_MATRIX)
    return OPTIMIZER_ADAMW_FUSED;
  return (OptimizerKind) training->optimizer;
}

OptimizerTemporaries
optimizer_temporaries (const TrainingOptions *training, guint gradient_bytes)
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

/* What comes before the update. Bytes of an element of the gradients that it reads. */
static guint
append_clip (const TrainingOptions *training, const OptimizerShare *share, GArray *passes)
{
  guint  each = share->gradient_bytes;
  double m = share->master_bytes * share->elements, g = each * share->elements;

  if (scales_loss (training))
    {
      append (passes, KERNEL_COPY, "optimizer.copy_gradients", g, m, 1);
      append (passes, KERNEL_OPTIMIZER, "optimizer.unscale", m, m, 1);
      each = share->master_bytes;
      g = m;
    }
  if (training->clip_gradients)
    {
      append_pass (passes, KERNEL_REDUCTION, "optimizer.grad_norm", g, 0, 2,
                   SUM_GRADIENT); /* partial norms, their norm */
      append (passes, KERNEL_OPTIMIZER, "optimizer.clip", g, g, 1);
    }
  return each;
}

void
optimizer_passes (const TrainingOptions *training, const OptimizerShare *share, GArray *passes)
{
  OptimizerKind kind = kind_of (training);
  double        n = share->alone, m = share->master_bytes * n, p = share->parameter_bytes * n;
  double        v = dtype_bytes (optimizer_moment_dtype (training)) * n, g;

  if (kind == OPTIMIZER_NONE)
    return;
  g = append_clip (training, share, passes) * n;
  if (n == 0 && share->elements > 0)
    return;
  if (kind == OPTIMIZER_ADAMW_FUSED || kind == OPTIMIZER_ADAMW_8BIT)
    {
      append (passes, KERNEL_OPTIMIZER,
              kind == OPTIMIZER_ADAMW_8BIT ? "optimizer.adamw_8bit" : "optimizer.adamw",
              m + 2 * v + g, m + 2 * v + p, 1);
      return;
    }
  switch (kind)
    {
    case OPTIMIZER_ADAMW:
      append (passes, KERNEL_OPTIMIZER, "optimizer.adamw", 2 * m + 8 * v + 2 * g, 2 * m + 6 * v, 8);
      break;
    case OPTIMIZER_SGD:
      append (passes, KERNEL_OPTIMIZER, "optimizer.sgd", m + g, m, 1);
      break;
    case OPTIMIZER_SGD_MOMENTUM:
      append (passes, KERNEL_OPTIMIZER, "optimizer.sgd_momentum", m + v + g, m + v, 1);
      break;
    case OPTIMIZER_LAMB:
      append (passes, KERNEL_OPTIMIZER, "optimizer.lamb_moments", m + 2 * v + g, m + 2 * v, 1);
      append_pass (passes, KERNEL_REDUCTION, "optimizer.lamb_norms", 2 * m, 0, 2, SUM_TENSORS);
      append (passes, KERNEL_OPTIMIZER, "optimizer.lamb", 2 * m, m, 1);
      break;
    case OPTIMIZER_ADAFACTOR:
      append_pass (passes, KERNEL_REDUCTION, "optimizer.adafactor_means", g, 0, 2, SUM_COLUMNS);
      append (passes, KERNEL_OPTIMIZER, "optimizer.adafactor_update", g, m, 1);
      append_pass (passes, KERNEL_REDUCTION, "optimizer.adafactor_norms", 2 * m, 0, 2, SUM_TENSORS);
      append (passes, KERNEL_OPTIMIZER, "optimizer.adafactor", 2 * m, m, 1);
      break;
    default:
      break;
    }
  if (share->parameter_bytes > 0)
    append (passes, KERNEL_COPY, "optimizer.cast_parameters", m, p, 1);
}
