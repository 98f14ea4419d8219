#include "cli/web/work.h"

struct _WebWork
{
  GThreadPool *pools[2]; /* predictions, and what searches */
  GHashTable  *calls;    /* WebCall: begun, and not answered */
};

struct _WebCall
{
  WebWork        *work;
  const Endpoint *endpoint;
  ShardsimStop   *stop;
  char           *request, *result;
  WebAnswer       answer;
  gint            dropped; /* nobody wants it any more */
  gpointer        user;
  guint           timer; /* 0: over */
};

static void
call_free (WebCall *self)
{
  if (self->timer > 0)
    g_source_remove (self->timer);
  shardsim_stop_free (self->stop);
  g_free (self->request);
  shardsim_free (self->result);
  g_free (self);
}

/* In the main loop. */
static gboolean
deliver (gpointer data)
{
  WebCall *call = data;

  g_hash_table_remove (call->work->calls, call);
  if (!call->dropped)
    call->answer (g_steal_pointer (&call->result), call->user);
  call_free (call);
  return G_SOURCE_REMOVE;
}

/* In a thread of the pool. */
static void
run (gpointer data, G_GNUC_UNUSED gpointer user)
{
  WebCall *call = data;

  if (!g_atomic_int_get (&call->dropped)) /* it may have waited longer than who asked */
    call->result = call->endpoint->call (call->request, call->stop);
  g_idle_add (deliver, call);
}

static gboolean
time_is_over (gpointer data)
{
  WebCall *call = data;

  call->timer = 0;
  shardsim_stop_now (call->stop);
  return G_SOURCE_REMOVE;
}

WebWork *
web_work_new (guint n_threads)
{
  WebWork *self = g_new0 (WebWork, 1);

  for (guint i = 0; i < G_N_ELEMENTS (self->pools); i++)
    self->pools[i] = g_thread_pool_new (run, self, (gint) n_threads, FALSE, NULL);
  self->calls = g_hash_table_new (NULL, NULL);
  return self;
}

void
web_work_free (WebWork *self)
{
  GHashTableIter iter;
  gpointer       call;

  g_hash_table_iter_init (&iter, self->calls);
  while (g_hash_table_iter_next (&iter, &call, NULL))
    web_work_drop (call);
  for (guint i = 0; i < G_N_ELEMENTS (self->pools); i++)
    g_thread_pool_free (self->pools[i], FALSE, TRUE);
  while (g_hash_table_size (self->calls) > 0)
    g_main_context_iteration (NULL, TRUE);
  g_hash_table_unref (self->calls);
  g_free (self);
}

WebCall *
web_work_begin (WebWork *self, const Endpoint *endpoint, char *request, WebAnswer answer,
                gpointer user)
{
  GThreadPool *pool = self->pools[endpoint_searches (endpoint)];
  WebCall     *call;

  if (g_thread_pool_unprocessed (pool) >= WEB_WORK_MOST)
    {
      g_free (request);
      return NULL;
    }
  call = g_new0 (WebCall, 1);
  *call = (WebCall){ .work = self,
                     .endpoint = endpoint,
                     .stop = shardsim_stop_new (),
                     .request = request,
                     .answer = answer,
                     .user = user };
  call->timer = g_timeout_add_seconds (endpoint->seconds, time_is_over, call);
  g_hash_table_add (self->calls, call);
  g_thread_pool_push (pool, call, NULL);
  return call;
}

void
web_work_drop (WebCall *call)
{
  g_atomic_int_set (&call->dropped, TRUE);
  shardsim_stop_now (call->stop);
}

void
web_work_stop (WebCall *call)
{
  shardsim_stop_now (call->stop);
}

char *
web_work_progress (WebCall *call)
{
  return shardsim_progress (call->stop);
}
