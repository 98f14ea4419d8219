/* Reports of `sensitivity`. */
#pragma once

#include <gio/gio.h>

#include "decide/explore/sensitivity.h"
#include "report/document/page.h"

/*
 * The answer is Sensitivity. CSV has a row a figure, or where there are options a row an option:
 * one table has one form. JSON is {"sensitivity": {..., "figures": [...], "options": [...]},
 * "results": [the scenario as it is]}.
 */
extern const PageKind sensitivity_answer;

/*
 * "sensitivity": what less and more of each figure that matters does to the step, as
 * report_plot_write draws. Nothing where none does.
 */
gboolean report_sensitivity_plot (const Sensitivity *self, const char *dir, const char *style_file,
                                  GError **error);
