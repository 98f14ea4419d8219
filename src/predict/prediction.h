/*
 * A prediction: everything that is said about one scenario, computed once from its replay. Reports
 * only print it.
 */
#pragma once

#include "predict/proposals.h"
#include "predict/quantile-band.h"
#include "predict/track-record.h"
#include "replay/run/replay.h"

/* Where the time of a step goes along the critical path; the parts add up to the step. */
typedef enum
{
  TIME_COMPUTE,      /* kernels of the model (forward, recomputation, backward) */
  TIME_OPTIMIZER,    /* kernels of the optimizer phase */
  TIME_COPY_KERNELS, /* copy-in, copy-out, casts and bucket copies on the GPU */
  TIME_INTER_NODE,   /* collectives that cross nodes */
  TIME_INTRA_NODE,   /* collectives inside a node */
  TIME_HOST_COPIES,  /* copies between GPU and host memory */
  TIME_LATENCY,      /* latency of kernels on the path */
  TIME_HOST,         /* the issuing thread: launches, hooks */
  TIME_MEMORY,       /* blocked in an allocation */
  TIME_SKEW,         /* kernels at the pace of the slowest GPU instead of the mean one */
  TIME_OUTER,        /* kernels of a local-update system's outer step */
  TIME_N,
} TimePart;

const char *time_part_name (TimePart part); /* "inter-node communication" */
const char *time_part_key (TimePart part);  /* "inter_node": CSV and JSON */

/* What runs on a GPU, as a profiler's bars tell it apart. */
typedef enum
{
  BUSY_KERNELS,
  BUSY_TO_HOST,
  BUSY_FROM_HOST,
  BUSY_COMMUNICATION,
  BUSY_N,
} BusyKind;

/* One tier's memory at its fullest place. */
typedef struct
{
  guint64 capacity, allocated, reserved,
      device; /* bytes: the three peaks, see engine/pool.h; each has its own time */
  guint64 by_category[POOL_N_CATEGORIES]; /* at the device peak */
  guint64 waiting; /* of the device peak: released by the host, still used on the device */
  guint64 cached;  /* of the device peak: what the allocator caches for nobody, rounding included */
  guint   n_retries; /* allocations that went through only after cached segments went back */
  char   *place;     /* "rank 0", "node 0" */
  char   *peak_op; /* label of the allocation that made the device peak: "logits, head, backward" */
  gboolean fits;
  guint64  excess;      /* bytes over capacity at the peak; 0 when it fits */
  char    *overflow_op; /* first allocation over capacity, with its place in the step */
  gint64   sequence;    /* of a GPU that does not hold it: tokens of the longest sequence there, */
  guint    sequence_ranks; /* which so many ranks share; 0: all are alike, or no sequence is to
                              blame */
} MemoryUse;

/* Traffic of one communicator and kind, per step. */
typedef struct
{
  char       *group;      /* communicator: "shard of 32" */
  char       *collective; /* "all_gather" */
  const char *ways;       /* how the library runs them, most bytes first: "ring/simple/8/12,
                       tree/ll/4/10 unaligned", the numbers channels and simulated resources, the
                       word for parts between multiples of 16 bytes; interned */
  guint       links;      /* which resources those are: over other ones, another number */
  double      calls;      /* a step */
  double      bytes;      /* sum of S a step (nccl-tests' sizes) */
  double      inter_node_per_gpu, intra_node_per_gpu; /* payload sent, bytes a step and GPU */
  double      exposed_s; /* a step, on exposed_rank: running while its compute stream is idle */
} TrafficUse;

typedef struct
{
  char  *resource;    /* kind: "nic.tx", "sm", "hbm", "pcie.up", or "host", "latency" */
  double seconds;     /* of the step on the critical path that it bound */
  double utilisation; /* of the kind's busiest resource, mean over the step; 0: means nothing */
} BindingUse;

typedef struct
{
  char       *scenario, *strategy, *model, *cluster;
  char       *software; /* "torchtitan-2026 (torchtitan, 2026: ...)"; NULL: no framework */
  gboolean    software_by_default;  /* nobody named it */
  char       *network;              /* what it was scaled to; NULL: as the profiles have it */
  double      network_scale;        /* 0: not scaled */
  GArray     *measured;             /* ClusterMeasured that it was scaled to, or NULL */
  GArray     *settings;             /* ScenarioSetting: all that the scenario used */
  guint       n_gpus, n_data_ranks; /* data ranks work on sequences of their own */
  gboolean    fits, steady;
  gboolean    quiet;      /* nothing was in flight at the end of a period */
  gboolean    even_steps; /* replay_steps_are_even */
  double      step_time_s, tokens_per_step, tokens_per_s, tokens_per_s_per_gpu, samples_per_s;
  double      n_parameters; /* of the model */
  double      seq_len;      /* mean of the step's sequences */
  double      imbalance;    /* sequences differ: most tokens of a data rank over the mean; else 0 */
  double      model_flops;  /* a step and GPU, by flops_convention */
  double      hardware_flops; /* the same and what recomputation executes again */
  double      executed_flops; /* of all products and attention of its kernels, */
  double      kernel_bytes;   /* and what these read and write in GPU memory, nominally */
  double      model_tflops_per_gpu, hardware_tflops_per_gpu, mfu_percent, hfu_percent;
  double      mfu_base; /* FLOP/s of a GPU that MFU is quoted on, mean over the GPUs */
  const char *flops_convention, *flops_counted; /* its name; what it counts of attention */
  MemoryUse   hbm, host, drives;
  double      host_loading_bytes; /* a node, at most, where the host keeps states: each process
                                     holds the whole model in fp32 before it is cut; else 0 */
  double      inter_node_bytes_per_gpu, intra_node_bytes_per_gpu,
      host_link_bytes_per_gpu; /* a step: sent by collectives; copied */
  double  inter_node_forward_bytes_per_gpu, inter_node_backward_bytes_per_gpu; /* with
              recomputation; all that is not of the backward pass is of the forward pass */
  double  inter_node_bytes_per_nic; /* a step: what a card sends, mean over cards; 0: no cards */
  double  exposed_comm_s;           /* a step: collectives run while the compute stream is idle, */
  guint   exposed_rank; /* on the rank that waits most of the first ones of each make of node */
  double  bubble_s;     /* a step, mean over GPUs, with pipeline stages: nothing runs; else 0 */
  guint   n_replayed;   /* micro-batches that were replayed, from which the rest follows; 0 = all */
  guint   n_steps_replayed, n_steps; /* of a round, likewise; and its steps where few were */
  double  parts[TIME_N];             /* s; sum = step_time_s */
  double  busy_percent[BUSY_N];      /* on exposed_rank: exposure_busy_shares */
  char   *binding_resource;          /* that which bound the largest share of the step */
  GArray *bindings;                  /* BindingUse, largest first */
  GArray *traffic;                   /* TrafficUse */
  guint   n_measured, n_datasheet, n_estimate; /* figures of the profiles used, by confidence */
  double  step_time_low_s,
      step_time_high_s;   /* of step_time_s and with all figures at either end; 0: not asked for */
  guint    n_placements;  /* draws of placement and hashes: placement-band.h; 0 = not asked for */
  gboolean band_is_drawn; /* FALSE: the cluster draws nothing, and all were the same */
  QuantileBand step_band; /* s */
  char        *caveats;   /* strategy_caveats */
  guint mtp_left; /* multi-token-prediction layers of the model's file that are not trained */
  guint elastic_steps, n_workers; /* steps of a round, for which workers that are lost are left out
                                     of exchanges; of how many. 0: the job stops */
  char *unmeasured;    /* GPUs whose speed under load no run told (profiles-used.h); NULL: none */
  TrackQuery like;     /* what runs that others published are like it */
  char      *profiles; /* "gpu a40-48 (1f2e3d4c), ...": the version is a hash of the figures */
  GArray    *stages;   /* StageUse (stages.h), owned; NULL: nobody asked */
  GArray    *op_times; /* OpTime (op-times.h), owned; NULL: nobody asked */
  MemoryUse  of_rank;  /* of the rank that was asked for; place NULL: nobody asked */
  Remedies  *remedies; /* what would fit, owned; NULL: it fits, or nobody asked */
  Advice    *advice;   /* what would be faster, owned; NULL: nobody asked */
} Prediction;

/* FLOP/s of a GPU that MFU is quoted on, mean over CLUSTER's. */
double prediction_mfu_base (const Cluster *cluster);

void prediction_free (Prediction *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Prediction, prediction_free)

/*
 * Whether a token under OTHER is worth as much as one under SELF as far as is known: nothing makes
 * OTHER another training that does not make SELF one.
 */
gboolean prediction_trains_alike (const Prediction *self, const Prediction *other);

/*
 * Whether it fits so narrowly that a longer input or another release may not: less than that part
 * of a GPU's memory is left, or allocations went through only after cached segments went back.
 */
#define PREDICTION_TIGHT_PERCENT 3
gboolean prediction_is_tight (const Prediction *self);

typedef struct _FewRuns  FewRuns;  /* few-runs.h */
typedef struct _Leavings Leavings; /* leavings.h */

/* Who wants none but fast steps says so: a slow one is not followed to its end. */
typedef struct
{
  double least; /* sequences/s */
  double took;  /* s: it takes so long by its first micro-batches, and was left; 0: it was not */
} StepLimit;

typedef struct
{
  ReplayOptions replay;
  gboolean      unfolded;          /* simulate every rank, not one of each that are alike */
  gboolean      interval;          /* also simulate at both ends of the figures' ranges */
  gboolean      stages;            /* also say what each stage of a pipeline holds and does */
  gboolean      op_times;          /* also say how long single ops take */
  gboolean      of_rank;           /* also say what the memory of ... */
  guint         rank;              /* ... this one holds; nothing is extrapolated then */
  gboolean      times_only;        /* nothing but the times is asked for: prune-links.c */
  gboolean      step_only;         /* of these that of the step, and no peak: lockstep.c */
  gboolean      idle_figures;      /* also warn of figures that play no part: idle-figures.h */
  gboolean      no_band;           /* whatever the scenario asks for: placement-band.h */
  guint         n_threads;         /* for the draws of a band; 0 = 1 */
  gboolean      todays_frameworks; /* who names no framework runs on its strategy's of today */
  const char   *profile_dir;       /* of profile_set_new; NULL = shipped */
  const FigureChange *changes;     /* of hardware figures; outlive the predicting */
  guint               n_changes;
  InputFiles *files; /* that other predictions read from as well, or NULL; outlives what is made */
  Leavings   *left;  /* by other predictions, or NULL; outlive what is made */
  FewRuns    *few;   /* that other predictions of this thread, of these options, left, or NULL */
  StepLimit  *limit; /* of this one prediction, or NULL: left, it is NULL without diagnostics */
  WorkCount  *count; /* where who predicts many scenarios says how many are done; may be NULL */
} PredictOptions;

/* The profiles that OPTIONS name. */
ProfileSet *predict_profiles (const PredictOptions *options);

/* Reads everything off a replay. NULL where STOP, which may be NULL, came first. */
Prediction *prediction_from_replay (const Replay *replay, Stop *stop);

/* Without remedies and advice. */
Prediction *prediction_copy (const Prediction *self);

/* What SELF is of: RESOLVED's name and settings in the place of those that it has. */
void prediction_set_scenario (Prediction *self, const ResolvedScenario *resolved);

/* The value of the setting KEY of SECTION, or NULL where it is unset. */
const ScenarioSetting *prediction_setting (const Prediction *self, const char *section,
                                           const char *key);

/* Throughput, from the sums and the step time. */
void prediction_derive (Prediction *self);

/* Tokens a second and GPU, were a step of SECONDS long; 0 where that is 0. */
double prediction_tokens_at (const Prediction *self, double seconds);

/* Of BindingUse and of TrafficUse; empty. */
GArray *prediction_new_bindings (void);
GArray *prediction_new_traffic (void);

/* Orders the bindings, largest first, and names that of the step. */
void prediction_sort_bindings (Prediction *self);

/* How a scenario is planned that OPTIONS ask about: all of it. */
PlanOptions predict_plan_options (const PredictOptions *options);

/*
 * PLAN on its cluster, as OPTIONS ask. LOCKSTEP: how far ranks that links alone tell apart may be
 * one, as nobody looks at single ones; predict_bound sees whether that holds.
 */
ReplayBound *predict_bind (const ReplayPlan *plan, const PredictOptions *options,
                           Lockstep lockstep);

/*
 * Runs BOUND, or where its ranks do not stay in lockstep its plan bound with less of it, and reads
 * it off, with what ASKED says of it by itself (stages, op_times); hands the replay out where
 * REPLAY is not NULL.
 */
Prediction *predict_bound (const ReplayBound *bound, const ReplayOptions *options,
                           const PredictOptions *asked, Replay **replay, GError **error);

/* Plans and binds RESOLVED with as many micro-batches as it has, and the same. NULL as below. */
Prediction *predict_replayed (const ResolvedScenario *resolved, const PredictOptions *options,
                              Replay **replay, DiagList *diags, GError **error);

/*
 * The same from few micro-batches: extrapolate.c. NULL, without diagnostics or an error, when it
 * would not pay or they do not repeat.
 */
Prediction *predict_extrapolated (const ResolvedScenario *resolved, const PredictOptions *options);

/*
 * The same of a pipeline, from what repeats inside a run of some micro-batches: repeat.c. NULL as
 * predict_extrapolated.
 */
Prediction *predict_repeated (const ResolvedScenario *resolved, const PredictOptions *options);

/* All micro-batches, after a first step of few. NULL: that would save nothing. */
Prediction *predict_after_few (const ResolvedScenario *resolved, const PredictOptions *options);

/* The same from few steps of a long round: extrapolate-steps.c. NULL as predict_extrapolated. */
Prediction *predict_few_steps (const ResolvedScenario *resolved, const PredictOptions *options);

/*
 * Replays SCENARIO and reads it off. NULL after diagnostics or with ERROR set. Thread-safe: what
 * threads share are the files of OPTIONS.
 */
Prediction *predict (const Scenario *scenario, const PredictOptions *options, DiagList *diags,
                     GError **error);

/* What a prediction was made of, each of which points into those below it. */
typedef struct
{
  Replay                 *replay; /* for a trace; NULL: nobody asked */
  const ResolvedScenario *resolved;
  ProfileSet             *profiles;
} PredictionInputs;

void prediction_inputs_clear (PredictionInputs *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PredictionInputs, prediction_inputs_clear)

/*
 * The same, and hands out what it was made of, with the REPLAY only where that is asked for. INPUTS
 * (NULL: all go) are set when a prediction is returned, and the caller's to clear.
 */
Prediction *predict_with_inputs (const Scenario *scenario, const PredictOptions *options,
                                 gboolean replay, PredictionInputs *inputs, DiagList *diags,
                                 GError **error);

/*
 * The same with the replay and the profiles that it points into by themselves: the caller frees the
 * replay, then the profiles. They are set only when a prediction is returned.
 */
Prediction *predict_with_replay (const Scenario *scenario, const PredictOptions *options,
                                 Replay **replay, ProfileSet **profiles, DiagList *diags,
                                 GError **error);

/* ---- who stands for others ------------------------------------------------------------------- */

/*
 * The id of the node that simulated rank RANK is on, if no lower one is on such a node; else NULL.
 * What is told of one rank is told of one of these, chosen by what they did and not by where the
 * cluster lists them: rank 0 where all nodes are alike.
 */
const char *make_represented (const Replay *replay, guint rank);

/* ---- critical path --------------------------------------------------------------------------- */

/* What an op's time counts as, but for the latency of kernels. */
TimePart time_part_of_op (const Replay *replay, OpId op);

/* A stretch of the last period on the critical path, from its end to its start without gaps. */
typedef struct
{
  SimTime    start, end;
  TimePart   part;
  Cause      cause;
  OpId       op;       /* ENGINE_NONE: the host */
  guint      rank;     /* simulated, of the op */
  ResourceId resource; /* of CAUSE_RESOURCE, else ENGINE_NONE */
} PathStep;

/*
 * The path of the last (steady) period, from the rank that ends it last of those that stand for a
 * make; newly allocated Vector of PathStep, latest first. Durations sum exactly to the period.
 */
Vector *critical_path (const Replay *replay);

/*
 * What a rank computes and communicates: seconds of a step during which its collectives run (those
 * of one communicator and kind, or all when it is SCHEDULE_NONE) and nothing runs on its compute
 * stream.
 */
typedef struct _Exposure Exposure;

Exposure *exposure_new (const Replay *replay, const ReplayStretch *stretch, guint rank);
/* Whether STREAM is one on which simulated rank RANK runs kernels of the model. */
gboolean rank_computes_on (const Replay *replay, guint rank, StreamId stream);
/*
 * That of the most seconds among the ranks that stand for a make of node; ties go to the make whose
 * id comes first. World rank into RANK.
 */
Exposure *exposure_largest (const Replay *replay, const ReplayStretch *stretch, guint *rank);
void      exposure_free (Exposure *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Exposure, exposure_free)
double exposure_seconds (const Exposure *self, guint32 comm, CollectiveKind kind);
/*
 * What a profiler's bars are: the durations of the rank's ops of each kind in what was replayed of
 * the last period, added up whether others run at the same time or not, over those of all. 100 in
 * all, or nothing ran. A collective counts from the arrival of its last rank.
 */
void exposure_busy_shares (const Exposure *self, double percent[BUSY_N]);

/*
 * Seconds of a step during which nothing runs on a GPU: kernels, collectives, messages or copies;
 * mean over the GPUs.
 */
double idle_seconds (const Replay *replay, const ReplayStretch *stretch);

/* ---- comparison ------------------------------------------------------------------------------ */

/*
 * Why OTHER differs from FIRST: sentences, biggest effect first ("moves 2.01 GB less between nodes
 * a GPU (-33 %): ..."). strv.
 */
char **compare_explain (const Prediction *first, const Prediction *other);
