/*
 * Sums that closed forms of one workload ask for again and again: every variant of every strategy
 * pads the same few layers. Who bounds many of them keeps the sums, and hands them over in
 * PlanInput.sums; without, each is computed anew. One thread at a time.
 */
#pragma once

#include "driver/oracle/expect.h"

ExpectSums *expect_sums_new (void);
void        expect_sums_free (ExpectSums *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ExpectSums, expect_sums_free)

/* From here on they are WORKLOAD's; what formats say of tensors stays, whose they were. */
void expect_sums_begin (ExpectSums *self, const Workload *workload);

/* FORMAT's formula. */
double expect_formula (const PlanInput *in, const ShardFormat *format, const TensorDesc *tensors,
                       guint n, guint m);

/* What a sum of a workload is of; all of it is compared. */
typedef enum
{
  SUM_PADDED,
  SUM_TRAINABLE,
  SUM_JOINED,
  SUM_JOINED_TRAINABLE,
  SUM_LARGEST_LAYER,
  SUM_LARGEST_MODULE,
  SUM_LARGEST_TRAINABLE,
} ExpectSumKind;

typedef struct
{
  ExpectSumKind      what;
  const ShardFormat *format;
  ExpectFilter       filter;
  guint              first, end, kind, m;
} ExpectSum;

/* Whether VALUE of SUM is known, of IN's workload. */
gboolean expect_sums_find (const PlanInput *in, const ExpectSum *sum, double *value);
/* Keeps VALUE, which it returns. */
double expect_sums_keep (const PlanInput *in, const ExpectSum *sum, double value);

/* What lives between the passes of IN's workload, at most: bytes on the GPU and on the host. */
typedef struct
{
  double gpu, host;
} ExpectKept;

gboolean expect_sums_find_kept (const PlanInput *in, ExpectKept *kept);
void     expect_sums_keep_kept (const PlanInput *in, ExpectKept kept);
