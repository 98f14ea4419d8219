/*
 * Adapters of a block's linear modules, and frozen weights in 4 bits. Kernels and their order are
 * those of peft/tuners/lora/layer.py and dora.py; what is packed is bitsandbytes' Linear4bit.
 */
#include "model/layer/layer-parts-private.h"

/* bitsandbytes/functional.py, quantize_4bit and quantize_blockwise. */
#define NF4_BLOCK   64  /* values that share a scale */
#define SCALE_BLOCK 256 /* scales that share one, where they are quantised, too */

static guint64
divide_up (guint64 a, guint64 b)
{
  return (a + b - 1) / b;
}

Packing
layer_packing (const LayerBuilder *b, gint64 k, gint64 n)
{
  guint64 values = (guint64) (k * n), blocks = divide_up (values, NF4_BLOCK);
  Packing packing = { .values = values, .elements = divide_up (values, 4), .launches = 1 };

  if (!b->training->load_in_4bit || b->layer.kind != LAYER_BLOCK || !b->tape->frozen)
    return (Packing){ 0 };
  packing.scale_bytes = 4 * blocks;
  packing.scale_read = 4 * (double) blocks;
  if (b->training->bnb_4bit_use_double_quant)
    { /* decoded to fp32, and their mean added, by kernels of their own */
      packing.scale_bytes = blocks + 4 * divide_up (blocks, SCALE_BLOCK) + 4;
      packing.scale_read += (double) packing.scale_bytes + 4 * (double) blocks;
      packing.scale_write = 8 * (double) blocks;
      packing.launches = 3;
    }
  return packing;
}

TensorDesc *
layer_add_packed (LayerBuilder *b, const char *suffix, Packing packing)
{
  TensorDesc *tensor = layer_add_tensor (b, suffix, (gint64) packing.elements, 1, 0, FALSE);

  tensor->packed = packing.values;
  tensor->scale_bytes = packing.scale_bytes;
  return tensor;
}

/* A module of an adapter of module NAME, with a weight. */
static gint
add_part (LayerBuilder *b, const char *name, const char *part, gint64 d0, gint64 d1)
{
  gint module = layer_add_module (b, tape_join (name, part));

  layer_add_tensor (b, "weight", d0, d1, 0, FALSE);
  return module;
}

static TapeValue
multiply (LayerBuilder *b, const char *name, TapeValue in, gint module, double rows, gint64 k,
          gint64 n)
{
  return tape_linear (
      b->tape, name, in,
      (LinearSpec){
          .module = module, .rows = rows, .k = (guint64) k, .n = (guint64) n, .batch = 1 });
}

/* A pass over IN alone. */
static TapeValue
add_pass (LayerBuilder *b, const char *name, TapeValue in)
{
  double    elements = tape_tensor (b->tape, in)->elements;
  TapeValue out;

  tape_map (b->tape, name, &in, 1, &elements, 1,
            (MapSpec){ .kind = KERNEL_ELEMENTWISE, .forward_launches = 1, .backward_launches = 1 },
            &out);
  return out;
}

/*
 * With c = m / |W + s B A|, a factor an output: (c - 1) times what the module made without its
 * bias, and s c times what the adapter made.
 */
static TapeValue
add_magnitude (LayerBuilder *b, const char *role, gint module, TapeValue base, TapeValue adapted,
               const LinearSpec *spec)
{
  double n = (double) spec->n;

  if (spec->bias)
    base = add_pass (b, tape_join (role, ".dora_less_bias"), base);
  base = tape_scale_columns (b->tape, tape_join (role, ".dora_base"), base, module, n);
  adapted = tape_scale_columns (b->tape, tape_join (role, ".dora_lora"), adapted, module, n);
  adapted = add_pass (b, tape_join (role, ".lora_scale"), adapted);
  return tape_add (b->tape, tape_join (role, ".dora_add"), base, adapted);
}

TapeValue
layer_add_adapter (LayerBuilder *b, const char *name, const char *role, TapeValue in, TapeValue out,
                   LinearSpec spec)
{
  gint64    r = b->training->lora_r, k = (gint64) spec.k, n = (gint64) spec.n;
  gboolean  dora = b->training->use_dora;
  gint      down, up, magnitude = -1;
  TapeValue x;

  b->tape->frozen = FALSE;
  down = add_part (b, name, ".lora_A", r, k);
  up = add_part (b, name, ".lora_B", n, r);
  if (dora)
    {
      magnitude = add_part (b, name, ".lora_magnitude_vector", n, 0);
      tape_weight_norm (b->tape, tape_join (role, ".weight_norm"), in,
                        (WeightNormSpec){ .k = (double) k,
                                          .n = (double) n,
                                          .rank = (double) r,
                                          .weight = spec.module,
                                          .down = down,
                                          .up = up,
                                          .packing = spec.packing });
    }
  x = multiply (b, tape_join (role, ".lora_A"), in, down, spec.rows, k, r);
  x = multiply (b, tape_join (role, ".lora_B"), x, up, spec.rows, r, n);
  x = dora ? add_magnitude (b, role, magnitude, out, x, &spec)
           : add_pass (b, tape_join (role, ".lora_scale"), x);
  b->tape->frozen = TRUE;
  return tape_add (b->tape, tape_join (role, ".lora_add"), out, x);
}
