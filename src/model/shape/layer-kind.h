/*
 * What one block of a model is made of: how it mixes tokens, what its feed-forward half is, and its
 * widths. Most models follow from a few numbers (family-private.h); others list their blocks.
 */
#pragma once

#include <glib.h>

/* How a block mixes tokens. */
typedef enum
{
  MODEL_MIXER_ATTENTION, /* to all tokens before; to those that an indexer chooses, where the model
                            has one; over latents where it has them */
  MODEL_MIXER_WINDOW,    /* attention over the sliding window */
  MODEL_MIXER_MAMBA2,    /* state-space duality: arXiv:2405.21060 */
  MODEL_MIXER_DELTA,     /* gated delta rule: arXiv:2412.06464 */
  MODEL_MIXER_KDA,       /* the same with a decay a channel: Kimi Linear, arXiv:2510.26692 */
  MODEL_MIXER_LIGHTNING, /* linear attention of fixed decay: arXiv:2401.04658; MiniMax-01 */
  MODEL_MIXER_CONV,      /* gated short convolution: LFM2 */
  MODEL_MIXER_MAMBA1,    /* selective scan: arXiv:2312.00752; its heads are channels */
  MODEL_MIXER_SIDE,      /* attention and Mamba-2 of the same input, added: Falcon-H1 */
  MODEL_MIXER_NONE,
  MODEL_N_MIXERS,
} ModelMixer;

typedef enum
{
  MODEL_FEED_DENSE,
  MODEL_FEED_EXPERTS,
  MODEL_FEED_NONE,
} ModelFeed;

/* Of a list, a width of 0 is the model's. */
typedef struct
{
  ModelMixer mixer;
  ModelFeed  feed;
  gint64     n_heads, n_kv_heads, head_dim, d_ff;
  gint64     mtp; /* predicts so many tokens beyond the next one; 0: a block of the main model */
} ModelLayer;

/* "Mamba-2": in messages. Whether it is some kind of softmax attention, with heads and keys. */
const char *model_mixer_name (ModelMixer mixer);
gboolean    model_mixer_attends (ModelMixer mixer);
