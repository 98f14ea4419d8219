/* Reports of a map: formatting only. Every writer appends to a string. */
#pragma once

#include "measure/figure-map.h"

/* A table a page: the fastest contender of each cell and its lead over the second. */
void report_figure_map_text (const FigureMap *self, gboolean details, GString *out);

/*
 * A line for every contender of every cell: "map,page,y,x,rank,contender,tokens_per_s_per_gpu,
 * lead,binding_resource,scenario,reason,program_version,schema". `rank` is empty where it does not
 * fit; `lead` is the first one's over the second.
 */
void report_figure_map_csv (const FigureMap *self, GString *out);

/*
 * Draws the map into DIR, over STYLE_FILE (plots/style.gp): NAME.dat, .gp, .png and .svg. FALSE
 * with ERROR set, as of gnuplot_draw.
 */
gboolean report_figure_map_plot (const FigureMap *self, const char *dir, const char *style_file,
                                 GError **error);

/* {"schema": 1, "map": NAME, "axes": {...}, "entries": [...]}: the CSV's keys. */
void report_figure_map_json (const FigureMap *self, GString *out);
