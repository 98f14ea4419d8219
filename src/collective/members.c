#include "collective/members-private.h"

#include <stdlib.h>
#include <string.h>

static int
compare_gpus (const void *a, const void *b)
{
  guint32 x = *(const guint32 *) a, y = *(const guint32 *) b;

  return x < y ? -1 : x > y;
}

void
members_init (Members *self, const Cluster *cluster, const guint32 *ranks, guint n_ranks)
{
  Numbering slots;
  guint     first = 0;

  numbering_init (&slots);
  self->n_gpus = n_ranks;
  self->pxn = 0;
  self->gpus = g_new (guint32, n_ranks);
  self->nodes = g_new0 (MemberNode, n_ranks);
  for (guint i = 0; i < n_ranks; i++)
    {
      guint       node = cluster_node_of_gpu (cluster, ranks[i]);
      MemberNode *slot = &self->nodes[numbering_get (&slots, node)];

      slot->node = node;
      slot->n++;
    }
  self->n_nodes = slots.n;
  for (guint i = 0; i < self->n_nodes; i++)
    {
      self->nodes[i].first = first;
      first += self->nodes[i].n;
      self->nodes[i].n = 0;
    }
  for (guint i = 0; i < n_ranks; i++)
    {
      guint32     slot = numbering_find (&slots, cluster_node_of_gpu (cluster, ranks[i]));
      MemberNode *node = &self->nodes[slot];

      self->gpus[node->first + node->n++] = ranks[i];
    }
  for (guint i = 0; i < self->n_nodes; i++)
    qsort (self->gpus + self->nodes[i].first, self->nodes[i].n, sizeof (guint32), compare_gpus);
  numbering_clear (&slots);
}

void
members_clear (Members *self)
{
  g_clear_pointer (&self->gpus, g_free);
  g_clear_pointer (&self->nodes, g_free);
}

gboolean
members_are_hosts (const Members *self, const Cluster *cluster)
{
  return gpu_profile_is_host (cluster_gpu_profile (cluster, self->gpus[0]));
}

gboolean
members_are_even (const Members *self)
{
  for (guint i = 1; i < self->n_nodes; i++)
    if (self->nodes[i].n != self->nodes[0].n)
      return FALSE;
  return TRUE;
}

/* Where cards are given to the GPUs of one node. */
typedef struct
{
  const Cluster *cluster;
  guint          node, first, peer; /* GPUs: the node's first; any of another node */
  Proximity     *near;
  guint         *n_serving; /* by GPU: its cards */
  GArray        *promised;  /* Promise: bandwidth of links that cards in use have taken */
} Giving;

typedef struct
{
  guint32 resource;
  double  rate; /* payload B/s */
} Promise;

static double
payload_rate (const ClusterResource *resource)
{
  return resource->capacity * resource->efficiency;
}

/* The resources of the node's own that local GPU crosses by CARD to another node; their number. */
static guint
own_route (const Giving *self, guint gpu, guint card, Route *route)
{
  guint n = 0;

  cluster_route_gpus (self->cluster, self->first + gpu, self->peer, (gint) card, route);
  for (guint i = 0; i < route->n; i++)
    if (cluster_resource (self->cluster, route->resources[i])->node == self->node)
      route->resources[n++] = route->resources[i];
  return route->n = n;
}

static double *
promised_rate (const Giving *self, guint32 resource)
{
  Promise none = { .resource = resource };

  for (guint i = 0; i < self->promised->len; i++)
    if (g_array_index (self->promised, Promise, i).resource == resource)
      return &g_array_index (self->promised, Promise, i).rate;
  g_array_append_val (self->promised, none);
  return &g_array_index (self->promised, Promise, self->promised->len - 1).rate;
}

static double
card_rate (const Giving *self, guint card)
{
  return payload_rate (cluster_resource (
      self->cluster, cluster_node_resource (self->cluster, self->node, RESOURCE_NIC_TX, card)));
}

/* Sets the bandwidth of CARD aside on the links to GPU, times SIGN; FALSE when one is overdrawn. */
static gboolean
promise_card (const Giving *self, guint gpu, guint card, gint sign)
{
  double   rate = sign * card_rate (self, card);
  gboolean enough = TRUE;
  Route    route;

  own_route (self, gpu, card, &route);
  for (guint i = 0; i < route.n; i++)
    {
      double *promised = promised_rate (self, route.resources[i]);

      *promised += rate;
      enough &= *promised <= payload_rate (cluster_resource (self->cluster, route.resources[i]));
    }
  return enough;
}

static gboolean
crosses_sockets (const Giving *self, guint gpu, guint card)
{
  Route route;

  own_route (self, gpu, card, &route);
  for (guint i = 0; i < route.n; i++)
    if (cluster_resource (self->cluster, route.resources[i])->kind == RESOURCE_SOCKET_LINK)
      return TRUE;
  return FALSE;
}

/* TRUE when GPU reaches CARD inside its socket over links that have the card's bandwidth left. */
static gboolean
has_room (const Giving *self, guint gpu, guint card)
{
  gboolean enough;

  if (crosses_sockets (self, gpu, card))
    return FALSE;
  enough = promise_card (self, gpu, card, 1);
  promise_card (self, gpu, card, -1);
  return enough;
}

static guint
distance_of (const Giving *self, guint gpu, guint card)
{
  return self->near->distance[gpu * self->near->n_cards + card];
}

/*
 * Gives CARD, which is nobody's nearest, to the nearest GPU; of several to the one with the fewest
 * cards. NCCL's search takes the shortest class of paths that gives it a ring, each with its
 * bandwidth set aside, and leaves the other cards unused.
 */
static void
give_card (const Giving *self, guint card)
{
  guint nearest = G_MAXUINT, best = G_MAXUINT;

  for (guint gpu = 0; gpu < self->near->n_gpus; gpu++)
    nearest = MIN (nearest, distance_of (self, gpu, card));
  for (guint gpu = 0; gpu < self->near->n_gpus; gpu++)
    if (distance_of (self, gpu, card) == nearest && has_room (self, gpu, card)
        && (best == G_MAXUINT || self->n_serving[gpu] < self->n_serving[best]))
      best = gpu;
  if (best == G_MAXUINT)
    return;
  self->near->serves[best * self->near->n_cards + card] = TRUE;
  self->n_serving[best]++;
  promise_card (self, best, card, 1);
}

static void
give_cards (const Giving *self)
{
  g_autofree gboolean *wanted = g_new0 (gboolean, self->near->n_cards);

  for (guint gpu = 0; gpu < self->near->n_gpus; gpu++)
    {
      guint card = cluster_nearest_card (self->cluster, self->first + gpu);

      self->near->serves[gpu * self->near->n_cards + card] = TRUE;
      self->n_serving[gpu] = 1;
      if (!wanted[card])
        promise_card (self, gpu, card, 1);
      wanted[card] = TRUE;
    }
  for (guint card = 0; card < self->near->n_cards; card++)
    if (!wanted[card])
      give_card (self, card);
}

Proximity *
proximity_new (const Cluster *cluster, guint node)
{
  guint  n_cards = cluster_nics_of_node (cluster, node), n_nodes = cluster_n_nodes (cluster);
  guint  n_gpus = cluster_gpus_of_node (cluster, node);
  Giving giving = { .cluster = cluster, .node = node, .first = cluster_first_gpu (cluster, node) };
  Proximity *self;

  if (n_cards == 0 || n_nodes < 2)
    return NULL;
  self = g_new0 (Proximity, 1);
  self->n_gpus = n_gpus;
  self->n_cards = n_cards;
  self->distance = g_new0 (guint8, n_gpus * n_cards);
  self->serves = g_new0 (gboolean, n_gpus * n_cards);
  giving.peer = cluster_first_gpu (cluster, (node + 1) % n_nodes);
  giving.near = self;
  giving.n_serving = g_new0 (guint, n_gpus);
  giving.promised = g_array_new (FALSE, FALSE, sizeof (Promise));
  for (guint gpu = 0; gpu < n_gpus; gpu++)
    for (guint card = 0; card < n_cards; card++)
      {
        Route route;

        self->distance[gpu * n_cards + card] = (guint8) own_route (&giving, gpu, card, &route);
      }
  give_cards (&giving);
  g_free (giving.n_serving);
  g_array_unref (giving.promised);
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
  numbering_init (&self->nodes);
  self->tables = g_ptr_array_new_with_free_func ((GDestroyNotify) proximity_free);
}

void
proximity_cache_clear (ProximityCache *self)
{
  numbering_clear (&self->nodes);
  g_clear_pointer (&self->tables, g_ptr_array_unref);
}

const Proximity *
proximity_cache_get (ProximityCache *self, guint node)
{
  guint   of = cluster_is_uniform (self->cluster) ? 0 : node;
  guint32 number = numbering_get (&self->nodes, of);

  if (number == self->tables->len)
    g_ptr_array_add (self->tables, proximity_new (self->cluster, of));
  return g_ptr_array_index (self->tables, number);
}

/* ---- cards in use ---------------------------------------------------------------------------- */

static gboolean
serves_any (const Proximity *near, const Members *members, const MemberNode *node, guint first,
            guint card)
{
  for (guint i = 0; i < node->n; i++)
    if (near->serves[(members->gpus[node->first + i] - first) * near->n_cards + card])
      return TRUE;
  return FALSE;
}

/* Fewer cards in use than there are: moves the rows of the table together. */
static void
pack_cards (CardsInUse *self, guint n_slots)
{
  guint used = 1;

  for (guint slot = 0; slot < n_slots; slot++)
    used = MAX (used, self->n_used[slot]);
  for (guint slot = 0; slot < n_slots; slot++)
    memmove (self->used + (gsize) slot * used, self->used + (gsize) slot * self->n_lanes,
             used * sizeof (guint));
  self->n_lanes = used;
}

void
cards_in_use_init (CardsInUse *self, const Cluster *cluster, const Members *members,
                   ProximityCache *proximity)
{
  guint most = 1;

  for (guint slot = 0; slot < members->n_nodes; slot++)
    most = MAX (most, cluster_nics_of_node (cluster, members->nodes[slot].node));
  self->n_used = g_new0 (guint, members->n_nodes);
  self->used = g_new0 (guint, (gsize) members->n_nodes * most);
  self->n_lanes = most;
  for (guint slot = 0; slot < members->n_nodes && members->n_nodes > 1; slot++)
    {
      const MemberNode *node = &members->nodes[slot];
      const Proximity  *near = proximity_cache_get (proximity, node->node);

      for (guint card = 0; near != NULL && card < near->n_cards; card++)
        if (serves_any (near, members, node, cluster_first_gpu (cluster, node->node), card))
          self->used[slot * most + self->n_used[slot]++] = card;
    }
  pack_cards (self, members->n_nodes);
}

void
cards_in_use_clear (CardsInUse *self)
{
  g_clear_pointer (&self->n_used, g_free);
  g_clear_pointer (&self->used, g_free);
}

guint
cards_in_use_get (const CardsInUse *self, guint slot, guint lane)
{
  return self->used[slot * self->n_lanes + lane % self->n_lanes % self->n_used[slot]];
}
