/* What ranks compute: a workload for each pipeline stage and each different micro-batch. */
#include "model/layer/measured-kernels.h"
#include "model/step/hybrid-partition.h"
#include "scenario/resolved-private.h"

#define D "%" G_GINT64_FORMAT

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
  gboolean        ok = self->is_checked
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
    {
      training.batch = sequence_lengths_batch (self->view.lengths, batch);
      training.parts = sequence_lengths_parts (self->view.lengths, batch, &training.remapped);
      training.pieces = sequence_lengths_pieces (self->view.lengths, batch);
    }
  return training;
}

/* The mesh of one of the different micro-batches: a partition may give it ranks of its own. */
static MeshOptions
mesh_of_batch (const Resolution *self, guint batch)
{
  MeshOptions mesh = self->scenario->mesh;

  if (self->view.lengths != NULL && self->training.partition == PARTITION_HYBRID)
    mesh.cp = sequence_lengths_ranks (self->view.lengths, batch);
  return mesh;
}

/* FALSE after a diagnostic. */
static gboolean
check_drawn (const TrainingOptions *training, const OptionMarks *marks, DiagList *diags)
{
  if (training_lengths_drawn (training) != LENGTHS_LOG_NORMAL
      || training->lengths_tail > training->lengths_median)
    return TRUE;
  diag_error (diags, option_mark (marks, "lengths_tail", "lengths_median", "lengths", NULL),
              "one length of a hundred exceeds the tail, half of them the median",
              "'lengths_tail' of " D " is not above 'lengths_median' of " D, training->lengths_tail,
              training->lengths_median);
  return FALSE;
}

/* What the data ranks work on, as a file or a distribution deals it. */
static const SequenceLengths *
deal_lengths (const Resolution *self, DiagList *diags)
{
  const Scenario        *scenario = self->scenario;
  const TrainingOptions *training = &self->training;
  const MeshOptions     *mesh = &scenario->mesh;
  const gint64           cp = MAX (mesh->cp, 1);
  const gboolean         whole = training->partition == PARTITION_ZEPPELIN;
  const gint64           parts = resolved_sequence_parts (self);
  const gint64     unit = whole ? (parts > 1 ? cp : 1) : cp * (cp > 1 && training->causal ? 2 : 1);
  const guint      n_ranks = (guint) (cluster_n_gpus (self->view.cluster) / mesh_replica (mesh));
  const LengthDraw draw = resolved_length_draw (self);
  InputFiles      *files = profile_set_files (self->view.profiles);
  g_autofree char *file = NULL;

  if (draw.distribution != LENGTHS_N)
    return sequence_lengths_draw (files, &draw, n_ranks, (guint) training->grad_accum,
                                  (guint) training->micro_batch, unit * parts,
                                  training->seq_len / (unit * parts) * unit * parts, diags);
  file = resolved_lengths_file (self);
  return sequence_lengths_get (files, file, n_ranks, (guint) training->grad_accum,
                               (guint) training->micro_batch, unit, training->seq_len, diags);
}

/* Whether ranks of SELF's mesh can be divided into sets; FALSE after a diagnostic. */
static gboolean
check_sets (const Resolution *self, guint n_ranks, DiagList *diags)
{
  const MeshOptions *mesh = &self->scenario->mesh;
  const OptionMarks *marks = scenario_marks (self->scenario, mesh_options);
  const SourceMark  *partition =
      option_mark (scenario_marks (self->scenario, training_options), "partition", NULL);

  if (mesh->cp > 1)
    diag_error (diags, option_mark (marks, "cp", NULL), "set 'cp' to 1",
                "'partition: hybrid' makes sets of context ranks of all data ranks: 'cp' of " D
                " does not go with it",
                mesh->cp);
  else if (mesh->pp > 1)
    diag_error (diags, option_mark (marks, "pp", NULL), "set 'pp' to 1, or take 'partition: even'",
                "'partition: hybrid' gives ranks unlike numbers of micro-steps, which pipeline "
                "stages do not take");
  else if (mesh->context != CONTEXT_RING && mesh->context != CONTEXT_ALL_GATHER)
    diag_error (diags, option_mark (marks, "context", NULL), "take 'context' ring or all-gather",
                "'partition: hybrid' has sets of many sizes, over which heads are not divided");
  else if ((n_ranks & (n_ranks - 1)) != 0)
    diag_error (diags, partition, "take a power of two of data ranks",
                "'partition: hybrid' doubles sets until they are all ranks: %u is no power of two",
                n_ranks);
  else
    return TRUE;
  return FALSE;
}

/* Context ranks of a data rank that lie on one node. */
static guint
context_ranks_of_node (const Resolution *self)
{
  const MeshOptions *mesh = &self->scenario->mesh;
  const guint        here =
      cluster_gpus_of_node (self->view.cluster, 0) / (guint) mesh_tensor_ranks (mesh);

  return CLAMP (here, 1, (guint) MAX (mesh->cp, 1));
}

/* Whether attention can be divided over sets of context ranks; FALSE after a diagnostic. */
static gboolean
check_parts (const Resolution *self, const ModelShape *shape, DiagList *diags)
{
  const MeshOptions *mesh = &self->scenario->mesh;
  const OptionMarks *marks = scenario_marks (self->scenario, mesh_options);
  const SourceMark  *partition =
      option_mark (scenario_marks (self->scenario, training_options), "partition", NULL);
  const guint cp = (guint) MAX (mesh->cp, 1), node = context_ranks_of_node (self);

  if (cp == 1 || cp > 32 || (cp & (cp - 1)) != 0 || (node & (node - 1)) != 0)
    diag_error (diags, partition,
                "give 'cp' of 2, 4, 8, 16 or 32, of which as many lie on each node",
                "'partition: zeppelin' divides a power of two of context ranks, up to 32, and of "
                "those of a node: got %u, %u a node",
                cp, node);
  else if (mesh->context != CONTEXT_RING)
    diag_error (diags, option_mark (marks, "context", NULL), "take 'context: ring'",
                "'partition: zeppelin' has rings inside its sets of ranks");
  else if (shape->kv_lora_rank > 0 || shape->attention_sinks
           || training_flash_version (&self->training) < FLASH_2)
    diag_error (diags, partition, "take 'partition: even'",
                "'partition: zeppelin' is modelled for flash attention (flash2 or later) over keys "
                "and values of their own heads, without sinks or latents");
  else
    return TRUE;
  return FALSE;
}

/* Whether N_RANKS ranks of TOKENS hold each sequence of DEALT; FALSE after a diagnostic. */
static gboolean
check_longest (const Resolution *self, const SequenceLengths *dealt, guint n_ranks, gint64 tokens,
               DiagList *diags)
{
  const OptionMarks *marks = scenario_marks (self->scenario, training_options);
  gint64             longest = 0;
  g_autofree char   *hint = NULL;

  for (guint b = 0; b < sequence_lengths_n_batches (dealt); b++)
    longest = MAX (longest, g_array_index (sequence_lengths_batch (dealt, b), gint64, 0));
  if (hybrid_partition_need (longest, tokens) <= n_ranks)
    return TRUE;
  hint = g_strdup_printf ("%u ranks hold it with 'tokens_per_rank' of " D, n_ranks,
                          (longest + n_ranks - 1) / n_ranks);
  diag_error (diags, option_mark (marks, "tokens_per_rank", "lengths", NULL), hint,
              "a sequence of " D " tokens needs %u ranks of " D " tokens, there are %u", longest,
              hybrid_partition_need (longest, tokens), tokens, n_ranks);
  return FALSE;
}

/* Whether the mesh takes the partition; FALSE after a diagnostic. */
static gboolean
check_partition (const Resolution *self, const ModelShape *shape, DiagList *diags)
{
  const MeshOptions *mesh = &self->scenario->mesh;
  const gint64       tensor = mesh_tensor_ranks (mesh);

  switch ((Partition) self->training.partition)
    {
    case PARTITION_EVEN:
      break;
    case PARTITION_HYBRID:
      return check_sets (self, (guint) (cluster_n_gpus (self->view.cluster) / tensor), diags);
    case PARTITION_ZEPPELIN:
      return check_parts (self, shape, diags);
    case PARTITION_PACKED:
    case PARTITION_WLB:
      return resolved_check_packing (self, shape, diags);
    }
  return TRUE;
}

/* The sequences of DEALT as `partition` divides them; NULL after a diagnostic. */
static const SequenceLengths *
divide_lengths (const Resolution *self, const ModelShape *shape, const SequenceLengths *dealt,
                DiagList *diags)
{
  const TrainingOptions *training = &self->training;
  MeshOptions            mesh = self->scenario->mesh;
  const guint            n_ranks = dealt != NULL ? sequence_lengths_table (dealt).n_ranks : 0;
  const gint64           tokens = training->tokens_per_rank > 0
                                      ? training->tokens_per_rank
                                      : (training->seq_len + n_ranks - 1) / MAX (n_ranks, 1);

  if (dealt == NULL || training->partition == PARTITION_EVEN)
    return dealt;
  if (training->partition == PARTITION_ZEPPELIN)
    return sequence_lengths_zeppelin (profile_set_files (self->view.profiles), dealt,
                                      (guint) mesh.cp, context_ranks_of_node (self),
                                      training->tokens_per_rank, diags);
  if (!check_longest (self, dealt, n_ranks, tokens, diags))
    return NULL;
  mesh.cp = n_ranks; /* of what ranks of a set cannot share, it tells */
  if (!mesh_check (shape, training, &mesh, cluster_n_gpus (self->view.cluster),
                   scenario_marks (self->scenario, mesh_options), diags))
    return NULL;
  return sequence_lengths_hybrid (profile_set_files (self->view.profiles), dealt, tokens,
                                  (training->causal ? 2 : 1) * resolved_sequence_parts (self),
                                  diags);
}

static gboolean
load_lengths (Resolution *self, const ModelShape *shape, DiagList *diags)
{
  const Scenario        *scenario = self->scenario;
  const TrainingOptions *training = &self->training;
  const OptionMarks     *marks = scenario_marks (scenario, training_options);

  if (training->lengths == NULL)
    return TRUE;
  if (training_flash_version (training) == FLASH_NONE)
    {
      diag_error (
          diags, option_mark (marks, "attention", "lengths", NULL), "set 'attention' to flash2",
          "sequences of different lengths need flash attention: other kernels take one length");
      return FALSE;
    }
  if (!check_drawn (training, marks, diags) || !check_partition (self, shape, diags))
    return FALSE;
  if (training->partition == PARTITION_PACKED || training->partition == PARTITION_WLB)
    self->view.lengths = resolved_pack_lengths (self, shape, diags);
  else
    self->view.lengths = divide_lengths (self, shape, deal_lengths (self, diags), diags);
  for (guint b = 0; self->view.lengths != NULL && b < resolved_n_batches (self); b++)
    {
      TrainingOptions   options = options_of_batch (self, b);
      const MeshOptions mesh = mesh_of_batch (self, b);

      if (!mesh_check_batch (&options, &mesh, scenario_marks (scenario, mesh_options), diags)
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

/* The first stage, with what those that are known have built of it. */
static Workload *
build_first_stage (const Resolution *self, const ModelShape *shape, const TrainingOptions *training,
                   const MeshOptions *mesh)
{
  g_autoptr (GPtrArray) known = g_ptr_array_new (); /* Workload */

  if (self->view.lengths == NULL && training->measured == NULL && self->known != NULL)
    for (guint i = 0; i < self->known->len; i++)
      {
        const ResolvedScenario *one = g_ptr_array_index (self->known, i);

        g_ptr_array_add (known, (gpointer) one->workload);
      }
  return known->len == 0
             ? workload_new_stage (shape, training, mesh, 0)
             : workload_new_recomputed (shape, training, mesh,
                                        (const Workload *const *) known->pdata, known->len);
}

static Workload **
build_stages (const Resolution *self, const ModelShape *shape, guint batch)
{
  TrainingOptions options = options_of_batch (self, batch);
  MeshOptions     mesh = mesh_of_batch (self, batch);
  Workload      **stages = g_new0 (Workload *, n_stages (self));

  for (guint s = 0; s < n_stages (self); s++)
    stages[s] = s == 0 ? build_first_stage (self, shape, &options, &mesh)
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
    {
      const LengthsTable table = sequence_lengths_table (self->view.lengths);
      const gboolean     shared = self->training.partition == PARTITION_EVEN;

      self->plan_batches =
          (PlanBatches){ .n_batches = n,
                         .workloads = (const Workload *const *const *) self->batches,
                         .table = table.table,
                         .width = table.width,
                         .sharing = shared ? (guint) MAX (self->scenario->mesh.cp, 1) : 1,
                         .counts = table.counts,
                         .barriers = table.barriers,
                         .read = table.read,
                         .moved = table.moved };
    }
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
