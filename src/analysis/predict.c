/* From a scenario to a prediction: the replay, and the interval that its inputs' ranges imply. */
#include "analysis/placement-band.h"
#include "analysis/prediction.h"

/* ---- the interval ---------------------------------------------------------------------------- */

/* Whether nothing more may be simulated. */
static gboolean
is_over (const PredictOptions *options)
{
  return engine_work_is_over (options->replay.work) || stop_cuts (options->replay.stop);
}

static Prediction *
predict_with (const ResolvedScenario *resolved, const PredictOptions *options, Replay **replay,
              DiagList *diags, GError **error)
{
  static Prediction *(*const few[]) (const ResolvedScenario *, const PredictOptions *) = {
    predict_few_steps,
    predict_extrapolated,
    predict_after_few,
  };
  const Scenario *scenario = resolved->scenario;
  const gboolean  may_be_few = replay == NULL && !options->of_rank && scenario->replay.extrapolate
                              && resolved->lengths == NULL;
  Prediction *self = NULL;

  for (guint i = 0; may_be_few && self == NULL && i < G_N_ELEMENTS (few); i++)
    if (!is_over (options))
      self = few[i](resolved, options);
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
  const SourceMark mark = { .file = g_intern_static_string ("--rank") };
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

Prediction *
predict_with_replay (const Scenario *scenario, const PredictOptions *options, Replay **replay,
                     ProfileSet **profiles, DiagList *diags, GError **error)
{
  g_autoptr (ProfileSet)       own_profiles = predict_profiles (options);
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, own_profiles, diags);
  g_autoptr (Replay)           own_replay = NULL;
  g_autoptr (Prediction)       self = NULL;

  if (resolved != NULL && has_rank (resolved, options, diags))
    self = predict_with (resolved, options, replay != NULL ? &own_replay : NULL, diags, error);
  if (self == NULL)
    return NULL;
  if (options->interval
      && !fill_interval (self, scenario, options, profile_set_files (own_profiles), diags, error))
    return NULL;
  if (!options->no_band && !placement_band_predict (self, resolved, options, predict, diags, error))
    return NULL;
  if (replay != NULL)
    {
      *replay = g_steal_pointer (&own_replay);
      *profiles = g_steal_pointer (&own_profiles);
    }
  return g_steal_pointer (&self);
}

Prediction *
predict (const Scenario *scenario, const PredictOptions *options, DiagList *diags, GError **error)
{
  return predict_with_replay (scenario, options, NULL, NULL, diags, error);
}
