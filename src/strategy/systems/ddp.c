/*
 * Replicated data parallelism with bucketed gradient all-reduce (PyTorch DistributedDataParallel).
 * Every rank holds 16 bytes a parameter in mixed precision. Gradients are gathered into buckets in
 * backward order; a full bucket is all-reduced on a stream of its own while backward goes on; only
 * the last micro-step reduces (no_sync). Source: Li et al., arXiv:2006.15704.
 */
#include "strategy/policy/replicated.h"

static const OptionSpec ddp_options[] = {
  { .key = "bucket_bytes",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    .offset = G_STRUCT_OFFSET (BucketsIssue, bucket_bytes),
    .fallback = "25 MiB",
    .min = 1,
    .max = 1e15,
    .needs = "gradients that are reduced in buckets",
    .help = "size at which a gradient bucket is reduced",
    .source = "torch.nn.parallel.DistributedDataParallel, bucket_cap_mb" },
  { .key = "overlap_comm",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (BucketsIssue, overlap_comm),
    .fallback = "true",
    .help =
        "reduce on a stream of its own; false: in line, under a pipeline after the whole backward "
        "pass",
    .source = "torch.nn.parallel.DistributedDataParallel" },
  REPLICATED_GRADIENT_DTYPE (BucketsIssue, gradient_dtype),
  REPLICATED_FUSED_GRADIENTS (BucketsIssue, fused_gradients),
  COMPRESSION_OPTIONS (BucketsIssue, compression),
  { 0 },
};

static gboolean
ddp_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const BucketsIssue *o = opt;

  return replicated_check (opt, diags) && compression_check (in, &o->compression, diags);
}

static void
ddp_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  replicated_policy (in, replicated_kept (in, opt), COLLECTIVE_ALL_REDUCE, FALSE, policy);
  replicated_set_issue (opt, policy);
  policy->flat_gradients = in->flat_gradients;
  compression_apply (in, &((const BucketsIssue *) opt)->compression, policy);
}

const Strategy strategy_ddp = {
  .api = STRATEGY_API_VERSION,
  .name = "ddp",
  .title = "replicated data parallelism with bucketed all-reduce",
  .source = "Li et al., arXiv:2006.15704",
  .options_size = sizeof (BucketsIssue),
  .options = ddp_options,
  .check = ddp_check,
  .policy = ddp_policy,
  .issue = &issue_buckets,
  .states = "parameters: whole, compute precision and fp32 master, HBM\n"
            "gradients: whole, compute precision or fp32, in buckets, HBM\n"
            "optimizer: whole, HBM",
  .missing = "the smaller first bucket, static graphs",
};
