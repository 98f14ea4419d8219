#include "hardware/cluster/cluster-private.h"
#include "hardware/topology/proximity.h"

static void
proximity_free (gpointer data)
{
  Proximity *self = data;

  if (self == NULL)
    return;
  g_free (self->distance);
  g_free (self->serves);
  g_free (self);
}

void
proximity_tables_init (ProximityTables *self)
{
  pthread_mutex_init (&self->lock, NULL);
  self->of_node = g_hash_table_new_full (NULL, NULL, NULL, proximity_free);
}

void
proximity_tables_clear (ProximityTables *self)
{
  g_clear_pointer (&self->of_node, g_hash_table_unref);
  pthread_mutex_destroy (&self->lock);
}

void
proximity_tables_drop (ProximityTables *self)
{
  g_hash_table_remove_all (self->of_node);
}
