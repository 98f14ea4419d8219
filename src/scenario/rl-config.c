#include "scenario/rl-config.h"

#include <math.h>

#define OPTION(member) .offset = G_STRUCT_OFFSET (RlConfig, member)
#define MOST_COUNT     (1 << 24)

static const char *const algorithms[] = { "none", "grpo", "ppo", "dapo", "rloo", NULL };
static const char *const refits[] = { "gather", "reshard", NULL };
static const char *const says[] = { "auto", "true", "false", NULL };

/* DAPO leaves the divergence from the reference out of its loss (arXiv:2503.14476, 2.3). */
static const RlTraits traits[] = {
  [RL_NONE] = { FALSE, FALSE, 1 }, [RL_GRPO] = { TRUE, FALSE, 1 }, [RL_PPO] = { TRUE, TRUE, 1 },
  [RL_DAPO] = { FALSE, FALSE, 1 }, [RL_RLOO] = { TRUE, FALSE, 1 },
};

#define COUNT(key_, fallback_, min_, help_)                                            \
  .key = #key_, .type = OPTION_INT, OPTION (key_), .fallback = fallback_, .min = min_, \
  .max = MOST_COUNT, .help = help_

const OptionSpec rl_options[] = {
  { .key = "algorithm",
    .type = OPTION_ENUM,
    .choices = algorithms,
    OPTION (algorithm),
    .fallback = "none",
    .what_if = TRUE,
    .help = "what a step of reinforcement learning computes; none: the scenario trains only" },
  { COUNT (prompts, "64", 1, "of a step") },
  { COUNT (responses, "16", 1, "to each prompt") },
  { .key = "prompt_tokens",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    OPTION (prompt_tokens),
    .fallback = "128",
    .min = 1,
    .max = MOST_COUNT,
    .help = "of a prompt" },
  { .key = "response_tokens",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    OPTION (response_tokens),
    .fallback = "1024",
    .min = 1,
    .max = MOST_COUNT,
    .help = "of a response, mean; those cut at 'training.seq_len' included" },
  { .key = "length_spread",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    OPTION (length_spread),
    .fallback = "0.5",
    .min = 0,
    .max = 10,
    .or_zero = TRUE,
    .help =
        "of responses before they are cut: standard deviation over mean, log-normal [estimate]" },
  { .key = "response_overhead",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_TIME,
    OPTION (response_overhead_s),
    .fallback = "50 us",
    .min = 0,
    .max = 1,
    .or_zero = TRUE,
    .help = "of the host between two steps that write, for each response: its place in the batch, "
            "its token's text and log-probability [derived]",
    .source = "what steps of 12 to 105 sequences take beside the GPU's work (NeMo-RL 0.3: four "
              "models)" },
  { .key = "endless",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    OPTION (endless),
    .fallback = "0.001",
    .min = 0,
    .max = 1,
    .or_zero = TRUE,
    .help = "share of responses that do not end before they are cut, at least one unless 0: the "
            "longest decides when a step is written [estimate]",
    .source = "NeMo-RL 0.3: 287 s for responses of 749 tokens cut at 16 384, 18 ms a token" },
  { COUNT (epochs, "0", 0, "passes of training over the responses; 0: the algorithm's"),
    .or_zero = TRUE },
  { .key = "reference",
    .type = OPTION_ENUM,
    .choices = says,
    OPTION (reference),
    .fallback = "auto",
    .help = "log-probabilities of the weights that training began with are computed too; auto: as "
            "the algorithm does" },
  { .key = "accepted",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    OPTION (accepted),
    .fallback = "1",
    .min = 0.01,
    .max = 1,
    .help = "share of responses that are trained on: others were made for nothing, as where all of "
            "a group are right" },
  { COUNT (generation_nodes, "0", 0,
           "of the cluster's, that write responses and nothing else; 0: "
           "all GPUs write, score and train in turn"),
    .or_zero = TRUE },
  { COUNT (off_policy_steps, "0", 0,
           "so many steps old may weights be that wrote a response; "
           "needs 'generation_nodes'"),
    .or_zero = TRUE },
  { .key = "reward_time",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_TIME,
    OPTION (reward_s),
    .fallback = "0 s",
    .min = 0,
    .max = 1e6,
    .or_zero = TRUE,
    .help = "of a step, from its last response to all rewards: verifiers, sandboxes" },
  { .key = "reward_model",
    .type = OPTION_STRING,
    OPTION (reward_model),
    .optional = TRUE,
    .help = "that reads all responses on the mesh of training: a shipped model's name" },
  { .key = "refit",
    .type = OPTION_ENUM,
    .choices = refits,
    OPTION (refit),
    .fallback = "gather",
    .help = "how new weights come to where responses are written: every rank gathers each tensor "
            "and keeps its part, or gets its part alone",
    .source = "NeMo-RL and verl gather; NeMo-RL PR 2971 reshards" },
  { .key = "refit_tensor",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_TIME,
    OPTION (refit_tensor_s),
    .fallback = "200 us",
    .min = 0,
    .max = 10,
    .or_zero = TRUE,
    .help = "what the host does for each tensor of the model as weights travel: a name, a view, a "
            "copy [estimate]",
    .source = "0.16 to 0.5 ms a tensor of two models (NeMo-RL PR 3294)" },
  { .key = "keep_states",
    .type = OPTION_BOOL,
    OPTION (keep_states),
    .fallback = "false",
    .help =
        "in turn: weights, gradients and the optimizer's states stay on the GPU while responses "
        "are written; else they are in host memory meanwhile" },
  { .key = "offload_bandwidth",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BANDWIDTH,
    OPTION (offload_bandwidth),
    .fallback = "5 GB/s",
    .min = 1e6,
    .max = 1e13,
    .help = "of a GPU's states to pageable host memory and back [estimate]",
    .source = "23 s of 102 GB in and out (NeMo-RL PR 3294), 5 s of 28 GB out (NeMo-RL 0.3)" },
  { .key = "overhead",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_TIME,
    OPTION (overhead_s),
    .fallback = "0 s",
    .min = 0,
    .max = 1e6,
    .or_zero = TRUE,
    .help = "of a step, with nothing on any GPU: data that the controller moves, checkpoints" },
  { COUNT (seed, "0", 0, "of which response is how long"), .or_zero = TRUE },
  { 0 },
};

const char *
rl_algorithm_name (RlAlgorithm algorithm)
{
  return algorithms[algorithm];
}

RlTraits
rl_config_traits (const RlConfig *self)
{
  RlTraits own = traits[self->algorithm];

  if (self->reference != SAYS_AUTO)
    own.reference = self->reference == SAYS_TRUE;
  if (self->epochs > 0)
    own.epochs = self->epochs;
  return own;
}

double
rl_config_n_trained (const RlConfig *self)
{
  return (double) self->prompts * (double) self->responses;
}

double
rl_config_n_written (const RlConfig *self)
{
  return ceil (rl_config_n_trained (self) / self->accepted);
}
