/*
 * Names of modules in the reference implementations of families. A row has what differs from the
 * row that it is like; all go back to llama's, which every family without a row has.
 */
#include <string.h>

#include "model/shape/family-private.h"

typedef struct
{
  const char *families; /* by blanks */
  const char *like;     /* a family of a row before; NULL: llama */
  FamilyStyle own;      /* a name that is NULL, or a flag of 0, is that row's; "": none */
} StyleRow;

static const FamilyStyle llama = {
  .q = "self_attn.q_proj",
  .k = "self_attn.k_proj",
  .v = "self_attn.v_proj",
  .out = "self_attn.o_proj",
  .attention = "self_attn",
  .mixer = "mixer",
  .gate = "mlp.gate_proj",
  .up = "mlp.up_proj",
  .down = "mlp.down_proj",
  .router = "mlp.gate",
  .experts = "mlp.experts",
  .shared = "mlp.shared_experts",
  .expert_gate = "gate_proj",
  .expert_up = "up_proj",
  .expert_down = "down_proj",
  .norm1 = "input_layernorm",
  .norm2 = "post_attention_layernorm",
  .behind1 = "attention_output_norm",
  .behind2 = "mlp_output_norm",
  .embed = "embed_tokens",
  .positions = "embed_positions",
  .embed_norm = "embed_layernorm",
  .final_norm = "norm",
  .head = "lm_head",
};

/* What many rows have in common. */
#define MOE(module) \
  .router = module ".gate", .experts = module ".experts", .shared = module ".shared_experts"
#define W1_W3_W2 .expert_gate = "w1", .expert_up = "w3", .expert_down = "w2"
#define WTE      .embed = "wte", .positions = "wpe", .embed_norm = "ln_e", .final_norm = "ln_f"

static const StyleRow rows[] = {
  { "gpt gpt_bigcode",
    NULL,
    { .qkv = "attn.c_attn",
      .out = "attn.c_proj",
      .attention = "attn",
      .up = "mlp.c_fc",
      .down = "mlp.c_proj",
      .gate = "mlp.c_gate",
      .norm1 = "ln_1",
      .norm2 = "ln_2",
      WTE } },
  { "gpt2", "gpt", { .transposed = TRUE } },
  { "qwen", "gpt", { .gate = "mlp.w2", .up = "mlp.w1" } },
  { "mpt",
    "gpt",
    { .qkv = "attn.Wqkv",
      .out = "attn.out_proj",
      .up = "ffn.up_proj",
      .down = "ffn.down_proj",
      .gate = "ffn.gate_proj",
      .norm1 = "norm_1",
      .norm2 = "norm_2",
      .embed_norm = "norm_e",
      .final_norm = "norm_f" } },
  { "gpt_neo",
    NULL,
    { .q = "attn.attention.q_proj",
      .k = "attn.attention.k_proj",
      .v = "attn.attention.v_proj",
      .out = "attn.attention.out_proj",
      .attention = "attn.attention",
      .up = "mlp.c_fc",
      .down = "mlp.c_proj",
      .gate = "mlp.c_gate",
      .norm1 = "ln_1",
      .norm2 = "ln_2",
      WTE } },
  { "exaone", "gpt_neo", { .gate = "mlp.c_fc_0", .up = "mlp.c_fc_1" } },
  { "gptj",
    "gpt_neo",
    { .q = "attn.q_proj",
      .k = "attn.k_proj",
      .v = "attn.v_proj",
      .out = "attn.out_proj",
      .attention = "attn",
      .up = "mlp.fc_in",
      .down = "mlp.fc_out",
      .gate = "mlp.fc_gate" } },
  { "codegen", "gptj", { .qkv = "attn.qkv_proj" } },
  { "opt",
    NULL,
    { .out = "self_attn.out_proj",
      .up = "fc1",
      .down = "fc2",
      .gate = "fc_gate",
      .norm1 = "self_attn_layer_norm",
      .norm2 = "final_layer_norm",
      .embed_norm = "embed_norm",
      .final_norm = "final_layer_norm",
      .relu = TRUE } },
  { "bloom falcon",
    NULL,
    { .qkv = "self_attention.query_key_value",
      .out = "self_attention.dense",
      .attention = "self_attention",
      .up = "mlp.dense_h_to_4h",
      .down = "mlp.dense_4h_to_h",
      .gate = "mlp.dense_gate",
      .embed = "word_embeddings",
      .positions = "position_embeddings",
      .embed_norm = "word_embeddings_layernorm",
      .final_norm = "ln_f" } },
  { "gpt_neox",
    "bloom",
    { .qkv = "attention.query_key_value",
      .out = "attention.dense",
      .attention = "attention",
      .embed = "embed_in",
      .positions = "embed_positions",
      .embed_norm = "embed_norm",
      .final_norm = "final_layer_norm",
      .head = "embed_out" } },
  { "chatglm",
    "bloom",
    { .gate_up = "mlp.dense_h_to_4h",
      .embed = "embedding.word_embeddings",
      .positions = "embedding.position_embeddings",
      .embed_norm = "embedding.norm",
      .final_norm = "encoder.final_layernorm",
      .head = "output_layer" } },
  { "persimmon",
    NULL,
    { .qkv = "self_attn.query_key_value",
      .out = "self_attn.dense",
      .up = "mlp.dense_h_to_4h",
      .down = "mlp.dense_4h_to_h",
      .gate = "mlp.dense_gate" } },
  { "phi",
    NULL,
    { .out = "self_attn.dense",
      .up = "mlp.fc1",
      .down = "mlp.fc2",
      .gate = "mlp.fc_gate",
      .final_norm = "final_layernorm" } },
  { "starcoder2", NULL, { .up = "mlp.c_fc", .down = "mlp.c_proj", .gate = "mlp.c_gate" } },
  { "phi3", NULL, { .qkv = "self_attn.qkv_proj", .gate_up = "mlp.gate_up_proj" } },
  { "baichuan", NULL, { .qkv = "self_attn.W_pack" } },
  { "internlm2",
    NULL,
    { .qkv = "attention.wqkv",
      .out = "attention.wo",
      .attention = "attention",
      .gate = "feed_forward.w1",
      .up = "feed_forward.w3",
      .down = "feed_forward.w2",
      .norm1 = "attention_norm",
      .norm2 = "ffn_norm",
      .embed = "tok_embeddings",
      .positions = "position_embeddings",
      .embed_norm = "embedding_norm",
      .head = "output" } },
  { "glm", NULL, { .gate_up = "mlp.gate_up_proj" } },
  { "glm4", "glm", { .behind1 = "post_self_attn_layernorm", .behind2 = "post_mlp_layernorm" } },
  { "olmo2 olmo3 exaone4",
    NULL,
    { .behind1 = "post_attention_layernorm", .behind2 = "post_feedforward_layernorm" } },
  { "vaultgemma", NULL, { .norm2 = "pre_feedforward_layernorm" } },
  { "gemma2 gemma3_text", "olmo2", { .norm2 = "pre_feedforward_layernorm" } },
  { "gemma4_text",
    "gemma2",
    { .router = "router", .experts = "experts", .shared = "shared_experts" } },
  { "bamba granitemoehybrid", NULL, { .mixer = "mamba" } },
  { "falcon_h1 jamba",
    "bamba",
    { .norm2 = "pre_ff_layernorm",
      .gate = "feed_forward.gate_proj",
      .up = "feed_forward.up_proj",
      .down = "feed_forward.down_proj",
      .router = "feed_forward.router",
      .experts = "feed_forward.experts",
      .final_norm = "final_layernorm" } },
  { "mamba falcon_mamba mamba2",
    NULL,
    { .norm1 = "norm", .embed = "embeddings", .final_norm = "norm_f" } },
  { "mixtral phimoe", NULL, { MOE ("block_sparse_moe"), W1_W3_W2 } },
  { "minimax_m2", "mixtral", { .routing = ROUTER_SIGMOID } },
  { "arctic",
    "mixtral",
    { .gate = "residual_mlp.w1", .up = "residual_mlp.w3", .down = "residual_mlp.w2" } },
  { "dbrx",
    "mixtral",
    { .qkv = "norm_attn_norm.attn.Wqkv",
      .out = "norm_attn_norm.attn.out_proj",
      .attention = "norm_attn_norm.attn",
      .router = "ffn.router.layer",
      .experts = "ffn.experts.mlp",
      .expert_up = "v1",
      .norm1 = "norm_attn_norm.norm_1",
      .norm2 = "norm_attn_norm.norm_2",
      WTE } },
  { "granitemoe",
    NULL,
    { .router = "block_sparse_moe.router.layer",
      .experts = "block_sparse_moe",
      .shared = "shared_mlp",
      .expert_gate = "input_linear.gate",
      .expert_up = "input_linear.up",
      .expert_down = "output_linear" } },
  { "qwen2_moe", NULL, { .shared = "mlp.shared_expert" } },
  { "llama4_text",
    NULL,
    { .gate = "feed_forward.gate_proj",
      .up = "feed_forward.up_proj",
      .down = "feed_forward.down_proj",
      .router = "feed_forward.router",
      .experts = "feed_forward.experts",
      .shared = "feed_forward.shared_expert",
      .routing = ROUTER_SIGMOID } },
  { "grok-1",
    NULL,
    { MOE ("moe_block"), .expert_gate = "linear", .expert_up = "linear_v",
      .expert_down = "linear_1", .norm1 = "pre_attn_norm", .norm2 = "pre_moe_norm",
      .behind1 = "post_attn_norm", .behind2 = "post_moe_norm" } },
  { "step3p5",
    NULL,
    { .router = "moe.gate",
      .experts = "moe",
      .shared = "share_expert",
      .routing = ROUTER_SIGMOID } },
  { "lfm2_moe", NULL, { .routing = ROUTER_SIGMOID } },
  { "deepseek_v3 deepseek_v32 glm4_moe glm4_moe_lite glm_moe_dsa dots1 kimi_linear nemotron_h",
    NULL,
    { .routing = ROUTER_GROUPED } },
  { "bailing_moe",
    NULL,
    { .qkv = "attention.query_key_value", .out = "attention.dense", .attention = "attention" } },
  { "bailing_moe_v2", "bailing_moe", { .routing = ROUTER_GROUPED } },
  { "gpt_oss",
    NULL,
    { .router = "mlp.router",
      .expert_gate = "gate_up_proj",
      .expert_up = "",
      .transposed_experts = TRUE,
      .clamped_gate = TRUE,
      .routing = ROUTER_TOP_K } },
};

/* ---- one family's ---- */

#define NAME(member) G_STRUCT_OFFSET (FamilyStyle, member)

static const gsize names[] = {
  NAME (qkv),       NAME (q),           NAME (k),         NAME (v),          NAME (out),
  NAME (attention), NAME (mixer),       NAME (gate),      NAME (up),         NAME (down),
  NAME (gate_up),   NAME (router),      NAME (experts),   NAME (shared),     NAME (expert_gate),
  NAME (expert_up), NAME (expert_down), NAME (norm1),     NAME (norm2),      NAME (behind1),
  NAME (behind2),   NAME (embed),       NAME (positions), NAME (embed_norm), NAME (final_norm),
  NAME (head),
};

/* Whether FAMILY is one of FAMILIES, between spaces. */
static gboolean
is_listed (const char *families, const char *family)
{
  const gsize n = strlen (family);

  for (const char *at = families; n > 0 && (at = strstr (at, family)) != NULL; at += n)
    if ((at == families || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
      return TRUE;
  return FALSE;
}

static const StyleRow *
find_row (const char *family)
{
  for (gsize i = 0; family != NULL && i < G_N_ELEMENTS (rows); i++)
    if (is_listed (rows[i].families, family))
      return &rows[i];
  return NULL;
}

FamilyStyle
family_style (const char *family)
{
  const StyleRow *row = find_row (family);
  FamilyStyle     style;

  if (row == NULL)
    return llama;
  style = family_style (row->like);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const char *own = G_STRUCT_MEMBER (const char *, &row->own, names[i]);

      if (own != NULL)
        G_STRUCT_MEMBER (const char *, &style, names[i]) = *own != '\0' ? own : NULL;
    }
  style.transposed |= row->own.transposed;
  style.transposed_experts |= row->own.transposed_experts;
  style.relu |= row->own.relu;
  style.clamped_gate |= row->own.clamped_gate;
  if (row->own.routing != ROUTER_SOFTMAX)
    style.routing = row->own.routing;
  return style;
}
