/*
 * What the files of the driver share.
 *
 *   caveats.c   what training is no longer the same by
 *   driver.c    the stack of strategies, steps and periods
 *   exchange.c  when the fragments of a round are sent and used
 *   hooks.c     the hooks of the stack, called in turn
 *   current.c   what the current role computes, and the names of its communicators
 *   policy.c    communicators and shares of units that a policy asks for
 *   policy-check.c  what cannot be, and what an issue does not carry
 *   roles.c     which ranks are alike
 *   stack-check.c  which strategies go together
 *   checkpoints.c  activations in host memory
 *   walk.c      slots: layers and units
 *   walk-kernels.c  their kernels, and the collectives that stand among them
 *   privacy.c   backward passes that are two, and who cannot have them
 *   perturbed.c steps without a backward pass: what they are, and what has no meaning there
 *   messages.c  what pipeline stages send each other, and gradients that several of them share
 *   data.c      what the ops that these emit read and write
 *   matrix-plan.c, matrix-parts.c, matrix-balance.c  who updates what an optimizer must have as
 *               a whole
 *   optimizer-check.c  what that costs, and what no optimizer does
 */
#pragma once

#include "driver/policy/input.h"
#include "driver/walk/pipeline-slots.h"

typedef struct _Driver Driver;

/* One strategy of the stack on one stage. Index 0 is the outermost. */
typedef struct
{
  Driver         *driver;
  const Strategy *strategy;
  PlanInput       in;
  StrategyRun     run;
  Exchange        exchange;
  guint           steps; /* training steps of its period, inner ones' in it */
  guint           every; /* training steps between two ends of its round */
} DriverLevel;

/* Hooks with their private state of the current role. */
typedef struct
{
  const StrategyHooks *hooks;
  StrategyRun         *run; /* of their level */
  gpointer             state;
} DriverActor;

/* Where the data of a unit lives. */
struct _UnitPlaces
{
  BufferRef own[UNIT_DATA_N], shared[UNIT_DATA_N];
};

typedef struct
{
  const Workload *workload;
  DriverLevel    *levels;
  UnitPlaces     *places;      /* [n_units] */
  GArray         *uses;        /* PlanUse */
  Policy         *policy;      /* of the innermost strategy; NULL: it has none */
  UnitShare      *shares;      /* [n_units] */
  MatrixPlan     *matrices[2]; /* of the policy's kinds */
  CommRef         comms[2][ROUTE_N][POLICY_MAX_HOPS]; /* of the policy's kinds */
  guint           unit_offset;                        /* of the stage's units among all */
  guint           n_units;
  guint          *first_unit; /* of each layer; [n_layers] = n_units */
} DriverStage;

/* What a chunk has taken in, and when it was there. */
typedef struct
{
  BufferRef buffer;
  EventRef  there;
} DriverMail;

/* What tells the roles of a stage apart. */
typedef struct
{
  guint strategy_role;
  guint row; /* of PlanBatches: the first of those that are the same */
} DriverVariant;

struct _Driver
{
  const PlanInput *in;
  Pipeline         pipeline;
  DriverStage     *stages;
  guint            n_levels;
  GArray          *units; /* PlanUnit of all stages */
  ScheduleBuilder *b;
  char            *undeclared; /* what a strategy did not say where it is; NULL: nothing (data.c) */
  GArray          *variants;   /* DriverVariant: the roles of each stage */

  /* of the current role */
  guint        stage;
  DriverActor *actors; /* [n_actors]: from the outside inwards */
  guint        n_actors;
  guint        row; /* of PlanBatches: one of those that the role stands for */
  DriverStage *at;
  GArray      *actions;    /* PipelineAction; NULL for a single stage, which needs none */
  guint        ring;       /* micro-batches that can be in flight */
  BufferRef   *saved;      /* [ring][layer]: activations that a layer keeps for its backward */
  DriverMail  *mail[2];    /* [ring][chunk]: activations and gradients */
  DriverMail  *handed;     /* [ring][chunk]: activations that were sent on and stay */
  BufferRef    leaving[2]; /* the activation and the gradient that wait to be sent */
  BufferRef held[2]; /* outputs of the last layer that the framework holds on to, by micro-batch */
  BufferRef passed[POLICY_MAX_PASSES]; /* what each perturbed pass handed on to the next layer */
  guint    *backward_done;             /* [chunk]: micro-batches of the step */
  GHashTable *accumulating;         /* products of gradients that add to what is kept, by those that
                                      write: KernelDesc, the schedule's */
  GArray     *owner;                /* guint: unit that each kernel of the current list goes with */
  EventRef    pending[MESH_N_AXES]; /* asynchronous collectives that nothing has joined */
  BufferRef   moved[2][MESH_N_AXES]; /* [concurrent]: what they move, a part each */
  guint       n_moved[MESH_N_AXES];
  BufferRef   result; /* what the host reads at the end of a step */
  BufferRef   turn;   /* of two passes that run at the same time: the next one begins after both */
  EventRef    began;  /* what compute held before the current pass */
  gboolean    concurrent; /* with the one before it */
};

static inline StrategyRun *
driver_run (const Driver *self)
{
  return &self->at->levels[0].run;
}

/*
 * Calls the hook of every strategy that has it: from the outside inwards where something begins,
 * from the inside outwards where it ends. Items are of PHASE and, for units, of the slot's unit.
 */
typedef enum
{
  HOOK_BEGINS,
  HOOK_ENDS,
} HookSide;

#define HOOK(member) G_STRUCT_OFFSET (StrategyHooks, member)
void driver_hook (Driver *self, SchedulePhase phase, HookSide side, gsize hook);
void driver_unit_hook (Driver *self, SchedulePhase phase, HookSide side, gsize hook,
                       const UnitSlot *slot);
/*
 * STEP is over; every strategy whose period ends with it closes its round. The innermost first.
 */
void driver_step_over (Driver *self, guint step);

/*
 * Which micro-step of the step the forward pass of the MICRO-th micro-batch of chunk CHUNK begins;
 * FALSE where an earlier chunk's does.
 */
gboolean driver_micro_step (const Driver *self, guint chunk, guint micro, guint *step);
/* What STAGE computes for the MICRO-th micro-batch of chunk CHUNK. */
const Workload *driver_workload (const Driver *self, guint stage, guint chunk, guint micro);
/*
 * The communicator of an axis, and its stream where it is asynchronous: of their own for a pass
 * that is concurrent with another.
 */
const char *driver_axis_name (const Driver *self, MeshAxis axis);

/*
 * roles.c: fills `variants` and sets *ROLES to the role of each rank of the world, or to NULL when
 * all are alike. Returns their number; 0 after a diagnostic.
 */
guint driver_assign_roles (Driver *self, guint n_ranks, guint32 **roles, DiagList *diags);

/* policy-check.c: FALSE after a diagnostic. */
gboolean policy_check (const Strategy *strategy, const Policy *policy, DiagList *diags);

/* The same of a strategy whose parameters an outer one averages over workers as EXCHANGE says. */
gboolean policy_check_average (const Strategy *strategy, const Policy *policy,
                               const Exchange *exchange, DiagList *diags);

/* The same of a strategy that trains WORKLOAD, of which frozen weights may be in 4 bits. */
gboolean policy_check_packed (const Strategy *strategy, const Policy *policy,
                              const Workload *workload, DiagList *diags);

/* The same where weights are to be gathered in fp8. */
gboolean policy_check_narrow (const Strategy *strategy, const Policy *policy,
                              const Workload *workload, DiagList *diags);

/* The same where layers predict further tokens. */
gboolean policy_check_tables (const Strategy *strategy, const Policy *policy,
                              const Workload *workload, DiagList *diags);

/* privacy.c: the same of training whose gradients are clipped sample by sample. */
gboolean policy_check_privacy (const Strategy *strategy, const Policy *policy,
                               const TrainingOptions *training, DiagList *diags);

/* optimizer-check.c: the same of the optimizer. */
gboolean policy_check_optimizer (const Strategy *strategy, const Policy *policy,
                                 const TrainingOptions *training, DiagList *diags);

/*
 * Warns of what the optimizer has to send, of options that have no effect, and of matrices that it
 * cannot precondition: once for all stages, whose units are planned.
 */
void driver_warn_of_optimizer (const Driver *self, DiagList *diags);

/* idle-options.c: warns of blocks that no boundary of shards heeds. */
void driver_warn_of_blocks (const Driver *self, DiagList *diags);

/* idle-options.c: warns of options of the strategies that have no effect. */
void driver_warn_of_idle (const Driver *self, DiagList *diags);

/*
 * perturbed.c: whether the steps of the current role have perturbed forward passes alone; FALSE
 * after a diagnostic of what has no meaning there, or what the issue does not carry.
 */
gboolean driver_is_perturbed (const Driver *self);
gboolean policy_check_perturbed (const Strategy *strategy, const Policy *policy,
                                 const PlanInput *in, DiagList *diags);

/*
 * sets.c: what ranks that share sequences in sets send each other before a step, to find out who
 * works on which; and that all data and context ranks wait for each other where micro-batch MICRO
 * is the last of a group of sequences.
 */
void sets_walk_loader (Driver *self);
void sets_walk_barrier (Driver *self, guint micro);

/*
 * partition-check.c: whether ranks with unlike numbers of micro-steps (PlanBatches.counts) can run
 * POLICY; FALSE after a diagnostic.
 */
gboolean policy_check_partition (const Strategy *strategy, const Policy *policy,
                                 const PlanInput *in, DiagList *diags);

/* stages.c: plans the units of all stages, whose levels are resolved. */
void driver_plan_stages (Driver *self);

/* policy.c: what the units of STAGE have under its policy; the role's communicators. */
void policy_plan_units (Driver *self, DriverStage *stage);
void policy_open (Driver *self);

/* checkpoints.c: what LAYER saved, at *SAVED, leaves the GPU, and returns to it. */
void checkpoint_leaves (Driver *self, const LayerDesc *layer, BufferRef *saved);
void checkpoint_returns (Driver *self, const LayerDesc *layer, BufferRef *saved);

/*
 * What a backward pass computes. Zero-bubble pipelines and flat clipping split it: a pass for the
 * gradients of inputs (and norms) reads parameters and has no gradient of a weight yet; one for
 * those, later, reads no parameters. Behind ghost clipping's first pass all is made again but the
 * norms.
 */
typedef enum
{
  BACKWARD_BOTH,
  BACKWARD_INPUTS,
  BACKWARD_WEIGHTS,
  BACKWARD_AGAIN,
} BackwardPart;

/* walk.c */
void walk_slot (Driver *self, const PipelineSlot *slot);

/* data.c */
/* Kernels that follow each other on the compute stream: the units and the buffers that they use. */
typedef struct
{
  guint          first, end; /* units */
  gboolean       parameters; /* they read the parameters of the units */
  gboolean       gradient;   /* they write the gradients of the units */
  BufferRef      saved, working;
  ScheduleAccess saves; /* what they do to `saved`; they write `working` */
} DataBracket;

void data_open (Driver *self);
/* OP is the first or the last kernel of BRACKET. */
void data_kernel (Driver *self, OpRef op, const DataBracket *bracket);
/* BRACKET has no kernel: what it should make is made by others of its stream. */
void data_no_kernel (Driver *self, const DataBracket *bracket);
/* An asynchronous collective over AXIS is about to be issued: the part of `moved` that it moves. */
guint data_move (Driver *self, MeshAxis axis);
/* The compute stream has waited for all of them. */
void data_join (Driver *self, MeshAxis axis);
/* The op emitted last adds to the reduced gradients of the units [FIRST, END). */
void data_reduced (Driver *self, guint first, guint end);
/* The host waits for the loss and reads it. */
void data_read_result (Driver *self);
/* FALSE after a diagnostic when the strategy did not say where something is that was used. */
gboolean data_check_declared (const Driver *self, DiagList *diags);

/* walk-kernels.c */
/*
 * Sets the owner of each of N kernels of LAYER: the unit whose module it reads; kernels that read
 * none go with the one before them, at the start with unit START. A tied head's product names no
 * module of its layer, but reads the table that its last unit gathers.
 */
void walk_assign_kernels (Driver *self, guint layer, const KernelDesc *kernels, guint n,
                          guint start);
/* Emits those of one unit, or (SCHEDULE_NONE) all of them. */
void walk_kernels (Driver *self, const KernelDesc *kernels, guint n, guint unit, BackwardPart part,
                   const DataBracket *bracket);
/* The compute stream waits for asynchronous collectives. */
void walk_join_collectives (Driver *self);

/* The step is over: outputs that were held are let go. */
void walk_release_outputs (Driver *self);

/* messages.c */
void messages_call (Driver *self, const PipelineAction *call);
/*
 * The input of SLOT (or the gradient of its output) is there and becomes the pass's own; what it
 * hands on waits to be sent.
 */
void messages_receive (Driver *self, const PipelineSlot *slot);
void messages_leave (Driver *self, const PipelineSlot *slot);
/* SLOT is over: what its chunk handed on for the micro-batch goes, if it has stayed until now. */
void messages_let_go (Driver *self, const PipelineSlot *slot);
/* At the end of a step, before the optimizer. */
void messages_shared_gradients (Driver *self);

/* ---- which strategies go together (stack-check.c, roles.c) ----------------------------------- */

/* Whether only one of two strategies tells ranks apart. */
gboolean driver_check_roles (const Strategy *inner, const Strategy *outer, DiagList *diags);
/* Whether N LEVELS, from the outermost inwards, bring slices together where workers train them. */
gboolean driver_check_slices (const DriverLevel *levels, guint n, DiagList *diags);
