/*
 * Linear layers in fp8, counted by hand: which products are, the traffic of the casts, what is kept
 * for the backward pass, and what a tensor group gathers. Sources: fp8.h. It does not test
 * what products and casts cost on a GPU, nor the order in which memory comes and goes (layer-memory
 * runs every recipe).
 */
#include "../suite.h"
#include "fixture.h"

#include "model/layer/fp8.h"

#define M     256.0 /* tokens */
#define H     128.0
#define FF    512.0
#define VOCAB 1024

static ModelShape
gpt_of (double ff)
{
  return arch ("gpt", 2, (gint64) H, 4, (gint64) ff, VOCAB);
}

static TrainingOptions
recipe (Fp8Kind kind)
{
  TrainingOptions options = training ((gint64) M, 1);

  options.fp8_recipe = kind;
  return options;
}

static Workload *
make_wide (const TrainingOptions *options, gint64 tp, double ff)
{
  ModelShape  shape = gpt_of (ff);
  MeshOptions mesh = { .tp = tp, .sp = tp > 1, .pp = 1, .cp = 1, .vp = 1, .ep = 1 };
  Workload   *workload;

  mesh.routing_skew = 1;
  workload = workload_new_stage (&shape, options, &mesh, 0);
  model_shape_clear (&shape);
  return workload;
}

static Workload *
make (const TrainingOptions *options, gint64 tp)
{
  return make_wide (options, tp, FF);
}

static guint
count_fp8 (const KernelDesc *kernels, guint n, double *flops)
{
  guint found = 0;

  for (guint i = 0; i < n; i++)
    if (kernels[i].dtype == DTYPE_FP8)
      {
        ck_assert_int_eq (kernels[i].kind, KERNEL_MATMUL);
        *flops += kernels[i].flops;
        found++;
      }
  return found;
}

/*
 * A block's four linear layers have one product forwards and two backwards, of 2 and 4 FLOPs a
 * weight and token; embedding, head and attention have none.
 */
START_TEST (test_products)
{
  TrainingOptions      options = recipe ((Fp8Kind) _i), plain = recipe (FP8_NONE);
  g_autoptr (Workload) a = make (&plain, 1), b = make (&options, 1);
  const double         weights = H * 3 * H + H * H + 2 * H * FF;

  ck_assert_double_eq (workload_matrix_flops (a), workload_matrix_flops (b));
  for (guint l = 0; l < workload_n_layers (b); l++)
    {
      const LayerDesc *layer = workload_layer (b, l);
      const gboolean   block = layer->kind == LAYER_BLOCK;
      double           forward = 0, backward = 0;

      ck_assert_uint_eq (count_fp8 (layer->forward, layer->n_forward, &forward), block ? 4 : 0);
      ck_assert_uint_eq (count_fp8 (layer->backward, layer->n_backward, &backward), block ? 8 : 0);
      ck_assert_double_eq (forward, block ? 2 * M * weights : 0);
      ck_assert_double_eq (backward, block ? 4 * M * weights : 0);
    }
}
END_TEST

/* What the kernels whose name begins with PREFIX read and write, products left out. */
static void
add_casts (const KernelDesc *kernels, guint n, const char *prefix, double *read, double *write,
           guint *launches)
{
  for (guint i = 0; i < n; i++)
    if (g_str_has_prefix (kernels[i].name, prefix) && kernels[i].kind != KERNEL_MATMUL)
      {
        *read += kernels[i].read_bytes;
        *write += kernels[i].write_bytes;
        *launches += kernels[i].launches;
      }
}

/*
 * mlp.up: K = H, N = FF, in bytes of its casts by hand, forwards and backwards. MK, KN and MN are
 * elements of input, weight and gradient.
 */
#define MK (M * H)
#define KN (H * FF)
#define MN (M * FF)

typedef struct
{
  const char *name;
  Fp8Kind     kind;
  gboolean    kept; /* by a framework that keeps them all */
  double      forward_read, forward_write, backward_read, backward_write;
  guint       forward_launches, backward_launches;
} Casts;

static const Casts casts[] = {
  /* Transformer Engine: one pass, both directions; the weight's and the input's are kept */
  { "delayed", FP8_DELAYED, FALSE, 2 * MK + 2 * KN, 2 * MK + 2 * KN, 2 * MN, 2 * MN, 2, 1 },
  /* a scale of 4 bytes for 128 elements, of the weight for 128 x 128 */
  { "blockwise", FP8_BLOCKWISE, FALSE, 2 * MK + 2 * KN,
    2 * MK + 2 * MK / 32 + 2 * KN + 2 * KN / 4096, 2 * MN, 2 * MN + 2 * MN / 32, 2, 1 },
  /* one of a byte for 32 */
  { "mxfp8", FP8_MXFP8, FALSE, 2 * MK + 2 * KN, 2 * (MK + KN) * 33 / 32, 2 * MN, 2 * MN * 33 / 32,
    2, 1 },
  /* a search before each cast: reads all once more, and writes the scale after reading 4 bytes */
  { "current", FP8_TENSORWISE, TRUE, 4 * MK + 4 * KN + 8, 2 * MK + 2 * KN + 8, 4 * MN + 4,
    2 * MN + 4, 6, 3 },
  /*
   * torchao, eagerly: |x| is written (search: reads 4, writes 2), scaled and clamped (cast: reads
   * 6, writes 5); backwards gradient (whose second copy reads the first), weight and input again
   */
  { "tensorwise", FP8_TENSORWISE, FALSE, 10 * MK + 10 * KN + 8, 7 * MK + 7 * KN + 8,
    11 * MN + 10 * KN + 10 * MK + 12, 8 * MN + 7 * KN + 7 * MK + 12, 18, 30 },
  /* rows in one pass; columns are searched; a scale of 4 bytes a row or column */
  { "rowwise", FP8_ROWWISE, FALSE, 6 * MK + 6 * KN, 5 * MK + 5 * KN + 4 * M + 4 * FF,
    16 * MN + 10 * KN + 10 * MK + 12,
    12 * MN + 7 * KN + 7 * MK + 4 * M + 4 * FF + 4 * H + 4 * H + 12, 6, 33 },
};

START_TEST (test_casts)
{
  const Casts         *want = &casts[_i];
  TrainingOptions      options = recipe (want->kind);
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *block;
  double               read[2] = { 0 }, write[2] = { 0 };
  guint                launches[2] = { 0 };

  options.traits.keeps_fp8 = want->kept;
  workload = make (&options, 1);
  block = workload_layer (workload, 1);
  for (guint pass = 0; pass < 2; pass++)
    for (guint part = 0; part < 3; part++)
      {
        static const char *const names[] = { "mlp.up.input", "mlp.up.weight", "mlp.up.grad" };

        add_casts (pass == 0 ? block->forward : block->backward,
                   pass == 0 ? block->n_forward : block->n_backward, names[part], &read[pass],
                   &write[pass], &launches[pass]);
      }
  ck_assert_msg (read[0] == want->forward_read && write[0] == want->forward_write,
                 "%s: forward %g and %g, not %g and %g", want->name, read[0], write[0],
                 want->forward_read, want->forward_write);
  ck_assert_msg (read[1] == want->backward_read && write[1] == want->backward_write,
                 "%s: backward %g and %g, not %g and %g", want->name, read[1], write[1],
                 want->backward_read, want->backward_write);
  ck_assert_uint_eq (launches[0], want->forward_launches);
  ck_assert_uint_eq (launches[1], want->backward_launches);
}
END_TEST

/* 576 rows are four and a half blocks of 128: five scales along each direction of the weight. */
START_TEST (test_part_of_a_block)
{
  TrainingOptions      options = recipe (FP8_BLOCKWISE);
  g_autoptr (Workload) workload = make_wide (&options, 1, 576);
  const LayerDesc     *block = workload_layer (workload, 1);
  double               read = 0, write = 0;
  guint                launches = 0;

  add_casts (block->forward, block->n_forward, "mlp.up.weight", &read, &write, &launches);
  ck_assert_double_eq (read, 2 * H * 576);
  ck_assert_double_eq (write, 2 * (H * 576 + 5 * 4));
}
END_TEST

/* Operands of a byte, results of two: the weight's gradient too. */
START_TEST (test_product_bytes)
{
  TrainingOptions      options = recipe (FP8_DELAYED);
  g_autoptr (Workload) workload = make (&options, 1);
  const LayerDesc     *block = workload_layer (workload, 1);
  const KernelDesc    *up = find_kernel (block->forward, block->n_forward, "mlp.up"),
                   *dgrad = find_kernel (block->backward, block->n_backward, "mlp.up.dgrad"),
                   *wgrad = find_kernel (block->backward, block->n_backward, "mlp.up.wgrad");

  ck_assert_double_eq (up->read_bytes, MK + KN + 2 * FF); /* and the bias */
  ck_assert_double_eq (up->write_bytes, 2 * MN);
  ck_assert_double_eq (dgrad->read_bytes, MN + KN);
  ck_assert_double_eq (dgrad->write_bytes, 2 * MK);
  ck_assert_double_eq (wgrad->read_bytes, MN + MK);
  ck_assert_double_eq (wgrad->write_bytes, 2 * KN);
}
END_TEST

/*
 * Transformer Engine keeps a byte of each layer's input, in place of two where nothing else wants
 * it (attention does want its result), and a byte of its weight. torchao keeps what bf16 keeps.
 */
START_TEST (test_kept)
{
  static const Fp8Kind as_bf16[] = { FP8_TENSORWISE, FP8_ROWWISE };
  TrainingOptions      plain = recipe (FP8_NONE), delayed = recipe (FP8_DELAYED);
  g_autoptr (Workload) a = make (&plain, 1), b = make (&delayed, 1);
  const double         inputs = M * (H + H + H + FF), alone = M * (H + H + FF);
  const double         weights = 4 * H * H + 2 * H * FF;

  ck_assert_double_eq (
      (double) workload_layer (b, 1)->saved_bytes - (double) workload_layer (a, 1)->saved_bytes,
      inputs - 2 * alone + weights);
  for (guint i = 0; i < G_N_ELEMENTS (as_bf16); i++)
    {
      TrainingOptions      options = recipe (as_bf16[i]);
      g_autoptr (Workload) other = make (&options, 1);

      ck_assert_uint_eq (workload_layer (other, 1)->saved_bytes,
                         workload_layer (a, 1)->saved_bytes);
    }
}
END_TEST

static guint
count_once (const KernelDesc *kernels, guint n, double *write)
{
  guint found = 0;

  for (guint i = 0; i < n; i++)
    if (kernels[i].first_micro_only)
      {
        ck_assert_ptr_nonnull (strstr (kernels[i].name, ".weight."));
        *write += kernels[i].write_bytes;
        found++;
      }
  return found;
}

/*
 * Cached, the casts of the four weights are of the first micro-step, and never of recomputation;
 * two copies of a byte stay, of which the block saves none; products read what they read before.
 */
START_TEST (test_cached_weights)
{
  static const CheckpointMode modes[] = { CHECKPOINT_NONE, CHECKPOINT_FULL };
  const double                weights = 4 * H * H + 2 * H * FF;

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      TrainingOptions      plain = recipe (FP8_DELAYED), caching = plain;
      g_autoptr (Workload) a = NULL, b = NULL;
      const LayerDesc     *each, *once;
      double               write = 0;

      plain.checkpointing = caching.checkpointing = modes[i];
      caching.traits.caches_fp8_weights = TRUE;
      a = make (&plain, 1);
      b = make (&caching, 1);
      each = workload_layer (a, 1);
      once = workload_layer (b, 1);
      ck_assert_uint_eq (count_once (each->forward, each->n_forward, &write), 0);
      ck_assert_uint_eq (count_once (once->forward, once->n_forward, &write), 4);
      ck_assert_double_eq (write, 2 * weights);
      ck_assert_uint_eq (count_once (once->recompute, once->n_recompute, &write), 0);
      ck_assert_uint_eq (each->n_recompute - once->n_recompute,
                         modes[i] == CHECKPOINT_FULL ? 4 : 0);
      ck_assert_double_eq ((double) once->cached_bytes, 2 * weights);
      ck_assert_double_eq ((double) workload_cached_bytes (b), 2 * 2 * weights);
      ck_assert_uint_eq (workload_cached_bytes (a), 0);
      ck_assert_double_eq ((double) each->saved_bytes - (double) once->saved_bytes,
                           modes[i] == CHECKPOINT_FULL ? 0 : weights);
      ck_assert_double_eq (find_kernel (once->forward, once->n_forward, "mlp.up")->read_bytes,
                           MK + KN + 2 * FF);
      ck_assert_double_eq (
          find_kernel (once->backward, once->n_backward, "mlp.up.dgrad")->read_bytes, MN + KN);
      ck_assert_double_eq (workload_matrix_flops (a), workload_matrix_flops (b));
    }
}
END_TEST

/*
 * Frozen, the weights are there in fp8 alone where copies are cached: one of two copies of a byte
 * is the parameter, in 16-bit elements, and nothing is ever cast; the other stays as a copy. The
 * model has as many parameters as before.
 */
START_TEST (test_frozen_weights)
{
  const double         weights = 4 * H * H + 2 * H * FF;
  TrainingOptions      plain = recipe (FP8_NONE), caching = recipe (FP8_DELAYED);
  g_autoptr (Workload) a = NULL, b = NULL;
  const LayerDesc     *block;
  double               held = 0, write = 0;

  plain.peft = caching.peft = PEFT_LORA;
  plain.lora_r = caching.lora_r = 8;
  plain.lora_target_modules = caching.lora_target_modules = "c_attn";
  caching.traits.caches_fp8_weights = TRUE;
  a = make (&plain, 1);
  b = make (&caching, 1);
  block = workload_layer (b, 1);
  for (guint t = 0; t < block->n_tensors; t++)
    held += block->tensors[t].packed > 0 ? 2. * (double) block->tensors[t].elements : 0;
  ck_assert_double_eq (held, weights);
  ck_assert_double_eq ((double) block->cached_bytes, weights);
  ck_assert_uint_eq (count_once (block->forward, block->n_forward, &write), 0);
  ck_assert_double_eq (find_kernel (block->forward, block->n_forward, "mlp.up")->read_bytes,
                       MK + KN + 2 * FF);
  ck_assert_uint_eq (workload_n_parameters_of_model (b), workload_n_parameters (a));
  ck_assert_uint_eq (workload_n_trainable_parameters (b), workload_n_trainable_parameters (a));
  ck_assert_uint_eq (workload_scale_bytes (b), 0);
}
END_TEST

/* Kernels of a block whose names end so. */
static guint
named (const Workload *workload, const char *suffix)
{
  const LayerDesc *block = workload_layer (workload, 1);
  guint            found = 0;

  for (guint i = 0; i < block->n_forward; i++)
    found += g_str_has_suffix (block->forward[i].name, suffix);
  for (guint i = 0; i < block->n_backward; i++)
    found += g_str_has_suffix (block->backward[i].name, suffix);
  return found;
}

/*
 * As parameters the two copies take the place of 16 bits, which are counted: nothing stays beside
 * them. They came in fp8: in place of a cast of each of 4 weights (and, searched, two kernels
 * before it) one makes the columns. Blocks' scales cannot be the parameters'.
 */
START_TEST (test_fp8_params)
{
  static const Fp8Kind kinds[] = { FP8_DELAYED, FP8_TENSORWISE, FP8_BLOCKWISE };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      TrainingOptions      beside = recipe (kinds[i]), instead;
      g_autoptr (Workload) a = NULL, b = NULL;

      beside.traits.keeps_fp8 = beside.traits.caches_fp8_weights = TRUE;
      instead = beside;
      instead.traits.fp8_params = TRUE;
      a = make (&beside, 1);
      b = make (&instead, 1);
      ck_assert_uint_gt (workload_cached_bytes (a), 0);
      ck_assert_uint_eq (workload_cached_bytes (b),
                         kinds[i] == FP8_BLOCKWISE ? workload_cached_bytes (a) : 0);
      ck_assert_uint_eq (workload_layer (a, 1)->saved_bytes, workload_layer (b, 1)->saved_bytes);
      ck_assert_uint_eq (named (b, ".weight.transpose"), kinds[i] == FP8_BLOCKWISE ? 0 : 4);
      ck_assert_uint_eq (named (a, ".weight.cast"), 4);
      ck_assert_uint_eq (named (b, ".weight.cast"), kinds[i] == FP8_BLOCKWISE ? 4 : 0);
      ck_assert_uint_eq (named (b, ".weight.amax"), 0);
    }
}
END_TEST

/* Options go before the traits of the framework's profile, and those left at auto do not. */
START_TEST (test_says)
{
  const FrameworkTraits traits = { .fused_gate = TRUE, .keeps_fp8 = TRUE };
  TrainingOptions       options = recipe (FP8_DELAYED);

  training_take_traits (&options, &traits);
  ck_assert (options.traits.fused_gate && !options.traits.fused_rotary);
  ck_assert (options.traits.keeps_fp8 && !options.traits.fp8_params);
  options.fused_gate = SAYS_FALSE;
  options.fused_rotary = options.fp8_params = SAYS_TRUE;
  training_take_traits (&options, &traits);
  ck_assert (!options.traits.fused_gate && options.traits.fused_rotary);
  ck_assert (options.traits.keeps_fp8 && options.traits.fp8_params);
}
END_TEST

/*
 * Products that take either layout: a cast writes one copy, as much is kept for the backward pass,
 * and of cached weights one copy stays: none beside frozen ones, which it is. The scales of blocks
 * differ by direction, so mxfp8 has two copies as ever.
 */
START_TEST (test_either_layout)
{
  static const Fp8Kind kinds[] = { FP8_DELAYED, FP8_MXFP8 };
  const double         weights = 4 * H * H + 2 * H * FF;

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      const double         one = kinds[i] == FP8_DELAYED ? 1 : 2 * 33. / 32;
      TrainingOptions      plain = recipe (kinds[i]), either, caching, frozen;
      g_autoptr (Workload) a = NULL, b = NULL, c = NULL, d = NULL;
      const LayerDesc     *block;
      double               read = 0, write = 0;
      guint                launches = 0;

      either = plain;
      either.fp8_any_layout = TRUE;
      caching = either;
      caching.traits.caches_fp8_weights = TRUE;
      frozen = caching;
      frozen.peft = PEFT_LORA;
      frozen.lora_r = 8;
      frozen.lora_target_modules = "c_attn";
      a = make (&plain, 1);
      b = make (&either, 1);
      c = make (&caching, 1);
      d = make (&frozen, 1);
      block = workload_layer (b, 1);
      add_casts (block->forward, block->n_forward, "mlp.up.input", &read, &write, &launches);
      add_casts (block->forward, block->n_forward, "mlp.up.weight", &read, &write, &launches);
      add_casts (block->backward, block->n_backward, "mlp.up.grad", &read, &write, &launches);
      ck_assert_double_eq (read, 2 * (MK + KN + MN));
      ck_assert_double_eq (write, one * (MK + KN + MN));
      ck_assert_uint_eq (launches, 3);
      ck_assert_uint_eq (block->saved_bytes, workload_layer (a, 1)->saved_bytes);
      ck_assert_double_eq ((double) workload_layer (c, 1)->cached_bytes, one * weights);
      ck_assert_double_eq ((double) workload_layer (d, 1)->cached_bytes, (one - 1) * weights);
    }
}
END_TEST

/*
 * Without a cache of transposes weights that are in fp8 alone have one copy, and each backward pass
 * makes the other for its product; weights of 16 bits are cast as where no framework caches them.
 */
START_TEST (test_no_transpose_cache)
{
  TrainingOptions      frozen = recipe (FP8_DELAYED), trained = frozen, plain = frozen;
  g_autoptr (Workload) a = NULL, b = NULL, c = NULL;
  const LayerDesc     *block;
  double               read = 0, write = 0;
  guint                launches = 0;

  trained.traits.caches_fp8_weights = trained.disable_parameter_transpose_cache = TRUE;
  frozen = trained;
  frozen.peft = PEFT_LORA;
  frozen.lora_r = 8;
  frozen.lora_target_modules = "c_attn";
  a = make (&frozen, 1);
  b = make (&trained, 1);
  c = make (&plain, 1);
  block = workload_layer (a, 1);
  ck_assert_uint_eq (block->cached_bytes, 0);
  add_casts (block->backward, block->n_backward, "mlp.up.weight.transpose", &read, &write,
             &launches);
  ck_assert_double_eq (read, KN);
  ck_assert_double_eq (write, KN);
  ck_assert_uint_eq (launches, 1);
  ck_assert_uint_eq (workload_layer (b, 1)->cached_bytes, 0);
  ck_assert_uint_eq (workload_layer (b, 1)->saved_bytes, workload_layer (c, 1)->saved_bytes);
  ck_assert_uint_eq (workload_layer (b, 1)->n_backward, workload_layer (c, 1)->n_backward);
}
END_TEST

/*
 * A gate keeps fp8 copies of its two inputs, 2 bytes in place of 4 a token and feature: a cast
 * reads 4 and writes 2 behind the forward kernel, another does the opposite before the backward
 * kernel, which reads and writes as before.
 */
START_TEST (test_gate_inputs)
{
  const double         cell = M * FF;
  ModelShape           shape = arch ("llama", 2, (gint64) H, 4, (gint64) FF, VOCAB);
  MeshOptions          mesh = { .tp = 1, .pp = 1, .cp = 1, .vp = 1, .ep = 1, .routing_skew = 1 };
  TrainingOptions      plain = training ((gint64) M, 1), narrow;
  g_autoptr (Workload) a = NULL, b = NULL;
  const LayerDesc     *wide, *block;
  const KernelDesc    *down, *up, *before, *after;

  plain.traits.fused_gate = TRUE;
  narrow = plain;
  narrow.activation_func_fp8_input_store = TRUE;
  a = workload_new_stage (&shape, &plain, &mesh, 0);
  b = workload_new_stage (&shape, &narrow, &mesh, 0);
  wide = workload_layer (a, 1);
  block = workload_layer (b, 1);
  down = find_kernel (block->forward, block->n_forward, "mlp.activation.narrow");
  up = find_kernel (block->backward, block->n_backward, "mlp.activation.widen");
  before = find_kernel (wide->backward, wide->n_backward, "mlp.activation.backward");
  after = find_kernel (block->backward, block->n_backward, "mlp.activation.backward");
  ck_assert_double_eq ((double) wide->saved_bytes - (double) block->saved_bytes, 2 * cell);
  ck_assert_double_eq (down->read_bytes, 4 * cell);
  ck_assert_double_eq (down->write_bytes, 2 * cell);
  ck_assert_double_eq (up->read_bytes, 2 * cell);
  ck_assert_double_eq (up->write_bytes, 4 * cell);
  ck_assert_double_eq (before->read_bytes, 6 * cell);
  ck_assert_double_eq (after->read_bytes, before->read_bytes);
  ck_assert_double_eq (after->write_bytes, before->write_bytes);
  model_shape_clear (&shape);
}
END_TEST

/* Bytes of the collectives of KIND, and how many there are. */
static double
sum_collectives (const KernelDesc *kernels, guint n, CollectiveKind kind, guint *count)
{
  double bytes = 0;

  *count = 0;
  for (guint i = 0; i < n; i++)
    if (kernels[i].kind == KERNEL_COMMUNICATION && kernels[i].comm == kind)
      {
        bytes += kernels[i].read_bytes;
        (*count)++;
      }
  return bytes;
}

/*
 * On four tensor ranks inputs and gradients are gathered: forwards two of M x H, backwards the two
 * gradients, and both inputs again. In fp8 these are bytes; where a scale is searched each has an
 * all-reduce of it. Gradients of the inputs are reduce-scattered in 16 bits. Row by row gathers
 * 16 bits.
 */
START_TEST (test_tensor_group)
{
  static const struct
  {
    Fp8Kind kind;
    double  bytes;
    guint   copies; /* gathered in the backward pass: of two inputs, and of two gradients */
    guint   searches[2];
  } cases[] = {
    { FP8_NONE, 2, 4, { 0, 0 } },         { FP8_ROWWISE, 2, 4, { 0, 0 } },
    { FP8_DELAYED, 1, 4, { 0, 0 } },      { FP8_TENSORWISE, 1, 4, { 2, 4 } },
    { FP8_MXFP8, 33. / 32, 6, { 0, 0 } }, /* gradients along rows and along columns */
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      TrainingOptions      options = recipe (cases[i].kind);
      g_autoptr (Workload) workload = make (&options, 4);
      const LayerDesc     *block = workload_layer (workload, 1);
      guint                n;

      ck_assert_double_eq (
          sum_collectives (block->forward, block->n_forward, COLLECTIVE_ALL_GATHER, &n),
          2 * cases[i].bytes * MK);
      ck_assert_uint_eq (n, 2);
      ck_assert_double_eq (
          sum_collectives (block->backward, block->n_backward, COLLECTIVE_ALL_GATHER, &n),
          cases[i].copies * cases[i].bytes * MK);
      ck_assert_uint_eq (n, 4);
      ck_assert_double_eq (
          sum_collectives (block->backward, block->n_backward, COLLECTIVE_REDUCE_SCATTER, &n),
          2 * 2 * MK);
      ck_assert_double_eq (
          sum_collectives (block->forward, block->n_forward, COLLECTIVE_ALL_REDUCE, &n),
          4. * cases[i].searches[0]);
      ck_assert_double_eq (
          sum_collectives (block->backward, block->n_backward, COLLECTIVE_ALL_REDUCE, &n),
          4. * cases[i].searches[1]);
    }
}
END_TEST

/*
 * Mixtral's 8 experts under Transformer Engine's delayed scales: an input, a weight and a gradient
 * are cast by one kernel; where each expert has products of its own, by one each.
 */
START_TEST (test_experts)
{
  static const char *const forward[] = { "experts.gate.input.cast", "experts.up.weight.cast" };
  ModelShape               shape = shipped ("mixtral-8x7b");
  TrainingOptions          options = recipe (FP8_DELAYED);

  for (guint how = 0; how < 3; how++)
    {
      g_autoptr (Workload) workload = NULL;
      const LayerDesc     *block;
      const guint          each = how == EXPERT_PRODUCTS_GROUPED ? 1 : 8;

      options.expert_products = (gint) how;
      workload = workload_new (&shape, &options);
      block = workload_layer (workload, 1);
      for (guint i = 0; i < G_N_ELEMENTS (forward); i++)
        ck_assert_uint_eq (find_kernel (block->forward, block->n_forward, forward[i])->launches,
                           each);
      ck_assert_uint_eq (
          find_kernel (block->backward, block->n_backward, "experts.up.grad.cast")->launches, each);
      ck_assert_uint_eq (
          find_kernel (block->forward, block->n_forward, "attn.q.weight.cast")->launches, 1);
    }
  model_shape_clear (&shape);
}
END_TEST

/* Of dimensions that 16 does not divide torchtitan makes no fp8 layer; Transformer Engine does. */
START_TEST (test_unaligned)
{
  ModelShape           shape = arch ("gpt", 1, (gint64) H, 4, 500, VOCAB);
  TrainingOptions      tensorwise = recipe (FP8_TENSORWISE), delayed = recipe (FP8_DELAYED);
  g_autoptr (Workload) a = workload_new (&shape, &tensorwise), b = workload_new (&shape, &delayed);
  double               flops = 0;

  ck_assert_uint_eq (
      count_fp8 (workload_layer (a, 1)->forward, workload_layer (a, 1)->n_forward, &flops), 2);
  ck_assert_uint_eq (
      count_fp8 (workload_layer (b, 1)->forward, workload_layer (b, 1)->n_forward, &flops), 4);
  model_shape_clear (&shape);
}
END_TEST

/* Compiled, the search is part of the norm before, which writes its rows all the same. */
START_TEST (test_compiled)
{
  TrainingOptions      options = recipe (FP8_TENSORWISE);
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *block;
  const KernelDesc    *norm;

  options.compile = TRUE;
  workload = make (&options, 1);
  block = workload_layer (workload, 1);
  norm = find_kernel (block->forward, block->n_forward, "norm1+attn.qkv.input.amax");
  ck_assert_uint_eq (norm->launches, 1);
  find_kernel (block->forward, block->n_forward, "attn.qkv.input.cast");
}
END_TEST

SUITE_MAIN (fp8)
{
  TCase *tcase = tcase_create ("fp8");

  tcase_add_loop_test (tcase, test_products, FP8_TENSORWISE, FP8_MXFP8 + 1);
  tcase_add_loop_test (tcase, test_casts, 0, G_N_ELEMENTS (casts));
  tcase_add_test (tcase, test_part_of_a_block);
  tcase_add_test (tcase, test_product_bytes);
  tcase_add_test (tcase, test_kept);
  tcase_add_test (tcase, test_cached_weights);
  tcase_add_test (tcase, test_frozen_weights);
  tcase_add_test (tcase, test_fp8_params);
  tcase_add_test (tcase, test_says);
  tcase_add_test (tcase, test_either_layout);
  tcase_add_test (tcase, test_no_transpose_cache);
  tcase_add_test (tcase, test_gate_inputs);
  tcase_add_test (tcase, test_tensor_group);
  tcase_add_test (tcase, test_experts);
  tcase_add_test (tcase, test_unaligned);
  tcase_add_test (tcase, test_compiled);
  return run_case ("fp8", tcase);
}
