#include "analysis/remedies.h"

#include <math.h>

#include "analysis/remedies-private.h"
#include "base/parallel.h"
#include "replay/plan-memory.h"

#define BEAM 6 /* changes that are tried with a further lever */
#define A_SET \
  2 /* simulations of one set of levers at a time; of a single one all that are planned to fit */
#define GPU_ITEMS     4    /* a GPU of the cluster takes about as long as so many items */
#define WORTH_MORE    0.99 /* of a remedy's step time: what takes longer adds changes for nothing */
#define SAME_BATCH    1e-9
#define BYTES_UNKNOWN G_MAXINT64
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

typedef struct
{
  const Move *moves[REMEDY_MAX_CHANGES];
  gint64      excess; /* bytes, as simulated, else as planned; up to 0: fits. BYTES_UNKNOWN: none */
  guint64     n_items;     /* of the planned schedule and the cluster */
  double      step_time_s; /* of a remedy, else 0 */
  Prediction *prediction;
  guint       n;      /* moves */
  gboolean    chosen; /* to be simulated */
} Change;

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

static gint64
micro_steps_of (const Change *change)
{
  gint64 n = 1;

  for (guint i = 0; i < change->n; i++)
    n *= change->moves[i]->micro_steps;
  return n;
}

/* Newly allocated array of ScenarioOverride; strings interned. */
static GArray *
overrides_of (const Search *self, const Change *change)
{
  GArray *overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  gint64  times = micro_steps_of (change);

  for (guint i = 0; i < change->n; i++)
    {
      const Move            *move = change->moves[i];
      const ScenarioOverride own = { .key = move->key, .value = move->value };
      const ScenarioOverride also = { .key = move->also_key, .value = move->also_value };

      g_array_append_val (overrides, own);
      if (also.key != NULL)
        g_array_append_val (overrides, also);
    }
  if (times > 1)
    {
      g_autofree char *value =
          g_strdup_printf ("%" G_GINT64_FORMAT, self->scenario->training.grad_accum * times);
      const ScenarioOverride steps = { .key = "training.grad_accum",
                                       .value = g_intern_string (value) };

      g_array_append_val (overrides, steps);
    }
  return overrides;
}

/* NULL where there is no such scenario. */
static Scenario *
scenario_of (const Search *self, const Change *change)
{
  g_autoptr (GArray)   overrides = overrides_of (self, change);
  g_autoptr (DiagList) diags = diag_list_new ();

  return scenario_with (self->scenario, self->strategies,
                        (const ScenarioOverride *) (gconstpointer) overrides->data, overrides->len,
                        diags);
}

/* "--micro-batch 1", "--compile=true", "--set strategy.cpu_offload=true". */
static void
append_option (GString *out, const ScenarioOverride *override, gboolean is_switch)
{
  const char      *dot = strchr (override->key, '.');
  g_autofree char *name = g_strdelimit (g_strdup (dot + 1), "_", '-');

  if (out->len > 0)
    g_string_append_c (out, ' ');
  if (g_str_equal (override->key, "strategy.name"))
    g_string_append_printf (out, "--strategy %s", override->value);
  else if (g_str_has_prefix (override->key, "strategy."))
    g_string_append_printf (out, "--set %s=%s", override->key, override->value);
  else
    g_string_append_printf (out, "--%s%s%s", name, is_switch ? "=" : " ", override->value);
}

static char *
options_of (const Search *self, const Change *change)
{
  g_autoptr (GArray)  overrides = overrides_of (self, change);
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint i = 0; i < overrides->len; i++)
    {
      const ScenarioOverride *override = &g_array_index (overrides, ScenarioOverride, i);
      gboolean                is_switch = FALSE;

      for (guint m = 0; m < change->n; m++)
        is_switch |= change->moves[m]->key == override->key && change->moves[m]->is_switch;
      append_option (out, override, is_switch);
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* ---- planning -------------------------------------------------------------------------------- */

typedef struct
{
  Search *search;
  guint   first;   /* change */
  guint  *indices; /* of simulations */
} Batch;

static guint64
n_items_of (const Schedule *schedule)
{
  guint64 n = 0;

  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    for (guint section = 0; section < SECTION_N; section++)
      n += schedule_items (schedule, role, (ScheduleSection) section).n;
  return n;
}

static void
plan_change (guint i, gpointer user)
{
  const Batch           *batch = user;
  Search                *self = batch->search;
  Change                *change = change_at (self, batch->first + i);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = NULL;
  g_autoptr (Scenario)   scenario = NULL;
  g_autoptr (Replay)     replay = NULL;

  scenario = scenario_of (self, change);
  if (scenario == NULL)
    return;
  profiles = profile_set_new (self->options->profile_dir);
  plan_memory_shorten (scenario);
  replay = replay_plan (scenario, profiles, diags);
  if (replay == NULL)
    return;
  change->excess = replay_plan_excess (replay);
  change->n_items =
      n_items_of (replay_schedule (replay)) + (guint64) GPU_ITEMS * self->prediction->n_gpus;
}

static gboolean
has_lever (const Change *change, guint lever)
{
  for (guint i = 0; i < change->n; i++)
    if (change->moves[i]->lever == lever)
      return TRUE;
  return FALSE;
}

static gboolean
has_move (const Change *change, const Move *move)
{
  for (guint i = 0; i < change->n; i++)
    if (change->moves[i] == move)
      return TRUE;
  return FALSE;
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
        same = has_move (change, wanted->moves[m]);
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

      if (has_lever (base, move->lever))
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

static gboolean
same_levers (const Change *a, const Change *b)
{
  if (a->n != b->n)
    return FALSE;
  for (guint i = 0; i < a->n; i++)
    if (!has_lever (b, a->moves[i]->lever))
      return FALSE;
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
            taken = same_levers (change, &best[b]);
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

  return p != NULL && p->fits
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

  scenario = scenario_of (self, change);
  options.interval = FALSE;
  options.replay.keep_pools = FALSE;
  change->prediction = scenario != NULL ? predict (scenario, &options, diags, &error) : NULL;
  change->excess = BYTES_UNKNOWN;
  if (change->prediction == NULL)
    return;
  change->excess = simulated_excess (change->prediction);
  if (is_remedy (self, change))
    change->step_time_s = change->prediction->step_time_s;
}

/* Whether the moves of PART, which are fewer, are all of WHOLE's. */
static gboolean
is_part (const Change *part, const Change *whole)
{
  for (guint i = 0; i < part->n; i++)
    if (!has_move (whole, part->moves[i]))
      return FALSE;
  return part->n < whole->n;
}

/* Whether some of the moves of CHANGE, a remedy, are one that takes hardly longer, or less. */
static gboolean
is_excelled (const Search *self, const Change *change)
{
  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *part = change_at (self, i);

      if (part->step_time_s > 0 && is_part (part, change)
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

      if (change->excess <= 0 && !change->chosen && same_levers (change, like)
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
    if (is_remedy (self, change_at (self, i)) && same_levers (change_at (self, i), like))
      return TRUE;
  return FALSE;
}

/* Changes of INDICES with LIKE's levers. */
static guint
n_chosen_of (const Search *self, const GArray *indices, const Change *like)
{
  guint n = 0;

  for (guint i = 0; i < indices->len; i++)
    n += same_levers (change_at (self, g_array_index (indices, guint, i)), like);
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

void
remedies_free (Remedies *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->found);
  g_free (self->nearest);
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
      remedy->options = options_of (self, best);
      remedy->prediction = g_steal_pointer (&best->prediction);
      g_ptr_array_add (self->result->found, remedy);
      for (guint i = 0; i < self->changes->len; i++)
        if (same_levers (change_at (self, i), best))
          g_clear_pointer (&change_at (self, i)->prediction, prediction_free);
    }
}

static guint64
lacking_of (const Prediction *prediction)
{
  return MAX (prediction->hbm.excess, prediction->host.excess);
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
  self->result->nearest = nearest != NULL ? options_of (self, nearest) : g_strdup ("");
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
  g_autoptr (GArray) moves = remedy_moves (scenario, strategies, prediction->n_gpus);
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
