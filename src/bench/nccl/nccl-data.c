#ifdef BENCH_CUDA

#include "bench/nccl/nccl-data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
nccl_data_fill (NcclSession *self, const NcclType *type, void *device, uint64_t elements)
{
  const Bench *bench = self->bench;
  char        *to = device;

  for (uint64_t done = 0; done < elements; done += NCCL_DATA_PERIOD)
    {
      const uint64_t n = elements - done < NCCL_DATA_PERIOD ? elements - done : NCCL_DATA_PERIOD;

      CUDA_TRY (cudaMemcpyAsync (to + done * type->size, self->pattern, n * type->size,
                                 cudaMemcpyDeviceToDevice, self->stream));
    }
  return true;
}

#endif
