/*
 * The streaming kernels of a transformer layer, bf16 with fp32 arithmetic, one launch each. Bytes
 * in comments are what a kernel reads and writes of matrices; weights of a norm, 1 / rms and the
 * table of rotary angles stay in caches. T rows of d columns; matrices lie on 16 bytes.
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/cuda.h"

typedef struct
{
  unsigned rows, d, n_heads, seq_len,
      micro_batch; /* rows = seq_len micro_batch; d / n_heads: a multiple of 16, seq_len of 8 */
} LayerRows;

typedef struct LayerKernels LayerKernels;

/* NULL after a message. */
LayerKernels *layer_kernels_open (const Bench *bench, const LayerRows *shape, cudaStream_t stream);
void          layer_kernels_close (LayerKernels *self); /* NULL: nothing */

/* Y = X / rms (X) times WEIGHT; 1 / rms of each row: 4Td. */
bool layer_norm (LayerKernels *self, const Bench *bench, const void *x, const void *weight, void *y,
                 float *inverse_rms);

/* SUM = A + B, and its norm Y: 8Td. */
bool layer_add_norm (LayerKernels *self, const Bench *bench, const void *a, const void *b,
                     const void *weight, void *sum, void *y, float *inverse_rms);

/*
 * DY += OTHER, the gradient of the norm's result, and DX from it; X is what was normed: 10Td. OTHER
 * and DX may be the same.
 */
bool layer_norm_backward (LayerKernels *self, const Bench *bench, void *dy, const void *other,
                          const void *x, const void *weight, const float *inverse_rms, void *dx);

/* Gradient of the norm's weight: 4Td. */
bool layer_norm_weight (LayerKernels *self, const Bench *bench, const void *dy, const void *x,
                        const float *inverse_rms, void *gradient);

/* Y = A + B of as many ELEMENTS (a multiple of 8); Y may be A or B: 6 bytes each. */
bool layer_add (LayerKernels *self, const Bench *bench, uint64_t elements, const void *a,
                const void *b, void *y);

/* HIDDEN = silu (GATE) UP: 6 bytes an element. */
bool layer_silu (LayerKernels *self, const Bench *bench, uint64_t elements, const void *gate,
                 const void *up, void *hidden);

/* D_HIDDEN becomes the gradient of GATE; D_UP: 10 bytes an element. */
bool layer_silu_backward (LayerKernels *self, const Bench *bench, uint64_t elements,
                          const void *gate, const void *up, void *d_hidden, void *d_up);

/* Q and K turned by their positions' angles, or back, in place: 8Td. */
bool layer_rotary (LayerKernels *self, const Bench *bench, void *q, void *k, bool back);

/* Softmax of SCALE times the scores up to the diagonal, 0 after it, in place: 4 bytes a score. */
bool layer_softmax (LayerKernels *self, const Bench *bench, void *scores, float scale);

/* D_PROBABILITIES becomes the gradient of the scores: 6 bytes a score. */
bool layer_softmax_backward (LayerKernels *self, const Bench *bench, const void *probabilities,
                             void *d_probabilities, float scale);

/* HEADS: (sequence, head, token, d / n_heads), dense. ROWS: (token, sequence, d). 4Td. */
bool layer_heads_to_rows (LayerKernels *self, const Bench *bench, const void *heads, void *rows);
bool layer_rows_to_heads (LayerKernels *self, const Bench *bench, const void *rows, void *heads);

#endif
