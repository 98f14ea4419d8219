/*
 * Who touched a piece of data, and whether that is over by a clock: the part of the check of data
 * (data-check.c) that knows of no schedule. A clock says for every thread the tick up to which all
 * is known to be over.
 */
#pragma once

#include <glib.h>

/* Who touched data, and when. A position of 0: nobody. */
typedef struct
{
  guint32 thread, position;
  guint32 item; /* of the section; with BEFORE: the item that follows */
  guint8  section;
  guint8  before;
} Touch;

/* Data: its last write, and reads since then, the last one of each thread. */
typedef struct
{
  Touch  write;
  Touch *reads;
  guint  n_reads, room;
} Cell;

/* CLOCK takes the maximum of both for N threads: TRUE when it learned something. */
gboolean clock_learn (guint32 *clock, const guint32 *other, guint n);

gboolean touch_is_over (const Touch *touch, const guint32 *clock);

void cell_reset (Cell *cell);
void cell_add_read (Cell *cell, const Touch *touch);

/*
 * The touch of CELL that TOUCH, with CLOCK, should come after and need not; NULL when there is
 * none.
 */
const Touch *cell_conflict (const Cell *cell, const Touch *touch, const guint32 *clock,
                            gboolean writes);
