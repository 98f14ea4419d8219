/* Exchange by MPI. */
#ifdef BENCH_MPI

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/mpi/mpi-watch.h"
#include "bench/world/world-private.h"

#define ABORT_GAP_MS 100u
#define ABORT_GAPS   20u

static bool
mpi_gather (World *self, const void *in, void *out, size_t bytes)
{
  int code;

  (void) self;
  mpi_watch_begin ("MPI_Allgather");
  code = MPI_Allgather (in, (int) bytes, MPI_BYTE, out, (int) bytes, MPI_BYTE, MPI_COMM_WORLD);
  mpi_watch_end ();
  return code == MPI_SUCCESS;
}

static void
mpi_close (World *self, bool failed)
{
  /*
   * Often all ranks see the same failure. The first to abort ends all; many at once are more than
   * some launchers take.
   */
  if (failed)
    {
      usleep (1000u * ABORT_GAP_MS
              * (self->place.rank < ABORT_GAPS ? self->place.rank : ABORT_GAPS));
      MPI_Abort (MPI_COMM_WORLD, 1);
    }
  mpi_watch_begin ("MPI_Finalize");
  MPI_Finalize ();
  mpi_watch_end ();
  mpi_watch_close ();
}

bool
world_mpi_open (World *self, unsigned timeout_s, const char **error)
{
  int rank, size, threads;

  /* One thread at a time: what the library grants, mpi_outer asks for. */
  if (MPI_Init_thread (NULL, NULL, MPI_THREAD_SERIALIZED, &threads) != MPI_SUCCESS)
    {
      *error = "MPI_Init_thread failed";
      return false;
    }
  MPI_Comm_set_errhandler (MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  self->place.rank = (unsigned) rank;
  self->place.size = (unsigned) size;
  self->gather = mpi_gather;
  self->close = mpi_close;
  if (mpi_watch_open (&self->place, timeout_s))
    return true;
  *error = "no thread to watch MPI with";
  return false;
}

#endif
