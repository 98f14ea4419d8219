/*
 * What the files of the replay share.
 *
 *   plan.c        resolved scenario -> schedule
 *   bound.c       plan -> Binding + programs
 *   bind-graph.c  the graph that folding refines
 *   bind-graph-ops.c  its colours, edges and ops
 *   bind-messages.c  messages between stages in it
 *   prune-links.c    without the links that cannot move a time
 *   bind.c        cluster + schedule -> Binding: the ranks, resources and groups that are
 *                 simulated, and what each op class demands
 *   classes.c     the partitions of the graph
 *   lockstep.c    those of ranks that links alone tell apart
 *   kernels-alone.c  whether anything runs beside kernels
 *   binding.c     what it holds
 *   binding-store.c  bindings that other plans left
 *   program.c     schedule items -> issue times and kernel costs of one kind of rank
 *   fuse.c        runs of kernels in it as few ops
 *   run.c         Binding + programs -> one engine run of a number of periods
 *   run-ops.c     the ops that it puts on the engine
 *   run-steady.c  whether its periods and steps repeat
 *   replay.c      the runs until a period repeats
 *   traffic.c     bytes and FLOPs of a period
 *   ops.c         what an engine op was in the schedule
 */
#pragma once

#include "replay/memory/heap.h"
#include "replay/run/replay.h"

#define REPLAY_NONE G_MAXUINT32

/* ---- binding --------------------------------------------------------------------------------- */

/* Demand of all ops of a class on a simulated resource, per byte. */
typedef struct
{
  ResourceId resource;
  double     service;
} BoundLoad;

/*
 * What one op of a class does to links, whatever its size: a collective of a group by one
 * algorithm, or a rank's move, or what it asks of its
 * host.
 */
typedef struct
{
  guint   first_load, n_loads; /* in Binding.loads */
  guint32 n_alike;             /* ops in the class */
  guint32 twin;    /* in Binding.plans: of a class that runs in lockstep with it, or REPLAY_NONE */
  double  latency; /* of moves; collectives have theirs by size */
  double  inter,
      intra; /* payload per byte of S that leaves nodes, and that GPUs of a node exchange: one op */
} BoundPlan;

/* A collective of a group at one size. */
typedef struct
{
  guint64             bytes;
  guint32             plan; /* in Binding.plans */
  guint32             channels;
  double              weight, latency, rate_cap, service_scale; /* as in CollectiveCost */
  double              payload; /* bytes that each rank's channels carry, per byte of S */
  CollectiveAlgorithm algorithm;
  CollectiveProtocol  protocol;
  gboolean            unaligned; /* as in CollectiveCost */
} BoundCost;

/* The costs of a group's collective, by rising size. */
typedef struct
{
  guint first, n; /* in Binding.costs; n = 0: the group does not use it */
} BoundCosts;

/* Messages from one simulated rank to another on a communicator. */
typedef struct
{
  CommRef    comm;
  guint32    from, to; /* in Binding.ranks; of a class that sends to itself both are the same */
  BoundCosts costs;
} BoundPair;

/* What a simulated rank sends to, or gets from, a member of a communicator's group. */
typedef struct
{
  CommRef comm;
  guint   peer; /* index in the group */
  guint32 way;  /* ScheduleMessage */
  guint32 pair; /* in Binding.pairs */
} BoundEnd;

/* Groups of a communicator that are alike. */
typedef struct
{
  CommRef    comm;
  guint      first_member, n_members; /* in Binding.members: simulated ranks that take part */
  gboolean   meets; /* each of the groups has a rank of every kind that a member stands for */
  BoundCosts collectives[COLLECTIVE_N_KINDS];
} BoundGroup;

/* What a host op asks for: a plan each, with loads for one core-second and for one byte. */
typedef enum
{
  HOST_SHARE_CORES,
  HOST_SHARE_DRAM,
  HOST_SHARES,
} HostShare;

typedef struct
{
  guint32    rank, size;
  guint      role;
  guint      node;      /* in Binding.nodes */
  guint      n_on_node; /* ranks of the class that share a node */
  ResourceId sm, hbm;
  guint32    moves[MOVE_N];     /* in Binding.plans, or REPLAY_NONE */
  guint32    host[HOST_SHARES]; /* likewise: of host ops */
  guint      first_end, n_ends; /* in Binding.ends */
} BoundRank;

/* A member of a class of nodes or resources. */
typedef struct
{
  guint32 id, n_alike;
} BoundThing;

typedef struct
{
  GArray  *ranks;     /* BoundRank */
  GArray  *nodes;     /* BoundThing */
  GArray  *resources; /* BoundThing, by engine resource */
  GArray  *groups;    /* BoundGroup */
  GArray  *members;   /* guint32 */
  GArray  *pairs;     /* BoundPair */
  GArray  *ends;      /* BoundEnd */
  GArray  *plans;     /* BoundPlan */
  GArray  *costs;     /* BoundCost */
  GArray  *loads;     /* BoundLoad */
  guint32 *group_of;  /* [comm * ranks + rank]: in `groups`, or REPLAY_NONE */
  Lockstep lockstep;  /* which its ranks run in: lockstep.c */
} Binding;

/* NULL: as of replay_bound_new_with. */
Binding *binding_new (const Cluster *cluster, const Schedule *schedule, const BoundOptions *how,
                      const CollectiveOptions *options);
Binding *binding_empty (void);
Binding *binding_ref (Binding *self); /* read-only, whoever else has it */
void     binding_unref (Binding *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Binding, binding_unref)

#define binding_rank(self, i)  (&g_array_index ((self)->ranks, BoundRank, i))
#define binding_group(self, i) (&g_array_index ((self)->groups, BoundGroup, i))
#define binding_plan(self, i)  (&g_array_index ((self)->plans, BoundPlan, i))

/* What BYTES of KIND cost GROUP; a size that the schedule issues. */
const BoundCost *binding_cost (const Binding *self, const BoundGroup *group, CollectiveKind kind,
                               guint64 bytes);

/* Index in Binding.ends of the end of ITEM, a message of RANK. */
guint binding_end (const Binding *self, guint rank, const ScheduleItem *item);

/* What BYTES cost PAIR. */
const BoundCost *binding_pair_cost (const Binding *self, const BoundPair *pair, guint64 bytes);

static inline const BoundPair *
binding_pair_of (const Binding *self, guint end)
{
  return &g_array_index (self->pairs, BoundPair, g_array_index (self->ends, BoundEnd, end).pair);
}

static inline const BoundGroup *
binding_group_of (const Binding *self, CommRef comm, guint rank)
{
  return binding_group (self, self->group_of[comm * self->ranks->len + rank]);
}

/* ---- programs -------------------------------------------------------------------------------- */

typedef struct
{
  SimTime early;  /* host time until `group` is submitted */
  SimTime issue;  /* then, until the item acts */
  guint32 kernel; /* in Program.kernels; REPLAY_NONE for those of a group. Of a host op: in
                     Program.hosts */
  guint32 group;  /* in Program.groups, or REPLAY_NONE */
  guint32 step;   /* of the period */
} ProgramItem;

typedef struct
{
  SimTime latency;
  double  sm_seconds, hbm_bytes, wave_units, wave_seconds;
  double  share; /* 1 / stand-alone duration without latency; 0 when it is all latency */
  guint   first_part, n_parts; /* in Program.parts: waves of several kernels */
  double  pieces; /* kernels that it is on the GPU; unequal ones: as many as are of a running one's
                     mean length; at least 1 */
} BoundKernel;

/* One op for several kernels, and what it is in the schedule's terms. */
typedef struct
{
  ScheduleItem item;
  guint32      kernel;
} FusedOp;

/* Ops that are submitted together, one after another on a stream. */
typedef struct
{
  guint     first, n; /* in Program.fused */
  guint     n_kernels;
  StreamRef stream;
} FusedGroup;

/* How ranks of one role run on one kind of GPU. */
typedef struct
{
  guint              role;
  const GpuProfile  *gpu;
  const NodeProfile *node;
  double             speed;
  GArray            *items[SECTION_N]; /* ProgramItem */
  GArray            *kernels;          /* BoundKernel */
  GArray            *hosts;            /* HostCost */
  GArray            *parts;            /* WavePart */
  GArray            *fused;            /* FusedOp */
  GArray            *groups;           /* FusedGroup */
  GPtrArray         *descs;            /* KernelDesc, of fused ops */
  guint              max_call;         /* messages of the largest group call */
} Program;

/*
 * For the role, the kind of GPU and the speed of LIKE, whose profiles are from FILES. FRAMEWORK may
 * be NULL: host costs are then the node's. Where POLL is cut it is not whole.
 */
Program *program_new (const Schedule *schedule, const TrainingOptions *training,
                      const FrameworkProfile *framework, Granularity granularity,
                      const Program *like, InputFiles *files, StopPoll *poll);
void     program_free (Program *self);

/* ---- runs ------------------------------------------------------------------------------------ */

/* What pools held; unsettled: an op still used some of what its host had released. */
typedef struct
{
  GArray  *numbers; /* guint64: of engine_pool_holds; NULL: nobody asked */
  gboolean unsettled;
} MemoryState;

/*
 * The state of a rank when it passed the end of a period. `last` [streams and lanes, carried
 * events]: what each stream held, and what is carried.
 */
typedef struct
{
  SimTime     time;
  OpId       *last;
  double     *used;        /* [engine resources] by then; of rank 0 only */
  MemoryState own, shared; /* the GPU's, the node's; where they may be asked for */
  gboolean    apart;       /* some that the rank stands for may have passed it sooner */
} Boundary;

/* The state of a rank when its host began the forward pass of a micro-batch. */
typedef struct
{
  SimTime time;
  guint64 held, reserved; /* bytes of its GPU: in use by the host's order, and in the allocator */
  guint   note;           /* of rank 0: of what is used when all before it has ended */
} MicroMark;

typedef struct _RankHost RankHost;

/* One engine run of init, the first and `n_periods` steady periods. */
typedef struct
{
  Engine            *engine;
  const ReplayBound *bound;
  guint              n_periods, most; /* steady ones; a run that may decide goes on up to `most` */
  gboolean           marks_micros;    /* as in ReplayOptions */
  gboolean           whole;           /* all of them are asked for, not what they say alone */
  gboolean           last_only;       /* ops of periods that are over are forgotten */
  gboolean           cut;             /* the last period repeats the one before, and was not run */
  gboolean           spoilt; /* it does not, which was seen too late: to be run again, as a whole */
  SimTime            noted_from;
  gboolean          *waited;      /* [streams]: as in RankHost, then */
  RankHost          *hosts;       /* [ranks] */
  GArray           **group_ops;   /* [groups]: OpId, in the order of issue */
  GArray           **pair_ops;    /* [pairs]: likewise */
  OrderId           *orders;      /* [groups] */
  PoolId            *host_pools;  /* [nodes] */
  PoolId            *drive_pools; /* [nodes] */
  ReplayRank        *ranks;       /* [ranks] */
  GArray            *demands;     /* Demand: scratch */
} Run;

Run *run_new (const ReplayBound *bound, guint n_periods, guint most, const ReplayOptions *options,
              gboolean whole);
void run_free (Run *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Run, run_free)

guint           run_n_boundaries (const Run *self);
const Boundary *run_boundary (const Run *self, guint rank, guint b);

/*
 * Whether the last two periods were alike: their lengths, and for every rank the times and what was
 * in flight where they began.
 */
gboolean run_is_steady (const Run *self);

/*
 * Of one steady period that repeats the first: does to the memory what the next one would. FALSE
 * where that may take another time, or cannot be said.
 */
gboolean run_repeat_memory (Run *self);

/* Whether that may be asked of a run of BOUND: blocks of carried buffers change their numbers. */
gboolean run_may_stand (const ReplayBound *bound);

/* As replay_steps_are_even says. */
gboolean run_steps_are_even (const Run *self);

/* Whether nothing was in flight at the end of any period. */
gboolean run_ends_quiet (const Run *self);

/* Called where a host ends PERIOD: may shorten or lengthen the run. */
void run_decide_length (Run *self, guint period);

/* What the allocator is asked for when BUFFER, number REF, is allocated. */
static inline HeapRequest
buffer_request (const ScheduleBuffer *buffer, BufferRef ref)
{
  return (HeapRequest){ .buffer = ref,
                        .stream = buffer->stream,
                        .bytes = buffer->bytes,
                        .program = buffer->program,
                        .frame = buffer->frame,
                        .n_frame = buffer->n_frame };
}

/* What the allocator is asked for each buffer of ROLE. Newly allocated. */
HeapRequest *buffer_requests_new (const Schedule *schedule, guint role);

/* The blocks of a buffer that is carried are found under the number that it has from then on. */
static inline void
buffer_pass (HeapRequest *requests, const ScheduleItem *item)
{
  HeapRequest passed = requests[item->ref];

  requests[item->ref] = requests[item->event];
  requests[item->event] = passed;
}

/* ---- tags of ops: period (0 init, 1 first, 2.. steady), rank, item --------------------------- */

#define TAG_ITEM_BITS   26
#define TAG_RANK_BITS   20
#define TAG_PERIOD_BITS 14
#define TAG_MARKER      ((guint64) 1 << 63) /* of no length, stands for what its stream holds */
#define TAG_FUSED_SHIFT 60 /* 1 + its place among the ops of a group; 0: no op of a group */

static inline guint64
tag_new (guint period, guint rank, guint item)
{
  return ((((guint64) period << TAG_RANK_BITS) | rank) << TAG_ITEM_BITS) | item;
}

static inline guint
tag_item (guint64 tag)
{
  return tag & ((1u << TAG_ITEM_BITS) - 1);
}

static inline guint
tag_rank (guint64 tag)
{
  return (tag >> TAG_ITEM_BITS) & ((1u << TAG_RANK_BITS) - 1);
}

static inline guint
tag_period (guint64 tag)
{
  return (tag >> (TAG_RANK_BITS + TAG_ITEM_BITS)) & ((1u << TAG_PERIOD_BITS) - 1);
}

/* FALSE for what is no op of a group. */
static inline gboolean
tag_fused (guint64 tag, guint *place)
{
  *place = (guint) (tag >> TAG_FUSED_SHIFT & 7) - 1;
  return (tag >> TAG_FUSED_SHIFT & 7) != 0;
}

static inline ScheduleSection
period_section (guint period)
{
  return (ScheduleSection) MIN (period, SECTION_STEADY);
}

/* ---- plan, bound, replay --------------------------------------------------------------------- */

struct _ReplayPlan
{
  const ResolvedScenario *resolved; /* a reference */
  PlanInput               input;    /* its own, with the steps of a round that are asked for */
  Schedule               *schedule;
};

struct _ReplayBound
{
  const ReplayPlan *plan;     /* a reference */
  const Cluster    *cluster;  /* of its scenario */
  const Schedule   *schedule; /* of the plan */
  Binding          *binding;
  GPtrArray        *programs;   /* Program */
  const Program   **program_of; /* [ranks], owned by `programs` */
};

struct _Replay
{
  const ReplayBound *bound; /* a reference */
  Run               *run;
  gboolean           steady;
  KernelDesc         marker;  /* events that stand behind waits run as kernels of no length */
  ScheduleItem      *markers; /* [streams]: what replay_op says of them */
};

static inline ScheduleItems
bound_items (const ReplayBound *self, guint rank, ScheduleSection section)
{
  return schedule_items (self->schedule, binding_rank (self->binding, rank)->role, section);
}
