/*
 * The progress line of long work: on a terminal, from half a second (SHARDSIM_PROGRESS_DELAY) on,
 * and nothing anywhere else.
 *
 *   predicting: 12 of 40 scenarios, 3.2/s, 9 s left
 */
#pragma once

#include "base/work-count.h"

typedef struct _Progress Progress;

/*
 * WORK: "predicting"; UNIT: "scenarios". Nothing else may be written to stderr before the end.
 * Never NULL.
 */
Progress *progress_start (const char *work, const char *unit);

/*
 * Where the work is counted; work that cannot be counted leaves it alone, and the line says the
 * time it takes.
 */
WorkCount *progress_count (Progress *self);

/* Wipes the line, and frees. */
void progress_end (Progress *self);

/* The line: DONE of TODO pieces (TODO 0: unknown) after SECONDS. Newly allocated. */
char *progress_text (const char *work, const char *unit, guint done, guint todo, double seconds);
