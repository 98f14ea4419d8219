/*
 * Measured runs over the number of nodes, beside predictions of each: two tables,
 * NAME.collectives.csv (measure/measurement.h) and NAME.training.csv (measure/training-table.h). A
 * page is one kind of node of one source, a series what differs in the number of nodes only.
 */
#pragma once

#include "analysis/prediction.h"

typedef enum
{
  SCALING_BUS_BANDWIDTH, /* of collectives, B/s as nccl-tests counts it */
  SCALING_THROUGHPUT,    /* tokens/s and GPU of training runs */
  SCALING_N_PARTS,
} ScalingPart;

const char *scaling_part_name (ScalingPart part); /* "bus-bandwidth" */

/* The strings belong to the figure. */
typedef struct
{
  ScalingPart part;
  const char *page, *series, *id;
  guint       nodes;
  double      measured, predicted; /* predicted: NAN without a prediction */
  const char *reason;              /* why there is none; NULL */
} ScalingPoint;

typedef struct
{
  char   *name;
  GArray *points; /* ScalingPoint: by part, page, series (in order of their first rows), nodes */
  GStringChunk *strings;
} FigureScaling;

/* Whether the figures NAME in FOLDER are of this kind. */
gboolean figure_scaling_is (const char *folder, const char *name);

/*
 * Reads and predicts in N_THREADS threads. NULL after diagnostics. The numbers do not depend on the
 * threads.
 */
FigureScaling *figure_scaling_predict (const char *folder, const char *name,
                                       const PredictOptions *options, guint n_threads,
                                       DiagList *diags);
void           figure_scaling_free (FigureScaling *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FigureScaling, figure_scaling_free)
