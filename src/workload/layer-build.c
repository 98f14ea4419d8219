/* Blocks, the embedding and the head. */
#include "workload/layer-parts-private.h"

/* The norm before (or behind) one of a block's two branches. */
static TapeValue
add_block_norm (LayerBuilder *b, const char *name, const char *role, TapeValue in)
{
  guint     outer = tape_enter (b->tape, PART_LAYERNORM);
  TapeValue out = layer_add_norm (b, name, role, in, b->stream_tokens, b->shape->d_model);

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

static TapeValue
build_block (LayerBuilder *b)
{
  TapeValue x = tape_input (b->tape, "block.input", b->stream_tokens * b->width, TRUE), branch;

  if (b->shape->block != MODEL_BLOCK_SEQUENTIAL)
    return build_parallel_block (b, x);
  if (b->shape->post_norm)
    {
      x = layer_add_residual (b, "attn.residual", x, layer_add_attention (b, x));
      x = add_block_norm (b, b->style->norm1, "norm1", x);
      x = layer_add_residual (b, "mlp.residual", x, layer_add_feed_forward (b, x));
      return add_block_norm (b, b->style->norm2, "norm2", x);
    }
  branch = layer_add_attention (b, add_block_norm (b, b->style->norm1, "norm1", x));
  x = layer_add_residual (b, "attn.residual", x, branch);
  branch = layer_add_feed_forward (b, add_block_norm (b, b->style->norm2, "norm2", x));
  return layer_add_residual (b, "mlp.residual", x, branch);
}

/*
 * Rows of the vocabulary on this rank. Megatron-LM pads it so that each tensor rank gets a multiple
 * of 128; undivided it is as it is.
 */
static gint64
local_vocab (const LayerBuilder *b)
{
  gint64 unit = 128 * b->tp;

  return b->tp == 1 ? b->shape->vocab : (b->shape->vocab + unit - 1) / unit * 128;
}

/*
 * The token table is divided by rows: each rank looks up what it has, the sum over the group is the
 * embedding.
 */
static TapeValue
build_embedding (LayerBuilder *b)
{
  const ModelShape *s = b->shape;
  gint64            width = s->embed_dim > 0 ? s->embed_dim : s->d_model, vocab = local_vocab (b);
  double    positions = (double) (s->max_positions > 0 ? s->max_positions : b->training->seq_len);
  gboolean  learned = s->position == MODEL_POSITION_LEARNED;
  gint      module = layer_add_module (b, b->style->embed);
  double    tokens = learned ? b->tokens : b->stream_tokens;
  TapeValue x, table;

  layer_add_tensor (b, "weight", vocab, width, 0, FALSE);
  x = tape_embed (b->tape, "embed.tokens", module, b->tokens, (double) width, (double) vocab,
                  b->tp > 1);
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
      layer_add_replicated (b, "weight", (gint64) positions, s->d_model);
      table = tape_embed (b->tape, "embed.positions", module, layer_sequence (b), b->width,
                          positions, FALSE);
      x = tape_add (b->tape, "embed.add_positions", x, table);
      if (b->mesh->sp == 1)
        x = tape_comm_split (b->tape, "embed.split", x, layer_tensor_group (b));
    }
  if (s->embedding_norm)
    x = layer_add_norm (b, b->style->embed_norm, "embed.norm", x, b->stream_tokens, s->d_model);
  return b->dropout ? tape_dropout (b->tape, "embed.dropout", x) : x;
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

/* The linear from WIDTH to VOCAB columns here; tied, its weights are the embedding's. */
static LinearSpec
head_linear (LayerBuilder *b, gint64 width, gint64 vocab)
{
  LinearSpec spec = {
    .module = -1, .rows = b->tokens, .k = (guint64) width, .n = (guint64) vocab, .batch = 1
  };

  if (!b->shape->tied_embeddings || !mesh_ends_meet (b->mesh))
    spec.module = layer_add_weights (b, b->style->head != NULL ? b->style->head : "lm_head", width,
                                     vocab, FALSE, COLUMNS, (Packing){ 0 });
  return spec;
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

/* *HELD_BYTES: logits that the framework holds on to, if any. */
static TapeValue
build_head (LayerBuilder *b, double *held_bytes)
{
  const ModelShape *s = b->shape;
  gint64            width = s->embed_dim > 0 ? s->embed_dim : s->d_model, vocab = local_vocab (b);
  TapeValue         x = tape_input (b->tape, "head.input", b->stream_tokens * b->width, TRUE);
  LinearSpec        head;

  if (!s->post_norm)
    x = layer_add_norm (b, b->style->final_norm, "final_norm", x, b->stream_tokens, s->d_model);
  if (s->embed_dim > 0)
    x = layer_add_linear_on (b, "project_out", "head.project_out", x, b->stream_tokens, s->d_model,
                             s->embed_dim, FALSE, WHOLE);
  x = layer_enter (b, "head.gather", x);
  head = head_linear (b, width, vocab);
  if (b->training->loss == LOSS_CHUNKED)
    return tape_chunked_loss (b->tape, "head", x, head, layer_tensor_group (b));
  x = tape_linear (b->tape, "head", x, head);
  *held_bytes = held_logits (b, x);
  if (torch_loss (b))
    return tape_torch_loss (b->tape, x, b->tokens, (double) vocab, layer_tensor_group (b));
  if (parallel_loss (b))
    return tape_parallel_loss (b->tape, x, b->tokens, (double) vocab, layer_tensor_group (b));
  x = tape_comm_concat (b->tape, "head.concat", x, layer_tensor_group (b));
  *held_bytes = held_logits (b, x);
  return tape_loss (b->tape, x, b->tokens, (double) vocab * (double) b->tp);
}

/*
 * Vocabulary-wide memory of the head's backward pass: see tape_loss, tape_parallel_loss and
 * tape_chunked_loss.
 */
static double
logits_bytes (const LayerBuilder *b)
{
  double elements = b->tokens * (double) local_vocab (b), wide;

  if (b->training->loss == LOSS_CHUNKED)
    return MIN (b->tokens, (double) b->training->loss_chunk) * (double) local_vocab (b)
           * b->tape->e;
  if (b->training->traits.loss == FRAMEWORK_LOSS_GATHERED)
    elements *= (double) b->tp;
  if (training_fuses_loss (b->training))
    return elements * 2 * b->tape->e;
  wide = training_loss_bytes (b->training, b->tape->e);
  if (torch_loss (b))
    return elements * 4 * wide;
  return elements * (parallel_loss (b) ? wide + b->tape->e : 3 * wide);
}

LayerBuild
layer_build (const ModelShape *shape, const TrainingOptions *training, const MeshOptions *mesh,
             LayerClass layer)
{
  LayerBuild   build = { .tensors = g_array_new (FALSE, FALSE, sizeof (TensorDesc)),
                         .modules = g_array_new (FALSE, FALSE, sizeof (ModuleDesc)),
                         .tape = tape_new (training, layer.kind == LAYER_BLOCK) };
  double       tokens = (double) training_tokens (training) / (double) mesh->cp;
  LayerBuilder b = { .shape = shape,
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
                     .slices = 1,
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
      build.output = build_head (&b, &build.held_bytes);
      build.logits_bytes = logits_bytes (&b);
      if (training->loss != LOSS_CHUNKED)
        build.head_bytes = tokens * (double) local_vocab (&b) * build.tape->e;
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
