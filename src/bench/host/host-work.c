/*
 * AdamW on the host's cores, as offloaded states need it: every core that this process may use at
 * once, each on its own part. Of an element the fp32 gradient, parameter and two moments are read
 * (16 bytes), the last three written (12), and a bf16 copy of the parameter (2).
 *
 * A thread stays on its core and is the first to touch its part, so that this lies in the memory of
 * its socket. Lines that are written are read first, unless the processor knows better: the bytes
 * of that are not counted.
 */
#include "bench/benchmarks.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/host/host-kernels.h"
#include "bench/room.h"

#define MIB         ((uint64_t) 1 << 20)
#define MAX_REPEATS 1000

/* Passes of one repeat take at least so long, the repeats of a case at most. */
#define LEAST_S   0.05
#define LONGEST_S 5.0

/* Bytes an element: of all arrays, four of fp32 and one of bf16, and what a pass moves. */
#define ELEMENT_BYTES 18
#define MOVED_BYTES   30

/*
 * Between two arrays, in fours. Arrays a power of two apart would meet in the same sets of the
 * caches, which buffers of training do not.
 */
#define STAGGER ((size_t) 836)

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
  HostArrays arrays;
  size_t     fours;        /* of elements */
  unsigned   passes, step; /* no passes: fill the arrays */
};

/* ---- threads --------------------------------------------------------------------------------- */

/* This thread's part of a round. The first one fills it: a second moment must not be negative. */
static void
work (const Worker *self)
{
  const Crew  *crew = self->crew;
  const size_t from = crew->fours * self->index / crew->n;
  const size_t n = crew->fours * (self->index + 1) / crew->n - from;
  uint64_t     seed = self->index + 1;
  HostArrays   part = { crew->arrays.parameter + from, crew->arrays.moment1 + from,
                        crew->arrays.moment2 + from, crew->arrays.gradient + from,
                        crew->arrays.copy + from };

  for (unsigned pass = 0; pass < crew->passes; pass++)
    host_kernel_adam (&part, n, crew->step + pass + 1);
  if (crew->passes > 0)
    return;
  memset (part.moment1, 0, n * sizeof *part.moment1);
  memset (part.moment2, 0, n * sizeof *part.moment2);
  memset (part.copy, 0, n * sizeof *part.copy);
  for (size_t i = 0; i < n; i++)
    for (unsigned k = 0; k < 4; k++)
      {
        uint64_t bits = bench_random (&seed);

        part.gradient[i][k] = (float) (int32_t) bits / 2147483648.0f;
        part.parameter[i][k] = (float) (int32_t) (bits >> 32) / 2147483648.0f;
      }
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
run_round (Crew *crew, unsigned passes)
{
  double start = bench_now ();

  pthread_mutex_lock (&crew->lock);
  crew->passes = passes;
  crew->busy = crew->n;
  crew->round++;
  pthread_cond_broadcast (&crew->begin);
  while (crew->busy > 0)
    pthread_cond_wait (&crew->done, &crew->lock);
  pthread_mutex_unlock (&crew->lock);
  crew->step += passes;
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

/* ---- measuring ------------------------------------------------------------------------------- */

/* Pages that nobody has touched yet, for all arrays of the crew's elements. */
static void *
open_arrays (const Bench *bench, Crew *crew, uint64_t bytes)
{
  const size_t next = crew->fours + STAGGER;
  HostFloats  *floats;
  void *memory = mmap (NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (memory == MAP_FAILED)
    {
      bench_error (bench, "mmap", "%s", strerror (errno));
      return NULL;
    }
  floats = memory;
  crew->arrays = (HostArrays){ .parameter = floats,
                               .moment1 = floats + next,
                               .moment2 = floats + 2 * next,
                               .gradient = floats + 3 * next,
                               .copy = (HostHalves *) (void *) (floats + 4 * next) };
  return memory;
}

static bool
measure_size (const Bench *bench, Crew *crew, uint64_t array_bytes)
{
  const uint64_t elements = array_bytes / sizeof (float);
  const uint64_t bytes = elements * ELEMENT_BYTES + 4 * STAGGER * sizeof (HostFloats);
  const unsigned repeats =
      bench->options->repeats < MAX_REPEATS ? bench->options->repeats : MAX_REPEATS;
  unsigned taken = 0, passes = bench->options->iterations;
  double   samples[MAX_REPEATS], first, start;
  char     threads[32];
  Result   result = { .benchmark = bench->name,
                      .variant = "adam",
                      .dtype = "fp32",
                      .bytes = elements * MOVED_BYTES,
                      .remark = threads };
  void    *memory;

  crew->fours = array_bytes / sizeof (HostFloats);
  crew->step = 0;
  memory = open_arrays (bench, crew, bytes);
  if (memory == NULL)
    return false;
  snprintf (threads, sizeof threads, "%u threads", crew->n);
  run_round (crew, 0);
  start = bench_now ();
  first = run_round (crew, 1);
  if (first * passes < LEAST_S)
    passes = (unsigned) (LEAST_S / first) + 1;
  else if (first * passes > LONGEST_S)
    passes = 1;
  while (taken < repeats && (taken == 0 || bench_now () - start < LONGEST_S))
    samples[taken++] = run_round (crew, passes) / passes;
  munmap (memory, bytes);
  result_set_times (&result, samples, taken);
  return results_add (bench->results, &result);
}

bool
bench_host_work (Bench *bench)
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
