/* The pictures of predictions: what files of this layer draw with gnuplot-private.h. */
#pragma once

#include "predict/roofline.h"
#include "report/plot/gnuplot-private.h"
#include "report/plot/picture-names-private.h"
#include "report/plot/plot.h"
#include "report/trace/timeline.h"

/* The look and the scripts of pictures: files of one folder. */
typedef struct
{
  char *folder;
  char *style; /* gnuplot commands: text of style.gp */
} PlotScripts;

/* FALSE with ERROR set. */
gboolean plot_scripts_read (PlotScripts *self, const char *style_file, GError **error);
void     plot_scripts_clear (PlotScripts *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PlotScripts, plot_scripts_clear)

/*
 * Adds the picture NAME of DATA to PICTURES: the style, SETTINGS (commands that set what the script
 * reads), and the script TEMPLATE.gp of the folder, drawn once for each format of WIDTH by HEIGHT.
 * SETTINGS and DATA are taken. FALSE with ERROR set when the script cannot be read.
 */
gboolean plot_add (GArray *pictures, const PlotScripts *scripts, const char *name,
                   const char *template, GString *settings, GString *data, guint width,
                   guint height, GError **error);

/* Appends "NAME = 'TEXT'" or "NAME = VALUE", and a line end. */
void plot_set_text (GString *settings, const char *name, const char *text);
void plot_set_number (GString *settings, const char *name, double value);

/* Appends VALUE, or "nan", and a space. */
void plot_append_number (GString *data, double value);
/* Appends TEXT in double quotes, without what would end it, and a space. */
void plot_append_text (GString *data, const char *text);

/* Appends label NUMBER, TEXT, at the right of the axes, HEIGHT of them above their lower end. */
void plot_append_list_label (GString *settings, guint number, const char *text, double height);

/* The largest unit of time of which LENGTH seconds have one: *NAME is "ms". Seconds of it. */
double plot_time_unit (double length, const char **name);

/* ---- of one run ------------------------------------------------------------------------------ */

/* "time-split" of PREDICTIONS (at least one); STYLE: gnuplot commands that set the look. */
void plot_add_time_split (GArray *pictures, const GPtrArray *predictions, const char *style);

/* "stream-timeline", the period; "layer-forward", "layer-backward": one layer, if there is one. */
gboolean plot_add_streams (GArray *pictures, const PlotScripts *scripts, const Timeline *timeline,
                           const char *title, GError **error);

/* "memory-timeline", where TIMELINE has levels. */
gboolean plot_add_memory (GArray *pictures, const PlotScripts *scripts, const Timeline *timeline,
                          const char *title, GError **error);

/* "roofline". */
gboolean plot_add_roofline (GArray *pictures, const PlotScripts *scripts, const Roofline *roofline,
                            const char *title, GError **error);

/* ---- of any points --------------------------------------------------------------------------- */

typedef struct
{
  double      x, y;
  const char *label, *series; /* may be NULL */
  gboolean    fits;           /* what does not is drawn hollow, and no front goes through it */
} PlotPoint;

/*
 * The picture NAME of POINTS (PlotPoint), of which a smaller x and a larger y are better: the
 * Pareto front, its points labelled.
 */
gboolean plot_add_pareto (GArray *pictures, const PlotScripts *scripts, const char *name,
                          const char *title, const char *x_title, const char *y_title,
                          const GArray *points, GError **error);

/*
 * The picture NAME: a line a series over x, both on logarithmic scales, and where y grew as x does.
 * POINTS of a series are in the order of x.
 */
gboolean plot_add_scaling (GArray *pictures, const PlotScripts *scripts, const char *name,
                           const char *title, const char *x_title, const char *y_title,
                           const GArray *points, GError **error);

/* A matrix: rows from the top down. */
typedef struct
{
  const char        *title, *x_title, *y_title, *z_title;
  const char *const *x_names, *const *y_names; /* strv: columns, rows */
  const double      *values;                   /* row by row; not finite: none */
  const char *const *words; /* of each: said where there is no value; may be NULL, as the whole */
} PlotMatrix;

#define PLOT_TOO_BIG "too big" /* of what does not fit */

/* The picture NAME: a cell an entry, coloured and labelled by it, grey where words stand. */
gboolean plot_add_heat_map (GArray *pictures, const PlotScripts *scripts, const char *name,
                            const PlotMatrix *matrix, GError **error);

/* ---- of predictions -------------------------------------------------------------------------- */

/*
 * Of several: "scaling" where they differ in GPUs, "pareto" of three and more of one model,
 * "heat-map" where they are a grid of two options.
 */
gboolean plot_add_comparison (GArray *pictures, const PlotScripts *scripts,
                              const GPtrArray *predictions, GError **error);

/*
 * Every picture that there is of PREDICTIONS, in the order of a report. REPLAYS: one a prediction,
 * which kept its pools, or NULL. FALSE with ERROR set when a script cannot be read.
 */
gboolean plot_add_predictions (GArray *pictures, const PlotScripts *scripts,
                               const GPtrArray *predictions, const Replay *const *replays,
                               GError **error);
