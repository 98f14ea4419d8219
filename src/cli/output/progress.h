/*
 * How far long work is: a line on a terminal, from half a second (SHARDSIM_PROGRESS_DELAY) on. What
 * is no terminal is told once, after 90 s (SHARDSIM_PROGRESS_NOTE), and on a line of its own.
 *
 *   predicting: 12 of 40 scenarios, 3.2/s, 9 s left
 *   searching: screening structures, 812 of 3000, 90/s, 24 s left
 *   searching: simulating candidates, 40 so far, 3 s; best: 6.42 s a step, 10203 tokens/s/GPU
 *
 * The time that is left is said as long as pieces end at about the rate that was measured.
 */
#pragma once

#include "base/work-count.h"

typedef struct _Progress Progress;

/*
 * WORK: "predicting"; UNIT: "scenarios", where the count has no steps; STOP: of the count, or NULL.
 * Nothing else may be written to stderr before the end. Never NULL.
 */
Progress *progress_start (const char *work, const char *unit, Stop *stop);

/*
 * Where the work is counted; work that cannot be counted leaves it alone, and the line says the
 * time it takes.
 */
WorkCount *progress_count (Progress *self);

/* Wipes the line, and frees. */
void progress_end (Progress *self);

/* What the line says. */
typedef struct
{
  const char *work, *unit, *step; /* as of progress_start and WorkCount; STEP may be NULL */
  guint       done, todo;         /* TODO 0: unknown */
  gboolean    more;
  const char *best;            /* as of WorkCount; may be NULL */
  double      seconds, idle_s; /* since the step began (MORE: the work), and since its last piece */
} ProgressView;

/* Newly allocated. */
char *progress_text (const ProgressView *self);
