/*
 * Replicated data parallelism with bucketed gradient all-reduce (PyTorch DistributedDataParallel).
 * Every rank holds 16 bytes a parameter in mixed precision. Gradients are gathered into buckets in
 * backward order; a full bucket is all-reduced on a stream of its own while backward goes on; only
 * the last micro-step reduces (no_sync). Source: Li et al., arXiv:2006.15704.
 */
#include "strategy/replicated.h"

static const OptionSpec ddp_options[] = {
  { .key = "bucket_bytes",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    .offset = G_STRUCT_OFFSET (ReplicatedOptions, bucket_bytes),
    .fallback = "25 MiB",
    .min = 1,
    .max = 1e15,
    .help = "size at which a gradient bucket is reduced",
    .source = "torch.nn.parallel.DistributedDataParallel, bucket_cap_mb" },
  { .key = "overlap_comm",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (ReplicatedOptions, overlap_comm),
    .fallback = "true",
    .help =
        "reduce on a stream of its own; false: in line, under a pipeline after the whole backward "
        "pass",
    .source = "torch.nn.parallel.DistributedDataParallel" },
  REPLICATED_GRADIENT_DTYPE (ReplicatedOptions, gradient_dtype),
  { 0 },
};

static gboolean
ddp_expect (const PlanInput *in, gconstpointer opt, PlanTotals *totals)
{
  return replicated_expect (in, opt, REDUCE_ALL, FALSE, totals);
}

const Strategy strategy_ddp = {
  .api = STRATEGY_API_VERSION,
  .name = "ddp",
  .title = "replicated data parallelism with bucketed all-reduce",
  .source = "Li et al., arXiv:2006.15704",
  .options_size = sizeof (ReplicatedOptions),
  .options = ddp_options,
  .hooks = REPLICATED_HOOKS (replicated_init, replicated_step_end),
  .expect = ddp_expect,
  .resident = replicated_resident,
  .gradient = replicated_gradient,
  .states = "parameters: whole, compute precision and fp32 master, HBM\n"
            "gradients: whole, compute precision or fp32, in buckets, HBM\n"
            "optimizer: whole, HBM",
  .missing = "the smaller first bucket, static graphs, gradient compression hooks",
};
