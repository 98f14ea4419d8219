/*
 * FCDP: ZeRO-3 whose forward all-gather leaves a copy of the parameters in the node's pinned host
 * memory, so that backward fetches from there and gathers inside the node; gradients are reduced
 * over all ranks as before. A parameter's copy is valid from its first use after an optimizer step
 * (when it is dirty) until the next one, so with gradient accumulation the later micro-steps read
 * it in forward too. Each rank keeps 1/G of every tensor. In full fine-tuning all parameters become
 * dirty in each step (FCDP-Sched); frozen ones never do, so that they cross the network once
 * (FCDP-Comm). Below a threshold on GPU memory slices stay there instead (FCDP-Cache), which ones
 * is decided before the run. Source: arXiv:2602.06499.
 */
#include "strategy/compression/compression.h"
#include "strategy/policy/deepspeed.h"

typedef struct
{
  DeepspeedOptions   deepspeed; /* first: its rows of the table count from here */
  gint               invalidate;
  double             cache_threshold;
  CompressionOptions compression;
} FcdpOptions;

static const OptionSpec fcdp_options[] = {
  DEEPSPEED_INVALIDATE (FcdpOptions, invalidate,
                        "whose copies an optimizer step makes invalid: all (FCDP-Sched), or those "
                        "of parameters that are trained (FCDP-Comm)",
                        "arXiv:2602.06499, dirty flags"),
  { .key = "cache_threshold",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    .offset = G_STRUCT_OFFSET (FcdpOptions, cache_threshold),
    .fallback = "0",
    .min = 0,
    .max = 1,
    .help = "part of GPU memory up to which copies stay there instead of on the host (FCDP-Cache); "
            "0: none does",
    .source = "arXiv:2602.06499, FCDP-Cache; the paper's own threshold is not known" },
  DEEPSPEED_OPTIONS,
  COMPRESSION_OPTIONS (FcdpOptions, compression),
  { 0 },
};

static gboolean
fcdp_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  if (!deepspeed_check (in, "fcdp", diags)
      || !compression_check (in, &((const FcdpOptions *) opt)->compression, diags))
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
fcdp_reads_room (gconstpointer opt)
{
  return ((const FcdpOptions *) opt)->cache_threshold > 0;
}

/* ZeRO-3's, with a copy in the node's pinned memory that serves all uses while it is valid. */
static void
fcdp_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const FcdpOptions *o = opt;
  UnitPolicy        *kind = &policy->kinds[0];
  guint64            limit = (guint64) (o->cache_threshold * (double) in->hbm.capacity);

  deepspeed_world_policy (in, &o->deepspeed, policy);
  policy_add_second_copy (kind, "node", mesh_node (&in->mesh), PLACE_PINNED, policy->compute);
  /* FCDP-Cache takes what the plan without copies on the GPU leaves below the threshold. */
  policy_keep_copies (kind, "node", limit > in->hbm.taken ? limit - in->hbm.taken : 0);
  kind->invalidate = (PolicyInvalidation) o->invalidate;
  compression_apply (in, &o->compression, policy);
}

const Strategy strategy_fcdp = {
  .api = STRATEGY_API_VERSION,
  .name = "fcdp",
  .title = "FCDP: ZeRO-3 with a host-memory copy a node that serves the backward pass",
  .source = "arXiv:2602.06499",
  .options_size = sizeof (FcdpOptions),
  .options = fcdp_options,
  .check = fcdp_check,
  .policy = fcdp_policy,
  .reads_room = fcdp_reads_room,
  .issue = &issue_deepspeed,
  .states =
      "parameters: as zero3, plus one copy a node in pinned host memory, 1/G a rank; up to\n"
      "cache_threshold of GPU memory the first units' slices in HBM instead\n"
      "gathered parameters: as zero3; a gathered buffer lives until its slice has reached the "
      "host, HBM\n"
      "gradients: as zero3\n"
      "optimizer: as zero3",
  .missing =
      "the start-up time of host copies where the GPU's profile has no host_copy_latency\n"
      "the paper's prefetch depth and wait points are not published: the ZeRO-3 window is used",
};
