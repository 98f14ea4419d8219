#include "cli/plan-membership.h"

#include "cli/plan-chooser.h"
#include "cli/stream.h"
#include "cluster/sites.h"
#include "report/membership.h"

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

      if (run->why == NULL && run->late_s == 0)
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
        run = membership_run_new (scenario, common->strategies, membership, cluster, &goal,
                                  &predict, diags);
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
