#include "strategy/common.h"

#include <string.h>

StateBytes
state_bytes (const TrainingOptions *training)
{
  return (StateBytes){
    .compute = training_compute_bytes (training),
    .master = 4,
    .moments =
        training->optimizer == OPTIMIZER_SGD || training->optimizer == OPTIMIZER_NONE ? 0 : 8,
  };
}

guint
master_copy_bytes (const TrainingOptions *training)
{
  StateBytes bytes = state_bytes (training);

  return training->optimizer != OPTIMIZER_NONE && bytes.compute < bytes.master ? bytes.master : 0;
}

guint
reduce_bytes (const TrainingOptions *training)
{
  return training->reduce_dtype == DTYPE_N ? training_compute_bytes (training)
                                           : dtype_bytes ((Dtype) training->reduce_dtype);
}

static gboolean
parse_group (const Mesh *mesh, const char *shard, MeshGroup *group, DiagList *diags)
{
  double n;

  if (shard == NULL || g_ascii_strcasecmp (shard, "all") == 0)
    *group = mesh_all (mesh);
  else if (g_ascii_strcasecmp (shard, "node") == 0)
    {
      if (mesh_node_ranks (mesh) == 0)
        {
          if (diags != NULL)
            diag_error (diags, NULL, "use 'all' or a number",
                        mesh->ranks_per_node == 0
                            ? "'shard: node' needs nodes of equal size"
                            : "'shard: node' needs as many ranks of the group on every node");
          return FALSE;
        }
      *group = mesh_node (mesh);
    }
  else if (quantity_parse (QUANTITY_COUNT, shard, &n, NULL) && n >= 1 && n <= G_MAXINT
           && n == (guint) n)
    *group = (MeshGroup){ (guint) n, mesh_all (mesh).stride };
  else
    {
      if (diags != NULL)
        diag_error (diags, NULL, "valid values: all, node, a number of ranks",
                    "unknown shard group '%s'", shard);
      return FALSE;
    }
  return TRUE;
}

gboolean
shard_groups (const Mesh *mesh, const char *shard, ShardGroups *groups, DiagList *diags)
{
  if (!parse_group (mesh, shard, &groups->shard, diags))
    return FALSE;
  if (!mesh_group_tiles (mesh, groups->shard))
    {
      if (diags != NULL)
        diag_error (diags, NULL, "take a divisor of them, or 'all'",
                    "shard group of %u ranks does not divide the %u ranks of the mesh",
                    groups->shard.size, mesh->n_ranks);
      return FALSE;
    }
  groups->replica = mesh_across (mesh, groups->shard);
  return TRUE;
}

/*
 * Whole expert groups to a shard group, or whole shard groups to an expert group, whose experts are
 * then whole.
 */
static gboolean
expert_groups (const Mesh *mesh, const ShardGroups *dense, ShardGroups *experts, DiagList *diags)
{
  Mesh  of = mesh_of_experts (mesh);
  guint n = MAX (mesh->experts, 1), size = dense->shard.size;

  if (size % n != 0 && n % size != 0)
    {
      if (diags != NULL)
        diag_error (diags, NULL, "take a multiple of the expert-parallel ranks",
                    "shard group of %u ranks does not hold whole expert groups of %u", size, n);
      return FALSE;
    }
  experts->shard = (MeshGroup){ MAX (size / n, 1), mesh_all (&of).stride };
  experts->replica = mesh_across (&of, experts->shard);
  return TRUE;
}

gboolean
unit_groups (const Mesh *mesh, const char *shard, ShardGroups groups[2], DiagList *diags)
{
  if (!shard_groups (mesh, shard, &groups[0], diags))
    return FALSE;
  groups[1] = groups[0];
  return mesh->experts <= 1 || expert_groups (mesh, &groups[0], &groups[1], diags);
}

gboolean
check_unit_groups (const Mesh *mesh, const char *shard, DiagList *diags)
{
  ShardGroups groups[2];
  gboolean    good;

  diag_list_set_key (diags, "shard");
  good = unit_groups (mesh, shard, groups, diags);
  diag_list_set_key (diags, NULL);
  return good;
}

CommRef
unit_comm (ScheduleBuilder *b, const char *name, guint kind, MeshGroup group)
{
  g_autofree char *expert = kind == 1 ? g_strdup_printf ("expert %s", name) : NULL;

  return schedule_comm (b, kind == 1 ? expert : name, group);
}

guint64
padded_flat (guint64 elements, guint m)
{
  return (elements + m - 1) / m * m;
}

guint64
padded_rows (const TensorDesc *tensors, guint n, guint m)
{
  guint64 sum = 0;

  for (guint i = 0; i < n; i++)
    {
      guint64 rows = tensors[i].shape[0];

      sum += padded_flat (rows, m) * (tensors[i].elements / rows);
    }
  return sum;
}

guint64
padded_each (const TensorDesc *tensors, guint n, guint m)
{
  guint64 sum = 0;

  for (guint i = 0; i < n; i++)
    sum += padded_flat (tensors[i].elements, m);
  return sum;
}

/* Experts that are spread stand together: what is before and behind them are units of their own. */
static guint64
layer_padded (const Workload *workload, const LayerDesc *layer, PadTensors pad, guint kind, guint m)
{
  const TensorDesc *tensors = layer->tensors;
  guint             all = layer->n_tensors, first = 0, n = 0;

  while (first < all && (workload_mesh (workload)->ep == 1 || !tensors[first].expert))
    first++;
  while (first + n < all && tensors[first + n].expert)
    n++;
  if (kind == 1)
    return pad (tensors + first, n, m);
  return pad (tensors, first, m) + pad (tensors + first + n, all - first - n, m);
}

guint64
layers_padded (const Workload *workload, guint first, guint end, PadTensors pad, guint kind,
               guint m)
{
  guint64 sum = 0;

  while (first < end)
    {
      const LayerDesc *layer = workload_layer (workload, first);
      guint            n = 0;

      while (first + n < end && workload_layer (workload, first + n) == layer)
        n++;
      sum += (guint64) n * layer_padded (workload, layer, pad, kind, m);
      first += n;
    }
  return sum;
}

guint64
model_padded (const Workload *workload, PadTensors pad, guint kind, guint m)
{
  return layers_padded (workload, 0, workload_n_layers (workload), pad, kind, m);
}

guint64
model_shard (const Workload *workload, PadTensors pad, const guint m[2])
{
  return model_padded (workload, pad, 0, m[0]) / m[0]
         + model_padded (workload, pad, 1, m[1]) / m[1];
}

void
emit_stream_kernel (ScheduleBuilder *b, StreamRef stream, KernelKind kind, const char *name,
                    Dtype dtype, double read, double write)
{
  KernelDesc kernel = kernel_desc_stream (kind, name, dtype, read, write, 1);

  schedule_kernel (b, stream, &kernel);
}

/*
 * Groups whose ranks hold different parts of the gradient. Experts that nobody shards differ within
 * their group.
 */
static guint
norm_groups (const Mesh *mesh, MeshGroup norm, MeshGroup groups[4])
{
  guint n = 0;

  groups[n++] = norm;
  if (norm.size == 1 && mesh->experts > 1)
    groups[n++] = mesh_experts (mesh);
  groups[n++] = mesh_tensor (mesh);
  groups[n++] = mesh_stages (mesh);
  return n;
}

static void
emit_norm (StrategyRun *run, MeshGroup norm)
{
  static const char *const names[] = { "norm", "norm_expert", "norm_tensor", "norm_stages" };
  MeshGroup                groups[4];
  guint                    n = norm_groups (&run->in->mesh, norm, groups);

  for (guint i = 0; i < n; i++)
    {
      const char *name = i == 0 ? names[0] : names[4 - n + i];

      if (groups[i].size > 1)
        schedule_all_reduce (run->b, SCHEDULE_COMPUTE, schedule_comm (run->b, name, groups[i]), 4,
                             "gradient_norm");
    }
}

static void
use_reduced (StrategyRun *run, ScheduleAccess access)
{
  for (guint u = 0; u < run->n_units; u++)
    if (run->units[u].own_elements > 0)
      strategy_uses (run, u, UNIT_REDUCED, access);
}

void
emit_optimizer (StrategyRun *run, MeshGroup norm, guint64 elements, guint gradient_bytes,
                guint parameter_bytes)
{
  const TrainingOptions *training = workload_training (run->in->workload);
  StateBytes             bytes = state_bytes (training);
  g_autoptr (GArray)     kernels = g_array_new (FALSE, FALSE, sizeof (KernelDesc));

  workload_optimizer_kernels (training, elements, bytes.master, gradient_bytes, parameter_bytes,
                              kernels);
  if (kernels->len == 0) /* who trains without an optimizer has the gradients: a copy of nothing */
    {
      schedule_copy (run->b, SCHEDULE_COMPUTE, COPY_TO_HOST, 0, NULL);
      use_reduced (run, ACCESS_READ);
    }
  for (guint i = 0; i < kernels->len; i++)
    {
      schedule_kernel (run->b, SCHEDULE_COMPUTE, &g_array_index (kernels, KernelDesc, i));
      use_reduced (run, ACCESS_READ_WRITE);
      if (i + 1 == kernels->len)
        {
          schedule_uses_kept (run->b, POOL_PARAMETER, ACCESS_READ_WRITE);
          schedule_uses_kept (run->b, POOL_OPTIMIZER, ACCESS_READ_WRITE);
        }
      /* A clipped step's first kernel is the local norm; its square is summed over the parts. */
      if (i == 0 && training->clip_gradients)
        emit_norm (run, norm);
    }
}

void
expect_optimizer (const PlanInput *in, MeshGroup norm, PlanTotals *totals)
{
  MeshGroup groups[4];
  guint     n = norm_groups (&in->mesh, norm, groups);

  if (workload_training (in->workload)->optimizer == OPTIMIZER_NONE)
    return;
  for (guint i = 0; i < n && workload_training (in->workload)->clip_gradients; i++)
    plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, groups[i], 4);
}

double
expected_flops (const PlanInput *in)
{
  return workload_matrix_flops (in->workload)
         * (double) workload_training (in->workload)->grad_accum;
}

static double
saved_by_chunk (const Workload *workload, guint chunk)
{
  double sum = 0;
  guint  first, end;

  workload_chunk (workload, chunk, &first, &end);
  for (guint i = first; i < end; i++)
    sum += (double) workload_layer (workload, i)->saved_bytes;
  return sum;
}

/* The most that the micro-batches in flight keep: after some forward pass of the stage. */
static double
kept_by_stage (const Workload *workload)
{
  Pipeline           pipeline = pipeline_of (workload);
  g_autoptr (GArray) slots = NULL;
  g_autofree double *saved = g_new (double, pipeline.chunks);
  double             now = 0, most = 0;

  for (guint c = 0; c < pipeline.chunks; c++)
    saved[c] = saved_by_chunk (workload, c);
  if (pipeline.stages == 1)
    return saved[0];
  slots = pipeline_slots (&pipeline, workload_stage (workload));
  for (guint i = 0; i < slots->len; i++)
    {
      const PipelineSlot *slot = &g_array_index (slots, PipelineSlot, i);

      if (slot->pass == PASS_FORWARD)
        now += saved[slot->chunk];
      else if (slot->pass != PASS_INPUT)
        now -= saved[slot->chunk];
      most = MAX (most, now);
    }
  return most;
}

ActivationBounds
activation_bounds (const Workload *workload)
{
  guint            n = workload_n_layers (workload);
  gboolean         pipelined = workload_mesh (workload)->pp > 1;
  const LayerDesc *head = workload_layer (workload, n - 1);
  ActivationBounds bounds = { .kept = kept_by_stage (workload),
                              .low = pipelined
                                         ? 0
                                         : (double) (head->backward_bytes + head->held_bytes) };
  guint            held = training_held_outputs (workload_training (workload));

  for (guint i = 0; i < n; i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      bounds.high = MAX (bounds.high, (double) MAX (layer->working_bytes, layer->backward_bytes));
    }
  bounds.high += (double) head->held_bytes * held;
  return bounds;
}

guint64
largest_unit (const Workload *workload, UnitGranularity granularity)
{
  guint64 largest = 0;

  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      if (granularity == UNIT_LAYER)
        largest = MAX (largest, layer->elements);
      else
        for (guint m = 0; m < layer->n_modules; m++)
          largest = MAX (largest, layer->modules[m].elements);
    }
  return largest;
}
