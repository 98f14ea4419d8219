/*
 * Pictures, drawn by gnuplot as a child process. Each picture NAME leaves four files in its folder:
 * NAME.dat and NAME.gp, which draw it again with `gnuplot NAME.gp`, and NAME.png and NAME.svg.
 */
#pragma once

#include <gio/gio.h>

#include "predict/prediction.h"

/*
 * Whether pictures could be drawn into DIR at all, to be asked before the work. FALSE with ERROR
 * set.
 */
gboolean report_plot_check (const char *dir, GError **error);

/*
 * Draws what there is of PREDICTIONS: "time-split", stacked bars of where a step's time goes; of
 * one with its replay "stream-timeline", "layer-forward" and "layer-backward", "memory-timeline"
 * and "roofline"; of several "scaling", "pareto" and "heat-map" as far as they differ in it
 * (docs/pictures.md). REPLAYS: one a prediction, which kept its pools, or NULL; any may be NULL.
 * DIR is made when it is missing. STYLE_FILE holds gnuplot commands that set the look, and has the
 * scripts beside it; they become part of what is written. FALSE with ERROR set when gnuplot is
 * missing or fails, or a file cannot be written; then DIR is as it was, up to pictures that were
 * complete when writing failed.
 */
gboolean report_plot_write (const GPtrArray *predictions, const Replay *const *replays,
                            const char *dir, const char *style_file, GError **error);
