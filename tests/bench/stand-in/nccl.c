/*
 * Ranks are processes that meet in a file under $TMPDIR. A call returns when all ranks have made it
 * and the data has moved.
 */
#include <fcntl.h>
#include <math.h>
#include <nccl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stand-in.h"

#define ENTER(name)                  \
  do                                 \
    if (stand_in_fails (name))       \
      return ncclUnhandledCudaError; \
  while (0)

#define MAX_RANKS 8
#define PIECE     (1u << 20)
#define MAX_PAIRS (2 * MAX_RANKS)

/* What all ranks see. */
typedef struct
{
  atomic_uint arrived, generation;
  double      clock[MAX_RANKS];
  size_t      bytes[MAX_RANKS];
  char        data[MAX_RANKS][PIECE];
} Meeting;

struct ncclComm
{
  int      rank, n;
  Meeting *meeting;
};

typedef struct
{
  ncclComm_t   comm;
  cudaStream_t stream;
  char        *buffer;
  size_t       bytes;
  int          peer;
} Message;

static Message  sends[MAX_PAIRS], recvs[MAX_PAIRS];
static unsigned n_sends, n_recvs, depth;

/* ---- meeting --------------------------------------------------------------------------------- */

static void
barrier (struct ncclComm *comm)
{
  Meeting *m = comm->meeting;
  unsigned generation = atomic_load (&m->generation);

  if (atomic_fetch_add (&m->arrived, 1) + 1 == (unsigned) comm->n)
    {
      atomic_store (&m->arrived, 0);
      atomic_fetch_add (&m->generation, 1);
      return;
    }
  while (atomic_load (&m->generation) == generation)
    sched_yield ();
}

/* All ranks' operation on STREAM begins when the last of them is ready, and takes SECONDS. */
static void
advance (struct ncclComm *comm, cudaStream_t stream, double seconds)
{
  Meeting *m = comm->meeting;
  double   start = 0;

  m->clock[comm->rank] = stand_in_clock (stream);
  barrier (comm);
  for (int i = 0; i < comm->n; i++)
    start = fmax (start, m->clock[i]);
  barrier (comm);
  stand_in_wait_until (stream, start);
  stand_in_run (stream, ENGINE_NCCL, seconds);
}

static double
time_of (double bytes_sent, double bytes_copied, int n)
{
  return n > 1 ? STAND_IN_NCCL_START + bytes_sent / STAND_IN_NCCL_LINK
               : STAND_IN_KERNEL + 2 * bytes_copied / STAND_IN_HBM;
}

/* ---- values ---------------------------------------------------------------------------------- */

static size_t
size_of (ncclDataType_t type)
{
  switch (type)
    {
    case ncclFloat32:
      return 4;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    default:
      return 1;
    }
}

static float
half_value (uint16_t half)
{
  int   exponent = half >> 10 & 31;
  float fraction = (float) (half & 1023);
  float value = exponent == 0 ? ldexpf (fraction, -24) : ldexpf (1024 + fraction, exponent - 25);

  return half & 0x8000 ? -value : value;
}

/* To the nearest; VALUE is far from the largest. */
static uint16_t
half_of (float value)
{
  uint16_t sign = signbit (value) ? 0x8000 : 0;
  int      exponent;
  long     fraction;

  if (fabsf (value) < 0x1p-14f)
    return (uint16_t) (sign | lrintf (ldexpf (fabsf (value), 24)));
  fraction = lrintf (ldexpf (frexpf (fabsf (value), &exponent), 11));
  return (uint16_t) (sign + ((exponent + 14) << 10) + fraction - 1024); /* a carry: exponent + 1 */
}

static float
value_at (const char *data, size_t i, ncclDataType_t type)
{
  uint16_t half;
  uint32_t word;
  float    value;

  if (type == ncclFloat32)
    {
      memcpy (&value, data + 4 * i, 4);
      return value;
    }
  memcpy (&half, data + 2 * i, 2);
  if (type == ncclFloat16)
    return half_value (half);
  word = (uint32_t) half << 16;
  memcpy (&value, &word, 4);
  return value;
}

static void
set_value (char *data, size_t i, ncclDataType_t type, float value)
{
  uint32_t word;
  uint16_t half;

  memcpy (&word, &value, 4);
  half =
      type == ncclFloat16 ? half_of (value) : (uint16_t) ((word + 0x7fff + (word >> 16 & 1)) >> 16);
  if (type == ncclFloat32)
    memcpy (data + 4 * i, &value, 4);
  else
    memcpy (data + 2 * i, &half, 2);
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* OUT is the sum over the ranks of BYTES at IN; OUT NULL: this rank wants none. */
static void
reduce (struct ncclComm *comm, const char *in, char *out, size_t bytes, ncclDataType_t type)
{
  Meeting *m = comm->meeting;

  for (size_t at = 0; at < bytes; at += PIECE)
    {
      size_t piece = bytes - at < PIECE ? bytes - at : PIECE;

      memcpy (m->data[comm->rank], in + at, piece);
      barrier (comm);
      for (size_t i = 0; out != NULL && i < piece / size_of (type); i++)
        {
          float sum = 0;

          for (int r = 0; r < comm->n; r++)
            sum += value_at (m->data[r], i, type);
          set_value (out + at, i, type, sum);
        }
      barrier (comm);
    }
}

/* Rank FROM's BYTES at IN come to OUT (NULL: not here). FROM -1: all ranks', concatenated. */
static void
spread (struct ncclComm *comm, const char *in, char *out, size_t bytes, int from)
{
  Meeting *m = comm->meeting;

  for (size_t at = 0; at < bytes; at += PIECE)
    {
      size_t piece = bytes - at < PIECE ? bytes - at : PIECE;

      if (from < 0 || from == comm->rank)
        memcpy (m->data[comm->rank], in + at, piece);
      barrier (comm);
      for (int r = 0; out != NULL && r < comm->n; r++)
        if (from < 0 || from == r)
          memcpy (out + (from < 0 ? (size_t) r * bytes : 0) + at, m->data[r], piece);
      barrier (comm);
    }
}

/* ---- communicators --------------------------------------------------------------------------- */

ncclResult_t
ncclGetVersion (int *version)
{
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char *
ncclGetErrorString (ncclResult_t result)
{
  return result == ncclSuccess ? "no error" : "unhandled cuda error";
}

const char *
ncclGetLastError (ncclComm_t comm)
{
  (void) comm;
  return "the stand-in was told to fail";
}

ncclResult_t
ncclGetUniqueId (ncclUniqueId *id)
{
  const char *folder = getenv ("TMPDIR");
  int         file;

  ENTER ("ncclGetUniqueId");
  memset (id, 0, sizeof *id);
  snprintf (id->internal, sizeof id->internal, "%s/stand-in-XXXXXX",
            folder != NULL ? folder : "/tmp");
  file = mkstemp (id->internal);
  if (file < 0 || ftruncate (file, sizeof (Meeting)) != 0)
    return ncclSystemError;
  close (file);
  return ncclSuccess;
}

ncclResult_t
ncclCommInitRankConfig (ncclComm_t *comm, int n, ncclUniqueId id, int rank, ncclConfig_t *config)
{
  int file;

  (void) config;
  ENTER ("ncclCommInitRankConfig");
  file = open (id.internal, O_RDWR);
  if (file < 0 || n > MAX_RANKS)
    return ncclInvalidArgument;
  *comm = calloc (1, sizeof **comm);
  (*comm)->rank = rank;
  (*comm)->n = n;
  (*comm)->meeting = mmap (NULL, sizeof (Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close (file);
  barrier (*comm);
  if (rank == 0)
    unlink (id.internal);
  stand_in_count ("communicators", 1);
  return ncclSuccess;
}

ncclResult_t
ncclCommGetAsyncError (ncclComm_t comm, ncclResult_t *result)
{
  (void) comm;
  *result = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t
ncclCommAbort (ncclComm_t comm)
{
  munmap (comm->meeting, sizeof (Meeting));
  free (comm);
  stand_in_count ("communicators", -1);
  return ncclSuccess;
}

ncclResult_t
ncclCommDestroy (ncclComm_t comm)
{
  ENTER ("ncclCommDestroy");
  return ncclCommAbort (comm);
}

/* ---- collectives ----------------------------------------------------------------------------- */

ncclResult_t
ncclAllReduce (const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
               ncclComm_t comm, cudaStream_t stream)
{
  double bytes = (double) (count * size_of (type));

  (void) op;
  ENTER ("ncclAllReduce");
  reduce (comm, send, recv, count * size_of (type), type);
  advance (comm, stream, time_of (2 * bytes * (comm->n - 1) / comm->n, bytes, comm->n));
  return ncclSuccess;
}

ncclResult_t
ncclReduceScatter (const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                   ncclComm_t comm, cudaStream_t stream)
{
  size_t bytes = count * size_of (type);
  char  *own = malloc (bytes); /* in place: the result lies in what others still want */

  (void) op;
  ENTER ("ncclReduceScatter");
  for (int r = 0; r < comm->n; r++)
    reduce (comm, (const char *) send + (size_t) r * bytes, r == comm->rank ? own : NULL, bytes,
            type);
  memcpy (recv, own, bytes);
  free (own);
  advance (comm, stream, time_of ((double) bytes * (comm->n - 1), (double) bytes, comm->n));
  return ncclSuccess;
}

ncclResult_t
ncclAllGather (const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
               cudaStream_t stream)
{
  size_t bytes = count * size_of (type);

  ENTER ("ncclAllGather");
  spread (comm, send, recv, bytes, -1);
  advance (comm, stream, time_of ((double) bytes * (comm->n - 1), (double) bytes, comm->n));
  return ncclSuccess;
}

ncclResult_t
ncclBroadcast (const void *send, void *recv, size_t count, ncclDataType_t type, int root,
               ncclComm_t comm, cudaStream_t stream)
{
  size_t bytes = count * size_of (type);

  ENTER ("ncclBroadcast");
  spread (comm, send, recv, bytes, root);
  advance (comm, stream, time_of ((double) bytes, (double) bytes, comm->n));
  return ncclSuccess;
}

/* ---- messages -------------------------------------------------------------------------------- */

ncclResult_t
ncclGroupStart (void)
{
  depth++;
  return ncclSuccess;
}

ncclResult_t
ncclSend (const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
          cudaStream_t stream)
{
  ENTER ("ncclSend");
  if (depth == 0 || n_sends == MAX_PAIRS)
    return ncclInvalidUsage;
  sends[n_sends++] =
      (Message){ comm, stream, (char *) (size_t) send, count * size_of (type), peer };
  return ncclSuccess;
}

ncclResult_t
ncclRecv (void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
          cudaStream_t stream)
{
  ENTER ("ncclRecv");
  if (depth == 0 || n_recvs == MAX_PAIRS)
    return ncclInvalidUsage;
  recvs[n_recvs++] = (Message){ comm, stream, recv, count * size_of (type), peer };
  return ncclSuccess;
}

static const Message *
message_of (const Message *list, unsigned n, int peer)
{
  for (unsigned i = 0; i < n; i++)
    if (list[i].peer == peer)
      return &list[i];
  return NULL;
}

/* Every rank's message to the rank SHIFT behind it. */
static void
pass_round (struct ncclComm *comm, int shift)
{
  Meeting       *m = comm->meeting;
  int            from = (comm->rank + comm->n - shift) % comm->n;
  const Message *send = message_of (sends, n_sends, (comm->rank + shift) % comm->n);
  const Message *recv = message_of (recvs, n_recvs, from);
  size_t         longest = 0;

  m->bytes[comm->rank] = send != NULL ? send->bytes : 0;
  barrier (comm);
  for (int r = 0; r < comm->n; r++)
    longest = m->bytes[r] > longest ? m->bytes[r] : longest;
  for (size_t at = 0; at < longest; at += PIECE)
    {
      if (send != NULL && at < send->bytes)
        memcpy (m->data[comm->rank], send->buffer + at,
                send->bytes - at < PIECE ? send->bytes - at : PIECE);
      barrier (comm);
      if (recv != NULL && at < recv->bytes)
        memcpy (recv->buffer + at, m->data[from],
                recv->bytes - at < PIECE ? recv->bytes - at : PIECE);
      barrier (comm);
    }
  barrier (comm);
}

ncclResult_t
ncclGroupEnd (void)
{
  struct ncclComm *comm;
  cudaStream_t     stream;
  double           bytes = 0, own = 0;

  if (depth == 0 || --depth > 0 || n_sends == 0)
    return ncclSuccess;
  comm = sends[0].comm;
  stream = sends[0].stream;
  for (unsigned i = 0; i < n_sends; i++)
    *(sends[i].peer == comm->rank ? &own : &bytes) += (double) sends[i].bytes;
  for (int shift = 0; shift < comm->n; shift++)
    pass_round (comm, shift);
  n_sends = n_recvs = 0;
  advance (comm, stream, time_of (bytes, own, comm->n));
  return ncclSuccess;
}
