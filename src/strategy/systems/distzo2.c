/*
 * DistZO2: ZO2 on several GPUs. The two passes of a batch on two GPUs (perturbation parallelism),
 * or a batch a GPU (data parallelism on scalars), or both; and blocks that come to a node once, a
 * slice over the host link of each GPU. Source: Wang et al., arXiv:2507.03211.
 */
#include "strategy/runtime/zeroth-order/issue-zo.h"

static const OptionSpec distzo2_options[] = {
  { .key = "perturbation_parallel",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (ZoIssue, pairs),
    .fallback = "false",
    .help = "neighbouring data ranks share a batch and take one of its two passes each",
    .source = "arXiv:2507.03211, perturbation parallelism" },
  { .key = "sliced_upload",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (ZoIssue, slices),
    .fallback = "true",
    .help = "each GPU of a node brings a slice of a block over its own host link and takes one "
            "back; an all-gather puts them together",
    .source = "arXiv:2507.03211, hardware-aware communication" },
  ZO_OPTIONS,
  { 0 },
};

static gboolean
distzo2_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  return zo_check (in, opt, "distzo2", diags);
}

static void
distzo2_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  zo_policy (in, opt, policy);
}

const Strategy strategy_distzo2 = {
  .api = STRATEGY_API_VERSION,
  .name = "distzo2",
  .title = "DistZO2: ZO2 with parallel passes, scalars between replicas, sliced uploads",
  .source = "Wang et al., arXiv:2507.03211",
  .options_size = sizeof (ZoIssue),
  .options = distzo2_options,
  .check = distzo2_check,
  .policy = distzo2_policy,
  .issue = &issue_zo,
  .expect = zo_expect,
  .states =
      "parameters of blocks: host memory, whole for each GPU or (sliced_upload) once a node; three "
      "blocks at a time in HBM\n"
      "embedding, final norm and head: HBM of each GPU\n"
      "random direction: of one tensor at a time, the same seed on all ranks, HBM\n"
      "gradients, optimizer states: none",
  .caveat = "steps of zeroth order are worth far less than those of gradients",
  .missing = "the arithmetic of random numbers: a kernel that makes them costs what it writes\n"
             "uploads of a block in pieces, of which the first are exchanged before the last come",
};
