/*
 * LoRA over a tensor group, counted by hand: what a rank trains, computes, sends and keeps, and
 * what is refused. Sources: Megatron-Bridge, src/megatron/bridge/peft/utils.py
 * (ParallelLinearAdapter); huggingface/peft, src/peft/tuners/lora/tp_layer.py. It does not test how
 * collectives overlap in time.
 */
#include "../suite.h"
#include "fixture.h"

#define S      128.0 /* tokens */
#define H      64.0
#define FF     256.0
#define VOCAB  1000.0
#define LAYERS 3
#define R      8.0
#define TP     2.0

static ModelShape
small_gpt (void)
{
  return arch ("gpt", LAYERS, (gint64) H, 4, (gint64) FF, (gint64) VOCAB);
}

static TrainingOptions
lora (const char *targets)
{
  TrainingOptions options = training ((gint64) S, 1);

  options.peft = PEFT_LORA;
  options.lora_r = (gint64) R;
  options.lora_target_modules = (char *) targets;
  return options;
}

static Workload *
divided (const TrainingOptions *options, gboolean sp)
{
  ModelShape  shape = small_gpt ();
  MeshOptions mesh = { .tp = 2, .sp = sp, .pp = 1, .cp = 1, .vp = 1, .ep = 1, .routing_skew = 1 };
  Workload   *workload = workload_new_stage (&shape, options, &mesh, 0);

  model_shape_clear (&shape);
  return workload;
}

static const TensorDesc *
find_tensor (const LayerDesc *layer, const char *name)
{
  for (guint t = 0; t < layer->n_tensors; t++)
    if (g_str_equal (layer->tensors[t].name, name))
      return &layer->tensors[t];
  ck_abort_msg ("no tensor '%s'", name);
}

/*
 * A module divided by columns, H to 3 H: A is R / 2 x H, B is 3 H / 2 x R. One divided by rows, FF
 * to H: A is R x FF / 2, B is H / 2 x R. So a rank trains half of all adapters, and none of it is
 * whole on both.
 */
START_TEST (test_parameters)
{
  static const struct
  {
    const char *name;
    double      rows, columns;
  } parts[] = {
    { "attn.c_attn.lora_A.weight", R / TP, H },
    { "attn.c_attn.lora_B.weight", 3 * H / TP, R },
    { "mlp.c_proj.lora_A.weight", R, FF / TP },
    { "mlp.c_proj.lora_B.weight", H / TP, R },
  };
  TrainingOptions      options = lora ("all-linear");
  g_autoptr (Workload) workload = divided (&options, TRUE);

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      const TensorDesc *tensor = find_tensor (workload_layer (workload, 1), parts[i].name);

      ck_assert_double_eq ((double) tensor->shape[0], parts[i].rows);
      ck_assert_double_eq ((double) tensor->shape[1], parts[i].columns);
      ck_assert (!tensor->replicated && !tensor->frozen);
    }
  ck_assert_double_eq ((double) workload_n_trainable_parameters (workload),
                       LAYERS * R * (4 * H + 2 * H + 2 * (H + FF)) / TP);
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

/* Half of what one rank alone multiplies: 4 FLOPs a frozen value and token, 6 one of A and B. */
START_TEST (test_flops)
{
  TrainingOptions      options = lora ("all-linear");
  g_autoptr (Workload) workload = divided (&options, _i == 1);
  const LayerDesc     *b = workload_layer (workload, 1);
  double               block = 4 * H * H + 2 * H * FF, adapter = R * (6 * H + 2 * (H + FF));

  ck_assert_double_eq (product_flops (b->forward, b->n_forward), 2 * S * (block + adapter) / TP);
  ck_assert_double_eq (product_flops (b->backward, b->n_backward),
                       S * (2 * block + 4 * adapter) / TP);
}
END_TEST

/* ---- what a block sends ---------------------------------------------------------------------- */

#define WIDE   (2 * S * H) /* bytes of a width for all tokens */
#define NARROW (2 * S * R) /* of what A makes of them */

typedef struct
{
  guint  n;
  double bytes;
} Sent;

static void
assert_sent (const KernelDesc *kernels, guint n, CollectiveKind kind, Sent expected)
{
  Sent sent = { 0 };

  for (guint i = 0; i < n; i++)
    if (kernels[i].kind == KERNEL_COMMUNICATION && kernels[i].comm == kind)
      {
        ck_assert_int_eq (kernels[i].axis, MESH_TENSOR);
        sent.n++;
        sent.bytes += kernels[i].read_bytes;
      }
  ck_assert_msg (sent.n == expected.n && sent.bytes == expected.bytes,
                 "collectives of kind %d: %u of %g bytes, expected %u of %g", kind, sent.n,
                 sent.bytes, expected.n, expected.bytes);
}

/*
 * Two modules of a block are divided by columns, two by rows. Forwards each A of the former has its
 * output gathered, each A of the latter added up; what the latter's B makes is gathered. Backwards
 * the gradient of each B's input is added up. Beside that, without sequence parallelism:
 * Megatron's two all-reduces each way, and backwards another for the input of each A by columns.
 */
START_TEST (test_plain)
{
  TrainingOptions      options = lora ("all-linear");
  g_autoptr (Workload) workload = divided (&options, FALSE);
  const LayerDesc     *b = workload_layer (workload, 1);

  assert_sent (b->forward, b->n_forward, COLLECTIVE_ALL_REDUCE, (Sent){ 4, 2 * WIDE + 2 * NARROW });
  assert_sent (b->forward, b->n_forward, COLLECTIVE_ALL_GATHER, (Sent){ 4, 2 * WIDE + 2 * NARROW });
  assert_sent (b->backward, b->n_backward, COLLECTIVE_ALL_REDUCE,
               (Sent){ 8, 4 * WIDE + 4 * NARROW });
  assert_sent (b->backward, b->n_backward, COLLECTIVE_ALL_GATHER, (Sent){ 0 });
}
END_TEST

/*
 * With it the stream is gathered before columns and scattered behind rows, and the reverse
 * backwards. An A by columns takes what its module gathered: no other collective either way, nor a
 * second gather backwards. Of what a B by rows makes each rank takes its tokens, whose gradient is
 * gathered; or an all-to-all brings them, half of the bytes at a rank each way.
 */
START_TEST (test_sequence)
{
  TrainingOptions      options = lora ("all-linear");
  const double         whole = _i == 0 ? 2 * WIDE : 0;
  const guint          n = _i == 0 ? 2 : 0;
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *b;

  options.lora_a2a = _i == 1;
  workload = divided (&options, TRUE);
  b = workload_layer (workload, 1);
  assert_sent (b->forward, b->n_forward, COLLECTIVE_ALL_GATHER,
               (Sent){ 4 + n, 2 * WIDE + 2 * NARROW + whole });
  assert_sent (b->forward, b->n_forward, COLLECTIVE_REDUCE_SCATTER, (Sent){ 2, 2 * WIDE });
  assert_sent (b->forward, b->n_forward, COLLECTIVE_ALL_REDUCE, (Sent){ 2, 2 * NARROW });
  assert_sent (b->forward, b->n_forward, COLLECTIVE_ALL_TO_ALL, (Sent){ 2 - n, WIDE - whole / 2 });
  assert_sent (b->backward, b->n_backward, COLLECTIVE_ALL_GATHER,
               (Sent){ 2 + n, 2 * WIDE + whole });
  assert_sent (b->backward, b->n_backward, COLLECTIVE_REDUCE_SCATTER, (Sent){ 2, 2 * WIDE });
  assert_sent (b->backward, b->n_backward, COLLECTIVE_ALL_REDUCE, (Sent){ 4, 4 * NARROW });
  assert_sent (b->backward, b->n_backward, COLLECTIVE_ALL_TO_ALL,
               (Sent){ 2 - n, WIDE - whole / 2 });
}
END_TEST

/*
 * What modules gather in fp8, a byte an element, or in slices that products wait for, an adapter
 * gathers for itself in 16 bits, once a layer, and scatters the gradient of it.
 */
START_TEST (test_own_gather)
{
  TrainingOptions      options = lora ("c_attn");
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *b;

  options.fp8_recipe = FP8_DELAYED;
  workload = divided (&options, TRUE);
  b = workload_layer (workload, 1);
  assert_sent (b->forward, b->n_forward, COLLECTIVE_ALL_GATHER,
               (Sent){ 4, 2 * WIDE / 2 + WIDE + NARROW });
  assert_sent (b->backward, b->n_backward, COLLECTIVE_REDUCE_SCATTER, (Sent){ 3, 3 * WIDE });
}
END_TEST

/* ---- one factor whole, as peft has it -------------------------------------------------------- */

static TrainingOptions
half_lora (const char *targets)
{
  TrainingOptions options = lora (targets);

  options.fully_sharded_loras = FALSE;
  return options;
}

/* What a rank has of all four modules: A whole and B divided, or A divided and B whole. */
#define HALVES (H + 3 * H / TP + H / TP + H + H + FF / TP + FF / TP + H)

/*
 * By columns, H to 3 H: A is R x H on each rank, B is 3 H / 2 x R. By rows, FF to H: A is R x FF /
 * 2, B is H x R on each. Those that are whole are marked: with sequence parallelism a rank's
 * gradient of them is of its tokens alone.
 */
START_TEST (test_half_parameters)
{
  static const struct
  {
    const char *name;
    double      rows, columns;
    gboolean    replicated;
  } parts[] = {
    { "attn.c_attn.lora_A.weight", R, H, TRUE },
    { "attn.c_attn.lora_B.weight", 3 * H / TP, R, FALSE },
    { "mlp.c_proj.lora_A.weight", R, FF / TP, FALSE },
    { "mlp.c_proj.lora_B.weight", H, R, TRUE },
  };
  TrainingOptions      options = half_lora ("all-linear");
  g_autoptr (Workload) workload = divided (&options, TRUE);

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      const TensorDesc *tensor = find_tensor (workload_layer (workload, 1), parts[i].name);

      ck_assert_double_eq ((double) tensor->shape[0], parts[i].rows);
      ck_assert_double_eq ((double) tensor->shape[1], parts[i].columns);
      ck_assert_int_eq (tensor->replicated, parts[i].replicated);
    }
  ck_assert_double_eq ((double) workload_n_trainable_parameters (workload), LAYERS * R * HALVES);
}
END_TEST

/* Each rank takes all tokens through a whole factor, or with sequence parallelism its own. */
START_TEST (test_half_flops)
{
  TrainingOptions      options = half_lora ("all-linear");
  g_autoptr (Workload) workload = divided (&options, _i == 1);
  const LayerDesc     *b = workload_layer (workload, 1);
  double               block = (4 * H * H + 2 * H * FF) / TP;
  double               adapter = R * (_i == 1 ? (6 * H + 2 * (H + FF)) / TP : HALVES);

  ck_assert_double_eq (product_flops (b->forward, b->n_forward), 2 * S * (block + adapter));
  ck_assert_double_eq (product_flops (b->backward, b->n_backward), S * (2 * block + 4 * adapter));
}
END_TEST

/*
 * Beside Megatron's two all-reduces each way: forwards what each A by rows makes is added up,
 * backwards the gradient of each B's input by columns. Nothing is gathered.
 */
START_TEST (test_half_plain)
{
  TrainingOptions      options = half_lora ("all-linear");
  g_autoptr (Workload) workload = divided (&options, FALSE);
  const LayerDesc     *b = workload_layer (workload, 1);

  for (guint pass = 0; pass < 2; pass++)
    {
      const KernelDesc *kernels = pass == 0 ? b->forward : b->backward;
      guint             n = pass == 0 ? b->n_forward : b->n_backward;

      assert_sent (kernels, n, COLLECTIVE_ALL_REDUCE, (Sent){ 4, 2 * WIDE + 2 * NARROW });
      assert_sent (kernels, n, COLLECTIVE_ALL_GATHER, (Sent){ 0 });
    }
}
END_TEST

/*
 * With sequence parallelism an A by columns takes the rank's tokens, and what it makes is gathered;
 * what an A by rows makes is scattered. Backwards the reverse, and the input of each B by columns
 * is gathered again for its gradient, as Megatron gathers any such input.
 */
START_TEST (test_half_sequence)
{
  TrainingOptions      options = half_lora ("all-linear");
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *b;

  options.lora_a2a = TRUE; /* there is nothing to exchange */
  workload = divided (&options, TRUE);
  b = workload_layer (workload, 1);
  assert_sent (b->forward, b->n_forward, COLLECTIVE_ALL_GATHER, (Sent){ 4, 2 * WIDE + 2 * NARROW });
  assert_sent (b->forward, b->n_forward, COLLECTIVE_REDUCE_SCATTER,
               (Sent){ 4, 2 * WIDE + 2 * NARROW });
  assert_sent (b->backward, b->n_backward, COLLECTIVE_ALL_GATHER,
               (Sent){ 6, 2 * WIDE + 4 * NARROW });
  assert_sent (b->backward, b->n_backward, COLLECTIVE_REDUCE_SCATTER,
               (Sent){ 4, 2 * WIDE + 2 * NARROW });
  for (guint pass = 0; pass < 2; pass++)
    for (guint kind = 0; kind < 2; kind++)
      assert_sent (pass == 0 ? b->forward : b->backward, pass == 0 ? b->n_forward : b->n_backward,
                   kind == 0 ? COLLECTIVE_ALL_REDUCE : COLLECTIVE_ALL_TO_ALL, (Sent){ 0 });
}
END_TEST

/* ---- what a block keeps ---------------------------------------------------------------------- */

/*
 * Of LoRA alone (test-peft.c) a rank keeps half, but the inputs of A by columns whole, and the R
 * numbers a token that each A makes.
 */
START_TEST (test_kept)
{
  TrainingOptions      options = lora ("all-linear");
  g_autoptr (Workload) workload = divided (&options, TRUE);
  double always = S * (2 * (2 * H + 3 * H + H + FF) + 2 * 8 + 4 * 4), gelu = S * 2 * FF;

  ck_assert_double_eq ((double) workload_layer (workload, 1)->saved_bytes,
                       (always + gelu) / TP + 2 * WIDE + 4 * NARROW);
}
END_TEST

/* With one factor whole nothing is kept whole: pieces of inputs and of what each A makes. */
START_TEST (test_half_kept)
{
  TrainingOptions      options = half_lora ("all-linear");
  g_autoptr (Workload) workload = divided (&options, TRUE);
  double always = S * (2 * (2 * H + 3 * H + H + FF) + 2 * 8 + 4 * 4), gelu = S * 2 * FF;

  ck_assert_double_eq ((double) workload_layer (workload, 1)->saved_bytes,
                       (always + gelu + 2 * WIDE + 4 * NARROW) / TP);
}
END_TEST

/*
 * Dropout is on what A takes. Both factors divided: on the whole input of a module by columns, a
 * copy and half as much of mask in place of the input; one whole: on the rank's piece of it. By
 * rows: on the rank's features, of attention's output beside it, of the MLP's in its place.
 */
START_TEST (test_dropout_kept)
{
  TrainingOptions      options = lora ("all-linear");
  const double         columns = _i == 0 ? 2 * WIDE : 2 * WIDE / TP;
  g_autoptr (Workload) plain = NULL, dropped = NULL;
  const LayerDesc     *b;

  options.fully_sharded_loras = _i == 0;
  plain = divided (&options, TRUE);
  options.lora_dropout = 0.1;
  dropped = divided (&options, TRUE);
  b = workload_layer (dropped, 1);
  ck_assert_double_eq ((double) b->saved_bytes, (double) workload_layer (plain, 1)->saved_bytes
                                                    + columns / 2 + 1.5 * WIDE / TP + S * FF / TP);
  ck_assert_double_eq (find_kernel (b->forward, b->n_forward, "attn.qkv.lora_dropout")->read_bytes,
                       columns / 2);
  ck_assert_double_eq (find_kernel (b->forward, b->n_forward, "mlp.down.lora_dropout")->read_bytes,
                       2 * S * FF / TP);
}
END_TEST

/*
 * Where the module gathers in fp8, the adapter drops out the rank's piece and gathers that: it
 * keeps all of what it gathered, and a mask of the piece.
 */
START_TEST (test_dropout_own_gather)
{
  TrainingOptions      options = lora ("c_attn");
  g_autoptr (Workload) plain = NULL, dropped = NULL;
  const LayerDesc     *b;

  options.fp8_recipe = FP8_DELAYED;
  plain = divided (&options, TRUE);
  options.lora_dropout = 0.1;
  dropped = divided (&options, TRUE);
  b = workload_layer (dropped, 1);
  ck_assert_double_eq ((double) b->saved_bytes,
                       (double) workload_layer (plain, 1)->saved_bytes + S * H / TP);
  assert_sent (b->forward, b->n_forward, COLLECTIVE_ALL_GATHER,
               (Sent){ 4, 2 * WIDE / 2 + WIDE + NARROW });
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

static void
assert_refused (TrainingOptions options, const ModelShape *shape, const char *message)
{
  MeshOptions          mesh = { .tp = 4, .routing_skew = 1 };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *text = NULL;

  ck_assert (!mesh_check (shape, &options, &mesh, 4, NULL, diags));
  text = diag_list_format (diags, FALSE);
  ck_assert_msg (strstr (text, message) != NULL, "%s", text);
}

START_TEST (test_refusals)
{
  ModelShape           shape = small_gpt ();
  TrainingOptions      options = lora ("all-linear");
  MeshOptions          mesh = { .tp = 4, .routing_skew = 1 };
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert (mesh_check (&shape, &options, &mesh, 4, NULL, diags));
  options.lora_r = 6;
  assert_refused (options, &shape, "'tp' of 4 does not divide 'lora_r' of 6");
  options.fully_sharded_loras = FALSE; /* A, or B, has all of them */
  ck_assert (mesh_check (&shape, &options, &mesh, 4, NULL, diags));
  options.fully_sharded_loras = TRUE;
  options.lora_r = 8;
  options.use_dora = TRUE;
  assert_refused (options, &shape, "'tp' of 4 does not go with 'use_dora'");
  options.use_dora = FALSE;
  options.load_in_4bit = TRUE;
  assert_refused (options, &shape, "'tp' of 4 does not go with 'load_in_4bit'");
  options.load_in_4bit = FALSE;
  shape.block = MODEL_BLOCK_PARALLEL;
  assert_refused (options, &shape, "'tp' of 4 does not go with LoRA in parallel blocks");
  model_shape_clear (&shape);
}
END_TEST

SUITE_MAIN (peft_tensor)
{
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_parameters);
  tcase_add_loop_test (tcase, test_flops, 0, 2);
  tcase_add_test (tcase, test_plain);
  tcase_add_loop_test (tcase, test_sequence, 0, 2);
  tcase_add_test (tcase, test_own_gather);
  tcase_add_test (tcase, test_half_parameters);
  tcase_add_loop_test (tcase, test_half_flops, 0, 2);
  tcase_add_test (tcase, test_half_plain);
  tcase_add_test (tcase, test_half_sequence);
  tcase_add_test (tcase, test_kept);
  tcase_add_test (tcase, test_half_kept);
  tcase_add_loop_test (tcase, test_dropout_kept, 0, 2);
  tcase_add_test (tcase, test_dropout_own_gather);
  tcase_add_test (tcase, test_refusals);
  return run_case ("peft-tensor", tcase);
}
