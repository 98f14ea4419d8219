/*
 * Matrices over ranks: the one that costs most of those left goes to the rank that has least, of
 * several to the one that had least before (torchtitan's DistMuon, longest processing time first).
 */
#pragma once

#include <glib.h>

typedef struct
{
  guint   n_kinds;
  guint  *counts; /* [rank][kind]: matrices of KIND that RANK has */
  double *loads;  /* [rank] */
} MatrixBalance;

/*
 * COUNTS[k] matrices that cost COSTS[k] each, for k below N_KINDS, over N_RANKS. START: what each
 * rank has already, of the loads; NULL: nothing. BEFORE: what it had in earlier turns, which
 * decides between equals, and to which its load is added. The caller's: matrix_balance_free.
 */
MatrixBalance *matrix_balance_new (const guint64 *counts, const double *costs, guint n_kinds,
                                   guint n_ranks, const double *start, double *before);
void           matrix_balance_free (MatrixBalance *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MatrixBalance, matrix_balance_free)
