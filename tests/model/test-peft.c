/*
 * LoRA, counted by hand: which parameters are trained, what a step computes and keeps, how MFU
 * counts it, and what is refused. Sources: Hu et al., arXiv:2106.09685; peft/tuners/lora/layer.py.
 * It does not test what strategies do with frozen parameters (tests/strategy), nor tensor groups
 * (test-peft-tensor.c).
 */
#include "../suite.h"
#include "fixture.h"

#include "base/intern.h"
#include "model/shape/peft.h"

#define S      128.0 /* tokens */
#define H      64.0
#define FF     256.0
#define VOCAB  1000.0
#define LAYERS 3
#define R      8.0

static TrainingOptions
lora (const char *targets)
{
  TrainingOptions options = training ((gint64) S, 1);

  options.peft = PEFT_LORA;
  options.lora_r = (gint64) R;
  options.lora_target_modules = (char *) targets;
  return options;
}

static ModelShape
small_gpt (void)
{
  return arch ("gpt", LAYERS, (gint64) H, 4, (gint64) FF, (gint64) VOCAB);
}

static Workload *
small_lora (const char *targets)
{
  ModelShape      shape = small_gpt ();
  TrainingOptions options = lora (targets);
  Workload       *workload = workload_new (&shape, &options);

  model_shape_clear (&shape);
  return workload;
}

/* An adapter of a module from K to N has R K and N R values; names match from the end. */
START_TEST (test_parameters)
{
  static const struct
  {
    const char *targets;
    double      of_a_block;
  } cases[] = {
    { "attn.c_attn", R * (H + 3 * H) },
    { "c_attn", R * (H + 3 * H) },
    { "c_proj", R * (H + H) + R * (FF + H) }, /* attention's and the MLP's */
    { "attn.c_proj, mlp.c_fc", R * (H + H) + R * (H + FF) },
    { "all-linear", R * (H + 3 * H) + R * (H + H) + 2 * R * (H + FF) },
  };
  ModelShape           shape = small_gpt ();
  TrainingOptions      plain = training ((gint64) S, 1);
  g_autoptr (Workload) all = workload_new (&shape, &plain);

  ck_assert_uint_eq (workload_n_trainable_parameters (all), workload_n_parameters (all));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Workload) workload = small_lora (cases[i].targets);
      double               adapters = LAYERS * cases[i].of_a_block;

      ck_assert_double_eq ((double) workload_n_trainable_parameters (workload), adapters);
      ck_assert_double_eq ((double) workload_n_parameters (workload),
                           (double) workload_n_parameters (all) + adapters);
    }
  model_shape_clear (&shape);
}
END_TEST

/* Tensors that are trained are the adapters', which are modules of their own behind the adapted. */
START_TEST (test_tensors)
{
  g_autoptr (Workload) workload = small_lora ("c_attn");
  const LayerDesc     *block = workload_layer (workload, 1);

  ck_assert_uint_eq (block->n_trainable, 2);
  ck_assert_str_eq (block->trainable[0].name, "attn.c_attn.lora_A.weight");
  ck_assert_str_eq (block->trainable[1].name, "attn.c_attn.lora_B.weight");
  ck_assert_uint_eq (block->trainable[0].shape[0], (guint64) R);
  ck_assert_uint_eq (block->trainable[0].shape[1], (guint64) H);
  ck_assert_uint_eq (block->trainable[1].shape[0], 3 * (guint64) H);
  ck_assert_uint_eq (block->trainable[1].shape[1], (guint64) R);
  ck_assert_str_eq (block->modules[1].name, "attn.c_attn");
  ck_assert_str_eq (block->modules[2].name, "attn.c_attn.lora_A");
  ck_assert_str_eq (block->modules[3].name, "attn.c_attn.lora_B");
  for (guint l = 0; l < workload_n_layers (workload); l++)
    {
      const LayerDesc *layer = workload_layer (workload, l);

      for (guint t = 0; t < layer->n_tensors; t++)
        ck_assert_int_eq (layer->tensors[t].frozen,
                          strstr (layer->tensors[t].name, "lora") == NULL);
    }
}
END_TEST

static double
product_flops (const KernelDesc *kernels, guint n)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    if (kernels[i].kind == KERNEL_MATMUL)
      sum += kernels[i].flops;
  return sum;
}

/*
 * A frozen matrix is used forwards and for the gradient of its input: 2 + 2 FLOPs a value and
 * token; one of an adapter has a gradient, too: 2 + 4. The embedding has no backward pass.
 */
START_TEST (test_flops)
{
  g_autoptr (Workload) workload = small_lora ("all-linear");
  double               block = 4 * H * H + 2 * H * FF, adapter = R * (6 * H + 2 * (H + FF));
  const LayerDesc     *embedding = workload_layer (workload, 0), *b = workload_layer (workload, 1);
  const LayerDesc     *head = workload_layer (workload, LAYERS + 1);

  ck_assert_double_eq (product_flops (b->forward, b->n_forward), 2 * S * (block + adapter));
  ck_assert_double_eq (product_flops (b->backward, b->n_backward), S * (2 * block + 4 * adapter));
  ck_assert_double_eq (product_flops (head->backward, head->n_backward), 2 * S * H * VOCAB);
  ck_assert_uint_eq (embedding->n_backward, 0);
  ck_assert_uint_eq (embedding->saved_bytes, 0);
  ck_assert_uint_eq (embedding->backward_bytes, 0);
}
END_TEST

static double
saved (const Workload *workload)
{
  return (double) workload_layer (workload, 1)->saved_bytes;
}

/*
 * What a block keeps, in bytes of 16 bits a token: the inputs of both norms and their statistics
 * (8 each), q, k, v, the output of flash attention and its row sums (4 a head), and GELU's input;
 * in full training also what both norms and GELU made, which the next products' weights need. LoRA
 * keeps of these what an adapter's A reads, and what it makes (R values).
 */
START_TEST (test_kept)
{
  ModelShape           shape = small_gpt ();
  TrainingOptions      plain = training ((gint64) S, 1);
  g_autoptr (Workload) all = workload_new (&shape, &plain);
  double always = S * (2 * (2 * H + 3 * H + H + FF) + 2 * 8 + 4 * 4), norm = S * 2 * H;
  static const struct
  {
    const char *targets;
    double      inputs, adapters; /* kept besides, in values a token; adapters */
  } cases[] = {
    { "c_attn", H, 1 }, { "attn.c_proj", 0, 1 }, /* reads flash attention's output */
    { "c_fc", H, 1 },   { "mlp.c_proj", FF, 1 }, { "all-linear", 2 * H + FF, 4 },
  };

  ck_assert_double_eq (saved (all), always + 2 * norm + S * 2 * FF);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Workload) workload = small_lora (cases[i].targets);

      ck_assert_double_eq (saved (workload),
                           always + S * 2 * (cases[i].inputs + cases[i].adapters * R));
    }
  model_shape_clear (&shape);
}
END_TEST

/*
 * An eager RMSNorm whose weight is frozen: no product with the normalised rows, no sum of it, and
 * the rows are not kept. Two launches of 16 less; of 5 e + 44 bytes read and 3 e + 32 written a
 * value, 3 e and e.
 */
START_TEST (test_frozen_norm)
{
  ModelShape           shape = arch ("llama", 2, (gint64) H, 4, (gint64) FF, (gint64) VOCAB);
  TrainingOptions      options = lora ("q_proj,v_proj");
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  const LayerDesc     *block = workload_layer (workload, 1);
  const KernelDesc    *norm = find_kernel (block->backward, block->n_backward, "norm2.backward");
  const KernelDesc    *sum = find_kernel (block->backward, block->n_backward, "norm2.backward.sum");

  ck_assert_uint_eq (norm->launches, 13);
  ck_assert_double_eq (norm->read_bytes, S * H * (2 * 2 + 40) + 2 * H);
  ck_assert_uint_eq (sum->launches, 1);
  ck_assert_double_eq (sum->read_bytes, S * H * 4);
  ck_assert_double_eq (norm->write_bytes, S * H * (2 * 2 + 32));
  model_shape_clear (&shape);
}
END_TEST

/* MFU: 4 FLOPs a frozen matrix's value and token, 6 an adapter's; attention as it is. */
START_TEST (test_model_flops)
{
  ModelShape           shape = small_gpt ();
  TrainingOptions      plain = training ((gint64) S, 1), options = lora ("all-linear");
  MeshOptions          whole = { .tp = 1 };
  g_autoptr (Workload) all = workload_new (&shape, &plain);
  double               adapters = LAYERS * R * (6 * H + 2 * (H + FF));
  double               matrices = LAYERS * (4 * H * H + 2 * H * FF) + H * VOCAB;
  double               attention = 12 * LAYERS * H * S;

  ck_assert_double_eq (flops_trained_per_token (&shape, &plain, &whole, FLOPS_PALM, (gint64) S),
                       6 * matrices + attention);
  ck_assert_double_eq (flops_trained_per_token (&shape, &options, &whole, FLOPS_PALM, (gint64) S),
                       4 * matrices + 6 * adapters + attention);
  ck_assert_double_eq (flops_trained_per_token (&shape, &options, &whole, FLOPS_6N, (gint64) S),
                       4 * (double) workload_n_parameters (all) + 6 * adapters);
  model_shape_clear (&shape);
}
END_TEST

/* ---- dropout --------------------------------------------------------------------------------- */

/* KEPT with OPTIONS, of which MASK bytes: drawn again it is a seed and an offset, 8 bytes each. */
static void
check_drawn_again (const ModelShape *shape, TrainingOptions options, double kept, double mask)
{
  g_autoptr (Workload) workload = NULL;

  options.lora_dropout_recompute = TRUE;
  workload = workload_new (shape, &options);
  ck_assert_double_eq (saved (workload), kept - mask + 16);
}

/*
 * Before an adapter: a kernel that reads K values of 2 bytes a token, writes as many and a mask of
 * a byte; backwards one that reads a gradient and the mask. A keeps what was dropped out, of which
 * each adapter has its own, and no longer the module's input, which nobody else keeps. Behind an
 * adapter: the same over what B makes, N values, of which the mask alone is kept.
 */
START_TEST (test_dropout)
{
  static const struct
  {
    LoraDropoutPosition position;
    double              values, kept; /* of a token; bytes more than without */
  } cases[] = {
    { LORA_DROPOUT_PRE, H, H },
    { LORA_DROPOUT_POST, 3 * H, 3 * H },
  };
  ModelShape           shape = small_gpt ();
  TrainingOptions      options = lora ("c_attn");
  g_autoptr (Workload) plain = workload_new (&shape, &options);

  options.lora_dropout = 0.1;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Workload) workload = NULL;
      const LayerDesc     *b;
      const KernelDesc    *forward, *backward;
      double               n = S * cases[i].values;

      options.lora_dropout_position = (gint) cases[i].position;
      workload = workload_new (&shape, &options);
      b = workload_layer (workload, 1);
      forward = find_kernel (b->forward, b->n_forward, "attn.qkv.lora_dropout");
      backward = find_kernel (b->backward, b->n_backward, "attn.qkv.lora_dropout.backward");
      ck_assert_uint_eq (b->n_forward, workload_layer (plain, 1)->n_forward + 1);
      ck_assert_uint_eq (b->n_backward, workload_layer (plain, 1)->n_backward + 1);
      ck_assert_double_eq (forward->read_bytes, 2 * n);
      ck_assert_double_eq (forward->write_bytes, 3 * n);
      ck_assert_double_eq (backward->read_bytes, 3 * n);
      ck_assert_double_eq (backward->write_bytes, 2 * n);
      ck_assert_double_eq (saved (workload), saved (plain) + S * cases[i].kept);
      check_drawn_again (&shape, options, saved (workload), n);
    }
  model_shape_clear (&shape);
}
END_TEST

/*
 * A Llama's q, k and v take one input, which adapters without dropout keep once, 2 H bytes a token;
 * with it each keeps a copy and a mask, 3 (2 + 1) H.
 */
START_TEST (test_dropout_copies)
{
  ModelShape           shape = arch ("llama", 2, (gint64) H, 4, (gint64) FF, (gint64) VOCAB);
  TrainingOptions      options = lora ("q_proj,k_proj,v_proj");
  g_autoptr (Workload) plain = workload_new (&shape, &options), dropped = NULL;

  options.lora_dropout = 0.05;
  dropped = workload_new (&shape, &options);
  ck_assert_double_eq (saved (dropped), saved (plain) + S * (3 * 3 - 2) * H);
  model_shape_clear (&shape);
}
END_TEST

/* ---- modules that are joined ----------------------------------------------------------------- */

/*
 * Three modules from H to H of one input: an A each, or one, whose product, input behind dropout
 * and R numbers a token are there once.
 */
START_TEST (test_joined)
{
  ModelShape      shape = arch ("llama", 2, (gint64) H, 4, (gint64) FF, (gint64) VOCAB);
  TrainingOptions apart = lora ("q_proj,k_proj,v_proj"), joined = lora ("q_proj+k_proj+v_proj");
  g_autoptr (Workload) three = NULL, one = NULL;
  const LayerDesc     *a, *b;

  apart.lora_dropout = joined.lora_dropout = 0.1;
  three = workload_new (&shape, &apart);
  one = workload_new (&shape, &joined);
  a = workload_layer (three, 1);
  b = workload_layer (one, 1);
  ck_assert_double_eq ((double) a->trainable_elements, 6 * R * H);
  ck_assert_double_eq ((double) b->trainable_elements, 4 * R * H);
  ck_assert_double_eq (product_flops (b->forward, b->n_forward),
                       product_flops (a->forward, a->n_forward) - 2 * 2 * S * R * H);
  ck_assert_double_eq (saved (one), saved (three) - 2 * S * (3 * H + 2 * R));
  model_shape_clear (&shape);
}
END_TEST

/* ---- 4 bits ---------------------------------------------------------------------------------- */

#define ATTN (H * 3 * H) /* values of the matrix attn.c_attn: 12288, 192 blocks of 64 */

static Workload *
small_qlora (gboolean double_quant)
{
  ModelShape      shape = small_gpt ();
  TrainingOptions options = lora ("c_attn");
  Workload       *workload;

  options.load_in_4bit = TRUE;
  options.bnb_4bit_use_double_quant = double_quant;
  workload = workload_new (&shape, &options);
  model_shape_clear (&shape);
  return workload;
}

/*
 * Of the frozen matrices of a block (12 H^2 values with F = 4 H) half a byte a value is kept, in
 * elements of two; biases, norms, embeddings, head and adapters are as they were. The model has as
 * many parameters as before. A scale of 4 bytes each 64 values; quantised, of 1 byte, and 4 each
 * 256 of those, and 4 for their mean.
 */
START_TEST (test_packed)
{
  g_autoptr (Workload) plain = small_lora ("c_attn"), packed = small_qlora (FALSE),
                       nested = small_qlora (TRUE);
  const TensorDesc *c_attn = &workload_layer (packed, 1)->tensors[2];
  double            values = LAYERS * 12 * H * H;

  ck_assert_str_eq (c_attn->name, "attn.c_attn.weight");
  ck_assert_double_eq ((double) c_attn->elements, ATTN / 4);
  ck_assert_double_eq ((double) c_attn->packed, ATTN);
  ck_assert_double_eq ((double) workload_n_parameters (packed),
                       (double) workload_n_parameters (plain) - values * 3 / 4);
  ck_assert_uint_eq (workload_n_parameters_of_model (packed),
                     workload_n_parameters_of_model (plain));
  ck_assert_uint_eq (workload_n_trainable_parameters (packed),
                     workload_n_trainable_parameters (plain));
  ck_assert_uint_eq (workload_scale_bytes (plain), 0);
  ck_assert_double_eq ((double) workload_scale_bytes (packed), values / 64 * 4);
  /* 192, 64, 256 and 256 scales: one block of 256 each */
  ck_assert_double_eq ((double) workload_scale_bytes (nested), values / 64 + LAYERS * 4 * (4 + 4));
}
END_TEST

/*
 * A matrix is made whole before its product, and again before that of its input's gradient: half a
 * byte and a scale's part are read, two bytes written. Its tensor is there meanwhile.
 */
START_TEST (test_dequantized)
{
  g_autoptr (Workload) packed = small_qlora (FALSE), nested = small_qlora (TRUE);
  const LayerDesc     *block = workload_layer (packed, 1);
  const KernelDesc *forward = find_kernel (block->forward, block->n_forward, "attn.qkv.dequantize");
  const KernelDesc *backward =
      find_kernel (block->backward, block->n_backward, "attn.qkv.dequantize");
  guint n = 0;

  ck_assert_double_eq (forward->read_bytes, ATTN / 2 + ATTN / 64 * 4);
  ck_assert_double_eq (forward->write_bytes, ATTN * 2);
  ck_assert_uint_eq (forward->launches, 1);
  ck_assert_double_eq (backward->read_bytes, forward->read_bytes);
  ck_assert_str_eq (forward[1].name, "attn.qkv");
  ck_assert_str_eq (backward[1].name, "attn.qkv.dgrad");
  for (guint k = 0; k < block->n_forward; k++)
    n += g_str_has_suffix (block->forward[k].name, ".dequantize");
  ck_assert_uint_eq (n, 4); /* not the adapter's */
  block = workload_layer (nested, 1);
  forward = find_kernel (block->forward, block->n_forward, "attn.qkv.dequantize");
  ck_assert_uint_eq (forward->launches, 3);
}
END_TEST

static const char *
refusal_of (TrainingOptions options)
{
  ModelShape           shape = small_gpt ();
  g_autoptr (DiagList) diags = diag_list_new ();
  const char          *first = NULL;

  if (!workload_check (&shape, &options, NULL, diags))
    first = intern_text (diag_list_first_message (diags));
  model_shape_clear (&shape);
  return first;
}

START_TEST (test_packed_refusals)
{
  TrainingOptions options = lora ("all-linear");

  options.load_in_4bit = TRUE;
  ck_assert_ptr_null (refusal_of (options));
  options.precision = PRECISION_FP32;
  ck_assert_str_eq (refusal_of (options), "'load_in_4bit' needs products in 16 bits");
}
END_TEST

/* ---- DoRA ------------------------------------------------------------------------------------ */

/*
 * A magnitude for each output is trained besides. Forwards B A is computed (2 k^2 r + 2 k n r), not
 * backwards; what the module (without its bias) and the adapter made is kept for the gradient of
 * the magnitude. Six passes over the outputs where LoRA has two.
 */
START_TEST (test_dora)
{
  ModelShape           shape = small_gpt ();
  TrainingOptions      options = lora ("c_attn");
  g_autoptr (Workload) plain = workload_new (&shape, &options), dora = NULL;
  const LayerDesc     *a, *b;
  double               n = 3 * H;
  guint                passes = 0;

  options.use_dora = TRUE;
  dora = workload_new (&shape, &options);
  a = workload_layer (plain, 1);
  b = workload_layer (dora, 1);
  ck_assert_double_eq ((double) b->trainable_elements, (double) a->trainable_elements + n);
  ck_assert_str_eq (b->trainable[2].name, "attn.c_attn.lora_magnitude_vector.weight");
  ck_assert_double_eq (product_flops (b->forward, b->n_forward),
                       product_flops (a->forward, a->n_forward) + 2 * R * (H * H + H * n));
  ck_assert_double_eq (product_flops (b->backward, b->n_backward),
                       product_flops (a->backward, a->n_backward));
  ck_assert_double_eq ((double) b->saved_bytes, (double) a->saved_bytes + 2 * S * 2 * n);
  for (guint k = 0; k < b->n_forward; k++)
    passes += b->forward[k].write_bytes == S * 2 * n
              && g_str_has_prefix (b->forward[k].name, "attn.qkv.")
              && strstr (b->forward[k].name, "weight_norm") == NULL;
  ck_assert_uint_eq (passes, 7); /* B's product is one of them */
  model_shape_clear (&shape);
}
END_TEST

/*
 * Behind dropout what the module made is of another input: DoRA multiplies W once more, 2 K N FLOPs
 * a token forwards and as many for the input's gradient, and has no bias to take off. What it
 * scales stays what it was, kept in place of the module's; a copy and a mask of the input come
 * besides, and of weights in 4 bits the matrix, 2 K N bytes.
 */
START_TEST (test_dora_dropout)
{
  ModelShape      shape = small_gpt ();
  TrainingOptions options = lora ("c_attn");
  const double    n = 3 * H;

  options.use_dora = TRUE;
  for (guint packed = 0; packed < 2; packed++)
    {
      g_autoptr (Workload) plain = NULL, dropped = NULL;
      const LayerDesc     *a, *b;

      options.load_in_4bit = packed == 1;
      options.lora_dropout = 0;
      plain = workload_new (&shape, &options);
      options.lora_dropout = 0.1;
      dropped = workload_new (&shape, &options);
      a = workload_layer (plain, 1);
      b = workload_layer (dropped, 1);
      ck_assert_double_eq (product_flops (b->forward, b->n_forward),
                           product_flops (a->forward, a->n_forward) + 2 * S * H * n);
      ck_assert_double_eq (product_flops (b->backward, b->n_backward),
                           product_flops (a->backward, a->n_backward) + 2 * S * H * n);
      ck_assert_double_eq (saved (dropped), saved (plain) + S * H + packed * 2 * H * n);
    }
  model_shape_clear (&shape);
}
END_TEST

/* What two modules share is of one input; DoRA's norms are of one matrix. */
START_TEST (test_joined_refusals)
{
  TrainingOptions options = lora ("c_attn+attn.c_proj");

  ck_assert_str_eq (refusal_of (options), "'lora_target_modules' joins 'attn.c_proj' to a module "
                                          "that takes another input");
  options.lora_target_modules = (char *) "c_attn+q_proj";
  ck_assert_str_eq (refusal_of (options),
                    "'lora_target_modules' names 'q_proj', which 'gpt' does not have");
  options.lora_target_modules = (char *) "c_attn+c_fc";
  options.use_dora = TRUE;
  ck_assert_str_eq (refusal_of (options),
                    "'use_dora' does not go with modules that '+' joins: not modelled");
}
END_TEST

/* Every target that is not there is named, with what there is. */
START_TEST (test_wrong_targets)
{
  ModelShape           shape = small_gpt ();
  TrainingOptions      options = lora ("q_proj,c_attn,attn,v_proj");
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *text = NULL;

  ck_assert (!workload_check (&shape, &options, NULL, diags));
  text = diag_list_format (diags, FALSE);
  ck_assert_uint_eq (diag_list_n_errors (diags), 3);
  ck_assert_ptr_nonnull (strstr (text, "names 'q_proj'"));
  ck_assert_ptr_nonnull (strstr (text, "names 'attn'"));
  ck_assert_ptr_nonnull (strstr (text, "names 'v_proj'"));
  ck_assert_ptr_nonnull (
      strstr (text, "attn.c_attn, attn.c_proj, mlp.c_fc, mlp.c_proj, or all-linear"));
  model_shape_clear (&shape);
}
END_TEST

START_TEST (test_no_targets)
{
  ModelShape           shape = small_gpt ();
  TrainingOptions      options = lora (" , ");
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert (!workload_check (&shape, &options, NULL, diags));
  ck_assert_str_eq (diag_list_first_message (diags), "'lora_target_modules' names no module");
  model_shape_clear (&shape);
}
END_TEST

/*
 * peft's prepare_model_for_kbit_training: of table and head 4 bytes a value in place of 2, with no
 * scales; what a block hands on, and a checkpoint keeps, has 4 bytes a feature. Autocast narrows
 * the head once: it reads 4 bytes a value and writes 2, which are there until the gradient of the
 * head's input is made. The norm's fp32 input is what came: no copy of it.
 */
START_TEST (test_wide_stream)
{
  ModelShape           shape = arch ("llama", 2, (gint64) H, 4, (gint64) FF, (gint64) VOCAB);
  TrainingOptions      plain = lora ("q_proj"), wide;
  g_autoptr (Workload) a = NULL, b = NULL;
  const LayerDesc     *table, *block, *head;
  const KernelDesc    *narrow;

  plain.load_in_4bit = TRUE;
  plain.checkpointing = CHECKPOINT_FULL;
  wide = plain;
  wide.prepare_model_for_kbit_training = TRUE;
  a = workload_new (&shape, &plain);
  b = workload_new (&shape, &wide);
  table = workload_layer (b, 0);
  block = workload_layer (b, 1);
  head = workload_layer (b, 3);
  narrow = find_kernel (head->forward, head->n_forward, "head.narrow");
  ck_assert_double_eq ((double) table->tensors[0].elements, 2 * VOCAB * H);
  ck_assert_double_eq ((double) workload_n_parameters (b) - (double) workload_n_parameters (a),
                       2 * VOCAB * H);
  ck_assert_uint_eq (workload_n_parameters_of_model (b), workload_n_parameters_of_model (a));
  ck_assert_uint_eq (workload_scale_bytes (b), workload_scale_bytes (a));
  ck_assert_double_eq ((double) table->output_bytes, 4 * S * H);
  ck_assert_double_eq ((double) block->output_bytes, 4 * S * H);
  ck_assert_double_eq ((double) workload_layer (a, 1)->saved_bytes, 2 * S * H);
  ck_assert_double_eq ((double) block->saved_bytes, 4 * S * H);
  ck_assert_double_eq (narrow->read_bytes, 4 * VOCAB * H);
  ck_assert_double_eq (narrow->write_bytes, 2 * VOCAB * H);
  ck_assert_uint_eq (head->n_backward, workload_layer (a, 3)->n_backward);
  ck_assert_double_eq ((double) head->saved_bytes - (double) workload_layer (a, 3)->saved_bytes,
                       2 * VOCAB * H);
  model_shape_clear (&shape);
}
END_TEST

SUITE_MAIN (peft)
{
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_parameters);
  tcase_add_test (tcase, test_tensors);
  tcase_add_test (tcase, test_flops);
  tcase_add_test (tcase, test_kept);
  tcase_add_test (tcase, test_frozen_norm);
  tcase_add_test (tcase, test_model_flops);
  tcase_add_test (tcase, test_packed);
  tcase_add_test (tcase, test_dequantized);
  tcase_add_test (tcase, test_packed_refusals);
  tcase_add_test (tcase, test_wide_stream);
  tcase_add_test (tcase, test_dora);
  tcase_add_test (tcase, test_dora_dropout);
  tcase_add_test (tcase, test_dropout);
  tcase_add_test (tcase, test_dropout_copies);
  tcase_add_test (tcase, test_joined);
  tcase_add_test (tcase, test_joined_refusals);
  tcase_add_test (tcase, test_wrong_targets);
  tcase_add_test (tcase, test_no_targets);
  return run_case ("peft", tcase);
}
