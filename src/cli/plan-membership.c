#include "cli/plan-membership.h"

#include "analysis/site-loss.h"
#include "cli/plan-chooser.h"
#include "cli/stream.h"
#include "cluster/sites.h"
#include "report/membership.h"

typedef struct
{
  const Common   *common;
  const Scenario *scenario;
  PredictOptions  predict;
  MembershipRun  *run;
  DiagList       *diags;
} Runner;

/* Names of the cluster's sites, NULL-ended, which stay the cluster's; NULL: it has none. */
static const char **
site_names (const Cluster *cluster)
{
  const guint  n = cluster_n_sites (cluster);
  const char **names = n > 0 ? g_new0 (const char *, n + 1) : NULL;

  for (guint i = 0; i < n; i++)
    names[i] = cluster_site_name (cluster, i);
  return names;
}

/* The row before ROW that is the same cluster; ROW: none is. */
static guint
first_alike (const Membership *self, guint row)
{
  for (guint i = 0; i < row; i++)
    {
      gboolean alike = TRUE;

      for (guint place = 0; place < self->n_places; place++)
        alike =
            alike
            && membership_row (self, i)->nodes[place] == membership_row (self, row)->nodes[place];
      if (alike)
        return i;
    }
  return row;
}

/* What the cluster of ROW does; NULL after diagnostics. */
static Prediction *
predict_row (const Runner *self, guint row)
{
  const Membership      *membership = self->run->membership;
  const guint            n_nodes = membership_row (membership, row)->n_nodes;
  g_autofree char       *places = membership_site_nodes (membership, row);
  g_autoptr (GError)     error = NULL;
  g_autoptr (Scenario)   scenario = scenario_on_nodes (self->scenario, self->common->strategies,
                                                       scenario_node_type (self->scenario), n_nodes,
                                                       places, "--membership", self->diags);
  g_autoptr (Prediction) prediction =
      scenario != NULL ? predict (scenario, &self->predict, self->diags, &error) : NULL;

  if (error != NULL)
    diag_error (self->diags, NULL, NULL, "%s", error->message);
  if (prediction == NULL)
    return NULL;
  if (!prediction->fits)
    diag_error (self->diags, NULL, NULL, "%s on %u nodes does not fit into memory",
                self->run->label, n_nodes);
  else if (prediction->elastic_steps == 0 && self->run->why == NULL)
    self->run->why = g_strdup ("it stops when a node leaves (strategies with a switch 'elastic' go "
                               "on: diloco, streaming-diloco, prime, opendiloco)");
  return prediction->fits && prediction->elastic_steps > 0 ? g_steal_pointer (&prediction) : NULL;
}

static gboolean
pace_of (guint row, gpointer who, MembershipPace *pace)
{
  const Runner     *self = who;
  GPtrArray        *known = self->run->predictions;
  const guint       alike = first_alike (self->run->membership, row);
  const Prediction *p;

  if (g_ptr_array_index (known, row) == NULL && g_ptr_array_index (known, alike) != NULL)
    g_ptr_array_index (known, row) = prediction_copy (g_ptr_array_index (known, alike));
  else if (g_ptr_array_index (known, row) == NULL)
    g_ptr_array_index (known, row) = predict_row (self, row);
  p = g_ptr_array_index (known, row);
  if (p == NULL)
    return FALSE;
  *pace = (MembershipPace){ p->step_time_s, p->tokens_per_step, p->elastic_steps };
  return TRUE;
}

/* How long all wait for those that join: as given, or a checkpoint's over the best link. ROW has
 * been predicted. */
static double
join_time (const Runner *self, const RunGoal *goal, guint row, const Cluster *cluster)
{
  const Prediction *first = g_ptr_array_index (self->run->predictions, row);
  const double      bps = site_join_rate (cluster);
  double            bytes = goal->checkpoint_bytes;

  if (bytes == 0 && first != NULL)
    bytes = goal->bytes_per_parameter * first->n_parameters;
  return goal->failures.join_s > 0 ? goal->failures.join_s : bps > 0 ? bytes / bps : 0;
}

/* NULL after diagnostics. */
static MembershipRun *
run_scenario (const Common *common, const Scenario *scenario, const Membership *membership,
              const Cluster *cluster, const RunGoal *goal, DiagList *diags)
{
  g_autoptr (MembershipRun) run = membership_run_new (scenario->name, membership);
  Runner         self = { common, scenario, common_predict_options (common), run, diags };
  MembershipPace pace;
  gboolean       stuck = FALSE;
  guint          row = 0;

  run->goal_s = goal->deadline_s;
  while (row + 1 < membership->rows->len && membership_row (membership, row)->n_nodes == 0)
    row++;
  if (membership_row (membership, row)->n_nodes > 0 && !pace_of (row, &self, &pace))
    return run->why != NULL ? g_steal_pointer (&run) : NULL;
  if (membership_walk (membership, goal->tokens, goal->failures.notice_s,
                       join_time (&self, goal, row, cluster), pace_of, &self, run->spans, &stuck))
    return g_steal_pointer (&run);
  if (stuck)
    diag_error (diags, NULL, "a last row with nodes",
                "--membership: nobody is left to train the rest");
  return NULL;
}

/* The trace says who is there: no failures are drawn, and no numbers of nodes tried. */
static gboolean
check_goal (const RunGoal *goal, DiagList *diags)
{
  const GoodputInput *failures = &goal->failures;

  if (failures->gpu_mtbf_s > 0 || failures->node_mtbf_s > 0 || failures->job_mtbf_s > 0
      || failures->site_mtbf_s > 0 || failures->straggler_mtbf_s > 0
      || failures->slow_node_probability > 0)
    diag_error (diags, NULL, "leave out what else may fail or be slow",
                "--membership says who is there when: nothing else fails");
  if (goal->budget > 0 || goal->price > 0 || goal->power_w > 0 || failures->n_spares > 0
      || failures->jitter > 0)
    diag_error (diags, NULL, "leave out --budget, --price, --power, --spares and --jitter",
                "--membership tells when the tokens are trained, not what they cost");
  return !diag_list_has_errors (diags);
}

/* RunGoal of SCENARIO. FALSE after diagnostics. */
static gboolean
take_goal (const Common *common, const Scenario *scenario, const RunOptions *options, RunGoal *goal,
           DiagList *diags)
{
  const PlanChooser chooser = { .common = common,
                                .scenario = scenario,
                                .type = scenario_node_type (scenario),
                                .predict = common_predict_options (common) };
  RunFacts          facts = plan_chooser_facts (&chooser, FALSE);

  facts.has_trace = TRUE;

  return run_options_goal (options, &facts, goal, diags) && check_goal (goal, diags);
}

static ExitStatus
print (const Common *common, const GPtrArray *runs)
{
  g_autoptr (GString) out = g_string_new (NULL);

  switch (common->format)
    {
    case FORMAT_TEXT:
      report_membership_text (runs, out);
      break;
    case FORMAT_CSV:
      report_membership_csv (runs, out);
      break;
    case FORMAT_JSON:
      report_membership_json (runs, out);
      break;
    }
  return stream_print (out);
}

/* EXIT_NO where there is a deadline and no run keeps it; EXIT_USAGE where there is no run. */
static ExitStatus
status_of (const GPtrArray *runs)
{
  gboolean any = FALSE;

  for (guint i = 0; i < runs->len; i++)
    {
      const MembershipRun *run = g_ptr_array_index (runs, i);

      if (run->why == NULL && (run->goal_s == 0 || membership_run_wall (run) <= run->goal_s))
        return EXIT_DONE;
      any = any || run->why == NULL;
    }
  return any ? EXIT_NO : EXIT_USAGE;
}

/* Why there is no run at all, on stderr; FALSE: there is one. */
static gboolean
say_why (const GPtrArray *runs)
{
  const MembershipRun *first = runs->len > 0 ? g_ptr_array_index (runs, 0) : NULL;

  if (first == NULL || status_of (runs) != EXIT_USAGE)
    return FALSE;
  stream_say ("shardsim plan: %s: %s\n", first->label, first->why);
  return TRUE;
}

ExitStatus
plan_membership (const Common *common, const GPtrArray *scenarios, const char *file,
                 const RunOptions *options)
{
  const PredictOptions    predict = common_predict_options (common);
  const Scenario         *first = g_ptr_array_index (scenarios, 0);
  g_autoptr (DiagList)    diags = diag_list_new ();
  g_autoptr (ProfileSet)  profiles = predict_profiles (&predict);
  g_autoptr (Cluster)     cluster = scenario_cluster_new (first, profiles, diags);
  g_autofree const char **sites = cluster != NULL ? site_names (cluster) : NULL;
  g_autoptr (Membership) membership = cluster != NULL ? membership_read (file, sites, diags) : NULL;
  g_autoptr (GPtrArray)  runs =
      g_ptr_array_new_with_free_func ((GDestroyNotify) membership_run_free);
  RunGoal    goal = { 0 };
  ExitStatus told;

  for (guint i = 0; membership != NULL && i < scenarios->len; i++)
    {
      const Scenario *scenario = g_ptr_array_index (scenarios, i);
      MembershipRun  *run = NULL;

      if (take_goal (common, scenario, options, &goal, diags))
        run = run_scenario (common, scenario, membership, cluster, &goal, diags);
      if (run == NULL)
        break;
      g_ptr_array_add (runs, run);
    }
  if (stream_report_diags (diags) != EXIT_DONE || runs->len < scenarios->len)
    return EXIT_USAGE;
  if (say_why (runs))
    return EXIT_USAGE;
  told = print (common, runs);
  return told != EXIT_DONE ? told : status_of (runs);
}
