/*
 * Mamba-2: projections, a causal convolution, the scan over chunks of state-space duality, a gated
 * norm. Launches, products and traffic as of mamba_ssm's Triton kernels, which Megatron-LM runs,
 * too (ops/triton/ssd_combined.py; core/ssm/mamba_mixer.py): convolution and scan are one function
 * that keeps z, x, B, C and dt as they were projected, and the result, and makes all else again in
 * the backward pass. Heads, their groups and the norm's groups are divided over the tensor group.
 * Without the norm the scan itself gates, and keeps what it made before, too.
 *
 * Source: Dao, Gu, arXiv:2405.21060.
 */
#include "model/layer/layer-mixer-private.h"

/* What one rank has of a micro-batch: bytes of each value and state. */
typedef struct
{
  Chunks  chunks;
  guint64 heads, head_dim, groups, state;
  double  x, bc;  /* of x, and of B or C */
  double  decay;  /* fp32, of dt or of its sums */
  double  states; /* of all chunks, elements */
  double  scores; /* fp32, of C B' */
  double  gate;   /* of z, where the scan gates */
} Scan;

static Scan
scan_of (const LayerBuilder *b)
{
  const ModelShape *s = b->shape;
  Scan              scan = { .chunks = layer_chunks (b, s->ssm_chunk),
                             .heads = (guint64) (s->ssm_heads / b->tp),
                             .head_dim = (guint64) s->ssm_head_dim,
                             .groups = (guint64) (s->ssm_groups / b->tp),
                             .state = (guint64) s->ssm_state };
  const double      t = scan.chunks.tokens, e = scan.chunks.e, q = (double) scan.chunks.size;

  scan.x = t * e * (double) (scan.heads * scan.head_dim);
  scan.bc = t * e * (double) (scan.groups * scan.state);
  scan.decay = 4 * t * (double) scan.heads;
  scan.states = scan.chunks.chunks * (double) (scan.heads * scan.head_dim * scan.state);
  scan.scores = 4 * scan.chunks.chunks * (double) scan.groups * q * q;
  scan.gate = s->ssm_norm == MODEL_SSM_NORM_NONE ? scan.x : 0;
  return scan;
}

/* A product of each head (EACH of them) and chunk. */
static ChainKernel
product (const Scan *s, const char *name, guint64 each, guint64 m, guint64 n, guint64 k,
         double read, double write)
{
  return (ChainKernel){ .name = name,
                        .batch = layer_chunk_batch (&s->chunks, (gint64) each),
                        .m = m,
                        .n = n,
                        .k = k,
                        .read = read,
                        .write = write };
}

static ChainKernel
pass (const char *name, double read, double write)
{
  return (ChainKernel){ .name = name, .read = read, .write = write };
}

#define N_FORWARD    6
#define MAX_BACKWARD 18

/*
 * Within a chunk of Q tokens only the causal half of C B' is multiplied with x. STATES_E: bytes of
 * a passed state.
 */
static void
list_forward (const Scan *s, double states_e, ChainKernel *kernels)
{
  const guint64 q = s->chunks.size, p = s->head_dim, n = s->state;
  const double  conv = s->x + 2 * s->bc, e = s->chunks.e;

  kernels[0] = pass ("ssd.conv1d", conv, conv);
  kernels[1] = pass ("ssd.chunk_cumsum", s->decay / 4 * e, 2 * s->decay);
  kernels[2] =
      product (s, "ssd.chunk_state", s->heads, p, n, q, s->x + s->bc + 2 * s->decay, 4 * s->states);
  kernels[3] = pass ("ssd.state_passing", 4 * s->states, states_e * s->states);
  kernels[4] = product (s, "ssd.chunk_scores", s->groups, q, q, n, 2 * s->bc, s->scores);
  kernels[5] = product (s, "ssd.chunk_scan", s->heads, q, p, n + q / 2,
                        s->scores + s->x + s->bc + states_e * s->states + 2 * s->decay + s->gate,
                        s->x + s->gate);
}

/*
 * The first five again, with passed states in fp32, and then the gradients, last to first. Returns
 * how many these are.
 */
static guint
list_backward (const Scan *s, ChainKernel *kernels)
{
  const guint64 q = s->chunks.size, p = s->head_dim, n = s->state, h = s->heads;
  const double  conv = s->x + 2 * s->bc, e = s->chunks.e;
  ChainKernel   forward[N_FORWARD];
  guint         i = 0;

  list_forward (s, 4, forward);
  while (i < N_FORWARD - 1)
    {
      kernels[i] = forward[i];
      kernels[i].name = tape_join (forward[i].name, ".again");
      i++;
    }
  if (s->gate > 0)
    kernels[i++] = pass ("ssd.grad_z", 3 * s->gate, 2 * s->gate);
  kernels[i++] = product (s, "ssd.grad_states", h, p, n, q, s->x + s->bc + s->decay, 4 * s->states);
  kernels[i++] = pass ("ssd.state_passing.backward", 8 * s->states, 2 * e * s->states);
  kernels[i++] =
      product (s, "ssd.grad_x", h, q, p, n + q / 2,
               2 * s->x + s->bc + s->scores + e * s->states + 2 * s->decay, s->x + s->decay);
  kernels[i++] = product (s, "ssd.grad_b", h, q, n, p, s->x + s->bc + e * s->states + 2 * s->decay,
                          4 * s->bc / e + s->decay);
  kernels[i++] = product (s, "ssd.grad_c", h, q, n, p, s->x + s->bc + e * s->states + s->decay,
                          4 * s->bc / e + s->decay);
  kernels[i++] = product (s, "ssd.grad_scores", h, q, q / 2, p, 2 * s->x + 2 * s->decay, s->scores);
  kernels[i++] = product (s, "ssd.grad_scores_b", s->groups, q, n, q,
                          s->scores + s->bc + 4 * s->bc / e, s->bc);
  kernels[i++] = product (s, "ssd.grad_scores_c", s->groups, q, n, q,
                          s->scores + s->bc + 4 * s->bc / e, s->bc);
  kernels[i++] =
      product (s, "ssd.grad_decay", h, q, q / 2, p, 2 * s->x + s->scores + 2 * s->decay, s->decay);
  kernels[i++] = pass ("ssd.chunk_cumsum.backward", 3 * s->decay, s->decay / 4 * e);
  kernels[i++] = pass ("ssd.add_decays", 3 * s->decay, s->decay);
  kernels[i++] = pass ("ssd.conv1d.backward", 2 * conv, conv);
  g_assert (i <= MAX_BACKWARD);
  return i;
}

/* What the scan makes besides its result: x, B and C convolved, decays, states twice, scores. */
static TapeValue
add_scan (LayerBuilder *b, const TapeValue z_xbc_dt[3])
{
  const Scan  s = scan_of (b);
  ChainKernel forward[N_FORWARD], backward[MAX_BACKWARD], step;
  TapeValue   in[] = { z_xbc_dt[1], z_xbc_dt[2], z_xbc_dt[0] };
  TapeValue   out;
  double      e = s.chunks.e, made = s.x + 2 * s.bc + 2 * s.decay + (4 + e) * s.states + s.scores;
  ChainSpec   spec = { .forward = forward,
                       .backward = backward,
                       .n_forward = N_FORWARD,
                       .n_backward = list_backward (&s, backward),
                       .elements = s.x / e,
                       .kept = s.gate,
                       .forward_extra = made };

  list_forward (&s, e, forward);
  /* backwards beside all that: fp32 and narrow gradients of states, of B and C, and of scores */
  spec.backward_extra = made + (4 + 2 * e) * s.states + 8 * s.bc / e + s.scores;
  spec.module = layer_add_module (b, layer_mixer_name (b, "conv1d"));
  layer_add_tensor (b, "weight", (gint64) ((s.x + 2 * s.bc) / (e * s.chunks.tokens)),
                    b->shape->conv_taps, 0, FALSE);
  if (b->shape->conv_bias)
    layer_add_tensor (b, "bias", (gint64) ((s.x + 2 * s.bc) / (e * s.chunks.tokens)), 0, 0, FALSE);
  layer_add_tensor (b, "A_log", (gint64) s.heads, 0, 0, FALSE);
  layer_add_tensor (b, "D", (gint64) s.heads, 0, 0, FALSE);
  layer_add_tensor (b, "dt_bias", (gint64) s.heads, 0, 0, FALSE);
  layer_count_states (b, forward, N_FORWARD);
  layer_step_states (b, "ssd.step", (double) (s.heads * s.head_dim * s.state), &step, &spec);
  out = tape_chain (b->tape, "ssd", in, s.gate > 0 ? 3 : 2, &spec);
  b->tape->counted = 1;
  return out;
}

TapeValue
layer_add_mamba2 (LayerBuilder *b, TapeValue x)
{
  const ModelShape *s = b->shape;
  const gint64      inner = s->ssm_heads * s->ssm_head_dim, bc = 2 * s->ssm_groups * s->ssm_state;
  const gint64      groups = s->ssm_groups / b->tp;
  const double      here = b->tokens / (double) b->tp;
  const double      parts[] = { here * (double) inner, here * (double) (inner + bc),
                                here * (double) s->ssm_heads };
  TapeValue         z_xbc_dt[3], y;

  x = layer_add_linear (b, layer_mixer_name (b, "in_proj"), "ssm.in",
                        layer_enter (b, "ssm.gather", x), s->d_model, 2 * inner + bc + s->ssm_heads,
                        s->ssm_bias, COLUMNS);
  if (s->branch_scales) /* a constant for each part: a vector */
    x = layer_add_scale (b, "ssm.scale_parts", x);
  layer_split (b, "ssm.split", x, parts, 3, z_xbc_dt);
  y = add_scan (b, z_xbc_dt);
  if (s->ssm_norm != MODEL_SSM_NORM_NONE)
    y = layer_add_gated_norm (b, layer_mixer_name (b, "norm"), "ssm.norm", y, z_xbc_dt[0],
                              b->tokens * (double) groups, inner / b->tp, TRUE);
  return layer_add_linear (b, layer_mixer_name (b, "out_proj"), "ssm.out", y, inner, s->d_model,
                           s->ssm_bias, ROWS);
}
