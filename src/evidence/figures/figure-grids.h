/*
 * The order in which AxoNN's communication model (decide/parts/tensor-grid.h) has grids of columns
 * x rows x depth x data ranks, beside steps of the same grids that are simulated. NAME.grids.csv
 * has a line a model and machine:
 *
 *   figure,row,machine,ranks,least,samples,seq_len,n_layers,d_model,d_ff,gated,groups,top,
 *     scenarios,assumptions
 *
 * `top`: grids that are listed. The scenario "SCENARIOS, CxRxDxN" of NAME.yaml is that grid; it has
 * a row, too, wherever it stands in the order. Other scenarios are those of NAME.csv, which goes
 * with the table.
 */
#pragma once

#include "decide/parts/tensor-grid.h"
#include "evidence/figures/figure.h"

/* A line of the table. */
typedef struct
{
  const char *figure, *row, *machine, *gated, *scenarios, *assumptions;
  guint       ranks, least, samples, seq_len, n_layers, d_model, d_ff, groups, top;
  /* what comes of it */
  guint n_grids;             /* in the order */
  guint first, n;            /* its rows */
  guint n_pairs, n_agreeing; /* of two simulated grids that fit: the model's faster one has the
                                shorter step */
} GridLine;

/* A grid of a line. */
typedef struct
{
  const GridLine *line;
  guint           place; /* in the order, from 1 */
  TensorGrid      grid;
  const char     *name;     /* "CxRxDxN" */
  double step_s, exposed_s; /* of its scenario: the step, and communication that it waits for; NAN:
                               there is none that fits */
  const char *reason;       /* why; NULL: there is one, or there is no scenario */
} GridRow;
