#include "model/step/document-packing.h"

/* ---- fixed ----------------------------------------------------------------------------------- */

/* Where the loader is: in document NEXT, of which TAKEN tokens are used. */
typedef struct
{
  const gint64 *lengths;
  guint         n, next;
  gint64        taken;
} Loader;

static GPtrArray *
new_sequences (guint n)
{
  GPtrArray *sequences = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);

  for (guint i = 0; i < n; i++)
    g_ptr_array_add (sequences, g_array_new (FALSE, FALSE, sizeof (gint64)));
  return sequences;
}

static void
fill_sequence (Loader *self, gint64 window, GArray *sequence)
{
  gint64 room = window;

  while (room > 0 && self->next < self->n)
    {
      gint64 part = MIN (self->lengths[self->next] - self->taken, room);

      g_array_append_val (sequence, part);
      room -= part;
      self->taken += part;
      if (self->taken == self->lengths[self->next])
        {
          self->next++;
          self->taken = 0;
        }
    }
}

static GPtrArray *
load_step (Loader *self, const DocumentPacking *packing)
{
  GPtrArray *sequences = new_sequences (packing->sequences);

  for (guint i = 0; i < packing->sequences; i++)
    fill_sequence (self, packing->window, g_ptr_array_index (sequences, i));
  return sequences;
}

GPtrArray *
document_packing_fixed (const DocumentPacking *self, const gint64 *lengths, guint n, guint step)
{
  Loader loader = { .lengths = lengths, .n = n };

  for (guint i = 0; i < step; i++)
    g_ptr_array_unref (load_step (&loader, self));
  return load_step (&loader, self);
}

/* ---- balanced -------------------------------------------------------------------------------- */

typedef struct
{
  const DocumentPacking *packing;
  GPtrArray             *waiting; /* [queue]: GArray of gint64, the oldest first */
  GArray                *left;    /* gint64: what found no room */
} Balancing;

/* The queue of a document of LENGTH; as many as there are: none. */
static guint
queue_of (const DocumentPacking *self, gint64 length)
{
  const gint64 n = self->queues;
  guint        queue = self->queues;

  while (queue > 0 && 2 * n * length < (n + queue - 1) * self->window)
    queue--;
  return queue == 0 ? self->queues : queue - 1;
}

gint
document_packing_longer_first (gconstpointer a, gconstpointer b)
{
  const gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;

  return (x < y) - (x > y);
}

/* What is packed of LOADED: what was left over, then the others, the longest first. */
static GArray *
documents_of_step (Balancing *self, const GPtrArray *loaded)
{
  const guint        n = self->packing->sequences;
  g_autoptr (GArray) fresh = g_array_new (FALSE, FALSE, sizeof (gint64));
  GArray            *documents = g_steal_pointer (&self->left);

  for (guint s = 0; s < loaded->len; s++)
    {
      const GArray *sequence = g_ptr_array_index (loaded, s);

      for (guint i = 0; i < sequence->len; i++)
        {
          const gint64 length = g_array_index (sequence, gint64, i);
          const guint  queue = queue_of (self->packing, length);

          g_array_append_val (queue < self->packing->queues
                                  ? (GArray *) g_ptr_array_index (self->waiting, queue)
                                  : fresh,
                              length);
        }
    }
  for (guint q = 0; q < self->packing->queues; q++)
    {
      GArray *queue = g_ptr_array_index (self->waiting, q);

      if (queue->len < n)
        continue;
      g_array_append_vals (fresh, queue->data, n);
      g_array_remove_range (queue, 0, n);
    }
  g_array_sort (fresh, document_packing_longer_first);
  g_array_append_vals (documents, fresh->data, fresh->len);
  self->left = g_array_new (FALSE, FALSE, sizeof (gint64));
  return documents;
}

/* The first of the N with the least value. */
static guint
least (const double *values, guint n)
{
  guint best = 0;

  for (guint i = 1; i < n; i++)
    best = values[i] < values[best] ? i : best;
  return best;
}

static GPtrArray *
balance_step (Balancing *self, const GPtrArray *loaded)
{
  const DocumentPacking *packing = self->packing;
  const guint            n = packing->sequences;
  g_autoptr (GArray)     documents = documents_of_step (self, loaded);
  GPtrArray             *sequences = new_sequences (n);
  g_autofree double     *work = g_new0 (double, n), *tokens = g_new0 (double, n);

  for (guint i = 0; i < documents->len; i++)
    {
      const gint64 length = g_array_index (documents, gint64, i);
      const double s = (double) length, most = (double) packing->most;
      guint        at = least (work, n);

      if (tokens[at] + s > most)
        at = least (tokens, n);
      if (tokens[at] + s > most)
        {
          g_array_append_val (self->left, length);
          continue;
        }
      g_array_append_val (g_ptr_array_index (sequences, at), length);
      tokens[at] += s;
      work[at] += packing->work.attention * s * s + packing->work.linear * s;
    }
  return sequences;
}

GPtrArray *
document_packing_balanced (const DocumentPacking *self, const gint64 *lengths, guint n, guint step)
{
  Loader     loader = { .lengths = lengths, .n = n };
  Balancing  balancing = { .packing = self,
                           .waiting = new_sequences (self->queues),
                           .left = g_array_new (FALSE, FALSE, sizeof (gint64)) };
  GPtrArray *made = NULL;

  for (guint i = 0; i <= step; i++)
    {
      g_autoptr (GPtrArray) loaded = load_step (&loader, self);

      g_clear_pointer (&made, g_ptr_array_unref);
      made = balance_step (&balancing, loaded);
    }
  g_ptr_array_unref (balancing.waiting);
  g_array_unref (balancing.left);
  return made;
}
