/*
 * The head and its cross entropy, C rows of the input at a time: x_i w makes a chunk's logits z_i,
 * which are reduced to statistics of the rows and dropped. The backward pass makes z_i again,
 * writes their gradient over them, and makes of it that of x_i and the chunk's share of that of w,
 * which the product adds to those before.
 * Source: NVIDIA-NeMo/Automodel, components/loss/chunked_ce.py, which makes each chunk again;
 * the gradient in the place of the logits: Liger Kernel, arXiv:2410.10989.
 */
#include "model/tape/tape-ops-private.h"

/* Rows of it, their share of all, and bytes. */
typedef struct
{
  guint64 rows;
  double  share, in, logits;
} Chunk;

static guint64
chunk_rows (const Tape *tape)
{
  return (guint64) MAX (1, tape->training->loss_chunk);
}

/* The one that starts at row FIRST. */
static Chunk
chunk_at (const Tape *tape, const TapeOp *op, guint64 first)
{
  Chunk chunk = { .rows = MIN (chunk_rows (tape), op->shape.m - first) };

  chunk.share = (double) chunk.rows / (double) op->shape.m;
  chunk.in = tape->e * (double) chunk.rows * (double) op->shape.k;
  chunk.logits = tape->e * (double) chunk.rows * (double) op->shape.n;
  return chunk;
}

/* M x K times K x N of a chunk, in one of the three orders of its dimensions. */
static KernelDesc
product_of (const Tape *tape, const TapeOp *op, const Chunk *chunk, const char *name, guint64 m,
            guint64 n, guint64 k)
{
  return tape_product_desc (tape, name, 1, m, n, k, chunk->share * op->shape.flops);
}

/* ---- forward --------------------------------------------------------------------------------- */

static KernelDesc
logits_product (const Tape *tape, const TapeOp *op, const Chunk *chunk, const char *name)
{
  KernelDesc desc = product_of (tape, op, chunk, name, chunk->rows, op->shape.n, op->shape.k);

  desc.module = op->module;
  desc.read_bytes = chunk->in + op->weight_bytes;
  desc.write_bytes = chunk->logits;
  return desc;
}

/* ---- backward -------------------------------------------------------------------------------- */

static void
backward_chunk (Tape *tape, const TapeOp *op, guint64 row, gboolean wants)
{
  Chunk      chunk = chunk_at (tape, op, row);
  KernelDesc again = logits_product (tape, op, &chunk, tape_join (op->name, ".recompute"));
  double     statistics = chunk.share * tape_tensor (tape, op->aux)->bytes;

  again.recomputed_flops = again.flops * op->counted;
  tape_push (tape, tape->backward, again, FALSE);
  tape_push (tape, tape->backward,
             tape_stream (tape, KERNEL_REDUCTION, "loss.backward", chunk.logits + statistics,
                          chunk.logits, 1),
             FALSE);
  if (wants)
    {
      KernelDesc dgrad = product_of (tape, op, &chunk, tape_join (op->name, ".dgrad"), chunk.rows,
                                     op->shape.k, op->shape.n);

      dgrad.module = op->module;
      dgrad.read_bytes = chunk.logits + op->weight_bytes;
      dgrad.write_bytes = chunk.in;
      tape_push (tape, tape->backward, dgrad, FALSE);
    }
  if (!op->frozen)
    {
      KernelDesc wgrad = product_of (tape, op, &chunk, tape_join (op->name, ".wgrad"), op->shape.n,
                                     op->shape.k, chunk.rows);

      /* no schedule can put it off: the next chunk takes the memory of what it reads */
      wgrad.read_bytes = chunk.in + chunk.logits + (row == 0 ? 0 : op->weight_bytes);
      wgrad.write_bytes = op->weight_bytes;
      tape_push (tape, tape->backward, wgrad, FALSE);
    }
}

static void
backward_chunks (Tape *tape, const TapeOp *op)
{
  gboolean  wants = tape_tensor (tape, op->in[0])->needs_grad;
  TapeValue grad = wants ? tape_new_grad (tape, op->in[0]) : 0;

  tape_gather_again (tape, op->in[0]);
  tape->join_next |= tape->join_product; /* all of the input is read at once */
  tape->join_product = FALSE;
  for (guint64 row = 0; row < op->shape.m; row += chunk_rows (tape))
    backward_chunk (tape, op, row, wants);
  if (wants)
    tape_give_grads (tape, op, 1, &grad);
}

/*
 * Kept of a row: maximum and sum in fp32; of divided rows also what the loss of those keeps of the
 * target (tape_parallel_loss).
 */
TapeValue
tape_chunked_loss (Tape *tape, const char *name, TapeValue in, LinearSpec spec, CommGroup group)
{
  gboolean  divided = group.members > 1;
  TapeOp   *op = tape_add_op (tape, name, &in, 1);
  TapeValue out = tape_add_output (tape, op, 1);
  Chunk     chunk;

  op->module = spec.module;
  op->backward = backward_chunks;
  op->shape = tape_product_desc (tape, name, 1, (guint64) spec.rows, spec.n, spec.k,
                                 2 * spec.rows * (double) spec.k * (double) spec.n);
  op->weight_bytes = tape->e * (double) spec.k * (double) spec.n;
  op->aux = tape_add_aux (tape, "loss.statistics", (divided ? 17 : 8) * spec.rows, TRUE);
  tape_save_piece (tape, in); /* frozen weights, too: the logits are made of it again */
  chunk = chunk_at (tape, op, 0);
  tape_add_value (tape, "head.logits", chunk.logits / tape->e, chunk.logits, FALSE);
  op->backward_extra = chunk.logits;
  for (guint64 row = 0; row < op->shape.m; row += chunk.rows)
    {
      chunk = chunk_at (tape, op, row);
      tape_push (tape, tape->forward, logits_product (tape, op, &chunk, name), FALSE);
      if (divided)
        tape_push_parallel_rows (tape, (double) chunk.rows, chunk.logits, 0, group);
      else
        {
          double rows = (double) chunk.rows;

          /*
           * The statistics of whole rows, and the loss from them: as of a fused loss (tape_loss).
           */
          tape_push (tape, tape->forward,
                     tape_stream (tape, KERNEL_REDUCTION, "loss.log_softmax", 2 * chunk.logits,
                                  8 * rows, 1),
                     FALSE);
          tape_push (tape, tape->forward,
                     tape_stream (tape, KERNEL_REDUCTION, "loss.nll", 16 * rows, 0, 1), FALSE);
        }
    }
  return out;
}
