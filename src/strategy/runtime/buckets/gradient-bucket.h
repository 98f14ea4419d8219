/*
 * DeepSpeed's bucket of gradients: one that is complete is copied in, and when the next one would
 * not fit, all that the bucket holds is reduced. A gradient larger than the bucket is reduced from
 * where it is. Source: deepspeed/runtime/zero/stage3.py, stage_1_and_2.py
 * (reduce_independent_p_g_buckets_and_remove_grads).
 */
#pragma once

#include "driver/policy/strategy.h"

typedef struct _GradientBucket GradientBucket;

struct _GradientBucket
{
  StreamRef stream;         /* on which gradients are copied and reduced */
  guint64   size;           /* elements that it holds */
  BufferRef buffer;         /* where; the owner's */
  BufferRef oversized;      /* a gradient larger than the bucket, waiting to be reduced */
  GArray   *waiting;        /* guint: units whose gradients it holds */
  guint64   elements;       /* of them */
  gboolean  first, last;    /* micro-step of the step */
  EventRef  outstanding[3]; /* the last reductions of the step, */
  guint     most;           /* of which so many may be under way when the next one is issued */
  void (*reduce) (StrategyRun *run, const GradientBucket *self); /* emits the reduction */
};

void gradient_bucket_init (GradientBucket *self, StreamRef stream, guint64 size);
void gradient_bucket_clear (GradientBucket *self);
void gradient_bucket_begin_step (GradientBucket *self);

/* GRADS of SLOT's unit, which is the bucket's from now on. */
void gradient_bucket_add (GradientBucket *self, StrategyRun *run, const UnitSlot *slot,
                          BufferRef grads);
void gradient_bucket_flush (GradientBucket *self, StrategyRun *run);

/* Where the gradients are that are being reduced. */
BufferRef gradient_bucket_source (const GradientBucket *self);

/* The op emitted last does ACCESS to the part of BUFFER of each unit that waits. */
void gradient_bucket_uses (const GradientBucket *self, StrategyRun *run, BufferRef buffer,
                           ScheduleAccess access);

/*
 * Gives BUFFER back when STREAM has passed its last use. On the compute stream that is now, in host
 * order: the next use there comes later.
 */
void free_behind (StrategyRun *run, BufferRef buffer, StreamRef stream);

/* EVENT joins the last N, which are outstanding; the oldest goes: the host has waited for it. */
void push_outstanding (EventRef *outstanding, guint n, EventRef event);
