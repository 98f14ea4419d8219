/*
 * Cross entropy of divided logits as PyTorch's loss_parallel runs it, operation by operation
 * (torch/distributed/tensor/parallel/loss.py). With 4 bytes for an element in fp32, e as it comes:
 *
 *   forward    to fp32 | maximum, all-reduced | less it | exp | sum, all-reduced | less its
 *              logarithm | nll, all-reduced: e + 12 alive, kept are 4 of log-probabilities
 *   backward   zeros | one element a row | exp | their sum | scaled | to 16 bit: 16 alive
 *
 * Where Megatron-LM's works in place, each makes a tensor of its own.
 */
#include "model/tape/tape-ops-private.h"

/* All wide tensors of the backward pass in their order, then the gradient as the logits are. */
static TapeValue
make_gradients (Tape *tape, TapeValue logits, double wide)
{
  static const char *const names[] = { "loss.zeros", "loss.exp", "loss.sum" };
  double                   elements = tape_tensor (tape, logits)->elements;
  const gboolean           half = wide > tape_tensor (tape, logits)->bytes;
  TapeValue                made[G_N_ELEMENTS (names)], scaled, grad;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      made[i] = tape_add_value (tape, names[i], elements, wide, FALSE);
      tape_log_tensor (tape, made[i], TRUE);
    }
  tape_log_tensor (tape, made[1], FALSE);
  if (!half)
    grad = tape_new_grad (tape, logits);
  scaled = half ? tape_add_value (tape, "loss.scaled", elements, wide, FALSE) : grad;
  if (half)
    tape_log_tensor (tape, scaled, TRUE);
  tape_log_tensor (tape, made[2], FALSE);
  tape_log_tensor (tape, made[0], FALSE);
  if (half)
    {
      grad = tape_new_grad (tape, logits);
      tape_log_tensor (tape, scaled, FALSE);
    }
  return grad;
}

static void
push (Tape *tape, const char *name, double read_bytes, double write_bytes)
{
  tape_push (tape, tape->backward,
             tape_stream (tape, KERNEL_ELEMENTWISE, name, read_bytes, write_bytes, 1), FALSE);
}

static void
backward_torch_loss (Tape *tape, const TapeOp *op)
{
  const TapeValue logits = op->in[0];
  const double    wide = tape_tensor (tape, op->aux)->bytes;
  const gboolean  half = wide > tape_tensor (tape, logits)->bytes;
  TapeValue       grad = make_gradients (tape, logits, wide);
  TapeKernel     *kernel;

  push (tape, "loss.nll.backward", 0, wide);
  push (tape, "loss.exp.backward", 0, wide);
  tape_kernel_reads (&g_array_index (tape->backward, TapeKernel, tape->backward->len - 1), op->aux);
  push (tape, "loss.sum.backward", 2 * wide, wide);
  kernel = tape_push (
      tape, tape->backward,
      tape_stream (tape, KERNEL_ELEMENTWISE, "loss.scale.backward", wide, half ? wide : 0, 1),
      FALSE);
  if (half)
    kernel = tape_push (tape, tape->backward,
                        tape_stream (tape, KERNEL_COPY, "loss.cast.backward", wide, 0, 1), FALSE);
  tape_kernel_writes (kernel, grad);
  tape_give_grad (tape, logits, grad);
}

TapeValue
tape_torch_loss (Tape *tape, TapeValue logits, double tokens, double vocab, CommGroup group)
{
  const double narrow = tape_tensor (tape, logits)->bytes;
  const double wide = training_loss_bytes (tape->training, tape->e) * tokens * vocab;
  TapeOp      *op = tape_add_op (tape, "loss", &logits, 1);
  TapeValue    out = tape_add_output (tape, op, 1);

  op->backward = backward_torch_loss;
  op->aux = tape_add_aux (tape, "loss.log_probabilities", wide, FALSE);
  if (wide > narrow)
    tape_add_value (tape, "loss.fp32_logits", tokens * vocab, wide, FALSE);
  tape_add_value (tape, "loss.shifted", tokens * vocab, wide, FALSE);
  /* of three wide ones beside what is kept the gradient as it leaves is counted by itself */
  op->backward_extra = 3 * wide - narrow;
  op->logs_extra = TRUE;
  if (wide > narrow)
    tape_push_forward (tape, op, tape_stream (tape, KERNEL_ELEMENTWISE, "loss.cast", 0, wide, 1),
                       FALSE);
  tape_push_parallel_rows (tape, tokens, wide, wide, group);
  return out;
}
