#include "posttrain/rl-step.h"

#include <math.h>

#include "posttrain/generation-bound.h"

#define ORIGIN         "rl.generation_nodes"
#define MOST_RESPONSES 100000 /* of a step, and of all that are on their way */
#define UNIT_OF_TOKENS 64     /* windows that are not padded to their length are multiples of it */

const char *const rl_phase_names[RL_N_PHASES + 1] = {
  "generation",
  "reward",
  "reward model",
  "policy's log-probabilities",
  "reference's",
  "critic's values",
  "training",
  "critic's training",
  "states to host and back",
  "weights to generation",
  "overhead",
  NULL,
};

gboolean
rl_phase_generates (RlPhase phase)
{
  return phase == RL_GENERATION || phase == RL_REWARD;
}

/* What the parts of a step are computed from. */
typedef struct
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const PredictOptions *options;
  ProfileSet           *profiles;
  Cluster              *whole, *generating; /* the second one may be the first */
  CollectiveOptions     library;
  Scenario             *training;   /* on its own nodes, without `rl` */
  ResolvedScenario     *resolved;   /* of it */
  GenerationOptions     generation; /* its options */
  Generator            *generator;
  GArray               *responses; /* ServeRequest: all that are written */
  DiagList             *diags;
} Parts;

static void
parts_clear (Parts *self)
{
  g_clear_pointer (&self->generator, generator_free);
  if (self->generating != self->whole)
    g_clear_pointer (&self->generating, cluster_free);
  g_clear_pointer (&self->resolved, resolved_unref);
  g_clear_pointer (&self->training, scenario_free);
  g_clear_pointer (&self->whole, cluster_free);
  g_clear_pointer (&self->responses, g_array_unref);
  g_clear_pointer (&self->profiles, profile_set_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Parts, parts_clear)

/* ---- pools ----------------------------------------------------------------------------------- */

static const SourceMark *
rl_mark (const Parts *self, const char *key)
{
  return option_mark (scenario_marks (self->scenario, rl_options), key, NULL);
}

static gboolean
check_pools (const Parts *self)
{
  const RlConfig *rl = &self->scenario->rl;
  const guint     n = cluster_n_nodes (self->whole);
  const guint     n_errors = diag_list_n_errors (self->diags);
  const double    longest = (double) self->scenario->training.seq_len;

  if (rl->generation_nodes >= n)
    diag_error (self->diags, rl_mark (self, "generation_nodes"), "leave some to train",
                "%" G_GINT64_FORMAT " nodes that generate leave none of the cluster's %u",
                rl->generation_nodes, n);
  if (rl->off_policy_steps > 0 && rl->generation_nodes == 0)
    diag_error (self->diags, rl_mark (self, "off_policy_steps"), "set 'rl.generation_nodes'",
                "nothing is off policy where the same GPUs generate and train in turn: no "
                "responses wait in a queue");
  if (rl_config_n_written (rl) * (double) MAX (rl->off_policy_steps, 1) > MOST_RESPONSES)
    diag_error (self->diags, rl_mark (self, "prompts"), "fewer prompts, responses or steps",
                "%.3g responses that are written at a time are more than %d",
                rl_config_n_written (rl) * (double) MAX (rl->off_policy_steps, 1), MOST_RESPONSES);
  if (rl->prompt_tokens >= longest)
    diag_error (self->diags, rl_mark (self, "prompt_tokens"), "a longer 'training.seq_len'",
                "prompts of %.0f tokens leave no room for responses: 'training.seq_len' of %.0f "
                "bounds both together",
                rl->prompt_tokens, longest);
  if (self->scenario->training.global_batch > rl_config_n_trained (rl))
    diag_error (self->diags, rl_mark (self, "prompts"), "more prompts or responses",
                "an optimizer step of %" G_GINT64_FORMAT " sequences is more than the %.0f "
                "responses of a step",
                self->scenario->training.global_batch, rl_config_n_trained (rl));
  return diag_list_n_errors (self->diags) == n_errors;
}

/* The nodes that train, and what they would without reinforcement learning. */
static gboolean
make_training (Parts *self)
{
  const guint nodes = cluster_n_nodes (self->whole) - (guint) self->scenario->rl.generation_nodes;
  g_autoptr (Scenario) plain = scenario_copy (self->scenario);

  plain->rl.algorithm = RL_NONE;
  plain->training.global_batch = 0;
  /* until responses are packed: as many as any schedule of stages needs */
  plain->training.grad_accum = MAX (2 * plain->mesh.pp * MAX (plain->mesh.vp, 1), 1);
  if (nodes == cluster_n_nodes (self->whole))
    self->training = g_steal_pointer (&plain);
  else
    self->training = scenario_on_nodes (plain, self->strategies, scenario_node_type (plain), nodes,
                                        NULL, ORIGIN, self->diags);
  if (self->training != NULL)
    self->resolved = resolved_new (self->training, self->profiles, self->diags);
  return self->resolved != NULL;
}

static gboolean
make_generator (Parts *self)
{
  const guint          nodes = (guint) self->scenario->rl.generation_nodes;
  g_autoptr (Scenario) other = NULL;

  self->generating = self->whole;
  if (nodes > 0)
    {
      other =
          scenario_on_nodes (self->training, self->strategies, scenario_node_type (self->scenario),
                             nodes, NULL, ORIGIN, self->diags);
      self->generating =
          other != NULL ? scenario_cluster_new (other, self->profiles, self->diags) : NULL;
    }
  self->generation = self->scenario->generation;
  self->generation.sequence_overhead_s += self->scenario->rl.response_overhead_s;
  if (self->generating != NULL)
    self->generator = generator_new (workload_shape (self->resolved->workload), &self->generation,
                                     self->generating, &self->library, self->diags);
  return self->generator != NULL;
}

static gboolean
make_parts (Parts *self)
{
  const RlConfig *rl = &self->scenario->rl;
  const guint     n = (guint) rl_config_n_written (rl);

  self->profiles = predict_profiles (self->options);
  self->library = collective_config_options (&self->scenario->collective);
  self->whole = scenario_cluster_new (self->scenario, self->profiles, self->diags);
  if (self->whole == NULL || !check_pools (self) || !make_training (self) || !make_generator (self))
    return FALSE;
  self->responses = responses_draw (rl, n, (double) self->scenario->training.seq_len);
  return TRUE;
}

/* ---- generation ------------------------------------------------------------------------------ */

static guint
steps_on_their_way (const Parts *self)
{
  return (guint) MAX (self->scenario->rl.off_policy_steps, 1);
}

/* Responses of as many steps as are on their way at a time. The caller's. */
static GArray *
responses_on_their_way (const Parts *self)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (ServeRequest));

  for (guint i = 0; i < steps_on_their_way (self); i++)
    g_array_append_vals (all, self->responses->data, self->responses->len);
  return all;
}

static gboolean
generate (Parts *self, RlStep *step)
{
  const RlConfig    *rl = &self->scenario->rl;
  const guint        at_a_time = steps_on_their_way (self);
  g_autoptr (GArray) all = responses_on_their_way (self);

  if (!serving_run (self->generator, &self->generation, &self->scenario->serving,
                    cluster_n_gpus (self->generating), all, &step->generation, self->diags))
    return FALSE;
  step->phases[RL_GENERATION] = step->generation.seconds / at_a_time;
  step->phases[RL_REWARD] = rl->reward_s;
  for (guint i = 0; i < self->responses->len; i++)
    {
      const ServeRequest *response = &g_array_index (self->responses, ServeRequest, i);

      step->response_tokens += (double) response->output / self->responses->len;
      step->longest_response = MAX (step->longest_response, response->output);
    }
  return TRUE;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Tokens that responses are packed into: a micro-batch of training. */
static double
window_of (const Parts *self)
{
  return (double) (self->scenario->training.seq_len * self->scenario->training.micro_batch);
}

/*
 * Tokens of a micro-batch: stages hand on messages of one size, so that theirs are padded to whole
 * windows; elsewhere they end where their last response does.
 */
static gint64
computed_tokens (const Parts *self, const PackedResponses *packed)
{
  const MeshOptions *mesh = workload_mesh (self->resolved->workload);
  const gint64       unit = UNIT_OF_TOKENS * mesh_tensor_ranks (mesh) * mesh->cp;
  const double       tokens = mesh->pp > 1 ? window_of (self) : packed->filled;

  return (gint64) ceil (tokens / (double) unit) * unit;
}

/* ---- scoring --------------------------------------------------------------------------------- */

/*
 * The layout of training as one of generation's: the same ranks share layers; experts lie on as
 * many ranks as theirs, some of which are tensor ranks.
 */
static GenerationOptions
scoring_options (const Parts *self)
{
  const MeshOptions *mesh = workload_mesh (self->resolved->workload);
  GenerationOptions  options = self->scenario->generation;

  options.tp = mesh_tensor_ranks (mesh);
  options.pp = mesh->pp;
  options.dp = MAX (mesh->ep * mesh->etp / options.tp, 1);
  options.weights = SERVE_WEIGHTS_16BIT;
  options.enable_expert_parallel = mesh->etp < options.tp;
  return options;
}

/*
 * Seconds that a model of SHAPE takes to read all responses that are trained on. A context rank has
 * a part of each, that attends on average to half of the rest before it.
 */
static double
score_seconds (const Parts *self, const ModelShape *shape)
{
  const GenerationOptions options = scoring_options (self);
  const MeshOptions      *mesh = workload_mesh (self->resolved->workload);
  const guint             n = (guint) rl_config_n_trained (&self->scenario->rl);
  const PackedResponses   packed =
      responses_pack (self->responses, 0, n, self->resolved->n_data_ranks, window_of (self));
  const double          part = packed.length / (double) mesh->cp;
  const SequenceGroup   group = { (double) computed_tokens (self, &packed) / packed.length, part,
                                  (packed.length - part) / 2 };
  g_autoptr (Generator) scorer =
      generator_new (shape, &options, self->resolved->cluster, &self->library, self->diags);

  return scorer != NULL ? generator_score_seconds (scorer, &group, 1, packed.windows) : 0;
}

static void
score_by_reward_model (const Parts *self, RlStep *step)
{
  const char                  *name = self->scenario->rl.reward_model;
  const ScenarioOverride       model = { "model.config", name, "rl.reward_model" };
  g_autoptr (Scenario)         other = NULL;
  g_autoptr (ResolvedScenario) resolved = NULL;

  if (name == NULL)
    return;
  other = scenario_with (self->training, self->strategies, &model, 1, self->diags);
  if (other != NULL)
    resolved = resolved_new (other, self->profiles, self->diags);
  if (resolved != NULL)
    step->phases[RL_SCORES] = score_seconds (self, workload_shape (resolved->workload));
}

static gboolean
score (const Parts *self, RlStep *step)
{
  const RlTraits traits = rl_config_traits (&self->scenario->rl);
  const double   seconds = score_seconds (self, workload_shape (self->resolved->workload));

  step->phases[RL_POLICY] = seconds;
  if (traits.reference)
    step->phases[RL_REFERENCE] = seconds;
  if (traits.critic)
    step->phases[RL_VALUES] = seconds;
  score_by_reward_model (self, step);
  return !diag_list_has_errors (self->diags);
}

/* ---- training -------------------------------------------------------------------------------- */

/* Interleaved stages take whole groups of micro-batches. */
static gint64
micro_steps_of (const Parts *self, const PackedResponses *packed)
{
  const MeshOptions *mesh = workload_mesh (self->resolved->workload);
  const gint64       unit = mesh->vp > 1 ? mesh->pp : 1;

  return ((gint64) packed->windows + unit - 1) / unit * unit;
}

static gboolean
train (Parts *self, RlStep *step, GError **error)
{
  const RlConfig  *rl = &self->scenario->rl;
  const RlTraits   traits = rl_config_traits (rl);
  const guint      n = (guint) rl_config_n_trained (rl);
  const guint      batch = (guint) self->scenario->training.global_batch;
  const guint      one = batch > 0 ? batch : n;
  TrainingOptions *training = &self->training->training;

  step->n_updates = (n + one - 1) / one * (guint) traits.epochs;
  step->packed =
      responses_pack (self->responses, 0, one, self->resolved->n_data_ranks, window_of (self));
  training->seq_len = computed_tokens (self, &step->packed);
  training->micro_batch = 1;
  if (training->loss == LOSS_AUTO) /* it is made of log-probabilities: no fused cross entropy */
    training->loss = LOSS_FP32;
  training->grad_accum = micro_steps_of (self, &step->packed);
  if (step->packed.length < (double) training->seq_len)
    training->document_length = (gint64) round (step->packed.length);
  step->training = predict (self->training, self->options, self->diags, error);
  if (step->training == NULL)
    return FALSE;
  step->phases[RL_TRAINING] = step->n_updates * step->training->step_time_s;
  if (traits.critic)
    step->phases[RL_CRITIC_TRAINING] = step->phases[RL_TRAINING];
  return TRUE;
}

/* ---- between them ---------------------------------------------------------------------------- */

/*
 * States of training leave the GPU and come back once a step, through host memory that is not
 * pinned; so do the generator's weights, through pinned memory. For the reference's turn the
 * policy's weights leave, the reference's come, and the policy's come back.
 */
static void
move_states (const Parts *self, RlStep *step)
{
  const RlConfig   *rl = &self->scenario->rl;
  const RlTraits    traits = rl_config_traits (rl);
  const GpuProfile *gpu = cluster_gpu_profile (self->whole, 0);
  const guint64    *states = step->training->hbm.by_category;
  const double      weights = (double) states[POOL_PARAMETER];
  const double      pinned = gpu->host_link.value * gpu->host_copy_efficiency.value;
  const guint       n_models = traits.critic ? 2 : 1;

  if (rl->keep_states)
    return;
  if (traits.reference)
    step->phases[RL_REFERENCE] += 3 * weights / rl->offload_bandwidth;
  if (rl->generation_nodes > 0)
    return;
  step->state_bytes = n_models * (weights + (double) states[POOL_OPTIMIZER]);
  step->phases[RL_STATES] += 2 * step->state_bytes / rl->offload_bandwidth
                             + 2 * generator_weight_bytes (self->generator) / pinned;
}

/* In turn, states that stay leave room for what generation takes. */
static gboolean
check_kept (const Parts *self, const RlStep *step)
{
  const RlConfig *rl = &self->scenario->rl;
  const guint64  *states = step->training->hbm.by_category;
  const double    all = cluster_gpu_profile (self->whole, 0)->hbm_bytes.value;
  const double    taken = all * self->generation.memory_utilization;
  const double    kept = (double) (states[POOL_PARAMETER] + states[POOL_OPTIMIZER])
                      * (rl_config_traits (rl).critic ? 2 : 1);

  if (!rl->keep_states || rl->generation_nodes > 0 || kept + taken <= all)
    return TRUE;
  diag_error (self->diags, rl_mark (self, "keep_states"),
              "a smaller 'generation.memory_utilization', or states in host memory",
              "states of training, %.3g GB, do not stay on a GPU of %.3g GB of which generation "
              "takes %.3g",
              kept / 1e9, all / 1e9, taken / 1e9);
  return FALSE;
}

static void
refit (const Parts *self, RlStep *step)
{
  const guint n = self->scenario->rl.generation_nodes > 0 ? cluster_n_gpus (self->generating) : 0;

  step->n_generating = n;
  step->refit =
      refit_time (&self->scenario->rl, self->resolved, self->generator, self->whole, n > 0);
  step->phases[RL_REFIT] = step->refit.seconds;
  step->phases[RL_OVERHEAD] = self->scenario->rl.overhead_s;
}

/* ---- the step -------------------------------------------------------------------------------- */

static void
compose (const RlConfig *rl, RlStep *step)
{
  double generating = 0, training = 0, shared = 0;

  for (RlPhase p = 0; p < RL_N_PHASES; p++)
    if (p == RL_REFIT || p == RL_OVERHEAD)
      shared += step->phases[p];
    else if (rl_phase_generates (p))
      generating += step->phases[p];
    else
      training += step->phases[p];
  if (rl->off_policy_steps > 0)
    {
      generating = step->phases[RL_GENERATION];
      step->step_time_s = MAX (generating, training) + shared;
    }
  else
    step->step_time_s = generating + training + shared;
  if (step->n_generating > 0)
    {
      step->idle_generating =
          1 - (step->phases[RL_GENERATION] + step->phases[RL_REFIT]) / step->step_time_s;
      step->idle_training = 1 - (training + step->phases[RL_REFIT]) / step->step_time_s;
    }
}

static void
describe (const Parts *self, RlStep *step)
{
  const RlConfig *rl = &self->scenario->rl;

  step->scenario = g_strdup (self->scenario->name);
  step->model = g_strdup (workload_shape (self->resolved->workload)->name);
  step->cluster = g_strdup (cluster_title (self->whole));
  step->algorithm = g_strdup (rl_algorithm_name ((RlAlgorithm) rl->algorithm));
  step->n_gpus = cluster_n_gpus (self->whole);
  step->off_policy_steps = (guint) rl->off_policy_steps;
  step->n_responses = rl_config_n_trained (rl);
  step->n_written = rl_config_n_written (rl);
  step->prompt_tokens = rl->prompt_tokens;
  step->tokens_per_s_per_gpu = step->n_responses * (rl->prompt_tokens + step->response_tokens)
                               / step->step_time_s / step->n_gpus;
}

RlStep *
rl_step_predict (const Scenario *scenario, const StrategySet *strategies,
                 const PredictOptions *options, DiagList *diags, GError **error)
{
  g_auto (Parts) parts = {
    .scenario = scenario, .strategies = strategies, .options = options, .diags = diags
  };
  g_autoptr (RlStep) step = g_new0 (RlStep, 1);

  if (!make_parts (&parts) || !generate (&parts, step) || !score (&parts, step)
      || !train (&parts, step, error) || !check_kept (&parts, step))
    return NULL;
  move_states (&parts, step);
  refit (&parts, step);
  compose (&scenario->rl, step);
  describe (&parts, step);
  return g_steal_pointer (&step);
}

/* ---- for comparisons ------------------------------------------------------------------------- */

gboolean
rl_step_check (const Scenario *scenario, const PredictOptions *options, DiagList *diags)
{
  g_auto (Parts) parts = { .scenario = scenario, .options = options, .diags = diags };

  parts.profiles = predict_profiles (options);
  parts.whole = parts.generating = scenario_cluster_new (scenario, parts.profiles, diags);
  return parts.whole != NULL && check_pools (&parts);
}

double
rl_step_least_generation (const Scenario *scenario, const StrategySet *strategies,
                          const PredictOptions *options, DiagList *diags)
{
  g_auto (Parts) parts = {
    .scenario = scenario, .strategies = strategies, .options = options, .diags = diags
  };
  g_autoptr (GArray) all = NULL;

  if (!make_parts (&parts))
    return INFINITY;
  all = responses_on_their_way (&parts);
  return generation_least_seconds (parts.generator, &parts.generation, &scenario->serving,
                                   cluster_n_gpus (parts.generating), all)
         / steps_on_their_way (&parts);
}

/* The ways of the weights, to the generator and to the host, depend on its layout: left out. */
double
rl_step_least_with (const RlStep *self, const RlConfig *config, double seconds)
{
  RlStep least = *self;

  least.phases[RL_GENERATION] = seconds;
  least.phases[RL_STATES] = 2 * self->state_bytes / config->offload_bandwidth;
  least.phases[RL_REFIT] = self->refit.host_s + self->refit.gather_s;
  compose (config, &least);
  return least.step_time_s;
}

void
rl_step_free (RlStep *self)
{
  if (self == NULL)
    return;
  prediction_free (self->training);
  g_free (self->scenario);
  g_free (self->model);
  g_free (self->cluster);
  g_free (self->algorithm);
  g_free (self);
}

Prediction *
rl_step_to_prediction (RlStep *self)
{
  Prediction  *prediction = g_steal_pointer (&self->training);
  const double updates = (double) self->n_updates * prediction->n_gpus / self->n_gpus;

  prediction->n_gpus = self->n_gpus;
  prediction->step_time_s = self->step_time_s;
  prediction->seq_len = self->prompt_tokens + self->response_tokens;
  prediction->tokens_per_step = self->n_responses * prediction->seq_len;
  prediction->model_flops *= updates; /* of a GPU, those that generate among them */
  prediction->hardware_flops *= updates;
  prediction_derive (prediction);
  rl_step_free (self);
  return prediction;
}
