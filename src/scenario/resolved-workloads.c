/* What ranks compute: a workload for each pipeline stage and each different micro-batch. */
#include "model/layer/measured-kernels.h"
#include "scenario/resolved-private.h"

static guint
n_stages (const Resolution *self)
{
  return (guint) MAX (self->scenario->mesh.pp, 1);
}

guint
resolved_n_batches (const Resolution *self)
{
  return self->view.lengths != NULL ? sequence_lengths_n_batches (self->view.lengths) : 1;
}

static gboolean
check_options (const Resolution *self, const ModelShape *shape, DiagList *diags)
{
  const Scenario *scenario = self->scenario;
  gboolean        ok = self->base != NULL /* whose training it is, checked with it */
                || workload_check (shape, &self->training,
                                   scenario_marks (scenario, training_options), diags);

  return self->view.cluster != NULL
         && mesh_check (shape, &self->training, &scenario->mesh,
                        cluster_n_gpus (self->view.cluster),
                        scenario_marks (scenario, mesh_options), diags)
         && ok;
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* The training options of one of the different micro-batches: SELF's lengths must outlive them. */
static TrainingOptions
options_of_batch (const Resolution *self, guint batch)
{
  TrainingOptions training = self->training;

  if (self->view.lengths != NULL)
    training.batch = sequence_lengths_batch (self->view.lengths, batch);
  return training;
}

static gboolean
load_lengths (Resolution *self, const ModelShape *shape, DiagList *diags)
{
  const Scenario        *scenario = self->scenario;
  const TrainingOptions *training = &self->training;
  const MeshOptions     *mesh = &scenario->mesh;
  const OptionMarks     *marks = scenario_marks (scenario, training_options);
  gint64                 unit = MAX (mesh->cp, 1) * (mesh->cp > 1 && training->causal ? 2 : 1);
  gint64                 replica = mesh_replica (mesh);
  g_autofree char       *file = NULL;

  if (training->lengths == NULL)
    return TRUE;
  if (training_flash_version (training) == FLASH_NONE)
    {
      diag_error (
          diags, option_mark (marks, "attention", "lengths", NULL), "set 'attention' to flash2",
          "sequences of different lengths need flash attention: other kernels take one length");
      return FALSE;
    }
  file = scenario->base_dir != NULL && !g_path_is_absolute (training->lengths)
             ? g_build_filename (scenario->base_dir, training->lengths, NULL)
             : g_strdup (training->lengths);
  self->view.lengths = sequence_lengths_get (
      profile_set_files (self->view.profiles), file,
      (guint) (cluster_n_gpus (self->view.cluster) / replica), (guint) training->grad_accum,
      (guint) training->micro_batch, unit, training->seq_len, diags);
  for (guint b = 0; self->view.lengths != NULL && b < resolved_n_batches (self); b++)
    {
      TrainingOptions options = options_of_batch (self, b);

      if (!mesh_check_batch (&options, mesh, scenario_marks (scenario, mesh_options), diags)
          || (b == 0 && !workload_check (shape, &options, marks, diags)))
        return FALSE;
    }
  return self->view.lengths != NULL;
}

/* ---- measured kernels ------------------------------------------------------------------------ */

static gboolean
check_gpus (const Resolution *self, const SourceMark *mark, DiagList *diags)
{
  const char *gpu = measured_kernels_gpu (self->training.measured);

  for (guint r = 0; r < cluster_n_gpus (self->view.cluster); r++)
    {
      const char *id = cluster_gpu_profile (self->view.cluster, r)->id;

      if (g_str_equal (id, gpu))
        continue;
      diag_error (diags, mark, "measure again, or leave 'training.measured_kernels' away",
                  "the kernels of '%s' were measured on GPU '%s', the cluster has '%s'",
                  self->training.measured_kernels, gpu, id);
      return FALSE;
    }
  return TRUE;
}

/* Before a workload is made of the training options, which then refer to the file. */
static gboolean
load_measured (Resolution *self, DiagList *diags)
{
  const Scenario    *scenario = self->scenario;
  const char        *name = self->training.measured_kernels;
  const OptionMarks *training = scenario_marks (scenario, training_options);
  const SourceMark  *mark = option_mark (training, "measured_kernels", NULL);
  g_autofree char   *file = NULL;

  if (name == NULL)
    return TRUE;
  if (self->training.lengths != NULL)
    {
      diag_error (diags, mark, "leave 'lengths' or 'measured_kernels' away",
                  "times are measured at one length of sequences, 'lengths' has several");
      return FALSE;
    }
  file = scenario->base_dir != NULL && !g_path_is_absolute (name)
             ? g_build_filename (scenario->base_dir, name, NULL)
             : g_strdup (name);
  self->training.measured =
      measured_kernels_get (profile_set_files (self->view.profiles), file, diags);
  return self->training.measured != NULL
         && measured_kernels_check (self->training.measured, &scenario->training, &scenario->mesh,
                                    training, scenario_marks (scenario, mesh_options), diags)
         && check_gpus (self, mark, diags);
}

/* ---- entry points ---------------------------------------------------------------------------- */

static Workload **
build_stages (const Resolution *self, const ModelShape *shape, guint batch)
{
  TrainingOptions options = options_of_batch (self, batch);
  Workload      **stages = g_new0 (Workload *, n_stages (self));

  for (guint s = 0; s < n_stages (self); s++)
    stages[s] = s == 0 ? workload_new_stage (shape, &options, &self->scenario->mesh, 0)
                       : workload_new_next_stage (stages[s - 1]);
  return stages;
}

gboolean
resolved_make_workloads (Resolution *self, const ModelShape *shape, DiagList *diags)
{
  const SourceMark *mark =
      option_mark (scenario_marks (self->scenario, training_options), "measured_kernels", NULL);
  guint n;

  if (!check_options (self, shape, diags) || !load_measured (self, diags)
      || !load_lengths (self, shape, diags))
    return FALSE;
  n = resolved_n_batches (self);
  g_assert (n > 0); /* files of lengths have a row at least */
  self->batches = g_new0 (Workload **, n);
  for (guint b = 0; b < n; b++)
    self->batches[b] = build_stages (self, shape, b);
  self->view.workload = self->batches[0][0];
  if (self->view.lengths != NULL)
    self->plan_batches = (PlanBatches){ n, (const Workload *const *const *) self->batches,
                                        sequence_lengths_table (self->view.lengths) };
  for (guint s = 0; self->training.measured != NULL && s < n_stages (self); s++)
    if (!measured_kernels_check_workload (self->training.measured, self->batches[0][s], mark,
                                          diags))
      return FALSE;
  return TRUE;
}

void
resolved_free_workloads (Resolution *self)
{
  for (guint b = 0; self->batches != NULL && b < resolved_n_batches (self); b++)
    {
      for (guint s = 0; s < n_stages (self); s++)
        workload_free (self->batches[b][s]);
      g_free (self->batches[b]);
    }
  g_free (self->batches);
}
