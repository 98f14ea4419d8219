/* Properties of the device that other measurements are read against. */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include "bench/cuda.h"

static bool
add (const Bench *bench, const char *variant, double value, const char *unit)
{
  Result result = { .benchmark = bench->name,
                    .variant = variant,
                    .repeats = 1,
                    .value = value,
                    .low = value,
                    .high = value,
                    .unit = unit };

  return results_add (bench->results, &result);
}

static bool
add_attribute (const Bench *bench, int device, const char *variant, enum cudaDeviceAttr attribute,
               const char *unit)
{
  int value;

  CUDA_TRY (cudaDeviceGetAttribute (&value, attribute, device));
  return add (bench, variant, value, unit);
}

static bool
run (Bench *bench)
{
  size_t now, total;
  int    device, major, minor;

  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaMemGetInfo (&now, &total));
  CUDA_TRY (cudaDeviceGetAttribute (&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_TRY (cudaDeviceGetAttribute (&minor, cudaDevAttrComputeCapabilityMinor, device));
  return add (bench, "total_memory", (double) total, "B")
         && add (bench, "free_memory", (double) cuda_first_free (), "B")
         && add_attribute (bench, device, "sms", cudaDevAttrMultiProcessorCount, "count")
         && add (bench, "capability", 10 * major + minor, "count")
         && add_attribute (bench, device, "l2_bytes", cudaDevAttrL2CacheSize, "B")
         && add_attribute (bench, device, "clock_max", cudaDevAttrClockRate, "count");
}

const Benchmark benchmark_property = {
  .name = "property",
  .title = "memory, SMs, L2 and clock of the device, as the driver names them",
  .needs = NEEDS_CUDA,
  .in_all = true,
  .run = run,
};

#endif
