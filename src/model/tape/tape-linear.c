/*
 * A linear: y = x w, of which a slice may be trained. With slices a rank still multiplies with all
 * of w, forwards and for the gradient of x; the gradient of w has the slice's columns (w divided by
 * outputs) or rows (by inputs, of which it needs no others) alone.
 *
 * Source: Filippova et al., Partial Parameter Updates, arXiv:2509.22418.
 */
#include "model/tape/tape-clipped-private.h"
#include "model/tape/tape-ops-private.h"

/* The gradient of the input, if it wants one. */
static gboolean
backward_input (Tape *tape, const TapeOp *op, TapeValue *grad)
{
  const KernelDesc *s = &op->shape;
  KernelDesc dgrad = tape_product_desc (tape, tape_join (op->name, ".dgrad"), s->batch, s->m, s->k,
                                        s->n, s->flops);

  if (!tape_tensor (tape, op->in[0])->needs_grad)
    return FALSE;
  dgrad.streams = s->streams;
  dgrad.launches = s->launches;
  if (!op->packing.stays)
    tape_unpack (tape, tape->backward, op);
  dgrad.module = op->module;
  if (op->fp8)
    *grad = tape_fp8_backward_input (tape, op, dgrad);
  else
    {
      dgrad.read_bytes = op->weight_bytes;
      tape_push_backward (tape, op, dgrad, FALSE, 1, grad);
    }
  tape_slice_gathered (tape, tape->backward, op->out[0]);
  return TRUE;
}

/* OUT has WIDTH features, of which TRAINED have a bias that is trained. */
static void
push_bias_grad (Tape *tape, const TapeOp *op, TapeValue out, double trained, double width)
{
  KernelDesc  desc = tape_stream (tape, KERNEL_REDUCTION, tape_join (op->name, ".bias_grad"), 0,
                                  op->bias_bytes * trained / width, 1);
  TapeKernel *kernel;

  desc.weight_gradient = TRUE;
  kernel = tape_push (tape, tape->backward, desc, FALSE);
  kernel->share = trained / width;
  tape_kernel_reads (kernel, tape_grad (tape, out));
}

static void
push_weight_grads (Tape *tape, const TapeOp *op)
{
  const KernelDesc *s = &op->shape;
  double share = (double) op->trained_k * (double) op->trained_n / ((double) s->k * (double) s->n);
  KernelDesc wgrad = tape_product_desc (tape, tape_join (op->name, ".wgrad"), s->batch,
                                        op->trained_n, op->trained_k, s->m, s->flops * share);

  wgrad.streams = s->streams;
  wgrad.launches = s->launches;
  wgrad.write_bytes = op->weight_bytes * share;
  wgrad.weight_gradient = TRUE;
  if (share < 1)
    {
      double rows = (double) op->shape.m * (double) op->shape.batch;

      /* Of a slice of the weights: features of either factor that are not its own are not read. */
      wgrad.read_bytes = tape->e * rows * (double) (op->trained_k + op->trained_n);
      wgrad.joins = tape->join_product;
      tape->join_product = FALSE;
      tape_push (tape, tape->backward, wgrad, FALSE);
    }
  else if (op->fp8)
    tape_fp8_backward_weight (tape, op, wgrad);
  else
    {
      wgrad.joins = tape->join_product;
      tape->join_product = FALSE;
      tape_kernel_reads (tape_push_backward (tape, op, wgrad, FALSE, 0, NULL), op->in[0]);
    }
  if (op->bias_bytes > 0)
    push_bias_grad (tape, op, op->out[0], (double) op->trained_n, (double) s->n);
}

/*
 * With y = x w: dx = dy w', dw = x' dy, db = the column sums of dy. Where a group divides w by
 * columns, dx is complete before dw is made, so that its sum over the group can overlap it.
 */
static void
backward_linear (Tape *tape, const TapeOp *op)
{
  const TapeTensor *in = tape_tensor (tape, op->in[0]);
  gboolean          gathered = in->piece >= 0, early = gathered || in->shared, wants;
  TapeValue         grad;

  if (!op->frozen)
    tape_gather_again (tape, op->in[0]);
  wants = backward_input (tape, op, &grad);
  if (wants && early)
    tape_give_grads (tape, op, 1, &grad);
  if (!op->frozen && tape_is_clipped (tape))
    tape_clip_linear (tape, op);
  else if (!op->frozen)
    push_weight_grads (tape, op);
  if (wants && !early)
    tape_give_grads (tape, op, 1, &grad);
}

static void
backward_late_bias (Tape *tape, const TapeOp *op)
{
  if (!op->frozen)
    push_bias_grad (tape, op, op->in[0], 1, 1);
}

void
tape_late_bias (Tape *tape, const char *name, TapeValue value, double width)
{
  TapeOp *op = tape_add_op (tape, name, &value, 1);

  op->backward = backward_late_bias;
  op->bias_bytes = tape->e * width;
}

/* Streams that cuBLAS products of Transformer Engine's GroupedLinear are dealt to. */
#define EXPERT_STREAMS 4

/* Products of experts that are kernels of their own. */
static void
part_experts (const Tape *tape, KernelDesc *product)
{
  const gint how = tape->training->expert_products;

  if (how == EXPERT_PRODUCTS_GROUPED)
    return;
  product->streams = how == EXPERT_PRODUCTS_STREAMS ? EXPERT_STREAMS : 1;
  product->launches = (guint) product->batch;
}

/*
 * The inputs that a trained slice of the weights is multiplied with: a view of what an operation
 * before keeps whole anyway, else a copy, so that the others need not be kept.
 */
static gint
slice_inputs (Tape *tape, const char *name, TapeValue in, const LinearSpec *spec)
{
  double     elements = spec->rows * (double) spec->trained_k;
  KernelDesc desc;
  TapeOp    *op;
  TapeValue  out;

  if (spec->trained_k == 0 || spec->trained_k == spec->k || tape_tensor (tape, in)->saved)
    return -1;
  op = tape_add_op (tape, tape_join (name, ".slice"), &in, 1);
  out = tape_add_output (tape, op, elements);
  desc = tape_stream (tape, KERNEL_COPY, op->name, tape->e * elements, 0, 1);
  tape_kernel_writes (tape_push (tape, tape->forward, desc, FALSE), out);
  return (gint) out;
}

/* What the gradient of the weights of the operation recorded last needs of its input. */
static void
save_input (Tape *tape, const TapeOp *op)
{
  if (op->slice < 0)
    {
      tape_save_piece (tape, op->in[0]);
      return;
    }
  tape_save (tape, (TapeValue) op->slice);
  tape_tensor (tape, (TapeValue) op->slice)->last_use = (gint) tape->ops->len - 1;
}

TapeValue
tape_linear (Tape *tape, const char *name, TapeValue in, LinearSpec spec)
{
  guint64    rows = (guint64) spec.rows, m = (rows + spec.batch - 1) / spec.batch;
  double     flops = 2 * spec.rows * (double) spec.k * (double) spec.n;
  gint       slice = slice_inputs (tape, name, in, &spec);
  TapeOp    *op = tape_add_op (tape, name, &in, 1);
  TapeValue  out;
  KernelDesc desc;

  op->module = spec.module;
  op->backward = backward_linear;
  op->slice = slice;
  op->trained_k = spec.trained_k > 0 ? spec.trained_k : spec.k;
  op->trained_n = spec.trained_n > 0 ? spec.trained_n : spec.n;
  op->shape = tape_product_desc (tape, name, spec.batch, m, spec.n, spec.k, flops);
  if (spec.batch > 1 && !spec.together)
    part_experts (tape, &op->shape);
  if (spec.narrow)
    op->shape.weight_bytes = tape->training->weight_bytes;
  op->weight_bytes = (spec.narrow ? tape->training->weight_bytes : tape->e) * (double) spec.k
                     * (double) spec.n * (double) spec.batch;
  op->bias_bytes = spec.bias ? tape->e * (double) spec.n * (double) spec.batch : 0;
  out = tape_add_output (tape, op, spec.rows * (double) spec.n);
  op->packing = spec.packing;
  if (tape_is_clipped (tape) && !op->frozen)
    {
      op->clipped = (double) spec.k * (double) spec.n + op->bias_bytes / tape->e;
      op->backward_extra = tape_clip_extra (tape, op, (double) spec.k * (double) spec.n);
    }
  if (spec.packing.stays)
    {
      tape_add_aux (tape, "narrow", op->weight_bytes, FALSE);
      tape_unpack (tape, tape->forward, op);
    }
  else if (spec.packing.launches > 0)
    {
      op->backward_extra = op->weight_bytes;
      tape_add_value (tape, "dequantized", 0, op->weight_bytes, FALSE);
      tape_unpack (tape, tape->forward, op);
    }
  if (spec.batch == 1 && tape->n_products++ % 2 == 0)
    tape_list (tape, out);
  desc = op->shape;
  desc.module = spec.module;
  desc.read_bytes = op->bias_bytes;
  if (spec.fp8)
    tape_fp8_forward (tape, op, desc);
  else
    {
      if (!op->frozen)
        save_input (tape, op);
      desc.read_bytes += op->weight_bytes;
      tape_push_forward (tape, op, desc, FALSE);
    }
  tape_slice_gathered (tape, tape->forward, in);
  if (spec.bias && spec.batch > 1) /* grouped products have no bias: added after, in place */
    {
      double      bytes = tape_tensor (tape, out)->bytes;
      TapeKernel *kernel = tape_push (
          tape, tape->forward,
          tape_stream (tape, KERNEL_ELEMENTWISE, tape_join (name, ".bias"), 0, bytes, 1), FALSE);
      tape_kernel_reads (kernel, out);
    }
  return out;
}
