/* What a figure is of: a number that a prediction has by itself. */
#pragma once

#include "predict/prediction.h"

typedef enum
{
  FIGURE_NO_SPEED,
  FIGURE_RATE, /* tokens a second, FLOP/s, MFU: the more the faster */
  FIGURE_TIME,
} FigureSpeed;

typedef struct
{
  const char *name;    /* of ops "op_ms", which a label follows */
  gsize       offset;  /* in Prediction: of a double, */
  gboolean    bytes;   /* or of so many, as a guint64 */
  gboolean    largest; /* a row's answer is the most of those of its scenarios that fit */
  gboolean    run;     /* its scenarios are steps of one run, whose rate is the answer */
  FigureSpeed speed;
} FigureMetric;

/*
 * The metric NAME: step_time_s, tokens_per_s_per_gpu,
 * step_flops_per_gpu, busy_..._percent, largest_parameters, run_tokens_per_s and some more
 * (docs/figures.md), or
 * "op_ms:LABEL", the milliseconds that half of the ops with that label stay below. NULL: none.
 */
const FigureMetric *figure_metric_find (const char *name);

/* Makes OPTIONS ask for all that NAME needs. */
void figure_metric_ask (const char *name, PredictOptions *options);

/* Of PREDICTION, made with what NAME asked for; FALSE: it has no op of that label. */
gboolean figure_metric_of (const Prediction *prediction, const char *name, double *value);
