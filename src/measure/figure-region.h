/*
 * The region of one ratio that explains published runs over a network: beside NAME.yaml and
 * NAME.csv (figures.h) NAME.region.csv has a line a run. Nothing is predicted of hardware: the
 * rules are idealised.
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

#include "measure/figures.h"

/* The strings belong to the figure. */
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
} RegionRow;

/* What lines say together. */
typedef struct
{
  guint            gpus, nodes; /* of all lines: 0 */
  double           low, high;   /* the least r that all allow, and the greatest; a line that no r
                                   explains counts with those that come nearest to it */
  const RegionRow *from, *to;   /* the lines that say so */
  guint            n_beyond;    /* lines that no r explains by themselves */
} Region;

typedef struct
{
  Figures      *figures;
  GArray       *rows;    /* RegionRow */
  GArray       *regions; /* Region: by GPUs and nodes, ascending; the last one of all lines */
  GStringChunk *strings;
} FigureRegion;

/* Whether some r explains every line of SELF: each by itself, and all of them the same. */
gboolean region_explains (const Region *self);

/*
 * By what factor r grows from region A to B, at least and at most. Where the lines of a region
 * exclude each other, the shortest range counts that meets each of them.
 */
void region_growth (const Region *a, const Region *b, double *low, double *high);

/* By what factor the bytes that each of N in a ring sends, 2 (N - 1) / N, grow from A to B. */
double region_ring_growth (guint a, guint b);

/* Whether the figures NAME in FOLDER have such lines. */
gboolean figure_region_is (const char *folder, const char *name);

/* Predicts the figures (figures_predict), and computes. NULL after diagnostics. */
FigureRegion *figure_region_predict (const char *folder, const char *name,
                                     const PredictOptions *options, guint n_threads,
                                     DiagList *diags);
void          figure_region_free (FigureRegion *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FigureRegion, figure_region_free)
