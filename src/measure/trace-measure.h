/*
 * From a step's trace to measured kernels (workload/measured-kernels.h): the durations of what a
 * rank ran, summed over the layers and phases of the scenario that it was a run of.
 */
#pragma once

#include "measure/step-trace.h"
#include "replay/plan.h"
#include "workload/measured-kernels.h"

typedef struct
{
  MeasuredTable table;
  double modelled[MEASURED_N_LAYERS][MEASURED_N_PHASES]; /* s: the same by the kernel model */
  guint  n[MEASURED_N_LAYERS][MEASURED_N_PHASES];        /* kernels in the step */
  gint64 part_ns[TRACE_N_PARTS];                         /* of the step's kernels */
  guint  part_n[TRACE_N_PARTS];
} TraceMeasurement;

/*
 * TRACE: one step's, whose layers are placed, of rank RANK of PLAN. FALSE after diagnostics at
 * FILE: it is a trace of something else.
 */
gboolean trace_measure (const StepTrace *trace, const ReplayPlan *plan, guint rank,
                        const char *file, TraceMeasurement *measurement, DiagList *diags);
