/*
 * Casts of a linear layer's operands to fp8 or fp4. Traffic an element of e bytes; a copy has one
 * byte, or half of one, and its scales:
 *
 *   searched   a pass for the largest value: reads e (eagerly absolute values first: reads e,
 *              writes e), then a kernel for the scale
 *   cast       reads e, writes a copy, in Transformer Engine's kernel both (eagerly scale and clamp
 *              before it: read and write 2e)
 *   row-wise   along rows in one pass; along columns the largest values take a pass of their own
 *   transform  of the columns, where no kernel does that and casts: reads and writes e; then each
 *              direction has a cast of its own
 *   transpose  of a copy that came in fp8: reads and writes one byte
 *
 * Compiled, a search and a row-wise cast are parts of the kernel before, a value that two layers
 * read is cast once, and what a search found in the forward pass is known in the backward pass.
 *
 * Kept for the backward pass: Transformer Engine's recipes keep the columns of the input, torchao's
 * the input as it came, and cast it again. So with the weight; where its copies are cached they are
 * no values of the pass: kernels of the first micro-step make them, and they stay. Weights that
 * come in fp8 (`narrow`) are rows; columns are made of them.
 */
#include "model/tape/tape-fp8-private.h"

#include <math.h>

#include "model/tape/tape-comm-private.h"

/* What is cast: a value, or (`value` is -1) parameters of MODULE. */
typedef struct
{
  const char *name; /* "mlp.up.input" */
  gint        value, module;
  double      rows, width;
  guint       parts;           /* each of which is cast by kernels of its own: experts */
  gboolean    weight_gradient; /* for that product alone */
  gboolean    known;           /* the largest value is */
  gboolean    padded;          /* rows are as many as kernels want: of experts, and of pieces */
} Fp8Source;

static double
elements_of (const Fp8Source *from)
{
  return from->rows * from->width;
}

static double
copy_bytes (const Tape *tape, const Fp8Source *from, gboolean columns)
{
  double rows = columns ? from->width : from->rows, width = columns ? from->rows : from->width;

  if (from->module >= 0)
    rows = ceil (rows / tape->fp8.weight_rows);
  return fp8_element_bytes (&tape->fp8, elements_of (from))
         + fp8_scale_bytes (&tape->fp8, rows, width);
}

/* One kernel does what PyTorch's operations do in several. */
static gboolean
is_fused (const Tape *tape)
{
  return tape->training->compile || tape->fp8.kept;
}

static gboolean
is_cached (const Tape *tape, const Fp8Source *from)
{
  return tape->fp8.cached && from->module >= 0;
}

static gboolean
fuses_with_producer (const Tape *tape, const Fp8Source *from)
{
  return tape->training->compile && !tape->fp8.kept && from->value >= 0;
}

static TapeValue
add_copy (Tape *tape, const Fp8Source *from, gboolean columns)
{
  TapeValue copy = tape_add_value (tape, tape_join (from->name, columns ? ".columns" : ".rows"),
                                   elements_of (from), copy_bytes (tape, from, columns), FALSE);

  tape_tensor (tape, copy)->fp8_rows = (gint) copy;
  tape_tensor (tape, copy)->copy_of = from->value;
  return copy;
}

/* A streaming kernel over FROM with so many passes over its bytes beside the first reading. */
static TapeKernel *
push_pass (Tape *tape, GArray *list, const Fp8Source *from, KernelKind kind, const char *suffix,
           double passes, guint launches, gboolean fusible)
{
  double      bytes = elements_of (from) * tape->e;
  KernelDesc  desc = tape_stream (tape, kind, tape_join (from->name, suffix),
                                  (from->value < 0 ? bytes : 0) + passes * bytes, passes * bytes,
                                  launches * from->parts);
  TapeKernel *kernel;

  desc.module = from->module;
  desc.weight_gradient = from->weight_gradient;
  desc.first_micro_only = is_cached (tape, from);
  kernel = tape_push (tape, list, desc, fusible);
  if (from->value >= 0)
    tape_kernel_reads (kernel, (TapeValue) from->value);
  return kernel;
}

static void
push_search (Tape *tape, GArray *list, const Fp8Source *from, gboolean fusible)
{
  gboolean   fused = is_fused (tape);
  KernelDesc scale = tape_stream (tape, KERNEL_ELEMENTWISE, tape_join (from->name, ".scale"),
                                  4 * from->parts, 4 * from->parts, (fused ? 1 : 4) * from->parts);

  push_pass (tape, list, from, KERNEL_REDUCTION, ".amax", fused ? 0 : 1, fused ? 1 : 2, fusible);
  scale.weight_gradient = from->weight_gradient;
  scale.first_micro_only = is_cached (tape, from);
  tape_push (tape, list, scale, FALSE);
}

/* In one or both directions by one kernel; the copies, of which one may be NULL. */
static void
push_cast (Tape *tape, GArray *list, const Fp8Source *from, TapeValue *rows, TapeValue *columns)
{
  gboolean    fused = is_fused (tape), both = rows != NULL && columns != NULL;
  gboolean    by_row = tape->fp8.granule == FP8_ROW;
  gboolean    fusible = by_row && columns == NULL && fuses_with_producer (tape, from);
  guint       first = list->len;
  TapeKernel *kernel;

  if ((tape->fp8.searched && !from->known) || (by_row && columns != NULL))
    push_search (tape, list, from, !by_row && fuses_with_producer (tape, from));
  if (rows != NULL)
    *rows = add_copy (tape, from, FALSE);
  if (columns != NULL)
    *columns = add_copy (tape, from, TRUE);
  kernel = push_pass (tape, list, from, by_row ? KERNEL_REDUCTION : KERNEL_ELEMENTWISE, ".cast",
                      fused ? 0 : 2, fused ? 1 : 3 + (columns != NULL), fusible);
  if (!fused && both) /* the second copy is made from the first */
    kernel->desc.read_bytes += elements_of (from);
  if (rows != NULL)
    tape_kernel_writes (kernel, *rows);
  if (columns != NULL)
    tape_kernel_writes (kernel, *columns);
  for (guint i = first; i < list->len; i++)
    g_array_index (list, TapeKernel, i).copy = (gint) (columns != NULL ? *columns : *rows);
}

static gboolean
is_transformed_apart (const Tape *tape, const Fp8Source *from)
{
  return tape->fp8.hadamard && from->module < 0
         && !fp8_fuses_hadamard (&tape->fp8, from->padded ? 0 : from->rows, from->width);
}

/* Each direction has a cast; one search, which transforms on its way, finds the scales of both. */
static void
cast_transformed (Tape *tape, GArray *list, const Fp8Source *from, TapeValue *rows,
                  TapeValue *columns)
{
  const guint first = list->len;
  Fp8Source   again = *from;

  push_cast (tape, list, from, rows, NULL);
  push_pass (tape, list, from, KERNEL_ELEMENTWISE, ".hadamard", 0, 1, FALSE)->desc.write_bytes =
      elements_of (from) * tape->e;
  again.known = TRUE;
  push_cast (tape, list, &again, NULL, columns);
  for (guint i = first; i < list->len; i++)
    g_array_index (list, TapeKernel, i).copy = (gint) *columns;
}

/*
 * Row by row and column by column have scales of their own: two casts. Where products take either
 * layout the one copy is both.
 */
static void
cast_both (Tape *tape, GArray *list, const Fp8Source *from, TapeValue *rows, TapeValue *columns)
{
  if (tape->fp8.single && rows != NULL && columns != NULL)
    {
      push_cast (tape, list, from, rows, NULL);
      *columns = *rows;
      return;
    }
  if (rows != NULL && columns != NULL && is_transformed_apart (tape, from))
    {
      cast_transformed (tape, list, from, rows, columns);
      return;
    }
  if (tape->fp8.granule != FP8_ROW || rows == NULL || columns == NULL)
    {
      push_cast (tape, list, from, rows, columns);
      return;
    }
  push_cast (tape, list, from, rows, NULL);
  push_cast (tape, list, from, NULL, columns);
}

/* The columns of what is a copy already. */
static TapeValue
columns_of_copy (Tape *tape, const Fp8Source *from)
{
  TapeValue  columns;
  KernelDesc desc =
      tape_stream (tape, KERNEL_COPY, tape_join (from->name, ".transpose"), 0, 0, from->parts);
  TapeKernel *kernel;

  if (tape->fp8.single)
    return (TapeValue) from->value;
  columns = add_copy (tape, from, TRUE);
  desc.weight_gradient = from->weight_gradient;
  kernel = tape_push (tape, tape->backward, desc, FALSE);
  tape_kernel_reads (kernel, (TapeValue) from->value);
  tape_kernel_writes (kernel, columns);
  return columns;
}

gboolean
tape_is_fp8 (const Tape *tape, TapeValue value)
{
  return tape_tensor (tape, value)->fp8_rows == (gint) value;
}

TapeValue
tape_fp8_piece (Tape *tape, GArray *list, const char *name, TapeValue value, TapeValue *columns)
{
  Fp8Source from = { .name = tape_join (name, ".piece"),
                     .value = (gint) value,
                     .module = -1,
                     .rows = 1,
                     .width = tape_tensor (tape, value)->elements,
                     .parts = 1,
                     .padded = TRUE };
  TapeValue rows;

  push_cast (tape, list, &from, &rows, columns);
  return rows;
}

/* ---- operands of a linear layer ---- */

static double
rows_of (const TapeOp *op)
{
  return op->shape.flops / (2 * (double) op->shape.n * (double) op->shape.k);
}

static Fp8Source
input_of (const TapeOp *op)
{
  return (Fp8Source){ .name = tape_join (op->name, ".input"),
                      .value = (gint) op->in[0],
                      .module = -1,
                      .rows = rows_of (op),
                      .width = (double) op->shape.k,
                      .parts = op->shape.launches,
                      .padded = op->shape.batch > 1 };
}

static Fp8Source
weight_of (const TapeOp *op)
{
  return (Fp8Source){ .name = tape_join (op->name, ".weight"),
                      .value = -1,
                      .module = op->module,
                      .rows = (double) op->shape.n * (double) op->shape.batch,
                      .width = (double) op->shape.k,
                      .parts = op->shape.launches };
}

static Fp8Source
gradient_of (const Tape *tape, const TapeOp *op)
{
  return (Fp8Source){ .name = tape_join (op->name, ".grad"),
                      .value = (gint) tape_grad (tape, op->out[0]),
                      .module = -1,
                      .rows = rows_of (op),
                      .width = (double) op->shape.n,
                      .parts = op->shape.launches,
                      .padded = op->shape.batch > 1 };
}

/* The input's rows; another layer may have cast them, and kept their columns. */
static TapeValue
forward_input (Tape *tape, TapeOp *op)
{
  const TapeValue in = op->in[0];
  Fp8Source       from = input_of (op);
  gboolean        keeps = tape->fp8.kept && !op->frozen;
  TapeTensor     *tensor = tape_tensor (tape, in);
  TapeValue       rows, columns;

  if (tensor->fp8_rows >= 0 && is_fused (tape) && (!keeps || tensor->fp8_columns >= 0))
    {
      tape_tensor (tape, (TapeValue) tensor->fp8_rows)->last_use = (gint) tape->ops->len - 1;
      if (keeps)
        tape_save (tape, (TapeValue) tensor->fp8_columns);
      return (TapeValue) tensor->fp8_rows;
    }
  cast_both (tape, tape->forward, &from, &rows, keeps ? &columns : NULL);
  tape_tensor (tape, in)->fp8_rows = (gint) rows;
  if (keeps)
    {
      tape_tensor (tape, in)->fp8_columns = (gint) columns;
      tape_save (tape, columns);
    }
  return rows;
}

/* What stays of WEIGHT. */
static double
cached_bytes (const Tape *tape, const Fp8Source *weight)
{
  return copy_bytes (tape, weight, FALSE)
         + (tape->fp8.single || tape->fp8.late ? 0 : copy_bytes (tape, weight, TRUE));
}

/*
 * Makes the columns of WEIGHT, of which there are the rows: *COLUMNS, or (NULL) what is no value of
 * the pass.
 */
static void
transpose_weight (Tape *tape, GArray *list, const Fp8Source *weight, TapeValue *columns)
{
  const double bytes = elements_of (weight);
  KernelDesc   desc = tape_stream (tape, KERNEL_COPY, tape_join (weight->name, ".transpose"), bytes,
                                 columns == NULL ? bytes : 0, weight->parts);
  TapeKernel  *kernel;

  desc.module = weight->module;
  desc.first_micro_only = is_cached (tape, weight) && !tape->fp8.late;
  kernel = tape_push (tape, list, desc, FALSE);
  if (columns == NULL)
    return;
  *columns = add_copy (tape, weight, TRUE);
  tape_kernel_writes (kernel, *columns);
}

/* Makes the weight's rows: *ROWS; or, cached, no value: returns what the product reads. */
static double
read_forward_weight (Tape *tape, TapeOp *op, TapeValue *rows)
{
  Fp8Source weight = weight_of (op);

  if (tape->fp8.cached)
    {
      double      bytes = cached_bytes (tape, &weight);
      TapeKernel *kernel;

      if (op->packing.elements > 0)
        { /* one of them, without its scales, is the parameter; none is ever made again */
          tape->cached += bytes - (double) op->packing.values;
          return copy_bytes (tape, &weight, FALSE);
        }
      if (tape->fp8.primary)
        { /* the copies are the parameters: 2 bytes a weight, which are counted as its 16 bits */
          if (!tape->fp8.single && !tape->fp8.late)
            transpose_weight (tape, tape->forward, &weight, NULL);
          return copy_bytes (tape, &weight, FALSE);
        }
      /* Both copies of the weight of OP, made once a step by one kernel. */
      if (tape->fp8.searched)
        push_search (tape, tape->forward, &weight, FALSE);
      kernel = push_pass (tape, tape->forward, &weight, KERNEL_ELEMENTWISE, ".cast", 0, 1, FALSE);
      kernel->desc.write_bytes += bytes;
      tape->cached += bytes;
      return copy_bytes (tape, &weight, FALSE);
    }
  if (tape->fp8.narrow)
    return copy_bytes (tape, &weight, FALSE);
  cast_both (tape, tape->forward, &weight, rows, tape->fp8.kept ? &op->weight_columns : NULL);
  if (tape->fp8.kept)
    tape_save (tape, op->weight_columns);
  return 0;
}

/* The same backwards with its columns. */
static double
read_backward_weight (Tape *tape, const TapeOp *op, TapeValue *columns)
{
  Fp8Source weight = weight_of (op);

  *columns = op->weight_columns;
  weight.known = tape->training->compile;
  if (tape->fp8.late)
    transpose_weight (tape, tape->backward, &weight, NULL);
  if (tape->fp8.cached)
    return copy_bytes (tape, &weight, TRUE);
  if (tape->fp8.narrow)
    transpose_weight (tape, tape->backward, &weight, columns);
  else if (!tape->fp8.kept)
    cast_both (tape, tape->backward, &weight, NULL, columns);
  return 0;
}

/* What the backward pass makes for itself, all of it at most at once. */
static double
backward_copies (const Tape *tape, const TapeOp *op)
{
  double m = rows_of (op), n = (double) op->shape.n, k = (double) op->shape.k;
  double elements = m * n * (op->frozen || tape->fp8.single ? 1 : 2);

  if (!tape->fp8.kept || tape->fp8.late)
    elements += n * k * (double) op->shape.batch;
  if (!op->frozen && !tape->fp8.single && (!tape->fp8.kept || tape_is_fp8 (tape, op->in[0])))
    elements += m * k;
  return fp8_element_bytes (&tape->fp8, elements);
}

/* Where tensors have scales beside their blocks', a kernel multiplies those of both operands. */
static TapeKernel *
push_product (Tape *tape, GArray *list, KernelDesc product)
{
  KernelDesc scale = tape_stream (tape, KERNEL_ELEMENTWISE, tape_join (product.name, ".alpha"),
                                  8 * product.launches, 4 * product.launches, product.launches);

  scale.weight_gradient = product.weight_gradient;
  if (tape->fp8.granule > 0 && tape->fp8.searched)
    tape_push (tape, list, scale, FALSE);
  product.dtype = tape->fp8.dtype;
  return tape_push (tape, list, product, FALSE);
}

void
tape_fp8_forward (Tape *tape, TapeOp *op, KernelDesc product)
{
  const TapeValue in = op->in[0];
  gboolean        gathered = tape_is_fp8 (tape, in);
  TapeValue       input = gathered ? in : forward_input (tape, op), rows = 0;
  double          cached;
  TapeKernel     *kernel;

  op->fp8 = TRUE;
  if (!op->frozen && (gathered || !tape->fp8.kept))
    tape_save_piece (tape, in);
  cached = read_forward_weight (tape, op, &rows);
  op->backward_extra = backward_copies (tape, op);
  kernel = push_product (tape, tape->forward, product);
  tape_kernel_reads (kernel, input);
  kernel->weight_read = cached;
  if (cached == 0)
    tape_kernel_reads (kernel, rows);
  tape_kernel_writes (kernel, op->out[0]);
}

/* The gradient's columns, for the weight, are made here too: by one kernel where that can be. */
TapeValue
tape_fp8_backward_input (Tape *tape, const TapeOp *op, KernelDesc product)
{
  Fp8Source   gradient = gradient_of (tape, op);
  TapeValue   rows = (TapeValue) gradient.value, columns, weights, grad;
  double      cached;
  TapeKernel *kernel;

  if (!tape_is_fp8 (tape, rows))
    {
      cast_both (tape, tape->backward, &gradient, &rows, op->frozen ? NULL : &columns);
      if (!op->frozen)
        tape_tensor (tape, (TapeValue) gradient.value)->fp8_columns = (gint) columns;
    }
  cached = read_backward_weight (tape, op, &weights);
  grad = tape_new_grad (tape, op->in[0]);
  kernel = push_product (tape, tape->backward, product);
  tape_kernel_reads (kernel, rows);
  kernel->weight_read = cached;
  if (cached == 0)
    tape_kernel_reads (kernel, weights);
  tape_kernel_writes (kernel, grad);
  return grad;
}

static TapeValue
backward_gradient (Tape *tape, const TapeOp *op)
{
  Fp8Source  gradient = gradient_of (tape, op);
  const gint made = tape_tensor (tape, (TapeValue) gradient.value)->fp8_columns;
  TapeValue  columns;

  gradient.weight_gradient = TRUE;
  if (made >= 0)
    return (TapeValue) made;
  if (tape_is_fp8 (tape, (TapeValue) gradient.value))
    return columns_of_copy (tape, &gradient);
  cast_both (tape, tape->backward, &gradient, NULL, &columns);
  return columns;
}

static TapeValue
backward_input_columns (Tape *tape, const TapeOp *op)
{
  Fp8Source  input = input_of (op);
  const gint kept = tape_tensor (tape, op->in[0])->fp8_columns;
  TapeValue  columns;

  input.weight_gradient = TRUE;
  input.known = tape->training->compile;
  if (kept >= 0)
    return (TapeValue) kept;
  if (tape_is_fp8 (tape, op->in[0]) && tape->fp8.granule > 0)
    return op->in[0]; /* the copy with the columns' scales was gathered again */
  if (tape_is_fp8 (tape, op->in[0]))
    columns = columns_of_copy (tape, &input);
  else
    cast_both (tape, tape->backward, &input, NULL, &columns);
  if (is_fused (tape))
    tape_tensor (tape, op->in[0])->fp8_columns = (gint) columns;
  return columns;
}

/* The first of its kernels waits for an input that is gathered again. */
void
tape_fp8_backward_weight (Tape *tape, const TapeOp *op, KernelDesc product)
{
  TapeValue   gradient, input;
  TapeKernel *kernel;

  tape->join_next |= tape->join_product;
  tape->join_product = FALSE;
  gradient = backward_gradient (tape, op);
  input = backward_input_columns (tape, op);
  kernel = push_product (tape, tape->backward, product);
  tape_kernel_reads (kernel, gradient);
  tape_kernel_reads (kernel, input);
}
