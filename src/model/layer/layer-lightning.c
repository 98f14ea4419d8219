/*
 * Lightning attention: linear attention whose decay a head is fixed, in blocks of 256 tokens;
 * within a block the causal half of Q K', between blocks a state. SiLU of queries, keys and values,
 * a norm over all heads and an output gate as MiniMax-01 has them (modeling_minimax_text_01.py).
 *
 * Source: Qin et al., arXiv:2401.04658; MiniMax-01, arXiv:2501.08313.
 */
#include "model/layer/layer-mixer-private.h"

#define BLOCK 256

/*
 * A walk over the blocks of each head and sequence; TIMES a product of each kind, with a state and
 * (half) within a block.
 */
static ChainKernel
walk (const LayerBuilder *b, const char *name, guint64 times, double read, double write)
{
  const ModelShape *s = b->shape;
  const Chunks      chunks = layer_chunks (b, BLOCK);
  const guint64     key = (guint64) s->linear_key_dim, value = (guint64) s->linear_value_dim;

  return (ChainKernel){ .name = name,
                        .batch = layer_chunk_batch (&chunks, s->linear_value_heads),
                        .m = BLOCK,
                        .n = value,
                        .k = times * (key + BLOCK / 2),
                        .read = read,
                        .write = write };
}

/* Q K', its product with V, Q times the state, the state; backwards five of each kind. */
static TapeValue
add_attention (LayerBuilder *b, const TapeValue *qkv)
{
  const double bytes = tape_tensor (b->tape, qkv[0])->bytes;
  ChainKernel  forward = walk (b, "lightning", 2, 3 * bytes, bytes);
  ChainKernel  backward = walk (b, "lightning.backward", 5, 4 * bytes, 3 * bytes);
  ChainSpec    spec = { .forward = &forward,
                        .backward = &backward,
                        .n_forward = 1,
                        .n_backward = 1,
                        .module = -1,
                        .elements = tape_tensor (b->tape, qkv[2])->elements };
  const gint64 heads = b->shape->linear_value_heads / b->tp;
  const double states = (double) (heads * b->shape->linear_key_dim * b->shape->linear_value_dim);
  ChainKernel  step;
  TapeValue    out;

  layer_count_states (b, &forward, 1);
  layer_step_states (b, "lightning.step", states, &step, &spec);
  out = tape_chain (b->tape, "lightning", qkv, 3, &spec);
  b->tape->counted = 1;
  return out;
}

TapeValue
layer_add_lightning (LayerBuilder *b, TapeValue x)
{
  const ModelShape *s = b->shape;
  const gint64      h = s->d_model, values = s->linear_value_heads * s->linear_value_dim;
  const double      elements = b->tokens * (double) values;
  const double      parts[] = { elements, elements, elements };
  TapeValue         qkv[3], y, gate, in = layer_enter (b, "lightning.gather", x);

  y = layer_add_linear (b, "self_attn.qkv_proj", "lightning.qkv", in, h, 3 * values, FALSE,
                        COLUMNS);
  layer_split (b, "lightning.split", tape_gelu (b->tape, "lightning.silu", y), parts, 3, qkv);
  y = add_attention (b, qkv);
  y = layer_add_norm (b, "self_attn.norm", "lightning.norm", y, b->tokens, values);
  gate = layer_add_linear (b, "self_attn.output_gate", "lightning.gate", in, h, values, FALSE,
                           COLUMNS);
  y = layer_add_sigmoid_gate (b, "lightning.gated", y, gate);
  return layer_add_linear (b, "self_attn.out_proj", "lightning.out", y, values, h, FALSE, ROWS);
}
