/*
 * How far work has come: whoever does it counts, whoever shows it reads, each in a thread of its
 * own. A NULL count counts nothing, and never ends.
 */
#pragma once

#include "base/stop.h"

typedef struct
{
  gint        todo, done; /* pieces of the step; todo 0: nobody knows */
  gint        more;       /* pieces will be added: TODO are those known by now */
  const char *step;       /* static: "screening structures"; NULL: there is but one */
  const char *best;       /* interned: "6.42 s a step"; NULL: nothing was found, or is looked for */
  Stop       *stop;       /* when no further piece is begun; NULL: never. Set before the work */
} WorkCount;

/*
 * From now on pieces of STEP are counted, DONE of which are. MORE: nobody knows of how many. Where
 * the work ends early, what it was at stays.
 */
static inline void
work_count_step (WorkCount *self, const char *step, gboolean more, guint done)
{
  if (self == NULL || stop_is_due (self->stop))
    return;
  g_atomic_int_set (&self->done, (gint) done);
  g_atomic_int_set (&self->todo, 0);
  g_atomic_int_set (&self->more, more);
  g_atomic_pointer_set (&self->step, step);
}

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

/* BEST, interned, is the best that was found so far. */
static inline void
work_count_best (WorkCount *self, const char *best)
{
  if (self != NULL)
    g_atomic_pointer_set (&self->best, best);
}

/* Asked by who leaves the rest of the pieces out when it is. */
static inline gboolean
work_count_is_cut (WorkCount *self)
{
  return self != NULL && stop_cuts (self->stop);
}

/* What was done; its reason is NULL where nothing was left out. */
static inline Partial
work_count_partial (WorkCount *self)
{
  return (Partial){ .reason = stop_reason (self->stop),
                    .step = g_atomic_pointer_get (&self->step),
                    .done = (guint) g_atomic_int_get (&self->done),
                    .todo = (guint) g_atomic_int_get (&self->todo),
                    .more = g_atomic_int_get (&self->more) };
}
