/* Every benchmark that is built in, in the order in which `all` runs them. */
#include "bench/bench.h"

extern const Benchmark benchmark_host_work;
extern const Benchmark benchmark_storage;

#ifdef BENCH_CUDA
extern const Benchmark benchmark_allocation;
extern const Benchmark benchmark_attention;
extern const Benchmark benchmark_check;
extern const Benchmark benchmark_codec_kernel;
extern const Benchmark benchmark_collective;
extern const Benchmark benchmark_collective_overlap;
extern const Benchmark benchmark_device_copy;
extern const Benchmark benchmark_event;
extern const Benchmark benchmark_host_copy;
extern const Benchmark benchmark_launch;
extern const Benchmark benchmark_matmul;
extern const Benchmark benchmark_overlap;
extern const Benchmark benchmark_pair;
extern const Benchmark benchmark_property;
extern const Benchmark benchmark_step;
extern const Benchmark benchmark_stream_kernel;
extern const Benchmark benchmark_strided_copy;
extern const Benchmark benchmark_triad;
#endif

#ifdef BENCH_MPI
extern const Benchmark benchmark_mpi_cache;
extern const Benchmark benchmark_mpi_collective;
extern const Benchmark benchmark_mpi_outer;
extern const Benchmark benchmark_mpi_pair;
#endif

const Benchmark *const benchmarks[] = {
#ifdef BENCH_CUDA
  &benchmark_check,
  &benchmark_property,
  &benchmark_launch,
  &benchmark_event,
  &benchmark_allocation,
  &benchmark_host_copy,
  &benchmark_device_copy,
  &benchmark_triad,
  &benchmark_stream_kernel,
  &benchmark_strided_copy,
  &benchmark_codec_kernel,
  &benchmark_matmul,
  &benchmark_attention,
  &benchmark_overlap,
  &benchmark_step,
  &benchmark_collective,
  &benchmark_pair,
  &benchmark_collective_overlap,
#endif
  &benchmark_host_work,
  &benchmark_storage,
#ifdef BENCH_MPI
  &benchmark_mpi_collective,
  &benchmark_mpi_pair,
  &benchmark_mpi_cache,
  &benchmark_mpi_outer,
#endif
  NULL,
};
