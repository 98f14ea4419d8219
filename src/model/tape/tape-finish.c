/* From the record of a layer to its kernels and memory under a checkpointing mode. */
#include "model/tape/tape-clipped-private.h"
#include "model/tape/tape-comm-private.h"
#include "model/tape/tape-private.h"

/* ---- bytes ---- */

double
tape_saved_bytes (const Tape *self, CheckpointMode mode, gboolean statistics)
{
  double bytes = 0;

  for (guint i = 0; i < self->values->len; i++)
    if (tape_keeps (self, i, mode) && (statistics || !tape_tensor (self, i)->statistic))
      bytes += tape_tensor (self, i)->bytes;
  return bytes;
}

/* A value while operations run: alive from one of them to another, both included. */
typedef struct
{
  gint   from, to;
  double bytes;
} Life;

/* Most bytes of LIVES, one a value, that are alive at once while the forward pass runs. */
static double
most_alive (const Tape *self, const Life *lives)
{
  double peak = 0;

  for (gint t = 0; t < (gint) self->ops->len; t++)
    {
      double alive = 0;

      for (guint i = 0; i < self->values->len; i++)
        if (lives[i].from <= t && t <= lives[i].to)
          alive += lives[i].bytes;
      peak = MAX (peak, alive);
    }
  return peak;
}

/* A value from its producer to its last reader; one that STAYS to the end of the pass. */
static Life
life_of (const TapeTensor *tensor, gboolean stays)
{
  return (Life){ tensor->producer, stays ? G_MAXINT : MAX (tensor->producer, tensor->last_use),
                 tensor->bytes };
}

/*
 * Most bytes that are alive at once while the forward pass runs and keeps KEPT, a flag a value; or
 * AGAIN, with that, and leaves all that is wanted.
 */
static double
forward_peak (const Tape *self, const gboolean *kept, gboolean again)
{
  g_autofree Life *lives = g_new (Life, self->values->len);

  for (guint i = 0; i < self->values->len; i++)
    {
      const TapeTensor *tensor = tape_tensor (self, i);

      lives[i] = life_of (tensor, i == self->output || kept[i] || (again && tensor->saved));
      if (again && kept[i])
        lives[i].from = -1;
    }
  return most_alive (self, lives);
}

/* Most bytes that are alive at once in a forward pass that leaves its output only. */
static double
inference_peak (const Tape *self)
{
  g_autofree Life *lives = g_new (Life, self->values->len);

  for (guint i = 0; i < self->values->len; i++)
    lives[i] = life_of (tape_tensor (self, i), i == self->output);
  return most_alive (self, lives);
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

/* Whether a gradient comes to OP: from one of its results, or from itself, where it has none. */
static gboolean
has_gradient (const Tape *self, const TapeOp *op)
{
  for (guint i = 0; i < op->n_out; i++)
    if (g_array_index (self->grads, gint, op->out[i]) >= 0)
      return TRUE;
  return op->n_out == 0;
}

/*
 * Walks the operations backwards. Whole blocks are recomputed first, parts when their results are
 * wanted; what a part makes and nobody keeps is not counted.
 */
static void
run_backward (Tape *self, CheckpointMode mode, const TapeRerun *rerun)
{
  guint n_values = self->values->len;

  /* a checkpoint holds its input, and a policy its list, even where no operation does */
  if (mode == CHECKPOINT_FULL || mode == CHECKPOINT_SELECTIVE_OP)
    {
      double               bytes = 0;
      g_autofree gboolean *kept = g_new (gboolean, n_values), *wanted = g_new (gboolean, n_values);

      /* Kept, or made again: what there is when the backward pass of a recomputed block begins. */
      for (guint i = 0; i < self->values->len; i++)
        if (tape_tensor (self, i)->saved || tape_keeps (self, i, mode))
          bytes += tape_tensor (self, i)->bytes;
      self->alive = bytes;
      for (guint i = 0; i < n_values; i++)
        {
          kept[i] = tape_keeps (self, i, mode);
          wanted[i] = kept[i] || tape_tensor (self, i)->saved;
        }
      tape_log_forward (self, wanted, kept, n_values);
    }
  else
    self->alive = tape_saved_bytes (self, mode, TRUE);
  tape_give_grad (self, self->output, tape_new_grad (self, self->output));
  self->peak = self->alive;
  for (gint i = (gint) self->ops->len - 1; i >= 0; i--)
    {
      TapeOp *op = tape_op (self, (guint) i);

      op->first_backward = self->backward->len;
      /* The values of parts that are made again before the backward of operation I. */
      for (guint k = 0; k < n_values; k++)
        if (rerun->values[k] == i)
          {
            tape_log_tensor (self, k, TRUE);
            self->alive += tape_tensor (self, k)->bytes;
          }
      self->peak = MAX (self->peak, self->alive);
      if (op->backward != NULL && has_gradient (self, op))
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
      merged.read_bytes += kernel->share * kernel->weight_read;
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

/*
 * RERUN: of recomputation, else NULL. A cast runs again for its copy, too, without the product; one
 * whose copy stays does not.
 */
static gboolean
is_listed (const TapeKernel *kernel, const TapeRerun *rerun)
{
  if (rerun == NULL)
    return TRUE;
  return !kernel->desc.first_micro_only
         && (rerun->ops[kernel->op] >= 0
             || (kernel->copy >= 0 && rerun->values[kernel->copy] >= 0));
}

/*
 * KERNELS as descriptors, element-wise runs fused when compiled; of RERUN only, unless it is NULL.
 */
static GArray *
list_kernels (const Tape *self, GArray *kernels, const TapeRerun *rerun, const gboolean *kept)
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (KernelDesc));

  for (guint i = 0, end; i < kernels->len; i = end)
    {
      const TapeKernel *kernel = &g_array_index (kernels, TapeKernel, i);

      end = i + 1;
      if (!is_listed (kernel, rerun))
        continue;
      while (self->training->compile && kernel->fusible && end < kernels->len
             && g_array_index (kernels, TapeKernel, end).fusible
             && is_listed (&g_array_index (kernels, TapeKernel, end), rerun))
        end++;

      KernelDesc desc = merge_kernels (self, kernels, i, end, kept);

      if (rerun != NULL && kernel_desc_is_product (&desc))
        desc.recomputed_flops = desc.flops * tape_op (self, (guint) kernel->op)->counted;
      g_array_append_val (list, desc);
    }
  return list;
}

/* What would have waited for a collective may not be among what runs again. */
static void
settle_rerun (GArray *list)
{
  gboolean joined = FALSE;

  for (guint i = list->len; i > 0; i--)
    {
      KernelDesc *desc = &g_array_index (list, KernelDesc, i - 1);

      if (desc->kind == KERNEL_COMMUNICATION && !joined)
        desc->async = FALSE;
      joined |= desc->joins;
    }
}

/* A flag a value: whether it is kept under MODE. Newly allocated. */
static gboolean *
kept_values (const Tape *self, CheckpointMode mode)
{
  gboolean *kept = g_new (gboolean, self->values->len);

  for (guint i = 0; i < self->values->len; i++)
    kept[i] = tape_keeps (self, i, mode);
  return kept;
}

/* What is logged leaves the output only. */
static void
log_inference (Tape *self)
{
  g_autofree gboolean *kept = g_new0 (gboolean, self->values->len);

  kept[self->output] = TRUE;
  tape_log_forward (self, kept, NULL, self->values->len);
}

TapeResult
tape_finish (Tape *self, TapeValue output, CheckpointMode mode)
{
  TapeResult           result = { 0 };
  g_autofree gboolean *kept = NULL, *all_kept = NULL, *grads_kept = NULL;
  g_auto (TapeRerun)   rerun = { 0 };
  gint                 input_grad;
  gboolean             backward = has_backward (self);

  self->output = output;
  if (!backward)
    for (guint i = 0; i < self->values->len; i++)
      tape_tensor (self, i)->saved = FALSE;
  kept = kept_values (self, mode);
  all_kept = kept_values (self, CHECKPOINT_NONE);
  result.saved = tape_saved_bytes (self, mode, TRUE);
  result.working = MAX (0, forward_peak (self, kept, FALSE) - result.saved);
  result.backward_bytes = mode == CHECKPOINT_FULL || mode == CHECKPOINT_SELECTIVE_OP
                              ? forward_peak (self, kept, TRUE)
                              : 0;
  tape_log_forward (self, kept, NULL, self->values->len);
  kept[output] = all_kept[output] = TRUE; /* kernels write it, whoever keeps it */
  result.forward_memory = tape_steal_memory (self, &result.forward_to_peak);
  result.inference = inference_peak (self);
  log_inference (self);
  result.inference_memory = tape_steal_memory (self, &result.inference_to_peak);
  tape_comm_settle (self);
  result.forward = list_kernels (self, self->forward, NULL, kept);
  rerun = tape_find_rerun (self, mode);
  result.recompute = list_kernels (self, self->forward, &rerun, all_kept);
  settle_rerun (result.recompute);
  if (backward)
    run_backward (self, mode, &rerun);
  result.backward_bytes = MAX (result.backward_bytes, self->peak) - result.saved;
  result.backward_memory = tape_steal_memory (self, &result.backward_to_peak);
  result.n_tensors = self->values->len;
  result.cached = self->cached;
  result.held = tape_clip_held (self);

  tape_comm_settle (self);
  grads_kept = g_new0 (gboolean, self->values->len);
  input_grad = g_array_index (self->grads, gint, 0);
  if (input_grad >= 0)
    grads_kept[input_grad] = TRUE;
  result.backward = list_kernels (self, self->backward, NULL, grads_kept);
  return result;
}
