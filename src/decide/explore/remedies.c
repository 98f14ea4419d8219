#include "decide/explore/remedies.h"

#include <math.h>

#include "base/parallel.h"
#include "decide/explore/change-private.h"
#include "predict/batch.h"
#include "predict/variation.h"

#define BEAM 6 /* changes that are tried with a further lever */
#define A_SET \
  2 /* simulations of one set of levers at a time; of a single one all that are planned to fit */
#define WORTH_MORE     0.99 /* of a remedy's time: what takes longer adds changes for nothing */
#define SAME_BATCH     1e-9
#define PLANS_AT_ONCE  8 /* whatever the number of threads: the budget is looked at in between */
#define RUNS_AT_ONCE   4 /* the same of simulations; */
#define FEWEST_AT_ONCE 2 /* so many at the end of the budget, */
#define MOST_OF_ONE    4 /* of which each may take so small a part of the budget, */
#define ONE_OF_GIVEN   1 /* or as much as so many of the scenario itself */
#define SHARES         4 /* of the budget: half is for one lever, a quarter for two */
/*
 * A core plans an item in 0.2 us and simulates an event in 0.3 to 0.85 us (of 64 GPUs with experts
 * the most), so three items are charged as an event. What takes no time itself is answered after
 * some five seconds of a core: 2 of plans, 1 to 3.5 of simulations; what takes long after four
 * times as long as it took.
 */
#define ITEMS_AN_EVENT  3
#define LEAST_ITEMS     10000000
#define LEAST_EVENTS    4000000
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

typedef struct
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const Prediction     *prediction;
  const PredictOptions *options;
  RemedyBudget          budget;
  GArray               *moves;   /* Move */
  GArray               *changes; /* Change */
  guint64               planned_items, n_events;
  gint64                unplanned; /* bytes that the scenario takes beyond its plan */
  Remedies             *result;
} Search;

/* Whether the search ends here, asked by who leaves something out when it does. */
static gboolean
is_over (const Search *self)
{
  return stop_cuts (self->options->replay.stop);
}

/* ---- changes --------------------------------------------------------------------------------- */

static Change *
change_at (const Search *self, guint i)
{
  return &g_array_index (self->changes, Change, i);
}

static void
change_clear (gpointer data)
{
  prediction_free (((Change *) data)->prediction);
}

/* ---- planning -------------------------------------------------------------------------------- */

typedef struct
{
  Search *search;
  guint   first;   /* change */
  guint  *indices; /* of simulations */
} Batch;

static void
plan_change (guint i, gpointer user)
{
  const Batch         *batch = user;
  Search              *self = batch->search;
  Change              *change = change_at (self, batch->first + i);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Scenario) scenario = NULL;

  scenario = change_scenario (change, self->scenario, self->strategies);
  if (scenario == NULL)
    return;
  change->excess = scenario_planned_excess (scenario, self->options, &change->n_items, diags);
}

/* Whether there is a change of the same moves, in whatever order. */
static gboolean
is_known (const Search *self, const Change *wanted)
{
  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *change = change_at (self, i);
      gboolean      same = change->n == wanted->n;

      for (guint m = 0; same && m < wanted->n; m++)
        same = change_has_move (change, wanted->moves[m]);
      if (same)
        return TRUE;
    }
  return FALSE;
}

/* Adds BASE with every move of another lever. TRUE while there is budget for plans. */
static gboolean
expand (Search *self, const Change *base)
{
  for (guint m = 0; m < self->moves->len; m++)
    {
      const Move *move = &g_array_index (self->moves, Move, m);
      Change      change = *base;

      if (change_has_lever (base, move->lever)
          || (move->needs != NULL && !change_sets (base, move->needs)))
        continue;
      change.moves[change.n++] = move;
      change.excess = BYTES_UNKNOWN;
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

/*
 * The least excessive changes of N moves that do not fit, one a set of levers: at most BEAM, in
 * BEST. Their number.
 */
static guint
pick_beam (const Search *self, guint n, Change best[BEAM])
{
  guint n_best = 0;

  for (; n_best < BEAM; n_best++)
    {
      const Change *least = NULL;

      for (guint i = 0; i < self->changes->len; i++)
        {
          const Change *change = change_at (self, i);
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

/* Plans the changes from FIRST on; those that the budget does not reach are forgotten. */
static void
plan_from (Search *self, guint first)
{
  while (first < self->changes->len && self->planned_items < self->budget.max_planned_items
         && !is_over (self))
    {
      Batch batch = { .search = self, .first = first };
      guint end = MIN (first + PLANS_AT_ONCE, self->changes->len);

      parallel_run (end - first, self->budget.n_threads, plan_change, &batch, self->options->count);
      for (; first < end; first++)
        self->planned_items += change_at (self, first)->n_items;
    }
  self->result->cut |= first < self->changes->len;
  g_array_set_size (self->changes, first);
  self->result->n_planned = first;
}

/* ---- simulating ------------------------------------------------------------------------------ */

/* Of the tier that is over its capacity by most, or nearest to it. */
static gint64
simulated_excess (const Prediction *prediction)
{
  const MemoryUse *hbm = &prediction->hbm, *host = &prediction->host;

  return MAX ((gint64) (hbm->device - hbm->capacity), (gint64) (host->device - host->capacity));
}

static gboolean
is_remedy (const Search *self, const Change *change)
{
  const Prediction *p = change->prediction;

  return p != NULL && p->fits && prediction_trains_alike (self->prediction, p)
         && fabs (p->tokens_per_step / self->prediction->tokens_per_step - 1) <= SAME_BATCH;
}

static guint
n_remedies (const Search *self)
{
  guint n = 0;

  for (guint i = 0; i < self->changes->len; i++)
    n += is_remedy (self, change_at (self, i));
  return n;
}

static Scenario *
build_change (gpointer user, guint i, DiagList *diags)
{
  const Batch  *batch = user;
  const Search *self = batch->search;

  (void) diags; /* what cannot be is no remedy, whatever the reason */
  return change_scenario (change_at (self, batch->indices[i]), self->scenario, self->strategies);
}

static void
read_change (gpointer user, guint i, Predicted *one)
{
  const Batch  *batch = user;
  const Search *self = batch->search;
  Change       *change = change_at (self, batch->indices[i]);

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
simulate_changes (Search *self, guint *indices, guint n)
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
is_excelled (const Search *self, const Change *change)
{
  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *part = change_at (self, i);

      if (part->step_time_s > 0 && change_is_part (part, change)
          && part->step_time_s * WORTH_MORE <= change->step_time_s)
        return TRUE;
    }
  return FALSE;
}

/*
 * The fullest change of LIKE's levers that is not chosen and planned to take no more than LIMIT
 * beyond what there is; G_MAXUINT: none.
 */
static guint
fullest (const Search *self, const Change *like, gint64 limit)
{
  guint best = G_MAXUINT;

  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *change = change_at (self, i);

      if (change->excess <= limit && !change->chosen && change_has_levers_of (change, like)
          && (best == G_MAXUINT || change->excess > change_at (self, best)->excess))
        best = i;
    }
  return best;
}

/* Whether a change of LIKE's levers, more than one, is a remedy. */
static gboolean
is_solved (const Search *self, const Change *like)
{
  for (guint i = 0; i < self->changes->len && like->n > 1; i++)
    if (is_remedy (self, change_at (self, i)) && change_has_levers_of (change_at (self, i), like))
      return TRUE;
  return FALSE;
}

/* Changes of INDICES with LIKE's levers. */
static guint
n_chosen_of (const Search *self, const GArray *indices, const Change *like)
{
  guint n = 0;

  for (guint i = 0; i < indices->len; i++)
    n += change_has_levers_of (change_at (self, g_array_index (indices, guint, i)), like);
  return n;
}

/* What is left of the events that changes of N moves may take. */
static guint64
events_left (const Search *self, guint n)
{
  const guint64 share = self->budget.max_events / SHARES * MIN (n + 1, SHARES);

  return share - MIN (self->n_events, share);
}

static gboolean
is_spent (const Search *self, guint n)
{
  return self->result->n_simulated >= self->budget.max_simulated || events_left (self, n) == 0;
}

/* How many simulations of LEFT changes of N moves may begin, were each to take the most it may. */
static guint
n_at_once (const Search *self, guint n, guint left)
{
  const guint64 room = events_left (self, n) / MAX (self->budget.max_events_of_one, 1);
  const guint   more = self->budget.max_simulated - self->result->n_simulated;

  return MIN (MIN (left, more), (guint) CLAMP (room, FEWEST_AT_ONCE, RUNS_AT_ONCE));
}

/* Adds to INDICES the fullest change within LIMIT of every set of N levers that has RANK there. */
static gboolean
pick_one_each (Search *self, guint n, gint64 limit, guint rank, GArray *indices)
{
  const guint before = indices->len;

  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *change = change_at (self, i);
      guint         next;

      if (change->n != n || change->excess > limit || is_solved (self, change)
          || n_chosen_of (self, indices, change) > rank)
        continue;
      next = fullest (self, change, limit);
      if (next == G_MAXUINT)
        continue;
      change_at (self, next)->chosen = TRUE;
      g_array_append_val (indices, next);
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
pick_fullest (Search *self, guint n)
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
simulate_round (Search *self, guint n)
{
  const guint        before = self->result->n_simulated;
  g_autoptr (GArray) indices = pick_fullest (self, n);
  guint              done = 0;

  /* a few at once, while their share of the budget lasts */
  while (done < indices->len && !is_spent (self, n) && !is_over (self))
    {
      const guint now = n_at_once (self, n, indices->len - done);
      guint      *some = (guint *) (gpointer) indices->data + done;

      simulate_changes (self, some, now);
      for (guint i = 0; i < now; i++)
        {
          const Change *change = change_at (self, some[i]);

          self->result->n_simulated += change->prediction != NULL || !is_over (self);
          self->n_events += change->n_events;
          self->result->cut |= change->ended;
        }
      done += now;
    }
  self->result->cut |= done < indices->len;
  for (; done < indices->len; done++) /* a later round may have room for them */
    change_at (self, g_array_index (indices, guint, done))->chosen = FALSE;
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
take_remedies (Search *self)
{
  while (self->result->found->len < REMEDIES_MAX)
    {
      Change *best = NULL;
      Remedy *remedy;

      for (guint i = 0; i < self->changes->len; i++)
        {
          Change *change = change_at (self, i);

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
        if (change_has_levers_of (change_at (self, i), best))
          g_clear_pointer (&change_at (self, i)->prediction, prediction_free);
    }
}

static guint64
lacking_of (const Prediction *prediction)
{
  return MAX (MAX (prediction->hbm.excess, prediction->host.excess), prediction->drives.excess);
}

/* Simulates the least excessive of the changes that were not: nearest to a remedy, maybe one. */
static void
simulate_nearest (Search *self)
{
  guint least = G_MAXUINT;

  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *change = change_at (self, i);

      if (!change->chosen && change->excess != BYTES_UNKNOWN
          && (least == G_MAXUINT || change->excess < change_at (self, least)->excess))
        least = i;
    }
  if (least == G_MAXUINT || is_over (self))
    return;
  change_at (self, least)->chosen = TRUE;
  simulate_changes (self, &least, 1);
  self->n_events += change_at (self, least)->n_events;
  self->result->n_simulated++;
}

/* What lacks least of what was simulated. */
static void
name_nearest (Search *self)
{
  Change *nearest = NULL;
  guint64 lacking = lacking_of (self->prediction);

  for (guint i = 0; i < self->changes->len; i++)
    {
      Change *change = change_at (self, i);

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
search_changes (Search *self)
{
  Change beam[BEAM] = { { .n = 0 } };
  guint  n_beam = 1, n = 1;

  for (; n <= REMEDY_MAX_CHANGES && n_beam > 0; n++)
    {
      guint first = self->changes->len;

      for (guint b = 0; b < n_beam && expand (self, &beam[b]); b++)
        ;
      plan_from (self, first);
      while (simulate_round (self, n) && n_remedies (self) < REMEDIES_MAX)
        ;
      if (n_remedies (self) >= REMEDIES_MAX)
        break;
      if (self->changes->len >= self->budget.max_planned
          || self->planned_items >= self->budget.max_planned_items
          || is_spent (self, REMEDY_MAX_CHANGES) || is_over (self))
        {
          self->result->cut |= n < REMEDY_MAX_CHANGES;
          break;
        }
      n_beam = pick_beam (self, n, beam);
    }
}

/* What SELF's scenario takes beyond its plan: its allocator's gaps, and what streams still use. */
static gint64
unplanned_bytes (const Search *self)
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
  Search             self = { .scenario = scenario,
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
