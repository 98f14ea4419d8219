#include "decide/plan/run-plan.h"

#include <math.h>

#include "base/divisor.h"

#define HOUR 3600.0

static void
option_free (gpointer data)
{
  RunOption *self = data;

  prediction_free (self->prediction);
  scenario_free (self->choice.scenario);
  g_free (self->choice.label);
  g_free (self->choice.options);
  g_free (self->choice.faster);
  g_free (self->choice.failure);
  g_free (self->choice.why);
  g_free (self->why);
  g_free (self->hint);
  g_free (self);
}

static char *
reason_of (const RunOption *option, const DiagList *diags, const GError *error)
{
  if (option->prediction != NULL)
    return g_strdup ("it does not fit into memory");
  if (option->choice.why != NULL)
    return g_strdup (option->choice.why);
  if (error != NULL)
    return g_strdup (error->message);
  return g_strdup (diag_list_has_errors (diags) ? diag_list_first_message (diags)
                                                : "no configuration");
}

/* Of the first error; NULL: there is none. Newly allocated. */
static char *
hint_of (const DiagList *diags)
{
  DiagView view;

  for (guint i = 0; diag_list_get (diags, i, &view); i++)
    if (view.severity == DIAG_ERROR)
      return g_strdup (view.hint);
  return NULL;
}

/* How long a checkpoint holds up training. */
static double
checkpoint_time (const RunGoal *goal, double bytes, guint n_nodes)
{
  const double bps = goal->checkpoint_bps > 0 ? goal->checkpoint_bps
                                              : goal->checkpoint_node_bps * (double) n_nodes;

  if (goal->checkpoint_s > 0)
    return goal->checkpoint_s;
  return bps > 0 ? bytes / bps : 0;
}

static void
set_input (RunOption *self, const RunGoal *goal)
{
  const Prediction *p = self->prediction;
  GoodputInput     *in = &self->input;

  self->n_steps = (guint64) MAX (ceil (goal->tokens / p->tokens_per_step), 1);
  self->checkpoint_bytes = goal->checkpoint_bytes > 0 ? goal->checkpoint_bytes
                                                      : goal->bytes_per_parameter * p->n_parameters;
  self->input = goal->failures;
  self->input.step_s = p->step_time_s;
  self->input.n_steps = self->n_steps;
  self->input.n_gpus = p->n_gpus;
  self->input.n_nodes = self->n_nodes;
  if (goal->slow_node_rate > 0)
    self->input.slow_step_s = self->choice.slow_step_s > 0
                                  ? MAX (self->choice.slow_step_s, p->step_time_s)
                                  : p->step_time_s / goal->slow_node_rate;
  self->input.checkpoint_s = checkpoint_time (goal, self->checkpoint_bytes, self->n_nodes);
  /* the prediction knows whether sites go on without one */
  in->n_sites = self->choice.n_sites;
  in->round_s = p->elastic_steps * p->step_time_s;
  in->site_mtbf_s /= MAX (self->choice.sites_each, 1);
  in->site_share = self->choice.site_share;
  if (in->site_share == 0 && in->n_sites > 0)
    in->site_share = 1.0 / in->n_sites;
  if (in->join_s == 0 && self->choice.join_bps > 0)
    in->join_s = self->checkpoint_bytes / self->choice.join_bps;
}

/* What nine runs in ten keep to. */
static void
judge (RunOption *self, const RunGoal *goal)
{
  const double gpus_per_node = (double) self->input.n_gpus / self->n_nodes;
  const double wall = self->sample.p90_s;

  self->gpu_hours = wall / HOUR * gpus_per_node * (self->n_nodes + self->input.n_spares);
  self->money = self->gpu_hours * goal->price;
  self->energy_j = wall * self->input.n_gpus * goal->power_w;
  self->late_s = goal->deadline_s > 0 ? MAX (wall - goal->deadline_s, 0) : 0;
  self->over = goal->budget > 0 ? MAX (self->money - goal->budget, 0) : 0;
  self->meets = isfinite (wall) && self->late_s == 0 && self->over == 0;
}

/* Why N_NODES cannot meet GOAL, whatever runs on them. Newly allocated; NULL: they may. */
static char *
hopeless (const RunGoal *goal, guint n_nodes)
{
  const double hours = goal->tokens * goal->token_s / n_nodes / HOUR, days = hours / 24;
  const double money = hours * n_nodes * (double) goal->node_gpus * goal->price;

  if (goal->deadline_s > 0 && hours * HOUR > goal->deadline_s)
    return g_strdup_printf ("cannot: even at the GPUs' full speed it takes %.*f days",
                            days < 10 ? 3 : 1, days);
  if (goal->budget > 0 && money > goal->budget)
    return g_strdup_printf ("cannot: even at the GPUs' full speed it costs %.*f",
                            money < 100 ? 2 : 0, money);
  return NULL;
}

/* NULL: STOP left it out. */
static RunOption *
option_new (const RunGoal *goal, guint n_nodes, RunChoose choose, gpointer who, Stop *stop)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  RunOption           *self;

  if (stop_cuts (stop))
    return NULL;
  self = g_new0 (RunOption, 1);
  self->n_nodes = n_nodes;
  self->why = hopeless (goal, n_nodes);
  self->answered = TRUE;
  if (self->why != NULL)
    return self;
  self->prediction = choose (n_nodes, who, &self->choice, diags, &error);
  if (self->prediction == NULL && stop_cuts (stop))
    {
      option_free (self);
      return NULL;
    }
  self->answered = self->prediction != NULL || self->choice.why != NULL;
  if (self->prediction == NULL || !self->prediction->fits)
    {
      self->why = reason_of (self, diags, error);
      self->hint = hint_of (diags);
      return self;
    }
  set_input (self, goal);
  goodput_expect (&self->input, &self->goodput);
  goodput_sample (&self->input, &self->goodput, goal->seed, goal->n_runs, &self->sample);
  judge (self, goal);
  return self;
}

/* ---- which numbers of nodes ------------------------------------------------------------------ */

static const RunOption *
option_at (const RunPlan *self, guint i)
{
  return g_ptr_array_index (self->options, i);
}

static gboolean
is_in_time (const RunOption *option)
{
  return option->why == NULL && option->late_s == 0;
}

/* More nodes than those of the last option only cost more: they are in time already. */
static gboolean
only_costs_more (const RunPlan *self)
{
  const guint n = self->options->len;

  return n > 1 && is_in_time (option_at (self, n - 2)) && is_in_time (option_at (self, n - 1))
         && option_at (self, n - 1)->over > 0
         && option_at (self, n - 1)->money >= option_at (self, n - 2)->money;
}

/*
 * More nodes pay for their communication, so that fewer which take more of their time together run
 * something worse than those: they are chosen for once more, by who now knows what more nodes run.
 */
static void
ask_again (RunPlan *self, const RunGoal *goal, RunChoose choose, gpointer who, Stop *stop)
{
  for (guint i = self->options->len; i-- > 1;)
    {
      RunOption       *fewer = g_ptr_array_index (self->options, i - 1), *again;
      const RunOption *more = option_at (self, i);

      if (fewer->choice.label == NULL || fewer->why != NULL || more->why != NULL
          || fewer->input.step_s * fewer->n_nodes <= more->input.step_s * more->n_nodes)
        continue;
      again = option_new (goal, fewer->n_nodes, choose, who, stop);
      if (again == NULL)
        return;
      if (again->why == NULL && again->input.step_s < fewer->input.step_s)
        {
          g_ptr_array_index (self->options, i - 1) = again;
          again = fewer;
        }
      option_free (again);
    }
}

/*
 * Whether the batch may divide among the data ranks of N_NODES. Where a search lays out the mesh,
 * that takes any power of two of the GPUs, beside the ranks that the scenario's own takes.
 */
static gboolean
may_divide (const RunGoal *goal, guint n_nodes)
{
  gint64 ranks = goal->node_gpus * n_nodes;

  if (goal->batch == 0)
    return TRUE;
  if (goal->micro > 0)
    return goal->batch % (MAX (ranks / MAX (goal->replica, 1), 1) * goal->micro) == 0;
  ranks /= common_divisor (ranks, MAX (goal->replica, 1));
  while (ranks % 2 == 0)
    ranks /= 2;
  return goal->batch % ranks == 0;
}

/* Numbers of nodes between the options I - 1 and I. */
static GArray *
between (const RunPlan *self, const RunGoal *goal, guint i)
{
  GArray *nodes = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint n = option_at (self, i - 1)->n_nodes + 1; n < option_at (self, i)->n_nodes; n++)
    if (may_divide (goal, n))
      g_array_append_val (nodes, n);
  return nodes;
}

/* Bisection between the first option in time and that before it. */
static void
narrow (RunPlan *self, const RunGoal *goal, RunChoose choose, gpointer who, Stop *stop)
{
  g_autoptr (GArray) nodes = NULL;
  guint              low = 0, high, at = 0;

  while (at < self->options->len && !is_in_time (option_at (self, at)))
    at++;
  if (at == 0 || at == self->options->len)
    return;
  nodes = between (self, goal, at);
  for (high = nodes->len; low < high;)
    {
      const guint mid = low + (high - low) / 2;
      RunOption  *option = option_new (goal, g_array_index (nodes, guint, mid), choose, who, stop);

      if (option == NULL)
        return;
      g_ptr_array_insert (self->options, (gint) at, option);
      if (is_in_time (option))
        high = mid;
      else
        {
          low = mid + 1;
          at++;
        }
    }
}

RunPlan *
run_plan_new (const RunGoal *goal, const char *cluster, const guint *nodes, guint n, gboolean every,
              RunChoose choose, gpointer who, Stop *stop)
{
  RunPlan *self = g_new0 (RunPlan, 1);
  gboolean more = TRUE;

  self->cluster = g_strdup (cluster);
  self->options = g_ptr_array_new_with_free_func (option_free);
  for (guint i = 0; i < n && more; i++)
    {
      RunOption *option = option_new (goal, nodes[i], choose, who, stop);

      if (option == NULL)
        break;
      g_ptr_array_add (self->options, option);
      more = every || (!option->meets && !only_costs_more (self));
    }
  ask_again (self, goal, choose, who, stop);
  if (!every && goal->deadline_s > 0)
    narrow (self, goal, choose, who, stop);
  self->best = self->nearest = NULL;
  for (guint i = 0; i < self->options->len && self->best == NULL; i++)
    {
      RunOption *option = g_ptr_array_index (self->options, i);

      if (option->meets)
        self->best = option;
      else if (option->why == NULL
               && (self->nearest == NULL
                   || (option->late_s != self->nearest->late_s
                           ? option->late_s < self->nearest->late_s
                           : option->over < self->nearest->over)))
        self->nearest = option;
    }
  if (self->best != NULL)
    self->nearest = NULL;
  return self;
}

void
run_plan_free (RunPlan *self)
{
  if (self == NULL)
    return;
  g_free (self->cluster);
  g_free (self->label);
  g_ptr_array_unref (self->options);
  g_free (self);
}
