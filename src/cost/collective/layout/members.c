#include "cost/collective/layout/members-private.h"

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
  self->stop = NULL;
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
cards_in_use_init (CardsInUse *self, const Cluster *cluster, const Members *members)
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
      const Proximity  *near = cluster_proximity (cluster, node->node);

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
