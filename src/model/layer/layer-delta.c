/*
 * Delta rules: the gated one of Qwen3-Next and Qwen3.5, Kimi's with a decay a channel (KDA).
 * Launches, products and traffic as of flash-linear-attention's Triton kernels, in chunks of 64
 * (fla/ops/gated_delta_rule/chunk.py, fla/ops/kda/chunk.py): both keep queries, keys, values,
 * decays and the products within chunks, and make the states of all chunks again in the backward
 * pass. The walk over the chunks of a sequence is sequential: a head and sequence are one product,
 * as deep as the sequence is long. Heads are divided over the tensor group.
 *
 * Source: Yang et al., arXiv:2412.06464; Kimi Linear, arXiv:2510.26692.
 */
#include "model/layer/layer-mixer-private.h"

#define CHUNK ((guint64) 64)

/* What one rank has of a micro-batch: bytes of each value and state. */
typedef struct
{
  Chunks  chunks;
  guint64 heads, key, value;
  double  k, v;   /* of keys (queries, as many) and of values */
  double  head;   /* fp32, of one number a head */
  double  inner;  /* of the products within chunks */
  double  states; /* of all chunks */
} Delta;

static Delta
delta_of (const LayerBuilder *b)
{
  const ModelShape *s = b->shape;
  Delta             d = { .chunks = layer_chunks (b, (gint64) CHUNK),
                          .heads = (guint64) (s->linear_value_heads / b->tp),
                          .key = (guint64) s->linear_key_dim,
                          .value = (guint64) s->linear_value_dim };
  const double      rows = d.chunks.tokens * (double) d.heads, e = d.chunks.e;

  d.k = e * rows * (double) d.key;
  d.v = e * rows * (double) d.value;
  d.head = 4 * rows;
  d.inner = e * rows * CHUNK;
  d.states = e * d.chunks.chunks * (double) (d.heads * d.key * d.value);
  return d;
}

/* Of each head and chunk. */
static ChainKernel
product (const Delta *d, const char *name, guint64 n, guint64 k, double read, double write)
{
  return (ChainKernel){ .name = name,
                        .batch = layer_chunk_batch (&d->chunks, (gint64) d->heads),
                        .m = CHUNK,
                        .n = n,
                        .k = k,
                        .read = read,
                        .write = write };
}

/* TIMES products with the state of each chunk, one chunk after the other. */
static ChainKernel
walk (const Delta *d, const char *name, guint64 times, double read, double write)
{
  const double sequences = MAX (d->chunks.sequences, 1);

  return (ChainKernel){ .name = name,
                        .batch = (guint64) (sequences * (double) d->heads),
                        .m = d->key,
                        .n = d->value,
                        .k = MAX (times * (guint64) (d->chunks.tokens / sequences), 1),
                        .read = read,
                        .write = write };
}

static ChainKernel
pass (const char *name, double read, double write, guint launches)
{
  return (ChainKernel){ .name = name, .read = read, .write = write, .launches = launches };
}

/* Queries and keys through L2 norms. */
static ChainKernel
norms (const Delta *d, gboolean backward)
{
  return (ChainKernel){ .name = backward ? "delta.l2norm.backward" : "delta.l2norm",
                        .read = (backward ? 4 : 2) * d->k + (backward ? 2 * d->head : 0),
                        .write = 2 * d->k + (backward ? 0 : 2 * d->head),
                        .reduces = TRUE,
                        .launches = 2 };
}

/* Products of width KEY, in columns of VALUE. */
static guint64
of_keys (const Delta *d, guint64 depth)
{
  return (depth * d->key + d->value - 1) / d->value;
}

static guint64
of_values (const Delta *d, guint64 depth)
{
  return (depth * d->value + d->key - 1) / d->key;
}

/* What both passes compute: inputs of the walk, and the states of all chunks. */
static ChainKernel
inputs_of_walk (const Delta *d)
{
  return product (d, "delta.w_u", d->key + d->value, CHUNK, d->k + d->v + d->inner + 2 * d->head,
                  d->k + d->v);
}

static ChainKernel
states_of_walk (const Delta *d)
{
  return walk (d, "delta.states", 2, 2 * d->k + d->v + d->head, d->v + d->states);
}

/* Their gradients, backwards: with d o, w and the gradients of values from within the chunk. */
static ChainKernel
gradients_of_walk (const Delta *d)
{
  return walk (d, "delta.grad_states", 3, 3 * d->k + 2 * d->v + d->head, d->v + d->states);
}

static ChainKernel
again (ChainKernel kernel)
{
  kernel.name = tape_join (kernel.name, ".again");
  return kernel;
}

/* ---- gated delta rule ---- */

#define N_FORWARD  8
#define N_BACKWARD 10

/*
 * Decay and beta of the two projections of a number a head (softplus, exponential, sigmoid: PyTorch
 * kernels) | norms | sums of decays | K K' | its inverse | inputs of the walk | states | output: Q
 * times the state, Q K' and its product with the values.
 */
static void
list_forward (const Delta *d, ChainKernel *kernels)
{
  kernels[0] = pass ("delta.decay", 5 * d->head, 4 * d->head, 7);
  kernels[1] = norms (d, FALSE);
  kernels[2] = pass ("delta.cumsum", d->head, d->head, 1);
  kernels[3] = product (d, "delta.k_k", CHUNK, d->key, d->k + 2 * d->head, 2 * d->inner);
  kernels[4] = pass ("delta.inverse", 2 * d->inner, d->inner, 1);
  kernels[5] = inputs_of_walk (d);
  kernels[6] = states_of_walk (d);
  kernels[7] = product (d, "delta.output", d->value, d->key + CHUNK + of_keys (d, CHUNK),
                        2 * d->k + d->v + d->states + d->head, d->v);
}

/*
 * Output's share of the values' gradient | states' | Q, K, W: three products with states, and of
 * the chunk do v', q k', both times k or q | what led to the walk: seven products of keys and
 * values, two of the inverse | sums and norms.
 */
static void
list_backward (const Delta *d, ChainKernel *kernels)
{
  kernels[0] = again (inputs_of_walk (d));
  kernels[1] = again (states_of_walk (d));
  kernels[2] = product (d, "delta.grad_v", d->value, CHUNK + of_keys (d, CHUNK),
                        2 * d->k + d->v + d->head, d->v);
  kernels[3] = gradients_of_walk (d);
  kernels[4] =
      product (d, "delta.grad_qkw", d->key, 3 * d->value + of_values (d, CHUNK) + 3 * CHUNK,
               3 * d->k + 3 * d->v + 2 * d->states + d->head, 3 * d->k + d->head);
  kernels[5] = product (d, "delta.grad_w_u", d->key,
                        5 * CHUNK + of_values (d, 2 * CHUNK) + 2 * CHUNK * CHUNK / d->key,
                        2 * d->k + 2 * d->v + d->inner + 2 * d->head, d->k + d->v + 2 * d->head);
  kernels[6] = pass ("delta.grad_add", 2 * d->k + 2 * d->head, d->k + d->head, 2);
  kernels[7] = pass ("delta.cumsum.backward", d->head, d->head, 1);
  kernels[8] = norms (d, TRUE);
  kernels[9] = pass ("delta.decay.backward", 9 * d->head, 7 * d->head, 10);
}

/*
 * Queries, keys and values of the convolution, laid out a head after the other as the chain has it:
 * fewer heads of keys are repeated for those of values.
 */
static void
lay_out (LayerBuilder *b, const Delta *d, TapeValue in, TapeValue *qkv)
{
  const ModelShape *s = b->shape;
  const double      e = d->chunks.e;
  const gint64      width = s->linear_key_heads / b->tp * s->linear_key_dim;
  const double      keys = d->chunks.tokens * (double) width;
  const double      parts[] = { keys, keys, d->v / e }, wide[] = { d->k / e, d->k / e, d->v / e };

  layer_split (b, "delta.split", in, parts, 3, qkv);
  tape_map (b->tape, "delta.lay_out", qkv, 3, wide, 3,
            (MapSpec){ .kind = KERNEL_COPY, .forward_launches = 3, .backward_launches = 3 }, qkv);
}

static TapeValue
add_rule (LayerBuilder *b, const Delta *d, const TapeValue *qkv, TapeValue ba)
{
  ChainKernel  forward[N_FORWARD], backward[N_BACKWARD], step;
  TapeValue    in[] = { qkv[0], qkv[1], qkv[2], ba }, out;
  const double e = d->chunks.e;
  ChainSpec    spec = { .forward = forward,
                        .backward = backward,
                        .n_forward = N_FORWARD,
                        .n_backward = N_BACKWARD,
                        .module = layer_add_module (b, "linear_attn"),
                        .elements = d->v / e,
                        .kept = d->head * (1 + e / 4) + d->inner,
                        .statistics = 2 * d->head,
                        .forward_extra = 3 * d->k + 2 * d->v + d->states + 2 * d->inner,
                        .backward_extra = 3 * d->k + 3 * d->v + 2 * d->states };

  layer_add_tensor (b, "dt_bias", (gint64) d->heads, 0, 0, FALSE);
  layer_add_tensor (b, "A_log", (gint64) d->heads, 0, 0, FALSE);
  list_forward (d, forward);
  list_backward (d, backward);
  layer_count_states (b, forward, N_FORWARD);
  layer_step_states (b, "delta.step", (double) (d->heads * d->key * d->value), &step, &spec);
  out = tape_chain (b->tape, "delta", in, 4, &spec);
  b->tape->counted = 1;
  return out;
}

/*
 * Projections in one, whose parts stand by groups of heads and are put in order, or (split) one of
 * each kind: the first CONVOLVED columns, z, and b and a together.
 */
static void
project (LayerBuilder *b, TapeValue x, gint64 convolved, gint64 values, TapeValue *qkv_z_ba)
{
  const ModelShape *s = b->shape;
  const gint64      h = s->d_model, heads = s->linear_value_heads;
  const double      here = b->tokens / (double) b->tp;
  const double      parts[] = { here * (double) convolved, here * (double) values };
  TapeValue         all;

  if (s->linear_split)
    {
      const double two = 2 * here * (double) heads;
      TapeValue    ba[2];

      qkv_z_ba[0] = layer_add_linear (b, "linear_attn.in_proj_qkv", "delta.qkv", x, h, convolved,
                                      FALSE, COLUMNS);
      qkv_z_ba[1] =
          layer_add_linear (b, "linear_attn.in_proj_z", "delta.z", x, h, values, FALSE, COLUMNS);
      ba[0] = layer_add_linear (b, "linear_attn.in_proj_b", "delta.b", x, h, heads, FALSE, COLUMNS);
      ba[1] = layer_add_linear (b, "linear_attn.in_proj_a", "delta.a", x, h, heads, FALSE, COLUMNS);
      tape_map (b->tape, "delta.join_ba", ba, 2, &two, 1, (MapSpec){ .kind = KERNEL_ELEMENTWISE },
                &qkv_z_ba[2]);
      return;
    }
  all = layer_add_linear (b, "linear_attn.in_proj_qkvz", "delta.qkvz", x, h, convolved + values,
                          FALSE, COLUMNS);
  qkv_z_ba[2] =
      layer_add_linear (b, "linear_attn.in_proj_ba", "delta.ba", x, h, 2 * heads, FALSE, COLUMNS);
  tape_map (b->tape, "delta.order", &all, 1, parts, 2,
            (MapSpec){ .kind = KERNEL_COPY, .forward_launches = 3, .backward_launches = 3 },
            qkv_z_ba);
}

TapeValue
layer_add_delta (LayerBuilder *b, TapeValue x)
{
  const ModelShape *s = b->shape;
  const Delta       d = delta_of (b);
  const gint64      values = s->linear_value_heads * s->linear_value_dim;
  const gint64      convolved = 2 * s->linear_key_heads * s->linear_key_dim + values;
  TapeValue         parts[3], qkv[3], y;

  project (b, layer_enter (b, "delta.gather", x), convolved, values, parts);
  y = layer_add_conv (b, "linear_attn.conv1d", "delta.conv1d", parts[0], convolved / b->tp);
  lay_out (b, &d, y, qkv);
  y = add_rule (b, &d, qkv, parts[2]);
  y = layer_add_gated_norm (b, "linear_attn.norm", "delta.norm", y, parts[1],
                            b->tokens * (double) d.heads, s->linear_value_dim, FALSE);
  return layer_add_linear (b, "linear_attn.out_proj", "delta.out", y, values, s->d_model, FALSE,
                           ROWS);
}

/* ---- KDA ---- */

#define N_KDA_FORWARD  7
#define N_KDA_BACKWARD 11

/*
 * Decays of each channel in fp32 | norms | Q K' and K K' under the decays, with the inverse of the
 * latter | inputs of the walk, keys and queries under the decays | states | output.
 */
static void
list_kda_forward (const Delta *d, ChainKernel *kernels)
{
  const double decays = 4 * d->k / d->chunks.e;

  kernels[0] = pass ("kda.decay", d->k + d->head, decays + d->head, 2);
  kernels[1] = norms (d, FALSE);
  kernels[2] = product (d, "kda.q_k", CHUNK, 2 * d->key, 2 * d->k + decays, 3 * d->inner);
  kernels[3] = pass ("kda.inverse", 2 * d->inner, d->inner, 1);
  kernels[4] = inputs_of_walk (d);
  kernels[4].read += decays;
  kernels[4].write += 2 * d->k;
  kernels[5] = states_of_walk (d);
  kernels[6] =
      product (d, "kda.output", d->value, d->key + CHUNK, d->k + d->v + d->inner + d->states, d->v);
}

/*
 * The first, fifth and sixth again; do v' and A' do | states' gradients | three products with
 * states and what led to the walk | Q K' and K K' backwards: four products | sums, norms.
 */
static void
list_kda_backward (const Delta *d, ChainKernel *kernels)
{
  const double decays = 4 * d->k / d->chunks.e;
  ChainKernel  forward[N_KDA_FORWARD];

  list_kda_forward (d, forward);
  kernels[0] = again (forward[0]);
  kernels[1] = again (forward[4]);
  kernels[2] = again (forward[5]);
  kernels[3] =
      product (d, "kda.grad_v", d->value, 2 * CHUNK, 2 * d->v + d->inner, d->v + 2 * d->inner);
  kernels[4] = gradients_of_walk (d);
  kernels[5] =
      product (d, "kda.grad_qkw", d->key,
               3 * d->value + 2 * CHUNK + of_values (d, 2 * CHUNK) + 2 * CHUNK * CHUNK / d->key,
               3 * d->k + 3 * d->v + 2 * d->states + decays + d->inner,
               2 * d->k + d->v + decays + 2 * d->inner + d->head);
  kernels[6] = product (d, "kda.grad_q_k", d->key, 4 * CHUNK, 4 * d->k + decays + 4 * d->inner,
                        2 * d->k + decays + d->head);
  kernels[7] = pass ("kda.grad_add", 2 * decays, decays, 1);
  kernels[8] = pass ("kda.cumsum.backward", decays, decays, 1);
  kernels[9] = norms (d, TRUE);
  kernels[10] = pass ("kda.decay.backward", decays + d->k, d->k + d->head, 2);
}

/* IN through NAME_a and NAME_b, a bottleneck as wide as a head that every rank has whole. */
static TapeValue
add_narrow (LayerBuilder *b, const char *name, const char *role, TapeValue in, gint64 n)
{
  const gint64 width = b->shape->linear_key_dim;
  TapeValue narrow = layer_add_linear (b, tape_join (name, "_a_proj"), tape_join (role, "_a"), in,
                                       b->shape->d_model, width, FALSE, WHOLE);

  return layer_add_linear (b, tape_join (name, "_b_proj"), tape_join (role, "_b"), narrow, width, n,
                           FALSE, COLUMNS);
}

static TapeValue
add_kda_rule (LayerBuilder *b, const Delta *d, const TapeValue in[5])
{
  ChainKernel  forward[N_KDA_FORWARD], backward[N_KDA_BACKWARD], step;
  const double e = d->chunks.e, decays = 4 * d->k / e;
  ChainSpec    spec = { .forward = forward,
                        .backward = backward,
                        .n_forward = N_KDA_FORWARD,
                        .n_backward = N_KDA_BACKWARD,
                        .module = layer_add_module (b, "self_attn"),
                        .elements = d->v / e,
                        .kept = d->head * e / 4 + 2 * d->inner,
                        .statistics = 2 * d->head,
                        .forward_extra = 5 * d->k + 2 * d->v + d->states + 2 * d->inner + decays,
                        .backward_extra =
                            5 * d->k + 3 * d->v + 2 * d->states + 2 * decays + 2 * d->inner };
  TapeValue    out;

  layer_add_tensor (b, "A_log", (gint64) d->heads, 0, 0, FALSE);
  layer_add_tensor (b, "dt_bias", (gint64) (d->heads * d->key), 0, 0, FALSE);
  list_kda_forward (d, forward);
  list_kda_backward (d, backward);
  layer_count_states (b, forward, N_KDA_FORWARD);
  layer_step_states (b, "kda.step", (double) (d->heads * d->key * d->value), &step, &spec);
  out = tape_chain (b->tape, "kda", in, 5, &spec);
  b->tape->counted = 1;
  return out;
}

TapeValue
layer_add_kda (LayerBuilder *b, TapeValue x)
{
  static const char *const names[] = { "q", "k", "v" };
  const ModelShape        *s = b->shape;
  const Delta              d = delta_of (b);
  const gint64             h = s->d_model, keys = s->linear_key_heads * s->linear_key_dim,
               values = s->linear_value_heads * s->linear_value_dim;
  TapeValue in[5], y, gate;

  x = layer_enter (b, "kda.gather", x);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const gint64     width = i < 2 ? keys : values;
      g_autofree char *linear = g_strdup_printf ("self_attn.%s_proj", names[i]);
      g_autofree char *conv = g_strdup_printf ("self_attn.%s_conv1d", names[i]);

      in[i] =
          layer_add_linear (b, linear, tape_join ("kda.", names[i]), x, h, width, FALSE, COLUMNS);
      in[i] = layer_add_conv (b, conv, tape_join (tape_join ("kda.", names[i]), "_conv1d"), in[i],
                              width / b->tp);
    }
  in[3] = add_narrow (b, "self_attn.f", "kda.decay", x, keys);
  in[4] = layer_add_linear (b, "self_attn.b_proj", "kda.beta", x, h, s->linear_value_heads, FALSE,
                            COLUMNS);
  y = add_kda_rule (b, &d, in);
  gate = s->linear_whole_gate
             ? layer_add_linear (b, "self_attn.g_proj", "kda.gate", x, h, values, FALSE, COLUMNS)
             : add_narrow (b, "self_attn.g", "kda.gate", x, values);
  y = layer_add_gated_norm (b, "self_attn.o_norm", "kda.norm", y, gate,
                            b->tokens * (double) d.heads, s->linear_value_dim, FALSE);
  return layer_add_linear (b, "self_attn.o_proj", "kda.out", y, values, h, FALSE, ROWS);
}
