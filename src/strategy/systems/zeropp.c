/*
 * ZeRO++: ZeRO-3 that sends less between nodes. qwZ gathers parameters in int8. hpZ keeps a second
 * copy of them in the GPUs of each node, 1/G a rank, made at a parameter's first use after an
 * optimizer step; backward and later micro-steps gather from it. qgZ reduces gradients by two
 * all-to-alls in int4, inside the node and then across nodes, tensor by tensor; what it does not
 * take goes by a reduce-scatter. Sources: Wang et al., arXiv:2306.10209; deepspeed/runtime/zero,
 * deepspeed/runtime/comm/coalesced_collectives.py.
 */
#include "strategy/compression/compression.h"
#include "strategy/policy/deepspeed.h"
#include "vocabulary/codec.h"

typedef struct
{
  DeepspeedOptions   deepspeed; /* first: its rows of the table count from here */
  char              *zero_hpz_partition_size;
  gboolean           zero_quantized_weights, zero_quantized_gradients;
  gboolean           zero_quantized_nontrainable_weights;
  gint               invalidate;
  CompressionOptions compression;
} ZeroppOptions;

#define ZEROPP_OPTION(name, needs_, type_, default_, help_)                                        \
  {                                                                                                \
    .key = #name, .needs = needs_, .type = type_, .offset = G_STRUCT_OFFSET (ZeroppOptions, name), \
    .fallback = default_, .help = help_,                                                           \
    .source = "deepspeed/runtime/zero/config.py; "                                                 \
              "DeepSpeed's own default is off"                                                     \
  }

static const OptionSpec zeropp_options[] = {
  ZEROPP_OPTION (zero_quantized_weights, NULL, OPTION_BOOL, "true",
                 "qwZ: parameters gathered in int8"),
  ZEROPP_OPTION (zero_hpz_partition_size, NULL, OPTION_STRING, "node",
                 "hpZ: ranks that share the second copy: node, or their number; 1: there is none"),
  ZEROPP_OPTION (zero_quantized_nontrainable_weights, "parameters that are frozen", OPTION_BOOL,
                 "false", "MixZ++: shards of frozen parameters rest in int8"),
  ZEROPP_OPTION (zero_quantized_gradients, NULL, OPTION_BOOL, "true",
                 "qgZ: gradients reduced in int4, by all-to-alls"),
  DEEPSPEED_INVALIDATE (ZeroppOptions, invalidate,
                        "whose second copies an optimizer step makes invalid: all, as the FCDP "
                        "paper has its baseline, or those of parameters that are trained",
                        "deepspeed/runtime/zero/stage3.py, over the optimizer's groups"),
  DEEPSPEED_OPTIONS,
  COMPRESSION_OPTIONS (ZeroppOptions, compression),
  { 0 },
};

static const GroupNames hpz_names = { "zero_hpz_partition_size", "hpZ group" };

static gboolean
zeropp_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const ZeroppOptions *o = opt;
  guint                n_errors = diag_list_n_errors (diags), node = mesh_node_ranks (&in->mesh);
  ShardGroups          hpz;

  if (!deepspeed_check (in, "zeropp", diags))
    return FALSE;
  diag_list_set_key (diags, hpz_names.key);
  if (named_groups (&in->mesh, o->zero_hpz_partition_size, &hpz_names, &hpz, diags)
      && hpz.shard_group.size > 1 && hpz.shard_group.size != node)
    diag_error (diags, NULL,
                node > 0 ? "take 'node', or 1 for no second copy"
                         : "take 1 for no second copy: nodes hold unequal numbers of ranks",
                "hpZ group of %u ranks is not the ranks of a node that share the model, %u",
                hpz.shard_group.size, node);
  diag_list_set_key (diags, NULL);
  if (o->zero_quantized_gradients && node == 0)
    diag_option_error (diags, "zero_quantized_gradients",
                       "take whole nodes of equal size, or false",
                       "qgZ needs as many ranks on every node: it reduces inside nodes first");
  if (o->zero_quantized_gradients && mesh_n_nodes (&in->mesh) > 1
      && o->compression.scheme != COMPRESSION_NONE)
    diag_option_error (diags, "compression",
                       "take 'zero_quantized_gradients: false', or 'compression: none'",
                       "qgZ has codes of its own for gradients");
  return compression_check (in, &o->compression, diags) && diag_list_n_errors (diags) == n_errors;
}

static void
gather_quantized (PolicyRoute *route)
{
  for (guint h = 0; h < route->n; h++)
    if (route->hops[h].hop == HOP_COLLECTIVE)
      route->hops[h].codec = codec_find ("int8-block");
}

/* Matrices whose elements twice the ranks divide; all others as ZeRO-3 does. */
static void
reduce_quantized (UnitPolicy *kind, const Mesh *mesh)
{
  PolicyRoute *reduce = &kind->routes[ROUTE_REDUCE];
  MeshGroup    node = mesh_node (mesh), across = mesh_across (mesh, node);
  Dtype        dtype = reduce->hops[0].dtype;

  kind->reduced = (TensorRule){ .dims = 2, .divisor = 2 * (guint64) mesh->n_ranks };
  kind->routes[ROUTE_REST] = *reduce;
  reduce->n = 0;
  policy_add_collective (reduce, COLLECTIVE_ALL_TO_ALL, "node", node, dtype, CADENCE_MICRO_STEP)
      ->codec = codec_find ("int4-block");
  policy_add_collective (reduce, COLLECTIVE_ALL_TO_ALL, "across nodes", across, dtype,
                         CADENCE_MICRO_STEP)
      ->codec = codec_find ("int4-block");
}

static void
zeropp_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const ZeroppOptions *o = opt;
  UnitPolicy          *kind = &policy->kinds[0];
  ShardGroups          hpz;

  deepspeed_world_policy (in, &o->deepspeed, policy);
  named_groups (&in->mesh, o->zero_hpz_partition_size, &hpz_names, &hpz, NULL);
  if (hpz.shard_group.size > 1)
    policy_add_second_copy (kind, "hpZ", hpz.shard_group, PLACE_HBM, policy->compute);
  kind->invalidate = (PolicyInvalidation) o->invalidate;
  if (o->zero_quantized_nontrainable_weights && in->mesh.n_ranks > 1)
    {
      kind->routes[ROUTE_FROZEN] = kind->routes[ROUTE_GATHER];
      gather_quantized (&kind->routes[ROUTE_FROZEN]);
    }
  if (o->zero_quantized_weights)
    {
      gather_quantized (&kind->routes[ROUTE_GATHER]);
      gather_quantized (&kind->routes[ROUTE_COPY]);
    }
  if (o->zero_quantized_gradients && mesh_n_nodes (&in->mesh) > 1)
    reduce_quantized (kind, &in->mesh);
  compression_apply (in, &o->compression, policy);
}

const Strategy strategy_zeropp = {
  .api = STRATEGY_API_VERSION,
  .name = "zeropp",
  .title = "ZeRO++: ZeRO-3 with quantised gathering and reduction, and a copy a node in HBM",
  .source = "Wang et al., arXiv:2306.10209; deepspeed/runtime/zero",
  .options_size = sizeof (ZeroppOptions),
  .options = zeropp_options,
  .check = zeropp_check,
  .policy = zeropp_policy,
  .issue = &issue_deepspeed,
  .states = "parameters: as zero3, plus one copy a node in compute precision, 1/G a rank, HBM\n"
            "gathered parameters: as zero3\n"
            "gradients: as zero3; int4 on their way\n"
            "optimizer: as zero3",
  .missing = "scales are sent with the data, not by a collective of their own\n"
             "what zero3 leaves out",
};
