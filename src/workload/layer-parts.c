#include "workload/layer-parts-private.h"

#include "workload/peft.h"

/* ---- tensor parallelism ---- */

/*
 * With sequence parallelism Megatron-LM's products have always overlapped the collectives of the
 * backward pass; without it the all-reduce of an input's gradient overlaps only when asked for.
 */
CommGroup
layer_tensor_group (const LayerBuilder *b)
{
  gboolean kept = b->training->traits.keeps_gathered;
  gboolean fp8 = b->layer.kind == LAYER_BLOCK && b->tape->fp8.name != NULL;

  return (CommGroup){ .axis = MESH_TENSOR,
                      .members = (guint) b->tp,
                      .concurrent = (b->mesh->sp == 1 && !kept) || b->mesh->async_tp,
                      /* a cast after the gathering waits for all of it */
                      .sliced =
                          b->mesh->sp == 1 && b->mesh->async_tp && (!fp8 || b->tape->fp8.gathered),
                      .kept = kept,
                      .fp8 = fp8 && b->tape->fp8.gathered };
}

TapeValue
layer_enter (LayerBuilder *b, const char *name, TapeValue x)
{
  if (b->mesh->sp == 1)
    return tape_comm_gather (b->tape, name, x, layer_tensor_group (b));
  tape_comm_copy (b->tape, name, x, layer_tensor_group (b));
  return x;
}

TapeValue
layer_leave (LayerBuilder *b, const char *name, TapeValue x)
{
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
  ModuleDesc module = { .name = g_intern_string (name), .first_tensor = b->tensors->len };

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
  module->n_tensors++;
  module->elements += tensor.elements;
  g_array_append_val (b->tensors, tensor);
  return &g_array_index (b->tensors, TensorDesc, b->tensors->len - 1);
}

void
layer_add_replicated (LayerBuilder *b, const char *suffix, gint64 d0, gint64 d1)
{
  layer_add_tensor (b, suffix, d0, d1, 0, FALSE)->replicated = b->tp > 1;
}

/* Of FEATURES on this rank. Only linears of blocks are tiled; by 0 as little as by 1. */
static guint
splits_of (const LayerBuilder *b, gint64 splits, gint64 features)
{
  return b->layer.kind == LAYER_BLOCK ? (guint) CLAMP (splits, 1, features) : 1;
}

/* As torch names them: linears[out][in]. */
static const char *
tile_name (const char *name, guint64 tile, guint64 in_splits)
{
  g_autofree char *suffix = g_strdup_printf (".linears.%" G_GUINT64_FORMAT ".%" G_GUINT64_FORMAT,
                                             tile / in_splits, tile % in_splits);

  return tape_join (name, suffix);
}

/* One of the two linears of an adapter of module NAME. */
static TapeValue
add_adapter_linear (LayerBuilder *b, const char *name, const char *role, const char *part,
                    TapeValue in, double tokens, gint64 k, gint64 n)
{
  gint module = layer_add_module (b, tape_join (name, part));

  layer_add_tensor (b, "weight", n, k, 0, FALSE);
  return tape_linear (
      b->tape, tape_join (role, part), in,
      (LinearSpec){
          .module = module, .rows = tokens, .k = (guint64) k, .n = (guint64) n, .batch = 1 });
}

/* OUT, the module's, and s (IN A') B': two products, the scaling, the sum. */
static TapeValue
add_adapter (LayerBuilder *b, const char *name, const char *role, TapeValue in, TapeValue out,
             double tokens, gint64 k, gint64 n)
{
  gint64    r = b->training->lora_r;
  double    elements = tokens * (double) n;
  TapeValue x;

  b->tape->frozen = FALSE;
  x = add_adapter_linear (b, name, role, ".lora_A", in, tokens, k, r);
  x = add_adapter_linear (b, name, role, ".lora_B", x, tokens, r, n);
  b->tape->frozen = TRUE;
  tape_map (b->tape, tape_join (role, ".lora_scale"), &x, 1, &elements, 1,
            (MapSpec){ .kind = KERNEL_ELEMENTWISE, .forward_launches = 1, .backward_launches = 1 },
            &x);
  return tape_add (b->tape, tape_join (role, ".lora_add"), out, x);
}

/*
 * The weights of linear NAME, K x N here, and its bias. One module, or one for each tile; the first
 * one's number.
 */
static gint
add_weights (LayerBuilder *b, const char *name, gint64 k, gint64 n, gboolean bias,
             Division division)
{
  gboolean transposed = b->style->transposed && b->layer.kind == LAYER_BLOCK;
  guint64  rows = splits_of (b, b->training->tiled_in_splits, k);
  guint64  columns = splits_of (b, b->training->tiled_out_splits, n);
  gint     first = (gint) b->modules->len;

  for (guint64 i = 0; i < rows * columns; i++)
    {
      gint64 k_tile = (gint64) tape_tile ((guint64) k, rows, i % rows);
      gint64 n_tile = (gint64) tape_tile ((guint64) n, columns, i / rows);
      gint   module = layer_add_module (b, rows * columns > 1 ? tile_name (name, i, rows) : name);

      g_array_index (b->modules, ModuleDesc, module).linear = b->layer.kind == LAYER_BLOCK;
      layer_add_tensor (b, "weight", transposed ? k_tile : n_tile, transposed ? n_tile : k_tile, 0,
                        FALSE)
          ->replicated = division == WHOLE && b->tp > 1;
      if (bias && i % rows + 1 == rows)
        layer_add_tensor (b, "bias", n_tile, 0, 0, FALSE)->replicated =
            division != COLUMNS && b->tp > 1;
    }
  return first;
}

static TapeValue
add_product (LayerBuilder *b, const char *role, TapeValue in, LinearSpec spec)
{
  guint in_splits = splits_of (b, b->training->tiled_in_splits, (gint64) spec.k);
  guint out_splits = splits_of (b, b->training->tiled_out_splits, (gint64) spec.n);

  return in_splits * out_splits > 1
             ? tape_tiled_linear (b->tape, role, in, spec, in_splits, out_splits)
             : tape_linear (b->tape, role, in, spec);
}

/* torchtitan leaves a layer as it is whose dimensions do not fit; divided ones have to. */
static gboolean
linear_is_fp8 (const LayerBuilder *b, gint64 k, gint64 n)
{
  const Fp8Recipe *recipe = &b->tape->fp8;

  if (recipe->name == NULL || b->layer.kind != LAYER_BLOCK)
    return FALSE;
  return recipe->kept || b->tp > 1 || (k % recipe->multiple == 0 && n % recipe->multiple == 0);
}

TapeValue
layer_add_linear_on (LayerBuilder *b, const char *name, const char *role, TapeValue in,
                     double tokens, gint64 k, gint64 n, gboolean bias, Division division)
{
  gboolean  late = bias && division == ROWS && b->tp > 1;
  gint      module;
  TapeValue out;

  k = division == ROWS ? k / b->tp : k;
  n = division == COLUMNS ? n / b->tp : n;
  module = add_weights (b, name, k, n, bias, division);
  b->tape->counted = division == WHOLE ? layer_whole_share (b, tokens) : 1;
  out = add_product (b, role, in,
                     (LinearSpec){ .module = module,
                                   .rows = tokens,
                                   .k = (guint64) k,
                                   .n = (guint64) n,
                                   .batch = 1,
                                   .bias = bias && !late,
                                   .fp8 = linear_is_fp8 (b, k, n) });
  b->tape->counted = 1;
  if (b->layer.kind == LAYER_BLOCK && peft_adapts (b->training, name))
    out = add_adapter (b, name, role, in, out, tokens, k, n);
  if (division == ROWS)
    out = layer_leave (b, tape_join (role, ".reduce"), out);
  if (late)
    tape_late_bias (b->tape, role, out, (double) n);
  return out;
}

TapeValue
layer_add_linear (LayerBuilder *b, const char *name, const char *role, TapeValue in, gint64 k,
                  gint64 n, gboolean bias, Division division)
{
  return layer_add_linear_on (b, name, role, in, b->tokens, k, n, bias, division);
}

TapeValue
layer_add_norm (LayerBuilder *b, const char *name, const char *role, TapeValue in, double rows,
                gint64 width)
{
  gint module = layer_add_module (b, name);

  layer_add_replicated (b, "weight", width, 0);
  if (b->shape->norm == MODEL_NORM_LAYER)
    layer_add_replicated (b, "bias", width, 0);
  return tape_norm (b->tape, role, in, module, rows, (double) width, b->shape->norm);
}

TapeValue
layer_add_residual (LayerBuilder *b, const char *name, TapeValue stream, TapeValue branch)
{
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
