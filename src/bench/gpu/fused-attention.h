/*
 * Fused causal attention (the FlashAttention family) through cuDNN, as PyTorch's cuDNN back-end and
 * Transformer Engine run it: softmax (scale Q K') V with a causal mask, no dropout; forward writes
 * the result and one log-sum-exp a row, backward recomputes the scores from them.
 *
 * Q, K, V, their gradients, O and dO are bf16 or fp16, (batch, sequence, heads, head size), dense;
 * as many key-value heads as heads.
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/gpu/cudnn.h"

typedef struct
{
  const char *dtype; /* "bf16" or "fp16"; static */
  uint64_t    batch, seq, heads, head_size;
} AttentionShape;

size_t attention_bytes (const AttentionShape *shape);       /* of each of Q, K, V, O */
size_t attention_stats_bytes (const AttentionShape *shape); /* log-sum-exp, fp32 */

/* Device pointers, the caller's; forward uses the first five. */
typedef struct
{
  void *q, *k, *v, *o, *stats, *d_o, *d_q, *d_k, *d_v;
} AttentionBuffers;

/* One pass of one shape. */
typedef struct FusedAttention FusedAttention;

/*
 * NULL after a message: no kernel for that shape, or no memory for its workspace. LIBRARY and BENCH
 * outlive it.
 */
FusedAttention *fused_attention_new (const Bench *bench, Cudnn *library,
                                     const AttentionShape *shape, bool backward);
void            fused_attention_free (FusedAttention *self);

/* Sets of buffers are numbered from 0 on; at most CUDNN_MAX_SETS. */
bool fused_attention_bind (FusedAttention *self, const AttentionBuffers *buffers);
bool fused_attention_run (FusedAttention *self, unsigned set, cudaStream_t stream);

#endif
