#include "workload/family-private.h"

#include "workload/documents.h"

#define LLAMA_ATTENTION                                                      \
  .q = "self_attn.q_proj", .k = "self_attn.k_proj", .v = "self_attn.v_proj", \
  .out = "self_attn.o_proj", .attention = "self_attn"
#define LLAMA_MLP .gate = "mlp.gate_proj", .up = "mlp.up_proj", .down = "mlp.down_proj"
#define LLAMA_MODEL                                                                         \
  .norm1 = "input_layernorm", .norm2 = "post_attention_layernorm", .embed = "embed_tokens", \
  .positions = "embed_positions", .embed_norm = "embed_layernorm", .final_norm = "norm",    \
  .head = "lm_head"
#define LLAMA_EXPERTS                                                             \
  .router = "mlp.gate", .experts = "mlp.experts", .shared = "mlp.shared_experts", \
  .expert_gate = "gate_proj", .expert_up = "up_proj", .expert_down = "down_proj"
#define GPT2_MODEL                                                                            \
  .norm1 = "ln_1", .norm2 = "ln_2", .embed = "wte", .positions = "wpe", .embed_norm = "ln_e", \
  .final_norm = "ln_f", .head = "lm_head"

/*
 * The first entry serves every family that is not listed (llama, mistral, qwen2, qwen3, qwen3_moe).
 */
static const FamilyStyle styles[] = {
  { .family = "llama", LLAMA_ATTENTION, LLAMA_MLP, LLAMA_EXPERTS, LLAMA_MODEL },
  { .family = "gpt2",
    .qkv = "attn.c_attn",
    .out = "attn.c_proj",
    .attention = "attn",
    .up = "mlp.c_fc",
    .down = "mlp.c_proj",
    .gate = "mlp.c_gate",
    LLAMA_EXPERTS,
    GPT2_MODEL,
    .transposed = TRUE },
  { .family = "gpt",
    .qkv = "attn.c_attn",
    .out = "attn.c_proj",
    .attention = "attn",
    .up = "mlp.c_fc",
    .down = "mlp.c_proj",
    .gate = "mlp.c_gate",
    LLAMA_EXPERTS,
    GPT2_MODEL },
  { .family = "opt",
    .q = "self_attn.q_proj",
    .k = "self_attn.k_proj",
    .v = "self_attn.v_proj",
    .out = "self_attn.out_proj",
    .attention = "self_attn",
    .up = "fc1",
    .down = "fc2",
    .gate = "fc_gate",
    LLAMA_EXPERTS,
    .norm1 = "self_attn_layer_norm",
    .norm2 = "final_layer_norm",
    .embed = "embed_tokens",
    .positions = "embed_positions",
    .embed_norm = "embed_norm",
    .final_norm = "final_layer_norm",
    .head = "lm_head",
    .relu = TRUE },
  { .family = "mpt",
    .qkv = "attn.Wqkv",
    .out = "attn.out_proj",
    .attention = "attn",
    .up = "ffn.up_proj",
    .down = "ffn.down_proj",
    .gate = "ffn.gate_proj",
    LLAMA_EXPERTS,
    .norm1 = "norm_1",
    .norm2 = "norm_2",
    .embed = "wte",
    .positions = "wpe",
    .embed_norm = "norm_e",
    .final_norm = "norm_f",
    .head = "lm_head" },
  { .family = "bloom",
    .qkv = "self_attention.query_key_value",
    .out = "self_attention.dense",
    .attention = "self_attention",
    .up = "mlp.dense_h_to_4h",
    .down = "mlp.dense_4h_to_h",
    .gate = "mlp.dense_gate",
    LLAMA_EXPERTS,
    .norm1 = "input_layernorm",
    .norm2 = "post_attention_layernorm",
    .embed = "word_embeddings",
    .positions = "position_embeddings",
    .embed_norm = "word_embeddings_layernorm",
    .final_norm = "ln_f",
    .head = "lm_head" },
  { .family = "mixtral",
    LLAMA_ATTENTION,
    LLAMA_MLP,
    LLAMA_MODEL,
    .router = "block_sparse_moe.gate",
    .experts = "block_sparse_moe.experts",
    .shared = "block_sparse_moe.shared",
    .expert_gate = "w1",
    .expert_up = "w3",
    .expert_down = "w2" },
  { .family = "deepseek_v3",
    LLAMA_ATTENTION,
    LLAMA_MLP,
    LLAMA_EXPERTS,
    LLAMA_MODEL,
    .routing = ROUTER_GROUPED },
  { .family = "gpt_oss",
    LLAMA_ATTENTION,
    LLAMA_MLP,
    LLAMA_MODEL,
    .router = "mlp.router",
    .experts = "mlp.experts",
    .shared = "mlp.shared_experts",
    .expert_gate = "gate_up_proj",
    .expert_down = "down_proj",
    .transposed_experts = TRUE,
    .clamped_gate = TRUE,
    .routing = ROUTER_TOP_K },
};

const FamilyStyle *
family_style (const char *family)
{
  for (gsize i = 0; i < G_N_ELEMENTS (styles); i++)
    if (g_strcmp0 (family, styles[i].family) == 0)
      return &styles[i];
  return &styles[0];
}

gboolean
model_layer_is_moe (const ModelShape *shape, gint64 i)
{
  return shape->n_experts > 0 && i >= shape->first_dense_layers
         && (i + 1) % MAX (shape->moe_period, 1) == 0;
}

gboolean
model_layer_is_windowed (const ModelShape *shape, gint64 i)
{
  if (shape->sliding_window == 0)
    return FALSE;
  return shape->sliding_period == 0 || (i + 1) % shape->sliding_period != 0;
}

gint64
model_qk_dim (const ModelShape *shape)
{
  return shape->kv_lora_rank > 0 ? shape->qk_nope_head_dim + shape->qk_rope_head_dim
                                 : shape->head_dim;
}

gint64
model_value_dim (const ModelShape *shape)
{
  return shape->kv_lora_rank > 0 ? shape->v_head_dim : shape->head_dim;
}

double
model_attention_pairs (const ModelShape *shape, gboolean windowed, gboolean causal, double seq_len,
                       double document_length)
{
  double window = windowed ? MIN (seq_len, (double) shape->sliding_window) : seq_len;
  double pairs = document_length > 0 ? documents_pairs (seq_len, window, document_length)
                                     : window * seq_len - window * window / 2;

  return causal ? pairs : 2 * pairs;
}
