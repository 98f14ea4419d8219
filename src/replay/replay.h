/*
 * Replay: binds a schedule to a cluster through the kernel and collective models and runs the
 * engine, folded where the scenario is symmetric, until a period repeats.
 */
#pragma once

#include "collective/collective.h"
#include "engine/engine.h"
#include "kernel/kernel.h"
#include "scenario/scenario.h"

typedef struct
{
  gboolean unfolded;    /* simulate every rank */
  guint    max_periods; /* steady periods to try before giving up on a repeat; 0 = 32; 1: none */
  guint    min_periods; /* steady periods to run at least; 0 = 2; 1: see run.c for its proof */
  gboolean keep_pools;  /* timelines for traces: memory, use of SMs, HBM, NVLink and cards */
  gboolean first_only;  /* one period and no proof: the first where it issues what steady ones do,
                           else the one after it */
} ReplayOptions;

typedef struct _Replay Replay;

/*
 * Runs SCENARIO. NULL after diagnostics (bad scenario) or with ERROR set (deadlock: a bug in a
 * strategy). A scenario that does not fit memory still runs: the pools say so. PROFILES must
 * outlive the replay.
 */
Replay *replay_run (const Scenario *scenario, ProfileSet *profiles, const ReplayOptions *options,
                    DiagList *diags, GError **error);

/*
 * The same without running: for what asks for the scenario, the cluster, the workload and the
 * schedule only. Nothing about ranks, ops, periods, traffic or the engine may be asked of it.
 */
Replay *replay_plan (const Scenario *scenario, ProfileSet *profiles, DiagList *diags);

void replay_free (Replay *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Replay, replay_free)

const Scenario *replay_scenario (const Replay *self);
const Cluster  *replay_cluster (const Replay *self);
const Workload *replay_workload (const Replay *self); /* of a rank of the first stage */
guint           replay_n_stages (const Replay *self);
guint           replay_n_data_ranks (const Replay *self); /* that work on sequences of their own */
/*
 * NULL where all micro-batches are alike; else the workloads above are those of the one with the
 * most tokens.
 */
const SequenceLengths *replay_lengths (const Replay *self);
const Schedule        *replay_schedule (const Replay *self);
const Engine          *replay_engine (const Replay *self);

/* The closed forms of the scenario's strategies for a period; FALSE when one of them has none. */
gboolean replay_expect (const Replay *self, PlanTotals *totals);

/* ---- ranks: only representatives are simulated ----------------------------------------------- */

typedef struct
{
  guint32 rank; /* world rank that stands for its class */
  guint32 size; /* ranks in the class */
  guint   role;
  HostId  host;
  guint   first_stream; /* engine stream of schedule stream s: first_stream + s */
  PoolId  hbm;
} ReplayRank;

guint             replay_n_ranks (const Replay *self);
const ReplayRank *replay_rank (const Replay *self, guint i);
/* Host memory pools: one a simulated node; its node index in the cluster. */
guint  replay_n_host_pools (const Replay *self);
PoolId replay_host_pool (const Replay *self, guint i, guint *node);

/* Cluster resource that an engine resource stands for, and how many alike there are. */
guint replay_cluster_resource (const Replay *self, ResourceId resource, guint *n_alike);

/* ---- ops: what an engine op was in the schedule ---------------------------------------------- */

typedef struct
{
  const ScheduleItem *item; /* of the representative that issued it first; an event that stands
                               behind waits is a kernel "event" of no length */
  guint               rank; /* index for replay_rank */
  ScheduleSection     section;
  guint               period; /* 0: init and first; 1 .. n steady */
  guint               step;   /* step of the period */
  guint index; /* in its section: of the item, or the first of the group it stands for */
} ReplayOp;

ReplayOp replay_op (const Replay *self, OpId op);

/*
 * Every simulated rank that takes part in op: indices for replay_rank, newly allocated. One for
 * kernels and copies; a message's sender first.
 */
GArray *replay_op_members (const Replay *self, OpId op);

/* Whether an op is a collective or a message that leaves a node. */
gboolean replay_op_crosses (const Replay *self, OpId op);

/* Human label of an op: "all_gather block 3", "mlp.up block 3". Newly allocated. */
char *replay_op_label (const Replay *self, OpId op);

/*
 * How the collective library ran an op; FALSE for what is no collective or message, or one of a
 * single rank.
 */
gboolean replay_op_choice (const Replay *self, OpId op, CollectiveAlgorithm *algorithm,
                           CollectiveProtocol *protocol, guint *channels);

/* Label of an allocation, from the tag in a PoolPeak: "logits, head, backward". Newly allocated. */
char *replay_tag_label (const Replay *self, guint64 tag);

/* ---- periods --------------------------------------------------------------------------------- */

/*
 * Boundary b is the end of period b - 1, i.e. the time when the representative with index 0 passed
 * its last ITEM_STEP: [0] is the end of init, [1] the end of the first period, [2 ..] of steady
 * ones.
 */
guint    replay_n_boundaries (const Replay *self);
SimTime  replay_boundary (const Replay *self, guint b);
gboolean replay_is_steady (
    const Replay *self); /* the last period repeated the one before, relative in-flight state too */
SimTime replay_period (const Replay *self); /* length of the last period */
double  replay_utilisation (const Replay *self,
                            ResourceId    resource); /* of a resource, in the last period */
/* times as long that kernels of simulated rank I take for the slowest GPU: skew.h */
double replay_skew (const Replay *self, guint i);
double replay_step_time (const Replay *self); /* s: period / steps in it */

/* ---- traffic, per steady period -------------------------------------------------------------- */

typedef struct
{
  guint32        comm; /* CommRef of the schedule */
  CollectiveKind kind; /* COLLECTIVE_SEND_RECV for messages */
  guint64        calls;
  double         bytes; /* sum of S, per group; of messages: by all members of the first group */
  double inter_node_per_gpu; /* payload that leaves nodes through cards, per GPU of the cluster */
  double intra_node_per_gpu; /* payload over NVLink and PCIe between GPUs, per GPU (sent) */
} ReplayTraffic;

/*
 * Per communicator and kind; newly allocated array of ReplayTraffic, for representative rank index
 * RANK's collectives.
 */
GArray *replay_traffic (const Replay *self);

/*
 * Nominal FLOPs of matrix products and attention that a rank executes in a step (mean over roles
 * weighted by class size). For tests: HFU counts as MFU does.
 */
double replay_executed_flops (const Replay *self);

/* The same of what recomputation executes, as MFU's convention counts it. */
double replay_recomputed_flops (const Replay *self);
