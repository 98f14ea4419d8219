/*
 * The processes of one run, one a GPU or host: who they are, and small exchanges of host data
 * between them outside of what is timed. Three ways to come to life:
 *
 *   mpirun, srun with PMI   built with MPI: MPI itself
 *   srun, any launcher      rank and size from the environment (SLURM_PROCID, PMI_RANK,
 *                           OMPI_COMM_WORLD_RANK, RANK and the like); exchange by files in a folder
 *                           that all see (--rendezvous)
 *   by itself               -g N: N processes on this machine, files in a temporary folder
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct World World;

typedef struct
{
  unsigned rank, size;             /* over all */
  unsigned local_rank, local_size; /* among the processes of this host */
  unsigned nodes;                  /* distinct hosts */
  char     host[64];
} WorldPlace;

/*
 * LOCAL_RANKS > 0: the calling process forks as many ranks, and in the parent returns only when
 * they have ended: *STATUS >= 0 is then the process's exit status, and NULL is returned. RENDEZVOUS
 * may be NULL. NULL with *ERROR set on failure.
 */
World *world_open (unsigned local_ranks, const char *rendezvous, unsigned timeout_s, int *status,
                   const char **error);

/* Which of a launcher's processes this is, before a world is opened; -1: there is no launcher. */
long world_launched_rank (void);

/* Were we started by mpirun, or by a launcher with PMI? */
bool world_mpi_launched (void);

const WorldPlace *world_place (const World *self);

/*
 * OUT (size x BYTES) is every rank's IN in order of ranks. All ranks call it. FALSE: a rank has
 * ended or the time is up.
 */
bool world_gather (World *self, const void *in, void *out, size_t bytes);

/* Rank 0's DATA on every rank. */
bool world_broadcast (World *self, void *data, size_t bytes);
bool world_barrier (World *self);

/* The longest, or the mean, of every rank's VALUE. */
bool world_max (World *self, double *value);
bool world_mean (World *self, double *value);

/*
 * Has a rank said that it failed? Does not wait: for loops that wait for a GPU. Under MPI a failure
 * ends all processes.
 */
bool world_failed (World *self);

/* FAILED: the others are told, so that nobody waits for this rank. */
void world_close (World *self, bool failed);
