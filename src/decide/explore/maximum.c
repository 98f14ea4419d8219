#include "decide/explore/maximum.h"

#include <string.h>

#include "base/config/suggest.h"
#include "base/divisor.h"
#include "decide/plan/planned.h"

const Lever *
maximum_find_key (const char *word, DiagList *diags)
{
  g_autofree char      *wanted = g_strdelimit (g_ascii_strdown (word, -1), "-", '_'), *hint = NULL;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (const Lever *key = levers; key->section != NULL; key++)
    {
      g_autofree char *full = g_strdup_printf ("%s.%s", key->section, key->key);

      if (key->most > 0 && (g_str_equal (wanted, key->key) || g_str_equal (wanted, full)))
        return key;
      if (key->most > 0)
        g_ptr_array_add (names, (gpointer) key->key);
    }
  g_ptr_array_add (names, NULL);
  hint = suggest_hint (word, (const char *const *) names->pdata);
  diag_error (diags, NULL, hint, "--max: '%s' is no number that memory grows with", word);
  return NULL;
}

void
maximum_add_override (const Lever *key, GArray *overrides)
{
  const ScenarioOverride least = { .key = "training.seq_len", .value = "1", .origin = "--max" };

  if (g_str_equal (key->key, "seq_len"))
    g_array_append_val (overrides, least);
}

typedef struct
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const PredictOptions *options;
  gint64                least;   /* value of number 1 */
  gint64                n;       /* values */
  gint64                refused; /* the lowest number that cannot be; 0: none was met */
  char                 *reason;  /* why */
  DiagList             *diags;   /* of the lowest */
  DiagList             *said;    /* warnings of what is reported; NULL: none was simulated */
  GError               *error;
  Maximum              *result;
} Search;

/* ---- values ---------------------------------------------------------------------------------- */

/* Context ranks divide a sequence, twice where masks are balanced; sequence ranks its tokens. */
static gint64
step_of (const Scenario *scenario, const Lever *key)
{
  const TrainingOptions *training = &scenario->training;
  const MeshOptions     *mesh = &scenario->mesh;
  gint64                 cp = MAX (mesh->cp, 1), tokens = cp * (mesh->sp == 1 ? mesh->tp : 1);

  if (g_str_equal (key->key, "micro_batch"))
    return tokens / common_divisor (tokens, training->seq_len);
  if (g_str_equal (key->key, "seq_len"))
    return tokens * (cp > 1 && training->causal ? 2 : 1);
  return 1;
}

/* Every chunk of a pipeline has a block. */
static gint64
least_of (const Scenario *scenario, const Lever *key, gint64 step)
{
  const MeshOptions *mesh = &scenario->mesh;

  if (!g_str_equal (key->key, "n_layers") || mesh->pp <= 1)
    return step;
  return MAX ((gint64) mesh_model_chunks (mesh), mesh->pp * MAX (mesh->vp, 1));
}

static gint64
value_of (const Search *self, gint64 number)
{
  return self->least + (number - 1) * self->result->step;
}

/* SCENARIO with the value of NUMBER; NULL after diagnostics. */
static Scenario *
scenario_of (const Search *self, gint64 number, DiagList *diags)
{
  const Lever           *key = self->result->key;
  g_autofree char       *name = g_strdup_printf ("%s.%s", key->section, key->key);
  g_autofree char       *value = g_strdup_printf ("%" G_GINT64_FORMAT, value_of (self, number));
  const ScenarioOverride override = { .key = name, .value = value, .origin = "--max" };

  return scenario_with (self->scenario, self->strategies, &override, 1, diags);
}

/* NUMBER cannot be, for what DIAGS or ERROR say. */
static void
refuse (Search *self, gint64 number, const DiagList *diags, const GError *error)
{
  if (self->refused > 0 && self->refused <= number)
    return;
  self->refused = number;
  g_free (self->reason);
  self->reason =
      error != NULL ? g_strdup (error->message) : g_strdup (diag_list_first_message (diags));
  if (number > 1)
    return;
  diag_list_append (self->diags, diags);
  self->error = error != NULL ? g_error_copy (error) : NULL;
}

/* ---- what fits ------------------------------------------------------------------------------- */

/* Whether the time is over, and a number is left out. */
static gboolean
is_cut (Search *self)
{
  self->result->is_cut = self->result->is_cut || stop_cuts (self->options->replay.stop);
  return self->result->is_cut;
}

static gboolean
is_planned_to_fit (Search *self, gint64 number)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Scenario) scenario = scenario_of (self, number, diags);
  gint64               excess = BYTES_UNKNOWN;

  if (scenario != NULL)
    excess = scenario_least_excess (scenario, self->options, diags);
  if (excess <= 0) /* it may fit: the closed form takes a tenth of what the plan takes */
    excess = scenario_planned_excess (scenario, self->options, NULL, diags);
  if (excess == BYTES_UNKNOWN && diag_list_n_errors (diags) == 0 && is_cut (self))
    return FALSE;
  if (excess == BYTES_UNKNOWN)
    refuse (self, number, diags, NULL);
  self->result->n_planned++;
  work_count_done (self->options->count);
  return excess <= 0;
}

/* What was warned of the largest that fits, until one does of the smallest that does not. */
static void
keep_said (Search *self, gboolean fit, DiagList **said)
{
  if (!fit && self->result->value > 0)
    return;
  g_clear_pointer (&self->said, diag_list_free);
  self->said = g_steal_pointer (said);
}

static gboolean
fits (Search *self, gint64 number)
{
  Maximum             *result = self->result;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (Scenario) scenario = scenario_of (self, number, diags);
  Prediction         **kept, *prediction = NULL;

  if (scenario != NULL)
    prediction = predict (scenario, self->options, diags, &error);
  if (prediction == NULL && error != NULL && is_cut (self))
    return FALSE;
  result->n_simulated++;
  work_count_done (self->options->count);
  if (prediction == NULL)
    {
      refuse (self, number, diags, error);
      return FALSE;
    }
  keep_said (self, prediction->fits, &diags);
  kept = prediction->fits ? &result->prediction : &result->beyond;
  prediction_free (*kept);
  *kept = prediction;
  if (prediction->fits)
    result->value = value_of (self, number);
  else
    result->next = value_of (self, number);
  return prediction->fits;
}

/* The largest number that FITS, looked for from GUESS on by doubling steps, then by halves. */
static gint64
find_largest (Search *self, gint64 guess, gboolean (*test) (Search *, gint64))
{
  gint64 low = 0, high = self->n + 1, at = guess, step = 1;

  while (low + 1 < high && !is_cut (self))
    {
      if (test (self, at))
        low = at;
      else
        high = at;
      if (low > 0 && high <= self->n)
        at = low + (high - low) / 2;
      else
        {
          at = low > 0 ? MIN (low + step, self->n) : MAX (high - step, 1);
          step *= 2;
        }
    }
  return low;
}

/* ---- entry points ---------------------------------------------------------------------------- */

/*
 * Sequences of a file have the lengths and the number that it says; kernels were measured with one
 * of each, and memory has nothing of their times.
 */
static gboolean
check_key (const Scenario *scenario, const Lever *key, DiagList *diags)
{
  const OptionMarks *marks = scenario_marks (scenario, training_options);

  if (scenario->training.global_batch > 0 && g_str_equal (key->key, "micro_batch"))
    {
      diag_error (diags, option_mark (marks, "global_batch", NULL),
                  "set 'grad_accum' instead of it",
                  "'micro_batch' has no largest value where 'global_batch' has to be a multiple");
      return FALSE;
    }
  if (g_str_equal (key->key, "n_layers"))
    return TRUE;
  if (scenario->training.measured_kernels != NULL)
    {
      diag_error (diags, option_mark (marks, "measured_kernels", NULL),
                  "leave 'measured_kernels' away: what fits does not depend on it",
                  "'%s' has no largest value where kernels were measured with one", key->key);
      return FALSE;
    }
  if (scenario->training.lengths == NULL)
    return TRUE;
  diag_error (diags, option_mark (marks, "lengths", NULL),
              "leave 'lengths' away: sequences are then all of 'seq_len'",
              "'%s' has no largest value where a file says the sequences", key->key);
  return FALSE;
}

/* As many layers as it has, or a learned table, do not stand in the way of the first value. */
Maximum *
maximum_find (const Scenario *scenario, const StrategySet *strategies, const Lever *key,
              const PredictOptions *options, DiagList *diags, GError **error)
{
  g_autoptr (Maximum) result = g_new0 (Maximum, 1);
  Search              self = { .scenario = scenario,
                               .strategies = strategies,
                               .options = options,
                               .diags = diags,
                               .result = result };
  gint64              guess;

  if (!check_key (scenario, key, diags))
    return NULL;
  result->key = key;
  result->step = step_of (scenario, key);
  self.least = least_of (scenario, key, result->step);
  self.n = (key->most - self.least) / result->step + 1;
  work_count_step (options->count, "planning values", TRUE, 0);
  guess = find_largest (&self, 1, is_planned_to_fit);
  work_count_step (options->count, "simulating values", TRUE, 0);
  if (self.refused != 1)
    find_largest (&self, MAX (guess, 1), fits);
  if (self.said != NULL && self.refused != 1)
    diag_list_append (diags, self.said);
  g_clear_pointer (&self.said, diag_list_free);
  if (self.refused == 1)
    {
      if (self.error != NULL)
        g_propagate_error (error, self.error);
      g_free (self.reason);
      return NULL;
    }
  if (result->value == 0)
    result->prediction = g_steal_pointer (&result->beyond);
  else if (!result->is_cut
           && (result->beyond == NULL || result->next != result->value + result->step))
    {
      if (result->value == value_of (&self, self.n))
        result->bound =
            g_strdup_printf ("none beyond %" G_GINT64_FORMAT " is tried", result->value);
      else if (self.refused > 0 && value_of (&self, self.refused) == result->value + result->step)
        result->bound = g_steal_pointer (&self.reason);
      result->next = 0;
      g_clear_pointer (&result->beyond, prediction_free);
    }
  g_free (self.reason);
  return g_steal_pointer (&result);
}

void
maximum_free (Maximum *self)
{
  prediction_free (self->prediction);
  prediction_free (self->beyond);
  g_free (self->bound);
  g_free (self);
}
