/* The runtime of strategies that keep whole parameters on every rank and reduce gradients in buckets. */
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
} ReplicatedOptions;

typedef struct
{
  ReplicatedReduce reduce;
  gboolean         sharded_optimizer;
  StreamRef        stream;
  CommRef          comm;
  guint64          bucket; /* elements waiting to be reduced */
} ReplicatedState;

void replicated_init (StrategyRun *run);
void replicated_backward_end (StrategyRun *run, const UnitSlot *slot);
void replicated_micro_step_end (StrategyRun *run);
void replicated_step_end (StrategyRun *run);

#define REPLICATED_HOOKS(init_, step_end_)                                                     \
  {                                                                                            \
    .state_size = sizeof (ReplicatedState), .granularity = UNIT_MODULE, .init = init_,         \
    .unit_backward_end = replicated_backward_end, .micro_step_end = replicated_micro_step_end, \
    .step_end = step_end_,                                                                     \
  }

gboolean replicated_expect (const PlanInput *in, gconstpointer opt, ReplicatedReduce reduce,
                            gboolean sharded_optimizer, PlanTotals *totals);
guint64  replicated_resident (const PlanInput *in, gconstpointer opt);
