/*
 * How far work has come: whoever does it counts, whoever shows it reads, each in a thread of its
 * own. A NULL count counts nothing.
 */
#pragma once

#include <glib.h>

typedef struct
{
  gint todo, done; /* pieces; todo 0: nobody knows */
} WorkCount;

static inline void
work_count_add (WorkCount *self, guint n)
{
  if (self != NULL)
    g_atomic_int_add (&self->todo, (gint) n);
}

static inline void
work_count_done (WorkCount *self)
{
  if (self != NULL)
    g_atomic_int_inc (&self->done);
}
