/*
 * Private training: the kernels of one linear by arithmetic done by hand, what is held between two
 * backward passes, and what contradicts itself. Times are not tested here, nor what strategies do
 * with it (tests/strategy: random plans and private schedules).
 *
 * The up projection of an MLP: 256 wide in, 1000 out, in bf16: P = 256,000, e P = 512,000 bytes.
 * Samples of 128 tokens.
 */
#include "fixture.h"

#include "model/step/privacy.h"

#define S  128
#define H  256
#define FF 1000
#define P  (256.0 * 1000)
#define EP (2 * P)

static TrainingOptions
private_training (gint64 samples, PrivateMethod method, PrivateClipping clipping,
                  PrivateNoise noise)
{
  TrainingOptions options = training (S, samples);

  options.private_method = method;
  options.private_clipping = clipping;
  options.private_noise = noise;
  return options;
}

static Workload *
gpt (const TrainingOptions *options)
{
  ModelShape shape = arch ("gpt", 1, H, 4, FF, 1000);
  Workload  *workload = workload_new (&shape, options);

  model_shape_clear (&shape);
  return workload;
}

/* The kernels of the up projection's weight, which are those whose names begin like this. */
typedef struct
{
  double   flops, written, passes; /* passes: bytes of those that are no products, over e P */
  guint    launches;
  gboolean early, late; /* in the pass for gradients of inputs; in the one of weights */
} Weight;

static Weight
weight_of (const LayerDesc *layer)
{
  static const char *const suffixes[] = { "sample_grads", "clip",         "add_clipped",
                                          "mean",         "noise",        "add_noise",
                                          "norms",        "weighted_sum", "tokens_in",
                                          "tokens_out",   "weigh",        "wgrad" };
  Weight                   sum = { 0 };

  for (guint i = 0; i < layer->n_backward; i++)
    for (guint s = 0; s < G_N_ELEMENTS (suffixes); s++)
      {
        const KernelDesc *kernel = &layer->backward[i];
        g_autofree char  *name = g_strconcat ("mlp.up.", suffixes[s], NULL);

        if (strcmp (kernel->name, name) != 0)
          continue;
        sum.launches += kernel->launches;
        if (kernel->kind == KERNEL_MATMUL)
          sum.flops += kernel->flops;
        else
          sum.passes += (kernel->read_bytes + kernel->write_bytes) / EP;
        if (kernel->kind == KERNEL_MATMUL)
          sum.written += kernel->write_bytes;
        sum.early |= !kernel->weight_gradient;
        sum.late |= kernel->weight_gradient;
      }
  return sum;
}

static Weight
weight_with (gint64 samples, PrivateMethod method, PrivateClipping clipping, PrivateNoise noise)
{
  TrainingOptions      options = private_training (samples, method, clipping, noise);
  g_autoptr (Workload) workload = gpt (&options);

  return weight_of (workload_layer (workload, 1));
}

/* 2 B S P FLOPs, e P written. */
START_TEST (test_without)
{
  Weight weight = weight_with (4, PRIVATE_NONE, CLIPPING_PER_LAYER, NOISE_AUTO);

  assert_close (weight.flops, 2.0 * 4 * 128 * 256000, 1e-12);
  assert_close (weight.written, 512000, 1e-12);
  ck_assert_uint_eq (weight.launches, 1);
  ck_assert (weight.passes == 0);
}
END_TEST

/*
 * The released code, line by line. B = 1: a product writes 1, the clip reads and writes it 2, the
 * division 2, the noise is drawn 1 and added 3: 9 times e P, 8 more than without privacy, in 5
 * kernels. B = 4: products 4, clips 8, three sums of 3 = 9, then 2 + 1 + 3: 27, in general
 * (6 B - 3) + 6; kernels 4 + 4 + 3 + 3 = 14, in general (3 B - 1) + 3.
 */
START_TEST (test_flashdp)
{
  Weight one = weight_with (1, PRIVATE_FLASHDP, CLIPPING_PER_LAYER, NOISE_AUTO);
  Weight four = weight_with (4, PRIVATE_FLASHDP, CLIPPING_PER_LAYER, NOISE_AUTO);
  Weight quiet = weight_with (4, PRIVATE_FLASHDP, CLIPPING_PER_LAYER, NOISE_OWNER);

  assert_close (one.written / EP + one.passes, 9, 1e-12);
  ck_assert_uint_eq (one.launches, 5);
  assert_close (four.written / EP + four.passes, 27, 1e-12);
  assert_close (four.written / EP + four.passes, 6 * 4 - 3 + 6, 1e-12);
  ck_assert_uint_eq (four.launches, 14);
  assert_close (four.flops, 2.0 * 4 * 128 * 256000, 1e-12); /* as without privacy */
  assert_close (quiet.written / EP + quiet.passes, 27 - 4, 1e-12);
  ck_assert (!four.early && four.late);
}
END_TEST

/* Each product is of one sample: 1000 x 256, 128 deep, four in turn. */
START_TEST (test_flashdp_products)
{
  TrainingOptions options = private_training (4, PRIVATE_FLASHDP, CLIPPING_PER_LAYER, NOISE_AUTO);
  g_autoptr (Workload) workload = gpt (&options);
  const LayerDesc     *layer = workload_layer (workload, 1);
  const KernelDesc    *products =
      find_kernel (layer->backward, layer->n_backward, "mlp.up.sample_grads");

  ck_assert_uint_eq (products->m, 1000);
  ck_assert_uint_eq (products->n, 256);
  ck_assert_uint_eq (products->k, 128);
  ck_assert_uint_eq (products->batch, 4);
  ck_assert_uint_eq (products->streams, 1);
  ck_assert_uint_eq (products->launches, 4);
}
END_TEST

/* B = 4: written 4, read for the norms 4, read for the weighted sum 4, which writes 1. */
START_TEST (test_explicit)
{
  Weight weight = weight_with (4, PRIVATE_EXPLICIT, CLIPPING_PER_LAYER, NOISE_AUTO);
  Weight flat = weight_with (4, PRIVATE_EXPLICIT, CLIPPING_FLAT, NOISE_AUTO);

  assert_close (weight.written / EP, 4, 1e-12);
  assert_close (weight.passes, 9, 1e-12);
  assert_close (weight.flops, 2.0 * 4 * 128 * 256000, 1e-12);
  ck_assert_uint_eq (weight.launches, 3);
  ck_assert (!weight.early && flat.early && flat.late);
  assert_close (flat.passes, 9, 1e-12);
}
END_TEST

/*
 * 2 x 128^2 = 32,768 is below P: norms of products of tokens, 2 x 4 x 128^2 x (256 + 1000) FLOPs =
 * 164,626,432 beside the 262,144,000 of the gradient.
 */
START_TEST (test_norms_of_tokens)
{
  Weight kept = weight_with (4, PRIVATE_BOOK_KEEPING, CLIPPING_FLAT, NOISE_AUTO);
  Weight ghost = weight_with (4, PRIVATE_GHOST, CLIPPING_FLAT, NOISE_AUTO);

  assert_close (kept.flops, 164626432 + 262144000, 1e-12);
  assert_close (ghost.flops, 164626432 + 262144000, 1e-12);
  ck_assert (kept.early && kept.late);
  /* two products, the norm of both, dY weighed, the gradient */
  ck_assert_uint_eq (kept.launches, 5);
  ck_assert_uint_eq (ghost.launches, 4); /* its loss is weighed */
}
END_TEST

/* Of 1024 tokens 2 x 1024^2 is above P: gradients of samples, and their product again if flat. */
START_TEST (test_norms_of_gradients)
{
  TrainingOptions options = private_training (2, PRIVATE_BOOK_KEEPING, CLIPPING_FLAT, NOISE_AUTO);
  g_autoptr (Workload) flat = NULL, layers = NULL;

  options.seq_len = 1024;
  flat = gpt (&options);
  assert_close (weight_of (workload_layer (flat, 1)).flops, 2 * 2.0 * 2 * 1024 * 256000, 1e-12);
  options.private_clipping = CLIPPING_PER_LAYER;
  layers = gpt (&options);
  assert_close (weight_of (workload_layer (layers, 1)).flops, 2.0 * 2 * 1024 * 256000, 1e-12);
}
END_TEST

/*
 * A GPT block has 256 x 768 + 768 (q, k, v), 256 x 256 + 256, 256 x 1000 + 1000, 1000 x 256 + 256
 * and two norms of 512: 777,448 trained elements. Explicit holds those of 4 samples in bf16.
 * Book-keeping: gradients of outputs, 512 rows of 768 + 256 + 1000 + 256, the four inputs of 256,
 * 256, 256 and 1000, and the norms' own gradients of 4 samples.
 */
START_TEST (test_held)
{
  TrainingOptions      options = private_training (4, PRIVATE_EXPLICIT, CLIPPING_FLAT, NOISE_AUTO);
  g_autoptr (Workload) explicit_ = gpt (&options);
  g_autoptr (Workload) kept = NULL, ghost = NULL, layers = NULL;

  ck_assert_uint_eq (workload_layer (explicit_, 1)->trainable_elements, 777448);
  ck_assert_uint_eq (workload_layer (explicit_, 1)->clipped_bytes, 4 * 2 * 777448);
  options.private_method = PRIVATE_BOOK_KEEPING;
  kept = gpt (&options);
  ck_assert_uint_eq (
      workload_layer (kept, 1)->clipped_bytes,
      2 * 512 * (768 + 256 + 1000 + 256) + 2 * 512 * (256 + 256 + 256 + 1000) + 4 * 2 * 1024);
  options.private_method = PRIVATE_GHOST;
  ghost = gpt (&options);
  ck_assert_uint_eq (workload_layer (ghost, 1)->clipped_bytes, 0);
  options.private_method = PRIVATE_EXPLICIT;
  options.private_clipping = CLIPPING_PER_LAYER;
  layers = gpt (&options);
  ck_assert_uint_eq (workload_layer (layers, 1)->clipped_bytes, 0);
}
END_TEST

/* Ghost clipping computes all products of the backward pass but the weights' twice. */
START_TEST (test_executed)
{
  TrainingOptions      options = private_training (4, PRIVATE_GHOST, CLIPPING_FLAT, NOISE_AUTO);
  g_autoptr (Workload) ghost = gpt (&options);
  g_autoptr (Workload) kept = NULL;
  double               again = 0;

  options.private_method = PRIVATE_BOOK_KEEPING;
  kept = gpt (&options);
  for (guint l = 0; l < workload_n_layers (kept); l++)
    for (guint i = 0; i < workload_layer (kept, l)->n_backward; i++)
      {
        const KernelDesc *kernel = &workload_layer (kept, l)->backward[i];

        if (g_str_has_suffix (kernel->name, ".dgrad") || kernel->kind == KERNEL_ATTENTION_BACKWARD)
          again += kernel->flops;
      }
  ck_assert (again > 0);
  assert_close (workload_matrix_flops (ghost), workload_matrix_flops (kept) + again, 1e-12);
}
END_TEST

static void
assert_refused (ModelShape *shape, const TrainingOptions *options, const char *text)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert (!workload_check (shape, options, NULL, diags));
  ck_assert_msg (strstr (diag_list_first_message (diags), text) != NULL, "%s",
                 diag_list_first_message (diags));
}

START_TEST (test_contradictions)
{
  ModelShape           shape = arch ("gpt", 1, H, 4, FF, 1000);
  TrainingOptions      options = private_training (1, PRIVATE_FLASHDP, CLIPPING_FLAT, NOISE_AUTO);
  MeshOptions          mesh = { .tp = 1, .cp = 1, .pp = 2 };
  g_autoptr (DiagList) diags = diag_list_new ();

  assert_refused (&shape, &options, "flat clipping would need the norms of all layers");
  options.private_method = PRIVATE_GHOST;
  ck_assert (workload_check (&shape, &options, NULL, diags));
  ck_assert (!privacy_check_mesh (&options, &mesh, NULL, diags));
  options.private_clipping = CLIPPING_PER_LAYER;
  assert_refused (&shape, &options, "with per-layer clipping each is known");
  ck_assert (privacy_check_mesh (&options, &mesh, NULL, diags));
  mesh.tp = 2;
  ck_assert (!privacy_check_mesh (&options, &mesh, NULL, diags));
  options.private_method = PRIVATE_EXPLICIT;
  options.fp8_recipe = FP8_DELAYED;
  assert_refused (&shape, &options, "not modelled with fp8 products");
  model_shape_clear (&shape);
}
END_TEST

SUITE_MAIN (private)
{
  TCase *tcase = tcase_create ("private");

  tcase_add_test (tcase, test_without);
  tcase_add_test (tcase, test_flashdp);
  tcase_add_test (tcase, test_flashdp_products);
  tcase_add_test (tcase, test_explicit);
  tcase_add_test (tcase, test_norms_of_tokens);
  tcase_add_test (tcase, test_norms_of_gradients);
  tcase_add_test (tcase, test_held);
  tcase_add_test (tcase, test_executed);
  tcase_add_test (tcase, test_contradictions);
  return run_case ("private", tcase);
}
