/*
 * Measured matrix products of a GPU: `gpu/ID.matmul.csv` beside its profile, one product a row, in
 * a short measurement. Columns batch, m, n, k (a batch of m x k times k x n), tflops (1e12 FLOP/s
 * of 2 batch m n k FLOPs), and optionally dtype: bf16 (the default), fp16, fp32, fp8 (a scale a
 * tensor), fp8_block (a scale each 128), nvfp4.
 */
#pragma once

#include "base/config/diag.h"

/* Kernels of one type say nothing of another's. */
typedef enum
{
  MATMUL_16BIT,
  MATMUL_FP32,
  MATMUL_FP8,
  MATMUL_FP8_BLOCK,
  MATMUL_NVFP4,
  MATMUL_N_TYPES,
} MatmulType;

typedef struct
{
  double     batch, m, n, k;
  double     seconds;
  MatmulType type;
} MatmulPoint;

/* Of MatmulPoint, the caller's; NULL after diagnostics that name row and column. */
GArray *matmul_curve_load (const char *file, DiagList *diags);
