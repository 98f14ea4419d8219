#include "decide/search/rl-search.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "decide/search/rl-layouts.h"

#define ORIGIN       "search"
#define TRAINED      8 /* configurations of training to try, beside the Pareto front */
#define WAVE         4 /* steps at a time, on however many threads */
#define DEFAULT_BEST 10

/* A step to simulate, and what came of it. */
typedef struct
{
  RlFound *found;
  char    *reason; /* why there is no step; NULL: there is one */
} Try;

typedef struct
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const SearchOptions  *options;
  const PredictOptions *predict;
  PredictOptions        one; /* of a step: whole, whatever the time */
  guint                 n_nodes, n_gpus, gpus_per_node;
  gint64                n_experts;
  RlSearchResult       *result;
  DiagList             *diags;
  GError              **error;
} Search;

/* What is settled of a split while its steps are tried. */
typedef struct
{
  Search       *search;
  guint         nodes; /* that generate alone; 0: all do all */
  SearchResult *trained;
  guint         first;   /* of TRAINED: with which layouts are compared */
  GArray       *layouts; /* RlLayout, the shortest bound first */
  RlFound      *best;    /* in the result; NULL: nothing fits */
  RlLayout      layout;  /* of it */
} Split;

/* ---- results --------------------------------------------------------------------------------- */

static void
found_free (gpointer data)
{
  RlFound *self = data;

  g_free (self->label);
  g_free (self->options);
  g_clear_pointer (&self->scenario, scenario_free);
  g_clear_pointer (&self->step, rl_step_free);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (RlFound, found_free)

void
rl_search_result_free (RlSearchResult *self)
{
  g_ptr_array_unref (self->found);
  g_free (self->reason);
  g_free (self);
}

/* Those that are alike stay in the order of the search of training. */
static gint
compare_found (gconstpointer a, gconstpointer b)
{
  const RlFound *x = *(const RlFound *const *) a, *y = *(const RlFound *const *) b;

  if (x->step->step_time_s != y->step->step_time_s)
    return x->step->step_time_s < y->step->step_time_s ? -1 : 1;
  if (x->step->phases[RL_TRAINING] != y->step->phases[RL_TRAINING])
    return x->step->phases[RL_TRAINING] < y->step->phases[RL_TRAINING] ? -1 : 1;
  return 0;
}

static void
note (Search *self, const char *reason)
{
  g_free (self->result->reason);
  self->result->reason = g_strdup (reason);
}

static gboolean
is_open (const Search *self, const OptionSpec *table, const char *key)
{
  return !option_marks_has (scenario_marks (self->scenario, table), key);
}

/* ---- training -------------------------------------------------------------------------------- */

/* Sequences of a batch that the GPUs of TRAINING divide, about as many as packed responses fill. */
static gint64
batch_of (const Search *self, guint n_gpus)
{
  const TrainingOptions *training = &self->scenario->training;
  const RlConfig        *rl = &self->scenario->rl;
  const double           responses =
      training->global_batch > 0 ? (double) training->global_batch : rl_config_n_trained (rl);
  const double length = rl->prompt_tokens + rl->response_tokens;
  gint64       batch = n_gpus;

  while ((double) batch * (double) training->seq_len < responses * length)
    batch *= 2;
  return batch;
}

/* What NODES fewer than all train, without reinforcement learning. NULL after diagnostics. */
static Scenario *
training_alone (Search *self, guint nodes)
{
  const Scenario      *scenario = self->scenario;
  const double         length = scenario->rl.prompt_tokens + scenario->rl.response_tokens;
  g_autofree char     *document = g_strdup_printf ("%.0f", ceil (length));
  ScenarioOverride     overrides[2];
  guint                n = 0;
  g_autoptr (Scenario) plain = scenario_copy (scenario);
  Scenario            *alone;

  plain->rl.algorithm = RL_NONE;
  plain->training.global_batch = batch_of (self, (self->n_nodes - nodes) * self->gpus_per_node);
  plain->training.grad_accum = 1;
  if (scenario->training.loss == LOSS_AUTO) /* as rl-step.c has it */
    overrides[n++] = (ScenarioOverride){ "training.loss", "fp32", ORIGIN };
  if (length < (double) scenario->training.seq_len
      && is_open (self, training_options, "document_length"))
    overrides[n++] = (ScenarioOverride){ "training.document_length", document, ORIGIN };
  alone = scenario_with (plain, self->strategies, overrides, n, self->diags);
  if (alone == NULL || nodes == 0)
    return alone;
  g_clear_pointer (&plain, scenario_free);
  plain = alone;
  return scenario_on_nodes (plain, self->strategies, scenario_node_type (scenario),
                            self->n_nodes - nodes, NULL, ORIGIN, self->diags);
}

static SearchResult *
search_training (Search *self, guint nodes)
{
  g_autoptr (Scenario) alone = training_alone (self, nodes);
  SearchOptions        options = *self->options;

  if (alone == NULL)
    return NULL;
  options.objective = SEARCH_THROUGHPUT;
  options.n_best = TRAINED;
  return search_run (alone, self->strategies, NULL, 0, FALSE, &options, self->predict, self->diags,
                     self->error);
}

/* ---- whole steps ----------------------------------------------------------------------------- */

/* TRAINED, which a search of training alone made, as a part of the step. NULL after diagnostics. */
static Scenario *
whole_scenario (const Search *self, const Scenario *trained, guint nodes, const RlLayout *layout,
                DiagList *diags)
{
  const Scenario *from = self->scenario;
  Scenario       *whole;

  if (nodes > 0)
    whole = scenario_on_nodes (trained, self->strategies, scenario_node_type (from), self->n_nodes,
                               NULL, ORIGIN, diags);
  else
    whole = scenario_copy (trained);
  if (whole == NULL)
    return NULL;
  whole->training.global_batch = from->training.global_batch;
  whole->training.grad_accum = from->training.grad_accum;
  whole->training.document_length = from->training.document_length;
  whole->training.loss = from->training.loss;
  whole->rl.algorithm = from->rl.algorithm;
  whole->rl.generation_nodes = nodes;
  whole->generation.tp = layout->tp;
  whole->generation.pp = layout->pp;
  whole->generation.dp = layout->dp;
  return whole;
}

static void
add_choice (const Search *self, const OptionSpec *table, const char *key, gint64 value,
            GString *options, GString *label)
{
  const char      *dot = strchr (key, '.');
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, value);
  g_autofree char *words = scenario_option_text (key, text);

  if (!is_open (self, table, dot + 1))
    return;
  g_string_append_printf (options, "%s%s", options->len > 0 ? " " : "", words);
  g_string_append_printf (label, "%s%s=%s", label->len > 0 ? " " : "", dot + 1, text);
}

/* TRAINED with LAYOUT on NODES, not yet simulated. NULL after diagnostics. */
static RlFound *
found_new (const Split *self, const SearchFound *trained, const RlLayout *layout, DiagList *diags)
{
  const Search *search = self->search;
  Scenario     *whole = whole_scenario (search, trained->scenario, self->nodes, layout, diags);
  g_autoptr (GString) options = g_string_new (trained->options), label = g_string_new (NULL);
  RlFound            *found;

  if (whole == NULL)
    return NULL;
  add_choice (search, generation_options, "generation.tp", layout->tp, options, label);
  add_choice (search, generation_options, "generation.pp", layout->pp, options, label);
  if (search->n_experts > 0)
    add_choice (search, generation_options, "generation.dp", layout->dp, options, label);
  if (self->nodes > 0)
    add_choice (search, rl_options, "rl.generation_nodes", self->nodes, options, label);
  found = g_new0 (RlFound, 1);
  found->scenario = whole;
  found->options = g_strdup (options->str);
  found->label =
      g_strdup_printf ("%s%s%s", trained->label, label->len > 0 ? "; generation " : "", label->str);
  return found;
}

typedef struct
{
  Split              *split;
  const SearchFound **trained; /* [n] */
  const RlLayout    **layouts;
  Try                *tries;
} Wave;

static void
try_one (guint i, gpointer user)
{
  const Wave          *wave = user;
  const Search        *search = wave->split->search;
  Try                 *one = &wave->tries[i];
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;

  one->found = found_new (wave->split, wave->trained[i], wave->layouts[i], diags);
  if (one->found != NULL)
    one->found->step =
        rl_step_predict (one->found->scenario, search->strategies, &search->one, diags, &error);
  if (one->found != NULL && one->found->step != NULL)
    return;
  g_clear_pointer (&one->found, found_free);
  one->reason = g_strdup (error != NULL ? error->message : diag_list_first_message (diags));
}

/* Keeps what fits of ONE, with LAYOUT. */
static void
take (Split *self, Try *one, const RlLayout *layout)
{
  Search *search = self->search;

  search->result->n_steps++;
  if (one->found == NULL)
    note (search, one->reason);
  else if (!one->found->step->training->fits)
    {
      note (search, "training does not fit once its sequences are packed");
      g_clear_pointer (&one->found, found_free);
    }
  else
    {
      if (self->best == NULL || compare_found (&one->found, &self->best) < 0)
        {
          self->best = one->found;
          self->layout = *layout;
        }
      g_ptr_array_add (search->result->found, one->found);
    }
  g_free (one->reason);
}

/* Simulates N steps, at most WAVE, of TRAINED[i] with LAYOUTS[i]. */
static void
try_wave (Split *self, const SearchFound **trained, const RlLayout **layouts, guint n)
{
  Try  tries[WAVE] = { 0 };
  Wave wave = { self, trained, layouts, tries };

  parallel_run (n, MAX (self->search->options->n_threads, 1), try_one, &wave, NULL);
  for (guint i = 0; i < n; i++)
    take (self, &tries[i], layouts[i]);
}

static gboolean
is_over (Search *self)
{
  self->result->is_cut = self->result->is_cut || stop_cuts (self->predict->replay.stop);
  return self->result->is_cut;
}

/* ---- layouts of generation ------------------------------------------------------------------- */

static const SearchFound *
trained_at (const Split *self, guint i)
{
  return g_ptr_array_index (self->trained->found, i);
}

static RlLayout *
layout_at (const Split *self, guint i)
{
  return &g_array_index (self->layouts, RlLayout, i);
}

static void
bound_one (guint i, gpointer user)
{
  Split               *self = user;
  RlLayout            *layout = layout_at (self, i);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Scenario) whole =
      whole_scenario (self->search, trained_at (self, 0)->scenario, self->nodes, layout, diags);

  if (whole != NULL)
    layout->least =
        rl_step_least_generation (whole, self->search->strategies, &self->search->one, diags);
  if (isinf (layout->least))
    layout->reason = g_strdup (diag_list_n_errors (diags) > 0
                                   ? diag_list_first_message (diags)
                                   : "its weights and the longest response do not fit");
}

/* Those that fit, the shortest bound first. */
static void
bound_layouts (Split *self)
{
  const Search    *search = self->search;
  const guint      n_gpus = self->nodes > 0 ? self->nodes * search->gpus_per_node : search->n_gpus;
  const SearchRoom room = { .n_gpus = n_gpus,
                            .gpus_per_node = search->gpus_per_node,
                            .n_experts = search->n_experts };
  guint            n;

  self->layouts = rl_layouts_list (search->scenario, &room);
  n = self->layouts->len;
  search->result->n_layouts += n;
  parallel_run (n, MAX (search->options->n_threads, 1), bound_one, self, NULL);
  for (guint i = 0; i < n; i++)
    if (layout_at (self, i)->reason != NULL)
      note (self->search, layout_at (self, i)->reason);
  rl_layouts_keep (self->layouts);
  search->result->n_too_large += n - self->layouts->len;
}

/* Whether LAYOUT may be faster than the best. */
static gboolean
may_win (const Split *self, const RlLayout *layout)
{
  const RlConfig *rl = &self->search->scenario->rl;

  return self->best == NULL
         || rl_step_least_with (self->best->step, rl, layout->least)
                < self->best->step->step_time_s;
}

/* ---- a split --------------------------------------------------------------------------------- */

/* A wave of layouts from number FROM on that may be the fastest. The number of the next one. */
static guint
try_some (Split *self, guint from)
{
  const SearchFound *trained[WAVE];
  const RlLayout    *layouts[WAVE];
  guint              n = 0;

  for (; n < WAVE && from + n < self->layouts->len; n++)
    {
      layouts[n] = layout_at (self, from + n);
      trained[n] = trained_at (self, self->first);
      if (!may_win (self, layouts[n]))
        break;
    }
  try_wave (self, trained, layouts, n);
  return from + n;
}

/*
 * By bounds, with the first configuration of training that packed responses run: stages may be too
 * many for them.
 */
static void
try_layouts (Split *self)
{
  guint last = 0, next = try_some (self, 0);

  while (self->best == NULL && self->first + 1 < self->trained->found->len
         && !is_over (self->search))
    {
      self->first++;
      next = try_some (self, 0);
    }
  while (next > last && !is_over (self->search))
    {
      last = next;
      next = try_some (self, next);
    }
  self->search->result->n_cut += self->layouts->len - next;
}

/*
 * With the fastest layout. Behind the fastest the Pareto front follows: what trains slower, and has
 * fewer states to move to host memory and back, may be faster as a whole.
 */
static void
try_training (Split *self)
{
  const guint        n = self->trained->found->len;
  const RlLayout     layout = self->layout;
  const SearchFound *trained[WAVE];
  const RlLayout    *layouts[WAVE];

  for (guint i = self->first + 1; i < n && !is_over (self->search);)
    {
      guint k = 0;

      for (; k < WAVE && i < n; k++, i++)
        {
          trained[k] = trained_at (self, i);
          layouts[k] = &layout;
        }
      try_wave (self, trained, layouts, k);
    }
}

/*
 * Tries NODES that generate alone. Below 0: fewer should, as they wait or too little is left to
 * train; above: more. FALSE after diagnostics, or with an error.
 */
static gboolean
try_split (Search *self, guint nodes, gint *direction)
{
  g_autoptr (SearchResult) trained = search_training (self, nodes);
  Split                    split = { .search = self, .nodes = nodes, .trained = trained };

  if (trained == NULL)
    return FALSE;
  self->result->n_splits++;
  self->result->n_open += trained->n_open;
  *direction = -1;
  if (trained->found->len == 0)
    {
      note (self, trained->drops->len > 0 && trained->n_refused > trained->n_too_large
                      ? g_array_index (trained->drops, SearchDrop, 0).reason
                      : "no configuration of training fits");
      return TRUE;
    }
  work_count_step (self->predict->count, "simulating steps", TRUE, 0);
  bound_layouts (&split);
  *direction = 1;
  if (split.layouts->len > 0)
    try_layouts (&split);
  if (split.best != NULL)
    try_training (&split);
  if (split.best != NULL && split.best->step->idle_generating > split.best->step->idle_training)
    *direction = -1;
  g_array_unref (split.layouts);
  return TRUE;
}

/* ---- splits ---------------------------------------------------------------------------------- */

/* Nodes that may generate alone: eighths of all, from an eighth to six. */
static GArray *
list_splits (const Search *self)
{
  static const guint eighths[] = { 1, 2, 3, 4, 5, 6 };
  const RlConfig    *rl = &self->scenario->rl;
  GArray            *splits = g_array_new (FALSE, FALSE, sizeof (guint));
  guint              nodes = (guint) rl->generation_nodes;

  if (rl->off_policy_steps == 0 || !is_open (self, rl_options, "generation_nodes"))
    {
      g_array_append_val (splits, nodes);
      return splits;
    }
  for (guint i = 0; i < G_N_ELEMENTS (eighths) && self->n_nodes > 1; i++)
    {
      const guint last = nodes;

      nodes = MAX ((self->n_nodes * eighths[i] + 4) / 8, 1);
      if (nodes > last && nodes < self->n_nodes)
        g_array_append_val (splits, nodes);
      nodes = MAX (nodes, last);
    }
  if (splits->len == 0) /* what does not go together is said as of any scenario */
    g_array_append_val (splits, self->n_nodes);
  return splits;
}

static gboolean
check (const Search *self, guint nodes)
{
  g_autoptr (Scenario) split = scenario_copy (self->scenario);

  split->rl.generation_nodes = nodes;
  return rl_step_check (split, self->predict, self->diags);
}

/* By halves: who waits gives nodes away. */
static gboolean
try_splits (Search *self)
{
  g_autoptr (GArray) splits = list_splits (self);
  gint               low = 0, high = (gint) splits->len - 1;

  if (!check (self, g_array_index (splits, guint, 0)))
    return FALSE;
  while (low <= high && (self->result->n_splits == 0 || !is_over (self)))
    {
      const gint middle = (low + high) / 2;
      gint       direction;

      if (!try_split (self, g_array_index (splits, guint, middle), &direction))
        return FALSE;
      if (direction > 0)
        low = middle + 1;
      else
        high = middle - 1;
    }
  return TRUE;
}

/* GPUs and the model, whatever is chosen. */
static gboolean
find_room (Search *self)
{
  const Scenario        *scenario = self->scenario;
  g_autoptr (ProfileSet) profiles = predict_profiles (self->predict);
  g_autoptr (Cluster)    cluster = scenario_cluster_new (scenario, profiles, self->diags);
  ModelShape             shape = { 0 };
  gboolean ok = model_resolve (&scenario->model, scenario->base_dir, profile_set_files (profiles),
                               &shape, scenario_marks (scenario, model_options), self->diags);

  if (ok)
    self->n_experts = shape.n_experts;
  model_shape_clear (&shape);
  if (cluster == NULL || !ok)
    return FALSE;
  self->n_nodes = cluster_n_nodes (cluster);
  self->n_gpus = cluster_n_gpus (cluster);
  self->gpus_per_node = cluster_gpus_of_node (cluster, 0);
  return TRUE;
}

RlSearchResult *
rl_search_run (const Scenario *scenario, const StrategySet *strategies,
               const SearchOptions *options, const PredictOptions *predict, DiagList *diags,
               GError **error)
{
  g_autoptr (RlSearchResult) result = g_new0 (RlSearchResult, 1);
  Search                     self = { .scenario = scenario,
                                      .strategies = strategies,
                                      .options = options,
                                      .predict = predict,
                                      .one = *predict,
                                      .result = result,
                                      .diags = diags,
                                      .error = error };
  const guint                n_best = options->n_best > 0 ? options->n_best : DEFAULT_BEST;

  self.one.count = NULL;
  self.one.replay.stop = NULL;
  result->found = g_ptr_array_new_with_free_func (found_free);
  if (!find_room (&self) || !try_splits (&self))
    return NULL;
  g_ptr_array_sort (result->found, compare_found);
  if (result->found->len > n_best)
    g_ptr_array_set_size (result->found, (gint) n_best);
  return g_steal_pointer (&result);
}
