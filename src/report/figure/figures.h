/* Reports of figures: formatting only. Every writer appends to a string. */
#pragma once

#include "evidence/figures/figure.h"

/*
 * Tables of what was published and what comes of it. DETAILS adds each scenario of a band, and the
 * assumptions, each once.
 */
void report_figures_text (const Figures *self, gboolean details, GString *out);

/* A line a row: docs/results.md has the columns of each kind. */
void report_figures_csv (const Figures *self, GString *out);

/* {"schema": 1, ...}: the CSV's keys, in a list. */
void report_figures_json (const Figures *self, GString *out);

/*
 * Draws the pictures of the figures, whose names begin with theirs, into DIR, which is made if
 * missing, in the look of STYLE_FILE. FALSE with ERROR set where gnuplot_draw fails.
 */
gboolean report_figures_plot (const Figures *self, const char *dir, const char *style_file,
                              GError **error);
