/*
 * One block of a Llama-like transformer in bf16, its real forward and backward pass: cuBLAS
 * products and streaming kernels, exactly those that shardsim lists for
 *
 *   arch=llama n_kv_heads=n_heads precision=bf16-mixed
 *   attention=fused-softmax fused_norm=1 compile=1
 *
 * in that order (`shardsim schedule` prints them), so that what is timed is what is simulated. T =
 * seq_len x micro_batch rows, d = d_model, f = d_ff, P = micro_batch n_heads seq_len^2 scores;
 * bytes are those that a streaming kernel reads and writes; row r is token r / micro_batch of
 * sequence r % micro_batch, so that one stride leads from head to head over all sequences (batch =
 * micro_batch n_heads, leading dimension micro_batch d, stride d / n_heads):
 *
 *   module   forward                                  backward (dgrad: of the input; wgrad: of the
 *                                                     weight)
 *   NORM1    norm1 4Td                                gradients of q and k,v inputs added, norm
 *                                                     backward 10Td | weight gradient 4Td |
 *                                                     residual's gradient added 6Td
 *   Q        T x d x d                                dgrad, wgrad
 *   K        T x d x d                                dgrad, wgrad | k's and v's input gradients
 *                                                     added 6Td
 *   V        T x d x d | rotary of q, k 8Td |         dgrad, wgrad
 *            scores: batch of s x s x h | causal
 *            softmax with scale 4P | context:
 *            batch of s x h x s | heads to rows 4Td
 *   OUT      T x d x d                                dgrad, wgrad | rows to heads 4Td | context:
 *                                                     gradients of the probabilities and of v |
 *                                                     softmax 6P | scores: gradients of q and of
 *                                                     k | rotary 8Td
 *   NORM2    residual added and norm2, one kernel     gate's and up's input gradients added, norm
 *            8Td                                      backward 10Td | weight gradient 4Td |
 *                                                     residual's gradient added 6Td
 *   GATE     T x f x d                                dgrad, wgrad
 *   UP       T x f x d | silu (gate) up 6Tf           dgrad, wgrad
 *   DOWN     T x d x f | residual added 6Td           dgrad, wgrad | silu (gate) up 10Tf
 *
 * A backward pass takes the modules in the opposite order. Weights are out x in, row-major, as
 * PyTorch has them; all pairs of scores are computed, masked or not. Nothing is allocated or
 * synchronised in a pass: it only launches on the stream.
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/cuda.h"

typedef struct
{
  unsigned d_model, n_heads, d_ff, seq_len, micro_batch; /* d_model / n_heads: even */
} LayerShape;

typedef enum
{
  LAYER_NORM1,
  LAYER_Q,
  LAYER_K,
  LAYER_V,
  LAYER_OUT,
  LAYER_NORM2,
  LAYER_GATE,
  LAYER_UP,
  LAYER_DOWN,
  LAYER_N_MODULES,
} LayerModule;

/*
 * Parameters of one module and of all; bf16 of a layer in one buffer: module after module in this
 * order, no gaps.
 */
uint64_t layer_module_elements (const LayerShape *shape, LayerModule module);
uint64_t layer_elements (const LayerShape *shape);

/* A layer's input or output: 2 Td. */
size_t layer_stream_bytes (const LayerShape *shape);

/*
 * Kept from the forward to the backward pass, the input included, which lies first (the layer
 * before writes its output there): input, norm1, q, k (rotated), v, probabilities, context,
 * residual, norm2, gate, up, hidden, and the norms' 1 / rms in fp32.
 */
size_t layer_saved_bytes (const LayerShape *shape);

/* Scratch of one pass of either direction; every layer may use the same on one stream. */
size_t layer_work_bytes (const LayerShape *shape);

/*
 * What a layer's passes launch with: cuBLAS handle, kernels. One for all layers; passes go to
 * STREAM. NULL after a message.
 */
typedef struct Layer Layer;
Layer               *layer_open (const Bench *bench, const LayerShape *shape, cudaStream_t stream);
void                 layer_close (Layer *self); /* NULL: nothing */

/*
 * One module's part of a pass. WEIGHT: its parameters alone. SAVED, WORK: of the sizes above.
 * OUTPUT: the layer's output, written by DOWN. WORK lives from the first module of a pass to the
 * last: a pass of another layer must not come between.
 */
bool layer_forward (Layer *self, const Bench *bench, LayerModule module, const void *weight,
                    void *saved, void *work, void *output);

/*
 * STREAM: the gradient of the layer's output on entry, of its input when NORM1 is through.
 * GRADIENT: of the module's weight, overwritten.
 */
bool layer_backward (Layer *self, const Bench *bench, LayerModule module, const void *weight,
                     const void *saved, void *work, void *stream, void *gradient);

#endif
