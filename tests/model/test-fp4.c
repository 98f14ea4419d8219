/*
 * Linear layers under nvfp4, counted by hand: which products are in fp4 and which stay in 16 bits,
 * the kernels and the traffic of the casts, what is kept for the backward pass, and what a tensor
 * group gathers. Sources: fp8.h. It does not test what products and casts cost on a GPU.
 */
#include "../suite.h"
#include "fixture.h"

#include "model/layer/fp8.h"

#define M     256.0 /* tokens */
#define H     128.0
#define FF    512.0
#define VOCAB 1024

/* Elements of mlp.up's input, weight and gradient; a copy has half a byte and a scale for 16. */
#define MK   (M * H)
#define KN   (H * FF)
#define MN   (M * FF)
#define COPY (0.5 + 1. / 16)

#define WEIGHTS (4 * H * H + 2 * H * FF) /* of a block */

static TrainingOptions
recipe (Fp8Kind kind)
{
  TrainingOptions options = training ((gint64) M, 1);

  options.fp8_recipe = kind;
  options.fp8_any_layout = TRUE;
  return options;
}

static Workload *
make_blocks (const TrainingOptions *options, gint64 n, gint64 tp)
{
  ModelShape  shape = arch ("gpt", n, (gint64) H, 4, (gint64) FF, VOCAB);
  MeshOptions mesh = { .tp = tp, .sp = tp > 1, .pp = 1, .cp = 1, .vp = 1, .ep = 1 };
  Workload   *workload;

  mesh.routing_skew = 1;
  workload = workload_new_stage (&shape, options, &mesh, 0);
  model_shape_clear (&shape);
  return workload;
}

static Workload *
make (const TrainingOptions *options)
{
  return make_blocks (options, 2, 1);
}

/* FLOPs of the products in DTYPE of a layer's two passes; *N: how many there are. */
static double
sum_products (const LayerDesc *layer, Dtype dtype, guint *n)
{
  double flops = 0;

  *n = 0;
  for (guint i = 0; i < layer->n_forward + layer->n_backward; i++)
    {
      const KernelDesc *kernel =
          i < layer->n_forward ? &layer->forward[i] : &layer->backward[i - layer->n_forward];

      if (kernel->kind != KERNEL_MATMUL || kernel->dtype != dtype)
        continue;
      flops += kernel->flops;
      (*n)++;
    }
  return flops;
}

/*
 * A block's four linear layers have three products each, of 2 FLOPs a weight and token; attention's
 * own, the embedding's and the head's stay in bf16, and nothing is in fp8.
 */
START_TEST (test_products)
{
  TrainingOptions      plain = recipe (FP8_NONE), options = recipe (FP8_NVFP4);
  g_autoptr (Workload) a = make (&plain), b = make (&options);

  for (guint l = 0; l < workload_n_layers (b); l++)
    {
      const LayerDesc *layer = workload_layer (b, l);
      const gboolean   block = layer->kind == LAYER_BLOCK;
      guint            n, wide, before;
      double           flops = sum_products (layer, DTYPE_FP4, &n);

      ck_assert_uint_eq (n, block ? 12 : 0);
      ck_assert_double_eq (flops, block ? 6 * M * WEIGHTS : 0);
      sum_products (layer, DTYPE_BF16, &wide);
      sum_products (workload_layer (a, l), DTYPE_BF16, &before);
      ck_assert_uint_eq (wide + n, before);
      sum_products (layer, DTYPE_FP8, &n);
      ck_assert_uint_eq (n, 0);
    }
  ck_assert_double_eq (workload_matrix_flops (a), workload_matrix_flops (b));
}
END_TEST

/* What the kernels whose name begins with PREFIX read and write, products left out. */
static guint
add_casts (const KernelDesc *kernels, guint n, const char *prefix, double *read, double *write)
{
  guint launches = 0;

  *read = *write = 0;
  for (guint i = 0; i < n; i++)
    if (g_str_has_prefix (kernels[i].name, prefix) && kernels[i].kind != KERNEL_MATMUL)
      {
        *read += kernels[i].read_bytes;
        *write += kernels[i].write_bytes;
        launches += kernels[i].launches;
      }
  return launches;
}

/*
 * A tensor is read for its largest values (with a small kernel of 4 bytes beside), then read by the
 * one kernel that transforms, and writes both copies: 4 bytes an element, and 2 x 9/16. Where that
 * kernel is missing, or does not take the shape, rows are cast, the columns are transformed (read
 * 2, written 2) and cast: 8 bytes read, 2 + 9/8 written. Weights are not transformed.
 */
START_TEST (test_casts)
{
  const gboolean       apart = _i == 1;
  TrainingOptions      options = recipe (FP8_NVFP4);
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *block;
  double               read, write;
  const double         reads = apart ? 8 : 4, writes = 2 * COPY + (apart ? 2 : 0);

  options.fp8_any_layout = !apart;
  workload = make (&options);
  block = workload_layer (workload, 1);
  ck_assert_uint_eq (add_casts (block->forward, block->n_forward, "mlp.up.input", &read, &write),
                     apart ? 5 : 3);
  ck_assert_double_eq (read, reads * MK + 4);
  ck_assert_double_eq (write, writes * MK + 4);
  ck_assert_uint_eq (add_casts (block->forward, block->n_forward, "mlp.up.weight", &read, &write),
                     3);
  ck_assert_double_eq (read, 4 * KN + 4);
  ck_assert_double_eq (write, 2 * COPY * KN + 4);
  ck_assert_uint_eq (add_casts (block->backward, block->n_backward, "mlp.up.grad", &read, &write),
                     apart ? 5 : 3);
  ck_assert_double_eq (read, reads * MN + 4);
  ck_assert_double_eq (write, writes * MN + 4);
  /* what the backward pass needs of input and weight is there */
  ck_assert_uint_eq (add_casts (block->backward, block->n_backward, "mlp.up.input", &read, &write),
                     0);
  ck_assert_uint_eq (add_casts (block->backward, block->n_backward, "mlp.up.weight", &read, &write),
                     0);
}
END_TEST

/* The kernel takes 64 rows x 128 columns: 96 tokens, or 160 features, are transformed apart. */
START_TEST (test_shapes)
{
  TrainingOptions options = recipe (FP8_NVFP4);
  Fp8Recipe       fused = fp8_recipe (&options), apart;

  ck_assert (fp8_fuses_hadamard (&fused, 128, 256));
  ck_assert (!fp8_fuses_hadamard (&fused, 96, 256));
  ck_assert (!fp8_fuses_hadamard (&fused, 128, 160));
  options.fp8_any_layout = FALSE;
  apart = fp8_recipe (&options);
  ck_assert (!fp8_fuses_hadamard (&apart, 128, 256));
}
END_TEST

/*
 * Operands of 9/16 of a byte, results of two. Before each of a block's twelve products a kernel
 * multiplies two scales: 8 bytes read, 4 written.
 */
START_TEST (test_product_bytes)
{
  TrainingOptions      options = recipe (FP8_NVFP4);
  g_autoptr (Workload) workload = make (&options);
  const LayerDesc     *block = workload_layer (workload, 1);
  const KernelDesc    *up = find_kernel (block->forward, block->n_forward, "mlp.up"),
                   *dgrad = find_kernel (block->backward, block->n_backward, "mlp.up.dgrad"),
                   *wgrad = find_kernel (block->backward, block->n_backward, "mlp.up.wgrad");
  double read, write;

  ck_assert_double_eq (up->read_bytes, COPY * (MK + KN) + 2 * FF); /* and the bias */
  ck_assert_double_eq (up->write_bytes, 2 * MN);
  ck_assert_double_eq (dgrad->read_bytes, COPY * (MN + KN));
  ck_assert_double_eq (dgrad->write_bytes, 2 * MK);
  ck_assert_double_eq (wgrad->read_bytes, COPY * (MN + MK));
  ck_assert_double_eq (wgrad->write_bytes, 2 * KN);
  ck_assert_uint_eq (add_casts (block->forward, block->n_forward, "mlp.up.alpha", &read, &write),
                     1);
  ck_assert_double_eq (read, 8);
  ck_assert_double_eq (write, 4);
  ck_assert_uint_eq (
      add_casts (block->backward, block->n_backward, "mlp.up.dgrad.alpha", &read, &write), 1);
  ck_assert_uint_eq (
      add_casts (block->backward, block->n_backward, "mlp.up.wgrad.alpha", &read, &write), 1);
}
END_TEST

/*
 * 9/16 of a byte of each layer's input is kept in place of two (where nothing else wants it:
 * attention does want its result), and of its weight. Cached, two copies of a weight stay for ever
 * in place of the one that is kept; frozen weights have them beside their 16 bits.
 */
START_TEST (test_kept)
{
  TrainingOptions      plain = recipe (FP8_NONE), options = recipe (FP8_NVFP4), caching, frozen;
  g_autoptr (Workload) a = NULL, b = NULL, c = NULL, d = NULL;
  const double         inputs = M * (H + H + H + FF), alone = M * (H + H + FF);

  caching = options;
  caching.traits.caches_fp8_weights = caching.traits.fp8_params = TRUE;
  frozen = caching;
  frozen.peft = PEFT_LORA;
  frozen.lora_r = 8;
  frozen.lora_target_modules = "c_attn";
  a = make (&plain);
  b = make (&options);
  c = make (&caching);
  d = make (&frozen);
  ck_assert_double_eq (
      (double) workload_layer (b, 1)->saved_bytes - (double) workload_layer (a, 1)->saved_bytes,
      COPY * (inputs + WEIGHTS) - 2 * alone);
  ck_assert_double_eq (
      (double) workload_layer (b, 1)->saved_bytes - (double) workload_layer (c, 1)->saved_bytes,
      COPY * WEIGHTS);
  ck_assert_double_eq ((double) workload_layer (c, 1)->cached_bytes, 2 * COPY * WEIGHTS);
  ck_assert_double_eq ((double) workload_layer (d, 1)->cached_bytes, 2 * COPY * WEIGHTS);
  for (guint t = 0; t < workload_layer (d, 1)->n_tensors; t++)
    ck_assert_uint_eq (workload_layer (d, 1)->tensors[t].packed, 0);
}
END_TEST

/*
 * Of five blocks the first and the last two are left in 16 bits, under any recipe: they are what
 * they are without one. Those between are what they are without exceptions. MTP layers, which come
 * behind the last block, are no exception.
 */
START_TEST (test_blocks_in_16bit)
{
  static const Fp8Kind kinds[] = { FP8_NVFP4, FP8_MXFP8, FP8_TENSORWISE };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      TrainingOptions      plain = recipe (FP8_NONE), all = recipe (kinds[i]), some = all;
      g_autoptr (Workload) a = NULL, b = NULL, c = NULL;

      some.num_layers_at_start_in_bf16 = 1;
      some.num_layers_at_end_in_bf16 = 2;
      a = make_blocks (&plain, 5, 1);
      b = make_blocks (&all, 5, 1);
      c = make_blocks (&some, 5, 1);
      for (guint l = 0; l < 7; l++)
        {
          const gboolean   wide = l == 0 || l == 1 || l > 3; /* 0 and 6: embedding and head */
          const LayerDesc *want = workload_layer (wide ? a : b, l), *got = workload_layer (c, l);
          guint            n, wanted;

          ck_assert_uint_eq (got->saved_bytes, want->saved_bytes);
          ck_assert_uint_eq (got->n_forward, want->n_forward);
          ck_assert_uint_eq (got->n_backward, want->n_backward);
          ck_assert_double_eq (sum_products (got, DTYPE_BF16, &n),
                               sum_products (want, DTYPE_BF16, &wanted));
          ck_assert_uint_eq (n, wanted);
        }
      ck_assert (!training_block_in_16bit (&some, 5, 5));
      ck_assert (!training_block_in_16bit (&plain, 0, 5));
    }
}
END_TEST

/* Bytes of the collectives of KIND. */
static double
sum_collectives (const KernelDesc *kernels, guint n, CollectiveKind kind)
{
  double bytes = 0;

  for (guint i = 0; i < n; i++)
    if (kernels[i].kind == KERNEL_COMMUNICATION && kernels[i].comm == kind)
      bytes += kernels[i].read_bytes;
  return bytes;
}

/*
 * On four tensor ranks two inputs of M x H are gathered forwards; backwards both again, and two
 * gradients, along rows and along columns: 9/16 of a byte each. Before each all ranks agree on two
 * largest values, of rows and of transformed columns.
 */
START_TEST (test_tensor_group)
{
  TrainingOptions      options = recipe (FP8_NVFP4);
  g_autoptr (Workload) workload = make_blocks (&options, 2, 4);
  const LayerDesc     *block = workload_layer (workload, 1);

  ck_assert_double_eq (sum_collectives (block->forward, block->n_forward, COLLECTIVE_ALL_GATHER),
                       2 * COPY * MK);
  ck_assert_double_eq (sum_collectives (block->backward, block->n_backward, COLLECTIVE_ALL_GATHER),
                       6 * COPY * MK);
  ck_assert_double_eq (
      sum_collectives (block->backward, block->n_backward, COLLECTIVE_REDUCE_SCATTER), 4 * MK);
  ck_assert_double_eq (sum_collectives (block->forward, block->n_forward, COLLECTIVE_ALL_REDUCE),
                       2 * 8);
}
END_TEST

SUITE_MAIN (fp4)
{
  TCase *tcase = tcase_create ("fp4");

  tcase_add_test (tcase, test_products);
  tcase_add_loop_test (tcase, test_casts, 0, 2);
  tcase_add_test (tcase, test_shapes);
  tcase_add_test (tcase, test_product_bytes);
  tcase_add_test (tcase, test_kept);
  tcase_add_test (tcase, test_blocks_in_16bit);
  tcase_add_test (tcase, test_tensor_group);
  return run_case ("fp4", tcase);
}
