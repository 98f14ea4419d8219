/* Candidates are planned and simulated, those that are probably the best first. */
#include "decide/search/search-private.h"

#include <math.h>

#include "base/config/units.h"
#include "base/intern.h"
#include "base/parallel.h"
#include "decide/plan/planned.h"
#include "predict/batch.h"

/*
 * What a simulation takes grows with the kernels that are replayed: their number is its effort, of
 * which a core does some 500 000 a second. A plan takes a seventh.
 */
#define MOST_EFFORT   8e6
#define MOST_OF_ONE   0.06 /* of that, for one configuration */
#define MOST_AT_ONCE  0.1  /* and of those that are tried at a time */
#define PLAN_EFFORT   0.15
#define EFFORT_COUNTS 0.1 /* of an estimate, for each doubling: of like ones the cheaper first */

#define MOST_PLANNED   2000
#define MOST_SIMULATED 300

#define HOUR 3600.0

/* ---- tries ----------------------------------------------------------------------------------- */

typedef struct
{
  Candidate   candidate;
  double      estimate;
  Scenario   *scenario;
  gint64      excess; /* bytes, planned */
  gboolean    sure;   /* it fits by its estimate: not planned */
  double      slow_s; /* of a step that was not simulated to its end; 0: it was */
  Prediction *prediction;
  char       *reason;
} Try;

typedef struct
{
  const Search *search;
  Try          *tries;
} TryJobs;

static void
plan_try (guint i, gpointer user)
{
  const TryJobs       *jobs = user;
  Try                 *try = &jobs->tries[i];
  const Search        *self = jobs->search;
  const SearchVariant *variant = g_ptr_array_index (self->space->variants, try->candidate.variant);
  g_autoptr (DiagList) diags = diag_list_new ();

  try->scenario = search_space_scenario (self->space, try->candidate.structure, variant, diags);
  try->sure = search_is_sure (self, &try->candidate);
  if (try->scenario == NULL)
    try->excess = BYTES_UNKNOWN;
  else if (!try->sure)
    try->excess = scenario_planned_excess (try->scenario, self->predict, NULL, diags);
  if (try->excess == BYTES_UNKNOWN)
    try->reason = g_strdup (diag_list_first_message (diags));
}

/* Bytes that PREDICTION takes over what there is and what may be taken; at most 0: it fits. */
double
search_excess (const Search *self, const Prediction *prediction)
{
  const SearchOptions *options = self->options;
  const double         room = (double) prediction->hbm.capacity * (1 - options->memory_margin);
  double               excess = (double) prediction->hbm.device - room;

  if (!prediction->fits)
    excess = MAX (excess, (double) MAX (MAX (prediction->hbm.excess, prediction->host.excess),
                                        prediction->drives.excess));
  if (options->max_hbm > 0)
    excess = MAX (excess, (double) prediction->hbm.device - options->max_hbm);
  if (options->max_host > 0)
    excess = MAX (excess, (double) prediction->host.device - options->max_host);
  return prediction->fits ? excess : MAX (excess, 1);
}

void
search_append_word (GString *out, const ScenarioOverride *option)
{
  g_autofree char *text = scenario_option_text (option->key, option->value);

  g_string_append_printf (out, "%s%s", out->len > 0 ? " " : "", text);
}

/* "--strategy fsdp2 --tp 2 ...". Newly allocated. */
static char *
command_line (const Search *self, guint64 structure, guint variant)
{
  const SearchVariant *v = g_ptr_array_index (self->space->variants, variant);
  GString             *out = g_string_new (NULL);

  for (guint i = 0; i < v->options->len; i++)
    search_append_word (out, &g_array_index (v->options, ScenarioOverride, i));
  for (guint i = 0; i < v->software->len; i++)
    search_append_word (out, &g_array_index (v->software, ScenarioOverride, i));
  for (guint a = 0; a < self->space->axes->len; a++)
    {
      const SearchChoice *choice = search_space_choice (self->space, structure, a);

      for (guint i = 0; i < choice->options->len; i++)
        search_append_word (out, &g_array_index (choice->options, ScenarioOverride, i));
    }
  return g_string_free (out, FALSE);
}

/* The score of the last one that is listed; INFINITY: there is room for more. */
static double
last_listed (const Search *self)
{
  const GPtrArray *found = self->result->found;
  const guint      n = search_n_best (self->options);
  double           last = 0;

  if (found->len < n)
    return INFINITY;
  g_ptr_array_sort (self->result->found, search_compare_found);
  last = ((const SearchFound *) g_ptr_array_index (found, n - 1))->score;
  return MAX (last, search_limit (self));
}

/*
 * Sequences/s below which CANDIDATE is no answer and not listed; 0: it may be all the same, as none
 * of those that were found takes less memory than it probably does.
 */
static double
least_wanted (const Search *self, const Candidate *candidate, double last)
{
  if (!isfinite (last) || search_probable_memory (self, candidate) < self->least_memory)
    return 0;
  return search_weight (self, (double) search_gpus (self, candidate->structure)) / last;
}

/* The progress line says what was found. */
static void
tell_best (const Search *self, const Prediction *prediction)
{
  g_autofree char *step = quantity_format (QUANTITY_TIME, prediction->step_time_s, 4);
  g_autofree char *text =
      g_strdup_printf ("%s a step, %.0f tokens/s/GPU", step, prediction->tokens_per_s_per_gpu);

  work_count_best (self->predict->count, intern_text (text));
}

/* SCENARIO and PREDICTION are taken; LABEL and OPTIONS too. */
SearchFound *
search_add_found (Search *self, char *label, char *options, Scenario *scenario,
                  Prediction *prediction, double bound, SearchComplexity complexity)
{
  SearchFound *found = g_new0 (SearchFound, 1);
  double       seconds = prediction->step_time_s;
  double       sequences = prediction->samples_per_s * seconds;

  found->label = label;
  found->options = options;
  found->scenario = scenario;
  found->prediction = prediction;
  found->bound = bound;
  found->complexity = complexity;
  found->score = search_weight (self, prediction->n_gpus) * seconds / sequences;
  if (self->options->price_per_gpu_hour > 0)
    found->money_per_million_tokens = self->options->price_per_gpu_hour / HOUR * prediction->n_gpus
                                      / prediction->tokens_per_s * 1e6;
  if (found->score < self->best)
    tell_best (self, prediction);
  self->best = MIN (self->best, found->score);
  self->least_memory = MIN (self->least_memory, (double) prediction->hbm.device);
  g_ptr_array_add (self->result->found, found);
  search_add_headline (self, found);
  if (self->options->tell != NULL)
    self->options->tell (found, self->options->tell_user);
  return found;
}

static void
add_miss (Search *self, const Candidate *candidate, double excess)
{
  SearchMiss          *miss = g_new0 (SearchMiss, 1);
  const SearchVariant *variant = g_ptr_array_index (self->space->variants, candidate->variant);

  miss->label = search_space_label (self->space, candidate->structure, variant);
  miss->options = command_line (self, candidate->structure, candidate->variant);
  miss->excess = excess;
  miss->bound = candidate->score;
  g_ptr_array_add (self->result->missed, miss);
}

/* Takes a try whose configuration was simulated, or could not be. */
static void
take_try (Search *self, Try *try)
{
  SearchResult    *result = self->result;
  const Candidate *candidate = &try->candidate;
  Prediction      *prediction = g_steal_pointer (&try->prediction);
  double           excess;

  if (try->slow_s > 0)
    search_learn (self, candidate, try->slow_s, 0);
  if (prediction == NULL && try->slow_s == 0 && try->reason != NULL && try->excess <= 0
      && !stop_cuts (self->predict->replay.stop))
    {
      result->n_failed++;
      if (result->failure == NULL)
        result->failure = g_steal_pointer (&try->reason);
    }
  if (prediction == NULL)
    return;
  excess = search_excess (self, prediction);
  search_learn (self, candidate, prediction->step_time_s, (double) prediction->hbm.device);
  if (excess <= 0)
    {
      const SearchVariant *variant = g_ptr_array_index (self->space->variants, candidate->variant);
      char                *label = search_space_label (self->space, candidate->structure, variant);

      search_add_found (self, label, command_line (self, candidate->structure, candidate->variant),
                        g_steal_pointer (&try->scenario), prediction, candidate->bound,
                        candidate->complexity);
      g_free (prediction->scenario);
      prediction->scenario = g_strdup (label);
      return;
    }
  add_miss (self, candidate, excess);
  self->result->n_too_large++;
  self->result->n_unfit++;
  prediction_free (prediction);
}

/* ---- which ones ------------------------------------------------------------------------------ */

static double
effort_allowed (const Search *self)
{
  return MOST_EFFORT * search_effort (self);
}

gboolean
search_is_spent (const Search *self)
{
  const SearchOptions *options = self->options;
  const guint          max_planned = options->max_planned > 0 ? options->max_planned : MOST_PLANNED;
  const guint max_simulated = options->max_simulated > 0 ? options->max_simulated : MOST_SIMULATED;

  return self->result->n_planned >= max_planned || self->result->n_simulated >= max_simulated
         || self->effort >= effort_allowed (self);
}

/*
 * By what CANDIDATE comes before others: the score that it probably has; of like ones what is
 * simulated sooner comes first. Until something fits the cheapest come first.
 */
static double
estimate (const Search *self, const Candidate *candidate)
{
  const double probable = search_probable (self, candidate);

  return isfinite (self->best) ? probable * (1 + EFFORT_COUNTS * log2 (candidate->effort))
                               : probable * candidate->effort;
}

/* Puts TRY among the N of TRIES, by its estimate. Returns how many there are: one too many, too. */
static guint
insert_try (Try *tries, guint n, const Try *try)
{
  guint at = n;

  for (; at > 0 && try->estimate < tries[at - 1].estimate; at--)
    tries[at] = tries[at - 1];
  tries[at] = *try;
  return n + 1;
}

/* Moves N_MOST candidates of least estimate that may beat the best into TRIES; says how many. */
static guint
fill_tries (Search *self, Try *tries, guint n_most)
{
  guint n = 0, kept = 0;

  for (guint i = 0; i < self->candidates->len; i++)
    {
      const Candidate candidate = g_array_index (self->candidates, Candidate, i);
      const Try       try = { .candidate = candidate, .estimate = estimate (self, &candidate) };

      if (!search_may_matter (self, candidate.score, &candidate.complexity))
        {
          self->result->n_cut++;
          continue;
        }
      if (search_is_hopeless (self, &candidate)
          || candidate.effort > MOST_OF_ONE * effort_allowed (self))
        {
          g_array_index (self->candidates, Candidate, kept++) = candidate;
          continue;
        }
      n = insert_try (tries, n, &try);
      if (n > n_most)
        g_array_index (self->candidates, Candidate, kept++) = tries[--n].candidate;
    }
  g_array_set_size (self->candidates, kept);
  return n;
}

/*
 * Moves into TRIES those that are tried next, N_MOST, which do not take too much effort together;
 * one at least, if there is one.
 */
static guint
choose_tries (Search *self, Try *tries, guint n_most)
{
  const guint  n = fill_tries (self, tries, n_most);
  const double most = MOST_AT_ONCE * effort_allowed (self);
  double       effort = 0;
  guint        kept = 0;

  for (guint i = 0; i < n; i++)
    {
      effort += tries[i].candidate.effort;
      if (i == kept && (i == 0 || effort <= most))
        kept++;
      else
        g_array_append_val (self->candidates, tries[i].candidate);
    }
  return kept;
}

/* ---- some at a time -------------------------------------------------------------------------- */

static void
drop_try (Search *self, Try *try)
{
  if (try->excess == BYTES_UNKNOWN)
    {
      self->result->n_refused++;
      search_count_drop (self, try->reason, 1);
      return;
    }
  self->result->n_too_large++;
  add_miss (self, &try->candidate, (double) try->excess);
  search_learn (self, &try->candidate, 0, (double) self->hbm + (double) try->excess);
}

static void
try_clear (Try *try)
{
  g_clear_pointer (&try->scenario, scenario_free);
  g_clear_pointer (&try->reason, g_free);
}

/*
 * Plans N TRIES, and drops those that do not fit. FALSE: the search ended before they were looked
 * at, and they are candidates as before.
 */
static gboolean
plan_tries (Search *self, Try *tries, guint n)
{
  TryJobs   jobs = { self, tries };
  WorkCount count = search_jobs (self);

  work_count_step (self->predict->count, "planning candidates", TRUE, self->result->n_planned);
  parallel_run (n, self->options->n_threads, plan_try, &jobs, &count);
  if (search_is_over (self))
    {
      for (guint i = 0; i < n; i++)
        g_array_append_val (self->candidates, tries[i].candidate);
      return FALSE;
    }
  for (guint i = 0; i < n; i++)
    {
      if (!tries[i].sure)
        {
          self->effort += PLAN_EFFORT * tries[i].candidate.effort;
          self->result->n_planned++;
        }
      if (tries[i].excess > 0)
        drop_try (self, &tries[i]);
    }
  return TRUE;
}

/* What BATCH found out about the tries that it simulated. */
static void
take_batch (Search *self, const PredictionBatch *batch, const GPtrArray *simulated)
{
  for (guint i = 0; i < batch->n; i++)
    {
      Try *one = g_ptr_array_index (simulated, i);

      one->prediction = g_steal_pointer (&batch->each[i].prediction);
      one->reason = g_steal_pointer (&batch->each[i].reason);
      one->slow_s = batch->each[i].slow_s;
      if (one->prediction == NULL && one->slow_s == 0 && stop_is_due (self->predict->replay.stop))
        g_array_append_val (self->candidates, one->candidate); /* not to its end */
      else
        self->result->n_simulated++;
      take_try (self, one);
    }
}

/* Simulates those of N TRIES that are planned to fit. */
static void
simulate_tries (Search *self, Try *tries, guint n)
{
  const double             last = last_listed (self);
  g_autoptr (GPtrArray)    simulated = g_ptr_array_new ();
  g_autoptr (GPtrArray)    scenarios = g_ptr_array_new (); /* of these */
  g_autofree double       *least = g_new (double, MAX (n, 1));
  g_autofree double       *effort = g_new (double, MAX (n, 1));
  g_auto (PredictionBatch) batch = { .n_threads = self->options->n_threads,
                                     .options = self->predict,
                                     .least = least,
                                     .effort = effort,
                                     .scenarios = scenarios };

  for (guint i = 0; i < n; i++)
    if (tries[i].excess <= 0)
      {
        self->effort += tries[i].candidate.effort;
        effort[simulated->len] = tries[i].candidate.effort;
        least[simulated->len] = least_wanted (self, &tries[i].candidate, last);
        g_ptr_array_add (simulated, &tries[i]);
        g_ptr_array_add (scenarios, tries[i].scenario);
      }
  batch.n = scenarios->len;
  work_count_step (self->predict->count, "simulating candidates", TRUE, self->result->n_simulated);
  prediction_batch_run (&batch);
  take_batch (self, &batch, simulated);
}

gboolean
search_try_some (Search *self, guint most)
{
  Try   tries[SEARCH_TRIES + 1] = { 0 };
  guint n;

  g_assert (most <= SEARCH_TRIES);
  if (search_is_spent (self))
    return FALSE;
  n = choose_tries (self, tries, most);
  if (n > 0 && plan_tries (self, tries, n))
    simulate_tries (self, tries, n);
  for (guint i = 0; i < n; i++)
    try_clear (&tries[i]);
  return n > 0;
}
