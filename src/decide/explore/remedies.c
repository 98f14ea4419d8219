#include "decide/explore/remedies.h"

#include <math.h>

#include "decide/explore/remedies-private.h"
#include "predict/batch.h"
#include "predict/variation.h"

#define A_SET \
  2 /* simulations of one set of levers at a time; of a single one all that are planned to fit */
#define WORTH_MORE     0.99 /* of a remedy's time: what takes longer adds changes for nothing */
#define SAME_BATCH     1e-9
#define RUNS_AT_ONCE   4 /* simulations, whatever the number of threads; */
#define FEWEST_AT_ONCE 2 /* so many at the end of the budget, */
#define MOST_OF_ONE    4 /* of which each may take so small a part of the budget, */
#define ONE_OF_GIVEN   3 /* or as much as so many of the scenario itself */
#define SHARES         4 /* of the budget: half is for one lever, a quarter for two */
/*
 * A core plans an item in 0.2 us and simulates an event in 0.3 to 0.85 us (of 64 GPUs with experts
 * the most), so three items are charged as an event. What takes no time itself is answered after
 * some second of a core: 0.6 of closed forms and plans, 0.4 to 1.2 of simulations; what takes long
 * after four times as long as it took.
 */
#define ITEMS_AN_EVENT  3
#define LEAST_ITEMS     3000000
#define LEAST_EVENTS    2500000
#define EVENTS_OF_GIVEN 4 /* plans included */

const RemedyBudget remedy_default_budget = { .max_planned = 400,
                                             .max_simulated = 40,
                                             .max_planned_items = LEAST_ITEMS,
                                             .max_events = LEAST_EVENTS,
                                             .max_events_of_one = LEAST_EVENTS / MOST_OF_ONE,
                                             .n_threads = 1 };

RemedyBudget
remedy_budget_after (guint64 n_events)
{
  RemedyBudget budget = remedy_default_budget;

  if (EVENTS_OF_GIVEN * n_events > LEAST_EVENTS + LEAST_ITEMS / ITEMS_AN_EVENT)
    budget.max_events = EVENTS_OF_GIVEN * n_events - LEAST_ITEMS / ITEMS_AN_EVENT;
  budget.max_events_of_one = MAX (budget.max_events / MOST_OF_ONE, ONE_OF_GIVEN * n_events);
  return budget;
}

static void
change_clear (gpointer data)
{
  prediction_free (((Change *) data)->prediction);
}

/* ---- simulating ------------------------------------------------------------------------------ */

typedef struct
{
  RemedySearch *search;
  guint        *indices; /* of changes */
} Batch;

/* Of the tier that is over its capacity by most, or nearest to it. */
static gint64
simulated_excess (const Prediction *prediction)
{
  const MemoryUse *hbm = &prediction->hbm, *host = &prediction->host;

  return MAX ((gint64) (hbm->device - hbm->capacity), (gint64) (host->device - host->capacity));
}

static gboolean
is_remedy (const RemedySearch *self, const Change *change)
{
  const Prediction *p = change->prediction;

  return p != NULL && p->fits && prediction_trains_alike (self->prediction, p)
         && fabs (p->tokens_per_step / self->prediction->tokens_per_step - 1) <= SAME_BATCH;
}

static guint
n_remedies (const RemedySearch *self)
{
  guint n = 0;

  for (guint i = 0; i < self->changes->len; i++)
    n += is_remedy (self, remedy_change_at (self, i));
  return n;
}

static Scenario *
build_change (gpointer user, guint i, DiagList *diags)
{
  const Batch        *batch = user;
  const RemedySearch *self = batch->search;

  (void) diags; /* what cannot be is no remedy, whatever the reason */
  return change_scenario (remedy_change_at (self, batch->indices[i]), self->scenario,
                          self->strategies);
}

static void
read_change (gpointer user, guint i, Predicted *one)
{
  const Batch        *batch = user;
  const RemedySearch *self = batch->search;
  Change             *change = remedy_change_at (self, batch->indices[i]);

  change->prediction = g_steal_pointer (&one->prediction);
  change->n_events = one->n_events + change->n_items / ITEMS_AN_EVENT; /* it is planned once more */
  change->ended = g_error_matches (one->error, ENGINE_ERROR, ENGINE_ERROR_OVER);
  change->excess =
      change->prediction != NULL ? simulated_excess (change->prediction) : BYTES_UNKNOWN;
  if (is_remedy (self, change))
    change->step_time_s = change->prediction->step_time_s;
}

/* Simulates the N changes of INDICES. */
static void
simulate_changes (RemedySearch *self, guint *indices, guint n)
{
  Batch                    jobs = { .search = self, .indices = indices };
  PredictOptions           options = predict_what_if (self->options);
  g_auto (PredictionBatch) batch = { .n = n,
                                     .n_threads = self->budget.n_threads,
                                     .options = &options,
                                     .most_events = MAX (self->budget.max_events_of_one, 1),
                                     .build = build_change,
                                     .read = read_change,
                                     .user = &jobs };

  options.times_only = TRUE;
  prediction_batch_run (&batch);
}

/* Whether some of the moves of CHANGE, a remedy, are one that takes hardly longer, or less. */
static gboolean
is_excelled (const RemedySearch *self, const Change *change)
{
  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *part = remedy_change_at (self, i);

      if (part->step_time_s > 0 && change_is_part (part, change)
          && part->step_time_s * WORTH_MORE <= change->step_time_s)
        return TRUE;
    }
  return FALSE;
}

/* Whether a change of LIKE's levers, more than one, is a remedy. */
static gboolean
is_solved (const RemedySearch *self, const Change *like)
{
  for (guint i = 0; i < self->changes->len && like->n > 1; i++)
    if (is_remedy (self, remedy_change_at (self, i))
        && change_has_levers_of (remedy_change_at (self, i), like))
      return TRUE;
  return FALSE;
}

/* Changes of INDICES with LIKE's levers. */
static guint
n_chosen_of (const RemedySearch *self, const GArray *indices, const Change *like)
{
  guint n = 0;

  for (guint i = 0; i < indices->len; i++)
    n += change_has_levers_of (remedy_change_at (self, g_array_index (indices, guint, i)), like);
  return n;
}

/* What is left of the events that changes of N moves may take. */
static guint64
events_left (const RemedySearch *self, guint n)
{
  const guint64 share = self->budget.max_events / SHARES * MIN (n + 1, SHARES);

  return share - MIN (self->n_events, share);
}

static gboolean
is_spent (const RemedySearch *self, guint n)
{
  return self->result->n_simulated >= self->budget.max_simulated || events_left (self, n) == 0;
}

/* How many simulations of LEFT changes of N moves may begin, were each to take the most it may. */
static guint
n_at_once (const RemedySearch *self, guint n, guint left)
{
  const guint64 room = events_left (self, n) / MAX (self->budget.max_events_of_one, 1);
  const guint   more = self->budget.max_simulated - self->result->n_simulated;

  return MIN (MIN (left, more), (guint) CLAMP (room, FEWEST_AT_ONCE, RUNS_AT_ONCE));
}

/* Adds to INDICES the fullest change within LIMIT of every set of N levers that has RANK there. */
static gboolean
pick_one_each (RemedySearch *self, guint n, gint64 limit, guint rank, GArray *indices)
{
  const guint before = indices->len;

  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *change = remedy_change_at (self, i);
      Change       *next;
      guint         index;

      if (change->n != n || change->excess > limit || is_solved (self, change)
          || n_chosen_of (self, indices, change) > rank)
        continue;
      next = remedy_fullest (self, change, limit);
      if (next == NULL)
        continue;
      next->chosen = TRUE;
      index = (guint) (next - remedy_change_at (self, 0));
      g_array_append_val (indices, index);
    }
  return indices->len > before;
}

/*
 * The fullest changes of N moves that are planned to fit, one of each set of levers first: of a
 * single lever all, of a set at most A_SET, and none where it has a remedy. What has room for all
 * that the plan of the scenario does not know is before what has not. Newly allocated array of
 * their indices.
 */
static GArray *
pick_fullest (RemedySearch *self, guint n)
{
  const gint64 limits[] = { -self->unplanned, 0 };
  const guint  most = n == 1 ? G_MAXUINT : A_SET;
  GArray      *indices = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < G_N_ELEMENTS (limits); i++)
    for (guint rank = 0; rank < most && pick_one_each (self, n, limits[i], rank, indices); rank++)
      ;
  return indices;
}

/* Simulates the most promising changes of N moves. FALSE: there were none, or no room for them. */
static gboolean
simulate_round (RemedySearch *self, guint n)
{
  const guint        before = self->result->n_simulated;
  g_autoptr (GArray) indices = pick_fullest (self, n);
  guint              done = 0;

  /* a few at once, while their share of the budget lasts */
  while (done < indices->len && !is_spent (self, n) && !remedy_is_over (self))
    {
      const guint now = n_at_once (self, n, indices->len - done);
      guint      *some = (guint *) (gpointer) indices->data + done;

      simulate_changes (self, some, now);
      for (guint i = 0; i < now; i++)
        {
          const Change *change = remedy_change_at (self, some[i]);

          self->result->n_simulated += change->prediction != NULL || !remedy_is_over (self);
          self->n_events += change->n_events;
          self->result->cut |= change->ended;
        }
      done += now;
    }
  self->result->cut |= done < indices->len;
  for (; done < indices->len; done++) /* a later round may have room for them */
    remedy_change_at (self, g_array_index (indices, guint, done))->chosen = FALSE;
  return self->result->n_simulated > before;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void
remedy_free (gpointer data)
{
  Remedy *self = data;

  g_free (self->options);
  prediction_free (self->prediction);
  g_free (self);
}

/* The fastest of each set of levers, fastest first. */
static void
take_remedies (RemedySearch *self)
{
  while (self->result->found->len < REMEDIES_MAX)
    {
      Change *best = NULL;
      Remedy *remedy;

      for (guint i = 0; i < self->changes->len; i++)
        {
          Change *change = remedy_change_at (self, i);

          if (is_remedy (self, change) && !is_excelled (self, change)
              && (best == NULL || change->prediction->step_time_s < best->prediction->step_time_s))
            best = change;
        }
      if (best == NULL)
        return;
      remedy = g_new0 (Remedy, 1);
      remedy->options = change_options (best, self->scenario, self->strategies, self->options);
      remedy->prediction = g_steal_pointer (&best->prediction);
      g_ptr_array_add (self->result->found, remedy);
      for (guint i = 0; i < self->changes->len; i++)
        if (change_has_levers_of (remedy_change_at (self, i), best))
          g_clear_pointer (&remedy_change_at (self, i)->prediction, prediction_free);
    }
}

static guint64
lacking_of (const Prediction *prediction)
{
  return MAX (MAX (prediction->hbm.excess, prediction->host.excess), prediction->drives.excess);
}

/* Simulates the least excessive of the changes that were not: nearest to a remedy, maybe one. */
static void
simulate_nearest (RemedySearch *self)
{
  guint least = G_MAXUINT;

  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *change = remedy_change_at (self, i);

      if (!change->chosen && change->excess != BYTES_UNKNOWN
          && (least == G_MAXUINT || change->excess < remedy_change_at (self, least)->excess))
        least = i;
    }
  if (least == G_MAXUINT || remedy_is_over (self))
    return;
  remedy_change_at (self, least)->chosen = TRUE;
  simulate_changes (self, &least, 1);
  self->n_events += remedy_change_at (self, least)->n_events;
  self->result->n_simulated++;
}

/* What lacks least of what was simulated. */
static void
name_nearest (RemedySearch *self)
{
  Change *nearest = NULL;
  guint64 lacking = lacking_of (self->prediction);

  for (guint i = 0; i < self->changes->len; i++)
    {
      Change *change = remedy_change_at (self, i);

      if (change->prediction != NULL && !change->prediction->fits
          && lacking_of (change->prediction) < lacking)
        {
          nearest = change;
          lacking = lacking_of (change->prediction);
        }
    }
  self->result->nearest =
      nearest != NULL ? change_options (nearest, self->scenario, self->strategies, self->options)
                      : g_strdup ("");
  self->result->lacking = lacking;
}

/* One move, then two and three of the nearest, until there are enough remedies. */
static void
search_changes (RemedySearch *self)
{
  Change beam[REMEDY_BEAM] = { { .n = 0 } };
  guint  n_beam = 1, n = 1;

  for (; n <= REMEDY_MAX_CHANGES && n_beam > 0; n++)
    {
      guint first = self->changes->len;

      for (guint b = 0; b < n_beam && remedy_expand (self, &beam[b]); b++)
        ;
      remedy_bound_from (self, first);
      while (simulate_round (self, n) && n_remedies (self) < REMEDIES_MAX)
        ;
      if (n_remedies (self) >= REMEDIES_MAX)
        break;
      if (self->changes->len >= self->budget.max_planned
          || self->planned_items >= self->budget.max_planned_items
          || is_spent (self, REMEDY_MAX_CHANGES) || remedy_is_over (self))
        {
          self->result->cut |= n < REMEDY_MAX_CHANGES;
          break;
        }
      n_beam = remedy_pick_beam (self, n, beam);
    }
}

/* What SELF's scenario takes beyond its plan: its allocator's gaps, and what streams still use. */
static gint64
unplanned_bytes (const RemedySearch *self)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  const gint64 planned = scenario_planned_excess (self->scenario, self->options, NULL, diags);

  return planned != BYTES_UNKNOWN ? MAX (simulated_excess (self->prediction) - planned, 0) : 0;
}

Remedies *
remedies_find (const Scenario *scenario, const StrategySet *strategies,
               const Prediction *prediction, const PredictOptions *options,
               const RemedyBudget *budget)
{
  Remedies          *result = g_new0 (Remedies, 1);
  g_autoptr (GArray) moves = lever_moves (scenario, strategies, prediction->n_gpus, LEVER_REMEDY);
  g_autoptr (GArray) changes = g_array_new (FALSE, FALSE, sizeof (Change));
  RemedySearch       self = { .scenario = scenario,
                              .strategies = strategies,
                              .prediction = prediction,
                              .options = options,
                              .budget = *budget,
                              .moves = moves,
                              .changes = changes,
                              .result = result };

  g_array_set_clear_func (changes, change_clear);
  result->found = g_ptr_array_new_with_free_func (remedy_free);
  self.unplanned = unplanned_bytes (&self);
  search_changes (&self);
  if (n_remedies (&self) == 0)
    simulate_nearest (&self);
  take_remedies (&self);
  if (result->found->len == 0)
    name_nearest (&self);
  result->sequence = remedy_of_sequence (scenario, strategies, prediction, options, moves);
  result->n_events = self.n_events;
  result->ended_by = stop_reason (options->replay.stop);
  result->cut |= result->ended_by != NULL;
  return result;
}
