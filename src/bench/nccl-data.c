#ifdef BENCH_CUDA

#include "bench/nccl-data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINDOWS 16
#define WINDOW  32 /* elements */

/* ---- values ---------------------------------------------------------------------------------- */

double
nccl_data_value (const NcclType *type, unsigned rank, uint64_t index)
{
  uint64_t       seed = (uint64_t) rank << 32 | index % NCCL_DATA_PERIOD;
  const uint64_t bits = bench_random (&seed);

  if (type->significand == 24)
    return ((double) (bits >> 40) - 0x1p23) * 0x1p-23;
  return ((double) (bits >> 56) - 0x1p7) * 0x1p-7;
}

/* VALUE, which the type holds exactly and which is no subnormal of it, at OUT. */
static void
encode (const NcclType *type, double value, unsigned char *out)
{
  const float single = (float) value;
  uint32_t    word;
  uint16_t    half;

  memcpy (&word, &single, sizeof word);
  if (type->size == 4)
    {
      memcpy (out, &word, 4);
      return;
    }
  half = (uint16_t) (word >> 16);
  if (type->significand == 11)
    half = value == 0
               ? 0
               : (uint16_t) ((word >> 16 & 0x8000) | (((word & 0x7fffffff) >> 13) - (112u << 10)));
  memcpy (out, &half, 2);
}

static double
decode (const NcclType *type, const unsigned char *in)
{
  uint16_t half;
  uint32_t word;
  float    single;
  int      exponent;
  double   magnitude;

  memcpy (&word, in, type->size == 4 ? 4 : 2);
  if (type->size == 4 || type->significand == 8)
    {
      if (type->size == 2)
        {
          memcpy (&half, in, 2);
          word = (uint32_t) half << 16;
        }
      memcpy (&single, &word, sizeof single);
      return single;
    }
  memcpy (&half, in, 2);
  exponent = half >> 10 & 31;
  if (exponent == 31)
    return NAN; /* or infinite: wrong in any case */
  magnitude =
      exponent == 0 ? ldexp (half & 1023, -24) : ldexp (1024 + (half & 1023), exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

bool
nccl_data_upload (NcclSession *self, const NcclType *type)
{
  const Bench   *bench = self->bench;
  const size_t   bytes = NCCL_DATA_PERIOD * type->size;
  unsigned char *block = malloc (bytes);
  cudaError_t    error;

  if (block == NULL)
    {
      bench_error (bench, "malloc", "out of host memory: %zu bytes", bytes);
      return false;
    }
  for (uint64_t i = 0; i < NCCL_DATA_PERIOD; i++)
    encode (type, nccl_data_value (type, self->place->rank, i), block + i * type->size);
  error = cudaMemcpy (self->pattern, block, bytes, cudaMemcpyHostToDevice);
  free (block);
  if (error != cudaSuccess)
    return cuda_failed (bench, "cudaMemcpy", error);
  /*
   * From ordinary memory it may return before the data has arrived, and the session's streams do
   * not wait for it.
   */
  CUDA_TRY (cudaDeviceSynchronize ());
  return true;
}

bool
nccl_data_fill (NcclSession *self, const NcclType *type, void *device, uint64_t elements,
                cudaStream_t stream)
{
  const Bench *bench = self->bench;
  char        *to = device;

  for (uint64_t done = 0; done < elements; done += NCCL_DATA_PERIOD)
    {
      const uint64_t n = elements - done < NCCL_DATA_PERIOD ? elements - done : NCCL_DATA_PERIOD;

      CUDA_TRY (cudaMemcpyAsync (to + done * type->size, self->pattern, n * type->size,
                                 cudaMemcpyDeviceToDevice, stream));
    }
  return true;
}

/* ---- reference ------------------------------------------------------------------------------- */

/* What element AT of this rank's result must be, and how far off it may be. */
static double
expected (const NcclSession *self, const NcclOp *op, uint64_t at, double *tolerance)
{
  const unsigned ranks = self->place->size, rank = self->place->rank;
  double         sum = 0, magnitude = 0;

  *tolerance = 0;
  if (op->self)
    return nccl_data_value (op->type, rank, at);
  switch (op->kind)
    {
    case TEST_ALL_GATHER:
      return nccl_data_value (op->type, (unsigned) (at / op->count), at % op->count);
    case TEST_ALLTOALL:
      return nccl_data_value (op->type, (unsigned) (at / op->count),
                              rank * op->count + at % op->count);
    case TEST_BROADCAST:
      return nccl_data_value (op->type, 0, at);
    case TEST_SENDRECV:
      return nccl_data_value (op->type, (rank + ranks - 1) % ranks, at);
    default:
      break;
    }
  if (op->kind == TEST_REDUCE_SCATTER)
    at += rank * op->count;
  for (unsigned i = 0; i < ranks; i++)
    {
      const double value = nccl_data_value (op->type, i, at);

      sum += value;
      magnitude += fabs (value);
    }
  *tolerance = ranks > 1 ? ranks * ldexp (magnitude, -(int) op->type->significand) : 0;
  return sum;
}

/* Where the result of a call at offset 0 lies. */
static const char *
result_of (const NcclSession *self, const NcclOp *op)
{
  const char *recv = self->recv[op->slot];

  if (op->in_place && op->kind == TEST_REDUCE_SCATTER)
    recv += self->place->rank * op->count * op->type->size;
  return recv;
}

static bool
compare (NcclSession *self, const NcclOp *op, uint64_t elements, int64_t *wrong)
{
  const Bench   *bench = self->bench;
  const size_t   size = op->type->size;
  const char    *result = result_of (self, op);
  const uint64_t length = elements < WINDOW ? elements : WINDOW;
  uint64_t       seed = elements;
  unsigned char  window[WINDOW * 4];

  for (unsigned w = 0; w < WINDOWS; w++)
    {
      const uint64_t last = elements - length;
      const uint64_t begin = w == 0 ? 0 : w == 1 ? last : bench_random (&seed) % (last + 1);

      CUDA_TRY (cudaMemcpy (window, result + begin * size, length * size, cudaMemcpyDeviceToHost));
      for (uint64_t i = 0; i < length; i++)
        {
          double       tolerance;
          const double value = expected (self, op, begin + i, &tolerance);

          *wrong += !(fabs (decode (op->type, window + i * size) - value) <= tolerance);
        }
    }
  return true;
}

/* Fresh input; what is no input is NaN. */
static bool
prepare (NcclSession *self, const NcclOp *op, uint64_t send, uint64_t recv)
{
  const Bench *bench = self->bench;
  const size_t size = op->type->size;
  cudaStream_t stream = self->streams[op->slot];
  char        *in = self->recv[op->slot];

  CUDA_TRY (cudaMemsetAsync (in, 0xff, (send > recv ? send : recv) * size, stream));
  if (!op->in_place)
    return nccl_data_fill (self, op->type, self->send[op->slot], send, stream);
  if (op->kind == TEST_ALL_GATHER)
    in += self->place->rank * op->count * size;
  return nccl_data_fill (self, op->type, in, send, stream);
}

bool
nccl_data_check (NcclSession *self, const NcclOp *op, int64_t *wrong)
{
  const unsigned ranks = op->self ? 1 : self->place->size;
  const uint64_t send =
      op->self ? op->count : test_collective_send_elements (op->kind, op->count, ranks);
  const uint64_t recv =
      op->self ? op->count : test_collective_recv_elements (op->kind, op->count, ranks);
  double mean;

  *wrong = 0;
  nccl_watch_begin (self->watch, nccl_op_call (op));
  if (!prepare (self, op, send, recv) || !nccl_op_launch (self, op, 0)
      || !nccl_session_wait (self, nccl_op_call (op)) || !compare (self, op, recv, wrong)
      || !nccl_watch_end (self->watch))
    return false;
  mean = (double) *wrong;
  if (!world_mean (self->bench->world, &mean))
    {
      bench_error (self->bench, "world_mean", "another rank has ended, or does not answer");
      return false;
    }
  *wrong = (int64_t) llround (mean * self->place->size);
  return true;
}

#endif
