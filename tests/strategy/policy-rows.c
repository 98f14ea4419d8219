#include "policy-rows.h"

#include "strategy/policy/deepspeed.h"
#include "strategy/policy/replicated.h"
#include "strategy/registry.h"
#include "strategy/runtime/buckets/issue-slices.h"
#include "strategy/runtime/fsdp1/issue-fsdp1.h"
#include "strategy/systems/fsdp2.h"

/* ---- over DeepSpeed's coordinator ------------------------------------------------------------ */

static const OptionSpec deepspeed_options[] = { DEEPSPEED_OPTIONS, { 0 } };

static gboolean
node_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  (void) opt;
  if (!deepspeed_check (in, "row", diags))
    return FALSE;
  if (mesh_node_ranks (&in->mesh) > 0)
    return TRUE;
  diag_error (diags, NULL, NULL, "no whole nodes");
  return FALSE;
}

/* ZeRO-3's, with a copy of the parameters at HOME of each node, filled and read by moves. */
static UnitPolicy *
copy_policy (const PlanInput *in, gconstpointer opt, Place home, Policy *policy)
{
  UnitPolicy *kind = &policy->kinds[0];

  deepspeed_policy (in, opt, "data", mesh_all (&in->mesh), policy);
  kind->copy = (PolicyState){ mesh_node (&in->mesh), policy->compute, 1, home };
  return kind;
}

static void
gather_node (UnitPolicy *kind, Dtype dtype)
{
  policy_add_collective (&kind->routes[ROUTE_COPY], COLLECTIVE_ALL_GATHER, "node", kind->copy.group,
                         dtype, CADENCE_MICRO_STEP);
}

/* The copy is on the node's drives: drive, host, GPU, gather; encoded but on the drives. */
static void
drives_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy  *kind = copy_policy (in, opt, PLACE_NVME, policy);
  PolicyRoute *fill = &kind->routes[ROUTE_FILL], *copy = &kind->routes[ROUTE_COPY];

  policy_add_move (fill, PLACE_HBM, PLACE_PINNED, policy->compute, CADENCE_MICRO_STEP);
  policy_add_move (fill, PLACE_PINNED, PLACE_NVME, policy->compute, CADENCE_MICRO_STEP);
  policy_add_move (copy, PLACE_NVME, PLACE_PINNED, policy->compute, CADENCE_MICRO_STEP);
  policy_add_move (copy, PLACE_PINNED, PLACE_HBM, policy->compute, CADENCE_MICRO_STEP);
  gather_node (kind, policy->compute);
}

/* The copy travels encoded between the memories, and over the node's links. */
static void
coded_copy_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = copy_policy (in, opt, PLACE_PINNED, policy);

  policy_add_move (&kind->routes[ROUTE_FILL], PLACE_HBM, PLACE_PINNED, policy->compute,
                   CADENCE_MICRO_STEP)
      ->codec = codec_find ("fp8");
  policy_add_move (&kind->routes[ROUTE_COPY], PLACE_PINNED, PLACE_HBM, policy->compute,
                   CADENCE_MICRO_STEP)
      ->codec = codec_find ("fp8");
  gather_node (kind, policy->compute);
  kind->routes[ROUTE_COPY].hops[1].codec = codec_find ("fp8");
}

/*
 * The copy travels in fp32 between the memories, encoded, and in compute precision from GPU to GPU
 * in the same codec: what arrives is decoded, cast and encoded again.
 */
static void
recast_copy_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind;

  coded_copy_policy (in, opt, policy);
  kind = &policy->kinds[0];
  kind->routes[ROUTE_COPY].hops[0].dtype = DTYPE_FP32;
}

/* The host widens what goes to the drives, and narrows what comes back. */
static void
wide_drives_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = &policy->kinds[0];

  drives_policy (in, opt, policy);
  kind->copy.dtype = DTYPE_FP32;
  kind->routes[ROUTE_FILL].hops[1].dtype = DTYPE_FP32;
  kind->routes[ROUTE_COPY].hops[0].dtype = DTYPE_FP32;
}

/* qgZ: two all-to-alls, inside the node and across nodes, in blocks of int4. */
static void
qgz_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  MeshGroup    node = mesh_node (&in->mesh);
  PolicyRoute *reduce = &policy->kinds[0].routes[ROUTE_REDUCE];
  Dtype        dtype;

  deepspeed_policy (in, opt, "data", mesh_all (&in->mesh), policy);
  dtype = reduce->hops[0].dtype;
  reduce->n = 0;
  policy_add_collective (reduce, COLLECTIVE_ALL_TO_ALL, "node", node, dtype, CADENCE_MICRO_STEP)
      ->codec = codec_find ("int4-block");
  policy_add_collective (reduce, COLLECTIVE_ALL_TO_ALL, "across nodes",
                         mesh_across (&in->mesh, node), dtype, CADENCE_MICRO_STEP)
      ->codec = codec_find ("int4-block");
}

/* qwZ, and what persists is brought up to date in int8 too. */
static void
qwz_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  deepspeed_policy (in, opt, "data", mesh_all (&in->mesh), policy);
  policy->kinds[0].routes[ROUTE_GATHER].hops[0].codec = codec_find ("int8-block");
  policy->kinds[0].routes[ROUTE_UPDATE].hops[0].codec = codec_find ("int8-block");
}

/*
 * Sharded over the node; matrices by an all-to-all in int4, all else by a reduce-scatter; replicas
 * add up the shards of both once a step.
 */
static void
tensors_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy  *kind = &policy->kinds[0];
  PolicyRoute *reduce = &kind->routes[ROUTE_REDUCE];
  MeshGroup    node = mesh_node (&in->mesh), across = mesh_across (&in->mesh, node);

  deepspeed_policy (in, opt, "node", node, policy);
  kind->reduced = (TensorRule){ .dims = 2 };
  kind->routes[ROUTE_REST] = *reduce;
  reduce->hops[0].kind = COLLECTIVE_ALL_TO_ALL;
  reduce->hops[0].codec = codec_find ("int4-block");
  for (guint i = 0; i < 2; i++)
    policy_add_collective (&kind->routes[i == 0 ? ROUTE_REDUCE : ROUTE_REST], COLLECTIVE_ALL_REDUCE,
                           "replica", across, policy->compute, CADENCE_LAST);
}

/*
 * ZeRO++'s hpZ alone, with parameters kept where DeepSpeed's offload_param puts them: the second
 * copy is in pinned host memory.
 */
static void
hpz_host_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const Strategy      *zeropp = strategy_find ("zeropp");
  UnitPolicy          *kind = &policy->kinds[0];
  g_autofree gpointer  options = g_malloc0 (zeropp->options_size);
  g_autoptr (DiagList) diags = diag_list_new ();

  option_table_defaults (zeropp->options, options);
  *(DeepspeedOptions *) options = *(const DeepspeedOptions *) opt;
  option_set_key (zeropp->options, options, "zero_quantized_weights", "false", NULL, diags);
  option_set_key (zeropp->options, options, "zero_quantized_gradients", "false", NULL, diags);
  zeropp->policy (in, options, policy);
  policy->issue = &((const DeepspeedOptions *) opt)->issue;
  option_table_clear (zeropp->options, options);
  if (kind->copy.group.size == 0) /* a GPU a node */
    return;
  kind->routes[ROUTE_FILL].n = kind->routes[ROUTE_COPY].n = 0;
  policy_add_second_copy (kind, "node", kind->copy.group, PLACE_PINNED, policy->compute);
}

#define DEEPSPEED_ROW(symbol, name_, policy_)                                 \
  static const Strategy symbol = { .api = STRATEGY_API_VERSION,               \
                                   .name = name_,                             \
                                   .options_size = sizeof (DeepspeedOptions), \
                                   .options = deepspeed_options,              \
                                   .check = node_check,                       \
                                   .policy = policy_,                         \
                                   .issue = &issue_deepspeed }

DEEPSPEED_ROW (row_hpz_host, "row-hpz-host", hpz_host_policy);
DEEPSPEED_ROW (row_drives, "row-drives", drives_policy);
DEEPSPEED_ROW (row_coded_copy, "row-coded-copy", coded_copy_policy);
DEEPSPEED_ROW (row_recast_copy, "row-recast-copy", recast_copy_policy);
DEEPSPEED_ROW (row_wide_drives, "row-wide-drives", wide_drives_policy);
DEEPSPEED_ROW (row_qgz, "row-qgz", qgz_policy);
DEEPSPEED_ROW (row_qwz, "row-qwz", qwz_policy);
DEEPSPEED_ROW (row_tensors, "row-tensors", tensors_policy);

/* ---- over FSDP's runtimes -------------------------------------------------------------------- */

/* A codec that is added as it is: encoded once, decoded once. */
static const Codec added = { "added", 16, 0, 0, FALSE };

static const OptionSpec fsdp2_options[] = { FSDP2_OPTIONS ("node", "rows-inside"), { 0 } };

/*
 * Gathered in int8, from the host too, and reduced by an all-to-all in int4; replicas add up what
 * another codec has made of it.
 */
static void
fsdp2_coded_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  fsdp2_policy (in, opt, policy);
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      PolicyRoute *gather = &policy->kinds[k].routes[ROUTE_GATHER];
      PolicyRoute *reduce = &policy->kinds[k].routes[ROUTE_REDUCE];

      for (guint h = 0; h < gather->n; h++)
        gather->hops[h].codec = codec_find ("int8-block");
      reduce->hops[0].kind = COLLECTIVE_ALL_TO_ALL;
      reduce->hops[0].codec = codec_find ("int4-block");
      if (reduce->n > 1 && reduce->hops[1].hop == HOP_COLLECTIVE)
        reduce->hops[1].codec = &added;
    }
}

static const Strategy row_fsdp2_coded = { .api = STRATEGY_API_VERSION,
                                          .name = "row-fsdp2-coded",
                                          .options_size = sizeof (Fsdp2Options),
                                          .options = fsdp2_options,
                                          .check = fsdp2_check,
                                          .policy = fsdp2_coded_policy,
                                          .issue = &issue_fsdp2 };

/* FSDP1's: a reduce-scatter and an all-reduce of what is added as it is. */
static void
fsdp1_coded_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  static const Fsdp1Issue issue = { .limit_all_gathers = TRUE };

  shard_policy (in, ((const Fsdp2Options *) opt)->shard, &format_flat, policy);
  policy->issue = &issue;
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      PolicyRoute *reduce = &policy->kinds[k].routes[ROUTE_REDUCE];

      policy->kinds[k].routes[ROUTE_GATHER].hops[0].codec = codec_find ("fp8");
      for (guint h = 0; h < reduce->n; h++)
        reduce->hops[h].codec = &added;
    }
}

static const Strategy row_fsdp1_coded = { .api = STRATEGY_API_VERSION,
                                          .name = "row-fsdp1-coded",
                                          .options_size = sizeof (Fsdp2Options),
                                          .options = fsdp2_options,
                                          .check = fsdp2_check,
                                          .policy = fsdp1_coded_policy,
                                          .issue = &issue_fsdp1 };

/* ---- over buckets and slices ----------------------------------------------------------------- */

static const OptionSpec buckets_options[] = {
  REPLICATED_GRADIENT_DTYPE (BucketsIssue, gradient_dtype),
  { 0 },
};

/* An all-reduce of one's own: parts are scattered and added up in int8, and gathered again. */
static void
compressed_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  static const BucketsIssue issue = { .bucket_bytes = 1e6, .overlap_comm = TRUE };

  (void) opt;
  replicated_policy (in, replicated_kept (in, &issue), COLLECTIVE_ALL_REDUCE, FALSE, policy);
  policy->issue = &issue;
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      PolicyRoute *reduce = &policy->kinds[k].routes[ROUTE_REDUCE];
      PolicyHop    all = reduce->hops[0];

      reduce->n = 0;
      for (guint h = 0; h < 2; h++)
        policy_add_collective (reduce, h == 0 ? COLLECTIVE_ALL_TO_ALL : COLLECTIVE_ALL_GATHER,
                               all.name, all.group, all.dtype, CADENCE_LAST)
            ->codec = codec_find ("int8-block");
    }
}

static const Strategy row_compressed = { .api = STRATEGY_API_VERSION,
                                         .name = "row-compressed",
                                         .options_size = sizeof (BucketsIssue),
                                         .options = buckets_options,
                                         .policy = compressed_policy,
                                         .issue = &issue_buckets };

typedef struct
{
  SlicesIssue issue;
} SlicesOptions;

static const OptionSpec slices_options[] = { SLICES_OPTIONS (SlicesOptions, issue), { 0 } };

static gboolean
slices_row_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  (void) opt;
  return slices_check (in, "row", diags);
}

static void
coded_slices_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  slices_policy (in, COLLECTIVE_ALL_TO_ALL, policy);
  policy->issue = opt;
  for (guint k = 0; k < policy->n_kinds; k++)
    policy->kinds[k].routes[ROUTE_REDUCE].hops[0].codec = codec_find ("fp4-e3m0");
}

static const Strategy row_coded_slices = { .api = STRATEGY_API_VERSION,
                                           .name = "row-coded-slices",
                                           .options_size = sizeof (SlicesOptions),
                                           .options = slices_options,
                                           .check = slices_row_check,
                                           .policy = coded_slices_policy,
                                           .issue = &issue_slices };

const Strategy *const policy_rows[] = {
  &row_hpz_host,
  &row_drives,
  &row_coded_copy,
  &row_recast_copy,
  &row_wide_drives,
  &row_qgz,
  &row_qwz,
  &row_tensors,
  &row_fsdp2_coded,
  &row_fsdp1_coded,
  &row_compressed,
  &row_coded_slices,
  NULL,
};
