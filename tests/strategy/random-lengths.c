/* Random plans of sequences that differ: lengths, and which ranks work on them. */
#include "model/mesh/mesh-order.h"
#include "random-plan.h"

#define MEDIAN 24.0 /* tokens; sequences are cut at the plan's own length, up to 128 */
#define TAIL   200.0

/* Documents that are packed, rather than sequences that are dealt. */
static gboolean
is_packed (Partition partition)
{
  return partition == PARTITION_PACKED || partition == PARTITION_WLB;
}

static gboolean
is_power (guint n)
{
  return n > 0 && (n & (n - 1)) == 0;
}

/* Context ranks of a data rank that lie on one node. */
static guint
context_ranks_of_node (const RandomPlan *self)
{
  const guint here = self->in.mesh.ranks_per_node / (guint) mesh_tensor_ranks (&self->mesh);

  return CLAMP (here, 1, (guint) self->mesh.cp);
}

/* Context ranks that PARTITION has of the stage's: a data rank's own are put together or parted. */
static void
set_context_ranks (RandomPlan *self, Partition partition, guint case_)
{
  MeshOptions *m = &self->mesh;
  const guint  n = self->in.mesh.n_ranks;

  if (partition == PARTITION_EVEN)
    return;
  m->context =
      partition != PARTITION_ZEPPELIN && case_ % 2 == 0 ? CONTEXT_ALL_GATHER : CONTEXT_RING;
  m->cp = 1;
  if (partition == PARTITION_ZEPPELIN)
    m->cp = n % 8 == 0 && case_ % 2 == 0 ? 8 : n % 4 == 0 ? 4 : 2;
  else if (is_packed (partition) && n % 2 == 0)
    m->cp = n % 4 == 0 && case_ % 3 == 0 ? 4 : 2;
  self->in.mesh = mesh_of_options (m, self->in.mesh.world, self->in.mesh.ranks_per_node,
                                   self->shape.n_experts > 0);
}

/* Whether the mesh takes PARTITION. */
static gboolean
takes_partition (const RandomPlan *self, Partition partition)
{
  const MeshOptions *m = &self->mesh;

  if (partition == PARTITION_HYBRID)
    return m->pp == 1 && is_power (self->in.mesh.n_ranks);
  if (is_packed (partition))
    return mesh_context_heads (m) == 1 && self->training.causal && self->shape.index_topk == 0
           && !self->shape.window_is_chunk
           && (partition == PARTITION_PACKED || self->training.micro_batch == 1);
  return partition == PARTITION_EVEN
         || (self->in.mesh.n_ranks % (guint) m->cp == 0 && is_power (context_ranks_of_node (self))
             && self->shape.kv_lora_rank == 0 && !self->shape.attention_sinks);
}

/* Documents of DRAW, packed into sequences of WINDOW tokens, a multiple of UNIT. */
static const SequenceLengths *
pack_documents (RandomPlan *self, const LengthDraw *draw, guint n_ranks, gint64 unit, gint64 window,
                guint case_)
{
  const TrainingOptions *t = &self->training;
  const gboolean         balanced = t->partition == PARTITION_WLB;
  const PackedLengths    wanted = {
       .drawn = draw,
       .n_ranks = n_ranks,
       .n_micros = (guint) t->grad_accum,
       .cp = (guint) self->mesh.cp,
       .unit = unit,
       .packing = { .window = window,
                    .sequences = n_ranks * (guint) (t->grad_accum * t->micro_batch),
                    .queues = case_ % 3,
                    .most = (window / unit + case_ % 4) * unit,
                    .work = { .attention = 1, .linear = (double) self->shape.d_model } },
       .balanced = balanced,
       .sharding = case_ % 5 == 0   ? SHARDING_ADAPTIVE
                   : case_ % 2 == 0 ? SHARDING_PER_DOCUMENT
                                    : SHARDING_PER_SEQUENCE,
  };
  g_autoptr (DiagList)   diags = diag_list_new ();
  const SequenceLengths *packed = sequence_lengths_packed (self->files, &wanted, diags);

  g_assert (packed != NULL);
  return packed;
}

/* The sequences of the plan's step; NULL: no such length. */
static const SequenceLengths *
draw_sequences (RandomPlan *self, guint case_)
{
  TrainingOptions       *t = &self->training;
  const gint64           cp = self->mesh.cp, parts = self->mesh.sp == 1 ? self->mesh.tp : 1;
  const gboolean         whole = t->partition == PARTITION_ZEPPELIN;
  const gint64           halves = t->causal ? 2 : 1;
  const gint64           unit = (whole ? (parts > 1 ? cp : 1) : cp * (cp > 1 ? halves : 1)) * parts;
  const gint64           longest = t->seq_len / unit * unit;
  const guint            n_ranks = self->in.mesh.n_ranks / (guint) cp;
  const LengthDraw       draw = { LENGTHS_LOG_NORMAL, MEDIAN, TAIL, case_ };
  g_autoptr (DiagList)   diags = diag_list_new ();
  const SequenceLengths *dealt;

  if (longest == 0)
    return NULL;
  if (is_packed ((Partition) t->partition))
    return pack_documents (self, &draw, n_ranks, unit, longest, case_);
  dealt = sequence_lengths_draw (self->files, &draw, n_ranks, (guint) t->grad_accum,
                                 (guint) t->micro_batch, unit, longest, diags);
  g_assert (dealt != NULL);
  if (t->partition == PARTITION_HYBRID)
    {
      t->tokens_per_rank = MAX ((longest + n_ranks - 1) / n_ranks, longest >> case_ / 3 % 4);
      return sequence_lengths_hybrid (self->files, dealt, t->tokens_per_rank, halves * parts,
                                      diags);
    }
  if (t->partition == PARTITION_ZEPPELIN)
    return sequence_lengths_zeppelin (self->files, dealt, (guint) cp, context_ranks_of_node (self),
                                      0, diags);
  return dealt;
}

/* The training options and the mesh of micro-batch BATCH; FALSE: it is none. */
static gboolean
options_of_batch (const RandomPlan *self, const SequenceLengths *lengths, guint batch,
                  TrainingOptions *training, MeshOptions *mesh)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  *training = self->training;
  *mesh = self->mesh;
  training->batch = sequence_lengths_batch (lengths, batch);
  training->parts = sequence_lengths_parts (lengths, batch, &training->remapped);
  training->pieces = sequence_lengths_pieces (lengths, batch);
  if (training->partition == PARTITION_HYBRID)
    mesh->cp = sequence_lengths_ranks (lengths, batch);
  return mesh_check_batch (training, mesh, NULL, diags);
}

static gboolean
options_fit (const RandomPlan *self, const SequenceLengths *lengths)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  TrainingOptions      training;
  MeshOptions          mesh = self->mesh;

  if (!mesh_check (&self->shape, &self->training, &mesh, self->in.mesh.world, NULL, diags))
    return FALSE;
  if (self->training.partition == PARTITION_HYBRID)
    mesh.cp = self->in.mesh.n_ranks; /* of what ranks of a set cannot share, it tells */
  if (!mesh_check (&self->shape, &self->training, &mesh, self->in.mesh.world, NULL, diags))
    return FALSE;
  for (guint b = 0; b < sequence_lengths_n_batches (lengths); b++)
    if (!options_of_batch (self, lengths, b, &training, &mesh))
      return FALSE;
  return TRUE;
}

static void
free_stages (gpointer data)
{
  Workload **stages = data;

  for (guint s = 0; stages[s] != NULL; s++)
    workload_free (stages[s]);
  g_free (stages);
}

/* Workloads of all micro-batches; those of the first are the plan's. */
static void
make_workloads (RandomPlan *self, const SequenceLengths *lengths)
{
  const guint        n_stages = (guint) self->mesh.pp, n = sequence_lengths_n_batches (lengths);
  const LengthsTable table = sequence_lengths_table (lengths);

  self->batches = g_ptr_array_new_with_free_func (free_stages);
  for (guint b = 0; b < n; b++)
    {
      Workload      **stages = g_new0 (Workload *, n_stages + 1);
      TrainingOptions training;
      MeshOptions     mesh;

      options_of_batch (self, lengths, b, &training, &mesh);
      for (guint s = 0; s < n_stages; s++)
        stages[s] = workload_new_stage (&self->shape, &training, &mesh, s);
      g_ptr_array_add (self->batches, stages);
    }
  self->rows =
      (PlanBatches){ .n_batches = n,
                     .workloads = (const Workload *const *const *) self->batches->pdata,
                     .table = table.table,
                     .width = table.width,
                     .sharing =
                         self->training.partition == PARTITION_EVEN ? (guint) self->mesh.cp : 1,
                     .counts = table.counts,
                     .barriers = table.barriers,
                     .read = table.read,
                     .moved = table.moved };
  self->in.batches = &self->rows;
  self->in.stages = self->rows.workloads[0];
  self->in.workload = self->in.stages[0];
}

/* Draws lengths for PARTITION; FALSE: the plan takes none, and is half changed. */
static gboolean
try_partition (RandomPlan *self, Partition partition, guint case_)
{
  TrainingOptions       *t = &self->training;
  const SequenceLengths *lengths;

  t->lengths = (char *) "log-normal";
  t->partition = (gint) partition;
  t->attention = case_ % 2 == 0 ? ATTENTION_FLASH2 : ATTENTION_FLASH3;
  t->private_method = PRIVATE_NONE;
  set_context_ranks (self, partition, case_);
  if (!takes_partition (self, partition))
    return FALSE;
  lengths = draw_sequences (self, case_);
  if (lengths == NULL || !options_fit (self, lengths))
    return FALSE;
  t->lengths = g_strdup (t->lengths); /* the option table's to free */
  make_workloads (self, lengths);
  return TRUE;
}

gboolean
random_plan_draw_lengths (RandomPlan *self, guint case_)
{
  const TrainingOptions training = self->training;
  const MeshOptions     options = self->mesh;
  const Mesh            mesh = self->in.mesh;
  const guint           n = PARTITION_WLB + 1; /* of all partitions */
  const Partition       turn = (Partition) ((case_ + case_ / n) % n);
  const Partition       wanted[] = { turn, PARTITION_EVEN };

  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    {
      if (try_partition (self, wanted[i], case_))
        return TRUE;
      self->training = training;
      self->mesh = options;
      self->in.mesh = mesh;
    }
  return FALSE;
}

guint
random_plan_row (const RandomPlan *self, const Schedule *schedule, guint role)
{
  guint rank = 0;

  while (schedule_role_of_rank (schedule, rank) != role)
    rank++;
  return mesh_group_index (mesh_all (&self->in.mesh), rank) / self->rows.sharing;
}
