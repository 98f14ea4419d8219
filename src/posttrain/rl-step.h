/*
 * A step of reinforcement learning on a cluster: what it takes, and what takes it.
 *
 * In turn, on the same GPUs: write the responses of all prompts; reward them; log-probabilities of
 * the policy, of the reference, values of the critic: each a forward pass over all responses;
 * optimizer steps of `training.global_batch` responses each; weights to the generator's layout. In
 * between, states of training and weights of the generator move to host memory and back.
 *
 * On pools of their own nothing moves but weights. At k > 0 steps off policy a pool begins the next
 * step's work when it has done its own, with k steps' responses on their way at a time: the slower
 * pool sets the pace, and the other one waits. Verifiers then run beside.
 */
#pragma once

#include "posttrain/refit.h"
#include "posttrain/responses.h"
#include "predict/prediction.h"
#include "serve/serving-run.h"

typedef enum
{
  RL_GENERATION,
  RL_REWARD,    /* by verifiers */
  RL_SCORES,    /* of a reward model */
  RL_POLICY,    /* its log-probabilities */
  RL_REFERENCE, /* the same of the weights that training began with */
  RL_VALUES,    /* the critic's */
  RL_TRAINING,
  RL_CRITIC_TRAINING,
  RL_STATES, /* of training and generation, to host memory and back */
  RL_REFIT,
  RL_OVERHEAD,
  RL_N_PHASES,
} RlPhase;

extern const char *const rl_phase_names[RL_N_PHASES + 1]; /* "generation" */
/* Whether PHASE runs on the GPUs that generate, where these do nothing else. */
gboolean rl_phase_generates (RlPhase phase);

typedef struct
{
  char           *scenario, *model, *cluster, *algorithm;
  guint           n_gpus, n_generating; /* of them that generate alone; 0: all do all, in turn */
  guint           off_policy_steps;
  double          phases[RL_N_PHASES]; /* s */
  double          step_time_s;
  double          n_responses, n_written; /* trained on; written for them */
  double          prompt_tokens, response_tokens, longest_response; /* of those written */
  double          tokens_per_s_per_gpu;           /* of prompts and responses that are trained on */
  double          idle_generating, idle_training; /* share of the step that a pool waits */
  guint           n_updates;                      /* optimizer steps */
  PackedResponses packed;                         /* of one */
  ServingAnswer   generation;
  RefitTime       refit;
  double          state_bytes; /* a GPU's, of training, that move to host memory */
  Prediction     *training;    /* one optimizer step, owned */
} RlStep;

/*
 * SCENARIO's `rl.algorithm` is one. STRATEGIES: the built-in ones when NULL. NULL after diagnostics
 * or with ERROR set, as predict.
 */
RlStep *rl_step_predict (const Scenario *scenario, const StrategySet *strategies,
                         const PredictOptions *options, DiagList *diags, GError **error);
void    rl_step_free (RlStep *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RlStep, rl_step_free)

/*
 * SELF, which is freed, as a prediction of training whose step is the whole one: it trains on the
 * tokens of all responses, and its products are those of all optimizer steps. The caller's.
 */
Prediction *rl_step_to_prediction (RlStep *self);

/*
 * Whether pools, lengths and batches of SCENARIO, which may name no strategy, go together, whatever
 * its layouts. FALSE after diagnostics.
 */
gboolean rl_step_check (const Scenario *scenario, const PredictOptions *options, DiagList *diags);

/*
 * For who compares layouts of generation. Seconds that SCENARIO's takes for a step's responses, at
 * least; INFINITY: they do not fit, or there is none, as DIAGS then say.
 */
double rl_step_least_generation (const Scenario *scenario, const StrategySet *strategies,
                                 const PredictOptions *options, DiagList *diags);

/* Seconds of the step, at least, if another layout took SECONDS in the place of its generation. */
double rl_step_least_with (const RlStep *self, const RlConfig *config, double seconds);
