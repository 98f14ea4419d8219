#include "cost/collective/layout/layout-store-private.h"

#include <string.h>

#include "cost/collective/algorithm/algorithm-private.h"

#define MOST_LOADS 3000000 /* of all layouts: some 8 MB. What is more begins anew */

struct _LayoutStore
{
  GHashTable *layouts; /* GBytes -> CollectiveLayout */
  guint64     n_loads;
  guint       n_made;
};

LayoutStore *
layout_store_new (void)
{
  LayoutStore *self = g_new0 (LayoutStore, 1);

  self->layouts =
      g_hash_table_new_full (g_bytes_hash, g_bytes_equal, (GDestroyNotify) g_bytes_unref,
                             (GDestroyNotify) collective_layout_free);
  return self;
}

void
layout_store_free (LayoutStore *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->layouts);
  g_free (self);
}

guint
layout_store_n_made (const LayoutStore *self)
{
  return self->n_made;
}

/* All that a layout follows from. */
static GBytes *
key_of (const char *cluster, CollectiveKind kind, const Algorithm *algorithm,
        const Members *members, const guint32 *ranks, guint flows)
{
  const guint32 head[] = { kind,
                           algorithm != NULL ? (guint32) algorithm->id : G_MAXUINT32,
                           members->pxn,
                           flows,
                           members->dispatch.experts,
                           members->dispatch.chosen,
                           members->dispatch.most_nodes,
                           members->dispatch.proxies };
  const gsize   n = members->n_gpus * sizeof *ranks, n_cluster = strlen (cluster) + 1;
  guint8       *data = g_malloc (sizeof head + n + n_cluster);

  memcpy (data, head, sizeof head);
  memcpy (data + sizeof head, ranks, n);
  memcpy (data + sizeof head + n, cluster, n_cluster);
  return g_bytes_new_take (data, sizeof head + n + n_cluster);
}

static CollectiveLayout *
make (const Cluster *cluster, CollectiveKind kind, const Algorithm *algorithm,
      const Members *members, const guint32 *ranks, guint flows)
{
  return algorithm != NULL ? collective_layout_new (cluster, kind, algorithm, members, ranks, flows)
                           : collective_layout_new_message (cluster, members, ranks, flows);
}

CollectiveLayout *
layout_store_get (LayoutStore *self, const Cluster *cluster, CollectiveKind kind,
                  const Algorithm *algorithm, const Members *members, const guint32 *ranks,
                  guint flows)
{
  const char        *name = cluster_key (cluster);
  g_autoptr (GBytes) key = NULL;
  CollectiveLayout  *layout;

  if (self == NULL || name == NULL)
    return make (cluster, kind, algorithm, members, ranks, flows);
  key = key_of (name, kind, algorithm, members, ranks, flows);
  layout = g_hash_table_lookup (self->layouts, key);
  if (layout != NULL)
    return collective_layout_share (layout);
  layout = make (cluster, kind, algorithm, members, ranks, flows);
  if (!layout->cut)
    {
      if (self->n_loads + layout->n_loads > MOST_LOADS)
        {
          g_hash_table_remove_all (self->layouts);
          self->n_loads = 0;
        }
      self->n_loads += layout->n_loads;
      self->n_made++;
      g_hash_table_insert (self->layouts, g_steal_pointer (&key), collective_layout_share (layout));
    }
  return layout;
}
