/*
 * Executes step programs side by side on shared resources, max-min fair as everything else.
 *
 * An edge that no resource can hold back, whatever the other edges do, sends at a constant rate:
 * its times follow from its neighbours' by arithmetic. Only the rest goes through bandwidth sharing
 * and an agenda of events. So a ring with a card to each of its edges costs some nanoseconds a
 * step.
 */
#pragma once

#include "cost/collective/steps/steps.h"

typedef struct
{
  const StepProgram *program; /* finished */
  double             start;   /* s; its launch begins then */
} StepRunItem;

/*
 * When each of the N programs is over, s, into FINISH. CAPACITY [n_resources]: per second, by the
 * resources that the programs name. A program without edges ends with its launch.
 */
void step_run (const double *capacity, guint n_resources, const StepRunItem *items, guint n,
               double *finish);
