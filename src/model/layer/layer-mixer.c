/* What mixes tokens in a block: attention, or one of the layers with a state. */
#include "model/layer/layer-mixer-private.h"

/* ---- short convolution ---- */

/*
 * LFM2: B, C and x of one projection; C times the convolution of B times x. Two products element by
 * element, which keep their factors.
 */
TapeValue
layer_add_short_conv (LayerBuilder *b, TapeValue x)
{
  const gint64 width = b->shape->d_model, here = width / b->tp;
  const double elements = b->tokens * (double) here, bytes = elements * b->tape->e;
  const double parts[] = { elements, elements, elements };
  ChainKernel  forward = { .name = "conv.gate", .read = 2 * bytes, .write = bytes };
  ChainKernel  backward = { .name = "conv.gate.backward", .read = 3 * bytes, .write = 2 * bytes };
  ChainSpec    product = { .forward = &forward,
                           .backward = &backward,
                           .n_forward = 1,
                           .n_backward = 1,
                           .module = -1,
                           .elements = elements };
  TapeValue    bcx[3], mixed;

  x = layer_add_linear (b, "conv.in_proj", "conv.in", layer_enter (b, "conv.gather", x), width,
                        3 * width, b->shape->conv_bias, COLUMNS);
  layer_split (b, "conv.split", x, parts, 3, bcx);
  mixed = tape_chain (b->tape, "conv.gate_in", (TapeValue[]){ bcx[0], bcx[2] }, 2, &product);
  mixed = layer_add_conv (b, "conv.conv", "conv.conv1d", mixed, here);
  mixed = tape_chain (b->tape, "conv.gate_out", (TapeValue[]){ bcx[1], mixed }, 2, &product);
  return layer_add_linear (b, "conv.out_proj", "conv.out", mixed, width, width, b->shape->conv_bias,
                           ROWS);
}

/* ---- side by side ---- */

/* Falcon-H1: each branch has a constant for its input and its output (modeling_falcon_h1.py). */
static TapeValue
add_side_by_side (LayerBuilder *b, TapeValue x)
{
  const gboolean scales = b->shape->branch_scales;
  TapeValue      states, attended;

  states = layer_add_mamba2 (b, scales ? layer_add_scale (b, "ssm.scale_in", x) : x);
  if (scales)
    states = layer_add_scale (b, "ssm.scale_out", states);
  attended = layer_add_attention (b, scales ? layer_add_scale (b, "attn.scale_in", x) : x);
  if (scales)
    attended = layer_add_scale (b, "attn.scale_out", attended);
  return tape_add (b->tape, "mixer.add", states, attended);
}

/* ---- all ---- */

static TapeValue (*const mixers[MODEL_N_MIXERS]) (LayerBuilder *b, TapeValue x) = {
  [MODEL_MIXER_ATTENTION] = layer_add_attention,
  [MODEL_MIXER_WINDOW] = layer_add_attention,
  [MODEL_MIXER_MAMBA2] = layer_add_mamba2,
  [MODEL_MIXER_DELTA] = layer_add_delta,
  [MODEL_MIXER_KDA] = layer_add_kda,
  [MODEL_MIXER_LIGHTNING] = layer_add_lightning,
  [MODEL_MIXER_CONV] = layer_add_short_conv,
  [MODEL_MIXER_MAMBA1] = layer_add_mamba1,
  [MODEL_MIXER_SIDE] = add_side_by_side,
};

TapeValue
layer_add_mixer (LayerBuilder *b, TapeValue x)
{
  g_assert (mixers[b->layer.block.mixer] != NULL);
  return mixers[b->layer.block.mixer](b, x);
}
