/*
 * Published numbers beside what the simulator makes of the same runs: NAME.yaml has the scenarios,
 * NAME.csv beside it the numbers (the second line here is one line there):
 *
 *   figure,row,scenario,metric,published,assumptions
 *   arXiv:2205.05198 table 5,"22B, full recomputation","22B, full recomputation",
 *     step_time_s,1.42,unfused attention
 *
 * What was published may be a range, "1.11 to 1.66": a text that says no more, or several runs.
 *
 * Without a published number a row is a prediction for itself, which has no error.
 *
 * With a column `over`, where it names another scenario the figure is the ratio of both: a gain.
 *
 * Where a run's settings are not known, several scenarios have the same row one after another:
 * their predictions make a band. Of those the ones that do not fit memory are left out, as nobody
 * could have run them; where none fits, the run that somebody had is none of them in its memory,
 * and all make the band, which says so.
 *
 * Or they are steps of one run, which differ in their data: of the metric run_tokens_per_s the row
 * has what all of them together have, all tokens over all seconds.
 *
 * Figures of speed in different metrics can be drawn together as MFU: published MFU is that of the
 * prediction, scaled as the published number is to the predicted one.
 */
#pragma once

#include "evidence/figures/figure.h"

/* One scenario of a row. */
typedef struct
{
  const char *scenario;
  const char *over;   /* NULL, or the scenario whose metric divides */
  const char *reason; /* NULL, or why there is no prediction; then the rest is unset */
  double      predicted;
  double      work, seconds;           /* of a step: the metric as a rate, times its seconds */
  double      over_work, over_seconds; /* the same of `over`; 1 without it */
  double      mfu_percent;             /* of `scenario` */
  gboolean    fits;
  const char *profiles; /* what profiles_used says of its cluster */
} FigureCase;

typedef struct
{
  const char *figure, *row, *assumptions;
  const char *metric;  /* figure-metric.h */
  gboolean    ratio;   /* of two scenarios' */
  const char *title;   /* of the metric, or of the ratio of two */
  const char *picture; /* what rows that are drawn together share: the same without ops' labels */
  double      published, published_high; /* equal, or a range; NAN: none */
  GArray     *cases;                     /* FigureCase */
  guint       n_used;                    /* cases behind the numbers; 0: none, and they are unset */
  double      low, high;                 /* of the predictions */
  gboolean    misfits;                   /* n_used > 0, and none of them fits */
  double      mfu_published, mfu_published_high, mfu_low,
      mfu_high; /* %, of a metric of speed, with n_used > 0; else 0 */
  double error; /* of the end that is nearer to what was published, / that - 1; 0 where they
                   overlap; NAN without a published number */
} FigureRow;

void figure_row_clear (gpointer row);
