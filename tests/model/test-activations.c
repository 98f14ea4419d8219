/*
 * What the backward pass keeps and what both passes need beside it: the published formulas for the
 * classic GPT block with dropout (Korthikanti et al., arXiv:2205.05198, equations 1 and 6 without
 * parallelism), and lists counted by hand for a modern block and for the head. It does not compare
 * with a framework's allocator.
 */
#include "../suite.h"
#include "fixture.h"

#include "model/layer/layer-build-private.h"

/* Bytes kept by one block of a GPT with dropout, row statistics left out as in the paper. */
static double
classic_block (gint64 s, gint64 b, gint64 h, gint64 a, AttentionKind attention, CheckpointMode mode)
{
  ModelShape      shape = arch ("gpt", 1, h, a, 0, 1000);
  TrainingOptions options = training (s, b);
  MeshOptions     mesh = { .tp = 1, .pp = 1, .cp = 1, .vp = 1, .ep = 1, .routing_skew = 1 };
  LayerBuild      build;
  double          bytes;

  options.attention = attention;
  options.dropout = TRUE;
  build = layer_build (&shape, &options, &mesh, (LayerClass){ .kind = LAYER_BLOCK });
  bytes = tape_saved_bytes (build.tape, mode, FALSE);
  layer_build_clear (&build);
  model_shape_clear (&shape);
  return bytes;
}

typedef struct
{
  gint64 s, b, h, a;
} Classic;

/* The paper's 22B, 175B, 530B and 1T models, and a small one */
static const Classic classics[] = {
  { 2048, 4, 6144, 64 },   { 2048, 1, 12288, 96 }, { 2048, 1, 20480, 128 },
  { 2048, 1, 25600, 160 }, { 3, 5, 14, 7 },
};

START_TEST (test_classic_block)
{
  gint64 s = classics[_i].s, b = classics[_i].b, h = classics[_i].h, a = classics[_i].a;
  gint64 sbh = s * b * h;

  /* s b h (34 + 5 a s / h) */
  ck_assert_double_eq (classic_block (s, b, h, a, ATTENTION_FUSED_SOFTMAX, CHECKPOINT_NONE),
                       34 * sbh + 5 * a * s * s * b);
  ck_assert_double_eq (classic_block (s, b, h, a, ATTENTION_FUSED_SOFTMAX, CHECKPOINT_SELECTIVE),
                       34 * sbh);
  ck_assert_double_eq (classic_block (s, b, h, a, ATTENTION_FUSED_SOFTMAX, CHECKPOINT_FULL),
                       2 * sbh);
  ck_assert_double_eq (classic_block (s, b, h, a, ATTENTION_FLASH2, CHECKPOINT_NONE), 34 * sbh);
  ck_assert_double_eq (classic_block (s, b, h, a, ATTENTION_FLASH2, CHECKPOINT_SELECTIVE),
                       34 * sbh);
  ck_assert_double_eq (classic_block (s, b, h, a, ATTENTION_FLASH2, CHECKPOINT_FULL), 2 * sbh);
}
END_TEST

/* The paper's 22B model keeps 4.5 GiB when everything is recomputed: 48 layers. */
START_TEST (test_published_figure)
{
  ck_assert_double_eq (
      48 * classic_block (2048, 4, 6144, 64, ATTENTION_FUSED_SOFTMAX, CHECKPOINT_FULL),
      4.5 * (1 << 30));
}
END_TEST

/*
 * Without dropout the masks go: 2 bytes an element of the stream, and of 5 a s^2 b the mask and the
 * dropped-out copy.
 */
START_TEST (test_without_dropout)
{
  gint64               s = 128, b = 3, h = 64, a = 4, sbh = s * b * h;
  ModelShape           shape = arch ("gpt", 1, h, a, 0, 1000);
  TrainingOptions      options = training (s, b);
  g_autoptr (Workload) flash = workload_new (&shape, &options), unfused = NULL, eager = NULL;

  options.attention = ATTENTION_FUSED_SOFTMAX;
  unfused = workload_new (&shape, &options);
  options.attention = ATTENTION_EAGER;
  eager = workload_new (&shape, &options);
  /*
   * mean and reciprocal deviation of two norms: 16 bytes a token; flash keeps 4 bytes a row and
   * head
   */
  ck_assert_uint_eq (workload_layer (flash, 1)->saved_bytes, 32 * sbh + 16 * s * b + 4 * a * s * b);
  ck_assert_uint_eq (workload_layer (unfused, 1)->saved_bytes,
                     32 * sbh + 16 * s * b + 2 * a * s * s * b);
  ck_assert_uint_eq (workload_layer (eager, 1)->saved_bytes,
                     32 * sbh + 16 * s * b + (4 + 2) * a * s * s * b);
  model_shape_clear (&shape);
}
END_TEST

/*
 * Llama-3-8B, a token: norm inputs and outputs 4 x 8192, q and the output of attention 2 x 8192, k
 * and v 2 x 2048, gate, activated gate, up and their product 4 x 28672; statistics 4 + 4 (norms) +
 * 4 x 32 (attention).
 */
START_TEST (test_modern_block)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = training (512, 2);
  g_autoptr (Workload) fused = NULL, eager = NULL, compiled = NULL, full = NULL;
  guint64              tokens = 1024, common = 6UL * 8192 + 2UL * 2048 + 3UL * 28672 + 128;

  eager = workload_new (&shape, &options);
  options.fused_norm = TRUE;
  fused = workload_new (&shape, &options);
  options.compile = TRUE;
  compiled = workload_new (&shape, &options);
  options.checkpointing = CHECKPOINT_FULL;
  full = workload_new (&shape, &options);
  ck_assert_uint_eq (workload_layer (fused, 1)->saved_bytes, tokens * (common + 8 + 28672));
  /* an eager norm keeps fp32 copies of its input instead, and the normalised rows */
  ck_assert_uint_eq (workload_layer (eager, 1)->saved_bytes,
                     tokens * (common + 28672 + 2UL * (16384 + 8192 - 8192)));
  ck_assert_uint_eq (workload_layer (compiled, 1)->saved_bytes, tokens * (common + 8));
  ck_assert_uint_eq (workload_layer (full, 1)->saved_bytes, tokens * 8192);
  ck_assert_uint_eq (workload_layer (full, 1)->output_bytes, tokens * 8192);
  model_shape_clear (&shape);
}
END_TEST

/*
 * The head, a token: input and output of the norm 2 x 2H, its statistics 4, fp32 log-probabilities
 * 4V. Forward: 16-bit and fp32 logits come and go; backward: two fp32 gradients of the logits at
 * once. The loss and its gradient are 2 bytes.
 */
START_TEST (test_head)
{
  gint64               s = 16, v = 5000, h = 64;
  ModelShape           shape = arch ("llama", 1, h, 4, 100, v);
  TrainingOptions      options = training (s, 1);
  g_autoptr (Workload) eager = NULL, compiled = NULL;
  const LayerDesc     *head;

  options.fused_norm = TRUE;
  eager = workload_new (&shape, &options);
  head = workload_layer (eager, 2);
  ck_assert_uint_eq (head->saved_bytes, s * (4 * h + 4 + 4 * v));
  ck_assert_uint_eq (head->working_bytes, s * (2 + 4) * v + 2);
  ck_assert_uint_eq (head->backward_bytes, s * (4 + 4) * v + 2);
  ck_assert_uint_eq (head->logits_bytes, s * (4 + 4 + 4) * v);
  options.compile = TRUE;
  compiled = workload_new (&shape, &options);
  /* blocks are compiled, the head is not */
  ck_assert_uint_eq (workload_layer (compiled, 2)->saved_bytes, head->saved_bytes);
  ck_assert_uint_eq (workload_layer (compiled, 2)->backward_bytes, head->backward_bytes);
  ck_assert_uint_eq (workload_layer (compiled, 2)->n_forward, head->n_forward);
  model_shape_clear (&shape);
}
END_TEST

/*
 * The same in 16 bit: log-probabilities 2V, the logits 2V come and go, two gradients of 2V at once.
 * Fused: the logits 2V and two fp32 statistics a row are kept, one gradient of 2V.
 */
START_TEST (test_kinds_of_loss)
{
  gint64               s = 16, v = 5000, h = 64;
  ModelShape           shape = arch ("llama", 1, h, 4, 100, v);
  TrainingOptions      options = training (s, 1);
  g_autoptr (Workload) narrow = NULL, fused = NULL;
  const LayerDesc     *head;

  options.fused_norm = TRUE;
  options.loss = LOSS_16_BIT;
  narrow = workload_new (&shape, &options);
  head = workload_layer (narrow, 2);
  ck_assert_uint_eq (head->saved_bytes, s * (4 * h + 4 + 2 * v));
  ck_assert_uint_eq (head->working_bytes, s * 2 * v + 2);
  ck_assert_uint_eq (head->backward_bytes, s * (2 + 2) * v + 2);
  ck_assert_uint_eq (head->logits_bytes, s * (2 + 2 + 2) * v);
  options.loss = LOSS_FUSED;
  fused = workload_new (&shape, &options);
  head = workload_layer (fused, 2);
  ck_assert_uint_eq (head->saved_bytes, s * (4 * h + 4 + 2 * v + 8));
  ck_assert_uint_eq (head->working_bytes, 2);
  ck_assert_uint_eq (head->backward_bytes, s * 2 * v + 2);
  ck_assert_uint_eq (head->logits_bytes, s * (2 + 2) * v);
  model_shape_clear (&shape);
}
END_TEST

/* A framework that compiles its loss, where it compiles: as a fused one; else, or told, as ever. */
START_TEST (test_compiled_loss)
{
  static const struct
  {
    gboolean compile;
    gint     loss;
    gint64   bytes; /* of the logits, a vocabulary entry */
  } cases[] = { { TRUE, LOSS_AUTO, 4 }, { FALSE, LOSS_AUTO, 12 }, { TRUE, LOSS_FP32, 12 } };
  const gint64    s = 16, v = 5000;
  ModelShape      shape = arch ("llama", 1, 64, 4, 100, v);
  TrainingOptions options = training (s, 1);

  options.traits.compiled_loss = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Workload) workload = NULL;

      options.compile = cases[i].compile;
      options.loss = cases[i].loss;
      workload = workload_new (&shape, &options);
      ck_assert_uint_eq (workload_layer (workload, 2)->logits_bytes, s * cases[i].bytes * v);
    }
  model_shape_clear (&shape);
}
END_TEST

/* One part of it alone, whatever the framework does: what the other takes is as without. */
START_TEST (test_compiled_components)
{
  static const struct
  {
    gboolean          compile;
    CompileComponents components;
    gboolean          framework, blocks, loss; /* compiles its loss; what then is compiled */
  } cases[] = {
    { TRUE, COMPONENTS_AUTO, FALSE, TRUE, FALSE },  { TRUE, COMPONENTS_AUTO, TRUE, TRUE, TRUE },
    { TRUE, COMPONENTS_BOTH, FALSE, TRUE, TRUE },   { TRUE, COMPONENTS_MODEL, TRUE, TRUE, FALSE },
    { TRUE, COMPONENTS_LOSS, FALSE, FALSE, TRUE },  { FALSE, COMPONENTS_LOSS, TRUE, FALSE, FALSE },
    { FALSE, COMPONENTS_BOTH, TRUE, FALSE, FALSE },
  };
  const gint64         s = 16, v = 5000;
  ModelShape           shape = arch ("llama", 1, 64, 4, 100, v);
  TrainingOptions      options = training (s, 1);
  g_autoptr (Workload) eager = workload_new (&shape, &options);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Workload) workload = NULL;

      options.compile = cases[i].compile;
      options.compile_components = cases[i].components;
      options.traits.compiled_loss = cases[i].framework;
      workload = workload_new (&shape, &options);
      ck_assert_uint_eq (workload_layer (workload, 2)->logits_bytes,
                         s * (cases[i].loss ? 4 : 12) * v);
      ck_assert_int_eq (workload_layer (workload, 1)->n_forward
                            < workload_layer (eager, 1)->n_forward,
                        cases[i].blocks);
      ck_assert_int_eq (workload_layer (workload, 1)->saved_bytes
                            < workload_layer (eager, 1)->saved_bytes,
                        cases[i].blocks);
    }
  model_shape_clear (&shape);
}
END_TEST

/*
 * Chunks of 6, 6 and 4 of 16 tokens: kept are the norm's input and output, 2 x 2H, its statistics,
 * 4, and two fp32 statistics a row; the logits of 6 tokens come and go, 2V each, forwards and
 * backwards, there beside the gradient of the head's input, 2H a token. All 16 in one chunk: 16 x
 * 2V. The loss and its gradient are 2 bytes. Frozen, the head keeps its input all the same.
 */
START_TEST (test_chunked_loss)
{
  gint64               s = 16, v = 5000, h = 64;
  ModelShape           shape = arch ("llama", 1, h, 4, 100, v);
  TrainingOptions      options = training (s, 1);
  g_autoptr (Workload) small = NULL, whole = NULL, frozen = NULL;
  const LayerDesc     *head;

  options.fused_norm = TRUE;
  options.loss = LOSS_CHUNKED;
  options.loss_chunk = 6;
  small = workload_new (&shape, &options);
  head = workload_layer (small, 2);
  ck_assert_uint_eq (head->saved_bytes, s * (4 * h + 4 + 8));
  ck_assert_uint_eq (head->working_bytes, 6 * 2 * v + 2);
  ck_assert_uint_eq (head->backward_bytes, 6 * 2 * v + s * 2 * h + 2);
  ck_assert_uint_eq (head->logits_bytes, 6 * 2 * v);
  ck_assert_uint_eq (head->held_bytes, 0);
  options.peft = PEFT_LORA;
  options.lora_r = 4;
  options.lora_target_modules = (char *) "all-linear";
  frozen = workload_new (&shape, &options);
  ck_assert_uint_eq (workload_layer (frozen, 2)->saved_bytes, head->saved_bytes);
  ck_assert_uint_eq (workload_layer (frozen, 2)->backward_bytes, head->backward_bytes);
  options.peft = PEFT_NONE;
  options.loss_chunk = 100;
  whole = workload_new (&shape, &options);
  head = workload_layer (whole, 2);
  ck_assert_uint_eq (head->working_bytes, s * 2 * v + 2);
  ck_assert_uint_eq (head->backward_bytes, s * (2 * v + 2 * h) + 2);
  ck_assert_uint_eq (head->logits_bytes, s * 2 * v);
  model_shape_clear (&shape);
}
END_TEST

/* 4096 chunks are taken, of one token each or of two; one more is an error. */
START_TEST (test_loss_chunks_are_bounded)
{
  static const struct
  {
    gint64   seq_len, chunk;
    gboolean taken;
  } cases[] = { { 4096, 1, TRUE }, { 4097, 1, FALSE }, { 8192, 2, TRUE }, { 8193, 2, FALSE } };
  ModelShape shape = arch ("llama", 1, 64, 4, 100, 50);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      TrainingOptions      options = training (cases[i].seq_len, 1);
      g_autoptr (DiagList) diags = diag_list_new ();

      options.loss_chunk = cases[i].chunk;
      ck_assert (workload_check (&shape, &options, NULL, diags)); /* not chunked */
      options.loss = LOSS_CHUNKED;
      ck_assert (workload_check (&shape, &options, NULL, diags) == cases[i].taken);
      if (!cases[i].taken)
        ck_assert_ptr_nonnull (strstr (diag_list_first_message (diags), "'loss_chunk'"));
    }
  model_shape_clear (&shape);
}
END_TEST

/* The peaks of a two-matrix MLP block by hand: h = 8, f = 32, one head, flash; a token in bytes. */
START_TEST (test_transient)
{
  ModelShape           shape = arch ("mpt", 1, 8, 1, 32, 50);
  TrainingOptions      options = training (4, 1);
  g_autoptr (Workload) none = workload_new (&shape, &options), full = NULL;

  /*
   * Kept: x, norm1, q, k, v, o, x', norm2: 8 x 16; up, gelu: 2 x 64; statistics 8 + 8 + 4 = 276.
   * Forward at the end: the branch and the output beyond that: 32. Backward: at gelu the gradients
   * of the output (16, for the residual), of gelu 64 and of up 64.
   */
  ck_assert_uint_eq (workload_layer (none, 1)->saved_bytes, 4L * 276);
  ck_assert_uint_eq (workload_layer (none, 1)->working_bytes, 4L * 32);
  /*
   * the down projection has freed its input (64) by then; up's input gradient comes when gelu's
   * gradient is gone
   */
  ck_assert_uint_eq (workload_layer (none, 1)->backward_bytes, 4L * (16 + 64 + 64 - 64));
  options.checkpointing = CHECKPOINT_FULL;
  full = workload_new (&shape, &options);
  ck_assert_uint_eq (workload_layer (full, 1)->saved_bytes, 4L * 16);
  /* forward keeps nothing: x', up and gelu are alive at once */
  ck_assert_uint_eq (workload_layer (full, 1)->working_bytes, 4L * (16 + 64 + 64 + 16 - 16));
  /* backward: all that is recomputed, then as above */
  ck_assert_uint_eq (workload_layer (full, 1)->backward_bytes, 4L * (276 - 16 + 80));
  model_shape_clear (&shape);
}
END_TEST

/*
 * Where the MLP is narrow, the peak is at attention's backward pass: h = 64, f = 4, two heads; a
 * token in bytes. Kept: 16 h; up and gelu, 4 f; statistics, 8 + 8 + 2 x 4. By then up, gelu, norm2
 * with its statistics and x' are gone: 12 h + 8 + 2 x 4. Gradients of the output (for the
 * residual), of o, q, k and v: 10 h; and flash sums that of q in fp32: 4 h.
 */
START_TEST (test_transient_attention)
{
  const guint64        h = 64, f = 4, s = 4;
  ModelShape           shape = arch ("mpt", 1, h, 2, f, 50);
  TrainingOptions      options = training (s, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  const LayerDesc     *layer = workload_layer (workload, 1);

  ck_assert_uint_eq (layer->saved_bytes, s * (16 * h + 4 * f + 24));
  ck_assert_uint_eq (layer->saved_bytes + layer->backward_bytes,
                     s * (12 * h + 16 + 10 * h + 4 * h));
  model_shape_clear (&shape);
}
END_TEST

/*
 * Random blocks: less is kept the more is recomputed, and what is recomputed has to fit while the
 * backward pass runs.
 */
START_TEST (test_modes_are_ordered)
{
  static const char *const archs[] = { "gpt", "llama", "mpt", "bloom" };
  GRand                   *rand = g_rand_new_with_seed (20240611);

  for (guint i = 0; i < 500; i++)
    {
      gint64     heads = g_rand_int_range (rand, 1, 9), dim = 8L * g_rand_int_range (rand, 1, 9);
      ModelShape shape = arch (archs[g_rand_int_range (rand, 0, 4)], 1, heads * dim, heads,
                               g_rand_int_range (rand, 1, 2000), g_rand_int_range (rand, 1, 3000));
      TrainingOptions options =
          training (g_rand_int_range (rand, 1, 600), g_rand_int_range (rand, 1, 5));
      LayerDesc layer[3];

      options.attention = g_rand_int_range (rand, 0, 4);
      options.compile = g_rand_boolean (rand);
      options.fused_norm = g_rand_boolean (rand);
      options.precision = g_rand_int_range (rand, 0, 3);
      for (gint mode = 0; mode < 3; mode++)
        {
          g_autoptr (Workload) workload = NULL;

          options.checkpointing = mode;
          workload = workload_new (&shape, &options);
          layer[mode] = *workload_layer (workload, 1);
        }
      ck_assert_uint_le (layer[CHECKPOINT_FULL].saved_bytes,
                         layer[CHECKPOINT_SELECTIVE].saved_bytes);
      ck_assert_uint_le (layer[CHECKPOINT_SELECTIVE].saved_bytes,
                         layer[CHECKPOINT_NONE].saved_bytes);
      ck_assert_uint_ge (
          layer[CHECKPOINT_FULL].saved_bytes + layer[CHECKPOINT_FULL].backward_bytes,
          layer[CHECKPOINT_NONE].saved_bytes + layer[CHECKPOINT_NONE].backward_bytes);
      ck_assert_uint_lt (layer[CHECKPOINT_FULL].n_recompute, layer[CHECKPOINT_NONE].n_forward);
      ck_assert_uint_eq (layer[CHECKPOINT_NONE].n_recompute, 0);
      ck_assert_uint_ge (layer[CHECKPOINT_SELECTIVE].n_recompute, 1);
      ck_assert_uint_eq (layer[CHECKPOINT_NONE].n_backward, layer[CHECKPOINT_FULL].n_backward);
      model_shape_clear (&shape);
    }
  g_rand_free (rand);
}
END_TEST

static char *
names_of (const KernelDesc *kernels, guint n)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? " " : "", kernels[i].name);
  return g_string_free (text, FALSE);
}

/*
 * What is run again. PyTorch stops when the last kept tensor is there: the last product and its
 * residual are left out. Reentrant checkpoints run the whole block.
 */
START_TEST (test_recomputed_kernels)
{
  ModelShape      shape = shipped ("llama-3-8b");
  TrainingOptions options = training (512, 2);
  static const struct
  {
    gboolean    all;
    gint        mode;
    const char *names;
  } cases[] = {
    { FALSE, CHECKPOINT_FULL,
      "norm1 attn.q attn.k attn.v attn.rotary flash_fwd attn.out attn.residual norm2 mlp.gate "
      "mlp.up mlp.activation" },
    { TRUE, CHECKPOINT_FULL,
      "norm1 attn.q attn.k attn.v attn.rotary flash_fwd attn.out attn.residual norm2 mlp.gate "
      "mlp.up mlp.activation mlp.down mlp.residual" },
    { FALSE, CHECKPOINT_SELECTIVE, "flash_fwd" },
    /* of q k v out gate up down every second one */
    { FALSE, CHECKPOINT_SELECTIVE_OP,
      "norm1 attn.k attn.rotary attn.out attn.residual norm2 mlp.up mlp.activation" },
    { FALSE, CHECKPOINT_NONE, "" },
  };

  options.fused_norm = TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Workload) workload = NULL;
      g_autofree char     *names = NULL;

      options.traits.recomputes_all = cases[i].all;
      options.checkpointing = cases[i].mode;
      workload = workload_new (&shape, &options);
      names = names_of (workload_layer (workload, 1)->recompute,
                        workload_layer (workload, 1)->n_recompute);
      ck_assert_str_eq (names, cases[i].names);
    }
  model_shape_clear (&shape);
}
END_TEST

/* What block LAYER of MODEL keeps of 1024 tokens, and what is run again; HFU's FLOPs of that. */
static double
kept_of (const char *model, guint layer, char *modules, char **names, double *flops)
{
  ModelShape           shape = shipped (model);
  TrainingOptions      options = training (512, 2);
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *block;

  options.fused_norm = TRUE;
  options.checkpointing = modules != NULL ? CHECKPOINT_SELECTIVE : CHECKPOINT_NONE;
  options.recompute_modules = modules;
  workload = workload_new (&shape, &options);
  block = workload_layer (workload, layer);
  *names = names_of (block->recompute, block->n_recompute);
  *flops = 0;
  for (guint i = 0; i < block->n_recompute; i++)
    *flops += block->recompute[i].recomputed_flops;
  model_shape_clear (&shape);
  return (double) block->saved_bytes;
}

/*
 * Parts, bytes a token less than with none and FLOPs a token more. Llama-3-8B, width 4096: both
 * norms' results 2 x 8192 and statistics 2 x 4; gate, up, the activated gate and the product 28672
 * each; its three products 2 x 3 x 4096 x 14336. DeepSeek-V3, 128 heads: q and k 192 wide, v 128:
 * 2 x 128 x (192 + 192 + 128) = 131072, but the rotary part of k, 64 wide, is kept; products
 * 2 x (1536 x 24576 + 512 x 32768); norms 2 x (2 x 7168 + 1536 + 512) and 4 statistics; of 8
 * experts 2048 wide the activated gate and the product.
 */
START_TEST (test_recomputed_parts)
{
  static const double up_proj = 2 * (1536.0 * 24576 + 512.0 * 32768);
  static const double mlp = 2 * 3 * 4096.0 * 14336;
  static const struct
  {
    const char *model;
    guint       layer;
    const char *modules, *names;
    double      bytes, flops;
  } cases[] = {
    { "llama-3-8b", 1, "layernorm", "norm1 norm2", 2 * 8192 + 8, 0 },
    { "llama-3-8b", 1, "mlp", "mlp.gate mlp.up mlp.activation mlp.down", 4 * 28672, mlp },
    { "llama-3-8b", 1, "layernorm,mlp", "norm1 norm2 mlp.gate mlp.up mlp.activation mlp.down",
      2 * 8192 + 8 + 4 * 28672, mlp },
    { "deepseek-v3", 1, "mla_up_proj", "attn.q_b attn.kv_b attn.rotary", 131072 - 128, up_proj },
    { "deepseek-v3", 1, "layernorm, qk_layernorm, mla_up_proj",
      "norm1 attn.q_a_norm attn.q_b attn.kv_a_norm attn.kv_b attn.rotary norm2",
      131072 - 128 + 2 * (2 * 7168 + 1536 + 512) + 16, up_proj },
    { "deepseek-v3", 1, "moe_act", "", 0, 0 }, /* a dense block */
    { "deepseek-v3", 5, "moe_act", "experts.activation", 2 * 8 * 2048 * 2, 0 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *names = NULL, *nothing = NULL, *modules = g_strdup (cases[i].modules);
      double           flops, none, kept;

      kept = kept_of (cases[i].model, cases[i].layer, modules, &names, &flops);
      ck_assert_str_eq (names, cases[i].names);
      assert_close (flops, 1024 * cases[i].flops, 1e-12);
      none = kept_of (cases[i].model, cases[i].layer, NULL, &nothing, &flops);
      ck_assert_double_eq (none - kept, 1024 * cases[i].bytes);
    }
}
END_TEST

/* The attention core by name: of all that none keeps the log-sum-exp, 4 x 32, is left out. */
START_TEST (test_core_by_name)
{
  g_autofree char *names = NULL;
  char             core[] = "core_attn";
  double           flops, kept = kept_of ("llama-3-8b", 1, core, &names, &flops);

  ck_assert_str_eq (names, "flash_fwd");
  ck_assert_double_eq (kept, 1024 * (6 * 8192 + 2 * 2048 + 4 * 28672 + 8));
}
END_TEST

/* What is said of a list of parts, the hint behind a "|"; "": it is one. */
START_TEST (test_bad_parts)
{
  static const struct
  {
    const char *model;
    gint        mode;
    const char *modules, *text;
  } cases[] = {
    { "deepseek-v3", CHECKPOINT_SELECTIVE, "layernorm,qk_layernorm, mla_up_proj,moe,mlp", "" },
    { "llama-3-8b", CHECKPOINT_FULL, "core_attn", "" }, /* printed scenarios repeat defaults */
    { "llama-3-8b", CHECKPOINT_SELECTIVE, "layernrm",
      "'recompute_modules' names 'layernrm', which is no part of a block|did you mean "
      "'layernorm'?" },
    { "llama-3-8b", CHECKPOINT_SELECTIVE, "mlp,moe",
      "'recompute_modules' names 'moe', which 'llama-3-8b' does not have|parts of its blocks: "
      "core_attn, mlp, layernorm" },
    { "llama-3-8b", CHECKPOINT_SELECTIVE, "mla_up_proj",
      "'recompute_modules' names 'mla_up_proj', which 'llama-3-8b' does not have|parts of its "
      "blocks: core_attn, mlp, layernorm" },
    { "llama-3-8b", CHECKPOINT_SELECTIVE, " ,",
      "'recompute_modules' names no part|parts of its blocks: core_attn, mlp, layernorm" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      ModelShape           shape = shipped (cases[i].model);
      TrainingOptions      options = training (512, 2);
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autofree char     *modules = g_strdup (cases[i].modules), *text = NULL;
      g_auto (GStrv)       parts = g_strsplit (cases[i].text, "|", 2);

      options.checkpointing = cases[i].mode;
      options.recompute_modules = modules;
      ck_assert_int_eq (workload_check (&shape, &options, NULL, diags), parts[0] == NULL);
      text = diag_list_format (diags, FALSE);
      for (char **part = parts; *part != NULL; part++)
        ck_assert_msg (strstr (text, *part) != NULL, "%s: %s", cases[i].modules, text);
      model_shape_clear (&shape);
    }
}
END_TEST

/*
 * Per-op policy, a token of Llama-3-8B: the block's input 8192; results of q 8192, v 2048,
 * attention 8192 + 4 * 32, gate 28672, down 8192. Of a fused block (qkv out up down): qkv and up.
 */
START_TEST (test_per_op_policy)
{
  ModelShape           shape = shipped ("llama-3-8b"), gpt = arch ("gpt", 1, 64, 4, 0, 100);
  TrainingOptions      options = training (512, 2);
  g_autoptr (Workload) workload = NULL, classic = NULL;
  const LayerDesc     *block;

  options.fused_norm = TRUE;
  options.checkpointing = CHECKPOINT_SELECTIVE_OP;
  workload = workload_new (&shape, &options);
  block = workload_layer (workload, 1);
  ck_assert_uint_eq (block->saved_bytes, 1024UL * (4 * 8192 + 2048 + 128 + 28672));
  /*
   * when the backward pass begins there is all that none keeps, and the results that only the
   * policy keeps: q, v is kept by both, down
   */
  ck_assert_uint_ge (block->saved_bytes + block->backward_bytes,
                     1024UL * (6 * 8192 + 2 * 2048 + 4 * 28672 + 128 + 8 + 2 * 8192));
  classic = workload_new (&gpt, &options);
  ck_assert_uint_eq (workload_layer (classic, 1)->saved_bytes,
                     1024UL * 2 * (64 + 192 + 64 + 256) + 1024 * 4 * 4);
  model_shape_clear (&shape);
  model_shape_clear (&gpt);
}
END_TEST

/* Every K-th block, counted from one, is recomputed in full, the others not at all. */
START_TEST (test_every_kth_layer)
{
  ModelShape      shape = arch ("llama", 7, 64, 4, 96, 100);
  TrainingOptions options = training (16, 1);
  static const struct
  {
    gint        mode;
    const char *full;
  } cases[] = { { CHECKPOINT_SELECTIVE_LAYER, " 2 4 6" },
                { CHECKPOINT_LAYERS + 2, " 2 4 6" },
                { CHECKPOINT_LAYERS + 3, " 3 6" },
                { CHECKPOINT_LAYERS + 1, " 1 2 3 4 5 6 7" },
                { CHECKPOINT_LAYERS + 9, "" } };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Workload) workload = NULL;
      g_autoptr (GString)  full = g_string_new (NULL);

      options.checkpointing = cases[i].mode;
      workload = workload_new (&shape, &options);
      for (guint j = 0; j < workload_n_layers (workload); j++)
        {
          const LayerDesc *layer = workload_layer (workload, j);

          ck_assert_int_eq (layer->n_recompute > 0, layer->checkpoint == CHECKPOINT_FULL);
          if (layer->checkpoint == CHECKPOINT_FULL)
            g_string_append_printf (full, " %u", j);
        }
      ck_assert_str_eq (full->str, cases[i].full);
    }
  model_shape_clear (&shape);
}
END_TEST

/* The first blocks of each chunk of a stage: 2 stages of 2 chunks, 12 blocks. */
START_TEST (test_first_layers)
{
  ModelShape      shape = arch ("llama", 12, 64, 4, 96, 100);
  TrainingOptions options = training (16, 1);
  MeshOptions     mesh = { .pp = 2, .vp = 2, .routing_skew = 1 };
  /* stage 0 has the embedding and blocks 1 to 3, 7 to 9; stage 1 4 to 6, 10 to 12 and the head */
  static const char *const full[] = { " 1 2 4 5", " 0 1 3 4" };

  options.checkpointing = CHECKPOINT_FULL;
  options.recompute_layers = 2;
  for (guint stage = 0; stage < 2; stage++)
    {
      g_autoptr (Workload) workload = workload_new_stage (&shape, &options, &mesh, stage);
      g_autoptr (GString)  list = g_string_new (NULL);

      ck_assert_uint_eq (workload_n_layers (workload), 7);
      for (guint j = 0; j < 7; j++)
        if (workload_layer (workload, j)->checkpoint == CHECKPOINT_FULL)
          g_string_append_printf (list, " %u", j);
      ck_assert_str_eq (list->str, full[stage]);
    }
  model_shape_clear (&shape);
}
END_TEST

SUITE_MAIN (activations)
{
  TCase *tcase = tcase_create ("activations");

  tcase_add_loop_test (tcase, test_classic_block, 0, G_N_ELEMENTS (classics));
  tcase_add_test (tcase, test_published_figure);
  tcase_add_test (tcase, test_without_dropout);
  tcase_add_test (tcase, test_modern_block);
  tcase_add_test (tcase, test_head);
  tcase_add_test (tcase, test_kinds_of_loss);
  tcase_add_test (tcase, test_compiled_loss);
  tcase_add_test (tcase, test_compiled_components);
  tcase_add_test (tcase, test_chunked_loss);
  tcase_add_test (tcase, test_loss_chunks_are_bounded);
  tcase_add_test (tcase, test_transient);
  tcase_add_test (tcase, test_transient_attention);
  tcase_add_test (tcase, test_modes_are_ordered);
  tcase_add_test (tcase, test_recomputed_kernels);
  tcase_add_test (tcase, test_recomputed_parts);
  tcase_add_test (tcase, test_core_by_name);
  tcase_add_test (tcase, test_bad_parts);
  tcase_add_test (tcase, test_per_op_policy);
  tcase_add_test (tcase, test_every_kth_layer);
  tcase_add_test (tcase, test_first_layers);
  return run_case ("activations", tcase);
}
