/*
 * mpi_cache: what a strategy that keeps gathered parameters in host memory saves on plain hosts: an
 * all-gather over the network against fetching the same bytes from a buffer of this host, and both
 * inside a step of three passes over the parameters (forward, backward, gradients).
 *
 *   gather        all-gather of the bytes
 *   fetch         copy of the bytes from the cache
 *   step.gather   all-gather, all-gather, reduce-scatter: parameters are gathered again for the
 *                 backward pass
 *   step.fetch    all-gather, fetch, reduce-scatter
 */
#ifdef BENCH_MPI

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/benchmarks.h"
#include "bench/mpi/mpi-call.h"

#define MAX_SIZES 64

typedef struct
{
  MpiCall gather, scatter;
  size_t  bytes;
  char   *cache;
} Fetch;

static bool
gather (const Bench *bench, void *user)
{
  const Fetch *self = user;

  return mpi_call_run (&self->gather, bench);
}

static bool
fetch (const Bench *bench, void *user)
{
  const Fetch *self = user;

  (void) bench;
  memcpy (self->gather.recv, self->cache, self->bytes);
  /* The copy is wanted, though nothing here reads it. */
  __asm__ volatile("" : : "r"(self->gather.recv) : "memory");
  return true;
}

static bool
step_gather (const Bench *bench, void *user)
{
  const Fetch *self = user;

  for (unsigned pass = 0; pass < 2; pass++) /* forward, backward */
    if (!gather (bench, user))
      return false;
  return mpi_call_run (&self->scatter, bench);
}

static bool
step_fetch (const Bench *bench, void *user)
{
  const Fetch *self = user;

  return gather (bench, user) && fetch (bench, user) && mpi_call_run (&self->scatter, bench);
}

static const struct
{
  const char *name;
  MpiWork     work;
} variants[] = {
  { "gather", gather },
  { "fetch", fetch },
  { "step.gather", step_gather },
  { "step.fetch", step_fetch },
};

static bool
measure_variants (Bench *bench, Fetch *self, uint64_t seed)
{
  for (unsigned i = 0; i < sizeof variants / sizeof variants[0]; i++)
    {
      Result row = { .benchmark = "cache_fetch",
                     .variant = variants[i].name,
                     .bytes = self->bytes,
                     .ranks = self->gather.ranks,
                     .remark = variants[i].work == fetch ? "memory" : "mpi ring" };

      if (!mpi_measure (bench, variants[i].work, self, &row))
        return false;
      /* What the all-gather left is what the cache keeps. */
      if (i == 0)
        memcpy (self->cache, self->gather.recv, self->bytes);
    }
  return mpi_call_is_right (&self->gather, bench, seed, "fetch");
}

static bool
measure_size (Bench *bench, uint64_t bytes)
{
  const unsigned ranks = world_place (bench->world)->size;
  const uint64_t count = test_collective_count (TEST_ALL_GATHER, bytes, sizeof (float), ranks);
  Fetch          self = { .bytes = count * ranks * sizeof (float) };
  bool           good;

  self.cache = malloc (self.bytes);
  if (self.cache == NULL)
    bench_error (bench, "malloc", "no memory for the cache");
  good =
      self.cache != NULL
      && mpi_call_open (&self.gather, bench, TEST_ALL_GATHER, MPI_COMM_WORLD, count, bytes)
      && mpi_call_open (&self.scatter, bench, TEST_REDUCE_SCATTER, MPI_COMM_WORLD, count, bytes + 1)
      && measure_variants (bench, &self, bytes);
  mpi_call_close (&self.gather);
  mpi_call_close (&self.scatter);
  free (self.cache);
  return good;
}

bool
bench_mpi_cache (Bench *bench)
{
  uint64_t       sizes[MAX_SIZES];
  const unsigned n = bench_sizes (bench->options, 8 << 20, 8 << 20, 4, sizes, MAX_SIZES);
  bool           good = true;

  for (unsigned i = 0; good && i < n; i++)
    good = measure_size (bench, sizes[i]);
  return good;
}

#endif
