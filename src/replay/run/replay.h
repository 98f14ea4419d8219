/* Replay: a bound plan, run on the engine until a period repeats; and what the run says. */
#pragma once

#include "cost/kernel/host-cost.h"
#include "cost/kernel/kernel.h"
#include "replay/bind/bound.h"

typedef struct
{
  guint       max_periods; /* steady periods to try before giving up on a repeat; 0 = 32; 1: none */
  guint       min_periods; /* steady periods to run at least; 0 = 2; 1: see run.c for its proof */
  gboolean    last_only;   /* nobody looks at ops of other periods than the last: they are forgotten
                              as it runs, but with keep_pools */
  gboolean    keep_pools;  /* timelines for traces: memory, use of SMs, HBM, NVLink and cards */
  gboolean    first_only; /* one period and no proof: the first where it issues what steady ones do,
                           else the one after it */
  gboolean    marks_micros; /* where micro-batches begin: for replay_find_repeat */
  gboolean    apart; /* each op takes its own time, whatever runs beside it: engine_set_apart */
  EngineWork *work;  /* that the runs are part of, or NULL: one thread's at a time */
  Stop       *stop;  /* that ends them, or NULL */
} ReplayOptions;

typedef struct _Replay Replay;

/*
 * Runs BOUND, to which it refers; OPTIONS may be NULL. NULL with ERROR set: a deadlock, a bug in a
 * strategy. What does not fit memory still runs: the pools say so.
 */
Replay *replay_new (const ReplayBound *bound, const ReplayOptions *options, GError **error);

/*
 * Resolves, plans, binds (folded) and runs SCENARIO, as resolved_new takes it. NULL after
 * diagnostics, too.
 */
Replay *replay_run (const Scenario *scenario, ProfileSet *profiles, const ReplayOptions *options,
                    DiagList *diags, GError **error);

void replay_free (Replay *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Replay, replay_free)

const ReplayBound      *replay_bound (const Replay *self);
const ReplayPlan       *replay_plan (const Replay *self);
const ResolvedScenario *replay_resolved (const Replay *self);
const Cluster          *replay_cluster (const Replay *self);
const Workload         *replay_workload (const Replay *self); /* of a rank of the first stage */
const Schedule         *replay_schedule (const Replay *self);
const Engine           *replay_engine (const Replay *self);

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
/* Pools of host memory and of drives: one a simulated node; its node index in the cluster. */
guint  replay_n_host_pools (const Replay *self);
PoolId replay_host_pool (const Replay *self, guint i, guint *node);
PoolId replay_drive_pool (const Replay *self, guint i, guint *node);

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
void    replay_op_members_into (const Replay *self, OpId op, GArray *members); /* in its place */

/* Whether RANK is one of them. */
gboolean replay_op_has_member (const Replay *self, const ReplayOp *op, guint rank);

/* Whether an op is a collective or a message that leaves a node. */
gboolean replay_op_crosses (const Replay *self, OpId op);

/* The label of an op without its unit: "all_gather", "copy_out". */
const char *replay_op_name (const Replay *self, OpId op);

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
 * ones. A run of one host may end with a period that those behind it repeat, the first one even.
 */
guint    replay_n_boundaries (const Replay *self);
SimTime  replay_boundary (const Replay *self, guint b);                  /* of rank 0 */
SimTime  replay_rank_boundary (const Replay *self, guint rank, guint b); /* of a simulated one */
gboolean replay_is_steady (
    const Replay *self); /* the last period repeated the one before, relative in-flight state too */
/*
 * Where the plan was asked for fewer steps of a round: whether the last two steps before the one
 * that closes the round were alike, in time and in what was in flight at their ends, so that any
 * number of such steps may follow.
 */
gboolean replay_steps_are_even (const Replay *self);
/* Nothing crosses the end of a period: what it says of few micro-batches may be extrapolated. */
gboolean replay_ends_quiet (const Replay *self);
SimTime  replay_period (const Replay *self);    /* length of the last period */
double   replay_step_time (const Replay *self); /* s: period / steps in it */

/* ---- stretches: what is read off a run ------------------------------------------------------- */

/* What lies between two times, and what is done in it of the last period. */
typedef struct
{
  SimTime       begin, end;
  const double *used_begin, *used_end; /* [engine resources]; of the replay */
  MicroSpan     micros;
} ReplayStretch;

ReplayStretch replay_last_period (const Replay *self);

/*
 * The stretch of the last period that ends where micro-batch END begins, if any number of further
 * ones would repeat it, PERIOD of them at a time, or twice or three times as many: the step is
 * longer by it for each, and otherwise as it is. FALSE: it does not repeat, or begins before the
 * first FILLED, which a pipeline takes to be full, have begun. SELF was run with `marks_micros`.
 */
gboolean replay_find_repeat (const Replay *self, guint filled, guint period, guint end,
                             ReplayStretch *stretch);

/* Of a resource: what was carried of what could be. */
double replay_utilisation (const Replay *self, const ReplayStretch *stretch, ResourceId resource);
