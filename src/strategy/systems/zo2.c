/*
 * ZO2: zeroth-order fine-tuning of models whose blocks are in host memory, on one GPU. A step is
 * two forward passes; there are no gradients, no optimizer states and no activations that stay. On
 * several GPUs each takes its own batch, and they add up one number a step. Source: Wang et al.,
 * arXiv:2503.12668.
 */
#include "strategy/runtime/zeroth-order/issue-zo.h"

static const OptionSpec zo2_options[] = { ZO_OPTIONS, { 0 } };

static gboolean
zo2_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  return zo_check (in, opt, "zo2", diags);
}

static void
zo2_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  zo_policy (in, opt, policy);
}

const Strategy strategy_zo2 = {
  .api = STRATEGY_API_VERSION,
  .name = "zo2",
  .title = "ZO2: zeroth-order fine-tuning, blocks in host memory, two forward passes a step",
  .source = "Wang et al., arXiv:2503.12668; liangyuwang/zo2",
  .options_size = sizeof (ZoIssue),
  .options = zo2_options,
  .check = zo2_check,
  .policy = zo2_policy,
  .issue = &issue_zo,
  .expect = zo_expect,
  .states = "parameters of blocks: pinned or pageable host memory; three blocks at a time in HBM\n"
            "embedding, final norm and head: HBM\n"
            "random direction: of one tensor at a time, made anew from its seed, HBM\n"
            "gradients, optimizer states: none",
  .caveat = "steps of zeroth order are worth far less than those of gradients",
  .missing = "the arithmetic of random numbers: a kernel that makes them costs what it writes\n"
             "the first step, whose uploads come from pageable memory\n"
             "disks as offloading_device; torch.compile of single modules; weights in fp8",
};
