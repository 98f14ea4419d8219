/* Blocks, the embedding and the head. */
#include "model/layer/layer-parts-private.h"

/* The norm before (or behind) one of a block's two branches. */
static TapeValue
add_block_norm (LayerBuilder *b, const char *name, const char *role, TapeValue in)
{
  guint     outer = tape_enter (b->tape, PART_LAYERNORM);
  TapeValue out = layer_add_stream_norm (b, name, role, in);

  b->tape->parts = outer;
  return out;
}

/*
 * Attention and MLP of the same input: their partial sums are added before the tensor group adds
 * them up, once, and of one norm the output is gathered once.
 */
static TapeValue
build_parallel_block (LayerBuilder *b, TapeValue x)
{
  TapeValue in = add_block_norm (b, b->style->norm1, "norm1", x);
  TapeValue mlp_in = layer_enter (b, "block.gather", in), attention_in = mlp_in, sum;

  if (b->shape->block == MODEL_BLOCK_TWO_NORMS)
    {
      in = add_block_norm (b, b->style->norm2, "norm2", x);
      mlp_in = layer_enter (b, "mlp.gather", in);
    }
  b->parallel = TRUE;
  sum = layer_add_attention (b, attention_in);
  sum = tape_accumulate (b->tape, "block.add", sum, layer_add_feed_forward (b, mlp_in));
  b->parallel = FALSE;
  return layer_add_residual (b, "block.residual", x, layer_leave (b, "block.reduce", sum));
}

/*
 * Experts with an MLP beside them: of the same input behind a norm of its own (INPUT is the
 * block's, which the experts take), or of the same residual stream, each between its own norms.
 */
static TapeValue
add_experts_beside_mlp (LayerBuilder *b, TapeValue input, TapeValue x)
{
  TapeValue mlp, experts;

  if (b->shape->beside == MODEL_BESIDE_RESIDUAL)
    {
      mlp = layer_add_mlp (b, add_block_norm (b, "residual_layernorm", "mlp.norm", x));
      x = layer_add_residual (b, "mlp.residual", x, mlp);
      experts = layer_add_feed_forward (b, add_block_norm (b, b->style->norm2, "norm2", input));
      return layer_add_residual (b, "experts.residual", x, experts);
    }
  mlp = layer_add_mlp (b, add_block_norm (b, b->style->norm2, "norm2", x));
  mlp = add_block_norm (b, "post_feedforward_layernorm_1", "mlp.norm_behind", mlp);
  experts = add_block_norm (b, "pre_feedforward_layernorm_2", "experts.norm", x);
  experts = layer_add_feed_forward (b, experts);
  experts = add_block_norm (b, "post_feedforward_layernorm_2", "experts.norm_behind", experts);
  experts = tape_add (b->tape, "experts.add_mlp", mlp, experts);
  experts = add_block_norm (b, b->style->behind2, "norm2_behind", experts);
  return layer_add_residual (b, "mlp.residual", x, experts);
}

/* One of a block's two branches, with its norms, and the residual connection. */
static TapeValue
add_branch (LayerBuilder *b, gboolean first, TapeValue x,
            TapeValue (*branch) (LayerBuilder *b, TapeValue x))
{
  const FamilyStyle *style = b->style;
  const ModelNorms   norms = (ModelNorms) b->shape->norms;
  const char        *role = first ? "norm1" : "norm2", *name = first ? style->norm1 : style->norm2;
  TapeValue          made = x;

  if (norms == MODEL_NORMS_BEFORE || norms == MODEL_NORMS_BOTH)
    made = add_block_norm (b, name, role, made);
  made = branch (b, made);
  if (norms == MODEL_NORMS_BRANCH || norms == MODEL_NORMS_BOTH)
    made = add_block_norm (b, first ? style->behind1 : style->behind2,
                           first ? "norm1_behind" : "norm2_behind", made);
  x = layer_add_residual (b, first ? "attn.residual" : "mlp.residual", x, made);
  return norms == MODEL_NORMS_BEHIND ? add_block_norm (b, name, role, x) : x;
}

static TapeValue
build_block (LayerBuilder *b, TapeValue input)
{
  TapeValue x;

  if (b->shape->block != MODEL_BLOCK_SEQUENTIAL)
    return build_parallel_block (b, input);
  x = b->layer.block.mixer != MODEL_MIXER_NONE ? add_branch (b, TRUE, input, layer_add_mixer)
                                               : input;
  if (b->layer.block.feed == MODEL_FEED_NONE)
    return x;
  if (b->layer.block.feed == MODEL_FEED_EXPERTS && b->shape->beside != MODEL_BESIDE_NONE)
    return add_experts_beside_mlp (b, input, x);
  return add_branch (b, FALSE, x, layer_add_feed_forward);
}

/*
 * The token table is divided by rows: each rank looks up what it has, the sum over the group is the
 * embedding. Rows of a tensor group have their features of it.
 */
static TapeValue
build_embedding (LayerBuilder *b)
{
  const ModelShape *s = b->shape;
  gint64            width = s->embed_dim > 0 ? s->embed_dim : (gint64) b->width;
  gint64            vocab = layer_local_vocab (b);
  double    positions = (double) (s->max_positions > 0 ? s->max_positions : b->training->seq_len);
  gboolean  learned = s->position == MODEL_POSITION_LEARNED;
  gint      module = layer_add_module (b, b->style->embed);
  double    tokens = learned ? b->tokens : b->stream_tokens;
  Packing   table_packing = layer_wide_packing (b, vocab, width);
  TapeValue x, table;

  if (table_packing.elements > 0)
    layer_add_packed (b, "weight", table_packing);
  else
    layer_add_tensor (b, "weight", vocab, width, 0, FALSE);
  x = layer_look_up (b, module, width);
  if (learned)
    tape_comm_reduce (b->tape, "embed.reduce", x, layer_tensor_group (b));
  else
    x = layer_leave (b, "embed.reduce", x);
  if (s->embed_dim > 0)
    x = layer_add_linear_on (b, "project_in", "embed.project_in", x, tokens, s->embed_dim,
                             s->d_model, FALSE, WHOLE);
  if (learned)
    {
      module = layer_add_module (b, b->style->positions);
      layer_add_replicated (b, "weight", (gint64) positions, (gint64) b->width);
      table = tape_embed (b->tape, "embed.positions", module, layer_sequence (b), b->width,
                          positions, FALSE);
      x = tape_add (b->tape, "embed.add_positions", x, table);
      if (b->mesh->sp == 1)
        x = tape_comm_split (b->tape, "embed.split", x, layer_tensor_group (b));
    }
  if (s->embedding_scale)
    x = layer_add_scale (b, "embed.scale", x);
  if (s->embedding_norm)
    x = layer_add_stream_norm (b, b->style->embed_norm, "embed.norm", x);
  return b->dropout ? tape_dropout (b->tape, "embed.dropout", x, FALSE) : x;
}

/* The loss on divided logits, which some frameworks run on a whole vocabulary too. */
static gboolean
parallel_loss (const LayerBuilder *b)
{
  const gint loss = b->training->traits.loss;

  return loss == FRAMEWORK_LOSS_PARALLEL || (loss != FRAMEWORK_LOSS_GATHERED && b->tp > 1);
}

/* Each of its steps makes a tensor. */
static gboolean
torch_loss (const LayerBuilder *b)
{
  return b->training->traits.loss == FRAMEWORK_LOSS_TORCH && b->tp > 1
         && !training_fuses_loss (b->training);
}

/* Bytes of LOGITS that the framework holds on to, if it does: PyTorch's as the loss takes them. */
static double
held_logits (const LayerBuilder *b, TapeValue logits)
{
  const TapeTensor *tensor = tape_tensor (b->tape, logits);

  if (training_held_outputs (b->training) == 0)
    return 0;
  return b->training->traits.loss == FRAMEWORK_LOSS_TORCH
             ? tensor->elements * training_loss_bytes (b->training, b->tape->e)
             : tensor->bytes;
}

/*
 * The cross entropy of one prediction of each token. Rows of a tensor group have parts of the sums
 * that make logits, and all of them the same logits then.
 */
static TapeValue
add_loss (LayerBuilder *b, TapeValue x, LinearSpec head, double *held_bytes)
{
  const ModelShape *s = b->shape;
  const double      vocab = (double) head.n;

  x = layer_enter (b, "head.gather", x);
  if (b->training->loss == LOSS_CHUNKED)
    return tape_chunked_loss (b->tape, "head", x, head, layer_tensor_group (b));
  x = tape_linear (b->tape, "head", x, head);
  tape_comm_reduce (b->tape, "head.rows", x, layer_rows_group (b));
  if (s->logit_scale)
    x = layer_add_scale (b, "head.scale", x);
  if (s->logit_softcap)
    x = tape_softcap (b->tape, "head.softcap", x);
  *held_bytes = held_logits (b, x);
  if (torch_loss (b))
    return tape_torch_loss (b->tape, x, b->tokens, vocab, layer_tensor_group (b));
  if (parallel_loss (b))
    return tape_parallel_loss (b->tape, x, b->tokens, vocab, layer_tensor_group (b));
  x = tape_comm_concat (b->tape, "head.concat", x, layer_tensor_group (b));
  *held_bytes = held_logits (b, x);
  return tape_loss (b->tape, x, b->tokens, vocab * (double) b->tp);
}

/*
 * Generation's head: logits of the last token of each sequence, gathered over the tensor group,
 * cast to fp32, a softmax, and a draw (vLLM, v1/sample/sampler.py, without penalties and top-k: as
 * it is read, not counted in a trace). Predictions of further tokens are not made.
 */
static TapeValue
add_sampling (LayerBuilder *b, TapeValue x, LinearSpec head)
{
  const double      rows = training_sequences (b->training), all = rows * (double) head.n * b->tp;
  const double      taken = rows * (double) head.k;
  const ChainKernel kernels[] = {
    { .name = "head.widen", .read = all * b->tape->e, .write = 4 * all },
    { .name = "head.softmax", .read = 4 * all, .write = 4 * all, .reduces = TRUE },
    { .name = "head.draw", .read = 4 * all, .write = 8 * rows, .reduces = TRUE },
  };
  const ChainSpec spec = { .forward = kernels,
                           .backward = kernels,
                           .n_forward = G_N_ELEMENTS (kernels),
                           .n_backward = 1,
                           .module = -1,
                           .elements = rows,
                           .forward_extra = 8 * all };

  if (rows < b->tokens)
    tape_map (b->tape, "head.last", &x, 1, &taken, 1,
              (MapSpec){ .kind = KERNEL_GATHER, .forward_launches = 1, .backward_launches = 1 },
              &x);
  head.rows = rows;
  x = tape_linear (b->tape, "head", layer_enter (b, "head.gather", x), head);
  tape_comm_reduce (b->tape, "head.rows", x, layer_rows_group (b));
  x = tape_comm_concat (b->tape, "head.concat", x, layer_tensor_group (b));
  return tape_chain (b->tape, "head.sample", &x, 1, &spec);
}

/*
 * Each of the streams, which only the last one is not normed of, has a loss: those of further
 * tokens come first, then the next one's (Megatron-LM, process_mtp_loss). *HELD_BYTES: logits that
 * the framework holds on to, if any.
 */
static TapeValue
build_head (LayerBuilder *b, double *held_bytes)
{
  const ModelShape *s = b->shape;
  gint64            width = s->embed_dim > 0 ? s->embed_dim : (gint64) b->width;
  guint             last = (guint) s->n_mtp;
  TapeValue         streams[MODEL_MAX_MTP + 1], loss = 0, further;
  LinearSpec        head = { .module = -1,
                             .rows = b->tokens,
                             .k = (guint64) width,
                             .n = (guint64) layer_local_vocab (b),
                             .batch = 1,
                             .bias = s->head_bias };

  head.packing = layer_wide_packing (b, width, layer_local_vocab (b));

  layer_begin_streams (b, "head", last + 1, streams);
  if (s->norms != MODEL_NORMS_BEHIND)
    streams[last] = layer_add_stream_norm (b, b->style->final_norm, "final_norm", streams[last]);
  if (s->embed_dim > 0)
    streams[last] = layer_add_linear_on (b, "project_out", "head.project_out", streams[last],
                                         b->stream_tokens, s->d_model, s->embed_dim, FALSE, WHOLE);
  if (!s->tied_embeddings || (!mesh_ends_meet (b->mesh) && last == 0))
    head.module = layer_add_weights (b, b->style->head != NULL ? b->style->head : "lm_head", width,
                                     layer_local_vocab (b), s->head_bias, COLUMNS, head.packing);
  if (b->training->pass != PASS_TRAINING)
    return add_sampling (b, streams[0], head);
  for (guint i = 1; i <= last; i++)
    {
      further = add_loss (b, streams[i], head, held_bytes);
      loss = i == 1 ? further : tape_add (b->tape, "loss.add", loss, further);
    }
  further = add_loss (b, streams[0], head, held_bytes);
  return last == 0 ? further : tape_add (b->tape, "loss.add", loss, further);
}

/*
 * Vocabulary-wide memory of the head's backward pass: see tape_loss, tape_parallel_loss and
 * tape_chunked_loss. What these keep is there for each token that is predicted.
 */
static double
logits_bytes (const LayerBuilder *b)
{
  double elements = b->tokens * (double) layer_local_vocab (b), wide;
  double mtp = (double) b->shape->n_mtp;

  if (b->training->loss == LOSS_CHUNKED)
    return MIN (b->tokens, (double) b->training->loss_chunk) * (double) layer_local_vocab (b)
           * b->tape->e;
  if (b->training->traits.loss == FRAMEWORK_LOSS_GATHERED)
    elements *= (double) b->tp;
  if (training_fuses_loss (b->training))
    return elements * (2 + mtp) * b->tape->e;
  wide = training_loss_bytes (b->training, b->tape->e);
  if (torch_loss (b))
    return elements * (4 + mtp) * wide;
  return elements * (mtp * wide + (parallel_loss (b) ? wide + b->tape->e : 3 * wide));
}

LayerBuild
layer_build (const ModelShape *shape, const TrainingOptions *training, const MeshOptions *mesh,
             LayerClass layer)
{
  LayerBuild   build = { .tensors = g_array_new (FALSE, FALSE, sizeof (TensorDesc)),
                         .modules = g_array_new (FALSE, FALSE, sizeof (ModuleDesc)),
                         .tape = tape_new (training, layer.kind == LAYER_BLOCK) };
  double       tokens = (double) training_tokens (training) / (double) mesh->cp;
  ModelShape   own = model_layer_shape (shape, &layer.block);
  FamilyStyle  style = family_style (shape->family);
  LayerBuilder b = { .shape = &own,
                     .training = build.tape->training,
                     .mesh = mesh,
                     .style = &style,
                     .layer = layer,
                     .tape = build.tape,
                     .tensors = build.tensors,
                     .modules = build.modules,
                     .tokens = tokens,
                     .stream_tokens = mesh->sp == 1 ? tokens / (double) mesh->tp : tokens,
                     .width = (double) shape->d_model / (double) MAX (mesh->tp_rows, 1),
                     .tp = mesh->tp,
                     .rows = MAX (mesh->tp_rows, 1),
                     .slices = 1,
                     .dropout = training_has_dropout (training, shape->family) };

  if (layer.wide)
    build.tape->fp8 = (Fp8Recipe){ 0 };
  build.tape->context = (guint) mesh->cp;
  switch (layer.kind)
    {
    case LAYER_EMBEDDING:
      build.output = build_embedding (&b);
      break;
    case LAYER_BLOCK:
      build.output = layer.block.mtp > 0
                         ? layer_add_mtp (&b, build_block)
                         : build_block (&b, tape_input (b.tape, "block.input",
                                                        b.stream_tokens * b.width, TRUE));
      break;
    case LAYER_HEAD:
      build.output = build_head (&b, &build.held_bytes);
      build.logits_bytes = logits_bytes (&b);
      if (training->loss != LOSS_CHUNKED)
        build.head_bytes = tokens * (double) layer_local_vocab (&b) * build.tape->e;
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
