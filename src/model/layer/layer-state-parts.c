/* What stands around a state: chunks of a sequence, convolution, norm and gates. */
#include "model/layer/layer-mixer-private.h"

#include <math.h>

/* ---- chunks ---- */

Chunks
layer_chunks (const LayerBuilder *b, gint64 size)
{
  double length = layer_sequence (b), sequences = training_sequences (b->training);

  return (Chunks){ .tokens = b->tokens,
                   .sequences = sequences,
                   .chunks = sequences * ceil (length / (double) size),
                   .size = (guint64) size,
                   .e = b->tape->e };
}

guint64
layer_chunk_batch (const Chunks *chunks, gint64 n)
{
  return (guint64) MAX (round (chunks->chunks * (double) n), 1);
}

void
layer_count_states (LayerBuilder *b, const ChainKernel *kernels, guint n)
{
  double executed = 0;

  for (guint i = 0; i < n; i++)
    executed += 2 * (double) kernels[i].batch * (double) kernels[i].m * (double) kernels[i].n
                * (double) kernels[i].k;
  b->tape->counted =
      flops_state (b->shape, b->layer.block.mixer) * b->tokens / ((double) b->tp * executed);
}

/* ---- convolution, norm, gate ---- */

const char *
layer_mixer_name (const LayerBuilder *b, const char *part)
{
  return tape_join (tape_join (b->style->mixer, "."), part);
}

/*
 * Reads and writes each channel once, backwards the input again and both gradients; the weight's
 * gradient is made on the way.
 */
TapeValue
layer_add_conv (LayerBuilder *b, const char *name, const char *role, TapeValue in, gint64 channels)
{
  double      bytes = tape_tensor (b->tape, in)->bytes;
  double      weights = b->tape->e * (double) (channels * b->shape->conv_taps);
  ChainKernel forward = { .name = role, .read = bytes + weights, .write = bytes };
  ChainKernel backward = { .name = tape_join (role, ".backward"),
                           .read = 2 * bytes + weights,
                           .write = bytes + weights };
  ChainSpec   spec = { .forward = &forward,
                       .backward = &backward,
                       .n_forward = 1,
                       .n_backward = 1,
                       .module = layer_add_module (b, name),
                       .elements = tape_tensor (b->tape, in)->elements };

  layer_add_tensor (b, "weight", channels, b->shape->conv_taps, 0, FALSE);
  if (b->shape->conv_bias)
    layer_add_tensor (b, "bias", channels, 0, 0, FALSE);
  return tape_chain (b->tape, role, &in, 1, &spec);
}

void
layer_step_states (const LayerBuilder *b, const char *name, double states, ChainKernel *step,
                   ChainSpec *spec)
{
  const double bytes = 4 * states * training_sequences (b->training);

  if (b->training->pass != PASS_DECODE)
    return;
  *step = (ChainKernel){ .name = name,
                         .read = bytes + 3 * spec->elements * b->tape->e,
                         .write = bytes + spec->elements * b->tape->e };
  spec->forward = step;
  spec->n_forward = 1;
  spec->forward_extra = 0;
}

TapeValue
layer_add_gated_norm (LayerBuilder *b, const char *name, const char *role, TapeValue in,
                      TapeValue gate, double rows, gint64 width, gboolean divided)
{
  double      bytes = tape_tensor (b->tape, in)->bytes, row_bytes = 4 * rows;
  double      weight = b->tape->e * (double) width;
  ChainKernel forward = {
    .name = role, .read = 2 * bytes + weight, .write = bytes + row_bytes, .reduces = TRUE
  };
  ChainKernel backward = { .name = tape_join (role, ".backward"),
                           .read = 3 * bytes + row_bytes + weight,
                           .write = 2 * bytes + weight,
                           .reduces = TRUE };
  TapeValue   inputs[] = { in, gate };
  ChainSpec   spec = { .forward = &forward,
                       .backward = &backward,
                       .n_forward = 1,
                       .n_backward = 1,
                       .module = layer_add_module (b, name),
                       .elements = tape_tensor (b->tape, in)->elements,
                       .statistics = row_bytes };

  if (divided)
    layer_add_tensor (b, "weight", width, 0, 0, FALSE);
  else
    layer_add_replicated (b, "weight", width, 0);
  return tape_chain (b->tape, role, inputs, 2, &spec);
}

/* Eagerly sigmoid, then the product, which keep the sigmoid and IN; backwards three kernels. */
TapeValue
layer_add_sigmoid_gate (LayerBuilder *b, const char *role, TapeValue in, TapeValue gate)
{
  const gboolean fused = b->training->compile;
  const double   bytes = tape_tensor (b->tape, in)->bytes;
  ChainKernel    forward = { .name = role,
                             .read = (fused ? 2 : 3) * bytes,
                             .write = (fused ? 1 : 2) * bytes,
                             .launches = fused ? 1 : 2 };
  ChainKernel    backward = { .name = tape_join (role, ".backward"),
                              .read = (fused ? 3 : 6) * bytes,
                              .write = (fused ? 2 : 3) * bytes,
                              .launches = fused ? 1 : 3 };
  TapeValue      inputs[] = { in, gate };
  ChainSpec      spec = { .forward = &forward,
                          .backward = &backward,
                          .n_forward = 1,
                          .n_backward = 1,
                          .module = -1,
                          .elements = tape_tensor (b->tape, in)->elements,
                          .kept = fused ? 0 : bytes,
                          .left = fused ? 0 : 1U << 1 };

  return tape_chain (b->tape, role, inputs, 2, &spec);
}
