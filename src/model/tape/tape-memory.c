/*
 * In which order a layer's tensors come and go: what a caching allocator sees of its forward and
 * its backward pass.
 */
#include "model/tape/tape-private.h"

/* Values that are alive no longer than operation T: nobody reads or keeps them afterwards. */
static gboolean
dies_with (const Tape *self, TapeValue value, gint t, const gboolean *kept)
{
  const TapeTensor *tensor = tape_tensor (self, value);

  return !kept[value] && value != self->output && MAX (tensor->last_use, tensor->producer) == t;
}

/*
 * The forward pass that leaves KEPT (a flag for each of the first N_VALUES) behind; a value of
 * ALIVE (NULL: none) is there already. The input is the output of the layer before, handed on.
 */
void
tape_log_forward (Tape *self, const gboolean *kept, const gboolean *alive, guint n_values)
{
  for (gint t = -1; t < (gint) self->ops->len; t++)
    {
      for (guint i = 0; i < n_values; i++)
        if (tape_tensor (self, i)->producer == t && (alive == NULL || !alive[i]))
          tape_log_tensor (self, i, TRUE);
      for (guint i = 0; i < n_values; i++)
        if (tape_tensor (self, i)->producer <= t && dies_with (self, i, t, kept)
            && (alive == NULL || !alive[i]))
          tape_log_tensor (self, i, FALSE);
    }
  if (!kept[self->output])
    tape_log_tensor (self, self->output, FALSE);
}

/*
 * The steps logged since the last call, newly allocated; *TO_PEAK: how many of them lead to where
 * most is alive.
 */
GArray *
tape_steal_memory (Tape *self, guint *to_peak)
{
  GArray *steps = self->memory;
  double  now = 0, most = 0;

  *to_peak = 0;
  for (guint i = 0; i < steps->len; i++)
    {
      const MemoryStep *step = &g_array_index (steps, MemoryStep, i);

      now += (step->bytes > 0 ? 1 : -1) * tape_tensor (self, step->tensor)->bytes;
      if (now > most)
        {
          most = now;
          *to_peak = i + 1;
        }
    }
  self->memory = g_array_new (FALSE, FALSE, sizeof (MemoryStep));
  return steps;
}
