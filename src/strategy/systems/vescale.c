/*
 * veScale-FSDP: FSDP2 over ragged shards. A planner lays the tensors of a unit into one buffer so
 * that shards are equal and cut no block of a tensor; the buffer is what collectives gather and
 * reduce, so that nothing is copied in or out. Source: arXiv:2602.22437.
 */
#include "strategy/systems/fsdp2.h"

typedef struct
{
  Fsdp2Options fsdp2; /* first: its rows of the table count from here */
  gboolean     own_gathering_group;
} VescaleOptions;

static const OptionSpec vescale_options[] = {
  { .key = "create_all_gather_group",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (VescaleOptions, own_gathering_group),
    .fallback = "false",
    .help = "all-gathers have a communicator of their own, so that reductions do not hold them up",
    .source = "not published of veScale; Megatron-LM has it" },
  FSDP2_OPTIONS ("all", "ragged"),
  { 0 },
};

static void
vescale_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const VescaleOptions *o = opt;

  fsdp2_policy (in, &o->fsdp2, policy);
  for (guint k = 0; k < policy->n_kinds && o->own_gathering_group; k++)
    {
      PolicyRoute *gather = &policy->kinds[k].routes[ROUTE_GATHER];

      for (guint h = 0; h < gather->n; h++)
        if (gather->hops[h].hop == HOP_COLLECTIVE)
          gather->hops[h].name = "shard all-gather";
    }
}

const Strategy strategy_vescale = {
  .api = STRATEGY_API_VERSION,
  .name = "vescale",
  .title = "veScale-FSDP: ragged shards that cut no block, gathered and reduced in place",
  .source = "arXiv:2602.22437",
  .options_size = sizeof (VescaleOptions),
  .options = vescale_options,
  .check = fsdp2_check,
  .policy = vescale_policy,
  .issue = &issue_fsdp2,
  .states = "parameters: fp32, shards of a buffer a unit that cut no block, in HBM\n"
            "gathered parameters: compute precision, one unit and its prefetch, as gathered, in "
            "HBM\n"
            "gradients: sharded, fp32, from the first reduce-scatter to the end of the step, in "
            "HBM\n"
            "optimizer: sharded like the parameters, in HBM\n"
            "with cpu_offload: sharded parameters, gradients and optimizer state in host memory",
  .missing = "prefetch depth and communicators are not published: FSDP2's, as options\n"
             "one kernel for a group of tensors where FSDP2 has one a tensor",
};
