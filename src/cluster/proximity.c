#include "cluster/proximity.h"

#include "cluster/cluster-private.h"

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

static Proximity *
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

guint
proximity_cards (const Proximity *self, guint local, guint *cards)
{
  guint n = 0;

  for (guint card = 0; card < self->n_cards; card++)
    if (self->serves[local * self->n_cards + card])
      cards[n++] = card;
  return n;
}

/* ---- kept tables ----------------------------------------------------------------------------- */

const Proximity *
cluster_proximity (const Cluster *self, guint node)
{
  ProximityTables *tables = self->proximity;
  gpointer         key = GUINT_TO_POINTER (cluster_is_uniform (self) ? 0 : node), known;

  pthread_mutex_lock (&tables->lock);
  if (!g_hash_table_lookup_extended (tables->of_node, key, NULL, &known))
    {
      known = proximity_new (self, GPOINTER_TO_UINT (key));
      g_hash_table_insert (tables->of_node, key, known);
    }
  pthread_mutex_unlock (&tables->lock);
  return known;
}
