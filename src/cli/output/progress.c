#include "cli/output/progress.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define DELAY_VARIABLE "SHARDSIM_PROGRESS_DELAY" /* seconds; shorter work shows nothing */
#define DELAY_MS       500
#define LONGEST_MS     (3600 * 1000)
#define EVERY_MS       200
#define NOTE_VARIABLE  "SHARDSIM_PROGRESS_NOTE" /* seconds, where nobody sees a line */
#define NOTE_MS        (90 * 1000)
#define LONG_IDLE_S    3.0 /* pieces that last longer, and ... */
#define LONG_IDLE      4 /* ... so many times as long as the others, say nothing of what is left */
#define WIPE           "\r\033[K"

struct _Progress
{
  const char     *work, *unit;
  WorkCount       count;
  ProgressView    seen;
  gint64          begin, step, changed; /* us: of the work, of its step, of the last piece's end */
  gboolean        on_terminal;
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

/*
 * Of the rate that was measured up to the last piece; none, as of pieces that are under way nothing
 * is known, where these last much longer.
 */
static void
append_left (const ProgressView *self, GString *out)
{
  const double     before = self->seconds - self->idle_s; /* until the last piece ended */
  const double     each = before / self->done;
  const double     left = each * (self->todo - self->done) - self->idle_s;
  g_autofree char *text = NULL;

  if (self->idle_s > MAX (LONG_IDLE_S, LONG_IDLE * each))
    {
      text = span_text (self->idle_s);
      g_string_append_printf (out, ", none ended for %s", text);
      return;
    }
  text = span_text (MAX (left, 1));
  g_string_append_printf (out, ", %s left", text);
}

char *
progress_text (const ProgressView *self)
{
  GString         *out = g_string_new (self->work);
  g_autofree char *spent = span_text (self->seconds), *rate = NULL;

  g_string_append_printf (out, ": %s%s", self->step != NULL ? self->step : "",
                          self->step != NULL ? ", " : "");
  if (self->todo == 0 && self->done == 0)
    g_string_append (out, spent);
  else if (self->more || self->todo == 0)
    g_string_append_printf (out, "%u so far, %s", self->done, spent);
  else
    {
      g_string_append_printf (out, "%u of %u", self->done, self->todo);
      if (self->step == NULL)
        g_string_append_printf (out, " %s", self->unit);
      if (self->done > 0 && self->done < self->todo && self->seconds > self->idle_s)
        {
          rate = rate_text (self->done / (self->seconds - self->idle_s));
          g_string_append_printf (out, ", %s", rate);
          append_left (self, out);
        }
      else
        g_string_append_printf (out, ", %s", spent);
    }
  if (self->best != NULL)
    g_string_append_printf (out, "; best: %s", self->best);
  return g_string_free (out, FALSE);
}

/* ---- the line -------------------------------------------------------------------------------- */

/* What there is to say now. */
static void
look (Progress *self)
{
  const Partial now = work_count_partial (&self->count);
  ProgressView *seen = &self->seen;
  const gint64  time = g_get_monotonic_time ();

  if (now.step != seen->step)
    self->step = self->changed = time;
  if (now.done != seen->done)
    self->changed = time;
  *seen = (ProgressView){ .work = self->work,
                          .unit = self->unit,
                          .step = now.step,
                          .done = now.done,
                          .todo = now.todo,
                          .more = now.more,
                          .best = g_atomic_pointer_get (&self->count.best),
                          .seconds = (double) (time - (now.more ? self->begin : self->step))
                                     / G_USEC_PER_SEC,
                          .idle_s = (double) (time - self->changed) / G_USEC_PER_SEC };
}

static void
draw (Progress *self)
{
  g_autofree char *text = NULL;

  look (self);
  text = progress_text (&self->seen);
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

/* What is no number of seconds counts as unset. */
static guint
wanted_ms (const char *variable, guint usual)
{
  const char *text = g_getenv (variable);
  char       *end = NULL;
  double      ms = text == NULL ? -1 : g_ascii_strtod (text, &end) * 1000;

  if (text == NULL || end == text || *end != '\0' || !(ms >= 0))
    return usual;
  return (guint) MIN (ms, LONGEST_MS);
}

static void
show_line (Progress *self)
{
  const guint delay = wanted_ms (DELAY_VARIABLE, DELAY_MS);

  if (delay > 0 && wait_for_end (self, delay))
    return;
  do
    draw (self);
  while (!wait_for_end (self, EVERY_MS));
  draw (self);
  fputs (WIPE, stderr);
}

/* Who has no terminal hears once that the work is long, and what it is at. */
static void
say_note (Progress *self)
{
  const guint      wait = wanted_ms (NOTE_VARIABLE, NOTE_MS);
  g_autofree char *text = NULL;

  for (guint waited = 0; waited < wait; waited += EVERY_MS)
    {
      look (self);
      if (wait_for_end (self, MIN (EVERY_MS, wait - waited)))
        return;
    }
  look (self);
  text = progress_text (&self->seen);
  fprintf (stderr, "shardsim: %s%s\n", text,
           self->count.stop != NULL ? "; an interrupt ends it with what it has" : "");
}

static void *
show (void *data)
{
  Progress *self = data;

  pthread_mutex_lock (&self->lock);
  if (self->on_terminal)
    show_line (self);
  else
    say_note (self);
  pthread_mutex_unlock (&self->lock);
  return NULL;
}

Progress *
progress_start (const char *work, const char *unit, Stop *stop)
{
  Progress          *self = g_new0 (Progress, 1);
  pthread_condattr_t clock;

  self->work = work;
  self->unit = unit;
  self->count.stop = stop;
  self->begin = self->step = self->changed = g_get_monotonic_time ();
  pthread_mutex_init (&self->lock, NULL);
  pthread_condattr_init (&clock);
  pthread_condattr_setclock (&clock, CLOCK_MONOTONIC);
  pthread_cond_init (&self->end, &clock);
  pthread_condattr_destroy (&clock);
  self->on_terminal = isatty (STDERR_FILENO) && g_strcmp0 (g_getenv ("TERM"), "dumb") != 0;
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
