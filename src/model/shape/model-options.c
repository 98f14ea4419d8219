/* The options of the section `model`. */
#include "model/shape/model.h"

#define FIELD(member) G_STRUCT_OFFSET (ModelOptions, member)
#define COUNT(name, text)                                                                 \
  {                                                                                       \
    .key = #name, .type = OPTION_INT, .offset = FIELD (name), .optional = TRUE, .min = 1, \
    .max = 1 << 24, .help = text                                                          \
  }
#define COUNT_OR_NONE(name, most, text)                                                   \
  {                                                                                       \
    .key = #name, .type = OPTION_INT, .offset = FIELD (name), .optional = TRUE, .min = 1, \
    .or_zero = TRUE, .max = most, .help = text                                            \
  }

static const char *const tied_choices[] = { "auto", "yes", "no", NULL };
static const char *const activation_choices[] = { "auto",   "gelu",  "relu", "squared-relu",
                                                  "swiglu", "geglu", NULL };
static const char *const block_choices[] = { "auto", "sequential", "parallel", "parallel-two-norms",
                                             NULL };
static const char *const position_choices[] = {
  "auto", "learned", "rotary", "alibi", "none", NULL
};
static const char *const norm_choices[] = { "auto", "layernorm", "rmsnorm", "layernorm-unbiased",
                                            NULL };
static const char *const bias_choices[] = { "auto", "yes", "no", "qkv", NULL };
static const char *const qk_norm_choices[] = { "auto", "none",  "head", "whole",
                                               "each", "plain", NULL };
static const char *const router_choices[] = { "indirect", "avg-k", "direct", NULL };
static const char *const mtp_choices[] = { "auto", "false", "true", "K", NULL };

const OptionSpec model_options[] = {
  { .key = "config",
    .type = OPTION_STRING,
    .file = TRUE,
    .offset = FIELD (config),
    .optional = TRUE,
    .help = "a Hugging Face config.json, or the name of a shipped model" },
  { .key = "arch",
    .type = OPTION_STRING,
    .offset = FIELD (arch),
    .optional = TRUE,
    .help = "a shape instead of a file: gpt, llama, mpt, bloom" },
  { .key = "name",
    .type = OPTION_STRING,
    .offset = FIELD (name),
    .optional = TRUE,
    .help = "name in reports" },
  COUNT (n_layers, "transformer blocks; beside 'config': instead of the file's"),
  COUNT (d_model, "width of the model"),
  COUNT (n_heads, "query heads"),
  COUNT (n_kv_heads, "key and value heads; n_heads when not given"),
  COUNT (head_dim, "width of a head; d_model / n_heads when not given"),
  COUNT (d_ff, "width of the MLP; 4 * d_model when not given, except for llama"),
  COUNT (vocab, "rows of the token embedding"),
  COUNT (
      max_positions,
      "rows of a learned position table; the sequence length when not given (gpt); ALiBi when not "
      "given (mpt)"),
  COUNT (n_experts, "routed experts a layer; dense when not given"),
  COUNT (n_experts_per_token, "experts that a token visits"),
  COUNT (d_expert, "width of an expert; d_ff when not given"),
  { .key = "router",
    .type = OPTION_ENUM,
    .choices = router_choices,
    .offset = FIELD (router),
    .fallback = "indirect",
    .help = "how a token finds its experts: by a gate; by the mean of each one's keys, which are "
            "its first matrix (avg-k); by all keys (direct)",
    .source = "arXiv:2305.13999" },
  COUNT_OR_NONE (n_shared_experts, 1024, "experts that every token visits, as wide as routed ones"),
  COUNT_OR_NONE (first_dense_layers, 100000,
                 "leading layers with an MLP of d_ff in the place of experts"),
  COUNT (kv_lora_rank, "latent attention: width of the latent of keys and values"),
  COUNT (q_lora_rank, "width of the latent of queries; queries are made at once when not given"),
  COUNT (qk_nope_head_dim, "of latent attention: width of a head's queries without positions"),
  COUNT (qk_rope_head_dim, "the same with rotary positions"),
  COUNT (v_head_dim, "the same of its values"),
  { .key = "tied_embeddings",
    .type = OPTION_ENUM,
    .choices = tied_choices,
    .offset = FIELD (tied_embeddings),
    .fallback = "auto",
    .help = "the head shares the token embedding; auto: as the file or the architecture has it" },
  { .key = "activation",
    .type = OPTION_ENUM,
    .choices = activation_choices,
    .offset = FIELD (activation),
    .fallback = "auto",
    .help = "of the MLP; swiglu and geglu have a gate, a third matrix",
    .source = "arXiv:2002.05202; arXiv:2109.08668" },
  { .key = "block",
    .type = OPTION_ENUM,
    .choices = block_choices,
    .offset = FIELD (block),
    .fallback = "auto",
    .help = "attention, then the MLP; or both of the same input, behind one norm or a norm each; "
            "auto: as the file has it",
    .source = "arXiv:2204.02311; EleutherAI/gpt-neox, gpt_j_residual" },
  { .key = "positions",
    .type = OPTION_ENUM,
    .choices = position_choices,
    .offset = FIELD (positions),
    .fallback = "auto",
    .help = "learned table, rotary embeddings of queries and keys, ALiBi, or none" },
  { .key = "biases",
    .type = OPTION_ENUM,
    .choices = bias_choices,
    .offset = FIELD (biases),
    .fallback = "auto",
    .help = "of the blocks' linears; qkv: of queries, keys and values alone; auto: as the file or "
            "the architecture has them" },
  { .key = "norm",
    .type = OPTION_ENUM,
    .choices = norm_choices,
    .offset = FIELD (norm),
    .fallback = "auto",
    .help = "kind of norm" },
  { .key = "qk_norm",
    .type = OPTION_ENUM,
    .choices = qk_norm_choices,
    .offset = FIELD (qk_norm),
    .fallback = "auto",
    .help =
        "norms of queries and keys: of a head, with one weight for all heads; of all heads as a "
        "whole; of each head with its own weight; or without weights",
    .source = "arXiv:2010.04245" },
  { .key = "attention_sinks",
    .type = OPTION_ENUM,
    .choices = tied_choices,
    .offset = FIELD (attention_sinks),
    .fallback = "auto",
    .help = "one learned logit a head",
    .source = "arXiv:2309.17453; arXiv:2508.10925" },
  { .key = "sliding_window",
    .type = OPTION_INT,
    .offset = FIELD (sliding_window),
    .optional = TRUE,
    .min = 1,
    .max = 1 << 24,
    .help = "tokens that one attends to, in all blocks" },
  { .key = "sliding_period",
    .type = OPTION_INT,
    .offset = FIELD (sliding_period),
    .optional = TRUE,
    .min = 2,
    .max = 100000,
    .help = "with 'sliding_window': every so many blocks one attends to all" },
  { .key = "mtp",
    .type = OPTION_ENUM,
    .choices = mtp_choices,
    .offset = FIELD (mtp),
    .fallback = "auto",
    .what_if = TRUE,
    .help = "layers that predict further tokens; true: as many as the file has; auto: none",
    .source =
        "arXiv:2412.19437, section 2.2; megatron/core/transformer/multi_token_prediction.py" },
  { 0 },
};
