/* What the files of the step executor share. */
#pragma once

#include "replay/step/step-run.h"

/* B/s of payload that EDGE carries when nobody else is there. */
double step_largest_rate (const double *capacity, const StepProgram *program, const StepEdge *edge);

/*
 * Whether each resource could be full if the edges of all programs sent whenever they liked. One
 * that could not can be left out of the sharing: it holds nobody back. Newly allocated.
 */
gboolean *step_screen (const double *capacity, guint n_resources, const StepRunItem *items,
                       guint n);
