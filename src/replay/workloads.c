/* What ranks compute: a workload for each pipeline stage and each different micro-batch. */
#include "replay/replay-private.h"

guint
replay_n_stages (const Replay *self)
{
  return (guint) MAX (self->scenario->mesh.pp, 1);
}

static guint
n_batches (const Replay *self)
{
  return self->lengths != NULL ? sequence_lengths_n_batches (self->lengths) : 1;
}

static gboolean
check_options (const Replay *self, ModelShape *shape, DiagList *diags)
{
  const Scenario *scenario = self->scenario;

  return model_resolve (&scenario->model, scenario->base_dir, shape,
                        scenario_marks (scenario, model_options), diags)
         && workload_check (shape, &scenario->training, scenario_marks (scenario, training_options),
                            diags)
         && self->cluster != NULL
         && mesh_check (shape, &scenario->training, &scenario->mesh, cluster_n_gpus (self->cluster),
                        scenario_marks (scenario, mesh_options), diags);
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* The training options of one of the different micro-batches: SELF's lengths must outlive them. */
static TrainingOptions
options_of_batch (const Replay *self, guint batch)
{
  TrainingOptions training = self->scenario->training;

  if (self->lengths != NULL)
    training.batch = sequence_lengths_batch (self->lengths, batch);
  return training;
}

static gboolean
load_lengths (Replay *self, const ModelShape *shape, DiagList *diags)
{
  const Scenario        *scenario = self->scenario;
  const TrainingOptions *training = &scenario->training;
  const MeshOptions     *mesh = &scenario->mesh;
  const OptionMarks     *marks = scenario_marks (scenario, training_options);
  gint64                 unit = MAX (mesh->cp, 1) * (mesh->cp > 1 && training->causal ? 2 : 1);
  gint64                 replica = MAX (mesh->tp, 1) * MAX (mesh->cp, 1) * MAX (mesh->pp, 1);
  g_autofree char       *file = NULL;

  if (training->lengths == NULL)
    return TRUE;
  if (training_flash_version (training) == 0)
    {
      diag_error (
          diags, option_mark (marks, "attention", "lengths", NULL), "set 'attention' to flash2",
          "sequences of different lengths need flash attention: other kernels take one length");
      return FALSE;
    }
  file = scenario->base_dir != NULL && !g_path_is_absolute (training->lengths)
             ? g_build_filename (scenario->base_dir, training->lengths, NULL)
             : g_strdup (training->lengths);
  self->lengths = sequence_lengths_load (
      file, (guint) (cluster_n_gpus (self->cluster) / replica), (guint) training->grad_accum,
      (guint) training->micro_batch, unit, training->seq_len, diags);
  for (guint b = 0; self->lengths != NULL && b < n_batches (self); b++)
    {
      TrainingOptions options = options_of_batch (self, b);

      if (!mesh_check_batch (&options, mesh, scenario_marks (scenario, mesh_options), diags)
          || (b == 0 && !workload_check (shape, &options, marks, diags)))
        return FALSE;
    }
  return self->lengths != NULL;
}

/* ---- entry points ---------------------------------------------------------------------------- */

static Workload **
build_stages (const Replay *self, const ModelShape *shape, guint batch)
{
  TrainingOptions options = options_of_batch (self, batch);
  Workload      **stages = g_new0 (Workload *, replay_n_stages (self));

  for (guint s = 0; s < replay_n_stages (self); s++)
    stages[s] = workload_new_stage (shape, &options, &self->scenario->mesh, s);
  return stages;
}

static void
build_batches (Replay *self, const ModelShape *shape)
{
  Workload **first = build_stages (self, shape, 0);

  self->batches = g_new0 (Workload **, n_batches (self));
  self->batches[0] = first;
  for (guint b = 1; b < n_batches (self); b++)
    self->batches[b] = build_stages (self, shape, b);
  self->workload = first[0];
  if (self->lengths != NULL)
    self->plan_batches =
        (PlanBatches){ n_batches (self), (const Workload *const *const *) self->batches,
                       sequence_lengths_table (self->lengths) };
}

gboolean
workloads_resolve (Replay *self, DiagList *diags)
{
  ModelShape shape = { 0 };
  gboolean   ok = check_options (self, &shape, diags) && load_lengths (self, &shape, diags);

  if (ok)
    build_batches (self, &shape);
  model_shape_clear (&shape);
  return ok;
}

void
workloads_free (Replay *self)
{
  for (guint b = 0; self->batches != NULL && b < n_batches (self); b++)
    {
      for (guint s = 0; s < replay_n_stages (self); s++)
        workload_free (self->batches[b][s]);
      g_free (self->batches[b]);
    }
  g_free (self->batches);
  sequence_lengths_free (self->lengths);
}

const Workload *
replay_workload (const Replay *self)
{
  return self->workload;
}

const SequenceLengths *
replay_lengths (const Replay *self)
{
  return self->lengths;
}

guint
replay_n_data_ranks (const Replay *self)
{
  const MeshOptions *mesh = workload_mesh (self->workload);

  return cluster_n_gpus (self->cluster) / (guint) (mesh->tp * mesh->cp * mesh->pp);
}
