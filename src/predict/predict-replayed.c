/* One replay as a prediction. */
#include "base/intern.h"
#include "hardware/profile/profiles-used.h"
#include "predict/leavings.h"
#include "predict/prediction.h"
#include "predict/trace/memory-use.h"
#include "predict/trace/op-times.h"
#include "predict/trace/stages.h"

#define UNLIKE_GPUS "unlike GPUs" /* no published run has them */

/* The GPU of a cluster and its generation; in any order of unlike nodes, these have neither. */
static void
gpu_of (const Cluster *cluster, const char **id, const char **generation)
{
  *id = *generation = NULL;
  for (guint node = 0; node < cluster_n_nodes (cluster); node++)
    {
      const GpuProfile *gpu = cluster_gpu_profile (cluster, cluster_first_gpu (cluster, node));

      *id = *id == NULL || g_str_equal (*id, gpu->id) ? gpu->id : UNLIKE_GPUS;
      *generation = *generation == NULL || g_str_equal (*generation, gpu->architecture)
                        ? gpu->architecture
                        : UNLIKE_GPUS;
    }
  *id = intern_text (*id);
  *generation = intern_text (*generation);
}

/* Which published runs are like SELF. */
static TrackQuery
like_of (const ResolvedScenario *self)
{
  const TrainingOptions  *training = &self->scenario->training;
  const FrameworkProfile *framework = self->framework;
  const char             *gpu, *generation;

  gpu_of (self->cluster, &gpu, &generation);
  return (TrackQuery){
    .generation = generation,
    .gpu = gpu,
    .framework = framework != NULL ? intern_text (framework->id) : NULL,
    .strategy = intern_text (self->strategy->strategy->name),
    .precision =
        track_precision (training->fp8_recipe != FP8_NONE, training->precision == PRECISION_FP32),
    .n_nodes = cluster_n_nodes (self->cluster),
  };
}

PlanOptions
predict_plan_options (const PredictOptions *options)
{
  const Leavings *left = options->left;

  return (PlanOptions){ .stop = options->replay.stop, .sound = left != NULL ? left->sound : NULL };
}

ReplayBound *
predict_bind (const ReplayPlan *plan, const PredictOptions *options, Lockstep lockstep)
{
  const ReplayOptions *run = &options->replay;
  const Leavings      *left = options->left;
  const gboolean       whole = run->apart || run->keep_pools;
  const BoundOptions   how = { .unfolded = options->unfolded,
                               .times_only = options->times_only,
                               .step_only = options->step_only,
                               .lockstep = whole ? LOCKSTEP_NONE : lockstep,
                               .layouts = left != NULL ? left->layouts : NULL,
                               .bindings = left != NULL ? left->bindings : NULL,
                               .stop = run->stop };

  return replay_bound_new_with (plan, &how);
}

/* A run of BOUND; where ranks that were to run in lockstep do not, of its plan with less of it. */
static Replay *
run_bound (const ReplayBound *bound, const ReplayOptions *options, const PredictOptions *asked,
           GError **error)
{
  g_autoptr (GError)      failure = NULL;
  g_autoptr (ReplayBound) less = NULL;
  Replay                 *self = replay_new (bound, options, &failure);

  if (g_error_matches (failure, ENGINE_ERROR, ENGINE_ERROR_UNLIKE))
    {
      less = predict_bind (replay_bound_plan (bound), asked, replay_bound_lockstep (bound) - 1);
      if (less != NULL)
        return run_bound (less, options, asked, error);
      engine_set_over (options->stop, error);
    }
  else if (failure != NULL)
    g_propagate_error (error, g_steal_pointer (&failure));
  return self;
}

Prediction *
predict_bound (const ReplayBound *bound, const ReplayOptions *options, const PredictOptions *asked,
               Replay **replay, GError **error)
{
  const ResolvedScenario *resolved = replay_plan_resolved (replay_bound_plan (bound));
  g_autoptr (Replay)      own = run_bound (bound, options, asked, error);
  guint                   counts[N_CONFIDENCES] = { 0 };
  Prediction             *self;
  Exchange                exchange = { 0 };

  if (own == NULL)
    return NULL;
  self = prediction_from_replay (own, options->stop);
  if (self == NULL)
    {
      engine_set_over (options->stop, error);
      return NULL;
    }
  if (asked->stages)
    {
      const ReplayStretch period = replay_last_period (own);

      self->stages = stages_new (own, &period);
    }
  if (asked->op_times)
    self->op_times = op_times_new (own, self->exposed_rank);
  self->profiles = profiles_used (resolved->profiles, resolved->cluster, counts);
  self->like = like_of (resolved);
  self->unmeasured = profiles_used_unmeasured (resolved->cluster);
  self->mtp_left = model_mtp_left (workload_shape (resolved->workload));
  self->caveats = strategy_caveats (&resolved->input, resolved->strategy);
  if (strategy_whole_exchange (&resolved->input, resolved->strategy, &exchange) && exchange.elastic)
    {
      self->elastic_steps = exchange.every;
      self->n_workers = exchange_workers (&exchange);
    }
  self->n_measured = counts[CONFIDENCE_MEASURED];
  self->n_datasheet = counts[CONFIDENCE_DATASHEET];
  self->n_estimate = counts[CONFIDENCE_ESTIMATE];
  if (replay != NULL)
    *replay = g_steal_pointer (&own);
  return self;
}

Prediction *
predict_replayed (const ResolvedScenario *resolved, const PredictOptions *options, Replay **replay,
                  DiagList *diags, GError **error)
{
  const guint             n_errors = diag_list_n_errors (diags);
  g_autoptr (ReplayPlan)  plan = replay_plan_new (resolved, predict_plan_options (options), diags);
  g_autoptr (ReplayBound) bound =
      plan != NULL ? predict_bind (plan, options, replay == NULL ? LOCKSTEP_WHOLE : LOCKSTEP_NONE)
                   : NULL;

  g_autoptr (Replay) own = NULL;
  Prediction        *self = NULL;

  if (bound == NULL && diag_list_n_errors (diags) == n_errors)
    engine_set_over (options->replay.stop, error);
  if (bound != NULL)
    self = predict_bound (bound, &options->replay, options, &own, error);
  if (self != NULL && options->of_rank)
    memory_use_read_rank (&self->of_rank, own, options->rank);
  if (replay != NULL)
    *replay = g_steal_pointer (&own);
  return self;
}
