/* The closed form of memory and bandwidth beside runs and measurements. */
#pragma once

#include "measure/figure-memband.h"

/* Tables of the grid search, of the bounds and of the measured steps; of series the pictures. */
void report_memband_text (const FigureMemband *self, gboolean details, GString *out);

/* A row for each line of a table and each point of a series. */
void report_memband_csv (const FigureMemband *self, GString *out);

/* {"schema": 1, "name": ..., "rows": [...]}: the CSV's keys. */
void report_memband_json (const FigureMemband *self, GString *out);

/*
 * Draws a picture for each figure of the series, and NAME-beside: simulated and measured against
 * the closed form. As report_figures_plot.
 */
gboolean report_memband_plot (const FigureMemband *self, const char *dir, const char *style_file,
                              GError **error);
