/*
 * Measured runs over the number of nodes, beside predictions of each: two tables,
 * NAME.collectives.csv (measurement.h) and NAME.training.csv (training-table.h). A
 * page is one kind of node of one source, a series what differs in the number of nodes only.
 */
#pragma once

#include "evidence/figures/figure.h"

typedef enum
{
  SCALING_BUS_BANDWIDTH, /* of collectives, B/s as nccl-tests counts it */
  SCALING_THROUGHPUT,    /* tokens/s and GPU of training runs */
  SCALING_N_PARTS,
} ScalingPart;

/* A row: by part, page, series (in order of their first rows), nodes. */
typedef struct
{
  ScalingPart part;
  const char *name; /* of the part: "bus-bandwidth" */
  const char *page, *series, *id;
  guint       nodes;
  double      measured, predicted;            /* predicted: NAN without a prediction */
  const char *reason;                         /* why there is none; NULL */
  guint       first_of_page, first_of_series; /* where such rows began in the tables */
} ScalingPoint;
