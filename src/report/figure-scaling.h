/* Reports of runs over the number of nodes: formatting only. Every writer appends to a string. */
#pragma once

#include "measure/figure-scaling.h"

/* A table a page: measured, predicted and error of each series on each number of nodes. */
void report_figure_scaling_text (const FigureScaling *self, gboolean details, GString *out);

/*
 * "part,page,series,id,nodes,measured,predicted,error,reason,program_version,schema", a line a
 * point; bandwidths in B/s.
 */
void report_figure_scaling_csv (const FigureScaling *self, GString *out);

/* {"schema": 1, "figures": NAME, "points": [...]}: the CSV's keys. */
void report_figure_scaling_json (const FigureScaling *self, GString *out);

/*
 * Draws NAME-bus-bandwidth and NAME-throughput into DIR, over STYLE_FILE (plots/style.gp): a panel
 * a page, measured points beside predicted lines. FALSE with ERROR set, as of gnuplot_draw.
 */
gboolean report_figure_scaling_plot (const FigureScaling *self, const char *dir,
                                     const char *style_file, GError **error);
