/* What a bucket of PowerSGD emits: kernels, buffers, collectives; powersgd.c has their order. */
#pragma once

#include "strategy/compression-private.h"
#include "strategy/layer-ranks.h"

/* A matrix of a tensor's first dimension and all others, and its rank. */
typedef struct
{
  guint64 n, m, rank;
} Factor;

typedef struct
{
  StrategyRun            *run;
  const CompressedBucket *bucket;
  GArray                 *factors; /* Factor: of what is compressed */
  Dtype                   dtype;
  guint                   size; /* bytes of an element */
  guint64                 rest, p, q;
  BufferRef               clone, rest_buffer, p_buffer, q_buffer;
  StreamRef               stream; /* that takes what is emitted now */
} PowersgdBucket;

typedef enum
{
  PRODUCT_P,
  PRODUCT_Q,
  PRODUCT_M,
} Product;

BufferRef powersgd_take (PowersgdBucket *self, guint64 elements, const char *label);
void      powersgd_give (PowersgdBucket *self, BufferRef buffer); /* or SCHEDULE_NONE */

/* A pass that reads READ and writes WRITTEN elements. */
void powersgd_pass (PowersgdBucket *self, const char *name, double read, double written,
                    guint launches);

/*
 * The op emitted last does ACCESS to: the gradients, a buffer of the bucket, what lives from step
 * to step (the parts of the bucket's units), P or Q in BUFFER.
 */
void powersgd_use (PowersgdBucket *self, ScheduleAccess access);
void powersgd_use_kept (PowersgdBucket *self, BufferRef buffer, ScheduleAccess access);
void powersgd_use_buffer (PowersgdBucket *self, BufferRef buffer, ScheduleAccess access);
void powersgd_use_factors (PowersgdBucket *self, BufferRef buffer, ScheduleAccess access);

/* Errors of the last step are added to the gradients, which are cloned; new ones are kept. */
void powersgd_add_errors (PowersgdBucket *self);
void powersgd_keep_errors (PowersgdBucket *self);

/* Gram-Schmidt of all P (LEFT) or Q, which are in BUFFER. */
void powersgd_orthogonalise (PowersgdBucket *self, BufferRef buffer, gboolean left);
void powersgd_multiply (PowersgdBucket *self, Product which);
void powersgd_sum (PowersgdBucket *self, guint64 elements, const char *label);

/* L-GreCo's sum over gradients; its choice, behind the optimizer's step. */
void powersgd_add_to_sums (PowersgdBucket *self);
void powersgd_choose_ranks (StrategyRun *run, guint kind, const CompressorPlan *plan,
                            BufferRef sums);
