/* From a scenario to a prediction: the replay, and the interval that its inputs' ranges imply. */
#include "analysis/prediction.h"
#include "analysis/profiles-used.h"

/* ---- the interval ---------------------------------------------------------------------------- */

static Prediction *
predict_with (const Scenario *scenario, const PredictOptions *options, ProfileSet *profiles,
              Replay **replay, DiagList *diags, GError **error)
{
  Prediction *self = NULL;

  if (replay == NULL && scenario->replay.multiply && scenario->training.lengths == NULL)
    self = predict_multiplied (scenario, options, profiles);
  return self != NULL ? self : predict_replayed (scenario, options, profiles, replay, diags, error);
}

/* Step time with every figure at END of its range. */
static gboolean
step_time_at (const Scenario *scenario, const PredictOptions *options, ProfileEnd end,
              double *seconds, DiagList *diags, GError **error)
{
  g_autoptr (ProfileSet) profiles = profile_set_new_at (options->profile_dir, end);
  PredictOptions         without = *options;
  g_autoptr (Prediction) at = NULL;

  without.replay.keep_pools = FALSE;
  at = predict_with (scenario, &without, profiles, NULL, diags, error);
  if (at == NULL)
    return FALSE;
  *seconds = at->step_time_s;
  return TRUE;
}

/* ---- entry points ---------------------------------------------------------------------------- */

Prediction *
predict_replayed (const Scenario *scenario, const PredictOptions *options, ProfileSet *profiles,
                  Replay **replay, DiagList *diags, GError **error)
{
  g_autoptr (Replay) own = replay_run (scenario, profiles, &options->replay, diags, error);
  guint              counts[N_CONFIDENCES] = { 0 };
  Prediction        *self;

  if (own == NULL)
    return NULL;
  self = prediction_from_replay (own);
  self->profiles = profiles_used (profiles, replay_cluster (own), counts);
  self->n_measured = counts[CONFIDENCE_MEASURED];
  self->n_datasheet = counts[CONFIDENCE_DATASHEET];
  self->n_estimate = counts[CONFIDENCE_ESTIMATE];
  if (replay != NULL)
    *replay = g_steal_pointer (&own);
  return self;
}

Prediction *
predict_with_replay (const Scenario *scenario, const PredictOptions *options, Replay **replay,
                     ProfileSet **profiles, DiagList *diags, GError **error)
{
  g_autoptr (ProfileSet) own_profiles = profile_set_new (options->profile_dir);
  g_autoptr (Replay)     own_replay = NULL;
  g_autoptr (Prediction) self = predict_with (scenario, options, own_profiles,
                                              replay != NULL ? &own_replay : NULL, diags, error);

  if (self == NULL)
    return NULL;
  if (options->interval
      && !(
          step_time_at (scenario, options, PROFILE_OPTIMISTIC, &self->step_time_low_s, diags, error)
          && step_time_at (scenario, options, PROFILE_PESSIMISTIC, &self->step_time_high_s, diags,
                           error)))
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
