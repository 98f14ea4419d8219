/*
 * Work of the host's cores on memory, as offloaded states need it: every core that this process may
 * use at once, each on its own part. For n elements of fp32:
 *
 *   adam  AdamW: gradient, parameter and two moments read (16), the last three written (12), a
 *         bf16 copy of the parameter written (2)   30 n
 *   sum   gradient += moment                       12 n
 *   copy  moment = gradient                         8 n
 *
 * A thread stays on its core and is the first to touch its part, so that this lies in the memory of
 * its socket. Lines that are written are read first, unless the processor knows better: the bytes
 * of that are not counted.
 */
#include "bench/bench.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/host-kernels.h"
#include "bench/room.h"

#define MIB         ((uint64_t) 1 << 20)
#define MAX_REPEATS 1000

/* Passes of one repeat take at least so long, the repeats of a case at most. */
#define LEAST_S   0.05
#define LONGEST_S 5.0

/* Bytes of all arrays an element: four of fp32, one of bf16. */
#define ELEMENT_BYTES 18

/*
 * Between two arrays, in fours. Arrays a power of two apart would meet in the same sets of the
 * caches, which buffers of training do not.
 */
#define STAGGER ((size_t) 836)

typedef void (*HostKernel) (const HostArrays *arrays, size_t n, unsigned step);

static const struct
{
  const char *name;
  HostKernel  kernel;
  unsigned    bytes; /* moved an element */
} cases[] = {
  { "adam", host_kernel_adam, 30 },
  { "sum", host_kernel_sum, 12 },
  { "copy", host_kernel_copy, 8 },
};

typedef struct Crew Crew;

typedef struct
{
  Crew     *crew;
  pthread_t thread;
  int       cpu;
  unsigned  index;
} Worker;

/* Threads that wait for a round, do it, and wait for the next one. */
struct Crew
{
  pthread_mutex_t lock;
  pthread_cond_t  begin, done;
  unsigned        round, busy, n; /* n: threads that there are */
  bool            stop;
  Worker         *workers;
  /* of the round */
  HostKernel kernel; /* NULL: fill the arrays */
  HostArrays arrays;
  size_t     fours; /* of elements */
  unsigned   passes, step;
};

/* ---- threads --------------------------------------------------------------------------------- */

/* Random gradients, moments of zero: a second moment must not be negative. */
static void
fill (const HostArrays *part, size_t n, uint64_t seed)
{
  memset (part->moment1, 0, n * sizeof *part->moment1);
  memset (part->moment2, 0, n * sizeof *part->moment2);
  memset (part->copy, 0, n * sizeof *part->copy);
  for (size_t i = 0; i < n; i++)
    for (unsigned k = 0; k < 4; k++)
      {
        uint64_t bits = bench_random (&seed);

        part->gradient[i][k] = (float) (int32_t) bits / 2147483648.0f;
        part->parameter[i][k] = (float) (int32_t) (bits >> 32) / 2147483648.0f;
      }
}

static void
work (const Worker *self)
{
  const Crew *crew = self->crew;
  size_t      from = crew->fours * self->index / crew->n;
  size_t      n = crew->fours * (self->index + 1) / crew->n - from;
  HostArrays  part = { crew->arrays.parameter + from, crew->arrays.moment1 + from,
                       crew->arrays.moment2 + from, crew->arrays.gradient + from,
                       crew->arrays.copy + from };

  if (crew->kernel == NULL)
    fill (&part, n, self->index + 1);
  for (unsigned pass = 0; crew->kernel != NULL && pass < crew->passes; pass++)
    crew->kernel (&part, n, crew->step + pass + 1);
}

static void *
live (void *user)
{
  Worker  *self = user;
  Crew    *crew = self->crew;
  unsigned seen = 0;

  pthread_mutex_lock (&crew->lock);
  for (;;)
    {
      while (crew->round == seen && !crew->stop)
        pthread_cond_wait (&crew->begin, &crew->lock);
      if (crew->stop)
        break;
      seen = crew->round;
      pthread_mutex_unlock (&crew->lock);
      work (self);
      pthread_mutex_lock (&crew->lock);
      if (--crew->busy == 0)
        pthread_cond_signal (&crew->done);
    }
  pthread_mutex_unlock (&crew->lock);
  return NULL;
}

/* Seconds of one round. */
static double
run_round (Crew *crew, HostKernel kernel, unsigned passes)
{
  double start = bench_now ();

  pthread_mutex_lock (&crew->lock);
  crew->kernel = kernel;
  crew->passes = passes;
  crew->busy = crew->n;
  crew->round++;
  pthread_cond_broadcast (&crew->begin);
  while (crew->busy > 0)
    pthread_cond_wait (&crew->done, &crew->lock);
  pthread_mutex_unlock (&crew->lock);
  crew->step += kernel != NULL ? passes : 0;
  return bench_now () - start;
}

static void
dismiss (Crew *crew)
{
  pthread_mutex_lock (&crew->lock);
  crew->stop = true;
  pthread_cond_broadcast (&crew->begin);
  pthread_mutex_unlock (&crew->lock);
  for (unsigned i = 0; i < crew->n; i++)
    pthread_join (crew->workers[i].thread, NULL);
  pthread_cond_destroy (&crew->begin);
  pthread_cond_destroy (&crew->done);
  pthread_mutex_destroy (&crew->lock);
  free (crew->workers);
}

/* A thread on each core that the process may use. After a failure dismiss ends those there are. */
static bool
hire (const Bench *bench, Crew *crew)
{
  cpu_set_t all, one;

  if (sched_getaffinity (0, sizeof all, &all) != 0)
    {
      bench_error (bench, "sched_getaffinity", "%s", strerror (errno));
      return false;
    }
  crew->workers = calloc ((size_t) CPU_COUNT (&all), sizeof *crew->workers);
  if (crew->workers == NULL)
    {
      bench_error (bench, "calloc", "out of memory");
      return false;
    }
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    {
      Worker *worker = &crew->workers[crew->n];
      int     error;

      if (!CPU_ISSET (cpu, &all))
        continue;
      *worker = (Worker){ .crew = crew, .cpu = cpu, .index = crew->n };
      error = pthread_create (&worker->thread, NULL, live, worker);
      if (error != 0)
        {
          bench_error (bench, "pthread_create", "%s", strerror (error));
          return false;
        }
      crew->n++;
      CPU_ZERO (&one);
      CPU_SET (cpu, &one);
      pthread_setaffinity_np (worker->thread, sizeof one, &one);
    }
  return true;
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct
{
  void    *memory;
  uint64_t bytes;
} Block;

/* Pages that nobody has touched yet, for all arrays of ELEMENTS. */
static bool
open_block (const Bench *bench, Block *block, uint64_t elements)
{
  block->bytes = elements * ELEMENT_BYTES + 4 * STAGGER * sizeof (HostFloats);
  block->memory =
      mmap (NULL, block->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block->memory != MAP_FAILED)
    return true;
  block->memory = NULL;
  bench_error (bench, "mmap", "%s", strerror (errno));
  return false;
}

static HostArrays
lay_out (const Block *block, size_t fours)
{
  HostFloats *floats = block->memory;
  size_t      next = fours + STAGGER;

  return (HostArrays){ .parameter = floats,
                       .moment1 = floats + next,
                       .moment2 = floats + 2 * next,
                       .gradient = floats + 3 * next,
                       .copy = (HostHalves *) (void *) (floats + 4 * next) };
}

/* ---- measuring ------------------------------------------------------------------------------- */

static bool
measure (const Bench *bench, Crew *crew, unsigned index, const char *threads)
{
  double   samples[MAX_REPEATS], first, start = bench_now ();
  unsigned repeats = bench->options->repeats < MAX_REPEATS ? bench->options->repeats : MAX_REPEATS;
  unsigned taken = 0, passes = bench->options->iterations > 0 ? bench->options->iterations : 1;
  Result   result = { .benchmark = bench->name,
                      .variant = cases[index].name,
                      .dtype = "fp32",
                      .bytes = (uint64_t) crew->fours * 4 * cases[index].bytes,
                      .remark = threads };

  first = run_round (crew, cases[index].kernel, 1);
  if (first * passes < LEAST_S)
    passes = (unsigned) (LEAST_S / first) + 1;
  else if (first * passes > LONGEST_S)
    passes = 1;
  while (taken < repeats && (taken == 0 || bench_now () - start < LONGEST_S))
    samples[taken++] = run_round (crew, cases[index].kernel, passes) / passes;
  result_set_times (&result, samples, taken);
  return results_add (bench->results, &result);
}

static bool
measure_size (const Bench *bench, Crew *crew, uint64_t array_bytes)
{
  Block block;
  char  threads[32];
  bool  ok = true;

  crew->fours = array_bytes / sizeof (HostFloats);
  if (!open_block (bench, &block, array_bytes / 4))
    return false;
  crew->arrays = lay_out (&block, crew->fours);
  crew->step = 0;
  run_round (crew, NULL, 0);
  snprintf (threads, sizeof threads, "%u threads", crew->n);
  for (unsigned i = 0; ok && i < sizeof cases / sizeof *cases; i++)
    ok = measure (bench, crew, i, threads);
  munmap (block.memory, block.bytes);
  return ok;
}

static bool
run (Bench *bench)
{
  Crew     crew = { .lock = PTHREAD_MUTEX_INITIALIZER,
                    .begin = PTHREAD_COND_INITIALIZER,
                    .done = PTHREAD_COND_INITIALIZER };
  uint64_t sizes[BENCH_MAX_LIST];
  unsigned n;
  bool     ok;

  /* Sizes are those of one fp32 array. */
  room_sizes (bench, 64 * MIB, 1024 * MIB, 2, MIB, room_host () / ELEMENT_BYTES * 4, sizes, &n);
  ok = hire (bench, &crew);
  for (unsigned i = 0; ok && i < n; i++)
    ok = measure_size (bench, &crew, sizes[i]);
  dismiss (&crew);
  return ok;
}

const Benchmark benchmark_host_work = {
  .name = "host_work",
  .title = "the host's cores on memory: AdamW, sums of gradients, copies",
  .needs = NEEDS_NOTHING,
  .in_all = true,
  .run = run,
};
