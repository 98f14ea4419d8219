#include "cost/collective/layout/pairs-private.h"

#include "cost/collective/layout/exits-private.h"
#include "cost/collective/layout/pairs-fabric-private.h"

/* ---- one message ----------------------------------------------------------------------------- */

/* The edge noted last moves SHARE of its bytes to or from GPU's memory. */
static void
note_memory (const RoutingContext *context, guint32 gpu, double share)
{
  if (context->edges->names_memory)
    routed_edges_add_resource (
        context->edges, cluster_gpu_resource (context->sum->cluster, gpu, RESOURCE_HBM), share);
}

static void
note_transfer (const RoutingContext *context, guint32 from, guint32 to, const Route *before,
               const Route *route, double bytes)
{
  routed_edges_add (context->edges, from, to, 0, before, route, bytes);
  note_memory (context, from, 1);
  note_memory (context, to, 1);
}

/* Inside a node. */
static void
add_transfer (const RoutingContext *context, guint32 from, guint32 to, double bytes)
{
  Route route;

  ring_route (context, from, to, -1, -1, &route);
  load_sum_add_route (context->sum, &route, bytes);
  if (context->edges != NULL)
    note_transfer (context, from, to, NULL, &route, bytes);
}

/* To a relay, whose memory is written over NVLink and read by the card. */
static void
add_to_relay (const RoutingContext *context, guint32 from, guint32 relay, double bytes)
{
  const Cluster *cluster = context->sum->cluster;
  Route          route;

  ring_route (context, from, relay, -1, -1, &route);
  load_sum_add_route (context->sum, &route, bytes);
  load_sum_add (context->sum, cluster_gpu_resource (cluster, relay, RESOURCE_HBM), 2 * bytes);
}

static Exit
route_between (const Exits *self, guint from, guint to, guint lane, Route *route)
{
  const Exit exit = exits_get (self, from, exits_class (self, to), lane);

  ring_route (self->context, exit.sender, self->members->gpus[to], exit.card,
              exits_entry (self, to, lane), route);
  return exit;
}

static void
note_between (const Exits *self, guint from, guint to, guint lane, double bytes)
{
  const RoutingContext *context = self->context;
  const guint32        *gpus = self->members->gpus;
  Route                 before, route;
  const Exit            exit = route_between (self, from, to, lane, &route);

  if (exit.sender == gpus[from])
    {
      note_transfer (context, gpus[from], gpus[to], NULL, &route, bytes);
      return;
    }
  ring_route (context, gpus[from], exit.sender, -1, -1, &before);
  note_transfer (context, gpus[from], gpus[to], &before, &route, bytes);
  note_memory (context, exit.sender, 2);
}

static void
add_between (const Exits *self, guint from, guint to, guint lane, double bytes)
{
  const RoutingContext *context = self->context;
  Route                 route;
  const Exit            exit = route_between (self, from, to, lane, &route);

  if (exit.sender != self->members->gpus[from])
    add_to_relay (context, self->members->gpus[from], exit.sender, bytes);
  load_sum_add_route (context->sum, &route, bytes);
  if (context->edges != NULL)
    note_between (self, from, to, lane, bytes);
}

static void
add_message (const Exits *self, guint from, guint to, double bytes)
{
  const guint lanes = exits_lanes (self, from, to);

  if (self->slots[from] == self->slots[to])
    add_transfer (self->context, self->members->gpus[from], self->members->gpus[to], bytes);
  else
    for (guint lane = 0; lane < lanes; lane++)
      add_between (self, from, to, lane, bytes / lanes);
}

/* Of the N RANKS the first N_SENDERS send to the next. */
static void
add_messages (const RoutingContext *context, const Members *members, const guint32 *ranks, guint n,
              guint n_senders, double bytes)
{
  Exits exits;

  exits_init (&exits, context, members);
  if (context->edges != NULL)
    context->edges->names_memory = TRUE;
  for (guint i = 0; i < n_senders && !context->sum->poll.cut; i++)
    add_message (&exits, numbering_find (&exits.numbers, ranks[i]),
                 numbering_find (&exits.numbers, ranks[(i + 1) % n]), bytes);
  exits_clear (&exits);
}

void
pairs_add_message (const RoutingContext *context, const Members *members, guint32 from, guint32 to,
                   double bytes)
{
  const guint32 ranks[] = { from, to };

  add_messages (context, members, ranks, 2, 1, bytes);
}

void
pairs_add_send_recv (const RoutingContext *context, const Members *members, const guint32 *ranks,
                     double bytes)
{
  add_messages (context, members, ranks, members->n_gpus, members->n_gpus, bytes);
}

/* ---- by proxies ------------------------------------------------------------------------------ */

/* ROUTE goes on over what AFTER crosses. */
static void
extend_route (Route *route, const Route *after)
{
  for (guint i = 0; i < after->n && route->n < ROUTE_MAX; i++)
    {
      route->resources[route->n] = after->resources[i];
      route->shares[route->n++] = after->shares[i];
    }
}

/*
 * BYTES go from member FROM by member OUT, and on the other node by member IN, to member TO. A
 * proxy's memory is written and read.
 */
static void
add_by_proxy (const Exits *self, guint from, guint out, guint in, guint to, double bytes)
{
  const RoutingContext *context = self->context;
  const Cluster        *cluster = context->sum->cluster;
  const guint32        *gpus = self->members->gpus;
  const guint           lanes = exits_lanes (self, out, in);
  Route                 before = { 0 }, route, after = { 0 };

  if (out != from)
    {
      add_to_relay (context, gpus[from], gpus[out], bytes);
      ring_route (context, gpus[from], gpus[out], -1, -1, &before);
    }
  if (in != to)
    {
      ring_route (context, gpus[in], gpus[to], -1, -1, &after);
      load_sum_add_route (context->sum, &after, bytes);
      load_sum_add (context->sum, cluster_gpu_resource (cluster, gpus[in], RESOURCE_HBM),
                    2 * bytes);
    }
  for (guint lane = 0; lane < lanes; lane++)
    {
      const Exit exit = route_between (self, out, in, lane, &route);

      if (exit.sender != gpus[out])
        add_to_relay (context, gpus[out], exit.sender, bytes / lanes);
      load_sum_add_route (context->sum, &route, bytes / lanes);
      if (context->edges == NULL)
        continue;
      extend_route (&route, &after);
      note_transfer (context, gpus[from], gpus[to], before.n > 0 ? &before : NULL, &route,
                     bytes / lanes);
    }
}

static void
add_proxied (const Exits *self, guint from, guint to, guint proxies, double bytes)
{
  const MemberNode *out = &self->members->nodes[self->slots[from]];
  const MemberNode *in = &self->members->nodes[self->slots[to]];
  const guint       n = MIN (proxies, MIN (out->n, in->n));

  if (out == in)
    add_message (self, from, to, bytes);
  for (guint i = 0; i < n && out != in; i++)
    add_by_proxy (self, from, out->first + i * out->n / n, in->first + i * in->n / n, to,
                  bytes / n);
}

void
pairs_add_proxied (const RoutingContext *context, const Members *members, const guint32 *ranks,
                   guint proxies, double bytes)
{
  Exits exits;

  exits_init (&exits, context, members);
  if (context->edges != NULL)
    context->edges->names_memory = TRUE;
  for (guint i = 0; i < members->n_gpus && !context->sum->poll.cut; i++)
    add_proxied (&exits, numbering_find (&exits.numbers, ranks[i]),
                 numbering_find (&exits.numbers, ranks[(i + 1) % members->n_gpus]), proxies, bytes);
  exits_clear (&exits);
}

void
pairs_add_rails (const RoutingContext *context, const Members *members, double bytes)
{
  Exits exits;

  exits_init (&exits, context, members);
  if (context->edges != NULL)
    context->edges->names_memory = TRUE;
  for (guint from = 0; from < members->n_nodes; from++)
    for (guint to = 0; to < members->n_nodes && !context->sum->poll.cut; to++)
      for (guint i = 0; from != to && i < members->nodes[from].n; i++)
        add_message (&exits, members->nodes[from].first + i, members->nodes[to].first + i, bytes);
  exits_clear (&exits);
}

/* ---- inside nodes ---------------------------------------------------------------------------- */

void
pairs_add_inside (const RoutingContext *context, const Members *members, double bytes)
{
  for (guint slot = 0; slot < members->n_nodes && !context->sum->poll.cut; slot++)
    {
      const guint32 *gpus = members->gpus + members->nodes[slot].first;

      for (guint i = 0; i < members->nodes[slot].n; i++)
        for (guint j = 0; j < members->nodes[slot].n; j++)
          if (i != j)
            add_transfer (context, gpus[i], gpus[j], bytes);
    }
}

/* ---- all to all ------------------------------------------------------------------------------ */

/* Adds what ROUTE crosses on NODE. */
static void
add_part (LoadSum *sum, const Route *route, guint node, double bytes)
{
  for (guint i = 0; i < route->n; i++)
    if (cluster_resource (sum->cluster, route->resources[i])->node == node)
      load_sum_add (sum, route->resources[i], bytes);
}

/* What FROM sends to receivers of CLASS_ on other nodes, on its own: PEER is any of them. */
static void
add_way_out (const Exits *self, guint from, guint class_, guint32 peer, double bytes)
{
  const RoutingContext *context = self->context;
  const Cluster        *cluster = context->sum->cluster;
  const guint32         gpu = self->members->gpus[from];

  for (guint lane = 0; lane < self->lanes; lane++)
    {
      const Exit exit = exits_get (self, from, class_, lane);
      Route      route;

      if (exit.sender != gpu)
        add_to_relay (context, gpu, exit.sender, bytes / self->lanes);
      cluster_route_gpus (cluster, exit.sender, peer, exit.card, &route);
      add_part (context->sum, &route, cluster_node_of_gpu (cluster, gpu), bytes / self->lanes);
    }
}

/* What TO gets from other nodes, on its own: PEER is any of them. */
static void
add_way_in (const Exits *self, guint to, guint32 peer, double bytes)
{
  const Cluster *cluster = self->context->sum->cluster;
  const guint32  gpu = self->members->gpus[to];

  for (guint lane = 0; lane < self->lanes; lane++)
    {
      Route route;

      cluster_route_gpus (cluster, peer, gpu, exits_entry (self, to, lane), &route);
      add_part (self->context->sum, &route, cluster_node_of_gpu (cluster, gpu),
                bytes / self->lanes);
    }
}

/* Between the members of node SLOT and those of all others. N_ALL: members of each class. */
static void
add_remote (const Exits *self, guint slot, const guint *n_all, double bytes)
{
  const Members    *members = self->members;
  const MemberNode *node = &members->nodes[slot];
  const guint32     peer = members->gpus[members->nodes[(slot + 1) % members->n_nodes].first];
  g_autofree guint *n = g_memdup2 (n_all, self->n_classes * sizeof *n_all);

  for (guint i = node->first; i < node->first + node->n; i++)
    n[exits_class (self, i)]--;
  for (guint i = node->first; i < node->first + node->n; i++)
    {
      for (guint class_ = 0; class_ < self->n_classes; class_++)
        if (n[class_] > 0)
          add_way_out (self, i, class_, peer, bytes * n[class_]);
      add_way_in (self, i, peer, bytes * (members->n_gpus - node->n));
    }
}

/* The pairs between nodes, one by one. */
static void
note_pairs (const Exits *self, double bytes)
{
  const guint n = self->members->n_gpus;

  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < n; j++)
      for (guint lane = 0; self->slots[i] != self->slots[j] && lane < self->lanes; lane++)
        note_between (self, i, j, lane, bytes / self->lanes);
}

void
pairs_add_all_to_all (const RoutingContext *context, const Members *members, double bytes)
{
  if (context->edges != NULL)
    context->edges->names_memory = TRUE;
  pairs_add_inside (context, members, bytes);
  if (members->n_nodes > 1)
    {
      g_autofree guint *n = NULL;
      Exits             exits;

      exits_init (&exits, context, members);
      n = g_new0 (guint, exits.n_classes);
      for (guint i = 0; i < members->n_gpus; i++)
        n[exits_class (&exits, i)]++;
      for (guint slot = 0; slot < members->n_nodes && !context->sum->poll.cut; slot++)
        add_remote (&exits, slot, n, bytes);
      pairs_add_fabric (&exits, bytes);
      if (context->edges != NULL)
        note_pairs (&exits, bytes);
      exits_clear (&exits);
    }
}
