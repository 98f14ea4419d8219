#include "workload/layer-build-private.h"

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
  double                 tokens, width; /* of a micro-batch; of the model */
} Builder;

/* ---- modules and tensors ---- */

static gint
add_module (Builder *b, const char *name)
{
  ModuleDesc module = { .name = g_intern_string (name), .first_tensor = b->tensors->len };

  g_array_append_val (b->modules, module);
  return (gint) b->modules->len - 1;
}

/* Dimensions that are zero are left out. */
static void
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
}

/* A Linear module from K to N on all tokens; ROLE names its kernels. */
static TapeValue
add_linear (Builder *b, const char *name, const char *role, TapeValue in, gint64 k, gint64 n,
            gboolean bias)
{
  gint module = add_module (b, name);

  if (b->style->transposed && b->layer.kind == LAYER_BLOCK)
    add_tensor (b, "weight", k, n, 0, FALSE);
  else
    add_tensor (b, "weight", n, k, 0, FALSE);
  if (bias)
    add_tensor (b, "bias", n, 0, 0, FALSE);
  return tape_linear (b->tape, role, in,
                      (LinearSpec){ .module = module,
                                    .rows = b->tokens,
                                    .k = (guint64) k,
                                    .n = (guint64) n,
                                    .batch = 1,
                                    .bias = bias });
}

static TapeValue
add_norm (Builder *b, const char *name, const char *role, TapeValue in, double rows, gint64 width)
{
  gint module = add_module (b, name);

  add_tensor (b, "weight", width, 0, 0, FALSE);
  if (b->shape->norm == MODEL_NORM_LAYER)
    add_tensor (b, "bias", width, 0, 0, FALSE);
  return tape_norm (b->tape, role, in, module, rows, (double) width, b->shape->norm);
}

/* The residual connection; the branch is dropped out first where the block has dropout. */
static TapeValue
add_residual (Builder *b, const char *name, TapeValue stream, TapeValue branch)
{
  if (b->tape->dropout)
    branch = tape_dropout (b->tape, "dropout", branch);
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
  return b->training->attention == ATTENTION_FLASH2 || b->training->attention == ATTENTION_FLASH1;
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
  gint64            q = s->n_heads * s->head_dim, kv = s->n_kv_heads * s->head_dim;
  double elements[] = { b->tokens * (double) q, b->tokens * (double) kv, b->tokens * (double) kv };

  if (b->style->qkv != NULL)
    {
      TapeValue fused =
          add_linear (b, b->style->qkv, "attn.qkv", x, s->d_model, q + 2 * kv, s->attention_bias);
      split (b, "attn.split", fused, elements, 3, qkv);
    }
  else
    {
      qkv[0] = add_linear (b, b->style->q, "attn.q", x, s->d_model, q, s->attention_bias);
      qkv[1] = add_linear (b, b->style->k, "attn.k", x, s->d_model, kv, s->attention_bias);
      qkv[2] = add_linear (b, b->style->v, "attn.v", x, s->d_model, kv, s->attention_bias);
    }
  if (s->qk_norm)
    {
      qkv[0] = add_norm (b, "self_attn.q_norm", "attn.q_norm", qkv[0],
                         b->tokens * (double) s->n_heads, s->head_dim);
      qkv[1] = add_norm (b, "self_attn.k_norm", "attn.k_norm", qkv[1],
                         b->tokens * (double) s->n_kv_heads, s->head_dim);
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
  double    t = b->tokens, e = b->tape->e, h = (double) heads, rope = (double) s->qk_rope_head_dim;
  double    latent[] = { t * (double) s->kv_lora_rank, t * rope };
  double    expanded[] = { t * h * (double) s->qk_nope_head_dim, t * h * (double) s->v_head_dim };
  double    assembled[] = { t * h * (double) qk, t * h * (double) qk };
  double    rotated = e * t * rope * (h + 1);
  gboolean  fused = b->training->compile;
  TapeValue q = x, kv_a[2], kv_b[2], kv;

  if (s->q_lora_rank > 0)
    {
      q = add_linear (b, "self_attn.q_a_proj", "attn.q_a", x, s->d_model, s->q_lora_rank,
                      s->attention_bias);
      q = add_norm (b, "self_attn.q_a_layernorm", "attn.q_a_norm", q, t, s->q_lora_rank);
      q = add_linear (b, "self_attn.q_b_proj", "attn.q_b", q, s->q_lora_rank, heads * qk, FALSE);
    }
  else
    q = add_linear (b, "self_attn.q_proj", "attn.q", x, s->d_model, heads * qk, FALSE);
  kv = add_linear (b, "self_attn.kv_a_proj_with_mqa", "attn.kv_a", x, s->d_model,
                   s->kv_lora_rank + s->qk_rope_head_dim, s->attention_bias);
  split (b, "attn.split_latent", kv, latent, 2, kv_a);
  kv = add_norm (b, "self_attn.kv_a_layernorm", "attn.kv_a_norm", kv_a[0], t, s->kv_lora_rank);
  kv = add_linear (b, "self_attn.kv_b_proj", "attn.kv_b", kv, s->kv_lora_rank,
                   heads * (s->qk_nope_head_dim + s->v_head_dim), FALSE);
  split (b, "attn.split_kv", kv, expanded, 2, kv_b);

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
  double    heads = b->tokens * (double) b->shape->n_heads;
  double    elements[] = { heads * (double) model_qk_dim (b->shape),
                           heads * (double) model_value_dim (b->shape) };
  TapeValue in[] = { qkv[1], qkv[2] };

  if (b->shape->n_kv_heads < b->shape->n_heads)
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
  guint64           batch = (guint64) (b->training->micro_batch * s->n_heads),
          seq = (guint64) b->training->seq_len;
  guint64   qk = (guint64) model_qk_dim (s), vd = (guint64) model_value_dim (s);
  double    elements[3], context;
  TapeValue scores, out;

  for (guint i = 0; i < 3; i++)
    elements[i] = tape_tensor (b->tape, qkv[i])->elements;
  if (b->training->attention == ATTENTION_EAGER
      && b->training->micro_batch > 1) /* what repeat_kv made is so already */
    {
      guint n = s->n_kv_heads < s->n_heads ? 1 : 3;

      tape_map (b->tape, "attn.heads_first", (TapeValue[]){ qkv[0], qkv[1], qkv[2] }, n, elements, n,
                (MapSpec){ .kind = KERNEL_COPY, .forward_launches = n, .backward_launches = n }, qkv);
    }
  b->tape->in_core = TRUE;
  scores = tape_product (b->tape, "attn.scores", qkv[0], qkv[1], batch, seq, seq, qk);
  scores = tape_softmax (b->tape, "attn.softmax", scores, eager);
  if (b->tape->dropout)
    scores = tape_dropout (b->tape, "attn.dropout", scores);
  out = tape_product (b->tape, "attn.context", scores, qkv[2], batch, seq, vd, seq);
  b->tape->in_core = FALSE;
  context = tape_tensor (b->tape, out)->elements;
  tape_map (b->tape, "attn.tokens_first", &out, 1, &context, 1,
            (MapSpec){ .kind = KERNEL_COPY, .forward_launches = 1, .backward_launches = 1 }, &out);
  return out;
}

static TapeValue
add_flash (Builder *b, TapeValue *qkv)
{
  const ModelShape *s = b->shape;
  double            seq = (double) b->training->seq_len;
  gboolean          expanded = b->training->attention == ATTENTION_FLASH1;
  AttentionSpec     spec = { .sequences = (double) b->training->micro_batch,
                             .seq_len = seq,
                             .pairs =
                                 model_attention_pairs (s, b->layer.windowed, b->training->causal, seq),
                             .heads = (guint64) s->n_heads,
                             .qk_dim = (guint64) model_qk_dim (s),
                             .v_dim = (guint64) model_value_dim (s),
                             .sinks_module = -1 };
  TapeValue         out;

  spec.kv_heads = (guint64) (expanded ? s->n_heads : s->n_kv_heads);
  if (s->attention_sinks)
    spec.sinks_module = (gint) b->modules->len - 1;
  b->tape->in_core = TRUE;
  out = tape_flash_attention (b->tape, qkv[0], qkv[1], qkv[2], spec);
  b->tape->in_core = FALSE;
  return out;
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
  if (b->training->attention != ATTENTION_FLASH2)
    repeat_kv (b, qkv);
  if (s->attention_sinks)
    {
      add_module (b, b->style->attention);
      add_tensor (b, "sinks", s->n_heads, 0, 0, FALSE);
    }
  out = is_flash (b) ? add_flash (b, qkv) : add_unfused_attention (b, qkv);
  return add_linear (b, b->style->out, "attn.out", out, s->n_heads * model_value_dim (s),
                     s->d_model, s->output_bias);
}

/* ---- MLP ---- */

/* NAMES of the projections: gate, up, down. */
static TapeValue
add_mlp (Builder *b, TapeValue x, const char *const names[3], gint64 width)
{
  const ModelShape *s = b->shape;
  TapeValue         hidden, gate;

  if (s->gated_mlp)
    {
      gate = add_linear (b, names[0], "mlp.gate", x, s->d_model, width, s->mlp_bias);
      hidden = add_linear (b, names[1], "mlp.up", x, s->d_model, width, s->mlp_bias);
      hidden = tape_gate (b->tape, "mlp.activation", gate, hidden);
    }
  else
    {
      hidden = add_linear (b, names[1], "mlp.up", x, s->d_model, width, s->mlp_bias);
      hidden = b->style->relu ? tape_relu (b->tape, "mlp.activation", hidden)
                              : tape_gelu (b->tape, "mlp.activation", hidden);
    }
  return add_linear (b, names[2], "mlp.down", hidden, width, s->d_model, s->mlp_bias);
}

/*
 * One weight of all experts: experts x N x K (experts x K x N where the family stores it so), and
 * its bias.
 */
static void
add_expert_tensor (Builder *b, const char *name, gint64 k, gint64 n)
{
  const ModelShape *s = b->shape;
  gboolean          transposed = b->style->transposed_experts;

  add_tensor (b, name, s->n_experts, transposed ? k : n, transposed ? n : k, TRUE);
  if (s->expert_bias)
    add_tensor (b, tape_join (name, "_bias"), s->n_experts, n, 0, TRUE);
}

/* Rows of the experts through one of their weights, each expert its share. */
static TapeValue
expert_linear (Builder *b, const char *role, TapeValue in, gint module, gint64 k, gint64 n)
{
  const ModelShape *s = b->shape;
  double            rows = b->tokens * (double) s->n_experts_per_token;

  return tape_linear (b->tape, role, in,
                      (LinearSpec){ .module = module,
                                    .rows = rows,
                                    .k = (guint64) k,
                                    .n = (guint64) n,
                                    .batch = MIN ((guint64) s->n_experts, (guint64) rows),
                                    .bias = s->expert_bias });
}

static TapeValue
add_expert_mlp (Builder *b, TapeValue rows)
{
  const ModelShape  *s = b->shape;
  const FamilyStyle *style = b->style;
  gint               module = add_module (b, style->experts);
  TapeValue          hidden, gate;

  if (!s->gated_mlp)
    {
      add_expert_tensor (b, style->expert_up, s->d_model, s->d_expert);
      hidden = expert_linear (b, "experts.up", rows, module, s->d_model, s->d_expert);
      hidden = tape_gelu (b->tape, "experts.activation", hidden);
    }
  else if (style->expert_up == NULL)
    {
      add_expert_tensor (b, style->expert_gate, s->d_model, 2 * s->d_expert);
      hidden = expert_linear (b, "experts.gate_up", rows, module, s->d_model, 2 * s->d_expert);
      hidden = tape_clamped_gate (b->tape, "experts.activation", hidden);
    }
  else
    {
      add_expert_tensor (b, style->expert_gate, s->d_model, s->d_expert);
      add_expert_tensor (b, style->expert_up, s->d_model, s->d_expert);
      gate = expert_linear (b, "experts.gate", rows, module, s->d_model, s->d_expert);
      hidden = expert_linear (b, "experts.up", rows, module, s->d_model, s->d_expert);
      hidden = tape_gate (b->tape, "experts.activation", gate, hidden);
    }
  add_expert_tensor (b, style->expert_down, s->d_expert, s->d_model);
  return expert_linear (b, "experts.down", hidden, module, s->d_expert, s->d_model);
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
permute (Builder *b, TapeValue x)
{
  double    elements = b->tokens * (double) b->shape->n_experts_per_token * b->width;
  double    again = b->tape->e * (elements - b->tokens * b->width);
  TapeOp   *op;
  TapeValue out;

  tape_map (b->tape, "experts.permute", &x, 1, &elements, 1,
            (MapSpec){ .kind = KERNEL_GATHER, .forward_launches = 4, .backward_launches = 1 }, &out);
  op = &g_array_index (b->tape->ops, TapeOp, b->tape->ops->len - 1);
  op->aux = tape_add_aux (b->tape, "experts.row_ids",
                          8 * b->tokens * (double) b->shape->n_experts_per_token, FALSE);
  g_array_index (b->tape->forward, TapeKernel, b->tape->forward->len - 1).desc.read_bytes += again;
  return out;
}

/*
 * Routed experts as grouped products over tokens sorted by expert, with balanced routing: every
 * expert gets its even share. Auxiliary losses are left out.
 */
static TapeValue
add_moe (Builder *b, TapeValue x)
{
  const ModelShape *s = b->shape;
  RouteSpec         route = routes[b->style->routing];
  gint              module = add_module (b, b->style->router);
  TapeValue         logits, weights, out;

  add_tensor (b, "weight", s->n_experts, s->d_model, 0, FALSE);
  if (s->router_bias)
    add_tensor (b, b->style->routing == ROUTER_GROUPED ? "e_score_correction_bias" : "bias",
                s->n_experts, 0, 0, FALSE);
  logits =
      tape_linear (b->tape, "router", x,
                   (LinearSpec){ .module = module,
                                 .rows = b->tokens,
                                 .k = (guint64) s->d_model,
                                 .n = (guint64) s->n_experts,
                                 .batch = 1,
                                 .bias = s->router_bias && b->style->routing != ROUTER_GROUPED });
  route.tokens = b->tokens;
  route.experts = (double) s->n_experts;
  route.chosen = (double) s->n_experts_per_token;
  weights = tape_route (b->tape, "router.choose", logits, route);
  out = add_expert_mlp (b, permute (b, x));
  out = tape_combine (b->tape, "experts.combine", out, weights, b->tokens * b->width);
  if (s->n_shared_experts > 0)
    {
      g_autofree char *gate = g_strconcat (b->style->shared, ".gate_proj", NULL);
      g_autofree char *up = g_strconcat (b->style->shared, ".up_proj", NULL);
      g_autofree char *down = g_strconcat (b->style->shared, ".down_proj", NULL);
      TapeValue        shared =
          add_mlp (b, x, (const char *const[]){ gate, up, down }, s->n_shared_experts * s->d_expert);
      out = tape_add (b->tape, "experts.add_shared", out, shared);
    }
  return out;
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
  TapeValue x = tape_input (b->tape, "block.input", b->tokens * b->width, TRUE), branch;

  if (b->shape->post_norm)
    {
      x = add_residual (b, "attn.residual", x, add_attention (b, x));
      x = add_norm (b, b->style->norm1, "norm1", x, b->tokens, width);
      x = add_residual (b, "mlp.residual", x, add_feed_forward (b, x));
      return add_norm (b, b->style->norm2, "norm2", x, b->tokens, width);
    }
  branch = add_attention (b, add_norm (b, b->style->norm1, "norm1", x, b->tokens, width));
  x = add_residual (b, "attn.residual", x, branch);
  branch = add_feed_forward (b, add_norm (b, b->style->norm2, "norm2", x, b->tokens, width));
  return add_residual (b, "mlp.residual", x, branch);
}

static TapeValue
build_embedding (Builder *b)
{
  const ModelShape *s = b->shape;
  gint64            width = s->embed_dim > 0 ? s->embed_dim : s->d_model;
  double    positions = (double) (s->max_positions > 0 ? s->max_positions : b->training->seq_len);
  gint      module = add_module (b, b->style->embed);
  TapeValue x, table;

  add_tensor (b, "weight", s->vocab, width, 0, FALSE);
  x = tape_embed (b->tape, "embed.tokens", module, b->tokens, (double) width, (double) s->vocab);
  if (s->embed_dim > 0)
    x = add_linear (b, "project_in", "embed.project_in", x, s->embed_dim, s->d_model, FALSE);
  if (s->position == MODEL_POSITION_LEARNED)
    {
      module = add_module (b, b->style->positions);
      add_tensor (b, "weight", (gint64) positions, s->d_model, 0, FALSE);
      table = tape_embed (b->tape, "embed.positions", module, (double) b->training->seq_len,
                          b->width, positions);
      x = tape_add (b->tape, "embed.add_positions", x, table);
    }
  if (s->embedding_norm)
    x = add_norm (b, b->style->embed_norm, "embed.norm", x, b->tokens, s->d_model);
  return b->tape->dropout ? tape_dropout (b->tape, "embed.dropout", x) : x;
}

static TapeValue
build_head (Builder *b)
{
  const ModelShape *s = b->shape;
  gint64            width = s->embed_dim > 0 ? s->embed_dim : s->d_model;
  TapeValue         x = tape_input (b->tape, "head.input", b->tokens * b->width, TRUE);

  if (!s->post_norm)
    x = add_norm (b, b->style->final_norm, "final_norm", x, b->tokens, s->d_model);
  if (s->embed_dim > 0)
    x = add_linear (b, "project_out", "head.project_out", x, s->d_model, s->embed_dim, FALSE);
  if (s->tied_embeddings && mesh_ends_meet (b->mesh))
    x = tape_linear (b->tape, "head", x,
                     (LinearSpec){ .module = -1,
                                   .rows = b->tokens,
                                   .k = (guint64) width,
                                   .n = (guint64) s->vocab,
                                   .batch = 1 });
  else
    x = add_linear (b, b->style->head != NULL ? b->style->head : "lm_head", "head", x, width,
                    s->vocab, FALSE);
  return tape_loss (b->tape, x, b->tokens, (double) s->vocab);
}

LayerBuild
layer_build (const ModelShape *shape, const TrainingOptions *training, const MeshOptions *mesh,
             LayerClass layer, gboolean dropout)
{
  LayerBuild build = { .tensors = g_array_new (FALSE, FALSE, sizeof (TensorDesc)),
                       .modules = g_array_new (FALSE, FALSE, sizeof (ModuleDesc)),
                       .tape = tape_new (training, dropout) };
  Builder    b = { .shape = shape,
                   .training = training,
                   .mesh = mesh,
                   .style = family_style (shape->family),
                   .layer = layer,
                   .tape = build.tape,
                   .tensors = build.tensors,
                   .modules = build.modules,
                   .tokens = (double) training_tokens (training),
                   .width = (double) shape->d_model };

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
      build.vocab_elements = b.tokens * (double) shape->vocab;
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
