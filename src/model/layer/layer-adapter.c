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

/*
 * Transformer Engine's modules that are made under fp8_model_init have no other weight than its
 * copy, or copies, in fp8; NeMo's and Megatron-Bridge's recipes make them so (fp8_params,
 * fp8_param_gather).
 */
static gboolean
keeps_fp8_alone (const LayerBuilder *b, gboolean fp8)
{
  return fp8 && b->tape->frozen && b->tape->fp8.cached;
}

Packing
layer_packing (const LayerBuilder *b, gint64 k, gint64 n, gboolean fp8)
{
  guint64 values = (guint64) (k * n), blocks = divide_up (values, NF4_BLOCK);
  Packing packing = { .values = values, .elements = divide_up (values, 4), .launches = 1 };

  if (keeps_fp8_alone (b, fp8))
    return (Packing){ .values = values, .elements = divide_up (values, 2) };
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

Packing
layer_wide_packing (const LayerBuilder *b, gint64 k, gint64 n)
{
  guint64 values = (guint64) (k * n);

  if (!training_has_wide_stream (b->training))
    return (Packing){ 0 };
  return (Packing){ .values = values, .elements = 2 * values, .launches = 1, .stays = TRUE };
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
add_part (LayerBuilder *b, const char *name, const char *part, gint64 d0, gint64 d1,
          Division division)
{
  gint module = layer_add_module (b, tape_join (name, part));

  layer_add_tensor (b, "weight", d0, d1, 0, FALSE)->replicated = division == WHOLE && b->tp > 1;
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

/* ---- over a tensor group: what is divided how stands in model/shape/peft.h ---- */

/* These products' collectives are plain ones, whatever those of the module are. */
static CommGroup
adapter_group (const LayerBuilder *b)
{
  CommGroup group = layer_tensor_group (b);

  group.userbuffers = group.sliced = group.fp8 = FALSE;
  group.kept = TRUE;
  return group;
}

/*
 * The input of an A that is divided by outputs, whole on each rank: that of the module, if it has
 * that. The gradient is added up over the group.
 */
static TapeValue
whole_input (LayerBuilder *b, const char *role, TapeValue in)
{
  TapeValue piece;

  if (b->mesh->sp != 1)
    {
      tape_comm_copy (b->tape, tape_join (role, ".lora_copy"), in, adapter_group (b));
      return in;
    }
  if (tape_comm_keep_whole (b->tape, in, &piece))
    return in;
  if (b->whole == 0 || b->adapted != piece)
    {
      b->adapted = piece;
      b->whole =
          tape_comm_gather (b->tape, tape_join (role, ".lora_gather"), piece, adapter_group (b));
    }
  return b->whole;
}

/* The R numbers a token that A made, on each rank: pieces of them, or a part of their sum. */
static TapeValue
complete_narrow (LayerBuilder *b, const char *role, TapeValue x, Division division)
{
  if (division == WHOLE)
    return x;
  if (division == COLUMNS)
    x = tape_comm_gather_columns (b->tape, tape_join (role, ".lora_A.gather"), x,
                                  adapter_group (b));
  else
    tape_comm_reduce (b->tape, tape_join (role, ".lora_A.reduce"), x, adapter_group (b));
  tape_comm_copy (b->tape, tape_join (role, ".lora_B.copy"), x, adapter_group (b));
  return x;
}

/* What B made of each token, a rank's features, where the module's output is on the stream. */
static TapeValue
complete_wide (LayerBuilder *b, const char *role, TapeValue x)
{
  const CommGroup group = adapter_group (b);

  if (b->mesh->sp == 1 && b->training->lora_a2a)
    return tape_comm_exchange (b->tape, tape_join (role, ".lora_B.exchange"), x,
                               tape_tensor (b->tape, x)->elements, group);
  x = tape_comm_gather_columns (b->tape, tape_join (role, ".lora_B.gather"), x, group);
  return b->mesh->sp == 1 ? tape_comm_split (b->tape, tape_join (role, ".lora_B.split"), x, group)
                          : x;
}

/* s (IN A') B' without s. */
static TapeValue
add_factors (LayerBuilder *b, const char *role, TapeValue in, Division division,
             const LinearSpec *spec, const gint *modules)
{
  const gint64 r = b->training->lora_r, k = (gint64) spec->k, n = (gint64) spec->n;
  const gint64 tp = division == WHOLE ? 1 : b->tp;
  TapeValue    x = division == COLUMNS ? whole_input (b, role, in) : in;

  b->tape->counted = division == WHOLE ? layer_whole_share (b, spec->rows) : 1;
  x = multiply (b, tape_join (role, ".lora_A"), x, modules[0], spec->rows, k,
                division == COLUMNS ? r / tp : r);
  x = complete_narrow (b, role, x, division);
  x = multiply (b, tape_join (role, ".lora_B"), x, modules[1], spec->rows, r,
                division == ROWS ? n / tp : n);
  b->tape->counted = 1;
  return division == ROWS ? complete_wide (b, role, x) : x;
}

/* A and B, of a rank's K inputs and N outputs of a module that is divided so. */
static void
add_parts (LayerBuilder *b, const char *name, Division division, gint64 k, gint64 n, gint *modules)
{
  const gint64 r = b->training->lora_r;

  modules[0] = add_part (b, name, ".lora_A", division == COLUMNS ? r / b->tp : r, k, division);
  modules[1] = add_part (b, name, ".lora_B", division == ROWS ? n / b->tp : n, r, division);
}

TapeValue
layer_add_adapter (LayerBuilder *b, const char *name, const char *role, TapeValue in, TapeValue out,
                   Division division, LinearSpec spec)
{
  gint64    k = (gint64) spec.k, n = (gint64) spec.n;
  gboolean  dora = b->training->use_dora;
  gint      modules[2], magnitude = -1;
  TapeValue x;

  b->tape->frozen = FALSE;
  add_parts (b, name, division, k, n, modules);
  if (dora)
    {
      magnitude = add_part (b, name, ".lora_magnitude_vector", n, 0, division);
      tape_weight_norm (b->tape, tape_join (role, ".weight_norm"), in,
                        (WeightNormSpec){ .k = (double) k,
                                          .n = (double) n,
                                          .rank = (double) b->training->lora_r,
                                          .weight = spec.module,
                                          .down = modules[0],
                                          .up = modules[1],
                                          .packing = spec.packing });
    }
  x = add_factors (b, role, in, division, &spec, modules);
  x = dora ? add_magnitude (b, role, magnitude, out, x, &spec)
           : add_pass (b, tape_join (role, ".lora_scale"), x);
  b->tape->frozen = TRUE;
  return tape_add (b->tape, tape_join (role, ".lora_add"), out, x);
}
