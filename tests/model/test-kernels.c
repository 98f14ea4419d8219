/*
 * FLOPs of the kernel lists against closed forms (2 N tokens and attention; Narayanan et al.,
 * arXiv:2104.04473; PaLM, arXiv:2204.02311, appendix B), launches and bytes of single kernels
 * counted by hand, and what compiling launches. It does not test what a kernel costs
 * on a GPU.
 */
#include "../suite.h"
#include "fixture.h"

static gboolean
is_product (const KernelDesc *kernel)
{
  return kernel->kind == KERNEL_MATMUL || kernel->kind == KERNEL_ATTENTION
         || kernel->kind == KERNEL_ATTENTION_BACKWARD;
}

typedef struct
{
  double linear, attention; /* FLOPs of products with weights, of attention */
} Flops;

/* Attention's own products carry "attn.scores", "attn.context" or "flash" in their names. */
static void
add_flops (const KernelDesc *kernels, guint n, Flops *flops)
{
  for (guint i = 0; i < n; i++)
    if (is_product (&kernels[i]))
      {
        gboolean attention = strstr (kernels[i].name, "attn.scores") != NULL
                             || strstr (kernels[i].name, "attn.context") != NULL
                             || strstr (kernels[i].name, "flash") != NULL;
        *(attention ? &flops->attention : &flops->linear) += kernels[i].flops;
      }
}

static void
sum_model (const Workload *workload, Flops *forward, Flops *backward, Flops *recompute)
{
  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      add_flops (layer->forward, layer->n_forward, forward);
      add_flops (layer->backward, layer->n_backward, backward);
      add_flops (layer->recompute, layer->n_recompute, recompute);
    }
}

/*
 * Matrices that a token passes, from the tensors: all two-dimensional ones of blocks and head, k of
 * E of the experts.
 */
static double
matrices (const Workload *workload)
{
  const ModelShape *shape = workload_shape (workload);
  double            sum = 0;

  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      for (guint j = 0; j < layer->n_tensors && layer->kind != LAYER_EMBEDDING; j++)
        if (layer->tensors[j].n_dims == 3)
          sum +=
              (double) layer->tensors[j].elements / shape->n_experts * shape->n_experts_per_token;
        else if (layer->tensors[j].n_dims == 2 && !layer->tensors[j].expert)
          sum += layer->tensors[j].elements;
      if (layer->reads_table)
        sum += (double) shape->vocab * shape->d_model;
    }
  return sum;
}

static const char *const models[] = { "deepseek-v3", "gpt-oss-120b", "gpt2-xl",
                                      "llama-3-8b",  "mistral-7b",   "mixtral-8x7b",
                                      "opt-1.3b",    "qwen2-7b",     "qwen3-30b-a3b" };

/* Query and value width of all layers and heads: DeepSeek's heads have 192 and 128. */
static double
attention_widths (const ModelShape *shape)
{
  double widths = shape->kv_lora_rank > 0 ? 192 + 128 : 2 * shape->head_dim;

  return widths * shape->n_heads * shape->n_layers;
}

START_TEST (test_flops_of_kernels)
{
  ModelShape      shape = shipped (models[_i]);
  TrainingOptions options = training (1000, 2);
  double          tokens = 2000, widths = attention_widths (&shape);

  for (gint attention = ATTENTION_FLASH2; attention <= ATTENTION_EAGER; attention++)
    {
      g_autoptr (Workload) workload = NULL;
      Flops                forward = { 0 }, backward = { 0 }, recompute = { 0 };

      options.attention = attention;
      options.causal = FALSE;
      options.checkpointing = CHECKPOINT_FULL;
      options.traits.recomputes_all = TRUE; /* the last product too */
      shape.sliding_window = 0;
      workload = workload_new (&shape, &options);
      sum_model (workload, &forward, &backward, &recompute);
      assert_close (flops_matrix_parameters (&shape), matrices (workload), 1e-12);
      assert_close (forward.linear, 2 * matrices (workload) * tokens, 1e-12);
      assert_close (backward.linear, 4 * matrices (workload) * tokens, 1e-12);
      assert_close (recompute.linear, forward.linear - 2 * tokens * shape.vocab * shape.d_model,
                    1e-12);
      /*
       * 2 FLOPs for each of 1000 keys, query and width; twice that backwards, and flash makes the
       * scores again
       */
      assert_close (forward.attention, 2 * tokens * 1000 * widths, 1e-12);
      assert_close (recompute.attention, forward.attention, 1e-12);
      if (attention >= ATTENTION_FUSED_SOFTMAX)
        assert_close (backward.attention, 2 * forward.attention, 1e-12);
      else if (shape.kv_lora_rank == 0)
        assert_close (backward.attention, 2.5 * forward.attention, 1e-12);
      else
        assert_close (backward.attention, forward.attention * (3 * 192 + 2 * 128) / (192 + 128),
                      1e-12);
      assert_close (workload_matrix_flops (workload),
                    forward.linear + backward.linear + recompute.linear + forward.attention
                        + backward.attention + recompute.attention,
                    1e-12);
      ck_assert_double_gt (workload_executed_flops (workload), workload_matrix_flops (workload));
    }
  model_shape_clear (&shape);
}
END_TEST

/* FLOPs of one step of a classic GPT whose attention is not fused. */
static double
classic_flops (gint64 b, gint64 s, gint64 l, gint64 h, gint64 v, CheckpointMode mode)
{
  ModelShape           shape = arch ("gpt", l, h, 8, 0, v);
  TrainingOptions      options = training (s, b);
  g_autoptr (Workload) workload = NULL;

  options.attention = ATTENTION_FUSED_SOFTMAX;
  options.traits = (FrameworkTraits){ .gpt_dropout = TRUE, .recomputes_all = TRUE };
  options.checkpointing = mode;
  workload = workload_new (&shape, &options);
  model_shape_clear (&shape);
  return workload_matrix_flops (workload);
}

START_TEST (test_megatron_formula)
{
  double b = 3, s = 512, l = 5, h = 256, v = 1000;
  double unit = b * s * l * h * h;

  assert_close (classic_flops (3, 512, 5, 256, 1000, CHECKPOINT_NONE),
                72 * unit * (1 + s / (6 * h) + v / (12 * h * l)), 1e-12);
  assert_close (classic_flops (3, 512, 5, 256, 1000, CHECKPOINT_FULL),
                96 * unit * (1 + s / (6 * h) + v / (16 * h * l)), 1e-12);
  /*
   * the attention core once more: 4 s / 18 h (Korthikanti et al. print s / 3 h, a core run twice
   * more)
   */
  assert_close (classic_flops (3, 512, 5, 256, 1000, CHECKPOINT_SELECTIVE),
                72 * unit * (1 + 2 * s / (9 * h) + v / (12 * h * l)), 1e-12);
}
END_TEST

START_TEST (test_conventions)
{
  ModelShape gpt = arch ("gpt", 32, 2560, 20, 0, 50257), mistral = shipped ("mistral-7b"),
             oss = shipped ("gpt-oss-120b");
  double head = 6.0 * 50257 * 2560;

  /* 6 * 12 L H^2 + 12 L H s = 19.13e9 for L 32, H 2560, s 4096 without the embedding matrix */
  ck_assert_double_eq (flops_per_token (&gpt, FLOPS_PALM, 4096) - head, 19126026240.0);
  ck_assert_double_eq (flops_per_token (&gpt, FLOPS_CAUSAL, 4096) - head,
                       19126026240.0 - 6.0 * 32 * 2560 * 4096);
  ck_assert_double_eq (flops_per_token (&gpt, FLOPS_6N, 4096),
                       6.0 * (32 * (12.0 * 6553600 + 13 * 2560) + (50257.0 + 4096) * 2560 + 5120));
  /* a window of 4096 in 16384 tokens: 4096 * 16384 - 4096^2 / 2 pairs instead of 16384^2 / 2 */
  ck_assert_double_eq (
      flops_per_token (&mistral, FLOPS_CAUSAL, 16384) - 6 * flops_matrix_parameters (&mistral),
      12.0 * 32 * 4096 * (4096.0 * 16384 - 4096.0 * 4096 / 2) / 16384);
  ck_assert_double_eq (
      flops_per_token (&mistral, FLOPS_PALM, 16384) - 6 * flops_matrix_parameters (&mistral),
      12.0 * 32 * 4096 * 16384);
  /* gpt-oss: every second layer over 128 tokens */
  ck_assert_double_eq (
      flops_per_token (&oss, FLOPS_CAUSAL, 4096) - 6 * flops_matrix_parameters (&oss),
      12.0 * 4096 * (18 * (128.0 * 4096 - 128.0 * 128 / 2) + 18 * 4096.0 * 4096 / 2) / 4096);
  model_shape_clear (&gpt);
  model_shape_clear (&mistral);
  model_shape_clear (&oss);
}
END_TEST

/* Of a forward pass, and of what training counts for it. */
static void
check_counted (const ModelShape *shape, const TrainingOptions *options, const MeshOptions *mesh)
{
  g_autoptr (Workload) part = workload_new_stage (shape, options, mesh, 0);
  const double         tokens = (double) (options->seq_len * options->micro_batch);
  const double         counted =
      tokens * flops_forward_per_token (shape, options, mesh, options->flops, options->seq_len);
  const double trained =
      tokens * flops_trained_per_token (shape, options, mesh, options->flops, options->seq_len);
  const gboolean fused = options->attention < ATTENTION_FUSED_SOFTMAX;
  Flops          forward = { 0 }, backward = { 0 }, recompute = { 0 };
  double         all;

  sum_model (part, &forward, &backward, &recompute);
  all = forward.linear + forward.attention;
  if (fused && mesh->routing_skew == 1)
    assert_close (counted, all, 1e-9);
  else
    ck_assert_double_le (counted, all * (1 + 1e-9));
  assert_close (trained, 3 * counted, 1e-9);
  ck_assert_double_le (trained, (all + backward.linear + backward.attention) * (1 + 1e-9));
}

/*
 * The convention that holds where none is asked for counts no work that no kernel does, so that MFU
 * cannot pass what the GPU reaches: no pairs that the mask, a window or the end of a document
 * leaves out, no rows that experts drop. Where attention is fused and no expert rank is fuller it
 * counts all that a forward pass computes.
 */
START_TEST (test_default_counts_what_is_done)
{
  static const gint64 documents[] = { 0, 16, 700 };
  static const double capacities[] = { 0, 0.25, 1.2 };
  ModelShape          shape = shipped (models[_i]);
  TrainingOptions     options = training (1000, 2);

  ck_assert_str_eq (option_table_find (training_options, "flops_convention")->fallback,
                    flops_convention_name (FLOPS_CAUSAL));
  options.flops = FLOPS_CAUSAL;
  shape.n_layers = MIN (shape.n_layers, 4);
  for (guint i = 0; i < 4 * 2 * 3 * 3 * 2; i++)
    {
      const gboolean full = shape.n_experts > 0 && i / 72 % 2;
      MeshOptions    mesh = { .ep = shape.n_experts > 0 ? 4 : 1,
                              .capacity_factor = capacities[i / 24 % 3],
                              .routing_skew = full ? 1.5 : 1 };

      options.attention = ATTENTION_FLASH2 + (gint) (i % 4);
      options.causal = i / 4 % 2 == 0;
      options.document_length = documents[i / 8 % 3];
      mesh_normalise (&mesh);
      check_counted (&shape, &options, &mesh);
    }
  model_shape_clear (&shape);
}
END_TEST

/*
 * What a capacity leaves, by hand: 4 ranks of which one gets 1.5 of the balanced share, the others
 * 5 / 6 each.
 */
START_TEST (test_rows_kept)
{
  static const struct
  {
    gint64 ep;
    double capacity, skew, kept;
  } cases[] = {
    { 1, 0, 1, 1 },         { 4, 0, 1.5, 1 },      { 4, 1.5, 1.5, 1 },
    { 4, 1, 1.5, 0.875 },   { 4, 0.5, 1.5, 0.5 },  { 1, 0.25, 1, 0.25 },
    { 8, 0.001, 2, 0.001 }, { 2, 1.25, 8, 0.625 }, /* no rank has more than all */
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      MeshOptions mesh = { .ep = cases[i].ep,
                           .capacity_factor = cases[i].capacity,
                           .routing_skew = cases[i].skew };

      assert_close (mesh_rows_kept (&mesh), cases[i].kept, 1e-12);
    }
}
END_TEST

static double
recomputed (const Workload *workload)
{
  double sum = 0;

  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      for (guint j = 0; j < layer->n_recompute; j++)
        sum += layer->recompute[j].recomputed_flops;
    }
  return sum;
}

/*
 * Blocks recomputed in full make their forward pass again, a third of what the convention counts
 * for them, whatever the kernels run: all pairs or those of the mask, a router and a latent
 * projection on every tensor rank, experts that get more than their share. 6N has no attention, and
 * of the parameters matrices alone are recomputed.
 */
START_TEST (test_recomputation_counts_as_the_model_does)
{
  ModelShape shape = shipped (models[_i]);

  shape.n_heads = MAX (shape.n_heads / 4 * 4, 4); /* gpt2-xl has 25 */
  shape.n_kv_heads = MAX (shape.n_kv_heads / 4 * 4, 4);
  for (guint i = 0; i < 3 * 3 * 2 * 2 * 2; i++)
    {
      TrainingOptions      options = training (8192, 2);
      MeshOptions          mesh = { .tp = i / 18 % 2 ? 4 : 1,
                                    .sp = i / 9 % 2,
                                    .ep = shape.n_experts > 0 && i / 18 % 2 ? 4 : 1,
                                    .capacity_factor = i / 36 % 2 ? 0.5 : 0,
                                    .routing_skew = 1.25 };
      double               head = (double) shape.vocab * shape.d_model, rows = 2 * 8192, forward;
      g_autoptr (Workload) part = NULL;

      options.flops = (gint) (i % 3);
      options.attention =
          (gint[]){ ATTENTION_FLASH2, ATTENTION_FLASH1, ATTENTION_EAGER }[i / 3 % 3];
      options.checkpointing = CHECKPOINT_FULL;
      options.traits.recomputes_all = TRUE; /* the last product too */
      part = workload_new_stage (&shape, &options, &mesh, 0);
      forward = (options.flops == FLOPS_6N ? 2 * flops_matrix_parameters (&shape)
                                           : flops_per_token (&shape, options.flops, 8192) / 3)
                - 2 * head;
      if (mesh.capacity_factor > 0) /* half of the experts' rows */
        forward -= flops_routed_parameters (&shape);
      assert_close (recomputed (part) * (double) mesh.tp, forward * rows, 1e-9);
    }
  model_shape_clear (&shape);
}
END_TEST

static const KernelDesc *
forward_kernel (const Workload *workload, guint layer, const char *name)
{
  const LayerDesc *desc = workload_layer (workload, layer);

  return find_kernel (desc->forward, desc->n_forward, name);
}

static const KernelDesc *
backward_kernel (const Workload *workload, guint layer, const char *name)
{
  const LayerDesc *desc = workload_layer (workload, layer);

  return find_kernel (desc->backward, desc->n_backward, name);
}

static void
assert_traffic (const KernelDesc *kernel, guint launches, double read, double written)
{
  ck_assert_uint_eq (kernel->launches, launches);
  ck_assert_double_eq (kernel->read_bytes, read);
  ck_assert_double_eq (kernel->write_bytes, written);
}

/* Llama-3-8B, 1024 tokens: n = 1024 * 4096 elements of the stream. */
START_TEST (test_traffic_of_a_modern_block)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = training (1024, 1);
  g_autoptr (Workload) eager = workload_new (&shape, &options), fused = NULL, compiled = NULL;
  double               t = 1024, n = t * 4096, f = t * 14336, kv = t * 1024;

  options.fused_norm = TRUE;
  fused = workload_new (&shape, &options);
  options.compile = TRUE;
  compiled = workload_new (&shape, &options);

  /* to fp32 2+4, square 4+4, mean 4, scale 4+4, to bf16 4+2, weight 2+2: reads 20, writes 16 */
  /* op by op: the mean and two sums reduce, all else is element-wise */
  assert_traffic (forward_kernel (eager, 1, "norm1"), 7, 16 * n + 8192, 16 * n);
  assert_traffic (forward_kernel (eager, 1, "norm1.mean"), 1, 4 * n, 0);
  assert_traffic (backward_kernel (eager, 1, "norm1.backward"), 14, 48 * n + 8192, 38 * n + 8192);
  assert_traffic (backward_kernel (eager, 1, "norm1.backward.sum"), 2, 6 * n, 0);
  ck_assert_int_eq (forward_kernel (eager, 1, "norm1")->kind, KERNEL_ELEMENTWISE);
  ck_assert_int_eq (forward_kernel (eager, 1, "norm1.mean")->kind, KERNEL_REDUCTION);
  ck_assert_int_eq (backward_kernel (eager, 1, "norm1.backward")->kind, KERNEL_ELEMENTWISE);
  ck_assert_int_eq (backward_kernel (eager, 1, "norm1.backward.sum")->kind, KERNEL_REDUCTION);
  assert_traffic (forward_kernel (fused, 1, "norm1"), 1, 2 * n + 8192, 2 * n + 4 * t);
  assert_traffic (backward_kernel (fused, 1, "norm1.backward"), 1, 4 * n + 4 * t + 8192, 2 * n);
  assert_traffic (backward_kernel (fused, 1, "norm1.weight_grad"), 1, 4 * n + 4 * t, 8192);
  /* matrix products: activations, weight, result */
  assert_traffic (forward_kernel (fused, 1, "attn.k"), 1, 2 * n + 2 * 4096 * 1024, 2 * kv);
  assert_traffic (backward_kernel (fused, 1, "attn.k.dgrad"), 1, 2 * kv + 2 * 4096 * 1024, 2 * n);
  assert_traffic (backward_kernel (fused, 1, "attn.k.wgrad"), 1, 2 * kv + 2 * n, 2 * 4096 * 1024);
  /* silu 2+2, product 4+2; backwards two products and silu's */
  assert_traffic (forward_kernel (fused, 1, "mlp.activation"), 2, 6 * f, 4 * f);
  assert_traffic (backward_kernel (fused, 1, "mlp.activation.backward"), 3, 12 * f, 6 * f);
  assert_traffic (forward_kernel (compiled, 1, "mlp.activation"), 1, 4 * f, 2 * f);
  assert_traffic (backward_kernel (compiled, 1, "mlp.activation.backward"), 1, 6 * f, 4 * f);
  /* five kernels each for q and k */
  assert_traffic (forward_kernel (fused, 1, "attn.rotary"), 10, 11 * (n + kv), 9 * (n + kv));
  assert_traffic (backward_kernel (fused, 1, "attn.rotary.backward"), 18, 15 * (n + kv),
                  15 * (n + kv));
  assert_traffic (forward_kernel (compiled, 1, "attn.rotary"), 1, 2 * (n + kv), 2 * (n + kv));
  /* q, k, v in; the output and fp32 row sums out */
  assert_traffic (forward_kernel (fused, 1, "flash_fwd"), 1, 2 * (n + 2 * kv), 2 * n + 4 * 32 * t);
  /* compiled: the sum is not read back by the norm; both are needed later */
  assert_traffic (forward_kernel (compiled, 1, "attn.residual+norm2"), 1, 4 * n + 8192,
                  4 * n + 4 * t);
  /*
   * the gradient of the norm's output is made and used in one kernel: its parts, the norm's input
   * and statistics
   */
  assert_traffic (backward_kernel (compiled, 1, "grad_add+norm1.backward"), 1, 6 * n + 4 * t + 8192,
                  4 * n);
  model_shape_clear (&shape);
}
END_TEST

/* A framework's own kernels for gate and rotary embedding, not compiled: as compiled ones. */
START_TEST (test_fused_by_framework)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = training (1024, 1);
  g_autoptr (Workload) workload = NULL;
  const double         n = 1024. * 4096, kv = 1024. * 1024, f = 1024. * 14336;

  options.traits.fused_gate = options.traits.fused_rotary = TRUE;
  workload = workload_new (&shape, &options);
  assert_traffic (forward_kernel (workload, 1, "mlp.activation"), 1, 4 * f, 2 * f);
  assert_traffic (backward_kernel (workload, 1, "mlp.activation.backward"), 1, 6 * f, 4 * f);
  assert_traffic (forward_kernel (workload, 1, "attn.rotary"), 1, 2 * (n + kv), 2 * (n + kv));
  assert_traffic (backward_kernel (workload, 1, "attn.rotary.backward"), 1, 2 * (n + kv),
                  2 * (n + kv));
  model_shape_clear (&shape);
}
END_TEST

/*
 * Megatron-LM's softmax is one kernel for 2048 keys and a number of score matrices that 4 divides,
 * else PyTorch's four and three.
 */
START_TEST (test_softmax_that_does_not_fuse)
{
  static const struct
  {
    gint64 most, heads, seq_len, micro_batch;
    guint  forward, backward;
  } cases[] = {
    { 2048, 2, 128, 2, 1, 1 }, /* 4 matrices */
    { 2048, 2, 128, 1, 4, 3 }, /* 2 */
    { 2048, 4, 2048, 1, 1, 1 }, { 2048, 4, 2052, 1, 4, 3 }, { 2048, 4, 126, 1, 4, 3 },
    { 2052, 4, 2052, 1, 1, 1 }, { 0, 2, 128, 1, 1, 1 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      ModelShape           shape = arch ("gpt", 1, 64, cases[i].heads, 0, 1000);
      TrainingOptions      options = training (cases[i].seq_len, cases[i].micro_batch);
      g_autoptr (Workload) workload = NULL;

      options.attention = ATTENTION_FUSED_SOFTMAX;
      options.traits.softmax_keys = cases[i].most;
      options.dropout = DROPOUT_OFF;
      workload = workload_new (&shape, &options);
      ck_assert_uint_eq (forward_kernel (workload, 1, "attn.softmax")->launches, cases[i].forward);
      ck_assert_uint_eq (backward_kernel (workload, 1, "attn.softmax.backward")->launches,
                         cases[i].backward);
      model_shape_clear (&shape);
    }
}
END_TEST

/* A GPT of width 64 with 4 heads, 2 sequences of 128 tokens, unfused attention: z scores. */
START_TEST (test_traffic_of_a_classic_block)
{
  ModelShape           shape = arch ("gpt", 1, 64, 4, 0, 1000);
  TrainingOptions      options = training (128, 2);
  g_autoptr (Workload) eager = NULL, fused = NULL;
  double               t = 256, n = t * 64, z = 2.0 * 4 * 128 * 128;

  options.attention = ATTENTION_EAGER;
  eager = workload_new (&shape, &options);
  options.attention = ATTENTION_FUSED_SOFTMAX;
  fused = workload_new (&shape, &options);

  /* LayerNorm is one kernel always: weight and bias, two fp32 statistics a row */
  assert_traffic (forward_kernel (eager, 1, "norm1"), 1, 2 * n + 256, 2 * n + 8 * t);
  assert_traffic (forward_kernel (eager, 1, "attn.qkv"), 1, 2 * n + 2 * 64 * 192 + 2 * 192, 6 * n);
  assert_traffic (backward_kernel (eager, 1, "attn.qkv.bias_grad"), 1, 6 * n, 2 * 192);
  assert_traffic (backward_kernel (eager, 1, "attn.split.backward"), 1, 6 * n, 6 * n);
  assert_traffic (forward_kernel (eager, 1, "attn.heads_first"), 3, 6 * n, 6 * n);
  assert_traffic (forward_kernel (eager, 1, "attn.scores"), 1, 4 * n, 2 * z);
  /* scale 2+2, mask 2+2, softmax 2+4, to bf16 4+2; backwards to fp32 2+4, softmax 8+2, scale 2+2 */
  assert_traffic (forward_kernel (eager, 1, "attn.softmax"), 4, 10 * z, 10 * z);
  assert_traffic (backward_kernel (eager, 1, "attn.softmax.backward"), 3, 12 * z, 8 * z);
  assert_traffic (forward_kernel (fused, 1, "attn.softmax"), 1, 2 * z, 2 * z);
  assert_traffic (backward_kernel (fused, 1, "attn.softmax.backward"), 1, 4 * z, 2 * z);
  assert_traffic (forward_kernel (eager, 1, "attn.context"), 1, 2 * z + 2 * n, 2 * n);
  assert_traffic (forward_kernel (eager, 1, "mlp.activation"), 1, 8 * n, 8 * n);
  assert_traffic (backward_kernel (eager, 1, "mlp.activation.backward"), 1, 16 * n, 8 * n);
  /*
   * embedding: rows and ids; the dense gradient is cleared, then rows are added; tied: the head's
   * gradient is added
   */
  assert_traffic (forward_kernel (eager, 0, "embed.tokens"), 1, 2 * n + 8 * t, 2 * n);
  assert_traffic (forward_kernel (eager, 0, "embed.add_positions"), 1, 2 * n + 2 * 128 * 64, 2 * n);
  assert_traffic (backward_kernel (eager, 0, "embed.tokens.clear_grad"), 1, 0, 2 * 1000 * 64);
  assert_traffic (backward_kernel (eager, 0, "embed.tokens.scatter"), 1, 2 * n + 8 * t, 2 * n);
  assert_traffic (backward_kernel (eager, 0, "embed.add_tied_grad"), 1, 4 * 1000 * 64,
                  2 * 1000 * 64);
  /* loss: to fp32, log-softmax, then the label's entry */
  assert_traffic (forward_kernel (eager, 2, "loss.cast"), 1, 2 * t * 1000, 4 * t * 1000 + 2);
  assert_traffic (forward_kernel (eager, 2, "loss.log_softmax"), 1, 4 * t * 1000, 4 * t * 1000);
  assert_traffic (backward_kernel (eager, 2, "loss.nll.backward"), 2, 0, 4 * t * 1000);
  assert_traffic (backward_kernel (eager, 2, "loss.log_softmax.backward"), 1, 8 * t * 1000,
                  4 * t * 1000);
  assert_traffic (backward_kernel (eager, 2, "loss.cast.backward"), 1, 4 * t * 1000, 2 * t * 1000);
  ck_assert_uint_eq (forward_kernel (eager, 2, "head")->n, 1000);
  ck_assert_int_eq (forward_kernel (eager, 2, "head")->module, -1); /* the table is layer 0's */
  model_shape_clear (&shape);
}
END_TEST

/* Rows of a chunk, and its place among the kernels of a pass. */
typedef struct
{
  double rows;
  guint  first;
} ChunkAt;

/*
 * A chunk's own kernels behind each other: of C rows the input has 2 x 64 C bytes, the logits 2 x
 * 1000 C, the weights 2 x 64 x 1000. WGRAD: there is a gradient of the weights.
 */
static void
check_chunk (const LayerDesc *head, ChunkAt forward, ChunkAt backward, gint module, gboolean wgrad)
{
  const KernelDesc *there = &head->forward[forward.first], *back = &head->backward[backward.first];
  double c = forward.rows, in = 2 * 64 * c, logits = 2 * 1000 * c, weights = 2 * 64 * 1000;

  ck_assert_str_eq (there[0].name, "head");
  assert_traffic (&there[0], 1, in + weights, logits);
  assert_traffic (&there[1], 1, 2 * logits, 8 * c); /* maximum and sum of a row */
  assert_traffic (&there[2], 1, 16 * c, 0);         /* those, and the target */
  ck_assert_str_eq (back[0].name, "head.recompute");
  assert_traffic (&back[0], 1, in + weights, logits);
  assert_traffic (&back[1], 1, logits + 8 * c, logits);
  assert_traffic (&back[2], 1, logits + weights, in);
  ck_assert_int_eq (there[0].module, module);
  ck_assert_int_eq (back[0].module, module);
  ck_assert_int_eq (back[2].module, module);
  ck_assert_double_eq (there[0].flops, 2 * c * 64 * 1000);
  ck_assert_double_eq (back[0].recomputed_flops, 2 * c * 64 * 1000);
  ck_assert_double_eq (back[2].recomputed_flops, 0);
  if (!wgrad)
    return;
  ck_assert_uint_eq (back[3].k, (guint64) c);
  ck_assert (!back[3].weight_gradient); /* not to be put off */
  assert_traffic (&back[3], 1, in + logits + (backward.first > 0 ? weights : 0), weights);
}

/*
 * 256 tokens in chunks of 100, 100 and 56, of an untied, a tied and a frozen head. Of the products'
 * 3 x 2 x 256 x 64 x 1000 FLOPs nothing is lost, and as much as forwards is made again.
 */
START_TEST (test_chunked_loss)
{
  static const double rows[] = { 100, 100, 56 };
  ModelShape          shape = arch ("llama", 1, 64, 4, 128, 1000);
  TrainingOptions     options = training (128, 2);

  options.fused_norm = TRUE;
  options.loss = LOSS_CHUNKED;
  options.loss_chunk = 100;
  for (guint kind = 0; kind < 3; kind++)
    {
      g_autoptr (Workload) workload = NULL;
      const LayerDesc     *head;
      guint                each = kind == 2 ? 3 : 4;
      double               flops = 0;

      shape.tied_embeddings = kind == 1;
      options.peft = kind == 2 ? PEFT_LORA : PEFT_NONE;
      options.lora_r = 4;
      options.lora_target_modules = (char *) "all-linear";
      workload = workload_new (&shape, &options);
      head = workload_layer (workload, 2);
      ck_assert_uint_eq (head->n_forward, 1 + 3 * 3);
      ck_assert_uint_eq (head->n_backward, 3 * each + (kind == 2 ? 1 : 2)); /* and the norm's */
      for (guint i = 0; i < 3; i++)
        check_chunk (head, (ChunkAt){ rows[i], 1 + 3 * i }, (ChunkAt){ rows[i], each * i },
                     kind == 1 ? -1 : 1, kind != 2);
      for (guint k = 0; k < head->n_backward; k++)
        flops += is_product (&head->backward[k]) ? head->backward[k].flops : 0;
      ck_assert_double_eq (flops, (each - 1) * 2. * 256 * 64 * 1000);
    }
  model_shape_clear (&shape);
}
END_TEST

/*
 * Eight experts: a product each is eight kernels, forwards and both ways back; expert after expert
 * the gate's activation (2 kernels, 3 backwards) is, too, and 2048 rows of 4096 are put together.
 */
START_TEST (test_expert_products)
{
  static const guint products[] = { 1, 8, 8 }, streams[] = { 0, 4, 1 }, gates[] = { 1, 1, 8 };
  ModelShape         shape = shipped ("mixtral-8x7b");
  TrainingOptions    options = training (1024, 1);

  for (guint how = 0; how < 3; how++)
    {
      g_autoptr (Workload) workload = NULL;
      const KernelDesc    *up, *wgrad, *gate;
      const LayerDesc     *block;
      guint                joins = 0;

      options.expert_products = (gint) how;
      workload = workload_new (&shape, &options);
      block = workload_layer (workload, 1);
      up = forward_kernel (workload, 1, "experts.up");
      wgrad = find_kernel (block->backward, block->n_backward, "experts.up.wgrad");
      gate = find_kernel (block->backward, block->n_backward, "experts.activation.backward");
      ck_assert_uint_eq (up->launches, products[how]);
      ck_assert_uint_eq (up->streams, streams[how]);
      ck_assert_uint_eq (up->batch, 8);
      ck_assert_uint_eq (wgrad->launches, products[how]);
      ck_assert_uint_eq (wgrad->streams, streams[how]);
      ck_assert_uint_eq (forward_kernel (workload, 1, "experts.activation")->launches,
                         2 * gates[how]);
      ck_assert_uint_eq (gate->launches, 3 * gates[how]);
      ck_assert_uint_eq (forward_kernel (workload, 1, "attn.q")->streams, 0);
      for (guint i = 0; i < block->n_forward; i++)
        if (strcmp (block->forward[i].name, "experts.join") == 0)
          {
            joins++;
            assert_traffic (&block->forward[i], 1, 2. * 2048 * 4096, 2. * 2048 * 4096);
          }
      ck_assert_uint_eq (joins, how == EXPERT_PRODUCTS_SEQUENTIAL);
    }
  model_shape_clear (&shape);
}
END_TEST

/*
 * Mixtral, 1024 tokens: the numbers of rows of 8 experts are summed up from a byte a token and
 * expert, gathered from 4 ranks in 8 bytes each, and waited for, whichever way rows go; on one rank
 * where each expert has a product of its own. DeepEP counts the numbers of 2 experts a token, 8
 * bytes each, in 2 kernels, its exchange among them. Nobody waits for rows that are padded to a
 * capacity, nor in a graph of the whole step; a capacity alone still leaves the number open.
 */
START_TEST (test_expert_counts)
{
  static const struct
  {
    MeshOptions    mesh;
    ExpertProducts products;
    GraphScope     graphs;
    guint          launches; /* of the sums; 0: none */
    guint          waits;
  } cases[] = {
    { { .ep = 4 }, EXPERT_PRODUCTS_GROUPED, GRAPHS_NONE, 11, 1 },
    { { .ep = 4, .capacity_factor = 1 }, EXPERT_PRODUCTS_GROUPED, GRAPHS_BLOCK, 11, 1 },
    { { .ep = 4, .dispatch = DISPATCH_DEEPEP }, EXPERT_PRODUCTS_STREAMS, GRAPHS_NONE, 2, 1 },
    { { .ep = 1 }, EXPERT_PRODUCTS_STREAMS, GRAPHS_NONE, 2, 1 },
    { { .ep = 1 }, EXPERT_PRODUCTS_SEQUENTIAL, GRAPHS_NONE, 2, 1 },
    { { .ep = 1 }, EXPERT_PRODUCTS_GROUPED, GRAPHS_NONE, 0, 0 },
    { { .ep = 4 }, EXPERT_PRODUCTS_STREAMS, GRAPHS_STEP, 0, 0 },
    { { .ep = 4, .capacity_factor = 1.25, .pad_to_capacity = TRUE },
      EXPERT_PRODUCTS_STREAMS,
      GRAPHS_NONE,
      0,
      0 },
  };
  ModelShape shape = shipped ("mixtral-8x7b");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      TrainingOptions      options = training (1024, 1);
      MeshOptions          mesh = cases[i].mesh;
      g_autoptr (Workload) workload = NULL;
      const LayerDesc     *block;
      const gboolean       deepep = mesh.dispatch == DISPATCH_DEEPEP;
      guint                waits = 0, counts = 0;

      mesh.routing_skew = 1;
      options.expert_products = (gint) cases[i].products;
      options.cuda_graphs = (gint) cases[i].graphs;
      workload = workload_new_stage (&shape, &options, &mesh, 0);
      block = workload_layer (workload, 1);
      for (guint k = 0; k < block->n_forward; k++)
        {
          const KernelDesc *kernel = &block->forward[k];

          waits += kernel->host_waits;
          if (g_str_equal (kernel->name, "experts.count"))
            assert_traffic (kernel, cases[i].launches, 1024 * (deepep ? 8 * 2 : 8), 0);
          if (!g_str_equal (kernel->name, "experts.counts"))
            continue;
          counts++;
          ck_assert (kernel->host_waits);
          ck_assert_int_eq (kernel->comm, COLLECTIVE_ALL_GATHER);
          ck_assert_int_eq (kernel->axis, MESH_EXPERT);
          ck_assert_double_eq (kernel->read_bytes, 4 * 8 * 8);
        }
      ck_assert_uint_eq (waits, cases[i].waits);
      ck_assert_uint_eq (counts, mesh.ep > 1 && cases[i].waits > 0);
      for (guint k = 0; k < block->n_backward; k++)
        ck_assert (!block->backward[k].host_waits);
      if (mesh.pad_to_capacity)
        ck_assert_uint_eq (forward_kernel (workload, 1, "experts.up")->m, 1280);
    }
  model_shape_clear (&shape);
}
END_TEST

/* Mixtral, 1024 tokens, 2 of 8 experts: 256 rows an expert. */
START_TEST (test_experts)
{
  ModelShape           shape = shipped ("mixtral-8x7b");
  TrainingOptions      options = training (1024, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options), few = NULL;
  const KernelDesc    *up = forward_kernel (workload, 1, "experts.up");
  double               n = 1024 * 4096, weights = 8.0 * 4096 * 14336;

  ck_assert_uint_eq (up->batch, 8);
  ck_assert_uint_eq (up->m, 256);
  ck_assert_uint_eq (up->n, 14336);
  ck_assert_uint_eq (up->k, 4096);
  assert_traffic (up, 1, 2 * (2 * n) + 2 * weights, 2.0 * 2048 * 14336);
  assert_traffic (forward_kernel (workload, 1, "experts.permute"), 4, 2 * (2 * n), 2 * (2 * n));
  /* weights 4n+4n; clear 2n, add 4n+2n of two rows a token; the weights of 2 bytes */
  assert_traffic (forward_kernel (workload, 1, "experts.weigh"), 1, 2 * (2 * n), 2 * (2 * n));
  assert_traffic (forward_kernel (workload, 1, "experts.combine"), 2, 2 * (2 * n) + 2 * 2048,
                  2 * n + 2 * n);
  /* three tokens visit six experts at most: each product reads six experts' weights */
  options.seq_len = 3;
  few = workload_new (&shape, &options);
  up = forward_kernel (few, 1, "experts.up");
  ck_assert_uint_eq (up->batch, 6);
  ck_assert_uint_eq (up->m, 1);
  ck_assert_double_eq (up->flops, 2.0 * 6 * 4096 * 14336);
  model_shape_clear (&shape);
}
END_TEST

/* Launches of all kernels of LIST whose names begin with one of PREFIXES; how many of them wait. */
static guint
launches_of (const KernelDesc *list, guint n, const char *const *prefixes, guint *waits)
{
  guint sum = 0;

  for (guint i = 0; i < n; i++)
    for (guint p = 0; prefixes[p] != NULL; p++)
      if (g_str_has_prefix (list[i].name, prefixes[p]))
        {
          sum += list[i].launches;
          *waits += list[i].host_waits;
        }
  return sum;
}

/*
 * Mixtral, 1024 tokens, 2 of 8 experts, what surrounds the experts. By numbers: 5 kernels choose, 4
 * permute, 3 combine; back 5, 2 and 4. By maps: 20 choose, 8 select rows and 8 weights, of each of
 * which the host waits, one copies rows, 3 combine; back 11, 2, and 4 with the 6 of the selection.
 * Fused: 6 choose, 4 permute, one combines; back 6, 1 and 1. Rows are 2n elements, tokens n; a map
 * is 8 x 1024.
 */
START_TEST (test_expert_kernels)
{
  static const struct
  {
    guint forward, backward, waits, permute, permute_back, combine, combine_back;
  } launches[] = { { 12, 11, 0, 4, 2, 2, 4 },
                   { 40, 23, 2, 1, 2, 2, 10 },
                   { 11, 8, 0, 4, 1, 1, 1 } };
  static const char *const around[] = { "router.choose", "experts.select",  "experts.permute",
                                        "experts.weigh", "experts.combine", NULL };
  const gboolean           fused = _i == EXPERT_KERNELS_FUSED, maps = _i == EXPERT_KERNELS_MAPS;
  ModelShape               shape = shipped ("mixtral-8x7b");
  TrainingOptions          options = training (1024, 1);
  g_autoptr (Workload)     workload = NULL;
  const LayerDesc         *block;
  const KernelDesc        *permute, *combine;
  const double             n = 1024 * 4096, ids = 2 * 2048, marks = 22 * 8192, filled = 24 * 8192;
  guint                    waits = 0;

  options.expert_routing = options.expert_permutation = _i;
  workload = workload_new (&shape, &options);
  block = workload_layer (workload, 1);
  ck_assert_uint_eq (launches_of (block->forward, block->n_forward, around, &waits),
                     launches[_i].forward);
  ck_assert_uint_eq (waits, launches[_i].waits);
  ck_assert_uint_eq (launches_of (block->backward, block->n_backward, around, &waits),
                     launches[_i].backward);
  ck_assert_uint_eq (waits, launches[_i].waits); /* none more */

  permute = forward_kernel (workload, 1, "experts.permute");
  combine = forward_kernel (workload, 1, "experts.combine");
  assert_traffic (permute, launches[_i].permute, 4 * n, 4 * n);
  assert_traffic (combine, launches[_i].combine, 4 * n + ids, fused ? 2 * n : 4 * n);
  ck_assert_double_eq (permute->scattered, 0);
  ck_assert_double_eq (combine->scattered, fused ? 0 : 2 * n);
  permute = find_kernel (block->backward, block->n_backward, "experts.permute.backward");
  combine = find_kernel (block->backward, block->n_backward, "experts.combine.backward");
  assert_traffic (permute, launches[_i].permute_back, 4 * n, fused ? 2 * n : 4 * n);
  ck_assert_double_eq (permute->scattered, fused ? 0 : 2 * n);
  /* of two rows a token: the gradient (4n), rows and weights; eagerly three passes more */
  assert_traffic (combine, launches[_i].combine_back,
                  8 * n + ids + (fused ? 0 : 12 * n) + (maps ? marks : 0),
                  4 * n + ids + (fused ? 0 : 8 * n) + (maps ? filled : 0));
  ck_assert_double_eq (combine->scattered, 0);
  if (maps)
    {
      /* the map read 3 times, written once; places in 8 and 16 bytes; numbers of 8, weights of 4 */
      assert_traffic (forward_kernel (workload, 1, "experts.select"), 8,
                      3 * 8192 + 24 * 2048 + 8 * 2048, 8192 + 24 * 2048 + 8 * (2048 + 1024));
      assert_traffic (forward_kernel (workload, 1, "experts.select_weights"), 8,
                      3 * 8192 + 24 * 2048 + 4 * (8192 + 2048),
                      8192 + 24 * 2048 + 4 * (8192 + 2048));
    }
  model_shape_clear (&shape);
}
END_TEST

/*
 * Maps: where rows are padded to a capacity, or a graph holds the step, nobody waits for them. A
 * capacity is 7 kernels more in the router, and one back.
 */
START_TEST (test_expert_capacity)
{
  static const char *const around[] = { "experts.select", NULL }, *const router[] = { "router.c",
                                                                                      NULL };
  static const MeshOptions meshes[] = {
    { .ep = 1, .routing_skew = 1 },
    { .ep = 1, .routing_skew = 1, .capacity_factor = 1 },
    { .ep = 1, .routing_skew = 1, .capacity_factor = 1, .pad_to_capacity = TRUE },
  };
  ModelShape      shape = shipped ("mixtral-8x7b");
  TrainingOptions options = training (1024, 1);

  options.expert_routing = options.expert_permutation = EXPERT_KERNELS_MAPS;
  for (guint i = 0; i < G_N_ELEMENTS (meshes); i++)
    for (guint graphs = 0; graphs < 2; graphs++)
      {
        g_autoptr (Workload) workload = NULL;
        const LayerDesc     *block;
        guint                waits = 0, none = 0;

        options.cuda_graphs = graphs > 0 ? GRAPHS_STEP : GRAPHS_NONE;
        workload = workload_new_stage (&shape, &options, &meshes[i], 0);
        block = workload_layer (workload, 1);
        ck_assert_uint_eq (launches_of (block->forward, block->n_forward, around, &waits), 16);
        ck_assert_uint_eq (waits, graphs > 0 || i == 2 ? 0 : 2);
        ck_assert_uint_eq (launches_of (block->forward, block->n_forward, router, &none),
                           i > 0 ? 27 : 20);
        ck_assert_uint_eq (launches_of (block->backward, block->n_backward, router, &none),
                           i > 0 ? 12 : 11);
      }
  model_shape_clear (&shape);
}
END_TEST

/* Kernel names that only some attention kinds have. */
START_TEST (test_attention_kinds)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = training (64, 1);
  g_autoptr (Workload) flash2 = workload_new (&shape, &options), flash1 = NULL;
  double               heads = 64 * 4096, kv = 64 * 1024;

  options.attention = ATTENTION_FLASH1;
  flash1 = workload_new (&shape, &options);
  /* before FlashAttention-2 keys and values are repeated for each query head */
  assert_traffic (forward_kernel (flash1, 1, "attn.repeat_kv"), 2, 2 * 2 * kv, 2 * 2 * heads);
  assert_traffic (forward_kernel (flash1, 1, "flash1_fwd"), 1, 2 * 3 * heads,
                  2 * heads + 4 * 32 * 64);
  /* after it the gradients of the repeated ones are summed */
  assert_traffic (backward_kernel (flash2, 1, "flash_bwd.sum_groups"), 2, 2 * 2 * heads,
                  2 * 2 * kv);
  ck_assert_int_eq (backward_kernel (flash1, 1, "flash1_bwd")->kind, KERNEL_ATTENTION_BACKWARD);
  model_shape_clear (&shape);
}
END_TEST

static void
sum_streams (const Workload *workload, double *launches, double *bytes, double *flops)
{
  *launches = *bytes = *flops = 0;
  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      for (guint j = 0; j < layer->n_forward + layer->n_backward; j++)
        {
          const KernelDesc *kernel =
              j < layer->n_forward ? &layer->forward[j] : &layer->backward[j - layer->n_forward];

          ck_assert_uint_ge (kernel->launches, 1);
          ck_assert_double_ge (kernel->read_bytes, 0);
          ck_assert_double_ge (kernel->write_bytes, 0);
          ck_assert_int_lt (kernel->module, (gint) layer->n_modules);
          *launches += kernel->launches;
          *bytes += kernel->read_bytes + kernel->write_bytes;
          *flops += is_product (kernel) ? kernel->flops : 0;
        }
    }
}

/* Compiling saves launches and bytes, and no FLOPs. */
START_TEST (test_compile)
{
  ModelShape           shape = shipped (models[_i]);
  TrainingOptions      options = training (512, 1);
  g_autoptr (Workload) eager = workload_new (&shape, &options), compiled = NULL;
  double               launches[2], bytes[2], flops[2];

  options.compile = TRUE;
  compiled = workload_new (&shape, &options);
  sum_streams (eager, &launches[0], &bytes[0], &flops[0]);
  sum_streams (compiled, &launches[1], &bytes[1], &flops[1]);
  ck_assert_double_lt (launches[1], launches[0]);
  ck_assert_double_lt (bytes[1], bytes[0]);
  ck_assert_double_eq (flops[1], flops[0]);
  model_shape_clear (&shape);
}
END_TEST

/* fp32 doubles what a 16-bit type moves and has no casts. */
START_TEST (test_precision)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = training (64, 1);
  g_autoptr (Workload) half = workload_new (&shape, &options), single = NULL;
  double               n = 64 * 4096;

  options.precision = PRECISION_FP32;
  single = workload_new (&shape, &options);
  ck_assert_double_eq (forward_kernel (single, 1, "mlp.up")->read_bytes,
                       2 * forward_kernel (half, 1, "mlp.up")->read_bytes);
  ck_assert_int_eq (forward_kernel (single, 1, "mlp.up")->dtype, DTYPE_FP32);
  ck_assert_int_eq (forward_kernel (half, 1, "mlp.up")->dtype, DTYPE_BF16);
  /* square, mean, scale, weight: 4 + 4 + 4 + 4 read, three of them write; without the two casts */
  assert_traffic (forward_kernel (single, 1, "norm1"), 5, 12 * n + 16384, 12 * n);
  assert_traffic (forward_kernel (single, 1, "norm1.mean"), 1, 4 * n, 0);
  ck_assert_uint_eq (training_compute_bytes (&options), 4);
  model_shape_clear (&shape);
}
END_TEST

SUITE_MAIN (kernels)
{
  TCase *tcase = tcase_create ("kernels");

  tcase_add_loop_test (tcase, test_flops_of_kernels, 0, G_N_ELEMENTS (models));
  tcase_add_test (tcase, test_megatron_formula);
  tcase_add_test (tcase, test_fused_by_framework);
  tcase_add_test (tcase, test_conventions);
  tcase_add_loop_test (tcase, test_default_counts_what_is_done, 0, G_N_ELEMENTS (models));
  tcase_add_test (tcase, test_rows_kept);
  tcase_add_loop_test (tcase, test_recomputation_counts_as_the_model_does, 0,
                       G_N_ELEMENTS (models));
  tcase_add_test (tcase, test_traffic_of_a_modern_block);
  tcase_add_test (tcase, test_traffic_of_a_classic_block);
  tcase_add_test (tcase, test_softmax_that_does_not_fuse);
  tcase_add_test (tcase, test_chunked_loss);
  tcase_add_test (tcase, test_expert_counts);
  tcase_add_test (tcase, test_experts);
  tcase_add_loop_test (tcase, test_expert_kernels, 0, 3);
  tcase_add_test (tcase, test_expert_capacity);
  tcase_add_test (tcase, test_expert_products);
  tcase_add_test (tcase, test_attention_kinds);
  tcase_add_loop_test (tcase, test_compile, 0, G_N_ELEMENTS (models));
  tcase_add_test (tcase, test_precision);
  return run_case ("kernels", tcase);
}
