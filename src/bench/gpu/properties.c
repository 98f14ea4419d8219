/* What the device says of itself, which other measurements are read against. */
#ifdef BENCH_CUDA

#include "bench/benchmarks.h"
#include "bench/gpu/cuda.h"

bool
bench_property (Bench *bench)
{
  size_t now, total;
  int    device, sms, l2_bytes;

  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaMemGetInfo (&now, &total));
  CUDA_TRY (cudaDeviceGetAttribute (&sms, cudaDevAttrMultiProcessorCount, device));
  CUDA_TRY (cudaDeviceGetAttribute (&l2_bytes, cudaDevAttrL2CacheSize, device));

  const struct
  {
    const char *variant;
    double      value;
    const char *unit;
  } properties[] = {
    { "total_memory", (double) total, "B" },
    { "free_memory", (double) cuda_first_free (), "B" },
    { "sms", sms, "count" },
    { "l2_bytes", l2_bytes, "B" },
  };

  for (unsigned i = 0; i < sizeof properties / sizeof *properties; i++)
    {
      const double value = properties[i].value;
      const Result result = { .benchmark = bench->name,
                              .variant = properties[i].variant,
                              .repeats = 1,
                              .value = value,
                              .low = value,
                              .high = value,
                              .unit = properties[i].unit };

      if (!results_add (bench->results, &result))
        return false;
    }
  return true;
}

#endif
