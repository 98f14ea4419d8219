/* How a way of exchanging data is plugged into world.c. */
#pragma once

#include "bench/world/world.h"

struct World
{
  WorldPlace place;
  void      *state; /* of the way */
  bool (*gather) (World *self, const void *in, void *out, size_t bytes);
  bool (*failed) (World *self);             /* NULL: never */
  void (*close) (World *self, bool failed); /* frees state */
};

/* MPI (world-mpi.c): fills gather, close, state, place's rank, size and host. A call that
   takes longer than TIMEOUT_S ends the run. FALSE with *ERROR. */
bool world_mpi_open (World *self, unsigned timeout_s, const char **error);

/*
 * Files in FOLDER, which all ranks see (world-files.c): as above, for the RANK and SIZE that PLACE
 * has.
 */
bool world_files_open (World *self, const char *folder, unsigned timeout_s, const char **error);

/*
 * Forks N ranks (world-fork.c). In a rank: true, with RANK. In the parent, when all have ended:
 * false with *STATUS.
 */
bool world_fork (unsigned n, unsigned *rank, int *status, const char **error);
