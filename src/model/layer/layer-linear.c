/*
 * A linear module of a layer: its weights, whole, in tiles or in 4 bits, its product, in 16 bits or
 * in fp8, and its adapter.
 */
#include "model/layer/layer-parts-private.h"
#include "model/shape/peft.h"

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

/* How many features of a K x N weight here a rank trains. */
static void
trained_part (const LayerBuilder *b, gint64 k, gint64 n, Division division, gint64 trained[2])
{
  trained[0] = division == ROWS ? k / b->slices : k;
  trained[1] = division == COLUMNS ? n / b->slices : n;
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

gboolean
layer_widens_weights (const LayerBuilder *b)
{
  return b->layer.kind == LAYER_BLOCK && b->training->weight_bytes > 0;
}

/*
 * The weight, K x N, or the slice of it that is trained and all others: tensors of their own, that
 * products read as one.
 */
static void
add_plain_weight (LayerBuilder *b, gint64 k, gint64 n, Division division)
{
  gboolean    transposed = b->style->transposed && b->layer.kind == LAYER_BLOCK;
  gint64      trained[2], rest_k, rest_n;
  TensorDesc *weight;

  trained_part (b, k, n, division, trained);
  rest_k = division == ROWS ? k - trained[0] : k;
  rest_n = division == COLUMNS ? n - trained[1] : n;
  weight = layer_add_tensor (b, "weight", transposed ? trained[0] : trained[1],
                             transposed ? trained[1] : trained[0], 0, FALSE);
  weight->replicated = division == WHOLE && b->tp > 1;
  weight->narrow = layer_widens_weights (b) || (b->tape->fp8.narrow && linear_is_fp8 (b, k, n));
  if (trained[0] * trained[1] < k * n)
    layer_mark_others (b, layer_add_tensor (b, "weight.others", transposed ? rest_k : rest_n,
                                            transposed ? rest_n : rest_k, 0, FALSE));
}

/* The bias of N features, of which those of the slice are trained. */
static void
add_bias (LayerBuilder *b, gint64 n, Division division)
{
  gint64 trained[2];

  trained_part (b, 1, n, division, trained);
  layer_add_tensor (b, "bias", trained[1], 0, 0, FALSE)->replicated =
      division != COLUMNS && b->tp > 1;
  if (trained[1] < n)
    layer_mark_others (b, layer_add_tensor (b, "bias.others", n - trained[1], 0, 0, FALSE));
}

gint
layer_add_weights (LayerBuilder *b, const char *name, gint64 k, gint64 n, gboolean bias,
                   Division division, Packing packing)
{
  guint64 rows = splits_of (b, b->training->tiled_in_splits, k);
  guint64 columns = splits_of (b, b->training->tiled_out_splits, n);
  gint    first = (gint) b->modules->len;

  for (guint64 i = 0; i < rows * columns; i++)
    {
      gint64 k_tile = (gint64) tape_tile ((guint64) k, rows, i % rows);
      gint64 n_tile = (gint64) tape_tile ((guint64) n, columns, i / rows);
      gint   module = layer_add_module (b, rows * columns > 1 ? tile_name (name, i, rows) : name);

      g_array_index (b->modules, ModuleDesc, module).linear = b->layer.kind == LAYER_BLOCK;
      if (packing.elements > 0)
        layer_add_packed (b, "weight", packing)->replicated = division == WHOLE && b->tp > 1;
      else
        add_plain_weight (b, k_tile, n_tile, division);
      if (bias && i % rows + 1 == rows)
        add_bias (b, n_tile, division);
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

/* A K x N weight of the model, as it is on a rank. */
static void
divide (const LayerBuilder *b, Division division, gint64 *k, gint64 *n)
{
  if (division == WHOLE)
    return;
  *k /= division == ROWS ? b->tp : b->rows;
  *n /= division == ROWS ? b->rows : b->tp;
}

TapeValue
layer_add_linear_on (LayerBuilder *b, const char *name, const char *role, TapeValue in,
                     double tokens, gint64 k, gint64 n, gboolean bias, Division division)
{
  gboolean late = bias && ((division == ROWS && b->tp > 1) || (division == COLUMNS && b->rows > 1));
  Packing  packing;
  gint64   trained[2];
  gint     module;
  TapeValue out;

  divide (b, division, &k, &n);
  packing = layer_packing (b, k, n, linear_is_fp8 (b, k, n));
  module = layer_add_weights (b, name, k, n, bias, division, packing);
  trained_part (b, k, n, division, trained);
  b->tape->counted = division == WHOLE ? layer_whole_share (b, tokens) : 1;
  if (division == ROWS)
    tape_comm_copy (b->tape, tape_join (role, ".rows"), in, layer_rows_group (b));
  out = add_product (b, role, in,
                     (LinearSpec){ .module = module,
                                   .rows = tokens,
                                   .k = (guint64) k,
                                   .n = (guint64) n,
                                   .batch = 1,
                                   .bias = bias && !late,
                                   .fp8 = linear_is_fp8 (b, k, n),
                                   .narrow = layer_widens_weights (b),
                                   .packing = packing,
                                   .trained_k = (guint64) trained[0],
                                   .trained_n = (guint64) trained[1] });
  b->tape->counted = 1;
  if (division == COLUMNS)
    tape_comm_reduce (b->tape, tape_join (role, ".rows"), out, layer_rows_group (b));
  else if (division == ROWS)
    out = layer_leave (b, tape_join (role, ".reduce"), out);
  if (b->layer.kind == LAYER_BLOCK && peft_adapts (b->training, name))
    out = layer_add_adapter (b, name, role, in, out, division,
                             (LinearSpec){ .module = module,
                                           .rows = tokens,
                                           .k = (guint64) k,
                                           .n = (guint64) n,
                                           .bias = bias,
                                           .packing = packing });
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
