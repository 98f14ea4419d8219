/* Cross entropy; see tape-ops.c for how costs are written down. */
#include "model/tape/tape-ops-private.h"

/* Whether the loss works on wider logits than it is given. */
static gboolean
casts_logits (const Tape *tape)
{
  return training_loss_bytes (tape->training, tape->e) > tape->e;
}

/* Bytes of ELEMENTS as the loss works on them. */
static double
loss_bytes (const Tape *tape, double elements)
{
  return training_loss_bytes (tape->training, tape->e) * elements;
}

/*
 * The wide gradients of nll and of log-softmax, one made from the other, then the cast one, which
 * stays. Without a cast the second stays.
 */
static TapeValue
log_loss_gradients (Tape *tape, TapeValue logits, double wide, gboolean half)
{
  double    elements = tape_tensor (tape, logits)->elements;
  TapeValue nll = tape_add_value (tape, "loss.nll_grad", elements, wide, FALSE), grad;

  tape_log_tensor (tape, nll, TRUE);
  if (half)
    {
      TapeValue softmax = tape_add_value (tape, "loss.softmax_grad", elements, wide, FALSE);

      tape_log_tensor (tape, softmax, TRUE);
      tape_log_tensor (tape, nll, FALSE);
      grad = tape_new_grad (tape, logits);
      tape_log_tensor (tape, softmax, FALSE);
      return grad;
    }
  grad = tape_new_grad (tape, logits);
  tape_log_tensor (tape, nll, FALSE);
  return grad;
}

/*
 * Eagerly: nll (clear, scatter) | log-softmax | to 16 bit. Fused: one kernel from the logits and
 * the row statistics.
 */
static void
backward_loss (Tape *tape, const TapeOp *op)
{
  double      wide = loss_bytes (tape, tape_tensor (tape, op->in[0])->elements);
  gboolean    half = casts_logits (tape);
  TapeValue   grad;
  TapeKernel *kernel;

  if (training_fuses_loss (tape->training))
    {
      grad = tape_new_grad (tape, op->in[0]);
      kernel = tape_push (tape, tape->backward,
                          tape_stream (tape, KERNEL_REDUCTION, "loss.backward", 0, 0, 1), FALSE);
      tape_kernel_reads (kernel, op->in[0]);
      tape_kernel_writes (kernel, grad);
      tape_give_grad (tape, op->in[0], grad);
      return;
    }
  grad = log_loss_gradients (tape, op->in[0], wide, half);
  tape_push (tape, tape->backward,
             tape_stream (tape, KERNEL_ELEMENTWISE, "loss.nll.backward", 0, wide, 2), FALSE);
  kernel = tape_push (
      tape, tape->backward,
      tape_stream (tape, KERNEL_REDUCTION, "loss.log_softmax.backward", wide, half ? wide : 0, 1),
      FALSE);
  tape_kernel_reads (kernel, op->aux);
  if (half)
    kernel = tape_push (tape, tape->backward,
                        tape_stream (tape, KERNEL_COPY, "loss.cast.backward", wide, 0, 1), FALSE);
  tape_kernel_writes (kernel, grad);
  tape_give_grad (tape, op->in[0], grad);
}

/*
 * Forward: to fp32 | log-softmax | nll, mean. Fused: the rows' maximum and sum (two passes),
 * then the loss.
 */
TapeValue
tape_loss (Tape *tape, TapeValue logits, double tokens, double vocab)
{
  gboolean  half = casts_logits (tape);
  double    wide = loss_bytes (tape, tokens * vocab);
  TapeOp   *op = tape_add_op (tape, "loss", &logits, 1);
  TapeValue out = tape_add_output (tape, op, 1);

  op->backward = backward_loss;
  if (training_fuses_loss (tape->training))
    {
      tape_save (tape, logits);
      op->aux = tape_add_aux (tape, "loss.statistics", 8 * tokens, TRUE);
      tape_push_forward (tape, op,
                         tape_stream (tape, KERNEL_REDUCTION, "loss.log_softmax",
                                      tape_tensor (tape, logits)->bytes, 8 * tokens, 1),
                         FALSE);
      tape_push (tape, tape->forward,
                 tape_stream (tape, KERNEL_REDUCTION, "loss.nll", 16 * tokens, 0, 1), FALSE);
      return out;
    }
  op->aux = tape_add_aux (tape, "loss.log_probabilities", wide, FALSE);
  if (half)
    tape_add_value (tape, "loss.fp32_logits", tokens * vocab, wide, FALSE);
  /*
   * both gradients are wide while the second is made; the cast one comes later and is already
   * counted by the engine of the tape
   */
  op->backward_extra = 2 * wide - tape->e * tokens * vocab;
  op->logs_extra = TRUE;
  if (half)
    tape_push_forward (tape, op, tape_stream (tape, KERNEL_ELEMENTWISE, "loss.cast", 0, wide, 1),
                       FALSE);
  tape_push (tape, tape->forward,
             tape_stream (tape, KERNEL_REDUCTION, "loss.log_softmax", wide, wide, 1), FALSE);
  tape_push (tape, tape->forward,
             tape_stream (tape, KERNEL_REDUCTION, "loss.nll", 4 * tokens + 8 * tokens, 0, 2),
             FALSE);
  return out;
}

/*
 * The softmax is the gradient but for one element a row: scaled in place by the gradient of the
 * loss, then to 16 bit.
 */
static void
backward_parallel_loss (Tape *tape, const TapeOp *op)
{
  double      wide = loss_bytes (tape, tape_tensor (tape, op->in[0])->elements);
  gboolean    half = casts_logits (tape);
  TapeValue   grad = tape_new_grad (tape, op->in[0]);
  TapeKernel *kernel;

  if (training_fuses_loss (tape->training))
    {
      kernel = tape_push (tape, tape->backward,
                          tape_stream (tape, KERNEL_REDUCTION, "loss.backward", 0, 0, 1), FALSE);
      tape_kernel_reads (kernel, op->in[0]);
    }
  else
    {
      tape_push (tape, tape->backward,
                 tape_stream (tape, KERNEL_GATHER, "loss.nll.backward",
                              tape_tensor (tape, op->aux)->bytes, 0, 5),
                 FALSE);
      kernel = tape_push (
          tape, tape->backward,
          tape_stream (tape, KERNEL_ELEMENTWISE, "loss.scale.backward", wide, half ? wide : 0, 1),
          FALSE);
      if (half)
        kernel =
            tape_push (tape, tape->backward,
                       tape_stream (tape, KERNEL_COPY, "loss.cast.backward", wide, 0, 1), FALSE);
    }
  tape_kernel_writes (kernel, grad);
  tape_give_grad (tape, op->in[0], grad);
}

void
tape_push_parallel_rows (Tape *tape, double rows, double pass, double wide, CommGroup group)
{
  GArray  *forward = tape->forward;
  gboolean fused = wide == 0;
  double   row = 4 * rows;

  tape_push (tape, forward, tape_stream (tape, KERNEL_REDUCTION, "loss.max", pass, row, 1), FALSE);
  tape_comm_row (tape, "loss.max.reduce", group, row);
  if (!fused)
    tape_push (tape, forward, tape_stream (tape, KERNEL_ELEMENTWISE, "loss.shift", wide, wide, 1),
               FALSE);
  tape_push (tape, forward,
             tape_stream (tape, KERNEL_GATHER, "loss.targets", 40 * rows, 30 * rows, fused ? 1 : 8),
             FALSE);
  tape_comm_row (tape, "loss.target.reduce", group, row);
  if (!fused)
    tape_push (tape, forward, tape_stream (tape, KERNEL_ELEMENTWISE, "loss.exp", wide, wide, 1),
               FALSE);
  tape_push (tape, forward, tape_stream (tape, KERNEL_REDUCTION, "loss.sum", pass, row, 1), FALSE);
  tape_comm_row (tape, "loss.sum.reduce", group, row);
  tape_push (tape, forward,
             tape_stream (tape, KERNEL_ELEMENTWISE, "loss.nll", 3 * row, 2 * row, fused ? 1 : 2),
             FALSE);
  if (!fused)
    tape_push (tape, forward, tape_stream (tape, KERNEL_ELEMENTWISE, "loss.softmax", wide, wide, 1),
               FALSE);
}

/*
 * Forward: to fp32 | maximum, all-reduced | - maximum, in place | the targets' logits (8 small
 * kernels), all-reduced | exp, in place | sum, all-reduced | logarithm and difference | softmax, in
 * place. fp32 has no cast: the logits are copied. With loss_copies the cast logits live on while
 * the loss is made: what follows is not in place. Kept: the softmax, a mask and a column number a
 * token. Fused: passes for maximum and for sum; the logits are kept.
 */
TapeValue
tape_parallel_loss (Tape *tape, TapeValue logits, double tokens, double vocab, CommGroup group)
{
  gboolean  fused = training_fuses_loss (tape->training);
  double    wide = loss_bytes (tape, tokens * vocab), narrow = tape_tensor (tape, logits)->bytes;
  TapeOp   *op = tape_add_op (tape, "loss", &logits, 1);
  TapeValue out = tape_add_output (tape, op, 1);

  op->backward = backward_parallel_loss;
  op->aux = tape_add_aux (tape, "loss.targets", 9 * tokens, TRUE);
  if (fused)
    tape_save (tape, logits);
  else
    {
      tape_add_aux (tape, "loss.softmax", wide, FALSE);
      if (tape->training->traits.loss_copies)
        tape_add_value (tape, "loss.fp32_logits", tokens * vocab, wide, FALSE);
      tape_push_forward (tape, op, tape_stream (tape, KERNEL_ELEMENTWISE, "loss.cast", 0, wide, 1),
                         FALSE);
    }
  tape_push_parallel_rows (tape, tokens, fused ? narrow : wide, fused ? 0 : wide, group);
  return out;
}
