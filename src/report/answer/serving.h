/* The answer of `shardsim serve` of requests that arrive over time. */
#pragma once

#include "report/document/page.h"
#include "serve/serving-run.h"

typedef struct
{
  const char   *model, *cluster;
  ServingAnswer run;
} ServingReport;

/* CSV has one row, JSON {"serving": {...}}. */
extern const PageKind serving_answer;
