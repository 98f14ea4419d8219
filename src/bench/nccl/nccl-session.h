/*
 * A communicator over all ranks with a stream and a pair of buffers, operations on it, and times of
 * them.
 *
 * Buffers hold random data that every rank can compute for every other (nccl-data.h). They are
 * larger than the caches, and calls of less go through them at rotating offsets, as nccl-tests' do,
 * so that no call finds its data in a cache.
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/gpu/cuda.h"
#include "bench/nccl/nccl-text.h"
#include "bench/nccl/nccl-watch.h"

typedef struct
{
  const char    *name; /* "fp32" */
  const char    *text; /* nccl-tests' name: "float" */
  ncclDataType_t type;
  size_t         size;
  unsigned       significand; /* bits, the hidden one included */
} NcclType;

#define NCCL_N_TYPES 3
extern const NcclType nccl_types[NCCL_N_TYPES]; /* fp32 first */

/* Plain data, read by all, written by this module. */
typedef struct
{
  Bench            *bench;
  const WorldPlace *place;
  NcclWatch        *watch;
  TestDevice        device;
  unsigned          ranks_on_gpu; /* the most on any GPU */
  char         remark[128]; /* of every result: "one rank", "several ranks on one GPU; ...", "" */
  unsigned     channels;    /* forced on the communicator; 0: NCCL's choice */
  ncclComm_t   comm;
  cudaStream_t stream;
  char        *send, *recv;
  size_t       bytes;   /* of each buffer */
  char        *pattern; /* on the device: NCCL_DATA_PERIOD elements of this rank's data */
  float       *scratch; /* one value, for aligning */
  cudaEvent_t  begin, end;
} NcclSession;

/*
 * A communicator over all ranks with CHANNELS channels (0: NCCL's choice) and buffers for
 * operations of up to *BYTES, which is lowered to what fits on every GPU, with a note. All ranks
 * call it. FALSE: close it all the same. GOOD false: a call has failed, and the communicator is
 * aborted rather than destroyed, which would wait for the other ranks. CLOSE returns GOOD, or false
 * where destroying fails.
 */
bool nccl_session_open (NcclSession *self, Bench *bench, unsigned channels, uint64_t *bytes);
bool nccl_session_close (NcclSession *self, bool good);

/* Fills every buffer with TYPE's values. */
bool nccl_session_fill (NcclSession *self, const NcclType *type);

/* ---- operations ------------------------------------------------------------------------------ */

typedef struct
{
  TestKind        kind;
  uint64_t        count; /* elements, as nccl-tests counts them */
  const NcclType *type;
  bool            in_place;
  size_t          stride;  /* bytes from one offset to the next (nccl_op_set_bytes) */
  unsigned        offsets; /* how many there are */
} NcclOp;

/* COUNT for S as near to BYTES as it goes, and the offsets. *BYTES becomes S. */
void nccl_op_set_bytes (const NcclSession *self, NcclOp *op, uint64_t *bytes);

/* What a message names: "ncclAllReduce". */
const char *nccl_op_call (const NcclOp *op);

/* Puts call number I on the stream. */
bool nccl_op_launch (NcclSession *self, const NcclOp *op, unsigned i);

/*
 * Times OP: RESULT gets median, percentiles and repeats of one call's time, a sample being the mean
 * over the ranks, as nccl-tests has it. Every rank makes the same number of calls: the options',
 * but no more than take about 0.2 s a repeat.
 */
bool nccl_time (NcclSession *self, const NcclOp *op, Result *result);

/* Waits for the stream; FALSE after a message that names CALL. */
bool nccl_session_wait (NcclSession *self, const char *call);

#endif
