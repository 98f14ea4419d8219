/* Families with multi-head latent attention. */
#include "model/family/import-layers-private.h"

#define KEYS_LATENT                                                                  \
  KEY ("q_lora_rank", q_lora_rank, COUNT), KEY ("kv_lora_rank", kv_lora_rank, SIZE), \
      KEY ("qk_nope_head_dim", qk_nope_head_dim, SIZE),                              \
      KEY ("qk_rope_head_dim", qk_rope_head_dim, SIZE), KEY ("v_head_dim", v_head_dim, SIZE)
#define KEYS_DEEPSEEK_EXPERTS                                                                    \
  KEY ("n_routed_experts", n_experts, SIZE), KEY ("n_shared_experts", n_shared_experts, AMOUNT), \
      KEY ("num_experts_per_tok", n_experts_per_token, SIZE),                                    \
      KEY ("moe_intermediate_size", d_expert, SIZE),                                             \
      KEY ("first_k_dense_replace", first_dense_layers, AMOUNT),                                 \
      KEY ("num_nextn_predict_layers", n_mtp_layers, AMOUNT)
#define KEYS_INDEXER                                                                 \
  KEY ("index_n_heads", index_heads, SIZE), KEY ("index_head_dim", index_dim, SIZE), \
      KEY ("index_topk", index_topk, SIZE)

const ImportFamily import_families_latent[] = {
  /* router_bias: e_score_correction_bias */
  { .names = "deepseek_v3 kimi_k2 kimi_k25 kimi_k2_5 kimi_vl",
    .architectures = "DeepseekV3 KimiK25 KimiVL",
    .shape = { SHAPE_LLAMA, SIZES (61, 7168, 128, 18432, 129280), .q_lora_rank = 1536,
               .kv_lora_rank = 512, .qk_nope_head_dim = 128, .qk_rope_head_dim = 64,
               .v_head_dim = 128, .n_experts = 256, .n_shared_experts = 1, .n_experts_per_token = 8,
               .d_expert = 2048, .first_dense_layers = 3, .router_bias = TRUE },
    .keys = { KEYS, KEY_MLP, KEY_KV_HEADS, KEYS_ATTENTION_BIAS, KEYS_LATENT,
              KEYS_DEEPSEEK_EXPERTS },
    .readers = { import_moe_layer_freq } },
  { .names = "deepseek_v2 deepseek_vl_v2",
    .architectures = "DeepseekV2 DeepseekVLV2",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 32000), .q_lora_rank = 1536,
               .kv_lora_rank = 512, .qk_nope_head_dim = 128, .qk_rope_head_dim = 64,
               .v_head_dim = 128, .n_experts = 64, .n_shared_experts = 2, .n_experts_per_token = 6,
               .d_expert = 1407 },
    .keys = { KEYS, KEY_MLP, KEY_KV_HEADS, KEYS_ATTENTION_BIAS, KEYS_LATENT,
              KEYS_DEEPSEEK_EXPERTS },
    .readers = { import_moe_layer_freq } },
  { .names = "glm4_moe_lite",
    .architectures = "Glm4MoeLite",
    .shape = { SHAPE_LLAMA, .router_bias = TRUE },
    .keys = { KEYS, KEY_MLP, KEY_KV_HEADS, KEYS_ATTENTION_BIAS, KEYS_LATENT,
              KEYS_DEEPSEEK_EXPERTS } },
  { .names = "minicpm3",
    .architectures = "MiniCPM3",
    .shape = { SHAPE_LLAMA, SIZES (32, 4096, 32, 11008, 32000), .q_lora_rank = 768,
               .kv_lora_rank = 256, .qk_nope_head_dim = 64, .qk_rope_head_dim = 32,
               .v_head_dim = 64, .embedding_scale = TRUE, .residual_scale = TRUE,
               .logit_scale = TRUE, .tied_embeddings = TRUE },
    .keys = { KEYS, KEY_MLP, KEY_KV_HEADS, KEYS_ATTENTION_BIAS, KEYS_LATENT } },
  { .names = "deepseek_v32",
    .architectures = "DeepseekV32",
    .shape = { SHAPE_LLAMA, SIZES (61, 7168, 128, 18432, 129280), .q_lora_rank = 1536,
               .kv_lora_rank = 512, .qk_nope_head_dim = 128, .qk_rope_head_dim = 64,
               .v_head_dim = 128, .n_experts = 256, .n_shared_experts = 1, .n_experts_per_token = 8,
               .d_expert = 2048, .first_dense_layers = 3, .router_bias = TRUE, .index_heads = 64,
               .index_dim = 128, .index_topk = 2048 },
    .keys = { KEYS, KEY_MLP, KEY_KV_HEADS, KEYS_ATTENTION_BIAS, KEYS_LATENT, KEYS_DEEPSEEK_EXPERTS,
              KEYS_INDEXER },
    .readers = { import_moe_layer_freq } },
  { .names = "glm_moe_dsa",
    .architectures = "GlmMoeDsa",
    .shape = { SHAPE_LLAMA, SIZES (78, 6144, 64, 12288, 154880), .q_lora_rank = 2048,
               .kv_lora_rank = 512, .qk_nope_head_dim = 192, .qk_rope_head_dim = 64,
               .v_head_dim = 256, .n_experts = 256, .n_shared_experts = 1, .n_experts_per_token = 8,
               .d_expert = 2048, .first_dense_layers = 3, .router_bias = TRUE, .index_heads = 32,
               .index_dim = 128, .index_topk = 2048 },
    .keys = { KEYS, KEY_MLP, KEY_KV_HEADS, KEYS_ATTENTION_BIAS, KEYS_LATENT, KEYS_DEEPSEEK_EXPERTS,
              KEYS_INDEXER },
    .readers = { import_moe_layer_freq, import_indexers } },
  { 0 },
};
