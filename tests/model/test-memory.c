/*
 * The order of allocations inside a layer against its totals: every tensor comes once before it
 * goes, forward leaves what is saved, the peaks are saved + working and saved + backward bytes, and
 * backward leaves no more than the gradient that it hands on; a pass that keeps nothing leaves its
 * output. Shapes, checkpointing modes and
 * tensor groups of several kinds. When a tensor comes exactly is not asserted.
 */
#include "../suite.h"
#include "fixture.h"

typedef struct
{
  guint64 *bytes; /* of each tensor, 0 while it is not there */
  double   now, peak;
  guint    peak_at, n_faults;
} Walk;

static void
run (Walk *walk, const MemoryProgram *program)
{
  walk->peak = walk->peak_at = 0;
  for (guint i = 0; i < program->n_steps; i++)
    {
      const MemoryStep *step = &program->steps[i];

      ck_assert_uint_lt (step->tensor, program->n_tensors);
      walk->n_faults += (step->bytes > 0) == (walk->bytes[step->tensor] > 0);
      walk->now += (double) step->bytes - (double) walk->bytes[step->tensor];
      walk->bytes[step->tensor] = step->bytes;
      if (walk->now > walk->peak)
        {
          walk->peak = walk->now;
          walk->peak_at = i + 1;
        }
    }
}

/* A pass that keeps nothing leaves its output, which the head's is a number. */
static void
check_inference (const LayerDesc *layer, const char *what)
{
  Walk   walk = { .bytes = g_new0 (guint64, layer->inference_memory.n_tensors) };
  double slack = layer->inference_memory.n_tensors, output = (double) layer->output_bytes;

  run (&walk, &layer->inference_memory);
  ck_assert_msg (layer->kind == LAYER_HEAD ? walk.now <= 64 : fabs (walk.now - output) <= slack,
                 "%s: inference leaves %.0f of %.0f", what, walk.now, output);
  ck_assert_msg (fabs (walk.peak - output - (double) layer->inference_bytes) <= slack,
                 "%s: inference peak %.0f, expected %.0f", what, walk.peak,
                 output + (double) layer->inference_bytes);
  ck_assert_uint_eq (walk.peak_at, layer->inference_memory.n_to_peak);
  ck_assert_uint_eq (walk.n_faults, 0);
  g_free (walk.bytes);
}

static void
check_layer (const LayerDesc *layer, const char *what)
{
  Walk   walk = { .bytes = g_new0 (guint64, layer->forward_memory.n_tensors) };
  double saved = (double) layer->saved_bytes,
         slack = layer->forward_memory.n_tensors; /* fractions of bytes */

  run (&walk, &layer->forward_memory);
  ck_assert_msg (fabs (walk.now - saved) <= slack, "%s: forward leaves %.0f of %.0f", what,
                 walk.now, saved);
  ck_assert_msg (fabs (walk.peak - saved - (double) layer->working_bytes) <= slack,
                 "%s: forward peak %.0f, expected %.0f", what, walk.peak,
                 saved + (double) layer->working_bytes);
  ck_assert_uint_eq (walk.peak_at, layer->forward_memory.n_to_peak);
  run (&walk, &layer->backward_memory);
  ck_assert_msg (fabs (walk.peak - saved - (double) layer->backward_bytes) <= slack,
                 "%s: backward peak %.0f, expected %.0f", what, walk.peak,
                 saved + (double) layer->backward_bytes);
  ck_assert_uint_eq (walk.peak_at, layer->backward_memory.n_to_peak);
  ck_assert_uint_eq (walk.n_faults, 0);
  check_inference (layer, what);
  g_free (walk.bytes);
}

static const CheckpointMode modes[] = { CHECKPOINT_NONE, CHECKPOINT_SELECTIVE, CHECKPOINT_FULL,
                                        CHECKPOINT_SELECTIVE_OP };

/* What selective checkpointing recomputes, in turn. */
static const char *const parts[] = { "core_attn", "layernorm", "mlp", "layernorm, mlp, core_attn" };

START_TEST (test_programs_add_up)
{
  static const char *const archs[] = { "gpt", "llama", "bloom" };

  for (guint m = 0; m < G_N_ELEMENTS (modes); m++)
    for (guint a = 0; a < G_N_ELEMENTS (archs); a++)
      for (guint kind = 0; kind < 16 * (FP8_MXFP8 + 1); kind++)
        {
          ModelShape           shape = arch (archs[a], 2, 512, 8, 1536, 1024);
          TrainingOptions      options = training (256, 2);
          MeshOptions          mesh = { .tp = kind & 1 ? 4 : 1,
                                        .sp = kind & 1,
                                        .pp = 1,
                                        .cp = 1,
                                        .vp = 1,
                                        .ep = 1,
                                        .routing_skew = 1 };
          g_autoptr (Workload) workload = NULL;
          g_autofree char     *what =
              g_strdup_printf ("%s, mode %u, kind %u", archs[a], modes[m], kind);
          g_autofree char *modules = g_strdup (parts[(kind + a) % G_N_ELEMENTS (parts)]);

          options.recompute_modules = modules;
          options.checkpointing = modes[m];
          options.attention = kind & 2 ? ATTENTION_EAGER : ATTENTION_FLASH2;
          options.compile = kind & 4;
          options.loss = (gint) (kind / 4 + a) % (LOSS_CHUNKED + 1);
          options.loss_chunk = 200; /* 512 tokens: the last chunk is smaller */
          options.fp8_recipe = (gint) kind / 16;
          if (kind & 8)
            options.traits = (FrameworkTraits){ .softmax_keys = 2048,
                                                .casts_scores = TRUE,
                                                .loss = FRAMEWORK_LOSS_GATHERED,
                                                .held_outputs = 2,
                                                .gpt_dropout = TRUE,
                                                .recomputes_all = TRUE,
                                                .keeps_rotary = TRUE,
                                                .keeps_gathered = TRUE };
          else if (kind & 4)
            options.traits = (FrameworkTraits){ .loss = FRAMEWORK_LOSS_PARALLEL,
                                                .loss_copies = TRUE,
                                                .holds_scattered = TRUE,
                                                .copies_qkv = TRUE,
                                                .attention_prologue = 6 };
          workload = workload_new_stage (&shape, &options, &mesh, 0);
          for (guint l = 0; l < workload_n_layers (workload); l++)
            check_layer (workload_layer (workload, l), what);
          model_shape_clear (&shape);
        }
}
END_TEST

/* Parts of latent attention and of experts, one within another, in 16 bits and in fp8. */
START_TEST (test_nested_parts_add_up)
{
  static const char *const lists[] = {
    "moe",         "moe, moe_act, layernorm", "shared_experts, moe_act",
    "mla_up_proj", "mla_up_proj, core_attn",  "layernorm, qk_layernorm, mla_up_proj, moe, mlp"
  };
  ModelShape shape = shipped ("deepseek-v3");

  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    for (guint kind = 0; kind < 4 * (FP8_MXFP8 + 1); kind++)
      {
        TrainingOptions      options = training (256, 1);
        MeshOptions          mesh = { .tp = kind & 1 ? 4 : 1,
                                      .sp = kind & 1,
                                      .pp = 1,
                                      .cp = 1,
                                      .vp = 1,
                                      .ep = 8,
                                      .routing_skew = 1 };
        g_autoptr (Workload) workload = NULL;
        g_autofree char     *modules = g_strdup (lists[i]);
        g_autofree char     *what = g_strdup_printf ("%s, kind %u", modules, kind);

        options.checkpointing = CHECKPOINT_SELECTIVE;
        options.recompute_modules = modules;
        options.compile = kind & 2;
        options.fp8_recipe = (gint) kind / 4;
        workload = workload_new_stage (&shape, &options, &mesh, 0);
        check_layer (workload_layer (workload, 1), what);
        check_layer (workload_layer (workload, 5), what);
      }
  model_shape_clear (&shape);
}
END_TEST

/*
 * A framework that keeps what it gathers, as Aleph Alpha's: 512 tokens of width 512 on 4 tensor
 * ranks, bf16. Both norms' outputs are kept whole, 512 x 512 x 2 = 524288 B, not a quarter of it:
 * 2 x 393216 more. Four tables of 64 dimensions a token: 4 x 512 x 64 x 2 = 262144. 1000 columns of
 * logits are padded to 4 x 256: 512 x 1024 x 2 = 1048576 B are held.
 */
START_TEST (test_aleph_alpha_keeps)
{
  ModelShape      shape = arch ("llama", 2, 512, 8, 1536, 1000);
  TrainingOptions plain = training (256, 2), framework = plain;
  MeshOptions mesh = { .tp = 4, .sp = 1, .pp = 1, .cp = 1, .vp = 1, .ep = 1, .routing_skew = 1 };
  g_autoptr (Workload) a = NULL, b = NULL;

  framework.traits = (FrameworkTraits){
    .loss = FRAMEWORK_LOSS_GATHERED, .held_outputs = 2, .keeps_rotary = TRUE, .keeps_gathered = TRUE
  };
  a = workload_new_stage (&shape, &plain, &mesh, 0);
  b = workload_new_stage (&shape, &framework, &mesh, 0);
  ck_assert_uint_eq (workload_layer (b, 1)->saved_bytes - workload_layer (a, 1)->saved_bytes,
                     2 * 393216 + 262144);
  ck_assert_uint_eq (workload_layer (a, 3)->held_bytes, 0);
  ck_assert_uint_eq (workload_layer (b, 3)->held_bytes, 1048576);
  model_shape_clear (&shape);
}
END_TEST

/* PyTorch's loop holds on to its logits as the loss takes them: 512 x 1000 x 4 = 2048000 B. */
START_TEST (test_torch_holds)
{
  ModelShape           shape = arch ("llama", 2, 512, 8, 1536, 1000);
  TrainingOptions      options = training (256, 2);
  const MeshOptions    mesh = { .tp = 1, .pp = 1, .cp = 1, .vp = 1, .ep = 1, .routing_skew = 1 };
  g_autoptr (Workload) workload = NULL;

  options.traits = (FrameworkTraits){ .loss = FRAMEWORK_LOSS_TORCH, .held_outputs = 1 };
  workload = workload_new_stage (&shape, &options, &mesh, 0);
  ck_assert_uint_eq (workload_layer (workload, 3)->held_bytes, 2048000);
  model_shape_clear (&shape);
}
END_TEST

/*
 * nanotron's, the same tokens and ranks. What both reduce-scatters of a block read is held: 2 x
 * 512 x 512 x 2 = 1048576 B. 1000 columns of logits are padded to 4 x 256: 512 x
 * 256 x 4 = 524288 B of a rank as fp32:
 * while the loss is made they are there twice, behind it once, as ever.
 */
START_TEST (test_nanotron_keeps)
{
  ModelShape      shape = arch ("llama", 2, 512, 8, 1536, 1000);
  TrainingOptions plain = training (256, 2), framework = plain;
  MeshOptions mesh = { .tp = 4, .sp = 1, .pp = 1, .cp = 1, .vp = 1, .ep = 1, .routing_skew = 1 };
  g_autoptr (Workload) a = NULL, b = NULL;
  const LayerDesc     *head;

  framework.traits = (FrameworkTraits){ .loss = FRAMEWORK_LOSS_PARALLEL,
                                        .loss_copies = TRUE,
                                        .holds_scattered = TRUE };
  a = workload_new_stage (&shape, &plain, &mesh, 0);
  b = workload_new_stage (&shape, &framework, &mesh, 0);
  head = workload_layer (b, 3);
  ck_assert_uint_eq (workload_layer (b, 1)->saved_bytes - workload_layer (a, 1)->saved_bytes,
                     1048576);
  ck_assert_uint_eq (head->saved_bytes, workload_layer (a, 3)->saved_bytes);
  ck_assert_uint_eq (head->working_bytes - workload_layer (a, 3)->working_bytes, 512 * 256 * 4);
  model_shape_clear (&shape);
}
END_TEST

/*
 * PyTorch's loss_parallel on the same logits, 524288 B as fp32 on a rank. Forwards two more than
 * Megatron-LM's are alive, of the cast logits and of those less their maximum; backwards three
 * beside what is kept (zeros, their sum with the exponentials, and that scaled) and the 2 B of the
 * loss's own gradient. It keeps no mask and no column number, 9 bytes a token. Where tensor ranks
 * do not divide the logits it is the usual one.
 */
START_TEST (test_torch_parallel_loss)
{
  ModelShape      shape = arch ("llama", 2, 512, 8, 1536, 1000);
  TrainingOptions plain = training (256, 2), framework = plain;
  MeshOptions mesh = { .tp = 4, .sp = 1, .pp = 1, .cp = 1, .vp = 1, .ep = 1, .routing_skew = 1 };
  g_autoptr (Workload) a = NULL, b = NULL, c = NULL, d = NULL;
  const LayerDesc     *usual, *head;

  framework.traits = (FrameworkTraits){ .loss = FRAMEWORK_LOSS_TORCH };
  a = workload_new_stage (&shape, &plain, &mesh, 0);
  b = workload_new_stage (&shape, &framework, &mesh, 0);
  usual = workload_layer (a, 3);
  head = workload_layer (b, 3);
  ck_assert_uint_eq (usual->saved_bytes - head->saved_bytes, 9 * 512);
  ck_assert_uint_eq (head->working_bytes - usual->working_bytes, 2 * 512 * 256 * 4);
  ck_assert_uint_eq (head->backward_bytes, 3 * 512 * 256 * 4 + 2);
  check_layer (head, "torch's loss");
  c = workload_new (&shape, &plain);
  d = workload_new (&shape, &framework);
  ck_assert_uint_eq (workload_layer (c, 3)->backward_bytes, workload_layer (d, 3)->backward_bytes);
  model_shape_clear (&shape);
}
END_TEST

/*
 * Queries, keys and values of 512 tokens and width 512 on one rank: 3 x 524288 B are copied once,
 * keys and values twice more: 3 + 2 x 2 = 7 x 524288 B read and as many written, each way. Nothing
 * is kept for it.
 */
START_TEST (test_rearranging)
{
  ModelShape           shape = arch ("llama", 2, 512, 8, 1536, 1000);
  TrainingOptions      plain = training (256, 2), framework = plain;
  g_autoptr (Workload) a = NULL, b = NULL;
  const LayerDesc     *layer;
  const KernelDesc    *there, *back;

  framework.traits = (FrameworkTraits){ .copies_qkv = TRUE, .attention_prologue = 6 };
  a = workload_new (&shape, &plain);
  b = workload_new (&shape, &framework);
  layer = workload_layer (b, 1);
  there = find_kernel (layer->forward, layer->n_forward, "attn.rearrange");
  back = find_kernel (layer->backward, layer->n_backward, "attn.rearrange.backward");
  ck_assert_double_eq (there->read_bytes, 7 * 524288);
  ck_assert_double_eq (there->write_bytes, 7 * 524288);
  ck_assert_double_eq (back->read_bytes + back->write_bytes, 14 * 524288);
  ck_assert_uint_eq (there->launches, 3);
  ck_assert_uint_eq (find_kernel (layer->forward, layer->n_forward, "attn.lengths")->launches, 6);
  ck_assert_uint_eq (layer->saved_bytes, workload_layer (a, 1)->saved_bytes);
  model_shape_clear (&shape);
}
END_TEST

/*
 * 8 heads x 512 x 512 = 2097152 scores, much more than all else. A softmax that casts them to fp32
 * first: 4 bytes a score more forwards, and 12 (probabilities and two gradients) for 10
 * (one gradient is 16-bit) backwards.
 */
START_TEST (test_unfused_softmax)
{
  const double         scores = 2097152;
  ModelShape           shape = arch ("llama", 2, 64, 8, 128, 1000);
  TrainingOptions      plain = training (512, 1), megatron;
  const LayerDesc     *one, *other;
  g_autoptr (Workload) a = NULL, b = NULL;

  plain.attention = ATTENTION_EAGER;
  megatron = plain;
  megatron.traits.casts_scores = TRUE;
  a = workload_new (&shape, &plain);
  b = workload_new (&shape, &megatron);
  one = workload_layer (a, 1);
  other = workload_layer (b, 1);
  ck_assert_uint_eq (other->saved_bytes, one->saved_bytes);
  ck_assert_uint_eq (other->working_bytes - one->working_bytes, (guint64) (4 * scores));
  ck_assert_uint_eq (other->backward_bytes - one->backward_bytes, (guint64) (2 * scores));
  /* 10 of them are alive, beside the 6 that are kept less what is gone by then */
  ck_assert_uint_gt (one->backward_bytes, (guint64) (3.5 * scores));
  ck_assert_uint_lt (one->backward_bytes, (guint64) (4 * scores));
  model_shape_clear (&shape);
}
END_TEST

SUITE_MAIN (memory)
{
  TCase *tcase = tcase_create ("programs");

  tcase_add_test (tcase, test_programs_add_up);
  tcase_add_test (tcase, test_nested_parts_add_up);
  tcase_add_test (tcase, test_aleph_alpha_keeps);
  tcase_add_test (tcase, test_torch_holds);
  tcase_add_test (tcase, test_nanotron_keeps);
  tcase_add_test (tcase, test_torch_parallel_loss);
  tcase_add_test (tcase, test_rearranging);
  tcase_add_test (tcase, test_unfused_softmax);
  return run_case ("memory", tcase);
}
