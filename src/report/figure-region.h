/* The region of one ratio that explains published runs, below the figures of the same name. */
#pragma once

#include "measure/figure-region.h"

/* report_figures_text; a table of the lines, and what they say together. */
void report_region_text (const FigureRegion *self, gboolean details, GString *out);

/*
 * report_figures_csv with more rows: the ratio that explains each line as `predicted_low` and
 * `predicted_high` of the metric `allreduce_over_step`, and the same of what lines say together.
 */
void report_region_csv (const FigureRegion *self, GString *out);

/*
 * {"schema": 1, "figures": [...], "region": {"rows": [...], "together": [...]}}: the first as of
 * report_figures_json.
 */
void report_region_json (const FigureRegion *self, GString *out);

/* report_figures_plot, and NAME-region: a bar a line, from the least r to the greatest. */
gboolean report_region_plot (const FigureRegion *self, const char *dir, const char *style_file,
                             GError **error);
