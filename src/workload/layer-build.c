#include "workload/layer-build-private.h"

#include <math.h>

#include "workload/tape-ops-private.h"

typedef struct
{
  const ModelShape      *shape;
  const TrainingOptions *training;
  const MeshOptions     *mesh;
  const FamilyStyle     *style;
  LayerClass             layer;
  Tape                  *tape;
  GArray                *tensors, *modules;
  double                 tokens; /* of a micro-batch on this context rank */
  double   stream_tokens;        /* of them those whose residual stream is on this tensor rank */
  double   width;                /* of the model */
  gint64   tp;
  gboolean dropout;
} Builder;

/* How a weight is divided over the tensor group. */
typedef enum
{
  WHOLE,
  COLUMNS, /* outputs: its input has to be complete, see enter */
  ROWS,    /* inputs: its output is a partial sum, see leave */
} Division;

/* ---- tensor parallelism ---- */

/*
 * With sequence parallelism Megatron-LM's products have always run beside the collectives of the backward pass; without it the
 * all-reduce of an input's gradient goes beside only when asked for.
 */
static CommGroup
tensor_group (const Builder *b)
{
  return (CommGroup){ .axis = MESH_TENSOR,
                      .members = (guint) b->tp,
                      .beside = b->mesh->sp == 1 || b->mesh->async_tp,
                      .sliced = b->mesh->sp == 1 && b->mesh->async_tp };
}

/* From the residual stream to the input of products that are divided by columns. */
static TapeValue
enter (Builder *b, const char *name, TapeValue x)
{
  if (b->mesh->sp == 1)
    return tape_comm_gather (b->tape, name, x, tensor_group (b));
  tape_comm_copy (b->tape, name, x, tensor_group (b));
  return x;
}

/* From the partial sums of a product divided by rows to the residual stream. */
static TapeValue
leave (Builder *b, const char *name, TapeValue x)
{
  if (b->mesh->sp == 1)
    return tape_comm_scatter (b->tape, name, x, tensor_group (b));
  tape_comm_reduce (b->tape, name, x, tensor_group (b));
  return x;
}

/* Tokens of a sequence on this context rank. */
static double
sequence (const Builder *b)
{
  return (double) b->training->seq_len / (double) b->mesh->cp;
}

/* Whole heads; a key-value head is held by several ranks where there are fewer heads than ranks. */
static gint64
local_heads (const Builder *b)
{
  return b->shape->n_heads / b->tp;
}

static gint64
local_kv_heads (const Builder *b)
{
  return MAX (b->shape->n_kv_heads / b->tp, 1);
}

/* ---- modules and tensors ---- */

static gint
add_module (Builder *b, const char *name)
{
  ModuleDesc module = { .name = g_intern_string (name), .first_tensor = b->tensors->len };

  g_array_append_val (b->modules, module);
  return (gint) b->modules->len - 1;
}

/* Dimensions that are zero are left out; those of this rank. */
static TensorDesc *
add_tensor (Builder *b, const char *suffix, gint64 d0, gint64 d1, gint64 d2, gboolean expert)
{
  gint64      dims[TENSOR_MAX_DIMS] = { d0, d1, d2 };
  ModuleDesc *module = &g_array_index (b->modules, ModuleDesc, b->modules->len - 1);
  TensorDesc  tensor = { .name = tape_join (tape_join (module->name, "."), suffix),
                         .elements = 1,
                         .module = b->modules->len - 1,
                         .expert = expert };

  for (guint i = 0; i < TENSOR_MAX_DIMS; i++)
    if (dims[i] > 0)
      {
        tensor.shape[tensor.n_dims++] = (guint64) dims[i];
        tensor.elements *= (guint64) dims[i];
      }
  module->n_tensors++;
  module->elements += tensor.elements;
  g_array_append_val (b->tensors, tensor);
  return &g_array_index (b->tensors, TensorDesc, b->tensors->len - 1);
}

/* One that every tensor rank has whole. */
static void
add_replicated (Builder *b, const char *suffix, gint64 d0, gint64 d1)
{
  add_tensor (b, suffix, d0, d1, 0, FALSE)->replicated = b->tp > 1;
}

/* A Linear module from K to N on TOKENS tokens, K and N of the whole model; ROLE names its kernels. */
static TapeValue
add_linear_on (Builder *b, const char *name, const char *role, TapeValue in, double tokens,
               gint64 k, gint64 n, gboolean bias, Division division)
{
  gint        module = add_module (b, name);
  gboolean    transposed = b->style->transposed && b->layer.kind == LAYER_BLOCK;
  gboolean    late = bias && division == ROWS && b->tp > 1;
  TensorDesc *weight;
  TapeValue   out;

  k = division == ROWS ? k / b->tp : k;
  n = division == COLUMNS ? n / b->tp : n;
  weight = add_tensor (b, "weight", transposed ? k : n, transposed ? n : k, 0, FALSE);
  weight->replicated = division == WHOLE && b->tp > 1;
  if (bias)
    add_tensor (b, "bias", n, 0, 0, FALSE)->replicated = division != COLUMNS && b->tp > 1;
  out = tape_linear (b->tape, role, in,
                     (LinearSpec){ .module = module,
                                   .rows = tokens,
                                   .k = (guint64) k,
                                   .n = (guint64) n,
                                   .batch = 1,
                                   .bias = bias && !late });
  if (division == ROWS)
    out = leave (b, tape_join (role, ".reduce"), out);
  if (late)
    tape_late_bias (b->tape, role, out, (double) n);
  return out;
}

static TapeValue
add_linear (Builder *b, const char *name, const char *role, TapeValue in, gint64 k, gint64 n,
            gboolean bias, Division division)
{
  return add_linear_on (b, name, role, in, b->tokens, k, n, bias, division);
}

static TapeValue
add_norm (Builder *b, const char *name, const char *role, TapeValue in, double rows, gint64 width)
{
  gint module = add_module (b, name);

  add_replicated (b, "weight", width, 0);
  if (b->shape->norm == MODEL_NORM_LAYER)
    add_replicated (b, "bias", width, 0);
  return tape_norm (b->tape, role, in, module, rows, (double) width, b->shape->norm);
}

/* The residual connection; the branch is dropped out first where the block has dropout. */
static TapeValue
add_residual (Builder *b, const char *name, TapeValue stream, TapeValue branch)
{
  if (b->dropout)
    return tape_dropped_residual (b->tape, name, stream, branch);
  return tape_add (b->tape, name, stream, branch);
}

/* Views of IN, whose gradients are concatenated on the way back. */
static void
split (Builder *b, const char *name, TapeValue in, const double *elements, guint n, TapeValue *out)
{
  tape_map (b->tape, name, &in, 1, elements, n,
            (MapSpec){ .kind = KERNEL_ELEMENTWISE, .backward_launches = 1 }, out);
}

/* ---- attention ---- */

static gboolean
is_flash (const Builder *b)
{
  return training_flash_version (b->training) > 0;
}

/*
 * Rotary embedding of q and k. Eagerly for each of them x * cos | -x2 | cat | * sin | +: 5 kernels,
 * reads 5.5e, writes 4.5e an element; backwards 9, reads and writes 7.5e.
 */
static void
add_rotary (Builder *b, TapeValue *qkv)
{
  gboolean  fused = b->training->compile;
  double    elements[] = { tape_tensor (b->tape, qkv[0])->elements,
                           tape_tensor (b->tape, qkv[1])->elements };
  double    bytes = b->tape->e * (elements[0] + elements[1]);
  TapeValue in[] = { qkv[0], qkv[1] };

  tape_map (b->tape, "attn.rotary", in, 2, elements, 2,
            (MapSpec){ .kind = KERNEL_ELEMENTWISE,
                       .forward_launches = fused ? 1 : 10,
                       .backward_launches = fused ? 1 : 18,
                       .forward_read = fused ? 0 : 4.5 * bytes,
                       .forward_write = fused ? 0 : 3.5 * bytes,
                       .backward_read = fused ? 0 : 6.5 * bytes,
                       .backward_write = fused ? 0 : 6.5 * bytes },
            qkv);
}

static void
add_qkv (Builder *b, TapeValue x, TapeValue *qkv)
{
  const ModelShape *s = b->shape;
  gint64 q = local_heads (b) * s->head_dim, kv = local_kv_heads (b) * s->head_dim, tp = b->tp;
  double elements[] = { b->tokens * (double) q, b->tokens * (double) kv, b->tokens * (double) kv };

  x = enter (b, "attn.gather", x);
  if (b->style->qkv != NULL)
    {
      TapeValue fused = add_linear (b, b->style->qkv, "attn.qkv", x, s->d_model, (q + 2 * kv) * tp,
                                    s->attention_bias, COLUMNS);
      split (b, "attn.split", fused, elements, 3, qkv);
    }
  else
    {
      qkv[0] =
          add_linear (b, b->style->q, "attn.q", x, s->d_model, q * tp, s->attention_bias, COLUMNS);
      qkv[1] =
          add_linear (b, b->style->k, "attn.k", x, s->d_model, kv * tp, s->attention_bias, COLUMNS);
      qkv[2] =
          add_linear (b, b->style->v, "attn.v", x, s->d_model, kv * tp, s->attention_bias, COLUMNS);
    }
  if (s->qk_norm)
    {
      qkv[0] = add_norm (b, "self_attn.q_norm", "attn.q_norm", qkv[0],
                         b->tokens * (double) local_heads (b), s->head_dim);
      qkv[1] = add_norm (b, "self_attn.k_norm", "attn.k_norm", qkv[1],
                         b->tokens * (double) local_kv_heads (b), s->head_dim);
    }
  if (s->position == MODEL_POSITION_ROTARY)
    add_rotary (b, qkv);
}

/*
 * Multi-head latent attention: low-rank projections, the rotary part apart (DeepSeek-V2,
 * arXiv:2405.04434, section 2.1).
 */
static void
add_latent_qkv (Builder *b, TapeValue x, TapeValue *qkv)
{
  const ModelShape *s = b->shape;
  gint64            heads = s->n_heads, qk = model_qk_dim (s);
  double t = b->tokens, st = b->stream_tokens, e = b->tape->e, h = (double) local_heads (b),
         rope = (double) s->qk_rope_head_dim;
  double    latent[] = { st * (double) s->kv_lora_rank, st * rope };
  double    expanded[] = { t * h * (double) s->qk_nope_head_dim, t * h * (double) s->v_head_dim };
  double    assembled[] = { t * h * (double) qk, t * h * (double) qk };
  double    rotated = e * t * rope * (h + 1);
  gboolean  fused = b->training->compile;
  CommGroup group = tensor_group (b);
  TapeValue q = x, kv_a[2], kv_b[2], kv;

  if (s->q_lora_rank > 0)
    {
      q = add_linear_on (b, "self_attn.q_a_proj", "attn.q_a", x, st, s->d_model, s->q_lora_rank,
                         s->attention_bias, WHOLE);
      q = add_norm (b, "self_attn.q_a_layernorm", "attn.q_a_norm", q, st, s->q_lora_rank);
      q = add_linear (b, "self_attn.q_b_proj", "attn.q_b", enter (b, "attn.gather_q", q),
                      s->q_lora_rank, heads * qk, FALSE, COLUMNS);
    }
  else
    q = add_linear (b, "self_attn.q_proj", "attn.q", enter (b, "attn.gather_q", x), s->d_model,
                    heads * qk, FALSE, COLUMNS);
  kv = add_linear_on (b, "self_attn.kv_a_proj_with_mqa", "attn.kv_a", x, st, s->d_model,
                      s->kv_lora_rank + s->qk_rope_head_dim, s->attention_bias, WHOLE);
  split (b, "attn.split_latent", kv, latent, 2, kv_a);
  kv = add_norm (b, "self_attn.kv_a_layernorm", "attn.kv_a_norm", kv_a[0], st, s->kv_lora_rank);
  kv = add_linear (b, "self_attn.kv_b_proj", "attn.kv_b", enter (b, "attn.gather_kv", kv),
                   s->kv_lora_rank, heads * (s->qk_nope_head_dim + s->v_head_dim), FALSE, COLUMNS);
  split (b, "attn.split_kv", kv, expanded, 2, kv_b);
  group.sliced = FALSE;
  if (b->mesh->sp == 1)
    kv_a[1] = tape_comm_gather (b->tape, "attn.gather_rope", kv_a[1], group);
  else
    tape_comm_copy (b->tape, "attn.gather_rope", kv_a[1], group);

  /*
   * rotary on the rotary parts, then q and k are put together: 12 kernels, backwards 21 (the key
   * part is summed over heads)
   */
  TapeValue in[] = { q, kv_b[0], kv_a[1] };
  tape_map (b->tape, "attn.rotary", in, 3, assembled, 2,
            (MapSpec){ .kind = KERNEL_ELEMENTWISE,
                       .forward_launches = fused ? 1 : 12,
                       .backward_launches = fused ? 1 : 21,
                       .forward_read = fused ? 0 : 5.5 * rotated,
                       .forward_write = fused ? 0 : 4.5 * rotated,
                       .backward_read = fused ? 0 : 7.5 * rotated,
                       .backward_write = fused ? 0 : 7.5 * rotated },
            qkv);
  qkv[2] = kv_b[1];
}

/* Keys and values repeated for every query head, where attention does not know groups. */
static void
repeat_kv (Builder *b, TapeValue *qkv)
{
  double    groups = (double) local_heads (b) / (double) local_kv_heads (b);
  double    elements[] = { groups * tape_tensor (b->tape, qkv[1])->elements,
                           groups * tape_tensor (b->tape, qkv[2])->elements };
  TapeValue in[] = { qkv[1], qkv[2] };

  if (local_kv_heads (b) < local_heads (b))
    tape_map (b->tape, "attn.repeat_kv", in, 2, elements, 2,
              (MapSpec){ .kind = KERNEL_COPY, .forward_launches = 2, .backward_launches = 2 },
              &qkv[1]);
}

/*
 * Scores, softmax and context as kernels of their own; all pairs are computed, masked or not. Eager
 * batched products want the heads before the tokens: with one sequence that is a view.
 */
static TapeValue
add_unfused_attention (Builder *b, TapeValue *qkv)
{
  const ModelShape *s = b->shape;
  gboolean          eager = b->training->attention == ATTENTION_EAGER && !b->training->compile;
  guint64 rows = (guint64) sequence (b); /* queries; the keys are those of the whole sequence */
  guint64 batch = (guint64) (b->training->micro_batch * local_heads (b)),
          seq = (guint64) b->training->seq_len;
  guint64   qk = (guint64) model_qk_dim (s), vd = (guint64) model_value_dim (s);
  double    elements[3], context;
  TapeValue scores, out;

  for (guint i = 0; i < 3; i++)
    elements[i] = tape_tensor (b->tape, qkv[i])->elements;
  if (b->training->attention == ATTENTION_EAGER
      && b->training->micro_batch > 1) /* what repeat_kv made is so already */
    {
      guint n = local_kv_heads (b) < local_heads (b) ? 1 : 3;

      tape_map (b->tape, "attn.heads_first", (TapeValue[]){ qkv[0], qkv[1], qkv[2] }, n, elements, n,
                (MapSpec){ .kind = KERNEL_COPY, .forward_launches = n, .backward_launches = n }, qkv);
    }
  b->tape->in_core = TRUE;
  scores = tape_product (b->tape, "attn.scores", qkv[0], qkv[1], batch, rows, seq, qk);
  scores = tape_softmax (b->tape, "attn.softmax", scores, eager);
  if (b->dropout)
    scores = tape_dropout (b->tape, "attn.dropout", scores);
  out = tape_product (b->tape, "attn.context", scores, qkv[2], batch, rows, vd, seq);
  b->tape->in_core = FALSE;
  context = tape_tensor (b->tape, out)->elements;
  tape_map (b->tape, "attn.tokens_first", &out, 1, &context, 1,
            (MapSpec){ .kind = KERNEL_COPY, .forward_launches = 1, .backward_launches = 1 }, &out);
  return out;
}

static CommGroup
context_group (const Builder *b)
{
  return (CommGroup){ .axis = MESH_CONTEXT, .members = (guint) b->mesh->cp };
}

/* Each context rank has its share of the queries, two chunks of the sequence that balance a causal mask. */
static TapeValue
add_flash (Builder *b, TapeValue *qkv)
{
  const ModelShape *s = b->shape;
  double            seq = (double) b->training->seq_len;
  double            pairs = model_attention_pairs (s, b->layer.windowed, b->training->causal, seq);
  gboolean          expanded = training_flash_version (b->training) == 1;
  AttentionSpec     spec = { .sequences = (double) b->training->micro_batch,
                             .seq_len = sequence (b),
                             .pairs = pairs / (double) b->mesh->cp,
                             .heads = (guint64) local_heads (b),
                             .qk_dim = (guint64) model_qk_dim (s),
                             .v_dim = (guint64) model_value_dim (s),
                             .sinks_module = -1,
                             .ring = { .axis = MESH_CONTEXT, .members = 1 } };
  TapeValue         out;

  spec.kv_heads = (guint64) (expanded ? local_heads (b) : local_kv_heads (b));
  if (b->mesh->context == CONTEXT_RING)
    spec.ring = context_group (b);
  if (s->attention_sinks)
    spec.sinks_module = (gint) b->modules->len - 1;
  b->tape->in_core = TRUE;
  out = tape_flash_attention (b->tape, qkv[0], qkv[1], qkv[2], spec);
  b->tape->in_core = FALSE;
  return out;
}

/* Keys and values of the whole sequence. */
static void
gather_context (Builder *b, TapeValue *qkv)
{
  if (b->mesh->context != CONTEXT_ALL_GATHER)
    return;
  b->tape->in_core = TRUE;
  qkv[1] = tape_comm_gather (b->tape, "attn.gather_k", qkv[1], context_group (b));
  qkv[2] = tape_comm_gather (b->tape, "attn.gather_v", qkv[2], context_group (b));
  b->tape->in_core = FALSE;
}

static TapeValue
add_attention (Builder *b, TapeValue x)
{
  const ModelShape *s = b->shape;
  TapeValue         qkv[3], out;

  if (s->kv_lora_rank > 0)
    add_latent_qkv (b, x, qkv);
  else
    add_qkv (b, x, qkv);
  gather_context (b, qkv);
  if (training_flash_version (b->training) < 2)
    repeat_kv (b, qkv);
  if (s->attention_sinks)
    {
      add_module (b, b->style->attention);
      add_tensor (b, "sinks", local_heads (b), 0, 0, FALSE);
    }
  out = is_flash (b) ? add_flash (b, qkv) : add_unfused_attention (b, qkv);
  return add_linear (b, b->style->out, "attn.out", out, s->n_heads * model_value_dim (s),
                     s->d_model, s->output_bias, ROWS);
}

/* ---- MLP ---- */

/* NAMES of the projections: gate, up, down. */
static TapeValue
add_mlp (Builder *b, TapeValue x, const char *const names[3], gint64 width)
{
  const ModelShape *s = b->shape;
  TapeValue         hidden, gate;

  x = enter (b, "mlp.gather", x);
  if (s->gated_mlp)
    {
      gate = add_linear (b, names[0], "mlp.gate", x, s->d_model, width, s->mlp_bias, COLUMNS);
      hidden = add_linear (b, names[1], "mlp.up", x, s->d_model, width, s->mlp_bias, COLUMNS);
      hidden = tape_gate (b->tape, "mlp.activation", gate, hidden);
    }
  else
    {
      hidden = add_linear (b, names[1], "mlp.up", x, s->d_model, width, s->mlp_bias, COLUMNS);
      hidden = b->style->relu ? tape_relu (b->tape, "mlp.activation", hidden)
                              : tape_gelu (b->tape, "mlp.activation", hidden);
    }
  return add_linear (b, names[2], "mlp.down", hidden, width, s->d_model, s->mlp_bias, ROWS);
}

/* ---- experts ---- */

/*
 * Rows that the experts of this rank get, over the balanced share: the fullest rank's, and what a capacity cuts off. A mesh has one
 * rank's workload stand for all, so it is the fullest one's.
 */
static double
expert_fill (const Builder *b)
{
  double capacity = b->mesh->capacity_factor;

  return capacity > 0 ? MIN (b->mesh->routing_skew, capacity) : b->mesh->routing_skew;
}

static gint64
local_experts (const Builder *b)
{
  return b->shape->n_experts / b->mesh->ep;
}

/*
 * One weight of the experts here: experts x N x K (experts x K x N where the family stores it so), and its bias. K and N are those
 * of this tensor rank.
 */
static void
add_expert_tensor (Builder *b, const char *name, gint64 k, gint64 n, Division division)
{
  gboolean transposed = b->style->transposed_experts;

  add_tensor (b, name, local_experts (b), transposed ? k : n, transposed ? n : k, TRUE);
  if (b->shape->expert_bias)
    add_tensor (b, tape_join (name, "_bias"), local_experts (b), n, 0, TRUE)->replicated =
        division == ROWS && b->tp > 1;
}

/* Rows of the experts through one of their weights, each expert its share. */
static TapeValue
expert_linear (Builder *b, const char *role, TapeValue in, gint module, gint64 k, gint64 n)
{
  double rows = tape_tensor (b->tape, in)->elements / (double) k;

  return tape_linear (b->tape, role, in,
                      (LinearSpec){ .module = module,
                                    .rows = rows,
                                    .k = (guint64) k,
                                    .n = (guint64) n,
                                    .batch = MIN ((guint64) local_experts (b), (guint64) rows),
                                    .bias = b->shape->expert_bias });
}

static TapeValue
add_expert_mlp (Builder *b, TapeValue rows)
{
  const ModelShape  *s = b->shape;
  const FamilyStyle *style = b->style;
  gint               module = add_module (b, style->experts);
  gint64             inner = s->d_expert / b->tp;
  TapeValue          hidden, gate;

  if (!s->gated_mlp)
    {
      add_expert_tensor (b, style->expert_up, s->d_model, inner, COLUMNS);
      hidden = expert_linear (b, "experts.up", rows, module, s->d_model, inner);
      hidden = tape_gelu (b->tape, "experts.activation", hidden);
    }
  else if (style->expert_up == NULL)
    {
      add_expert_tensor (b, style->expert_gate, s->d_model, 2 * inner, COLUMNS);
      hidden = expert_linear (b, "experts.gate_up", rows, module, s->d_model, 2 * inner);
      hidden = tape_clamped_gate (b->tape, "experts.activation", hidden);
    }
  else
    {
      add_expert_tensor (b, style->expert_gate, s->d_model, inner, COLUMNS);
      add_expert_tensor (b, style->expert_up, s->d_model, inner, COLUMNS);
      gate = expert_linear (b, "experts.gate", rows, module, s->d_model, inner);
      hidden = expert_linear (b, "experts.up", rows, module, s->d_model, inner);
      hidden = tape_gate (b->tape, "experts.activation", gate, hidden);
    }
  add_expert_tensor (b, style->expert_down, inner, s->d_model, ROWS);
  return expert_linear (b, "experts.down", hidden, module, inner, s->d_model);
}

/*
 * Passes over the scores. Softmax: softmax, top-k | sum, divide, cast of the chosen. Grouped:
 * sigmoid, + bias, top-2 and sum of groups, top-k of groups, mask (2), fill, top-k, gather, sum,
 * divide, scale. Top-k: top-k, softmax and cast of the chosen.
 */
static const RouteSpec routes[] = {
  [ROUTER_SOFTMAX] = { .score_reads = 1, .score_writes = 1, .forward_launches = 5, .backward_launches = 5 },
  [ROUTER_GROUPED] = { .score_reads = 5,
                       .score_writes = 4,
                       .forward_launches = 13,
                       .backward_launches = 6 },
  [ROUTER_TOP_K] = { .score_reads = 0, .score_writes = 0, .forward_launches = 3, .backward_launches = 3 },
};

/*
 * Rows of tokens copied to the experts that they visit, and the sort of the token numbers before it
 * (3 kernels).
 */
static TapeValue
permute (Builder *b, TapeValue x, double rows)
{
  double    elements = rows * b->width;
  double    again = b->tape->e * MAX (elements - b->stream_tokens * b->width, 0);
  TapeOp   *op;
  TapeValue out;

  tape_map (b->tape, "experts.permute", &x, 1, &elements, 1,
            (MapSpec){ .kind = KERNEL_GATHER, .forward_launches = 4, .backward_launches = 1 }, &out);
  op = &g_array_index (b->tape->ops, TapeOp, b->tape->ops->len - 1);
  op->aux = tape_add_aux (b->tape, "experts.row_ids", 8 * rows, FALSE);
  g_array_index (b->tape->forward, TapeKernel, b->tape->forward->len - 1).desc.read_bytes += again;
  return out;
}

/* What came from several ranks, in the order of the ranks, sorted by expert; and back. */
static TapeValue
sort_rows (Builder *b, const char *name, TapeValue rows)
{
  double elements = tape_tensor (b->tape, rows)->elements;

  if (b->mesh->ep > 1 && local_experts (b) > 1)
    tape_map (b->tape, name, &rows, 1, &elements, 1,
              (MapSpec){ .kind = KERNEL_GATHER, .forward_launches = 1, .backward_launches = 1 },
              &rows);
  return rows;
}

/*
 * Rows travel to the ranks that have their experts and back (all-to-all). Each tensor rank sends those of its own tokens, and the
 * tensor group gathers what it received (Megatron-LM's all-to-all dispatcher). The host's wait for the numbers of rows is left out.
 */
static TapeValue
dispatch_rows (Builder *b, TapeValue x)
{
  double routed = b->stream_tokens * (double) b->shape->n_experts_per_token, fill = expert_fill (b);
  double sent = floor (routed * MIN (fill, 1)), received = floor (routed * fill);
  CommGroup experts = { .axis = MESH_EXPERT, .members = (guint) b->mesh->ep },
            tensor = tensor_group (b);
  TapeValue rows = permute (b, x, sent);

  tensor.sliced = FALSE;
  rows = tape_comm_exchange (b->tape, "experts.dispatch", rows, received * b->width, experts);
  rows = sort_rows (b, "experts.sort", rows);
  if (b->mesh->sp == 1)
    rows = tape_comm_gather (b->tape, "experts.gather", rows, tensor);
  rows = add_expert_mlp (b, rows);
  if (b->mesh->sp == 1)
    rows = tape_comm_scatter (b->tape, "experts.scatter", rows, tensor);
  rows = sort_rows (b, "experts.unsort", rows);
  return tape_comm_exchange (b->tape, "experts.return", rows, sent * b->width, experts);
}

static TapeValue
add_shared_experts (Builder *b, TapeValue x, TapeValue out)
{
  const ModelShape *s = b->shape;
  g_autofree char  *gate = g_strconcat (b->style->shared, ".gate_proj", NULL);
  g_autofree char  *up = g_strconcat (b->style->shared, ".up_proj", NULL);
  g_autofree char  *down = g_strconcat (b->style->shared, ".down_proj", NULL);
  TapeValue         shared =
      add_mlp (b, x, (const char *const[]){ gate, up, down }, s->n_shared_experts * s->d_expert);

  return tape_add (b->tape, "experts.add_shared", out, shared);
}

/*
 * Routed experts as grouped products over tokens sorted by expert; the experts of a rank get even shares. Auxiliary losses are
 * left out. Without sequence parallelism every tensor rank has all tokens and its part of each expert.
 */
static TapeValue
add_moe (Builder *b, TapeValue x)
{
  const ModelShape *s = b->shape;
  RouteSpec         route = routes[b->style->routing];
  gint              module = add_module (b, b->style->router);
  TapeValue         logits, weights, out;

  add_replicated (b, "weight", s->n_experts, s->d_model);
  if (s->router_bias)
    add_replicated (b, b->style->routing == ROUTER_GROUPED ? "e_score_correction_bias" : "bias",
                    s->n_experts, 0);
  logits =
      tape_linear (b->tape, "router", x,
                   (LinearSpec){ .module = module,
                                 .rows = b->stream_tokens,
                                 .k = (guint64) s->d_model,
                                 .n = (guint64) s->n_experts,
                                 .batch = 1,
                                 .bias = s->router_bias && b->style->routing != ROUTER_GROUPED });
  route.tokens = b->stream_tokens;
  route.experts = (double) s->n_experts;
  route.chosen = (double) s->n_experts_per_token;
  weights = tape_route (b->tape, "router.choose", logits, route);
  if (b->mesh->sp == 0)
    tape_comm_copy (b->tape, "experts.copy", x, tensor_group (b));
  out = dispatch_rows (b, x);
  out = tape_combine (b->tape, "experts.combine", out, weights, b->stream_tokens * b->width);
  if (b->mesh->sp == 0)
    tape_comm_reduce (b->tape, "experts.reduce", out, tensor_group (b));
  return s->n_shared_experts > 0 ? add_shared_experts (b, x, out) : out;
}

/* ---- layers ---- */

static TapeValue
add_feed_forward (Builder *b, TapeValue x)
{
  if (b->layer.moe)
    return add_moe (b, x);
  return add_mlp (b, x, (const char *const[]){ b->style->gate, b->style->up, b->style->down },
                  b->shape->d_ff);
}

static TapeValue
build_block (Builder *b)
{
  gint64    width = b->shape->d_model;
  TapeValue x = tape_input (b->tape, "block.input", b->stream_tokens * b->width, TRUE), branch;

  if (b->shape->post_norm)
    {
      x = add_residual (b, "attn.residual", x, add_attention (b, x));
      x = add_norm (b, b->style->norm1, "norm1", x, b->stream_tokens, width);
      x = add_residual (b, "mlp.residual", x, add_feed_forward (b, x));
      return add_norm (b, b->style->norm2, "norm2", x, b->stream_tokens, width);
    }
  branch = add_attention (b, add_norm (b, b->style->norm1, "norm1", x, b->stream_tokens, width));
  x = add_residual (b, "attn.residual", x, branch);
  branch = add_feed_forward (b, add_norm (b, b->style->norm2, "norm2", x, b->stream_tokens, width));
  return add_residual (b, "mlp.residual", x, branch);
}

/*
 * Rows of the vocabulary on this rank. Megatron-LM pads it so that each tensor rank gets a multiple of 128; undivided it is as it is.
 */
static gint64
local_vocab (const Builder *b)
{
  gint64 unit = 128 * b->tp;

  return b->tp == 1 ? b->shape->vocab : (b->shape->vocab + unit - 1) / unit * 128;
}

/* The token table is divided by rows: each rank looks up what it has, the sum over the group is the embedding. */
static TapeValue
build_embedding (Builder *b)
{
  const ModelShape *s = b->shape;
  gint64            width = s->embed_dim > 0 ? s->embed_dim : s->d_model, vocab = local_vocab (b);
  double    positions = (double) (s->max_positions > 0 ? s->max_positions : b->training->seq_len);
  gboolean  learned = s->position == MODEL_POSITION_LEARNED;
  gint      module = add_module (b, b->style->embed);
  double    tokens = learned ? b->tokens : b->stream_tokens;
  TapeValue x, table;

  add_tensor (b, "weight", vocab, width, 0, FALSE);
  x = tape_embed (b->tape, "embed.tokens", module, b->tokens, (double) width, (double) vocab,
                  b->tp > 1);
  if (learned)
    tape_comm_reduce (b->tape, "embed.reduce", x, tensor_group (b));
  else
    x = leave (b, "embed.reduce", x);
  if (s->embed_dim > 0)
    x = add_linear_on (b, "project_in", "embed.project_in", x, tokens, s->embed_dim, s->d_model,
                       FALSE, WHOLE);
  if (learned)
    {
      module = add_module (b, b->style->positions);
      add_replicated (b, "weight", (gint64) positions, s->d_model);
      table =
          tape_embed (b->tape, "embed.positions", module, sequence (b), b->width, positions, FALSE);
      x = tape_add (b->tape, "embed.add_positions", x, table);
      if (b->mesh->sp == 1)
        x = tape_comm_split (b->tape, "embed.split", x, tensor_group (b));
    }
  if (s->embedding_norm)
    x = add_norm (b, b->style->embed_norm, "embed.norm", x, b->stream_tokens, s->d_model);
  return b->dropout ? tape_dropout (b->tape, "embed.dropout", x) : x;
}

/* Megatron-LM has one cross entropy for any size of the tensor group. */
static gboolean
megatron_loss (const Builder *b)
{
  return (b->tp > 1 || training_is_megatron (b->training)) && !training_gathers_logits (b->training);
}

static TapeValue
build_head (Builder *b)
{
  const ModelShape *s = b->shape;
  gint64            width = s->embed_dim > 0 ? s->embed_dim : s->d_model, vocab = local_vocab (b);
  TapeValue         x = tape_input (b->tape, "head.input", b->stream_tokens * b->width, TRUE);

  if (!s->post_norm)
    x = add_norm (b, b->style->final_norm, "final_norm", x, b->stream_tokens, s->d_model);
  if (s->embed_dim > 0)
    x = add_linear_on (b, "project_out", "head.project_out", x, b->stream_tokens, s->d_model,
                       s->embed_dim, FALSE, WHOLE);
  x = enter (b, "head.gather", x);
  if (s->tied_embeddings && mesh_ends_meet (b->mesh))
    x = tape_linear (
        b->tape, "head", x,
        (LinearSpec){
            .module = -1, .rows = b->tokens, .k = (guint64) width, .n = (guint64) vocab, .batch = 1 });
  else
    x = add_linear (b, b->style->head != NULL ? b->style->head : "lm_head", "head", x, width,
                    vocab * b->tp, FALSE, COLUMNS);
  if (megatron_loss (b))
    return tape_parallel_loss (b->tape, x, b->tokens, (double) vocab, tensor_group (b));
  x = tape_comm_concat (b->tape, "head.concat", x, tensor_group (b));
  return tape_loss (b->tape, x, b->tokens, (double) vocab * (double) b->tp);
}

/* Vocabulary-wide memory of the head's backward pass: see tape_loss and tape_parallel_loss. */
static double
logits_bytes (const Builder *b)
{
  double elements = b->tokens * (double) local_vocab (b);

  if (training_gathers_logits (b->training))
    elements *= (double) b->tp;
  if (training_fuses_loss (b->training))
    return elements * 2 * b->tape->e;
  return elements * (megatron_loss (b) ? 4 + b->tape->e : 12);
}

LayerBuild
layer_build (const ModelShape *shape, const TrainingOptions *training, const MeshOptions *mesh,
             LayerClass layer)
{
  LayerBuild build = { .tensors = g_array_new (FALSE, FALSE, sizeof (TensorDesc)),
                       .modules = g_array_new (FALSE, FALSE, sizeof (ModuleDesc)),
                       .tape = tape_new (training, layer.kind == LAYER_BLOCK) };
  double     tokens = (double) training_tokens (training) / (double) mesh->cp;
  Builder    b = { .shape = shape,
                   .training = build.tape->training,
                   .mesh = mesh,
                   .style = family_style (shape->family),
                   .layer = layer,
                   .tape = build.tape,
                   .tensors = build.tensors,
                   .modules = build.modules,
                   .tokens = tokens,
                   .stream_tokens = mesh->sp == 1 ? tokens / (double) mesh->tp : tokens,
                   .width = (double) shape->d_model,
                   .tp = mesh->tp,
                   .dropout = training_has_dropout (training, shape->family) };

  switch (layer.kind)
    {
    case LAYER_EMBEDDING:
      build.output = build_embedding (&b);
      break;
    case LAYER_BLOCK:
      build.output = build_block (&b);
      break;
    case LAYER_HEAD:
      build.output = build_head (&b);
      build.logits_bytes = logits_bytes (&b);
      break;
    }
  return build;
}

void
layer_build_clear (LayerBuild *self)
{
  g_clear_pointer (&self->tensors, g_array_unref);
  g_clear_pointer (&self->modules, g_array_unref);
  g_clear_pointer (&self->tape, tape_free);
}
