/*
 * Updated parameters that are gathered bucket by bucket behind the forward pass of a step's first
 * micro-batch. Buckets are those of the gradients: from the last unit of a chunk on, closed with
 * the unit that fills them. The first use of a bucket gathers it if nobody has, waits, and sends
 * the one after it on its way. Source: megatron/core/distributed/param_and_grad_buffer.py,
 * finish_param_sync.
 */
#pragma once

#include "driver/policy/strategy.h"

typedef struct
{
  StreamRef  stream;
  BufferRef  parameters; /* of all units */
  GPtrArray *buckets[2]; /* ParameterBucket, of each kind of unit: the last one of a pass first */
  guint     *bucket_of;  /* [unit]: among those of its kind */
} BucketGathers;

/* SIZE: elements that close a bucket. To be cleared. */
void bucket_gathers_init (BucketGathers *self, StrategyRun *run, double size, BufferRef parameters);
void bucket_gathers_clear (BucketGathers *self);

void bucket_gathers_begin_step (BucketGathers *self);
/* UNIT, which owns parameters, is used. */
void bucket_gathers_use (BucketGathers *self, StrategyRun *run, guint unit);
