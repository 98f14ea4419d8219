#include "base/intern.h"
#include "model/tape/tape-ops-private.h"

Tape *
tape_new (const TrainingOptions *training, gboolean compiled)
{
  Tape *self = g_new0 (Tape, 1);

  self->options = *training;
  self->options.compile = compiled && training_compiles_blocks (training);
  self->options.traits.fused_loss |= training_compiles_loss (training);
  self->training = &self->options;
  self->dtype = training_compute_dtype (training);
  self->e = training_compute_bytes (training);
  self->stream_e = training_has_wide_stream (training) ? dtype_bytes (DTYPE_FP32) : self->e;
  self->fp8 = fp8_recipe (training);
  self->recomputed = block_parts_recomputed (training);
  self->counted = 1;
  self->frozen = training->peft != PEFT_NONE;
  self->values = g_array_new (FALSE, FALSE, sizeof (TapeTensor));
  self->ops = g_array_new (FALSE, FALSE, sizeof (TapeOp));
  self->forward = g_array_new (FALSE, FALSE, sizeof (TapeKernel));
  self->backward = g_array_new (FALSE, FALSE, sizeof (TapeKernel));
  self->grads = g_array_new (FALSE, FALSE, sizeof (gint));
  self->memory = g_array_new (FALSE, FALSE, sizeof (MemoryStep));
  self->chains = g_array_new (FALSE, FALSE, sizeof (ChainKernel));
  return self;
}

void
tape_free (Tape *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->values);
  g_array_unref (self->ops);
  g_array_unref (self->forward);
  g_array_unref (self->backward);
  g_array_unref (self->grads);
  g_array_unref (self->memory);
  g_array_unref (self->chains);
  g_free (self);
}

guint
tape_parts_of (const Tape *self, TapeValue value)
{
  gint producer = tape_tensor (self, value)->producer;

  return producer < 0 ? 0 : tape_op (self, (guint) producer)->parts;
}

guint
tape_enter (Tape *self, guint parts)
{
  guint outer = self->parts;

  self->parts |= parts;
  return outer;
}

void
tape_log_tensor (Tape *self, TapeValue value, gboolean comes)
{
  double     bytes = tape_tensor (self, value)->bytes;
  MemoryStep step = { value, comes ? (guint64) MIN (bytes, 0x1p62) : 0 };

  if (bytes >= 1)
    g_array_append_val (self->memory, step);
}

/* ---- recording ---- */

TapeValue
tape_add_value (Tape *self, const char *name, double elements, double bytes, gboolean needs_grad)
{
  gint       none = -1;
  TapeTensor tensor = { .name = name,
                        .elements = elements,
                        .bytes = bytes,
                        .producer = (gint) self->ops->len - 1,
                        .last_use = -1,
                        .first_saver = -1,
                        .last_saver = -1,
                        .savers = G_MAXUINT,
                        .copy_of = -1,
                        .view_of = -1,
                        .piece = -1,
                        .fp8_rows = -1,
                        .fp8_columns = -1,
                        .needs_grad = needs_grad };

  g_array_append_val (self->values, tensor);
  g_array_append_val (self->grads, none);
  return self->values->len - 1;
}

TapeOp *
tape_add_op (Tape *self, const char *name, const TapeValue *in, guint n_in)
{
  TapeOp op = { .name = name,
                .n_in = n_in,
                .module = -1,
                .slice = -1,
                .parts = self->parts,
                .frozen = self->frozen,
                .counted = self->counted,
                .launches = 1 };

  for (guint i = 0; i < n_in; i++)
    {
      TapeTensor *tensor = tape_tensor (self, in[i]);

      op.in[i] = in[i];
      tensor->last_use = (gint) self->ops->len;
      tensor->arguments |= self->parts & ~tape_parts_of (self, in[i]);
    }
  g_array_append_val (self->ops, op);
  return tape_op (self, self->ops->len - 1);
}

TapeValue
tape_add_output (Tape *self, TapeOp *op, double elements)
{
  op->out[op->n_out] = tape_add_value (self, op->name, elements, elements * self->e, TRUE);
  return op->out[op->n_out++];
}

/* The operation recorded last keeps VALUE. */
void
tape_save (Tape *self, TapeValue value)
{
  gint        of = tape_tensor (self, value)->view_of;
  TapeTensor *tensor = tape_tensor (self, of >= 0 ? (TapeValue) of : value);

  if (!tensor->saved)
    tensor->first_saver = (gint) self->ops->len - 1;
  tensor->saved = TRUE;
  tensor->last_saver = (gint) self->ops->len - 1;
  tensor->savers &= self->parts;
}

void
tape_save_piece (Tape *self, TapeValue value)
{
  gint piece = tape_tensor (self, value)->piece;

  tape_save (self, piece >= 0 ? (TapeValue) piece : value);
}

void
tape_list (Tape *self, TapeValue value)
{
  tape_tensor (self, value)->listed = TRUE;
}

TapeValue
tape_add_aux (Tape *self, const char *name, double bytes, gboolean statistic)
{
  TapeValue value = tape_add_value (self, name, bytes, bytes, FALSE);

  tape_tensor (self, value)->statistic = statistic;
  tape_save (self, value);
  return value;
}

TapeKernel *
tape_insert (Tape *self, GArray *list, guint place, KernelDesc desc)
{
  TapeKernel kernel = { .desc = desc, .op = (gint) self->ops->len - 1, .copy = -1, .share = 1 };

  g_array_insert_val (list, place, kernel);
  return &g_array_index (list, TapeKernel, place);
}

TapeKernel *
tape_push (Tape *self, GArray *list, KernelDesc desc, gboolean fusible)
{
  gboolean   *join = list == self->forward ? &self->join_forward : &self->join_next;
  TapeKernel *kernel;

  desc.joins |= *join;
  *join = FALSE;
  kernel = tape_insert (self, list, list->len, desc);
  kernel->fusible = fusible;
  return kernel;
}

void
tape_kernel_reads (TapeKernel *kernel, TapeValue value)
{
  g_assert (kernel->n_reads < G_N_ELEMENTS (kernel->reads));
  kernel->reads[kernel->n_reads++] = value;
}

void
tape_kernel_writes (TapeKernel *kernel, TapeValue value)
{
  g_assert (kernel->n_writes < G_N_ELEMENTS (kernel->writes));
  kernel->writes[kernel->n_writes++] = value;
}

KernelDesc
tape_stream (const Tape *self, KernelKind kind, const char *name, double read, double write,
             guint launches)
{
  return kernel_desc_stream (kind, name, self->dtype, read, write, launches);
}

const char *
tape_join (const char *name, const char *suffix)
{
  g_autofree char *joined = g_strconcat (name, suffix, NULL);

  return intern_text (joined);
}

/* ---- gradients ---- */

TapeValue
tape_grad (const Tape *self, TapeValue value)
{
  gint grad = g_array_index (self->grads, gint, value);

  g_assert (grad >= 0);
  return (TapeValue) grad;
}

/* The gradient of what was gathered in fp8 is none. */
TapeValue
tape_new_grad (Tape *self, TapeValue value)
{
  TapeTensor of = *tape_tensor (self, value);
  double     bytes = of.fp8_rows == (gint) value ? of.elements * self->e : of.bytes;
  TapeValue  grad = tape_add_value (self, of.name, of.elements, bytes, FALSE);

  tape_log_tensor (self, grad, TRUE);
  self->alive += bytes;
  self->peak = MAX (self->peak, self->alive);
  return grad;
}

void
tape_release_grad (Tape *self, TapeValue grad)
{
  TapeTensor *tensor = tape_tensor (self, grad);

  g_assert (tensor->n_holders > 0);
  if (--tensor->n_holders > 0)
    return;
  tape_log_tensor (self, grad, FALSE);
  self->alive -= tensor->bytes;
}

/*
 * Autograd sums a second gradient in place where it can: the sum takes no memory of its own then.
 */
void
tape_give_grad (Tape *self, TapeValue value, TapeValue grad)
{
  gint        old = g_array_index (self->grads, gint, value);
  TapeValue   sum;
  TapeKernel *kernel;

  tape_tensor (self, grad)->n_holders++;
  if (old < 0)
    {
      g_array_index (self->grads, gint, value) = (gint) grad;
      return;
    }
  tape_release_grad (self, (TapeValue) old);
  sum = tape_new_grad (self, value);
  tape_tensor (self, sum)->n_holders = 1;
  kernel = tape_push (self, self->backward,
                      tape_stream (self, KERNEL_ELEMENTWISE, "grad_add", 0, 0, 1), TRUE);
  tape_kernel_reads (kernel, (TapeValue) old);
  tape_kernel_reads (kernel, grad);
  tape_kernel_writes (kernel, sum);
  tape_release_grad (self, grad);
  g_array_index (self->grads, gint, value) = (gint) sum;
}

/* ---- kernels of an operation ---- */

const char *
tape_backward_name (const TapeOp *op)
{
  return tape_join (op->name, ".backward");
}

TapeKernel *
tape_push_backward (Tape *tape, const TapeOp *op, KernelDesc desc, gboolean fusible, guint n,
                    TapeValue *grads)
{
  TapeKernel *kernel;

  for (guint i = 0; i < n; i++)
    grads[i] = tape_new_grad (tape, op->in[i]);
  kernel = tape_push (tape, tape->backward, desc, fusible);
  for (guint i = 0; i < op->n_out; i++)
    tape_kernel_reads (kernel, tape_grad (tape, op->out[i]));
  for (guint i = 0; i < n; i++)
    tape_kernel_writes (kernel, grads[i]);
  return kernel;
}

void
tape_give_grads (Tape *tape, const TapeOp *op, guint n, const TapeValue *grads)
{
  for (guint i = 0; i < n; i++)
    tape_give_grad (tape, op->in[i], grads[i]);
}

void
tape_push_forward (Tape *tape, const TapeOp *op, KernelDesc desc, gboolean fusible)
{
  TapeKernel *kernel = tape_push (tape, tape->forward, desc, fusible);

  for (guint i = 0; i < op->n_in; i++)
    tape_kernel_reads (kernel, op->in[i]);
  for (guint i = 0; i < op->n_out; i++)
    tape_kernel_writes (kernel, op->out[i]);
}
