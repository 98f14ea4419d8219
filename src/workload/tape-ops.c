/*
 * Launches and traffic of each operation as PyTorch runs it. In the comments e is the bytes of the compute type and all
 * traffic is per element. Traffic of values is not spelt out: a kernel reads and writes the values that it names.
 */
#include "workload/tape-ops.h"

static const char *
backward_name (const TapeOp *op)
{
  return tape_join (op->name, ".backward");
}

/* A backward kernel of OP that reads the gradients of its outputs and writes those of its first N inputs. */
static TapeKernel *
push_backward (Tape *tape, const TapeOp *op, KernelDesc desc, gboolean fusible, guint n, TapeValue *grads)
{
  TapeKernel *kernel;

  for (guint i = 0; i < n; i++)
    grads[i] = tape_new_grad (tape, op->in[i]);
  kernel = tape_push (tape, tape->backward, desc, fusible);
  for (guint i = 0; i < op->n_out; i++)
    tape_kernel_reads (kernel, tape_grad (tape, op->out[i]));
  for (guint i = 0; i < n; i++)
    tape_kernel_writes (kernel, grads[i]);
  return kernel;
}

static void
give_grads (Tape *tape, const TapeOp *op, guint n, const TapeValue *grads)
{
  for (guint i = 0; i < n; i++)
    tape_give_grad (tape, op->in[i], grads[i]);
}

/* Forward kernel of the operation recorded last: reads its inputs and writes its outputs. */
static void
push_forward (Tape *tape, const TapeOp *op, KernelDesc desc, gboolean fusible)
{
  TapeKernel *kernel = tape_push (tape, tape->forward, desc, fusible);

  for (guint i = 0; i < op->n_in; i++)
    tape_kernel_reads (kernel, op->in[i]);
  for (guint i = 0; i < op->n_out; i++)
    tape_kernel_writes (kernel, op->out[i]);
}

TapeValue
tape_input (Tape *tape, const char *name, double elements, gboolean needs_grad)
{
  g_assert (tape->ops->len == 0);
  return tape_add_value (tape, name, elements, elements * tape->e, needs_grad);
}

/* ---- matrix products ---- */

static KernelDesc
product_desc (const Tape *tape, const char *name, guint64 batch, guint64 m, guint64 n, guint64 k, double flops)
{
  return (KernelDesc){ .kind = KERNEL_MATMUL, .name = name, .dtype = tape->dtype, .m = m, .n = n, .k = k,
                       .batch = batch, .flops = flops, .launches = 1, .module = -1 };
}

/* With y = x w: dx = dy w', dw = x' dy, db = the column sums of dy. */
static void
backward_linear (Tape *tape, const TapeOp *op)
{
  const KernelDesc *s = &op->shape;
  KernelDesc        dgrad = product_desc (tape, tape_join (op->name, ".dgrad"), s->batch, s->m, s->k, s->n, s->flops);
  KernelDesc        wgrad = product_desc (tape, tape_join (op->name, ".wgrad"), s->batch, s->n, s->k, s->m, s->flops);
  TapeKernel       *kernel;
  TapeValue         grad;

  if (tape_tensor (tape, op->in[0])->needs_grad)
    {
      dgrad.module = op->module;
      dgrad.read_bytes = op->weight_bytes;
      push_backward (tape, op, dgrad, FALSE, 1, &grad);
    }
  wgrad.write_bytes = op->weight_bytes;
  kernel = push_backward (tape, op, wgrad, FALSE, 0, NULL);
  tape_kernel_reads (kernel, op->in[0]);
  if (op->bias_bytes > 0)
    push_backward (tape, op, tape_stream (tape, KERNEL_REDUCTION, tape_join (op->name, ".bias_grad"), 0, op->bias_bytes, 1),
                   FALSE, 0, NULL);
  if (tape_tensor (tape, op->in[0])->needs_grad)
    give_grads (tape, op, 1, &grad);
}

TapeValue
tape_linear (Tape *tape, const char *name, TapeValue in, LinearSpec spec)
{
  guint64    rows = (guint64) spec.rows, m = (rows + spec.batch - 1) / spec.batch;
  double     flops = 2 * spec.rows * (double) spec.k * (double) spec.n;
  TapeOp    *op = tape_add_op (tape, name, &in, 1);
  TapeValue  out;
  KernelDesc desc;

  op->module = spec.module;
  op->backward = backward_linear;
  op->shape = product_desc (tape, name, spec.batch, m, spec.n, spec.k, flops);
  op->weight_bytes = tape->e * (double) spec.k * (double) spec.n * (double) spec.batch;
  op->bias_bytes = spec.bias ? tape->e * (double) spec.n * (double) spec.batch : 0;
  out = tape_add_output (tape, op, spec.rows * (double) spec.n);
  tape_save (tape, in);
  desc = op->shape;
  desc.module = spec.module;
  desc.read_bytes = op->weight_bytes + op->bias_bytes;
  push_forward (tape, op, desc, FALSE);
  if (spec.bias && spec.batch > 1) /* grouped products have no bias: it is added after them, in place */
    {
      double      bytes = tape_tensor (tape, out)->bytes;
      TapeKernel *kernel = tape_push (tape, tape->forward,
                                      tape_stream (tape, KERNEL_ELEMENTWISE, tape_join (name, ".bias"), 0, bytes, 1), FALSE);
      tape_kernel_reads (kernel, out);
    }
  return out;
}

static void
backward_product (Tape *tape, const TapeOp *op)
{
  const KernelDesc *s = &op->shape;
  TapeValue         grads[2] = { tape_new_grad (tape, op->in[0]), tape_new_grad (tape, op->in[1]) };
  TapeKernel       *kernel;

  kernel = push_backward (tape, op, product_desc (tape, tape_join (op->name, ".grad_a"), s->batch, s->m, s->k, s->n, s->flops),
                          FALSE, 0, NULL);
  tape_kernel_reads (kernel, op->in[1]);
  tape_kernel_writes (kernel, grads[0]);
  kernel = push_backward (tape, op, product_desc (tape, tape_join (op->name, ".grad_b"), s->batch, s->k, s->n, s->m, s->flops),
                          FALSE, 0, NULL);
  tape_kernel_reads (kernel, op->in[0]);
  tape_kernel_writes (kernel, grads[1]);
  give_grads (tape, op, 2, grads);
}

TapeValue
tape_product (Tape *tape, const char *name, TapeValue a, TapeValue b, guint64 batch, guint64 m, guint64 n, guint64 k)
{
  TapeValue in[] = { a, b };
  TapeOp   *op = tape_add_op (tape, name, in, 2);
  TapeValue out;

  op->backward = backward_product;
  op->shape = product_desc (tape, name, batch, m, n, k, 2 * (double) batch * (double) m * (double) n * (double) k);
  out = tape_add_output (tape, op, (double) batch * (double) m * (double) n);
  tape_save (tape, a);
  tape_save (tape, b);
  push_forward (tape, op, op->shape, FALSE);
  return out;
}

/* ---- norms ---- */

/* The gradients of input and of weight are two kernels; both read the input and the gradient of the output. */
static void
backward_fused_norm (Tape *tape, const TapeOp *op)
{
  TapeValue   grad;
  KernelDesc  desc = tape_stream (tape, KERNEL_REDUCTION, backward_name (op), op->weight_bytes, 0, 1);
  TapeKernel *kernel;

  desc.module = op->module;
  kernel = push_backward (tape, op, desc, TRUE, 1, &grad);
  tape_kernel_reads (kernel, op->in[0]);
  tape_kernel_reads (kernel, op->aux);
  desc = tape_stream (tape, KERNEL_REDUCTION, tape_join (op->name, ".weight_grad"), 0, op->weight_bytes, 1);
  kernel = push_backward (tape, op, desc, FALSE, 0, NULL);
  tape_kernel_reads (kernel, op->in[0]);
  tape_kernel_reads (kernel, op->aux);
  give_grads (tape, op, 1, &grad);
}

static void
backward_eager_norm (Tape *tape, const TapeOp *op)
{
  KernelDesc desc = tape_stream (tape, KERNEL_REDUCTION, backward_name (op), op->fixed[0], op->fixed[1], op->launches);
  TapeValue  grad;

  desc.module = op->module;
  push_backward (tape, op, desc, FALSE, 1, &grad);
  give_grads (tape, op, 1, &grad);
}

/*
 * The usual RMSNorm module, op by op; 16-bit: to fp32 | x^2 | mean | + eps | rsqrt | x * r | to 16 bit | * weight
 *   reads e + 4 + 4 + 4 + 4 + e, writes 4 + 4 + 4 + e + e
 * and backwards: * weight | * normalised, sum | to fp32 | * r | * x, sum | three of r | spread | x^1, * 2, * | add | to 16 bit
 *   reads 5e + 44, writes 3e + 32
 * fp32 has none of the casts.
 */
static TapeValue
eager_rms_norm (Tape *tape, const char *name, TapeValue in, gint module, double rows, double width)
{
  gboolean  half = tape->dtype != DTYPE_FP32;
  double    n = rows * width, e = tape->e, weight = e * width;
  TapeOp   *op = tape_add_op (tape, name, &in, 1);
  TapeValue out = tape_add_output (tape, op, n);
  KernelDesc desc;

  op->module = module;
  op->backward = backward_eager_norm;
  op->weight_bytes = weight;
  op->launches = half ? 16 : 14;
  op->fixed[0] = (half ? 4 * e + 44 : 52) * n + weight;
  op->fixed[1] = (half ? 2 * e + 32 : 32) * n + weight;
  if (half)
    tape_add_aux (tape, "norm.fp32_input", 4 * n, FALSE);
  else
    tape_save (tape, in);
  tape_add_aux (tape, "norm.normalised", e * n, FALSE);
  desc = tape_stream (tape, KERNEL_REDUCTION, name, (half ? e + 16 : 12) * n + weight, (half ? e + 12 : 8) * n, half ? 8 : 6);
  desc.module = module;
  push_forward (tape, op, desc, FALSE);
  return out;
}

TapeValue
tape_norm (Tape *tape, const char *name, TapeValue in, gint module, double rows, double width, ModelNorm norm)
{
  double     parameters = norm == MODEL_NORM_LAYER ? 2 : 1;
  TapeOp    *op;
  TapeValue  out;
  KernelDesc desc;

  if (norm == MODEL_NORM_RMS && !tape->training->fused_norm && !tape->training->compile)
    return eager_rms_norm (tape, name, in, module, rows, width);

  op = tape_add_op (tape, name, &in, 1);
  op->module = module;
  op->backward = backward_fused_norm;
  op->weight_bytes = tape->e * width * parameters;
  out = tape_add_output (tape, op, rows * width);
  op->aux = tape_add_aux (tape, "norm.statistics", rows * (norm == MODEL_NORM_RMS ? 4 : 8), TRUE);
  tape_save (tape, in);
  desc = tape_stream (tape, KERNEL_REDUCTION, name, op->weight_bytes, tape_tensor (tape, op->aux)->bytes, 1);
  desc.module = module;
  push_forward (tape, op, desc, TRUE);
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
  tape_kernel_writes (push_backward (tape, op, tape_stream (tape, KERNEL_REDUCTION, backward_name (op), 0, 0, 1), FALSE, 0, NULL),
                      narrow);
  tape_give_grad (tape, op->in[1], narrow);
}

TapeValue
tape_add (Tape *tape, const char *name, TapeValue a, TapeValue b)
{
  TapeValue in[] = { a, b };
  TapeOp   *op = tape_add_op (tape, name, in, 2);
  TapeValue out = tape_add_output (tape, op, tape_tensor (tape, a)->elements);

  op->backward = backward_add;
  push_forward (tape, op, tape_stream (tape, KERNEL_ELEMENTWISE, name, 0, 0, 1), TRUE);
  return out;
}

static void
backward_map (Tape *tape, const TapeOp *op)
{
  KernelDesc desc = tape_stream (tape, op->shape.kind, backward_name (op), op->fixed[0], op->fixed[1], op->launches);
  TapeValue  grads[TAPE_MAX_ARGS];

  push_backward (tape, op, desc, desc.kind == KERNEL_ELEMENTWISE, op->n_in, grads);
  give_grads (tape, op, op->n_in, grads);
}

void
tape_map (Tape *tape, const char *name, const TapeValue *in, guint n_in, const double *out_elements, guint n_out,
          MapSpec spec, TapeValue *out)
{
  TapeOp *op = tape_add_op (tape, name, in, n_in);

  op->backward = backward_map;
  op->shape.kind = spec.kind;
  op->launches = spec.backward_launches;
  op->fixed[0] = op->fixed[1] = spec.backward_fixed;
  for (guint i = 0; i < n_out; i++)
    out[i] = tape_add_output (tape, op, out_elements[i]);
  if (spec.forward_launches > 0)
    push_forward (tape, op,
                  tape_stream (tape, spec.kind, name, spec.forward_fixed, spec.forward_fixed, spec.forward_launches),
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
  KernelDesc  desc = tape_stream (tape, KERNEL_ELEMENTWISE, backward_name (op), op->fixed[0], op->fixed[1], op->launches);
  TapeKernel *kernel = push_backward (tape, op, desc, TRUE, op->n_in, grads);

  if (tape_tensor (tape, op->in[0])->saved)
    for (guint i = 0; i < op->n_in; i++)
      tape_kernel_reads (kernel, op->in[i]);
  else
    tape_kernel_reads (kernel, op->out[0]);
  give_grads (tape, op, op->n_in, grads);
}

static TapeValue
activation (Tape *tape, const char *name, const TapeValue *in, guint n_in, double elements, guint launches,
            double fixed_read, double fixed_write, TapeOp **made)
{
  TapeOp   *op = tape_add_op (tape, name, in, n_in);
  TapeValue out = tape_add_output (tape, op, elements);

  op->backward = backward_activation;
  push_forward (tape, op, tape_stream (tape, KERNEL_ELEMENTWISE, name, fixed_read, fixed_write, launches), TRUE);
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

/* Eagerly silu (gate), then the product: 2 kernels; backwards two products and silu's: 3 kernels, reads 6e, writes 3e. */
TapeValue
tape_gate (Tape *tape, const char *name, TapeValue gate, TapeValue up)
{
  TapeValue in[] = { gate, up };
  gboolean  fused = tape->training->compile;
  double    bytes = tape_tensor (tape, gate)->bytes;
  double    fixed = fused ? 0 : bytes;
  TapeOp   *op;
  TapeValue out = activation (tape, name, in, 2, tape_tensor (tape, gate)->elements, fused ? 1 : 2, fixed, fixed, &op);

  op->launches = fused ? 1 : 3;
  op->fixed[0] = 3 * fixed;
  op->fixed[1] = fixed;
  tape_save (tape, gate);
  tape_save (tape, up);
  if (!fused)
    tape_add_aux (tape, "gate.activated", bytes, FALSE);
  return out;
}

/*
 * gpt-oss: gate and up interleaved in one input; clamp both | * alpha | sigmoid | * | + 1 | *: 7 kernels, reads 9e, writes 7e per
 * output element; backwards 14 (products 4, sigmoid, alpha, add, clamps 2, strided slices 4, their sum): reads 23e, writes 17e.
 */
TapeValue
tape_clamped_gate (Tape *tape, const char *name, TapeValue gate_up)
{
  gboolean  fused = tape->training->compile;
  double    bytes = tape_tensor (tape, gate_up)->bytes / 2, fixed = fused ? 0 : bytes;
  TapeOp   *op;
  TapeValue out = activation (tape, name, &gate_up, 1, tape_tensor (tape, gate_up)->elements / 2, fused ? 1 : 7,
                              7 * fixed, 6 * fixed, &op);

  op->launches = fused ? 1 : 14;
  op->fixed[0] = 20 * fixed;
  op->fixed[1] = 15 * fixed;
  tape_save (tape, gate_up);
  if (!fused)
    tape_add_aux (tape, "gate.intermediates", 4 * bytes, FALSE);
  return out;
}

static void
backward_dropout (Tape *tape, const TapeOp *op)
{
  TapeValue   grad;
  TapeKernel *kernel = push_backward (tape, op, tape_stream (tape, KERNEL_ELEMENTWISE, backward_name (op), 0, 0, 1), TRUE, 1, &grad);

  tape_kernel_reads (kernel, op->aux);
  give_grads (tape, op, 1, &grad);
}

TapeValue
tape_dropout (Tape *tape, const char *name, TapeValue in)
{
  TapeOp   *op = tape_add_op (tape, name, &in, 1);
  double    elements = tape_tensor (tape, in)->elements;
  TapeValue out = tape_add_output (tape, op, elements);

  op->backward = backward_dropout;
  op->aux = tape_add_aux (tape, "dropout.mask", elements, FALSE);
  push_forward (tape, op, tape_stream (tape, KERNEL_ELEMENTWISE, name, 0, elements, 1), TRUE);
  return out;
}

/* ---- attention ---- */

/*
 * FlashAttention-2's backward: row sums of o * do (which also clears the fp32 accumulator of dq), the main kernel (scores again, dv, dp, dq,
 * dk: 3 products of the query width and 2 of the value width), the cast of dq; with grouped queries dk and dv are made for
 * each query head and summed. Source: arXiv:2307.08691, algorithm 2, and its implementation.
 */
static void
backward_flash (Tape *tape, const TapeOp *op)
{
  double      q_elements = tape_tensor (tape, op->in[0])->elements, o_bytes = tape_tensor (tape, op->out[0])->bytes;
  double      expanded = op->fixed[0], row_bytes = tape_tensor (tape, op->aux)->bytes;
  KernelDesc  main = op->shape;
  TapeValue   grads[3];
  TapeKernel *kernel;

  kernel = push_backward (tape, op, tape_stream (tape, KERNEL_REDUCTION, "flash_bwd.row_sums", 0, row_bytes + 4 * q_elements, 1),
                          FALSE, 0, NULL);
  tape_kernel_reads (kernel, op->out[0]);
  main.kind = KERNEL_ATTENTION_BACKWARD;
  main.name = tape->training->attention == ATTENTION_FLASH1 ? "flash1_bwd" : "flash_bwd";
  main.flops = op->fixed[1];
  main.read_bytes = 2 * row_bytes + 4 * q_elements;
  main.write_bytes = 4 * q_elements + expanded;
  kernel = push_backward (tape, op, main, FALSE, 0, NULL);
  for (guint i = 0; i < 3; i++)
    {
      grads[i] = tape_new_grad (tape, op->in[i]);
      tape_kernel_reads (kernel, op->in[i]);
    }
  kernel = tape_push (tape, tape->backward, tape_stream (tape, KERNEL_COPY, "flash_bwd.cast_dq", 4 * q_elements, 0, 1), FALSE);
  tape_kernel_writes (kernel, grads[0]);
  if (tape_tensor (tape, op->in[2])->elements < o_bytes / tape->e)
    {
      kernel = tape_push (tape, tape->backward, tape_stream (tape, KERNEL_REDUCTION, "flash_bwd.sum_groups", expanded, 0, 2), FALSE);
      tape_kernel_writes (kernel, grads[1]);
      tape_kernel_writes (kernel, grads[2]);
    }
  if (op->module >= 0)
    {
      KernelDesc desc = tape_stream (tape, KERNEL_REDUCTION, "flash_bwd.sinks", 2 * row_bytes, 0, 1);
      desc.module = op->module;
      tape_push (tape, tape->backward, desc, FALSE);
    }
  give_grads (tape, op, 3, grads);
}

TapeValue
tape_flash_attention (Tape *tape, TapeValue q, TapeValue k, TapeValue v, AttentionSpec spec)
{
  TapeValue  in[] = { q, k, v };
  TapeOp    *op = tape_add_op (tape, tape->training->attention == ATTENTION_FLASH1 ? "flash1_fwd" : "flash_fwd", in, 3);
  double     rows = spec.sequences * spec.seq_len, heads = (double) spec.heads;
  double     qk = (double) spec.qk_dim, vd = (double) spec.v_dim, per_dim = 2 * spec.pairs * spec.sequences * heads;
  double     expanded = tape->e * rows * heads * (qk + vd);
  TapeValue  out = tape_add_output (tape, op, rows * heads * vd);
  KernelDesc desc = { .kind = KERNEL_ATTENTION, .name = op->name, .dtype = tape->dtype, .m = (guint64) spec.seq_len,
                      .n = (guint64) spec.seq_len, .k = spec.qk_dim, .batch = (guint64) spec.sequences * spec.heads,
                      .flops = per_dim * (qk + vd), .launches = 1, .module = spec.sinks_module };

  op->backward = backward_flash;
  op->module = spec.sinks_module;
  op->shape = desc;
  op->fixed[0] = expanded;                      /* dk and dv for each query head */
  op->fixed[1] = per_dim * (3 * qk + 2 * vd);
  op->backward_extra = 4 * rows * heads * qk + (spec.kv_heads < spec.heads ? expanded : 0);
  op->aux = tape_add_aux (tape, "flash.log_sum_exp", 4 * rows * heads, TRUE);
  tape_save (tape, q);
  tape_save (tape, k);
  tape_save (tape, v);
  tape_save (tape, out);
  desc.write_bytes = 4 * rows * heads;
  push_forward (tape, op, desc, FALSE);
  return out;
}

static void
backward_softmax (Tape *tape, const TapeOp *op)
{
  KernelDesc  desc = tape_stream (tape, KERNEL_REDUCTION, backward_name (op), op->fixed[0], op->fixed[1], op->launches);
  TapeValue   grad;
  TapeKernel *kernel = push_backward (tape, op, desc, TRUE, 1, &grad);

  tape_kernel_reads (kernel, op->aux);
  give_grads (tape, op, 1, &grad);
}

/*
 * Eagerly scale | + mask | softmax to fp32 | to 16 bit: reads 3e + 4, writes 3e + 4; backwards to fp32 | softmax | scale: reads 2e + 8,
 * writes 2e + 4. fp32 has no casts. Fused (one kernel, as compilers and Megatron make it): reads and writes e, backwards reads 2e.
 */
TapeValue
tape_softmax (Tape *tape, const char *name, TapeValue scores, gboolean eager)
{
  double    n = tape_tensor (tape, scores)->elements, e = tape->e;
  gboolean  half = tape->dtype != DTYPE_FP32;
  TapeOp   *op = tape_add_op (tape, name, &scores, 1);
  TapeValue out = tape_add_output (tape, op, n);
  double    fixed = 0;

  op->backward = backward_softmax;
  if (eager && half)
    {
      fixed = (2 * e + 4) * n;
      op->aux = tape_add_aux (tape, "softmax.fp32", 4 * n, FALSE);
    }
  else
    {
      fixed = eager ? 2 * e * n : 0;
      op->aux = out;
      tape_save (tape, out);
    }
  if (eager)
    {
      op->launches = half ? 3 : 2;
      op->fixed[0] = op->fixed[1] = (half ? e + 4 : 4) * n;
    }
  push_forward (tape, op, tape_stream (tape, KERNEL_REDUCTION, name, fixed, fixed, eager ? (half ? 4 : 3) : 1), TRUE);
  return out;
}

/* ---- experts ---- */

static void
backward_route (Tape *tape, const TapeOp *op)
{
  KernelDesc  desc = tape_stream (tape, KERNEL_REDUCTION, backward_name (op), 0, 0, op->launches);
  TapeValue   grad;
  TapeKernel *kernel = push_backward (tape, op, desc, FALSE, 1, &grad);

  tape_kernel_reads (kernel, op->aux);
  give_grads (tape, op, 1, &grad);
}

TapeValue
tape_route (Tape *tape, const char *name, TapeValue logits, RouteSpec spec)
{
  double    scores = 4 * spec.tokens * spec.experts, ids = 8 * spec.tokens * spec.chosen;
  TapeOp   *op = tape_add_op (tape, name, &logits, 1);
  TapeValue out = tape_add_output (tape, op, spec.tokens * spec.chosen);

  op->backward = backward_route;
  op->launches = spec.backward_launches;
  op->aux = tape_add_aux (tape, "router.probabilities", spec.score_writes > 0 ? scores : scores / spec.experts * spec.chosen, FALSE);
  tape_add_aux (tape, "router.chosen", ids, FALSE);
  push_forward (tape, op,
                tape_stream (tape, KERNEL_REDUCTION, name, spec.score_reads * scores, spec.score_writes * scores + ids,
                             spec.forward_launches),
                FALSE);
  return out;
}

static void
backward_combine (Tape *tape, const TapeOp *op)
{
  KernelDesc  desc = tape_stream (tape, KERNEL_GATHER, backward_name (op), op->fixed[0], op->fixed[1], op->launches);
  TapeValue   grads[2];
  TapeKernel *kernel = push_backward (tape, op, desc, FALSE, 2, grads);

  tape_kernel_reads (kernel, op->in[0]);
  tape_kernel_reads (kernel, op->in[1]);
  give_grads (tape, op, 2, grads);
}

/* Eagerly weight | clear | index_add: 3 kernels; backwards gather | * weights | * rows, sum: 4. */
TapeValue
tape_combine (Tape *tape, const char *name, TapeValue expert_rows, TapeValue weights, double out_elements)
{
  TapeValue in[] = { expert_rows, weights };
  gboolean  fused = tape->training->compile;
  double    rows_bytes = tape_tensor (tape, expert_rows)->bytes, out_bytes = out_elements * tape->e;
  TapeOp   *op = tape_add_op (tape, name, in, 2);
  TapeValue out = tape_add_output (tape, op, out_elements);

  op->backward = backward_combine;
  op->launches = fused ? 1 : 4;
  op->fixed[0] = rows_bytes - out_bytes + (fused ? 0 : 3 * rows_bytes);
  op->fixed[1] = fused ? 0 : 2 * rows_bytes;
  tape_save (tape, expert_rows);
  tape_save (tape, weights);
  push_forward (tape, op,
                tape_stream (tape, KERNEL_GATHER, name, fused ? 0 : rows_bytes, fused ? 0 : rows_bytes + out_bytes,
                             fused ? 1 : 3),
                FALSE);
  return out;
}

/* ---- embedding and loss ---- */

/* Above this many ids the backward pass sorts them first. Source: PyTorch, ATen/native/cuda/Embedding.cu. */
#define EMBEDDING_SORTED_IDS 3072

/* The dense gradient of the table is cleared, then rows are added to it; op->fixed: bytes of the table and of the written rows. */
static void
backward_embed (Tape *tape, const TapeOp *op)
{
  KernelDesc clear = tape_stream (tape, KERNEL_ELEMENTWISE, tape_join (op->name, ".clear_grad"), 0, op->fixed[0], 1);
  KernelDesc scatter = tape_stream (tape, KERNEL_GATHER, tape_join (op->name, ".scatter"), tape_tensor (tape, op->aux)->bytes,
                                    op->fixed[1], op->launches);

  tape_push (tape, tape->backward, clear, FALSE);
  scatter.module = op->module;
  push_backward (tape, op, scatter, FALSE, 0, NULL);
}

TapeValue
tape_embed (Tape *tape, const char *name, gint module, double count, double width, double vocab)
{
  TapeOp    *op = tape_add_op (tape, name, NULL, 0);
  TapeValue  out = tape_add_output (tape, op, count * width);
  KernelDesc desc;

  op->backward = backward_embed;
  op->module = module;
  op->launches = count > EMBEDDING_SORTED_IDS ? 7 : 1;
  op->fixed[0] = tape->e * width * vocab;
  op->fixed[1] = tape->e * width * MIN (count, vocab);
  op->aux = tape_add_aux (tape, "embed.ids", 8 * count, FALSE);
  desc = tape_stream (tape, KERNEL_GATHER, name, tape->e * count * width + 8 * count, 0, 1);
  desc.module = module;
  push_forward (tape, op, desc, FALSE);
  return out;
}

/* Eagerly: nll (clear, scatter) | log-softmax | to 16 bit. Compiled: one kernel from the logits and the row statistics. */
static void
backward_loss (Tape *tape, const TapeOp *op)
{
  double      wide = tape_tensor (tape, op->in[0])->elements * 4;
  gboolean    half = tape->dtype != DTYPE_FP32;
  TapeValue   grad = tape_new_grad (tape, op->in[0]);
  TapeKernel *kernel;

  if (tape->training->compile)
    {
      kernel = tape_push (tape, tape->backward, tape_stream (tape, KERNEL_REDUCTION, "loss.backward", 0, 0, 1), FALSE);
      tape_kernel_reads (kernel, op->in[0]);
      tape_kernel_writes (kernel, grad);
      tape_give_grad (tape, op->in[0], grad);
      return;
    }
  tape_push (tape, tape->backward, tape_stream (tape, KERNEL_ELEMENTWISE, "loss.nll.backward", 0, wide, 2), FALSE);
  kernel = tape_push (tape, tape->backward,
                      tape_stream (tape, KERNEL_REDUCTION, "loss.log_softmax.backward", wide, half ? wide : 0, 1), FALSE);
  tape_kernel_reads (kernel, op->aux);
  if (half)
    kernel = tape_push (tape, tape->backward, tape_stream (tape, KERNEL_COPY, "loss.cast.backward", wide, 0, 1), FALSE);
  tape_kernel_writes (kernel, grad);
  tape_give_grad (tape, op->in[0], grad);
}

/* Forward: to fp32 | log-softmax | nll, mean. Compiled: the rows' maximum and sum (two passes), then the loss. */
TapeValue
tape_loss (Tape *tape, TapeValue logits, double tokens, double vocab)
{
  gboolean  half = tape->dtype != DTYPE_FP32;
  double    wide = 4 * tokens * vocab;
  TapeOp   *op = tape_add_op (tape, "loss", &logits, 1);
  TapeValue out = tape_add_output (tape, op, 1);

  op->backward = backward_loss;
  if (tape->training->compile)
    {
      tape_save (tape, logits);
      op->aux = tape_add_aux (tape, "loss.statistics", 8 * tokens, TRUE);
      push_forward (tape, op,
                    tape_stream (tape, KERNEL_REDUCTION, "loss.log_softmax", tape_tensor (tape, logits)->bytes, 8 * tokens, 1), FALSE);
      tape_push (tape, tape->forward, tape_stream (tape, KERNEL_REDUCTION, "loss.nll", 16 * tokens, 0, 1), FALSE);
      return out;
    }
  op->aux = tape_add_aux (tape, "loss.log_probabilities", wide, FALSE);
  if (half)
    tape_add_value (tape, "loss.fp32_logits", tokens * vocab, wide, FALSE);
  /* both gradients are wide while the second is made; the cast one comes later and is already counted by the engine of the tape */
  op->backward_extra = 2 * wide - tape->e * tokens * vocab;
  if (half)
    push_forward (tape, op, tape_stream (tape, KERNEL_ELEMENTWISE, "loss.cast", 0, wide, 1), FALSE);
  tape_push (tape, tape->forward, tape_stream (tape, KERNEL_REDUCTION, "loss.log_softmax", wide, wide, 1), FALSE);
  tape_push (tape, tape->forward, tape_stream (tape, KERNEL_REDUCTION, "loss.nll", 4 * tokens + 8 * tokens, 0, 2), FALSE);
  return out;
}
