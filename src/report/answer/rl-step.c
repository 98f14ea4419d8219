#include "report/answer/rl-step.h"

#include "report/document/html-private.h"
#include "report/document/json-private.h"

#define PHASE(name_, phase_, about_)                                                        \
  {                                                                                         \
#name_ "_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL, COLUMN_MEMBER(RlStep, phases[phase_]), \
        .about = about_                                                                     \
  }

static const Column columns[] = {
  { "scenario", NULL, COLUMN_WORD, COLUMN_ORIGIN, COLUMN_MEMBER (RlStep, scenario) },
  { "model", NULL, COLUMN_WORD, COLUMN_ORIGIN, COLUMN_MEMBER (RlStep, model) },
  { "cluster", NULL, COLUMN_WORD, COLUMN_ORIGIN, COLUMN_MEMBER (RlStep, cluster) },
  { "algorithm", NULL, COLUMN_WORD, COLUMN_ORIGIN, COLUMN_MEMBER (RlStep, algorithm) },
  { "n_gpus", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (RlStep, n_gpus) },
  { "n_generating", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (RlStep, n_generating),
    .about = "GPUs that generate and do nothing else; 0: all do all, in turn" },
  { "off_policy_steps", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (RlStep, off_policy_steps) },
  { "step_time_s", NULL, COLUMN_TIME, 0, COLUMN_MEMBER (RlStep, step_time_s),
    .about = "from one update of the generator's weights to the next" },
  { "tokens_per_s_per_gpu", NULL, COLUMN_RATE, COLUMN_MORE,
    COLUMN_MEMBER (RlStep, tokens_per_s_per_gpu),
    .about = "of prompts and responses that are trained on" },
  PHASE (generation, RL_GENERATION, "until the last response is written"),
  PHASE (reward, RL_REWARD, "by verifiers"),
  PHASE (scores, RL_SCORES, "a reward model reads all responses"),
  PHASE (policy, RL_POLICY, "log-probabilities of all responses"),
  PHASE (reference, RL_REFERENCE, "the same of the weights that training began with"),
  PHASE (values, RL_VALUES, "the critic's"),
  PHASE (training, RL_TRAINING, "all optimizer steps"),
  PHASE (critic_training, RL_CRITIC_TRAINING, "the same of the critic"),
  PHASE (states, RL_STATES, "states and weights that move to host memory and back"),
  PHASE (refit, RL_REFIT, "new weights on their way to the generator"),
  PHASE (overhead, RL_OVERHEAD, "nothing runs on any GPU"),
  { "idle_generating", NULL, COLUMN_RATIO, COLUMN_OPTIONAL, COLUMN_MEMBER (RlStep, idle_generating),
    .about = "of the step, the GPUs that generate wait" },
  { "idle_training", NULL, COLUMN_RATIO, COLUMN_OPTIONAL, COLUMN_MEMBER (RlStep, idle_training),
    .about = "of the step, the GPUs that train wait" },
  { "n_responses", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (RlStep, n_responses),
    .about = "that are trained on" },
  { "n_written", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (RlStep, n_written),
    .about = "for them, those that are left out included" },
  { "prompt_tokens", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (RlStep, prompt_tokens) },
  { "response_tokens", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (RlStep, response_tokens),
    .about = "mean" },
  { "longest_response", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (RlStep, longest_response) },
  { "n_updates", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (RlStep, n_updates),
    .about = "optimizer steps" },
  { "micro_steps", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (RlStep, packed.windows),
    .about = "of each: micro-batches that a data rank's responses are packed into" },
  { "filled_tokens", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (RlStep, packed.filled),
    .about = "of such a micro-batch" },
  { "mean_batch", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (RlStep, generation.mean_batch),
    .about = "responses that a replica writes at a time" },
  { "peak_cache", NULL, COLUMN_RATIO, 0, COLUMN_MEMBER (RlStep, generation.peak_cache),
    .about = "of the cache's room" },
  { "preempted", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (RlStep, generation.n_preempted),
    .about = "times that a response lost its cache" },
  { "update_step_s", NULL, COLUMN_TIME, 0, COLUMN_VIA (RlStep, training, step_time_s),
    .about = "one optimizer step" },
  { "mfu_percent", NULL, COLUMN_PERCENT, 0, COLUMN_VIA (RlStep, training, mfu_percent),
    .about = "of it" },
  { "refit_bytes", NULL, COLUMN_BYTES, 0, COLUMN_MEMBER (RlStep, refit.rank_bytes),
    .about = "that a rank receives as weights travel" },
  { "refit_host_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL, COLUMN_MEMBER (RlStep, refit.host_s),
    .about = "of the host, a tensor after the other" },
  { "refit_gather_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL, COLUMN_MEMBER (RlStep, refit.gather_s),
    .about = "between GPUs that train" },
  { "refit_hand_over_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL,
    COLUMN_MEMBER (RlStep, refit.hand_over_s), .about = "to GPUs that generate" },
  { "state_bytes", NULL, COLUMN_BYTES, COLUMN_OPTIONAL, COLUMN_MEMBER (RlStep, state_bytes),
    .about = "a GPU's, of training, that leave it while others run" },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* ---- the split of a step --------------------------------------------------------------------- */

typedef struct
{
  const char *name, *gpus;
  double      seconds, of;
} PhaseRow;

static char *
show_share (const Column *column, gconstpointer row)
{
  (void) column;
  return document_share (((const PhaseRow *) row)->seconds, ((const PhaseRow *) row)->of);
}

COLUMN_NUMBER_OF (PhaseRow, share, p->seconds / p->of)

static const Column phase_columns[] = {
  { "phase", "phase", COLUMN_WORD, 0, COLUMN_MEMBER (PhaseRow, name) },
  { "gpus", "GPUs", COLUMN_WORD, 0, COLUMN_MEMBER (PhaseRow, gpus) },
  { "seconds", "time", COLUMN_TIME, 0, COLUMN_MEMBER (PhaseRow, seconds) },
  { "share", "of the step", COLUMN_RATIO, 0, .number = share, .show = show_share },
  { 0 },
};

static const char *
gpus_of (const RlStep *self, RlPhase phase)
{
  if (self->n_generating == 0 || phase == RL_REFIT || phase == RL_OVERHEAD)
    return "all";
  return rl_phase_generates (phase) ? "that generate" : "that train";
}

void
describe_rl_phases (Document *document, const RlStep *self)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (PhaseRow));

  for (RlPhase p = 0; p < RL_N_PHASES; p++)
    {
      const PhaseRow row = { rl_phase_names[p], gpus_of (self, p), self->phases[p],
                             self->step_time_s };

      if (row.seconds > 0)
        g_array_append_val (rows, row);
    }
  document_section (document, "Where the time goes");
  document_table (document, phase_columns, rows_of_array (rows));
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void
describe_pools (Document *document, const RlStep *self)
{
  if (self->n_generating == 0)
    return;
  document_fact (document, "GPUs that generate wait", document_share (self->idle_generating, 1),
                 "of the step");
  document_fact (document, "GPUs that train wait", document_share (self->idle_training, 1),
                 "of the step");
}

static void
describe (Document *document, gconstpointer answer)
{
  const RlStep       *self = answer;
  g_autofree char    *seconds = document_seconds (self->step_time_s);
  g_autofree char    *device = document_bytes ((double) self->training->hbm.device);
  g_autofree char    *capacity = document_bytes ((double) self->training->hbm.capacity);
  struct json_object *root = document_json (document);

  document_title (document, "%s of %s on %s: %.0f responses a step", self->algorithm, self->model,
                  self->cluster, self->n_responses);
  if (!self->training->fits)
    document_verdict (document, HTML_BAD, "does not fit: training takes %s of a GPU's %s", device,
                      capacity);
  else
    document_verdict (document, HTML_GOOD, "%s a step, %.1f tokens/s/GPU", seconds,
                      self->tokens_per_s_per_gpu);
  document_fact (document, "responses", g_strdup_printf ("%.0f tokens", self->response_tokens),
                 "mean");
  document_fact (document, "longest response",
                 g_strdup_printf ("%.0f tokens", self->longest_response), NULL);
  document_fact (document, "written at a time",
                 g_strdup_printf ("%.1f", self->generation.mean_batch), "a replica");
  document_fact (document, "lost their cache", g_strdup_printf ("%u", self->generation.n_preempted),
                 "times");
  document_fact (document, "optimizer steps", g_strdup_printf ("%u", self->n_updates),
                 "of one batch each");
  document_fact (document, "an optimizer step", document_seconds (self->training->step_time_s),
                 NULL);
  document_fact (document, "micro-batches", g_strdup_printf ("%.0f", self->packed.windows),
                 "a data rank");
  document_fact (document, "weights that a rank receives", document_bytes (self->refit.rank_bytes),
                 NULL);
  describe_pools (document, self);
  describe_rl_phases (document, self);
  document_results (document, NULL, columns, (Rows){ self, 1, sizeof (RlStep) });
  if (root != NULL)
    json_object_object_add (root, "rl", column_object (columns, self));
}

const PageKind rl_step_answer = { .describe = describe, .columns = columns };
