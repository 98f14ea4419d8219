/* What a kind of figures looks like: a row of CSV and JSON, text, and pictures. */
#pragma once

#include "evidence/figures/figure-curves.h"
#include "report/document/document.h"
#include "report/document/json-private.h"
#include "report/document/terminal-private.h"
#include "report/plot/facets-private.h"

typedef struct
{
  const Column *columns;                                        /* of a row */
  const char   *name_key, *rows_key;                            /* of JSON; NULL: there is none */
  void (*json) (const Figures *self, struct json_object *root); /* what else; NULL: nothing */
  void (*text) (const Figures *self, gboolean details, GString *out);
  void (*plot) (const Figures *self, const char *style, GArray *pictures); /* GnuplotPicture */
} FigureReport;

extern const FigureReport report_published, report_apart, report_curves, report_edge, report_grids,
    report_map, report_memband, report_padding, report_region, report_scaling, report_submissions,
    report_utilisation;

extern const Column published_columns[]; /* of a FigureRow */
extern const Column curve_columns[];     /* of a CurvePoint */

/* Appends a panel's title, its table, a line an x, and what was predicted and published of it. */
void figure_curve_text (const CurvePanel *panel, GString *out);

/* What all panels of curves have ahead of them. */
void figure_curve_head (Facets *facets);

/* Draws the panel, its x axis LOGARITHMIC or not: a line a series, what is published as a level. */
void figure_curve_draw (const CurvePanel *panel, gboolean logarithmic, Facets *facets);

/* Adds a line of newly allocated cells to a terminal's table, which takes them. */
#define figure_line(table, ...) terminal_table_take (table, (char *[]){ __VA_ARGS__, NULL })

/* VALUE as FORMAT says; nothing, if there is none. Newly allocated. */
char *figure_number (const char *format, double value);

/* Appends the assumptions at OFFSET of the structs of LINES, each once. */
void figure_assumptions (const GArray *lines, gsize offset, GString *out);
