/*
 * A linear as DeepSpeed's TiledLinear runs it: IN_SPLITS x OUT_SPLITS linears, modules of their
 * own, one after the other. The partial results of a part of the output are added up, and the parts
 * put together; backwards, the gradient of each part of the input is a sum over the parts of the
 * output. Source: Rajbhandari et al., ZeRO-Infinity, arXiv:2104.07857, 5.1.3; deepspeed/runtime/
 * zero/tiling.py, and partition_uniform in deepspeed/runtime/utils.py.
 */
#include "model/tape/tape-ops-private.h"

guint64
tape_tile (guint64 n, guint64 parts, guint64 i)
{
  return n / parts + (i < n % parts); /* partition_uniform: the first ones have one more */
}

/* A tile and its share of the traffic. */
typedef struct
{
  guint64    k, n;
  double     in, out, weight, bias; /* bytes */
  KernelDesc product;
} Tile;

static Tile
tile_of (const Tape *tape, const TapeOp *op, guint64 i, guint64 j)
{
  const KernelDesc *s = &op->shape;
  Tile tile = { .k = tape_tile (s->k, op->in_splits, j), .n = tape_tile (s->n, op->out_splits, i) };
  double m = (double) s->m, k = (double) tile.k, n = (double) tile.n;

  tile.in = tape->e * m * k;
  tile.out = tape->e * m * n;
  tile.weight = tape->e * k * n;
  tile.bias = j + 1 == op->in_splits ? op->bias_bytes * n / (double) s->n : 0;
  tile.product = tape_product_desc (tape, op->name, 1, s->m, tile.n, tile.k, 2 * m * k * n);
  tile.product.module = op->module + (gint) (i * op->in_splits + j);
  return tile;
}

static void
push_stream (Tape *tape, GArray *list, KernelKind kind, const char *name, double read, double write)
{
  tape_push (tape, list, tape_stream (tape, kind, name, read, write, 1), FALSE);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* ---- backward -------------------------------------------------------------------------------- */

static void
backward_weight (Tape *tape, const TapeOp *op, const Tile *tile)
{
  KernelDesc wgrad = tape_product_desc (tape, tape_join (op->name, ".wgrad"), 1, tile->n, tile->k,
                                        op->shape.m, tile->product.flops);
  KernelDesc bias = tape_stream (tape, KERNEL_REDUCTION, tape_join (op->name, ".bias_grad"),
                                 tile->out, tile->bias, 1);

  wgrad.read_bytes = tile->in + tile->out;
  wgrad.write_bytes = tile->weight;
  wgrad.weight_gradient = bias.weight_gradient = TRUE;
  tape_push (tape, tape->backward, wgrad, FALSE);
  if (tile->bias > 0)
    tape_push (tape, tape->backward, bias, FALSE);
}

static void
backward_tiles (Tape *tape, const TapeOp *op)
{
  gboolean  wants = tape_tensor (tape, op->in[0])->needs_grad;
  double    bytes = tape_tensor (tape, op->in[0])->bytes;
  TapeValue grad = wants ? tape_new_grad (tape, op->in[0]) : 0;

  tape_gather_again (tape, op->in[0]);
  for (guint64 i = op->out_splits; i-- > 0;)
    for (guint64 j = op->in_splits; j-- > 0;)
      {
        Tile tile = tile_of (tape, op, i, j);

        if (wants)
          {
            KernelDesc dgrad = tape_product_desc (tape, tape_join (op->name, ".dgrad"), 1,
                                                  op->shape.m, tile.k, tile.n, tile.product.flops);

            /* Of the input's part: the tile's gradient, added to that of those before. */
            dgrad.module = tile.product.module;
            dgrad.read_bytes = tile.out + tile.weight;
            dgrad.write_bytes = tile.in;
            tape_push (tape, tape->backward, dgrad, FALSE);
            if (!(i + 1 == op->out_splits))
              push_stream (tape, tape->backward, KERNEL_ELEMENTWISE, "grad_add", 2 * tile.in,
                           tile.in);
          }
        backward_weight (tape, op, &tile);
      }
  if (wants && op->in_splits > 1)
    push_stream (tape, tape->backward, KERNEL_COPY, tape_join (op->name, ".split_grad"), bytes,
                 bytes);
  if (wants)
    tape_give_grads (tape, op, 1, &grad);
}

/* The gradients of the parts are views of the whole's. */
static void
backward_cat (Tape *tape, const TapeOp *op)
{
  tape_give_grad (tape, op->in[0], tape_grad (tape, op->out[0]));
}

static TapeValue
put_together (Tape *tape, const char *name, TapeValue parts)
{
  TapeOp   *op = tape_add_op (tape, name, &parts, 1);
  TapeValue out = tape_add_output (tape, op, tape_tensor (tape, parts)->elements);

  op->backward = backward_cat;
  tape_push_forward (tape, op, tape_stream (tape, KERNEL_COPY, name, 0, 0, 1), FALSE);
  return out;
}

TapeValue
tape_tiled_linear (Tape *tape, const char *name, TapeValue in, LinearSpec spec, guint in_splits,
                   guint out_splits)
{
  guint64   rows = (guint64) spec.rows;
  TapeOp   *op = tape_add_op (tape, name, &in, 1);
  TapeValue parts;

  op->module = spec.module;
  op->backward = backward_tiles;
  op->in_splits = in_splits;
  op->out_splits = out_splits;
  op->shape = tape_product_desc (tape, name, 1, rows, spec.n, spec.k,
                                 2 * spec.rows * (double) spec.k * (double) spec.n);
  op->bias_bytes = spec.bias ? tape->e * (double) spec.n : 0;
  op->backward_extra = tape_tensor (tape, in)->bytes; /* a tile's, before it is added */
  parts = tape_add_output (tape, op, spec.rows * (double) spec.n);
  tape_save_piece (tape, in);
  for (guint64 i = 0; i < out_splits; i++)
    for (guint64 j = 0; j < in_splits; j++)
      {
        Tile tile = tile_of (tape, op, i, j);

        tile.product.read_bytes = tile.in + tile.weight + tile.bias;
        tile.product.write_bytes = tile.out;
        tape_push (tape, tape->forward, tile.product, FALSE);
        if (j == 0)
          push_stream (tape, tape->forward, KERNEL_COPY, tape_join (op->name, ".clone"), tile.out,
                       tile.out);
        else
          push_stream (tape, tape->forward, KERNEL_ELEMENTWISE, tape_join (op->name, ".sum"),
                       2 * tile.out, tile.out);
      }
  if (tape->n_products++ % 2 == 0)
    tape_list (tape, parts);
  return put_together (tape, tape_join (name, ".cat"), parts);
}
