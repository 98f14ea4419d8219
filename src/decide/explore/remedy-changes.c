/* Which changes there are, and what memory they take: by their closed forms, then by plans. */
#include <string.h>

#include "base/parallel.h"
#include "decide/explore/remedies-private.h"

#define BOUNDS_AT_ONCE 8    /* whatever the number of threads: the budget is looked at in between */
#define BOUND_ITEMS    3000 /* what a closed form takes, in items of a plan */

typedef struct
{
  RemedySearch *search;
  guint         first; /* change */
} Batch;

static void
plan_change (const RemedySearch *self, Change *change)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Scenario) scenario = change_scenario (change, self->scenario, self->strategies);

  change->excess = scenario_planned_excess (scenario, self->options, &change->n_items, diags);
  change->bounded = FALSE;
}

/*
 * By its closed form, which takes a tenth of what a plan takes. Of a single lever all that may fit
 * are simulated, so that all of them are planned.
 */
static void
bound_change (guint i, gpointer user)
{
  const Batch         *batch = user;
  const RemedySearch  *self = batch->search;
  Change              *change = remedy_change_at (self, batch->first + i);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Scenario) scenario = NULL;

  scenario = change_scenario (change, self->scenario, self->strategies);
  if (scenario == NULL)
    return;
  change->excess = scenario_least_excess (scenario, self->options, diags);
  change->bounded = change->excess != BYTES_UNKNOWN;
  if (change->excess == G_MININT64 || (change->n == 1 && change->excess <= 0))
    plan_change (self, change);
}

/* Whether there is a change of the same moves. */
static gboolean
is_known (const RemedySearch *self, const Change *wanted)
{
  for (guint i = 0; i < self->changes->len; i++)
    if (remedy_change_at (self, i)->n == wanted->n
        && memcmp (remedy_change_at (self, i)->moves, wanted->moves,
                   wanted->n * sizeof wanted->moves[0])
               == 0)
      return TRUE;
  return FALSE;
}

gboolean
remedy_expand (RemedySearch *self, const Change *base)
{
  for (guint m = 0; m < self->moves->len; m++)
    {
      const Move *move = &g_array_index (self->moves, Move, m);
      Change      change = *base;

      if (change_has_lever (base, move->lever)
          || (move->needs != NULL && !change_sets (base, move->needs)))
        continue;
      change_add (&change, move);
      change.excess = BYTES_UNKNOWN;
      change.n_items = 0;
      change.bounded = FALSE;
      change.chosen = FALSE;
      change.prediction = NULL;
      if (is_known (self, &change))
        continue;
      if (self->changes->len >= self->budget.max_planned)
        {
          self->result->cut = TRUE;
          return FALSE;
        }
      g_array_append_val (self->changes, change);
    }
  return TRUE;
}

guint
remedy_pick_beam (const RemedySearch *self, guint n, Change best[REMEDY_BEAM])
{
  guint n_best = 0;

  for (; n_best < REMEDY_BEAM; n_best++)
    {
      const Change *least = NULL;

      for (guint i = 0; i < self->changes->len; i++)
        {
          const Change *change = remedy_change_at (self, i);
          gboolean taken = change->n != n || change->excess <= 0 || change->excess == BYTES_UNKNOWN;

          for (guint b = 0; b < n_best && !taken; b++)
            taken = change_has_levers_of (change, &best[b]);
          if (!taken && (least == NULL || change->excess < least->excess))
            least = change;
        }
      if (least == NULL)
        break;
      best[n_best] = *least;
    }
  return n_best;
}

/* Whether there is room in the budget for a plan. */
static gboolean
may_plan (const RemedySearch *self)
{
  return self->planned_items < self->budget.max_planned_items && !remedy_is_over (self);
}

void
remedy_bound_from (RemedySearch *self, guint first)
{
  while (first < self->changes->len && may_plan (self))
    {
      Batch batch = { .search = self, .first = first };
      guint end = MIN (first + BOUNDS_AT_ONCE, self->changes->len);

      parallel_run (end - first, self->budget.n_threads, bound_change, &batch,
                    self->options->count);
      for (; first < end; first++)
        self->planned_items += BOUND_ITEMS + remedy_change_at (self, first)->n_items;
    }
  self->result->cut |= first < self->changes->len;
  g_array_set_size (self->changes, first);
  self->result->n_planned = first;
}

/*
 * The fullest change of LIKE's levers that is not chosen and takes no more than LIMIT beyond what
 * there is: of the planned ones, or of those BOUNDED. NULL: none.
 */
static Change *
fullest_of (const RemedySearch *self, const Change *like, gint64 limit, gboolean bounded)
{
  Change *best = NULL;

  for (guint i = 0; i < self->changes->len; i++)
    {
      Change *change = remedy_change_at (self, i);

      if (change->bounded == bounded && change->excess <= limit && !change->chosen
          && change_has_levers_of (change, like) && (best == NULL || change->excess > best->excess))
        best = change;
    }
  return best;
}

/*
 * Planned for it are those that may be the fullest, were they to take as much more than their
 * closed form says as any has.
 */
Change *
remedy_fullest (RemedySearch *self, const Change *like, gint64 limit)
{
  for (;;)
    {
      Change *best = fullest_of (self, like, limit, FALSE);
      Change *next = fullest_of (self, like, limit, TRUE);
      gint64  least;

      if (next == NULL || (best != NULL && next->excess + self->unbounded <= best->excess))
        return best;
      if (!may_plan (self))
        {
          self->result->cut = TRUE;
          return best;
        }
      least = next->excess;
      plan_change (self, next);
      self->planned_items += next->n_items;
      if (next->excess != BYTES_UNKNOWN)
        self->unbounded = MAX (self->unbounded, next->excess - least);
    }
}
