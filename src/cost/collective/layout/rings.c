#include "cost/collective/layout/rings-private.h"

#include <string.h>

/* One ring's way through one node. */
typedef struct
{
  guint32  entry, exit;
  gint     card;  /* -1: none chosen */
  gboolean relay; /* what leaves goes over NVLink to `entry` first */
} NodePath;

typedef struct
{
  const RoutingContext *context;
  const Members        *members;
  RingEnds              ends;
  double                bytes; /* on every edge of one ring */
  CardsInUse            cards;
  guint                *order; /* positions of the members of the present node */
  guint                *cycle;
  guint                *n_exits; /* [member] rings that leave its node there */
  guint                 ring;    /* that is laid at present */
  NodeCycles            cycles;  /* of the present node, where it is a graph */
} Layout;

/*
 * N even: with m = n-1 odd, the zigzag path 0, 1, m-1, 2, m-2, ... over Z_m, closed through one
 * more vertex, in all m rotations and both directions has every directed edge twice. N odd: m is
 * even, the zigzag's steps are all different (mod m), and the m rotations have every directed edge
 * once.
 */
guint
ring_mesh_cycles (guint n)
{
  if (n <= 2)
    return 1;
  return n % 2 == 0 ? 2 * (n - 1) : n - 1;
}

void
ring_mesh_cycle (guint n, guint j, guint *order)
{
  guint m = n - 1, shift = m > 0 ? j % m : 0;

  for (guint t = 0; t < m; t++)
    {
      guint step = t % 2 == 1 ? (t + 1) / 2 : m - t / 2;

      order[j >= m ? m - 1 - t : t] = (step + shift) % m;
    }
  order[m] = m;
}

/* ---- through a node -------------------------------------------------------------------------- */

/* Where no cycle takes all members over their links, one ring takes them in ascending order. */
static void
find_cycles (NodeCycles *self, const Cluster *cluster, const Members *members,
             const MemberNode *node)
{
  const LinkGraph *graph = &cluster_intra_profile (cluster, node->node)->graph;
  guint            first = cluster_first_gpu (cluster, node->node), locals[LINK_GRAPH_MAX];
  guint32          bits = 0;

  for (guint i = 0; i < node->n; i++)
    {
      locals[i] = members->gpus[node->first + i] - first;
      bits |= 1u << locals[i];
    }
  if (self->graph == graph && self->members == bits)
    return;
  self->graph = graph;
  self->members = bits;
  self->n = link_graph_cycles (graph, locals, node->n, self->cycles);
  if (self->n == 0)
    {
      self->n = 1;
      for (guint i = 0; i < node->n; i++)
        self->cycles[0][i] = (guint8) i;
    }
}

guint
node_cycles_count (NodeCycles *self, const Cluster *cluster, const Members *members,
                   const MemberNode *node)
{
  switch (cluster_intra_profile (cluster, node->node)->kind)
    {
    case LINK_MESH:
      return ring_mesh_cycles (node->n);
    case LINK_GRAPH:
      find_cycles (self, cluster, members, node);
      return self->n;
    default:
      return 1;
    }
}

void
node_cycles_write (NodeCycles *self, const Cluster *cluster, const Members *members,
                   const MemberNode *node, guint j, guint *order)
{
  const LinkKind kind = cluster_intra_profile (cluster, node->node)->kind;
  guint          cycle = j % node_cycles_count (self, cluster, members, node);

  if (kind == LINK_MESH)
    ring_mesh_cycle (node->n, cycle, order);
  for (guint i = 0; kind != LINK_MESH && i < node->n; i++)
    order[i] = kind == LINK_GRAPH ? self->cycles[cycle][i] : i;
}

/* ---- hops ------------------------------------------------------------------------------------ */

void
ring_route (const RoutingContext *context, guint32 from, guint32 to, gint a, gint b, Route *route)
{
  cluster_route_cards (context->sum->cluster, from, a, to, b, context->flows, route);
}

/* FROM reaches its own card by way of RELAY, where that is not NULL. */
static void
add_edge_after (Layout *self, guint32 from, const Route *relay, guint32 sender, guint32 to, gint a,
                gint b)
{
  double bytes = from == self->ends.last || to == self->ends.first ? 0 : self->bytes;
  Route  route;

  ring_route (self->context, sender, to, a, b, &route);
  load_sum_add_route (self->context->sum, &route, bytes);
  if (relay != NULL)
    load_sum_add_route (self->context->sum, relay, bytes);
  if (self->context->edges != NULL)
    routed_edges_add (self->context->edges, from, to, self->ring, relay, &route, bytes);
}

static void
add_edge (Layout *self, guint32 from, guint32 to, gint a, gint b)
{
  add_edge_after (self, from, NULL, from, to, a, b);
}

/* From one node to the next, or to the first again. */
static void
add_node_edge (Layout *self, const NodePath *from, guint32 entry, gint card)
{
  Route relay;

  if (!from->relay)
    {
      add_edge (self, from->exit, entry, from->card, card);
      return;
    }
  cluster_route_gpus (self->context->sum->cluster, from->exit, from->entry, -1, &relay);
  relay.class_ = PATH_NET; /* a part of the hop between nodes */
  add_edge_after (self, from->exit, &relay, from->entry, entry, from->card, card);
}

static LinkKind
intra_kind (const Layout *self, const MemberNode *node)
{
  return cluster_intra_profile (self->context->sum->cluster, node->node)->kind;
}

static const guint32 *
node_gpus (const Layout *self, const MemberNode *node)
{
  return self->members->gpus + node->first;
}

/* Index in its node of the member at POSITION. */
static guint
local_index (const Layout *self, const MemberNode *node, guint position)
{
  return node_gpus (self, node)[position]
         - cluster_first_gpu (self->context->sum->cluster, node->node);
}

/*
 * Cost of entering at position ENTRY and leaving at position EXIT: distance first, then whose card
 * it is, then a bridge lost.
 */
static guint
entry_cost (const Layout *self, const MemberNode *node, const Proximity *near, guint card,
            guint entry, guint exit)
{
  guint    e = local_index (self, node, entry), x = local_index (self, node, exit);
  LinkKind kind = intra_kind (self, node);
  gboolean nvlink = kind == LINK_SWITCH || kind == LINK_MESH || kind == LINK_GRAPH;
  guint    distance = near->distance[e * near->n_cards + card];

  if (!nvlink)
    distance += near->distance[x * near->n_cards + card];
  else if (kind == LINK_GRAPH) /* a relay takes a link that another ring may want */
    distance = 2 * distance + (near->distance[x * near->n_cards + card] > distance);
  return 4 * distance + (near->serves[e * near->n_cards + card] ? 0 : 2)
         + (kind == LINK_PAIRS && e / 2 == x / 2);
}

/* Rotates the cycle in self->cycle into self->order so that the best entry comes first. */
static void
rotate_to_entry (Layout *self, const MemberNode *node, const Proximity *near, guint card)
{
  guint start = 0, best = G_MAXUINT;

  for (guint i = 0; near != NULL && i < node->n; i++)
    {
      guint cost = entry_cost (self, node, near, card, self->cycle[i],
                               self->cycle[(i + node->n - 1) % node->n]);

      if (cost < best)
        {
          best = cost;
          start = i;
        }
    }
  for (guint i = 0; i < node->n; i++)
    self->order[i] = self->cycle[(start + i) % node->n];
}

/*
 * Over a switch any member may be last: of those after the entry that are no farther from the card
 * than it, the one where the fewest rings leave, because each loads its PCIe link. Where there is
 * none, what leaves is relayed through the entry.
 */
static void
choose_exit (Layout *self, const MemberNode *node, const Proximity *near, guint card)
{
  guint  best = node->n - 1, fewest = G_MAXUINT, exit;
  guint  entry = near->distance[local_index (self, node, self->order[0]) * near->n_cards + card];
  guint *n_exits = self->n_exits + node->first;

  for (guint i = 1; i < node->n; i++)
    if (near->distance[local_index (self, node, self->order[i]) * near->n_cards + card] <= entry
        && n_exits[self->order[i]] < fewest)
      {
        best = i;
        fewest = n_exits[self->order[i]];
      }
  exit = self->order[best];
  memmove (self->order + best, self->order + best + 1, (node->n - 1 - best) * sizeof (guint));
  self->order[node->n - 1] = exit;
  n_exits[fewest != G_MAXUINT ? exit : self->order[0]]++;
}

/* Orders the members of SLOT for RING and says where the ring enters and leaves. */
static NodePath
choose_path (Layout *self, guint slot, guint ring)
{
  const MemberNode *node = &self->members->nodes[slot];
  const Proximity  *near = self->members->n_nodes > 1
                               ? cluster_proximity (self->context->sum->cluster, node->node)
                               : NULL;
  LinkKind          kind = intra_kind (self, node);
  guint             card = near != NULL ? cards_in_use_get (&self->cards, slot, ring) : 0;
  NodePath          path = { .card = near != NULL ? (gint) card : -1 };

  node_cycles_write (&self->cycles, self->context->sum->cluster, self->members, node,
                     ring / self->cards.n_lanes, self->cycle);
  rotate_to_entry (self, node, near, card);
  if (near != NULL && kind == LINK_SWITCH && node->n > 1)
    choose_exit (self, node, near, card);
  path.entry = node_gpus (self, node)[self->order[0]];
  path.exit = node_gpus (self, node)[self->order[node->n - 1]];
  if (near != NULL && (kind == LINK_SWITCH || kind == LINK_MESH || kind == LINK_GRAPH))
    path.relay =
        near->distance[local_index (self, node, self->order[node->n - 1]) * near->n_cards + card]
        > near->distance[local_index (self, node, self->order[0]) * near->n_cards + card];
  return path;
}

static void
add_ring (Layout *self, guint ring)
{
  NodePath first = { 0 }, last = { 0 };

  for (guint slot = 0; slot < self->members->n_nodes && !self->context->sum->poll.cut; slot++)
    {
      const MemberNode *node = &self->members->nodes[slot];
      NodePath          path = choose_path (self, slot, ring);

      if (slot == 0)
        first = path;
      else
        add_node_edge (self, &last, path.entry, path.card);
      for (guint i = 1; i < node->n; i++)
        add_edge (self, node_gpus (self, node)[self->order[i - 1]],
                  node_gpus (self, node)[self->order[i]], -1, -1);
      last = path;
    }
  if (self->members->n_nodes > 1)
    add_node_edge (self, &last, first.entry, first.card);
  else
    add_edge (self, last.exit, first.entry, -1, -1);
}

void
ring_add_traffic (const RoutingContext *context, const Members *members, double bytes,
                  RingEnds ends)
{
  Layout self = { .context = context, .members = members, .ends = ends };
  guint  largest = 1, cycles = 1;

  for (guint slot = 0; slot < members->n_nodes; slot++)
    {
      largest = MAX (largest, members->nodes[slot].n);
      cycles = MAX (cycles, node_cycles_count (&self.cycles, context->sum->cluster, members,
                                               &members->nodes[slot]));
    }
  cards_in_use_init (&self.cards, context->sum->cluster, members);
  self.order = g_new0 (guint, largest);
  self.cycle = g_new0 (guint, largest);
  self.n_exits = g_new0 (guint, members->n_gpus);
  self.bytes = bytes / (self.cards.n_lanes * cycles);
  for (self.ring = 0; self.ring < self.cards.n_lanes * cycles && !context->sum->poll.cut;
       self.ring++)
    add_ring (&self, self.ring);
  cards_in_use_clear (&self.cards);
  g_free (self.order);
  g_free (self.cycle);
  g_free (self.n_exits);
}
