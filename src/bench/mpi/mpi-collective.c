/*
 * mpi_collective: the collectives between plain hosts over MPI, with the algorithm forced
 * (mpi-call.h), in nccl-tests' text format. It measures a network and its protocol stack, no GPU:
 * what `shardsim` says of TCP is held against it.
 */
#ifdef BENCH_MPI

#include <stdio.h>
#include <string.h>

#include "bench/benchmarks.h"
#include "bench/mpi/mpi-call.h"

#define MAX_SIZES 64

static bool
run_call (const Bench *bench, void *user)
{
  return mpi_call_run (user, bench);
}

static bool
measure_size (Bench *bench, TestText *text, TestKind kind, uint64_t bytes)
{
  const unsigned ranks = world_place (bench->world)->size;
  const uint64_t count = test_collective_count (kind, bytes, sizeof (float), ranks);
  char           remark[64];
  Result         row = { .benchmark = "collective",
                         .variant = test_collectives[kind].name,
                         .bytes = test_collective_bytes (kind, count, sizeof (float), ranks),
                         .ranks = ranks,
                         .remark = remark };
  TestSample     sample = { .seconds = -1 }, not_timed = { .seconds = -1, .wrong = -1 };
  MpiCall        call;
  bool           good = mpi_call_open (&call, bench, kind, MPI_COMM_WORLD, count, bytes);

  if (!good)
    return false;
  snprintf (remark, sizeof remark, "mpi %s", mpi_call_algorithm (kind));
  good = mpi_measure (bench, run_call, &call, &row)
         && mpi_call_check (&call, bench, bytes, &sample.wrong);
  sample.seconds = 1e-6 * row.value;
  good = good && test_text_row (text, count, &sample, &not_timed);
  mpi_call_close (&call);
  return good;
}

static bool
measure_kind (Bench *bench, TestKind kind, unsigned sweep)
{
  uint64_t       sizes[MAX_SIZES];
  const unsigned n = bench_sizes (bench->options, 1 << 10, 16 << 20, 4, sizes, MAX_SIZES);
  char           library[128], env[64];
  TestText       text;
  bool           good = n > 0;

  snprintf (env, sizeof env, "mpi;algo=%s", mpi_call_algorithm (kind));
  good = good
         && test_text_begin (&text, bench,
                             &(TestRun){ .kind = kind,
                                         .library = mpi_library (library, sizeof library),
                                         .version = "none",
                                         .type = "float",
                                         .element = sizeof (float),
                                         .min_bytes = sizes[0],
                                         .max_bytes = sizes[n - 1],
                                         .remark = env,
                                         .env = env,
                                         .table = true },
                             &(TestDevice){ .bus = "0000:00:00", .name = "CPU" }, sweep);
  for (unsigned i = 0; good && i < n; i++)
    good = measure_size (bench, &text, kind, sizes[i]);
  return good && test_text_end (&text);
}

bool
bench_mpi_collective (Bench *bench)
{
  unsigned sweep = 0;
  bool     good = true;

  if (world_place (bench->world)->size < 2)
    {
      bench_error (bench, "ranks", "nothing crosses a network with one rank");
      return false;
    }
  results_show (bench->results, false);
  for (TestKind kind = 0; good && kind < TEST_N_KINDS; kind++)
    if (bench_list_has (bench->options->collectives, test_collectives[kind].name))
      good = measure_kind (bench, kind, ++sweep);
  results_show (bench->results, true);
  if (good && sweep == 0)
    bench_error (bench, "--collectives", "none of '%s' is known", bench->options->collectives);
  return good && sweep > 0;
}

#endif
