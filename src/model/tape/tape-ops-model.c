/* Attention and embedding; see tape-ops.c for how their costs are written down. */
#include "model/tape/tape-clipped-private.h"
#include "model/tape/tape-ops-private.h"

#include <math.h>

/* ---- attention ---- */

/* Bytes of one rank's keys and values. */
static double
block_bytes (const Tape *tape, const TapeOp *op)
{
  return tape_tensor (tape, op->in[1])->bytes + tape_tensor (tape, op->in[2])->bytes;
}

static CommGroup
ring_of (const TapeOp *op)
{
  return (CommGroup){ .axis = op->axis, .members = op->members, .every = op->every };
}

/* A step's result joins those before: element-wise, with the row statistics. */
static void
push_merge (Tape *tape, GArray *list, const char *name, double bytes, gboolean joins)
{
  KernelDesc desc = tape_stream (tape, KERNEL_ELEMENTWISE, name, 2 * bytes, bytes, 1);

  desc.joins = joins;
  tape_push (tape, list, desc, FALSE);
}

/*
 * Step i works on the block that step i - 1 received, while the next one travels; a message waits
 * for the one before it, so that its block is there.
 */
static void
ring_forward (Tape *tape, const TapeOp *op, KernelDesc desc)
{
  double out = tape_tensor (tape, op->out[0])->bytes + tape_tensor (tape, op->aux)->bytes;

  desc.flops /= op->members;
  for (guint i = 0; i < op->members; i++)
    {
      gboolean last = i + 1 == op->members;

      if (!last)
        tape_comm_message (tape, tape->forward, "flash_fwd.ring", ring_of (op),
                           block_bytes (tape, op), i > 0);
      desc.joins = last;
      tape_push_forward (tape, op, desc, FALSE);
      if (i > 0)
        push_merge (tape, tape->forward, "flash_fwd.merge", out, FALSE);
    }
}

static void
push_flash_backward (Tape *tape, const TapeOp *op, KernelDesc desc)
{
  TapeKernel *kernel = tape_push_backward (tape, op, desc, FALSE, 0, NULL);

  for (guint i = 0; i < 3; i++)
    tape_kernel_reads (kernel, op->in[i]);
}

/* Keys and values go round once more, the sums of their gradients one step behind. */
static void
ring_backward (Tape *tape, const TapeOp *op, KernelDesc desc)
{
  double block = block_bytes (tape, op);

  desc.flops /= op->members;
  for (guint i = 0; i < op->members; i++)
    {
      if (i + 1 < op->members)
        tape_comm_message (tape, tape->backward, "flash_bwd.ring", ring_of (op), block, i == 1);
      if (i > 0)
        tape_comm_message (tape, tape->backward, "flash_bwd.ring_grad", ring_of (op), block,
                           i == 1 && op->members == 2);
      push_flash_backward (tape, op, desc);
      if (i > 0)
        push_merge (tape, tape->backward, "flash_bwd.merge", block, TRUE);
    }
}

/*
 * FlashAttention-2's backward: row sums of o * do (which also clears the fp32 accumulator of dq),
 * the main kernel (scores again, dv, dp, dq, dk: 3 products of the query width and 2 of the value
 * width), the cast of dq; with grouped queries dk and dv are made for each query head and summed.
 * Source: arXiv:2307.08691, algorithm 2, and its implementation.
 */
static void
backward_flash (Tape *tape, const TapeOp *op)
{
  double      q_elements = tape_tensor (tape, op->in[0])->elements;
  double      expanded = op->fixed[0], row_bytes = tape_tensor (tape, op->aux)->bytes;
  KernelDesc  main = op->shape;
  TapeValue   grads[3];
  TapeKernel *kernel;

  tape_gather_again (tape, op->in[1]);
  tape_gather_again (tape, op->in[2]);
  kernel = tape_push_backward (
      tape, op,
      tape_stream (tape, KERNEL_REDUCTION, "flash_bwd.row_sums", 0, row_bytes + 4 * q_elements, 1),
      FALSE, 0, NULL);
  tape_kernel_reads (kernel, op->out[0]);
  main.kind = KERNEL_ATTENTION_BACKWARD;
  main.name = training_flash_version (tape->training) == FLASH_1 ? "flash1_bwd" : "flash_bwd";
  main.flops = op->fixed[1];
  main.read_bytes = 2 * row_bytes + 4 * q_elements;
  main.write_bytes = 4 * q_elements + expanded;
  for (guint i = 0; i < 3; i++)
    grads[i] = tape_new_grad (tape, op->in[i]);
  if (op->members > 1)
    ring_backward (tape, op, main);
  else
    push_flash_backward (tape, op, main);
  kernel =
      tape_push (tape, tape->backward,
                 tape_stream (tape, KERNEL_COPY, "flash_bwd.cast_dq", 4 * q_elements, 0, 1), FALSE);
  tape_kernel_writes (kernel, grads[0]);
  if (op->grouped)
    {
      kernel = tape_push (
          tape, tape->backward,
          tape_stream (tape, KERNEL_REDUCTION, "flash_bwd.sum_groups", expanded, 0, 2), FALSE);
      tape_kernel_writes (kernel, grads[1]);
      tape_kernel_writes (kernel, grads[2]);
    }
  if (op->module >= 0 && !op->frozen)
    {
      KernelDesc desc =
          tape_stream (tape, KERNEL_REDUCTION, "flash_bwd.sinks", 2 * row_bytes, 0, 1);
      desc.module = op->module;
      tape_push (tape, tape->backward, desc, FALSE);
    }
  tape_give_grads (tape, op, 3, grads);
}

TapeValue
tape_flash_attention (Tape *tape, TapeValue q, TapeValue k, TapeValue v, AttentionSpec spec)
{
  TapeValue   in[] = { q, k, v };
  const guint flash = training_flash_version (tape->training);
  TapeOp     *op = tape_add_op (tape, flash == FLASH_1 ? "flash1_fwd" : "flash_fwd", in, 3);
  double      rows = spec.sequences * spec.seq_len, heads = (double) spec.heads;
  double      qk = (double) spec.qk_dim, vd = (double) spec.v_dim,
         per_dim = 2 * spec.pairs * spec.sequences * heads;
  double     key_rows = tape_tensor (tape, k)->elements / ((double) spec.kv_heads * qk);
  double     expanded = spec.summed ? 4 * key_rows * (double) spec.kv_heads * (qk + vd)
                                    : tape->e * key_rows * heads * (qk + vd);
  TapeValue  out = tape_add_output (tape, op, rows * heads * vd);
  KernelDesc desc = { .kind = KERNEL_ATTENTION,
                      .name = op->name,
                      .dtype = tape->dtype,
                      .m = (guint64) spec.seq_len,
                      .n = (guint64) (key_rows / spec.sequences),
                      .k = spec.qk_dim,
                      .batch = (guint64) fmax (round (spec.sequences), 1) * spec.heads,
                      .flops = per_dim * (qk + vd),
                      .launches = 1,
                      .flash = flash,
                      .packed = spec.packed,
                      .padded = spec.padded,
                      .module = spec.sinks_module };

  op->backward = backward_flash;
  op->module = spec.sinks_module;
  op->grouped = spec.kv_heads < spec.heads;
  op->axis = spec.ring.axis;
  op->members = spec.ring.members;
  op->every = spec.ring.every;
  op->shape = desc;
  op->fixed[0] = expanded; /* dk and dv for each query head */
  op->fixed[1] = per_dim * (3 * qk + 2 * vd);
  op->backward_extra = 4 * rows * heads * qk + (op->grouped ? expanded : 0);
  if (op->members > 1)
    { /* the block at work, the one that arrives, and in the backward pass two of their gradients */
      tape_add_value (tape, "ring.blocks", 0, 2 * block_bytes (tape, op), FALSE);
      op->backward_extra += 4 * block_bytes (tape, op);
    }
  op->aux = tape_add_aux (tape, "flash.log_sum_exp", 4 * rows * heads, TRUE);
  tape_save (tape, q);
  tape_save_piece (tape, k);
  tape_save_piece (tape, v);
  tape_save (tape, out);
  tape_list (tape, out);
  tape_list (tape, op->aux);
  desc.write_bytes = 4 * rows * heads;
  if (op->members > 1)
    ring_forward (tape, op, desc);
  else
    tape_push_forward (tape, op, desc, FALSE);
  return out;
}

static void
backward_softmax (Tape *tape, const TapeOp *op)
{
  KernelDesc  desc = tape_stream (tape, KERNEL_REDUCTION, tape_backward_name (op), op->fixed[0],
                                  op->fixed[1], op->launches);
  TapeValue   grad;
  TapeKernel *kernel = tape_push_backward (tape, op, desc, TRUE, 1, &grad);

  tape_kernel_reads (kernel, op->aux);
  tape_give_grads (tape, op, 1, &grad);
}

/*
 * Eagerly scale | + mask | softmax to fp32 | to 16 bit: reads 3e + 4, writes 3e + 4; backwards to
 * fp32 | softmax | scale: reads 2e + 8, writes 2e + 4. fp32 has no casts. Fused (one kernel, as
 * compilers and Megatron make it): reads and writes e, backwards reads 2e.
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
      /*
       * beside the probabilities two wide gradients, or a wide and a narrow one; the tape counts
       * two narrow ones
       */
      op->backward_extra = (tape->training->traits.casts_scores ? 8 - 2 * e : 4 - e) * n;
      if (tape->training->traits.casts_scores)
        tape_add_value (tape, "softmax.fp32_scores", n, 4 * n, FALSE);
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
  tape_push_forward (
      tape, op,
      tape_stream (tape, KERNEL_REDUCTION, name, fixed, fixed, eager ? (half ? 4 : 3) : 1), TRUE);
  return out;
}

/* ---- embedding ---- */

/*
 * Above this many ids the backward pass sorts them first. Source: PyTorch,
 * ATen/native/cuda/Embedding.cu.
 */
#define EMBEDDING_SORTED_IDS 3072

/*
 * The dense gradient of the table is cleared, then rows are added to it; op->fixed: bytes of the
 * table and of the written rows. Of a part of a table the rows' gradients are masked first: copied,
 * and zeros written.
 */
static void
backward_embed (Tape *tape, const TapeOp *op)
{
  KernelDesc clear = tape_stream (tape, KERNEL_ELEMENTWISE, tape_join (op->name, ".clear_grad"), 0,
                                  op->fixed[0], 1);
  KernelDesc scatter = tape_stream (tape, KERNEL_GATHER, tape_join (op->name, ".scatter"),
                                    tape_tensor (tape, op->aux)->bytes, op->fixed[1], op->launches);

  scatter.module = op->module;
  if (tape_is_clipped (tape))
    {
      tape_clip_table (tape, op, clear, scatter);
      return;
    }
  if (op->weight_bytes > 0)
    tape_push_backward (tape, op,
                        tape_stream (tape, KERNEL_ELEMENTWISE, tape_join (op->name, ".mask_grad"),
                                     0, 2 * op->weight_bytes, 4),
                        FALSE, 0, NULL);
  tape_push (tape, tape->backward, clear, FALSE);
  tape_push_backward (tape, op, scatter, FALSE, 0, NULL);
}

TapeValue
tape_embed (Tape *tape, const char *name, gint module, double count, double width, double vocab,
            gboolean part)
{
  TapeOp    *op = tape_add_op (tape, name, NULL, 0);
  TapeValue  out = tape_add_output (tape, op, count * width);
  KernelDesc desc;

  tape_tensor (tape, out)->bytes = tape->stream_e * count * width;
  op->backward = backward_embed;
  op->module = module;
  op->launches = count > EMBEDDING_SORTED_IDS ? 7 : 1;
  op->fixed[0] = tape->e * width * vocab;
  op->fixed[1] = tape->e * width * MIN (count, vocab);
  op->weight_bytes = part ? tape->e * width * count : 0;
  op->clipped = width * vocab;
  op->shape.n = (guint64) width;
  op->backward_extra = tape_clip_extra (tape, op, op->clipped);
  op->aux = tape_add_aux (tape, "embed.ids", (part ? 9 : 8) * count, FALSE); /* ids, and the mask */
  desc = tape_stream (tape, KERNEL_GATHER, name, tape->stream_e * count * width + 8 * count, 0, 1);
  desc.module = module;
  tape_push_forward (tape, op, desc, FALSE);
  if (part)
    {
      /*
       * Ids outside of the part: below | above | or | shift | set to 0, and the rows that they gave
       * are set to zeros (the mask's indices, the rows).
       */
      tape_push (tape, tape->forward,
                 tape_stream (tape, KERNEL_ELEMENTWISE, tape_join (name, ".mask_ids"),
                              4 * 8 * count, 2 * 8 * count, 5),
                 FALSE);
      tape_push (tape, tape->forward,
                 tape_stream (tape, KERNEL_ELEMENTWISE, tape_join (name, ".mask_rows"), 8 * count,
                              op->weight_bytes, 3),
                 FALSE);
    }
  return out;
}
