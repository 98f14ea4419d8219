/*
 * ZeRO stage 1: replicated parameters and gradients, sharded optimizer. At the accumulation
 * boundary gradients are reduced in buckets (DeepSpeed's default all-reduces them; the paper
 * reduce-scatters), each rank updates its part, and an all-gather brings the updated parameters to
 * everyone. Sources: Rajbhandari et al., arXiv:1910.02054; deepspeed/runtime/zero/stage_1_and_2.py.
 */
#include "model/layer/fp8.h"
#include "strategy/policy/replicated.h"
#include "strategy/shards/format.h"
#include "strategy/shards/group.h"

static const char *const reduce_choices[] = { "all_reduce", "reduce_scatter", NULL };
static const char *const partition_choices[] = { "flat", "tensors", NULL };

typedef struct
{
  BucketsIssue issue;
  gint         reduce, partition;
  char        *shard;
} Zero1Options;

static const OptionSpec zero1_options[] = {
  { .key = "bucket_bytes",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    .offset = G_STRUCT_OFFSET (Zero1Options, issue.bucket_bytes),
    .fallback = "1 GB",
    .min = 1,
    .max = 1e15,
    .help = "size at which a gradient bucket is reduced (5e8 elements of 2 bytes)",
    .source = "deepspeed/runtime/zero/config.py, reduce_bucket_size" },
  { .key = "overlap_comm",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Zero1Options, issue.overlap_comm),
    .fallback = "false",
    .help =
        "reduce on a stream of its own; false: in line, under a pipeline after the whole backward "
        "pass",
    .source = "deepspeed/runtime/zero/config.py" },
  { .key = "overlap_param_gather",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Zero1Options, issue.overlap_param_gather),
    .fallback = "false",
    .help = "gather updated parameters bucket by bucket behind the next forward pass; false: all "
            "behind the update",
    .source = "megatron/core/distributed/param_and_grad_buffer.py" },
  REPLICATED_GRADIENT_DTYPE (Zero1Options, issue.gradient_dtype),
  REPLICATED_FUSED_GRADIENTS (Zero1Options, issue.fused_gradients),
  COMPRESSION_OPTIONS (Zero1Options, issue.compression),
  { .key = "reduce",
    .type = OPTION_ENUM,
    .choices = reduce_choices,
    .offset = G_STRUCT_OFFSET (Zero1Options, reduce),
    .fallback = "all_reduce",
    .help =
        "how gradient buckets are reduced: DeepSpeed's all-reduce or the paper's reduce-scatter",
    .source =
        "deepspeed/runtime/zero/stage_1_and_2.py; Rajbhandari et al., arXiv:1910.02054, 7.2.1" },
  { .key = "shard",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Zero1Options, shard),
    .fallback = "all",
    .help =
        "ranks that share one copy of the optimizer: all, node, or a number; others have copies",
    .source = "InternEvo, parallel.zero1.size" },
  { .key = "partition",
    .type = OPTION_ENUM,
    .choices = partition_choices,
    .offset = G_STRUCT_OFFSET (Zero1Options, partition),
    .fallback = "flat",
    .help = "the optimizer's parts: of one flat buffer, equal, gathered as one; or whole tensors, "
            "which each owner broadcasts",
    .source = "InternEvo, internlm/solver/optimizer/hybrid_zero_optim.py" },
  { 0 },
};

static gboolean
zero1_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const Zero1Options *o = opt;

  if (o->partition == 1 && o->reduce == 1)
    {
      return diag_option_error (diags, "reduce", "take 'reduce: all_reduce', or 'partition: flat'",
                                "a reduce-scatter leaves equal parts, not whole tensors");
    }
  if (o->issue.overlap_param_gather && (!o->issue.overlap_comm || o->partition == 1))
    return diag_option_error (diags, "overlap_param_gather",
                              "take 'overlap_comm: true' and 'partition: flat'",
                              "parameters are gathered in the buckets in which gradients are "
                              "reduced as they are made");
  return replicated_check (&o->issue, diags) && compression_check (in, &o->issue.compression, diags)
         && check_unit_groups (&in->mesh, o->shard, diags);
}

/*
 * The optimizer of KIND is shared by GROUPS' shard group, of which there are replicas: all have the
 * sum of all ranks' gradients, by one all-reduce, or by a reduce-scatter inside the group and an
 * all-reduce of the parts over the replicas.
 */
static void
shard_in_groups (UnitPolicy *kind, const ShardGroups *groups)
{
  PolicyRoute *reduce = &kind->routes[ROUTE_REDUCE];
  PolicyHop   *update = &kind->routes[ROUTE_UPDATE].hops[0];

  kind->states[STATE_OPTIMIZER].group = update->group = groups->shard_group;
  update->name = "shard";
  if (reduce->hops[0].kind != COLLECTIVE_REDUCE_SCATTER)
    return;
  reduce->hops[0].group = groups->shard_group;
  reduce->hops[0].name = "shard";
  policy_add_collective (reduce, COLLECTIVE_ALL_REDUCE, "replica", groups->replica,
                         reduce->hops[0].dtype, CADENCE_LAST);
}

static void
zero1_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const Zero1Options *o = opt;
  ShardGroups         groups[2];

  replicated_policy (in, replicated_kept (in, &o->issue),
                     o->reduce == 0 ? COLLECTIVE_ALL_REDUCE : COLLECTIVE_REDUCE_SCATTER, TRUE,
                     policy);
  replicated_set_issue (&o->issue, policy);
  unit_groups (&in->mesh, o->shard, groups, NULL);
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      /* Megatron-LM's parameters that are in fp8 are so in the buffer that is gathered, too */
      policy->kinds[k].routes[ROUTE_UPDATE].hops[0].narrow =
          o->partition == 0 && fp8_recipe (workload_training (in->workload)).primary;
      if (groups[k].replica.size > 1)
        shard_in_groups (&policy->kinds[k], &groups[k]);
      if (o->partition == 1)
        {
          /* No tensor is cut; each owner broadcasts its own. */
          policy->kinds[k].format = &format_whole;
          policy->kinds[k].routes[ROUTE_UPDATE].hops[0].kind = COLLECTIVE_BROADCAST;
          policy->kinds[k].routes[ROUTE_UPDATE].hops[0].label = "broadcast_updated";
        }
    }
  compression_apply (in, &o->issue.compression, policy);
}

const Strategy strategy_zero1 = {
  .api = STRATEGY_API_VERSION,
  .name = "zero1",
  .title = "ZeRO-1: optimizer state sharded over all ranks or groups of them",
  .source = "Rajbhandari et al., arXiv:1910.02054; deepspeed/runtime/zero/stage_1_and_2.py",
  .options_size = sizeof (Zero1Options),
  .options = zero1_options,
  .check = zero1_check,
  .policy = zero1_policy,
  .issue = &issue_buckets,
  .states = "parameters: whole, compute precision, HBM\n"
            "gradients: whole, compute precision or fp32, HBM\n"
            "optimizer: fp32 master and both moments, sharded over the shard group, HBM",
  .missing =
      "owners of whole tensors that own less than the largest one; overlap_sync_param\n"
      "bucketed all-gather of the updated parameters behind the update (one collective here), the "
      "fp16 overflow check",
};
