#include "analysis/run-plan.h"

#include <math.h>

#define HOUR 3600.0

static void
option_free (gpointer data)
{
  RunOption *self = data;

  prediction_free (self->prediction);
  g_free (self->why);
  g_free (self);
}

static char *
reason_of (const Prediction *prediction, const DiagList *diags, const GError *error)
{
  if (prediction != NULL)
    return g_strdup ("it does not fit into memory");
  if (error != NULL)
    return g_strdup (error->message);
  return g_strdup (diag_list_has_errors (diags) ? diag_list_first_message (diags)
                                                : "no configuration");
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

  self->n_steps = (guint64) MAX (ceil (goal->tokens / p->tokens_per_step), 1);
  self->checkpoint_bytes = goal->checkpoint_bytes > 0 ? goal->checkpoint_bytes
                                                      : goal->bytes_per_parameter * p->n_parameters;
  self->input = goal->failures;
  self->input.step_s = p->step_time_s;
  self->input.n_steps = self->n_steps;
  self->input.n_gpus = p->n_gpus;
  self->input.n_nodes = self->n_nodes;
  self->input.checkpoint_s = checkpoint_time (goal, self->checkpoint_bytes, self->n_nodes);
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

static RunOption *
option_new (const RunGoal *goal, guint n_nodes, RunChoose choose, gpointer who)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  RunOption           *self = g_new0 (RunOption, 1);

  self->n_nodes = n_nodes;
  self->prediction = choose (n_nodes, who, diags, &error);
  if (self->prediction == NULL || !self->prediction->fits)
    {
      self->why = reason_of (self->prediction, diags, error);
      return self;
    }
  set_input (self, goal);
  goodput_expect (&self->input, &self->goodput);
  goodput_sample (&self->input, &self->goodput, goal->seed, goal->n_runs, &self->sample);
  judge (self, goal);
  return self;
}

/* Of two that run and do not meet the goal. */
static gboolean
is_nearer (const RunOption *a, const RunOption *b)
{
  return a->late_s != b->late_s ? a->late_s < b->late_s : a->over < b->over;
}

RunPlan *
run_plan_new (const RunGoal *goal, const char *cluster, const guint *nodes, guint n, gboolean every,
              RunChoose choose, gpointer who)
{
  RunPlan *self = g_new0 (RunPlan, 1);

  self->cluster = g_strdup (cluster);
  self->options = g_ptr_array_new_with_free_func (option_free);
  for (guint i = 0; i < n && (every || self->best == NULL); i++)
    {
      RunOption *option = option_new (goal, nodes[i], choose, who);

      g_ptr_array_add (self->options, option);
      if (option->meets && self->best == NULL)
        self->best = option;
      if (option->why == NULL && (self->nearest == NULL || is_nearer (option, self->nearest)))
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
  g_ptr_array_unref (self->options);
  g_free (self);
}
