/*
 * What every NCCL benchmark needs: communicators over all ranks, each with a stream and a pair of
 * buffers; operations on them; times of them, alone and beside something else.
 *
 * Buffers hold random data that every rank can compute for every other (nccl-data.h). They are
 * larger than the caches, and calls of less go through them at rotating offsets, as nccl-tests' do,
 * so that no call finds its data in a cache.
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/cuda.h"
#include "bench/nccl-text.h"
#include "bench/nccl-watch.h"

#define NCCL_SESSION_MAX NCCL_WATCH_MAX

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
  unsigned     n, channels; /* communicators; channels forced on them, 0: NCCL's choice */
  ncclComm_t   comms[NCCL_SESSION_MAX];
  cudaStream_t streams[NCCL_SESSION_MAX];
  char        *send[NCCL_SESSION_MAX], *recv[NCCL_SESSION_MAX];
  size_t       bytes;   /* of each buffer */
  char        *pattern; /* on the device: NCCL_DATA_PERIOD elements of this rank's data */
  float       *scratch; /* one value, for aligning */
  cudaEvent_t  aligned, begin[2], end[2];
} NcclSession;

/*
 * N communicators over all ranks with CHANNELS channels each (0: NCCL's choice) and buffers for
 * operations of up to *BYTES, which is lowered to what fits on every GPU, with a note. All ranks
 * call it. FALSE: close it all the same. GOOD false: a call has failed, and communicators are
 * aborted rather than destroyed, which would wait for the other ranks. CLOSE returns GOOD, or false
 * where destroying fails.
 */
bool nccl_session_open (NcclSession *self, Bench *bench, unsigned n, unsigned channels,
                        uint64_t *bytes);
bool nccl_session_close (NcclSession *self, bool good);

/* The library's version, "2.28.9". */
const char *nccl_version_text (char *text, size_t size);

/* Fills every buffer with TYPE's values. */
bool nccl_session_fill (NcclSession *self, const NcclType *type);

/* ---- operations ------------------------------------------------------------------------------ */

typedef struct
{
  bool self; /* every rank sends to itself and receives from itself, distinct buffers; else KIND */
  TestKind        kind;
  uint64_t        count; /* elements, as nccl-tests counts them */
  const NcclType *type;
  bool            in_place;
  unsigned        slot;    /* communicator, stream and buffers */
  size_t          stride;  /* bytes from one offset to the next (nccl_op_set_count) */
  unsigned        offsets; /* how many there are */
} NcclOp;

/* COUNT for S as near to BYTES as it goes, and the offsets. *BYTES becomes S. */
void nccl_op_set_bytes (const NcclSession *self, NcclOp *op, uint64_t *bytes);

/* What a message names: "ncclAllReduce". */
const char *nccl_op_call (const NcclOp *op);

/* "all_reduce", "self_sendrecv". */
const char *nccl_op_name (const NcclOp *op);

/* Puts call number I on the operation's stream. */
bool nccl_op_launch (NcclSession *self, const NcclOp *op, unsigned i);

/* ---- times ----------------------------------------------------------------------------------- */

/* Something that is put on a stream again and again. */
typedef struct
{
  bool (*launch) (NcclSession *session, void *user, unsigned i);
  void        *user;
  cudaStream_t stream;
  const char  *call;  /* that a message names */
  double       alone; /* s of one, set by timing it alone; the same on all ranks */
} NcclLoad;

NcclLoad nccl_load_of_op (NcclSession *self, NcclOp *op);

/*
 * Times SUBJECT, alone (OTHER NULL) or while OTHER runs all the time: RESULT gets median,
 * percentiles and repeats of one call's time, a sample being the mean over the ranks, as nccl-tests
 * has it. Every rank makes the same number of calls: the options', but no more than take about 0.2
 * s a repeat. *COVERED (may be NULL where OTHER is): OTHER could be kept running until SUBJECT's
 * last call had ended; where not, RESULT is not set.
 */
bool nccl_time (NcclSession *self, NcclLoad *subject, NcclLoad *other, bool *covered,
                Result *result);

/* Waits for the streams; FALSE after a message that names CALL. */
bool nccl_session_wait (NcclSession *self, const char *call);

/* Numbers of LIST ("0,4,16"), or of OTHERWISE where it is NULL; their number, at most MAX. */
unsigned nccl_parse_channels (const Bench *bench, const char *list, const char *otherwise,
                              unsigned *out, unsigned max);

#endif
