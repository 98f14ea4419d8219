/* A metric of runs over one of their settings, beside the most that somebody says. */
#pragma once

#include "measure/figure-curves.h"

/* A table a panel: a line an x, a column a series; what is published and assumed below. */
void report_curves_text (const FigureCurves *self, gboolean details, GString *out);

/* A row a point. */
void report_curves_csv (const FigureCurves *self, GString *out);

/* {"schema": 1, "name": ..., "rows": [...]}: the CSV's keys. */
void report_curves_json (const FigureCurves *self, GString *out);

/* Draws NAME: a panel each, a line a series, what is published as a level. */
gboolean report_curves_plot (const FigureCurves *self, const char *dir, const char *style_file,
                             GError **error);
