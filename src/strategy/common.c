#include "strategy/common.h"

#include <string.h>

StateBytes
state_bytes (const TrainingOptions *training)
{
  return (StateBytes){
    .compute = training_compute_bytes (training),
    .master = 4,
    .moments = training->optimizer == OPTIMIZER_SGD ? 0 : 8,
  };
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

  if (shard == NULL || g_str_equal (shard, "all"))
    *group = mesh_all (mesh);
  else if (g_str_equal (shard, "node"))
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
        diag_error (diags, NULL, NULL,
                    "shard group of %u ranks does not divide the %u ranks of the mesh",
                    groups->shard.size, mesh->n_ranks);
      return FALSE;
    }
  groups->replica = mesh_across (mesh, groups->shard);
  return TRUE;
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

guint64
model_padded (const Workload *workload, PadTensors pad, guint m)
{
  guint   n = workload_n_layers (workload);
  guint64 sum = 0;

  for (guint i = 0; i < n;)
    {
      const LayerDesc *layer = workload_layer (workload, i);
      guint            first = i;

      while (i < n && workload_layer (workload, i) == layer)
        i++;
      sum += (guint64) (i - first) * pad (layer->tensors, layer->n_tensors, m);
    }
  return sum;
}

void
emit_stream_kernel (ScheduleBuilder *b, StreamRef stream, KernelKind kind, const char *name,
                    Dtype dtype, double read, double write)
{
  KernelDesc kernel = kernel_desc_stream (kind, name, dtype, read, write, 1);

  schedule_kernel (b, stream, &kernel);
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
  for (guint i = 0; i < kernels->len; i++)
    {
      schedule_kernel (run->b, SCHEDULE_COMPUTE, &g_array_index (kernels, KernelDesc, i));
      /* The first kernel of a clipped step is the local norm; its square is summed over the parts. */
      if (i == 0 && training->clip_gradients && norm.size > 1)
        schedule_all_reduce (run->b, SCHEDULE_COMPUTE, schedule_comm (run->b, "norm", norm), 4,
                             "gradient_norm");
    }
}

void
expect_optimizer (const PlanInput *in, MeshGroup norm, PlanTotals *totals)
{
  if (workload_training (in->workload)->clip_gradients)
    plan_totals_add (totals, SCHEDULE_ALL_REDUCE, norm, 4);
}

double
expected_flops (const PlanInput *in)
{
  return workload_matrix_flops (in->workload) * (double) workload_training (in->workload)->grad_accum;
}

ActivationBounds
activation_bounds (const Workload *workload)
{
  guint            n = workload_n_layers (workload);
  const LayerDesc *head = workload_layer (workload, n - 1);
  ActivationBounds bounds = { .low = (double) head->backward_bytes };

  for (guint i = 0; i < n;)
    {
      const LayerDesc *layer = workload_layer (workload, i);
      guint            first = i;

      while (i < n && workload_layer (workload, i) == layer)
        i++;
      bounds.kept += (double) (i - first) * (double) layer->saved_bytes;
      bounds.high = MAX (bounds.high, (double) MAX (layer->working_bytes, layer->backward_bytes));
    }
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
