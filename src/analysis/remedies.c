#include "analysis/remedies.h"

#include <math.h>

#include "analysis/change-private.h"
#include "base/parallel.h"

#define BEAM 6 /* changes that are tried with a further lever */
#define A_SET \
  2 /* simulations of one set of levers at a time; of a single one all that are planned to fit */
#define GPU_ITEMS     4    /* a GPU of the cluster takes about as long as so many items */
#define WORTH_MORE    0.99 /* of a remedy's step time: what takes longer adds changes for nothing */
#define SAME_BATCH    1e-9
#define PLANS_AT_ONCE 8 /* whatever the number of threads: the budget is looked at in between */

const RemedyBudget remedy_default_budget = { .max_planned = 400,
                                             .max_simulated = 40,
                                             .max_planned_items = 10000000,
                                             .max_simulated_items = 1500000,
                                             .n_threads = 1 };

typedef struct
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const Prediction     *prediction;
  const PredictOptions *options;
  RemedyBudget          budget;
  GArray               *moves;   /* Move */
  GArray               *changes; /* Change */
  guint64               planned_items, simulated_items;
  Remedies             *result;
} Search;

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
  if (change->excess != BYTES_UNKNOWN)
    change->n_items += (guint64) GPU_ITEMS * self->prediction->n_gpus;
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

      if (change_has_lever (base, move->lever))
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
  while (first < self->changes->len && self->planned_items < self->budget.max_planned_items)
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

static void
simulate_change (guint i, gpointer user)
{
  const Batch         *batch = user;
  Search              *self = batch->search;
  Change              *change = change_at (self, batch->indices[i]);
  PredictOptions       options = *self->options;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (Scenario) scenario = NULL;

  scenario = change_scenario (change, self->scenario, self->strategies);
  options.interval = FALSE;
  options.no_band = options.times_only = TRUE;
  options.replay.keep_pools = FALSE;
  change->prediction = scenario != NULL ? predict (scenario, &options, diags, &error) : NULL;
  change->excess = BYTES_UNKNOWN;
  if (change->prediction == NULL)
    return;
  change->excess = simulated_excess (change->prediction);
  if (is_remedy (self, change))
    change->step_time_s = change->prediction->step_time_s;
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

/* The fullest change of LIKE's levers that is planned to fit and not chosen; G_MAXUINT: none. */
static guint
fullest (const Search *self, const Change *like)
{
  guint best = G_MAXUINT;

  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *change = change_at (self, i);

      if (change->excess <= 0 && !change->chosen && change_has_levers_of (change, like)
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

/* Marks CHANGE to be simulated, as INDICES says, or answers that the budget is used up. */
static gboolean
choose (Search *self, guint change, GArray *indices)
{
  if (self->result->n_simulated + indices->len >= self->budget.max_simulated
      || self->simulated_items >= self->budget.max_simulated_items)
    {
      self->result->cut = TRUE;
      return FALSE;
    }
  change_at (self, change)->chosen = TRUE;
  self->simulated_items += change_at (self, change)->n_items;
  g_array_append_val (indices, change);
  return TRUE;
}

/*
 * Simulates the fullest changes of N moves that are planned to fit: of a single lever all, of a set
 * at most A_SET, and none where it has a remedy. How many there were.
 */
static guint
simulate_round (Search *self, guint n)
{
  g_autoptr (GArray) indices = g_array_new (FALSE, FALSE, sizeof (guint));
  Batch              batch = { .search = self };

  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *change = change_at (self, i);
      guint         next;

      if (change->n != n || change->excess > 0 || is_solved (self, change))
        continue;
      while ((n == 1 || n_chosen_of (self, indices, change) < A_SET)
             && (next = fullest (self, change)) != G_MAXUINT && choose (self, next, indices))
        ;
    }
  batch.indices = (guint *) (gpointer) indices->data;
  parallel_run (indices->len, self->budget.n_threads, simulate_change, &batch,
                self->options->count);
  self->result->n_simulated += indices->len;
  return indices->len;
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
      remedy->options = change_options (best, self->scenario);
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
  Batch batch = { .search = self, .indices = &least };

  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *change = change_at (self, i);

      if (!change->chosen && change->excess != BYTES_UNKNOWN
          && (least == G_MAXUINT || change->excess < change_at (self, least)->excess))
        least = i;
    }
  if (least == G_MAXUINT)
    return;
  change_at (self, least)->chosen = TRUE;
  simulate_change (0, &batch);
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
      nearest != NULL ? change_options (nearest, self->scenario) : g_strdup ("");
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
      while (simulate_round (self, n) > 0 && n_remedies (self) < REMEDIES_MAX)
        ;
      if (n_remedies (self) >= REMEDIES_MAX || self->result->cut)
        break;
      n_beam = pick_beam (self, n, beam);
    }
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
  search_changes (&self);
  if (n_remedies (&self) == 0)
    simulate_nearest (&self);
  take_remedies (&self);
  if (result->found->len == 0)
    name_nearest (&self);
  return result;
}
