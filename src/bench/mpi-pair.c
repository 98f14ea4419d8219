/*
 * mpi_pair: two groups of ranks that each run the same collective at the same time, the first and
 * the second half of the ranks: where both have a rank on one host they share its card. Against one
 * group alone while the other is silent.
 */
#ifdef BENCH_MPI

#include <stdio.h>

#include "bench/mpi-call.h"

#define MAX_SIZES 64

typedef struct
{
  MpiCall call;
  bool    silent;
} Half;

static bool
run_half (const Bench *bench, void *user)
{
  const Half *half = user;

  return half->silent || mpi_call_run (&half->call, bench);
}

static bool
measure_half (Bench *bench, Half *half, bool second, uint64_t seed)
{
  const char *name = test_collectives[half->call.kind].name;
  char        variant[64], remark[64];
  int64_t     wrong;
  Result      result = { 0 };

  for (unsigned beside = 0; beside < 2; beside++)
    {
      half->silent = !beside && second;
      if (!mpi_time (bench, run_half, half, &result))
        return false;
      snprintf (variant, sizeof variant, beside ? "%s.beside.%s" : "%s.alone", name, name);
      snprintf (remark, sizeof remark, "mpi %s", mpi_call_algorithm (half->call.kind));
      result.benchmark = "pair";
      result.variant = variant;
      result.dtype = "fp32";
      result.bytes = test_collective_bytes (half->call.kind, half->call.count, sizeof (float),
                                            half->call.ranks);
      result.ranks = half->call.ranks;
      result.remark = remark;
      if (!results_add (bench->results, &result))
        return false;
    }
  if (!mpi_call_check (&half->call, bench, seed, &wrong))
    return false;
  if (wrong > 0)
    bench_error (bench, name, "%lld wrong elements", (long long) wrong);
  return wrong == 0;
}

static bool
measure_size (Bench *bench, MPI_Comm comm, TestKind kind, uint64_t bytes)
{
  const WorldPlace *place = world_place (bench->world);
  const unsigned    ranks = place->size / 2;
  const uint64_t    count = test_collective_count (kind, bytes, sizeof (float), ranks);
  Half              half;
  bool              good;

  if (!mpi_call_open (&half.call, bench, kind, comm, count, bytes))
    return false;
  good = measure_half (bench, &half, place->rank >= ranks, bytes);
  mpi_call_close (&half.call);
  return good;
}

static bool
run (Bench *bench)
{
  const WorldPlace *place = world_place (bench->world);
  uint64_t          sizes[MAX_SIZES];
  const unsigned    n = bench_sizes (bench->options, 4 << 20, 4 << 20, 4, sizes, MAX_SIZES);
  MPI_Comm          comm;
  bool              good = true;

  if (place->size < 4 || place->size % 2 != 0)
    {
      bench_note (bench, "two groups need an even number of ranks, at least 4: not measured");
      return true;
    }
  MPI_TRY (
      MPI_Comm_split (MPI_COMM_WORLD, place->rank >= place->size / 2, (int) place->rank, &comm));
  for (TestKind kind = 0; good && kind < TEST_N_KINDS; kind++)
    if (bench_list_has (bench->options->collectives, test_collectives[kind].name))
      for (unsigned i = 0; good && i < n; i++)
        good = measure_size (bench, comm, kind, sizes[i]);
  MPI_TRY (MPI_Comm_free (&comm));
  return good;
}

const Benchmark benchmark_mpi_pair = {
  .name = "mpi_pair",
  .title = "two groups of ranks at once over MPI, which share the hosts' cards",
  .needs = NEEDS_MPI | NEEDS_ALL_RANKS,
  .run = run,
};

#endif
