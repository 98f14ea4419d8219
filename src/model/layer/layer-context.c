/*
 * What context ranks exchange around attention: keys and values of the whole sequence are gathered,
 * travel round a ring (tape-ops-model.c), or each rank gets all tokens of its share of the heads
 * (DeepSpeed-Ulysses, arXiv:2309.14509; inside of rings: USP, arXiv:2405.07719).
 */
#include "model/layer/layer-parts-private.h"
#include "model/step/documents.h"

/* ---- how unlike ranks are ---- */

/*
 * Of 2 RANKS chunks of the sequence a rank has one of the first half and its mirror image: the
 * middle two are the fullest, as only tokens at the start see less than a window.
 */
static double
window_imbalance (double seq_len, double window, double ranks)
{
  const double chunk = seq_len / (2 * ranks);
  const double fullest = documents_prefix_pairs ((ranks + 1) * chunk, window)
                         - documents_prefix_pairs ((ranks - 1) * chunk, window);

  return ranks * fullest / documents_prefix_pairs (seq_len, window);
}

/*
 * Pairs of the fullest context rank over the mean rank's. A ring cuts each document into chunks for
 * all ranks (Transformer Engine), gathered keys and values are those of chunks of the sequence.
 */
double
layer_context_imbalance (const LayerBuilder *b, gboolean windowed)
{
  if (b->mesh->context != CONTEXT_ALL_GATHER)
    return 1;
  if (windowed && b->mesh->cp > 1)
    return window_imbalance ((double) b->training->seq_len, (double) b->shape->sliding_window,
                             (double) b->mesh->cp);
  if (b->training->document_length == 0)
    return 1;
  return documents_imbalance ((double) b->training->seq_len, (double) b->training->document_length,
                              (guint) b->mesh->cp);
}

/* ---- groups ---- */

/* Neighbours that divide the heads. */
static CommGroup
heads_group (const LayerBuilder *b)
{
  return (CommGroup){ .axis = MESH_CONTEXT, .members = (guint) mesh_context_heads (b->mesh) };
}

CommGroup
layer_context_ring (const LayerBuilder *b)
{
  const guint by = (guint) mesh_context_heads (b->mesh);

  if (!mesh_context_rings (b->mesh))
    return (CommGroup){ .axis = MESH_CONTEXT, .members = 1 };
  return (CommGroup){ .axis = MESH_CONTEXT, .members = (guint) b->mesh->cp / by, .every = by };
}

/* ---- around attention ---- */

/* A rank's parts for the others, or theirs for it, lie one behind the other: copied into order. */
static TapeValue
reorder (LayerBuilder *b, const char *name, TapeValue in)
{
  const double elements = tape_tensor (b->tape, in)->elements;

  tape_map (b->tape, name, &in, 1, &elements, 1,
            (MapSpec){ .kind = KERNEL_COPY, .forward_launches = 1, .backward_launches = 1 }, &in);
  return in;
}

static TapeValue
exchange (LayerBuilder *b, const char *name, TapeValue in, double out_elements)
{
  const char *copy = tape_join (name, ".copy");

  in = reorder (b, copy, in);
  return reorder (b, copy, tape_comm_exchange (b->tape, name, in, out_elements, heads_group (b)));
}

/* Of HEADS a rank has a share afterwards, or one, which it has in common with others. */
static double
received (const LayerBuilder *b, TapeValue value, gint64 heads)
{
  const gint64 by = mesh_context_heads (b->mesh);

  return tape_tensor (b->tape, value)->elements * (double) MAX (heads, by) / (double) heads;
}

void
layer_enter_context (LayerBuilder *b, TapeValue *qkv)
{
  static const char *const names[] = { "attn.exchange_q", "attn.exchange_k", "attn.exchange_v" };
  const CommGroup          all = { .axis = MESH_CONTEXT, .members = (guint) b->mesh->cp };
  guint                    outer = tape_enter (b->tape, PART_CORE_ATTN);

  if (b->mesh->context == CONTEXT_ALL_GATHER)
    {
      qkv[1] = tape_comm_gather (b->tape, "attn.gather_k", qkv[1], all);
      qkv[2] = tape_comm_gather (b->tape, "attn.gather_v", qkv[2], all);
    }
  for (guint i = 0; i < 3 && mesh_context_heads (b->mesh) > 1; i++)
    qkv[i] =
        exchange (b, names[i], qkv[i],
                  received (b, qkv[i], i == 0 ? layer_local_heads (b) : layer_local_kv_heads (b)));
  b->tape->parts = outer;
}

TapeValue
layer_leave_context (LayerBuilder *b, TapeValue out)
{
  guint outer;

  if (mesh_context_heads (b->mesh) == 1)
    return out;
  outer = tape_enter (b->tape, PART_CORE_ATTN);
  out = exchange (b, "attn.exchange_out", out, tape_tensor (b->tape, out)->elements);
  b->tape->parts = outer;
  return out;
}

/* ---- attention's own layout ---- */

static const AttentionPart *
part_at (const LayerBuilder *b, guint i)
{
  return &g_array_index (b->training->parts, AttentionPart, i);
}

/* Tokens that this rank attends to in sets. */
static double
attended_tokens (const LayerBuilder *b)
{
  double sum = 0;

  for (guint i = 0; i < b->training->parts->len; i++)
    sum += part_at (b, i)->tokens / part_at (b, i)->ranks;
  return sum;
}

/* VALUE goes from FROM tokens of this rank to TO. A rank keeps its own part of an all-to-all. */
static TapeValue
remap (LayerBuilder *b, const char *name, TapeValue value, double from, double to)
{
  const double    width = tape_tensor (b->tape, value)->elements / from;
  const double    ranks = (double) b->mesh->cp;
  const CommGroup all = { .axis = MESH_CONTEXT, .members = (guint) b->mesh->cp };

  if (b->training->remapped == 0) /* of any rank: all have what they need */
    return value;
  return tape_comm_remap (b->tape, name, value, to * width,
                          b->training->remapped * ranks / (ranks - 1) * width * b->tape->e, all);
}

void
layer_remap_in (LayerBuilder *b, TapeValue *qkv)
{
  static const char *const names[] = { "attn.remap_q", "attn.remap_k", "attn.remap_v" };
  guint                    outer = tape_enter (b->tape, PART_CORE_ATTN);

  for (guint i = 0; i < 3; i++)
    qkv[i] = remap (b, names[i], qkv[i], b->tokens, attended_tokens (b));
  b->tape->parts = outer;
}

TapeValue
layer_remap_out (LayerBuilder *b, TapeValue out)
{
  guint outer = tape_enter (b->tape, PART_CORE_ATTN);

  out = remap (b, "attn.remap_out", out, attended_tokens (b), b->tokens);
  b->tape->parts = outer;
  return out;
}

void
layer_split_parts (LayerBuilder *b, const char *name, TapeValue in, TapeValue *out)
{
  const guint  n = b->training->parts->len;
  const double width = tape_tensor (b->tape, in)->elements / attended_tokens (b);
  double       elements[TAPE_MAX_ARGS];

  out[0] = in;
  for (guint i = 0; i < n; i++)
    elements[i] = part_at (b, i)->tokens / part_at (b, i)->ranks * width;
  if (n > 1)
    layer_split (b, name, in, elements, n, out);
}

TapeValue
layer_join_parts (LayerBuilder *b, const TapeValue *parts)
{
  const guint n = b->training->parts->len;
  double      elements = 0;
  TapeValue   out = parts[0];

  for (guint i = 0; i < n; i++)
    elements += tape_tensor (b->tape, parts[i])->elements;
  if (n > 1)
    tape_map (b->tape, "attn.join_parts", parts, n, &elements, 1,
              (MapSpec){ .kind = KERNEL_COPY, .forward_launches = 1, .backward_launches = 1 },
              &out);
  return out;
}
