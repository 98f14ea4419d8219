/*
 * What fine-tuning adds to a block's operations: frozen weights in 4 bits (QLoRA, arXiv:2305.14314)
 * and DoRA's magnitudes (arXiv:2402.09353).
 */
#include "model/tape/tape-ops-private.h"

void
tape_unpack (Tape *tape, GArray *list, const TapeOp *op)
{
  const Packing *packing = &op->packing;
  KernelDesc     desc;

  if (packing->launches == 0)
    return;
  desc = tape_stream (tape, KERNEL_ELEMENTWISE,
                      tape_join (op->name, packing->stays ? ".narrow" : ".dequantize"),
                      2 * (double) packing->elements + packing->scale_read,
                      op->weight_bytes + packing->scale_write, packing->launches);
  desc.module = op->module;
  tape_push (tape, list, desc, FALSE);
}

/* ---- DoRA ---- */

static void
backward_scale_columns (Tape *tape, const TapeOp *op)
{
  double     bytes = tape_tensor (tape, op->in[0])->bytes;
  KernelDesc scale =
      tape_stream (tape, KERNEL_ELEMENTWISE, tape_backward_name (op), op->weight_bytes, 0, 1);
  KernelDesc product =
      tape_stream (tape, KERNEL_ELEMENTWISE, tape_join (op->name, ".grad"), 0, bytes, 1);
  KernelDesc sum = tape_stream (tape, KERNEL_REDUCTION, tape_join (op->name, ".grad_sum"), bytes,
                                op->weight_bytes, 1);
  TapeValue  grad;

  scale.module = op->module;
  product.weight_gradient = sum.weight_gradient = TRUE;
  tape_push_backward (tape, op, scale, FALSE, 1, &grad);
  tape_kernel_reads (tape_push_backward (tape, op, product, FALSE, 0, NULL), op->in[0]);
  tape_push (tape, tape->backward, sum, FALSE);
  tape_give_grads (tape, op, 1, &grad);
}

TapeValue
tape_scale_columns (Tape *tape, const char *name, TapeValue in, gint module, double width)
{
  TapeOp    *op = tape_add_op (tape, name, &in, 1);
  TapeValue  out = tape_add_output (tape, op, tape_tensor (tape, in)->elements);
  KernelDesc desc = tape_stream (tape, KERNEL_ELEMENTWISE, name, tape->e * width, 0, 1);

  op->module = module;
  op->backward = backward_scale_columns;
  op->weight_bytes = tape->e * width;
  op->backward_extra = tape_tensor (tape, in)->bytes; /* the product that is summed */
  tape_save (tape, in);
  desc.module = module;
  tape_push_forward (tape, op, desc, FALSE);
  return out;
}

static void
backward_nothing (Tape *tape, const TapeOp *op)
{
  (void) tape;
  (void) op;
}

/* M x K times K x N, whose gradient nobody wants. */
static void
push_product (Tape *tape, const char *name, gint module, double m, double n, double k)
{
  KernelDesc desc = { .kind = KERNEL_MATMUL,
                      .name = name,
                      .dtype = tape->dtype,
                      .m = (guint64) m,
                      .n = (guint64) n,
                      .k = (guint64) k,
                      .batch = 1,
                      .flops = 2 * m * n * k,
                      .read_bytes = tape->e * (m * k + k * n),
                      .write_bytes = tape->e * m * n,
                      .launches = 1,
                      .module = module };

  tape_push (tape, tape->forward, desc, FALSE);
}

static void
push_pass (Tape *tape, KernelKind kind, const char *name, gint module, double read, double write,
           guint launches)
{
  KernelDesc desc = tape_stream (tape, kind, name, read, write, launches);

  desc.module = module;
  tape_push (tape, tape->forward, desc, FALSE);
}

/*
 * peft/tuners/lora/dora.py: B A as the adapter's result for the unit matrix (k x k), then s B A,
 * W + s B A and the norms. All of it lives until the norms are there.
 */
void
tape_weight_norm (Tape *tape, const char *name, TapeValue in, WeightNormSpec spec)
{
  double  k = spec.k, n = spec.n, r = spec.rank, e = tape->e, matrix = e * k * n;
  TapeOp *op = tape_add_op (tape, name, &in, 1);

  op->backward = backward_nothing;
  op->module = spec.weight;
  op->packing = spec.packing;
  op->weight_bytes = matrix;
  tape_add_value (tape, "weight_norm", 0,
                  e * k * (k + r) + (spec.packing.elements > 0 ? 4 : 3) * matrix, FALSE);
  push_pass (tape, KERNEL_ELEMENTWISE, tape_join (name, ".eye"), spec.down, 0, e * k * k, 2);
  push_product (tape, tape_join (name, ".lora_A"), spec.down, k, r, k);
  push_product (tape, tape_join (name, ".lora_B"), spec.up, k, n, r);
  tape_unpack (tape, tape->forward, op);
  push_pass (tape, KERNEL_ELEMENTWISE, tape_join (name, ".sum"), spec.weight, 3 * matrix,
             2 * matrix, 2);
  push_pass (tape, KERNEL_REDUCTION, tape_join (name, ".norm"), spec.weight, matrix, e * n, 1);
}
