/*
 * A transformer's shape: read from a Hugging Face config.json, or given as typed options. Knows no
 * hardware.
 */
#pragma once

#include "base/config/config.h"
#include "base/config/option-marks.h"
#include "base/file/input-files.h"
#include "model/shape/layer-kind.h"

typedef enum
{
  MODEL_NORM_LAYER,          /* LayerNorm: weight and bias */
  MODEL_NORM_RMS,            /* RMSNorm: weight */
  MODEL_NORM_LAYER_UNBIASED, /* LayerNorm with a weight only (MPT) */
  MODEL_NORM_LAYER_PLAIN,    /* without any (OLMo) */
  MODEL_NORM_RMS_PLAIN,
} ModelNorm;

/* Where a block's norms stand. */
typedef enum
{
  MODEL_NORMS_BEFORE, /* each branch */
  MODEL_NORMS_BEHIND, /* the residual adds, and none before the head (OPT-350m) */
  MODEL_NORMS_BRANCH, /* each branch's output, before it is added: OLMo 2 */
  MODEL_NORMS_BOTH,   /* a branch's input and its output: Gemma 2, GLM-4 */
} ModelNorms;

/* Norms of queries and keys. */
typedef enum
{
  MODEL_QK_NORM_NONE,
  MODEL_QK_NORM_HEAD,  /* of each head, with one weight for all: Qwen3 */
  MODEL_QK_NORM_WHOLE, /* of all heads together: OLMo 2 */
  MODEL_QK_NORM_EACH,  /* of each head, with a weight of its own: Command R+ */
  MODEL_QK_NORM_PLAIN, /* of each head, without weights: Llama 4 */
} ModelQkNorm;

/* Norms within a state-space layer. */
typedef enum
{
  MODEL_SSM_NORM_OWN,   /* Mamba-1: none; Mamba-2: of the gated output */
  MODEL_SSM_NORM_NONE,  /* Mamba-2: the output is gated alone (Falcon-H1) */
  MODEL_SSM_NORM_PLAIN, /* Mamba-1: of time steps, B and C, without weights (Falcon-Mamba) */
  MODEL_SSM_NORM_PARTS, /* the same with weights (Jamba) */
} ModelSsmNorm;

/*
 * How a token finds its experts (S-FFN, arXiv:2305.13999: blocks of a memory of keys and values).
 * The keys of an expert are its first matrix, a key a cell.
 */
typedef enum
{
  MODEL_ROUTER_INDIRECT, /* a gate with a column an expert */
  MODEL_ROUTER_AVG_K,    /* the mean of an expert's keys in the place of that column */
  MODEL_ROUTER_DIRECT,   /* all keys: an expert's score is that of its cells together */
} ModelRouter;

/* An MLP beside the experts of a layer that has these. */
typedef enum
{
  MODEL_BESIDE_NONE,
  MODEL_BESIDE_RESIDUAL, /* behind a norm of its own, added to what the experts make: Arctic */
  MODEL_BESIDE_NORMED,   /* a norm behind each, then added: Gemma 4 */
} ModelBeside;

typedef enum
{
  MODEL_POSITION_LEARNED, /* a max_positions x d_model table */
  MODEL_POSITION_ROTARY,
  MODEL_POSITION_ALIBI,
  MODEL_POSITION_NONE, /* as causal masks and states give them (Nemotron-H) */
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
  gint          qk_norm;         /* ModelQkNorm */
  gboolean      attention_sinks; /* one learned logit a head (gpt-oss) */
  gboolean      embedding_norm;  /* LayerNorm after the embedding (BLOOM) */
  gint          norms;           /* ModelNorms */
  gint          activation;      /* ModelActivation; AUTO: the family's */
  gint          block;           /* ModelBlock */
  gboolean      head_bias;
  gboolean      value_norm;      /* RMSNorm without weights of each head's values (Gemma 4) */
  gboolean      keys_are_values; /* of layers that attend fully (Gemma 4) */
  gboolean      embedding_scale, residual_scale, logit_scale; /* by a constant: a kernel each */
  gboolean      logit_softcap;                                /* c * tanh (logits / c) */
  gint64        sliding_window;                               /* tokens; 0 = full attention */
  gboolean      window_is_chunk; /* attention stays within chunks as long as the window (Llama 4) */
  gint64 sliding_period; /* every sliding_period-th layer attends fully; 0 = all use the window */
  /* mixture of experts; n_experts = 0: dense */
  gint64   n_experts, n_experts_per_token, d_expert, n_shared_experts;
  gint64   first_dense_layers; /* leading layers with a dense MLP of width d_ff */
  gint64   moe_period;         /* layer i is MoE when (i + 1) % moe_period == 0 (1: all) */
  gint     router;             /* ModelRouter */
  gboolean router_bias;
  gboolean router_scales; /* a scale of its input, and one of each expert's weight (Gemma 4) */
  gint64   d_shared;      /* width of all shared experts; 0: n_shared_experts times d_expert */
  gboolean shared_gate;   /* their output is weighed by a gate of one feature (Qwen2-MoE) */
  gint     beside;        /* ModelBeside */
  gboolean expert_bias;
  /* multi-head latent attention (DeepSeek); kv_lora_rank = 0: ordinary attention */
  gint64 q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
  gint64 n_mtp_layers; /* multi-token-prediction layers in the file */
  gint64 n_mtp;        /* those that are trained: each is one more block behind the last one, which
                          it is like */
  /* blocks that do not follow from the above: the kinds of the first n_listed, and over again */
  ModelLayer *layers; /* NULL: all follow */
  gint64      n_listed;
  /* Mamba-1 and 2 */
  gint64   ssm_heads, ssm_head_dim, ssm_groups, ssm_state, ssm_chunk;
  gint64   ssm_rank;      /* Mamba-1: width of the bottleneck that time steps pass */
  gint     ssm_norm;      /* ModelSsmNorm */
  gboolean ssm_bias;      /* on the projections */
  gboolean branch_scales; /* Falcon-H1: a constant for inputs, keys and output of each branch */
  /* delta rules, lightning attention */
  gint64   linear_key_heads, linear_value_heads, linear_key_dim, linear_value_dim;
  gboolean linear_split;      /* of the delta rule: a projection for each of qkv, z, b and a */
  gboolean linear_whole_gate; /* of KDA: the gate's projection has no bottleneck */
  gboolean head_gate;         /* the same of each head as a whole, made with its own weights */
  gboolean attention_gate;    /* a sigmoid gate on attention's output, made with queries */
  /* experts that work on a projection of their input, as wide as this; 0: on the input */
  gint64 moe_latent;
  /* an indexer chooses what a token attends to (DeepSeek-V3.2); index_topk 0: none does */
  gint64 index_heads, index_dim, index_topk;
  /* of all that have one: taps of the causal convolution (LFM2's mixer is one) */
  gint64   conv_taps;
  gboolean conv_bias;
} ModelShape;

#define MODEL_MAX_LAYERS 100000
#define MODEL_MAX_MTP    5

/* Blocks, those of multi-token prediction among them; such layers of the file that are none. */
gint64 model_n_blocks (const ModelShape *shape);
guint  model_mtp_left (const ModelShape *shape);

/* Whether some block of SHAPE has that. */
gboolean model_has_mixer (const ModelShape *shape, ModelMixer mixer);

void model_shape_clear (ModelShape *self);
void model_shape_copy (const ModelShape *source, ModelShape *target);

/* Width of what experts take and make. */
gint64 model_expert_width (const ModelShape *shape);

/* Keys that a token's product with the router has: those of experts, or of all their cells. */
gint64 model_router_keys (const ModelShape *shape);

/* Width of all experts together that every token visits. */
gint64 model_shared_width (const ModelShape *shape);

typedef enum
{
  MODEL_TIED_AUTO, /* as the file or the architecture has it */
  MODEL_TIED_YES,
  MODEL_TIED_NO,
} ModelTied;

typedef enum
{
  MODEL_BIASES_AUTO, /* as the file or the architecture has them */
  MODEL_BIASES_ALL,
  MODEL_BIASES_NONE,
  MODEL_BIASES_QKV, /* of queries, keys and values */
} ModelBiases;

typedef enum
{
  MODEL_MTP_AUTO, /* none, and a remark where the file has some */
  MODEL_MTP_NONE,
  MODEL_MTP_ALL,    /* as many as the file has */
  MODEL_MTP_NUMBER, /* and more: so many */
} ModelMtp;

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
  gint64 q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
  gint   tied_embeddings; /* ModelTied */
  gint   activation;      /* ModelActivation */
  gint   block;           /* 0: as it is; else 1 + ModelBlock */
  gint   positions;       /* 0: as it is; else 1 + ModelPosition */
  gint   biases;          /* ModelBiases, of the linears of the blocks */
  gint   norm;            /* 0: as it is; else 1 + ModelNorm */
  gint   qk_norm;         /* 0: as it is; else 1 + ModelQkNorm */
  gint   attention_sinks; /* ModelTied */
  gint   router;          /* ModelRouter */
  gint64 sliding_window, sliding_period;
  gint   mtp; /* ModelMtp */
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

/* Reads a Hugging Face config.json; docs/models.md lists the families. */
gboolean model_import (const char *file, ModelShape *shape, DiagList *diags);

/* NULL-terminated names of the shipped models, sorted; strv owned by the caller (g_strfreev). */
char **model_list_shipped (void);
