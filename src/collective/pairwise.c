#include "collective/pairwise-private.h"

/*
 * Cards of GPU, written to CARDS; without a choice one entry, -1. At most as many as its node has;
 * at least one.
 */
static guint
gpu_cards (const LayContext *context, guint32 gpu, GArray *cards)
{
  const Cluster   *cluster = context->sum->cluster;
  guint            node = cluster_node_of_gpu (cluster, gpu);
  const Proximity *near = proximity_cache_get (context->proximity, node);

  if (near == NULL)
    {
      gint none = -1;

      g_array_set_size (cards, 0);
      g_array_append_val (cards, none);
      return 1;
    }
  g_array_set_size (cards, near->n_cards);
  g_array_set_size (
      cards, proximity_cards (near, gpu - cluster_first_gpu (cluster, node), (guint *) cards->data));
  return cards->len;
}

static void
add_transfer (const LayContext *context, NcclGraph *graph, guint32 from, guint32 to, gint a, gint b,
              double bytes)
{
  Route route;

  ring_route (context->sum->cluster, from, to, a, b, &route);
  ring_note_hop (graph, &route);
  load_sum_add_route (context->sum, &route, bytes);
}

NcclGraph
pairwise_lay_send_recv (const LayContext *context, const guint32 *ranks, guint n_ranks,
                        guint n_nodes, double bytes)
{
  const Cluster *cluster = context->sum->cluster;
  NcclGraph graph = { .n_ranks = n_ranks, .n_nodes = n_nodes, .n_cards = 1, .nvlink_only = TRUE };
  g_autoptr (GArray) out = g_array_new (FALSE, FALSE, sizeof (gint)),
                     in = g_array_new (FALSE, FALSE, sizeof (gint));

  for (guint i = 0; i < n_ranks; i++)
    {
      guint32 from = ranks[i], to = ranks[(i + 1) % n_ranks];
      guint   lanes;

      if (cluster_node_of_gpu (cluster, from) == cluster_node_of_gpu (cluster, to))
        {
          add_transfer (context, &graph, from, to, -1, -1, bytes);
          continue;
        }
      lanes = MAX (gpu_cards (context, from, out), gpu_cards (context, to, in));
      for (guint lane = 0; lane < lanes; lane++)
        add_transfer (context, &graph, from, to, g_array_index (out, gint, lane % out->len),
                      g_array_index (in, gint, lane % in->len), bytes / lanes);
      graph.n_cards = MAX (graph.n_cards, lanes);
    }
  return graph;
}

/* Adds what ROUTE crosses on NODE. */
static void
add_part (LoadSum *sum, const Route *route, guint node, double bytes)
{
  for (guint i = 0; i < route->n; i++)
    if (cluster_resource (sum->cluster, route->resources[i])->node == node)
      load_sum_add (sum, route->resources[i], bytes);
}

/* To and from the members on other nodes: PEER is any of them. */
static void
add_remote (const LayContext *context, NcclGraph *graph, guint32 gpu, guint32 peer, double bytes,
            GArray *cards)
{
  const Cluster *cluster = context->sum->cluster;
  guint          node = cluster_node_of_gpu (cluster, gpu), n = gpu_cards (context, gpu, cards);

  for (guint i = 0; i < n; i++)
    {
      Route route;

      cluster_route_gpus (cluster, gpu, peer, g_array_index (cards, gint, i), &route);
      ring_note_hop (graph, &route);
      add_part (context->sum, &route, node, bytes / n);
      cluster_route_gpus (cluster, peer, gpu, g_array_index (cards, gint, i), &route);
      add_part (context->sum, &route, node, bytes / n);
    }
  graph->n_cards = MAX (graph->n_cards, n);
}

static void
add_inside (const LayContext *context, NcclGraph *graph, const guint32 *gpus, guint n, double bytes)
{
  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < n; j++)
      if (i != j)
        add_transfer (context, graph, gpus[i], gpus[j], -1, -1, bytes);
}

static guint32
route_find (const Cluster *cluster, const Route *route, ResourceKind kind)
{
  for (guint i = 0; i < route->n; i++)
    if (cluster_resource (cluster, route->resources[i])->kind == kind)
      return route->resources[i];
  return G_MAXUINT32;
}

/*
 * TRUE when A's way to B leaves its leaf; then *UP is that leaf's resource, and *DOWN its other
 * direction's.
 */
static gboolean
probe_leaf (const Cluster *cluster, guint32 a, guint32 b, guint32 *up, guint32 *down)
{
  Route route;

  if (cluster_node_of_gpu (cluster, a) == cluster_node_of_gpu (cluster, b))
    return FALSE;
  cluster_route_gpus (cluster, a, b, -1, &route);
  *up = route_find (cluster, &route, RESOURCE_LEAF_UP);
  if (*up == G_MAXUINT32)
    return FALSE;
  cluster_route_gpus (cluster, b, a, -1, &route);
  *down = route_find (cluster, &route, RESOURCE_LEAF_DOWN);
  return TRUE;
}

typedef struct
{
  guint32 up, down; /* G_MAXUINT32: no member hangs under another leaf */
} MemberLeaf;

/* Finds the leaf of GPU by its way to members FIRST..END of the group. */
static gboolean
scan_leaf (const Cluster *cluster, const Members *members, guint32 gpu, guint first, guint end,
           MemberLeaf *leaf)
{
  for (guint i = first; i < end; i++)
    if (probe_leaf (cluster, gpu, members->gpus[i], &leaf->up, &leaf->down))
      return TRUE;
  return FALSE;
}

/*
 * The leaf of each member, or NULL when all hang under one. Let a be the first member and b one
 * under another leaf. A member of a third node is under another leaf than a or than b, so two
 * probes tell its leaf; the members of a's and b's own nodes are compared with everybody. Without a
 * b, all members beyond a's node share a's leaf, and only others of a's node can differ.
 */
static MemberLeaf *
find_leaves (const Cluster *cluster, const Members *members)
{
  guint       n = members->n_gpus, own = members->nodes[0].n, b = own;
  MemberLeaf *leaves;
  MemberLeaf  unused;

  while (b < n && !scan_leaf (cluster, members, members->gpus[b], 0, 1, &unused))
    b++;
  if (b == n && !scan_leaf (cluster, members, members->gpus[own], 0, own, &unused))
    return NULL;
  leaves = g_new (MemberLeaf, n);
  for (guint i = 0; i < n; i++)
    {
      guint32  gpu = members->gpus[i], node = cluster_node_of_gpu (cluster, gpu);
      gboolean special =
          i < own || (b < n && node == cluster_node_of_gpu (cluster, members->gpus[b]));

      if (!scan_leaf (cluster, members, gpu, 0, special ? n : own, &leaves[i])
          && (b == n || !scan_leaf (cluster, members, gpu, b, b + 1, &leaves[i])))
        leaves[i] = (MemberLeaf){ G_MAXUINT32, G_MAXUINT32 };
    }
  for (guint i = 0; i < n;
       i++) /* reaches everybody below its leaf: beside a, or (a's node) beside those of the next */
    if (leaves[i].up == G_MAXUINT32)
      leaves[i] = leaves[i < own ? own : 0];
  return leaves;
}

/*
 * Members of other nodes than NODE under the leaf of member I: it reaches them without the leaf's
 * uplinks.
 */
static guint
count_near (const MemberLeaf *leaves, const guint *under, const MemberNode *node, guint i)
{
  guint n = under[leaves[i].up];

  for (guint j = node->first; j < node->first + node->n; j++)
    n -= leaves[j].up == leaves[i].up;
  return n;
}

/* Each member loads its leaf's uplinks with what it sends to other leaves, and receives as much. */
static void
add_leaves (LoadSum *sum, const Members *members, double bytes)
{
  g_autofree MemberLeaf *leaves = find_leaves (sum->cluster, members);
  g_autofree guint      *under = NULL;

  if (leaves == NULL)
    return;
  under = g_new0 (guint, cluster_n_resources (sum->cluster));
  for (guint i = 0; i < members->n_gpus; i++)
    if (leaves[i].up != G_MAXUINT32)
      under[leaves[i].up]++;
  for (guint slot = 0; slot < members->n_nodes; slot++)
    for (guint i = 0; i < members->nodes[slot].n; i++)
      {
        const MemberNode *node = &members->nodes[slot];
        const MemberLeaf *leaf = &leaves[node->first + i];
        double            peers;

        if (leaf->up == G_MAXUINT32)
          continue;
        peers = members->n_gpus - node->n - count_near (leaves, under, node, node->first + i);
        load_sum_add (sum, leaf->up, bytes * peers);
        load_sum_add (sum, leaf->down, bytes * peers);
      }
}

NcclGraph
pairwise_lay_all_to_all (const LayContext *context, const Members *members, double bytes)
{
  NcclGraph graph = {
    .n_ranks = members->n_gpus, .n_nodes = members->n_nodes, .n_cards = 1, .nvlink_only = TRUE
  };
  g_autoptr (GArray) cards = g_array_new (FALSE, FALSE, sizeof (gint));

  for (guint slot = 0; slot < members->n_nodes; slot++)
    {
      const MemberNode *node = &members->nodes[slot];
      guint32           peer = members->gpus[members->nodes[(slot + 1) % members->n_nodes].first];

      add_inside (context, &graph, members->gpus + node->first, node->n, bytes);
      for (guint i = 0; members->n_nodes > 1 && i < node->n; i++)
        add_remote (context, &graph, members->gpus[node->first + i], peer,
                    bytes * (members->n_gpus - node->n), cards);
    }
  if (members->n_nodes > 1)
    add_leaves (context->sum, members, bytes);
  return graph;
}
