/*
 * mpi_pair: two groups of ranks that each run the same collective at the same time, the first and
 * the second half of the ranks: where both have a rank on one host they share its card. Against one
 * group alone while the other is silent.
 */
#ifdef BENCH_MPI

#include <stdio.h>

#include "bench/benchmarks.h"
#include "bench/mpi/mpi-call.h"

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
measure_size (Bench *bench, MPI_Comm comm, TestKind kind, uint64_t bytes)
{
  const WorldPlace *place = world_place (bench->world);
  const unsigned    ranks = place->size / 2;
  const uint64_t    count = test_collective_count (kind, bytes, sizeof (float), ranks);
  const char       *name = test_collectives[kind].name;
  char              variant[64], remark[64];
  Half              half;
  bool              good = mpi_call_open (&half.call, bench, kind, comm, count, bytes);

  if (!good)
    return false;
  snprintf (remark, sizeof remark, "mpi %s", mpi_call_algorithm (kind));
  for (unsigned beside = 0; good && beside < 2; beside++)
    {
      Result row = { .benchmark = "pair",
                     .variant = variant,
                     .bytes = test_collective_bytes (kind, count, sizeof (float), ranks),
                     .ranks = ranks,
                     .remark = remark };

      half.silent = beside == 0 && place->rank >= ranks;
      snprintf (variant, sizeof variant, beside == 1 ? "%s.beside.%s" : "%s.alone", name, name);
      good = mpi_measure (bench, run_half, &half, &row);
    }
  good = good && mpi_call_is_right (&half.call, bench, bytes, name);
  mpi_call_close (&half.call);
  return good;
}

bool
bench_mpi_pair (Bench *bench)
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

#endif
