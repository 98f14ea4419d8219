/*
 * What a plan's input says of groups, gradients and periods: input.c and strategy.c. Who emits
 * (driver-private.h) and the closed forms (expect-private.h) both read it, so it holds no sum.
 */
#pragma once

#include "driver/policy/strategy.h"

/* The gradient of a parameter as a rank holds it at the end of a step. */
typedef struct
{
  Dtype dtype;
  guint ranks; /* that share it */
} PlanGradient;

/* Under POLICY; NULL: whole, in compute precision. */
PlanGradient plan_gradient (const PlanInput *in, const Policy *policy);

/* STRATEGY's exchange under IN, whose `round_steps` cuts it. */
void strategy_exchange (const Strategy *strategy, const PlanInput *in, gconstpointer options,
                        Exchange *exchange);

/*
 * STRATEGY's own period, 1 unless it says otherwise: training steps between two exchanges, or
 * periods of its inner strategy.
 */
guint strategy_own_period (const Strategy *strategy, const PlanInput *in, gconstpointer options);

/*
 * Training steps after which all repeats: of STRATEGY's OWN period around an inner one of INNER
 * steps. Exchanges count training steps, so theirs is the least common multiple.
 */
guint64 strategy_join_periods (const Strategy *strategy, guint own, guint64 inner);

/* What the inner strategy of STRATEGY spans: the same as itself unless it says otherwise. */
void strategy_narrow_input (const Strategy *strategy, const PlanInput *in, gconstpointer options,
                            PlanInput *inner);

/* The ranks of an axis, and those of a collective among the kernels: KERNEL's, of a set of them. */
MeshGroup plan_axis_group (const PlanInput *in, MeshAxis axis);
MeshGroup plan_kernel_group (const PlanInput *in, const KernelDesc *kernel);

/* Whether activations travel in parts, one a tensor rank. */
gboolean plan_scatters (const Workload *workload);

/*
 * What a sample has of each token, and its loader tells others: PyTorch's int64 and fp32 tensors,
 * counts of sequences and their lengths int32, the count of groups int64 (Megatron-LM,
 * core/datasets/data_schedule.py and core/pipeline_parallel/hybrid_cp_schedule.py).
 */
#define PLAN_NUMBER_BYTES  4
#define PLAN_COUNT_BYTES   8
#define PLAN_N_SAMPLE_KEYS 4

typedef struct
{
  const char *name;
  guint       bytes;
} PlanSampleKey;

extern const PlanSampleKey plan_sample_keys[PLAN_N_SAMPLE_KEYS];
