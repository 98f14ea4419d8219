/*
 * Whether a scenario fits, by its plan alone: what searches ask of many scenarios before they
 * simulate a few.
 */
#pragma once

#include "predict/prediction.h"

#define BYTES_UNKNOWN G_MAXINT64

/*
 * Bytes over the capacity of a GPU of the first stage that SCENARIO takes at least, by its closed
 * form: in a tenth of the time of a plan. G_MININT64: it has none. BYTES_UNKNOWN, and diagnostics,
 * where it cannot be planned; another number does not say that it can.
 */
gint64 scenario_least_excess (const Scenario *scenario, const PredictOptions *options,
                              DiagList *diags);

/*
 * Bytes over capacity of the place that is over by most, as SCENARIO is planned (up to 0: fits).
 * BYTES_UNKNOWN, and diagnostics, where there is no such plan. Items
 * of its schedule into N_ITEMS (may be NULL).
 */
gint64 scenario_planned_excess (const Scenario *scenario, const PredictOptions *options,
                                guint64 *n_items, DiagList *diags);
