/*
 * Products that go in slices with what is gathered for them, or scattered of what they make.
 *
 * Slices of PyTorch's (torch/distributed/_symmetric_memory): copy engines carry what is gathered or
 * scattered between buffers that all ranks see. A rank first copies its piece into its own buffer,
 * between two barriers. What is scattered arrives as partial sums of all ranks, which one kernel
 * adds up when the last one is there (fused_all_gather_matmul, fused_matmul_reduce_scatter).
 *
 * Userbuffers: the ring exchange of a gather is the copy engines' work and holds no SMs, what is
 * reduced, or runs whole beside a product, is a kernel on 16; a reduce-scatter follows the parts
 * of its product in 4. Source: NVIDIA/TransformerEngine, transformer_engine/pytorch/module/base.py,
 * initialize_ub: methods of each product, use_ce, num_sm and num_splits unless told.
 */
#include "model/tape/tape-comm-private.h"

#define UB_SPLITS 4

#define PLACE_LAUNCHES 3 /* a copy and two barriers */

/*
 * On which slices take turns: PyTorch's current and backend streams (_symmetric_memory,
 * _pipelined_multi_all_gather_and_consume). Userbuffers have three (num_max_streams), which hide
 * more of a start.
 */
#define SLICE_STREAMS 2

typedef enum
{
  COPY_ENGINES = 1, /* KernelDesc.own_sms */
  UB_KERNEL = 16 + 1,
} ExchangeSms;

KernelDesc
tape_by_userbuffers (const TapeOp *op, KernelDesc desc)
{
  if (op->userbuffers && desc.async)
    desc.own_sms = UB_KERNEL;
  return desc;
}

KernelDesc
tape_sliced_gather (Tape *tape, GArray *list, const TapeOp *op, KernelDesc desc, TapeValue piece)
{
  double bytes = tape_tensor (tape, piece)->bytes;

  desc.async = TRUE;
  desc.own_sms = COPY_ENGINES;
  if (!op->userbuffers)
    tape_push (tape, list,
               tape_stream (tape, KERNEL_COPY, tape_join (op->name, ".place"), bytes, bytes,
                            PLACE_LAUNCHES),
               FALSE);
  return desc;
}

/* ---- slices --------------------------------------------------------------------------------- */

/*
 * Cuts the product that is last in LIST into N along its rows, which streams run in turn. The first
 * one stands at FIRST, the others follow STEP apart.
 */
static void
slice_last (GArray *list, guint n, guint first, guint step)
{
  TapeKernel slice = g_array_index (list, TapeKernel, list->len - 1);

  g_array_set_size (list, list->len - 1);
  slice.desc.m = (slice.desc.m + n - 1) / n;
  slice.desc.flops /= n;
  slice.share /= n;
  slice.desc.streams = SLICE_STREAMS;
  slice.desc.turns = n;
  for (guint i = 0; i < n; i++)
    {
      g_array_insert_val (list, first + i * step, slice);
      slice.desc.joins = FALSE;
    }
}

/* Whether the last asynchronous collective of LIST has its products. */
static gboolean
has_slices (const GArray *list)
{
  for (guint i = list->len; i > 0; i--)
    {
      const KernelDesc *desc = &g_array_index (list, TapeKernel, i - 1).desc;

      if (desc->turns > 0 || desc->async)
        return desc->turns > 0;
    }
  return FALSE;
}

void
tape_push_flat (Tape *tape, const char *name, TapeValue value)
{
  double     bytes = tape_tensor (tape, value)->bytes;
  GArray    *list = tape->backward;
  guint      place = list->len;
  KernelDesc copy = tape_stream (tape, KERNEL_COPY, tape_join (name, ".flat"), bytes, bytes, 1);

  if (!tape->training->traits.cats_sequence || tape->training->micro_batch == 1 || tape->frozen
      || tape->fp8.gathered)
    return;
  while (place > 0 && g_array_index (list, TapeKernel, place - 1).desc.weight_gradient)
    place--;
  tape_insert (tape, list, place, copy);
}

/*
 * Of each piece that arrives all products that want it make their rows, one after another; those of
 * the last piece wait for it. A product that something else stands before finds all pieces there.
 */
void
tape_slice_gathered (Tape *tape, GArray *list, TapeValue value)
{
  guint n = tape_tensor (tape, value)->slices, last = list->len - 1, others;

  if (n == 0)
    return;
  /* Kernels of products in N slices each that stand before LAST of LIST, next to it. */
  others = 0;
  while (others < last && g_array_index (list, TapeKernel, last - 1 - others).desc.turns == n)
    others++;
  if (others == 0 && has_slices (list))
    return;
  slice_last (list, n, last - others + others / n, others / n + 1);
  g_array_index (list, TapeKernel, list->len - 1).desc.joins = TRUE;
  if (list == tape->backward)
    tape_push_flat (tape, tape_op (tape, (guint) tape_tensor (tape, value)->producer)->name, value);
}

void
tape_push_sliced_scatter (Tape *tape, const TapeOp *op, KernelDesc desc, TapeValue in,
                          TapeValue out)
{
  const guint parts = op->userbuffers ? UB_SPLITS : 1;
  const guint first = tape->forward->len - 1;

  slice_last (tape->forward, op->userbuffers ? UB_SPLITS : op->slices, first, 1);
  desc.async = TRUE;
  desc.read_bytes /= parts;
  desc.own_sms = op->userbuffers ? UB_KERNEL : COPY_ENGINES;
  for (guint i = 0; i < parts; i++)
    {
      TapeKernel *kernel = tape_insert (tape, tape->forward, first + 1 + 2 * i, desc);

      tape_kernel_reads (kernel, in);
      tape_kernel_writes (kernel, out);
    }
  tape->join_forward = TRUE;
  if (!op->userbuffers)
    tape_push (tape, tape->forward,
               tape_stream (tape, KERNEL_REDUCTION, tape_join (op->name, ".sum"),
                            tape_tensor (tape, in)->bytes, tape_tensor (tape, out)->bytes, 1),
               FALSE);
}
