/* Independent jobs in threads. */
#pragma once

#include "base/work-count.h"

typedef void (*ParallelJob) (guint i, gpointer user);

/*
 * Calls JOB for every I below N, in at most N_THREADS threads (at least 1; this one included), and
 * returns when all are done, or all that were begun when COUNT's stop is due. COUNT, which may be
 * NULL, is told of them.
 */
void parallel_run (guint n, guint n_threads, ParallelJob job, gpointer user, WorkCount *count);
