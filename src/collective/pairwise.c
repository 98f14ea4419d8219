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
  g_array_set_size (cards, proximity_cards (near, gpu - cluster_first_gpu (cluster, node),
                                            (guint *) cards->data));
  return cards->len;
}

static void
add_transfer (const LayContext *context, guint32 from, guint32 to, gint a, gint b, double bytes)
{
  Route route;

  ring_route (context->sum->cluster, from, to, a, b, &route);
  load_sum_add_route (context->sum, &route, bytes);
  if (context->edges != NULL)
    lay_edges_add (context->edges, from, to, 0, NULL, &route, bytes);
}

void
pairwise_lay_message (const LayContext *context, guint32 from, guint32 to, double bytes)
{
  const Cluster     *cluster = context->sum->cluster;
  g_autoptr (GArray) out = g_array_new (FALSE, FALSE, sizeof (gint)),
                     in = g_array_new (FALSE, FALSE, sizeof (gint));
  guint lanes;

  if (cluster_node_of_gpu (cluster, from) == cluster_node_of_gpu (cluster, to))
    {
      add_transfer (context, from, to, -1, -1, bytes);
      return;
    }
  lanes = MAX (gpu_cards (context, from, out), gpu_cards (context, to, in));
  for (guint lane = 0; lane < lanes; lane++)
    add_transfer (context, from, to, g_array_index (out, gint, lane % out->len),
                  g_array_index (in, gint, lane % in->len), bytes / lanes);
}

void
pairwise_lay_send_recv (const LayContext *context, const guint32 *ranks, guint n_ranks,
                        double bytes)
{
  for (guint i = 0; i < n_ranks; i++)
    pairwise_lay_message (context, ranks[i], ranks[(i + 1) % n_ranks], bytes);
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
add_remote (const LayContext *context, guint32 gpu, guint32 peer, double bytes, GArray *cards)
{
  const Cluster *cluster = context->sum->cluster;
  guint          node = cluster_node_of_gpu (cluster, gpu), n = gpu_cards (context, gpu, cards);

  for (guint i = 0; i < n; i++)
    {
      Route route;

      cluster_route_gpus (cluster, gpu, peer, g_array_index (cards, gint, i), &route);
      add_part (context->sum, &route, node, bytes / n);
      cluster_route_gpus (cluster, peer, gpu, g_array_index (cards, gint, i), &route);
      add_part (context->sum, &route, node, bytes / n);
    }
}

static void
add_inside (const LayContext *context, const guint32 *gpus, guint n, double bytes)
{
  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < n; j++)
      if (i != j)
        add_transfer (context, gpus[i], gpus[j], -1, -1, bytes);
}

void
pairwise_lay_inside (const LayContext *context, const Members *members, double bytes)
{
  for (guint slot = 0; slot < members->n_nodes; slot++)
    add_inside (context, members->gpus + members->nodes[slot].first, members->nodes[slot].n, bytes);
}

/* ---- between cards --------------------------------------------------------------------------- */

/*
 * The cards of all members: member i takes card [i * lanes + l] on lane l, where each pair's bytes
 * are spread evenly over as many lanes as the member with most has cards.
 */
typedef struct
{
  const Members *members;
  guint32       *nodes; /* [member] */
  gint          *cards;
  guint          lanes;
} Lanes;

static void
lanes_init (Lanes *self, const LayContext *context, const Members *members)
{
  const Cluster     *cluster = context->sum->cluster;
  g_autoptr (GArray) cards = g_array_new (FALSE, FALSE, sizeof (gint));

  *self = (Lanes){ .members = members, .lanes = 1 };
  self->nodes = g_new (guint32, members->n_gpus);
  for (guint i = 0; i < members->n_gpus; i++)
    {
      self->nodes[i] = cluster_node_of_gpu (cluster, members->gpus[i]);
      self->lanes = MAX (self->lanes, gpu_cards (context, members->gpus[i], cards));
    }
  self->cards = g_new (gint, (gsize) members->n_gpus * self->lanes);
  for (guint i = 0; i < members->n_gpus; i++)
    {
      guint n = gpu_cards (context, members->gpus[i], cards);

      for (guint l = 0; l < self->lanes; l++)
        self->cards[(gsize) i * self->lanes + l] = g_array_index (cards, gint, l % n);
    }
}

static void
lanes_clear (Lanes *self)
{
  g_free (self->nodes);
  g_free (self->cards);
}

/*
 * Members of other nodes than NODE that member I, behind uplinks UP, reaches without them. UNDER
 * members are behind the same uplink.
 */
static guint
count_near (const guint32 *up, guint under, const MemberNode *node, guint i)
{
  guint n = under;

  for (guint j = node->first; j < node->first + node->n; j++)
    n -= up[j] == up[i];
  return n;
}

/* One level: each member loads its uplinks with what it sends beyond, and receives as much. */
static void
add_level (LoadSum *sum, const Members *members, const guint32 *up, const guint32 *down,
           double bytes)
{
  g_autofree guint *under = g_new0 (guint, members->n_gpus);
  Numbering         uplinks;

  numbering_init (&uplinks);
  for (guint i = 0; i < members->n_gpus; i++)
    if (up[i] != G_MAXUINT32)
      under[numbering_get (&uplinks, up[i])]++;
  for (guint slot = 0; slot < members->n_nodes; slot++)
    {
      const MemberNode *node = &members->nodes[slot];

      for (guint i = node->first; i < node->first + node->n; i++)
        if (up[i] != G_MAXUINT32)
          {
            guint  same = under[numbering_find (&uplinks, up[i])];
            double peers = members->n_gpus - node->n - count_near (up, same, node, i);

            load_sum_add (sum, up[i], bytes * peers);
            load_sum_add (sum, down[i], bytes * peers);
          }
    }
  numbering_clear (&uplinks);
}

static void
add_sprayed (LoadSum *sum, const Lanes *lanes, double bytes)
{
  guint               n = lanes->members->n_gpus;
  g_autofree guint32 *up = g_new (guint32, n), *down = g_new (guint32, n);

  for (guint l = 0; l < lanes->lanes; l++)
    for (guint level = 0; level < FABRIC_LEVELS; level++)
      {
        for (guint i = 0; i < n; i++)
          {
            guint      card = (guint) lanes->cards[(gsize) i * lanes->lanes + l];
            FabricPort port = cluster_fabric_port (sum->cluster, lanes->nodes[i], card);

            up[i] = port.up[level];
            down[i] = port.down[level];
          }
        add_level (sum, lanes->members, up, down, bytes / lanes->lanes);
      }
}

static void
add_chosen (LoadSum *sum, const Lanes *lanes, double bytes)
{
  guint n = lanes->members->n_gpus;

  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < n; j++)
      for (guint l = 0; lanes->nodes[i] != lanes->nodes[j] && l < lanes->lanes; l++)
        {
          guint      out = (guint) lanes->cards[(gsize) i * lanes->lanes + l];
          guint      in = (guint) lanes->cards[(gsize) j * lanes->lanes + l];
          FabricLink links[FABRIC_MAX];
          guint      n_links =
              cluster_route_fabric (sum->cluster, lanes->nodes[i], out, lanes->nodes[j], in, links);

          for (guint k = 0; k < n_links; k++)
            load_sum_add (sum, links[k].resource, links[k].share * bytes / lanes->lanes);
        }
}

/* The pairs between nodes, one by one. */
static void
note_pairs (const LayContext *context, const Lanes *lanes, double bytes)
{
  const Members *members = lanes->members;

  for (guint i = 0; i < members->n_gpus; i++)
    for (guint j = 0; j < members->n_gpus; j++)
      for (guint l = 0; lanes->nodes[i] != lanes->nodes[j] && l < lanes->lanes; l++)
        {
          Route route;

          ring_route (context->sum->cluster, members->gpus[i], members->gpus[j],
                      lanes->cards[(gsize) i * lanes->lanes + l],
                      lanes->cards[(gsize) j * lanes->lanes + l], &route);
          lay_edges_add (context->edges, members->gpus[i], members->gpus[j], 0, NULL, &route,
                         bytes / lanes->lanes);
        }
}

static void
add_fabric (const LayContext *context, const Members *members, double bytes)
{
  Lanes lanes;

  lanes_init (&lanes, context, members);
  if (cluster_routing_is_symmetric (context->sum->cluster))
    add_sprayed (context->sum, &lanes, bytes);
  else
    add_chosen (context->sum, &lanes, bytes);
  if (context->edges != NULL)
    note_pairs (context, &lanes, bytes);
  lanes_clear (&lanes);
}

void
pairwise_lay_all_to_all (const LayContext *context, const Members *members, double bytes)
{
  g_autoptr (GArray) cards = g_array_new (FALSE, FALSE, sizeof (gint));

  for (guint slot = 0; slot < members->n_nodes; slot++)
    {
      const MemberNode *node = &members->nodes[slot];
      guint32           peer = members->gpus[members->nodes[(slot + 1) % members->n_nodes].first];

      add_inside (context, members->gpus + node->first, node->n, bytes);
      for (guint i = 0; members->n_nodes > 1 && i < node->n; i++)
        add_remote (context, members->gpus[node->first + i], peer,
                    bytes * (members->n_gpus - node->n), cards);
    }
  if (members->n_nodes > 1)
    add_fabric (context, members, bytes);
}
