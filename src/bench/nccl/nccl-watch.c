#ifdef BENCH_CUDA

#include "bench/nccl/nccl-watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NANOSECONDS 100000000

struct NcclWatch
{
  const Bench    *bench;
  pthread_t       thread;
  pthread_mutex_t lock; /* of all below */
  pthread_cond_t  change;
  ncclComm_t      comm;
  const char     *call; /* NULL: not armed */
  double          begun, limit;
  bool            closing;
};

/* The communicator's asynchronous error; ncclSuccess. */
static ncclResult_t
find_error (const NcclWatch *self)
{
  ncclResult_t state = ncclSuccess;

  if (self->comm == NULL || ncclCommGetAsyncError (self->comm, &state) != ncclSuccess
      || state == ncclInProgress)
    return ncclSuccess;
  return state;
}

/* Says why the armed call will not end, and ends the process. */
static void
look (NcclWatch *self)
{
  const ncclResult_t error = find_error (self);

  if (error != ncclSuccess)
    nccl_failed (self->bench, self->call, error);
  else if (world_failed (self->bench->world))
    bench_error (self->bench, self->call, "given up, since another rank has failed");
  else if (bench_now () - self->begun > self->limit)
    bench_error (self->bench, self->call,
                 "no end after %.0f s: another rank has ended, hangs, or cannot be reached",
                 self->limit);
  else
    return;
  world_close (self->bench->world, true);
  _exit (1);
}

static void *
watch (void *user)
{
  NcclWatch *self = user;

  pthread_mutex_lock (&self->lock);
  while (!self->closing)
    {
      struct timespec until;

      clock_gettime (CLOCK_MONOTONIC, &until);
      until.tv_nsec += LOOK_NANOSECONDS;
      until.tv_sec += until.tv_nsec / 1000000000;
      until.tv_nsec %= 1000000000;
      pthread_cond_timedwait (&self->change, &self->lock, &until);
      if (!self->closing && self->call != NULL)
        look (self);
    }
  pthread_mutex_unlock (&self->lock);
  return NULL;
}

NcclWatch *
nccl_watch_open (const Bench *bench)
{
  NcclWatch         *self = calloc (1, sizeof *self);
  const double       given = bench->options->timeout_s;
  pthread_condattr_t monotonic;

  if (self == NULL)
    {
      bench_error (bench, "malloc", "out of memory");
      return NULL;
    }
  self->bench = bench;
  self->limit = given > 0 && given < NCCL_WATCH_SECONDS ? given : NCCL_WATCH_SECONDS;
  pthread_mutex_init (&self->lock, NULL);
  pthread_condattr_init (&monotonic);
  pthread_condattr_setclock (&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init (&self->change, &monotonic);
  pthread_condattr_destroy (&monotonic);
  if (pthread_create (&self->thread, NULL, watch, self) == 0)
    return self;
  bench_error (bench, "pthread_create", "no thread to watch NCCL with");
  pthread_cond_destroy (&self->change);
  pthread_mutex_destroy (&self->lock);
  free (self);
  return NULL;
}

void
nccl_watch_close (NcclWatch *self)
{
  if (self == NULL)
    return;
  pthread_mutex_lock (&self->lock);
  self->closing = true;
  pthread_cond_signal (&self->change);
  pthread_mutex_unlock (&self->lock);
  pthread_join (self->thread, NULL);
  pthread_cond_destroy (&self->change);
  pthread_mutex_destroy (&self->lock);
  free (self);
}

void
nccl_watch_set (NcclWatch *self, ncclComm_t comm)
{
  pthread_mutex_lock (&self->lock);
  self->comm = comm;
  pthread_mutex_unlock (&self->lock);
}

void
nccl_watch_begin (NcclWatch *self, const char *call)
{
  pthread_mutex_lock (&self->lock);
  self->call = call;
  self->begun = bench_now ();
  pthread_mutex_unlock (&self->lock);
}

bool
nccl_watch_end (NcclWatch *self)
{
  ncclResult_t error;
  const char  *call;

  pthread_mutex_lock (&self->lock);
  call = self->call;
  self->call = NULL;
  error = find_error (self);
  pthread_mutex_unlock (&self->lock);
  return error == ncclSuccess || nccl_failed (self->bench, call, error);
}

#endif
