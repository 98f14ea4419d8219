/*
 * What the layers share that mix tokens by a state instead of attention: chunks of a sequence, the
 * short causal convolution before, the gated norm behind. Internal to the layer.
 */
#pragma once

#include "model/layer/layer-parts-private.h"

/* A micro-batch in chunks of SIZE tokens; a sequence begins a new one. */
typedef struct
{
  double  tokens, sequences, chunks;
  guint64 size;
  double  e; /* bytes of the compute type */
} Chunks;

Chunks layer_chunks (const LayerBuilder *b, gint64 size);

/* N of something in each chunk, as a number of products. */
guint64 layer_chunk_batch (const Chunks *chunks, gint64 n);

/* PART of the block's state-space layer, as its family calls it. */
const char *layer_mixer_name (const LayerBuilder *b, const char *part);

/* Depthwise, causal, with SiLU, of CHANNELS channels here: Dao-AILab/causal-conv1d. */
TapeValue layer_add_conv (LayerBuilder *b, const char *name, const char *role, TapeValue in,
                          gint64 channels);

/*
 * norm (IN) with a weight of WIDTH, times an activation of GATE, in one kernel; ROWS rows of WIDTH
 * or, where heads share a weight, of the width of a head. PARTS: ranks that divide the weight.
 */
TapeValue layer_add_gated_norm (LayerBuilder *b, const char *name, const char *role, TapeValue in,
                                TapeValue gate, double rows, gint64 width, gboolean divided);

/* The next chain counts STATES FLOPs a token of the whole model in MFU; it executes KERNELS. */
void layer_count_states (LayerBuilder *b, const ChainKernel *kernels, guint n);

/*
 * What SPEC's kernels are while tokens are generated: one, STEP, which NAME calls, reads and writes
 * the STATES elements of each sequence in fp32, and the values. Otherwise SPEC stays as it is.
 */
void layer_step_states (const LayerBuilder *b, const char *name, double states, ChainKernel *step,
                        ChainSpec *spec);

/* ---- the mixers: from residual stream to branch ---- */

TapeValue layer_add_mamba1 (LayerBuilder *b, TapeValue x);
TapeValue layer_add_mamba2 (LayerBuilder *b, TapeValue x);
TapeValue layer_add_delta (LayerBuilder *b, TapeValue x);
TapeValue layer_add_kda (LayerBuilder *b, TapeValue x);
TapeValue layer_add_lightning (LayerBuilder *b, TapeValue x);
TapeValue layer_add_short_conv (LayerBuilder *b, TapeValue x);
