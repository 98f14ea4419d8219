#include "decide/sweep/sweep-keeper.h"

#include <pthread.h>
#include <string.h>

struct _SweepKeeper
{
  SweepDesk           desk; /* the first member: what workers hold */
  ResultStore        *store;
  const ResultColumn *columns;
  WorkCount          *count;
  pthread_mutex_t     lock; /* of all below, and of the store */
  guint64             next, stride, n;
  gboolean            stopped;
  GError             *error;
  SweepSummary        summary;
  guint64             own; /* runs of the store that are of its context; 0: nobody asked */
};

/* ---- the summary ----------------------------------------------------------------------------- */

static gboolean
is_better (const SweepBest *a, const SweepBest *b)
{
  return a->speed != b->speed ? a->speed > b->speed : a->point < b->point;
}

/* Keeps the best in order, a run once, under its first point. */
static void
note_best (SweepSummary *self, const char *digest, guint64 point, double speed)
{
  SweepBest one = { .point = point, .speed = speed };
  guint     at, same = 0;

  g_strlcpy (one.digest, digest, sizeof one.digest);
  while (same < self->n_best && !g_str_equal (self->best[same].digest, digest))
    same++;
  if (same < self->n_best && self->best[same].point <= point)
    return;
  if (same < self->n_best)
    memmove (&self->best[same], &self->best[same + 1], (--self->n_best - same) * sizeof one);
  for (at = self->n_best; at > 0 && is_better (&one, &self->best[at - 1]); at--)
    ;
  if (at == SWEEP_N_BEST)
    return;
  self->n_best = MIN (self->n_best + 1, SWEEP_N_BEST);
  memmove (&self->best[at + 1], &self->best[at], (self->n_best - at - 1) * sizeof one);
  self->best[at] = one;
}

static void
counted_clear (gpointer data)
{
  g_free (((CountedText *) data)->text);
}

GArray *
counted_texts_new (void)
{
  GArray *self = g_array_new (FALSE, FALSE, sizeof (CountedText));

  g_array_set_clear_func (self, counted_clear);
  return self;
}

void
counted_texts_add (GArray *self, const char *text, guint most)
{
  CountedText one = { .n = 1 };

  for (guint i = 0; i < self->len; i++)
    if (g_str_equal (g_array_index (self, CountedText, i).text, text))
      {
        g_array_index (self, CountedText, i).n++;
        return;
      }
  if (self->len == most)
    return;
  one.text = g_strdup (text);
  g_array_append_val (self, one);
}

static void
note (SweepSummary *self, const char *digest, guint64 point, const ResultBrief *brief)
{
  self->n++;
  self->failed += brief->failed;
  self->misfits += !brief->failed && !brief->fits;
  if (!brief->failed && brief->fits)
    note_best (self, digest, point, brief->speed);
}

void
sweep_summary_clear (SweepSummary *self)
{
  g_clear_pointer (&self->reasons, g_array_unref);
  g_clear_pointer (&self->warning, g_free);
}

/* ---- the desk -------------------------------------------------------------------------------- */

/* Under the lock. */
static void
stop (SweepKeeper *self, GError *error)
{
  self->stopped = TRUE;
  if (self->error == NULL)
    self->error = error;
  else
    g_clear_error (&error);
}

static gboolean
keeper_next (SweepDesk *desk, guint64 *point)
{
  SweepKeeper *self = (SweepKeeper *) desk;
  gboolean     there;

  pthread_mutex_lock (&self->lock);
  there = !self->stopped && self->next < self->n && !work_count_is_cut (self->count);
  *point = self->next;
  if (there)
    self->next += MIN (self->stride, self->n - self->next);
  pthread_mutex_unlock (&self->lock);
  return there;
}

static gboolean
keeper_wants (SweepDesk *desk, const char *digest, guint64 point)
{
  SweepKeeper *self = (SweepKeeper *) desk;
  ResultBrief  brief;
  GError      *error = NULL;
  gboolean     wants = FALSE;

  pthread_mutex_lock (&self->lock);
  if (self->stopped)
    wants = FALSE;
  else if (!result_store_find (self->store, digest, &brief, &error))
    stop (self, error);
  else if (brief.known && !(brief.fresh && point < brief.point))
    {
      note (&self->summary, digest, point, &brief);
      if (brief.fresh)
        self->summary.equal++;
      else
        self->summary.known++;
      if (self->count != NULL) /* the rate and the time left are those of runs */
        g_atomic_int_add (&self->count->todo, -1);
    }
  else
    wants = TRUE; /* also of a point before its equal, whose name the run is to have */
  pthread_mutex_unlock (&self->lock);
  return wants;
}

static void
keeper_put (SweepDesk *desk, ResultRow *row)
{
  SweepKeeper *self = (SweepKeeper *) desk;
  ResultBrief  brief = result_row_brief (row, self->columns), known = { 0 };
  GError      *error = NULL;

  pthread_mutex_lock (&self->lock);
  if (self->stopped)
    ; /* what failed once is not tried again: it may go through and leave a hole before it */
  else if (!result_store_find (self->store, row->digest, &known, &error)
           || !result_store_put (self->store, row, &error))
    stop (self, error);
  else
    {
      note (&self->summary, row->digest, row->point, &brief);
      self->summary.equal += known.known; /* its equal was made at the same time */
      if (row->failure != NULL)
        counted_texts_add (self->summary.reasons, row->failure, SWEEP_N_REASONS);
      if (row->warning != NULL && self->summary.warned++ == 0)
        self->summary.warning = g_strdup (row->warning);
      work_count_done (self->count);
    }
  pthread_mutex_unlock (&self->lock);
  result_row_free (row);
}

/* ---- the keeper ------------------------------------------------------------------------------ */

SweepKeeper *
sweep_keeper_new (ResultStore *store, const ResultColumn *columns, guint64 first, guint64 stride,
                  guint64 n, WorkCount *count)
{
  SweepKeeper *self = g_new0 (SweepKeeper, 1);

  self->desk = (SweepDesk){ keeper_next, keeper_wants, keeper_put };
  self->store = store;
  self->columns = columns;
  self->next = first;
  self->stride = stride;
  self->n = n;
  self->count = count;
  if (first < n)
    work_count_add (count, (guint) MIN ((n - first + stride - 1) / stride, G_MAXINT));
  self->summary.reasons = counted_texts_new ();
  pthread_mutex_init (&self->lock, NULL);
  return self;
}

void
sweep_keeper_free (SweepKeeper *self)
{
  if (self == NULL)
    return;
  sweep_summary_clear (&self->summary);
  g_clear_error (&self->error);
  pthread_mutex_destroy (&self->lock);
  g_free (self);
}

SweepDesk *
sweep_keeper_desk (SweepKeeper *self)
{
  return &self->desk;
}

gboolean
sweep_keeper_left (SweepKeeper *self, guint64 *point)
{
  const guint64 seen = self->summary.n - self->summary.equal;

  if (self->own == 0 && !result_store_count (self->store, FALSE, &self->own, NULL))
    return FALSE;
  *point = self->next;
  if (self->stopped || seen >= self->own || self->next >= self->n)
    return FALSE;
  self->next += MIN (self->stride, self->n - self->next);
  return TRUE;
}

gboolean
sweep_keeper_finish (SweepKeeper *self, SweepSummary *summary, GError **error)
{
  *summary = self->summary;
  self->summary.reasons = NULL;
  self->summary.warning = NULL;
  if (self->error == NULL && !result_store_count (self->store, TRUE, &summary->others, error))
    return FALSE;
  if (self->error == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&self->error));
  return FALSE;
}
