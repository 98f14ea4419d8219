/*
 * The memory that this process itself takes (not what is simulated), and the most that it may.
 *
 * As files (file-roles.h), memory is the process's and not a simulation's, so its limit is,
 * too. Without one, as in other programs that use the library, all of these allow everything. What
 * counts is what the process has of the machine, as the kernel says it.
 *
 * A run is what one thread simulates. Above the limit the run that has asked for most since it
 * began is over: it asks on its way (own_memory_is_over), gives up, and frees what it holds.
 */
#pragma once

#include <gio/gio.h>

/* What the process may have of the machine: all of it, or what its control groups leave. */
guint64 own_memory_of_machine (void);

/* The same with ROOT in place of "/", for tests. 0: nobody says. */
guint64 own_memory_below (const char *root);

/* At most BYTES from now on; 0: no limit. Runs that are on their way heed it, too. */
void own_memory_set_limit (guint64 bytes);

/*
 * This thread has asked for BYTES more. FALSE: the process has more than it may, and no run could
 * give up, or too much for one to come to it: the process ends. Allocates nothing.
 */
gboolean own_memory_count (gsize bytes);

/* ---- runs ------------------------------------------------------------------------------------ */

/*
 * This thread begins a run, which own_memory_end ends. ALONE: when all others have ended, and until
 * then none begins. Inside a run nothing is begun.
 */
void own_memory_begin (gboolean alone);

typedef enum
{
  OWN_MEMORY_ENOUGH,
  OWN_MEMORY_CROWDED, /* the run was over while others ran: alone it may have enough */
  OWN_MEMORY_OVER,
} OwnMemoryEnd;

OwnMemoryEnd own_memory_end (void);

/* Whether the run of this thread is over; once it is, it stays so. */
gboolean own_memory_is_over (void);

/* Whether that was said before: for who would try another way. */
gboolean own_memory_was_over (void);

#define OWN_MEMORY_ERROR (g_quark_from_static_string ("own-memory"))

/* Says that a run was over, and what to do. */
void own_memory_set_error (GError **error);
