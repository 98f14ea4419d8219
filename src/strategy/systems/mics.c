/*
 * MiCS: ZeRO-3 inside a group of ranks, often a node, with replicas of the group. Gradients are
 * reduce-scattered inside the group in each micro-step; behind the last one of a step each rank
 * all-reduces its shard with its replicas, so that the network between groups sees one reduction a
 * step, whatever the number of micro-steps. Source: Zhang et al., arXiv:2205.00119;
 * deepspeed/runtime/zero/mics.py.
 */
#include "strategy/compression/compression.h"
#include "strategy/policy/deepspeed.h"

typedef struct
{
  DeepspeedOptions   deepspeed; /* first: its rows of the table count from here */
  char              *shard;
  gboolean           mics_hierarchical_params_gather;
  CompressionOptions compression;
} MicsOptions;

static const OptionSpec mics_options[] = {
  { .key = "shard",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (MicsOptions, shard),
    .fallback = "node",
    .help = "ranks that share one copy of the model: node, all, or a number; the rest are replicas",
    .source = "deepspeed/runtime/zero/config.py, mics_shard_size" },
  { .key = "mics_hierarchical_params_gather",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (MicsOptions, mics_hierarchical_params_gather),
    .fallback = "false",
    .needs = "a shard group over several nodes",
    .help = "groups that span nodes gather across nodes first, then inside each node",
    .source = "deepspeed/runtime/zero/config.py" },
  DEEPSPEED_OPTIONS,
  COMPRESSION_OPTIONS (MicsOptions, compression),
  { 0 },
};

/* Whether parameters are gathered in two hops: the group is of several nodes. */
static gboolean
is_hierarchical (const PlanInput *in, const MicsOptions *o, const ShardGroups *groups)
{
  return o->mics_hierarchical_params_gather
         && groups->shard_group.size > mesh_node_ranks (&in->mesh);
}

static gboolean
mics_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const MicsOptions *o = opt;
  ShardGroups        groups;
  guint              node = mesh_node_ranks (&in->mesh);

  if (!deepspeed_check (in, "mics", diags) || !check_unit_groups (&in->mesh, o->shard, diags))
    return FALSE;
  shard_groups (&in->mesh, o->shard, &groups, NULL);
  if (is_hierarchical (in, o, &groups) && node == 0)
    return diag_option_error (
        diags, "mics_hierarchical_params_gather", "take nodes of equal size, or false",
        "nodes hold unequal numbers of ranks: groups of them cannot gather by nodes");
  if (is_hierarchical (in, o, &groups) && groups.shard_group.size % node != 0)
    return diag_option_error (
        diags, "mics_hierarchical_params_gather", "take a multiple of a node's ranks, or false",
        "shard group of %u ranks is not whole nodes of %u ranks that share the model",
        groups.shard_group.size, node);
  return compression_check (in, &o->compression, diags);
}

static void
mics_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const MicsOptions *o = opt;
  ShardGroups        groups;

  shard_groups (&in->mesh, o->shard, &groups, NULL);
  deepspeed_policy (in, &o->deepspeed, "shard", groups.shard_group, policy);
  if (is_hierarchical (in, o, &groups))
    {
      /* The ranks of one place in each node of the group gather first, then the node. */
      MeshGroup node = mesh_node (&in->mesh);
      Mesh      part = in->mesh;
      MeshGroup across;

      part.n_ranks = groups.shard_group.size;
      across = mesh_across (&part, node);
      policy->kinds[0].routes[ROUTE_GATHER].n = 0;
      policy_add_collective (&policy->kinds[0].routes[ROUTE_GATHER], COLLECTIVE_ALL_GATHER,
                             "nodes of the shard", across, policy->compute, CADENCE_MICRO_STEP);
      policy_add_collective (&policy->kinds[0].routes[ROUTE_GATHER], COLLECTIVE_ALL_GATHER, "node",
                             node, policy->compute, CADENCE_MICRO_STEP);
    }
  if (groups.replica.size > 1)
    policy_add_collective (&policy->kinds[0].routes[ROUTE_REDUCE], COLLECTIVE_ALL_REDUCE, "replica",
                           groups.replica, policy->compute, CADENCE_LAST);
  compression_apply (in, &o->compression, policy);
}

const Strategy strategy_mics = {
  .api = STRATEGY_API_VERSION,
  .name = "mics",
  .title = "MiCS: ZeRO-3 inside groups of ranks, gradients summed over the groups once a step",
  .source = "Zhang et al., arXiv:2205.00119; deepspeed/runtime/zero/mics.py",
  .options_size = sizeof (MicsOptions),
  .options = mics_options,
  .check = mics_check,
  .policy = mics_policy,
  .issue = &issue_mics,
  .states =
      "parameters: compute precision, each tensor cut over the shard group, HBM; small ones whole "
      "on every rank\n"
      "gathered parameters: the current modules, the prefetch window and the reuse window, HBM\n"
      "gradients: compute precision, a bucket and the own shard, HBM\n"
      "optimizer: fp32 master and both moments, sharded over the group, HBM",
  .missing = "the copy that puts what came from other nodes into order\n"
             "what zero3 leaves out",
};
