/*
 * What the files of the driver share.
 *
 *   driver.c    the stack of strategies and its hooks, steps and periods
 *   roles.c     which ranks are alike
 *   walk.c      slots: layers, units, kernels and the collectives that stand among them
 *   messages.c  what pipeline stages send each other, and gradients that several of them share
 *   data.c      what the ops that these emit read and write
 *   expect.c, mesh-expect.c  closed forms of nested strategies and of the axes of the mesh
 */
#pragma once

#include "driver/pipeline.h"
#include "driver/strategy.h"

typedef struct _Driver Driver;

/* One strategy of the stack on one stage. Index 0 is the outermost. */
typedef struct
{
  Driver         *driver;
  const Strategy *strategy;
  PlanInput       in;
  StrategyRun     run;
  guint           period; /* its own, in periods of its inner strategy */
  guint           steps;  /* the same in training steps */
} DriverLevel;

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
  guint           unit_offset; /* of the stage's units among all */
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
  guint data_rank; /* the first of those that work on the same sequences */
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

  /* of the role at hand */
  guint        stage;
  guint        data_rank; /* one of those that the role stands for */
  DriverStage *at;
  GArray      *actions;    /* PipelineAction; NULL for a single stage, which needs none */
  guint        ring;       /* micro-batches that can be in flight */
  BufferRef   *saved;      /* [ring][layer]: activations that a layer keeps for its backward */
  DriverMail  *mail[2];    /* [ring][chunk]: activations and gradients */
  BufferRef    leaving[2]; /* the activation and the gradient that wait to be sent */
  BufferRef held[2]; /* outputs of the last layer that the framework holds on to, by micro-batch */
  guint    *backward_done;         /* [chunk]: micro-batches of the step */
  GArray   *owner;                 /* guint: unit that each kernel of the list at hand goes with */
  EventRef  pending[MESH_N_AXES];  /* asynchronous collectives that nothing has joined */
  BufferRef moved[2][MESH_N_AXES]; /* [beside]: what they move, a part each */
  guint     n_moved[MESH_N_AXES];
  BufferRef result; /* what the host reads at the end of a step */
  BufferRef turn;   /* of two passes that run at the same time: the next one begins after both */
  EventRef  began;  /* what compute held before the pass at hand */
  gboolean  beside; /* it runs beside the one before it */
};

static inline StrategyRun *
driver_run (const Driver *self)
{
  return &self->at->levels[0].run;
}

/*
 * The outermost strategy that has the hook answers. Items are of PHASE and, for units, of the
 * slot's unit.
 */
#define HOOK(member) G_STRUCT_OFFSET (StrategyHooks, member)
void driver_hook (Driver *self, SchedulePhase phase, gsize hook);
void driver_unit_hook (Driver *self, SchedulePhase phase, gsize hook, const UnitSlot *slot);

/*
 * Which micro-step of the step the forward pass of the MICRO-th micro-batch of chunk CHUNK begins;
 * FALSE where an earlier chunk's does.
 */
gboolean driver_micro_step (const Driver *self, guint chunk, guint micro, guint *step);
/* What STAGE computes for the MICRO-th micro-batch of chunk CHUNK. */
const Workload *driver_workload (const Driver *self, guint stage, guint chunk, guint micro);

/*
 * roles.c: fills `variants` and sets *ROLES to the role of each rank of the world, or to NULL when
 * all are alike. Returns their number; 0 after a diagnostic.
 */
guint driver_assign_roles (Driver *self, guint n_ranks, guint32 **roles, DiagList *diags);

/* walk.c */
/*
 * The communicator of an axis, and its stream where it is asynchronous: of their own for a pass
 * that runs beside another.
 */
const char *walk_axis_name (const Driver *self, MeshAxis axis);
void        walk_slot (Driver *self, const PipelineSlot *slot);

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
void data_end_step (Driver *self);
/* FALSE after a diagnostic when the strategy did not say where something is that was used. */
gboolean data_check_declared (const Driver *self, DiagList *diags);

/* The step is over: outputs that were held are let go. */
void walk_release_outputs (Driver *self);

/* messages.c */
void messages_call (Driver *self, const PipelineAction *call);
/*
 * The input of SLOT (or the gradient of its output) is there and becomes the pass's own; what it
 * hands on waits to be sent.
 */
void messages_take (Driver *self, const PipelineSlot *slot);
void messages_leave (Driver *self, const PipelineSlot *slot);
/* At the end of a step, before the optimizer. */
void messages_shared_gradients (Driver *self);

/* ---- closed forms (expect.c, mesh-expect.c) -------------------------------------------------- */

/* Steps of STRATEGY's own period: 1 unless it says otherwise. */
guint strategy_own_period (const Strategy *strategy, const PlanInput *in, gconstpointer options);

/* What the inner strategy of STRATEGY spans: the same as itself unless it says otherwise. */
void strategy_narrow_input (const Strategy *strategy, const PlanInput *in, gconstpointer options,
                            PlanInput *inner);

/* The group of a collective among the kernels (mesh-expect.c). */
MeshGroup plan_axis_group (const PlanInput *in, MeshAxis axis);

/* Whether activations travel in parts, one a tensor rank. */
gboolean plan_scatters (const Workload *workload);

/*
 * Elements of the stage's parameters that are whole on every tensor rank, and whose gradients there
 * are partial sums.
 */
guint64 plan_partial_elements (const Workload *workload);

/*
 * Adds what the axes of the mesh move in a step of a rank of IN's workload; HELD: its gradients as
 * the strategy leaves them.
 */
void plan_expect_mesh (const PlanInput *in, PlanGradient held, PlanTotals *totals);
