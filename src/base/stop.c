#include "base/stop.h"

#include <signal.h>

void
stop_after (Stop *self, double seconds)
{
  const double us = seconds * G_USEC_PER_SEC, most = (double) G_MAXINT64 / 2;

  self->deadline = seconds > 0 ? g_get_monotonic_time () + (gint64) CLAMP (us, 1, most) : 0;
}

gboolean
stop_by_signal (Stop *self, int number)
{
  return g_atomic_int_compare_and_exchange (&self->signal, 0, number);
}

gboolean
stop_is_due (const Stop *self)
{
  if (self == NULL)
    return FALSE;
  return g_atomic_int_get (&self->signal) != 0
         || (self->most_asked > 0 && g_atomic_int_get (&self->asked) >= self->most_asked)
         || (self->deadline > 0 && g_get_monotonic_time () >= self->deadline);
}

gboolean
stop_cuts (Stop *self)
{
  gboolean due;

  if (self != NULL && self->most_asked > 0)
    g_atomic_int_inc (&self->asked);
  due = stop_is_due (self);
  if (due)
    g_atomic_int_set (&self->cut, 1);
  return due;
}

const char *
stop_reason (const Stop *self)
{
  if (self == NULL || !g_atomic_int_get (&self->cut))
    return NULL;
  switch (g_atomic_int_get (&self->signal))
    {
    case 0:
      return "time limit";
    case SIGINT:
      return "SIGINT";
    default:
      return "SIGTERM";
    }
}

char *
partial_text (const Partial *self)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "ended by %s%s",
                          g_str_has_prefix (self->reason, "SIG") ? "" : "the ", self->reason);
  if (self->step != NULL)
    g_string_append_printf (text, " while %s", self->step);
  if (self->todo > 0 && !self->more)
    g_string_append_printf (text, "%s after %u of %u", self->step != NULL ? "," : "", self->done,
                            self->todo);
  else if (self->done > 0)
    g_string_append_printf (text, "%s after %u", self->step != NULL ? "," : "", self->done);
  return g_string_free (text, FALSE);
}
