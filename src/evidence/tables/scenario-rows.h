/*
 * A table of scenarios, one a row, as a source of a sweep. Columns are named as in tables of
 * measurements (training-table.h): options by their keys, `cluster`, `strategy`, `id` for what a
 * row is called; or in full, "training.micro_batch", "strategy.prefetch". An empty cell leaves the
 * option as it is; figures of measurements (metric, value, unit, use, source, remark) are passed
 * over.
 */
#pragma once

#include "decide/sweep/sweep.h"

/* Reads FILE once through: every row is whole. NULL after diagnostics. */
SweepSource *scenario_rows_open (const char *file, DiagList *diags);
