/*
 * Derivative-free minimisation of a few bounded variables, one after another, over and over.
 * Deterministic.
 *
 * A variable is first looked for on a grid over its whole range, then by golden section between the
 * neighbours of the best point; later rounds search around its value, the width halved each time.
 * It moves only where the cost falls by more than `tolerance`, so a variable that the cost does not
 * depend on stays where it is. Costs may jump: the best point seen is kept, never a model of it.
 */
#pragma once

#include <glib.h>

typedef struct
{
  double   lower, upper; /* both finite, lower < upper */
  gboolean logarithmic;  /* searched on a logarithmic scale; then lower > 0 */
} MinimiseRange;

typedef struct
{
  guint  grid;      /* points over the range, at least 3 */
  guint  sections;  /* golden sections after the grid */
  guint  rounds;    /* over all variables, at most */
  double tolerance; /* a round or a move that gains less is none */
} MinimiseEffort;

typedef double (*MinimiseCost) (const double *x, gpointer user);

/*
 * Changes X (N values; what lies outside its range counts as a start only) to the best point found.
 * Returns its cost, which is never above that of the start.
 */
double minimise_coordinates (double *x, const MinimiseRange *ranges, guint n,
                             const MinimiseEffort *effort, MinimiseCost cost, gpointer user);
