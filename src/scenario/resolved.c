/* From the options of a scenario to what they name. */
#include "scenario/resolved-private.h"

#include "model/mesh/mesh-order.h"
#include "scenario/software.h"

#define D "%" G_GINT64_FORMAT

/* ---- the parts ------------------------------------------------------------------------------- */

/*
 * What the framework's generation launches goes into the training options, before a workload is
 * made of them.
 */
static gboolean
find_software (Resolution *self, DiagList *diags)
{
  Software       software;
  const gboolean ok = software_apply (self->scenario, self->view.profiles,
                                      software_architecture (self->view.cluster), &software, diags);

  self->view.framework = software.framework;
  self->view.framework_by_default = software.by_default;
  self->training = self->scenario->training;
  training_take_traits (&self->training,
                        software.framework != NULL ? &software.framework->traits : NULL);
  if (self->view.cluster != NULL)
    self->training.fp8_any_layout = cluster_gpu_profile (self->view.cluster, 0)->fp8_any_layout;
  return ok;
}

/* The multiples of ONCE next to ALL, which is none. Newly allocated. */
static char *
nearest_batches (gint64 all, gint64 once)
{
  const gint64 below = all / once * once;

  return below > 0 ? g_strdup_printf ("the nearest that are: " D " and " D, below, below + once)
                   : g_strdup_printf ("the least that is: " D, once);
}

/*
 * Sequences of a step are those of a micro-batch, of all micro-steps and data ranks; a mesh that
 * does not divide the ranks says so itself, later.
 */
gboolean
resolved_settle_batch (Resolution *self, DiagList *diags)
{
  const MeshOptions *mesh = &self->scenario->mesh;
  const OptionMarks *marks = scenario_marks (self->scenario, training_options);
  const SourceMark  *place = option_mark (marks, "global_batch", NULL);
  const SourceMark  *accum = option_mark (marks, "grad_accum", NULL);
  const gint64       all = self->training.global_batch, given = self->training.grad_accum;
  const gint64       replica = mesh_replica (mesh);
  gint64             ranks, once;
  g_autofree char   *nearest = NULL;

  if (all == 0 || self->view.cluster == NULL)
    return TRUE;
  ranks = (gint64) cluster_n_gpus (self->view.cluster) / replica;
  once = MAX (ranks, 1) * self->training.micro_batch;
  nearest = nearest_batches (all, once);
  if (self->training.lengths != NULL)
    diag_error (diags, place, "set 'grad_accum': the file says the sequences",
                "'global_batch' does not go with 'lengths'");
  else if (all % once != 0)
    diag_error (diags, place, "make it a multiple",
                "'global_batch' of " D " is no multiple of the " D " sequences that " D
                " data ranks take at a time with 'micro_batch' " D ": %s",
                all, once, ranks, self->training.micro_batch, nearest);
  else if (accum != NULL && accum != &marks->section && given != all / once)
    diag_error (diags, accum, "leave one of the two away",
                "'grad_accum' of " D " makes a batch of " D " sequences, 'global_batch' says " D,
                given, given * once, all);
  else
    {
      self->training.grad_accum = self->scenario->training.grad_accum = all / once;
      return TRUE;
    }
  return FALSE;
}

/* ---- what strategies are told ---------------------------------------------------------------- */

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
make_input (const Resolution *self)
{
  const MeshOptions *mesh = workload_mesh (self->view.workload);
  const Cluster     *cluster = self->view.cluster;
  guint              world = cluster_n_gpus (cluster);
  guint              per_node = nodes_are_equal (cluster) ? cluster_gpus_of_node (cluster, 0) : 0;
  gboolean           experts = workload_shape (self->view.workload)->n_experts > 0;

  return (PlanInput){
    .workload = self->view.workload,
    .stages = (const Workload *const *) self->batches[0],
    .batches = self->view.lengths != NULL ? &self->plan_batches : NULL,
    .mesh = mesh_of_options (mesh, world, per_node, experts),
    .files = profile_set_files (self->view.profiles),
    .base_dir = self->scenario->base_dir,
  };
}

/* ---- life ------------------------------------------------------------------------------------ */

static Resolution *
resolution_new (const Scenario *scenario, ProfileSet *profiles)
{
  Resolution *self = g_atomic_rc_box_new0 (Resolution);

  self->scenario = scenario_copy (scenario);
  self->training = self->scenario->training;
  self->view.scenario = self->scenario;
  self->view.profiles = profiles;
  return self;
}

static gboolean
find_model (const Resolution *self, ModelShape *shape, DiagList *diags)
{
  const Scenario *scenario = self->scenario;

  return model_resolve (&scenario->model, scenario->base_dir,
                        profile_set_files (self->view.profiles), shape,
                        scenario_marks (scenario, model_options), diags);
}

/* A step of reinforcement learning is several, of which who asks for one has to resolve each. */
static gboolean
check_trains (const Resolution *self, DiagList *diags)
{
  if (self->scenario->rl.algorithm == RL_NONE)
    return TRUE;
  diag_error (
      diags, option_mark (scenario_marks (self->scenario, rl_options), "algorithm", NULL),
      "ask 'shardsim simulate' or 'search', or set 'rl.algorithm' to none for training alone",
      "a step of reinforcement learning is asked for where only training is known");
  return FALSE;
}

/* A step's host program has each call's cost already. */
static gboolean
check_calls (const Resolution *self, DiagList *diags)
{
  if (!self->scenario->collective.timed_calls)
    return TRUE;
  diag_error (
      diags, option_mark (scenario_marks (self->scenario, collective_options), "timed_calls", NULL),
      "the host's time to issue them counts anyway: issue_collective of the node or of the "
      "framework",
      "'timed_calls' is of collectives alone: the calls of a training step are not timed");
  return FALSE;
}

/*
 * What was measured of the network. With figures that are varied it may be out of reach: then the
 * network comes as near as it may.
 */
static gboolean
scale_network (Resolution *self, DiagList *diags)
{
  const CollectiveOptions options = collective_config_options (&self->scenario->collective);
  const OptionMarks      *marks = scenario_marks (self->scenario, cluster_options);

  return self->cluster == NULL || cluster_n_measured (self->cluster) == 0
         || collective_scale_to_measured (self->cluster, &options,
                                          profile_set_is_varied (self->view.profiles),
                                          option_mark (marks, "measured", NULL), diags);
}

/* FALSE after a diagnostic: what is forced runs in no group. */
static gboolean
check_forced (Resolution *self, DiagList *diags)
{
  const CollectiveOptions options = collective_config_options (&self->scenario->collective);
  const OptionMarks      *marks = scenario_marks (self->scenario, collective_options);
  g_autofree char        *refusal = NULL;
  RefusedWish             wish;

  if (self->cluster != NULL)
    refusal = collective_forced_refusal (&options, self->cluster, &wish);
  if (refusal != NULL)
    diag_error (diags, option_mark (marks, wish.key, NULL), wish.hint, "%s", refusal);
  return refusal == NULL;
}

/* What the GPUs' kernels are of: nobody has asked for a GPU's profile before. */
static gboolean
set_kernels (Resolution *self, DiagList *diags)
{
  const char *kernels = self->scenario->training.kernels;

  return self->cluster == NULL || kernels == NULL
         || cluster_set_kernels (
             self->cluster, kernels,
             option_mark (scenario_marks (self->scenario, training_options), "kernels", NULL),
             diags);
}

static gboolean
check_dispatch (const Resolution *self, DiagList *diags)
{
  const Mesh mesh = make_input (self).mesh;

  return resolved_check_dispatch (self, &mesh, diags);
}

static void
warn_of_scans (const Resolution *self, DiagList *diags)
{
  const OptionMarks *marks = scenario_marks (self->scenario, model_options);

  if (model_has_mixer (workload_shape (self->view.workload), MODEL_MIXER_MAMBA1))
    diag_warning (diags, option_mark (marks, "config", NULL),
                  "docs/models.md says by how much a public benchmark differs",
                  "scans of Mamba-1 take at least the time that is predicted: what all channels "
                  "add up by atomic operations is left out");
}

/* All errors that can be told in one pass. */
static gboolean
resolve (Resolution *self, DiagList *diags)
{
  ModelShape shape = { 0 };
  gboolean   ok;

  if (!check_trains (self, diags))
    return FALSE;
  self->cluster = scenario_cluster_new (self->scenario, self->view.profiles, diags);
  self->view.cluster = self->cluster;
  if (self->cluster != NULL)
    self->view.profiles = cluster_profiles (self->cluster);
  ok = collective_config_check (
      &self->scenario->collective, self->view.profiles,
      option_mark (scenario_marks (self->scenario, collective_options), "nccl", NULL), diags);
  ok = collective_config_check_wishes (&self->scenario->collective, self->cluster,
                                       scenario_marks (self->scenario, collective_options), diags)
       && check_forced (self, diags) && ok;
  ok = check_calls (self, diags) && ok;
  ok = ok && scale_network (self, diags);
  ok = find_software (self, diags) && ok;
  ok = ok && set_kernels (self, diags);
  ok = resolved_settle_batch (self, diags) && ok;
  ok = find_model (self, &shape, diags) && resolved_make_workloads (self, &shape, diags) && ok
       && resolved_check_precision (self, diags);
  ok = ok && check_dispatch (self, diags);
  if (ok)
    {
      warn_of_scans (self, diags);
      resolved_warn_idle (&self->view, diags);
    }
  model_shape_clear (&shape);
  return ok;
}

/* SELF, which is consumed, with the rest of what is seen of it; NULL where it is not OK. */
static ResolvedScenario *
finish (Resolution *self, gboolean ok)
{
  const MeshOptions *mesh;

  if (!ok)
    {
      resolved_unref (&self->view);
      return NULL;
    }
  mesh = workload_mesh (self->view.workload);
  self->view.n_data_ranks = cluster_n_gpus (self->view.cluster) / (guint) mesh_replica (mesh);
  self->view.input = make_input (self);
  self->chain = scenario_strategy_choice (self->scenario);
  self->view.strategy = self->chain;
  if (self->chain != NULL)
    self->view.n_data_ranks /= strategy_step_shape (&self->view.input, self->chain).pass_ranks;
  return &self->view;
}

ResolvedScenario *
resolved_new (const Scenario *scenario, ProfileSet *profiles, DiagList *diags)
{
  Resolution *self = resolution_new (scenario, profiles);

  return finish (self, resolve (self, diags));
}

ResolvedScenario *
resolved_with_micro_steps (const ResolvedScenario *base, guint n, DiagList *diags)
{
  Resolution *self = resolution_new (base->scenario, base->profiles);

  g_assert (base->lengths == NULL);
  self->base = resolved_ref (base);
  self->view.cluster = base->cluster;
  self->view.framework = base->framework;
  self->view.framework_by_default = base->framework_by_default;
  self->is_checked = TRUE;
  self->scenario->training.grad_accum = n;
  self->scenario->training.global_batch = 0;
  self->training = *workload_training (base->workload);
  self->training.grad_accum = n;
  return finish (self, resolved_make_workloads (self, workload_shape (base->workload), diags));
}

/* Whether SELF trains as BASE does, but for how many micro-steps that takes. */
static gboolean
trains_alike (const Resolution *self, const ResolvedScenario *base)
{
  for (const OptionSpec *spec = training_options; spec->key != NULL; spec++)
    {
      g_autofree char *a = option_format (spec, &self->scenario->training);
      g_autofree char *b = option_format (spec, &base->scenario->training);

      if (!g_str_equal (a, b) && !g_str_equal (spec->key, "grad_accum"))
        return FALSE;
    }
  return TRUE;
}

ResolvedScenario *
resolved_on_mesh (const ResolvedScenario *base, const Scenario *scenario, const GPtrArray *known,
                  DiagList *diags)
{
  Resolution *self = resolution_new (scenario, base->profiles);
  gboolean    ok;

  self->base = resolved_ref (base);
  self->view.cluster = base->cluster;
  ok = find_software (self, diags);
  self->is_checked = trains_alike (self, base);
  self->known = known;
  ok = resolved_settle_batch (self, diags) && ok;
  ok = resolved_make_workloads (self, workload_shape (base->workload), diags) && ok
       && resolved_check_precision (self, diags) && check_dispatch (self, diags);
  self->known = NULL;
  return finish (self, ok);
}

static void
resolution_clear (gpointer data)
{
  Resolution *self = data;

  g_free (self->chain);
  resolved_free_workloads (self);
  g_clear_pointer (&self->cluster, cluster_free);
  g_clear_pointer (&self->base, resolved_unref);
  scenario_free (self->scenario);
}

GArray *
resolved_figures (const ResolvedScenario *self)
{
  return hardware_figures (self->cluster, &self->scenario->cluster, self->framework,
                           self->profiles);
}

const ResolvedScenario *
resolved_ref (const ResolvedScenario *self)
{
  return g_atomic_rc_box_acquire ((gpointer) self);
}

void
resolved_unref (const ResolvedScenario *self)
{
  g_atomic_rc_box_release_full ((gpointer) self, resolution_clear);
}
