#include "decide/plan/membership-run.h"

#include "decide/plan/site-loss.h"

static MembershipRun *
run_new (const char *label, const Membership *membership)
{
  MembershipRun *self = g_new0 (MembershipRun, 1);

  self->label = g_strdup (label);
  self->membership = membership;
  self->predictions = g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  g_ptr_array_set_size (self->predictions, (gint) membership->rows->len);
  self->spans = g_array_new (FALSE, FALSE, sizeof (MembershipSpan));
  return self;
}

void
membership_run_free (MembershipRun *self)
{
  if (self == NULL)
    return;
  g_free (self->label);
  g_free (self->why);
  g_ptr_array_unref (self->predictions);
  g_array_unref (self->spans);
  g_free (self);
}

/* ---- predictions ----------------------------------------------------------------------------- */

typedef struct
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const PredictOptions *options;
  MembershipRun        *run;
  DiagList             *diags;
} Runner;

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

/* Whether the time is over, and the row is left out. */
static gboolean
is_cut (const Runner *self)
{
  self->run->is_cut = self->run->is_cut || stop_cuts (self->options->replay.stop);
  return self->run->is_cut;
}

/* What the cluster of ROW does; NULL after diagnostics, or where the time is over. */
static Prediction *
predict_row (const Runner *self, guint row)
{
  const Membership    *membership = self->run->membership;
  const guint          n_nodes = membership_row (membership, row)->n_nodes;
  g_autofree char     *places = membership_site_nodes (membership, row);
  g_autoptr (GError)   error = NULL;
  g_autoptr (Scenario) scenario =
      scenario_on_nodes (self->scenario, self->strategies, scenario_node_type (self->scenario),
                         n_nodes, places, "--membership", self->diags);
  g_autoptr (Prediction) prediction =
      scenario != NULL ? predict (scenario, self->options, self->diags, &error) : NULL;

  if (prediction == NULL && is_cut (self))
    return NULL;
  if (error != NULL)
    diag_error (self->diags, NULL, NULL, "%s", error->message);
  work_count_done (self->options->count);
  if (prediction == NULL)
    return NULL;
  if (!prediction->fits)
    diag_error (self->diags, NULL, NULL, "%s on %u nodes does not fit into memory",
                self->run->label, n_nodes);
  else if (prediction->elastic_steps == 0 && self->run->why == NULL)
    self->run->why =
        g_strdup ("it stops when a node leaves; a strategy whose switch 'elastic' is on "
                  "goes on");
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
  else if (g_ptr_array_index (known, row) == NULL && !is_cut (self))
    g_ptr_array_index (known, row) = predict_row (self, row);
  p = g_ptr_array_index (known, row);
  if (p == NULL)
    return FALSE;
  *pace = (MembershipPace){ p->step_time_s, p->tokens_per_step, p->elastic_steps };
  return TRUE;
}

/* ---- the run --------------------------------------------------------------------------------- */

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

static void
add_up (MembershipRun *self)
{
  guint  most = 0;
  double node_s = 0;

  for (guint i = 0; i < self->spans->len; i++)
    {
      const MembershipSpan *span = &g_array_index (self->spans, MembershipSpan, i);
      const Prediction     *p = g_ptr_array_index (self->predictions, span->row);

      self->wall_s = span->to_s;
      self->tokens += span->tokens;
      self->lost_tokens += span->lost_tokens;
      node_s += (span->to_s - span->from_s) * membership_row (self->membership, span->row)->n_nodes;
      if (p != NULL && p->n_gpus > most)
        {
          most = p->n_gpus;
          self->largest = p;
        }
    }
  self->mean_nodes = self->wall_s > 0 ? node_s / self->wall_s : 0;
  self->late_s = self->goal_s > 0 ? MAX (self->wall_s - self->goal_s, 0) : 0;
}

MembershipRun *
membership_run_new (const Scenario *scenario, const StrategySet *strategies,
                    const Membership *membership, const Cluster *cluster, const RunGoal *goal,
                    const PredictOptions *options, DiagList *diags)
{
  g_autoptr (MembershipRun) run = run_new (scenario->name, membership);
  Runner                    self = { scenario, strategies, options, run, diags };
  MembershipPace            pace;
  gboolean                  stuck = FALSE;
  guint                     row = 0;

  run->goal_s = goal->deadline_s;
  while (row + 1 < membership->rows->len && membership_row (membership, row)->n_nodes == 0)
    row++;
  if (membership_row (membership, row)->n_nodes > 0 && !pace_of (row, &self, &pace))
    return run->why != NULL || run->is_cut ? g_steal_pointer (&run) : NULL;
  if (membership_walk (membership, goal->tokens, goal->failures.notice_s,
                       join_time (&self, goal, row, cluster), pace_of, &self, run->spans, &stuck)
      || run->is_cut)
    {
      add_up (run);
      return g_steal_pointer (&run);
    }
  if (stuck)
    diag_error (diags, NULL, "a last row with nodes",
                "--membership: nobody is left to train the rest");
  return NULL;
}
