/*
 * ZeRO-Offload: ZeRO-2 whose gradients stream to the host as they are reduced, where the cores
 * update the optimizer's states; the parameters come back in compute precision. With delayed_update
 * the update of a step shows one step later, and the cores work while the GPU trains on. Sources:
 * Ren et al., arXiv:2101.06840; deepspeed/runtime/zero/stage_1_and_2.py.
 */
#include "strategy/compression/compression.h"
#include "strategy/policy/replicated.h"
#include "strategy/runtime/buckets/host-slices.h"
#include "strategy/runtime/buckets/issue-slices.h"

static const char *const gradient_choices[] = { "fp32", "compute", NULL };

typedef struct
{
  SlicesIssue        issue;
  gint               reduce;
  gint               gradient_dtype;
  gboolean           delayed_update;
  gboolean           host_copies;
  CompressionOptions compression;
} ZeroOffloadOptions;

static const OptionSpec zero_offload_options[] = {
  SLICES_OPTIONS (ZeroOffloadOptions, issue),
  SLICES_REDUCE (ZeroOffloadOptions, reduce),
  { .key = "gradient_dtype",
    .type = OPTION_ENUM,
    .choices = gradient_choices,
    .offset = G_STRUCT_OFFSET (ZeroOffloadOptions, gradient_dtype),
    .fallback = "fp32",
    .help =
        "type in which slices of gradients go to the host: DeepSpeed casts them on the GPU, the "
        "paper sends them as they are",
    .source = "deepspeed/runtime/zero/stage_1_and_2.py; arXiv:2101.06840, 4.1" },
  { .key = "delayed_update",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (ZeroOffloadOptions, delayed_update),
    .fallback = "false",
    .help = "the update of a step shows one step later, while the GPU trains on",
    .source = "arXiv:2101.06840, 5.2 (one-step delayed parameter update)" },
  HOST_COPIES (ZeroOffloadOptions, host_copies),
  COMPRESSION_OPTIONS (ZeroOffloadOptions, compression),
  { 0 },
};

static gboolean
zero_offload_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  return slices_check (in, "zero-offload", diags)
         && compression_check (in, &((const ZeroOffloadOptions *) opt)->compression, diags);
}

/* ZeRO-2's, with gradients and optimizer at home in pinned host memory. */
static void
zero_offload_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const ZeroOffloadOptions *o = opt;

  slices_policy (in, slices_reduction (o->reduce), policy);
  policy->issue = &o->issue;
  policy->late_update = o->delayed_update;
  policy->host_copies = o->host_copies;
  compression_apply (in, &o->compression, policy);
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      UnitPolicy *kind = &policy->kinds[k];
      PolicyHop   gather = kind->routes[ROUTE_UPDATE].hops[0];
      Dtype       kept = o->gradient_dtype == 0 ? DTYPE_FP32 : policy->compute;

      kind->states[STATE_GRADIENTS].dtype = kept;
      kind->states[STATE_GRADIENTS].home = kind->states[STATE_OPTIMIZER].home = PLACE_PINNED;
      policy_add_move (&kind->routes[ROUTE_STORE], PLACE_PINNED, PLACE_HBM, kept, CADENCE_LATER)
          ->label = "sum of gradients";
      policy_add_move (&kind->routes[ROUTE_STORE], PLACE_HBM, PLACE_PINNED, kept,
                       CADENCE_MICRO_STEP)
          ->label = "gradients";
      kind->routes[ROUTE_UPDATE].n = 0;
      policy_add_move (&kind->routes[ROUTE_UPDATE], PLACE_PINNED, PLACE_HBM, policy->compute,
                       CADENCE_LAST)
          ->label = "updated parameters";
      kind->routes[ROUTE_UPDATE].hops[kind->routes[ROUTE_UPDATE].n++] = gather;
    }
}

const Strategy strategy_zero_offload = {
  .api = STRATEGY_API_VERSION,
  .name = "zero-offload",
  .title = "ZeRO-Offload: ZeRO-2 with gradients and optimizer in host memory, updated by its cores",
  .source = "Ren et al., arXiv:2101.06840; deepspeed/runtime/zero/stage_1_and_2.py",
  .options_size = sizeof (ZeroOffloadOptions),
  .options = zero_offload_options,
  .check = zero_offload_check,
  .policy = zero_offload_policy,
  .issue = &issue_slices,
  .states = "parameters: whole, compute precision, HBM; the own slice of what is updated, pinned\n"
            "gradients: a bucket during the backward pass, HBM; the own slice, fp32, pinned, twice "
            "with delayed_update\n"
            "optimizer: fp32 master and both moments, sharded over all ranks, pinned",
  .missing = "tiles of the update that overlap its copies, the fp16 overflow check",
};
