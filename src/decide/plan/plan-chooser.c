#include "decide/plan/plan-chooser.h"

#include <string.h>

#include "decide/plan/site-loss.h"
#include "model/optimizer/optimizer.h"
#include "posttrain/rl-step.h"

struct _PlanWinner
{
  guint     n_nodes;
  Scenario *scenario;
  char     *label, *options; /* as those of SearchFound */
  guint64   n_open;
  guint     n_failed;
  char     *failure;         /* as that of SearchResult */
  double    open_throughput; /* sequences a second that one of them may reach */
};

static void
winner_free (gpointer data)
{
  PlanWinner *self = data;

  scenario_free (self->scenario);
  g_free (self->label);
  g_free (self->options);
  g_free (self->failure);
  g_free (self);
}

WorkCount *
plan_progress_begin (const PlanProgress *self, const char *work, const char *unit, gpointer *shown)
{
  *shown = NULL;
  return self != NULL ? self->begin (self->user, work, unit, shown) : NULL;
}

void
plan_progress_end (const PlanProgress *self, const char *work, gpointer shown)
{
  if (self != NULL)
    self->end (self->user, work, shown);
}

GPtrArray *
plan_winners_new (void)
{
  return g_ptr_array_new_with_free_func (winner_free);
}

const char *
plan_chooser_type (const PlanChooser *self)
{
  return self->type != NULL ? self->type : "cluster";
}

static const char *
nodes_key (const PlanChooser *self)
{
  return self->type != NULL ? "cluster.name" : "cluster.nodes";
}

/* SCENARIO on N_NODES, else as it is. NULL after diagnostics. */
static Scenario *
scenario_on (const PlanChooser *self, const Scenario *scenario, guint n_nodes, DiagList *diags)
{
  return scenario_on_nodes (scenario, self->context->strategies, self->type, n_nodes, NULL,
                            self->type != NULL ? "--gpu-nodes" : "--node-counts", diags);
}

/* ---- what is known of a node ----------------------------------------------------------------- */

/* Weights and moments that the optimizer keeps, of which a checkpoint is made. */
static double
bytes_per_parameter (const TrainingOptions *training)
{
  return dtype_bytes (training_master_dtype (training))
         + (double) optimizer_moments (training) * dtype_bytes (optimizer_moment_dtype (training));
}

/* One node, at one place; NULL after diagnostics. */
static Cluster *
one_node (const PlanChooser *self, ProfileSet *profiles, DiagList *diags)
{
  g_autoptr (Scenario) scenario = scenario_on (self, self->scenario, 1, diags);

  if (scenario == NULL)
    return NULL;
  g_clear_pointer (&scenario->cluster.sites, g_free);
  g_clear_pointer (&scenario->cluster.site_nodes, g_free);
  scenario->cluster.wan_streams = 1;
  scenario->cluster.wan_window = 0;
  return scenario_cluster_new (scenario, profiles, diags);
}

gboolean
plan_chooser_check (const PlanChooser *self, DiagList *diags)
{
  g_autoptr (ProfileSet) profiles = predict_profiles (&self->predict);
  g_autoptr (Cluster)    cluster = one_node (self, profiles, diags);

  return cluster != NULL;
}

RunFacts
plan_chooser_facts (const PlanChooser *self, gboolean drives)
{
  RunFacts               facts = { .type = plan_chooser_type (self) };
  g_autoptr (DiagList)   diags = diag_list_new (); /* what is wrong is told by the predictions */
  g_autoptr (ProfileSet) profiles = drives ? predict_profiles (&self->predict) : NULL;
  g_autoptr (Cluster)    cluster = drives ? one_node (self, profiles, diags) : NULL;

  facts.bytes_per_parameter = bytes_per_parameter (&self->scenario->training);
  facts.has_sites = self->scenario->cluster.sites != NULL;
  if (cluster != NULL)
    facts.drive_write_bps = cluster_node_profile (cluster, 0)->nvme_write.value;
  return facts;
}

/* Products may be made in fp8. */
static gboolean
may_use_fp8 (const PlanChooser *self)
{
  gboolean varied = FALSE;

  for (guint i = 0; i < self->words->n_varied; i++)
    varied |= g_str_equal (self->words->varied[i].key, "training.fp8_recipe");
  return varied || self->scenario->training.fp8_recipe != FP8_NONE;
}

/* FLOP/s of the products of a node, by its datasheet. */
static double
full_speed (const PlanChooser *self, const Cluster *node)
{
  const gboolean fp8 = may_use_fp8 (self);
  double         flops = 0;

  for (guint gpu = 0; gpu < cluster_n_gpus (node); gpu++)
    {
      const GpuProfile *profile = cluster_gpu_profile (node, gpu);

      flops += fp8 ? MAX (profile->matmul_16bit.value, profile->matmul_fp8.value)
                   : profile->matmul_16bit.value;
    }
  return flops;
}

void
plan_chooser_limit (const PlanChooser *self, RunGoal *goal)
{
  const Scenario        *scenario = self->scenario;
  const TrainingOptions *training = &scenario->training;
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = predict_profiles (&self->predict);
  const gboolean         wants = self->searches || training->global_batch > 0;
  g_autoptr (Cluster)    node = wants ? one_node (self, profiles, diags) : NULL;
  const double           speed = node != NULL ? full_speed (self, node) : 0;
  ModelShape             shape = { 0 };

  if (node != NULL)
    {
      goal->batch = training->lengths == NULL ? training->global_batch : 0;
      goal->node_gpus = cluster_n_gpus (node);
      goal->replica = mesh_replica (&scenario->mesh);
      goal->micro = self->searches ? 0 : training->micro_batch;
    }
  if (node != NULL && self->searches
      && model_resolve (&scenario->model, scenario->base_dir, profile_set_files (profiles), &shape,
                        scenario_marks (scenario, model_options), diags))
    {
      if (training->measured_kernels == NULL && speed > 0)
        goal->token_s = flops_trained_per_token (&shape, training, &scenario->mesh, FLOPS_CAUSAL,
                                                 training->seq_len)
                        / speed;
    }
  model_shape_clear (&shape);
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* A training step, or one of reinforcement learning as a whole. */
static Prediction *
predict_step (const PlanChooser *self, const Scenario *scenario, DiagList *diags, GError **error)
{
  RlStep *step;

  if (scenario->rl.algorithm == RL_NONE)
    return predict (scenario, &self->predict, diags, error);
  step = rl_step_predict (scenario, self->context->strategies, &self->predict, diags, error);
  return step != NULL ? rl_step_to_prediction (step) : NULL;
}

static Prediction *
predict_as_it_is (const PlanChooser *self, guint n_nodes, RunChoice *choice, DiagList *diags,
                  GError **error)
{
  Prediction *prediction;

  choice->scenario = scenario_on (self, self->scenario, n_nodes, diags);
  prediction =
      choice->scenario != NULL ? predict_step (self, choice->scenario, diags, error) : NULL;
  if (prediction != NULL || !stop_is_due (self->predict.replay.stop))
    work_count_done (self->predict.count);
  return prediction;
}

static void
append_option (GString *out, const char *key, const char *value)
{
  g_autofree char *text = scenario_option_text (key, value);

  g_string_append_printf (out, "%s%s", out->len > 0 ? " " : "", text);
}

/* What 'simulate' is to be told for OPTIONS on N_NODES: newly allocated. */
static char *
command_line (const PlanChooser *self, guint n_nodes, const char *options)
{
  g_autofree char *value = self->type != NULL ? g_strdup_printf ("%u x %s", n_nodes, self->type)
                                              : g_strdup_printf ("%u", n_nodes);
  const GArray    *given = self->context->overrides;
  GString         *out = g_string_new (NULL);

  if (self->context->file != NULL)
    {
      g_autofree char *file = printable_shell_word (self->context->file);

      g_string_append (out, file);
    }
  for (guint i = 0; i < given->len; i++)
    {
      const ScenarioOverride *option = &g_array_index (given, ScenarioOverride, i);

      if (!g_str_equal (option->key, nodes_key (self)))
        append_option (out, option->key, option->value);
    }
  append_option (out, nodes_key (self), value);
  g_string_append_printf (out, " %s", options);
  return g_string_free (out, FALSE);
}

/* Why RESULT is empty. Newly allocated. */
static char *
miss_text (const SearchResult *result)
{
  const SearchMiss *miss = result->missed->len > 0 ? g_ptr_array_index (result->missed, 0) : NULL;
  g_autofree char *excess = miss != NULL ? quantity_format (QUANTITY_BYTES, miss->excess, 3) : NULL;

  if (result->n_failed > 0)
    return g_strdup_printf ("nothing was found that fits, and %u of those that were simulated "
                            "failed: %s",
                            result->n_failed, result->failure);
  if (miss != NULL)
    return g_strdup_printf ("nothing that was tried fits; with %s more: %s", excess, miss->label);
  if (result->n_too_large == 0 && result->drops->len > 0)
    return g_strdup_printf ("nothing goes together: %s",
                            g_array_index (result->drops, SearchDrop, 0).reason);
  return g_strdup ("nothing that was tried fits");
}

/* What is faster than the answer of RESULT, and why it is not it; NULL: nothing. */
static char *
faster_text (const SearchResult *result)
{
  const SearchFound *fastest = g_ptr_array_index (result->found, 0);
  g_autofree char   *faster = search_faster_text (result);

  return faster != NULL ? g_strdup_printf ("%s is %s", fastest->label, faster) : NULL;
}

/* The best that is found on N_NODES, with its prediction. NULL as of RunChoose. */
static PlanWinner *
find_winner (const PlanChooser *self, guint n_nodes, RunChoice *choice, Prediction **prediction,
             DiagList *diags, GError **error)
{
  g_autoptr (Scenario) scenario = scenario_on (self, self->scenario, n_nodes, diags);
  g_autofree char *work = g_strdup_printf ("searching %u x %s", n_nodes, plan_chooser_type (self));
  PredictOptions   predict = self->predict;
  gpointer         shown;
  PlanWinner      *winner;
  SearchFound     *best;
  guint            at = 0; /* of the answer among what was found */
  g_autoptr (SearchResult) result = NULL;

  if (scenario == NULL)
    return NULL;
  predict.count = plan_progress_begin (self->context->progress, work, "steps", &shown);
  result =
      search_run (scenario, self->context->strategies, self->words->varied, self->words->n_varied,
                  self->words->only, self->search, &predict, diags, error);
  plan_progress_end (self->context->progress, work, shown);
  if (result == NULL || result->found->len == 0)
    {
      if (result != NULL && !result->is_cut)
        choice->why = miss_text (result);
      return NULL;
    }
  g_ptr_array_find (result->found, result->headline, &at);
  best = g_ptr_array_index (result->found, at);
  choice->faster = faster_text (result);
  *prediction = g_steal_pointer (&best->prediction);
  winner = g_new0 (PlanWinner, 1);
  *winner = (PlanWinner){ .n_nodes = n_nodes,
                          .scenario = g_steal_pointer (&best->scenario),
                          .label = g_steal_pointer (&best->label),
                          .options = g_steal_pointer (&best->options),
                          .n_open = result->n_open,
                          .n_failed = result->n_failed,
                          .failure = g_strdup (result->failure),
                          .open_throughput = result->open_gain * (*prediction)->samples_per_s };
  g_ptr_array_add (self->winners, winner);
  return winner;
}

static PlanWinner *
known_winner (const PlanChooser *self, guint n_nodes)
{
  for (guint i = 0; i < self->winners->len; i++)
    {
      PlanWinner *winner = g_ptr_array_index (self->winners, i);

      if (winner->n_nodes == n_nodes)
        return winner;
    }
  return NULL;
}

/* What WINNER is on N_NODES, its scenario into *SCENARIO; NULL: it cannot be there. */
static Prediction *
predict_winner (const PlanChooser *self, guint n_nodes, const PlanWinner *winner,
                Scenario **scenario)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  Prediction          *prediction;

  *scenario = scenario_on (self, winner->scenario, n_nodes, diags);
  prediction = *scenario != NULL ? predict (*scenario, &self->predict, diags, &error) : NULL;
  if (prediction != NULL && prediction->fits
      && (double) prediction->hbm.device
             <= (double) prediction->hbm.capacity * (1 - self->search->memory_margin)
      && (self->search->max_hbm == 0 || (double) prediction->hbm.device <= self->search->max_hbm)
      && (self->search->max_host == 0
          || (double) prediction->host.device <= self->search->max_host))
    return prediction;
  prediction_free (prediction);
  g_clear_pointer (scenario, scenario_free);
  return NULL;
}

/* CHOICE is what WINNER is on N_NODES. */
static void
set_choice (const PlanChooser *self, guint n_nodes, const PlanWinner *winner, Scenario *scenario,
            RunChoice *choice)
{
  scenario_free (choice->scenario);
  g_free (choice->label);
  g_free (choice->options);
  choice->scenario = scenario;
  choice->label = g_strdup (winner->label);
  choice->options = command_line (self, n_nodes, winner->options);
}

static Prediction *
search_best (const PlanChooser *self, guint n_nodes, RunChoice *choice, DiagList *diags,
             GError **error)
{
  PlanWinner *own = known_winner (self, n_nodes);
  Prediction *best = NULL;
  Scenario   *scenario = NULL;

  if (own == NULL)
    own = find_winner (self, n_nodes, choice, &best, diags, error);
  if (own == NULL)
    return NULL;
  if (best == NULL)
    best = predict_winner (self, n_nodes, own, &scenario);
  else
    scenario = scenario_copy (own->scenario);
  if (best == NULL)
    return NULL;
  set_choice (self, n_nodes, own, scenario, choice);
  for (guint i = 0; i < self->winners->len; i++)
    {
      const PlanWinner      *other = g_ptr_array_index (self->winners, i);
      g_autoptr (Prediction) prediction = NULL;

      if (other == own || g_str_equal (other->options, own->options))
        continue;
      prediction = predict_winner (self, n_nodes, other, &scenario);
      if (prediction == NULL || prediction->step_time_s >= best->step_time_s)
        {
          g_clear_pointer (&scenario, scenario_free);
          continue;
        }
      prediction_free (best);
      best = g_steal_pointer (&prediction);
      set_choice (self, n_nodes, other, scenario, choice);
      g_clear_pointer (&choice->faster, g_free);
    }
  choice->n_open = own->n_open;
  choice->n_failed = own->n_failed;
  choice->failure = g_strdup (own->failure);
  choice->open_gain = own->open_throughput / best->samples_per_s;
  return best;
}

/* What the choice needs is predicted when the time is over, too. */
static PredictOptions
to_its_end (const PlanChooser *self)
{
  PredictOptions options = self->predict;

  options.replay.stop = NULL;
  return options;
}

/* ---- with a slow node ------------------------------------------------------------------------ */

/* `slow_gpus` of N GPUs at RATE, and what SCENARIO has of them. Newly allocated. */
static char *
slow_gpus_of (const Scenario *scenario, guint n, double rate)
{
  g_autofree char *number = number_format_exact (rate);
  GString         *text = g_string_new (NULL);

  for (guint gpu = 0; gpu < n; gpu++)
    g_string_append_printf (text, "%s%u:%s", gpu > 0 ? "," : "", gpu, number);
  if (scenario->cluster.slow_gpus != NULL)
    g_string_append_printf (text, ",%s", scenario->cluster.slow_gpus);
  return g_string_free (text, FALSE);
}

/* A step of SCENARIO, whose first node has N GPUs, while these are slow; 0: it cannot be told. */
static double
predict_slow (const PlanChooser *self, const Scenario *scenario, guint n)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GError)     error = NULL;
  g_autofree char       *value = slow_gpus_of (scenario, n, self->slow_node_rate);
  const ScenarioOverride option = { "cluster.slow_gpus", value, "--slow-node-rate" };
  const PredictOptions   whole = to_its_end (self);
  g_autoptr (Scenario)   slow =
      scenario_with (scenario, self->context->strategies, &option, 1, diags);
  g_autoptr (Prediction) prediction = slow != NULL ? predict (slow, &whole, diags, &error) : NULL;

  return prediction != NULL ? prediction->step_time_s : 0;
}

Prediction *
plan_choose (guint n_nodes, gpointer who, RunChoice *choice, DiagList *diags, GError **error)
{
  const PlanChooser *self = who;
  Prediction        *prediction;

  prediction = self->searches ? search_best (self, n_nodes, choice, diags, error)
                              : predict_as_it_is (self, n_nodes, choice, diags, error);
  if (prediction != NULL && prediction->fits && self->loses_sites)
    {
      const PredictOptions whole = to_its_end (self);
      const SiteLoss       loss =
          site_loss_find (choice->scenario, self->context->strategies, prediction, &whole);

      choice->n_sites = loss.n_sites;
      choice->are_workers = loss.are_workers;
      choice->sites_each = loss.sites_each;
      choice->site_share = loss.share;
      choice->join_bps = loss.join_bps;
    }
  if (prediction != NULL && prediction->fits && self->slow_node_rate > 0)
    choice->slow_step_s =
        predict_slow (self, choice->scenario, MAX (prediction->n_gpus / n_nodes, 1));
  return prediction;
}
