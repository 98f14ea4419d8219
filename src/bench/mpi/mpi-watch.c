#ifdef BENCH_MPI

#include "bench/mpi/mpi-watch.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS       100u
#define ABORT_SECONDS 5 /* that MPI_Abort may take */

/* MPI is one a process, and so is its watch. Without locks: calls may be shorter than those. */
static struct
{
  pthread_t              thread;
  const WorldPlace      *place;
  unsigned               timeout_s;
  bool                   open;
  atomic_bool            closing;
  _Atomic (const char *) call; /* NULL: none */
  atomic_ulong           n_begun;
} watch;

static void
end_now (int signal)
{
  (void) signal;
  _exit (1);
}

static void
give_up (const char *call)
{
  const size_t length = strcspn (call, " (");

  fprintf (stderr,
           "shardsim-bench: %s rank %u: %.*s: no end after %u s: another rank has stopped, hangs, "
           "or cannot be reached\n",
           watch.place->host, watch.place->rank, (int) length, call, watch.timeout_s);
  signal (SIGALRM, end_now);
  alarm (ABORT_SECONDS);
  MPI_Abort (MPI_COMM_WORLD, 1);
  _exit (1);
}

static void *
look (void *user)
{
  unsigned long seen = 0, waited_ms = 0;

  (void) user;
  while (!atomic_load (&watch.closing))
    {
      const char         *call;
      const unsigned long begun = atomic_load (&watch.n_begun);

      usleep (1000 * LOOK_MS);
      call = atomic_load (&watch.call);
      waited_ms = call != NULL && begun == seen ? waited_ms + LOOK_MS : 0;
      seen = begun;
      if (waited_ms >= 1000ul * watch.timeout_s && call != NULL)
        give_up (call);
    }
  return NULL;
}

bool
mpi_watch_open (const WorldPlace *place, unsigned timeout_s)
{
  watch.place = place;
  watch.timeout_s = timeout_s;
  watch.open = timeout_s > 0 && pthread_create (&watch.thread, NULL, look, NULL) == 0;
  return watch.open || timeout_s == 0;
}

void
mpi_watch_close (void)
{
  if (!watch.open)
    return;
  atomic_store (&watch.closing, true);
  pthread_join (watch.thread, NULL);
  watch.open = false;
}

void
mpi_watch_begin (const char *call)
{
  const unsigned long n = atomic_load_explicit (&watch.n_begun, memory_order_relaxed);

  atomic_store_explicit (&watch.n_begun, n + 1, memory_order_relaxed);
  atomic_store_explicit (&watch.call, call, memory_order_relaxed);
}

void
mpi_watch_end (void)
{
  atomic_store_explicit (&watch.call, NULL, memory_order_relaxed);
}

#endif
