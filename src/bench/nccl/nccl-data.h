/*
 * Data of the NCCL benchmarks: element i of rank r is a hash of r and i modulo a prime, made into a
 * value of [-1, 1) that its type holds exactly, so that any rank can compute what a collective must
 * give without asking another.
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/nccl/nccl-session.h"

#define NCCL_DATA_PERIOD \
  1048573u /* elements; prime: a part that lands in the wrong place is seen */

/* Rank RANK's element INDEX. */
double nccl_data_value (const NcclType *type, unsigned rank, uint64_t index);

/* This rank's first NCCL_DATA_PERIOD elements at SELF's pattern. */
bool nccl_data_upload (NcclSession *self, const NcclType *type);

/* This rank's elements from 0 on at DEVICE, on the session's stream. */
bool nccl_data_fill (NcclSession *self, const NcclType *type, void *device, uint64_t elements);

/*
 * nccl-check.c: runs OP once on fresh data and looks at up to 512 elements of the result, at its
 * ends and in between: *WRONG is how many are not what they must be, over all ranks. Copies are
 * compared exactly; sums against the sum of doubles, within n u times the sum of magnitudes (n
 * ranks, unit roundoff u), the bound of n - 1 rounded additions in any order.
 */
bool nccl_data_check (NcclSession *self, const NcclOp *op, int64_t *wrong);

#endif
