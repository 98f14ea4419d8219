/*
 * What a block keeps of a sequence while tokens are generated: keys and values of the tokens so far
 * (of a window the last ones; of latent attention the latents and the rotary part, which all heads
 * share), or states that are as large whatever the length. Of one tensor rank.
 */
#pragma once

#include "model/layer/kernel-desc.h"
#include "model/shape/model.h"

typedef struct
{
  double  token_bytes; /* of each token that is kept, without scales */
  guint64 heads;       /* of keys and values of a token; 0: none, or a latent for all */
  guint64 window;      /* tokens that are kept at most; 0: all of them */
  double  state_bytes;
} CacheDesc;

/*
 * Of BLOCK of SHAPE on one of TP tensor ranks, in a cache of DTYPE. A key-value head that several
 * ranks share is kept by each. States are kept in fp32, taps of convolutions in 16 bits.
 */
CacheDesc cache_of_block (const ModelShape *shape, const ModelLayer *block, gint64 tp, Dtype dtype);

/* Bytes of a sequence of LENGTH tokens. */
double cache_bytes (const CacheDesc *self, double length);

/*
 * The attention of BLOCK for a token each of SEQUENCES, which attends to CACHED others and itself.
 * FALSE: the block has none. Where an indexer chooses, to those that it does.
 */
gboolean cache_decode_kernel (const ModelShape *shape, const ModelLayer *block, gint64 tp,
                              Dtype dtype, double sequences, double cached, KernelDesc *kernel);

/*
 * The same for TOKENS each of SEQUENCES, of which CACHED were computed before: the prompts' parts.
 * Latents are expanded to keys and values. FLASH: the fused kernel that runs.
 */
gboolean cache_prefill_kernel (const ModelShape *shape, const ModelLayer *block, gint64 tp,
                               FlashKernel flash, double sequences, double tokens, double cached,
                               KernelDesc *kernel);
