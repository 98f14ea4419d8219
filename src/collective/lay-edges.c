#include "collective/lay-edges-private.h"

LayEdges *
lay_edges_new (void)
{
  LayEdges *self = g_new0 (LayEdges, 1);

  self->edges = g_array_new (FALSE, FALSE, sizeof (LayEdge));
  self->resources = g_array_new (FALSE, FALSE, sizeof (guint32));
  return self;
}

void
lay_edges_free (LayEdges *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->edges);
  g_array_unref (self->resources);
  g_free (self);
}

void
lay_edges_add (LayEdges *self, guint32 from, guint32 to, guint32 lane, const Route *before,
               const Route *route, double bytes)
{
  LayEdge edge = { .from = from,
                   .to = to,
                   .lane = lane,
                   .net = route->class_ == PATH_NET,
                   .bytes = bytes,
                   .first = self->resources->len };

  if (bytes <= 0)
    return;
  if (before != NULL)
    g_array_append_vals (self->resources, before->resources, before->n);
  g_array_append_vals (self->resources, route->resources, route->n);
  edge.n = self->resources->len - edge.first;
  g_array_append_val (self->edges, edge);
}
