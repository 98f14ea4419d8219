#include "collective/load-private.h"

#include <stdlib.h>

void
load_sum_init (LoadSum *self, const Cluster *cluster)
{
  self->cluster = cluster;
  self->port_efficiency = 0;
  self->bytes = g_new0 (
      double, cluster_n_resources (cluster)); /* calloc: pages that no route touches cost nothing */
  self->hops = g_new0 (guint8, cluster_n_resources (cluster));
  self->touched = g_array_new (FALSE, FALSE, sizeof (guint32));
}

void
load_sum_clear (LoadSum *self)
{
  g_clear_pointer (&self->bytes, g_free);
  g_clear_pointer (&self->hops, g_free);
  g_clear_pointer (&self->touched, g_array_unref);
}

void
load_sum_add (LoadSum *self, guint32 resource, double bytes)
{
  if (bytes <= 0 || resource == G_MAXUINT32)
    return;
  if (self->bytes[resource] == 0)
    g_array_append_val (self->touched, resource);
  self->bytes[resource] += bytes;
}

void
load_sum_add_route (LoadSum *self, const Route *route, double bytes)
{
  for (guint i = 0; i < route->n; i++)
    {
      load_sum_add (self, route->resources[i], bytes);
      if (bytes > 0)
        self->hops[route->resources[i]] |= route->class_ == PATH_NET ? LOAD_HOP_NET : LOAD_HOP_INTRA;
    }
}

static int
compare_ids (const void *a, const void *b)
{
  guint32 x = *(const guint32 *) a, y = *(const guint32 *) b;

  return x < y ? -1 : x > y;
}

/*
 * Brings the touched resources into order: by sorting when they are few, by a pass over all
 * otherwise.
 */
static void
sort_touched (LoadSum *self)
{
  guint n = cluster_n_resources (self->cluster);

  if (self->touched->len < n / 16)
    {
      qsort (self->touched->data, self->touched->len, sizeof (guint32), compare_ids);
      return;
    }
  g_array_set_size (self->touched, 0);
  for (guint32 id = 0; id < n; id++)
    if (self->bytes[id] > 0)
      g_array_append_val (self->touched, id);
}

/* What a card keeps of each direction when both carry something, as they do in all but chains. */
static double
duplex_of (const LoadSum *self, const ClusterResource *card)
{
  ResourceKind other = card->kind == RESOURCE_NIC_TX ? RESOURCE_NIC_RX : RESOURCE_NIC_TX;
  guint        id = cluster_node_resource (self->cluster, card->node, other, card->index);

  double kept = cluster_nic_profile (self->cluster, card->node)->duplex_efficiency.value;

  return kept > 0 && id != G_MAXUINT32 && self->bytes[id] > 0 ? kept : 1;
}

static double
efficiency_of (const LoadSum *self, const ClusterResource *resource)
{
  gboolean port = resource->kind == RESOURCE_NVLINK_OUT || resource->kind == RESOURCE_NVLINK_IN;

  if (resource->kind == RESOURCE_HBM)
    return 1;
  if (resource->kind == RESOURCE_NIC_TX || resource->kind == RESOURCE_NIC_RX)
    return resource->efficiency * duplex_of (self, resource);
  return port && self->port_efficiency > 0 ? self->port_efficiency : resource->efficiency;
}

static gboolean
is_network (ResourceKind kind)
{
  switch (kind)
    {
    case RESOURCE_NIC_TX:
    case RESOURCE_NIC_RX:
    case RESOURCE_LEAF_UP:
    case RESOURCE_LEAF_DOWN:
    case RESOURCE_GROUP_UP:
    case RESOURCE_GROUP_DOWN:
    case RESOURCE_GLOBAL_LINK:
      return TRUE;
    default:
      return FALSE;
    }
}

/* HOPS: 0 where it is not known, as of memory. */
static void
note_seconds (CollectiveLayout *plan, guint32 id, ResourceKind kind, guint8 hops, double seconds)
{
  if (hops == 0)
    hops = is_network (kind) ? LOAD_HOP_NET : LOAD_HOP_INTRA;
  if (hops & LOAD_HOP_INTRA)
    plan->intra_seconds_per_byte = MAX (plan->intra_seconds_per_byte, seconds);
  if (hops & LOAD_HOP_NET)
    plan->net_seconds_per_byte = MAX (plan->net_seconds_per_byte, seconds);
  if (seconds <= plan->link_seconds_per_byte)
    return;
  plan->link_seconds_per_byte = seconds;
  plan->binding = id;
}

void
load_sum_store (LoadSum *self, CollectiveLayout *plan)
{
  sort_touched (self);
  plan->n_loads = self->touched->len;
  plan->loads = g_new (CollectiveLoad, plan->n_loads);
  plan->link_seconds_per_byte = plan->intra_seconds_per_byte = plan->net_seconds_per_byte = 0;
  for (guint i = 0; i < plan->n_loads; i++)
    {
      guint32                id = g_array_index (self->touched, guint32, i);
      const ClusterResource *resource = cluster_resource (self->cluster, id);
      double                 efficiency = efficiency_of (self, resource);
      CollectiveLoad         load = { id, self->bytes[id], self->bytes[id] / efficiency };

      plan->loads[i] = load;
      note_seconds (plan, id, resource->kind, self->hops[id], load.service / resource->capacity);
    }
}
