/*
 * The matrix products that are measured: those of transformer layers from 1B to 70B parameters,
 * made from the models' shapes.
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/gpu/gemm.h"

typedef struct
{
  GemmShape gemm;
  char      remark[48]; /* "70B up tp 8": the first product of that shape */
} MatmulShape;

#define MATMUL_MAX_SHAPES 2048

typedef struct
{
  MatmulShape items[MATMUL_MAX_SHAPES];
  unsigned    n;
} MatmulShapes;

/*
 * Products of DTYPE, each shape once. Of every model the linear layers (query, key and value
 * together; attention output; feed-forward up, gate and up together, down; vocabulary) by number of
 * tokens and by tensor parallelism (1 to 8): forward, gradient of the input and of the weights; the
 * products of unfused attention, a batch of one for each head; and squares. THIN: one model and
 * fewer sizes. fp8 has the forward layout (nt) only, which frameworks bring its other operands
 * into.
 */
void matmul_shapes_make (const char *dtype, bool thin, MatmulShapes *shapes);

/*
 * Forward products of the same layers for the tokens of decoding batches: 1 to 256; of fp8 from 16
 * on, which its operands' sizes are multiples of.
 */
void matmul_shapes_make_decoding (const char *dtype, bool thin, MatmulShapes *shapes);

#endif
