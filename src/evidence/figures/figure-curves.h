/*
 * Curves: a metric of runs over one of their settings, beside what somebody says is the most that
 * can be gained. NAME.yaml has the scenarios; NAME.curves.csv has a line a panel:
 *
 *   figure,x,scenarios,metric,gain_over,published,assumptions
 *   speed,cluster.nic,network,step_time_s,none,2.5,the rest is as in the file
 *
 * A panel's scenarios are those whose name begins with `scenarios` and a comma. X is the first
 * number in the value of the key `x`; the rest of the name, without that setting, is the series.
 * With `gain_over` a point is the metric of that series at the same x divided by its own.
 */
#pragma once

#include "evidence/figures/figure.h"

/* A line of the table. */
typedef struct
{
  const char *figure, *x, *prefix, *metric, *over, *assumptions; /* over: "" without a gain */
  double      published;                                         /* NAN: nobody says */
  GArray     *xs;                                                /* double, ascending */
  GPtrArray  *series;    /* const char *, in the order of the file */
  double     *values;    /* [series][x]; NAN where nothing was predicted or fits */
  double      low, high; /* of those that are no base of a gain; low > high without any */
  const char *reason;    /* why a scenario has no prediction, the first one's; NULL: all have */
} CurvePanel;

/* A row: panel by panel, series by series. */
typedef struct
{
  const CurvePanel *panel;
  const char       *series;
  double            x, value;
} CurvePoint;

double curve_value (const CurvePanel *panel, guint series, guint i);
