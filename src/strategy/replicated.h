/*
 * The runtime of strategies that keep whole parameters on every rank and reduce gradients in
 * buckets.
 */
#pragma once

#include "strategy/common.h"

typedef enum
{
  REDUCE_ALL,       /* all-reduce */
  REDUCE_SCATTERED, /* reduce-scatter: only the owner of a part needs it */
} ReplicatedReduce;

/* First member of the options of every strategy of this runtime. */
typedef struct
{
  double   bucket_bytes;
  gboolean overlap_comm;
  gint     gradient_dtype; /* GradientDtype */
} ReplicatedOptions;

typedef enum
{
  GRADIENT_AUTO, /* as computed */
  GRADIENT_FP32, /* an fp32 buffer into which every micro-step adds what it computed (Megatron-LM's
                    main gradients) */
  /*
   * The same, and the gradients as computed stay beside it until the next micro-step makes its own
   * (DeepSpeed's BF16_Optimizer under its pipeline engine: deepspeed/runtime/pipe/engine.py,
   * _exec_backward_pass, update_hp_grads (clear_lp_grads=False)).
   */
  GRADIENT_FP32_BESIDE,
} GradientDtype;

#define REPLICATED_GRADIENT_DTYPE(struct_, member_)                                              \
  {                                                                                              \
    .key = "gradient_dtype", .type = OPTION_ENUM, .choices = replicated_gradient_choices,        \
    .offset = G_STRUCT_OFFSET (struct_, member_), .fallback = "auto",                            \
    .help =                                                                                      \
        "type of the gradients that are kept and (unless reduce_dtype says otherwise) reduced; " \
        "auto: as computed; fp32-beside: those of the last micro-step stay beside them",         \
    .source =                                                                                    \
        "Megatron-LM, --accumulate-allreduce-grads-in-fp32; deepspeed/runtime/bf16_optimizer.py" \
  }

extern const char *const replicated_gradient_choices[];

typedef struct
{
  ReplicatedReduce reduce;
  gboolean         sharded_optimizer;
  StreamRef        stream;
  CommRef          comm[2];    /* of each kind of unit: see unit_groups */
  guint64          bucket[2];  /* elements waiting to be reduced */
  GArray          *waiting[2]; /* guint: the units whose they are */
  BufferRef        parameters, gradients;
  BufferRef        computed;     /* the gradient of the unit at hand, where another one is kept */
  BufferRef        all_computed; /* those of all units, where they stay beside the others */
} ReplicatedState;

void replicated_init (StrategyRun *run);
void replicated_clear (StrategyRun *run);
void replicated_step_begin (StrategyRun *run);
void replicated_backward_begin (StrategyRun *run, const UnitSlot *slot);
void replicated_backward_end (StrategyRun *run, const UnitSlot *slot);
void replicated_micro_step_end (StrategyRun *run);
void replicated_step_end (StrategyRun *run);

#define REPLICATED_HOOKS(init_, step_end_)                                                     \
  {                                                                                            \
    .state_size = sizeof (ReplicatedState), .granularity = UNIT_MODULE, .init = init_,         \
    .clear = replicated_clear, .step_begin = replicated_step_begin,                            \
    .unit_backward_begin = replicated_backward_begin,                                          \
    .unit_backward_end = replicated_backward_end, .micro_step_end = replicated_micro_step_end, \
    .step_end = step_end_,                                                                     \
  }

gboolean     replicated_expect (const PlanInput *in, gconstpointer opt, ReplicatedReduce reduce,
                                gboolean sharded_optimizer, PlanTotals *totals);
guint64      replicated_resident (const PlanInput *in, gconstpointer opt);
PlanGradient replicated_gradient (const PlanInput *in, gconstpointer opt);
