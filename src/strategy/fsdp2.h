/*
 * The runtime of PyTorch's fully_shard (FSDP2), shared by the strategies that are rows of it.
 *
 * Forward, unit i: copy-in (cast of the own shard into its slot) on the copy-in stream, all-gather
 * on the all-gather stream, the compute stream waits and copies out into per-parameter storage; the
 * gathered buffer is held until the next unit's wait, so that copy-out i overlaps all-gather i+1.
 * Backward: the unit before is prefetched after copy-out; a unit's gradients are copied into the
 * padded reduce-scatter input on the compute stream, which first waits for the previous
 * reduce-scatter; the shard is all-reduced over the replicas on a stream of its own. Source:
 * torch/distributed/fsdp/_fully_shard; Zhao et al., arXiv:2304.11277, 3.2.2 (hybrid sharding).
 *
 * With CPU offload the fp32 shards are in pinned host memory: copy-in begins with their copy to the
 * GPU, on its stream; a reduced shard is cast to fp32 and copied to the host on the stream of its
 * reduction, behind which the host waits at the end of the backward pass, and at once where the
 * copy is added to an earlier micro-step's. Source: _fsdp_param.py (all_gather_inputs),
 * _fsdp_collectives.py (foreach_reduce), _fsdp_param_group.py (finalize_backward).
 *
 * A pipeline stage keeps a chunk's gradients whole, in the reduction's precision, and its
 * parameters gathered after a backward pass; behind the chunk's last backward pass its units are
 * reduced one after another in forward order. Source: torch/distributed/pipelining/stage.py,
 * backward_maybe_with_nosync.
 */
#pragma once

#include "strategy/common.h"

typedef enum
{
  RESHARD_AUTO, /* unless there are pipeline stages */
  RESHARD_ALWAYS,
  RESHARD_NEVER,
} Fsdp2Reshard;

extern const char *const fsdp2_reshard_choices[];

typedef struct
{
  char    *shard;
  gint     reshard_after_forward; /* Fsdp2Reshard */
  gboolean backward_prefetch;
  gboolean cpu_offload;
} Fsdp2Options;

/* The option table, with the default of `shard`. */
#define FSDP2_OPTIONS(shard_)                                                                    \
  {                                                                                              \
    .key = "shard",                                                                              \
    .type = OPTION_STRING,                                                                       \
    .offset = G_STRUCT_OFFSET (Fsdp2Options, shard),                                             \
    .fallback = shard_,                                                                          \
    .help = "ranks that share one copy of the parameters: all, node, or a number; the rest are " \
            "replicas",                                                                          \
    .source = "torch.distributed.fsdp.fully_shard, mesh",                                        \
  },                                                                                             \
      {                                                                                          \
        .key = "reshard_after_forward",                                                          \
        .type = OPTION_ENUM,                                                                     \
        .choices = fsdp2_reshard_choices,                                                        \
        .offset = G_STRUCT_OFFSET (Fsdp2Options, reshard_after_forward),                         \
        .fallback = "auto",                                                                      \
        .help = "free a unit's gathered parameters after its forward (false: SHARD_GRAD_OP); "   \
                "auto: unless there are pipeline stages",                                        \
        .source = "torch.distributed.fsdp.fully_shard; torchtitan, fsdp_reshard_after_forward",  \
      },                                                                                         \
      {                                                                                          \
        .key = "backward_prefetch",                                                              \
        .type = OPTION_BOOL,                                                                     \
        .offset = G_STRUCT_OFFSET (Fsdp2Options, backward_prefetch),                             \
        .fallback = "true",                                                                      \
        .help = "gather the unit before during a unit's backward",                               \
        .source = "torch.distributed.fsdp.fully_shard, implicit prefetching",                    \
      },                                                                                         \
  {                                                                                              \
    .key = "cpu_offload", .type = OPTION_BOOL,                                                   \
    .offset = G_STRUCT_OFFSET (Fsdp2Options, cpu_offload), .fallback = "false",                  \
    .help =                                                                                      \
        "shards, gradients and optimizer state in pinned host memory; the optimizer runs there", \
    .source = "torch.distributed.fsdp.CPUOffloadPolicy",                                         \
  }

gboolean     fsdp2_check (const PlanInput *in, gconstpointer opt, DiagList *diags);
gboolean     fsdp2_expect (const PlanInput *in, gconstpointer opt, PlanTotals *totals);
guint64      fsdp2_resident (const PlanInput *in, gconstpointer opt);
PlanGradient fsdp2_gradient (const PlanInput *in, gconstpointer opt);

/*
 * The head's parameters and a table that it shares stay gathered between forward and backward; all
 * do unless units are resharded.
 */
gboolean fsdp2_stays (const Workload *workload, const LayerDesc *layer);
gboolean fsdp2_reshards (const PlanInput *in, const Fsdp2Options *o);

/* Private state of the runtime: of a unit, and of a role. */
typedef struct
{
  guint64   padded;   /* elements of all members' shards */
  BufferRef gather;   /* all-gather output, until copied out */
  EventRef  gathered; /* the all-gather is done */
  BufferRef full;     /* per-parameter storage */
  BufferRef grads;    /* unsharded, of the backward pass at hand */
  BufferRef sum;      /* of a pipeline stage: unsharded, of all micro-batches so far */
  BufferRef shard;    /* sharded gradient */
  gboolean  available;
} Fsdp2Unit;

typedef struct
{
  StreamRef   copy_in, gather, reduce, all_reduce;
  CommRef     shard_comm[2], replica_comm[2]; /* of each kind of unit: see unit_groups */
  ShardGroups groups[2];
  BufferRef   shards; /* of the parameters: all units */
  Fsdp2Unit  *units;
  /* forward: the previous unit's gathered buffer, and when it has been copied out */
  BufferRef held;
  EventRef  held_copied;
  EventRef  offloaded; /* CPU offload: the last copy of a gradient to the host */
  /* backward: the previous unit's reduce-scatter input, and when it is done */
  BufferRef reducing;
  EventRef  reduced;
} Fsdp2State;

void fsdp2_init (StrategyRun *run);
void fsdp2_clear (StrategyRun *run);
void fsdp2_step_begin (StrategyRun *run);
void fsdp2_unit_forward_begin (StrategyRun *run, const UnitSlot *slot);
void fsdp2_unit_forward_end (StrategyRun *run, const UnitSlot *slot);
void fsdp2_backward_begin (StrategyRun *run);
void fsdp2_unit_backward_begin (StrategyRun *run, const UnitSlot *slot);
void fsdp2_unit_backward_end (StrategyRun *run, const UnitSlot *slot);
void fsdp2_micro_step_end (StrategyRun *run);
void fsdp2_step_end (StrategyRun *run);

#define FSDP2_HOOKS                                                                             \
  {                                                                                             \
    .state_size = sizeof (Fsdp2State), .granularity = UNIT_LAYER, .init = fsdp2_init,           \
    .clear = fsdp2_clear, .step_begin = fsdp2_step_begin,                                       \
    .unit_forward_begin = fsdp2_unit_forward_begin, .unit_forward_end = fsdp2_unit_forward_end, \
    .backward_begin = fsdp2_backward_begin, .unit_backward_begin = fsdp2_unit_backward_begin,   \
    .unit_backward_end = fsdp2_unit_backward_end, .micro_step_end = fsdp2_micro_step_end,       \
    .step_end = fsdp2_step_end,                                                                 \
  }

#define FSDP2_STATES                                                                           \
  "parameters: fp32, each tensor cut on its first dimension over the shard group, in HBM\n"    \
  "gathered parameters: compute precision, one unit and its prefetch, in HBM\n"                \
  "gradients: sharded, fp32, from the first reduce-scatter to the end of the step, in HBM\n"   \
  "under a pipeline: gradients whole from a chunk's first backward pass to its last, in HBM\n" \
  "optimizer: sharded like the parameters, in HBM\n"                                           \
  "with cpu_offload: sharded parameters, gradients and optimizer state in pinned host memory"
#define FSDP2_MISSING                                                                         \
  "float8 all-gather, explicit prefetch lists, no_sync\n"                                     \
  "with cpu_offload: what the host computes (clipping, the optimizer, sums of micro-steps), " \
  "pageable copies\n"                                                                         \
  "the all-reduce's buffers are given back with the unit, not at the end of the backward pass"
