/*
 * DeepSpeed's ZeRO-3 runtime, shared by the systems that are built on it. What differs between them
 * is a residency policy: where a unit's parameters stay after its forward pass, and where later
 * uses gather them from.
 *
 * A unit is a module that owns parameters. Before a module runs, its missing parameters are
 * all-gathered and the compute stream waits for the whole gathering stream; at most two such
 * fetches are outstanding on the host. Then the prefetcher walks on in the recorded order of uses
 * and gathers, as one collective, until prefetch_bucket_size elements are on their way. After a
 * module has run, its parameters are freed unless they are persistent (small), used again within
 * max_reuse_distance elements, or the prefetcher has already passed over a later use. Gradients are
 * copied into a bucket and reduce-scattered when it is full, every micro-step. Source:
 * deepspeed/runtime/zero (partitioned_param_coordinator.py, stage3.py).
 */
#pragma once

#include "strategy/common.h"

/* Where a gathered unit stays after its first use in a step, and where later uses come from. */
typedef enum
{
  RESIDENCY_NONE,      /* nowhere: gathered over the shard group at every use (ZeRO-3) */
  RESIDENCY_HOST_NODE, /* a node copy in pinned host memory, gathered inside the node later (FCDP) */
} Residency;

typedef struct
{
  gint64 prefetch_bucket_size, max_live_parameters, max_reuse_distance, param_persistence_threshold;
  gint64 reduce_bucket_size, sub_group_size;
  gboolean overlap_comm;
} DeepspeedOptions;

/* The rows of DeepSpeed's own options for an options struct that starts with DeepspeedOptions. */
#define DEEPSPEED_OPTION(name, default_, min_, help_)                                     \
  {                                                                                       \
    .key = #name, .type = OPTION_INT, .offset = G_STRUCT_OFFSET (DeepspeedOptions, name), \
    .fallback = default_, .min = min_, .max = 1e15, .help = help_,                        \
    .source = "deepspeed/runtime/zero/config.py"                                          \
  }
#define DEEPSPEED_OPTIONS                                                                                                                     \
  DEEPSPEED_OPTION (prefetch_bucket_size, "5e7", 0,                                                                                           \
                    "elements that are gathered ahead of use as one collective"),                                                             \
      DEEPSPEED_OPTION (max_live_parameters, "1e9", 0,                                                                                        \
                        "gathered elements beyond which nothing is gathered ahead"),                                                          \
      DEEPSPEED_OPTION (                                                                                                                      \
          max_reuse_distance, "1e9", 0,                                                                                                       \
          "parameters used again within so many elements stay gathered; 0: nothing is kept, " \
          "which DeepSpeed's prefetcher does not quite do"), \
      DEEPSPEED_OPTION (param_persistence_threshold, "1e5", 0,                                                                                \
                        "tensors of at most so many elements are never partitioned"),                                                         \
      DEEPSPEED_OPTION (reduce_bucket_size, "5e8", 1,                                                                                         \
                        "elements of gradients that are reduced as one collective"),                                                          \
      DEEPSPEED_OPTION (sub_group_size, "1e9", 1, "elements that the optimizer handles at a time"),                                           \
  {                                                                                                                                           \
    .key = "overlap_comm", .type = OPTION_BOOL,                                                                                               \
    .offset = G_STRUCT_OFFSET (DeepspeedOptions, overlap_comm), .fallback = "true",                                                           \
    .help = "gather and reduce on streams of their own",                                                                                      \
    .source = "deepspeed/runtime/zero/config.py"                                                                                              \
  }

typedef struct _DeepspeedUnit  DeepspeedUnit;
typedef struct _DeepspeedVisit DeepspeedVisit;

typedef struct
{
  Residency       residency;
  StreamRef       gather, reduce, host_copy;
  CommRef         all, node;
  guint           m, node_size;                                 /* ranks of the two groups */
  BufferRef       shards, persistent, gradients, bucket, cache; /* of all units */
  GArray         *waiting;                   /* guint: units whose gradients the bucket holds */
  DeepspeedUnit  *units;                     /* by unit; a tied second use refers to its owner's */
  DeepspeedVisit *visits;                    /* the uses of one micro-step in order */
  guint           n_visits, position, queue; /* where the walk and the prefetcher stand */
  gboolean        traced; /* the order of uses is known: from the second micro-step on */
  gint64          live;   /* gathered elements */
  EventRef        fetches[2], reduces[2];
  guint64         bucket_elements, bucket_padded; /* what the gradient bucket holds */
  BufferRef       oversized; /* a gradient larger than the bucket, waiting to be reduced */
} DeepspeedState;

void deepspeed_init (StrategyRun *run);
void deepspeed_clear (StrategyRun *run);
void deepspeed_step_begin (StrategyRun *run);
void deepspeed_fetch (StrategyRun *run, const UnitSlot *slot);
void deepspeed_release (StrategyRun *run, const UnitSlot *slot);
void deepspeed_backward_begin (StrategyRun *run, const UnitSlot *slot);
void deepspeed_backward_end (StrategyRun *run, const UnitSlot *slot);
void deepspeed_micro_step_end (StrategyRun *run);
void deepspeed_step_end (StrategyRun *run);

#define DEEPSPEED_HOOKS(init_)                                                                    \
  {                                                                                               \
    .state_size = sizeof (DeepspeedState), .granularity = UNIT_MODULE, .init = init_,             \
    .clear = deepspeed_clear, .step_begin = deepspeed_step_begin,                                 \
    .unit_forward_begin = deepspeed_fetch, .unit_forward_end = deepspeed_release,                 \
    .unit_backward_begin = deepspeed_backward_begin, .unit_backward_end = deepspeed_backward_end, \
    .micro_step_end = deepspeed_micro_step_end, .step_end = deepspeed_step_end,                   \
  }

/*
 * Elements of the tensors above the persistence threshold, each padded for M ranks: what a use
 * gathers.
 */
guint64 deepspeed_partitioned (const TensorDesc *tensors, guint n, guint m, gint64 threshold);

/* Closed forms for a residency. */
gboolean     deepspeed_expect (const PlanInput *in, const DeepspeedOptions *o, Residency residency,
                               PlanTotals *totals);
guint64      deepspeed_resident (const PlanInput *in, gconstpointer opt);
PlanGradient deepspeed_gradient (const PlanInput *in, gconstpointer opt);

/* Diagnoses axes of the mesh that the runtime does not know, for strategy NAME. */
gboolean deepspeed_check (const PlanInput *in, const char *name, DiagList *diags);
