/*
 * Curves: a metric of runs over one of their settings, beside what somebody says is the most that
 * can be gained. NAME.yaml has the scenarios; NAME.curves.csv has a line a panel:
 *
 *   figure,x,scenarios,metric,gain_over,published,assumptions
 *   speed,cluster.nic,network,step_time_s,none,2.5,the rest is as in the file
 *
 * A panel's scenarios are those whose name begins with `scenarios` and a comma. X is the first
 * number in the value of the key `x`; the rest of the name, without that setting, is the series.
 * With `gain_over` a point is the metric of that series at the same x divided by its own. Profiles
 * that only the figure needs lie in the folder NAME beside it, over the others.
 */
#pragma once

#include "analysis/prediction.h"

typedef struct
{
  const char *figure, *x, *prefix, *metric, *assumptions;
  const char *over;      /* NULL: no gain */
  double      published; /* NAN: nobody says */
  GArray     *xs;        /* double, ascending */
  GPtrArray  *series;    /* const char *, in the order of the file */
  double     *values;    /* [series][x]; NAN where nothing was predicted or fits */
  const char *reason;    /* why a scenario has no prediction, the first one's; NULL: all have */
} CurvePanel;

typedef struct
{
  char         *name;
  GArray       *panels; /* CurvePanel */
  GStringChunk *strings;
} FigureCurves;

/* Whether the figures NAME in FOLDER are curves. NAME is one of figures_list. */
gboolean figure_curves_is (const char *folder, const char *name);

/*
 * Predicts the scenarios of NAME in FOLDER in N_THREADS threads. NULL after diagnostics. The result
 * does not depend on the threads.
 */
FigureCurves *figure_curves_predict (const char *folder, const char *name,
                                     const PredictOptions *options, guint n_threads,
                                     DiagList *diags);
void          figure_curves_free (FigureCurves *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FigureCurves, figure_curves_free)

/* Of SERIES at the I-th x, and the least and largest of those that are no base of a gain. */
double curve_value (const CurvePanel *panel, guint series, guint i);
void   curve_range (const CurvePanel *panel, double *low, double *high);
