/*
 * The order in which runs of unlike size are handed to threads that each take the next one.
 *
 * Set: what each run is expected to take. Computed: the largest one first, and behind each large
 * one as many of the smallest as take as long together. So while there are small ones, one of two
 * threads has large runs in memory, not both; and none waits at the end for a large one that began
 * last, for those in the middle do.
 */
#pragma once

#include <glib.h>

/* Of N runs that take WORK [n], in any one unit. [n], newly allocated. */
guint *run_order_new (const double *work, guint n);
