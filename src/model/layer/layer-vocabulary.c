/* What is as long as the vocabulary, and the layers that predict further tokens with it. */
#include "model/layer/layer-parts-private.h"

gint64
layer_local_vocab (const LayerBuilder *b)
{
  gint64 unit = 128 * b->tp;

  return b->tp == 1 ? b->shape->vocab : (b->shape->vocab + unit - 1) / unit * 128;
}

TapeValue
layer_look_up (LayerBuilder *b, gint module, gint64 width)
{
  return tape_embed (b->tape, "embed.tokens", module, b->tokens, (double) width,
                     (double) layer_local_vocab (b), b->tp > 1);
}

/* ---- multi-token prediction ------------------------------------------------------------------ */

/*
 * The D-th of these layers (arXiv:2412.19437, section 2.2) makes what predicts the D-th token
 * beyond the next one:
 *
 *   h' = block (M [norm (embedding of token i + D) ; norm (h)])
 *
 * h being the normed output of the one before, or of the main model. All normed outputs go on to
 * the head: the residual stream becomes one stream wider. The norm of a layer's own output is the
 * next one's, or the head's: there are as many, and they are as large. Tables that are used again
 * are those of the embedding, or where that is on another stage, of the first of these layers.
 *
 * Source: Megatron-LM, core/transformer/multi_token_prediction.py: the projection is divided by
 * columns and its output gathered, then divided into sequences again; one copy puts all outputs one
 * behind the other.
 */

void
layer_begin_streams (LayerBuilder *b, const char *name, guint n, TapeValue *streams)
{
  double    elements[MODEL_MAX_MTP + 1];
  TapeValue input =
      tape_input (b->tape, tape_join (name, ".input"), n * b->stream_tokens * b->width, TRUE);

  streams[0] = input;
  for (guint i = 0; i < n; i++)
    elements[i] = b->stream_tokens * b->width;
  if (n > 1)
    layer_split (b, tape_join (name, ".split"), input, elements, n, streams);
}

/* Of the tokens that a prediction is made behind. */
static TapeValue
add_embedding (LayerBuilder *b)
{
  const gint64 width = b->shape->d_model;
  gint         module = -1;
  TapeValue    x;

  if (b->layer.block.mtp == 1 && !mesh_ends_meet (b->mesh))
    {
      module = layer_add_module (b, b->style->embed);
      layer_add_tensor (b, "weight", layer_local_vocab (b), width, 0, FALSE);
    }
  x = layer_leave (b, "embed.reduce", layer_look_up (b, module, width));
  return b->shape->embedding_scale ? layer_add_scale (b, "embed.scale", x) : x;
}

static TapeValue
add_norm (LayerBuilder *b, const char *name, TapeValue x)
{
  return layer_add_stream_norm (b, name, name, x);
}

/* M [E ; H], as the residual stream is. */
static TapeValue
add_projection (LayerBuilder *b, TapeValue e, TapeValue h)
{
  const TapeValue parts[] = { e, h };
  const double    both = 2 * b->stream_tokens * b->width;
  const gint64    width = b->shape->d_model;
  TapeValue       x;

  tape_map (b->tape, "mtp.concat", parts, 2, &both, 1,
            (MapSpec){ .kind = KERNEL_COPY, .forward_launches = 1, .backward_launches = 2 }, &x);
  x = layer_enter (b, "mtp.gather", x);
  x = layer_add_linear (b, "eh_proj", "mtp.eh_proj", x, 2 * width, width, FALSE, COLUMNS);
  x = tape_comm_concat (b->tape, "mtp.eh_proj.gather", x, layer_tensor_group (b));
  return b->mesh->sp == 1 ? tape_comm_split (b->tape, "mtp.split", x, layer_tensor_group (b)) : x;
}

TapeValue
layer_add_mtp (LayerBuilder *b, TapeValue (*block) (LayerBuilder *b, TapeValue x))
{
  const guint    n = (guint) b->layer.block.mtp;
  const gboolean last = n == (guint) b->shape->n_mtp;
  const double   all = (n + 1) * b->stream_tokens * b->width;
  TapeValue      streams[MODEL_MAX_MTP + 1], e, out;

  layer_begin_streams (b, "mtp", n, streams);
  e = add_norm (b, "enorm", add_embedding (b));
  streams[n - 1] = add_norm (b, b->style->final_norm, streams[n - 1]);
  streams[n] = block (b, add_projection (b, e, add_norm (b, "hnorm", streams[n - 1])));
  tape_map (b->tape, "mtp.streams", streams, n + 1, &all, 1,
            (MapSpec){ .kind = KERNEL_COPY, .forward_launches = last, .backward_launches = 1 },
            &out);
  return out;
}
