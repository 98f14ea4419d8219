/* The pictures of predictions: what files of this layer draw with gnuplot-private.h. */
#pragma once

#include "report/gnuplot-private.h"
#include "report/plot.h"
#include "report/timeline.h"

/* "time-split" of PREDICTIONS (at least one); STYLE: gnuplot commands that set the look. */
GnuplotPicture plot_time_split (const GPtrArray *predictions, const char *style);

/*
 * Every picture that there is of PREDICTIONS, in the order of a report. REPLAYS: one a prediction,
 * which kept its pools, or NULL. STYLE_FILE is plots/style.gp, with the other scripts beside it.
 * NULL with ERROR set when one of them cannot be read.
 */
GArray *plot_pictures (const GPtrArray *predictions, const Replay *const *replays,
                       const char *style_file, GError **error);
