/*
 * The processes of mpirun as a world of a sweep: a module of its own, loaded only there, so that
 * the program itself needs no MPI.
 */
#include <mpi.h>
#include <unistd.h>

#include "cli/mpi/sweep-launcher.h"

enum
{
  TAG_CALL,
  TAG_REPLY,
};

#define SHORTEST_WAIT_US 20
#define LONGEST_WAIT_US  1000

/* The message that STATUS announces. */
static void
receive (MPI_Status *status, GByteArray *bytes)
{
  int n = 0;

  MPI_Get_count (status, MPI_BYTE, &n);
  g_byte_array_set_size (bytes, (guint) n);
  MPI_Recv (bytes->data, n, MPI_BYTE, status->MPI_SOURCE, status->MPI_TAG, MPI_COMM_WORLD,
            MPI_STATUS_IGNORE);
}

/* Waits for a message without turning the processor: it sleeps, the longer the quieter it is. */
static void
await (int source, int tag, MPI_Status *status)
{
  useconds_t wait = SHORTEST_WAIT_US;
  int        there = 0;

  for (;;)
    {
      MPI_Iprobe (source, tag, MPI_COMM_WORLD, &there, status);
      if (there)
        return;
      usleep (wait);
      wait = MIN (wait * 2, LONGEST_WAIT_US);
    }
}

static void
send (GByteArray *bytes, int rank, int tag)
{
  MPI_Send (bytes->data, (int) bytes->len, MPI_BYTE, rank, tag, MPI_COMM_WORLD);
}

static void
serve (WorldAnswer answer, gpointer user)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new (), reply = g_byte_array_new ();
  int                    left = 0;

  MPI_Comm_size (MPI_COMM_WORLD, &left);
  for (left--; left > 0;)
    {
      MPI_Status status;

      await (MPI_ANY_SOURCE, TAG_CALL, &status);
      receive (&status, bytes);
      g_byte_array_set_size (reply, 0);
      left -= !answer (bytes->data, bytes->len, reply, user);
      send (reply, status.MPI_SOURCE, TAG_REPLY);
    }
}

static void
call (const guint8 *bytes, gsize n, GByteArray *reply)
{
  MPI_Status status;

  MPI_Send (bytes, (int) n, MPI_BYTE, 0, TAG_CALL, MPI_COMM_WORLD);
  await (0, TAG_REPLY, &status);
  receive (&status, reply);
}

static void
end (void)
{
  MPI_Finalize ();
}

G_MODULE_EXPORT SweepWorld *
sweep_world_open (void)
{
  SweepWorld *self = g_new0 (SweepWorld, 1);
  int         rank, size, level;

  if (MPI_Init_thread (NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS
      || level < MPI_THREAD_SERIALIZED)
    {
      g_free (self);
      return NULL;
    }
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  *self = (SweepWorld){ (guint) rank, (guint) size, serve, call, end };
  return self;
}
