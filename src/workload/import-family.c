#include "workload/import-family-private.h"

#include <string.h>

#define AT(member) G_STRUCT_OFFSET (ModelShape, member)

#define COMMON_KEYS                                                 \
  { "num_hidden_layers", AT (n_layers), KEY_REQUIRED, 0 },          \
      { "hidden_size", AT (d_model), KEY_REQUIRED, 0 },             \
      { "num_attention_heads", AT (n_heads), KEY_REQUIRED, 0 },     \
      { "max_position_embeddings", AT (longest), KEY_OPTIONAL, 0 }, \
  {                                                                 \
    "vocab_size", AT (vocab), KEY_REQUIRED, 0                       \
  }
#define TIED(value)                                              \
  {                                                              \
    "tie_word_embeddings", AT (tied_embeddings), KEY_BOOL, value \
  }
#define KV_HEADS(need)                              \
  {                                                 \
    "num_key_value_heads", AT (n_kv_heads), need, 0 \
  }
#define HEAD_DIM(value)                            \
  {                                                \
    "head_dim", AT (head_dim), KEY_OPTIONAL, value \
  }
#define D_FF                                        \
  {                                                 \
    "intermediate_size", AT (d_ff), KEY_REQUIRED, 0 \
  }
#define ALL_ATTENTION_BIAS(value)                             \
  { "attention_bias", AT (attention_bias), KEY_BOOL, value }, \
  {                                                           \
    "attention_bias", AT (output_bias), KEY_BOOL, value       \
  }
#define WINDOW                                             \
  {                                                        \
    "sliding_window", AT (sliding_window), KEY_NULLABLE, 0 \
  }

static const ImportKey gpt2_keys[] = {
  { "n_layer", AT (n_layers), KEY_REQUIRED, 0 },
  { "n_embd", AT (d_model), KEY_REQUIRED, 0 },
  { "n_head", AT (n_heads), KEY_REQUIRED, 0 },
  { "vocab_size", AT (vocab), KEY_REQUIRED, 0 },
  { "n_positions", AT (max_positions), KEY_REQUIRED, 0 },
  { "n_inner", AT (d_ff), KEY_OPTIONAL, 0 },
  TIED (TRUE),
  { 0 },
};

static const ImportKey opt_keys[] = {
  COMMON_KEYS,
  { "ffn_dim", AT (d_ff), KEY_REQUIRED, 0 },
  { "max_position_embeddings", AT (max_positions), KEY_REQUIRED, 0 },
  { "word_embed_proj_dim", AT (embed_dim), KEY_OPTIONAL, 0 },
  { "enable_bias", AT (attention_bias), KEY_BOOL, TRUE },
  { "enable_bias", AT (output_bias), KEY_BOOL, TRUE },
  { "enable_bias", AT (mlp_bias), KEY_BOOL, TRUE },
  { "do_layer_norm_before", AT (post_norm), KEY_BOOL, TRUE }, /* inverted by finish_opt */
  TIED (TRUE),
  { 0 },
};

static const ImportKey llama_keys[] = {
  COMMON_KEYS,
  D_FF,
  KV_HEADS (KEY_OPTIONAL),
  HEAD_DIM (0),
  ALL_ATTENTION_BIAS (FALSE),
  { "mlp_bias", AT (mlp_bias), KEY_BOOL, FALSE },
  TIED (FALSE),
  { 0 },
};

static const ImportKey mistral_keys[] = {
  COMMON_KEYS, D_FF, KV_HEADS (KEY_REQUIRED), HEAD_DIM (0), WINDOW, TIED (FALSE), { 0 },
};

static const ImportKey qwen2_keys[] = {
  COMMON_KEYS,
  D_FF,
  KV_HEADS (KEY_REQUIRED),
  HEAD_DIM (0),
  { "sliding_window", AT (sliding_window), KEY_OPTIONAL, 0 },
  TIED (FALSE),
  { 0 },
};

static const ImportKey qwen3_keys[] = {
  COMMON_KEYS,
  D_FF,
  KV_HEADS (KEY_REQUIRED),
  HEAD_DIM (128),
  ALL_ATTENTION_BIAS (FALSE),
  { "sliding_window", AT (sliding_window), KEY_OPTIONAL, 0 },
  TIED (FALSE),
  { 0 },
};

static const ImportKey mixtral_keys[] = {
  COMMON_KEYS,
  D_FF,
  KV_HEADS (KEY_REQUIRED),
  HEAD_DIM (0),
  WINDOW,
  { "intermediate_size", AT (d_expert), KEY_REQUIRED, 0 },
  { "num_local_experts", AT (n_experts), KEY_REQUIRED, 0 },
  { "num_experts_per_tok", AT (n_experts_per_token), KEY_REQUIRED, 0 },
  TIED (FALSE),
  { 0 },
};

static const ImportKey qwen3_moe_keys[] = {
  COMMON_KEYS,
  D_FF,
  KV_HEADS (KEY_REQUIRED),
  HEAD_DIM (0),
  ALL_ATTENTION_BIAS (FALSE),
  { "sliding_window", AT (sliding_window), KEY_OPTIONAL, 0 },
  { "num_experts", AT (n_experts), KEY_REQUIRED, 0 },
  { "num_experts_per_tok", AT (n_experts_per_token), KEY_REQUIRED, 0 },
  { "moe_intermediate_size", AT (d_expert), KEY_REQUIRED, 0 },
  { "decoder_sparse_step", AT (moe_period), KEY_OPTIONAL, 1 },
  TIED (FALSE),
  { 0 },
};

static const ImportKey deepseek_keys[] = {
  COMMON_KEYS,
  D_FF,
  KV_HEADS (KEY_OPTIONAL),
  { "attention_bias", AT (attention_bias), KEY_BOOL, FALSE },
  { "attention_bias", AT (output_bias), KEY_BOOL, FALSE },
  { "q_lora_rank", AT (q_lora_rank), KEY_NULLABLE, 0 },
  { "kv_lora_rank", AT (kv_lora_rank), KEY_REQUIRED, 0 },
  { "qk_nope_head_dim", AT (qk_nope_head_dim), KEY_REQUIRED, 0 },
  { "qk_rope_head_dim", AT (qk_rope_head_dim), KEY_REQUIRED, 0 },
  { "v_head_dim", AT (v_head_dim), KEY_REQUIRED, 0 },
  { "n_routed_experts", AT (n_experts), KEY_REQUIRED, 0 },
  { "n_shared_experts", AT (n_shared_experts), KEY_OPTIONAL_ZERO, 0 },
  { "num_experts_per_tok", AT (n_experts_per_token), KEY_REQUIRED, 0 },
  { "moe_intermediate_size", AT (d_expert), KEY_REQUIRED, 0 },
  { "first_k_dense_replace", AT (first_dense_layers), KEY_OPTIONAL_ZERO, 0 },
  { "num_nextn_predict_layers", AT (n_mtp_layers), KEY_OPTIONAL_ZERO, 0 },
  TIED (FALSE),
  { 0 },
};

static const ImportKey gpt_oss_keys[] = {
  COMMON_KEYS,
  KV_HEADS (KEY_REQUIRED),
  HEAD_DIM (64),
  ALL_ATTENTION_BIAS (TRUE),
  WINDOW,
  { "intermediate_size", AT (d_expert), KEY_REQUIRED, 0 },
  { "num_local_experts", AT (n_experts), KEY_REQUIRED, 0 },
  { "num_experts_per_tok", AT (n_experts_per_token), KEY_REQUIRED, 0 },
  TIED (FALSE),
  { 0 },
};

static void
fill_gpt2 (ModelShape *shape)
{
  shape->norm = MODEL_NORM_LAYER;
  shape->position = MODEL_POSITION_LEARNED;
  shape->attention_bias = shape->output_bias = shape->mlp_bias = TRUE;
}

static void
fill_llama (ModelShape *shape)
{
  shape->norm = MODEL_NORM_RMS;
  shape->position = MODEL_POSITION_ROTARY;
  shape->gated_mlp = TRUE;
}

static void
fill_qwen2 (ModelShape *shape)
{
  fill_llama (shape);
  shape->attention_bias = TRUE; /* on q, k, v, not on the output */
}

static void
fill_qwen3 (ModelShape *shape)
{
  fill_llama (shape);
  shape->qk_norm = TRUE;
}

static void
fill_deepseek (ModelShape *shape)
{
  fill_llama (shape);
  shape->router_bias = TRUE; /* e_score_correction_bias */
}

static void
fill_gpt_oss (ModelShape *shape)
{
  fill_llama (shape);
  shape->attention_sinks = TRUE;
  shape->router_bias = shape->expert_bias = TRUE;
  shape->sliding_period = 2; /* without layer_types: window, full, window, ... */
}

/* Widths of the feed-forward layers that a file leaves out. */
static void
finish_gpt2 (ModelShape *shape)
{
  if (shape->d_ff == 0)
    shape->d_ff = 4 * shape->d_model;
}

static void
finish_opt (ModelShape *shape)
{
  shape->max_positions += 2; /* the reference keeps two rows for padding */
  shape->post_norm = !shape->post_norm;
  if (shape->embed_dim == shape->d_model)
    shape->embed_dim = 0;
}

#define HEADS "num_attention_heads"
#define FAMILY(type, name, table, fills, ...)                                                     \
  {                                                                                               \
    .family = type, .architecture = name, .keys = table##_keys, .fill = fill_##fills, __VA_ARGS__ \
  }

static const ImportFamily families[] = {
  FAMILY ("gpt2", "GPT2", gpt2, gpt2, .heads = "n_head", .finish = finish_gpt2),
  FAMILY ("opt", "OPT", opt, gpt2, .heads = HEADS, .finish = finish_opt),
  FAMILY ("llama", "Llama", llama, llama, .heads = HEADS),
  FAMILY ("mistral", "Mistral", mistral, llama, .heads = HEADS, .sliding = TRUE),
  FAMILY ("qwen2", "Qwen2", qwen2, qwen2, .heads = HEADS, .sliding = TRUE, .sliding_flag = TRUE),
  FAMILY ("qwen3", "Qwen3", qwen3, qwen3, .heads = HEADS, .sliding = TRUE, .sliding_flag = TRUE),
  FAMILY ("mixtral", "Mixtral", mixtral, llama, .heads = HEADS, .sliding = TRUE),
  FAMILY ("qwen3_moe", "Qwen3Moe", qwen3_moe, qwen3, .heads = HEADS, .sliding = TRUE,
          .sliding_flag = TRUE, .dense_list = TRUE),
  FAMILY ("deepseek_v3", "DeepseekV3", deepseek, deepseek, .heads = HEADS, .expert_period = TRUE),
  FAMILY ("gpt_oss", "GptOss", gpt_oss, gpt_oss, .heads = HEADS, .sliding = TRUE),
};

const ImportFamily *
import_family_by_type (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (families); i++)
    if (strcmp (families[i].family, name) == 0)
      return &families[i];
  return NULL;
}

const ImportFamily *
import_family_by_architecture (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (families); i++)
    {
      const char *rest = name + strlen (families[i].architecture);

      if (g_str_has_prefix (name, families[i].architecture)
          && (g_str_has_prefix (rest, "For") || g_str_has_prefix (rest, "LMHead")
              || g_str_has_prefix (rest, "Model")))
        return &families[i];
    }
  return NULL;
}
