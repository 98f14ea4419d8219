/*
 * The region of one ratio that explains published runs over a network: beside NAME.yaml and
 * NAME.csv (figure-published.h) NAME.region.csv has a line a run. Nothing is predicted of hardware:
 * the rules are idealised.
 *
 * Set: runs of equal work a GPU, whose steps would take T0 each without a network between nodes;
 * an exchange over the network takes r T0. A run that exchanges every step takes (1 + r - h) T0,
 * h of it hidden, from nothing to all that `hidden` allows; one that exchanges every n steps hides
 * it behind these: max (1, r / n) T0. A run on one node takes T0.
 * Published: the throughput of all GPUs; or, where the line names an earlier one in `over`, a GPU's
 * throughput over a GPU's of that one. Each number is any that rounds to it. A line without a
 * number is there for others to be over: what it takes follows from lines with throughput of as
 * many GPUs and nodes.
 * Computed: from which r to which explains a line; those on as many GPUs and nodes; all of them.
 */
#pragma once

#include "evidence/figures/figure.h"

/* A line of the table. */
typedef struct
{
  const char *figure, *row, *over, *assumptions;
  guint       gpus, nodes;
  guint       every;     /* steps of an exchange; 1: hidden behind a part of its own step */
  double      hidden;    /* that part, of T0 */
  double      published; /* NAN: not */
  double      rounded;   /* by at most so much */
  /* what comes of it */
  double speed_low, speed_high; /* a GPU's, over that of one node; NAN: not published */
  double low, high;             /* of r; NAN: one node, or not published */
  double beyond; /* speed over the most that any r gives, - 1: where above 0 no r explains the line,
                    and low and high are of that most */
  const char *reason; /* why no r explains the line; NULL when some does */
} RegionLine;

/*
 * What lines say together: those on as many GPUs and nodes, ascending; the last region is of all.
 * The figure's rows (FigureRow) are those of its published numbers, then the r of each line and
 * region as "allreduce_over_step".
 */
typedef struct
{
  guint             gpus, nodes; /* of all lines: 0 */
  double            low, high;   /* the least r that all allow, and the greatest; a line that no r
                                   explains counts with those that come nearest to it */
  const RegionLine *from, *to;   /* the lines that say so */
  guint             n_beyond;    /* lines that no r explains by themselves */
  const char       *name;        /* "all rows of 16 GPUs on 2 nodes", or "all rows" */
  const char       *reason;      /* why no r explains all lines; NULL when some does */
} Region;

/* Whether some r explains every line of SELF: each by itself, and all of them the same. */
gboolean region_explains (const Region *self);

/*
 * By what factor r grows from region A to B, at least and at most. Where the lines of a region
 * exclude each other, the shortest range counts that meets each of them.
 */
void region_growth (const Region *a, const Region *b, double *low, double *high);

/* By what factor the bytes that each of N in a ring sends, 2 (N - 1) / N, grow from A to B. */
double region_ring_growth (guint a, guint b);
