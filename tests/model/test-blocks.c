/*
 * Blocks that differ from their family's: activations, positions, biases, norms, windows, attention
 * and MLP of the same input. Parameters, traffic of kernels and collectives by hand. Not asserted:
 * how the collectives of a parallel block overlap in time.
 */
#include "../suite.h"
#include "fixture.h"

#define L  2
#define D  64
#define FF 256
#define V  1024
#define S  128 /* tokens */

/* A gpt of L blocks, 4 heads, with OPTIONS. */
static ModelShape
variant (ModelOptions options)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelShape           shape;
  gboolean             ok;

  options.arch = (char *) "gpt";
  options.n_layers = L;
  options.d_model = D;
  options.n_heads = 4;
  options.vocab = V;
  ok = model_resolve (&options, NULL, NULL, &shape, NULL, diags);
  ck_assert_msg (ok, "%s", diag_list_first_message (diags));
  return shape;
}

static guint64
parameters (ModelOptions options)
{
  ModelShape           shape = variant (options);
  TrainingOptions      training_of = training (S, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &training_of);
  guint64              n = workload_n_parameters (workload);

  model_shape_clear (&shape);
  return n;
}

/*
 * A gpt's block: 4 D^2 + 3 D + D (attention), 2 D FF + FF + D, two norms of 2 D; the table, S
 * positions, the last norm.
 */
START_TEST (test_parameters)
{
  const guint64 matrices = 4 * D * D + 2 * D * FF, biases = 4 * D + FF + D;
  const guint64 gpt = L * (matrices + biases + 4 * D) + V * D + S * D + 2 * D;

  ck_assert_uint_eq (parameters ((ModelOptions){ 0 }), gpt);
  ck_assert_uint_eq (parameters ((ModelOptions){ .biases = MODEL_BIASES_NONE }), gpt - L * biases);
  ck_assert_uint_eq (parameters ((ModelOptions){ .biases = MODEL_BIASES_QKV }),
                     gpt - L * (D + FF + D));
  /* heads of 16: a weight and a bias for all of them, or for each element; a logit a head */
  ck_assert_uint_eq (parameters ((ModelOptions){ .qk_norm = 1 + MODEL_QK_NORM_HEAD }),
                     gpt + L * 2 * 2 * 16);
  ck_assert_uint_eq (parameters ((ModelOptions){ .qk_norm = 1 + MODEL_QK_NORM_WHOLE }),
                     gpt + L * 2 * 2 * D);
  ck_assert_uint_eq (parameters ((ModelOptions){ .attention_sinks = MODEL_TIED_YES }), gpt + L * 4);
  ck_assert_uint_eq (parameters ((ModelOptions){ .positions = 1 + MODEL_POSITION_NONE }),
                     gpt - S * D);
  ck_assert_uint_eq (parameters ((ModelOptions){ .positions = 1 + MODEL_POSITION_ROTARY }),
                     gpt - S * D);
  ck_assert_uint_eq (parameters ((ModelOptions){ .norm = 1 + MODEL_NORM_RMS }),
                     gpt - (2 * L + 1) * D);
  ck_assert_uint_eq (parameters ((ModelOptions){ .activation = MODEL_ACTIVATION_SQUARED_RELU }),
                     gpt);
  ck_assert_uint_eq (parameters ((ModelOptions){ .activation = MODEL_ACTIVATION_GEGLU }),
                     gpt + L * (D * FF + FF));
  ck_assert_uint_eq (parameters ((ModelOptions){ .block = 1 + MODEL_BLOCK_PARALLEL }),
                     gpt - L * 2 * D);
  ck_assert_uint_eq (parameters ((ModelOptions){ .block = 1 + MODEL_BLOCK_TWO_NORMS }), gpt);
}
END_TEST

/* relu reads and writes n, so does the square; backwards 6 reads, 4 writes: of 2 bytes. */
START_TEST (test_squared_relu)
{
  ModelShape      shape = variant ((ModelOptions){ .activation = MODEL_ACTIVATION_SQUARED_RELU });
  TrainingOptions options = training (S, 1);
  const double    bytes = 2. * S * FF;
  g_autoptr (Workload) eager = workload_new (&shape, &options), fused = NULL;
  const LayerDesc     *block = workload_layer (eager, 1);
  const KernelDesc    *kernel = find_kernel (block->forward, block->n_forward, "mlp.activation");

  ck_assert_uint_eq (kernel->launches, 2);
  ck_assert_double_eq (kernel->read_bytes, 2 * bytes);
  ck_assert_double_eq (kernel->write_bytes, 2 * bytes);
  kernel = find_kernel (block->backward, block->n_backward, "mlp.activation.backward");
  ck_assert_uint_eq (kernel->launches, 4);
  ck_assert_double_eq (kernel->read_bytes, 6 * bytes);
  ck_assert_double_eq (kernel->write_bytes, 4 * bytes);
  options.traits.fused_gate = TRUE;
  fused = workload_new (&shape, &options);
  block = workload_layer (fused, 1);
  kernel = find_kernel (block->backward, block->n_backward, "mlp.activation.backward");
  ck_assert_uint_eq (kernel->launches, 1);
  ck_assert_double_eq (kernel->read_bytes, 2 * bytes);
  ck_assert_double_eq (kernel->write_bytes, bytes);
  model_shape_clear (&shape);
}
END_TEST

typedef struct
{
  guint  n[COLLECTIVE_N_KINDS];
  double bytes;
} Tally;

static Tally
tally (const KernelDesc *kernels, guint n)
{
  Tally sum = { 0 };

  for (guint i = 0; i < n; i++)
    if (kernels[i].kind == KERNEL_COMMUNICATION)
      {
        sum.n[kernels[i].comm]++;
        sum.bytes += kernels[i].read_bytes;
      }
  return sum;
}

/*
 * Of all tokens, 2 S D bytes: without sequence parallelism one all-reduce forwards, and backwards
 * one for each norm's output; with it as many gathers as norms and one scatter, and as many gathers
 * again backwards, beside the gather of the sum's gradient and the scatters of the norms'.
 */
START_TEST (test_collectives)
{
  const guint  norms = _i == MODEL_BLOCK_PARALLEL ? 1 : 2;
  const double all = 2. * S * D;

  for (gint64 sp = 0; sp <= 1; sp++)
    {
      ModelShape           shape = variant ((ModelOptions){ .block = 1 + _i });
      TrainingOptions      options = training (S, 1);
      MeshOptions          mesh = { .tp = 4, .sp = sp, .routing_skew = 1 };
      g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, 0),
                           whole = workload_new (&shape, &options);
      const LayerDesc *block = workload_layer (part, 1);
      Tally            forward = tally (block->forward, block->n_forward),
            backward = tally (block->backward, block->n_backward);

      if (sp == 0)
        {
          ck_assert_uint_eq (forward.n[COLLECTIVE_ALL_REDUCE], 1);
          ck_assert_double_eq (forward.bytes, all);
          ck_assert_uint_eq (backward.n[COLLECTIVE_ALL_REDUCE], norms);
          ck_assert_double_eq (backward.bytes, norms * all);
        }
      else
        {
          ck_assert_uint_eq (forward.n[COLLECTIVE_ALL_GATHER], norms);
          ck_assert_uint_eq (forward.n[COLLECTIVE_REDUCE_SCATTER], 1);
          ck_assert_double_eq (forward.bytes, (norms + 1) * all);
          ck_assert_uint_eq (backward.n[COLLECTIVE_ALL_GATHER], norms + 1);
          ck_assert_uint_eq (backward.n[COLLECTIVE_REDUCE_SCATTER], norms);
          ck_assert_double_eq (backward.bytes, (2 * norms + 1) * all);
        }
      assert_close (workload_matrix_flops (part) * 4, workload_matrix_flops (whole), 1e-9);
      model_shape_clear (&shape);
    }
}
END_TEST

/* The sum's scatter runs with the slices of the MLP's last product, which adds attention's part. */
START_TEST (test_overlap)
{
  ModelShape           shape = variant ((ModelOptions){ .block = 1 + MODEL_BLOCK_PARALLEL });
  TrainingOptions      options = training (S, 1);
  MeshOptions          mesh = { .tp = 4, .sp = 1, .async_tp = TRUE, .routing_skew = 1 };
  g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, 0);
  const LayerDesc     *block = workload_layer (part, 1);
  guint                down = 0, dgrad = 0, open = 0;

  for (guint i = 0; i < block->n_forward; i++)
    {
      down += g_str_equal (block->forward[i].name, "mlp.down");
      if (block->forward[i].joins)
        open = 0;
      open += block->forward[i].async;
    }
  ck_assert_uint_eq (down, 4);
  ck_assert_uint_eq (open, 0);
  for (guint i = 0; i < block->n_backward; i++)
    {
      dgrad += g_str_equal (block->backward[i].name, "mlp.down.dgrad");
      if (block->backward[i].joins)
        open = 0;
      open += block->backward[i].async;
    }
  ck_assert_uint_eq (dgrad, 4);
  ck_assert_uint_eq (open, 0);
  model_shape_clear (&shape);
}
END_TEST

/* 4 FLOPs a pair and element: S w - w^2 / 2 pairs of each of 4 heads of 16. */
START_TEST (test_window)
{
  ModelShape           shape = variant ((ModelOptions){ .sliding_window = 32 });
  TrainingOptions      options = training (S, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  const LayerDesc     *block = workload_layer (workload, 1);

  ck_assert_double_eq (find_kernel (block->forward, block->n_forward, "flash_fwd")->flops,
                       4. * (S * 32 - 32 * 32 / 2) * 4 * 16);
  model_shape_clear (&shape);
}
END_TEST

/* The last of each two blocks attends to all: S^2 / 2 pairs. */
START_TEST (test_window_period)
{
  ModelShape      shape = variant ((ModelOptions){ .sliding_window = 32, .sliding_period = 2 });
  TrainingOptions options = training (S, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  const LayerDesc     *windowed = workload_layer (workload, 1), *all = workload_layer (workload, 2);

  ck_assert_double_eq (find_kernel (windowed->forward, windowed->n_forward, "flash_fwd")->flops,
                       4. * (S * 32 - 32 * 32 / 2) * 4 * 16);
  ck_assert_double_eq (find_kernel (all->forward, all->n_forward, "flash_fwd")->flops,
                       4. * (S * S / 2) * 4 * 16);
  model_shape_clear (&shape);
}
END_TEST

/* DeepSeek-V2-Lite by its widths has the published number of parameters. */
START_TEST (test_latents)
{
  const ModelOptions   options = { .arch = (char *) "llama",
                                   .n_layers = 27,
                                   .d_model = 2048,
                                   .n_heads = 16,
                                   .d_ff = 10944,
                                   .vocab = 102400,
                                   .n_experts = 64,
                                   .n_experts_per_token = 6,
                                   .d_expert = 1408,
                                   .n_shared_experts = 2,
                                   .first_dense_layers = 1,
                                   .kv_lora_rank = 512,
                                   .qk_nope_head_dim = 128,
                                   .qk_rope_head_dim = 64,
                                   .v_head_dim = 128 };
  g_autoptr (DiagList) diags = diag_list_new ();
  TrainingOptions      training_of = training (S, 1);
  g_autoptr (Workload) workload = NULL;
  ModelShape           shape;

  ck_assert (model_resolve (&options, NULL, NULL, &shape, NULL, diags));
  workload = workload_new (&shape, &training_of);
  ck_assert_uint_eq (workload_n_parameters (workload), 15706484224UL);
  model_shape_clear (&shape);
}
END_TEST

static void
assert_refused (ModelOptions options, const char *message)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelShape           shape;

  ck_assert (!model_resolve (&options, NULL, NULL, &shape, NULL, diags));
  ck_assert_str_eq (diag_list_first_message (diags), message);
}

START_TEST (test_refused)
{
  assert_refused (
      (ModelOptions){ .config = (char *) "mixtral-8x7b", .block = 1 + MODEL_BLOCK_PARALLEL },
      "parallel blocks with experts are not modelled");
  assert_refused (
      (ModelOptions){ .config = (char *) "mixtral-8x7b", .activation = MODEL_ACTIVATION_GELU },
      "'activation' of experts is that of the file or the architecture");
  assert_refused (
      (ModelOptions){ .config = (char *) "deepseek-v3", .positions = 1 + MODEL_POSITION_ALIBI },
      "latent attention has rotary embeddings of its own");
  assert_refused (
      (ModelOptions){ .config = (char *) "deepseek-v3", .qk_norm = 1 + MODEL_QK_NORM_HEAD },
      "latent attention has norms of its latents");
  assert_refused ((ModelOptions){ .config = (char *) "llama-3-8b", .sliding_period = 2 },
                  "'sliding_period' is given, but no window");
  assert_refused ((ModelOptions){ .arch = (char *) "gpt",
                                  .n_layers = L,
                                  .d_model = D,
                                  .n_heads = 4,
                                  .vocab = V,
                                  .v_head_dim = 16 },
                  "'v_head_dim' is given, but not 'kv_lora_rank'");
}
END_TEST

SUITE_MAIN (blocks)
{
  TCase *tcase = tcase_create ("blocks");

  tcase_add_test (tcase, test_parameters);
  tcase_add_test (tcase, test_squared_relu);
  tcase_add_loop_test (tcase, test_collectives, MODEL_BLOCK_PARALLEL, MODEL_BLOCK_TWO_NORMS + 1);
  tcase_add_test (tcase, test_overlap);
  tcase_add_test (tcase, test_window);
  tcase_add_test (tcase, test_window_period);
  tcase_add_test (tcase, test_latents);
  tcase_add_test (tcase, test_refused);
  return run_case ("blocks", tcase);
}
