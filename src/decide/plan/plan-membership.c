#include "decide/plan/plan-membership.h"

#include "hardware/sites/sites.h"

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
take_goal (const PlanContext *context, const PredictOptions *predict, const Scenario *scenario,
           const RunOptions *options, RunGoal *goal, DiagList *diags)
{
  const PlanChooser chooser = { .context = context,
                                .scenario = scenario,
                                .type = scenario_node_type (scenario),
                                .predict = *predict };
  RunFacts          facts = plan_chooser_facts (&chooser, FALSE);

  facts.has_trace = TRUE;

  return run_options_goal (options, &facts, goal, diags) && check_goal (goal, diags);
}

/* The trace says how many nodes there are, of scenarios as they are. */
static gboolean
check_words (const PlanWords *words, const GPtrArray *scenarios, DiagList *diags)
{
  const Scenario *first = g_ptr_array_index (scenarios, 0);

  if (words->counts != NULL || words->types != NULL || words->searches || words->search.n_varied > 0
      || first->strategy == NULL)
    diag_error (diags, NULL, "a scenario with a cluster and a strategy",
                "--membership follows a scenario as it is: nothing is searched, and the trace says "
                "how many nodes there are");
  return !diag_list_has_errors (diags);
}

/* FALSE after a diagnostic: there is no run at all. */
static gboolean
check_runs (const GPtrArray *runs, DiagList *diags)
{
  const MembershipRun *first = g_ptr_array_index (runs, 0);

  for (guint i = 0; i < runs->len; i++)
    if (((const MembershipRun *) g_ptr_array_index (runs, i))->why == NULL)
      return TRUE;
  diag_error (diags, NULL, NULL, "%s: %s", first->label, first->why);
  return FALSE;
}

static gboolean
read_trace (MembershipPlan *self, const Scenario *scenario, const char *file,
            const PredictOptions *predict, DiagList *diags)
{
  g_autofree const char **sites = NULL; /* their names stay the cluster's */
  guint                   n;

  self->profiles = predict_profiles (predict);
  self->cluster = scenario_cluster_new (scenario, self->profiles, diags);
  if (self->cluster == NULL)
    return FALSE;
  n = cluster_n_sites (self->cluster);
  sites = n > 0 ? g_new0 (const char *, n + 1) : NULL;
  for (guint i = 0; i < n; i++)
    sites[i] = cluster_site_name (self->cluster, i);
  self->membership = membership_read (file, sites, diags);
  return self->membership != NULL;
}

/* The run of SCENARIO; NULL after diagnostics. */
static MembershipRun *
follow (const MembershipPlan *self, const Scenario *scenario, const PlanWords *words,
        const PredictOptions *predict, const PlanContext *context, DiagList *diags)
{
  g_autofree char *work = g_strdup_printf ("following %s", scenario->name);
  PredictOptions   counted = *predict;
  RunGoal          goal = { 0 };
  MembershipRun   *run;
  gpointer         shown;

  if (!take_goal (context, predict, scenario, &words->run, &goal, diags))
    return NULL;
  counted.count = plan_progress_begin (context->progress, work, "predictions", &shown);
  run = membership_run_new (scenario, context->strategies, self->membership, self->cluster, &goal,
                            &counted, diags);
  plan_progress_end (context->progress, work, shown);
  return run;
}

gboolean
membership_plan_make (MembershipPlan *self, const GPtrArray *scenarios, const PlanWords *words,
                      const char *file, const PredictOptions *predict, const PlanContext *context,
                      DiagList *diags)
{
  gboolean is_cut = FALSE;

  self->runs = g_ptr_array_new_with_free_func ((GDestroyNotify) membership_run_free);
  if (!check_words (words, scenarios, diags)
      || !read_trace (self, g_ptr_array_index (scenarios, 0), file, predict, diags))
    return FALSE;
  for (guint i = 0; i < scenarios->len && !is_cut; i++)
    {
      MembershipRun *run =
          follow (self, g_ptr_array_index (scenarios, i), words, predict, context, diags);

      if (run == NULL)
        return FALSE;
      g_ptr_array_add (self->runs, run);
      is_cut = run->is_cut;
    }
  return !diag_list_has_errors (diags) && check_runs (self->runs, diags);
}

void
membership_plan_clear (MembershipPlan *self)
{
  g_clear_pointer (&self->runs, g_ptr_array_unref);
  g_clear_pointer (&self->membership, membership_free);
  g_clear_pointer (&self->cluster, cluster_free);
  g_clear_pointer (&self->profiles, profile_set_free);
}
