/*
 * FCDP: ZeRO-3 whose forward all-gather leaves a copy of the parameters in the node's pinned host
 * memory, so that backward fetches from there and gathers inside the node; gradients are reduced
 * over all ranks as before. A parameter's copy is valid from its first use after an optimizer step
 * (when it is dirty) until the next one, so with gradient accumulation the later micro-steps read
 * it in forward too. Each rank keeps 1/G of every tensor. Source: arXiv:2602.06499, the variant for
 * full fine-tuning (FCDP-Sched).
 */
#include "strategy/deepspeed.h"

static const OptionSpec fcdp_options[] = { DEEPSPEED_OPTIONS, { 0 } };

static void
fcdp_init (StrategyRun *run)
{
  ((DeepspeedState *) run->state)->residency = RESIDENCY_HOST_NODE;
  deepspeed_init (run);
}

static gboolean
fcdp_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  (void) opt;
  if (!deepspeed_check (in, "fcdp", diags))
    return FALSE;
  if (in->mesh.ranks_per_node == 0)
    diag_error (diags, NULL, NULL,
                "fcdp needs nodes of equal size: its host cache is one copy a node");
  else if (mesh_node_ranks (&in->mesh) == 0)
    diag_error (diags, NULL, NULL, "fcdp spans %u ranks, which are not whole nodes of %u",
                in->mesh.n_ranks, in->mesh.ranks_per_node);
  else
    return TRUE;
  return FALSE;
}

static gboolean
fcdp_expect (const PlanInput *in, gconstpointer opt, PlanTotals *totals)
{
  return deepspeed_expect (in, opt, RESIDENCY_HOST_NODE, totals);
}

const Strategy strategy_fcdp = {
  .api = STRATEGY_API_VERSION,
  .name = "fcdp",
  .title = "FCDP: ZeRO-3 with a host-memory copy a node that serves the backward pass",
  .source = "arXiv:2602.06499",
  .options_size = sizeof (DeepspeedOptions),
  .options = fcdp_options,
  .check = fcdp_check,
  .hooks = DEEPSPEED_HOOKS (fcdp_init),
  .expect = fcdp_expect,
  .resident = deepspeed_resident,
  .gradient = deepspeed_gradient,
  .states =
      "parameters: as zero3, plus one copy a node in pinned host memory, 1/G a rank\n"
      "gathered parameters: as zero3; a gathered buffer lives until its slice has reached the "
      "host, HBM\n"
      "gradients: as zero3\n"
      "optimizer: as zero3",
  .missing =
      "FCDP-Cache (a copy in HBM while memory allows) and FCDP-Comm (frozen parameters of PEFT)\n"
      "the start-up time of host copies\n"
      "the paper's prefetch depth and wait points are not published: the ZeRO-3 window is used",
};
