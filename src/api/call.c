#include "api/call-private.h"

#include <math.h>
#include <signal.h>

#include "report/document/progress.h"

#define MOST_FOUND 5
#define GIB        1073741824.0

static void
found_clear (gpointer data)
{
  ProgressFound *self = data;

  g_free (self->label);
  g_free (self->options);
}

ShardsimStop *
shardsim_stop_new (void)
{
  ShardsimStop *self = g_new0 (ShardsimStop, 1);

  self->count.stop = &self->stop;
  self->found = g_array_new (FALSE, FALSE, sizeof (ProgressFound));
  g_array_set_clear_func (self->found, found_clear);
  pthread_mutex_init (&self->lock, NULL);
  return self;
}

void
shardsim_stop_now (ShardsimStop *stop)
{
  stop_by_signal (&stop->stop, SIGINT);
}

void
shardsim_stop_free (ShardsimStop *stop)
{
  if (stop == NULL)
    return;
  g_array_unref (stop->found);
  pthread_mutex_destroy (&stop->lock);
  g_free (stop->work);
  g_free (stop);
}

/* ---- what the call says ---------------------------------------------------------------------- */

void
call_begin (ShardsimStop *self)
{
  pthread_mutex_lock (&self->lock);
  self->begin = g_get_monotonic_time ();
  pthread_mutex_unlock (&self->lock);
}

void
call_begin_search (ShardsimStop *self, const char *work)
{
  pthread_mutex_lock (&self->lock);
  g_free (self->work);
  self->work = g_strdup (work);
  g_array_set_size (self->found, 0);
  pthread_mutex_unlock (&self->lock);
}

/* The first of SELF that is worse than SCORE. */
static guint
place_of (const GArray *self, double score)
{
  guint at = 0;

  while (at < self->len && g_array_index (self, ProgressFound, at).score <= score)
    at++;
  return at;
}

void
call_tell_found (const SearchFound *found, gpointer user)
{
  ShardsimStop     *self = user;
  const Prediction *p = found->prediction;
  ProgressFound     one = { .score = found->score,
                            .step_s = p->step_time_s,
                            .tokens_per_s_per_gpu = p->tokens_per_s_per_gpu,
                            .peak_gib = (double) p->hbm.device / GIB };
  guint             at;

  pthread_mutex_lock (&self->lock);
  at = place_of (self->found, one.score);
  if (at < MOST_FOUND)
    {
      one.label = g_strdup (found->label);
      one.options = g_strdup (found->options);
      if (self->found->len == MOST_FOUND)
        g_array_set_size (self->found, MOST_FOUND - 1);
      g_array_insert_val (self->found, at, one);
    }
  pthread_mutex_unlock (&self->lock);
}

/* ---- what others hear ------------------------------------------------------------------------ */

char *
shardsim_progress (ShardsimStop *stop)
{
  GString       *out = g_string_new (NULL);
  ProgressReport report = { .count = work_count_partial (&stop->count),
                            .best = g_atomic_pointer_get (&stop->count.best) };

  pthread_mutex_lock (&stop->lock);
  report.seconds = stop->begin > 0
                       ? (double) (g_get_monotonic_time () - stop->begin) / G_USEC_PER_SEC
                       : (double) NAN;
  report.work = stop->work;
  report.found = stop->found;
  report_progress_json (&report, out);
  pthread_mutex_unlock (&stop->lock);
  return g_string_free (out, FALSE);
}
