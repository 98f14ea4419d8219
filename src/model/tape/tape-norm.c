/*
 * Norms of rows. Where ranks divide a row's elements, each sums up its own, and the sums of the
 * group are all-reduced before the kernel that scales: one a row of RMSNorm, two of LayerNorm (mean
 * and mean square), in fp32. The backward pass has as many: of dy w x, and of dy w.
 */
#include "model/tape/tape-clipped-private.h"
#include "model/tape/tape-comm-private.h"
#include "model/tape/tape-ops-private.h"

/* A norm's kernels work on parts of rows, of which there are ROWS. */
static void
divide_rows (TapeOp *op, CommGroup group, double rows, gboolean rms)
{
  op->axis = group.axis;
  op->members = group.members;
  op->statistics = rows * (rms ? 4 : 8);
}

/* The sums of OP's rows over its group: a kernel that reads N values, unless one is there, and the
   all-reduce. */
static void
push_sums (Tape *tape, GArray *list, const TapeOp *op, const char *suffix, const TapeValue *read,
           guint n)
{
  TapeKernel *kernel;

  if (op->members <= 1)
    return;
  if (n > 0)
    {
      kernel = tape_push (
          tape, list,
          tape_stream (tape, KERNEL_REDUCTION, tape_join (op->name, suffix), 0, op->statistics, 1),
          TRUE);
      for (guint i = 0; i < n; i++)
        tape_kernel_reads (kernel, read[i]);
    }
  tape_push (tape, list,
             tape_comm_desc (tape, tape_join (tape_join (op->name, suffix), ".reduce"),
                             COLLECTIVE_ALL_REDUCE, op->axis, op->statistics),
             FALSE);
}

/*
 * The gradients of input and of weight are two kernels; both read the input and the gradient of the
 * output.
 */
static void
backward_fused_norm (Tape *tape, const TapeOp *op)
{
  TapeValue  grad;
  KernelDesc desc =
      tape_stream (tape, KERNEL_REDUCTION, tape_backward_name (op), op->weight_bytes, 0, 1);
  const TapeValue summed[] = { tape_grad (tape, op->out[0]), op->in[0] };
  TapeKernel     *kernel;

  desc.module = op->module;
  push_sums (tape, tape->backward, op, ".backward.sums", summed, G_N_ELEMENTS (summed));
  kernel = tape_push_backward (tape, op, desc, TRUE, 1, &grad);
  tape_kernel_reads (kernel, op->in[0]);
  tape_kernel_reads (kernel, op->aux);
  if (!op->frozen && tape_clip_rows (tape, op, FALSE))
    {
      desc = tape_stream (tape, KERNEL_REDUCTION, tape_join (op->name, ".weight_grad"), 0,
                          op->weight_bytes, 1);
      desc.weight_gradient = TRUE;
      kernel = tape_push_backward (tape, op, desc, FALSE, 0, NULL);
      tape_kernel_reads (kernel, op->in[0]);
      tape_kernel_reads (kernel, op->aux);
    }
  tape_give_grads (tape, op, 1, &grad);
}

/* Two of its kernels reduce: the sum over a row, and that over all rows which is the weight's. */
static void
backward_eager_norm (Tape *tape, const TapeOp *op)
{
  double     n = tape_tensor (tape, op->out[0])->elements;
  guint      sums = op->frozen ? 1 : 2;
  double     summed = (op->frozen ? 4 : 4 + tape->e) * n;
  KernelDesc desc = tape_stream (tape, KERNEL_ELEMENTWISE, tape_backward_name (op),
                                 op->fixed[0] - summed, op->fixed[1], op->launches - sums);
  KernelDesc sum =
      tape_stream (tape, KERNEL_REDUCTION, tape_join (op->name, ".backward.sum"), summed, 0, sums);
  TapeValue grad;

  desc.module = sum.module = op->module;
  tape_push_backward (tape, op, desc, FALSE, 1, &grad);
  tape_push (tape, tape->backward, sum, FALSE);
  push_sums (tape, tape->backward, op, ".backward.sums", NULL, 0);
  if (!op->frozen)
    tape_clip_rows (tape, op, TRUE);
  tape_give_grads (tape, op, 1, &grad);
}

/*
 * The usual RMSNorm module, op by op; 16-bit: to fp32 | x^2 | mean | + eps | rsqrt | x * r | to 16
 * bit | * weight
 *   reads e + 4 + 4 + 4 + 4 + e, writes 4 + 4 + 4 + e + e
 * and backwards: * weight | * normalised, sum | to fp32 | * r | * x, sum | three of r | spread |
 * x^1, * 2, * | add | to 16 bit
 *   reads 5e + 44, writes 3e + 32
 * Of these the mean and the two sums are reductions, the others element-wise (at::rms_norm and what
 * autograd makes of it: ATen/native/layer_norm.cpp, FunctionsManual.cpp). fp32 has none of the
 * casts. A frozen weight has no gradient: the product with the normalised rows
 * and its sum, which read 3e and write e, are not there.
 */
static TapeValue
eager_rms_norm (Tape *tape, const char *name, TapeValue in, gint module, double rows, double width,
                CommGroup group)
{
  gboolean   half = tape->dtype != DTYPE_FP32;
  gboolean   wide = tape_tensor (tape, in)->bytes > tape->e * rows * width; /* fp32 already */
  gboolean   plain = module < 0;
  double     n = rows * width, e = tape->e, weight = plain ? 0 : e * width;
  TapeOp    *op = tape_add_op (tape, name, &in, 1);
  TapeValue  out = tape_add_output (tape, op, n);
  KernelDesc desc, mean;

  op->module = module;
  divide_rows (op, group, rows, TRUE);
  op->frozen = op->frozen || plain;
  op->backward = backward_eager_norm;
  op->weight_bytes = weight;
  op->clipped = width;
  op->launches = half ? 16 : 14;
  op->fixed[0] = (half ? 4 * e + 44 : 52) * n + weight;
  op->fixed[1] = (half ? 2 * e + 32 : 32) * n + weight;
  if (op->frozen)
    {
      op->launches -= 2;
      op->fixed[0] -= 3 * e * n;
      op->fixed[1] -= e * n + weight;
    }
  if (plain) /* no product with it on the way back to the input either */
    {
      op->launches--;
      op->fixed[0] -= e * n;
      op->fixed[1] -= e * n;
    }
  if (half && !wide)
    tape_add_aux (tape, "norm.fp32_input", 4 * n, FALSE);
  else
    tape_save (tape, in);
  if (!op->frozen)
    tape_add_aux (tape, "norm.normalised", e * n, FALSE);
  desc = tape_stream (tape, KERNEL_ELEMENTWISE, name, (half ? e + 12 : 8) * n + weight,
                      (half ? e + 12 : 8) * n, half ? 7 : 5);
  if (plain) /* no product with the weight */
    {
      desc.read_bytes -= e * n;
      desc.write_bytes -= e * n;
      desc.launches--;
    }
  mean = tape_stream (tape, KERNEL_REDUCTION, tape_join (name, ".mean"), 4 * n, 0, 1);
  desc.module = mean.module = module;
  tape_push (tape, tape->forward, mean, FALSE);
  push_sums (tape, tape->forward, op, ".sums", NULL, 0);
  tape_push_forward (tape, op, desc, FALSE);
  return out;
}

TapeValue
tape_divided_norm (Tape *tape, const char *name, TapeValue in, gint module, double rows,
                   double width, ModelNorm norm, CommGroup group)
{
  gboolean   rms = norm == MODEL_NORM_RMS || norm == MODEL_NORM_RMS_PLAIN;
  double     parameters = module < 0 ? 0 : norm == MODEL_NORM_LAYER ? 2 : 1;
  TapeOp    *op;
  TapeValue  out;
  KernelDesc desc;

  if (rms && !tape->training->fused_norm && !tape->training->compile)
    return eager_rms_norm (tape, name, in, module, rows, width, group);

  op = tape_add_op (tape, name, &in, 1);
  op->module = module;
  divide_rows (op, group, rows, rms);
  op->frozen = op->frozen || module < 0;
  op->backward = backward_fused_norm;
  op->weight_bytes = tape->e * width * parameters;
  op->bias_bytes = parameters > 1 ? tape->e * width : 0;
  op->clipped = width * parameters;
  out = tape_add_output (tape, op, rows * width);
  op->aux = tape_add_aux (tape, "norm.statistics", rows * (rms ? 4 : 8), TRUE);
  tape_save (tape, in);
  push_sums (tape, tape->forward, op, ".sums", &in, 1);
  desc = tape_stream (tape, KERNEL_REDUCTION, name, op->weight_bytes,
                      tape_tensor (tape, op->aux)->bytes, 1);
  desc.module = module;
  tape_push_forward (tape, op, desc, TRUE);
  return out;
}

TapeValue
tape_norm (Tape *tape, const char *name, TapeValue in, gint module, double rows, double width,
           ModelNorm norm)
{
  return tape_divided_norm (tape, name, in, module, rows, width, norm,
                            (CommGroup){ .axis = MESH_TENSOR_ROWS, .members = 1 });
}
