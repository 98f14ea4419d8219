/*
 * What a strategy is: a const struct with typed options, hooks on the one walk that the driver
 * makes, and closed forms.
 *
 * The driver walks outer round > step > slot (a forward or backward pass of a micro-batch through a
 * chunk of layers) > unit > layer > kernel. It emits the model's kernels on SCHEDULE_COMPUTE, the
 * collectives of tensor, context and expert parallelism among them, the messages between pipeline
 * stages; it allocates and frees activations, and ends each step with the host waiting for the
 * device (the loss is read). Everything else is the strategy's: gathering, reducing, freeing,
 * copies, the optimizer, waits. Hooks see mesh groups and tensors, never links or GPUs.
 */
#pragma once

#include "base/suggest.h" /* for the layers above: how names are matched */
#include "schedule/builder.h"

#define STRATEGY_API_VERSION 3

/* Micro-batches that differ in the lengths of their sequences. */
typedef struct
{
  guint                         n_batches;
  const Workload *const *const *workloads; /* [batch][stage]: alike but for their tokens */
  const guint32 *table; /* [data rank][micro]: batch; context ranks share a data rank */
} PlanBatches;

typedef struct
{
  const Workload        *workload; /* of a rank; with pipeline stages: of the stage at hand */
  Mesh                   mesh;
  const Workload *const *stages; /* [mesh.stages] for schedule_build; NULL: one stage */
  const PlanBatches *batches; /* NULL: all are alike, those of `workload`; else that is the one of
                                 most tokens */
} PlanInput;

/* What is gathered or reduced as a whole. */
typedef enum
{
  UNIT_LAYER,  /* embedding, each block, head: PyTorch's wrapping */
  UNIT_MODULE, /* every module that owns parameters: DeepSpeed's ZeRO-3 */
} UnitGranularity;

typedef struct
{
  guint             layer;       /* index in the workload */
  guint             model_layer; /* in the whole model: 0 the embedding */
  const LayerDesc  *desc;
  gint              module;   /* UNIT_MODULE: module of the layer; -1 for UNIT_LAYER and for a tied
                                 head's second use of the embedding */
  guint64           elements; /* parameters that must be gathered for it */
  guint64           own_elements; /* of them owned (0 for a tied head's second use): gradients are
                                     reduced where owned */
  const TensorDesc *tensors;      /* the gathered tensors */
  guint             n_tensors;
  guint    shares; /* unit that owns the tensors (itself, or the embedding's for a tied head) */
  gboolean expert; /* expert-parallel: the same only on the ranks of mesh_of_experts; a unit of its
                      own beside its layer's */
} PlanUnit;

/*
 * The list of units in forward order for a granularity. Owned by the caller: g_array_unref. A
 * property of the workload alone.
 */
GArray *plan_units (const Workload *workload, UnitGranularity granularity);

/* What a schedule calls UNITS (of PlanUnit): schedule_units_new. */
GArray *plan_unit_names (const GArray *units);

/*
 * Whether the recomputation of UNIT's layer runs UNIT's modules, so that its forward hooks are
 * called again (module granularity): always when whole blocks are repeated; the attention core
 * alone runs no module.
 */
gboolean plan_unit_recomputes (const Workload *workload, const PlanUnit *unit);

typedef struct _StrategyRun StrategyRun;
typedef struct _Strategy    Strategy;

/* Data of a unit that others than the strategy use too. */
typedef enum
{
  UNIT_PARAMETERS, /* as its kernels read them */
  UNIT_GRADIENT,   /* as its backward kernels write it; not of a unit that owns nothing */
  UNIT_REDUCED,    /* as the optimizer reads it */
  UNIT_DATA_N,
} UnitData;

typedef struct _UnitPlaces UnitPlaces; /* the driver's */

/*
 * What a backward bracket computes. Zero-bubble pipelines split it: a bracket for the gradients of
 * inputs reads parameters and has no gradient to reduce yet; one for those of weights, later, reads
 * no parameters.
 */
typedef enum
{
  BACKWARD_BOTH,
  BACKWARD_INPUTS,
  BACKWARD_WEIGHTS,
} BackwardPart;

/* Where the walk stands. */
typedef struct
{
  guint           unit; /* index in forward order */
  const PlanUnit *plan;
  guint           n_units;
  guint           micro; /* micro-step of the step; first and last are those of the unit's chunk */
  gboolean        first_micro, last_micro;
  gboolean        recompute; /* a forward hook called while a checkpointed block is recomputed
                                (module granularity only) */
  BackwardPart    part;
  guint first_unit, end_unit; /* of the chunk that is walked: all units without pipeline */
} UnitSlot;

/*
 * All optional. An absent hook of an outer strategy falls through to the inner one; a present one
 * decides itself whether to call strategy_inner_*(). Forward begin/end bracket the kernels of a
 * unit's forward, backward likewise (with layer granularity the recomputation runs inside the
 * backward bracket).
 */
typedef struct
{
  gsize state_size; /* bytes of private state a role, zeroed; hooks find it in run->state */
  UnitGranularity granularity;      /* of a strategy without an inner one */
  void (*init) (StrategyRun *run);  /* persistent buffers; communicators; streams */
  void (*clear) (StrategyRun *run); /* frees what the state points to */
  void (*step_begin) (StrategyRun *run);
  void (*unit_forward_begin) (StrategyRun *run, const UnitSlot *slot);
  void (*unit_forward_end) (StrategyRun *run, const UnitSlot *slot);
  void (*backward_begin) (StrategyRun *run); /* between forward and backward of a micro-step */
  void (*unit_backward_begin) (StrategyRun *run, const UnitSlot *slot);
  void (*unit_backward_end) (StrategyRun *run, const UnitSlot *slot);
  void (*micro_step_end) (StrategyRun *run); /* gradients of a micro-batch (of one chunk) are
                                                there */
  void (*step_end) (StrategyRun *run);       /* the optimizer */
  void (*round_end) (StrategyRun *run); /* after the last step of this strategy's own period, the
                                           innermost first */
} StrategyHooks;

/* The view that a hook has of its run. */
struct _StrategyRun
{
  ScheduleBuilder *b;
  const Strategy  *strategy; /* whose hook runs */
  const PlanInput *in;       /* of this strategy: an inner one sees its outer's narrowed mesh */
  gconstpointer    options;
  gpointer         state;
  guint            role;
  const PlanUnit  *units; /* all units in forward order */
  guint            n_units;
  guint            step;          /* step of the period, 0-based */
  guint            micro;         /* micro-step of the step */
  gboolean         pipelined;     /* there are other stages */
  gboolean         last_backward; /* in micro_step_end: no backward pass of the step follows here */
  ScheduleSection  section;
  StrategyRun     *inner;  /* NULL for the innermost */
  UnitPlaces      *places; /* [n_units]: see strategy_data */
  gpointer         driver; /* private to the driver */
};

/*
 * Says where WHAT of UNIT (SCHEDULE_NONE: of every unit) lives from now on: in OWN, a buffer of the
 * unit alone, in its part of SHARED, which holds those of many, or in both; SCHEDULE_NONE where
 * there is none. The driver declares what its kernels do there: a unit has its parameters before
 * any of its kernels, its gradient before those that make gradients of weights, what is reduced
 * before the step ends. strategy_uses declares that the op emitted last does something there.
 */
void strategy_data (StrategyRun *run, guint unit, UnitData what, BufferRef own, BufferRef shared);
void strategy_uses (StrategyRun *run, guint unit, UnitData what, ScheduleAccess access);

/* The gradient of a parameter as a rank holds it at the end of a step. */
typedef struct
{
  guint bytes; /* an element */
  guint ranks; /* that share it */
} PlanGradient;

struct _Strategy
{
  guint             api;            /* STRATEGY_API_VERSION */
  const char       *name;           /* "fcdp": the word used in scenario files */
  const char       *title, *source; /* one line; "arXiv:2602.06499" */
  gsize             options_size;
  const OptionSpec *options; /* fills a zeroed block of options_size; { 0 } ends it; or NULL */
  gboolean (*check) (const PlanInput *in, gconstpointer opt, DiagList *diags);
  guint (*role) (const PlanInput *in, gconstpointer opt, guint rank); /* NULL: all ranks alike */
  StrategyHooks hooks;
  gboolean (*expect) (const PlanInput *in, gconstpointer opt,
                      PlanTotals *totals); /* the papers' closed forms, one steady period */
  guint (*period) (const PlanInput *in, gconstpointer opt); /* steps; NULL: 1 */
  void (*narrow) (const PlanInput *in, gconstpointer opt,
                  PlanInput *inner); /* outer strategies: what the inner one spans */
  gboolean    outer;                 /* needs an inner strategy */
  const char *states;  /* where each state lives, a line each, for `shardsim strategies NAME` */
  const char *missing; /* what is NOT modelled, likewise */
  guint64 (*resident) (const PlanInput *in,
                       gconstpointer    opt); /* parameter elements that one rank always holds */
  /* NULL: whole, compute precision */
  PlanGradient (*gradient) (const PlanInput *in, gconstpointer opt);
};

PlanGradient strategy_gradient (const Strategy *strategy, const PlanInput *in,
                                gconstpointer options);

/* A strategy with its options and, for an outer one, what it runs around. */
typedef struct _StrategyChoice StrategyChoice;
struct _StrategyChoice
{
  const Strategy       *strategy;
  gconstpointer         options; /* options_size bytes */
  const StrategyChoice *inner;
};

/*
 * Calls the inner strategy's hook, for outer hooks that extend it. round_end has none: the driver
 * calls every strategy's own.
 */
void strategy_inner_init (StrategyRun *run);
void strategy_inner_step_begin (StrategyRun *run);
void strategy_inner_unit_forward_begin (StrategyRun *run, const UnitSlot *slot);
void strategy_inner_unit_forward_end (StrategyRun *run, const UnitSlot *slot);
void strategy_inner_backward_begin (StrategyRun *run);
void strategy_inner_unit_backward_begin (StrategyRun *run, const UnitSlot *slot);
void strategy_inner_unit_backward_end (StrategyRun *run, const UnitSlot *slot);
void strategy_inner_micro_step_end (StrategyRun *run);
void strategy_inner_step_end (StrategyRun *run);

/*
 * Checks CHOICE and builds its schedule. NULL after diagnostics (options that do not fit the mesh
 * or the model). The result refers to the workload, which must outlive it.
 */
Schedule *schedule_build (const PlanInput *in, const StrategyChoice *choice, DiagList *diags);

/*
 * Closed forms of CHOICE with its inner strategies. FALSE when one of them states none. An outer
 * strategy's `expect` finds its inner's closed forms in TOTALS (traffic, copies and FLOPs of one
 * outer period, peaks unchanged) and adds its own.
 */
gboolean strategy_expect (const PlanInput *in, const StrategyChoice *choice, PlanTotals *totals);
