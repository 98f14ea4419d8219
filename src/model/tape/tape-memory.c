/*
 * In which order a layer's tensors come and go: what a caching allocator sees of its forward and
 * its backward pass.
 */
#include "model/tape/tape-private.h"

#define NEVER G_MAXINT

/*
 * The forward pass that leaves KEPT (a flag for each of the first N_VALUES) behind; a value of
 * ALIVE (NULL: none) is there already. The input is the output of the layer before, handed on.
 */
void
tape_log_forward (Tape *self, const gboolean *kept, const gboolean *alive, guint n_values)
{
  g_autofree gint *comes = g_new (gint, n_values), *goes = g_new (gint, n_values);

  for (guint i = 0; i < n_values; i++)
    {
      const TapeTensor *tensor = tape_tensor (self, i);
      const gboolean    is_there = alive != NULL && alive[i];
      const gboolean    stays = is_there || kept[i] || i == self->output;

      comes[i] = is_there ? NEVER : tensor->producer;
      goes[i] = stays ? NEVER : MAX (tensor->last_use, tensor->producer);
    }
  for (gint t = -1; t < (gint) self->ops->len; t++)
    {
      for (guint i = 0; i < n_values; i++)
        if (comes[i] == t)
          tape_log_tensor (self, i, TRUE);
      for (guint i = 0; i < n_values; i++)
        if (goes[i] == t)
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
