/*
 * Pictures, drawn by gnuplot as a child process. Each picture NAME leaves four files in its folder:
 * NAME.dat and NAME.gp, which draw it again with `gnuplot NAME.gp`, and NAME.png and NAME.svg.
 */
#pragma once

#include <gio/gio.h>

#include "analysis/prediction.h"

/*
 * Whether pictures could be drawn into DIR at all, to be asked before the work. FALSE with ERROR
 * set.
 */
gboolean report_plot_check (const char *dir, GError **error);

/*
 * "time-split": stacked bars of where a step's time goes, one bar a prediction, named as in the
 * table, under titles of model and cluster where these differ. REPLAYS may be NULL. DIR is made
 * when it is missing. STYLE_FILE holds gnuplot commands that set the look; they become part of the
 * scripts. FALSE with ERROR set when gnuplot is missing or fails, or a file cannot be written; then
 * DIR is as it was.
 */
gboolean report_plot_write (const GPtrArray *predictions, const Replay *const *replays,
                            const char *dir, const char *style_file, GError **error);
