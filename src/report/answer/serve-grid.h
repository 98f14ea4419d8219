/* The answer of `shardsim serve --vary`: a row for each combination of the options' values. */
#pragma once

#include "report/document/page.h"
#include "serve/serving-run.h"
#include "serve/steady.h"

typedef struct
{
  char         *label;  /* "generation.tp=2 serving.max_sequences=64" */
  char         *reason; /* why there is no answer; NULL: there is one */
  SteadyAnswer  steady; /* of a full batch; */
  ServingAnswer run;    /* or of requests over time */
} ServeGridRow;

typedef struct
{
  const char *model, *cluster;
  GArray     *rows; /* ServeGridRow */
} ServeGrid;

void serve_grid_row_clear (ServeGridRow *self);

/* Of full batches, and of requests over time. CSV has a row each; JSON {"rows": [...]}. */
extern const PageKind serve_grid_of_batches, serve_grid_of_requests;
