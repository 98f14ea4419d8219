/*
 * Layers divided over context and expert groups: bytes of their collectives, FLOPs and kept bytes
 * by closed forms. It does not test how messages overlap with attention in time.
 */
#include "../suite.h"
#include "fixture.h"

typedef struct
{
  double bytes[COLLECTIVE_N_KINDS]; /* by CollectiveKind */
  guint  n[COLLECTIVE_N_KINDS], n_async;
} Traffic;

static Traffic
traffic_of (const KernelDesc *kernels, guint n, MeshAxis axis)
{
  Traffic traffic = { 0 };

  for (guint i = 0; i < n; i++)
    if (kernels[i].kind == KERNEL_COMMUNICATION && kernels[i].axis == axis)
      {
        traffic.bytes[kernels[i].comm] += kernels[i].read_bytes;
        traffic.n[kernels[i].comm]++;
        traffic.n_async += kernels[i].async;
      }
  return traffic;
}

/*
 * Forward: cp - 1 blocks of keys and values; backward: as many again, and as many of their
 * gradients.
 */
START_TEST (test_ring)
{
  ModelShape      shape = shipped ("llama-3-8b");
  TrainingOptions options = training (960, 2);
  MeshOptions     mesh = { .cp = _i, .routing_skew = 1 };
  double block = 1920. / _i * 2 * (8 * 128) * 2; /* tokens, k and v, 8 heads of 128, 2 bytes */
  g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, 0),
                       whole = workload_new (&shape, &options);
  const LayerDesc *layer = workload_layer (part, 1);
  Traffic          t = traffic_of (layer->forward, layer->n_forward, MESH_CONTEXT);
  guint            n_flash = 0;

  ck_assert_double_eq (t.bytes[COLLECTIVE_SEND_RECV], (_i - 1) * block);
  ck_assert_uint_eq (t.n[COLLECTIVE_SEND_RECV], _i - 1);
  ck_assert_uint_eq (t.n_async, _i - 1);
  t = traffic_of (layer->backward, layer->n_backward, MESH_CONTEXT);
  ck_assert_double_eq (t.bytes[COLLECTIVE_SEND_RECV], 2 * (_i - 1) * block);
  for (guint i = 0; i < layer->n_forward; i++)
    n_flash += layer->forward[i].kind == KERNEL_ATTENTION;
  ck_assert_uint_eq (n_flash, _i);
  ck_assert_uint_eq (layer->saved_bytes * _i, workload_layer (whole, 1)->saved_bytes);
  assert_close (workload_matrix_flops (part) * _i, workload_matrix_flops (whole), 1e-12);
  ck_assert_uint_eq (workload_n_parameters (part), workload_n_parameters (whole));
  model_shape_clear (&shape);
}
END_TEST

/* Names of kernels and messages in order: "*" asynchronous, "&" joins. */
static char *
order_of (const KernelDesc *kernels, guint n, const char *part)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    if (strstr (kernels[i].name, part) != NULL)
      g_string_append_printf (text, " %s%s%s", kernels[i].name, kernels[i].async ? "*" : "",
                              kernels[i].joins ? "&" : "");
  return g_string_free (text, FALSE);
}

/* No step begins before its block is there. */
START_TEST (test_order_of_the_ring)
{
  ModelShape           shape = arch ("mpt", 1, 32, 2, 64, 256);
  TrainingOptions      options = training (12, 1);
  MeshOptions          mesh = { .cp = 3, .routing_skew = 1 };
  g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, 0);
  const LayerDesc     *block = workload_layer (part, 1);
  g_autofree char     *forward = order_of (block->forward, block->n_forward, "flash"),
                  *backward = order_of (block->backward, block->n_backward, "flash");

  ck_assert_str_eq (forward,
                    " flash_fwd.ring* flash_fwd flash_fwd.ring*& flash_fwd flash_fwd.merge "
                    "flash_fwd& flash_fwd.merge");
  ck_assert_str_eq (
      backward, " flash_bwd.row_sums flash_bwd.ring* flash_bwd flash_bwd.ring*& "
                "flash_bwd.ring_grad* flash_bwd flash_bwd.merge& flash_bwd.ring_grad* flash_bwd "
                "flash_bwd.merge& flash_bwd.cast_dq");
  model_shape_clear (&shape);
}
END_TEST

/*
 * Keys and values of the whole sequence: gathered twice, their gradients scattered; kept are the
 * rank's own.
 */
START_TEST (test_gathered_context)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = training (1024, 2);
  MeshOptions          mesh = { .cp = 4, .context = CONTEXT_ALL_GATHER, .routing_skew = 1 };
  double               all = 2048. * 2 * (8 * 128) * 2;
  g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, 0),
                       whole = workload_new (&shape, &options);
  const LayerDesc *layer = workload_layer (part, 1);
  Traffic          t = traffic_of (layer->forward, layer->n_forward, MESH_CONTEXT);

  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_GATHER], all);
  t = traffic_of (layer->backward, layer->n_backward, MESH_CONTEXT);
  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_GATHER], all);
  ck_assert_double_eq (t.bytes[COLLECTIVE_REDUCE_SCATTER], all);
  ck_assert_uint_eq (layer->saved_bytes * 4, workload_layer (whole, 1)->saved_bytes);
  assert_close (workload_matrix_flops (part) * 4, workload_matrix_flops (whole), 1e-12);
  /* products of materialised scores: a quarter of the queries, all keys */
  for (gint attention = ATTENTION_FLASH1; attention <= ATTENTION_EAGER; attention++)
    {
      g_autoptr (Workload) quarter = NULL, full = NULL;

      options.attention = attention;
      quarter = workload_new_stage (&shape, &options, &mesh, 0);
      full = workload_new (&shape, &options);
      assert_close (workload_matrix_flops (quarter) * 4, workload_matrix_flops (full), 1e-12);
    }
  model_shape_clear (&shape);
}
END_TEST

/*
 * 8 of 32 heads a rank, of 8 key heads 2: queries, keys and values there, the result back. The
 * backward pass takes each once more, the other way. All tokens of 2 sequences of 1024: a rank has
 * 2048 / 4 of them before and after. One attention kernel, as on one rank, over a quarter of the
 * heads.
 */
START_TEST (test_ulysses)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = training (1024, 2);
  MeshOptions          mesh = { .cp = 4, .context = CONTEXT_ULYSSES, .routing_skew = 1 };
  const double         bytes = 512. * (32 + 8 + 8 + 32) * 128 * 2;
  g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, 0),
                       whole = workload_new (&shape, &options);
  const LayerDesc  *layer = workload_layer (part, 1);
  const KernelDesc *flash = find_kernel (layer->forward, layer->n_forward, "flash_fwd");
  Traffic           t = traffic_of (layer->forward, layer->n_forward, MESH_CONTEXT);

  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_TO_ALL], bytes);
  ck_assert_uint_eq (t.n[COLLECTIVE_ALL_TO_ALL], 4);
  ck_assert_uint_eq (t.n[COLLECTIVE_SEND_RECV] + t.n[COLLECTIVE_ALL_GATHER], 0);
  t = traffic_of (layer->backward, layer->n_backward, MESH_CONTEXT);
  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_TO_ALL], bytes);
  ck_assert_uint_eq (flash->m, 1024);
  ck_assert_uint_eq (flash->batch, 2 * 8);
  assert_close (workload_matrix_flops (part) * 4, workload_matrix_flops (whole), 1e-12);
  /* the result is kept twice: of its heads for attention, of its tokens for the next product */
  ck_assert_uint_eq (layer->saved_bytes * 4,
                     workload_layer (whole, 1)->saved_bytes + 2048 * 4096 * 2);
  model_shape_clear (&shape);
}
END_TEST

/*
 * 16 ranks divide 32 heads, and 8 key heads are there twice: 2048 / 16 tokens of 32 and, of keys
 * and values, 16 heads each travel there.
 */
START_TEST (test_ulysses_repeats_keys)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = training (1024, 2);
  MeshOptions          mesh = { .cp = 16, .context = CONTEXT_ULYSSES, .routing_skew = 1 };
  g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, 0);
  const LayerDesc     *layer = workload_layer (part, 1);
  Traffic              t = traffic_of (layer->forward, layer->n_forward, MESH_CONTEXT);

  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_TO_ALL], 128. * (32 + 16 + 16 + 32) * 128 * 2);
  model_shape_clear (&shape);
}
END_TEST

/*
 * Pairs of neighbours divide the heads, 4 such pairs are a ring: over every second rank, 3 blocks
 * of 2 sequences x 256 tokens of half of the 8 key heads.
 */
START_TEST (test_usp)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = training (1024, 2);
  MeshOptions          mesh = { .cp = 8, .context = CONTEXT_USP, .ulysses = 2, .routing_skew = 1 };
  g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, 0),
                       whole = workload_new (&shape, &options);
  const LayerDesc  *layer = workload_layer (part, 1);
  const KernelDesc *ring = find_kernel (layer->forward, layer->n_forward, "flash_fwd.ring"),
                   *heads = find_kernel (layer->forward, layer->n_forward, "attn.exchange_q");
  Traffic t = traffic_of (layer->forward, layer->n_forward, MESH_CONTEXT);

  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_TO_ALL], 256. * (32 + 8 + 8 + 32) * 128 * 2);
  ck_assert_double_eq (t.bytes[COLLECTIVE_SEND_RECV], 3 * 2 * 256. * 2 * (4 * 128) * 2);
  ck_assert_uint_eq (ring->ranks, 4);
  ck_assert_uint_eq (ring->every, 2);
  ck_assert_uint_eq (heads->ranks, 2);
  assert_close (workload_matrix_flops (part) * 8, workload_matrix_flops (whole), 1e-12);
  model_shape_clear (&shape);
}
END_TEST

/* Attention over a sliding window takes what it takes on the fullest rank. */
START_TEST (test_windows)
{
  /* 64 tokens in 8 chunks of 8: the middle two have 16 * 16 pairs of (64 - 8) * 16, 4 ranks */
  const double         imbalance = 4 * 256. / 896;
  ModelShape           shape = arch ("llama", 1, 32, 2, 64, 256);
  TrainingOptions      options = training (64, 1);
  MeshOptions          mesh = { .cp = 4, .context = CONTEXT_ALL_GATHER, .routing_skew = 1 };
  g_autoptr (Workload) whole = NULL, part = NULL;
  double               flops[2] = { 0 };

  for (guint windowed = 0; windowed < 2; windowed++)
    {
      shape.sliding_window = windowed ? 16 : 0;
      whole = workload_new (&shape, &options);
      part = workload_new_stage (&shape, &options, &mesh, 0);
      for (guint with = 0; with < 2; with++)
        {
          const LayerDesc *block = workload_layer (with ? part : whole, 1);

          flops[with] = 0;
          for (guint i = 0; i < block->n_forward; i++)
            if (block->forward[i].kind == KERNEL_ATTENTION)
              flops[with] += block->forward[i].flops;
        }
      assert_close (flops[1] * 4, flops[0] * (windowed ? imbalance : 1), 1e-12);
      g_clear_pointer (&whole, workload_free);
      g_clear_pointer (&part, workload_free);
    }
  model_shape_clear (&shape);
}
END_TEST

/* All four axes at once: FLOPs and parameters of all ranks are the model's. */
START_TEST (test_all_axes)
{
  GRand *rand = g_rand_new_with_seed (4402);

  for (guint i = 0; i < 300; i++)
    {
      gint64     tp = 1L << g_rand_int_range (rand, 0, 3), cp = 1L << g_rand_int_range (rand, 0, 3);
      ModelShape shape = arch (i % 2 ? "gpt" : "llama", g_rand_int_range (rand, 4, 9), 64, 8, 128,
                               1 << g_rand_int_range (rand, 10, 14));
      TrainingOptions      options = training (256, g_rand_int_range (rand, 1, 4));
      MeshOptions          mesh = { .tp = tp,
                                    .cp = cp,
                                    .pp = g_rand_int_range (rand, 1, 5),
                                    .sp = g_rand_boolean (rand),
                                    .async_tp = g_rand_boolean (rand),
                                    .context = (gint) g_rand_int_range (rand, 0, 2),
                                    .routing_skew = 1 };
      double               flops = 0;
      g_autoptr (Workload) whole = NULL;

      options.attention = g_rand_int_range (rand, 0, 2);
      options.checkpointing = g_rand_int_range (rand, 0, CHECKPOINT_LAYERS + 3);
      if (options.checkpointing == CHECKPOINT_LAYERS)
        options.checkpointing = CHECKPOINT_NONE;
      options.compile = g_rand_boolean (rand);
      options.dropout = g_rand_int_range (rand, 0, 3);
      whole = workload_new (&shape, &options);
      for (guint stage = 0; stage < (guint) mesh.pp; stage++)
        {
          g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, stage);

          flops += workload_matrix_flops (part) * tp * cp;
        }
      if (options.checkpointing == CHECKPOINT_SELECTIVE_OP && tp > 1 && mesh.sp == 1)
        ck_assert_double_lt (
            flops, workload_matrix_flops (whole)); /* results of reduce-scatters are kept */
      else
        assert_close (flops, workload_matrix_flops (whole), 1e-9);
      model_shape_clear (&shape);
    }
  g_rand_free (rand);
}
END_TEST

/* ---- experts ---- */

static double
rows_of (const LayerDesc *layer, const char *name)
{
  const KernelDesc *kernel = find_kernel (layer->forward, layer->n_forward, name);

  return kernel->flops / (2. * (double) kernel->n * (double) kernel->k);
}

/* Tokens x top-k x width each way; the fullest rank gets more, a capacity cuts off. */
START_TEST (test_all_to_all)
{
  static const struct
  {
    double capacity, skew, fill;
  } cases[] = { { 0, 1, 1 }, { 0, 1.5, 1.5 }, { 1.25, 2, 1.25 }, { 4, 1.5, 1.5 }, { 0.5, 1, 0.5 } };
  ModelShape           shape = shipped ("mixtral-8x7b");
  TrainingOptions      options = training (512, 2);
  double               rows = 1024. * 2, bytes = rows * 4096 * 2;
  g_autoptr (Workload) whole = workload_new (&shape, &options);

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      MeshOptions          mesh = { .ep = 4,
                                    .capacity_factor = cases[i].capacity,
                                    .routing_skew = cases[i].skew };
      g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, 0);
      const LayerDesc     *layer = workload_layer (part, 1);
      Traffic              t = traffic_of (layer->forward, layer->n_forward, MESH_EXPERT);

      ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_TO_ALL], 2 * bytes * cases[i].fill);
      ck_assert_uint_eq (t.n[COLLECTIVE_ALL_TO_ALL], 2);
      t = traffic_of (layer->backward, layer->n_backward, MESH_EXPERT);
      ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_TO_ALL], 2 * bytes * cases[i].fill);
      assert_close (rows_of (layer, "experts.gate"), rows * cases[i].fill, 1e-12);
      assert_close (rows_of (layer, "experts.down"), rows * cases[i].fill, 1e-12);
      ck_assert_uint_eq (find_kernel (layer->forward, layer->n_forward, "experts.gate")->batch, 2);
    }
  assert_close (rows_of (workload_layer (whole, 1), "experts.gate"), rows, 1e-12);
  model_shape_clear (&shape);
}
END_TEST

/*
 * 1024 tokens to 2 of 8 experts on 4 ranks: 13/7 copies each (dispatch.h), 1901 rows of 4096 to
 * send, 2048 to multiply. In fp8 an element takes 1 + 4/128 bytes on its way to experts, and in the
 * backward pass of the return; back it has 2. 'deepep' says both in a word.
 */
START_TEST (test_tokens_once_a_rank)
{
  const gboolean       fp8 = _i > 0, preset = _i == 2;
  const gint           asked = _i == 1 ? DISPATCH_DTYPE_FP8 : DISPATCH_DTYPE_AUTO;
  ModelShape           shape = shipped ("mixtral-8x7b");
  TrainingOptions      options = training (512, 2);
  MeshOptions          mesh = { .ep = 4,
                                .routing_skew = 1,
                                .dispatch = preset ? DISPATCH_DEEPEP : DISPATCH_TWO_LEVEL,
                                .dispatch_dtype = asked };
  const double         rows = 1901. * 4096, wire = fp8 ? 1.03125 : 2;
  g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, 0);
  const LayerDesc     *layer = workload_layer (part, 1);
  Traffic              t = traffic_of (layer->forward, layer->n_forward, MESH_EXPERT);
  const KernelDesc    *encode;
  g_autofree char     *order = order_of (layer->forward, layer->n_forward, "experts.");

  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_TO_ALL], rows * (wire + 2));
  ck_assert_uint_eq (t.n[COLLECTIVE_ALL_TO_ALL], 2);
  t = traffic_of (layer->backward, layer->n_backward, MESH_EXPERT);
  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_TO_ALL], rows * (wire + 2));
  ck_assert_double_eq (
      find_kernel (layer->backward, layer->n_backward, "experts.return.backward")->read_bytes,
      rows * wire);
  ck_assert_double_eq (rows_of (layer, "experts.gate"), 2048);
  ck_assert_str_eq (order, fp8 ? " experts.count experts.counts experts.dispatch.encode "
                                 "experts.dispatch experts.permute experts.gate experts.up "
                                 "experts.activation experts.down experts.weigh "
                                 "experts.combine experts.return"
                               : " experts.count experts.counts experts.dispatch experts.permute "
                                 "experts.gate experts.up experts.activation experts.down "
                                 "experts.weigh experts.combine experts.return");
  if (fp8)
    {
      encode = find_kernel (layer->forward, layer->n_forward, "experts.dispatch.encode");
      ck_assert_double_eq (encode->read_bytes, 1024. * 4096 * 2);
      ck_assert_double_eq (encode->write_bytes, 1024. * 4096 * 1.03125);
    }
  model_shape_clear (&shape);
}
END_TEST

/* A capacity is one row at least. */
START_TEST (test_capacity_of_no_row)
{
  ModelShape           shape = shipped ("mixtral-8x7b");
  TrainingOptions      options = training (512, 2);
  MeshOptions          mesh = { .ep = 4, .capacity_factor = 1e-9, .routing_skew = 1 };
  g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, 0);
  const LayerDesc     *layer = workload_layer (part, 1);

  ck_assert_double_eq (rows_of (layer, "experts.gate"), 1);
  ck_assert_double_eq (rows_of (layer, "experts.down"), 1);
  ck_assert_uint_eq (find_kernel (layer->forward, layer->n_forward, "experts.gate")->batch, 1);
  ck_assert_double_eq (
      traffic_of (layer->forward, layer->n_forward, MESH_EXPERT).bytes[COLLECTIVE_ALL_TO_ALL],
      2. * 4096 * 2);
  model_shape_clear (&shape);
}
END_TEST

/* Experts once a group of ep, all else on every rank; balanced, a rank computes as if alone. */
START_TEST (test_expert_ranks)
{
  static const char *const models[] = { "mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v3",
                                        "gpt-oss-120b" };
  ModelShape               shape = shipped (models[_i]);
  TrainingOptions          options = training (1024, 1);

  for (gint64 ep = 2; ep <= 8; ep *= 2)
    for (gint64 tp = 1; tp <= 2; tp++)
      {
        MeshOptions          mesh = { .ep = ep, .tp = tp, .sp = tp > 1, .routing_skew = 1 };
        g_autoptr (Workload) part = NULL, undivided = NULL;
        guint64              parameters = 0;

        shape.vocab = 1 << 16;
        undivided = workload_new (&shape, &options);
        part = workload_new_stage (&shape, &options, &mesh, 0);
        for (guint i = 0; i < workload_n_layers (part); i++)
          for (guint j = 0; j < workload_layer (part, i)->n_tensors; j++)
            {
              const TensorDesc *tensor = &workload_layer (part, i)->tensors[j];

              parameters += tensor->elements * (tensor->expert ? ep : 1)
                            * (guint64) (tensor->replicated ? 1 : tp);
            }
        ck_assert_uint_eq (parameters, workload_n_parameters (undivided));
        assert_close (workload_matrix_flops (part) * tp, workload_matrix_flops (undivided), 1e-9);
      }
  model_shape_clear (&shape);
}
END_TEST

SUITE_MAIN (context)
{
  TCase *tcase = tcase_create ("context");

  tcase_add_loop_test (tcase, test_ring, 2, 5);
  tcase_add_test (tcase, test_order_of_the_ring);
  tcase_add_test (tcase, test_ulysses);
  tcase_add_test (tcase, test_ulysses_repeats_keys);
  tcase_add_test (tcase, test_usp);
  tcase_add_test (tcase, test_gathered_context);
  tcase_add_test (tcase, test_windows);
  tcase_add_test (tcase, test_all_axes);
  tcase_add_test (tcase, test_all_to_all);
  tcase_add_loop_test (tcase, test_tokens_once_a_rank, 0, 3);
  tcase_add_test (tcase, test_capacity_of_no_row);
  tcase_add_loop_test (tcase, test_expert_ranks, 0, 4);
  return run_case ("context", tcase);
}
