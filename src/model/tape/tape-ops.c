/*
 * Launches and traffic of each operation as PyTorch runs it. In the comments e is the bytes of the
 * compute type and all traffic is per element. Traffic of values is not spelt out: a kernel reads
 * and writes the values that it names.
 */
#include "model/tape/tape-ops-private.h"

TapeValue
tape_input (Tape *tape, const char *name, double elements, gboolean needs_grad)
{
  g_assert (tape->ops->len == 0);
  return tape_add_value (tape, name, elements, elements * tape->stream_e, needs_grad);
}

/* ---- matrix products ---- */

KernelDesc
tape_product_desc (const Tape *tape, const char *name, guint64 batch, guint64 m, guint64 n,
                   guint64 k, double flops)
{
  return (KernelDesc){ .kind = KERNEL_MATMUL,
                       .name = name,
                       .dtype = tape->dtype,
                       .m = m,
                       .n = n,
                       .k = k,
                       .batch = batch,
                       .flops = flops,
                       .launches = 1,
                       .module = -1 };
}

static void
backward_product (Tape *tape, const TapeOp *op)
{
  const KernelDesc *s = &op->shape;
  TapeValue         grads[2] = { tape_new_grad (tape, op->in[0]), tape_new_grad (tape, op->in[1]) };
  TapeKernel       *kernel;

  tape_gather_again (tape, op->in[1]);
  kernel = tape_push_backward (tape, op,
                               tape_product_desc (tape, tape_join (op->name, ".grad_a"), s->batch,
                                                  s->m, s->k, s->n, s->flops),
                               FALSE, 0, NULL);
  tape_kernel_reads (kernel, op->in[1]);
  tape_kernel_writes (kernel, grads[0]);
  kernel = tape_push_backward (tape, op,
                               tape_product_desc (tape, tape_join (op->name, ".grad_b"), s->batch,
                                                  s->k, s->n, s->m, s->flops),
                               FALSE, 0, NULL);
  tape_kernel_reads (kernel, op->in[0]);
  tape_kernel_writes (kernel, grads[1]);
  tape_give_grads (tape, op, 2, grads);
}

TapeValue
tape_product (Tape *tape, const char *name, TapeValue a, TapeValue b, guint64 batch, guint64 m,
              guint64 n, guint64 k)
{
  TapeValue in[] = { a, b };
  TapeOp   *op = tape_add_op (tape, name, in, 2);
  TapeValue out;

  op->backward = backward_product;
  op->shape = tape_product_desc (tape, name, batch, m, n, k,
                                 2 * (double) batch * (double) m * (double) n * (double) k);
  out = tape_add_output (tape, op, (double) batch * (double) m * (double) n);
  tape_save_piece (tape, a);
  tape_save_piece (tape, b);
  tape_push_forward (tape, op, op->shape, FALSE);
  return out;
}

/* ---- element-wise ---- */

static void
backward_add (Tape *tape, const TapeOp *op)
{
  TapeValue out = tape_grad (tape, op->out[0]), narrow;

  tape_give_grad (tape, op->in[0], out);
  if (tape_tensor (tape, op->in[1])->elements == tape_tensor (tape, op->in[0])->elements)
    {
      tape_give_grad (tape, op->in[1], out);
      return;
    }
  narrow = tape_new_grad (tape, op->in[1]);
  tape_kernel_writes (
      tape_push_backward (tape, op,
                          tape_stream (tape, KERNEL_REDUCTION, tape_backward_name (op), 0, 0, 1),
                          FALSE, 0, NULL),
      narrow);
  tape_give_grad (tape, op->in[1], narrow);
}

TapeValue
tape_add (Tape *tape, const char *name, TapeValue a, TapeValue b)
{
  TapeValue in[] = { a, b };
  TapeOp   *op = tape_add_op (tape, name, in, 2);
  TapeValue out = tape_add_output (tape, op, tape_tensor (tape, a)->elements);

  if (tape->stream_e > tape->e) /* the sum is as wide as the stream, whatever the branch is */
    tape_tensor (tape, out)->bytes = tape_tensor (tape, a)->bytes;
  op->backward = backward_add;
  tape_push_forward (tape, op, tape_stream (tape, KERNEL_ELEMENTWISE, name, 0, 0, 1), TRUE);
  return out;
}

TapeValue
tape_detach (Tape *tape, TapeValue in)
{
  TapeOp     *op = tape_add_op (tape, "detach", &in, 1);
  TapeValue   out = tape_add_output (tape, op, tape_tensor (tape, in)->elements);
  TapeTensor *view = tape_tensor (tape, out);

  view->view_of = (gint) in;
  view->needs_grad = FALSE;
  view->bytes = tape_tensor (tape, in)->bytes;
  tape_tensor (tape, in)->last_use = (gint) tape->ops->len - 2;
  op->frozen = TRUE;
  return out;
}

static void
backward_accumulate (Tape *tape, const TapeOp *op)
{
  TapeValue   grad = tape_grad (tape, op->out[0]);
  TapeTensor *sum = tape_tensor (tape, op->out[0]);

  tape_tensor (tape, op->in[1])->slices = sum->slices; /* the product's gradients come first */
  sum->slices = 0;
  tape_give_grad (tape, op->in[0], grad);
  tape_give_grad (tape, op->in[1], grad);
}

TapeValue
tape_accumulate (Tape *tape, const char *name, TapeValue a, TapeValue product)
{
  TapeValue     in[] = { a, product };
  const TapeOp *made = tape_op (tape, (guint) tape_tensor (tape, product)->producer);
  KernelDesc    shape = made->shape;
  TapeOp       *op = tape_add_op (tape, name, in, 2);

  op->backward = backward_accumulate;
  op->shape = shape;
  tape_tensor (tape, product)->last_use = (gint) tape->ops->len - 2; /* the sum has its memory */
  tape_kernel_reads (&g_array_index (tape->forward, TapeKernel, tape->forward->len - 1), a);
  return tape_add_output (tape, op, tape_tensor (tape, a)->elements);
}

static void
backward_map (Tape *tape, const TapeOp *op)
{
  KernelDesc desc = tape_stream (tape, op->shape.kind, tape_backward_name (op), op->fixed[0],
                                 op->fixed[1], op->launches);
  TapeValue  grads[TAPE_MAX_ARGS];

  tape_push_backward (tape, op, desc, desc.kind == KERNEL_ELEMENTWISE, op->n_in, grads);
  tape_give_grads (tape, op, op->n_in, grads);
}

void
tape_map (Tape *tape, const char *name, const TapeValue *in, guint n_in, const double *out_elements,
          guint n_out, MapSpec spec, TapeValue *out)
{
  TapeOp *op = tape_add_op (tape, name, in, n_in);

  op->backward = backward_map;
  op->shape.kind = spec.kind;
  op->launches = spec.backward_launches;
  op->fixed[0] = spec.backward_read;
  op->fixed[1] = spec.backward_write;
  for (guint i = 0; i < n_out; i++)
    out[i] = tape_add_output (tape, op, out_elements[i]);
  if (spec.forward_launches > 0)
    tape_push_forward (tape, op,
                       tape_stream (tape, spec.kind, name, spec.forward_read, spec.forward_write,
                                    spec.forward_launches),
                       spec.kind == KERNEL_ELEMENTWISE);
  else /* views share the memory of what they view: it is counted with them from here on */
    for (guint i = 0; i < n_in; i++)
      tape_tensor (tape, in[i])->last_use = (gint) tape->ops->len - 2;
}

/* Reads what it kept: the input, or (ReLU) the output. */
static void
backward_activation (Tape *tape, const TapeOp *op)
{
  TapeValue   grads[2];
  KernelDesc  desc = tape_stream (tape, KERNEL_ELEMENTWISE, tape_backward_name (op), op->fixed[0],
                                  op->fixed[1], op->launches);
  TapeKernel *kernel = tape_push_backward (tape, op, desc, TRUE, op->n_in, grads);

  if (tape_tensor (tape, op->in[0])->saved)
    for (guint i = 0; i < op->n_in; i++)
      tape_kernel_reads (kernel, op->in[i]);
  else
    tape_kernel_reads (kernel, op->out[0]);
  tape_give_grads (tape, op, op->n_in, grads);
}

static TapeValue
activation (Tape *tape, const char *name, const TapeValue *in, guint n_in, double elements,
            guint launches, double fixed_read, double fixed_write, TapeOp **made)
{
  TapeOp   *op = tape_add_op (tape, name, in, n_in);
  TapeValue out = tape_add_output (tape, op, elements);

  op->backward = backward_activation;
  tape_push_forward (
      tape, op, tape_stream (tape, KERNEL_ELEMENTWISE, name, fixed_read, fixed_write, launches),
      TRUE);
  *made = op;
  return out;
}

TapeValue
tape_gelu (Tape *tape, const char *name, TapeValue in)
{
  TapeOp   *op;
  TapeValue out = activation (tape, name, &in, 1, tape_tensor (tape, in)->elements, 1, 0, 0, &op);

  tape_save (tape, in);
  return out;
}

TapeValue
tape_relu (Tape *tape, const char *name, TapeValue in)
{
  TapeOp   *op;
  TapeValue out = activation (tape, name, &in, 1, tape_tensor (tape, in)->elements, 1, 0, 0, &op);

  tape_save (tape, out);
  return out;
}

/*
 * Eagerly relu | square: 2 kernels, the first one's result is kept; backwards x^1 | * 2 | * |
 * relu's: 4 kernels, reads 6e, writes 4e.
 */
TapeValue
tape_squared_relu (Tape *tape, const char *name, TapeValue in)
{
  gboolean  fused = tape->training->compile || tape->training->traits.fused_gate;
  double    fixed = fused ? 0 : tape_tensor (tape, in)->bytes;
  TapeOp   *op;
  TapeValue out = activation (tape, name, &in, 1, tape_tensor (tape, in)->elements, fused ? 1 : 2,
                              fixed, fixed, &op);

  op->launches = fused ? 1 : 4;
  op->fixed[0] = 4 * fixed;
  op->fixed[1] = 3 * fixed;
  tape_save (tape, in); /* eagerly as many bytes of what is left of it */
  return out;
}

/* ---- gates whose inputs are kept in fp8 ---- */

/* The inputs of OP as a cast brings them back from the copies that were kept. */
static void
backward_narrow_gate (Tape *tape, const TapeOp *op)
{
  double     wide = tape_tensor (tape, op->in[0])->bytes + tape_tensor (tape, op->in[1])->bytes;
  TapeValue  inputs = tape_add_value (tape, "gate.inputs", wide / tape->e, wide, FALSE), grads[2];
  KernelDesc cast = tape_stream (tape, KERNEL_ELEMENTWISE, tape_join (op->name, ".widen"), 0, 0, 1);
  TapeKernel *kernel = tape_push (tape, tape->backward, cast, TRUE);

  tape_kernel_reads (kernel, op->aux);
  tape_kernel_writes (kernel, inputs);
  kernel = tape_push_backward (tape, op,
                               tape_stream (tape, KERNEL_ELEMENTWISE, tape_backward_name (op),
                                            op->fixed[0], op->fixed[1], op->launches),
                               TRUE, op->n_in, grads);
  tape_kernel_reads (kernel, inputs);
  tape_give_grads (tape, op, op->n_in, grads);
}

/* OP, recorded last, keeps a copy of a byte an element of its inputs, which a cast makes. */
static void
keep_narrow (Tape *tape, TapeOp *op)
{
  const TapeTensor gate = *tape_tensor (tape, op->in[0]), up = *tape_tensor (tape, op->in[1]);
  KernelDesc       cast =
      tape_stream (tape, KERNEL_ELEMENTWISE, tape_join (op->name, ".narrow"), 0, 0, 1);
  TapeKernel *kernel;

  op->backward = backward_narrow_gate;
  op->backward_extra = gate.bytes + up.bytes;
  op->aux = tape_add_aux (tape, "gate.fp8_inputs", gate.elements + up.elements, FALSE);
  kernel = tape_push (tape, tape->forward, cast, TRUE);
  tape_kernel_reads (kernel, op->in[0]);
  tape_kernel_reads (kernel, op->in[1]);
  tape_kernel_writes (kernel, op->aux);
}

/*
 * Eagerly silu (gate), then the product: 2 kernels; backwards two products and silu's: 3 kernels,
 * reads 6e, writes 3e.
 */
TapeValue
tape_gate (Tape *tape, const char *name, TapeValue gate, TapeValue up)
{
  TapeValue in[] = { gate, up };
  gboolean  fused = tape->training->compile || tape->training->traits.fused_gate;
  double    bytes = tape_tensor (tape, gate)->bytes;
  double    fixed = fused ? 0 : bytes;
  TapeOp   *op;
  TapeValue out = activation (tape, name, in, 2, tape_tensor (tape, gate)->elements, fused ? 1 : 2,
                              fixed, fixed, &op);

  op->launches = fused ? 1 : 3;
  op->fixed[0] = 3 * fixed;
  op->fixed[1] = fixed;
  if (tape->training->activation_func_fp8_input_store)
    keep_narrow (tape, op);
  else
    {
      tape_save (tape, gate);
      tape_save (tape, up);
    }
  if (!fused)
    tape_add_aux (tape, "gate.activated", bytes, FALSE);
  return out;
}

/*
 * gpt-oss: gate and up interleaved in one input; clamp both | * alpha | sigmoid | * | + 1 | *: 7
 * kernels, reads 9e, writes 7e per output element; backwards 14 (products 4, sigmoid, alpha, add,
 * clamps 2, strided slices 4, their sum): reads 23e, writes 17e.
 */
TapeValue
tape_clamped_gate (Tape *tape, const char *name, TapeValue gate_up)
{
  gboolean  fused = tape->training->compile;
  double    bytes = tape_tensor (tape, gate_up)->bytes / 2, fixed = fused ? 0 : bytes;
  TapeOp   *op;
  TapeValue out = activation (tape, name, &gate_up, 1, tape_tensor (tape, gate_up)->elements / 2,
                              fused ? 1 : 7, 7 * fixed, 6 * fixed, &op);

  op->launches = fused ? 1 : 14;
  op->fixed[0] = 20 * fixed;
  op->fixed[1] = 15 * fixed;
  tape_save (tape, gate_up);
  if (!fused)
    tape_add_aux (tape, "gate.intermediates", 4 * bytes, FALSE);
  return out;
}

/*
 * Sigmoid of the factors, then a product; backwards two products, of which one is summed over a
 * row, and sigmoid's.
 */
TapeValue
tape_weigh_rows (Tape *tape, const char *name, TapeValue rows, TapeValue factors)
{
  TapeValue in[] = { rows, factors };
  gboolean  fused = tape->training->compile;
  double    narrow = tape_tensor (tape, factors)->bytes;
  double    fixed = fused ? 0 : narrow;
  TapeOp   *op;
  TapeValue out = activation (tape, name, in, 2, tape_tensor (tape, rows)->elements, fused ? 1 : 2,
                              fixed, fixed, &op);

  op->launches = fused ? 1 : 4;
  op->fixed[0] = fused ? 0 : 2 * tape_tensor (tape, rows)->bytes + fixed;
  op->fixed[1] = fused ? 0 : tape_tensor (tape, rows)->bytes + fixed;
  tape_save (tape, rows);
  tape_save (tape, factors);
  return out;
}

/* c * tanh (x / c): 3 kernels of which tanh's result is kept; backwards 3. */
TapeValue
tape_softcap (Tape *tape, const char *name, TapeValue in)
{
  gboolean  fused = tape->training->compile;
  double    bytes = tape_tensor (tape, in)->bytes, fixed = fused ? 0 : 2 * bytes;
  TapeOp   *op;
  TapeValue out = activation (tape, name, &in, 1, tape_tensor (tape, in)->elements, fused ? 1 : 3,
                              fixed, fixed, &op);

  op->launches = fused ? 1 : 3;
  op->fixed[0] = op->fixed[1] = fixed;
  tape_save (tape, out); /* as many bytes as tanh's result, which is out / c */
  return out;
}

static void
backward_dropout (Tape *tape, const TapeOp *op)
{
  TapeValue   grad;
  TapeKernel *kernel = tape_push_backward (
      tape, op, tape_stream (tape, KERNEL_ELEMENTWISE, tape_backward_name (op), 0, 0, 1), TRUE, 1,
      &grad);

  tape_kernel_reads (kernel, op->aux);
  tape_give_grads (tape, op, 1, &grad);
}

TapeValue
tape_dropout (Tape *tape, const char *name, TapeValue in, gboolean recomputed)
{
  TapeOp   *op = tape_add_op (tape, name, &in, 1);
  double    elements = tape_tensor (tape, in)->elements;
  double    kept = recomputed ? 16 : elements; /* seed and offset of the generator, or the mask */
  TapeValue out = tape_add_output (tape, op, elements);

  op->backward = backward_dropout;
  op->aux = tape_add_aux (tape, "dropout.mask", kept, FALSE);
  tape_push_forward (tape, op, tape_stream (tape, KERNEL_ELEMENTWISE, name, 0, kept, 1), TRUE);
  return out;
}

static void
backward_residual (Tape *tape, const TapeOp *op)
{
  TapeValue   out = tape_grad (tape, op->out[0]), branch = tape_new_grad (tape, op->in[1]);
  TapeKernel *kernel =
      tape_push (tape, tape->backward,
                 tape_stream (tape, KERNEL_ELEMENTWISE, tape_backward_name (op), 0, 0, 1), TRUE);

  tape_kernel_reads (kernel, out);
  tape_kernel_reads (kernel, op->aux);
  tape_kernel_writes (kernel, branch);
  tape_give_grad (tape, op->in[0], out);
  tape_give_grad (tape, op->in[1], branch);
}

TapeValue
tape_dropped_residual (Tape *tape, const char *name, TapeValue stream, TapeValue branch)
{
  TapeValue in[] = { stream, branch };
  TapeOp   *op = tape_add_op (tape, name, in, 2);
  double    elements = tape_tensor (tape, branch)->elements;
  TapeValue out = tape_add_output (tape, op, elements);

  op->backward = backward_residual;
  op->aux = tape_add_aux (tape, "dropout.mask", elements, FALSE);
  tape_push_forward (tape, op, tape_stream (tape, KERNEL_ELEMENTWISE, name, 0, elements, 1), TRUE);
  return out;
}
