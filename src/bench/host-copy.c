/*
 * Copies between host and device: each way alone and both at once, with page-locked and with
 * ordinary host memory.
 *
 * Page-locked: two streams behind a gate (lanes.h), so the time is that of the copy engines and the
 * link. Ordinary memory: the driver copies through buffers of its own and the call does not return
 * before that is done, so the host's clock times the calls, and "both" takes two threads.
 */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lanes.h"
#include "bench/room.h"

enum
{
  TO_DEVICE,
  TO_HOST
};

typedef struct
{
  bool   pinned;
  void  *host[2], *device[2];
  size_t bytes; /* of the case that runs */
  Lanes  lanes;
} Buffers;

static bool
copy_to_device (const Bench *bench, cudaStream_t stream, void *user)
{
  Buffers *self = user;

  CUDA_TRY (cudaMemcpyAsync (self->device[TO_DEVICE], self->host[TO_DEVICE], self->bytes,
                             cudaMemcpyHostToDevice, stream));
  return true;
}

static bool
copy_to_host (const Bench *bench, cudaStream_t stream, void *user)
{
  Buffers *self = user;

  CUDA_TRY (cudaMemcpyAsync (self->host[TO_HOST], self->device[TO_HOST], self->bytes,
                             cudaMemcpyDeviceToHost, stream));
  return true;
}

static const CudaWork copy_works[2] = { copy_to_device, copy_to_host };

static void
release (Buffers *self)
{
  lanes_close (&self->lanes);
  for (unsigned i = 0; i < 2; i++)
    {
      if (self->device[i] != NULL)
        cudaFree (self->device[i]);
      if (self->host[i] != NULL && self->pinned)
        cudaFreeHost (self->host[i]);
      else
        free (self->host[i]);
      self->host[i] = self->device[i] = NULL;
    }
}

static bool
allocate (const Bench *bench, Buffers *self, size_t bytes)
{
  uint64_t seed = 1;

  for (unsigned i = 0; i < 2; i++)
    {
      CUDA_TRY (cudaMalloc (&self->device[i], bytes));
      if (!cuda_fill_random (bench, self->device[i], bytes, NULL, i + 1))
        return false;
      if (self->pinned)
        CUDA_TRY (cudaMallocHost (&self->host[i], bytes));
      else
        self->host[i] = malloc (bytes);
      if (self->host[i] == NULL)
        {
          bench_error (bench, "malloc", "%zu bytes: out of memory", bytes);
          return false;
        }
      /* Both are written: pages that nobody has touched are not there yet. */
      for (size_t at = 0; at + sizeof (uint64_t) <= bytes; at += sizeof (uint64_t))
        *(uint64_t *) ((char *) self->host[i] + at) = bench_random (&seed);
    }
  return true;
}

/* One thread's part of a timing by the host's clock. */
typedef struct
{
  const Bench *bench;
  Buffers     *buffers;
  unsigned     way, calls;
  int          device;
  bool         ok;

  pthread_barrier_t *barrier; /* of both threads, once they are ready; NULL: one thread */
  double             start;   /* when it got through */
} Copier;

static bool
copy_repeatedly (const Bench *bench, Copier *self)
{
  cudaStream_t stream = self->buffers->lanes.stream[self->way];

  for (unsigned i = 0; i < self->calls; i++)
    if (!copy_works[self->way](bench, stream, self->buffers))
      return false;
  CUDA_TRY (cudaStreamSynchronize (stream));
  return true;
}

static void
copier_run (Copier *self)
{
  const Bench *bench = self->bench;
  cudaError_t  error = cudaSetDevice (self->device); /* each thread starts at device 0 */

  if (self->barrier != NULL)
    pthread_barrier_wait (self->barrier); /* the other waits, whatever has failed here */
  self->start = bench_now ();
  self->ok = error == cudaSuccess ? copy_repeatedly (bench, self)
                                  : cuda_failed (bench, "cudaSetDevice", error);
}

static void *
copier_thread (void *user)
{
  copier_run (user);
  return NULL;
}

/* MINE on this thread and OTHER on one of its own, at once. */
static bool
run_both (const Bench *bench, Copier *mine, Copier *other)
{
  pthread_barrier_t barrier;
  pthread_t         thread;
  int               error;

  pthread_barrier_init (&barrier, NULL, 2);
  mine->barrier = other->barrier = &barrier;
  error = pthread_create (&thread, NULL, copier_thread, other);
  if (error == 0)
    {
      copier_run (mine);
      pthread_join (thread, NULL);
    }
  else
    bench_error (bench, "pthread_create", "%s", strerror (error));
  pthread_barrier_destroy (&barrier);
  return error == 0 && mine->ok && other->ok;
}

/* Seconds until CALLS calls in every one of the WAYS (bits) are done. */
static bool
time_copiers (const Bench *bench, Buffers *buffers, unsigned ways, unsigned calls, double *seconds)
{
  unsigned first = ways & (1u << TO_DEVICE) ? TO_DEVICE : TO_HOST;
  bool     both = ways == (1u << TO_DEVICE | 1u << TO_HOST);
  Copier   mine = { .bench = bench, .buffers = buffers, .way = first, .calls = calls };
  Copier   other = mine;

  CUDA_TRY (cudaGetDevice (&mine.device));
  other.device = mine.device;
  other.way = TO_HOST;
  if (both && !run_both (bench, &mine, &other))
    return false;
  if (!both)
    copier_run (&mine);
  *seconds = bench_now () - mine.start;
  return mine.ok;
}

/* Calls of one measurement: enough for the clock, and at most 0.2 s. */
static unsigned
pageable_calls (const Bench *bench, double call_s)
{
  double calls = bench->options->iterations;

  if (call_s > 0)
    {
      if (calls < 5e-3 / call_s)
        calls = 5e-3 / call_s;
      if (calls > 0.2 / call_s)
        calls = 0.2 / call_s;
    }
  return calls < 1 ? 1 : calls < 1e5 ? (unsigned) calls : 100000;
}

static bool
time_pageable (const Bench *bench, Buffers *buffers, unsigned ways, Result *result)
{
  double   samples[LANES_MAX_REPEATS], seconds = 0;
  unsigned repeats = lanes_repeats (bench), calls;

  if (!time_copiers (bench, buffers, ways, 1, &seconds)
      || !time_copiers (bench, buffers, ways, 5, &seconds))
    return false;
  calls = pageable_calls (bench, seconds / 5);
  for (unsigned i = 0; i < repeats; i++)
    {
      if (!time_copiers (bench, buffers, ways, calls, &seconds))
        return false;
      samples[i] = seconds / calls;
    }
  result_set_times (result, samples, repeats);
  return true;
}

static const struct
{
  const char *pinned, *pageable;
  unsigned    ways;
} cases[] = {
  { "h2d.pinned", "h2d.pageable", 1u << TO_DEVICE },
  { "d2h.pinned", "d2h.pageable", 1u << TO_HOST },
  { "both.pinned", "both.pageable", 1u << TO_DEVICE | 1u << TO_HOST },
};

static bool
measure (const Bench *bench, Buffers *buffers, unsigned index, uint64_t bytes)
{
  unsigned ways = cases[index].ways;
  Result   result = { .benchmark = bench->name, .bytes = bytes };
  CudaWork second = ways == (1u << TO_DEVICE | 1u << TO_HOST) ? copy_to_host : NULL;
  CudaWork first = ways & (1u << TO_DEVICE) ? copy_to_device : copy_to_host;

  buffers->bytes = bytes;
  result.variant = buffers->pinned ? cases[index].pinned : cases[index].pageable;
  if (buffers->pinned)
    {
      if (!lanes_time (bench, &buffers->lanes, first, second, buffers, 1, &result))
        return false;
    }
  else if (!time_pageable (bench, buffers, ways, &result))
    return false;
  return results_add (bench->results, &result);
}

static bool
run_kind (const Bench *bench, Buffers *buffers, const uint64_t *sizes, unsigned n)
{
  if (!lanes_open (bench, &buffers->lanes) || !allocate (bench, buffers, sizes[n - 1]))
    return false;
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (unsigned k = 0; k < n; k++)
      if (!measure (bench, buffers, i, sizes[k]))
        return false;
  return true;
}

static bool
run (Bench *bench)
{
  uint64_t sizes[BENCH_MAX_LIST], room;
  unsigned n;

  if (!room_device (bench, &room))
    return false;
  if (room_host () < room)
    room = room_host ();
  room_sizes (bench, 4096, 1u << 30, 4, 8, room / 2, sizes, &n);
  for (unsigned pinned = 2; n > 0 && pinned-- > 0;)
    {
      Buffers buffers = { .pinned = pinned };
      bool    ok = run_kind (bench, &buffers, sizes, n);

      release (&buffers);
      if (!ok)
        return false;
    }
  return true;
}

const Benchmark benchmark_host_copy = {
  .name = "host_copy",
  .title = "host to device, device to host and both at once, pinned and pageable",
  .needs = NEEDS_CUDA,
  .in_all = true,
  .run = run,
};

#endif
