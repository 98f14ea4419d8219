/* From the record of a layer to its kernels and memory under a checkpointing mode. */
#include "workload/tape-comm-private.h"
#include "workload/tape-private.h"

/* ---- what is kept ---- */

static gboolean
is_kept (const Tape *self, TapeValue value, CheckpointMode mode)
{
  const TapeTensor *tensor = tape_tensor (self, value);
  gboolean in_core = tensor->producer >= 0 && tape_op (self, (guint) tensor->producer)->core;

  switch (mode)
    {
    case CHECKPOINT_NONE:
      return tensor->saved;
    case CHECKPOINT_SELECTIVE:
      return tensor->saved_outside || (tensor->saved && !in_core);
    case CHECKPOINT_FULL:
      return tensor->producer < 0;
    case CHECKPOINT_SELECTIVE_OP:
      return tensor->producer < 0 || tensor->listed;
    case CHECKPOINT_SELECTIVE_LAYER:
    case CHECKPOINT_LAYERS:
      break;
    }
  g_assert_not_reached ();
}

/* Kept, or made again: what there is when the backward pass of a recomputed block begins. */
static double
restored_bytes (const Tape *self, CheckpointMode mode)
{
  double bytes = 0;

  for (guint i = 0; i < self->values->len; i++)
    if (tape_tensor (self, i)->saved || is_kept (self, i, mode))
      bytes += tape_tensor (self, i)->bytes;
  return bytes;
}

/* An operation that makes no value of its own changes its input in place. */
static gboolean
makes_needed (const TapeOp *op, guint index, const Tape *self, const gboolean *needed)
{
  for (guint i = 0; op->n_out == 0 && i < op->n_in; i++)
    if (needed[op->in[i]])
      return TRUE;
  for (guint i = 0; i < self->values->len; i++)
    if (needed[i] && tape_tensor (self, i)->producer == (gint) index)
      return TRUE;
  return FALSE;
}

/*
 * Operations whose forward is run again: the attention core; all; or those that lead from what is
 * kept to what the backward pass wants. One flag an operation.
 */
static gboolean *
rerun_ops (const Tape *self, CheckpointMode mode)
{
  gboolean            *rerun = g_new0 (gboolean, self->ops->len);
  g_autofree gboolean *needed = g_new0 (gboolean, self->values->len);

  for (guint i = 0; i < self->values->len; i++)
    needed[i] = tape_tensor (self, i)->saved && !is_kept (self, i, mode);
  for (guint i = self->ops->len; i > 0; i--)
    {
      const TapeOp *op = tape_op (self, i - 1);

      if (mode == CHECKPOINT_SELECTIVE)
        rerun[i - 1] = op->core;
      else if (mode == CHECKPOINT_FULL && self->training->traits.recomputes_all)
        rerun[i - 1] = TRUE;
      else if (mode != CHECKPOINT_NONE && makes_needed (op, i - 1, self, needed))
        {
          rerun[i - 1] = TRUE;
          for (guint j = 0; j < op->n_in; j++)
            needed[op->in[j]] |= !is_kept (self, op->in[j], mode);
        }
    }
  return rerun;
}

double
tape_saved_bytes (const Tape *self, CheckpointMode mode, gboolean statistics)
{
  double bytes = 0;

  for (guint i = 0; i < self->values->len; i++)
    if (is_kept (self, i, mode) && (statistics || !tape_tensor (self, i)->statistic))
      bytes += tape_tensor (self, i)->bytes;
  return bytes;
}

/*
 * Most bytes that are alive at once while the forward pass runs and keeps what MODE says; or AGAIN,
 * with that, and leaves all that is wanted.
 */
static double
forward_peak (const Tape *self, CheckpointMode mode, gboolean again)
{
  double peak = 0;

  for (gint t = 0; t < (gint) self->ops->len; t++)
    {
      double alive = 0;

      for (guint i = 0; i < self->values->len; i++)
        {
          const TapeTensor *tensor = tape_tensor (self, i);

          gboolean kept = is_kept (self, i, mode);

          if ((again && kept)
              || (tensor->producer <= t
                  && (tensor->producer == t || tensor->last_use >= t || i == self->output || kept
                      || (again && tensor->saved))))
            alive += tensor->bytes;
        }
      peak = MAX (peak, alive);
    }
  return peak;
}

/* ---- the backward pass ---- */

/* The gradients of op's outputs have been used, and what op was the last to keep is freed. */
static void
release_op (Tape *self, gint index, guint n_values)
{
  const TapeOp *op = tape_op (self, (guint) index);

  for (guint i = 0; i < op->n_out; i++)
    if (g_array_index (self->grads, gint, op->out[i]) >= 0)
      tape_release_grad (self, tape_grad (self, op->out[i]));
  for (guint i = 0; i < n_values; i++)
    if (tape_tensor (self, i)->saved && tape_tensor (self, i)->first_saver == index)
      {
        tape_log_tensor (self, i, FALSE);
        self->alive -= tape_tensor (self, i)->bytes;
      }
}

/* What a kernel takes for itself while it runs. */
static void
log_workspace (Tape *self, double bytes)
{
  TapeValue value;

  if (bytes == 0)
    return;
  value = tape_add_value (self, "workspace", bytes, bytes, FALSE);
  tape_log_tensor (self, value, TRUE);
  tape_log_tensor (self, value, FALSE);
}

/* The values that MODE leaves to be made again, of the attention core or of all. */
static void
log_recomputed (Tape *self, CheckpointMode mode, guint n_values)
{
  g_autofree gboolean *kept = g_new (gboolean, n_values), *wanted = g_new (gboolean, n_values);

  for (guint i = 0; i < n_values; i++)
    {
      kept[i] = is_kept (self, i, mode);
      wanted[i] = kept[i] || tape_tensor (self, i)->saved;
    }
  if (mode == CHECKPOINT_FULL || mode == CHECKPOINT_SELECTIVE_OP)
    tape_log_forward (self, wanted, kept, n_values);
  else if (mode == CHECKPOINT_SELECTIVE)
    for (guint i = 0; i < n_values; i++)
      if (wanted[i] && !kept[i])
        tape_log_tensor (self, i, TRUE);
}

/*
 * Walks the operations backwards. Full checkpointing recomputes everything first, selective the
 * core when it comes to it.
 */
static void
run_backward (Tape *self, CheckpointMode mode)
{
  guint    n_values = self->values->len;
  gboolean core_recomputed = mode != CHECKPOINT_SELECTIVE;
  double   saved = tape_saved_bytes (self, CHECKPOINT_NONE, TRUE);
  double   kept = tape_saved_bytes (self, mode, TRUE);

  /* a checkpoint holds its input, and a policy its list, even where no operation does */
  self->alive = mode == CHECKPOINT_SELECTIVE ? kept : restored_bytes (self, mode);
  if (mode != CHECKPOINT_SELECTIVE)
    log_recomputed (self, mode, n_values);
  tape_give_grad (self, self->output, tape_new_grad (self, self->output));
  self->peak = self->alive;
  for (gint i = (gint) self->ops->len - 1; i >= 0; i--)
    {
      const TapeOp *op = tape_op (self, (guint) i);

      if (op->core && !core_recomputed)
        {
          log_recomputed (self, mode, n_values);
          self->alive += saved - kept;
          core_recomputed = TRUE;
        }
      if (op->backward != NULL)
        op->backward (self, op);
      if (!op->logs_extra)
        log_workspace (self, op->backward_extra);
      self->peak = MAX (self->peak, self->alive + op->backward_extra);
      release_op (self, i, n_values);
    }
}

/* Whether something in the layer is trained, or something before it, whose gradient passes it. */
static gboolean
has_backward (const Tape *self)
{
  for (guint i = 0; i < self->values->len; i++)
    if (tape_tensor (self, i)->producer < 0 && tape_tensor (self, i)->needs_grad)
      return TRUE;
  for (guint i = 0; i < self->ops->len; i++)
    if (!tape_op (self, i)->frozen)
      return TRUE;
  return FALSE;
}

static void
keep_nothing (Tape *self)
{
  for (guint i = 0; i < self->values->len; i++)
    tape_tensor (self, i)->saved = FALSE;
}

/* ---- kernel lists ---- */

static gboolean
kernel_touches (const TapeValue *values, guint n, TapeValue value)
{
  for (guint i = 0; i < n; i++)
    if (values[i] == value)
      return TRUE;
  return FALSE;
}

/* TRUE when a kernel in [FIRST, END) reads VALUE. */
static gboolean
is_read (const GArray *kernels, guint first, guint end, TapeValue value)
{
  for (guint i = first; i < end; i++)
    {
      const TapeKernel *kernel = &g_array_index (kernels, TapeKernel, i);

      if (kernel_touches (kernel->reads, kernel->n_reads, value))
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_written (const GArray *kernels, guint first, guint end, TapeValue value)
{
  for (guint i = first; i < end; i++)
    {
      const TapeKernel *kernel = &g_array_index (kernels, TapeKernel, i);

      if (kernel_touches (kernel->writes, kernel->n_writes, value))
        return TRUE;
    }
  return FALSE;
}

/*
 * The kernels [FIRST, END) as one: values that it makes are not read back, those that nobody else
 * needs are not written.
 */
static KernelDesc
merge_kernels (const Tape *self, const GArray *kernels, guint first, guint end,
               const gboolean *kept)
{
  KernelDesc merged = g_array_index (kernels, TapeKernel, first).desc;

  if (merged.kind == KERNEL_COMMUNICATION)
    return merged;
  for (guint i = first; i < end; i++)
    {
      const TapeKernel *kernel = &g_array_index (kernels, TapeKernel, i);

      if (i > first)
        {
          merged.read_bytes += kernel->desc.read_bytes;
          merged.write_bytes += kernel->desc.write_bytes;
          merged.kind = kernel->desc.kind == KERNEL_REDUCTION ? KERNEL_REDUCTION : merged.kind;
          merged.module = MAX (merged.module, kernel->desc.module);
          merged.joins |= kernel->desc.joins;
          merged.name = tape_join (tape_join (merged.name, "+"), kernel->desc.name);
        }
      for (guint j = 0; j < kernel->n_reads; j++)
        if (end == first + 1
            || (!is_read (kernels, first, i, kernel->reads[j])
                && !is_written (kernels, first, i, kernel->reads[j])))
          merged.read_bytes += kernel->share * tape_tensor (self, kernel->reads[j])->bytes;
      for (guint j = 0; j < kernel->n_writes; j++)
        if (end == first + 1 || kept[kernel->writes[j]]
            || is_read (kernels, end, kernels->len, kernel->writes[j]))
          merged.write_bytes += kernel->share * tape_tensor (self, kernel->writes[j])->bytes;
    }
  if (end > first + 1)
    merged.launches = 1;
  if (!kernel_desc_is_product (&merged))
    merged.flops = (merged.read_bytes + merged.write_bytes) / self->e;
  return merged;
}

static gboolean
is_listed (const TapeKernel *kernel, const gboolean *ops)
{
  return ops == NULL || ops[kernel->op];
}

/*
 * KERNELS as descriptors, element-wise runs fused when compiled. OPS: recomputation, of these only.
 */
static GArray *
list_kernels (const Tape *self, GArray *kernels, const gboolean *ops, const gboolean *kept)
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (KernelDesc));

  for (guint i = 0, end; i < kernels->len; i = end)
    {
      const TapeKernel *kernel = &g_array_index (kernels, TapeKernel, i);

      end = i + 1;
      if (!is_listed (kernel, ops))
        continue;
      while (self->training->compile && kernel->fusible && end < kernels->len
             && g_array_index (kernels, TapeKernel, end).fusible
             && is_listed (&g_array_index (kernels, TapeKernel, end), ops))
        end++;

      KernelDesc desc = merge_kernels (self, kernels, i, end, kept);

      if (ops != NULL && kernel_desc_is_product (&desc))
        desc.recomputed_flops = desc.flops * tape_op (self, (guint) kernel->op)->counted;
      g_array_append_val (list, desc);
    }
  return list;
}

static gboolean *
kept_values (const Tape *self, CheckpointMode mode)
{
  gboolean *kept = g_new0 (gboolean, self->values->len);

  for (guint i = 0; i < self->values->len; i++)
    kept[i] = is_kept (self, i, mode);
  kept[self->output] = TRUE;
  return kept;
}

static void
log_forward (Tape *self, CheckpointMode mode)
{
  g_autofree gboolean *kept = g_new (gboolean, self->values->len);

  for (guint i = 0; i < self->values->len; i++)
    kept[i] = is_kept (self, i, mode);
  tape_log_forward (self, kept, NULL, self->values->len);
}

TapeResult
tape_finish (Tape *self, TapeValue output, CheckpointMode mode)
{
  TapeResult           result = { 0 };
  g_autofree gboolean *kept = NULL, *all_kept = NULL, *grads_kept = NULL, *rerun = NULL;
  gint                 input_grad;
  gboolean             backward = has_backward (self);

  self->output = output;
  if (!backward)
    keep_nothing (self);
  kept = kept_values (self, mode);
  all_kept = kept_values (self, CHECKPOINT_NONE);
  result.saved = tape_saved_bytes (self, mode, TRUE);
  result.working = MAX (0, forward_peak (self, mode, FALSE) - result.saved);
  log_forward (self, mode);
  result.forward_memory = tape_take_memory (self, &result.forward_to_peak);
  tape_comm_settle (self);
  result.forward = list_kernels (self, self->forward, NULL, kept);
  rerun = rerun_ops (self, mode);
  result.recompute = list_kernels (self, self->forward, rerun, all_kept);
  result.backward_bytes = mode == CHECKPOINT_FULL || mode == CHECKPOINT_SELECTIVE_OP
                              ? forward_peak (self, mode, TRUE)
                              : 0;
  if (backward)
    run_backward (self, mode);
  result.backward_bytes = MAX (result.backward_bytes, self->peak) - result.saved;
  result.backward_memory = tape_take_memory (self, &result.backward_to_peak);
  result.n_tensors = self->values->len;

  tape_comm_settle (self);
  grads_kept = g_new0 (gboolean, self->values->len);
  input_grad = g_array_index (self->grads, gint, 0);
  if (input_grad >= 0)
    grads_kept[input_grad] = TRUE;
  result.backward = list_kernels (self, self->backward, NULL, grads_kept);
  return result;
}
