/*
 * SimpleFSDP: parameters are DTensors whose gathering is part of the model's graph; the compiler
 * packs collectives into buckets and moves them ahead of what they would keep waiting. Sources:
 * Zhang et al., arXiv:2411.00284; torchtitan/experiments/simple_fsdp.
 */
#include "strategy/compression/compression.h"
#include "strategy/policy/shard-policy.h"
#include "strategy/runtime/graph/issue-graph.h"
#include "strategy/shards/format.h"

/* GraphBuckets */
static const char *const passes_choices[] = { "none", "transformer_block_bucketing",
                                              "auto_bucketing", NULL };

typedef struct
{
  char              *shard;
  gint               format; /* of shard_format_copied */
  gboolean           reshard_after_forward;
  GraphIssue         issue;
  CompressionOptions compression;
} SimpleOptions;

static const OptionSpec simple_options[] = {
  { .key = "graph_passes",
    .type = OPTION_ENUM,
    .choices = passes_choices,
    .offset = G_STRUCT_OFFSET (SimpleOptions, issue.buckets),
    .fallback = "transformer_block_bucketing",
    .help = "what is gathered and reduced as one: a layer's parameters or (none) a module's",
    .source = "torchtitan/experiments/simple_fsdp, compile.graph_passes" },
  { .key = "reordering",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (SimpleOptions, issue.reorders),
    .fallback = "true",
    .help = "gather the next bucket before waiting for the current one, and wait for a reduction "
            "before the next one",
    .source = "Zhang et al., arXiv:2411.00284, 4.2" },
  { .key = "reshard_after_forward",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (SimpleOptions, reshard_after_forward),
    .fallback = "true",
    .help = "gather parameters anew in backward; false: save what forward has gathered",
    .source = "torchtitan, fsdp_reshard_after_forward" },
  { .key = "shard",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (SimpleOptions, shard),
    .fallback = "all",
    .help = "ranks that share one copy of the parameters: all, node, or a number; the rest are "
            "replicas",
    .source = "torchtitan/experiments/simple_fsdp, data_parallel, mode hybrid_shard" },
  SHARD_FORMAT_OPTION (SimpleOptions, format, shard_format_copied, "rows"),
  COMPRESSION_OPTIONS (SimpleOptions, compression),
  { 0 },
};

static gboolean
simple_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const SimpleOptions *o = opt;
  guint                n_errors = diag_list_n_errors (diags);

  if (o->issue.buckets == BUCKET_BY_COST)
    diag_option_error (diags, "graph_passes", "take transformer_block_bucketing",
                       "buckets that a cost model of the compiler chooses are not modelled");
  if ((o->issue.buckets != BUCKET_MODULE || o->issue.reorders)
      && !training_compiles_blocks (workload_training (in->workload)))
    diag_warning (diags, NULL, "set 'training.compile' to true",
                  "simplefsdp's passes are the compiler's, and 'training.compile' is false");
  if (in->mesh.stages > 1)
    diag_error (diags, NULL, "take fsdp1, fsdp2 or megatron-fsdp",
                "simplefsdp does not go with pipeline stages: their graphs are not modelled");
  return check_unit_groups (&in->mesh, o->shard, diags)
         && compression_check (in, &o->compression, diags)
         && diag_list_n_errors (diags) == n_errors;
}

static void
simple_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const SimpleOptions *o = opt;

  shard_policy (in, o->shard, shard_format_find (shard_format_copied[o->format]), policy);
  policy->stays = !o->reshard_after_forward;
  policy->issue = &o->issue;
  compression_apply (in, &o->compression, policy);
}

const Strategy strategy_simplefsdp = {
  .api = STRATEGY_API_VERSION,
  .name = "simplefsdp",
  .title = "SimpleFSDP: gathering in the compiled graph, in buckets that are issued ahead",
  .source = "Zhang et al., arXiv:2411.00284; torchtitan/experiments/simple_fsdp",
  .options_size = sizeof (SimpleOptions),
  .options = simple_options,
  .check = simple_check,
  .policy = simple_policy,
  .issue = &issue_graph,
  .states = "parameters: fp32, each tensor cut on its first dimension over the shard group, HBM\n"
            "gathered parameters: compute precision, the current bucket and the next one, HBM\n"
            "gradients: sharded, fp32, from the first reduce-scatter to the end of the step, HBM\n"
            "optimizer: sharded like the parameters, HBM",
  .missing = "buckets by the compiler's cost model (auto_bucketing), pipeline stages\n"
             "what the compiler makes of the rest of the graph: training.compile says that\n"
             "the parameters of a module are gathered as one, where graph_passes is none",
};
