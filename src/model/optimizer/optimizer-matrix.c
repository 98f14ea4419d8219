/*
 * Products of optimizers that take whole matrices, of r rows and c columns. FLOPs of a step:
 *
 *   muon     k steps of X X^T, A A and B X with s = min (r, c), l = max (r, c), in 16 bits:
 *            k (4 s^2 l + 2 s^3)
 *   shampoo  G G^T and G^T G; the update times both inverse roots: 4 (r^2 c + r c^2); the roots,
 *            25 (r^3 + c^3) each time, of which there is one in precondition_frequency steps. In
 *            fp32, by blocks of at most max_preconditioner_dim rows and columns
 *   soap     the same statistics; the gradient into the eigenbasis and the update out of it:
 *            6 (r^2 c + r c^2); the basis by one power iteration and a QR decomposition,
 *            (2 + 8/3) (r^3 + c^3), as often. A side longer than max_preconditioner_dim keeps its
 *            own basis
 *
 * What products hold on their way, in elements: muon two X and two grams (torch/optim/_muon.py),
 * 2 (r c + s^2) in 16 bits; shampoo a product old and new, or three squares of a decomposition
 * (matrix, vectors, their product), whichever is more; soap four of the matrix' size, or such
 * squares. The last two are estimates.
 *
 * What is done every so many steps is shown as the products of a step that take as many FLOPs on
 * average. Decompositions run at the rate of products here, which they do not reach.
 */
#include "model/optimizer/optimizer.h"

#define ROOT_FLOPS  25.0 /* of an inverse root, times the cube of its side: an estimate */
#define BASIS_FLOPS (2 + 8.0 / 3)

guint64
optimizer_longest_side (const TrainingOptions *training)
{
  if (training->max_preconditioner_dim > 0)
    return (guint64) training->max_preconditioner_dim;
  return training->optimizer == OPTIMIZER_SOAP ? 10000 : 1024;
}

static double
every (const TrainingOptions *training)
{
  if (training->precondition_frequency > 0)
    return (double) training->precondition_frequency;
  return training->optimizer == OPTIMIZER_SOAP ? 10 : 50;
}

static gint64
steps_of (const TrainingOptions *training)
{
  return training->ns_steps > 0 ? training->ns_steps : 5;
}

/* Parts of at most MOST that DIM is cut into, alike but for a rounding. */
static guint64
parts_of (guint64 dim, guint64 most)
{
  return (dim + most - 1) / most;
}

/* Whether a side of DIM has a preconditioner. */
static gboolean
has_side (const TrainingOptions *training, guint64 dim)
{
  return dim <= optimizer_longest_side (training);
}

static MatrixShape
shape_of (const TensorDesc *tensor)
{
  guint64 n = tensor->n_dims > 2 ? tensor->shape[0] : 1;

  return (MatrixShape){ .count = n,
                        .rows = tensor->shape[tensor->n_dims - 2],
                        .columns = tensor->shape[tensor->n_dims - 1],
                        .stack = n };
}

gboolean
optimizer_is_bare (const TrainingOptions *training, const TensorDesc *tensor)
{
  return training->optimizer == OPTIMIZER_SOAP && tensor->matrix
         && !has_side (training, shape_of (tensor).rows)
         && !has_side (training, shape_of (tensor).columns);
}

MatrixShape
optimizer_matrices (const TrainingOptions *training, const TensorDesc *tensor)
{
  MatrixShape shape;
  guint64     down, across;

  if (optimizer_scope (training) != SCOPE_MATRIX || !tensor->matrix
      || optimizer_is_bare (training, tensor))
    return (MatrixShape){ 0 };
  shape = shape_of (tensor);
  if (training->optimizer != OPTIMIZER_SHAMPOO)
    return shape;
  down = parts_of (shape.rows, optimizer_longest_side (training));
  across = parts_of (shape.columns, optimizer_longest_side (training));
  return (MatrixShape){ .count = shape.count * down * across,
                        .rows = parts_of (shape.rows, down),
                        .columns = parts_of (shape.columns, across),
                        .stack = 1 };
}

/*
 * The inner dimension of a product of a SIDE x SIDE matrix that takes as many FLOPs as a
 * decomposition does in a step on average.
 */
static guint64
inner_of (const TrainingOptions *training, guint64 side)
{
  double per_cube = training->optimizer == OPTIMIZER_SOAP ? BASIS_FLOPS : ROOT_FLOPS;

  return (guint64) MAX (per_cube / 2 * (double) side / every (training) + 0.5, 1);
}

static double
side_flops (const TrainingOptions *training, guint64 side, guint64 other)
{
  double products = training->optimizer == OPTIMIZER_SOAP ? 6 : 4, s = (double) side;

  if (!has_side (training, side))
    return 0;
  return products * s * s * (double) other + 2 * s * s * (double) inner_of (training, side);
}

double
optimizer_matrix_flops (const TrainingOptions *training, MatrixShape shape)
{
  double s = (double) MIN (shape.rows, shape.columns), l = (double) MAX (shape.rows, shape.columns);

  if (training->optimizer == OPTIMIZER_MUON)
    return (double) steps_of (training) * (4 * s * s * l + 2 * s * s * s);
  return side_flops (training, shape.rows, shape.columns)
         + side_flops (training, shape.columns, shape.rows);
}

guint64
optimizer_matrix_bytes (const TrainingOptions *training, MatrixShape shape)
{
  guint   wide = dtype_bytes (DTYPE_FP32);
  guint64 sum = 0;

  if (training->optimizer == OPTIMIZER_MUON)
    return 0;
  if (has_side (training, shape.rows))
    sum += 2 * shape.rows * shape.rows * wide;
  if (has_side (training, shape.columns))
    sum += 2 * shape.columns * shape.columns * wide;
  if (training->optimizer == OPTIMIZER_SOAP)
    sum += 2 * shape.rows * shape.columns * dtype_bytes (training_moment_dtype (training));
  return sum;
}

static guint64
longest_square (const TrainingOptions *training, MatrixShape shape)
{
  guint64 rows = has_side (training, shape.rows) ? shape.rows : 0;
  guint64 columns = has_side (training, shape.columns) ? shape.columns : 0;

  return MAX (rows, columns) * MAX (rows, columns);
}

guint64
optimizer_matrix_workspace (const TrainingOptions *training, MatrixShape shape)
{
  guint64 at_once = MIN (shape.count, shape.stack);
  guint64 elements = shape.rows * shape.columns, s = MIN (shape.rows, shape.columns);
  guint64 matrices = training->optimizer == OPTIMIZER_SOAP ? 4 : 2;

  if (training->optimizer == OPTIMIZER_MUON)
    return at_once * 2 * (elements + s * s) * dtype_bytes (DTYPE_BF16);
  return at_once * MAX (matrices * elements, 3 * longest_square (training, shape))
         * dtype_bytes (DTYPE_FP32);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* A tensor's matrices are one kernel's. */
static guint
launches_of (MatrixShape shape)
{
  return (guint) ((shape.count + shape.stack - 1) / shape.stack);
}

/* One for each matrix of SHAPE, of DTYPE: together, or one after another. */
static void
append_product (GArray *kernels, const char *name, Dtype dtype, guint64 m, guint64 n, guint64 k,
                MatrixShape shape)
{
  double     b = (double) shape.count, size = dtype_bytes (dtype);
  KernelDesc kernel = { .kind = KERNEL_MATMUL,
                        .name = name,
                        .dtype = dtype,
                        .m = m,
                        .n = n,
                        .k = k,
                        .batch = shape.count,
                        .streams = shape.stack > 1 ? 0 : 1,
                        .launches = launches_of (shape),
                        .module = -1 };

  kernel.flops = 2.0 * b * (double) m * (double) n * (double) k;
  kernel.read_bytes = b * size * ((double) m * (double) k + (double) k * (double) n);
  kernel.write_bytes = b * size * (double) m * (double) n;
  g_array_append_val (kernels, kernel);
}

/* A pass over elements of SIZE bytes of all matrices, so many times READ and WRITTEN. */
static void
append_pass (GArray *kernels, KernelKind kind, const char *name, Dtype dtype, MatrixShape shape,
             double read, double written)
{
  double     elements = (double) shape.count * (double) shape.rows * (double) shape.columns;
  KernelDesc kernel = kernel_desc_stream (kind, name, dtype, read * elements, written * elements,
                                          launches_of (shape));

  g_array_append_val (kernels, kernel);
}

typedef struct
{
  const char *statistics, *update, *back, *decomposition; /* BACK: NULL if there is none */
} SideNames;

/* Statistics of either side, products with what it has made of them, its decomposition. */
static void
append_sides (const TrainingOptions *training, MatrixShape shape, const SideNames *names,
              GArray *kernels)
{
  for (guint i = 0; i < 2; i++)
    {
      guint64 side = i == 0 ? shape.rows : shape.columns;
      guint64 other = i == 0 ? shape.columns : shape.rows;

      if (!has_side (training, side))
        continue;
      append_product (kernels, names->statistics, DTYPE_FP32, side, side, other, shape);
      append_product (kernels, names->update, DTYPE_FP32, side, other, side, shape);
      if (names->back != NULL)
        append_product (kernels, names->back, DTYPE_FP32, side, other, side, shape);
      append_product (kernels, names->decomposition, DTYPE_FP32, side, side,
                      inner_of (training, side), shape);
    }
}

void
optimizer_matrix_kernels (const TrainingOptions *training, MatrixShape shape, GArray *kernels)
{
  static const SideNames shampoo = { "shampoo.statistics", "shampoo.precondition", NULL,
                                     "shampoo.inverse_root" };
  static const SideNames soap = { "soap.statistics", "soap.project", "soap.project_back",
                                  "soap.basis" };
  double                 moments = 2.0 * dtype_bytes (training_moment_dtype (training));

  if (training->optimizer == OPTIMIZER_MUON)
    {
      guint64 s = MIN (shape.rows, shape.columns), l = MAX (shape.rows, shape.columns);

      /* X = M / |M|, then in each step A = X X^T, B = b A + c A A, X = a X + B X. */
      append_pass (kernels, KERNEL_REDUCTION, "muon.norm", DTYPE_BF16, shape, 2, 0);
      append_pass (kernels, KERNEL_ELEMENTWISE, "muon.scale", DTYPE_BF16, shape, 2, 2);
      for (gint64 i = 0; i < steps_of (training); i++)
        {
          append_product (kernels, "muon.gram", DTYPE_BF16, s, s, l, shape);
          append_product (kernels, "muon.square", DTYPE_BF16, s, s, s, shape);
          append_product (kernels, "muon.update", DTYPE_BF16, s, l, s, shape);
        }
    }
  else if (training->optimizer == OPTIMIZER_SHAMPOO)
    append_sides (training, shape, &shampoo, kernels);
  else
    {
      append_pass (kernels, KERNEL_OPTIMIZER, "soap.adamw", DTYPE_FP32, shape, 4 + moments,
                   4 + moments);
      append_sides (training, shape, &soap, kernels);
    }
}

/* ---- passes before and behind ---------------------------------------------------------------- */

MatrixTraffic
optimizer_matrix_traffic (const TrainingOptions *training, const OptimizerShare *share, guint sent)
{
  double m = share->master_bytes, g = share->gradient_bytes, x = sent;
  double moments = optimizer_moments (training) * dtype_bytes (optimizer_moment_dtype (training));

  return (MatrixTraffic){ .prepare_read = g + moments,
                          .prepare_written = moments + x,
                          .apply_read = m + x,
                          .apply_written = m + share->parameter_bytes };
}

Dtype
optimizer_exchange_dtype (const TrainingOptions *training)
{
  return training->optimizer == OPTIMIZER_MUON && training->matrix_exchange == MATRIX_EXCHANGE_OWNER
             ? DTYPE_BF16
             : training_master_dtype (training);
}
