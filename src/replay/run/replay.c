/* From a bound plan to the engine run whose last period repeats the one before it. */
#include "replay/run/replay-private.h"

#define DEFAULT_MIN_PERIODS 2
#define DEFAULT_MAX_PERIODS 32

/* ---- running --------------------------------------------------------------------------------- */

/* Steady periods to begin with: of several hosts one, of which the memory is repeated. */
static guint
fewest_periods (const Replay *self, const ReplayOptions *options)
{
  if (options->min_periods > 0)
    return options->min_periods;
  return !options->keep_pools && run_may_stand (self->bound) ? 1 : DEFAULT_MIN_PERIODS;
}

static gboolean
is_done (Replay *self, const ReplayOptions *options)
{
  return self->steady
         && (self->run->n_periods > 1 || self->run->cut || options->min_periods == 1
             || run_repeat_memory (self->run));
}

/*
 * Whether the last period took as long for all ranks that the first one stands for: periods that
 * repeat do, or one between times that are the same for all.
 */
static gboolean
is_sure (const Replay *self)
{
  const guint last = run_n_boundaries (self->run) - 1;

  return self->steady
         || (!run_boundary (self->run, 0, last)->apart
             && !run_boundary (self->run, 0, last - 1)->apart);
}

/*
 * Runs afresh with twice the periods until the last two are alike: a host cannot know, while others
 * lag, whether it may stop.
 */
static gboolean
run_until_steady (Replay *self, const ReplayOptions *options, GError **error)
{
  guint    most = options->max_periods > 0 ? options->max_periods : DEFAULT_MAX_PERIODS;
  guint    n = fewest_periods (self, options);
  gboolean whole = options->keep_pools;

  if (options->first_only)
    most = schedule_first_is_steady (self->bound->schedule) ? 0 : 1;
  for (;; n *= 2)
    {
      n = MIN (n, most);
      g_clear_pointer (&self->run, run_free);
      self->run = run_new (self->bound, n, most, options, whole);
      self->run->last_only = options->last_only && !options->keep_pools;
      engine_set_apart (self->run->engine, options->apart);
      engine_set_work (self->run->engine, options->work);
      engine_set_stop (self->run->engine, options->stop);
      if (!engine_run (self->run->engine, error))
        {
          g_prefix_error (error,
                          "strategy '%s': ", replay_resolved (self)->strategy->strategy->name);
          return FALSE;
        }
      if (self->run->spoilt)
        {
          whole = TRUE;
          n /= 2; /* the same again */
          continue;
        }
      self->steady = run_is_steady (self->run);
      n = MAX (n, self->run->n_periods);
      if (n < most && !is_done (self, options))
        continue;
      if (!is_sure (self))
        engine_set_unlike (error);
      return is_sure (self);
    }
}

Replay *
replay_new (const ReplayBound *bound, const ReplayOptions *options, GError **error)
{
  static const ReplayOptions defaults = { 0 };
  g_autoptr (Replay)         self = g_new0 (Replay, 1);
  guint                      n;

  self->bound = replay_bound_ref (bound);
  n = schedule_n_streams (self->bound->schedule);
  self->marker = kernel_desc_stream (KERNEL_COPY, "event", DTYPE_FP32, 0, 0, 0);
  self->markers = g_new0 (ScheduleItem, n);
  for (guint s = 0; s < n; s++)
    self->markers[s] = (ScheduleItem){ .kind = ITEM_KERNEL,
                                       .stream = s,
                                       .unit = SCHEDULE_NONE,
                                       .ref = SCHEDULE_NONE,
                                       .event = SCHEDULE_NONE,
                                       .kernel = &self->marker };
  if (!run_until_steady (self, options != NULL ? options : &defaults, error))
    return NULL;
  return g_steal_pointer (&self);
}

Replay *
replay_run (const Scenario *scenario, ProfileSet *profiles, const ReplayOptions *options,
            DiagList *diags, GError **error)
{
  g_autoptr (ReplayPlan)  plan = replay_plan_scenario (scenario, profiles, diags);
  g_autoptr (ReplayBound) bound = plan != NULL ? replay_bound_new (plan, FALSE) : NULL;

  return bound != NULL ? replay_new (bound, options, error) : NULL;
}

void
replay_free (Replay *self)
{
  if (self == NULL)
    return;
  run_free (self->run);
  g_free (self->markers);
  replay_bound_unref (self->bound);
  g_free (self);
}

/* ---- what it holds --------------------------------------------------------------------------- */

const ReplayBound *
replay_bound (const Replay *self)
{
  return self->bound;
}

const ReplayPlan *
replay_plan (const Replay *self)
{
  return self->bound->plan;
}

const ResolvedScenario *
replay_resolved (const Replay *self)
{
  return self->bound->plan->resolved;
}

const Cluster *
replay_cluster (const Replay *self)
{
  return self->bound->cluster;
}

const Workload *
replay_workload (const Replay *self)
{
  return replay_resolved (self)->workload;
}

const Schedule *
replay_schedule (const Replay *self)
{
  return self->bound->schedule;
}

const Engine *
replay_engine (const Replay *self)
{
  return self->run->engine;
}

guint
replay_n_ranks (const Replay *self)
{
  return self->bound->binding->ranks->len;
}

const ReplayRank *
replay_rank (const Replay *self, guint i)
{
  g_assert (i < self->bound->binding->ranks->len);
  return &self->run->ranks[i];
}

guint
replay_n_host_pools (const Replay *self)
{
  return self->bound->binding->nodes->len;
}

PoolId
replay_host_pool (const Replay *self, guint i, guint *node)
{
  g_assert (i < self->bound->binding->nodes->len);
  if (node != NULL)
    *node = g_array_index (self->bound->binding->nodes, BoundThing, i).id;
  return self->run->host_pools[i];
}

PoolId
replay_drive_pool (const Replay *self, guint i, guint *node)
{
  replay_host_pool (self, i, node);
  return self->run->drive_pools[i];
}

/* ---- periods --------------------------------------------------------------------------------- */

guint
replay_n_boundaries (const Replay *self)
{
  return run_n_boundaries (self->run);
}

SimTime
replay_boundary (const Replay *self, guint b)
{
  g_assert (b < run_n_boundaries (self->run));
  return run_boundary (self->run, 0, b)->time;
}

SimTime
replay_rank_boundary (const Replay *self, guint rank, guint b)
{
  g_assert (b < run_n_boundaries (self->run));
  return run_boundary (self->run, rank, b)->time;
}

gboolean
replay_is_steady (const Replay *self)
{
  return self->steady;
}

gboolean
replay_steps_are_even (const Replay *self)
{
  return run_steps_are_even (self->run);
}

gboolean
replay_ends_quiet (const Replay *self)
{
  return run_ends_quiet (self->run);
}

SimTime
replay_period (const Replay *self)
{
  guint last = replay_n_boundaries (self) - 1;

  return replay_boundary (self, last) - replay_boundary (self, last - 1);
}

ReplayStretch
replay_last_period (const Replay *self)
{
  const guint     last = run_n_boundaries (self->run) - 1;
  const Boundary *begin = run_boundary (self->run, 0, last - 1),
                 *end = run_boundary (self->run, 0, last);

  return (ReplayStretch){ begin->time, end->time, begin->used, end->used, WHOLE_PERIOD };
}

double
replay_utilisation (const Replay *self, const ReplayStretch *stretch, ResourceId resource)
{
  return (stretch->used_end[resource] - stretch->used_begin[resource])
         / engine_resource_capacity (self->run->engine, resource)
         / sim_time_to_seconds (stretch->end - stretch->begin);
}

double
replay_step_time (const Replay *self)
{
  return sim_time_to_seconds (replay_period (self))
         / schedule_steps_per_period (self->bound->schedule);
}
