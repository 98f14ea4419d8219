/* Families with routed experts. */
#include "model/family/import-layers-private.h"
#include "model/family/import-values-private.h"

#define KEY_CHOSEN KEY ("num_experts_per_tok", n_experts_per_token, SIZE)
#define KEY_EXPERT KEY ("moe_intermediate_size", d_expert, SIZE)
#define KEYS_DEEPSEEK_EXPERTS                                                                    \
  KEY ("n_routed_experts", n_experts, SIZE), KEY ("n_shared_experts", n_shared_experts, AMOUNT), \
      KEY_CHOSEN, KEY_EXPERT, KEY ("first_k_dense_replace", first_dense_layers, AMOUNT),         \
      KEY ("num_nextn_predict_layers", n_mtp_layers, AMOUNT)

static const ImportWord norms_of_heads[] = { { "true", MODEL_QK_NORM_HEAD },
                                             { "false", MODEL_QK_NORM_NONE },
                                             { 0 } };
static const ImportWord norms_of_all[] = { { "true", MODEL_QK_NORM_WHOLE },
                                           { "false", MODEL_QK_NORM_NONE },
                                           { 0 } };
static const ImportWord norms_of_llama4[] = { { "true", MODEL_QK_NORM_PLAIN },
                                              { "false", MODEL_QK_NORM_NONE },
                                              { 0 } };

/* Experts from layer moe_layer_start_index to moe_layer_end_index, in each so many. */
static void
read_ernie_layers (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  gint64               first = 1, last = -1, period = 1;
  g_autofree gboolean *dense = g_new0 (gboolean, shape->n_layers);

  import_read (map, "moe_layer_start_index", 0, &first, diags);
  import_read (map, "moe_layer_end_index", -1, &last, diags);
  import_read (map, "moe_layer_interval", 1, &period, diags);
  if (last < 0)
    last = shape->n_layers - 1;
  for (gint64 i = 0; i < shape->n_layers; i++)
    dense[i] = (i + 1) % MAX (period, 1) != 0 || i < first || i > last;
  import_set_dense (shape, dense);
}

/* Experts in every n-th layer, or in those that a list names. */
static void
read_llama4_layers (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode    *list = config_node_get (map, "moe_layers");
  const ConfigNode    *rope = config_node_get (map, "no_rope_layers");
  g_autofree gboolean *flags = NULL;

  if (!import_absent (rope) && config_node_kind (rope) == CONFIG_LIST
      && config_node_length (rope) == shape->n_layers)
    {
      flags = g_new0 (gboolean, shape->n_layers);
      for (guint i = 0; i < config_node_length (rope); i++)
        flags[i] = g_strcmp0 (config_node_text (config_node_item (rope, i)), "0") != 0;
      import_set_windows (shape, flags);
    }
  import_layer_types (map, shape, diags);
  if (import_absent (list) || !config_node_expect (list, CONFIG_LIST, diags))
    return;
  g_free (flags);
  flags = g_new0 (gboolean, shape->n_layers);
  for (gint64 i = 0; i < shape->n_layers; i++)
    flags[i] = TRUE;
  for (guint i = 0; i < config_node_length (list); i++)
    {
      gint64 layer = 0;

      if (!import_integer (config_node_item (list, i), "moe_layers", 0, &layer, diags))
        return;
      if (layer < shape->n_layers)
        flags[layer] = FALSE;
    }
  import_set_dense (shape, flags);
}

/*
 * The MLP beside the experts is as wide as the model; in layers without experts it has the width of
 * an expert.
 */
static void
read_arctic (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const gint64 width = shape->d_ff;
  gint64       period = 2;

  import_read (map, "moe_layer_frequency", 1, &period, diags);
  shape->moe_period = period;
  shape->d_expert = width;
  shape->d_ff = shape->d_model;
  if (!import_says (map, "parallel_attn_mlp_res", FALSE, diags))
    {
      shape->beside = MODEL_BESIDE_NONE;
      shape->d_ff = width;
    }
  else if (period > 1)
    {
      model_list_layers (shape);
      for (gint64 i = 0; i < shape->n_layers; i++)
        if (shape->layers[i].feed == MODEL_FEED_DENSE)
          shape->layers[i].d_ff = width;
    }
}

static void
read_hunyuan (const ConfigNode *map, G_GNUC_UNUSED ModelShape *shape, DiagList *diags)
{
  if (import_says (map, "use_cla", FALSE, diags))
    diag_error (diags, config_node_mark (config_node_get (map, "use_cla")), NULL,
                "layers that take keys and values of another layer cannot be simulated");
  if (import_says (map, "use_mla", FALSE, diags))
    diag_error (diags, config_node_mark (config_node_get (map, "use_mla")), NULL,
                "latent attention of hunyuan models cannot be simulated");
}

static void
read_bailing (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const gboolean second = shape->qk_norm != MODEL_QK_NORM_NONE;

  shape->router_bias = import_says (map, "moe_router_enable_expert_bias", second, diags);
}

static void
read_minimax (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *kind = config_node_get (map, "qk_norm_type");

  if (shape->qk_norm != MODEL_QK_NORM_NONE && kind != NULL
      && g_strcmp0 (config_node_text (kind), "per_head") == 0)
    shape->qk_norm = MODEL_QK_NORM_HEAD;
  if (!import_says (map, "use_mtp", TRUE, diags))
    shape->n_mtp_layers = 0;
}

/* moe_layers_enum: "3,4,5"; layers that attend over a window may have other heads. */
static void
read_step (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode    *list = config_node_get (map, "moe_layers_enum");
  const ConfigNode    *other = config_node_get (map, "attention_other_setting");
  g_autofree gboolean *dense = NULL;
  gint64               n_heads = 0, n_kv_heads = 0;

  import_layer_types (map, shape, diags);
  if (!import_absent (list) && config_node_text (list) != NULL && *config_node_text (list) != '\0')
    {
      g_auto (GStrv) words = g_strsplit (config_node_text (list), ",", -1);

      dense = g_new0 (gboolean, shape->n_layers);
      for (gint64 i = 0; i < shape->n_layers; i++)
        dense[i] = TRUE;
      for (char **word = words; *word != NULL; word++)
        {
          gint64 layer = g_ascii_strtoll (*word, NULL, 10);

          if (layer >= 0 && layer < shape->n_layers)
            dense[layer] = FALSE;
        }
      import_set_dense (shape, dense);
    }
  if (import_absent (other))
    return;
  import_read (other, "num_attention_heads", 1, &n_heads, diags);
  import_read (other, "num_attention_groups", 1, &n_kv_heads, diags);
  model_list_layers (shape);
  for (gint64 i = 0; i < shape->n_layers; i++)
    if (shape->layers[i].mixer == MODEL_MIXER_WINDOW)
      {
        shape->layers[i].n_heads = n_heads;
        shape->layers[i].n_kv_heads = n_kv_heads;
      }
}

const ImportFamily import_families_experts[] = {
  { .names = "mixtral",
    .architectures = "Mixtral",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 14336, 32000), .n_kv_heads = 8, .d_expert = 14336,
               .n_experts = 8, .n_experts_per_token = 2 },
    .keys = { KEYS_LLAMA, KEY_WINDOW, KEY ("intermediate_size", d_expert, COUNT),
              KEY ("num_local_experts", n_experts, SIZE), KEY_CHOSEN },
    .readers = { import_layer_types } },
  { .names = "qwen2_moe",
    .architectures = "Qwen2Moe",
    .shape = { SHAPE_LLAMA, SIZES (24, 2048, 16, 5632, 151936), .n_kv_heads = 16,
               .sliding_window = 4096, .attention_bias = TRUE, .n_experts = 60,
               .n_experts_per_token = 4, .d_expert = 1408, .d_shared = 5632, .shared_gate = TRUE },
    .keys = { KEYS_LLAMA, KEY ("qkv_bias", attention_bias, FLAG), KEY_WINDOW,
              KEY ("num_experts", n_experts, SIZE), KEY_CHOSEN, KEY_EXPERT,
              KEY ("shared_expert_intermediate_size", d_shared, COUNT),
              KEY ("decoder_sparse_step", moe_period, COUNT) },
    .readers = { import_qwen_windows, import_dense_layers } },
  { .names = "qwen3_moe qwen3_vl_moe qwen3_vl_moe_text qwen3_omni_moe_text",
    .architectures = "Qwen3Moe Qwen3VLMoe",
    .shape = { SHAPE_LLAMA, SIZES (24, 2048, 32, 6144, 151936), .n_kv_heads = 4,
               .sliding_window = 4096, .qk_norm = MODEL_QK_NORM_HEAD, .n_experts = 128,
               .n_experts_per_token = 8, .d_expert = 768 },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_WINDOW, KEY ("num_experts", n_experts, SIZE),
              KEY_CHOSEN, KEY_EXPERT, KEY ("decoder_sparse_step", moe_period, COUNT) },
    .readers = { import_qwen_windows, import_dense_layers } },
  /* without layer_types: window, full, window, ... */
  { .names = "gpt_oss",
    .architectures = "GptOss",
    .shape = { SHAPE_LLAMA, SIZES (36, 2880, 64, 0, 201088), .n_kv_heads = 8, .head_dim = 64,
               .attention_bias = TRUE, .output_bias = TRUE, .attention_sinks = TRUE,
               .sliding_window = 128, .sliding_period = 2, .router_bias = TRUE, .expert_bias = TRUE,
               .n_experts = 128, .n_experts_per_token = 4, .d_expert = 2880 },
    .keys = { KEYS, KEY_KV_HEADS, KEY_HEAD_DIM, KEYS_ATTENTION_BIAS, KEY_WINDOW,
              KEY ("intermediate_size", d_expert, SIZE), KEY ("num_local_experts", n_experts, SIZE),
              KEY_CHOSEN },
    .readers = { import_layer_types } },
  { .names = "olmoe",
    .architectures = "Olmoe",
    .shape = { SHAPE_LLAMA, SIZES (16, 2048, 16, 2048, 50304), .qk_norm = MODEL_QK_NORM_WHOLE,
               .n_experts = 64, .n_experts_per_token = 8, .d_expert = 2048 },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY ("intermediate_size", d_expert, COUNT),
              KEY ("num_experts", n_experts, SIZE), KEY_CHOSEN } },
  { .names = "phimoe",
    .architectures = "PhiMoE Phimoe",
    .shape = { SIZES (32, 4096, 32, 6400, 32064), .norm = MODEL_NORM_LAYER,
               .position = MODEL_POSITION_ROTARY, .gated_mlp = TRUE, .n_kv_heads = 8,
               .n_experts = 16, .n_experts_per_token = 2, .d_expert = 6400 },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_WINDOW,
              KEY ("intermediate_size", d_expert, COUNT),
              KEY ("num_local_experts", n_experts, SIZE), KEY_CHOSEN,
              KEY ("lm_head_bias", head_bias, FLAG) },
    .readers = { import_layer_types } },
  { .names = "granitemoe granitemoeshared",
    .architectures = "GraniteMoe GraniteMoeShared",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 32000), .embedding_scale = TRUE,
               .residual_scale = TRUE, .logit_scale = TRUE, .n_experts = 8,
               .n_experts_per_token = 2, .d_expert = 11008 },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY ("intermediate_size", d_expert, COUNT),
              KEY ("shared_intermediate_size", d_shared, AMOUNT),
              KEY ("num_local_experts", n_experts, SIZE), KEY_CHOSEN } },
  { .names = "ernie4_5_moe ernie4_5_vl_moe_text",
    .architectures = "Ernie4_5_Moe Ernie4_5Moe",
    .shape = { SHAPE_LLAMA, SIZES (28, 2560, 20, 12288, 103424), .n_kv_heads = 4,
               .tied_embeddings = TRUE, .n_experts = 64, .n_experts_per_token = 6,
               .n_shared_experts = 2, .d_expert = 1536, .router_bias = TRUE },
    .keys = { KEYS_LLAMA, KEY ("use_bias", attention_bias, FLAG),
              KEY ("use_bias", output_bias, FLAG), KEY ("use_bias", mlp_bias, FLAG), KEY_EXPERT,
              KEY ("moe_num_experts", n_experts, SIZE), KEY ("moe_k", n_experts_per_token, SIZE),
              KEY ("moe_num_shared_experts", n_shared_experts, AMOUNT) },
    .readers = { read_ernie_layers } },
  { .names = "hunyuan_v1_moe",
    .architectures = "HunYuanMoEV1 HunYuanMoE",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 290943), .qk_norm = MODEL_QK_NORM_HEAD,
               .n_experts = 1, .n_experts_per_token = 1, .d_expert = 11008, .n_shared_experts = 1 },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY ("intermediate_size", d_expert, COUNT),
              KEY ("moe_intermediate_size", d_expert, COUNT), KEY ("num_experts", n_experts, SIZE),
              KEY ("moe_topk", n_experts_per_token, COUNT),
              KEY ("num_shared_expert", n_shared_experts, AMOUNT) },
    .readers = { read_hunyuan } },
  { .names = "glm4_moe glm4v_moe glm4v_moe_text",
    .architectures = "Glm4Moe Glm4vMoe",
    .shape = { SHAPE_LLAMA, SIZES (46, 4096, 96, 10944, 151552), .n_kv_heads = 8, .head_dim = 128,
               .n_experts = 128, .n_shared_experts = 1, .n_experts_per_token = 8, .d_expert = 1408,
               .first_dense_layers = 1, .router_bias = TRUE },
    .keys = { KEYS, KEY_MLP, KEY_KV_HEADS, KEY_HEAD_DIM,
              KEY ("attention_bias", attention_bias, FLAG), KEYS_DEEPSEEK_EXPERTS,
              KEY_OF ("use_qk_norm", qk_norm, norms_of_heads) } },
  { .names = "dots1",
    .architectures = "Dots1",
    .shape = { SHAPE_LLAMA, SIZES (62, 4608, 32, 10944, 152064), .n_kv_heads = 32,
               .qk_norm = MODEL_QK_NORM_HEAD, .n_experts = 0, .router_bias = TRUE },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEYS_DEEPSEEK_EXPERTS } },
  /* the first one, without latent attention */
  { .names = "deepseek",
    .architectures = "Deepseek DeepSeek",
    .shape = { SHAPE_LLAMA, SIZES (30, 4096, 32, 11008, 102400), .d_expert = 1407,
               .first_dense_layers = 0 },
    .keys = { KEYS, KEY_MLP, KEY_KV_HEADS, KEYS_ATTENTION_BIAS,
              KEY ("n_routed_experts", n_experts, COUNT),
              KEY ("n_shared_experts", n_shared_experts, AMOUNT),
              KEY ("num_experts_per_tok", n_experts_per_token, COUNT), KEY_EXPERT,
              KEY ("first_k_dense_replace", first_dense_layers, AMOUNT) },
    .readers = { import_moe_layer_freq } },
  { .names = "bailing_moe",
    .architectures = "BailingMoe",
    .shape = { SHAPE_LLAMA, .n_experts_per_token = 0 },
    .keys = { KEYS_LLAMA, KEY ("use_qkv_bias", attention_bias, FLAG),
              KEY ("use_bias", output_bias, FLAG), KEY ("num_experts", n_experts, SIZE), KEY_CHOSEN,
              KEY_EXPERT, KEY ("num_shared_experts", n_shared_experts, AMOUNT),
              KEY ("first_k_dense_replace", first_dense_layers, AMOUNT),
              KEY_OF ("use_qk_norm", qk_norm, norms_of_heads) },
    .readers = { read_bailing } },
  { .names = "bailing_moe_v2",
    .architectures = "BailingMoeV2",
    .shape = { SHAPE_LLAMA, .qk_norm = MODEL_QK_NORM_HEAD },
    .keys = { KEYS_LLAMA, KEY ("use_qkv_bias", attention_bias, FLAG),
              KEY ("use_bias", output_bias, FLAG), KEY ("num_experts", n_experts, SIZE), KEY_CHOSEN,
              KEY_EXPERT, KEY ("num_shared_experts", n_shared_experts, AMOUNT),
              KEY ("first_k_dense_replace", first_dense_layers, AMOUNT),
              KEY ("num_nextn_predict_layers", n_mtp_layers, AMOUNT),
              KEY_OF ("use_qk_norm", qk_norm, norms_of_heads) },
    .readers = { read_bailing } },
  { .names = "minimax_m2",
    .architectures = "MiniMaxM2",
    .shape = { SHAPE_LLAMA, SIZES (62, 3072, 48, 0, 200064), .n_kv_heads = 8, .head_dim = 128,
               .qk_norm = MODEL_QK_NORM_WHOLE, .n_experts = 256, .n_experts_per_token = 8,
               .d_expert = 1536, .router_bias = TRUE },
    .keys = { KEYS, KEY_KV_HEADS, KEY_HEAD_DIM, KEY ("intermediate_size", d_expert, SIZE),
              KEY ("num_local_experts", n_experts, SIZE), KEY_CHOSEN,
              KEY ("shared_intermediate_size", d_shared, AMOUNT),
              KEY ("num_mtp_modules", n_mtp_layers, AMOUNT),
              KEY ("use_routing_bias", router_bias, FLAG),
              KEY_OF ("use_qk_norm", qk_norm, norms_of_all) },
    .readers = { read_minimax } },
  /* three of four layers attend within chunks */
  { .names = "llama4_text llama4",
    .architectures = "Llama4",
    .shape = { SHAPE_LLAMA, SIZES (48, 5120, 40, 16384, 202048), .n_kv_heads = 8, .head_dim = 128,
               .qk_norm = MODEL_QK_NORM_PLAIN, .sliding_window = 8192, .sliding_period = 4,
               .window_is_chunk = TRUE, .n_experts = 16, .n_experts_per_token = 1,
               .n_shared_experts = 1, .d_expert = 8192 },
    .keys = { KEYS, KEY_KV_HEADS, KEY_HEAD_DIM, KEYS_ATTENTION_BIAS,
              KEY ("intermediate_size_mlp", d_ff, SIZE), KEY ("intermediate_size", d_expert, SIZE),
              KEY ("num_local_experts", n_experts, SIZE), KEY_CHOSEN,
              KEY ("interleave_moe_layer_step", moe_period, COUNT),
              KEY ("attention_chunk_size", sliding_window, COUNT),
              KEY_OF ("use_qk_norm", qk_norm, norms_of_llama4) },
    .readers = { read_llama4_layers } },
  { .names = "dbrx",
    .architectures = "Dbrx",
    .shape = { SIZES (24, 2048, 16, 0, 32000), .norm = MODEL_NORM_LAYER_UNBIASED,
               .position = MODEL_POSITION_ROTARY, .gated_mlp = TRUE, .n_kv_heads = 1,
               .n_experts = 4, .n_experts_per_token = 1, .d_expert = 3584 },
    .keys = { KEYS_OF_SIZES ("n_layers", "d_model", "n_heads"), KEY ("max_seq_len", longest, COUNT),
              KEY ("attn_config.kv_n_heads", n_kv_heads, COUNT),
              KEY ("ffn_config.ffn_hidden_size", d_expert, COUNT),
              KEY ("ffn_config.moe_num_experts", n_experts, COUNT),
              KEY ("ffn_config.moe_top_k", n_experts_per_token, COUNT) } },
  { .names = "grok-1",
    .architectures = "Grok1",
    .shape = { SHAPE_LLAMA, SIZES (64, 6144, 48, 32768, 131072), .n_kv_heads = 8,
               .norms = MODEL_NORMS_BOTH, .embedding_scale = TRUE, .logit_scale = TRUE,
               .tied_embeddings = TRUE, .n_experts = 8, .n_experts_per_token = 2,
               .d_expert = 32768 },
    .keys = { KEYS_LLAMA, KEY ("intermediate_size", d_expert, COUNT),
              KEY ("num_experts", n_experts, SIZE), KEY_CHOSEN } },
  { .names = "step3p5 step3p7",
    .architectures = "Step3p5 Step3p7",
    .shape = { SHAPE_LLAMA, .qk_norm = MODEL_QK_NORM_HEAD, .router_bias = TRUE },
    .keys = { KEYS, KEY_MLP, KEY ("num_attention_groups", n_kv_heads, COUNT), KEY_KV_HEADS,
              KEY_HEAD_DIM, KEY_WINDOW, KEY ("moe_num_experts", n_experts, SIZE),
              KEY ("num_experts", n_experts, SIZE), KEY ("moe_top_k", n_experts_per_token, SIZE),
              KEY_CHOSEN, KEY_EXPERT, KEY ("share_expert_dims", d_shared, AMOUNT),
              KEY ("share_expert_dim", d_shared, AMOUNT),
              KEY ("first_k_dense_replace", first_dense_layers, AMOUNT),
              KEY ("use_moe_router_bias", router_bias, FLAG),
              KEY ("use_head_wise_attn_gate", head_gate, FLAG),
              KEY ("num_nextn_predict_layers", n_mtp_layers, AMOUNT) },
    .readers = { read_step } },
  { .names = "arctic",
    .architectures = "Arctic",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 14336, 32000), .n_experts = 8,
               .n_experts_per_token = 1, .beside = MODEL_BESIDE_RESIDUAL },
    .keys = { KEYS_LLAMA, KEY_WINDOW, KEY ("num_local_experts", n_experts, SIZE), KEY_CHOSEN },
    .readers = { read_arctic } },
  { 0 },
};
