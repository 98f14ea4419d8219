/*
 * A trained slice of each MLP, counted by hand: which tensors there are, what a step computes,
 * reads and keeps, how MFU counts it, and what is refused. Source: Filippova et al.,
 * arXiv:2509.22418. It does not test what workers exchange (tests/strategy).
 */
#include "../suite.h"
#include "fixture.h"

#define S      128.0 /* tokens */
#define E      2.0   /* bytes of a value */
#define H      64.0
#define FF     256.0 /* 4 H: two thirds of a block's matrices are the MLP's */
#define VOCAB  1000.0
#define LAYERS 3
#define Q      4.0

static TrainingOptions
sliced (gint64 slices, gboolean heads)
{
  TrainingOptions options = training ((gint64) S, 1);

  options.trained_slices = slices;
  options.slice_heads = heads;
  return options;
}

static Workload *
small (const char *name, gint64 slices, gboolean heads)
{
  ModelShape      shape = arch (name, LAYERS, (gint64) H, 4, (gint64) FF, (gint64) VOCAB);
  TrainingOptions options = sliced (slices, heads);
  Workload       *workload = workload_new (&shape, &options);

  model_shape_clear (&shape);
  return workload;
}

static const LayerDesc *
block_of (const Workload *workload)
{
  return workload_layer (workload, 1);
}

static const TensorDesc *
find_tensor (const LayerDesc *layer, const char *name)
{
  for (guint t = 0; t < layer->n_tensors; t++)
    if (strcmp (layer->tensors[t].name, name) == 0)
      return &layer->tensors[t];
  ck_abort_msg ("no tensor '%s'", name);
}

static void
assert_tensor (const LayerDesc *layer, const char *name, double d0, double d1, gboolean frozen)
{
  const TensorDesc *tensor = find_tensor (layer, name);

  ck_assert_uint_eq (tensor->shape[0], (guint64) d0);
  ck_assert_uint_eq (tensor->n_dims > 1 ? tensor->shape[1] : 1, (guint64) d1);
  ck_assert_int_eq (tensor->frozen, frozen);
  ck_assert (tensor->sliced);
}

/* The hidden features are cut, wherever the family keeps them; the bias behind them is whole. */
START_TEST (test_tensors)
{
  g_autoptr (Workload) gpt = small ("gpt", 4, FALSE), llama = small ("llama", 4, FALSE);
  const LayerDesc     *b = block_of (gpt), *l = block_of (llama);

  assert_tensor (b, "mlp.c_fc.weight", FF / Q, H, FALSE);
  assert_tensor (b, "mlp.c_fc.weight.others", FF - FF / Q, H, TRUE);
  assert_tensor (b, "mlp.c_fc.bias", FF / Q, 1, FALSE);
  assert_tensor (b, "mlp.c_fc.bias.others", FF - FF / Q, 1, TRUE);
  assert_tensor (b, "mlp.c_proj.weight", H, FF / Q, FALSE);
  assert_tensor (b, "mlp.c_proj.weight.others", H, FF - FF / Q, TRUE);
  ck_assert (!find_tensor (b, "mlp.c_proj.bias")->sliced);
  ck_assert (!find_tensor (b, "attn.c_attn.weight")->sliced);
  assert_tensor (l, "mlp.up_proj.weight", FF / Q, H, FALSE);
  assert_tensor (l, "mlp.gate_proj.weight.others", FF - FF / Q, H, TRUE);
  assert_tensor (l, "mlp.down_proj.weight", H, FF / Q, FALSE);
}
END_TEST

/* GPT-2 keeps inputs by outputs. */
START_TEST (test_transposed)
{
  ModelShape           shape = shipped ("gpt2-xl"); /* 1600 wide, MLPs of 6400 */
  TrainingOptions      options = sliced (4, FALSE);
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  const LayerDesc     *b = block_of (workload);

  assert_tensor (b, "mlp.c_fc.weight", 1600, 1600, FALSE);
  assert_tensor (b, "mlp.c_fc.weight.others", 1600, 4800, TRUE);
  assert_tensor (b, "mlp.c_proj.weight.others", 4800, 1600, TRUE);
  model_shape_clear (&shape);
}
END_TEST

/* All parameters are there; embedding, head, norms, attention and one slice are trained. */
START_TEST (test_parameters)
{
  g_autoptr (Workload) all = small ("gpt", 1, FALSE), mlp = small ("gpt", 4, FALSE);
  g_autoptr (Workload) heads = small ("gpt", 4, TRUE);
  double               total = (double) workload_n_parameters (all);
  double               wide = 2 * H * FF + FF, attention = 4 * H * H + 3 * H;

  ck_assert_double_eq ((double) workload_n_parameters (mlp), total);
  ck_assert_double_eq ((double) workload_n_parameters (heads), total);
  ck_assert_double_eq ((double) workload_n_trainable_parameters (all), total);
  ck_assert_double_eq ((double) workload_n_trainable_parameters (mlp),
                       total - LAYERS * wide * (1 - 1 / Q));
  ck_assert_double_eq ((double) workload_n_trainable_parameters (heads),
                       total - LAYERS * (wide + attention) * (1 - 1 / Q));
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
 * Forwards and for gradients of inputs 2 FLOPs a value and token, of all values; for gradients of
 * weights 2 of those that are trained. With f of the values trained a third of 1 - f is saved: of
 * attention and a quarter of the MLP (f = 1/3 + 2/3 / 4 = 1/2) one sixth, of a quarter of both
 * (f = 1/4) one fourth.
 */
START_TEST (test_flops)
{
  g_autoptr (Workload) all = small ("gpt", 1, FALSE), mlp = small ("gpt", 4, FALSE);
  g_autoptr (Workload) heads = small ("gpt", 4, TRUE);
  const Workload      *workloads[] = { all, mlp, heads };
  double               saved[] = { 0, 1.0 / 6, 1.0 / 4 }, n = 12 * H * H;

  for (guint i = 0; i < G_N_ELEMENTS (workloads); i++)
    {
      const LayerDesc *b = block_of (workloads[i]);

      ck_assert_double_eq (product_flops (b->forward, b->n_forward), 2 * S * n);
      assert_close (product_flops (b->backward, b->n_backward), 4 * S * n - saved[i] * 6 * S * n,
                    1e-12);
    }
}
END_TEST

/* The products of weight gradients have the slice's columns or rows, and read no others. */
START_TEST (test_kernels)
{
  g_autoptr (Workload) workload = small ("gpt", 4, FALSE);
  const LayerDesc     *b = block_of (workload);
  const KernelDesc    *up = find_kernel (b->backward, b->n_backward, "mlp.up.wgrad");
  const KernelDesc    *down = find_kernel (b->backward, b->n_backward, "mlp.down.wgrad");
  const KernelDesc    *bias = find_kernel (b->backward, b->n_backward, "mlp.up.bias_grad");
  const KernelDesc    *copy = find_kernel (b->forward, b->n_forward, "mlp.down.slice");
  double               slice = FF / Q;

  ck_assert_uint_eq (up->m, (guint64) slice);
  ck_assert_uint_eq (down->n, (guint64) slice);
  ck_assert_uint_eq (up->k, (guint64) S);
  ck_assert_double_eq (up->read_bytes, E * S * (H + slice));
  ck_assert_double_eq (up->write_bytes, E * H * slice);
  ck_assert_double_eq (down->read_bytes, E * S * (H + slice));
  ck_assert_double_eq (down->write_bytes, E * H * slice);
  ck_assert (up->weight_gradient && down->weight_gradient);
  ck_assert_double_eq (bias->read_bytes, E * S * slice);
  ck_assert_double_eq (bias->write_bytes, E * slice);
  ck_assert_double_eq (copy->read_bytes, E * S * slice);
  ck_assert_double_eq (copy->write_bytes, E * S * slice);
}
END_TEST

static double
saved (const char *name, gint activation, gint64 slices, gboolean heads)
{
  ModelShape           shape = arch (name, 1, (gint64) H, 4, (gint64) FF, (gint64) VOCAB);
  TrainingOptions      options = sliced (slices, heads);
  g_autoptr (Workload) workload = NULL;

  shape.activation = activation;
  workload = workload_new (&shape, &options);
  model_shape_clear (&shape);
  return (double) block_of (workload)->saved_bytes;
}

/*
 * Of the hidden features behind the activation those of the slice are kept; the input of the first
 * product is needed whole, and so is what the activation keeps of its own. A ReLU keeps its
 * output, of which the slice is a view; attention keeps its own, too.
 */
START_TEST (test_saved)
{
  double     left = E * S * FF * (1 - 1 / Q);
  const gint gelu = MODEL_ACTIVATION_AUTO, relu = MODEL_ACTIVATION_RELU;

  ck_assert_double_eq (saved ("gpt", gelu, 1, FALSE) - saved ("gpt", gelu, 4, FALSE), left);
  ck_assert_double_eq (saved ("llama", gelu, 1, FALSE) - saved ("llama", gelu, 4, FALSE), left);
  ck_assert_double_eq (saved ("gpt", relu, 1, FALSE), saved ("gpt", relu, 4, FALSE));
  ck_assert_double_eq (saved ("gpt", gelu, 4, TRUE), saved ("gpt", gelu, 4, FALSE));
}
END_TEST

/* A frozen parameter counts 4 FLOPs a token, not 6. */
START_TEST (test_counted)
{
  ModelShape      shape = arch ("gpt", LAYERS, (gint64) H, 4, (gint64) FF, (gint64) VOCAB);
  TrainingOptions all = sliced (1, FALSE), some = sliced (4, FALSE);
  MeshOptions     whole = { .tp = 1 };
  double          matrices = 2 * LAYERS * 2 * H * FF * (1 - 1 / Q);
  double          biases = 2 * LAYERS * FF * (1 - 1 / Q);

  ck_assert_double_eq (
      flops_trained_per_token (&shape, &all, &whole, FLOPS_PALM, (gint64) S)
          - flops_trained_per_token (&shape, &some, &whole, FLOPS_PALM, (gint64) S),
      matrices);
  ck_assert_double_eq (flops_trained_per_token (&shape, &all, &whole, FLOPS_6N, (gint64) S)
                           - flops_trained_per_token (&shape, &some, &whole, FLOPS_6N, (gint64) S),
                       matrices + biases);
  model_shape_clear (&shape);
}
END_TEST

/* TP tensor ranks cut their own columns: as much of each is trained as of the whole. */
START_TEST (test_tensor_ranks)
{
  ModelShape           shape = arch ("llama", LAYERS, (gint64) H, 4, (gint64) FF, (gint64) VOCAB);
  TrainingOptions      options = sliced (4, FALSE);
  MeshOptions          mesh = { .tp = 2, .sp = TRUE };
  g_autoptr (Workload) workload = NULL;

  mesh_normalise (&mesh);
  workload = workload_new_stage (&shape, &options, &mesh, 0);
  assert_tensor (block_of (workload), "mlp.up_proj.weight", FF / 2 / Q, H, FALSE);
  assert_tensor (block_of (workload), "mlp.down_proj.weight.others", H, FF / 2 * (1 - 1 / Q), TRUE);
  model_shape_clear (&shape);
}
END_TEST

/* MESSAGE begins what is said of OPTIONS with TP tensor ranks. */
static void
assert_refused (TrainingOptions options, gint64 tp, const char *message)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelShape           shape = arch ("gpt", LAYERS, (gint64) H, 4, (gint64) FF, (gint64) VOCAB);
  MeshOptions          mesh = { .tp = tp };

  mesh_normalise (&mesh);
  ck_assert (!workload_check (&shape, &options, NULL, diags)
             || !mesh_check (&shape, &options, &mesh, (guint) tp, NULL, diags));
  ck_assert_msg (g_str_has_prefix (diag_list_first_message (diags), message), "%s",
                 diag_list_first_message (diags));
  model_shape_clear (&shape);
}

START_TEST (test_refused)
{
  TrainingOptions fp8 = sliced (4, FALSE), tiles = fp8, lora = fp8;

  fp8.fp8_recipe = FP8_TENSORWISE;
  tiles.tiled_out_splits = 2;
  lora.peft = PEFT_LORA;
  lora.lora_target_modules = (char *) "all-linear";
  lora.lora_r = 8;
  assert_refused (fp8, 1, "fp8 products of slices");
  assert_refused (tiles, 1, "slices of tiled linears");
  assert_refused (lora, 1, "slices of adapted modules");
  assert_refused (sliced (3, FALSE), 1, "'trained_slices' of 3 does not divide 'd_ff' of 256");
  assert_refused (sliced (8, TRUE), 1, "'trained_slices' of 8 does not divide the heads, 4");
  assert_refused (sliced (256, FALSE), 2, "'tp' of 2 x 'trained_slices' of 256 does not divide");
  assert_refused (sliced (4, TRUE), 2, "'tp' of 2 x 'trained_slices' of 4 does not divide the he");
}
END_TEST

SUITE_MAIN (slices)
{
  TCase *tcase = tcase_create ("slices");

  tcase_add_test (tcase, test_tensors);
  tcase_add_test (tcase, test_transposed);
  tcase_add_test (tcase, test_parameters);
  tcase_add_test (tcase, test_flops);
  tcase_add_test (tcase, test_kernels);
  tcase_add_test (tcase, test_saved);
  tcase_add_test (tcase, test_counted);
  tcase_add_test (tcase, test_tensor_ranks);
  tcase_add_test (tcase, test_refused);
  return run_case ("slices", tcase);
}
