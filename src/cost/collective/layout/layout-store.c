#include "cost/collective/layout/layout-store-private.h"

#include <pthread.h>
#include <string.h>

#include "cost/collective/algorithm/algorithm-private.h"

#define MOST_LOADS 3000000 /* of all layouts: some 72 MB. What is more begins anew */
#define OWN_LOADS  100     /* a layout takes as much itself */

struct _LayoutStore
{
  pthread_mutex_t lock; /* of all below */

  GHashTable *layouts;  /* GBytes -> CollectiveLayout */
  GHashTable *clusters; /* key of a cluster -> its number, which is a word of a layout's key */
  const char *last;     /* of these keys the one that was asked for last ... */
  guint32     number;   /* ... and its number */
  guint32     n_clusters;
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
  pthread_mutex_init (&self->lock, NULL);
  self->clusters = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return self;
}

void
layout_store_free (LayoutStore *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->layouts);
  g_hash_table_unref (self->clusters);
  pthread_mutex_destroy (&self->lock);
  g_free (self);
}

guint
layout_store_n_made (const LayoutStore *self)
{
  return self->n_made;
}

/* The number of the cluster that is called NAME: a plan asks for many layouts of one. */
static guint32
number_of (LayoutStore *self, const char *name)
{
  gpointer key, number;

  if (self->last != NULL && strcmp (self->last, name) == 0)
    return self->number;
  if (!g_hash_table_lookup_extended (self->clusters, name, &key, &number))
    {
      key = g_strdup (name);
      number = GUINT_TO_POINTER (self->n_clusters++);
      g_hash_table_insert (self->clusters, key, number);
    }
  self->last = key;
  self->number = GPOINTER_TO_UINT (number);
  return self->number;
}

/* All that a layout follows from. */
static GBytes *
key_of (guint32 cluster, CollectiveKind kind, const Algorithm *algorithm, const Members *members,
        const guint32 *ranks, guint flows)
{
  const guint32 head[] = { cluster,
                           kind,
                           algorithm != NULL ? (guint32) algorithm->id : G_MAXUINT32,
                           members->pxn,
                           flows,
                           members->dispatch.experts,
                           members->dispatch.chosen,
                           members->dispatch.most_nodes,
                           members->dispatch.proxies };
  const gsize   n = members->n_gpus * sizeof *ranks;
  guint8       *data = g_malloc (sizeof head + n);

  memcpy (data, head, sizeof head);
  memcpy (data + sizeof head, ranks, n);
  return g_bytes_new_take (data, sizeof head + n);
}

static CollectiveLayout *
make (const Cluster *cluster, CollectiveKind kind, const Algorithm *algorithm,
      const Members *members, const guint32 *ranks, guint flows)
{
  return algorithm != NULL ? collective_layout_new (cluster, kind, algorithm, members, ranks, flows)
                           : collective_layout_new_message (cluster, members, ranks, flows);
}

/* No number of a cluster comes again, so that what is kept is still found by the right one. */
static void
make_room (LayoutStore *self, guint64 n_loads)
{
  if (self->n_loads + n_loads > MOST_LOADS)
    {
      g_hash_table_remove_all (self->layouts);
      g_hash_table_remove_all (self->clusters);
      self->last = NULL;
      self->n_loads = 0;
    }
  self->n_loads += n_loads;
}

static CollectiveLayout *
find (LayoutStore *self, GBytes *key)
{
  CollectiveLayout *found = g_hash_table_lookup (self->layouts, key);

  return found != NULL ? collective_layout_share (found) : NULL;
}

static void
keep (LayoutStore *self, GBytes *key, CollectiveLayout *layout)
{
  make_room (self, OWN_LOADS + layout->n_loads);
  self->n_made++;
  g_hash_table_insert (self->layouts, g_bytes_ref (key), collective_layout_share (layout));
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
  pthread_mutex_lock (&self->lock);
  key = key_of (number_of (self, name), kind, algorithm, members, ranks, flows);
  layout = find (self, key);
  pthread_mutex_unlock (&self->lock);
  if (layout != NULL)
    return layout;
  layout = make (cluster, kind, algorithm, members, ranks, flows);
  if (layout->cut)
    return layout;
  pthread_mutex_lock (&self->lock);
  keep (self, key, layout);
  pthread_mutex_unlock (&self->lock);
  return layout;
}
