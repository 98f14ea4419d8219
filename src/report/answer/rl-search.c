#include "report/answer/rl-search.h"

#include "report/answer/rl-step.h"
#include "report/document/html-private.h"
#include "report/document/json-private.h"

#define PHASE(name_, phase_)                                                                   \
  {                                                                                            \
#name_ "_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL, COLUMN_VIA(RlFound, step, phases[phase_]) \
  }

static const Column columns[] = {
  { "scenario", NULL, COLUMN_WORD, COLUMN_ORIGIN, COLUMN_VIA (RlFound, step, scenario) },
  { "model", NULL, COLUMN_WORD, COLUMN_ORIGIN, COLUMN_VIA (RlFound, step, model) },
  { "cluster", NULL, COLUMN_WORD, COLUMN_ORIGIN, COLUMN_VIA (RlFound, step, cluster) },
  { "step_time_s", "step", COLUMN_TIME, 0, COLUMN_VIA (RlFound, step, step_time_s),
    .about = "from one update of the generator's weights to the next" },
  { "tokens_per_s_per_gpu", "tokens/s/GPU", COLUMN_RATE, COLUMN_MORE,
    COLUMN_VIA (RlFound, step, tokens_per_s_per_gpu),
    .about = "of prompts and responses that are trained on" },
  { "generation_s", "generation", COLUMN_TIME, 0, COLUMN_VIA (RlFound, step, phases[RL_GENERATION]),
    .about = "until the last response is written" },
  PHASE (reward, RL_REWARD),
  PHASE (policy, RL_POLICY),
  PHASE (reference, RL_REFERENCE),
  PHASE (values, RL_VALUES),
  { "training_s", "training", COLUMN_TIME, 0, COLUMN_VIA (RlFound, step, phases[RL_TRAINING]),
    .about = "all optimizer steps" },
  PHASE (critic_training, RL_CRITIC_TRAINING),
  PHASE (states, RL_STATES),
  PHASE (refit, RL_REFIT),
  PHASE (overhead, RL_OVERHEAD),
  { "n_generating", "generate alone", COLUMN_COUNT, COLUMN_IF_ANY,
    COLUMN_VIA (RlFound, step, n_generating),
    .about = "GPUs that generate and do nothing else; 0: all do all, in turn" },
  { "idle_generating", "they wait", COLUMN_RATIO, COLUMN_OPTIONAL | COLUMN_IF_ANY,
    COLUMN_VIA (RlFound, step, idle_generating), .about = "of the step" },
  { "idle_training", "others wait", COLUMN_RATIO, COLUMN_OPTIONAL | COLUMN_IF_ANY,
    COLUMN_VIA (RlFound, step, idle_training), .about = "of the step" },
  { "options", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (RlFound, options),
    .about = "that lead to it from the scenario of the search" },
  { "configuration", "configuration", COLUMN_WORD, 0, COLUMN_MEMBER (RlFound, label),
    .about = "what tells it from others" },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

static const Column search_columns[] = {
  { "splits", "splits of the nodes", COLUMN_COUNT, 0, COLUMN_MEMBER (RlSearchResult, n_splits) },
  { "layouts", "layouts of generation", COLUMN_COUNT, 0,
    COLUMN_MEMBER (RlSearchResult, n_layouts) },
  { "too_large", "too large, or not of this model", COLUMN_COUNT, 0,
    COLUMN_MEMBER (RlSearchResult, n_too_large) },
  { "cut", "cut by a bound of time", COLUMN_COUNT, 0, COLUMN_MEMBER (RlSearchResult, n_cut) },
  { "steps", "steps simulated", COLUMN_COUNT, 0, COLUMN_MEMBER (RlSearchResult, n_steps) },
  { "open", "configurations of training not tried", COLUMN_COUNT, 0,
    COLUMN_MEMBER (RlSearchResult, n_open) },
  { 0 },
};

static const RlFound *
best_of (const RlSearchAnswer *self)
{
  return self->result->found->len > 0 ? g_ptr_array_index (self->result->found, 0) : NULL;
}

static void
describe_best (Document *document, const RlSearchAnswer *self)
{
  const RlFound   *best = best_of (self);
  const RlStep    *step = best->step;
  g_autofree char *seconds = document_seconds (step->step_time_s);

  document_title (document, "The best for %s of %s on %s", step->algorithm, step->model,
                  step->cluster);
  document_verdict (document, HTML_GOOD, "%s: %s a step, %.1f tokens/s/GPU", best->label, seconds,
                    step->tokens_per_s_per_gpu);
  document_copyable (document, self->command != NULL ? self->command : best->options);
  describe_rl_phases (document, step);
  document_section (document, "The best");
  document_table (document, columns, rows_of_pointers (self->result->found));
}

static void
describe_nothing (Document *document, const RlSearchResult *result)
{
  document_title (document, result->is_cut ? "Nothing was found yet" : "Nothing fits");
  document_verdict (document, HTML_BAD, "%s: of %u layouts of generation %u are too large%s%s",
                    result->is_cut ? "Nothing was found yet" : "Nothing fits", result->n_layouts,
                    result->n_too_large, result->reason != NULL ? "; " : "",
                    result->reason != NULL ? result->reason : "");
}

static void
add_json (struct json_object *root, const RlSearchAnswer *self)
{
  const RlFound      *best = best_of (self);
  struct json_object *search = column_object (search_columns, self->result);
  g_autofree char    *yaml = best != NULL ? scenario_print (best->scenario) : NULL;

  if (yaml != NULL)
    json_object_object_add (search, "scenario", json_object_new_string (yaml));
  json_object_object_add (root, "search", search);
}

static void
describe (Document *document, gconstpointer answer)
{
  const RlSearchAnswer *self = answer;

  if (best_of (self) != NULL)
    describe_best (document, self);
  else
    describe_nothing (document, self->result);
  document_section (document, "What was searched");
  document_facts (document, search_columns, self->result);
  document_results (document, "results", columns, rows_of_pointers (self->result->found));
  if (document_json (document) != NULL)
    add_json (document_json (document), self);
}

const PageKind rl_search_answer = { .describe = describe, .columns = columns };
