#include "cli/progress.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define DELAY_VARIABLE "SHARDSIM_PROGRESS_DELAY" /* seconds; shorter work shows nothing */
#define DELAY_MS       500
#define LONGEST_MS     (3600 * 1000)
#define EVERY_MS       200
#define WIPE           "\r\033[K"

struct _Progress
{
  const char     *work, *unit;
  WorkCount       count;
  gint64          begin; /* us */
  guint           delay_ms;
  gboolean        running, ended;
  pthread_t       thread;
  pthread_mutex_t lock; /* of `ended` */
  pthread_cond_t  end;
};

/* ---- text ------------------------------------------------------------------------------------ */

static char *
span_text (double seconds)
{
  const guint64 s = (guint64) (seconds + 0.5);

  if (s < 60)
    return g_strdup_printf ("%u s", (guint) s);
  if (s < 3600)
    return g_strdup_printf ("%u min %u s", (guint) s / 60, (guint) s % 60);
  return g_strdup_printf ("%" G_GUINT64_FORMAT " h %u min", s / 3600, (guint) (s % 3600) / 60);
}

static char *
rate_text (double per_second)
{
  if (per_second >= 10)
    return g_strdup_printf ("%.0f/s", per_second);
  return per_second >= 0.1 ? g_strdup_printf ("%.1f/s", per_second)
                           : g_strdup_printf ("%.1f/min", per_second * 60);
}

char *
progress_text (const char *work, const char *unit, guint done, guint todo, double seconds)
{
  g_autofree char *spent = span_text (seconds), *rate = NULL, *left = NULL;

  if (todo == 0)
    return g_strdup_printf ("%s: %s", work, spent);
  if (done == 0)
    return g_strdup_printf ("%s: 0 of %u %s, %s", work, todo, unit, spent);
  rate = rate_text (done / seconds);
  left = span_text (seconds / done * (todo - MIN (done, todo)));
  return g_strdup_printf ("%s: %u of %u %s, %s, %s left", work, done, todo, unit, rate, left);
}

/* ---- the line -------------------------------------------------------------------------------- */

static void
draw (Progress *self)
{
  g_autofree char *text =
      progress_text (self->work, self->unit, (guint) g_atomic_int_get (&self->count.done),
                     (guint) g_atomic_int_get (&self->count.todo),
                     (double) (g_get_monotonic_time () - self->begin) / G_USEC_PER_SEC);

  fprintf (stderr, WIPE "%s", text);
  fflush (stderr);
}

/* TRUE when the work has ended meanwhile. Under the lock. */
static gboolean
wait_for_end (Progress *self, guint ms)
{
  struct timespec until;

  clock_gettime (CLOCK_MONOTONIC, &until);
  until.tv_nsec += (long) ms * 1000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  while (!self->ended && pthread_cond_timedwait (&self->end, &self->lock, &until) == 0)
    continue;
  return self->ended;
}

static void *
show (void *data)
{
  Progress *self = data;

  pthread_mutex_lock (&self->lock);
  if (self->delay_ms == 0 || !wait_for_end (self, self->delay_ms))
    {
      do
        draw (self);
      while (!wait_for_end (self, EVERY_MS));
      draw (self);
      fputs (WIPE, stderr);
    }
  pthread_mutex_unlock (&self->lock);
  return NULL;
}

/* What is no number of seconds counts as unset. */
static guint
wanted_delay (void)
{
  const char *text = g_getenv (DELAY_VARIABLE);
  char       *end = NULL;
  double      ms = text == NULL ? -1 : g_ascii_strtod (text, &end) * 1000;

  if (text == NULL || end == text || *end != '\0' || !(ms >= 0))
    return DELAY_MS;
  return (guint) MIN (ms, LONGEST_MS);
}

Progress *
progress_start (const char *work, const char *unit)
{
  Progress          *self = g_new0 (Progress, 1);
  pthread_condattr_t clock;

  self->work = work;
  self->unit = unit;
  self->begin = g_get_monotonic_time ();
  self->delay_ms = wanted_delay ();
  pthread_mutex_init (&self->lock, NULL);
  pthread_condattr_init (&clock);
  pthread_condattr_setclock (&clock, CLOCK_MONOTONIC);
  pthread_cond_init (&self->end, &clock);
  pthread_condattr_destroy (&clock);
  if (isatty (STDERR_FILENO) && g_strcmp0 (g_getenv ("TERM"), "dumb") != 0)
    self->running = pthread_create (&self->thread, NULL, show, self) == 0;
  return self;
}

WorkCount *
progress_count (Progress *self)
{
  return &self->count;
}

void
progress_end (Progress *self)
{
  pthread_mutex_lock (&self->lock);
  self->ended = TRUE;
  pthread_cond_signal (&self->end);
  pthread_mutex_unlock (&self->lock);
  if (self->running)
    pthread_join (self->thread, NULL);
  pthread_mutex_destroy (&self->lock);
  pthread_cond_destroy (&self->end);
  g_free (self);
}
