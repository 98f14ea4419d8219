#include "cost/collective/layout/routed-edges-private.h"

RoutedEdges *
routed_edges_new (void)
{
  RoutedEdges *self = g_new0 (RoutedEdges, 1);

  self->edges = g_array_new (FALSE, FALSE, sizeof (RoutedEdge));
  self->resources = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->shares = g_array_new (FALSE, FALSE, sizeof (double));
  return self;
}

void
routed_edges_free (RoutedEdges *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->edges);
  g_array_unref (self->resources);
  g_array_unref (self->shares);
  g_free (self);
}

void
routed_edges_add_resource (RoutedEdges *self, guint32 resource, double share)
{
  g_array_append_val (self->resources, resource);
  g_array_append_val (self->shares, share);
  g_array_index (self->edges, RoutedEdge, self->edges->len - 1).n++;
}

static void
add_route (RoutedEdges *self, const Route *route)
{
  g_array_append_vals (self->resources, route->resources, route->n);
  g_array_append_vals (self->shares, route->shares, route->n);
  g_array_index (self->edges, RoutedEdge, self->edges->len - 1).n += route->n;
}

void
routed_edges_add (RoutedEdges *self, guint32 from, guint32 to, guint32 lane, const Route *before,
                  const Route *route, double bytes)
{
  RoutedEdge edge = { .from = from,
                      .to = to,
                      .lane = lane,
                      .section = self->section,
                      .join = { from, to, self->phase,
                                (guint8) (self->phase > 0 ? self->phase - 1 : 0) },
                      .net = route->class_ == PATH_NET,
                      .bytes = bytes,
                      .flow = route->flow,
                      .way = route->wan,
                      .first = self->resources->len };

  if (bytes <= 0)
    return;
  g_array_append_val (self->edges, edge);
  if (before != NULL)
    add_route (self, before);
  add_route (self, route);
}

void
routed_edges_add_stage (RoutedEdges *self, guint32 from, guint32 to, const RoutedJoin *join,
                        const Route *route, double bytes)
{
  RoutedEdge edge = { .from = from,
                      .to = to,
                      .section = self->section,
                      .join = *join,
                      .net = route != NULL && route->class_ == PATH_NET,
                      .bytes = bytes,
                      .flow = route != NULL ? route->flow : 0,
                      .way = route != NULL ? route->wan : 0,
                      .first = self->resources->len };

  g_array_append_val (self->edges, edge);
  if (route != NULL)
    add_route (self, route);
}
