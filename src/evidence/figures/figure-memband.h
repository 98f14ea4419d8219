/*
 * The closed form of memory and bandwidth (decide/parts/memband.h) beside the simulator and beside
 * measured runs: NAME.yaml has the scenarios that the simulated ones start from, NAME.memband.csv
 * beside it a line for each thing that is asked (columns in docs/memband.md):
 *
 *   search    the best point of the closed form, and a run with its tokens, stage and gamma
 *   bound     what no choice passes
 *   measured  a measured step, the closed form of it, and a run of it
 *   series    the best points over one column, which then holds a list: a line of a picture
 */
#pragma once

#include "decide/parts/memband.h"
#include "evidence/figures/figure.h"

typedef enum
{
  MEMBAND_SEARCH,
  MEMBAND_BOUND,
  MEMBAND_MEASURED,
  MEMBAND_SERIES,
  MEMBAND_N_PARTS,
} MembandPart;

/* A line of the table, or a point of one of them. */
typedef struct
{
  const char    *word; /* the part's: "search" */
  MembandPart    part;
  const char    *figure;             /* of a series: its picture, "mfu-over-ranks" */
  const char    *title;              /* the cluster, or the line of a series */
  const char    *name;               /* of the model: "13B" */
  const char    *scenario, *options; /* of the run; "": none */
  const char    *x, *y;              /* of a series: its column, and what is drawn over it */
  const char    *assumptions;
  MembandModel   model;
  MembandCluster cluster;
  double         tokens;    /* a rank and step; 0: as many as fit */
  double         compute_s; /* of a measured step's compute */
  double         measured;  /* s; 0: nothing was */
  /* what comes of it */
  double        at; /* of a series: the value of x */
  gboolean      found;
  MembandPoint  best;
  MembandBounds bounds;
  double        closed; /* per cent of MFU, s of a step, or what y says; NAN: nothing fits */
  /* of the run */
  double      gamma;     /* of whole blocks, the most that is no more than the closed form's */
  double      same;      /* the closed form with this gamma, per cent */
  double      three;     /* the same with 3 passes over the parameters a step */
  double      simulated; /* as `closed`, by the closed form's count of FLOPs; NAN: no run */
  gboolean    fits;
  const char *reason; /* why there is none; NULL */
  const char *profiles;
} MembandRow;
