/* Padding of sharding formats over numbers of ranks, published and computed. */
#pragma once

#include "measure/figure-padding.h"

/* A line a statement, and how many of them hold; assumptions below. */
void report_padding_text (const FigurePadding *self, gboolean details, GString *out);

/* A row a number of ranks of a statement. */
void report_padding_csv (const FigurePadding *self, GString *out);

/* {"schema": 1, "name": ..., "rows": [...]}: the CSV's keys. */
void report_padding_json (const FigurePadding *self, GString *out);

/*
 * Draws NAME: a panel a model and unit, a line a row of several numbers of ranks, crosses and
 * levels where something was published; below it what is small, where something is off that scale.
 */
gboolean report_padding_plot (const FigurePadding *self, const char *dir, const char *style_file,
                              GError **error);
