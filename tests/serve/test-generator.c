/*
 * Steps of generation and what they keep: caches by hand, FLOPs and bytes against totals of the
 * model, and relations that hold whatever the figures of the hardware are. Not asserted: how long
 * real engines take.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "cost/kernel/kernel.h"
#include "engine/engine.h"
#include "fixture.h"
#include "model/cache/cache.h"
#include "serve/small-all-reduce.h"
#include "serve/steady.h"

/* ---- what is kept ---------------------------------------------------------------------------- */

/*
 * Llama-3-8B: 32 layers of 8 heads of 128, keys and values, 2 B: 131072 B a token, an eighth of it
 * on each of 8 ranks. DeepSeek-V3: 61 layers of 512 + 64 elements whatever the ranks. gpt-oss-20b:
 * half of 24 layers keep 128 tokens.
 */
START_TEST (test_cache)
{
  Fixture               llama = fixture_new ("llama-3-8b", "dgx-h100");
  Fixture               latent = fixture_new ("deepseek-v3", "8xdgx-h100");
  Fixture               window = fixture_new ("gpt-oss-20b", "dgx-h100");
  g_autoptr (Generator) one = generator_of (&llama), eight = NULL, scaled = NULL, of_latents = NULL,
                        of_windows = NULL;
  double token;

  CLOSE (generator_cache_bytes (one, 1000), 131072e3, 1e-12);
  llama.options.tp = 8;
  eight = generator_of (&llama);
  CLOSE (generator_cache_bytes (eight, 1000), 131072e3 / 8, 1e-12);
  latent.options.tp = 8;
  llama.options.cache_dtype = SERVE_CACHE_FP8_HEADS; /* a head's 2 x 128 B, and 2 x 4 B of scales */
  scaled = generator_of (&llama);
  CLOSE (generator_cache_bytes (scaled, 1000), 32 * 264e3, 1e-12);
  of_latents = generator_of (&latent);
  CLOSE (generator_cache_bytes (of_latents, 1000), 61 * 576 * 2e3, 1e-12);
  of_windows = generator_of (&window);
  token = 2 * 8 * 64 * 2;
  CLOSE (generator_cache_bytes (of_windows, 1000), token * 12 * (1000 + 128), 1e-12);
  CLOSE (generator_cache_bytes (of_windows, 100), token * 24 * 100, 1e-12);
  fixture_clear (&llama);
  fixture_clear (&latent);
  fixture_clear (&window);
}
END_TEST

/* States are as large for a token as for thousands: 4 B an element, 2 B for 3 taps of a channel. */
START_TEST (test_states)
{
  const ModelShape shape = { .d_model = 64,
                             .n_heads = 4,
                             .n_kv_heads = 4,
                             .head_dim = 16,
                             .ssm_heads = 8,
                             .ssm_head_dim = 16,
                             .ssm_groups = 2,
                             .ssm_state = 32,
                             .conv_taps = 4 };
  const ModelLayer block = { .mixer = MODEL_MIXER_MAMBA2 };
  const CacheDesc  whole = cache_of_block (&shape, &block, 1, DTYPE_BF16),
                  half = cache_of_block (&shape, &block, 2, DTYPE_FP8);

  CLOSE (cache_bytes (&whole, 1), 4.0 * 8 * 16 * 32 + 2.0 * 3 * (8 * 16 + 2 * 2 * 32), 1e-12);
  ck_assert_double_eq (cache_bytes (&whole, 1), cache_bytes (&whole, 5000));
  CLOSE (cache_bytes (&half, 1), cache_bytes (&whole, 1) / 2, 1e-12);
}
END_TEST

/* ---- steps ----------------------------------------------------------------------------------- */

/*
 * A decoding step of B sequences multiplies each token with every matrix, the head's among them,
 * and attends to all that is cached and itself: 2 N B + 4 B h (c + 1) a layer FLOPs. Its bytes are
 * those of all weights and of the cache, and little more.
 */
START_TEST (test_decoding_against_totals)
{
  static const struct
  {
    double batch, cached;
  } cases[] = { { 1, 0 }, { 1, 4096 }, { 16, 512 }, { 256, 2048 } };
  const double   batch = cases[_i].batch, cached = cases[_i].cached;
  Fixture        f = fixture_new ("llama-3-8b", "dgx-h100");
  const double   table = 128256.0 * 4096, all = 8030261248.0, cache = 131072 * batch * (cached + 1);
  GenerationTime time = step (&f, batch, 1, cached);
  const double   matrices = all - table - 65 * 4096; /* norms multiply nothing */

  CLOSE (time.flops, 2 * matrices * batch + 4 * batch * 4096 * (cached + 1) * 32, 1e-9);
  ck_assert_double_ge (time.bytes, 2 * matrices + cache);
  ck_assert_double_le (time.bytes, 1.25 * (2 * matrices + cache) + 2e7 * batch);
  fixture_clear (&f);
}
END_TEST

/* The parts are the whole; no step is faster than memory, nor four times as slow where it binds. */
START_TEST (test_parts_and_memory)
{
  Fixture        f = fixture_new ("llama-3-8b", "dgx-h100");
  GenerationTime time;
  double         sum = 0, least;

  f.options.step_overhead_s = 0;
  time = step (&f, 64, 1, 1024);
  for (guint p = 0; p < GENERATION_N_PARTS; p++)
    sum += time.parts[p];
  CLOSE (sum, time.seconds, 1e-12);
  least = time.bytes / 3350e9;
  ck_assert_double_ge (time.seconds, least);
  ck_assert_double_le (time.seconds, 4 * least);
  fixture_clear (&f);
}
END_TEST

/* More of anything takes longer; more ranks less, though not in proportion. */
START_TEST (test_monotone)
{
  Fixture f = fixture_new ("llama-3-70b", "dgx-h100");
  double  base, eight;

  f.options.tp = 4;
  base = step (&f, 32, 1, 2048).seconds;
  ck_assert_double_gt (step (&f, 64, 1, 2048).seconds, base);
  ck_assert_double_lt (step (&f, 64, 1, 2048).seconds, 2 * base);
  ck_assert_double_gt (step (&f, 32, 1, 8192).seconds, base);
  ck_assert_double_gt (step (&f, 1, 4096, 0).seconds, step (&f, 1, 2048, 0).seconds);
  ck_assert_double_gt (step (&f, 1, 2048, 2048).seconds, step (&f, 1, 2048, 0).seconds);
  f.options.tp = 8;
  eight = step (&f, 32, 1, 2048).seconds;
  ck_assert_double_lt (eight, base);
  ck_assert_double_gt (eight, base / 2);
  f.options.enforce_eager = TRUE;
  f.options.issue_s = 1e-3; /* so that the host decides: a thousand kernels and more */
  ck_assert_double_gt (step (&f, 1, 1, 128).parts[GENERATION_HOST], 0.9);
  fixture_clear (&f);
}
END_TEST

/*
 * Two stages have half of the layers each: as many micro-batches of half of the sequences take the
 * slower one twice, and the messages between them.
 */
START_TEST (test_stages)
{
  Fixture        f = fixture_new ("llama-3-8b", "dgx-h100");
  GenerationTime one, two;

  f.options.step_overhead_s = 0;
  one = step (&f, 32, 1, 1024);
  f.options.pp = 2;
  two = step (&f, 64, 1, 1024);
  ck_assert_double_gt (two.seconds, one.seconds); /* the stage with the head is the slower one */
  ck_assert_double_lt (two.seconds, 1.3 * one.seconds);
  ck_assert_double_gt (two.parts[GENERATION_STAGES], 0);
  CLOSE (two.flops, one.flops, 1e-9);
  fixture_clear (&f);
}
END_TEST

/*
 * Of 128 experts of which each token visits 8, a token reads 8, 16 tokens 128 (1 - (1 -
 * 1/128)^128) = 81.1, and 64 tokens nearly all: 125.7.
 */
START_TEST (test_experts_that_are_read)
{
  static const struct
  {
    double tokens, read;
  } cases[] = { { 16, 81 }, { 64, 126 } };
  Fixture      f = fixture_new ("qwen3-30b-a3b", "dgx-h100");
  const double expert = 3.0 * 2048 * 768 * 2 * 48; /* bytes of one in all layers */
  const double more = step (&f, cases[_i].tokens, 1, 0).bytes - step (&f, 1, 1, 0).bytes
                      - (cases[_i].read - 8) * expert;

  ck_assert_double_ge (more, 0);
  ck_assert_double_le (more, 0.05 * (cases[_i].read - 8) * expert); /* activations, too */
  fixture_clear (&f);
}
END_TEST

/*
 * Of weights in fewer bits no others are there, and none are read: the matrices of a block, routed
 * experts among them. What is cast is activations, where a GPU multiplies the weights' type.
 */
START_TEST (test_narrow_weights)
{
  static const struct
  {
    ServeWeights weights;
    const char  *cluster;
    double       bytes; /* of a weight */
  } cases[] = { { SERVE_WEIGHTS_FP8, "dgx-h100", 1 },
                { SERVE_WEIGHTS_FP8, "dgx-a100", 1 },
                { SERVE_WEIGHTS_FP8_BLOCK, "dgx-h100", 1 + 1 / 4096.0 },
                { SERVE_WEIGHTS_INT4, "dgx-h100", 0.5 + 2.5 / 128 },
                { SERVE_WEIGHTS_NVFP4, "dgx-b200", 0.5 + 1 / 16.0 },
                { SERVE_WEIGHTS_NVFP4, "dgx-h100", 0.5 + 1 / 16.0 } };
  static const struct
  {
    const char *name;
    double      matrices, read; /* weights: all, and those that a token's products read */
  } models[] = {
    { "llama-3-8b", 32 * (2.0 * 4096 * 5120 + 3.0 * 4096 * 14336),
      32 * (2.0 * 4096 * 5120 + 3.0 * 4096 * 14336) },
    { "mixtral-8x7b", 32 * (2.0 * 4096 * 5120 + 8 * 3.0 * 4096 * 14336),
      32 * (2.0 * 4096 * 5120 + 2 * 3.0 * 4096 * 14336) },
  };
  const guint m = (guint) _i % G_N_ELEMENTS (models), c = (guint) _i / G_N_ELEMENTS (models);
  Fixture     f = fixture_new (models[m].name, cases[c].cluster);
  g_autoptr (Generator) wide = generator_of (&f), narrow = NULL;
  double                read = step (&f, 1, 1, 0).bytes;

  f.options.weights = cases[c].weights;
  narrow = generator_of (&f);
  CLOSE (generator_weight_bytes (wide) - generator_weight_bytes (narrow),
         (2 - cases[c].bytes) * models[m].matrices, 1e-12);
  read -= step (&f, 1, 1, 0).bytes;
  CLOSE (read, (2 - cases[c].bytes) * models[m].read, 2e-3); /* less what is cast */
  fixture_clear (&f);
}
END_TEST

/*
 * Weights that are widened are read faster and multiplied no faster: a token gains nearly what its
 * bytes do, a long prompt nothing. Those that the GPU multiplies as they are gain in both.
 */
START_TEST (test_widened_weights)
{
  Fixture      f = fixture_new ("llama-3-70b", "dgx-b200");
  const double token = step (&f, 1, 1, 0).parts[GENERATION_PRODUCTS],
               prompt = step (&f, 1, 8192, 0).parts[GENERATION_PRODUCTS];
  double int4_token, nvfp4_token;

  f.options.weights = SERVE_WEIGHTS_INT4;
  int4_token = step (&f, 1, 1, 0).parts[GENERATION_PRODUCTS];
  CLOSE (step (&f, 1, 8192, 0).parts[GENERATION_PRODUCTS], prompt, 0.02);
  f.options.weights = SERVE_WEIGHTS_NVFP4;
  nvfp4_token = step (&f, 1, 1, 0).parts[GENERATION_PRODUCTS];
  ck_assert_double_lt (step (&f, 1, 8192, 0).parts[GENERATION_PRODUCTS], 0.6 * prompt);
  ck_assert_double_lt (int4_token, 0.5 * token); /* latencies stay, and the head's bytes */
  ck_assert_double_lt (nvfp4_token, 0.7 * token);
  ck_assert_double_gt (int4_token, 0.26 * token);
  fixture_clear (&f);
}
END_TEST

/*
 * Eight tensor ranks with 16 whole experts each keep, multiply and send what they do with an eighth
 * of 128: 64 tokens have 64 rows of 512 for each of them, or all 512. They permute fewer rows.
 */
START_TEST (test_whole_experts)
{
  Fixture               f = fixture_new ("qwen3-30b-a3b", "dgx-h100");
  GenerationTime        slices, whole;
  g_autoptr (Generator) sliced = NULL, divided = NULL;

  f.options.tp = 8;
  sliced = generator_of (&f);
  slices = step (&f, 64, 1, 500);
  f.options.enable_expert_parallel = TRUE;
  divided = generator_of (&f);
  whole = step (&f, 64, 1, 500);
  CLOSE (generator_weight_bytes (divided), generator_weight_bytes (sliced), 1e-12);
  CLOSE (whole.flops, slices.flops, 1e-12);
  CLOSE (whole.parts[GENERATION_COMMUNICATION], slices.parts[GENERATION_COMMUNICATION], 1e-12);
  ck_assert_double_lt (whole.bytes, slices.bytes);
  ck_assert_double_lt (whole.parts[GENERATION_OTHER], slices.parts[GENERATION_OTHER]);
  fixture_clear (&f);
}
END_TEST

/* 8 experts are not divided over 2 replicas of 8 tensor ranks. */
START_TEST (test_too_few_experts)
{
  Fixture f = fixture_new ("mixtral-8x7b", "2xdgx-h100");

  f.options.tp = 8;
  f.options.dp = 2;
  generator_free (generator_of (&f)); /* their slices are */
  f.options.enable_expert_parallel = TRUE;
  ck_assert_ptr_null (
      generator_new (&f.shape, &f.options, f.cluster, &collective_default_options, f.diags));
  ck_assert_ptr_nonnull (strstr (diag_list_first_message (f.diags), "the experts of a replica"));
  fixture_clear (&f);
}
END_TEST

/* One shot brings all n messages to everybody, two shots n-th parts twice; each waits for flags. */
START_TEST (test_small_all_reduce)
{
  Fixture                    f = fixture_new ("llama-3-8b", "dgx-h100");
  const guint32              ranks[] = { 0, 1, 2, 3 };
  g_autoptr (CollectivePlan) gather =
      collective_plan_new (f.cluster, COLLECTIVE_ALL_GATHER, ranks, 4, &collective_default_options);
  const double one = small_all_reduce_seconds (SERVE_ALL_REDUCE_ONE_SHOT, gather, 8192, 2e-6),
               two = small_all_reduce_seconds (SERVE_ALL_REDUCE_TWO_SHOT, gather, 8192, 2e-6);

  ck_assert_double_gt (one, 3.5e-6);
  ck_assert_double_gt (two, 5e-6);
  ck_assert_double_lt (one, two); /* small: the flag decides */
  ck_assert_double_gt (small_all_reduce_seconds (SERVE_ALL_REDUCE_ONE_SHOT, gather, 64e6, 0),
                       small_all_reduce_seconds (SERVE_ALL_REDUCE_TWO_SHOT, gather, 64e6, 0));
  fixture_clear (&f);
}
END_TEST

/* ---- beside the engine ----------------------------------------------------------------------- */

/* A stream on the SMs and the memory of one GPU. */
typedef struct
{
  Engine    *engine;
  ResourceId sm, hbm;
  StreamId   stream;
} Device;

/* KERNEL, TIMES in a row, as the replay binds it. */
static void
submit (const Device *device, const KernelCost *cost, guint times)
{
  const Demand demands[] = { { device->hbm, cost->hbm_bytes }, { device->sm, cost->sm_seconds } };
  const OpSpec spec = { .class_ = OP_KERNEL,
                        .latency = sim_time_from_seconds (cost->latency),
                        .demands = demands,
                        .n_demands = cost->wave_units > 0 ? 1 : 2,
                        .waves = { cost->wave_units > 0 ? device->sm : ENGINE_NONE,
                                   cost->wave_units, cost->wave_seconds },
                        .pieces_on = ENGINE_NONE,
                        .share = 1,
                        .members = 1,
                        .order = ENGINE_NONE };

  for (guint i = 0; i < times; i++)
    engine_submit (device->engine, engine_op_new (device->engine, &spec), device->stream,
                   ENGINE_NONE, 0);
}

/* Submits what a decoding step of SEQUENCES runs, but for what attention does with the cache. */
static void
submit_layers (const Device *device, Fixture *f, KernelModel *model, gint64 sequences)
{
  TrainingOptions      training = { 0 };
  const MeshOptions    mesh = generation_mesh (&f->options);
  g_autoptr (Workload) workload = NULL;

  option_table_defaults (training_options, &training);
  generation_set_training (&f->options, PASS_DECODE, &training);
  training.seq_len = 1;
  training.micro_batch = sequences;
  workload = workload_new_stage (&f->shape, &training, &mesh, 0);
  for (guint i = 0; i < workload_n_layers (workload); i++)
    for (guint k = 0; k < workload_layer (workload, i)->n_forward; k++)
      {
        const KernelDesc *kernel = &workload_layer (workload, i)->forward[k];
        KernelCost        cost;

        if (kernel->kind == KERNEL_ATTENTION || strcmp (kernel->name, "attn.rotary") == 0)
          continue;
        kernel_model_cost (model, kernel, &cost);
        submit (device, &cost, 1);
      }
  option_table_clear (training_options, &training);
}

/* One rank's kernels, one after another on the engine, end when the closed form says. */
START_TEST (test_engine)
{
  static const gint64 batches[] = { 1, 16, 256 };
  const gint64        batch = batches[_i];
  Fixture             f = fixture_new ("llama-3-8b", "dgx-h100");
  GpuProfile          gpu = *cluster_gpu_profile (f.cluster, 0), graphed = gpu;
  const ModelLayer    block = { .mixer = MODEL_MIXER_ATTENTION, .n_heads = 32, .n_kv_heads = 8 };
  g_autoptr (Engine)  engine = engine_new ();
  const Device        device = { engine, engine_add_resource (engine, "sm", gpu.sms.value),
                                 engine_add_resource (engine, "hbm", gpu.hbm_bandwidth.value),
                                 engine_add_stream (engine, "compute", 0, 0) };
  g_autoptr (KernelModel) model = NULL;
  KernelDesc              attention;
  KernelCost              cost;

  graphed.kernel_latency = gpu.graph_latency;
  model = kernel_model_new (&graphed);
  submit_layers (&device, &f, model, batch);
  ck_assert (
      cache_decode_kernel (&f.shape, &block, 1, DTYPE_BF16, (double) batch, 1500, &attention));
  kernel_cost (&gpu, &attention, &cost);
  submit (&device, &cost, 32);
  ck_assert (engine_run (engine, NULL));
  f.options.step_overhead_s = 0;
  CLOSE (sim_time_to_seconds (engine_now (engine)), step (&f, (double) batch, 1, 1500).seconds,
         1e-6);
  fixture_clear (&f);
}
END_TEST

/* ---- every shipped model --------------------------------------------------------------------- */

/* What holds of any model that fits the mesh: see the asserts. */
static void
check_model (const char *name, Fixture *f)
{
  g_autoptr (Generator) generator =
      generator_new (&f->shape, &f->options, f->cluster, &collective_default_options, f->diags);
  const SequenceGroup groups[] = { { 1, 1, 500 }, { 8, 1, 500 }, { 8, 1, 5000 } };
  GenerationTime      times[G_N_ELEMENTS (groups)];

  if (generator == NULL)
    return; /* heads or widths that so many ranks do not divide */
  for (guint i = 0; i < G_N_ELEMENTS (groups); i++)
    {
      double sum = 0;

      generator_step (generator, &groups[i], 1, &times[i]);
      for (guint p = 0; p < GENERATION_N_PARTS; p++)
        {
          ck_assert_msg (times[i].parts[p] >= 0, "%s", name);
          sum += times[i].parts[p];
        }
      ck_assert_msg (fabs (sum / times[i].seconds - 1) < 1e-9, "%s", name);
    }
  /* measured products of one row are a little slower than those of eight, now and then */
  ck_assert_msg (times[1].seconds >= 0.95 * times[0].seconds, "%s", name);
  ck_assert_msg (times[2].seconds >= times[1].seconds, "%s", name);
  ck_assert_msg (times[1].flops > 7.5 * times[0].flops, "%s", name); /* all grows with tokens */
  ck_assert_msg (times[2].bytes >= times[1].bytes, "%s", name);
  ck_assert_msg (generator_cache_bytes (generator, 5000) >= generator_cache_bytes (generator, 10)
                     && generator_cache_bytes (generator, 10) > 0,
                 "%s", name);
  if (f->shape.n_experts == 0) /* every weight but the table's is read */
    ck_assert_msg (times[0].bytes
                       > 0.9
                             * (generator_weight_bytes (generator)
                                - 2.0 * f->shape.vocab * f->shape.d_model / f->options.tp),
                   "%s: %g of %g", name, times[0].bytes, generator_weight_bytes (generator));
}

START_TEST (test_shipped)
{
  g_auto (GStrv) names = model_list_shipped ();
  const gint64   tps[] = { 1, 2, 8 };

  for (guint i = _i; i < g_strv_length (names); i += 8)
    for (guint t = 0; t < G_N_ELEMENTS (tps); t++)
      {
        Fixture f = fixture_new (names[i], "dgx-h100");

        f.options.tp = tps[t];
        check_model (names[i], &f);
        fixture_clear (&f);
      }
}
END_TEST

/* ---- batches --------------------------------------------------------------------------------- */

/* 16 GB of weights leave room for sequences of 1280 tokens of 131072 B each. */
START_TEST (test_largest_batch)
{
  Fixture               f = fixture_new ("llama-3-8b", "dgx-h100");
  g_autoptr (Generator) generator = generator_of (&f);
  const SteadyLoad      load = { 0, 1024, 256 };
  SteadyAnswer          answer;

  steady_answer (generator, &f.options, f.cluster, load, &answer);
  CLOSE (answer.weight_bytes, 2 * 8030261248.0, 1e-12);
  CLOSE (answer.sequence_bytes, 1280 * 131072.0, 1e-12);
  ck_assert_double_lt (answer.room_bytes, 0.9 * 79.1 * 1073741824.0 - answer.weight_bytes);
  ck_assert_double_eq (answer.largest_batch, floor (answer.room_bytes / answer.sequence_bytes));
  ck_assert (answer.fits && answer.load.batch == answer.largest_batch);
  ck_assert_uint_eq (answer.n_instances, 8);
  CLOSE (answer.tokens_per_s_per_gpu * 8, answer.tokens_per_s, 1e-12);
  CLOSE (answer.decode_tokens_per_s_per_gpu, answer.load.batch / answer.between_tokens_s, 1e-12);
  ck_assert_double_lt (answer.tokens_per_s_per_gpu, answer.decode_tokens_per_s_per_gpu);
  fixture_clear (&f);
}
END_TEST

/* 141 GB of weights fit no GPU of 80: that is an answer. */
START_TEST (test_nothing_fits)
{
  Fixture               f = fixture_new ("llama-3-70b", "dgx-h100");
  g_autoptr (Generator) generator = generator_of (&f);
  const SteadyLoad      load = { 0, 1024, 256 };
  SteadyAnswer          answer;

  steady_answer (generator, &f.options, f.cluster, load, &answer);
  ck_assert (!answer.fits && answer.largest_batch == 0 && answer.room_bytes < 0);
  fixture_clear (&f);
}
END_TEST

/* Latents have no heads that could have scales. */
START_TEST (test_refused_cache)
{
  Fixture f = fixture_new ("deepseek-v2-lite", "dgx-h100");

  f.options.cache_dtype = SERVE_CACHE_FP8_HEADS;
  ck_assert_ptr_null (
      generator_new (&f.shape, &f.options, f.cluster, &collective_default_options, f.diags));
  ck_assert_ptr_nonnull (strstr (diag_list_first_message (f.diags), "of latents"));
  fixture_clear (&f);
}
END_TEST

START_TEST (test_refused)
{
  Fixture f = fixture_new ("llama-3-8b", "dgx-h100");

  f.options.tp = 3;
  ck_assert_ptr_null (
      generator_new (&f.shape, &f.options, f.cluster, &collective_default_options, f.diags));
  ck_assert_uint_ge (diag_list_n_errors (f.diags), 2); /* heads, and the cluster's GPUs */
  f.options.tp = 16;
  ck_assert_ptr_null (
      generator_new (&f.shape, &f.options, f.cluster, &collective_default_options, f.diags));
  fixture_clear (&f);
}
END_TEST

SUITE_MAIN (generator)
{
  Suite *suite = suite_create ("generator");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_cache);
  tcase_add_test (tcase, test_states);
  tcase_add_loop_test (tcase, test_decoding_against_totals, 0, 4);
  tcase_add_test (tcase, test_parts_and_memory);
  tcase_add_test (tcase, test_monotone);
  tcase_add_test (tcase, test_stages);
  tcase_add_loop_test (tcase, test_experts_that_are_read, 0, 2);
  tcase_add_loop_test (tcase, test_narrow_weights, 0, 12);
  tcase_add_test (tcase, test_widened_weights);
  tcase_add_test (tcase, test_whole_experts);
  tcase_add_test (tcase, test_too_few_experts);
  tcase_add_test (tcase, test_small_all_reduce);
  tcase_add_loop_test (tcase, test_engine, 0, 3);
  tcase_add_loop_test (tcase, test_shipped, 0, 8);
  tcase_add_test (tcase, test_largest_batch);
  tcase_add_test (tcase, test_nothing_fits);
  tcase_add_test (tcase, test_refused);
  tcase_add_test (tcase, test_refused_cache);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
