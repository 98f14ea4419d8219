/*
 * Mamba-1: a causal convolution, a bottleneck to time steps, B and C, and the selective scan, a
 * recurrence of each channel by itself that one kernel runs in registers (mamba_ssm,
 * ops/selective_scan_interface.py, csrc/selective_scan). Two forms, as transformers 4 has them:
 *
 *   Mamba, Falcon-Mamba   all behind the input projection is one function (MambaInnerFn), the
 *                         output projection included. It keeps its input, time steps, B and C
 *                         as projected, the scan's result and the states between chunks, and
 *                         makes the convolution, the time steps and the gated result again
 *   Jamba                 has norms of time steps, B and C, so that each part is an operation
 *                         (modeling_jamba.py), whose channels a tensor group divides
 *
 * The scan wants tokens next to each other in memory, linears the channels: what goes from one to
 * the other is copied. Not modelled: that each channel reads B and C anew and adds its part of
 * their gradients up by atomic operations in the L2 cache, which take longer than exponentials and
 * bytes.
 *
 * Source: Gu, Dao, arXiv:2312.00752.
 */
#include "model/layer/layer-mixer-private.h"

#define CHUNK      2048 /* tokens between states that are kept */
#define STEP_FLOPS 7    /* of a token, channel and state: flops-convention.c */

/* What one rank has of a micro-batch: bytes of each value. */
typedef struct
{
  Chunks  chunks;
  guint64 tokens, channels, state, rank, width; /* width: of the model */
  double  x, bc, dt;                            /* a value a channel; B or C; the bottleneck */
  double  states, decay;                        /* fp32 */
  double  steps;                                /* tokens, channels, states */
} Scan;

static Scan
scan_of (const LayerBuilder *b)
{
  const ModelShape *s = b->shape;
  Scan              scan = { .chunks = layer_chunks (b, CHUNK),
                             .tokens = (guint64) b->tokens,
                             .channels = (guint64) (s->ssm_heads / b->tp),
                             .state = (guint64) s->ssm_state,
                             .rank = (guint64) s->ssm_rank,
                             .width = (guint64) s->d_model };
  const double      t = b->tokens, e = b->tape->e;

  scan.x = t * e * (double) scan.channels;
  scan.bc = t * e * (double) scan.state;
  scan.dt = t * e * (double) scan.rank;
  scan.decay = 4 * (double) (scan.channels * scan.state);
  scan.states = 2 * scan.decay * scan.chunks.chunks;
  scan.steps = t * (double) (scan.channels * scan.state);
  return scan;
}

static ChainKernel
pass (const char *name, double read, double write, guint launches)
{
  return (ChainKernel){ .name = name, .read = read, .write = write, .launches = launches };
}

static ChainKernel
copy (const char *name, double bytes, guint launches)
{
  return (ChainKernel){
    .name = name, .read = bytes, .write = bytes, .launches = launches, .copies = TRUE
  };
}

/* Of all tokens: their rows, or (M, N of weights) a sum over them. */
static ChainKernel
product (const char *name, guint64 m, guint64 n, guint64 k, double read, double write)
{
  return (ChainKernel){
    .name = name, .batch = 1, .m = m, .n = n, .k = k, .read = read, .write = write
  };
}

/*
 * Decays of the states, exponentials of a parameter in fp32, and parameters cast to it; their
 * gradients.
 */
static ChainKernel
decays (const Scan *s)
{
  return pass ("mamba.decays", 2.5 * s->decay, 3 * s->decay, 5);
}

static ChainKernel
decays_backward (const Scan *s)
{
  return pass ("mamba.decays.backward", 4 * s->decay, 2.5 * s->decay, 5);
}

/* Time steps, x, z, B, C to the result and the gated result; exponentials of softplus and SiLU. */
static ChainKernel
scan (const Scan *s)
{
  return (ChainKernel){ .name = "selective_scan",
                        .read = 3 * s->x + 2 * s->bc + s->decay,
                        .write = 2 * s->x + s->states,
                        .exponentials = s->steps * (1 + 2 / (double) s->state),
                        .flops = STEP_FLOPS * s->steps };
}

/* Gradients are cleared before, those of B and C, in fp32, cast behind. AGAIN: of the gated result,
 * bytes that are made again. */
static void
list_scan_backward (const Scan *s, double again, ChainKernel kernels[3])
{
  const double wide = 8 * s->bc / s->chunks.e;

  kernels[0] = pass ("selective_scan.clear", 0, wide + s->decay, 5);
  kernels[1] = (ChainKernel){ .name = "selective_scan.backward",
                              .read = 6 * s->x + 2 * s->bc + s->decay + s->states,
                              .write = 3 * s->x + wide + s->decay + again,
                              .exponentials = s->steps * (1 + 3 / (double) s->state),
                              .flops = 3 * STEP_FLOPS * s->steps };
  kernels[2] = pass ("selective_scan.cast", wide, 2 * s->bc, 2);
}

static void
add_parameters (LayerBuilder *b, const Scan *s)
{
  layer_add_tensor (b, "A_log", (gint64) s->channels, (gint64) s->state, 0, FALSE);
  layer_add_tensor (b, "D", (gint64) s->channels, 0, 0, FALSE);
}

/* ---- one function ---- */

#define MAX_INNER 20

/* Whether several sequences keep linears from taking what is laid out by channels as it is. */
static gboolean
copies_for_linears (const Scan *s)
{
  return s->chunks.sequences > 1;
}

static ChainKernel
conv (const Scan *s)
{
  return pass ("mamba.conv1d", s->x, s->x, 1);
}

static ChainKernel
time_steps (const Scan *s, double weights)
{
  return product ("mamba.dt", s->tokens, s->channels, s->rank, s->dt + weights, s->x);
}

static ChainKernel
norms (const Scan *s, const char *name, double reads, double writes)
{
  const double bytes = s->dt + 2 * s->bc;

  return (ChainKernel){
    .name = name, .read = reads * bytes, .write = writes * bytes, .launches = 3, .reduces = TRUE
  };
}

static guint
list_inner (const LayerBuilder *b, const Scan *s, ChainKernel *kernels)
{
  const gboolean normed = b->shape->ssm_norm == MODEL_SSM_NORM_PLAIN;
  const double   e = s->chunks.e, rows = s->dt + 2 * s->bc, channels = (double) s->channels;
  const guint64  wide = s->rank + 2 * s->state;
  guint          n = 0;

  kernels[n++] = decays (s);
  kernels[n++] = conv (s);
  if (copies_for_linears (s))
    kernels[n++] = copy ("mamba.tokens_first", s->x, 1);
  kernels[n++] =
      product ("mamba.x", s->tokens, wide, s->channels, s->x + e * channels * (double) wide, rows);
  if (normed)
    kernels[n++] = norms (s, "mamba.norms", 1, 1);
  kernels[n++] = time_steps (s, e * channels * (double) s->rank);
  kernels[n++] = copy ("mamba.lay_out_bc", 2 * s->bc, 2);
  kernels[n++] = scan (s);
  if (copies_for_linears (s))
    kernels[n++] = copy ("mamba.out_first", s->x, 1);
  kernels[n++] =
      product ("mamba.out", s->tokens, s->width, s->channels,
               s->x + e * channels * (double) s->width, e * b->tokens * (double) s->width);
  return n;
}

/* The convolution and time steps again; then gradients, last to first. */
static guint
list_inner_backward (const LayerBuilder *b, const Scan *s, ChainKernel *kernels)
{
  const gboolean normed = b->shape->ssm_norm == MODEL_SSM_NORM_PLAIN;
  const double   e = s->chunks.e, rows = s->dt + 2 * s->bc, channels = (double) s->channels;
  const double   out = e * b->tokens * (double) s->width, steps = e * channels * (double) s->rank;
  const double   weights = e * channels * (double) s->width;
  const guint64  wide = s->rank + 2 * s->state;
  const double   inputs = e * channels * (double) wide;
  guint          n = 0;

  kernels[n++] = conv (s);
  if (normed)
    kernels[n++] = norms (s, "mamba.norms.again", 1, 1);
  kernels[n++] = time_steps (s, steps);
  kernels[n++] = product ("mamba.out.dgrad", s->channels, s->tokens, s->width, out + weights, s->x);
  list_scan_backward (s, s->x, &kernels[n]);
  n += 3;
  if (copies_for_linears (s))
    kernels[n++] = copy ("mamba.lay_out.backward", 3 * s->x, 3);
  kernels[n++] = product ("mamba.out.wgrad", s->width, s->channels, s->tokens, out + s->x, weights);
  kernels[n++] = copy ("mamba.lay_out_bc.backward", 2 * s->bc, 2);
  kernels[n++] = product ("mamba.dt.wgrad", s->channels, s->rank, s->tokens, s->x + s->dt, steps);
  kernels[n++] = product ("mamba.dt.dgrad", s->tokens, s->rank, s->channels, s->x + steps, s->dt);
  if (normed)
    kernels[n++] = norms (s, "mamba.norms.backward", 2, 1);
  kernels[n++] = product ("mamba.x.wgrad", wide, s->channels, s->tokens, rows + s->x, inputs);
  kernels[n++] =
      product ("mamba.x.dgrad", s->channels, s->tokens, wide, rows + inputs + s->x, s->x);
  kernels[n++] = pass ("mamba.conv1d.backward", 2 * s->x, s->x, 1);
  kernels[n++] = decays_backward (s);
  g_assert (n <= MAX_INNER);
  return n;
}

/* The function's parameters; it reads all of them. */
static gint
add_inner_module (LayerBuilder *b, const Scan *s)
{
  const gint64 channels = (gint64) s->channels, rank = (gint64) s->rank;
  const gint   module = layer_add_module (b, b->style->mixer);

  layer_add_tensor (b, "conv1d.weight", channels, b->shape->conv_taps, 0, FALSE);
  if (b->shape->conv_bias)
    layer_add_tensor (b, "conv1d.bias", channels, 0, 0, FALSE);
  layer_add_tensor (b, "x_proj.weight", rank + 2 * (gint64) s->state, channels, 0, FALSE);
  layer_add_tensor (b, "dt_proj.weight", channels, rank, 0, FALSE);
  layer_add_tensor (b, "dt_proj.bias", channels, 0, 0, FALSE);
  add_parameters (b, s);
  layer_add_tensor (b, "out_proj.weight", b->shape->d_model, channels, 0, FALSE);
  if (b->shape->ssm_bias)
    layer_add_tensor (b, "out_proj.bias", b->shape->d_model, 0, 0, FALSE);
  return module;
}

static TapeValue
add_inner (LayerBuilder *b, const Scan *s, TapeValue in)
{
  ChainKernel  forward[MAX_INNER], backward[MAX_INNER];
  const double wide = 8 * s->bc / s->chunks.e;
  ChainSpec    spec = { .forward = forward,
                        .backward = backward,
                        .n_forward = list_inner (b, s, forward),
                        .n_backward = list_inner_backward (b, s, backward),
                        .module = add_inner_module (b, s),
                        .elements = b->tokens * b->width,
                        .kept = s->dt + 2 * s->bc + s->x + s->states,
                        .forward_extra = 3 * s->x + 2 * s->bc, /* convolved, time steps, gated */
                        .backward_extra = 6 * s->x + 2 * s->bc + wide };

  return tape_chain (b->tape, "mamba", &in, 1, &spec);
}

/* ---- operations of their own ---- */

/* IN as the scan takes it; its gradient comes back as linears take it (BACK) or is a view. */
static TapeValue
lay_out (LayerBuilder *b, const char *name, TapeValue in, gboolean back)
{
  const double elements = tape_tensor (b->tape, in)->elements;
  TapeValue    out;

  tape_map (b->tape, name, &in, 1, &elements, 1,
            (MapSpec){ .kind = KERNEL_COPY, .forward_launches = 1, .backward_launches = back },
            &out);
  return out;
}

/* Time steps, B and C of what was convolved, each through its norm. */
static void
add_scan_inputs (LayerBuilder *b, const Scan *s, TapeValue convolved, TapeValue *dt_b_c)
{
  static const char *const names[] = { "dt_layernorm", "b_layernorm", "c_layernorm" };
  const gint64             widths[] = { (gint64) s->rank, (gint64) s->state, (gint64) s->state };
  const double             t = b->tokens;
  const double parts[] = { t * (double) widths[0], t * (double) widths[1], t * (double) widths[2] };
  TapeValue    all;

  all = layer_add_linear (b, layer_mixer_name (b, "x_proj"), "mamba.x", convolved,
                          b->shape->ssm_heads, widths[0] + widths[1] + widths[2], FALSE, ROWS);
  all = layer_enter (b, "mamba.gather_steps", all);
  layer_split (b, "mamba.split_steps", all, parts, 3, dt_b_c);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    dt_b_c[i] = layer_add_norm (b, layer_mixer_name (b, names[i]), tape_join ("mamba.", names[i]),
                                dt_b_c[i], t, widths[i]);
  dt_b_c[0] = layer_add_linear (b, layer_mixer_name (b, "dt_proj"), "mamba.dt", dt_b_c[0],
                                widths[0], b->shape->ssm_heads, TRUE, COLUMNS);
}

static TapeValue
add_scan (LayerBuilder *b, const Scan *s, const TapeValue in[5])
{
  ChainKernel forward[] = { decays (s), scan (s) }, backward[4];
  ChainSpec   spec = { .forward = forward,
                       .backward = backward,
                       .n_forward = G_N_ELEMENTS (forward),
                       .n_backward = G_N_ELEMENTS (backward),
                       .module = layer_add_module (b, b->style->mixer),
                       .elements = s->x / s->chunks.e,
                       .kept = s->x + s->states,
                       .backward_extra = 8 * s->bc / s->chunks.e };

  add_parameters (b, s);
  list_scan_backward (s, 0, backward);
  backward[3] = decays_backward (s);
  return tape_chain (b->tape, "mamba.scan", in, 5, &spec);
}

/* The convolution keeps a view of the projection, and so all of it. */
static TapeValue
add_parts (LayerBuilder *b, const Scan *s, TapeValue xz)
{
  const double halves[] = { s->x / s->chunks.e, s->x / s->chunks.e };
  TapeValue    x_z[2], convolved, in[5], out;

  layer_split (b, "mamba.split", xz, halves, 2, x_z);
  tape_save (b->tape, x_z[1]);
  convolved = layer_add_conv (b, layer_mixer_name (b, "conv1d"), "mamba.conv1d", x_z[0],
                              (gint64) s->channels);
  add_scan_inputs (b, s, convolved, in + 1);
  in[0] = lay_out (b, "mamba.lay_out_x", convolved, FALSE);
  in[1] = lay_out (b, "mamba.lay_out_dt", in[1], TRUE);
  in[2] = lay_out (b, "mamba.lay_out_b", in[2], FALSE);
  in[3] = lay_out (b, "mamba.lay_out_c", in[3], FALSE);
  in[4] = lay_out (b, "mamba.lay_out_z", x_z[1], FALSE);
  out = lay_out (b, "mamba.tokens_first", add_scan (b, s, in), TRUE);
  return layer_add_linear (b, layer_mixer_name (b, "out_proj"), "mamba.out", out,
                           b->shape->ssm_heads, b->shape->d_model, b->shape->ssm_bias, ROWS);
}

TapeValue
layer_add_mamba1 (LayerBuilder *b, TapeValue x)
{
  const Scan s = scan_of (b);

  x = layer_add_linear (b, layer_mixer_name (b, "in_proj"), "mamba.in",
                        layer_enter (b, "mamba.gather", x), b->shape->d_model,
                        2 * b->shape->ssm_heads, b->shape->ssm_bias, COLUMNS);
  if (b->shape->ssm_norm == MODEL_SSM_NORM_PARTS)
    return add_parts (b, &s, x);
  return add_inner (b, &s, lay_out (b, "mamba.lay_out", x, TRUE));
}
