#include "hardware/topology/proximity.h"

#include <string.h>

#include "hardware/cluster/cluster-private.h"

#define LEAST_SPEED 0.49 /* of the fastest: slower channels are not searched for */
#define ROUNDING    1e-9

/* Where cards are given to the GPUs of one node. */
typedef struct
{
  const Cluster *cluster;
  guint          node, first, peer; /* GPUs: the node's first; any of another node */
  Proximity     *near;
  double         speed;     /* B/s that each card in use has on its links */
  guint         *n_serving; /* by GPU: its cards */
  GArray        *promised;  /* Promise: of links, how many cards in use cross them */
} Giving;

typedef struct
{
  guint32 resource;
  guint   n;
} Promise;

/*
 * What the search takes RESOURCE for: it knows the rate that a card and a slot report, and neither
 * what packets cost nor that a card has become slow.
 */
static double
searched_rate (const Giving *self, guint32 id)
{
  const ClusterResource *resource = cluster_resource (self->cluster, id);

  switch (resource->kind)
    {
    case RESOURCE_NIC_TX:
      return cluster_nic_profile (self->cluster, self->node)->bandwidth.value * SEARCHED_OF_CARD;
    case RESOURCE_PCIE_UP:
    case RESOURCE_SWITCH_UP:
    case RESOURCE_SWITCH_DOWN:
      return resource->capacity * SEARCHED_OF_PCIE;
    default:
      return resource->capacity * resource->efficiency;
    }
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

static Promise *
promise_of (const Giving *self, guint32 resource)
{
  Promise none = { .resource = resource };

  for (guint i = 0; i < self->promised->len; i++)
    if (g_array_index (self->promised, Promise, i).resource == resource)
      return &g_array_index (self->promised, Promise, i);
  g_array_append_val (self->promised, none);
  return &g_array_index (self->promised, Promise, self->promised->len - 1);
}

/* One card more (SIGN 1) or less (-1) on the links from GPU to CARD; FALSE: one is overdrawn. */
static gboolean
promise_card (const Giving *self, guint gpu, guint card, gint sign)
{
  gboolean enough = TRUE;
  Route    route;

  own_route (self, gpu, card, &route);
  for (guint i = 0; i < route.n; i++)
    {
      Promise *promise = promise_of (self, route.resources[i]);

      promise->n += sign;
      enough &=
          promise->n * self->speed <= searched_rate (self, promise->resource) * (1 + ROUNDING);
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

/* TRUE when GPU reaches CARD inside its socket over links that have the speed left. */
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

/* Each GPU its nearest card. */
static void
give_nearest (const Giving *self)
{
  const guint n_cards = self->near->n_cards;

  memset (self->near->serves, 0, (gsize) self->near->n_gpus * n_cards * sizeof (gboolean));
  g_array_set_size (self->promised, 0);
  for (guint gpu = 0; gpu < self->near->n_gpus; gpu++)
    {
      guint    card = cluster_nearest_card (self->cluster, self->first + gpu);
      gboolean known = FALSE;

      for (guint other = 0; other < gpu; other++)
        known |= self->near->serves[other * n_cards + card];
      self->near->serves[gpu * n_cards + card] = TRUE;
      self->n_serving[gpu] = 1;
      if (!known)
        promise_card (self, gpu, card, 1);
    }
}

static gboolean
is_in_use (const Giving *self, guint card)
{
  for (guint gpu = 0; gpu < self->near->n_gpus; gpu++)
    if (self->near->serves[gpu * self->near->n_cards + card])
      return TRUE;
  return FALSE;
}

/* Cards that are in use where each has SPEED on its links. */
static guint
give_cards (Giving *self, double speed)
{
  guint n = 0;

  self->speed = speed;
  give_nearest (self);
  for (guint card = 0; card < self->near->n_cards; card++)
    {
      if (!is_in_use (self, card))
        give_card (self, card);
      n += is_in_use (self, card);
    }
  return n;
}

/* The fastest at which the links carry what the GPUs' nearest cards do. */
static double
nearest_speed (Giving *self)
{
  double speed = G_MAXDOUBLE;

  give_nearest (self);
  for (guint i = 0; i < self->promised->len; i++)
    {
      const Promise *promise = &g_array_index (self->promised, Promise, i);

      speed = MIN (speed, searched_rate (self, promise->resource) / promise->n);
    }
  return speed;
}

/*
 * All cards run at one speed of the search's list, the one at which they carry most; of several the
 * fastest. Where not all have room at one, they may at a slower one (src/graph/search.cc,
 * ncclTopoCompute).
 */
static void
give_at_best_speed (Giving *self)
{
  const GpuProfile *gpu = cluster_gpu_profile (self->cluster, self->first);
  const double     *speed =
      library_profile_generation (cluster_library (self->cluster, NULL), gpu)->inter_speeds;
  const double fastest = nearest_speed (self);
  double       first, best = fastest;
  guint        most = 0;

  while (*speed > fastest * (1 + ROUNDING))
    speed++;
  first = *speed;
  for (; *speed > 0 && *speed >= LEAST_SPEED * first && most < self->near->n_cards; speed++)
    {
      const guint n = give_cards (self, *speed);

      if (n * *speed <= most * best * (1 + ROUNDING))
        continue;
      most = n;
      best = *speed;
    }
  give_cards (self, best);
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
  give_at_best_speed (&giving);
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
