/*
 * Who accessed a piece of data, and whether that is over by a clock: the part of the check of data
 * (data-check.c) that knows of no schedule. A clock says for every thread the tick up to which all
 * is known to be over.
 */
#pragma once

#include <glib.h>

/* An access to data. A position of 0: nobody. */
typedef struct
{
  guint32 thread, position;
  guint32 item; /* of the section; with BEFORE: the item that follows */
  guint8  section;
  guint8  before;
} Access;

/* Data: its last write, and reads since then, the last one of each thread. */
typedef struct
{
  Access  write;
  Access *reads;
  guint   n_reads, room;
} AccessHistory;

/* CLOCK becomes the maximum of both for N threads: TRUE when that changed it. */
gboolean vector_clock_merge (guint32 *clock, const guint32 *other, guint n);

gboolean access_is_over (const Access *access, const guint32 *clock);

void access_history_reset (AccessHistory *history);
void access_history_add_read (AccessHistory *history, const Access *access);

/*
 * The access of HISTORY that ACCESS, with CLOCK, should come after and need not; NULL when there is
 * none.
 */
const Access *access_history_conflict (const AccessHistory *history, const Access *access,
                                       const guint32 *clock, gboolean writes);
