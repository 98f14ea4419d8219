/*
 * The `rl` section of a scenario: a step of reinforcement learning of a language model.
 *
 *   rl: { algorithm: grpo, prompts: 64, responses: 32, response_tokens: 3200 }
 *   generation: { tp: 2, memory_utilization: 0.6 }
 *
 * A step draws prompts, writes responses to them, scores these, and updates the policy in as many
 * optimizer steps as `training.global_batch` sequences go into them; then the new weights travel to
 * where responses are written. `training.seq_len` bounds a prompt and its response together, and is
 * what they are packed into.
 */
#pragma once

#include "base/config/option.h"
#include "model/step/training.h" /* FrameworkSays */

typedef enum
{
  RL_NONE, /* the scenario trains, and that is all */
  RL_GRPO, /* arXiv:2402.03300 */
  RL_PPO,  /* arXiv:1707.06347, with a critic as large as the policy */
  RL_DAPO, /* arXiv:2503.14476: groups whose responses all are right or wrong are drawn again */
  RL_RLOO, /* arXiv:2402.14740 */
} RlAlgorithm;

/* What an algorithm computes besides policy and reward. */
typedef struct
{
  gboolean reference; /* log-probabilities of the weights that training began with */
  gboolean critic;    /* a model that values responses, and learns */
  gint64   epochs;    /* passes over the responses */
} RlTraits;

/* How weights come from the layout of training to that of generation. */
typedef enum
{
  REFIT_GATHER,  /* every rank gathers each tensor whole, and keeps its part of it */
  REFIT_RESHARD, /* every rank gets what it keeps, from ranks that have it */
} RlRefit;

typedef struct
{
  gint     algorithm;           /* RlAlgorithm */
  gint64   prompts, responses;  /* of a step; to each prompt */
  double   prompt_tokens;       /* of each */
  double   response_tokens;     /* mean of what is written, cut ones included */
  double   length_spread;       /* before cuts: standard deviation over mean, log-normal */
  double   response_overhead_s; /* of the host in each step that writes, a response */
  double   endless;             /* share of responses that do not end before they are cut */
  gint64   epochs;              /* passes over the responses; 0: the algorithm's */
  gint     reference;           /* FrameworkSays: RlTraits */
  double   accepted;            /* of responses, that are trained on; others are made for nothing */
  gint64   generation_nodes;    /* of the cluster's, that generate alone; 0: all do all, in turn */
  gint64   off_policy_steps;    /* so many steps old may the weights be that wrote a response */
  double   reward_s;            /* of a step, behind its last response */
  char    *reward_model;        /* that reads all responses; NULL: none */
  gint     refit;               /* RlRefit */
  double   refit_tensor_s;      /* of the host, a tensor */
  gboolean keep_states;         /* in turn: states of training stay on the GPU while others run */
  double   offload_bandwidth;   /* B/s of a GPU's states to host memory or back */
  double   overhead_s;          /* of a step, with nothing on any GPU */
  gint64   seed;                /* of which response is how long */
} RlConfig;

extern const OptionSpec rl_options[];

const char *rl_algorithm_name (RlAlgorithm algorithm); /* "grpo" */

/* What SELF computes: its algorithm's traits, and what is said otherwise. */
RlTraits rl_config_traits (const RlConfig *self);

/* Responses that are trained on, and that are written for them. */
double rl_config_n_trained (const RlConfig *self);
double rl_config_n_written (const RlConfig *self);
