/* Closed forms of DeepSpeed's ZeRO-3 runtime, by arithmetic on the model's totals. */
#include "strategy/deepspeed.h"

guint64
deepspeed_partitioned (const TensorDesc *tensors, guint n, guint m, gint64 threshold)
{
  guint64 sum = 0;

  for (guint i = 0; i < n; i++)
    if (tensors[i].elements > (guint64) threshold)
      sum += padded_flat (tensors[i].elements, m);
  return sum;
}

guint64
deepspeed_resident (const PlanInput *in, gconstpointer opt)
{
  (void) opt;
  return model_padded (in->workload, padded_each, 0, in->mesh.n_ranks) / in->mesh.n_ranks;
}

PlanGradient
deepspeed_gradient (const PlanInput *in, gconstpointer opt)
{
  (void) opt;
  return (PlanGradient){ training_compute_bytes (workload_training (in->workload)),
                         in->mesh.n_ranks };
}

gboolean
deepspeed_check (const PlanInput *in, const char *name, DiagList *diags)
{
  guint n_errors = diag_list_n_errors (diags);

  if (in->mesh.stages > 1)
    diag_error (diags, NULL, "take zero1, ddp, fsdp1 or fsdp2",
                "%s does not go with pipeline stages: DeepSpeed's pipelines take ZeRO-1 at most",
                name);
  if (in->mesh.experts > 1)
    diag_error (diags, NULL, "take zero1, ddp, fsdp1 or fsdp2",
                "%s does not go with expert parallelism: it shards all parameters alike", name);
  return diag_list_n_errors (diags) == n_errors;
}

/*
 * Sums over the tensors that pass the persistence threshold, by classes of equal layers: of all, or
 * of those recomputed.
 */
static double
expect_partitioned (const PlanInput *in, const DeepspeedOptions *o, guint m, gboolean recomputed)
{
  guint  n = workload_n_layers (in->workload);
  double sum = 0;

  for (guint i = 0; i < n;)
    {
      const LayerDesc *layer = workload_layer (in->workload, i);
      guint            first = i;

      while (i < n && workload_layer (in->workload, i) == layer)
        i++;
      if (!recomputed || layer->checkpoint == CHECKPOINT_FULL)
        sum += (double) (i - first)
               * (double) deepspeed_partitioned (layer->tensors, layer->n_tensors, m,
                                                 o->param_persistence_threshold);
    }
  return sum;
}

/* The token table, which a tied head uses once more in forward and backward. */
static double
expect_tied (const PlanInput *in, const DeepspeedOptions *o, guint m)
{
  const LayerDesc *table = workload_layer (in->workload, 0);

  if (!workload_layer (in->workload, workload_n_layers (in->workload) - 1)->tied_head)
    return 0;
  return (double) deepspeed_partitioned (table->tensors, 1, m, o->param_persistence_threshold);
}

/*
 * Uses that gather: forward and backward each once, recomputed blocks once more. What is kept saves
 * some of them: all of the recomputation's and the tied table's second uses, and across the turn at
 * most what the reuse window, the live window and the prefetcher hold.
 */
static double
expect_uses (const PlanInput *in, const DeepspeedOptions *o, guint m, double *slack)
{
  double all = expect_partitioned (in, o, m, FALSE), blocks = expect_partitioned (in, o, m, TRUE);
  double tied = 2 * expect_tied (in, o, m), uses = 2 * all + blocks + tied;
  double unit = (double) padded_flat (largest_unit (in->workload, UNIT_MODULE), m);
  double window = (double) o->max_reuse_distance + (double) o->max_live_parameters
                  + (double) o->prefetch_bucket_size + 2 * unit;

  *slack = o->max_reuse_distance == 0 ? 0 : MIN (uses - all, blocks + tied + window);
  return uses;
}

static void
expect_memory (const PlanInput *in, const DeepspeedOptions *o, double shard, PlanTotals *totals)
{
  StateBytes       bytes = state_bytes (workload_training (in->workload));
  ActivationBounds activations = activation_bounds (in->workload);
  double           parameters = (double) workload_n_parameters (in->workload);
  double           partitioned_ = expect_partitioned (in, o, 1, FALSE);
  double unit = (double) largest_unit (in->workload, UNIT_MODULE) * 1.01 + 64.0 * in->mesh.n_ranks;
  double bucket = MIN ((double) o->reduce_bucket_size, parameters);
  guint  master = master_copy_bytes (workload_training (in->workload));
  double states = shard * (2.0 * bytes.compute + master + bytes.moments)
                  + (parameters - partitioned_) * bytes.compute + bucket * bytes.compute;
  /*
   * Gathered: the live window, a reuse window on top of it, and the unit at hand, padded; never
   * more than all of it twice over.
   */
  double window = MIN (2 * partitioned_ + 2 * unit,
                       (double) o->max_live_parameters + (double) o->max_reuse_distance
                           + (double) o->prefetch_bucket_size + 2 * unit);

  totals->states += states;
  totals->hbm_low += states + activations.kept + activations.low;
  totals->hbm_high +=
      states + activations.kept + activations.high
      + (1.5 * window + 3 * unit + 2 * (bucket + unit) * 1.01 + 64.0 * in->mesh.n_ranks * 8)
            * bytes.compute
      + shard * master;
}

/*
 * 3 W a micro-step and 16 P / R (Rajbhandari et al., arXiv:1910.02054, 5.3 and 7.2); FCDP: 2 W, and
 * W of host memory a node (arXiv:2602.06499).
 */
gboolean
deepspeed_expect (const PlanInput *in, const DeepspeedOptions *o, Residency residency,
                  PlanTotals *totals)
{
  const TrainingOptions *training = workload_training (in->workload);
  double                 compute = state_bytes (training).compute;
  double                 steps = (double) training->grad_accum;
  MeshGroup              all = mesh_all (&in->mesh), node = mesh_node (&in->mesh);
  guint                  m = in->mesh.n_ranks;
  double                 padded = (double) model_padded (in->workload, padded_each, 0, m);
  double                 fetched = expect_partitioned (in, o, m, FALSE);
  double                 slack, uses;

  if (residency == RESIDENCY_NONE)
    {
      uses = expect_uses (in, o, m, &slack);
      plan_totals_add (totals, COLLECTIVE_ALL_GATHER, all,
                       compute * (steps * uses + padded - fetched));
    }
  else
    {
      double cached, cached_slack, once = expect_partitioned (in, o, node.size, FALSE);

      /* The first use of a step crosses the network; every later one is served inside the node. */
      uses = expect_uses (in, o, node.size, &cached_slack);
      cached = steps * uses - once;
      plan_totals_add (totals, COLLECTIVE_ALL_GATHER, all, compute * padded);
      plan_totals_add (totals, COLLECTIVE_ALL_GATHER, node, compute * cached);
      totals->copies[COPY_FROM_HOST] += compute * cached / node.size;
      totals->copies_slack[COPY_FROM_HOST] += compute * steps * cached_slack / node.size;
      totals->copies[COPY_TO_HOST] += compute * once / node.size;
      totals->host_low += compute * once / node.size;
      totals->host_high += compute * once / node.size;
      slack = cached_slack;
    }
  for (guint i = 0; i < totals->n_traffic; i++)
    {
      TrafficTotal *t = &totals->traffic[i];
      MeshGroup     g = residency == RESIDENCY_NONE ? all : node;

      if (t->kind == COLLECTIVE_ALL_GATHER && t->group.size == g.size
          && t->group.stride == g.stride)
        t->slack += compute * steps * slack;
    }
  plan_totals_add (totals, COLLECTIVE_REDUCE_SCATTER, all,
                   steps * reduce_bytes (training) * padded);
  expect_optimizer (in, all, totals);
  totals->flops += expected_flops (in);
  expect_memory (in, o, padded / m, totals);
  return TRUE;
}
