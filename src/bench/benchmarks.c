/* Every benchmark that is built in, in the order in which `all` runs them. */
#include "bench/bench.h"

#ifdef BENCH_CUDA
extern const Benchmark benchmark_matmul;
#endif

#ifdef BENCH_MPI
#endif

const Benchmark *const benchmarks[] = {
#ifdef BENCH_CUDA
  &benchmark_matmul,
#endif
#ifdef BENCH_MPI
#endif
  NULL,
};
