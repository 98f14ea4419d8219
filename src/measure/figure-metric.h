/* What a figure is of: a number that a prediction has by itself. */
#pragma once

#include "analysis/prediction.h"

typedef enum
{
  FIGURE_NO_SPEED,
  FIGURE_RATE, /* tokens a second, FLOP/s, MFU: the more the faster */
  FIGURE_TIME,
} FigureSpeed;

/*
 * Whether there is a metric NAME: a name of prediction_result_names, hfu_percent, tokens_per_s,
 * step_flops_per_gpu, busy_..._percent, largest_parameters and some more (docs/figures.md), or
 * "op_ms:LABEL", the milliseconds that half of the ops with that label stay below.
 */
gboolean figure_metric_is_known (const char *name);

/* What of NAME its rows have in common, which are drawn together: "op_ms". Newly allocated. */
char *figure_metric_picture (const char *name);

FigureSpeed figure_metric_speed (const char *name);

/* Whether a row's answer is the most of those of its scenarios that fit. */
gboolean figure_metric_is_largest (const char *name);

/* Makes OPTIONS ask for all that NAME needs. */
void figure_metric_ask (const char *name, PredictOptions *options);

/* Of PREDICTION, made with what NAME asked for; FALSE: it has no op of that label. */
gboolean figure_metric_of (const Prediction *prediction, const char *name, double *value);
