/*
 * What is said of a prediction, a column each: reports print these tables, stores keep them, and
 * what follows from fewer micro-batches or steps is what grows in them (growth.h).
 */
#pragma once

#include "base/config/column.h"
#include "predict/prediction.h"

/*
 * Of a Prediction. The first ones are published (tests/report/test-report.c); new ones are
 * appended, none is renamed.
 */
extern const Column prediction_columns[];

/* What '!' behind a peak of GPU memory means, for the line below a table. */
#define PREDICTION_TIGHT_MARK                 \
  "! behind a peak: less than " G_STRINGIFY ( \
      PREDICTION_TIGHT_PERCENT) " % of "      \
                                "a GPU's memory is left, or allocations were tried again"

/* Of a TrafficUse, a BindingUse, a StageUse, a MemoryUse. */
extern const Column traffic_columns[];
extern const Column binding_columns[];
extern const Column stage_columns[];
extern const Column memory_columns[];
