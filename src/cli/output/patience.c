#include "cli/output/patience.h"

#include "base/file/temporary.h"

#define AFTER_SIGNAL 128 /* as shells say it */

struct _Patience
{
  Stop    stop;
  Partial partial;
  char   *step; /* of PARTIAL, named with its work; or NULL */
};

Patience *
patience_new (double seconds)
{
  Patience *self = g_new0 (Patience, 1);

  stop_after (&self->stop, seconds);
  return self;
}

void
patience_free (Patience *self)
{
  patience_close (self);
  if (self != NULL)
    g_free (self->step);
  g_free (self);
}

Stop *
patience_stop (const Patience *self)
{
  return self != NULL ? (Stop *) &self->stop : NULL;
}

void
patience_open (Patience *self)
{
  if (self != NULL)
    temporary_set_stop (&self->stop);
}

Progress *
patience_begin (Patience *self, const char *work, const char *unit)
{
  patience_open (self);
  return progress_start (work, unit, patience_stop (self));
}

void
patience_end (Patience *self, Progress *progress)
{
  if (self != NULL && self->partial.reason == NULL)
    self->partial = work_count_partial (progress_count (progress));
  progress_end (progress);
}

void
patience_name (Patience *self, const char *work)
{
  if (self == NULL || self->partial.reason == NULL || self->step != NULL)
    return;
  self->step = self->partial.step != NULL ? g_strdup_printf ("%s: %s", work, self->partial.step)
                                          : g_strdup (work);
  self->partial.step = self->step;
}

void
patience_count (Patience *self, guint64 done, guint64 todo)
{
  self->partial.done = (guint) MIN (done, G_MAXUINT);
  self->partial.todo = (guint) MIN (todo, G_MAXUINT);
}

void
patience_close (Patience *self)
{
  if (self != NULL)
    temporary_set_stop (NULL);
}

const Partial *
patience_partial (const Patience *self)
{
  static const Partial whole = { 0 };

  return self != NULL ? &self->partial : &whole;
}

ExitStatus
patience_status (const Patience *self, ExitStatus status)
{
  const int number = self != NULL ? g_atomic_int_get (&self->stop.signal) : 0;

  return number > 0 ? (ExitStatus) (AFTER_SIGNAL + number) : status;
}
