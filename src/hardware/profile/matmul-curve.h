/*
 * Measured matrix products of a GPU: `gpu/ID.matmul.csv` beside its profile, one product a row, in
 * a short measurement. Columns batch, m, n, k (a batch of m x k times k x n), tflops (1e12 FLOP/s
 * of 2 batch m n k FLOPs), and optionally dtype: bf16 (the default), fp16, fp32.
 */
#pragma once

#include "base/config/diag.h"

typedef struct
{
  double   batch, m, n, k;
  double   seconds;
  gboolean fp32;
} MatmulPoint;

/* Of MatmulPoint, the caller's; NULL after diagnostics that name row and column. */
GArray *matmul_curve_load (const char *file, DiagList *diags);
