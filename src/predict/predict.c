/* From a scenario to a prediction: the replay, and the interval that its inputs' ranges imply. */
#include "base/intern.h"
#include "base/own-memory.h"
#include "predict/idle-figures.h"
#include "predict/placement-band.h"
#include "predict/prediction.h"

/* ---- the interval ---------------------------------------------------------------------------- */

/* Whether nothing more may be simulated. */
static gboolean
is_over (const PredictOptions *options)
{
  return engine_work_is_over (options->replay.work) || stop_cuts (options->replay.stop)
         || own_memory_was_over ();
}

/* Whether it was left as one that nobody wants. */
static gboolean
is_slow (const PredictOptions *options)
{
  return options->limit != NULL && options->limit->took > 0;
}

static Prediction *
predict_with (const ResolvedScenario *resolved, const PredictOptions *asked, Replay **replay,
              DiagList *diags, GError **error)
{
  static Prediction *(*const few[]) (const ResolvedScenario *, const PredictOptions *) = {
    predict_few_steps,
    predict_repeated,
    predict_extrapolated,
    predict_after_few,
  };
  const Scenario       *scenario = resolved->scenario;
  PredictOptions        own = *asked;
  const PredictOptions *options = &own;
  const gboolean may_be_few = replay == NULL && !asked->of_rank && scenario->replay.extrapolate
                              && resolved->lengths == NULL;
  Prediction *self = NULL;

  own.replay.last_only = replay == NULL; /* who gets none sees no op */
  for (guint i = 0; may_be_few && self == NULL && i < G_N_ELEMENTS (few); i++)
    if (!is_over (options) && !is_slow (options))
      self = few[i](resolved, options);
  if (self == NULL && is_slow (options))
    return NULL;
  if (self == NULL && is_over (options))
    {
      engine_set_over (options->replay.stop, error);
      return NULL;
    }
  if (self == NULL)
    return predict_replayed (resolved, options, replay, diags, error);
  replay_plan_warn (resolved, diags); /* others' were read by nobody */
  return self;
}

/*
 * Step time with every figure at END of its range; models and tables come from FILES. What it warns
 * of has been said of the figures themselves.
 */
static gboolean
step_time_at (const Scenario *scenario, const PredictOptions *options, InputFiles *files,
              ProfileEnd end, double *seconds, DiagList *diags, GError **error)
{
  const ProfileVariant   variant = { end, options->changes, options->n_changes,
                                     options->todays_frameworks };
  g_autoptr (ProfileSet) profiles = profile_set_new_shared (options->profile_dir, &variant, files);
  g_autoptr (DiagList)   own = diag_list_new ();
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, own);
  PredictOptions               without = *options;
  g_autoptr (Prediction)       at = NULL;

  without.replay.keep_pools = FALSE;
  without.limit = NULL;
  if (resolved != NULL)
    at = predict_with (resolved, &without, NULL, own, error);
  if (at == NULL)
    {
      diag_list_append (diags, own);
      return FALSE;
    }
  *seconds = at->step_time_s;
  return TRUE;
}

/*
 * The least and the most of SELF and of what the ends of the figures' ranges come to: better
 * hardware may take longer, where another schedule or another product's tiles follow from it.
 */
static gboolean
fill_interval (Prediction *self, const Scenario *scenario, const PredictOptions *options,
               InputFiles *files, DiagList *diags, GError **error)
{
  static const ProfileEnd ends[] = { PROFILE_OPTIMISTIC, PROFILE_PESSIMISTIC };

  self->step_time_low_s = self->step_time_high_s = self->step_time_s;
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      double seconds;

      if (!step_time_at (scenario, options, files, ends[i], &seconds, diags, error))
        return FALSE;
      self->step_time_low_s = MIN (self->step_time_low_s, seconds);
      self->step_time_high_s = MAX (self->step_time_high_s, seconds);
    }
  return TRUE;
}

/* FALSE after a message: the rank that is asked for is none of the scenario's. */
static gboolean
has_rank (const ResolvedScenario *resolved, const PredictOptions *options, DiagList *diags)
{
  const guint      n = cluster_n_gpus (resolved->cluster);
  const SourceMark mark = { .file = intern_text ("--rank") };
  g_autofree char *hint = g_strdup_printf ("it has %u: 0 to %u", n, n - 1);

  if (!options->of_rank || options->rank < n)
    return TRUE;
  diag_error (diags, &mark, hint, "the scenario has no rank %u", options->rank);
  return FALSE;
}

/* ---- entry points ---------------------------------------------------------------------------- */

ProfileSet *
predict_profiles (const PredictOptions *options)
{
  const ProfileVariant variant = { .changes = options->changes,
                                   .n_changes = options->n_changes,
                                   .todays_frameworks = options->todays_frameworks };

  return profile_set_new_shared (options->profile_dir, &variant, options->files);
}

void
prediction_inputs_clear (PredictionInputs *self)
{
  g_clear_pointer (&self->replay, replay_free);
  g_clear_pointer (&self->resolved, resolved_unref);
  g_clear_pointer (&self->profiles, profile_set_free);
}

/* All that one thread does for a prediction. KEEPS: the replay. */
static Prediction *
predict_once (const Scenario *scenario, const PredictOptions *options, gboolean keeps,
              PredictionInputs *made, DiagList *diags, GError **error)
{
  g_autoptr (Prediction) self = NULL;

  made->profiles = predict_profiles (options);
  made->resolved = resolved_new (scenario, made->profiles, diags);
  if (made->resolved != NULL && has_rank (made->resolved, options, diags))
    self = predict_with (made->resolved, options, keeps ? &made->replay : NULL, diags, error);
  if (self != NULL && options->interval
      && !fill_interval (self, scenario, options, profile_set_files (made->profiles), diags, error))
    return NULL;
  return g_steal_pointer (&self);
}

/*
 * The same within what memory there may be. A run that others left too little for runs once more,
 * alone: what is predicted does not hang on how many threads there are.
 */
static Prediction *
predict_within (const Scenario *scenario, const PredictOptions *options, gboolean keeps,
                PredictionInputs *made, DiagList *diags, GError **error)
{
  for (gboolean alone = FALSE;; alone = TRUE)
    {
      g_autoptr (DiagList)   own = diag_list_new ();
      g_autoptr (GError)     own_error = NULL;
      g_autoptr (Prediction) self = NULL;
      OwnMemoryEnd           end;

      own_memory_begin (alone);
      self = predict_once (scenario, options, keeps, made, own, &own_error);
      if (self == NULL)
        prediction_inputs_clear (made);
      end = own_memory_end ();
      if (self != NULL || end == OWN_MEMORY_ENOUGH)
        {
          diag_list_append (diags, own);
          if (own_error != NULL)
            g_propagate_error (error, g_steal_pointer (&own_error));
          return g_steal_pointer (&self);
        }
      if (end == OWN_MEMORY_OVER)
        {
          own_memory_set_error (error);
          return NULL;
        }
    }
}

Prediction *
predict_with_inputs (const Scenario *scenario, const PredictOptions *options, gboolean replay,
                     PredictionInputs *inputs, DiagList *diags, GError **error)
{
  PredictOptions            once = *options; /* what it warns of is said once */
  g_auto (PredictionInputs) made = { 0 };
  g_autoptr (Prediction)    self = predict_within (scenario, options, replay, &made, diags, error);

  if (self == NULL)
    return NULL;
  if (options->idle_figures)
    idle_figures_warn (scenario, made.profiles, diags);
  once.idle_figures = FALSE;
  if (!options->no_band
      && !placement_band_predict (self, made.resolved, &once, predict, diags, error))
    return NULL;
  if (inputs != NULL)
    {
      *inputs = made;
      made = (PredictionInputs){ 0 };
    }
  return g_steal_pointer (&self);
}

Prediction *
predict_with_replay (const Scenario *scenario, const PredictOptions *options, Replay **replay,
                     ProfileSet **profiles, DiagList *diags, GError **error)
{
  g_auto (PredictionInputs) inputs = { 0 };
  Prediction *self = predict_with_inputs (scenario, options, TRUE, &inputs, diags, error);

  if (self != NULL)
    {
      *replay = g_steal_pointer (&inputs.replay);
      *profiles = g_steal_pointer (&inputs.profiles);
    }
  return self;
}

Prediction *
predict (const Scenario *scenario, const PredictOptions *options, DiagList *diags, GError **error)
{
  return predict_with_inputs (scenario, options, FALSE, NULL, diags, error);
}
