/* Does a call give what it must? */
#ifdef BENCH_CUDA

#include <math.h>

#include "bench/gpu/check.h"
#include "bench/nccl/nccl-data.h"

#define WINDOWS 16
#define WINDOW  32 /* elements */

/* What element AT of this rank's result must be, and how far off it may be. */
static double
expected (const NcclSession *self, const NcclOp *op, uint64_t at, double *tolerance)
{
  const unsigned ranks = self->place->size, rank = self->place->rank;
  double         sum = 0, magnitude = 0;

  *tolerance = 0;
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

static bool
compare (NcclSession *self, const NcclOp *op, uint64_t elements, int64_t *wrong)
{
  const Bench   *bench = self->bench;
  const size_t   size = op->type->size;
  const char    *result = self->recv; /* of a call at offset 0 */
  const uint64_t length = elements < WINDOW ? elements : WINDOW;
  uint64_t       seed = elements;
  unsigned char  window[WINDOW * 4];

  if (op->in_place && op->kind == TEST_REDUCE_SCATTER)
    result += self->place->rank * op->count * size;
  for (unsigned w = 0; w < WINDOWS; w++)
    {
      const uint64_t last = elements - length;
      const uint64_t begin = w == 0 ? 0 : w == 1 ? last : bench_random (&seed) % (last + 1);

      CUDA_TRY (cudaMemcpy (window, result + begin * size, length * size, cudaMemcpyDeviceToHost));
      for (uint64_t i = 0; i < length; i++)
        {
          double       tolerance;
          const double value = expected (self, op, begin + i, &tolerance);

          *wrong += !(fabs (check_decode (op->type->name, window + i * size) - value) <= tolerance);
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
  char        *in = op->in_place ? self->recv : self->send;

  CUDA_TRY (cudaMemsetAsync (self->recv, 0xff, (send > recv ? send : recv) * size, self->stream));
  if (op->in_place && op->kind == TEST_ALL_GATHER)
    in += self->place->rank * op->count * size;
  return nccl_data_fill (self, op->type, in, send);
}

bool
nccl_data_check (NcclSession *self, const NcclOp *op, int64_t *wrong)
{
  const unsigned ranks = self->place->size;
  const uint64_t send = test_collective_send_elements (op->kind, op->count, ranks);
  const uint64_t recv = test_collective_recv_elements (op->kind, op->count, ranks);
  double         mean;

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
  *wrong = (int64_t) llround (mean * ranks);
  return true;
}

#endif
