#include "collective/members-private.h"

#include <stdlib.h>

static int
compare_gpus (const void *a, const void *b)
{
  guint32 x = *(const guint32 *) a, y = *(const guint32 *) b;

  return x < y ? -1 : x > y;
}

void
members_init (Members *self, const Cluster *cluster, const guint32 *ranks, guint n_ranks)
{
  g_autofree guint32 *slot_of =
      g_new0 (guint32, cluster_n_nodes (cluster)); /* slot + 1; 0 = node without members */
  guint first = 0;

  self->n_gpus = n_ranks;
  self->gpus = g_new (guint32, n_ranks);
  self->nodes = g_new0 (MemberNode, n_ranks);
  self->n_nodes = 0;
  for (guint i = 0; i < n_ranks; i++)
    {
      guint node = cluster_node_of_gpu (cluster, ranks[i]);

      if (slot_of[node] == 0)
        {
          self->nodes[self->n_nodes].node = node;
          slot_of[node] = ++self->n_nodes;
        }
      self->nodes[slot_of[node] - 1].n++;
    }
  for (guint i = 0; i < self->n_nodes; i++)
    {
      self->nodes[i].first = first;
      first += self->nodes[i].n;
      self->nodes[i].n = 0;
    }
  for (guint i = 0; i < n_ranks; i++)
    {
      MemberNode *node = &self->nodes[slot_of[cluster_node_of_gpu (cluster, ranks[i])] - 1];

      self->gpus[node->first + node->n++] = ranks[i];
    }
  for (guint i = 0; i < self->n_nodes; i++)
    qsort (self->gpus + self->nodes[i].first, self->nodes[i].n, sizeof (guint32), compare_gpus);
}

void
members_clear (Members *self)
{
  g_clear_pointer (&self->gpus, g_free);
  g_clear_pointer (&self->nodes, g_free);
}

gboolean
members_are_even (const Members *self)
{
  for (guint i = 1; i < self->n_nodes; i++)
    if (self->nodes[i].n != self->nodes[0].n)
      return FALSE;
  return TRUE;
}

/* Resources of GPU's own node that a transfer to PEER on another node crosses by CARD. */
static guint
count_hops (const Cluster *cluster, guint gpu, guint peer, guint card)
{
  guint node = cluster_node_of_gpu (cluster, gpu), hops = 0;
  Route route;

  cluster_route_gpus (cluster, gpu, peer, (gint) card, &route);
  for (guint i = 0; i < route.n; i++)
    hops += cluster_resource (cluster, route.resources[i])->node == node;
  return hops;
}

/*
 * Gives CARD, which is nobody's nearest, to the nearest GPU; of several to the one with the fewest
 * cards.
 */
static void
assign_card (Proximity *self, guint card, guint *n_serving)
{
  guint best = 0;

  for (guint gpu = 1; gpu < self->n_gpus; gpu++)
    {
      gint nearer =
          self->distance[gpu * self->n_cards + card] - self->distance[best * self->n_cards + card];

      if (nearer < 0 || (nearer == 0 && n_serving[gpu] < n_serving[best]))
        best = gpu;
    }
  self->serves[best * self->n_cards + card] = TRUE;
  n_serving[best]++;
}

static void
assign_cards (Proximity *self, const Cluster *cluster, guint first)
{
  g_autofree guint    *n_serving = g_new0 (guint, self->n_gpus);
  g_autofree gboolean *wanted = g_new0 (gboolean, self->n_cards);

  for (guint gpu = 0; gpu < self->n_gpus; gpu++)
    {
      guint card = cluster_nearest_card (cluster, first + gpu);

      self->serves[gpu * self->n_cards + card] = TRUE;
      wanted[card] = TRUE;
      n_serving[gpu] = 1;
    }
  for (guint card = 0; card < self->n_cards; card++)
    if (!wanted[card])
      assign_card (self, card, n_serving);
}

Proximity *
proximity_new (const Cluster *cluster, guint node)
{
  guint      n_cards = cluster_nics_of_node (cluster, node), n_nodes = cluster_n_nodes (cluster);
  guint      first = cluster_first_gpu (cluster, node), peer;
  Proximity *self;

  if (n_cards == 0 || n_nodes < 2)
    return NULL;
  peer = cluster_first_gpu (cluster, (node + 1) % n_nodes);
  self = g_new0 (Proximity, 1);
  self->n_gpus = cluster_gpus_of_node (cluster, node);
  self->n_cards = n_cards;
  self->distance = g_new0 (guint8, self->n_gpus * n_cards);
  self->serves = g_new0 (gboolean, self->n_gpus * n_cards);
  for (guint gpu = 0; gpu < self->n_gpus; gpu++)
    for (guint card = 0; card < n_cards; card++)
      self->distance[gpu * n_cards + card] = (guint8) count_hops (cluster, first + gpu, peer, card);
  assign_cards (self, cluster, first);
  return self;
}

void
proximity_free (Proximity *self)
{
  if (self == NULL)
    return;
  g_free (self->distance);
  g_free (self->serves);
  g_free (self);
}

guint
proximity_cards (const Proximity *self, guint local, guint *cards)
{
  guint n = 0;

  for (guint card = 0; card < self->n_cards; card++)
    if (self->serves[local * self->n_cards + card])
      cards[n++] = card;
  return n;
}

void
proximity_cache_init (ProximityCache *self, const Cluster *cluster)
{
  self->cluster = cluster;
  self->n_tables = cluster_is_uniform (cluster) ? 1 : cluster_n_nodes (cluster);
  self->tables = g_new0 (Proximity *, self->n_tables);
}

void
proximity_cache_clear (ProximityCache *self)
{
  for (guint i = 0; i < self->n_tables; i++)
    proximity_free (self->tables[i]);
  g_clear_pointer (&self->tables, g_free);
}

const Proximity *
proximity_cache_get (ProximityCache *self, guint node)
{
  guint i = self->n_tables == 1 ? 0 : node;

  if (self->tables[i] == NULL)
    self->tables[i] = proximity_new (self->cluster, i);
  return self->tables[i];
}
