/* Reports of `sensitivity`. */
#pragma once

#include <gio/gio.h>

#include "analysis/sensitivity.h"

void report_sensitivity_text (const Sensitivity *self, GString *out);

/* A row a figure, or where there are options a row an option: one table has one form. */
void report_sensitivity_csv (const Sensitivity *self, GString *out);

/*
 * {"schema": 1, "sensitivity": {..., "figures": [...], "options": [...]}, "results": [the scenario
 * as it is]}
 */
void report_sensitivity_json (const Sensitivity *self, GString *out);

/*
 * "sensitivity": what less and more of each figure that matters does to the step, as
 * report_plot_write draws. Nothing where none does.
 */
gboolean report_sensitivity_plot (const Sensitivity *self, const char *dir, const char *style_file,
                                  GError **error);
