/* How the micro-batches of a pipeline follow each other. */
#pragma once

#include "model/mesh/parallel.h"

typedef struct
{
  guint    period; /* micro-batches after which the slots of the stages repeat */
  guint    filled; /* so many fill it */
  gboolean fills;  /* there is a pipeline, and micro-batches leave it before the last one begins */
} MicroPeriod;

MicroPeriod micro_period_of (const MeshOptions *mesh);
