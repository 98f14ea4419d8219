/* From a resolved scenario to its schedule. */
#include "model/optimizer/optimizer.h"
#include "replay/bind/graph-launch.h"
#include "replay/bind/plan-memory.h"
#include "replay/run/replay-private.h"

static gboolean
uses_drives (const Schedule *schedule, guint role)
{
  for (guint b = 0; b < schedule_n_buffers (schedule, role); b++)
    if (schedule_buffer_info (schedule, role, b)->place == PLACE_NVME)
      return TRUE;
  for (guint s = 0; s < SECTION_N; s++)
    {
      ScheduleItems items = schedule_items (schedule, role, (ScheduleSection) s);

      for (guint i = 0; i < items.n; i++)
        if (items.items[i].kind == ITEM_MOVE
            && (move_from (items.items[i].collective) == PLACE_NVME
                || move_to (items.items[i].collective) == PLACE_NVME))
          return TRUE;
    }
  return FALSE;
}

/*
 * Whether CLUSTER has the places that a schedule of strategy NAME uses; a diagnostic says which
 * keys would add what is missing.
 */
static gboolean
check_places (const Cluster *cluster, const Schedule *schedule, const char *name, DiagList *diags)
{
  g_autofree gboolean *drives = g_new (gboolean, schedule_n_roles (schedule));

  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    drives[role] = uses_drives (schedule, role);
  for (guint rank = 0; rank < cluster_n_gpus (cluster); rank++)
    {
      guint              node = cluster_node_of_gpu (cluster, rank);
      const NodeProfile *profile = cluster_node_profile (cluster, node);

      if (!drives[schedule_role_of_rank (schedule, rank)] || profile->nvme_bytes.value > 0)
        continue;
      diag_error (diags, NULL,
                  "give its profile 'nvme_read', 'nvme_write' and 'nvme_bytes', or another place",
                  "strategy '%s' uses NVMe drives, but node '%s' has none", name, profile->id);
      return FALSE;
    }
  return TRUE;
}

/* The first two nodes of a group of COMM whose profiles differ; FALSE when there are none. */
static gboolean
find_unlike_nodes (const Cluster *cluster, MeshGroup group, guint nodes[2])
{
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
 * Ranks that share one copy of something in step with each other want like nodes, whatever their
 * communicator is called; replicas and whole meshes may be mixed.
 */
static gboolean
check_nodes (const ReplayPlan *self, DiagList *diags)
{
  const Cluster *cluster = self->resolved->cluster;
  const Mesh    *mesh = &self->input.mesh;
  guint          nodes[2], n_errors = diag_list_n_errors (diags);

  for (guint c = 0; c < schedule_n_comms (self->schedule); c++)
    {
      const ScheduleComm *comm = schedule_comm_info (self->schedule, c);
      gboolean whole = mesh_group_equal (comm->group, mesh_all (mesh)) && mesh->stride == 1;

      if (comm->role != COMM_SHARES || whole || !find_unlike_nodes (cluster, comm->group, nodes))
        continue;
      diag_error (diags, NULL, "give each kind of node whole groups",
                  "%s group of %u ranks spans unlike nodes: node %u is '%s', node %u is '%s'",
                  comm->name, comm->group.size, nodes[0],
                  cluster_node_profile (cluster, nodes[0])->id, nodes[1],
                  cluster_node_profile (cluster, nodes[1])->id);
    }
  return diag_list_n_errors (diags) == n_errors;
}

/* Where KEY was set: of a strategy, an outer one's before an inner one's, or of training. */
static const SourceMark *
find_mark (const char *key, gconstpointer user)
{
  const Scenario    *scenario = user;
  const OptionMarks *training = scenario_marks (scenario, training_options);
  const SourceMark  *mark = option_mark (training, key, NULL);

  for (const StrategyConfig *c = scenario->strategy; c != NULL; c = c->inner)
    {
      const SourceMark *own = option_mark (&c->marks, key, NULL);

      if (own != NULL && own != &c->marks.section)
        return own;
    }
  return mark != NULL && mark != &training->section ? mark : NULL;
}

static gboolean
check_graphs (const ReplayPlan *self, DiagList *diags)
{
  const Scenario *scenario = self->resolved->scenario;

  return graph_launch_check (
      self->schedule, (GraphScope) workload_training (self->resolved->workload)->cuda_graphs,
      option_mark (scenario_marks (scenario, training_options), "cuda_graphs", NULL), diags);
}

/* What steps of forward passes alone have no use for, where it is not left at its default. */
static gboolean
check_step_shape (const ReplayPlan *self, DiagList *diags)
{
  static const char *const keys[] = { "optimizer", "clip_gradients", "moment_dtype", "reduce_dtype",
                                      "activation_checkpointing" };
  const Scenario          *scenario = self->resolved->scenario;
  const OptionMarks       *marks = scenario_marks (scenario, training_options);
  const char              *name = self->resolved->strategy->strategy->name;
  const StepShape          shape = strategy_step_shape (&self->input, self->resolved->strategy);
  guint                    n_errors = diag_list_n_errors (diags);

  for (guint i = 0; i < G_N_ELEMENTS (keys) && !shape.backward; i++)
    {
      const OptionSpec *spec = option_table_find (training_options, keys[i]);
      g_autofree char  *value = option_format (spec, &scenario->training);

      /* A scenario that is printed says it by its default. */
      if (g_strcmp0 (value, spec->fallback) != 0)
        diag_error (diags, option_mark (marks, keys[i], NULL), "leave it out",
                    "strategy '%s' has no gradients: '%s' has no meaning", name, keys[i]);
    }
  if (shape.pass_ranks > 1 && scenario->training.global_batch > 0)
    diag_error (diags, option_mark (marks, "global_batch", NULL), "set 'grad_accum'",
                "strategy '%s' gives %u GPUs one batch: 'global_batch' is not divided so", name,
                shape.pass_ranks);
  return diag_list_n_errors (diags) == n_errors;
}

/* What checks say until `unset_places` is about the strategy, or the option that they name. */
static void
set_places (const ResolvedScenario *resolved, DiagList *diags)
{
  diag_list_set_place (diags, &resolved->scenario->strategy_mark);
  diag_list_set_finder (diags, find_mark, resolved->scenario);
}

static void
unset_places (DiagList *diags)
{
  diag_list_set_place (diags, NULL);
  diag_list_set_finder (diags, NULL, NULL);
}

void
replay_plan_warn (const ResolvedScenario *resolved, DiagList *diags)
{
  set_places (resolved, diags);
  strategy_check_stages (&resolved->input, resolved->strategy, diags);
  unset_places (diags);
}

static gboolean
build_schedule (ReplayPlan *self, const PlanOptions *options, DiagList *diags)
{
  const ResolvedScenario *resolved = self->resolved;
  const char             *name = resolved->strategy->strategy->name;
  PlanInput               input = self->input;
  guint                   n_errors;
  gboolean                ok;

  if (!check_step_shape (self, diags))
    return FALSE;
  input.stop = options->stop;
  set_places (resolved, diags);
  self->schedule = schedule_build (&input, resolved->strategy, diags);
  ok = self->schedule != NULL && check_nodes (self, diags)
       && check_places (resolved->cluster, self->schedule, name, diags)
       && check_graphs (self, diags);
  unset_places (diags);
  if (!ok)
    return FALSE;
  n_errors = diag_list_n_errors (diags);
  if (schedule_check_once (self->schedule, &self->input.mesh, options->sound, options->stop, diags))
    return TRUE;
  if (diag_list_n_errors (diags) > n_errors)
    diag_error (diags, &resolved->scenario->strategy_mark, NULL,
                "strategy '%s' emits an unsound schedule", name);
  return FALSE;
}

/* What stays on the GPU where there is room. */
typedef struct
{
  PlanRoom room;  /* for what a strategy chooses; none: it keeps nothing */
  gboolean pages; /* states in unified memory do */
} Kept;

static ReplayPlan *
plan_with_kept (const ResolvedScenario *resolved, PlanOptions options, Kept kept, DiagList *diags)
{
  g_autoptr (ReplayPlan) self = g_atomic_rc_box_new0 (ReplayPlan);

  self->resolved = resolved_ref (resolved);
  self->input = resolved->input;
  self->input.round_steps = options.round_steps;
  self->input.round_only = options.round_only;
  self->input.first_micros = options.first_micros;
  self->input.hbm = kept.room;
  self->input.pages_stay = kept.pages;
  return build_schedule (self, &options, diags) ? g_steal_pointer (&self) : NULL;
}

/*
 * What GPU memory has and what it takes at KEPT. All numbers of micro-steps must find the same
 * room, or few could not stand for many: it is that of two. What does not plan has none, and says
 * why itself.
 */
static PlanRoom
room_of (const ResolvedScenario *resolved, PlanOptions options, Kept kept)
{
  guint                        n = workload_training (resolved->workload)->grad_accum;
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (ResolvedScenario) few = NULL;
  g_autoptr (ReplayPlan)       bare = NULL;
  PlanMemory                   memory;

  if (n > 2 && resolved->lengths == NULL)
    few = resolved_with_micro_steps (resolved, 2, diags);
  bare = plan_with_kept (few != NULL ? few : resolved, options, kept, diags);
  if (bare == NULL)
    return (PlanRoom){ 0 };
  memory = replay_plan_fullest (bare);
  return (PlanRoom){ memory.hbm.capacity, memory.hbm.device.bytes };
}

/*
 * What a strategy keeps by choice has the room that the plan without it leaves; then pages stay if
 * all of them have room: they are the first to leave.
 */
ReplayPlan *
replay_plan_new (const ResolvedScenario *resolved, PlanOptions options, DiagList *diags)
{
  Kept kept = { 0 };

  if (strategy_reads_room (resolved->strategy))
    kept.room = room_of (resolved, options, kept);
  if (optimizer_is_paged (workload_training (resolved->workload)))
    {
      PlanRoom full = room_of (resolved, options, (Kept){ kept.room, TRUE });

      kept.pages = full.taken <= full.capacity;
    }
  return plan_with_kept (resolved, options, kept, diags);
}

ReplayPlan *
replay_plan_scenario (const Scenario *scenario, ProfileSet *profiles, DiagList *diags)
{
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);

  return resolved != NULL ? replay_plan_new (resolved, (PlanOptions){ 0 }, diags) : NULL;
}

/* Of equal micro-batches; those of a file are cut before it is read. */
static ReplayPlan *
plan_few (const Scenario *scenario, guint enough, ProfileSet *profiles, Stop *stop, DiagList *diags)
{
  g_autoptr (ResolvedScenario) all = resolved_new (scenario, profiles, diags);
  g_autoptr (ResolvedScenario) few = NULL;

  if (all == NULL)
    return NULL;
  if (all->lengths == NULL && all->scenario->training.grad_accum > enough)
    few = resolved_with_micro_steps (all, enough, diags);
  return replay_plan_new (few != NULL ? few : all, (PlanOptions){ .stop = stop }, diags);
}

ReplayPlan *
replay_plan_for_memory (const Scenario *scenario, ProfileSet *profiles, Stop *stop, DiagList *diags)
{
  gint64               stages = MAX (scenario->mesh.pp, 1), chunks = MAX (scenario->mesh.vp, 1);
  gint64               enough = 2 * stages * (chunks + 1);
  g_autoptr (Scenario) shorter = NULL;

  if (scenario->training.lengths == NULL)
    return plan_few (scenario, (guint) enough, profiles, stop, diags);
  shorter = scenario_copy (scenario);
  shorter->training.grad_accum = MIN (shorter->training.grad_accum, enough);
  return plan_few (shorter, (guint) enough, profiles, stop, diags);
}

static void
plan_clear (gpointer data)
{
  ReplayPlan *self = data;

  g_clear_pointer (&self->schedule, schedule_free_all);
  resolved_unref (self->resolved);
}

const ReplayPlan *
replay_plan_ref (const ReplayPlan *self)
{
  return g_atomic_rc_box_acquire ((gpointer) self);
}

void
replay_plan_unref (const ReplayPlan *self)
{
  g_atomic_rc_box_release_full ((gpointer) self, plan_clear);
}

const ResolvedScenario *
replay_plan_resolved (const ReplayPlan *self)
{
  return self->resolved;
}

const Schedule *
replay_plan_schedule (const ReplayPlan *self)
{
  return self->schedule;
}

gboolean
replay_plan_expect (const ReplayPlan *self, PlanTotals *totals)
{
  return strategy_expect (&self->input, self->resolved->strategy, totals);
}
