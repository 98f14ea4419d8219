/*
 * What a checkpointing mode keeps of a layer, which operations it runs again, and when.
 *
 * Of parts that are checkpointed as they are (core_attn, mlp, moe, shared_experts) the inputs are
 * kept, and of the results what an operation outside wants; all of a part runs again when the
 * backward pass comes to its end. Of the others (norms, up projections, an activation) no result is
 * kept: it is made again for the first operation that wants it, and with it those casts to fp8 that
 * were made of it.
 */
#include "model/tape/tape-private.h"

#define PARTS_WHOLE (~(guint) PARTS_DISCARDED)

void
tape_rerun_clear (TapeRerun *self)
{
  g_clear_pointer (&self->ops, g_free);
  g_clear_pointer (&self->values, g_free);
}

/* Whether a result of a part of the second kind: nothing around it is checkpointed as it is. */
static gboolean
is_discarded (const Tape *self, TapeValue value)
{
  guint parts = tape_parts_of (self, value) & self->recomputed;

  return parts != 0 && (parts & PARTS_WHOLE) == 0;
}

static gboolean
selective_keeps (const Tape *self, TapeValue value)
{
  const TapeTensor *tensor = tape_tensor (self, value);
  guint             whole = tape_parts_of (self, value) & self->recomputed & PARTS_WHOLE;
  guint             arguments = tensor->arguments & self->recomputed & ~block_parts_within (whole);

  if (is_discarded (self, value)
      || (whole == 0 && tensor->copy_of >= 0 && is_discarded (self, (TapeValue) tensor->copy_of)))
    return FALSE;
  return arguments != 0 || (tensor->saved && (whole == 0 || (tensor->savers & whole) == 0));
}

gboolean
tape_keeps (const Tape *self, TapeValue value, CheckpointMode mode)
{
  const TapeTensor *tensor = tape_tensor (self, value);

  switch (mode)
    {
    case CHECKPOINT_NONE:
      return tensor->saved;
    case CHECKPOINT_SELECTIVE:
      return selective_keeps (self, value);
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

/*
 * The latest that operation INDEX has to run again, -1 when nothing wants what it makes; WANTED:
 * the same of values. One that makes no value of its own changes its inputs in place.
 */
static gint
wanted_at (const Tape *self, guint index, const gint *wanted)
{
  const TapeOp *op = tape_op (self, index);
  gint          at = -1;

  for (guint i = 0; op->n_out == 0 && i < op->n_in; i++)
    at = MAX (at, wanted[op->in[i]]);
  for (guint i = 0; i < self->values->len; i++)
    if (tape_tensor (self, i)->producer == (gint) index)
      at = MAX (at, wanted[i]);
  return at;
}

/* The last operation of the checkpointed part that INDEX is in, -1 when it is in none. */
static gint
end_of_part (const Tape *self, guint index)
{
  guint whole = tape_op (self, index)->parts & self->recomputed & PARTS_WHOLE;

  if (whole == 0)
    return -1;
  while (index + 1 < self->ops->len && (tape_op (self, index + 1)->parts & whole) != 0)
    index++;
  return (gint) index;
}

static void
want_inputs (const Tape *self, const TapeOp *op, CheckpointMode mode, gint at, gint *wanted)
{
  for (guint i = 0; i < op->n_in; i++)
    if (!tape_keeps (self, op->in[i], mode))
      wanted[op->in[i]] = MAX (wanted[op->in[i]], at);
}

/* What a cast to fp8 is to make again, whose operation is in no part: its source has to be there.
 */
static void
rerun_casts (const Tape *self, guint index, gint *wanted, TapeRerun *rerun)
{
  for (guint i = 0; i < self->values->len; i++)
    {
      const TapeTensor *tensor = tape_tensor (self, i);

      if (tensor->producer != (gint) index || wanted[i] < 0 || tensor->copy_of < 0)
        continue;
      rerun->values[i] = wanted[i];
      wanted[tensor->copy_of] = MAX (wanted[tensor->copy_of], wanted[i]);
    }
}

static void
rerun_parts (const Tape *self, gint *wanted, TapeRerun *rerun)
{
  for (guint i = self->ops->len; i > 0; i--)
    {
      const TapeOp *op = tape_op (self, i - 1);
      const gint    end = end_of_part (self, i - 1);

      if ((op->parts & self->recomputed) == 0)
        {
          rerun_casts (self, i - 1, wanted, rerun);
          continue;
        }
      rerun->ops[i - 1] = end >= 0 ? end : wanted_at (self, i - 1, wanted);
      if (rerun->ops[i - 1] >= 0)
        want_inputs (self, op, CHECKPOINT_SELECTIVE, rerun->ops[i - 1], wanted);
    }
  for (guint i = 0; i < self->values->len; i++)
    {
      const TapeTensor *tensor = tape_tensor (self, i);

      if (tensor->saved && tensor->producer >= 0 && rerun->values[i] < 0
          && !tape_keeps (self, i, CHECKPOINT_SELECTIVE))
        rerun->values[i] = rerun->ops[tensor->producer];
    }
}

/* All of a block; or what leads from what is kept to what the backward pass wants. */
static void
rerun_block (const Tape *self, CheckpointMode mode, gint *wanted, TapeRerun *rerun)
{
  const gboolean all = mode == CHECKPOINT_FULL && self->training->traits.recomputes_all;

  for (guint i = self->ops->len; i > 0; i--)
    {
      const gint at = all ? (gint) self->ops->len : wanted_at (self, i - 1, wanted);

      rerun->ops[i - 1] = at;
      if (at >= 0)
        want_inputs (self, tape_op (self, i - 1), mode, at, wanted);
    }
}

TapeRerun
tape_find_rerun (const Tape *self, CheckpointMode mode)
{
  TapeRerun        rerun = { g_new0 (gint, self->ops->len), g_new0 (gint, self->values->len) };
  g_autofree gint *wanted = g_new0 (gint, self->values->len);

  for (guint i = 0; i < self->ops->len; i++)
    rerun.ops[i] = -1;
  for (guint i = 0; i < self->values->len; i++)
    {
      const TapeTensor *tensor = tape_tensor (self, i);

      rerun.values[i] = -1;
      wanted[i] = tensor->saved && !tape_keeps (self, i, mode) ? tensor->last_saver : -1;
    }
  if (mode == CHECKPOINT_SELECTIVE)
    rerun_parts (self, wanted, &rerun);
  else if (mode != CHECKPOINT_NONE)
    rerun_block (self, mode, wanted, &rerun);
  return rerun;
}
