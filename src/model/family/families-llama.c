/* Dense families with RMSNorms, rotary positions and gated MLPs. */
#include <string.h>

#include "model/family/import-layers-private.h"
#include "model/family/import-values-private.h"

#define KEY_MLP_BIAS KEY ("mlp_bias", mlp_bias, FLAG)
/* A bias of q, k and v, another one of the projection out of attention. */
#define KEYS_BOTH_BIASES(in, out) KEY (in, attention_bias, FLAG), KEY (out, output_bias, FLAG)
#define KEYS_BIAS(name) \
  KEY (name, attention_bias, FLAG), KEY (name, output_bias, FLAG), KEY (name, mlp_bias, FLAG)

static const ImportWord norms_of_heads[] = { { "true", MODEL_QK_NORM_HEAD },
                                             { "false", MODEL_QK_NORM_NONE },
                                             { 0 } };

#define SHAPE_GEMMA2 \
  SHAPE_LLAMA, .norms = MODEL_NORMS_BOTH, .embedding_scale = TRUE, .tied_embeddings = TRUE

/* Pattern "LLLG" or a number: of each so many layers the last one attends to all. */
static void
read_exaone_windows (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *pattern = config_node_get (map, "sliding_window_pattern");
  const char       *text = !import_absent (pattern) ? config_node_text (pattern) : NULL;

  if (text != NULL && g_ascii_isalpha (*text))
    shape->sliding_period = (gint64) strlen (text);
  else
    import_window_pattern (map, shape, diags);
  import_layer_types (map, shape, diags);
}

/* A number: what logits are capped to; null: they are not. */
static void
read_softcap (const ConfigNode *map, ModelShape *shape, G_GNUC_UNUSED DiagList *diags)
{
  const ConfigNode *node = config_node_get (map, "final_logit_softcapping");

  if (node != NULL)
    shape->logit_softcap = !config_node_is_null (node);
}

static void
read_gemma_windows (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *types = config_node_get (map, "layer_types");

  import_window_pattern (map, shape, diags);
  if (!import_absent (types))
    import_layer_types (map, shape, diags);
}

/* Global layers have heads of another width, and other keys; blocks may have experts. */
static void
read_gemma4 (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *embedded = config_node_get (map, "hidden_size_per_layer_input");
  const ConfigNode *shared = config_node_get (map, "num_kv_shared_layers");
  gint64            head_dim = 512, n_kv_heads = 0, per_layer = 256, n_shared = 0;

  read_gemma_windows (map, shape, diags);
  import_read (map, "global_head_dim", 1, &head_dim, diags);
  if (shape->keys_are_values)
    import_read (map, "num_global_key_value_heads", 1, &n_kv_heads, diags);
  import_read (map, "hidden_size_per_layer_input", 0, &per_layer, diags);
  import_read (map, "num_kv_shared_layers", 0, &n_shared, diags);
  if (per_layer > 0)
    diag_error (diags, config_node_mark (embedded != NULL ? embedded : map),
                "models without them have hidden_size_per_layer_input 0",
                "embeddings of each layer by itself (Gemma 4 E2B and E4B) cannot be simulated");
  if (n_shared > 0)
    diag_error (diags, config_node_mark (shared), NULL,
                "layers that take keys and values of another layer cannot be simulated");
  if (!import_says (map, "enable_moe_block", FALSE, diags))
    shape->n_experts = shape->n_experts_per_token = shape->d_expert = 0;
  model_list_layers (shape);
  for (gint64 i = 0; i < shape->n_layers; i++)
    if (shape->layers[i].mixer == MODEL_MIXER_ATTENTION)
      {
        shape->layers[i].head_dim = head_dim;
        shape->layers[i].n_kv_heads = n_kv_heads;
      }
    else
      shape->layers[i].head_dim = shape->layers[i].n_kv_heads = 0;
}

/* Twice what the file says: gate and up are one width in it. */
static void
read_qwen (G_GNUC_UNUSED const ConfigNode *map, ModelShape *shape, G_GNUC_UNUSED DiagList *diags)
{
  shape->d_ff /= 2;
}

static void
read_chatglm (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  if (!import_says (map, "multi_query_attention", FALSE, diags))
    shape->n_kv_heads = 0;
  if (!import_says (map, "rmsnorm", TRUE, diags))
    shape->norm = MODEL_NORM_LAYER;
}

/* Baichuan's 13B has ALiBi; its file says so by the key of its length alone. */
static void
read_baichuan (const ConfigNode *map, ModelShape *shape, G_GNUC_UNUSED DiagList *diags)
{
  if (config_node_get (map, "max_position_embeddings") == NULL && shape->d_model == 5120)
    shape->position = MODEL_POSITION_ALIBI;
}

/* A flag of all biases, and more of them. */
static void
read_internlm3 (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  shape->attention_bias = import_says (map, "qkv_bias", FALSE, diags);
}

const ImportFamily import_families_llama[] = {
  { .names = "llama llava llava_next vipllava idefics3 smolvlm Yi yi xverse aquila skywork",
    .architectures = "Llama LLaMA LlavaLlama Yi Xverse Aquila",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 32000) },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_MLP_BIAS } },
  { .names = "mistral mistral3 mistral3_text ministral ministral3 pixtral idefics2",
    .architectures = "Mistral LlavaMistral Ministral",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 14336, 32000), .n_kv_heads = 8,
               .sliding_window = 4096 },
    .keys = { KEYS_LLAMA, KEY_WINDOW },
    .readers = { import_layer_types } },
  { .names = "qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text "
             "qwen2_audio qwen2_5_omni_text qwen2_5_omni_thinker llava_onevision minicpmv "
             "llava_qwen",
    .architectures = "Qwen2 LlavaQwen Qwen2VL Qwen2_5_VL",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 22016, 151936), .n_kv_heads = 32,
               .sliding_window = 4096, .attention_bias = TRUE },
    .keys = { KEYS_LLAMA, KEY_WINDOW },
    .readers = { import_qwen_windows } },
  { .names = "qwen3 qwen3_vl qwen3_vl_text qwen3_asr_text",
    .architectures = "Qwen3 Qwen3VL",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 22016, 151936), .n_kv_heads = 32, .head_dim = 128,
               .sliding_window = 4096, .qk_norm = MODEL_QK_NORM_HEAD },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_WINDOW },
    .readers = { import_qwen_windows } },
  /* Qwen2 with layers that predict further tokens */
  { .names = "mimo",
    .architectures = "MiMo",
    .shape = { SHAPE_LLAMA, SIZES (36, 4096, 32, 11008, 151680), .n_kv_heads = 8,
               .attention_bias = TRUE },
    .keys = { KEYS_LLAMA, KEY ("attention_bias", attention_bias, FLAG),
              KEY ("num_nextn_predict_layers", n_mtp_layers, AMOUNT), KEY_WINDOW },
    .readers = { import_qwen_windows } },
  /* the first Qwen: its file says the width of gate and up together */
  { .names = "qwen",
    .architectures = "QWen",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 22016, 151936), .attention_bias = TRUE },
    .keys = { KEYS, KEY_MLP, KEY ("kv_channels", head_dim, COUNT) },
    .readers = { read_qwen } },
  { .names = "phi3 phi4 phi4mm phi3_v phi3v",
    .architectures = "Phi3 Phi4 Phi4MM Phi3V",
    .shape = { SHAPE_LLAMA, SIZES (32, 3072, 32, 8192, 32064) },
    .keys = { KEYS, KEY_MLP, KEY_KV_HEADS, KEY_WINDOW, KEY ("lm_head_bias", head_bias, FLAG) },
    .readers = { import_layer_types } },
  { .names = "baichuan",
    .architectures = "Baichuan BaiChuan",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 64000) },
    .keys = { KEYS, KEY_MLP, KEY ("model_max_length", longest, COUNT) },
    .readers = { read_baichuan } },
  { .names = "internlm",
    .architectures = "InternLM",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 103168), .attention_bias = TRUE,
               .output_bias = TRUE },
    .keys = { KEYS, KEY_MLP, KEYS_BOTH_BIASES ("bias", "bias") } },
  { .names = "internlm2",
    .architectures = "InternLM2",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 103168) },
    .keys = { KEYS, KEY_MLP, KEY_KV_HEADS, KEYS_BOTH_BIASES ("bias", "bias") } },
  { .names = "internlm3",
    .architectures = "InternLM3",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 128512) },
    .keys = { KEYS_LLAMA, KEY ("bias", output_bias, FLAG), KEY ("bias", mlp_bias, FLAG) },
    .readers = { read_internlm3 } },
  { .names = "chatglm",
    .architectures = "ChatGLM",
    .shape = { SHAPE_LLAMA, SIZES (28, 4096, 32, 13696, 65024), .head_dim = 128, .n_kv_heads = 1 },
    .keys = { KEYS_OF_SIZES ("num_layers", "hidden_size", "num_attention_heads"),
              KEY ("padded_vocab_size", vocab, SIZE), KEY ("ffn_hidden_size", d_ff, SIZE),
              KEY ("kv_channels", head_dim, COUNT),
              KEY ("multi_query_group_num", n_kv_heads, COUNT), KEY ("seq_length", longest, COUNT),
              KEY ("add_qkv_bias", attention_bias, FLAG),
              KEY ("add_bias_linear", output_bias, FLAG), KEY ("add_bias_linear", mlp_bias, FLAG) },
    .readers = { read_chatglm } },
  { .names = "glm glmv",
    .architectures = "Glm",
    .shape = { SHAPE_LLAMA, SIZES (40, 4096, 32, 13696, 151552), .n_kv_heads = 2, .head_dim = 128,
               .attention_bias = TRUE },
    .keys = { KEYS_LLAMA, KEY ("attention_bias", attention_bias, FLAG) } },
  { .names = "glm4 glm4v glm4v_text",
    .architectures = "Glm4 Glm4v",
    .shape = { SHAPE_LLAMA, SIZES (40, 4096, 32, 13696, 151552), .n_kv_heads = 2, .head_dim = 128,
               .attention_bias = TRUE, .norms = MODEL_NORMS_BOTH },
    .keys = { KEYS, KEY_MLP, KEY_KV_HEADS, KEY_HEAD_DIM,
              KEY ("attention_bias", attention_bias, FLAG) } },
  { .names = "minicpm",
    .architectures = "MiniCPM",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 32000), .embedding_scale = TRUE,
               .residual_scale = TRUE, .logit_scale = TRUE, .tied_embeddings = TRUE },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS } },
  { .names = "granite",
    .architectures = "Granite",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 32000), .embedding_scale = TRUE,
               .residual_scale = TRUE, .logit_scale = TRUE },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_MLP_BIAS } },
  { .names = "smollm3",
    .architectures = "SmolLM3",
    .shape = { SHAPE_LLAMA, SIZES (36, 2048, 16, 11008, 128256), .n_kv_heads = 4,
               .tied_embeddings = TRUE },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_MLP_BIAS } },
  { .names = "exaone",
    .architectures = "Exaone",
    .shape = { SHAPE_LLAMA, SIZES (32, 2048, 32, 0, 102400) },
    .keys = { KEYS, KEY ("num_layers", n_layers, SIZE), KEY_MLP, KEY_KV_HEADS, KEY_HEAD_DIM } },
  { .names = "exaone4",
    .architectures = "Exaone4",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 16384, 102400), .n_kv_heads = 32,
               .qk_norm = MODEL_QK_NORM_HEAD, .norms = MODEL_NORMS_BRANCH, .sliding_window = 4096,
               .sliding_period = 4 },
    .keys = { KEYS_LLAMA, KEY_WINDOW },
    .readers = { read_exaone_windows } },
  { .names = "ernie4_5 ernie4_5_text",
    .architectures = "Ernie4_5",
    .shape = { SHAPE_LLAMA, SIZES (18, 1024, 16, 3072, 103424), .n_kv_heads = 2, .head_dim = 128,
               .tied_embeddings = TRUE },
    .keys = { KEYS_LLAMA, KEYS_BIAS ("use_bias") } },
  { .names = "hunyuan_v1_dense",
    .architectures = "HunYuanDenseV1 HunYuanV1Dense",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 290943), .qk_norm = MODEL_QK_NORM_HEAD },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_OF ("use_qk_norm", qk_norm, norms_of_heads) } },
  { .names = "olmo2",
    .architectures = "Olmo2",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 50304), .qk_norm = MODEL_QK_NORM_WHOLE,
               .norms = MODEL_NORMS_BRANCH },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS } },
  { .names = "olmo3",
    .architectures = "Olmo3",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 50304), .qk_norm = MODEL_QK_NORM_WHOLE,
               .norms = MODEL_NORMS_BRANCH, .sliding_window = 4096, .sliding_period = 4 },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_WINDOW },
    .readers = { import_layer_types } },
  { .names = "seed_oss",
    .architectures = "SeedOss",
    .shape = { SHAPE_LLAMA, SIZES (64, 4096, 32, 11008, 155136), .head_dim = 128,
               .attention_bias = TRUE },
    .keys = { KEYS_LLAMA, KEYS_BOTH_BIASES ("attention_bias", "attention_out_bias"),
              KEY_MLP_BIAS } },
  { .names = "arcee",
    .architectures = "Arcee",
    .shape = { SIZES (32, 2560, 32, 18432, 32000), .norm = MODEL_NORM_RMS,
               .position = MODEL_POSITION_ROTARY, .activation = MODEL_ACTIVATION_SQUARED_RELU },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_MLP_BIAS,
              KEY_OF ("hidden_act", activation, import_activations) } },
  { .names = "gemma paligemma",
    .architectures = "Gemma",
    .shape = { SHAPE_LLAMA, SIZES (28, 3072, 16, 24576, 256000), .n_kv_heads = 16, .head_dim = 256,
               .embedding_scale = TRUE, .tied_embeddings = TRUE },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS } },
  { .names = "gemma2",
    .architectures = "Gemma2",
    .shape = { SHAPE_GEMMA2, SIZES (26, 2304, 8, 9216, 256000), .n_kv_heads = 4, .head_dim = 256,
               .sliding_window = 4096, .sliding_period = 2, .logit_softcap = TRUE },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_WINDOW },
    .readers = { read_gemma_windows, read_softcap } },
  { .names = "vaultgemma",
    .architectures = "VaultGemma",
    .shape = { SHAPE_LLAMA, SIZES (26, 1152, 4, 6912, 256000), .n_kv_heads = 4, .head_dim = 256,
               .sliding_window = 512, .sliding_period = 2, .embedding_scale = TRUE,
               .logit_softcap = TRUE, .tied_embeddings = TRUE },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_WINDOW },
    .readers = { read_gemma_windows, read_softcap } },
  { .names = "gemma3_text gemma3 shieldgemma2",
    .architectures = "Gemma3",
    .shape = { SHAPE_GEMMA2, SIZES (26, 2304, 8, 9216, 262208), .n_kv_heads = 4, .head_dim = 256,
               .sliding_window = 4096, .sliding_period = 6, .qk_norm = MODEL_QK_NORM_HEAD },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_WINDOW },
    .readers = { read_gemma_windows } },
  { .names = "gemma4_text gemma4",
    .architectures = "Gemma4",
    .shape = { SHAPE_GEMMA2, SIZES (30, 2304, 8, 9216, 262144), .n_kv_heads = 4, .head_dim = 256,
               .sliding_window = 512, .sliding_period = 6, .qk_norm = MODEL_QK_NORM_HEAD,
               .value_norm = TRUE, .router_scales = TRUE, .beside = MODEL_BESIDE_NORMED },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_WINDOW,
              KEY ("attention_k_eq_v", keys_are_values, FLAG),
              KEY ("num_experts", n_experts, COUNT),
              KEY ("top_k_experts", n_experts_per_token, COUNT),
              KEY ("moe_intermediate_size", d_expert, COUNT) },
    .readers = { read_gemma4, read_softcap } },
  { 0 },
};
