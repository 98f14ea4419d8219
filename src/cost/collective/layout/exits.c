#include "cost/collective/layout/exits-private.h"

/* ---- cards ----------------------------------------------------------------------------------- */

/*
 * Cards of GPU, written to CARDS; without a choice one entry, -1. At most as many as its node has;
 * at least one.
 */
static guint
gpu_cards (const RoutingContext *context, guint32 gpu, GArray *cards)
{
  const Cluster   *cluster = context->sum->cluster;
  guint            node = cluster_node_of_gpu (cluster, gpu);
  const Proximity *near = cluster_proximity (cluster, node);

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
find_cards (Exits *self)
{
  const Members     *members = self->members;
  g_autoptr (GArray) cards = g_array_new (FALSE, FALSE, sizeof (gint));

  self->n_cards = g_new (guint, members->n_gpus);
  for (guint i = 0; i < members->n_gpus; i++)
    {
      self->n_cards[i] = gpu_cards (self->context, members->gpus[i], cards);
      self->lanes = MAX (self->lanes, self->n_cards[i]);
    }
  self->cards = g_new (gint, (gsize) members->n_gpus * self->lanes);
  for (guint i = 0; i < members->n_gpus; i++)
    {
      guint n = gpu_cards (self->context, members->gpus[i], cards);

      for (guint l = 0; l < self->lanes; l++)
        self->cards[(gsize) i * self->lanes + l] = g_array_index (cards, gint, l % n);
    }
}

gint
exits_entry (const Exits *self, guint to, guint lane)
{
  return self->cards[(gsize) to * self->lanes + lane];
}

/* ---- relays ---------------------------------------------------------------------------------- */

static guint
number_in_node (const Exits *self, guint member)
{
  const Cluster *cluster = self->context->sum->cluster;
  guint32        gpu = self->members->gpus[member];

  return gpu - cluster_first_gpu (cluster, cluster_node_of_gpu (cluster, gpu));
}

/*
 * Whether NCCL takes the member to be next to the card: within PCIe switches (PXB), newer releases
 * also behind its CPU (C2C). Clusters by parts do not say where cards are: all are next to their
 * GPUs but on small boards of older ones, which have no PCIe switches.
 */
static gboolean
is_next_to (const Exits *self, guint member, gint card)
{
  const Cluster *cluster = self->context->sum->cluster;
  guint32        gpu = self->members->gpus[member];
  guint          node = cluster_node_of_gpu (cluster, gpu);
  const gboolean over_c2c = (self->members->pxn & PXN_OVER_C2C) != 0;
  PathClass      path;

  if (cluster_node_is_unplaced (cluster, node))
    return cluster_gpu_profile (cluster, gpu)->c2c
               ? over_c2c
               : (self->members->pxn & PXN_OF_MESHES) != 0
                     || !cluster_card_is_behind_bridge (cluster, node, (guint) card);
  path = cluster_gpu_card_pcie (cluster, gpu, (guint) card);
  return path == PATH_C2C ? over_c2c : path <= PATH_PXB;
}

/* The member that CARD serves on the earliest of its lanes; the first of several. */
static guint32
find_relay (const Exits *self, const MemberNode *node, gint card)
{
  for (guint l = 0; l < self->lanes; l++)
    for (guint i = node->first; i < node->first + node->n; i++)
      if (exits_entry (self, i, l) == card)
        return is_next_to (self, i, card) ? i : EXITS_NONE;
  return EXITS_NONE;
}

static gboolean
are_joined (const Exits *self, guint a, guint b)
{
  Route route;

  if (a == b)
    return TRUE;
  cluster_route_gpus (self->context->sum->cluster, self->members->gpus[a], self->members->gpus[b],
                      -1, &route);
  return route.class_ == PATH_NVLINK;
}

static void
find_relays (Exits *self)
{
  const Members *members = self->members;

  for (guint i = 0; i < members->n_gpus; i++)
    self->n_classes = MAX (self->n_classes, number_in_node (self, i) + 1);
  self->by_class = g_new (guint32, (gsize) members->n_nodes * self->n_classes);
  self->relays = g_new (guint32, (gsize) members->n_gpus * self->lanes);
  self->joined = g_new0 (gboolean, (gsize) members->n_gpus * self->n_classes);
  for (guint slot = 0; slot < members->n_nodes; slot++)
    {
      const MemberNode *node = &members->nodes[slot];
      guint32          *by_class = self->by_class + (gsize) slot * self->n_classes;

      for (guint class_ = 0; class_ < self->n_classes; class_++)
        by_class[class_] = EXITS_NONE;
      for (guint i = node->first; i < node->first + node->n; i++)
        {
          by_class[number_in_node (self, i)] = i;
          for (guint l = 0; l < self->lanes; l++)
            self->relays[(gsize) i * self->lanes + l] =
                find_relay (self, node, exits_entry (self, i, l));
          for (guint j = node->first; j < node->first + node->n; j++)
            self->joined[(gsize) i * self->n_classes + number_in_node (self, j)] =
                are_joined (self, i, j);
        }
    }
}

/* ---- exits ----------------------------------------------------------------------------------- */

void
exits_init (Exits *self, const RoutingContext *context, const Members *members)
{
  *self = (Exits){ .context = context, .members = members, .lanes = 1, .n_classes = 1 };
  numbering_init (&self->numbers);
  self->slots = g_new (guint32, members->n_gpus);
  for (guint slot = 0; slot < members->n_nodes; slot++)
    for (guint i = 0; i < members->nodes[slot].n; i++)
      {
        guint member = members->nodes[slot].first + i;

        numbering_get (&self->numbers, members->gpus[member]);
        self->slots[member] = slot;
      }
  find_cards (self);
  if ((members->pxn & PXN_USED) != 0 && members->n_nodes > 1)
    find_relays (self);
}

void
exits_clear (Exits *self)
{
  numbering_clear (&self->numbers);
  g_free (self->slots);
  g_free (self->n_cards);
  g_free (self->cards);
  g_free (self->relays);
  g_free (self->by_class);
  g_free (self->joined);
}

guint
exits_class (const Exits *self, guint to)
{
  return self->by_class != NULL ? number_in_node (self, to) : 0;
}

Exit
exits_get (const Exits *self, guint from, guint class_, guint lane)
{
  const Cluster *cluster = self->context->sum->cluster;
  const guint32 *gpus = self->members->gpus;
  const Exit     own = { gpus[from], from, exits_entry (self, from, lane) };
  guint32        rail, relay;
  Exit           found;

  if (self->by_class == NULL)
    return own;
  rail = self->by_class[(gsize) self->slots[from] * self->n_classes + class_];
  relay = rail != EXITS_NONE ? self->relays[(gsize) rail * self->lanes + lane] : EXITS_NONE;
  if (relay == EXITS_NONE
      || !self->joined[(gsize) from * self->n_classes + number_in_node (self, relay)])
    return own;
  found = (Exit){ gpus[relay], rail, exits_entry (self, rail, lane) };
  /* a card that does not read GPU memory sends from host memory, which the sender writes itself */
  if (!cluster_gpu_card_is_direct (cluster, found.sender, (guint) found.card))
    found.sender = own.sender;
  return found;
}

guint
exits_lanes (const Exits *self, guint from, guint to)
{
  const Exit exit = exits_get (self, from, exits_class (self, to), 0);

  return MAX (self->n_cards[to], self->n_cards[exit.member]);
}
