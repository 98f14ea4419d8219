/*
 * From a step's trace to measured kernels (model/layer/measured-kernels.h): the durations of what a
 * rank ran, summed over the layers and phases of the scenario that it was a run of.
 */
#pragma once

#include "import/trace/step-trace.h"
#include "model/layer/measured-kernels.h"
#include "replay/bind/plan.h"

typedef struct
{
  MeasuredTable table;
  double   modelled[MEASURED_N_LAYERS][MEASURED_N_PHASES]; /* s: the same by the kernel model */
  guint    n[MEASURED_N_LAYERS][MEASURED_N_PHASES];        /* kernels in the step */
  gint64   part_ns[TRACE_N_PARTS];                         /* of the step's kernels */
  guint    part_n[TRACE_N_PARTS];
  gboolean other_device; /* they were measured on another GPU than the plan's */
} TraceMeasurement;

/*
 * TRACE: one step's, whose layers are placed, of rank RANK of PLAN. FALSE after diagnostics at
 * FILE: it is a trace of something else. DIFFERS: another GPU, and kernels that take over twice or
 * under half of what the model expects, are warnings.
 */
gboolean trace_measure (const StepTrace *trace, const ReplayPlan *plan, guint rank,
                        gboolean differs, const char *file, TraceMeasurement *measurement,
                        DiagList *diags);

/*
 * The profile of the GPU that TRACE was measured on, newly allocated: the one that its name, SMs
 * and memory fit; NULL where none does, or the trace does not say.
 */
char *trace_device_profile (const StepTrace *trace, ProfileSet *profiles);
