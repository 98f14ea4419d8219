/*
 * L-GreCo: how strongly each layer's gradients are compressed, so that together they are smallest
 * and lose no more than a uniform choice does (Markov et al., arXiv:2210.17357; LGrCo/L-GreCo).
 *
 * Minimise sum_l size_l (c_l) subject to sum_l error_l (c_l) <= budget, with budget = alpha times
 * the uniform choice's error: a knapsack over D error buckets of width budget / D. Errors are
 * rounded up to buckets, to one at least, so that the choice keeps the budget; it is the smallest
 * of those that do so as rounded, in L |C| D steps.
 */
#pragma once

#include <glib.h>

#define GRECO_BUCKETS 10000 /* the released code's D */

typedef struct
{
  double size, error;
} GrecoChoice;

/*
 * TABLE has N_CHOICES of each of N_LAYERS in turn; what is no choice has an infinite error. Fills
 * CHOSEN, one index a layer. FALSE: no choice keeps BUDGET once rounded; CHOSEN is as it was.
 */
gboolean greco_choose (const GrecoChoice *table, guint n_layers, guint n_choices, double budget,
                       guint buckets, guint *chosen);

/* Of the choices CHOSEN in TABLE together. */
GrecoChoice greco_total (const GrecoChoice *table, guint n_layers, guint n_choices,
                         const guint *chosen);

/*
 * An assumption where nobody has measured: the singular values of a matrix of VALUES of them fall
 * as i^-POWER. Fills ERRORS[r], r below N (at most VALUES + 1), with the part of its Frobenius norm
 * that the best approximation of rank r leaves out.
 */
void greco_power_law_errors (guint64 values, double power, guint64 n, double *errors);
