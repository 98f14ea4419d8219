#include "base/intern.h"
#include "model/layer/layer-parts-private.h"
#include "model/optimizer/optimizer.h"
#include "model/optimizer/shard-block.h"

/* ---- tensor parallelism ---- */

/*
 * With sequence parallelism Megatron-LM's products have always overlapped the collectives of the
 * backward pass; without it the all-reduce of an input's gradient overlaps only when asked for.
 * Shared experts that cover a dispatch have plain collectives around their products, which keep
 * what was gathered (core/transformer/moe/shared_experts.py: pre_forward_comm, parallel_mode).
 */
CommGroup
layer_tensor_group (const LayerBuilder *b)
{
  gboolean kept = b->training->traits.keeps_gathered;
  gboolean fp8 = b->layer.kind == LAYER_BLOCK && b->tape->fp8.name != NULL;

  if (b->covering)
    return (CommGroup){ .axis = MESH_TENSOR, .members = (guint) b->tp, .kept = TRUE };

  return (CommGroup){ .axis = MESH_TENSOR,
                      .members = (guint) b->tp,
                      .concurrent = (b->mesh->sp == 1 && !kept) || b->mesh->async_tp,
                      .userbuffers = b->mesh->sp == 1 && b->mesh->async_tp
                                     && b->mesh->async_tp_by == MESH_ASYNC_TP_USERBUFFERS,
                      /* a cast after the gathering waits for all of it */
                      .sliced =
                          b->mesh->sp == 1 && b->mesh->async_tp && (!fp8 || b->tape->fp8.gathered),
                      .kept = kept,
                      .fp8 = fp8 && b->tape->fp8.gathered };
}

/* Sums over the rows: those of outputs stand where they are, as the next operation needs them. */
CommGroup
layer_rows_group (const LayerBuilder *b)
{
  return (CommGroup){ .axis = MESH_TENSOR_ROWS,
                      .members = (guint) b->rows,
                      .concurrent = b->mesh->async_tp };
}

TapeValue
layer_enter (LayerBuilder *b, const char *name, TapeValue x)
{
  if (b->parallel)
    return x;
  if (b->mesh->sp == 1)
    return tape_comm_gather (b->tape, name, x, layer_tensor_group (b));
  tape_comm_copy (b->tape, name, x, layer_tensor_group (b));
  return x;
}

TapeValue
layer_leave (LayerBuilder *b, const char *name, TapeValue x)
{
  if (b->parallel)
    return x;
  if (b->mesh->sp == 1)
    return tape_comm_scatter (b->tape, name, x, layer_tensor_group (b));
  tape_comm_reduce (b->tape, name, x, layer_tensor_group (b));
  return x;
}

double
layer_sequence (const LayerBuilder *b)
{
  return training_mean_length (b->training) / (double) b->mesh->cp;
}

gint64
layer_local_heads (const LayerBuilder *b)
{
  return b->shape->n_heads / b->tp;
}

gint64
layer_local_kv_heads (const LayerBuilder *b)
{
  return MAX (b->shape->n_kv_heads / b->tp, 1);
}

double
layer_whole_share (const LayerBuilder *b, double rows)
{
  return b->tokens / ((double) b->tp * rows);
}

/* ---- modules and tensors ---- */

gint
layer_add_module (LayerBuilder *b, const char *name)
{
  ModuleDesc module = { .name = intern_text (name), .first_tensor = b->tensors->len };

  g_array_append_val (b->modules, module);
  return (gint) b->modules->len - 1;
}

TensorDesc *
layer_add_tensor (LayerBuilder *b, const char *suffix, gint64 d0, gint64 d1, gint64 d2,
                  gboolean expert)
{
  gint64      dims[TENSOR_MAX_DIMS] = { d0, d1, d2 };
  ModuleDesc *module = &g_array_index (b->modules, ModuleDesc, b->modules->len - 1);
  TensorDesc  tensor = { .name = tape_join (tape_join (module->name, "."), suffix),
                         .elements = 1,
                         .frozen = b->tape->frozen,
                         .module = b->modules->len - 1,
                         .expert = expert };

  for (guint i = 0; i < TENSOR_MAX_DIMS; i++)
    if (dims[i] > 0)
      {
        tensor.shape[tensor.n_dims++] = (guint64) dims[i];
        tensor.elements *= (guint64) dims[i];
      }
  tensor.block = shard_block_of (b->training->shard_block, &tensor);
  tensor.matrix = optimizer_accepts (b->training, &tensor, b->layer.kind == LAYER_BLOCK);
  module->n_tensors++;
  module->elements += tensor.elements;
  g_array_append_val (b->tensors, tensor);
  return &g_array_index (b->tensors, TensorDesc, b->tensors->len - 1);
}

void
layer_mark_others (LayerBuilder *b, TensorDesc *others)
{
  others->frozen = others->sliced = TRUE;
  g_array_index (b->tensors, TensorDesc, b->tensors->len - 2).sliced = TRUE;
}

void
layer_add_replicated (LayerBuilder *b, const char *suffix, gint64 d0, gint64 d1)
{
  layer_add_tensor (b, suffix, d0, d1, 0, FALSE)->replicated = b->tp > 1;
}

/* Of WIDTH elements here, of rows that GROUP divides. */
static TapeValue
add_norm (LayerBuilder *b, const char *name, const char *role, TapeValue in, double rows,
          gint64 width, ModelNorm norm, gboolean divided, CommGroup group)
{
  static const guint tensors[] = { [MODEL_NORM_LAYER] = 2,
                                   [MODEL_NORM_RMS] = 1,
                                   [MODEL_NORM_LAYER_UNBIASED] = 1,
                                   [MODEL_NORM_LAYER_PLAIN] = 0,
                                   [MODEL_NORM_RMS_PLAIN] = 0 };
  gint               module = tensors[norm] > 0 ? layer_add_module (b, name) : -1;

  for (guint i = 0; i < tensors[norm]; i++)
    layer_add_tensor (b, i == 0 ? "weight" : "bias", width, 0, 0, FALSE)->replicated =
        b->tp > 1 && !divided;
  return tape_divided_norm (b->tape, role, in, module, rows, (double) width, norm, group);
}

TapeValue
layer_add_norm_of (LayerBuilder *b, const char *name, const char *role, TapeValue in, double rows,
                   gint64 width, ModelNorm norm, gboolean divided)
{
  return add_norm (b, name, role, in, rows, width, norm, divided, (CommGroup){ .members = 1 });
}

TapeValue
layer_add_stream_norm (LayerBuilder *b, const char *name, const char *role, TapeValue in)
{
  return add_norm (b, name, role, in, b->stream_tokens, (gint64) b->width,
                   (ModelNorm) b->shape->norm, FALSE, layer_rows_group (b));
}

TapeValue
layer_add_norm (LayerBuilder *b, const char *name, const char *role, TapeValue in, double rows,
                gint64 width)
{
  return layer_add_norm_of (b, name, role, in, rows, width, b->shape->norm, FALSE);
}

TapeValue
layer_add_scale (LayerBuilder *b, const char *name, TapeValue in)
{
  double    elements = tape_tensor (b->tape, in)->elements;
  TapeValue out;

  tape_map (b->tape, name, &in, 1, &elements, 1,
            (MapSpec){ .kind = KERNEL_ELEMENTWISE, .forward_launches = 1, .backward_launches = 1 },
            &out);
  return out;
}

TapeValue
layer_add_residual (LayerBuilder *b, const char *name, TapeValue stream, TapeValue branch)
{
  if (b->shape->residual_scale)
    branch = layer_add_scale (b, tape_join (name, ".scale"), branch);
  if (b->dropout)
    return tape_dropped_residual (b->tape, name, stream, branch);
  return tape_add (b->tape, name, stream, branch);
}

void
layer_split (LayerBuilder *b, const char *name, TapeValue in, const double *elements, guint n,
             TapeValue *out)
{
  tape_map (b->tape, name, &in, 1, elements, n,
            (MapSpec){ .kind = KERNEL_ELEMENTWISE, .backward_launches = 1 }, out);
}
