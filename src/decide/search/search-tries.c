/* Candidates are planned and simulated, those that are probably the best first. */
#include "decide/search/search-private.h"

#include <math.h>

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

#define SURE 0.92 /* of the memory that there is: what is estimated below is not planned first */

#define HOPELESS 1.05 /* of it: what is estimated above is not tried */
#define TRIES    16   /* configurations that are planned and simulated at a time */
#define HOUR     3600.0

#define MOST_PLANNED   2000
#define MOST_SIMULATED 300

/* ---- estimates ------------------------------------------------------------------------------- */

/* Whose simulations are counted together, of one kind of pipeline. */
typedef enum
{
  LIKE_OWN,    /* the same variant's */
  LIKE_FAMILY, /* and those that are a change of its strategy away from each other */
  LIKE_ALL,
  N_LIKE,
} Like;

static guint
base_of (const Search *self, const Candidate *candidate)
{
  return ((const SearchVariant *) g_ptr_array_index (self->space->variants, candidate->variant))
      ->base;
}

static Ratio *
ratio_of (const Search *self, const Candidate *candidate, Like like)
{
  const guint n = self->space->variants->len;
  const guint rows[] = { candidate->variant, n + base_of (self, candidate), 2 * n };

  return &self->ratios[SEARCH_PIPELINES * rows[like] + candidate->pipeline];
}

/* What is known of the most alike. */
static double
mean_ratio (const Search *self, const Candidate *candidate, gboolean memory)
{
  for (Like like = 0; like < N_LIKE; like++)
    {
      const Ratio *ratio = ratio_of (self, candidate, like);

      if (memory && ratio->n_memory > 0)
        return ratio->memory / ratio->n_memory;
      if (!memory && ratio->n_time > 0)
        return ratio->time / ratio->n_time;
    }
  return 1;
}

/* Whether CANDIDATE needs much more memory than there is, if it takes what its like have taken. */
gboolean
search_is_hopeless (const Search *self, const Candidate *candidate)
{
  return (double) candidate->low * mean_ratio (self, candidate, TRUE)
         > HOPELESS * search_memory (self);
}

/* Whether CANDIDATE surely fits, by what its like have taken. */
static gboolean
is_sure (const Search *self, const Candidate *candidate)
{
  return ratio_of (self, candidate, LIKE_FAMILY)->n_memory > 0
         && (double) candidate->low * mean_ratio (self, candidate, TRUE)
                <= SURE * search_memory (self);
}

/*
 * The score that CANDIDATE probably has; of like ones what is simulated sooner comes first. Until
 * something fits nothing is cut: then the cheapest come first.
 */
static double
estimate (const Search *self, const Candidate *candidate)
{
  double score = candidate->score * mean_ratio (self, candidate, FALSE);

  return isfinite (self->best) ? score * (1 + EFFORT_COUNTS * log2 (candidate->effort))
                               : score * candidate->effort;
}

static double
effort_allowed (const Search *self)
{
  return MOST_EFFORT * (self->options->effort > 0 ? self->options->effort : 1);
}

static void
learn_all (Search *self, const Candidate *candidate, double time, double memory)
{
  for (Like like = 0; like < N_LIKE; like++)
    {
      Ratio *ratio = ratio_of (self, candidate, like);

      if (time > 0)
        {
          ratio->time += time;
          ratio->n_time++;
        }
      if (memory > 0)
        {
          ratio->memory += memory;
          ratio->n_memory++;
        }
    }
}

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
  try->sure = is_sure (self, &try->candidate);
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
  const double memory = (double) candidate->low * mean_ratio (self, candidate, TRUE);

  if (!isfinite (last) || memory < self->least_memory)
    return 0;
  return search_weight (self, (double) search_gpus (self, candidate->structure)) / last;
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
  self->best = MIN (self->best, found->score);
  self->least_memory = MIN (self->least_memory, (double) prediction->hbm.device);
  g_ptr_array_add (self->result->found, found);
  search_add_headline (self, found);
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
    learn_all (self, candidate, try->slow_s / candidate->bound, 0);
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
  learn_all (self, candidate, prediction->step_time_s / candidate->bound,
             candidate->low > 0 ? (double) prediction->hbm.device / (double) candidate->low : 0);
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

/* Moves the candidates of least estimate that may beat the best into TRIES; says how many. */
static guint
pick_tries (Search *self, Try *tries)
{
  guint n = 0, kept = 0;

  for (guint i = 0; i < self->candidates->len; i++)
    {
      Candidate *candidate = &g_array_index (self->candidates, Candidate, i);
      Try        try = { .candidate = *candidate };
      guint      at;

      if (!search_may_matter (self, candidate->score, &candidate->complexity))
        {
          self->result->n_cut++;
          continue;
        }
      if (search_is_hopeless (self, candidate)
          || candidate->effort > MOST_OF_ONE * effort_allowed (self))
        {
          g_array_index (self->candidates, Candidate, kept++) = *candidate;
          continue;
        }
      try.estimate = estimate (self, candidate);
      for (at = n; at > 0 && try.estimate < tries[at - 1].estimate; at--)
        tries[at] = tries[at - 1];
      if (at < TRIES)
        {
          /* the one that falls out goes back among the others */
          if (n == TRIES)
            g_array_index (self->candidates, Candidate, kept++) = tries[TRIES].candidate;
          tries[at] = try;
          n = MIN (n + 1, TRIES);
        }
      else
        g_array_index (self->candidates, Candidate, kept++) = *candidate;
    }
  g_array_set_size (self->candidates, kept);
  return n;
}

/* Of N TRIES those that do not take too much effort together, one at least; the rest goes back. */
static guint
put_back (Search *self, const Try *tries, guint n)
{
  double effort = 0, most = MOST_AT_ONCE * effort_allowed (self);
  guint  kept = 0;

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

static void
drop_try (Search *self, Try *try)
{
  if (try->excess == BYTES_UNKNOWN)
    {
      self->result->n_refused++;
      search_count_drop (self, try->reason, 1);
    }
  else if (try->excess > 0)
    {
      const double room = (double) self->hbm;

      self->result->n_too_large++;
      add_miss (self, &try->candidate, (double) try->excess);
      if (try->candidate.low > 0)
        learn_all (self, &try->candidate, 0,
                   (room + (double) try->excess) / (double) try->candidate.low);
    }
}

static void
try_clear (Try *try)
{
  g_clear_pointer (&try->scenario, scenario_free);
  g_clear_pointer (&try->reason, g_free);
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

gboolean
search_try_some (Search *self)
{
  Try                      tries[TRIES + 1] = { 0 };
  guint                    n;
  TryJobs                  jobs = { self, tries };
  SearchResult            *result = self->result;
  WorkCount                count = search_jobs (self);
  g_autoptr (GPtrArray)    simulated = g_ptr_array_new ();
  g_autoptr (GPtrArray)    scenarios = g_ptr_array_new (); /* of these */
  g_auto (PredictionBatch) batch = { 0 };
  g_autofree double       *least = NULL;
  const double             last = last_listed (self);

  if (search_is_spent (self))
    return FALSE;
  n = put_back (self, tries, pick_tries (self, tries));
  if (n == 0)
    return FALSE;
  work_count_step (self->predict->count, "planning candidates", TRUE, result->n_planned);
  parallel_run (n, self->options->n_threads, plan_try, &jobs, &count);
  if (search_is_over (self))
    {
      /* it ended before they were looked at: they are candidates as before */
      for (guint i = 0; i < n; i++)
        {
          g_array_append_val (self->candidates, tries[i].candidate);
          try_clear (&tries[i]);
        }
      return FALSE;
    }
  for (guint i = 0; i < n; i++)
    if (!tries[i].sure)
      {
        self->effort += PLAN_EFFORT * tries[i].candidate.effort;
        result->n_planned++;
      }
  for (guint i = 0; i < n; i++)
    if (tries[i].excess <= 0)
      {
        self->effort += tries[i].candidate.effort;
        g_ptr_array_add (simulated, &tries[i]);
        g_ptr_array_add (scenarios, tries[i].scenario);
      }
    else
      drop_try (self, &tries[i]);
  work_count_step (self->predict->count, "simulating candidates", TRUE, result->n_simulated);
  least = g_new (double, MAX (simulated->len, 1));
  for (guint i = 0; i < simulated->len; i++)
    least[i] =
        least_wanted (self, &((const Try *) g_ptr_array_index (simulated, i))->candidate, last);
  batch = (PredictionBatch){ .n = scenarios->len,
                             .n_threads = self->options->n_threads,
                             .options = self->predict,
                             .least = least,
                             .layouts = self->layouts,
                             .scenarios = scenarios };
  prediction_batch_run (&batch);
  for (guint i = 0; i < batch.n; i++)
    {
      Try *one = g_ptr_array_index (simulated, i);

      one->prediction = g_steal_pointer (&batch.each[i].prediction);
      one->reason = g_steal_pointer (&batch.each[i].reason);
      one->slow_s = batch.each[i].slow_s;
      if (one->prediction == NULL && one->slow_s == 0 && stop_is_due (self->predict->replay.stop))
        g_array_append_val (self->candidates, one->candidate); /* not to its end */
      else
        result->n_simulated++;
    }
  for (guint i = 0; i < n; i++)
    {
      take_try (self, &tries[i]);
      try_clear (&tries[i]);
    }
  return TRUE;
}
