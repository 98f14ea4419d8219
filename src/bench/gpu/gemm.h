/*
 * Matrix products as frameworks run them: cuBLAS with the workspace that PyTorch gives it, fp32
 * accumulation, no TF32.
 *
 * All matrices are row-major and dense; C (m x n) = op (A) (m x k) times op (B) (k x n), BATCH
 * times one behind the other.
 *
 *   nt   A is m x k, B is n x k: forward of a linear layer, x times the transpose of weights stored
 *        out x in
 *   nn   A is m x k, B is k x n: gradient of its input, dy times weights
 *   tn   A is k x m, B is k x n: gradient of its weights, the transpose of dy times x
 *
 * Types: "bf16", "fp16", "fp32" (operands and result), and "fp8": e4m3 operands, unit scales, fast
 * accumulation, bf16 result, through cublasLt, nt with batch 1 only: up to compute capability 9.0
 * the hardware multiplies no other layout.
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/gpu/cuda.h"

typedef enum
{
  GEMM_NT,
  GEMM_NN,
  GEMM_TN,
} GemmLayout;

const char *gemm_layout_name (GemmLayout layout);

typedef struct
{
  GemmLayout  layout;
  const char *dtype; /* static */
  uint64_t    m, n, k, batch;
} GemmShape;

/* Bytes of all the batch's matrices. */
size_t gemm_a_bytes (const GemmShape *shape);
size_t gemm_b_bytes (const GemmShape *shape);
size_t gemm_c_bytes (const GemmShape *shape);

/* cuBLAS's handle and workspace; of one thread and, at a time, one stream. NULL after a message. */
typedef struct Gemm Gemm;
Gemm               *gemm_open (const Bench *bench);
void                gemm_close (Gemm *self);

/* Does the device multiply DTYPE with tensor cores, or at all where it is fp32? */
bool gemm_has_dtype (const Gemm *self, const char *dtype);

/* C = op (A) op (B), put on STREAM. */
bool gemm_run (const Bench *bench, Gemm *self, cudaStream_t stream, const GemmShape *shape,
               const void *a, const void *b, void *c);

#endif
