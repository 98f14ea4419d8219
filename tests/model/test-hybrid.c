/*
 * Blocks that are not plain attention: published numbers of parameters of hybrids, to the
 * parameter; kernels, FLOPs and kept bytes of one block each, counted by hand; which blocks share a
 * class; division over tensor ranks; what runs again; how many keys an indexer leaves. It does not
 * compare with what a GPU takes for them.
 */
#include "../suite.h"
#include "fixture.h"

#include <glib/gstdio.h>

#include "model/layer/layer-build-private.h"

/* Reads a config.json of TEXT. */
static gboolean
import_file (const char *text, ModelShape *shape, DiagList *diags)
{
  g_autofree char *file = NULL;
  gint             fd = g_file_open_tmp ("hybrid-XXXXXX.json", &file, NULL);
  gboolean         ok;

  ck_assert_int_ge (fd, 0);
  ck_assert (g_close (fd, NULL));
  ck_assert (g_file_set_contents (file, text, -1, NULL));
  ok = model_import (file, shape, diags);
  g_unlink (file);
  return ok;
}

/* The shape that TEXT has; clear it with model_shape_clear. */
static ModelShape
import_text (const char *text)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelShape           shape;
  gboolean             ok = import_file (text, &shape, diags);

  ck_assert_msg (ok, "%s", diag_list_first_message (diags));
  return shape;
}

/* ---- numbers of parameters ---- */

typedef struct
{
  const char *text;
  guint64     parameters;
} Published;

#define MAMBA_GRANITE                                                                          \
  "\"mamba_d_head\": 64, \"mamba_d_state\": 128, \"mamba_n_groups\": 1, \"mamba_d_conv\": 4, " \
  "\"mamba_expand\": 2, \"mamba_chunk_size\": 256, \"mamba_conv_bias\": true, "                \
  "\"mamba_proj_bias\": false"
#define GRANITE_LAYERS                                                                           \
  "\"layer_types\": [\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"attention\",\"mamba\"," \
  "\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\","             \
  "\"attention\",\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\","         \
  "\"mamba\",\"mamba\",\"attention\",\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\","         \
  "\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"attention\",\"mamba\",\"mamba\",\"mamba\","         \
  "\"mamba\"]"

/*
 * Sums of the tensors of the published checkpoints, without multi-token prediction, as their
 * repositories on Hugging Face or files in GGUF state them; where a line says so, arithmetic.
 */
static const Published published[] = {
  /* NVIDIA-Nemotron-3-Nano-30B-A3B: GGUF */
  { "{\"model_type\": \"nemotron_h\", \"hidden_size\": 2688, \"hybrid_override_pattern\": "
    "\"MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME\", \"intermediate_size\": 1856, "
    "\"num_attention_heads\": 32, \"num_key_value_heads\": 2, \"head_dim\": 128, "
    "\"mamba_num_heads\": 64, \"mamba_head_dim\": 64, \"n_groups\": 8, \"ssm_state_size\": 128, "
    "\"conv_kernel\": 4, \"chunk_size\": 128, \"n_routed_experts\": 128, \"n_shared_experts\": 1, "
    "\"num_experts_per_tok\": 6, \"moe_intermediate_size\": 1856, "
    "\"moe_shared_expert_intermediate_size\": 3712, \"vocab_size\": 131072}",
    31577940288UL },
  /* Qwen3-Next-80B-A3B, Qwen3-Coder-Next: safetensors */
  { "{\"model_type\": \"qwen3_next\", \"hidden_size\": 2048, \"num_hidden_layers\": 48, "
    "\"num_attention_heads\": 16, \"num_key_value_heads\": 2, \"head_dim\": 256, "
    "\"intermediate_size\": 5120, \"vocab_size\": 151936, \"num_experts\": 512, "
    "\"num_experts_per_tok\": 10, \"moe_intermediate_size\": 512, "
    "\"shared_expert_intermediate_size\": 512, \"full_attention_interval\": 4, "
    "\"linear_num_key_heads\": 16, \"linear_num_value_heads\": 32, \"linear_key_head_dim\": 128, "
    "\"linear_value_head_dim\": 128, \"linear_conv_kernel_dim\": 4}",
    79674391296UL },
  /* Qwen3.5-397B-A17B, its text: safetensors */
  { "{\"model_type\": \"qwen3_5_moe\", \"text_config\": {\"model_type\": \"qwen3_5_moe_text\", "
    "\"hidden_size\": 4096, \"num_hidden_layers\": 60, \"num_attention_heads\": 32, "
    "\"num_key_value_heads\": 2, \"head_dim\": 256, \"vocab_size\": 248320, "
    "\"num_experts\": 512, \"num_experts_per_tok\": 10, \"moe_intermediate_size\": 1024, "
    "\"shared_expert_intermediate_size\": 1024, \"full_attention_interval\": 4, "
    "\"linear_num_key_heads\": 16, \"linear_num_value_heads\": 64, \"linear_key_head_dim\": 128, "
    "\"linear_value_head_dim\": 128, \"linear_conv_kernel_dim\": 4, "
    "\"tie_word_embeddings\": false}}",
    396346350336UL },
  /* Kimi-Linear-48B-A3B: safetensors */
  { "{\"model_type\": \"kimi_linear\", \"hidden_size\": 2304, \"num_hidden_layers\": 27, "
    "\"num_attention_heads\": 32, \"num_key_value_heads\": 32, \"intermediate_size\": 9216, "
    "\"vocab_size\": 163840, \"kv_lora_rank\": 512, \"q_lora_rank\": null, "
    "\"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, \"v_head_dim\": 128, "
    "\"num_experts\": 256, \"num_experts_per_token\": 8, \"num_shared_experts\": 1, "
    "\"moe_intermediate_size\": 1024, \"first_k_dense_replace\": 1, \"moe_layer_freq\": 1, "
    "\"linear_attn_config\": {\"full_attn_layers\": [4, 8, 12, 16, 20, 24, 27], "
    "\"head_dim\": 128, \"num_heads\": 32, \"short_conv_kernel_size\": 4}}",
    49122681728UL },
  /* MiniMax-Text-01 and M1: safetensors */
  { "{\"model_type\": \"minimax_text_01\", \"hidden_size\": 6144, \"num_hidden_layers\": 80, "
    "\"num_attention_heads\": 64, \"num_key_value_heads\": 8, \"head_dim\": 128, "
    "\"intermediate_size\": 9216, \"vocab_size\": 200064, \"num_local_experts\": 32, "
    "\"num_experts_per_tok\": 2, \"shared_intermediate_size\": 0, \"attn_type_list\": ["
    "0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,"
    "0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,1]}",
    456089655296UL },
  /* granite-4.0-h-small: safetensors and GGUF */
  { "{\"model_type\": \"granitemoehybrid\", \"hidden_size\": 4096, \"num_hidden_layers\": 40, "
    "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"intermediate_size\": 768, "
    "\"shared_intermediate_size\": 1536, \"num_local_experts\": 72, \"num_experts_per_tok\": 10, "
    "\"vocab_size\": 100352, \"tie_word_embeddings\": true, \"mamba_n_heads\": 128, " MAMBA_GRANITE
    ", " GRANITE_LAYERS "}",
    32207337984UL },
  /* LFM2-1.2B: safetensors */
  { "{\"model_type\": \"lfm2\", \"hidden_size\": 2048, \"num_hidden_layers\": 16, "
    "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"block_ff_dim\": 12288, "
    "\"block_auto_adjust_ff_dim\": true, \"block_ffn_dim_multiplier\": 1.0, "
    "\"block_multiple_of\": 256, \"vocab_size\": 65536, \"conv_L_cache\": 3, "
    "\"conv_bias\": false, \"intermediate_size\": 12288, "
    "\"full_attn_idxs\": [2, 5, 8, 10, 12, 14]}",
    1170340608UL },
  /* LFM2-8B-A1B: safetensors, 8339929856 in bf16 and 704 in fp32 */
  { "{\"model_type\": \"lfm2_moe\", \"hidden_size\": 2048, \"num_hidden_layers\": 24, "
    "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"intermediate_size\": 7168, "
    "\"moe_intermediate_size\": 1792, \"num_experts\": 32, \"num_experts_per_tok\": 4, "
    "\"num_dense_layers\": 2, \"use_expert_bias\": true, \"vocab_size\": 65536, "
    "\"conv_L_cache\": 3, \"layer_types\": [\"conv\",\"conv\",\"full_attention\",\"conv\","
    "\"conv\",\"conv\",\"full_attention\",\"conv\",\"conv\",\"conv\",\"full_attention\","
    "\"conv\",\"conv\",\"conv\",\"full_attention\",\"conv\",\"conv\",\"conv\","
    "\"full_attention\",\"conv\",\"conv\",\"full_attention\",\"conv\",\"conv\"]}",
    8339929856UL + 704UL },
  /* GLM-5: Fireworks' catalogue */
  { "{\"model_type\": \"glm_moe_dsa\", \"hidden_size\": 6144, \"num_hidden_layers\": 78, "
    "\"num_attention_heads\": 64, \"num_key_value_heads\": 64, \"intermediate_size\": 12288, "
    "\"vocab_size\": 154880, \"q_lora_rank\": 2048, \"kv_lora_rank\": 512, "
    "\"qk_nope_head_dim\": 192, \"qk_rope_head_dim\": 64, \"v_head_dim\": 256, "
    "\"n_routed_experts\": 256, \"n_shared_experts\": 1, \"num_experts_per_tok\": 8, "
    "\"moe_intermediate_size\": 2048, \"first_k_dense_replace\": 3, \"index_n_heads\": 32, "
    "\"index_head_dim\": 128, \"index_topk\": 2048}",
    743911218432UL },
  /* DeepSeek-V3.2: V3 and an indexer of 1536 x 8192, 7168 x (128 + 64) and a norm in each layer */
  { "{\"model_type\": \"deepseek_v32\", \"hidden_size\": 7168, \"num_hidden_layers\": 61, "
    "\"num_attention_heads\": 128, \"num_key_value_heads\": 128, \"intermediate_size\": 18432, "
    "\"vocab_size\": 129280, \"q_lora_rank\": 1536, \"kv_lora_rank\": 512, "
    "\"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, \"v_head_dim\": 128, "
    "\"n_routed_experts\": 256, \"n_shared_experts\": 1, \"num_experts_per_tok\": 8, "
    "\"moe_intermediate_size\": 2048, \"first_k_dense_replace\": 3, \"index_n_heads\": 64, "
    "\"index_head_dim\": 128, \"index_topk\": 2048}",
    671026419200UL + 61UL * (1536UL * 8192UL + 7168UL * 192UL + 256UL) },
  /* Jamba-v0.1: arithmetic, as test_jamba_parameters has it; model card: 52e9, 51.6e9 tensors */
  { "{\"model_type\": \"jamba\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
    "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"intermediate_size\": 14336, "
    "\"vocab_size\": 65536, \"num_experts\": 16, \"num_experts_per_tok\": 2, "
    "\"attn_layer_period\": 8, \"attn_layer_offset\": 4, \"expert_layer_period\": 2, "
    "\"expert_layer_offset\": 1, \"mamba_d_state\": 16, \"mamba_d_conv\": 4, "
    "\"mamba_expand\": 2, \"mamba_dt_rank\": 256}",
    51570323328UL },
  /* AI21-Jamba-1.5-Large: the same arithmetic; model card: 398e9 */
  { "{\"model_type\": \"jamba\", \"hidden_size\": 8192, \"num_hidden_layers\": 72, "
    "\"num_attention_heads\": 64, \"num_key_value_heads\": 8, \"intermediate_size\": 24576, "
    "\"vocab_size\": 65536, \"num_experts\": 16, \"num_experts_per_tok\": 2, "
    "\"mamba_d_state\": 16, \"mamba_d_conv\": 4, \"mamba_expand\": 2, "
    "\"mamba_dt_rank\": \"auto\"}",
    398555145696UL },
  /* falcon-mamba-7b: 64 (3 h d + d (3 x 256 - 256 + 2 x 16 + 16 + 7) + h) + ..., d = 2 h = 8192 */
  { "{\"model_type\": \"falcon_mamba\", \"hidden_size\": 4096, \"num_hidden_layers\": 64, "
    "\"intermediate_size\": 8192, \"vocab_size\": 65024, \"expand\": 16, "
    "\"tie_word_embeddings\": false, \"state_size\": 16, \"conv_kernel\": 4, "
    "\"time_step_rank\": 256}",
    64UL * (3UL * 4096UL * 8192UL + 8192UL * (512UL + 48UL + 7UL) + 4096UL) + 4096UL
        + 2UL * 65024UL * 4096UL },
  /* mamba-2.8b: the same of 5120 channels, a rank of 160, a tied head */
  { "{\"model_type\": \"mamba\", \"hidden_size\": 2560, \"num_hidden_layers\": 64, "
    "\"vocab_size\": 50280, \"state_size\": 16, \"conv_kernel\": 4, "
    "\"time_step_rank\": 160}",
    64UL * (3UL * 2560UL * 5120UL + 5120UL * (320UL + 48UL + 7UL) + 2560UL) + 2560UL
        + 50280UL * 2560UL },
  /*
   * Falcon-H1-0.5B: arithmetic, 36 (Mamba-2 h (2 x 1536 + 2 x 128 + 24) + 5 x 1792 + 3 x 24 +
   * 1536 h | q, k, v, o h (2 x 512 + 2 x 128) | MLP 3 x 2048 h | 2 norms); model card: 0.5e9
   */
  { "{\"model_type\": \"falcon_h1\", \"hidden_size\": 1024, \"num_hidden_layers\": 36, "
    "\"num_attention_heads\": 8, \"num_key_value_heads\": 2, \"head_dim\": 64, "
    "\"intermediate_size\": 2048, \"vocab_size\": 32784, \"mamba_d_ssm\": 1536, "
    "\"mamba_n_heads\": 24, \"mamba_d_head\": 64, \"mamba_d_state\": 128, "
    "\"mamba_n_groups\": 1, \"mamba_chunk_size\": 128, \"mamba_rms_norm\": false, "
    "\"tie_word_embeddings\": false}",
    36UL
            * (1024UL * (3072UL + 256UL + 24UL) + 5UL * 1792UL + 72UL + 1536UL * 1024UL
               + 1024UL * 1280UL + 3UL * 2048UL * 1024UL + 2048UL)
        + 1024UL + 2UL * 32784UL * 1024UL },
  /* Mamba-Codestral-7B: arithmetic, 64 (h (2 x 8192 + 2 x 1024 + 128) + 8192 h + ...), h = 4096 */
  { "{\"model_type\": \"mamba2\", \"hidden_size\": 4096, \"num_hidden_layers\": 64, "
    "\"vocab_size\": 32768, \"num_heads\": 128, \"head_dim\": 64, \"n_groups\": 8, "
    "\"state_size\": 128, \"conv_kernel\": 4, \"chunk_size\": 256, \"use_conv_bias\": true, "
    "\"use_bias\": false, \"tie_word_embeddings\": false}",
    64UL * (4096UL * 18560UL + 5UL * 10240UL + 3UL * 128UL + 8192UL + 8192UL * 4096UL + 4096UL)
        + 2UL * 32768UL * 4096UL + 4096UL },
};

START_TEST (test_published)
{
  ModelShape           shape = import_text (published[_i].text);
  TrainingOptions      options = training (1024, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options);

  ck_assert_uint_eq (workload_n_parameters (workload), published[_i].parameters);
  model_shape_clear (&shape);
}
END_TEST

/* Blocks of their own widths: one without attention, one of other heads, the empty one left out. */
START_TEST (test_blocks_of_their_own)
{
  ModelShape shape = import_text (
      "{\"model_type\": \"nemotron-nas\", \"hidden_size\": 1024, \"num_hidden_layers\": 4, "
      "\"num_attention_heads\": 16, \"num_key_value_heads\": null, \"intermediate_size\": null, "
      "\"vocab_size\": 1000, \"block_configs\": ["
      "{\"attention\": {\"n_heads_in_group\": 8}, \"ffn\": {\"ffn_mult\": 2.625}},"
      "{\"attention\": {\"no_op\": true}, \"ffn\": {\"ffn_mult\": 0.5}},"
      "{\"attention\": {\"no_op\": true}, \"ffn\": {\"no_op\": true}},"
      "{\"attention\": {\"n_heads_in_group\": 4}, \"ffn\": {\"no_op\": true}}]}");
  TrainingOptions      options = training (1024, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options);

  /* q, o of h^2, k, v of 2 and 4 heads of 64; 2/3 2.625 h = 1792; 2/3 0.5 h = 341, so 512 */
  ck_assert_int_eq (shape.n_layers, 3);
  ck_assert_uint_eq (workload_layer (workload, 1)->elements,
                     2 * 1024 * 1024 + 2 * 1024 * 128 + 3 * 1024 * 1792 + 2 * 1024);
  ck_assert_uint_eq (workload_layer (workload, 2)->elements, 3 * 1024 * 512 + 1024);
  ck_assert_uint_eq (workload_layer (workload, 3)->elements,
                     2 * 1024 * 1024 + 2 * 1024 * 256 + 1024);
  model_shape_clear (&shape);
}
END_TEST

/* ---- one block by hand ---- */

static ModelLayer mamba_block = { .mixer = MODEL_MIXER_MAMBA2, .feed = MODEL_FEED_NONE };
static ModelLayer delta_block = { .mixer = MODEL_MIXER_DELTA, .feed = MODEL_FEED_NONE };

/* 512 wide, 16 heads of 64 in 2 groups, states of 32, chunks of 128. */
static ModelShape
mamba_shape (void)
{
  return (ModelShape){ .n_layers = 4,
                       .d_model = 512,
                       .n_heads = 16,
                       .n_kv_heads = 16,
                       .head_dim = 64,
                       .vocab = 1000,
                       .norm = MODEL_NORM_RMS,
                       .position = MODEL_POSITION_NONE,
                       .layers = &mamba_block,
                       .n_listed = 1,
                       .ssm_heads = 16,
                       .ssm_head_dim = 64,
                       .ssm_groups = 2,
                       .ssm_state = 32,
                       .ssm_chunk = 128,
                       .conv_taps = 4,
                       .conv_bias = TRUE };
}

/* 512 wide, 4 key heads of 128, 8 value heads of 128. */
static ModelShape
delta_shape (void)
{
  return (ModelShape){ .n_layers = 4,
                       .d_model = 512,
                       .n_heads = 8,
                       .n_kv_heads = 8,
                       .head_dim = 64,
                       .vocab = 1000,
                       .norm = MODEL_NORM_RMS,
                       .position = MODEL_POSITION_ROTARY,
                       .layers = &delta_block,
                       .n_listed = 1,
                       .linear_key_heads = 4,
                       .linear_value_heads = 8,
                       .linear_key_dim = 128,
                       .linear_value_dim = 128,
                       .conv_taps = 4 };
}

static ModelLayer scan_block = { .mixer = MODEL_MIXER_MAMBA1, .feed = MODEL_FEED_NONE };
static ModelLayer side_block = { .mixer = MODEL_MIXER_SIDE, .feed = MODEL_FEED_NONE };

/* 512 wide, 1024 channels, states of 16, time steps through 32. */
static ModelShape
scan_shape (ModelSsmNorm norm)
{
  return (ModelShape){ .n_layers = 4,
                       .d_model = 512,
                       .n_heads = 8,
                       .n_kv_heads = 8,
                       .head_dim = 64,
                       .vocab = 1000,
                       .norm = MODEL_NORM_RMS,
                       .position = MODEL_POSITION_NONE,
                       .layers = &scan_block,
                       .n_listed = 1,
                       .ssm_heads = 1024,
                       .ssm_head_dim = 1,
                       .ssm_groups = 1,
                       .ssm_state = 16,
                       .ssm_rank = 32,
                       .ssm_norm = norm,
                       .conv_taps = 4,
                       .conv_bias = TRUE };
}

static double
product_flops (const KernelDesc *kernels, guint n, const char *prefix)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    if (g_str_has_prefix (kernels[i].name, prefix) && kernels[i].kind == KERNEL_MATMUL)
      sum += kernels[i].flops;
  return sum;
}

/* Two sequences of 1024 tokens: 16 chunks; T = 2048, H = 16, P = 64, G = 2, N = 32, Q = 128. */
START_TEST (test_mamba_kernels)
{
  ModelShape           shape = mamba_shape ();
  TrainingOptions      options = training (1024, 2);
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  const LayerDesc     *block = workload_layer (workload, 1);
  const double         t = 2048, x = t * 1024 * 2, bc = t * 64 * 2, chunks = 16;
  const KernelDesc    *kernel;

  /* in: z and x of 1024, B and C of 64, dt of 16 */
  ck_assert_uint_eq (block->elements, 512 + 512 * 2192 + 5 * 1152 + 3 * 16 + 1024 + 1024 * 512);
  kernel = find_kernel (block->forward, block->n_forward, "ssm.in");
  ck_assert_double_eq (kernel->flops, 2 * t * 512 * 2192);
  kernel = find_kernel (block->forward, block->n_forward, "ssd.conv1d");
  ck_assert_double_eq (kernel->read_bytes, x + 2 * bc);
  ck_assert_double_eq (kernel->write_bytes, x + 2 * bc);
  /* B' x of each head and chunk; states in fp32 */
  kernel = find_kernel (block->forward, block->n_forward, "ssd.chunk_state");
  ck_assert_double_eq (kernel->flops, 2 * t * 16 * 64 * 32);
  ck_assert_double_eq (kernel->write_bytes, 4 * chunks * 16 * 64 * 32);
  /* C B' of each group and chunk, in full */
  kernel = find_kernel (block->forward, block->n_forward, "ssd.chunk_scores");
  ck_assert_double_eq (kernel->flops, 2 * t * 2 * 128 * 32);
  ck_assert_double_eq (kernel->write_bytes, 4 * chunks * 2 * 128 * 128);
  /* half of the scores times x, and C times the state */
  kernel = find_kernel (block->forward, block->n_forward, "ssd.chunk_scan");
  ck_assert_double_eq (kernel->flops, 2 * t * 16 * 64 * (64 + 32));
  ck_assert_double_eq (kernel->write_bytes, x);
  /*
   * backwards state and scores again, gradients of states, B, C (a product of N P each), of x (as
   * the scan), of scores and decays (half of Q P each), of C B' twice
   */
  ck_assert_double_eq (product_flops (block->backward, block->n_backward, "ssd."),
                       2 * t * (4 * 16 * 64 * 32 + 16 * 64 * (64 + 32) + 2 * 16 * 64 * 64)
                           + 3 * 2 * t * 2 * 128 * 32);
}
END_TEST

static double
kept (const ModelShape *shape, const ModelLayer *layer)
{
  TrainingOptions options = training (1024, 2);
  MeshOptions     mesh = { .tp = 1, .pp = 1, .cp = 1, .vp = 1, .ep = 1, .routing_skew = 1 };
  LayerBuild      build;
  double          bytes;

  options.fused_norm = TRUE;
  build =
      layer_build (shape, &options, &mesh, (LayerClass){ .kind = LAYER_BLOCK, .block = *layer });
  bytes = tape_saved_bytes (build.tape, CHECKPOINT_NONE, FALSE);
  layer_build_clear (&build);
  return bytes;
}

/* The norm's input and output, z x B C dt as projected, the scan's result and its norm. */
START_TEST (test_mamba_memory)
{
  ModelShape shape = mamba_shape ();

  ck_assert_double_eq (kept (&shape, &mamba_block), 2.0 * 2048 * (2 * 512 + 2192 + 2 * 1024));
}
END_TEST

/* T = 2048, 8 heads, K = V = 128, chunks of 64. */
START_TEST (test_delta_kernels)
{
  ModelShape           shape = delta_shape ();
  TrainingOptions      options = training (1024, 2);
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  const LayerDesc     *block = workload_layer (workload, 1);
  const double         each = 2.0 * 2048 * 8; /* FLOPs of a multiply-add of each token and head */
  const KernelDesc    *kernel;

  /* q, k of 512, v, z of 1024, b, a of 8; three parameters beside */
  ck_assert_uint_eq (block->elements,
                     512 + 512 * (2 * 512 + 2 * 1024 + 16) + 4 * 2048 + 16 + 128 + 1024 * 512);
  kernel = find_kernel (block->forward, block->n_forward, "delta.k_k");
  ck_assert_double_eq (kernel->flops, each * 64 * 128);
  kernel = find_kernel (block->forward, block->n_forward, "delta.w_u");
  ck_assert_double_eq (kernel->flops, each * 64 * 256);
  kernel = find_kernel (block->forward, block->n_forward, "delta.states");
  ck_assert_double_eq (kernel->flops, each * 2 * 128 * 128);
  ck_assert_double_eq (
      kernel->write_bytes,
      2.0 * 2048 * 1024 + 2.0 * 32 * 8 * 128 * 128); /* values; 32 chunks' states */
  kernel = find_kernel (block->forward, block->n_forward, "delta.output");
  ck_assert_double_eq (kernel->flops, each * (128 * 128 + 2 * 64 * 128));
  /*
   * w, u and states again; values within chunks 2 Q V; the walk back 3 K V; q, k, w 3 K V and
   * 4 Q K; what led to w, u 7 Q K and 2 Q Q
   */
  ck_assert_double_eq (product_flops (block->backward, block->n_backward, "delta.w_u")
                           + product_flops (block->backward, block->n_backward, "delta.states")
                           + product_flops (block->backward, block->n_backward, "delta.grad"),
                       each
                           * (64 * 256 + 2 * 128 * 128 + 2 * 64 * 128 + 3 * 128 * 128
                              + 3 * 128 * 128 + 4 * 64 * 128 + 7 * 64 * 128 + 2 * 64 * 64));
}
END_TEST

/*
 * The norm's input and output; q, k, v before the convolution; z; b and a; q, k of 8 heads and v
 * behind it; the result and its norm; in fp32 the sums of decays, beta, and 64 numbers a head.
 */
START_TEST (test_delta_memory)
{
  ModelShape shape = delta_shape ();

  ck_assert_double_eq (
      kept (&shape, &delta_block),
      2048 * (2.0 * (2 * 512 + 2048 + 1024 + 16 + 3 * 1024 + 2 * 1024) + 8 * (4 + 2 + 2 * 64)));
}
END_TEST

/* ---- Mamba-1 ---- */

/*
 * Jamba: in 512 x 2048; taps and bias of 1024 channels; x 1024 x 64; steps 32 x 1024 and their
 * bias; norms of 32, 16 and 16; decays of 16 and a weight a channel; out.
 */
START_TEST (test_scan_kernels)
{
  ModelShape           shape = scan_shape (MODEL_SSM_NORM_PARTS);
  TrainingOptions      options = training (1024, 2);
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  const LayerDesc     *block = workload_layer (workload, 1);
  const double         t = 2048, x = t * 1024 * 2, bc = t * 16 * 2, decay = 4 * 1024 * 16;
  const KernelDesc    *kernel;

  ck_assert_uint_eq (block->elements, 512 + 512 * 2048 + 5 * 1024 + 1024 * 64 + 33 * 1024 + 64
                                          + 17 * 1024 + 1024 * 512);
  kernel = find_kernel (block->forward, block->n_forward, "mamba.x");
  ck_assert_double_eq (kernel->flops, 2 * t * 1024 * 64);
  kernel = find_kernel (block->forward, block->n_forward, "mamba.dt");
  ck_assert_double_eq (kernel->flops, 2 * t * 32 * 1024);
  /* steps, x, z, B, C; the result twice, a state and a product of decays for each sequence */
  kernel = find_kernel (block->forward, block->n_forward, "selective_scan");
  ck_assert_int_eq (kernel->kind, KERNEL_SCAN);
  ck_assert_double_eq (kernel->read_bytes, 3 * x + 2 * bc + decay);
  ck_assert_double_eq (kernel->write_bytes, 2 * x + 2 * 2 * decay);
  ck_assert_double_eq (kernel->flops, 7 * t * 1024 * 16);
  ck_assert_double_eq (kernel->exponentials, t * 1024 * (16 + 2));
  /* steps twice, x, z, the result, its gradient; three gradients, those of B and C in fp32 */
  kernel = find_kernel (block->backward, block->n_backward, "selective_scan.backward");
  ck_assert_double_eq (kernel->read_bytes, 6 * x + 2 * bc + 3 * decay + 2 * decay);
  ck_assert_double_eq (kernel->write_bytes, 3 * x + 4 * bc + decay);
}
END_TEST

/* A longer sequence has a state for each 2048 tokens. */
START_TEST (test_scan_states)
{
  ModelShape           shape = scan_shape (MODEL_SSM_NORM_OWN);
  TrainingOptions      options = training (5000, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  const LayerDesc     *block = workload_layer (workload, 1);

  ck_assert_double_eq (
      find_kernel (block->forward, block->n_forward, "selective_scan")->write_bytes,
      2 * 5000.0 * 1024 * 2 + 3 * 2 * 4 * 1024 * 16);
}
END_TEST

/* The same products as the parts have, in one function; backwards two of them again. */
START_TEST (test_scan_in_one)
{
  ModelShape           shape = scan_shape (MODEL_SSM_NORM_OWN);
  TrainingOptions      options = training (1024, 2);
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  const LayerDesc     *block = workload_layer (workload, 1);
  const double         t = 2048, products = 1024 * 64 + 32 * 1024 + 1024 * 512;

  ck_assert_uint_eq (block->elements,
                     512 + 512 * 2048 + 5 * 1024 + 1024 * 64 + 33 * 1024 + 17 * 1024 + 1024 * 512);
  ck_assert_double_eq (product_flops (block->forward, block->n_forward, "mamba."),
                       2 * t * (512 * 2048 + products));
  ck_assert_double_eq (product_flops (block->backward, block->n_backward, "mamba."),
                       2 * t * (2 * 512 * 2048 + 2 * products + 32 * 1024));
}
END_TEST

static const double states_of_two = 2 * 2 * 4.0 * 1024 * 16;

/*
 * The norm's input and output; in one function x and z, steps, B, C, the result. In parts x and z
 * as projected, what was convolved, steps, B and C before the norms and steps behind; for the scan
 * x, steps, z, B, C once more and its result, for the last product that again.
 */
START_TEST (test_scan_memory)
{
  ModelShape one = scan_shape (MODEL_SSM_NORM_OWN), parts = scan_shape (MODEL_SSM_NORM_PARTS);

  ck_assert_double_eq (kept (&one, &scan_block),
                       2.0 * 2048 * (2 * 512 + 2048 + 64 + 1024) + states_of_two);
  ck_assert_double_eq (
      kept (&parts, &scan_block),
      2.0 * 2048 * (2 * 512 + 2048 + 1024 + 64 + 32 + 3 * 1024 + 32 + 2 * 1024) + states_of_two);
}
END_TEST

/* Channels are halved, the norms and the bottleneck of all ranks are whole. */
START_TEST (test_scan_tensor_ranks)
{
  ModelShape           shape = scan_shape (MODEL_SSM_NORM_PARTS);
  TrainingOptions      options = training (1024, 2);
  MeshOptions          mesh = { .tp = 2, .sp = 1, .routing_skew = 1 };
  g_autoptr (Workload) whole = workload_new (&shape, &options);
  g_autoptr (Workload) half = workload_new_stage (&shape, &options, &mesh, 0);
  const LayerDesc     *one = workload_layer (whole, 1), *two = workload_layer (half, 1);

  ck_assert_uint_eq (two->elements, (one->elements - 512 - 64) / 2 + 512 + 64);
  ck_assert_double_eq (
      find_kernel (two->forward, two->n_forward, "selective_scan")->exponentials,
      find_kernel (one->forward, one->n_forward, "selective_scan")->exponentials / 2);
  ck_assert_double_eq (product_flops (two->forward, two->n_forward, "mamba."),
                       product_flops (one->forward, one->n_forward, "mamba.") / 2);
}
END_TEST

/* Four blocks: products, and 7 FLOPs of each state; what runs again counts that, too. */
START_TEST (test_scan_flops)
{
  ModelShape           shape = scan_shape (MODEL_SSM_NORM_OWN);
  TrainingOptions      options = training (1024, 2);
  const double         block = 512.0 * 3 * 1024 + 1024 * (2 * 32 + 32);
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *desc;
  double               counted = 0;

  ck_assert_double_eq (flops_per_token (&shape, FLOPS_CAUSAL, 1024),
                       6 * (4 * block + 512 * 1000) + 4 * 3 * 7.0 * 1024 * 16);
  options.checkpointing = CHECKPOINT_FULL;
  workload = workload_new (&shape, &options);
  desc = workload_layer (workload, 1);
  for (guint i = 0; i < desc->n_recompute; i++)
    counted += desc->recompute[i].recomputed_flops;
  assert_close (counted, 2048 * (2 * block + 7.0 * 1024 * 16), 1e-9);
}
END_TEST

/* Files that are wrong, beside whatever sizes they leave out: the last message. */
START_TEST (test_scan_files)
{
  static const char *const files[][2] = {
    { "{\"model_type\": \"jamba\", \"attn_layer_offset\": 8}",
      "'attn_layer_offset' of 8 is not below 'attn_layer_period' of 8" },
    { "{\"model_type\": \"jamba\", \"expert_layer_period\": 0}",
      "expected a positive integer for 'expert_layer_period', got '0'" },
    { "{\"model_type\": \"jamba\", \"mamba_expand\": 1025}",
      "expected at most 1024 for 'mamba_expand'" },
    { "{\"model_type\": \"mamba\", \"time_step_rank\": 0}",
      "expected a positive integer for 'time_step_rank', got '0'" },
    { "{\"model_type\": \"mamba\", \"intermediate_size\": 65537}",
      "'ssm_heads' is 65537, expected 1 to 65536" },
    { "{\"model_type\": \"falcon_h1\", \"mamba_d_ssm\": 4096, \"mamba_d_head\": 64}",
      "128 heads of 64 are not the width of the states of 4096" },
    { "{\"model_type\": \"falcon_h1\", \"mamba_d_ssm\": null, \"mamba_n_heads\": 3}",
      "'mamba_n_heads' of 3 does not divide the width of the states" },
    { "{\"model_type\": \"falcon_h1\", \"projectors_bias\": true}",
      "a bias of one of the two projections of Mamba-2 is not simulated" },
    { "{\"model_type\": \"falcon_h1\", \"mamba_rms_norm\": 3}",
      "expected true or false for 'mamba_rms_norm', got '3'" },
    { "{\"model_type\": \"mamba\", \"num_hidden_layers\": 100001}",
      "'n_layers' is 100001, expected 1 to 100000" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      ModelShape           shape;
      DiagView             view;
      guint                n = 0;
      gboolean             found = FALSE;

      ck_assert_msg (!import_file (files[i][0], &shape, diags), "%s", files[i][0]);
      for (; diag_list_get (diags, n, &view); n++)
        found = found || strcmp (view.message, files[i][1]) == 0;
      ck_assert_msg (found, "%s", files[i][0]);
    }
}
END_TEST

/* ---- attention and Mamba-2 side by side ---- */

/*
 * The parameters of both; constants are kernels. Without a norm the scan gates: it keeps its result
 * and the gated one instead of the result and its norm's.
 */
START_TEST (test_side_by_side)
{
  ModelShape           shape = mamba_shape (), states = mamba_shape ();
  TrainingOptions      options = training (1024, 2);
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *block;
  const double         x = 2048 * 1024 * 2.0, bc = 2048 * 64 * 2.0;

  shape.layers = &side_block;
  shape.n_heads = shape.n_kv_heads = 8;
  shape.ssm_norm = states.ssm_norm = MODEL_SSM_NORM_NONE;
  shape.branch_scales = TRUE;
  workload = workload_new (&shape, &options);
  block = workload_layer (workload, 1);
  ck_assert_uint_eq (block->elements,
                     512 + 512 * 2192 + 5 * 1152 + 3 * 16 + 1024 * 512 + 4 * 512 * 512);
  find_kernel (block->forward, block->n_forward, "ssm.scale_parts");
  find_kernel (block->forward, block->n_forward, "attn.scale_k");
  find_kernel (block->forward, block->n_forward, "mixer.add");
  find_kernel (block->backward, block->n_backward, "ssd.grad_z");
  /* scores of 2 groups, x, B, states of 16 chunks, decays, and z; both results */
  ck_assert_double_eq (
      find_kernel (block->forward, block->n_forward, "ssd.chunk_scan")->read_bytes,
      4 * 16 * 2 * 128.0 * 128 + x + bc + 2 * 16 * 16 * 64.0 * 32 + 2 * 4 * 2048.0 * 16 + x);
  ck_assert_double_eq (
      find_kernel (block->forward, block->n_forward, "ssd.chunk_scan")->write_bytes, 2 * x);
  ck_assert_double_eq (kept (&states, &mamba_block), 2.0 * 2048 * (2 * 512 + 2192 + 2 * 1024));
  ck_assert_double_eq (
      flops_per_token (&shape, FLOPS_PALM, 1024) - flops_per_token (&states, FLOPS_PALM, 1024),
      4 * (6 * 4 * 512.0 * 512 + 12 * 512.0 * 1024));
}
END_TEST

/* ---- classes, depth, division, what runs again ---- */

START_TEST (test_classes)
{
  ModelShape shape = import_text (
      "{\"model_type\": \"nemotron_h\", \"hidden_size\": 512, \"hybrid_override_pattern\": "
      "\"M-M*M-M-\", \"num_attention_heads\": 8, \"num_key_value_heads\": 8, \"head_dim\": 64, "
      "\"intermediate_size\": 1024, \"vocab_size\": 1000, \"mamba_num_heads\": 16, "
      "\"mamba_head_dim\": 64, \"n_groups\": 2, \"ssm_state_size\": 32, \"conv_kernel\": 4, "
      "\"chunk_size\": 128}");
  TrainingOptions      options = training (256, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  static const guint   same[][2] = { { 1, 3 }, { 3, 5 }, { 2, 6 }, { 6, 8 } };

  for (guint i = 0; i < G_N_ELEMENTS (same); i++)
    ck_assert_ptr_eq (workload_layer (workload, same[i][0]), workload_layer (workload, same[i][1]));
  ck_assert_ptr_ne (workload_layer (workload, 1), workload_layer (workload, 2));
  ck_assert_ptr_ne (workload_layer (workload, 4), workload_layer (workload, 1));
  ck_assert_uint_eq (workload_layer (workload, 4)->elements, 512 + 4 * 512 * 512);
  ck_assert_uint_eq (workload_layer (workload, 2)->elements, 512 + 2 * 512 * 1024);
  /* a model that is cut has the first blocks, a deeper one begins again */
  shape.n_layers = 3;
  ck_assert_int_eq (model_layer (&shape, 2).mixer, MODEL_MIXER_MAMBA2);
  ck_assert (!model_attends (&shape));
  shape.n_layers = 12;
  ck_assert_int_eq (model_layer (&shape, 11).mixer, MODEL_MIXER_ATTENTION);
  model_shape_clear (&shape);
}
END_TEST

/* All but the norm and its gradient's share is divided, products and states with it. */
START_TEST (test_tensor_ranks)
{
  ModelShape           shapes[] = { mamba_shape (), delta_shape () };
  TrainingOptions      options = training (1024, 2);
  MeshOptions          mesh = { .tp = 2, .sp = 1, .routing_skew = 1 };
  ModelShape          *shape = &shapes[_i];
  g_autoptr (Workload) whole = workload_new (shape, &options);
  g_autoptr (Workload) half = workload_new_stage (shape, &options, &mesh, 0);
  const LayerDesc     *one = workload_layer (whole, 1), *two = workload_layer (half, 1);
  const guint          norms = _i == 0 ? 512 : 512 + 128; /* a norm of each head is whole */

  ck_assert_uint_eq (two->elements, (one->elements - norms) / 2 + norms);
  ck_assert_double_eq (product_flops (two->forward, two->n_forward, _i == 0 ? "ss" : "delta."),
                       product_flops (one->forward, one->n_forward, _i == 0 ? "ss" : "delta.") / 2);
}
END_TEST

static char *
mesh_complaint (const ModelShape *shape, MeshOptions mesh, guint world)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  TrainingOptions      options = training (1024, 1);

  mesh.routing_skew = 1;
  if (mesh_check (shape, &options, &mesh, world, NULL, diags))
    return g_strdup ("");
  return g_strdup (diag_list_first_message (diags));
}

START_TEST (test_what_is_not_divided)
{
  ModelShape       shape = mamba_shape ();
  ModelLayer       lightning = { .mixer = MODEL_MIXER_LIGHTNING, .feed = MODEL_FEED_NONE };
  g_autofree char *groups = mesh_complaint (&shape, (MeshOptions){ .tp = 4 }, 4);
  g_autofree char *context = mesh_complaint (&shape, (MeshOptions){ .cp = 2 }, 2);
  g_autofree char *fits = mesh_complaint (&shape, (MeshOptions){ .tp = 2 }, 2);
  ModelShape scan = scan_shape (MODEL_SSM_NORM_OWN), parts = scan_shape (MODEL_SSM_NORM_PARTS);
  g_autofree char *in_one = mesh_complaint (&scan, (MeshOptions){ .tp = 2 }, 2);
  g_autofree char *in_parts = mesh_complaint (&parts, (MeshOptions){ .tp = 4 }, 4);
  g_autofree char *scanned = mesh_complaint (&parts, (MeshOptions){ .cp = 2 }, 2);
  g_autofree char *whole = NULL;

  ck_assert_str_eq (in_one, "a tensor group over layers of Mamba-1 is not modelled");
  ck_assert_str_eq (in_parts, "");
  ck_assert_str_eq (scanned, "a context group over layers of Mamba-1 is not modelled");
  shape.layers = &lightning;
  whole = mesh_complaint (&shape, (MeshOptions){ .tp = 2 }, 2);
  ck_assert_str_eq (groups, "'tp' of 4 does not divide the groups of heads of Mamba-2 of 2");
  ck_assert_str_eq (context, "a context group over layers of Mamba-2 is not modelled");
  ck_assert_str_eq (fits, "");
  ck_assert_str_eq (whole, "a tensor group over layers of lightning attention is not modelled");
}
END_TEST

/* Of what runs again MFU counts 7 FLOPs a channel and state, whatever the kernels execute. */
START_TEST (test_recomputation)
{
  ModelShape           shape = mamba_shape ();
  TrainingOptions      options = training (1024, 2);
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *block;
  double               counted = 0;

  options.checkpointing = CHECKPOINT_FULL;
  workload = workload_new (&shape, &options);
  block = workload_layer (workload, 1);
  for (guint i = 0; i < block->n_recompute; i++)
    if (g_str_has_prefix (block->recompute[i].name, "ssd."))
      counted += block->recompute[i].recomputed_flops;
  assert_close (counted, 7.0 * 2048 * 1024 * 32, 1e-9);
  ck_assert_uint_eq (block->saved_bytes, 2 * 2048 * 512);
}
END_TEST

/* Four blocks: products of 512 x (3 x 1024 + 128 + 16), states; the head; no pairs of tokens. */
START_TEST (test_counted_flops)
{
  ModelShape shape = mamba_shape ();
  double     matrices = 4 * 512.0 * (3 * 1024 + 128 + 16) + 512.0 * 1000;

  ck_assert_double_eq (flops_per_token (&shape, FLOPS_PALM, 1024),
                       6 * matrices + 4 * 3 * 7.0 * 1024 * 32);
  ck_assert_double_eq (flops_per_token (&shape, FLOPS_CAUSAL, 4096),
                       flops_per_token (&shape, FLOPS_PALM, 1024));
}
END_TEST

/* ---- an indexer ---- */

static ModelShape
sparse_shape (gint64 topk)
{
  return (ModelShape){ .n_layers = 1,
                       .d_model = 512,
                       .n_heads = 8,
                       .n_kv_heads = 8,
                       .head_dim = 64,
                       .d_ff = 1024,
                       .vocab = 1000,
                       .norm = MODEL_NORM_RMS,
                       .position = MODEL_POSITION_ROTARY,
                       .gated_mlp = TRUE,
                       .q_lora_rank = 128,
                       .kv_lora_rank = 64,
                       .qk_nope_head_dim = 32,
                       .qk_rope_head_dim = 16,
                       .v_head_dim = 32,
                       .index_heads = 4,
                       .index_dim = 32,
                       .index_topk = topk };
}

static gboolean
has_kernel (const KernelDesc *kernels, guint n, const char *name)
{
  for (guint i = 0; i < n; i++)
    if (strcmp (kernels[i].name, name) == 0)
      return TRUE;
  return FALSE;
}

/*
 * 256 of 1024 keys are w s - w^2 / 2 pairs, of latents of 64 + 16 and 64; the indexer scores half
 * of all pairs, with 4 heads of 32. Its weights have gradients, the block's stream gets none of it.
 */
START_TEST (test_indexer)
{
  ModelShape           shape = sparse_shape (256);
  TrainingOptions      options = training (1024, 1);
  const double         pairs = 256.0 * 1024 - 256 * 128;
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *block;

  options.attention = ATTENTION_FLASH2;
  workload = workload_new (&shape, &options);
  block = workload_layer (workload, 1);
  ck_assert_double_eq (find_kernel (block->forward, block->n_forward, "flash_fwd")->flops,
                       2 * 8 * pairs * (80 + 64));
  ck_assert_double_eq (find_kernel (block->forward, block->n_forward, "index.scores")->flops,
                       2 * 4 * 32 * 1024.0 * 512);
  ck_assert (has_kernel (block->backward, block->n_backward, "index.q.wgrad"));
  ck_assert (!has_kernel (block->backward, block->n_backward, "index.q.dgrad"));
  ck_assert (!has_kernel (block->backward, block->n_backward, "index.weights.dgrad"));
}
END_TEST

SUITE_MAIN (hybrid)
{
  TCase *tcase = tcase_create ("hybrid");

  tcase_add_loop_test (tcase, test_published, 0, G_N_ELEMENTS (published));
  tcase_add_test (tcase, test_blocks_of_their_own);
  tcase_add_test (tcase, test_mamba_kernels);
  tcase_add_test (tcase, test_mamba_memory);
  tcase_add_test (tcase, test_delta_kernels);
  tcase_add_test (tcase, test_delta_memory);
  tcase_add_test (tcase, test_scan_kernels);
  tcase_add_test (tcase, test_scan_states);
  tcase_add_test (tcase, test_scan_in_one);
  tcase_add_test (tcase, test_scan_memory);
  tcase_add_test (tcase, test_scan_tensor_ranks);
  tcase_add_test (tcase, test_scan_flops);
  tcase_add_test (tcase, test_scan_files);
  tcase_add_test (tcase, test_side_by_side);
  tcase_add_test (tcase, test_classes);
  tcase_add_loop_test (tcase, test_tensor_ranks, 0, 2);
  tcase_add_test (tcase, test_what_is_not_divided);
  tcase_add_test (tcase, test_recomputation);
  tcase_add_test (tcase, test_counted_flops);
  tcase_add_test (tcase, test_indexer);
  return run_case ("hybrid-blocks", tcase);
}
