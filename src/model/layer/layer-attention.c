/* Attention: the projections, rotary positions, and flash or unfused kernels. */
#include "model/layer/layer-parts-private.h"
#include "model/step/documents.h"

static gboolean
is_windowed (const LayerBuilder *b)
{
  return b->layer.block.mixer == MODEL_MIXER_WINDOW;
}

/* Whether an indexer chooses what this block attends to. */
static gboolean
is_sparse (const LayerBuilder *b)
{
  return b->shape->index_topk > 0 && b->layer.block.mixer == MODEL_MIXER_ATTENTION;
}

/*
 * Whether queries are multiplied with the weights that lead from latents to keys, so that latents
 * are the keys and values: so it is where few queries meet many of them.
 */
static gboolean
is_absorbed (const LayerBuilder *b)
{
  return is_sparse (b) || (b->training->pass == PASS_DECODE && b->shape->kv_lora_rank > 0);
}

/*
 * Rotary embedding of q and k. Eagerly for each of them x * cos | -x2 | cat | * sin | +: 5 kernels,
 * reads 5.5e, writes 4.5e an element; backwards 9, reads and writes 7.5e.
 */
static void
add_rotary (LayerBuilder *b, TapeValue *qkv)
{
  gboolean  fused = training_compiles_blocks (b->training) || b->training->traits.fused_rotary;
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
  if (b->training->traits.keeps_rotary) /* sine and cosine of each position, for q and k */
    tape_add_aux (b->tape, "attn.rotary_tables",
                  4 * b->tokens * (double) b->shape->head_dim * b->tape->e, FALSE);
}

/*
 * What a framework does to queries, keys and values before the rotary embedding: all three are
 * copied into another order, keys and values are concatenated, and copied into a third; as much
 * backwards. And small kernels that count the tokens of sequences of different lengths.
 */
static void
add_rearranging (LayerBuilder *b, TapeValue *qkv)
{
  double elements[3], moved;

  for (guint i = 0; i < 3; i++)
    elements[i] = tape_tensor (b->tape, qkv[i])->elements;
  moved = 2 * b->tape->e * (elements[1] + elements[2]);
  if (b->training->traits.copies_qkv)
    tape_map (b->tape, "attn.rearrange", qkv, 3, elements, 3,
              (MapSpec){ .kind = KERNEL_COPY,
                         .forward_launches = 3,
                         .backward_launches = 3,
                         .forward_read = moved,
                         .forward_write = moved,
                         .backward_read = moved,
                         .backward_write = moved },
              qkv);
  if (b->training->traits.attention_prologue > 0)
    tape_push (b->tape, b->tape->forward,
               tape_stream (b->tape, KERNEL_ELEMENTWISE, "attn.lengths", b->tokens, 8,
                            b->training->traits.attention_prologue),
               FALSE);
}

static TapeValue
add_inner_norm (LayerBuilder *b, const char *name, const char *role, TapeValue in, double rows,
                gint64 width)
{
  guint     outer = tape_enter (b->tape, PART_QK_LAYERNORM);
  TapeValue out = layer_add_norm (b, name, role, in, rows, width);

  b->tape->parts = outer;
  return out;
}

/*
 * The norm of HEADS queries or keys. Over all heads together it is of those that are here: the sum
 * of squares over a tensor group, a number a token, is left out.
 */
static TapeValue
add_heads_norm (LayerBuilder *b, const char *name, const char *role, TapeValue in, gint64 heads)
{
  const ModelShape *s = b->shape;
  const double      tokens = b->tokens, all = tokens * (double) heads;
  const gint64      width = s->head_dim;
  guint             outer = tape_enter (b->tape, PART_QK_LAYERNORM);

  switch ((ModelQkNorm) s->qk_norm)
    {
    case MODEL_QK_NORM_NONE:
      break;
    case MODEL_QK_NORM_HEAD:
      in = layer_add_norm (b, name, role, in, all, width);
      break;
    case MODEL_QK_NORM_WHOLE:
      in = layer_add_norm_of (b, name, role, in, tokens, heads * width, s->norm, TRUE);
      break;
    case MODEL_QK_NORM_EACH:
      layer_add_module (b, name);
      layer_add_tensor (b, "weight", heads, width, 0, FALSE);
      in = tape_norm (b->tape, role, in, (gint) b->modules->len - 1, all, (double) width,
                      MODEL_NORM_LAYER_UNBIASED);
      break;
    case MODEL_QK_NORM_PLAIN:
      in = layer_add_norm_of (b, name, role, in, all, width, MODEL_NORM_RMS_PLAIN, FALSE);
      break;
    }
  b->tape->parts = outer;
  return in;
}

/* Norms of queries and keys, and of values where the model has them. */
static void
add_qkv_norms (LayerBuilder *b, TapeValue *qkv)
{
  const ModelShape *s = b->shape;

  if (s->qk_norm != MODEL_QK_NORM_NONE)
    {
      qkv[0] = add_heads_norm (b, "self_attn.q_norm", "attn.q_norm", qkv[0], layer_local_heads (b));
      qkv[1] =
          add_heads_norm (b, "self_attn.k_norm", "attn.k_norm", qkv[1], layer_local_kv_heads (b));
    }
  if (s->value_norm)
    qkv[2] = layer_add_norm_of (b, "self_attn.v_norm", "attn.v_norm", qkv[2],
                                b->tokens * (double) layer_local_kv_heads (b), s->head_dim,
                                MODEL_NORM_RMS_PLAIN, FALSE);
}

/* The output's gate stands beside each head's queries. */
static void
split_gate (LayerBuilder *b, double elements, TapeValue *q)
{
  const double halves[] = { elements, elements };
  TapeValue    parts[2];

  layer_split (b, "attn.split_gate", *q, halves, 2, parts);
  *q = parts[0];
  b->gate = parts[1];
}

static void
add_qkv (LayerBuilder *b, TapeValue x, TapeValue *qkv)
{
  const ModelShape *s = b->shape;
  gint64 q = layer_local_heads (b) * s->head_dim, kv = layer_local_kv_heads (b) * s->head_dim,
         tp = b->tp;
  double elements[] = { b->tokens * (double) q, b->tokens * (double) kv, b->tokens * (double) kv };

  x = layer_enter (b, "attn.gather", x);
  if (b->style->qkv != NULL)
    {
      TapeValue fused = layer_add_linear (b, b->style->qkv, "attn.qkv", x, s->d_model,
                                          (q + 2 * kv) * tp, s->attention_bias, COLUMNS);
      layer_split (b, "attn.split", fused, elements, 3, qkv);
    }
  else
    {
      qkv[0] = layer_add_linear (b, b->style->q, "attn.q", x, s->d_model,
                                 (s->attention_gate ? 2 : 1) * q * tp, s->attention_bias, COLUMNS);
      if (s->attention_gate)
        split_gate (b, elements[0], qkv);
      qkv[1] = layer_add_linear (b, b->style->k, "attn.k", x, s->d_model, kv * tp,
                                 s->attention_bias, COLUMNS);
      qkv[2] = s->keys_are_values && !is_windowed (b)
                   ? qkv[1]
                   : layer_add_linear (b, b->style->v, "attn.v", x, s->d_model, kv * tp,
                                       s->attention_bias, COLUMNS);
    }
  if (s->branch_scales)
    qkv[1] = layer_add_scale (b, "attn.scale_k", qkv[1]);
  if (s->head_gate)
    b->gate = layer_add_linear (b, "self_attn.g_proj", "attn.head_gate", x, s->d_model,
                                layer_local_heads (b) * tp, FALSE, COLUMNS);
  add_qkv_norms (b, qkv);
  add_rearranging (b, qkv);
  if (s->position == MODEL_POSITION_ROTARY)
    add_rotary (b, qkv);
}

/* Queries, and what keys and values are made of. */
typedef struct
{
  TapeValue q, q_latent; /* q_latent: x itself where queries have no bottleneck */
  TapeValue latent, rope;
} Latents;

/*
 * Multi-head latent attention: low-rank projections, the rotary part apart (DeepSeek-V2,
 * arXiv:2405.04434, section 2.1).
 */
static Latents
add_latents (LayerBuilder *b, TapeValue x)
{
  const ModelShape *s = b->shape;
  gint64            heads = s->n_heads, qk = model_qk_dim (s);
  double            st = b->stream_tokens;
  double            latent[] = { st * (double) s->kv_lora_rank, st * (double) s->qk_rope_head_dim };
  TapeValue         q = x, kv_a[2], kv;
  Latents           made = { .q_latent = x };
  guint             outer;

  if (s->q_lora_rank > 0)
    {
      q = layer_add_linear_on (b, "self_attn.q_a_proj", "attn.q_a", x, st, s->d_model,
                               s->q_lora_rank, s->attention_bias, WHOLE);
      q = add_inner_norm (b, "self_attn.q_a_layernorm", "attn.q_a_norm", q, st, s->q_lora_rank);
      outer = tape_enter (b->tape, PART_MLA_UP_PROJ);
      made.q_latent = layer_enter (b, "attn.gather_q", q);
      q = layer_add_linear (b, "self_attn.q_b_proj", "attn.q_b", made.q_latent, s->q_lora_rank,
                            heads * qk, FALSE, COLUMNS);
    }
  else
    {
      outer = tape_enter (b->tape, PART_MLA_UP_PROJ);
      made.q_latent = layer_enter (b, "attn.gather_q", q);
      q = layer_add_linear (b, "self_attn.q_proj", "attn.q", made.q_latent, s->d_model, heads * qk,
                            FALSE, COLUMNS);
    }
  b->tape->parts = outer;
  kv = layer_add_linear_on (b, "self_attn.kv_a_proj_with_mqa", "attn.kv_a", x, st, s->d_model,
                            s->kv_lora_rank + s->qk_rope_head_dim, s->attention_bias, WHOLE);
  layer_split (b, "attn.split_latent", kv, latent, 2, kv_a);
  made.q = q;
  made.latent = add_inner_norm (b, "self_attn.kv_a_layernorm", "attn.kv_a_norm", kv_a[0], st,
                                s->kv_lora_rank);
  made.rope = kv_a[1];
  return made;
}

static TapeValue
gather_rope (LayerBuilder *b, TapeValue rope)
{
  CommGroup group = layer_tensor_group (b);

  group.sliced = group.fp8 = FALSE;
  if (b->mesh->sp == 1)
    return tape_comm_gather (b->tape, "attn.gather_rope", rope, group);
  tape_comm_copy (b->tape, "attn.gather_rope", rope, group);
  return rope;
}

/*
 * Rotary on the rotary parts, then q and k are put together: 12 kernels, backwards 21 (the key part
 * is summed over heads). HEADS of keys have the rotary part each.
 */
static MapSpec
rotary_map (const LayerBuilder *b, double heads)
{
  double   rotated = b->tape->e * b->tokens * (double) b->shape->qk_rope_head_dim * heads;
  gboolean fused = training_compiles_blocks (b->training);

  return (MapSpec){ .kind = KERNEL_ELEMENTWISE,
                    .forward_launches = fused ? 1 : 12,
                    .backward_launches = fused ? 1 : 21,
                    .forward_read = fused ? 0 : 5.5 * rotated,
                    .forward_write = fused ? 0 : 4.5 * rotated,
                    .backward_read = fused ? 0 : 7.5 * rotated,
                    .backward_write = fused ? 0 : 7.5 * rotated };
}

/* Keys and values of each head, made of the latents. */
static void
add_latent_qkv (LayerBuilder *b, TapeValue x, TapeValue *qkv)
{
  const ModelShape *s = b->shape;
  const gint64      qk = model_qk_dim (s);
  Latents           made = add_latents (b, x);
  double            t = b->tokens, h = (double) layer_local_heads (b);
  double    expanded[] = { t * h * (double) s->qk_nope_head_dim, t * h * (double) s->v_head_dim };
  double    assembled[] = { t * h * (double) qk, t * h * (double) qk };
  TapeValue kv_b[2], kv;
  guint     outer = tape_enter (b->tape, PART_MLA_UP_PROJ);

  kv = layer_add_linear (b, "self_attn.kv_b_proj", "attn.kv_b",
                         layer_enter (b, "attn.gather_kv", made.latent), s->kv_lora_rank,
                         s->n_heads * (s->qk_nope_head_dim + s->v_head_dim), FALSE, COLUMNS);
  layer_split (b, "attn.split_kv", kv, expanded, 2, kv_b);
  b->tape->parts = outer;
  made.rope = gather_rope (b, made.rope);

  TapeValue in[] = { made.q, kv_b[0], made.rope };

  tape_enter (b->tape, PART_MLA_UP_PROJ);
  tape_map (b->tape, "attn.rotary", in, 3, assembled, 2, rotary_map (b, h + 1), qkv);
  b->tape->parts = outer;
  qkv[2] = kv_b[1];
}

/* One product a head with a part of the weights that lead from latents to keys or values. */
static TapeValue
add_absorbed (LayerBuilder *b, const char *role, TapeValue in, gint module, gint64 k, gint64 n)
{
  const gint64 heads = layer_local_heads (b);

  return tape_linear (b->tape, role, in,
                      (LinearSpec){ .module = module,
                                    .rows = b->tokens * (double) heads,
                                    .k = (guint64) k,
                                    .n = (guint64) n,
                                    .batch = (guint64) heads,
                                    .together = TRUE });
}

/*
 * The same where all heads share the latents as keys and values, so that these are read once: while
 * tokens are generated, and where an indexer chooses the keys of each query (DeepSeek-V3.2,
 * arXiv:2512.02556, section 2.1). The
 * weights from latents to keys are multiplied with the queries instead, those to values with what
 * attention makes: *VALUES is that module.
 */
static void
add_absorbed_qkv (LayerBuilder *b, TapeValue x, TapeValue *qkv, gint *values)
{
  const ModelShape *s = b->shape;
  const gint64      heads = layer_local_heads (b), wide = s->kv_lora_rank + s->qk_rope_head_dim;
  Latents           made = add_latents (b, x);
  double            t = b->tokens, h = (double) heads;
  double halves[] = { t * h * (double) s->qk_nope_head_dim, t * h * (double) s->qk_rope_head_dim };
  double assembled[] = { t * h * (double) wide, t * (double) wide };
  TapeValue q[2], latent = layer_enter (b, "attn.gather_kv", made.latent);

  *values = layer_add_weights (b, "self_attn.kv_b_proj", s->kv_lora_rank,
                               heads * (s->qk_nope_head_dim + s->v_head_dim), FALSE, COLUMNS,
                               (Packing){ 0 });
  /* what it is absorbed into are products of 16 bits, which read it so */
  g_array_index (b->tensors, TensorDesc, b->tensors->len - 1).narrow = FALSE;
  layer_split (b, "attn.split_q", made.q, halves, 2, q);
  q[0] = add_absorbed (b, "attn.absorb_k", q[0], *values, s->qk_nope_head_dim, s->kv_lora_rank);
  made.rope = gather_rope (b, made.rope);

  TapeValue in[] = { q[0], q[1], latent, made.rope };

  tape_map (b->tape, "attn.rotary", in, 4, assembled, 2, rotary_map (b, h + 1), qkv);
  qkv[2] = latent;
  if (is_sparse (b))
    layer_add_indexer (b, x, made.q_latent, qkv[0]);
}

/* Keys and values repeated for every query head, where attention does not know groups. */
static void
repeat_kv (LayerBuilder *b, TapeValue *qkv)
{
  double    groups = (double) layer_local_heads (b) / (double) layer_local_kv_heads (b);
  double    elements[] = { groups * tape_tensor (b->tape, qkv[1])->elements,
                           groups * tape_tensor (b->tape, qkv[2])->elements };
  TapeValue in[] = { qkv[1], qkv[2] };

  if (layer_local_kv_heads (b) < layer_local_heads (b))
    tape_map (b->tape, "attn.repeat_kv", in, 2, elements, 2,
              (MapSpec){ .kind = KERNEL_COPY, .forward_launches = 2, .backward_launches = 2 },
              &qkv[1]);
}

/*
 * A fused softmax may take up to so many keys, four of them at a time, and blocks of four of the
 * BATCH score matrices; what does not fit is scaled, masked and normalised by PyTorch's kernels.
 */
static gboolean
fuses_softmax (const LayerBuilder *b, guint64 batch)
{
  const gint64 keys = b->training->seq_len, most = b->training->traits.softmax_keys;

  return most == 0 || (batch % 4 == 0 && keys % 4 == 0 && keys <= most);
}

/* Pairs of tokens of one sequence that attend to each other ... */
static double
masked_pairs (const LayerBuilder *b, double seq_len)
{
  return model_attention_pairs (b->shape, is_windowed (b), b->training->causal, seq_len,
                                (double) b->training->document_length);
}

/* ... and those that MFU counts. */
static double
counted_pairs (const LayerBuilder *b, double seq_len)
{
  return flops_attention_pairs (b->shape, b->training, (FlopsConvention) b->training->flops,
                                is_windowed (b), seq_len);
}

/* Pairs of a micro-batch, mean of its training_sequences. */
static double
mean_pairs (const LayerBuilder *b, double (*pairs) (const LayerBuilder *b, double seq_len))
{
  const GArray *batch = b->training->batch;
  double        sum = 0;

  if (batch == NULL)
    return pairs (b, (double) b->training->seq_len);
  for (guint i = 0; i < batch->len; i++)
    sum += pairs (b, (double) g_array_index (batch, gint64, i));
  return sum / training_sequences (b->training);
}

/*
 * The attention core works on PAIRS a sequence, of SEQUENCES sequences. Rows of a tensor group have
 * the same heads, and each computes them.
 */
static void
enter_core (LayerBuilder *b, double pairs, double sequences)
{
  tape_enter (b->tape, PART_CORE_ATTN);
  b->tape->counted = mean_pairs (b, counted_pairs) * training_sequences (b->training)
                     / (pairs * sequences * (double) b->rows);
}

static void
leave_core (LayerBuilder *b)
{
  b->tape->parts &= ~(guint) PART_CORE_ATTN;
  b->tape->counted = 1;
}

/*
 * Scores, softmax and context as kernels of their own; all pairs are computed, masked or not. Eager
 * batched products want the heads before the tokens: with one sequence that is a view.
 */
static TapeValue
add_unfused_attention (LayerBuilder *b, TapeValue *qkv)
{
  const ModelShape *s = b->shape;
  guint64           rows = (guint64) layer_sequence (b); /* queries; keys: of the whole sequence */
  guint64           batch = (guint64) (b->training->micro_batch * layer_local_heads (b)),
          seq = (guint64) b->training->seq_len;
  guint64   qk = (guint64) model_qk_dim (s), vd = (guint64) model_value_dim (s);
  gboolean  eager = b->training->attention == ATTENTION_EAGER
                        ? !training_compiles_blocks (b->training)
                        : !fuses_softmax (b, batch);
  double    elements[3], context;
  TapeValue scores, out;

  for (guint i = 0; i < 3; i++)
    elements[i] = tape_tensor (b->tape, qkv[i])->elements;
  if (b->training->attention == ATTENTION_EAGER
      && b->training->micro_batch > 1) /* what repeat_kv made is so already */
    {
      guint n = layer_local_kv_heads (b) < layer_local_heads (b) ? 1 : 3;

      tape_map (b->tape, "attn.heads_first", (TapeValue[]){ qkv[0], qkv[1], qkv[2] }, n, elements,
                n, (MapSpec){ .kind = KERNEL_COPY, .forward_launches = n, .backward_launches = n },
                qkv);
    }
  enter_core (b, (double) seq * (double) seq, (double) b->training->micro_batch);
  scores = tape_product (b->tape, "attn.scores", qkv[0], qkv[1], batch, rows, seq, qk);
  scores = tape_softmax (b->tape, "attn.softmax", scores, eager);
  if (b->dropout)
    scores = tape_dropout (b->tape, "attn.dropout", scores, FALSE);
  out = tape_product (b->tape, "attn.context", scores, qkv[2], batch, rows, vd, seq);
  leave_core (b);
  context = tape_tensor (b->tape, out)->elements;
  tape_map (b->tape, "attn.tokens_first", &out, 1, &context, 1,
            (MapSpec){ .kind = KERNEL_COPY, .forward_launches = 1, .backward_launches = 1 }, &out);
  return out;
}

/*
 * Each context rank has its share of the queries, two chunks of the sequence that balance a causal
 * mask, or its share of the heads (layer-context.c).
 */
static TapeValue
add_flash (LayerBuilder *b, TapeValue *qkv)
{
  const ModelShape *s = b->shape;
  const gint64  key = is_absorbed (b) ? s->kv_lora_rank + s->qk_rope_head_dim : model_qk_dim (s);
  const gint64  value = is_absorbed (b) ? s->kv_lora_rank : model_value_dim (s);
  gboolean      expanded = training_flash_version (b->training) == FLASH_1;
  const gint64  by = mesh_context_heads (b->mesh);
  double        pairs = mean_pairs (b, masked_pairs) * layer_context_imbalance (b, is_windowed (b));
  AttentionSpec spec = { .sequences = training_sequences (b->training),
                         .seq_len = layer_sequence (b) * (double) by,
                         .pairs = pairs * (double) by / (double) b->mesh->cp,
                         .heads = (guint64) (layer_local_heads (b) / by),
                         .qk_dim = (guint64) key,
                         .v_dim = (guint64) value,
                         .sinks_module = -1,
                         .packed = b->training->document_length > 0,
                         .ring = layer_context_ring (b) };
  TapeValue     out;

  spec.kv_heads =
      (guint64) (expanded ? layer_local_heads (b) : MAX (layer_local_kv_heads (b) / by, 1));
  if (is_absorbed (b))
    spec.kv_heads = 1;
  spec.summed = is_absorbed (b);
  if (s->attention_sinks)
    spec.sinks_module = (gint) b->modules->len - 1;
  enter_core (b, pairs, spec.sequences);
  if (b->training->pieces != NULL)
    layer_attend_pieces (b, is_windowed (b), &spec);
  out = tape_flash_attention (b->tape, qkv[0], qkv[1], qkv[2], spec);
  leave_core (b);
  return out;
}

/*
 * Sequences in sets of their own (Zeppelin, arXiv:2509.21841): those that lie on most ranks first,
 * a ring each size of sets, the rank's own last. Sequences of sets of one size are one kernel.
 */
static TapeValue
add_parts (LayerBuilder *b, TapeValue *qkv)
{
  const GArray *parts = b->training->parts;
  TapeValue     split[3][TAPE_MAX_ARGS], out[TAPE_MAX_ARGS];

  for (guint i = 0; i < 3; i++)
    layer_split_parts (b, "attn.split_parts", qkv[i], split[i]);
  enter_core (b, mean_pairs (b, masked_pairs), training_sequences (b->training));
  for (guint i = 0; i < parts->len; i++)
    {
      const AttentionPart *part = &g_array_index (parts, AttentionPart, i);
      const double         mean = part->squares / part->tokens, n = part->ranks;
      const AttentionSpec  spec = { .sequences = part->tokens / mean,
                                    .seq_len = mean / n,
                                    .pairs = masked_pairs (b, mean) / n,
                                    .heads = (guint64) layer_local_heads (b),
                                    .kv_heads = (guint64) layer_local_kv_heads (b),
                                    .qk_dim = (guint64) model_qk_dim (b->shape),
                                    .v_dim = (guint64) model_value_dim (b->shape),
                                    .sinks_module = -1,
                                    .ring = { .axis = MESH_CONTEXT, .members = part->ranks } };

      out[i] = tape_flash_attention (b->tape, split[0][i], split[1][i], split[2][i], spec);
    }
  leave_core (b);
  return layer_join_parts (b, out);
}

TapeValue
layer_add_attention (LayerBuilder *b, TapeValue x)
{
  const ModelShape *s = b->shape;
  TapeValue         qkv[3], out;
  gint              values = -1;

  b->slices = b->training->slice_heads ? training_slices (b->training) : 1;
  if (is_absorbed (b))
    add_absorbed_qkv (b, x, qkv, &values);
  else if (s->kv_lora_rank > 0)
    add_latent_qkv (b, x, qkv);
  else
    add_qkv (b, x, qkv);
  if (b->training->parts != NULL)
    layer_remap_in (b, qkv);
  else
    layer_enter_context (b, qkv);
  if (training_flash_version (b->training) < FLASH_2 && !is_absorbed (b))
    repeat_kv (b, qkv);
  if (s->attention_sinks)
    {
      layer_add_module (b, b->style->attention);
      layer_add_tensor (b, "sinks", layer_local_heads (b), 0, 0, FALSE);
    }
  if (b->training->parts != NULL)
    out = layer_remap_out (b, add_parts (b, qkv));
  else
    out = layer_leave_context (b, training_flash_version (b->training) != FLASH_NONE
                                      ? add_flash (b, qkv)
                                      : add_unfused_attention (b, qkv));
  if (is_absorbed (b))
    out = add_absorbed (b, "attn.absorb_v", out, values, s->kv_lora_rank, s->v_head_dim);
  if (s->attention_gate)
    out = layer_add_sigmoid_gate (b, "attn.gated", out, b->gate);
  if (s->head_gate)
    out = tape_weigh_rows (b->tape, "attn.gated", out, b->gate);
  out = layer_add_linear (b, b->style->out, "attn.out", out, s->n_heads * model_value_dim (s),
                          s->d_model, s->output_bias, ROWS);
  b->slices = 1;
  return out;
}
