/*
 * A transformer's shape: read from a Hugging Face config.json, or given as typed options. Knows no
 * hardware.
 */
#pragma once

#include "base/config.h"
#include "base/input-files.h"
#include "base/option-marks.h"

typedef enum
{
  MODEL_NORM_LAYER,          /* LayerNorm: weight and bias */
  MODEL_NORM_RMS,            /* RMSNorm: weight */
  MODEL_NORM_LAYER_UNBIASED, /* LayerNorm with a weight only (MPT) */
} ModelNorm;

typedef enum
{
  MODEL_POSITION_LEARNED, /* a max_positions x d_model table */
  MODEL_POSITION_ROTARY,
  MODEL_POSITION_ALIBI,
} ModelPosition;

/* What stands between the two (gated: three) matrices of an MLP. */
typedef enum
{
  MODEL_ACTIVATION_AUTO, /* as the file or the architecture has it */
  MODEL_ACTIVATION_GELU,
  MODEL_ACTIVATION_RELU,
  MODEL_ACTIVATION_SQUARED_RELU, /* Primer, arXiv:2109.08668; Nemotron-4 */
  MODEL_ACTIVATION_SWIGLU,       /* gated, arXiv:2002.05202 */
  MODEL_ACTIVATION_GEGLU,        /* the same with GELU: the same kernels */
} ModelActivation;

/* How attention and MLP follow each other. */
typedef enum
{
  MODEL_BLOCK_SEQUENTIAL,
  MODEL_BLOCK_PARALLEL,  /* x + attention (norm (x)) + mlp (norm (x)): GPT-J, PaLM, MegaScale */
  MODEL_BLOCK_TWO_NORMS, /* x + attention (norm1 (x)) + mlp (norm2 (x)): GPT-NeoX, Pythia */
} ModelBlock;

/*
 * Plain data. Widths are in elements. Filled by model_import or from the `model:` section of a
 * scenario.
 */
typedef struct
{
  char  *name;   /* "Llama-3-8B": file or catalogue name, for reports */
  char  *family; /* "llama", "gpt2", "mixtral", ... */
  gint64 n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab;
  gint64 max_positions; /* rows of a learned position table (its offset rows included: OPT has 2); 0
                           = as many as the sequence */
  gint64 longest;       /* sequence that it was made for; 0: not said */
  gint64 embed_dim;     /* width of the token embedding where not d_model (OPT-350m), else 0 */
  ModelNorm     norm;
  ModelPosition position;
  gboolean      gated_mlp;      /* three matrices (gate, up, down) instead of two */
  gboolean      attention_bias; /* biases on q, k, v */
  gboolean      output_bias;    /* bias on the attention output projection */
  gboolean      mlp_bias;
  gboolean      tied_embeddings; /* the head shares the token embedding */
  gboolean      qk_norm;         /* per-head RMSNorm of queries and keys (Qwen3) */
  gboolean      attention_sinks; /* one learned logit a head (gpt-oss) */
  gboolean      embedding_norm;  /* LayerNorm after the embedding (BLOOM) */
  gboolean      post_norm;  /* norms after the residual adds, and none before the head (OPT-350m) */
  gint          activation; /* ModelActivation; AUTO: the family's */
  gint          block;      /* ModelBlock */
  gint64        sliding_window; /* tokens; 0 = full attention */
  gint64 sliding_period; /* every sliding_period-th layer attends fully; 0 = all use the window */
  /* mixture of experts; n_experts = 0: dense */
  gint64   n_experts, n_experts_per_token, d_expert, n_shared_experts;
  gint64   first_dense_layers; /* leading layers with a dense MLP of width d_ff */
  gint64   moe_period;         /* layer i is MoE when (i + 1) % moe_period == 0 (1: all) */
  gboolean router_bias;
  gboolean expert_bias;
  /* multi-head latent attention (DeepSeek); kv_lora_rank = 0: ordinary attention */
  gint64 q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
  gint64 n_mtp_layers; /* multi-token-prediction layers in the file that are NOT modelled */
} ModelShape;

void model_shape_clear (ModelShape *self);
void model_shape_copy (const ModelShape *source, ModelShape *target);

typedef enum
{
  MODEL_TIED_AUTO, /* as the file or the architecture has it */
  MODEL_TIED_YES,
  MODEL_TIED_NO,
} ModelTied;

/*
 * The `model` section of a scenario and of tables: `config` (path of a config.json, or the name of
 * a shipped model) or `arch` (gpt, llama, mpt, bloom: docs/models.md) with n_layers d_model n_heads
 * n_kv_heads d_ff vocab and the MoE fields.
 */
typedef struct
{
  char  *config, *arch, *name;
  gint64 n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab, max_positions;
  gint64 n_experts, n_experts_per_token, d_expert, n_shared_experts, first_dense_layers;
  gint   tied_embeddings; /* ModelTied */
  gint   activation;      /* ModelActivation */
  gint   block;           /* ModelBlock */
  gint   positions;       /* 0: as it is; else 1 + ModelPosition */
  gint   biases;          /* ModelTied, of all linears of the blocks */
  gint   norm;            /* 0: as it is; else 1 + ModelNorm */
  gint64 sliding_window;
} ModelOptions;

extern const OptionSpec model_options[];

/*
 * Resolves OPTIONS to a shape. A relative `config` is looked up beside BASE_DIR (may be NULL), then
 * among the shipped models (workloads/models/<name>.json). Inconsistent shapes (heads that do not
 * divide the width or the KV heads, zero layers, ...) are diagnosed at the MARKS (may be NULL) of
 * the options. FILES, where it is not NULL, has the file or reads it.
 */
gboolean model_resolve (const ModelOptions *options, const char *base_dir, InputFiles *files,
                        ModelShape *shape, const OptionMarks *marks, DiagList *diags);

/*
 * Reads a Hugging Face config.json. Families: gpt2 opt llama mistral qwen2 qwen3 mixtral qwen3_moe
 * deepseek_v3 gpt_oss.
 */
gboolean model_import (const char *file, ModelShape *shape, DiagList *diags);

/* NULL-terminated names of the shipped models, sorted; strv owned by the caller (g_strfreev). */
char **model_list_shipped (void);
