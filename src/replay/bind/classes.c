/* Who is alike: the partition of the graph that folding refines. */
#include "replay/bind/bind-private.h"

/* ---- partitions ------------------------------------------------------------------------------ */

static guint32 *
own_numbers (guint n)
{
  guint32 *numbers = g_new (guint32, n);

  for (guint i = 0; i < n; i++)
    numbers[i] = i;
  return numbers;
}

static void
count_members (Classes *self, guint n)
{
  self->lowest = g_new (guint32, self->n_classes);
  self->size = g_new0 (guint32, self->n_classes);
  for (guint i = 0; i < n; i++)
    if (self->size[self->class_of[i]]++ == 0)
      self->lowest[self->class_of[i]] = i;
}

Classes *
classes_new (const BindGraph *graph, gboolean unfolded)
{
  const guint        n = graph->colours->len;
  g_autoptr (Orbits) fold = NULL;
  Classes           *self;

  if (!unfolded)
    fold = orbits_find (n, (const guint64 *) (gconstpointer) graph->colours->data,
                        (const OrbitEdge *) (gconstpointer) graph->edges->data, graph->edges->len,
                        graph->poll->stop);
  if (!unfolded && fold == NULL)
    return NULL;
  self = g_new0 (Classes, 1);
  self->n_classes = unfolded ? n : fold->n_classes;
  self->class_of = unfolded ? own_numbers (n) : g_memdup2 (fold->class_of, n * sizeof (guint32));
  count_members (self, n);
  return self;
}

void
classes_free (Classes *self)
{
  if (self == NULL)
    return;
  g_free (self->class_of);
  g_free (self->lowest);
  g_free (self->size);
  g_free (self);
}
