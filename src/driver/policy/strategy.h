/*
 * What a strategy is: a const struct with typed options, hooks on the one walk that the driver
 * makes, and closed forms.
 *
 * The driver walks outer round > step > slot (a forward or backward pass of a micro-batch through a
 * chunk of layers) > unit > layer > kernel. It emits the model's kernels on SCHEDULE_COMPUTE, the
 * collectives of tensor, context and expert parallelism among them, the messages between pipeline
 * stages; it allocates and frees activations, and ends each step with the host waiting for the
 * device (the loss is read). Everything else is the strategy's: gathering, reducing, freeing,
 * copies, the optimizer, waits. Hooks see mesh groups and tensors, never links or GPUs, and say
 * what happened, not where the walk is: no strategy asks about pipelines, split backward passes or
 * experts.
 *
 * A system is a policy (policy.h: where bytes live, which bytes move), an issue (a runtime
 * that emits what a policy says, in its own order), and hooks of its own where it needs any.
 */
#pragma once

#include "base/config/suggest.h" /* for the layers above: how names are matched */
#include "base/file/input-files.h"
#include "driver/policy/exchange.h"
#include "schedule/builder.h"

#define STRATEGY_API_VERSION 14

/* Micro-batches that differ in the lengths of their sequences. */
typedef struct
{
  guint                         n_batches;
  const Workload *const *const *workloads; /* [batch][stage]: alike but for their tokens */
  const guint32                *table;     /* [row][micro]: batch */
  guint                         width;     /* of a row */
  guint sharing;         /* neighbouring ranks of the mesh that have a row between them: the context
                             ranks of a data rank, or 1 where each rank has its own */
  const guint32 *counts; /* [row]: micro-steps, of which each has one at least; NULL: `width` */
  const guint8
         *barriers; /* [row][micro]: whether all ranks wait for each other behind it; NULL: no */
  guint   read;     /* sequences that a rank reads, at most, of which others get some; 0: each keeps
                    what it reads */
  guint64 moved;    /* tokens that the rank which sends or gets most sends or gets of them */
} PlanBatches;

/*
 * Bytes of GPU memory, for who keeps something there by choice: what there is (of the GPU that has
 * least; 0: not known), and what the plan takes at its peak without anything of the kind, with what
 * is outside of the framework.
 */
typedef struct
{
  guint64 capacity, taken;
} PlanRoom;

typedef struct _ExpectSums ExpectSums;

typedef struct
{
  const Workload        *workload; /* of a rank; with pipeline stages: of the current stage */
  Mesh                   mesh;
  const Workload *const *stages; /* [mesh.stages] for schedule_build; NULL: one stage */
  guint   round_steps; /* at most so many steps of a round whose steps are alike; 0: all of them */
  guint64 round_only;  /* with that: bits of the fragments that such a round exchanges; 0: all */
  guint first_micros;  /* of the first step, where it has fewer micro-batches than the others; 0: as
                         many */
  gboolean flat_gradients;    /* an outer strategy's runtime asks for it: Policy.flat_gradients */
  const PlanBatches *batches; /* NULL: all are alike, those of `workload`; else that is the one of
                                 most tokens */
  gboolean           pages_stay; /* states in unified memory have room on the GPUs */
  PlanRoom           hbm;        /* for strategies that ask for it: `reads_room` */
  InputFiles        *files; /* that options name, beside BASE_DIR (NULL: the current folder); NULL:
                                 none does */
  const char        *base_dir;
  ExpectSums *sums; /* what closed forms found out of `workload` (expect-sums.h); NULL: nobody
                              keeps it */
  Stop       *stop; /* when no schedule is wanted any more, or NULL; the builder asks */
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
  guint64           trainable_elements; /* of these with a gradient: the rest is frozen */
  const TensorDesc *tensors;            /* the gathered tensors */
  guint             n_tensors;
  guint64           narrow;    /* of `elements` those that a narrow hop takes as a byte each, */
  guint             n_narrow;  /* so many tensors */
  const TensorDesc *trainable; /* of them those with a gradient */
  guint             n_trainable;
  guint    shares; /* unit that owns the tensors (itself, or the embedding's for a tied head) */
  gboolean expert; /* expert-parallel: the same only on the ranks of mesh_of_experts; a unit of its
                      own besides its layer's */
} PlanUnit;

/* Whether UNIT is of KIND, as policies number them: 1 experts, 0 all others. */
static inline gboolean
plan_unit_is (const PlanUnit *unit, guint kind)
{
  return unit->expert == (kind == 1);
}

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
typedef struct _MatrixPlan  MatrixPlan; /* driver/matrix/matrix-plan.h */
typedef struct _Strategy    Strategy;

/* Data of a unit that others than the strategy use too. */
typedef enum
{
  UNIT_PARAMETERS, /* as its kernels read them */
  UNIT_GRADIENT,   /* as its backward kernels write it; not of a unit that trains nothing */
  UNIT_REDUCED,    /* as the optimizer reads it */
  UNIT_DATA_N,
} UnitData;

typedef struct _UnitPlaces UnitPlaces; /* the driver's */

/* What a unit's parameters are needed for. */
typedef enum
{
  USE_FORWARD,
  USE_RECOMPUTATION, /* module granularity: else a part of the backward use */
  USE_BACKWARD,
} UnitUse;

typedef struct
{
  guint   owner; /* unit that owns what is used: of a tied table's second use the table's */
  UnitUse use;
} PlanUse;

/*
 * The uses of one micro-step in the order of the walk, chunk by chunk: a step repeats them. An
 * array of PlanUse.
 */
GArray *plan_uses (const Workload *workload, const GArray *units, UnitGranularity granularity);

/* The unit that a hook is about, and whose turn it is. */
typedef struct
{
  guint           unit; /* index in forward order */
  const PlanUnit *plan;
  UnitUse         use;         /* of use_begin and use_end */
  guint           micro;       /* micro-step of the step, as the unit's chunk counts them */
  gboolean        first, last; /* of the step's micro-steps */
  guint           pass;        /* of pass_begin: which perturbed pass of the use */
  guint           first_unit, end_unit; /* of the unit's chunk: all units without pipeline */
} UnitSlot;

/*
 * All optional. The hooks of an outer strategy come in addition to those of its inner one: before
 * them where something begins, after them where it ends. (`init` runs from the inside outwards: who
 * works around others finds them set up.)
 */
typedef struct
{
  gsize state_size; /* bytes of private state a role, zeroed; hooks find it in run->state */
  UnitGranularity granularity; /* of a strategy without an inner one */
  guint host_hooks; /* the framework's own on the host at either end of a unit's kernels */
  void (*init) (StrategyRun *run);  /* persistent buffers; streams */
  void (*clear) (StrategyRun *run); /* frees what the state points to */
  void (*step_begin) (StrategyRun *run);
  /* the parameters of a unit are needed from now on; until its next use they are not */
  void (*use_begin) (StrategyRun *run, const UnitSlot *slot);
  void (*use_end) (StrategyRun *run, const UnitSlot *slot);
  /* a perturbed pass of the unit, inside its use, begins (Policy.passes) */
  void (*pass_begin) (StrategyRun *run, const UnitSlot *slot);
  /* the last forward use of a micro-step (of a chunk) is over, its backward pass begins */
  void (*backward_begin) (StrategyRun *run);
  /*
   * The gradient of this micro-step begins to be written; it is complete. Of units that own
   * parameters that are trained, where gradients of weights are computed. gradient_ready follows
   * use_end where both are due.
   */
  void (*gradient_begin) (StrategyRun *run, const UnitSlot *slot);
  void (*gradient_ready) (StrategyRun *run, const UnitSlot *slot);
  void (*chunk_end) (StrategyRun *run, const UnitSlot *slot); /* SLOT's gradient was the chunk's
                                                                 last one of the step */
  void (*micro_step_end) (StrategyRun *run); /* the backward pass of a micro-step (of a chunk) is
                                                over, and what the stage's last one sends is sent */
  void (*backward_done) (StrategyRun *run);  /* none of the step follows on this stage */
  void (*step_end) (StrategyRun *run);       /* the optimizer */
  void (*step_over) (StrategyRun *run);      /* behind all that ends a step; run->step is it */
  void (*round_end) (StrategyRun *run);      /* after the last step of this strategy's own period */
} StrategyHooks;

/* What a rank has of a unit under the policy. */
typedef struct
{
  const UnitPolicy *policy;   /* of its kind */
  guint64           padded;   /* elements of its parameters, padded for the ranks that share them */
  guint64           elements; /* of them on a rank */
  guint64           cut;      /* elements of the tensors that are cut: above `whole_below` */
  guint64           cut_padded;       /* the same, padded */
  guint64           copy_padded;      /* and padded for the ranks that share the second copy, */
  gboolean          keeps_copy;       /* which stays in GPU memory (ROUTE_KEEP, ROUTE_KEPT) */
  guint64 strided, trainable_strided; /* elements that copies pass over twice, see ShardFormat */
  guint64 trainable_padded; /* elements of its gradient, padded for the ranks that share it */
  guint64 trainable;        /* of them on a rank */
  guint64 updated_padded; /* elements that the optimizer updates, padded for those that share it */
  guint64 updated;        /* of them on a rank */
  CommRef (*comms)[POLICY_MAX_HOPS]; /* [PolicyRouteKind]: of each hop */
} UnitShare;

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
  const Policy    *policy; /* the innermost strategy's; NULL: it has none */
  const UnitShare *shares; /* [n_units] */
  MatrixPlan *const
                 *matrices; /* of the policy's kinds, what its optimizer needs as a whole; NULL of
                                  one: nothing */
  const Exchange *exchange; /* of this strategy, as in->round_steps cuts it; NULL: it has none */
  const PlanUse  *uses;     /* plan_uses */
  guint           n_uses;
  guint           step;  /* step of the period, 0-based */
  guint           micro; /* micro-step of the step */
  ScheduleSection section;
  StrategyRun    *inner;  /* NULL for the innermost */
  UnitPlaces     *places; /* [n_units]: see strategy_data */
  gpointer        driver; /* private to the driver */
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

/*
 * Elements of a state of the innermost strategy that this rank holds, of all units; without a
 * policy every rank holds all. Gradients and optimizer are those of parameters that are trained.
 */
guint64 strategy_share (const StrategyRun *run, PolicyStateKind state);
guint64 strategy_share_of (const StrategyRun *run, guint kind, PolicyStateKind state);

/*
 * Where the format gives ranks unlike shares: fills ELEMENTS with what each of those that share the
 * optimizer updates of the units of KIND. (This rank is taken as the one that has most.)
 */
void strategy_owned (const StrategyRun *run, guint kind, guint64 *elements);

/* Of the parameters that this rank holds those that are trained. */
guint64 strategy_trainable_share (const StrategyRun *run);

/* The communicator of a hop of the policy's ROUTE for units of KIND. */
CommRef strategy_comm (const StrategyRun *run, guint kind, PolicyRouteKind route, guint hop);

/* What a compressor decides of the tensors of a stage before training; its own. */
typedef struct _CompressorPlan CompressorPlan;

/* Gradients that are reduced at once by a compressor. */
typedef struct
{
  guint        kind;  /* of units */
  const guint *units; /* whose they are */
  guint        n_units;
  guint64      elements;
  StreamRef    made;    /* has made them: takes what comes before the first collective */
  StreamRef    stream;  /* takes the rest */
  BufferRef    errors;  /* what compression has lost, a part a unit; SCHEDULE_NONE: not kept */
  BufferRef    factors; /* what lives from one step to the next beside it, likewise */
  BufferRef    sums;    /* of gradients before they are compressed, likewise */
  const CompressorPlan *plan; /* of the kind */
  /* The op emitted last does ACCESS to them. */
  void (*use) (StrategyRun *run, gconstpointer data, ScheduleAccess access);
  gconstpointer data;
} CompressedBucket;

/*
 * What an issue states of a step, as formulas, for the closed form: how many elements of each kind
 * of unit pass each route, every time counted; the closed form multiplies them with the hops. They
 * are padded as the issue moves them. Of the reduction it states one micro-step.
 */
typedef struct
{
  double   passed[ROUTE_N][2];
  double   slack[ROUTE_N][2];  /* as few as `passed` less these */
  double   narrow[ROUTE_N][2]; /* of `passed` those that a narrow hop takes as a byte each, */
  double   wide[ROUTE_N][2];   /* but for so many at most */
  double   scales[2]; /* values whose largest is found over the ranks that share parameters */
  double   copied[2]; /* of the second copy, on all that share it; */
  double   kept[2];   /* of that in GPU memory though its home is elsewhere */
  double   walks[ROUTE_N][2]; /* in at most so many walks: encoded payloads end in a block each */
  gboolean uneven;            /* which begin with any number of elements: shares are rounded up */
  /* Hops (a bit each) before which the issue works on the data, so that it is decoded there. */
  guint  plain_before[ROUTE_N][2];
  double passing[PLACE_N]; /* bytes of buffers between hops, at most */
  double states;           /* bytes of HBM that live for ever beyond the policy's states */
  double low;              /* of HBM at least, beyond its states; the activations say more or not */
  double high;             /* of HBM at most, beyond its states and the activations */
  double host;             /* bytes of pinned memory beyond the policy's states */
  double pageable;         /* the same of pageable memory */
  guint  clip_passes;      /* of the host's cores over gradients in its memory, to clip them */
  double host_sums;        /* elements that the host's cores add up, beyond the update */
  /*
   * Of compressors: FLOPs of products, bytes that codecs pass over, and collectives over the group
   * of ROUTE_REDUCE's hop.
   */
  double flops, coded, all_reduced[2], all_gathered[2];
} IssueForm;

/*
 * A way to reduce gradients that is no walk over hops: what crosses the wire depends on the shapes
 * of tensors. OPTIONS are UnitPolicy.compression.
 */
struct _Compressor
{
  const char *name; /* "powersgd" */
  /* As what it sends, where options make it another one; NULL: its name says it. */
  const char *(*sends) (gconstpointer options);
  /* Whether what compression loses is kept, a value an element, and added to the next gradient. */
  gboolean (*keeps_errors) (gconstpointer options);
  /* Whether gradients are added up over several steps, in fp32; NULL: no. */
  gboolean (*keeps_sums) (gconstpointer options);
  /* Decides of the tensors of KIND what the others then read; NULL: nothing. */
  CompressorPlan *(*plan_new) (const PlanInput *in, gconstpointer options, guint kind);
  void (*plan_free) (CompressorPlan *plan);
  /* Elements of UNIT that live from one step to the next; NULL: none. */
  guint64 (*kept) (gconstpointer options, const CompressorPlan *plan, const PlanUnit *unit);
  void (*reduce) (StrategyRun *run, const CompressedBucket *bucket);
  /* What it does behind the optimizer's step, with the SUMS; NULL: nothing. */
  void (*step_end) (StrategyRun *run, guint kind, const CompressorPlan *plan, BufferRef sums);
  /*
   * Adds to FORM a step's work on the units of KIND, which come BUCKET elements at a time, all of
   * them so many TIMES.
   */
  void (*form) (const PlanInput *in, const UnitPolicy *policy, guint kind, double bucket,
                double times, IssueForm *form);
};

/*
 * What an issue carries of a policy: places, routes and cadences are a bit each, 1u << what. A
 * policy that asks for more is diagnosed. Hops are any that the routes allow: route.h.
 */
typedef struct
{
  guint    homes[STATE_N];  /* where states may live */
  guint    copies;          /* where a second copy may; 0: there is none */
  guint    routes;          /* that it walks */
  guint    moves;           /* in which hops may be moves */
  guint    cadences;        /* of a reduction's hops */
  gboolean mixed_cadence;   /* hops of each micro-step, then such of the last one */
  gboolean partial_on_gpu;  /* what it adds up between them is there, wherever gradients live */
  gboolean last_scatters;   /* gradients may be whole until the last micro-step cuts them */
  gboolean whole_reduction; /* a reduction may leave more on a rank than its shard */
  gboolean updates_home;    /* parameters are updated where they live */
  gboolean one_kind;        /* of unit */
  gboolean whole_tensors;   /* tensors below a size may be whole on every rank */
  gboolean stays;           /* what a forward use gathered may stay until the backward use */
  gboolean late_update;     /* an update on the host may show one step late */
  gboolean part_on_gpu;     /* a part of what the host updates may stay on the GPU */
  gboolean compressors;     /* compressors may reduce */
  gboolean averaged_host;   /* an average over workers reaches what it keeps off the GPU */
  gboolean perturbs;        /* zeroth order: perturbed forward passes alone */
  gboolean shared_tables;   /* layers besides a head may read the embedding's table again */
  gboolean goes_back_twice; /* a micro-step may have two backward passes (ghost clipping) */
} IssueCarries;

/* A runtime: hooks that emit what the policy in run->policy says. It knows no system by name. */
typedef struct
{
  IssueCarries carries;
  /* Shards of gradients live for ever; else while a step needs them. */
  gboolean keeps_gradients;
  /* A second copy lives from a forward use to the next use; else, of all units, for ever. */
  gboolean      copies_pass;
  StrategyHooks hooks;
  void (*form) (const PlanInput *in, const Policy *policy, IssueForm *form);
} Issue;

/* How an exchange takes place: hooks of an outer strategy that read run->exchange. */
typedef struct
{
  StrategyHooks hooks;
  gboolean      even_steps; /* it acts in init and when the exchange says so only: few steps of a
                               round stand for all of them */
  /* Adds TIMES rounds to TOTALS, which hold the inner strategy's of the same period. */
  void (*form) (const PlanInput *in, const Exchange *exchange, double times, PlanTotals *totals);
} Sync;

struct _Strategy
{
  guint             api;            /* STRATEGY_API_VERSION */
  const char       *name;           /* "fcdp": the word used in scenario files */
  const char       *title, *source; /* one line; "arXiv:2602.06499" */
  gsize             options_size;
  const OptionSpec *options; /* fills a zeroed block of options_size; { 0 } ends it; or NULL */
  gboolean (*check) (const PlanInput *in, gconstpointer opt, DiagList *diags);
  guint (*role) (const PlanInput *in, gconstpointer opt, guint rank); /* NULL: all ranks alike */
  /* Fills a zeroed POLICY; NULL: parameters whole on every rank, in compute precision. */
  void (*policy) (const PlanInput *in, gconstpointer opt, Policy *policy);
  const Issue *issue; /* needs a policy */
  /* Of outer strategies: fills a zeroed EXCHANGE, which says period and inner mesh. */
  void (*exchange) (const PlanInput *in, gconstpointer opt, Exchange *exchange);
  const Sync *sync; /* needs an exchange */
  /* Own ones, in addition to those of issue or sync as an outer strategy's are. */
  StrategyHooks hooks;
  /*
   * Closed form of a steady period beyond that of policy and issue; NULL: nothing is beyond it.
   * Without an issue: all of it.
   */
  gboolean (*expect) (const PlanInput *in, gconstpointer opt, PlanTotals *totals);
  guint (*period) (const PlanInput *in, gconstpointer opt); /* steps; NULL: 1 */
  void (*narrow) (const PlanInput *in, gconstpointer opt,
                  PlanInput *inner); /* outer strategies: what the inner one spans */
  /* Whether OPT asks for in->hbm; NULL: never. */
  gboolean (*reads_room) (gconstpointer opt);
  gboolean    outer;   /* needs an inner strategy */
  const char *states;  /* where each state lives, a line each, for `shardsim strategies NAME` */
  const char *missing; /* what is NOT modelled, likewise */
  /* what training is no longer the same by, beside its exchange: "gradients of zeroth order" */
  const char *caveat;
};

/*
 * Whether STRATEGY (NULL: not known), an innermost one, takes steps of zeroth order: another
 * algorithm than training by gradients, so that the one is never offered in place of the other.
 */
static inline gboolean
strategy_perturbs (const Strategy *strategy)
{
  return strategy != NULL && strategy->issue != NULL && strategy->issue->carries.perturbs;
}

/* What is gathered or reduced as a whole under STRATEGY, an innermost one. */
UnitGranularity strategy_granularity (const Strategy *strategy);

/* A strategy with its options and, for an outer one, what it runs around. */
typedef struct _StrategyChoice StrategyChoice;
struct _StrategyChoice
{
  const Strategy       *strategy;
  gconstpointer         options; /* options_size bytes */
  const StrategyChoice *inner;
};

/*
 * Checks CHOICE and builds its schedule. NULL after diagnostics (options that do not fit the mesh
 * or the model), and without any where IN's stop came first. The result refers to the workload,
 * which must outlive it.
 */
Schedule *schedule_build (const PlanInput *in, const StrategyChoice *choice, DiagList *diags);

/*
 * Whether CHOICE takes IN's model and mesh, by its first stage: what schedule_build diagnoses
 * before it emits anything. FALSE after diagnostics.
 */
gboolean strategy_check (const PlanInput *in, const StrategyChoice *choice, DiagList *diags);

/* The same by all stages. */
gboolean strategy_check_stages (const PlanInput *in, const StrategyChoice *choice, DiagList *diags);

/* The shape of a step of CHOICE's innermost strategy. */
typedef struct
{
  gboolean backward;   /* forward and backward passes; else zeroth order: */
  guint    passes;     /* forward passes over a micro-batch on a rank, */
  guint    pass_ranks; /* and ranks that share a micro-batch, at least 1 */
} StepShape;

/* CHOICE need not have been checked. */
StepShape strategy_step_shape (const PlanInput *in, const StrategyChoice *choice);

/* Whether CHOICE, or what it runs around, asks for the room in GPU memory. */
gboolean strategy_reads_room (const StrategyChoice *choice);

/* CHOICE's own exchange, whose round in->round_steps may cut in a schedule; FALSE: it has none. */
gboolean strategy_whole_exchange (const PlanInput *in, const StrategyChoice *choice,
                                  Exchange *exchange);

/*
 * What makes tokens under CHOICE worth another amount than those of synchronous training, in one
 * line: "convergence is not modelled: 500 local steps, 8 replicas". Newly allocated; NULL: nothing
 * does.
 */
char *strategy_caveats (const PlanInput *in, const StrategyChoice *choice);

/* Training steps of a period of CHOICE with its inner strategies. */
guint64 strategy_period_steps (const PlanInput *in, const StrategyChoice *choice);

/*
 * Closed forms of CHOICE with its inner strategies. FALSE when one of them states none. An outer
 * strategy's `expect` finds its inner's closed forms in TOTALS (traffic, copies and FLOPs of one
 * outer period, peaks unchanged) and adds its own.
 */
gboolean strategy_expect (const PlanInput *in, const StrategyChoice *choice, PlanTotals *totals);

/*
 * The same of a rank of ROW of IN's batches, where micro-batches differ; strategy_expect states
 * none then, as it does not know the rank.
 */
gboolean strategy_expect_row (const PlanInput *in, const StrategyChoice *choice, guint row,
                              PlanTotals *totals);
