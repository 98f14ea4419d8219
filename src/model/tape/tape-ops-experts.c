/*
 * What brings tokens to experts and back, beside the collectives; see tape-ops.c for how costs are
 * written down. By maps: Megatron-LM, core/transformer/moe/moe_utils.py, permute and unpermute, as
 * PyTorch runs them. Fused: Transformer Engine's Triton kernels (transformer_engine/pytorch/
 * permutation.py), which find a token's rows and add them up without atomics.
 */
#include "model/tape/tape-ops-private.h"

/* ---- router ---- */

static void
backward_route (Tape *tape, const TapeOp *op)
{
  KernelDesc desc =
      tape_stream (tape, KERNEL_REDUCTION, tape_backward_name (op), 0, 0, op->launches);
  TapeValue   grad;
  TapeKernel *kernel;

  if (op->launches == 0) /* nothing is learnt by the choice */
    return;
  kernel = tape_push_backward (tape, op, desc, FALSE, 1, &grad);
  tape_kernel_reads (kernel, op->aux);
  tape_give_grads (tape, op, 1, &grad);
}

TapeValue
tape_route (Tape *tape, const char *name, TapeValue logits, RouteSpec spec)
{
  double    scores = 4 * spec.tokens * spec.experts, ids = 8 * spec.tokens * spec.chosen;
  TapeOp   *op = tape_add_op (tape, name, &logits, 1);
  TapeValue out = tape_add_output (tape, op, spec.tokens * spec.chosen);

  op->backward = backward_route;
  op->launches = spec.backward_launches;
  op->aux =
      tape_add_aux (tape, "router.probabilities",
                    spec.score_writes > 0 ? scores : scores / spec.experts * spec.chosen, FALSE);
  tape_add_aux (tape, "router.chosen", ids, FALSE);
  tape_push_forward (tape, op,
                     tape_stream (tape, KERNEL_REDUCTION, name, spec.score_reads * scores,
                                  spec.score_writes * scores + ids, spec.forward_launches),
                     FALSE);
  return out;
}

/* ---- keys ---- */

static void
backward_key_means (Tape *tape, const TapeOp *op)
{
  tape_push_backward (tape, op,
                      tape_stream (tape, KERNEL_ELEMENTWISE, tape_backward_name (op),
                                   op->weight_bytes, op->weight_bytes, 1),
                      FALSE, 0, NULL);
}

TapeValue
tape_key_means (Tape *tape, const char *name, double experts, double cells, double width)
{
  TapeOp   *op = tape_add_op (tape, name, NULL, 0);
  TapeValue out = tape_add_output (tape, op, experts * width);

  op->backward = backward_key_means;
  op->weight_bytes = experts * cells * width * tape->e;
  tape_push_forward (tape, op, tape_stream (tape, KERNEL_REDUCTION, name, op->weight_bytes, 0, 1),
                     FALSE);
  return out;
}

TapeValue
tape_key_scores (Tape *tape, const char *name, TapeValue in, KeySpec spec)
{
  const double rows = (double) spec.rows, keys = (double) spec.keys, width = (double) spec.width;
  TapeOp      *op = tape_add_op (tape, name, &in, 1);
  TapeValue    scores = tape_add_output (tape, op, rows * keys), out;
  KernelDesc   desc =
      tape_product_desc (tape, name, 1, spec.rows, spec.keys, spec.width, 2 * rows * keys * width);

  desc.read_bytes = keys * width * tape->e;
  tape_push_forward (tape, op, desc, FALSE);
  if (spec.keys == spec.experts)
    return scores;
  op = tape_add_op (tape, tape_join (name, ".pool"), &scores, 1);
  out = tape_add_output (tape, op, rows * (double) spec.experts);
  tape_push_forward (tape, op, tape_stream (tape, KERNEL_REDUCTION, op->name, 0, 0, 1), FALSE);
  return out;
}

/* ---- rows of a map ---- */

/*
 * PyTorch's masked_select: the marks are summed up (2 kernels), the host waits for the sum, their
 * places are written one behind the other (2), as rows and columns (1), and what stands there is
 * gathered (1). Source: ATen/native/cuda, IndexKernel.cpp and Nonzero.cu.
 */
#define SELECT_LAUNCHES 6

/*
 * The map transposed, what is selected from made (token numbers) or transposed (weights), and the
 * selection. MADE: bytes that are read and written for that.
 */
static void
push_select (Tape *tape, const char *name, const PermuteSpec *spec, double read, double write)
{
  const double marks = spec->tokens * spec->experts, places = (8 + 16) * spec->rows;
  KernelDesc   desc = tape_stream (tape, KERNEL_GATHER, name, 3 * marks + places + read,
                                   marks + places + write, 2 + SELECT_LAUNCHES);

  desc.host_waits = spec->waits;
  tape_push (tape, tape->forward, desc, FALSE);
}

/* ---- to experts ---- */

/* The gradient is cleared and added to, or summed up for each token by itself. */
static void
backward_permute (Tape *tape, const TapeOp *op)
{
  KernelDesc desc = tape_stream (tape, KERNEL_GATHER, tape_backward_name (op), op->fixed[0],
                                 op->fixed[1], op->launches);
  TapeValue  grad;

  desc.scattered = op->shape.scattered;
  tape_push_backward (tape, op, desc, FALSE, 1, &grad);
  tape_give_grads (tape, op, 1, &grad);
}

/*
 * By numbers: their sort (3 kernels) and a gather. By maps: a selection of token numbers and a
 * gather. Fused: three passes over the map for each token's rows, and the copy.
 */
TapeValue
tape_permute (Tape *tape, const char *name, TapeValue in, double width, PermuteSpec spec)
{
  const double   elements = spec.rows * width, came = tape_tensor (tape, in)->elements;
  const double   bytes = tape_tensor (tape, in)->bytes;
  const gboolean fused = spec.kernels == EXPERT_KERNELS_FUSED,
                 maps = spec.kernels == EXPERT_KERNELS_MAPS;
  TapeOp   *op = tape_add_op (tape, name, &in, 1);
  TapeValue out = tape_add_output (tape, op, elements);

  op->backward = backward_permute;
  op->launches = fused ? 1 : 2;
  op->fixed[1] = fused ? 0 : bytes;
  op->shape.scattered = fused ? 0 : elements;
  op->aux = tape_add_aux (tape, "experts.row_ids", 8 * spec.rows, FALSE);
  if (maps)
    push_select (tape, "experts.select", &spec, 8 * spec.rows, 8 * (spec.rows + spec.tokens));
  tape_push_forward (tape, op,
                     tape_stream (tape, KERNEL_GATHER, name,
                                  bytes / came * MAX (elements - came, 0), 0, maps ? 1 : 4),
                     FALSE);
  return out;
}

/* ---- and back ---- */

static void
backward_combine (Tape *tape, const TapeOp *op)
{
  KernelDesc  desc = tape_stream (tape, KERNEL_GATHER, tape_backward_name (op), op->fixed[0],
                                  op->fixed[1], op->launches);
  TapeValue   grads[2];
  TapeKernel *kernel = tape_push_backward (tape, op, desc, FALSE, 2, grads);

  tape_kernel_reads (kernel, op->in[0]);
  tape_kernel_reads (kernel, op->in[1]);
  tape_give_grads (tape, op, 2, grads);
}

/*
 * What a selection of the weights costs backwards: their gradient cleared and copied, the marks
 * summed up (2 kernels), the gradients put in their places, and transposed. The numbers of the
 * marks take 8 bytes.
 */
static void
add_select_backward (TapeOp *op, const PermuteSpec *spec)
{
  const double marks = spec->tokens * spec->experts;

  op->launches += 6;
  op->fixed[0] += (4 + 1 + (1 + 8 + 4) + 4) * marks;
  op->fixed[1] += (4 + 4 + 8 + 4 + 4) * marks;
}

/*
 * Eagerly weight | clear | scatter_add: 3 kernels; backwards gather | * weights | * rows, sum: 4. A
 * compiler joins the weights to the sum, which stays one of atomics, and the backward pass to one
 * kernel.
 */
TapeValue
tape_combine (Tape *tape, const char *name, TapeValue expert_rows, TapeValue weights,
              double out_elements, PermuteSpec spec)
{
  TapeValue      in[] = { expert_rows, weights };
  const gboolean fused = spec.kernels == EXPERT_KERNELS_FUSED,
                 maps = spec.kernels == EXPERT_KERNELS_MAPS,
                 joined = fused || (tape->training->compile && !maps);
  const double rows_bytes = tape_tensor (tape, expert_rows)->bytes,
               out_bytes = out_elements * tape->e;
  TapeOp    *op = tape_add_op (tape, name, in, 2);
  TapeValue  out = tape_add_output (tape, op, out_elements);
  KernelDesc sum = tape_stream (tape, KERNEL_GATHER, name, 0, fused ? 0 : out_bytes, fused ? 1 : 2);

  op->backward = backward_combine;
  op->launches = joined ? 1 : 4;
  op->fixed[0] = rows_bytes - out_bytes + (joined ? 0 : 3 * rows_bytes);
  op->fixed[1] = joined ? 0 : 2 * rows_bytes;
  if (maps)
    {
      add_select_backward (op, &spec);
      push_select (tape, "experts.select_weights", &spec,
                   4 * (spec.tokens * spec.experts + spec.rows),
                   4 * (spec.tokens * spec.experts + spec.rows));
    }
  tape_save (tape, expert_rows);
  tape_save (tape, weights);
  if (!joined)
    tape_push (tape, tape->forward,
               tape_stream (tape, KERNEL_ELEMENTWISE, "experts.weigh", rows_bytes, rows_bytes, 1),
               FALSE);
  sum.scattered = fused ? 0 : tape_tensor (tape, expert_rows)->elements;
  tape_push_forward (tape, op, sum, FALSE);
  return out;
}
