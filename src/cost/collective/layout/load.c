#include "cost/collective/layout/load-private.h"

#include "hardware/sites/sites.h"

void
load_sum_init (LoadSum *self, const Cluster *cluster, Stop *stop)
{
  self->cluster = cluster;
  self->port_efficiency = 0;
  self->reduced = FALSE;
  self->wan = (WanUse){ 0 };
  self->sites = NULL;
  self->poll = (StopPoll){ .stop = stop };
  numbering_init (&self->numbers);
  self->entries = g_array_new (FALSE, FALSE, sizeof (LoadEntry));
}

void
load_sum_clear (LoadSum *self)
{
  numbering_clear (&self->numbers);
  g_clear_pointer (&self->entries, g_array_unref);
  g_clear_pointer (&self->sites, g_array_unref);
}

static void
add (LoadSum *self, guint32 resource, double bytes, guint8 hops)
{
  guint32    number = numbering_get (&self->numbers, resource);
  LoadEntry *entry;

  stop_poll (&self->poll);
  if (number == self->entries->len)
    {
      LoadEntry none = { .resource = resource };

      g_array_append_val (self->entries, none);
    }
  entry = &g_array_index (self->entries, LoadEntry, number);
  entry->bytes += bytes;
  entry->hops |= hops;
}

void
load_sum_add (LoadSum *self, guint32 resource, double bytes)
{
  if (bytes > 0 && resource != G_MAXUINT32)
    add (self, resource, bytes, 0);
}

static SiteFlow *
find_site (LoadSum *self, guint32 link)
{
  SiteFlow none = { .resource = link };

  if (self->sites == NULL)
    self->sites = g_array_new (FALSE, FALSE, sizeof (SiteFlow));
  for (guint i = 0; i < self->sites->len; i++)
    if (g_array_index (self->sites, SiteFlow, i).resource == link)
      return &g_array_index (self->sites, SiteFlow, i);
  g_array_append_val (self->sites, none);
  return &g_array_index (self->sites, SiteFlow, self->sites->len - 1);
}

static void
note_wan (LoadSum *self, guint32 link, double flow, double way, double bytes)
{
  SiteFlow *site = find_site (self, link);

  site->way = way;
  self->wan.way = MAX (self->wan.way, way);
  if (flow > 0)
    site->flow = MAX (site->flow, bytes / flow);
  self->wan.flow = MAX (self->wan.flow, site->flow);
}

void
load_sum_note_flow (LoadSum *self, guint from, guint to, double bytes)
{
  WanLink link;

  if (bytes > 0 && cluster_wan_between (self->cluster, from, to, &link))
    note_wan (self, link.resource, link.flow, link.rtt / 2, bytes);
}

void
load_sum_add_route (LoadSum *self, const Route *route, double bytes)
{
  if (bytes > 0 && route->wan > 0)
    note_wan (self, route->link, route->flow, route->wan, bytes);
  for (guint i = 0; bytes > 0 && i < route->n; i++)
    add (self, route->resources[i], bytes * route->shares[i],
         route->class_ == PATH_NET ? LOAD_HOP_NET : LOAD_HOP_INTRA);
}

LoadEntry
load_sum_get (LoadSum *self, guint32 resource)
{
  guint32 number = numbering_find (&self->numbers, resource);

  return number != NUMBERING_NONE ? g_array_index (self->entries, LoadEntry, number)
                                  : (LoadEntry){ .resource = resource };
}

/* What a card keeps of each direction when both carry something, as they do in all but chains. */
static double
duplex_of (LoadSum *self, const ClusterResource *card)
{
  ResourceKind other = card->kind == RESOURCE_NIC_TX ? RESOURCE_NIC_RX : RESOURCE_NIC_TX;
  guint        id = cluster_node_resource (self->cluster, card->node, other, card->index);

  double kept = cluster_nic_profile (self->cluster, card->node)->duplex_efficiency.value;

  return kept > 0 && id != G_MAXUINT32 && load_sum_get (self, id).bytes > 0 ? kept : 1;
}

static double
card_efficiency (const LoadSum *self, const ClusterResource *card)
{
  double reduced = cluster_nic_profile (self->cluster, card->node)->sharp_efficiency.value;

  return self->reduced && reduced > 0 ? MIN (reduced, card->efficiency) : card->efficiency;
}

static double
efficiency_of (LoadSum *self, const ClusterResource *resource)
{
  gboolean port = resource->kind == RESOURCE_NVLINK_OUT || resource->kind == RESOURCE_NVLINK_IN;

  if (resource->kind == RESOURCE_HBM)
    return 1;
  if (resource->kind == RESOURCE_NIC_TX || resource->kind == RESOURCE_NIC_RX)
    return card_efficiency (self, resource) * duplex_of (self, resource);
  return port && self->port_efficiency > 0 ? self->port_efficiency : resource->efficiency;
}

/* HOPS: 0 where it is not known, as of memory. */
static void
note_seconds (CollectiveLayout *plan, guint32 id, ResourceKind kind, guint8 hops, double seconds)
{
  if (hops == 0)
    hops = resource_kind_is_network (kind) ? LOAD_HOP_NET : LOAD_HOP_INTRA;
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
  guint               n = self->entries->len;
  g_autofree guint32 *order = g_new (guint32, n);

  numbering_sort (&self->numbers, order);
  plan->n_loads = n;
  plan->wan = self->wan;
  for (guint i = 0; self->sites != NULL && i < self->sites->len; i++)
    {
      SiteFlow *site = &g_array_index (self->sites, SiteFlow, i);

      site->link = load_sum_get (self, site->resource).bytes
                   / cluster_resource (self->cluster, site->resource)->capacity;
    }
  plan->sites = g_steal_pointer (&self->sites);
  plan->loads = g_new (CollectiveLoad, n);
  plan->link_seconds_per_byte = plan->intra_seconds_per_byte = plan->net_seconds_per_byte = 0;
  for (guint i = 0; i < n; i++)
    {
      const LoadEntry       *entry = &g_array_index (self->entries, LoadEntry, order[i]);
      guint32                id = entry->resource;
      const ClusterResource *resource = cluster_resource (self->cluster, id);
      CollectiveLoad load = { id, entry->bytes, entry->bytes / efficiency_of (self, resource) };

      plan->loads[i] = load;
      note_seconds (plan, id, resource->kind, entry->hops, load.service / resource->capacity);
    }
}
