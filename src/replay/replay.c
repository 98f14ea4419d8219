/* The replay: from a scenario to the engine run whose last period repeats the one before it. */
#include "replay/replay-private.h"
#include "replay/skew.h"

#define DEFAULT_MIN_PERIODS 2
#define DEFAULT_MAX_PERIODS 32

/* ---- the parts ------------------------------------------------------------------------------- */

/*
 * What the framework's generation launches goes into the training options, before a workload is
 * made of them.
 */
static gboolean
resolve_framework (Replay *self, ProfileSet *profiles, DiagList *diags)
{
  TrainingOptions        *training = &self->scenario->training;
  const FrameworkProfile *framework = NULL;
  guint                   errors = diag_list_n_errors (diags);

  if (training->framework != NULL)
    framework = profile_set_framework (
        profiles, training->framework,
        option_mark (scenario_marks (self->scenario, training_options), "framework", NULL), diags);
  self->framework = framework;
  if (framework == NULL)
    return diag_list_n_errors (diags) == errors;
  training->traits = (FrameworkTraits){ .newest_flash = framework->newest_flash,
                                        .fused_loss = framework->fused_loss,
                                        .fused_adam = framework->fused_adam,
                                        .loss_scaling = framework->loss_scaling };
  return TRUE;
}

/* Where the precision was set; where it is the default, the GPU. */
static const SourceMark *
precision_mark (const Scenario *scenario)
{
  const OptionMarks *training = scenario_marks (scenario, training_options);
  const SourceMark  *mark = option_mark (training, "precision", NULL);

  if (mark != NULL && mark != &training->section)
    return mark;
  return option_mark (scenario_marks (scenario, cluster_options), "gpu", "node", "name", NULL);
}

static gboolean
check_precision (const Replay *self, DiagList *diags)
{
  if (self->scenario->training.precision != PRECISION_BF16_MIXED)
    return TRUE;
  for (guint r = 0; r < cluster_n_gpus (self->cluster); r++)
    if (!cluster_gpu_profile (self->cluster, r)->bf16)
      {
        diag_error (diags, precision_mark (self->scenario),
                    "set 'training.precision' to fp16-mixed or fp32",
                    "GPU '%s' has no bf16 matrix units",
                    cluster_gpu_profile (self->cluster, r)->id);
        return FALSE;
      }
  return TRUE;
}

static gboolean
nodes_are_equal (const Cluster *cluster)
{
  for (guint n = 1; n < cluster_n_nodes (cluster); n++)
    if (cluster_gpus_of_node (cluster, n) != cluster_gpus_of_node (cluster, 0))
      return FALSE;
  return TRUE;
}

/* A strategy spans the data and context ranks of one tensor rank of one stage. */
static PlanInput
make_input (const Replay *self)
{
  const MeshOptions *mesh = workload_mesh (self->workload);
  const Cluster     *cluster = self->cluster;
  guint              world = cluster_n_gpus (cluster);
  gboolean           inside = mesh->order == MESH_ORDER_PP_DP && mesh->pp > 1;

  return (PlanInput){
    .workload = self->workload,
    .stages = (const Workload *const *) self->batches[0],
    .batches = self->lengths != NULL ? &self->plan_batches : NULL,
    .mesh = { .n_ranks = world / (guint) (mesh->tp * mesh->pp),
              .world = world,
              .ranks_per_node = nodes_are_equal (cluster) ? cluster_gpus_of_node (cluster, 0) : 0,
              .stride = (guint) (inside ? mesh->tp * mesh->pp : mesh->tp),
              .tensor = inside ? (guint) mesh->tp : 0,
              .stages = (guint) mesh->pp,
              .experts = (guint) mesh->ep },
  };
}

static guint
choice_depth (const StrategyConfig *config)
{
  guint depth = 0;

  for (; config != NULL; config = config->inner)
    depth++;
  return depth;
}

/* The chain of strategies, outermost first: newly allocated, refers to the scenario. */
static StrategyChoice *
make_chain (const Scenario *scenario)
{
  StrategyChoice *chain = g_new0 (StrategyChoice, choice_depth (scenario->strategy));
  guint           i = 0;

  for (const StrategyConfig *c = scenario->strategy; c != NULL; c = c->inner, i++)
    chain[i] = (StrategyChoice){ c->strategy, c->options, c->inner != NULL ? &chain[i + 1] : NULL };
  return chain;
}

/* The first two nodes of a group of COMM whose profiles differ; FALSE when there are none. */
static gboolean
find_unlike_nodes (const Replay *self, MeshGroup group, guint nodes[2])
{
  const Cluster      *cluster = self->cluster;
  g_autofree guint32 *members = g_new (guint32, group.size);

  for (guint rank = 0; rank < cluster_n_gpus (cluster); rank++)
    {
      mesh_group_members (group, rank, members);
      nodes[0] = cluster_node_of_gpu (cluster, members[0]);
      nodes[1] = cluster_node_of_gpu (cluster, rank);
      if (cluster_node_profile (cluster, nodes[0]) != cluster_node_profile (cluster, nodes[1]))
        return TRUE;
    }
  return FALSE;
}

/*
 * Ranks that share one copy of something in step with each other want like nodes; replicas and
 * whole meshes may be mixed.
 */
static gboolean
check_nodes (const Replay *self, const Mesh *mesh, DiagList *diags)
{
  static const char *const names[] = { "shard", "tensor", "context", "expert", "node", NULL };
  guint                    nodes[2], n_errors = diag_list_n_errors (diags);

  for (guint c = 0; c < schedule_n_comms (self->schedule); c++)
    {
      const ScheduleComm *comm = schedule_comm_info (self->schedule, c);
      gboolean            whole = comm->group.size == mesh_all (mesh).size
                       && comm->group.stride == mesh_all (mesh).stride && mesh->stride == 1;

      if (!g_strv_contains (names, comm->name) || whole
          || !find_unlike_nodes (self, comm->group, nodes))
        continue;
      diag_error (diags, NULL, "give each kind of node whole groups",
                  "%s group of %u ranks spans unlike nodes: node %u is '%s', node %u is '%s'",
                  comm->name, comm->group.size, nodes[0],
                  cluster_node_profile (self->cluster, nodes[0])->id, nodes[1],
                  cluster_node_profile (self->cluster, nodes[1])->id);
    }
  return diag_list_n_errors (diags) == n_errors;
}

/* Where KEY of one of the strategies was set, an outer one's before an inner one's. */
static const SourceMark *
find_strategy_mark (const char *key, gconstpointer user)
{
  const Scenario *scenario = user;

  for (const StrategyConfig *c = scenario->strategy; c != NULL; c = c->inner)
    {
      const SourceMark *mark = option_mark (&c->marks, key, NULL);

      if (mark != NULL && mark != &c->marks.section)
        return mark;
    }
  return NULL;
}

static gboolean
build_schedule (Replay *self, DiagList *diags)
{
  g_autofree StrategyChoice *chain = make_chain (self->scenario);
  PlanInput                  in = make_input (self);
  gboolean                   ok;

  diag_list_set_place (diags, &self->scenario->strategy_mark);
  diag_list_set_finder (diags, find_strategy_mark, self->scenario);
  self->schedule = schedule_build (&in, chain, diags);
  ok = self->schedule != NULL && check_nodes (self, &in.mesh, diags);
  diag_list_set_place (diags, NULL);
  diag_list_set_finder (diags, NULL, NULL);
  if (!ok)
    return FALSE;
  if (schedule_check (self->schedule, &in.mesh, diags))
    return TRUE;
  diag_error (diags, &self->scenario->strategy_mark, NULL,
              "strategy '%s' emits an unsound schedule", self->scenario->strategy->strategy->name);
  return FALSE;
}

gboolean
replay_expect (const Replay *self, PlanTotals *totals)
{
  g_autofree StrategyChoice *chain = make_chain (self->scenario);
  PlanInput                  in = make_input (self);

  return strategy_expect (&in, chain, totals);
}

static const Program *
find_program (const Replay *self, const Program *like)
{
  for (guint i = 0; i < self->programs->len; i++)
    {
      const Program *p = g_ptr_array_index (self->programs, i);

      if (p->role == like->role && p->gpu == like->gpu && p->node == like->node
          && p->speed == like->speed)
        return p;
    }
  return NULL;
}

static void
compile_programs (Replay *self)
{
  const GpuProfile *gpu = NULL;
  double            skew = 1;

  self->programs = g_ptr_array_new_with_free_func ((GDestroyNotify) program_free);
  self->program_of = g_new (const Program *, self->binding->ranks->len);
  for (guint i = 0; i < self->binding->ranks->len; i++)
    {
      const BoundRank *rank = binding_rank (self->binding, i);

      Program like = {
        .role = rank->role,
        .gpu = cluster_gpu_profile (self->cluster, rank->rank),
        .node =
            cluster_node_profile (self->cluster, cluster_node_of_gpu (self->cluster, rank->rank)),
      };

      if (like.gpu != gpu)
        skew = skew_factor (self->cluster, &self->scenario->replay, like.gpu);
      gpu = like.gpu;
      like.speed = cluster_gpu_speed (self->cluster, rank->rank) / skew;
      self->program_of[i] = find_program (self, &like);
      if (self->program_of[i] != NULL)
        continue;
      self->program_of[i] = program_new (self->schedule, &self->scenario->training, self->framework,
                                         (Granularity) self->scenario->replay.granularity,
                                         like.role, like.gpu, like.node, like.speed);
      g_ptr_array_add (self->programs, (gpointer) self->program_of[i]);
    }
}

static void
make_markers (Replay *self)
{
  guint n = schedule_n_streams (self->schedule);

  self->marker = kernel_desc_stream (KERNEL_COPY, "event", DTYPE_FP32, 0, 0, 0);
  self->markers = g_new0 (ScheduleItem, n);
  for (guint s = 0; s < n; s++)
    self->markers[s] = (ScheduleItem){ .kind = ITEM_KERNEL,
                                       .stream = s,
                                       .unit = SCHEDULE_NONE,
                                       .ref = SCHEDULE_NONE,
                                       .event = SCHEDULE_NONE,
                                       .kernel = &self->marker };
}

/* ---- running --------------------------------------------------------------------------------- */

/*
 * Runs afresh with twice the periods until the last two are alike: a host cannot know, while others
 * lag, whether it may stop.
 */
static gboolean
run_until_steady (Replay *self, const ReplayOptions *options, GError **error)
{
  guint most = options->max_periods > 0 ? options->max_periods : DEFAULT_MAX_PERIODS;
  guint n = options->min_periods > 0 ? options->min_periods : DEFAULT_MIN_PERIODS;

  if (options->first_only)
    most = schedule_first_is_steady (self->schedule) ? 0 : 1;
  for (;; n *= 2)
    {
      n = MIN (n, most);
      g_clear_pointer (&self->run, run_free);
      self->run = run_new (self, n, options->keep_pools);
      if (!engine_run (self->run->engine, error))
        {
          g_prefix_error (error, "strategy '%s': ", self->scenario->strategy->strategy->name);
          return FALSE;
        }
      self->steady = run_is_steady (self->run);
      if (self->steady || n >= most)
        return TRUE;
    }
}

Replay *
replay_plan (const Scenario *scenario, ProfileSet *profiles, DiagList *diags)
{
  g_autoptr (Replay) self = g_new0 (Replay, 1);
  gboolean           ok;

  self->scenario = scenario_copy (scenario);
  self->cluster =
      cluster_new (&scenario->cluster, profiles, scenario_marks (scenario, cluster_options), diags);
  ok = resolve_framework (self, profiles, diags);
  ok = workloads_resolve (self, diags) && ok && self->cluster != NULL;
  if (!ok || !check_precision (self, diags) || !build_schedule (self, diags))
    return NULL;
  return g_steal_pointer (&self);
}

Replay *
replay_run (const Scenario *scenario, ProfileSet *profiles, const ReplayOptions *options,
            DiagList *diags, GError **error)
{
  static const ReplayOptions defaults = { 0 };
  g_autoptr (Replay)         self = replay_plan (scenario, profiles, diags);
  CollectiveOptions          library;

  if (self == NULL)
    return NULL;
  if (options == NULL)
    options = &defaults;
  library = collective_config_options (&self->scenario->collective);
  self->binding = binding_new (self->cluster, self->schedule, options->unfolded, &library);
  compile_programs (self);
  make_markers (self);
  if (!run_until_steady (self, options, error))
    return NULL;
  return g_steal_pointer (&self);
}

void
replay_free (Replay *self)
{
  if (self == NULL)
    return;
  run_free (self->run);
  g_clear_pointer (&self->programs, g_ptr_array_unref);
  g_free (self->program_of);
  g_free (self->markers);
  binding_free (self->binding);
  g_clear_pointer (&self->schedule, schedule_free_all);
  workloads_free (self);
  g_clear_pointer (&self->cluster, cluster_free);
  scenario_free (self->scenario);
  g_free (self);
}

/* ---- what it holds --------------------------------------------------------------------------- */

const Scenario *
replay_scenario (const Replay *self)
{
  return self->scenario;
}

const Cluster *
replay_cluster (const Replay *self)
{
  return self->cluster;
}

const Schedule *
replay_schedule (const Replay *self)
{
  return self->schedule;
}

const Engine *
replay_engine (const Replay *self)
{
  return self->run->engine;
}

guint
replay_n_ranks (const Replay *self)
{
  return self->binding->ranks->len;
}

const ReplayRank *
replay_rank (const Replay *self, guint i)
{
  g_assert (i < self->binding->ranks->len);
  return &self->run->ranks[i];
}

guint
replay_n_host_pools (const Replay *self)
{
  return self->binding->nodes->len;
}

PoolId
replay_host_pool (const Replay *self, guint i, guint *node)
{
  g_assert (i < self->binding->nodes->len);
  if (node != NULL)
    *node = g_array_index (self->binding->nodes, BoundThing, i).id;
  return self->run->host_pools[i];
}

guint
replay_cluster_resource (const Replay *self, ResourceId resource, guint *n_alike)
{
  const BoundThing *thing = &g_array_index (self->binding->resources, BoundThing, resource);

  g_assert (resource < self->binding->resources->len);
  if (n_alike != NULL)
    *n_alike = thing->n_alike;
  return thing->id;
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

gboolean
replay_is_steady (const Replay *self)
{
  return self->steady;
}

SimTime
replay_period (const Replay *self)
{
  guint last = replay_n_boundaries (self) - 1;

  return replay_boundary (self, last) - replay_boundary (self, last - 1);
}

double
replay_utilisation (const Replay *self, ResourceId resource)
{
  guint         last = replay_n_boundaries (self) - 1;
  const double *now = run_boundary (self->run, 0, last)->used;
  const double *before = run_boundary (self->run, 0, last - 1)->used;

  return (now[resource] - before[resource]) / engine_resource_capacity (self->run->engine, resource)
         / sim_time_to_seconds (replay_period (self));
}

double
replay_skew (const Replay *self, guint i)
{
  guint32 rank = binding_rank (self->binding, i)->rank;

  return cluster_gpu_speed (self->cluster, rank) / self->program_of[i]->speed;
}

double
replay_step_time (const Replay *self)
{
  return sim_time_to_seconds (replay_period (self)) / schedule_steps_per_period (self->schedule);
}
