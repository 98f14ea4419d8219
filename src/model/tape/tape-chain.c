/*
 * A chain of kernels that hand each other states and products of chunks, which are no values of the
 * layer: scans of state-space and linear-attention layers. What each kernel moves is spelt out, for
 * most of it is nobody's value.
 */
#include "model/tape/tape-ops-private.h"

static KernelKind
kind_of_pass (const ChainKernel *kernel)
{
  if (kernel->exponentials > 0)
    return KERNEL_SCAN;
  return kernel->reduces ? KERNEL_REDUCTION : kernel->copies ? KERNEL_COPY : KERNEL_ELEMENTWISE;
}

static KernelDesc
chain_kernel_desc (const Tape *tape, const ChainKernel *kernel)
{
  KernelDesc desc;

  if (kernel->batch == 0)
    {
      desc = tape_stream (tape, kind_of_pass (kernel), kernel->name, kernel->read, kernel->write,
                          MAX (kernel->launches, 1));
      desc.exponentials = kernel->exponentials;
      if (kernel->exponentials > 0)
        desc.flops = kernel->flops;
      return desc;
    }
  desc = tape_product_desc (
      tape, kernel->name, kernel->batch, kernel->m, kernel->n, kernel->k,
      2 * (double) kernel->batch * (double) kernel->m * (double) kernel->n * (double) kernel->k);
  desc.read_bytes = kernel->read;
  desc.write_bytes = kernel->write;
  desc.launches = MAX (kernel->launches, 1);
  return desc;
}

/* The first kernel stands for all that read the layer's values, the last one for all that write. */
static void
backward_chain (Tape *tape, const TapeOp *op)
{
  TapeValue grads[TAPE_MAX_ARGS] = { 0 };

  for (guint i = 0; i < op->n_in; i++)
    grads[i] = tape_new_grad (tape, op->in[i]);
  for (guint i = 0; i < op->n_chain; i++)
    {
      const ChainKernel *step = &g_array_index (tape->chains, ChainKernel, op->first_chain + i);
      KernelDesc         desc = chain_kernel_desc (tape, step);
      TapeKernel        *kernel;

      desc.module = i == 0 ? op->module : -1;
      kernel = i == 0 ? tape_push_backward (tape, op, desc, FALSE, 0, NULL)
                      : tape_push (tape, tape->backward, desc, FALSE);
      kernel->share = 0;
      for (guint g = 0; i + 1 == op->n_chain && g < op->n_in; g++)
        tape_kernel_writes (kernel, grads[g]);
    }
  tape_give_grads (tape, op, op->n_in, grads);
}

static void
push_chain (Tape *tape, const TapeOp *op, const ChainSpec *spec)
{
  for (guint i = 0; i < spec->n_forward; i++)
    {
      KernelDesc  desc = chain_kernel_desc (tape, &spec->forward[i]);
      TapeKernel *kernel;

      desc.module = i == 0 ? spec->module : -1;
      kernel = tape_push (tape, tape->forward, desc, FALSE);
      kernel->share = 0;
      for (guint in = 0; i == 0 && in < op->n_in; in++)
        tape_kernel_reads (kernel, op->in[in]);
      if (i + 1 == spec->n_forward && op->n_out > 0)
        tape_kernel_writes (kernel, op->out[0]);
    }
}

TapeValue
tape_chain (Tape *tape, const char *name, const TapeValue *in, guint n_in, const ChainSpec *spec)
{
  TapeOp   *op = tape_add_op (tape, name, in, n_in);
  TapeValue out = spec->elements > 0 ? tape_add_output (tape, op, spec->elements) : in[0];

  g_assert (spec->n_forward > 0 && spec->n_backward > 0);
  op->backward = backward_chain;
  op->module = spec->module;
  op->first_chain = tape->chains->len;
  op->n_chain = spec->n_backward;
  op->backward_extra = spec->backward_extra;
  g_array_append_vals (tape->chains, spec->backward, spec->n_backward);
  if (spec->forward_extra > 0)
    tape_add_value (tape, tape_join (name, ".states"), 0, spec->forward_extra, FALSE);
  if (spec->kept > 0)
    tape_add_aux (tape, tape_join (name, ".kept"), spec->kept, FALSE);
  if (spec->statistics > 0)
    tape_add_aux (tape, tape_join (name, ".statistics"), spec->statistics, TRUE);
  for (guint i = 0; i < n_in; i++)
    if ((spec->left & 1U << i) == 0)
      tape_save (tape, in[i]);
  if (spec->keeps_output)
    tape_save (tape, out);
  push_chain (tape, op, spec);
  return out;
}
