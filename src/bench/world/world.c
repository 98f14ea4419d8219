#include "bench/world/world.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/world/world-private.h"

/* Steps that Slurm makes itself (batch, extern, interactive) have numbers from here on. */
#define SLURM_FIRST_OWN_STEP 0xfffffff0l

/* ---- one rank -------------------------------------------------------------------------------- */

static bool
alone_gather (World *self, const void *in, void *out, size_t bytes)
{
  (void) self;
  memcpy (out, in, bytes);
  return true;
}

static void
alone_close (World *self, bool failed)
{
  (void) self;
  (void) failed;
}

/* ---- what launchers say ---------------------------------------------------------------------- */

/* The number in the first of NAMES that is set; -1: none is. */
static long
number_of (const char *const *names)
{
  for (; *names != NULL; names++)
    {
      const char *text = getenv (*names);
      char       *end;
      long        value = text != NULL ? strtol (text, &end, 10) : -1;

      if (text != NULL && end != text && *end == '\0' && value >= 0)
        return value;
    }
  return -1;
}

/*
 * Does Slurm's environment describe this process? A batch script sees the number of its job's
 * tasks, too, and has started none: its step has one of Slurm's own numbers, or none.
 */
static bool
is_slurm_task (void)
{
  static const char *const steps[] = { "SLURM_STEP_ID", "SLURM_STEPID", NULL };
  long                     step = number_of (steps);

  return getenv ("SLURM_JOB_ID") == NULL || (step >= 0 && step < SLURM_FIRST_OWN_STEP);
}

/* A number that the launcher says, by its names for it; -1: there is none. */
static long
launched (const char *const *mpi, const char *const *slurm, const char *const *others)
{
  long number = number_of (mpi);

  if (number < 0 && is_slurm_task ())
    number = number_of (slurm);
  return number < 0 ? number_of (others) : number;
}

static long
launched_size (void)
{
  static const char *const mpi[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL };
  static const char *const slurm[] = { "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", NULL };
  static const char *const others[] = { "WORLD_SIZE", NULL };

  return launched (mpi, slurm, others);
}

long
world_launched_rank (void)
{
  static const char *const mpi[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", NULL };
  static const char *const slurm[] = { "SLURM_PROCID", NULL };
  static const char *const others[] = { "RANK", NULL };

  return launched (mpi, slurm, others);
}

bool
world_mpi_launched (void)
{
  static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", NULL };

  return number_of (names) >= 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Local ranks and nodes: who else is on which host. */
static bool
find_neighbours (World *self)
{
  WorldPlace *place = &self->place;
  char (*hosts)[sizeof place->host] = calloc (place->size, sizeof *hosts);
  bool good = hosts != NULL && self->gather (self, place->host, hosts, sizeof *hosts);

  for (unsigned i = 0; good && i < place->size; i++)
    {
      unsigned first = 0;

      while (strcmp (hosts[first], hosts[i]) != 0)
        first++;
      place->nodes += first == i;
      if (strcmp (hosts[i], place->host) != 0)
        continue;
      place->local_size++;
      place->local_rank += i < place->rank;
    }
  free (hosts);
  return good;
}

/* Forked ranks meet in a temporary folder. FALSE: with *ERROR, or in the parent with *STATUS. */
static bool
open_forked (World *self, unsigned n, unsigned timeout_s, int *status, const char **error)
{
  const char          *base = getenv ("TMPDIR");
  char                 folder[4096];
  DIR                 *files;
  const struct dirent *file;

  snprintf (folder, sizeof folder, "%s/shardsim-bench-XXXXXX", base != NULL ? base : "/tmp");
  if (mkdtemp (folder) == NULL)
    {
      *error = strerror (errno);
      return false;
    }
  self->place.size = n;
  if (world_fork (n, &self->place.rank, status, error))
    return world_files_open (self, folder, timeout_s, error);
  files = opendir (folder); /* those of ranks that did not end well */
  while (files != NULL && (file = readdir (files)) != NULL)
    unlinkat (dirfd (files), file->d_name, 0);
  if (files != NULL)
    closedir (files);
  rmdir (folder);
  return false;
}

static bool
open_way (World *self, unsigned local_ranks, const char *rendezvous, unsigned timeout_s,
          int *status, const char **error)
{
  const long rank = world_launched_rank (), size = launched_size ();

#ifdef BENCH_MPI
  if (world_mpi_launched ())
    {
      if (!world_mpi_open (self, timeout_s, error))
        return false;
      if (self->place.size > 1 || size < 2)
        return true;
      self->close (self, false);
      /* All of them would measure as rank 0, and write to the same files. */
      *error =
          "the launcher started several processes, but each finds itself alone in MPI: take the "
          "mpirun of the MPI that this program is built with, or with srun --mpi=pmix (or what "
          "'srun --mpi=list' names)";
      return false;
    }
#endif
  if (rank >= 0 && size >= 2 && rank < size)
    {
      self->place.rank = (unsigned) rank;
      self->place.size = (unsigned) size;
      if (rendezvous != NULL)
        return world_files_open (self, rendezvous, timeout_s, error);
      *error =
          "a launcher started several ranks, but this program is built without its MPI: name a "
          "folder that all of them see with --rendezvous";
      return false;
    }
  if (local_ranks > 1)
    return open_forked (self, local_ranks, timeout_s, status, error);
  self->gather = alone_gather;
  self->close = alone_close;
  return true;
}

World *
world_open (unsigned local_ranks, const char *rendezvous, unsigned timeout_s, int *status,
            const char **error)
{
  World *self = calloc (1, sizeof *self);

  *status = -1;
  *error = NULL;
  if (self == NULL)
    {
      *error = "out of memory";
      return NULL;
    }
  self->place = (WorldPlace){ .size = 1 };
  gethostname (self->place.host, sizeof self->place.host - 1);
  if (!open_way (self, local_ranks, rendezvous, timeout_s, status, error))
    {
      free (self);
      return NULL;
    }
  if (!find_neighbours (self))
    {
      *error = "the other ranks do not answer";
      world_close (self, true);
      return NULL;
    }
  return self;
}

const WorldPlace *
world_place (const World *self)
{
  return &self->place;
}

/* ---- exchanges ------------------------------------------------------------------------------- */

bool
world_gather (World *self, const void *in, void *out, size_t bytes)
{
  return self->gather (self, in, out, bytes);
}

bool
world_broadcast (World *self, void *data, size_t bytes)
{
  char *all = malloc (bytes * self->place.size);
  bool  good = all != NULL && self->gather (self, data, all, bytes);

  if (good)
    memcpy (data, all, bytes);
  free (all);
  return good;
}

bool
world_barrier (World *self)
{
  char nothing = 0;

  return world_broadcast (self, &nothing, sizeof nothing);
}

/* VALUE becomes the longest, or the sum, of all ranks'. */
static bool
combine (World *self, double *value, bool longest)
{
  double *all = calloc (self->place.size, sizeof *all);
  bool    good = all != NULL && self->gather (self, value, all, sizeof *all);

  if (good)
    *value = all[0];
  for (unsigned i = 1; good && i < self->place.size; i++)
    *value = longest ? (all[i] > *value ? all[i] : *value) : *value + all[i];
  free (all);
  return good;
}

bool
world_max (World *self, double *value)
{
  return combine (self, value, true);
}

bool
world_mean (World *self, double *value)
{
  bool good = combine (self, value, false);

  *value /= self->place.size;
  return good;
}

bool
world_failed (World *self)
{
  return self->failed != NULL && self->failed (self);
}

void
world_close (World *self, bool failed)
{
  if (self == NULL)
    return;
  self->close (self, failed);
  free (self);
}
