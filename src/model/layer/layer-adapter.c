/*
 * Adapters of a block's linear modules, and frozen weights in 4 bits. Kernels and their order are
 * those of peft/tuners/lora/layer.py and dora.py; what is packed is bitsandbytes' Linear4bit.
 */
#include "model/layer/layer-parts-private.h"
#include "model/shape/peft.h"

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
  return fp8 && b->tape->frozen && b->tape->fp8.alone;
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

static gboolean
drops (const LayerBuilder *b, LoraDropoutPosition position)
{
  return b->training->lora_dropout > 0 && b->training->lora_dropout_position == (gint) position;
}

/* X, or a copy of it that is dropped out: each adapter has its own, and a mask, unless it is drawn
   once more. */
static TapeValue
drop_out (LayerBuilder *b, const char *role, TapeValue x, LoraDropoutPosition position)
{
  return drops (b, position) ? tape_dropout (b->tape, tape_join (role, ".lora_dropout"), x,
                                             b->training->lora_dropout_recompute)
                             : x;
}

/*
 * The input of an A that is divided by outputs, whole on each rank: that of the module, if it has
 * that. The gradient is added up over the group.
 */
static TapeValue
whole_input (LayerBuilder *b, const char *role, TapeValue in)
{
  const gboolean drop = drops (b, LORA_DROPOUT_PRE);
  TapeValue      piece;

  if (b->mesh->sp != 1)
    {
      in = drop_out (b, role, in, LORA_DROPOUT_PRE);
      tape_comm_copy (b->tape, tape_join (role, ".lora_copy"), in, adapter_group (b));
      return in;
    }
  if (tape_comm_is_whole (b->tape, in))
    {
      if (!drop)
        tape_comm_keep_whole (b->tape, in);
      return drop_out (b, role, in, LORA_DROPOUT_PRE);
    }
  piece = tape_comm_piece (b->tape, in);
  if (drop || b->whole == 0 || b->adapted != piece)
    {
      b->adapted = piece;
      piece = drop_out (b, role, piece, LORA_DROPOUT_PRE);
      b->whole =
          tape_comm_gather (b->tape, tape_join (role, ".lora_gather"), piece, adapter_group (b));
    }
  return b->whole;
}

/* What A takes. With one factor whole, an A that is takes the tokens of its rank. */
static TapeValue
adapter_input (LayerBuilder *b, const char *role, TapeValue in, Division division)
{
  if (division != COLUMNS)
    return drop_out (b, role, in, LORA_DROPOUT_PRE);
  if (b->training->fully_sharded_loras)
    return whole_input (b, role, in);
  return drop_out (b, role, tape_comm_piece (b->tape, in), LORA_DROPOUT_PRE);
}

/* The R numbers a token that A made, on each rank: pieces of them, or a part of their sum. */
static TapeValue
complete_narrow (LayerBuilder *b, const char *role, TapeValue x, Division division)
{
  if (division == COLUMNS)
    x = tape_comm_gather_columns (b->tape, tape_join (role, ".lora_A.gather"), x,
                                  adapter_group (b));
  else
    tape_comm_reduce (b->tape, tape_join (role, ".lora_A.reduce"), x, adapter_group (b));
  tape_comm_copy (b->tape, tape_join (role, ".lora_B.copy"), x, adapter_group (b));
  return x;
}

/*
 * The same where one factor is whole: as before and behind any product that Megatron-Core divides.
 * What a whole A made is of all tokens, or of the rank's, which are gathered; a divided A makes
 * parts of a sum.
 */
static TapeValue
complete_plainly (LayerBuilder *b, const char *role, TapeValue x, Division division, gboolean piece)
{
  CommGroup group = adapter_group (b);

  group.kept = b->training->traits.keeps_gathered;
  if (division == COLUMNS && piece)
    return tape_comm_gather (b->tape, tape_join (role, ".lora_B.gather"), x, group);
  if (division == COLUMNS)
    tape_comm_copy (b->tape, tape_join (role, ".lora_B.copy"), x, group);
  else if (b->mesh->sp == 1)
    return tape_comm_scatter (b->tape, tape_join (role, ".lora_A.scatter"), x, group);
  else
    tape_comm_reduce (b->tape, tape_join (role, ".lora_A.reduce"), x, group);
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

/* X times a weight that every rank has whole. */
static TapeValue
multiply_whole (LayerBuilder *b, const char *name, TapeValue x, gint module, double rows, gint64 k,
                gint64 n)
{
  b->tape->counted = layer_whole_share (b, rows);
  x = multiply (b, name, x, module, rows, k, n);
  b->tape->counted = 1;
  return x;
}

/* An adapter's way from the module's input IN to its output. */
typedef struct
{
  const char       *name, *role; /* of the module */
  Division          division;
  const LinearSpec *spec;
  TapeValue         in;
  gboolean          both;  /* A and B are divided, where the module is */
  gboolean          piece; /* A takes the rank's tokens of IN, which was gathered */
  gint              modules[2];
} Adapter;

static gboolean
follows_stream (const LayerBuilder *b, const Adapter *self)
{
  return self->division == ROWS && b->mesh->sp == 1 && !self->both;
}

/* R numbers a token that A makes of X, on each rank. */
static TapeValue
add_down (LayerBuilder *b, const Adapter *self, TapeValue x)
{
  const char  *name = tape_join (self->role, ".lora_A");
  const gint64 r = b->training->lora_r, k = (gint64) self->spec->k;
  const double rows = self->spec->rows;

  if (self->both)
    return complete_narrow (
        b, self->role,
        multiply (b, name, x, self->modules[0], rows, k, self->division == COLUMNS ? r / b->tp : r),
        self->division);
  if (self->division == ROWS)
    x = multiply (b, name, x, self->modules[0], rows, k, r);
  else
    x = multiply_whole (b, name, x, self->modules[0], self->piece ? rows / (double) b->tp : rows, k,
                        r);
  return self->division == WHOLE ? x
                                 : complete_plainly (b, self->role, x, self->division, self->piece);
}

/* What B makes of these, where the module's output is. */
static TapeValue
add_up (LayerBuilder *b, const Adapter *self, TapeValue x)
{
  const char  *name = tape_join (self->role, ".lora_B");
  const gint64 r = b->training->lora_r, n = (gint64) self->spec->n;
  const double rows = self->spec->rows;

  if (self->division == COLUMNS)
    return multiply (b, name, x, self->modules[1], rows, r, n);
  if (!self->both)
    return multiply_whole (b, name, x, self->modules[1],
                           follows_stream (b, self) ? rows / (double) b->tp : rows, r, n);
  return complete_wide (b, self->role, multiply (b, name, x, self->modules[1], rows, r, n / b->tp));
}

/* B, and A, unless it is there: of a rank's inputs and outputs of the module. */
static void
add_parts (LayerBuilder *b, Adapter *self, gboolean shared)
{
  const gint64 r = b->training->lora_r, k = (gint64) self->spec->k, n = (gint64) self->spec->n;
  Division     down = self->both || self->division == ROWS ? self->division : WHOLE;
  Division     up = self->both || self->division == COLUMNS ? self->division : WHOLE;

  if (!shared)
    self->modules[0] =
        add_part (b, self->name, ".lora_A", down == COLUMNS ? r / b->tp : r, k, down);
  self->modules[1] = add_part (b, self->name, ".lora_B", up == ROWS ? n / b->tp : n, r, up);
}

/*
 * What DoRA scales by c - 1: what the module made, or, behind dropout, a product of its own of what
 * A takes (peft/tuners/lora/variants.py). Of weights in 4 bits the matrix of the norms is used, and
 * kept for the gradient.
 */
static TapeValue
base_of_dora (LayerBuilder *b, const char *role, TapeValue x, TapeValue out, LinearSpec *spec)
{
  const gint64 k = (gint64) spec->k, n = (gint64) spec->n;

  if (!drops (b, LORA_DROPOUT_PRE))
    return out;
  b->tape->frozen = TRUE;
  out = multiply (b, tape_join (role, ".dora_product"), x, spec->module, spec->rows, k, n);
  if (spec->packing.elements > 0)
    tape_add_aux (b->tape, "dora.weight", b->tape->e * (double) (k * n), FALSE);
  b->tape->frozen = FALSE;
  spec->bias = FALSE;
  return out;
}

/* The sum of DoRA's two terms: of OUT, what the module made, and of X, which A takes. */
static TapeValue
add_dora (LayerBuilder *b, const Adapter *self, TapeValue out, TapeValue x)
{
  LinearSpec spec = *self->spec;
  gint       magnitude =
      add_part (b, self->name, ".lora_magnitude_vector", (gint64) spec.n, 0, self->division);
  TapeValue base;

  tape_weight_norm (b->tape, tape_join (self->role, ".weight_norm"), self->in,
                    (WeightNormSpec){ .k = (double) spec.k,
                                      .n = (double) spec.n,
                                      .rank = (double) b->training->lora_r,
                                      .weight = spec.module,
                                      .down = self->modules[0],
                                      .up = self->modules[1],
                                      .packing = spec.packing });
  base = base_of_dora (b, self->role, x, out, &spec);
  x = drop_out (b, self->role, add_up (b, self, add_down (b, self, x)), LORA_DROPOUT_POST);
  return add_magnitude (b, self->role, magnitude, base, x, &spec);
}

/* LoRA's term. Modules that a target joins share what A made. */
static TapeValue
add_lora (LayerBuilder *b, const Adapter *self, gboolean shared)
{
  TapeValue x;

  if (!shared)
    {
      x = adapter_input (b, self->role, self->in, self->division);
      b->joined = peft_joined (b->training, self->name);
      b->joined_in = self->in;
      b->joined_narrow = add_down (b, self, x);
    }
  x = drop_out (b, self->role, add_up (b, self, b->joined_narrow), LORA_DROPOUT_POST);
  return add_pass (b, tape_join (self->role, ".lora_scale"), x);
}

TapeValue
layer_add_adapter (LayerBuilder *b, const char *name, const char *role, TapeValue in, TapeValue out,
                   Division division, LinearSpec spec)
{
  const gboolean both = division != WHOLE && (b->tp == 1 || b->training->fully_sharded_loras);
  const gboolean shared =
      b->joined > 0 && b->joined == peft_joined (b->training, name) && b->joined_in == in;
  Adapter   self = { .name = name,
                     .role = role,
                     .division = division,
                     .spec = &spec,
                     .in = in,
                     .both = both,
                     .piece = !both && tape_comm_piece (b->tape, in) != in };
  TapeValue x;

  b->tape->frozen = FALSE;
  add_parts (b, &self, shared);
  x = b->training->use_dora ? add_dora (b, &self, out, adapter_input (b, role, in, division))
                            : add_lora (b, &self, shared);
  b->tape->frozen = TRUE;
  return tape_add (b->tape, tape_join (role, ".lora_add"), out, x);
}
