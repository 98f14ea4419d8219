/*
 * ZeRO stage 2: parameters on every rank, gradients and optimizer sharded. Gradients are reduced
 * bucket by bucket in every micro-step, and each rank keeps its slice: by a reduce-scatter, as the
 * paper says, or by an all-reduce whose rest is dropped. Sources: Rajbhandari et al.,
 * arXiv:1910.02054, 5.2; deepspeed/runtime/zero/stage_1_and_2.py.
 */
#include "strategy/compression/compression.h"
#include "strategy/policy/replicated.h"
#include "strategy/runtime/buckets/issue-slices.h"

typedef struct
{
  SlicesIssue        issue;
  gint               reduce;
  CompressionOptions compression;
} Zero2Options;

static const OptionSpec zero2_options[] = {
  SLICES_OPTIONS (Zero2Options, issue),
  SLICES_REDUCE (Zero2Options, reduce),
  COMPRESSION_OPTIONS (Zero2Options, compression),
  { 0 },
};

static gboolean
zero2_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  return slices_check (in, "zero2", diags)
         && compression_check (in, &((const Zero2Options *) opt)->compression, diags);
}

static void
zero2_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const Zero2Options *o = opt;

  slices_policy (in, slices_reduction (o->reduce), policy);
  policy->issue = &o->issue;
  compression_apply (in, &o->compression, policy);
}

const Strategy strategy_zero2 = {
  .api = STRATEGY_API_VERSION,
  .name = "zero2",
  .title = "ZeRO-2: gradients and optimizer sharded over all ranks",
  .source = "Rajbhandari et al., arXiv:1910.02054; deepspeed/runtime/zero/stage_1_and_2.py",
  .options_size = sizeof (Zero2Options),
  .options = zero2_options,
  .check = zero2_check,
  .policy = zero2_policy,
  .issue = &issue_slices,
  .states = "parameters: whole, compute precision, HBM\n"
            "gradients: a bucket during the backward pass, and the own slice, compute precision, "
            "HBM\n"
            "optimizer: fp32 master and both moments, sharded over all ranks, HBM",
  .missing = "the second bucket of overlap_comm, fp32 accumulation (grad_accum_dtype)\n"
             "bucketed all-gather of the updated parameters (one collective here), the fp16 "
             "overflow check",
};
