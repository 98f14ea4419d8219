/* The bodies of the benchmarks, for the table in benchmarks.c. FALSE after a message. */
#pragma once

#include "bench/bench.h"

bool bench_host_work (Bench *bench);
bool bench_storage (Bench *bench);

#ifdef BENCH_CUDA
bool bench_check (Bench *bench);
bool bench_property (Bench *bench);
bool bench_launch (Bench *bench);
bool bench_host_copy (Bench *bench);
bool bench_device_copy (Bench *bench);
bool bench_triad (Bench *bench);
bool bench_matmul (Bench *bench);
bool bench_decode_matmul (Bench *bench);
bool bench_attention (Bench *bench);
bool bench_decode_attention (Bench *bench);
bool bench_collective (Bench *bench);
#endif

#ifdef BENCH_MPI
bool bench_mpi_collective (Bench *bench);
bool bench_mpi_pair (Bench *bench);
bool bench_mpi_cache (Bench *bench);
bool bench_mpi_outer (Bench *bench);
bool bench_mpi_outer_options (const Bench *bench);
#endif
