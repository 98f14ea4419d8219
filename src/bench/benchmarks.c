#include "bench/benchmarks.h"

const Benchmark benchmarks[] = {
#ifdef BENCH_CUDA
  { "check", "products and attention on small data against arithmetic on the host", NEEDS_CUDA,
    .checks = true, .run = bench_check },
  { "property", "memory, SMs and L2 cache of the device, as the driver names them", NEEDS_CUDA,
    .run = bench_property },
  { "launch", "kernels that do nothing, one after the other and inside a graph", NEEDS_CUDA,
    .run = bench_launch },
  { "host_copy", "host to device, device to host and both at once, page-locked", NEEDS_CUDA,
    .run = bench_host_copy },
  { "device_copy", "copies within device memory", NEEDS_CUDA, .run = bench_device_copy },
  { "triad", "bandwidth of device memory: a = b + s c in fp32", NEEDS_CUDA, .run = bench_triad },
  { "matmul", "matrix products of transformer layers, 1B to 70B, tensor parallelism 1 to 8",
    NEEDS_CUDA, .run = bench_matmul },
  { "decode_matmul", "products of the same layers with the 1 to 256 rows of decoding batches",
    NEEDS_CUDA, .run = bench_decode_matmul },
  { "attention", "fused causal attention through cuDNN, where it is installed", NEEDS_CUDA,
    .run = bench_attention },
  { "decode_attention",
    "attention of one token over a cache, by a plain kernel of the runner's own", NEEDS_CUDA,
    .run = bench_decode_attention },
  { "collective", "NCCL: all_reduce, all_gather, reduce_scatter, alltoall, broadcast, sendrecv",
    NEEDS_CUDA | NEEDS_ALL_RANKS, .run = bench_collective },
#endif
  { "host_work", "AdamW on the host's cores", NEEDS_NOTHING, .run = bench_host_work },
  { "storage", "writing and reading a file by blocks, past the page cache where possible",
    NEEDS_NOTHING, .run = bench_storage },
#ifdef BENCH_MPI
  { "mpi_collective", "collectives between hosts over MPI, in nccl-tests' format",
    NEEDS_MPI | NEEDS_ALL_RANKS, .run = bench_mpi_collective },
  { "mpi_pair", "two groups of ranks at once over MPI, which share the hosts' cards",
    NEEDS_MPI | NEEDS_ALL_RANKS, .run = bench_mpi_pair },
  { "mpi_cache", "all-gather over the network against a copy from a cache in the host's memory",
    NEEDS_MPI | NEEDS_ALL_RANKS, .run = bench_mpi_cache },
  { "mpi_outer", "rounds of local steps and an outer step over MPI: blocking, and beside training",
    NEEDS_MPI | NEEDS_ALL_RANKS, .check_options = bench_mpi_outer_options, .run = bench_mpi_outer },
#endif
  { 0 },
};
