/*
 * Watches what a rank asks of MPI: a call that does not end in time, as its peer has stopped, ends
 * the run with a line that names it. MPI itself waits for ever.
 */
#pragma once

#ifdef BENCH_MPI

#include <stdbool.h>

#include "bench/world/world.h"

/*
 * Watches from now on, in a thread of its own: no call longer than TIMEOUT_S (0: as long as it
 * takes). PLACE outlives the watch. FALSE: there is no thread for it.
 */
bool mpi_watch_open (const WorldPlace *place, unsigned timeout_s);
void mpi_watch_close (void);

/* CALL, which outlives it, begins and ends. One thread at a time, as MPI is called. */
void mpi_watch_begin (const char *call);
void mpi_watch_end (void);

#endif
