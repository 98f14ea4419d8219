/*
 * How near predictions came to runs that others published: errors of rows of the tables of
 * tests/data/validation, a line a figure of speed, as hwprofiles/record/training.csv has them:
 *
 *   id,generation,gpu,framework,strategy,nodes,precision,error
 *   mpt-0099,ampere,a100-sxm-40,composer-2023,fsdp1,16,16 bits,+0.031
 *
 * Rows that constants were calibrated on are left out. Of a scenario those count that are like it
 * in GPU generation, strategy, number of nodes and precision; where they are too few, the number
 * of nodes is left open, then the strategy, then both, then the precision, never the generation.
 */
#pragma once

#include <glib.h>

typedef struct
{
  const char *generation, *gpu; /* "hopper", "h100-sxm-80" */
  const char *framework;        /* a profile's id; NULL: none */
  const char *strategy, *precision;
  guint       n_nodes;
} TrackQuery;

typedef struct
{
  guint    n;              /* runs like it; 0: no run on this generation of GPU */
  double   median, p90;    /* of |predicted / measured - 1|; NAN where n = 0 */
  char    *alike;          /* "hopper, fsdp2, 2 to 8 nodes, 16 bits": what they share; owned */
  gboolean gpu, framework; /* some row is of this GPU; of this framework, or none is named */
} TrackRecord;

#define TRACK_RECORD_FILE "hwprofiles/record/training.csv"

/* Fewer rows are too few to say what nine in ten do. */
#define TRACK_RECORD_LEAST 5

/* The word of a precision: "16 bits", "32 bits", or "fp8". */
const char *track_precision (gboolean fp8, gboolean fp32);

/* Of FILE, or NULL: the shipped one. FALSE: there is none, and SELF is not set. */
gboolean track_record_find (TrackRecord *self, const TrackQuery *query, const char *file);
void     track_record_clear (TrackRecord *self);
