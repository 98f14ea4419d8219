/* The bandwidth that training with rare exchanges needs, published and by its rules. */
#pragma once

#include "measure/figure-utilisation.h"

/* A table of bandwidths for each target, with how many steps of the grid each is off. */
void report_utilisation_text (const FigureUtilisation *self, gboolean details, GString *out);

/* A row for each cell of the table. */
void report_utilisation_csv (const FigureUtilisation *self, GString *out);

/* {"schema": 1, "name": ..., "rows": [...]}: the CSV's keys. */
void report_utilisation_json (const FigureUtilisation *self, GString *out);

/* Draws NAME-utilisation: a panel a model, a line a method, published numbers on them. */
gboolean report_utilisation_plot (const FigureUtilisation *self, const char *dir,
                                  const char *style_file, GError **error);
