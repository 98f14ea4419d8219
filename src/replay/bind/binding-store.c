/*
 * A binding goes by all that its graph is made of (bind.c), written one after the other: the
 * cluster's key, the library's options, the roles of ranks, and what each role issues on which
 * group, by size. It knows nothing of how often or when, but where ranks may run apart: who of them
 * meets.
 */
#include "replay/bind/bind-private.h"

#include <pthread.h>
#include <string.h>

#define MOST_KEPT  64
#define MOST_RANKS 4096 /* of one: what was not folded is large, and no other is like it */

struct _BindingStore
{
  pthread_mutex_t lock;
  GHashTable     *bindings; /* GBytes -> Binding */
  guint           n_found;
};

BindingStore *
binding_store_new (void)
{
  BindingStore *self = g_new0 (BindingStore, 1);

  pthread_mutex_init (&self->lock, NULL);
  self->bindings = g_hash_table_new_full (
      g_bytes_hash, g_bytes_equal, (GDestroyNotify) g_bytes_unref, (GDestroyNotify) binding_unref);
  return self;
}

void
binding_store_free (BindingStore *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->bindings);
  pthread_mutex_destroy (&self->lock);
  g_free (self);
}

guint
binding_store_n_found (const BindingStore *self)
{
  return self->n_found;
}

Binding *
binding_store_find (BindingStore *self, GBytes *key)
{
  Binding *found;

  pthread_mutex_lock (&self->lock);
  found = g_hash_table_lookup (self->bindings, key);
  if (found != NULL)
    {
      self->n_found++;
      binding_ref (found);
    }
  pthread_mutex_unlock (&self->lock);
  return found;
}

void
binding_store_add (BindingStore *self, GBytes *key, Binding *binding)
{
  if (binding->ranks->len > MOST_RANKS)
    return;
  pthread_mutex_lock (&self->lock);
  if (g_hash_table_size (self->bindings) == MOST_KEPT)
    g_hash_table_remove_all (self->bindings);
  g_hash_table_insert (self->bindings, g_bytes_ref (key), binding_ref (binding));
  pthread_mutex_unlock (&self->lock);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void
put (GByteArray *key, guint64 value)
{
  g_byte_array_append (key, (const guint8 *) &value, sizeof value);
}

static void
put_double (GByteArray *key, double value)
{
  g_byte_array_append (key, (const guint8 *) &value, sizeof value);
}

static void
put_text (GByteArray *key, const char *text)
{
  put (key, text != NULL ? strlen (text) + 1 : 0);
  if (text != NULL)
    g_byte_array_append (key, (const guint8 *) text, (guint) strlen (text));
}

static void
put_sizes (GByteArray *key, const GArray *sizes)
{
  put (key, sizes != NULL ? sizes->len : 0);
  for (guint i = 0; sizes != NULL && i < sizes->len; i++)
    put (key, g_array_index (sizes, guint64, i));
}

/* What is the same for all communicators: bind_graph_build sets the rest. */
static void
put_library (GByteArray *key, const CollectiveOptions *options)
{
  put (key, options->algorithm);
  put (key, options->protocol);
  put_text (key, options->library);
  put (key, (guint64) options->single_process | (guint64) options->sharp << 1
                | (guint64) options->collnet_refused << 2 | (guint64) options->library_chooses << 3
                | (guint64) options->split_data << 4 | (guint64) options->timed_calls << 5);
  put (key, (guint64) options->nvls);
  put (key, (guint64) options->pxn);
  put (key, options->channels);
  put_double (key, options->buffsize);
  put (key, options->net_peer_channels);
  put (key, (guint64) options->ring_wish);
}

/* Runs of ranks of one role. */
static void
put_roles (GByteArray *key, const BindGraph *graph)
{
  guint last = G_MAXUINT;

  put (key, graph->n_ranks);
  for (guint r = 0; r < graph->n_ranks; r++)
    {
      const guint role = schedule_role_of_rank (graph->schedule, r);

      if (role == last)
        continue;
      put (key, r);
      put (key, role);
      last = role;
    }
}

static void
put_comm (GByteArray *key, const ScheduleComm *comm)
{
  const guint group[] = { comm->group.size, comm->group.stride, comm->group.run, comm->group.jump };

  g_byte_array_append (key, (const guint8 *) group, sizeof group);
  put (key, comm->transport);
  put (key, comm->ring_order);
  put (key, comm->dispatch.experts);
  put (key, comm->dispatch.chosen);
  put (key, comm->dispatch.most_nodes);
  put (key, comm->dispatch.sms);
  put (key, comm->dispatch.proxies);
}

static void
put_collectives (GByteArray *key, const BindGraph *graph)
{
  const guint n_comms = schedule_n_comms (graph->schedule);
  const guint n_roles = schedule_n_roles (graph->schedule);

  put (key, n_comms);
  put (key, n_roles);
  for (CommRef comm = 0; comm < n_comms; comm++)
    put_comm (key, schedule_comm_info (graph->schedule, comm));
  for (guint i = 0; i < n_comms * COLLECTIVE_N_KINDS; i++)
    if (graph->uses[i].sizes != NULL)
      {
        put (key, i);
        put_sizes (key, graph->uses[i].sizes);
        put (key, (guint64) (gsize) graph->uses[i].codec);
        for (guint role = 0; role < n_roles; role++)
          put (key, (guint64) graph->used[role * n_comms * COLLECTIVE_N_KINDS + i]);
      }
}

static void
put_messages (GByteArray *key, const BindGraph *graph, guint role)
{
  const GArray *sends = graph->sends[role], *ends = graph->ends[role];

  put (key, sends->len);
  for (guint i = 0; i < sends->len; i++)
    {
      const GraphSend *send = &g_array_index (sends, GraphSend, i);

      put (key, (guint64) send->comm << 32 | send->peer);
      put_sizes (key, send->use.sizes);
    }
  put (key, ends->len);
  for (guint i = 0; i < ends->len; i++)
    {
      const GraphEnd *end = &g_array_index (ends, GraphEnd, i);

      put (key, (guint64) end->comm << 32 | end->peer);
      put (key, end->way);
    }
}

/* What was measured on a cluster is no part of its key. */
static gboolean
is_kept (const Cluster *cluster)
{
  return cluster_key (cluster) != NULL && cluster_n_measured (cluster) == 0
         && cluster_hop_scale (cluster) == 1;
}

GBytes *
binding_store_key (const BindGraph *graph, const BoundOptions *how)
{
  GByteArray *key;

  if (!is_kept (graph->cluster))
    return NULL;
  key = g_byte_array_new ();
  put_text (key, cluster_key (graph->cluster));
  put (key, (guint64) how->unfolded | (guint64) how->times_only << 1 | (guint64) how->lockstep << 2
                | (guint64) graph->machines << 4 | (guint64) graph->host_ops << 5
                | (guint64) how->step_only << 6);
  if (how->lockstep != LOCKSTEP_NONE && how->step_only)
    put (key, lockstep_meeting (graph->schedule));
  put_library (key, &graph->options);
  put_roles (key, graph);
  put_collectives (key, graph);
  for (guint kind = 0; kind < MOVE_N; kind++)
    put (key, (guint64) graph->moves[kind]);
  for (guint role = 0; role < schedule_n_roles (graph->schedule); role++)
    put_messages (key, graph, role);
  return g_byte_array_free_to_bytes (key);
}
