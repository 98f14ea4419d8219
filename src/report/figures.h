/* Reports of published figures: formatting only. Every writer appends to a string. */
#pragma once

#include "measure/figures.h"

struct json_object;

/*
 * A table of published and predicted numbers; with DETAILS each scenario of a band below it, and
 * the assumptions, each once. In all kinds of figures these are what DETAILS adds.
 */
void report_figures_text (const Figures *self, gboolean details, GString *out);

/*
 * "figure,row,metric,published,predicted_low,predicted_high,error,assumptions,reason,profiles,
 * program_version,schema,band,fits,published_mfu_percent,predicted_mfu_percent_low,
 * predicted_mfu_percent_high,published_high": low and high are equal where there is no band.
 */
void report_figures_csv (const Figures *self, GString *out);

/* {"schema": 1, "figures": [...]}: the CSV's keys and, a list, the scenarios behind each row. */
void report_figures_json (const Figures *self, GString *out);
void report_figures_add_json (const Figures *self, struct json_object *root); /* "figures" */

/*
 * Draws a picture NAME-METRIC for each metric, and where several are of speed NAME-mfu of all of
 * them, into DIR, which is made if missing, in the look of
 * STYLE_FILE. FALSE with ERROR set where gnuplot_draw fails.
 */
gboolean report_figures_plot (const Figures *self, const char *dir, const char *style_file,
                              GError **error);
