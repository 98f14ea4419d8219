#include "model/tape/tape-clipped-private.h"

#include "model/step/privacy.h"

#include <math.h>

gboolean
tape_is_clipped (const Tape *tape)
{
  return training_is_private (tape->training);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static double
samples (const Tape *tape)
{
  return (double) tape->training->micro_batch;
}

static double
sample_tokens (const Tape *tape)
{
  return (double) training_tokens (tape->training) / samples (tape);
}

/* Whether norms of a gradient of ELEMENTS come of products of tokens: two are less to keep. */
static gboolean
by_tokens (const Tape *tape, double elements)
{
  return 2 * sample_tokens (tape) * sample_tokens (tape) < elements;
}

static gboolean
has_rank_noise (const Tape *tape)
{
  return training_noise (tape->training) == NOISE_RANK;
}

double
tape_clip_extra (const Tape *tape, const TapeOp *op, double elements)
{
  const double bytes = tape->e * elements, all = samples (tape) * bytes;
  const double tokens = sample_tokens (tape);
  const double noise = has_rank_noise (tape) ? bytes : 0;

  switch ((PrivateMethod) tape->training->private_method)
    {
    case PRIVATE_NONE:
      return 0;
    case PRIVATE_FLASHDP:
      return samples (tape) > 1 ? bytes : noise; /* one sample's, beside the sum */
    case PRIVATE_EXPLICIT:
      return training_holds_gradients_back (tape->training) ? noise : MAX (all, noise);
    case PRIVATE_GHOST:
    case PRIVATE_BOOK_KEEPING:
      {
        double norms = MIN (all, samples (tape) * tape->e * 2 * tokens * tokens);
        double weighed = tape->training->private_method == PRIVATE_BOOK_KEEPING
                             ? tape_tensor (tape, op->out[0])->elements * tape->e
                             : 0;

        return MAX (MAX (norms, weighed), noise);
      }
    }
  g_assert_not_reached ();
}

double
tape_clip_held (const Tape *tape)
{
  g_autofree gboolean *kept = g_new0 (gboolean, tape->values->len);
  double               bytes = 0;

  if (!training_holds_gradients_back (tape->training) || training_repeats_backward (tape->training))
    return 0;
  for (guint i = 0; i < tape->ops->len; i++)
    {
      const TapeOp *op = tape_op (tape, i);
      gboolean      linear = op->shape.batch > 0, table = op->n_in == 0;

      if (op->clipped == 0 || op->frozen)
        continue;
      if (tape->training->private_method == PRIVATE_EXPLICIT || (!linear && !table))
        bytes += samples (tape) * tape->e * op->clipped;
      else
        bytes += tape_tensor (tape, op->out[0])->elements * tape->e;
      if (tape->training->private_method == PRIVATE_EXPLICIT || !linear || kept[op->in[0]])
        continue;
      bytes += tape_tensor (tape, op->in[0])->bytes;
      kept[op->in[0]] = TRUE;
    }
  return bytes;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/*
 * Kernels that find norms run in the first of two backward passes, or (per layer) right before the
 * gradient, which then is what they are for.
 */
static TapeKernel *
push_for_norms (Tape *tape, KernelDesc desc)
{
  desc.weight_gradient = !training_holds_gradients_back (tape->training);
  desc.for_norms = training_repeats_backward (tape->training);
  return tape_push (tape, tape->backward, desc, FALSE);
}

static TapeKernel *
push_gradient (Tape *tape, KernelDesc desc)
{
  desc.weight_gradient = TRUE;
  return tape_push (tape, tape->backward, desc, FALSE);
}

static KernelDesc
pass (const Tape *tape, const TapeOp *op, KernelKind kind, const char *suffix, double read,
      double write, double launches)
{
  return tape_stream (tape, kind, tape_join (op->name, suffix), read, write, (guint) launches);
}

/* BATCH products of M x K and K x N in one kernel, each of which writes its result. */
static KernelDesc
product (const Tape *tape, const TapeOp *op, const char *suffix, double batch, double m, double n,
         double k)
{
  return (KernelDesc){ .kind = KERNEL_MATMUL,
                       .name = tape_join (op->name, suffix),
                       .dtype = tape->dtype,
                       .m = (guint64) m,
                       .n = (guint64) n,
                       .k = (guint64) ceil (k),
                       .batch = (guint64) batch,
                       .flops = 2 * batch * m * n * k,
                       .write_bytes = tape->e * batch * m * n,
                       .launches = 1,
                       .module = -1 };
}

/* Drawn and added to gradients of BYTES by each rank. */
static void
push_noise (Tape *tape, const TapeOp *op, const char *draw, const char *add, double bytes)
{
  if (!has_rank_noise (tape))
    return;
  push_gradient (tape, pass (tape, op, KERNEL_ELEMENTWISE, draw, 0, bytes, 1));
  push_gradient (tape, pass (tape, op, KERNEL_ELEMENTWISE, add, 2 * bytes, bytes, 1));
}

/* ---- a linear's weight ----------------------------------------------------------------------- */

static void
read_factors (Tape *tape, TapeKernel *kernel, const TapeOp *op)
{
  tape_kernel_reads (kernel, op->in[0]);
  tape_kernel_reads (kernel, tape_grad (tape, op->out[0]));
}

/* Of all samples, in a kernel of each or (TOGETHER) in one. */
static KernelDesc
sample_products (const Tape *tape, const TapeOp *op, gboolean together)
{
  KernelDesc desc = product (tape, op, ".sample_grads", samples (tape), (double) op->shape.n,
                             (double) op->shape.k, sample_tokens (tape));

  if (!together)
    {
      desc.streams = 1;
      desc.launches = (guint) desc.batch;
    }
  return desc;
}

static void
clip_in_turn (Tape *tape, const TapeOp *op, double bytes)
{
  const double b = samples (tape);

  read_factors (tape, push_gradient (tape, sample_products (tape, op, FALSE)), op);
  push_gradient (tape, pass (tape, op, KERNEL_ELEMENTWISE, ".clip", b * bytes, b * bytes, b));
  if (b > 1)
    push_gradient (tape, pass (tape, op, KERNEL_ELEMENTWISE, ".add_clipped", 2 * (b - 1) * bytes,
                               (b - 1) * bytes, b - 1));
  push_gradient (tape, pass (tape, op, KERNEL_ELEMENTWISE, ".mean", bytes, bytes, 1));
}

/* Gradients of all samples and their norms: of BYTES each. */
static void
find_norms_of_gradients (Tape *tape, const TapeOp *op, double bytes)
{
  read_factors (tape, push_for_norms (tape, sample_products (tape, op, TRUE)), op);
  push_for_norms (tape, pass (tape, op, KERNEL_REDUCTION, ".norms", samples (tape) * bytes, 0, 1));
}

static void
push_weighted_sum (Tape *tape, const TapeOp *op, double bytes)
{
  push_gradient (
      tape, pass (tape, op, KERNEL_REDUCTION, ".weighted_sum", samples (tape) * bytes, bytes, 1));
}

/* Of a value WIDTH wide: the products of each sample's tokens with each other. */
static TapeKernel *
push_token_products (Tape *tape, const TapeOp *op, const char *suffix, double width)
{
  const double s = sample_tokens (tape);

  return push_for_norms (tape, product (tape, op, suffix, samples (tape), s, s, width));
}

/* BESIDE: bytes that the sum over both products of a pair of tokens reads for it. */
static void
push_token_norms (Tape *tape, const TapeOp *op, double beside)
{
  const double pairs = samples (tape) * sample_tokens (tape) * sample_tokens (tape);

  push_for_norms (tape,
                  pass (tape, op, KERNEL_REDUCTION, ".norms", pairs * (tape->e + beside), 0, 1));
}

/* dY times each sample's factor, where the loss has not been weighed. */
static void
push_weighing (Tape *tape, const TapeOp *op)
{
  const double bytes = tape_tensor (tape, op->out[0])->elements * tape->e;

  if (!training_repeats_backward (tape->training))
    push_gradient (tape, pass (tape, op, KERNEL_ELEMENTWISE, ".weigh", bytes, bytes, 1));
}

/* Norms without what they are of; then the product of training without privacy. */
static void
clip_by_norms (Tape *tape, const TapeOp *op, double bytes)
{
  const gboolean tokens = by_tokens (tape, (double) op->shape.k * (double) op->shape.n);

  if (tokens)
    {
      tape_kernel_reads (push_token_products (tape, op, ".tokens_in", (double) op->shape.k),
                         op->in[0]);
      tape_kernel_reads (push_token_products (tape, op, ".tokens_out", (double) op->shape.n),
                         tape_grad (tape, op->out[0]));
      push_token_norms (tape, op, tape->e);
    }
  else
    find_norms_of_gradients (tape, op, bytes);
  if (!tokens && !training_holds_gradients_back (tape->training))
    {
      push_weighted_sum (tape, op, bytes);
      return;
    }
  push_weighing (tape, op);
  read_factors (
      tape,
      push_gradient (tape, product (tape, op, ".wgrad", 1, (double) op->shape.n,
                                    (double) op->shape.k, samples (tape) * sample_tokens (tape))),
      op);
}

/* ---- its bias -------------------------------------------------------------------------------- */

/* Sums over a sample's rows are small beside what is summed: BYTES each. */
static void
clip_small (Tape *tape, const TapeOp *op, double bytes)
{
  const double all = samples (tape) * bytes;

  push_for_norms (tape, pass (tape, op, KERNEL_REDUCTION, ".small_norms", all, 0, 1));
  if (!training_repeats_backward (tape->training))
    push_gradient (tape, pass (tape, op, KERNEL_REDUCTION, ".small_sum", all, bytes, 1));
  push_noise (tape, op, ".small_noise", ".add_small_noise", bytes);
}

/* FlashDP clips dY itself: the norm of a sample's, a pass over it, and the mean of all rows. */
static void
clip_bias (Tape *tape, const TapeOp *op)
{
  const TapeValue grad = tape_grad (tape, op->out[0]);
  const double    bytes = tape_tensor (tape, grad)->bytes;
  const gboolean  again = training_repeats_backward (tape->training);

  if (tape->training->private_method == PRIVATE_FLASHDP)
    {
      push_gradient (tape, pass (tape, op, KERNEL_REDUCTION, ".bias_norms", bytes, 0, 1));
      push_gradient (tape, pass (tape, op, KERNEL_ELEMENTWISE, ".bias_clip", bytes, bytes, 1));
      push_gradient (tape,
                     pass (tape, op, KERNEL_REDUCTION, ".bias_grad", bytes, op->bias_bytes, 1));
      push_noise (tape, op, ".bias_noise", ".add_bias_noise", op->bias_bytes);
      return;
    }
  push_for_norms (tape, pass (tape, op, KERNEL_REDUCTION, ".bias_sums", bytes,
                              samples (tape) * op->bias_bytes, 1));
  clip_small (tape, op, op->bias_bytes);
  if (again)
    push_gradient (tape, pass (tape, op, KERNEL_REDUCTION, ".bias_grad", bytes, op->bias_bytes, 1));
}

void
tape_clip_linear (Tape *tape, const TapeOp *op)
{
  switch ((PrivateMethod) tape->training->private_method)
    {
    case PRIVATE_FLASHDP:
      clip_in_turn (tape, op, op->weight_bytes);
      break;
    case PRIVATE_EXPLICIT:
      find_norms_of_gradients (tape, op, op->weight_bytes);
      push_weighted_sum (tape, op, op->weight_bytes);
      break;
    case PRIVATE_GHOST:
    case PRIVATE_BOOK_KEEPING:
      clip_by_norms (tape, op, op->weight_bytes);
      break;
    case PRIVATE_NONE:
      g_assert_not_reached ();
    }
  push_noise (tape, op, ".noise", ".add_noise", op->weight_bytes);
  if (op->bias_bytes > 0)
    clip_bias (tape, op);
}

/* ---- norms ----------------------------------------------------------------------------------- */

/*
 * The product of dY and the rows, written and summed over each sample's rows; of a bias dY itself.
 * The same with every method (FlashDP's layernorm_dw_clip, Opacus' grad_sample/layer_norm.py).
 */
gboolean
tape_clip_rows (Tape *tape, const TapeOp *op, gboolean summed)
{
  const double bytes = tape_tensor (tape, op->out[0])->bytes;
  TapeKernel  *kernel;

  if (!tape_is_clipped (tape))
    return TRUE;
  if (!summed)
    {
      kernel = push_for_norms (
          tape, pass (tape, op, KERNEL_ELEMENTWISE, ".sample_products", 0, bytes, 1));
      read_factors (tape, kernel, op);
      push_for_norms (tape, pass (tape, op, KERNEL_REDUCTION, ".sample_sums",
                                  op->bias_bytes > 0 ? 2 * bytes : bytes,
                                  samples (tape) * op->weight_bytes, op->bias_bytes > 0 ? 2 : 1));
    }
  clip_small (tape, op, op->weight_bytes);
  return training_repeats_backward (tape->training);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/*
 * FlashDP leaves embeddings as they are. Of the others explicit has the table of each sample; norms
 * by tokens count pairs of one id.
 */
void
tape_clip_table (Tape *tape, const TapeOp *op, KernelDesc clear, KernelDesc scatter)
{
  const PrivateMethod method = (PrivateMethod) tape->training->private_method;
  const TapeValue     grad = tape_grad (tape, op->out[0]);
  const double        bytes = op->fixed[0];

  if (method == PRIVATE_EXPLICIT)
    {
      clear.write_bytes *= samples (tape);
      push_for_norms (tape, clear);
      tape_kernel_reads (push_for_norms (tape, scatter), grad);
      push_for_norms (tape,
                      pass (tape, op, KERNEL_REDUCTION, ".norms", samples (tape) * bytes, 0, 1));
      push_weighted_sum (tape, op, bytes);
    }
  else
    {
      if (method != PRIVATE_FLASHDP)
        {
          tape_kernel_reads (push_token_products (tape, op, ".tokens_out", (double) op->shape.n),
                             grad);
          push_token_norms (tape, op, 1); /* and whether both ids are the same */
          push_weighing (tape, op);
        }
      push_gradient (tape, clear);
      tape_kernel_reads (push_gradient (tape, scatter), grad);
    }
  if (method != PRIVATE_FLASHDP)
    push_noise (tape, op, ".noise", ".add_noise", bytes);
}
