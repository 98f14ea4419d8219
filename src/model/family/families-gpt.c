/* Families with LayerNorms: most have biases, and many parallel blocks. */
#include "model/family/import-layers-private.h"
#include "model/family/import-values-private.h"

#define KEY_ACTIVATION(name) KEY_OF (name, activation, import_activations)
/* A bias of all linears of a block. */
#define KEYS_BIAS(name) \
  KEY (name, attention_bias, FLAG), KEY (name, output_bias, FLAG), KEY (name, mlp_bias, FLAG)
#define KEYS_GPT2 KEYS_OF_SIZES ("n_layer", "n_embd", "n_head"), KEY ("n_inner", d_ff, COUNT)

#define SHAPE_NEOX .norm = MODEL_NORM_LAYER, .position = MODEL_POSITION_ROTARY
#define SHAPE_COHERE                                                                           \
  SIZES (40, 8192, 64, 22528, 256000),                                                         \
      .norm = MODEL_NORM_LAYER_UNBIASED, .position = MODEL_POSITION_ROTARY, .gated_mlp = TRUE, \
      .block = MODEL_BLOCK_PARALLEL, .logit_scale = TRUE, .tied_embeddings = TRUE

static const ImportWord norms_of_opt[] = { { "true", MODEL_NORMS_BEFORE },
                                           { "false", MODEL_NORMS_BEHIND },
                                           { 0 } };
static const ImportWord blocks_of_neox[] = { { "true", MODEL_BLOCK_TWO_NORMS },
                                             { "false", MODEL_BLOCK_SEQUENTIAL },
                                             { 0 } };
static const ImportWord blocks_of_stablelm[] = { { "true", MODEL_BLOCK_PARALLEL },
                                                 { "false", MODEL_BLOCK_SEQUENTIAL },
                                                 { 0 } };
static const ImportWord norms_of_heads[] = { { "true", MODEL_QK_NORM_HEAD },
                                             { "false", MODEL_QK_NORM_NONE },
                                             { 0 } };
static const ImportWord norms_of_each[] = { { "true", MODEL_QK_NORM_EACH },
                                            { "false", MODEL_QK_NORM_NONE },
                                            { 0 } };
static const ImportWord norms_of_all[] = { { "true", MODEL_QK_NORM_WHOLE },
                                           { "false", MODEL_QK_NORM_NONE },
                                           { 0 } };

static void
finish_opt (G_GNUC_UNUSED const ConfigNode *map, ModelShape *shape, G_GNUC_UNUSED DiagList *diags)
{
  shape->max_positions += 2; /* the reference keeps two rows for padding */
  if (shape->embed_dim == shape->d_model)
    shape->embed_dim = 0;
}

/* Keys and values of one head, unless multi_query says no. */
static void
read_multi_query (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  if (import_says (map, "multi_query", TRUE, diags))
    shape->n_kv_heads = 1;
}

/* attention_types: [[["global", "local"], 12]]; the local ones attend over a window. */
static void
read_neo_layers (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode  *types = config_node_get (map, "attention_types");
  g_autoptr (GArray) windowed = g_array_new (FALSE, FALSE, sizeof (gboolean));

  for (guint i = 0; types == NULL && i < shape->n_layers; i++)
    g_array_append_val (windowed, (gboolean){ i % 2 == 1 });
  for (guint i = 0; types != NULL && i < config_node_length (types); i++)
    {
      const ConfigNode *part = config_node_item (types, i);
      const gboolean    is_pair =
          part != NULL && config_node_kind (part) == CONFIG_LIST && config_node_length (part) == 2;
      const ConfigNode *kinds = is_pair ? config_node_item (part, 0) : NULL;
      gint64            times = 0;

      if (kinds == NULL || config_node_kind (kinds) != CONFIG_LIST
          || config_node_length (kinds) == 0
          || !import_integer (config_node_item (part, 1), "attention_types", 1, &times, diags))
        break;
      for (gint64 t = 0; t < times && windowed->len < shape->n_layers; t++)
        for (guint k = 0; k < config_node_length (kinds); k++)
          {
            gboolean local =
                g_strcmp0 (config_node_text (config_node_item (kinds, k)), "local") == 0;

            g_array_append_val (windowed, local);
          }
    }
  if (windowed->len != shape->n_layers)
    diag_error (diags, config_node_mark (types), "a list of [[kinds], times]",
                "'attention_types' does not say %" G_GINT64_FORMAT " layers", shape->n_layers);
  else
    import_set_windows (shape, (const gboolean *) (gconstpointer) windowed->data);
}

/* How many norms stand before attention and MLP, and how many heads keys have. */
static void
read_falcon (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  gboolean new = import_says (map, "new_decoder_architecture", FALSE, diags);
  gboolean          parallel = import_says (map, "parallel_attn", TRUE, diags);
  const ConfigNode *norms = config_node_get (map, "num_ln_in_parallel_attn");
  gint64            n_norms = new ? 2 : 1;

  if (!import_absent (norms))
    import_integer (norms, "num_ln_in_parallel_attn", 1, &n_norms, diags);
  if (!new &&import_says (map, "multi_query", TRUE, diags))
    shape->n_kv_heads = 1;
  shape->block = new &&n_norms == 2 ? MODEL_BLOCK_TWO_NORMS
                 : new || parallel  ? MODEL_BLOCK_PARALLEL
                                    : MODEL_BLOCK_SEQUENTIAL;
  if (import_says (map, "alibi", FALSE, diags))
    shape->position = MODEL_POSITION_ALIBI;
}

static void
read_mpt (const ConfigNode *map, ModelShape *shape, DiagList *diags)
{
  const ConfigNode *attention = config_node_get (map, "attn_config");
  const ConfigNode *ratio = config_node_get (map, "expansion_ratio");
  const ConfigNode *kind = attention != NULL ? config_node_get (attention, "attn_type") : NULL;
  gint64            times = 4;

  if (!import_absent (ratio))
    import_integer (ratio, "expansion_ratio", 1, &times, diags);
  shape->d_ff = MIN (times, 1 << 20) * MIN (shape->d_model, 1 << 24); /* more is refused */
  if (kind != NULL && g_strcmp0 (config_node_text (kind), "multiquery_attention") == 0)
    shape->n_kv_heads = 1;
  if (attention != NULL && !import_says (attention, "alibi", TRUE, diags))
    shape->position = import_says (attention, "rope", FALSE, diags) ? MODEL_POSITION_ROTARY
                                                                    : MODEL_POSITION_LEARNED;
  if (shape->position != MODEL_POSITION_LEARNED)
    shape->max_positions = 0;
  if (!import_says (map, "no_bias", TRUE, diags))
    {
      shape->attention_bias = shape->output_bias = shape->mlp_bias = TRUE;
      shape->norm = MODEL_NORM_LAYER;
    }
}

const ImportFamily import_families_gpt[] = {
  { .names = "gpt2",
    .architectures = "GPT2",
    .shape = { SHAPE_GPT2, BIASES, SIZES (12, 768, 12, 0, 50257), .max_positions = 1024,
               .tied_embeddings = TRUE },
    .keys = { KEYS_GPT2, KEY ("n_positions", max_positions, SIZE),
              KEY_ACTIVATION ("activation_function") } },
  { .names = "opt",
    .architectures = "OPT",
    .shape = { SHAPE_GPT2, BIASES, SIZES (12, 768, 12, 3072, 50272), .max_positions = 2048,
               .tied_embeddings = TRUE },
    .keys = { KEYS, KEY ("ffn_dim", d_ff, SIZE),
              KEY ("max_position_embeddings", max_positions, SIZE),
              KEY ("word_embed_proj_dim", embed_dim, COUNT), KEYS_BIAS ("enable_bias"),
              KEY_OF ("do_layer_norm_before", norms, norms_of_opt) },
    .readers = { finish_opt } },
  { .names = "gpt_bigcode",
    .architectures = "GPTBigCode",
    .shape = { SHAPE_GPT2, BIASES, SIZES (12, 768, 12, 0, 50257), .max_positions = 1024,
               .tied_embeddings = TRUE },
    .keys = { KEYS_GPT2, KEY ("n_positions", max_positions, SIZE),
              KEY_ACTIVATION ("activation_function") },
    .readers = { read_multi_query } },
  { .names = "gpt_neo",
    .architectures = "GPTNeo",
    .shape = { SHAPE_GPT2, SIZES (24, 2048, 16, 0, 50257), .max_positions = 2048,
               .output_bias = TRUE, .mlp_bias = TRUE, .sliding_window = 256,
               .tied_embeddings = TRUE },
    .keys = { KEYS_OF_SIZES ("num_layers", "hidden_size", "num_heads"),
              KEY ("max_position_embeddings", max_positions, SIZE),
              KEY ("intermediate_size", d_ff, COUNT), KEY ("window_size", sliding_window, COUNT),
              KEY_ACTIVATION ("activation_function") },
    .readers = { read_neo_layers } },
  { .names = "gptj",
    .architectures = "GPTJ",
    .shape = { SHAPE_NEOX, SIZES (28, 4096, 16, 0, 50400), .block = MODEL_BLOCK_PARALLEL,
               .mlp_bias = TRUE, .head_bias = TRUE },
    .keys = { KEYS_GPT2, KEY_ACTIVATION ("activation_function") } },
  { .names = "codegen",
    .architectures = "CodeGen",
    .shape = { SHAPE_NEOX, SIZES (28, 4096, 16, 0, 50400), .block = MODEL_BLOCK_PARALLEL,
               .mlp_bias = TRUE, .head_bias = TRUE },
    .keys = { KEYS_GPT2, KEY_ACTIVATION ("activation_function") } },
  { .names = "gpt_neox",
    .architectures = "GPTNeoX",
    .shape = { SHAPE_NEOX, BIASES, SIZES (44, 6144, 64, 24576, 50432),
               .block = MODEL_BLOCK_TWO_NORMS },
    .keys = { KEYS, KEY_MLP, KEYS_ATTENTION_BIAS, KEY_ACTIVATION ("hidden_act"),
              KEY_OF ("use_parallel_residual", block, blocks_of_neox) } },
  { .names = "bloom",
    .architectures = "Bloom",
    .shape = { .norm = MODEL_NORM_LAYER,
               BIASES,
               SIZES (2, 64, 8, 0, 250880),
               .position = MODEL_POSITION_ALIBI,
               .embedding_norm = TRUE,
               .tied_embeddings = TRUE },
    .keys = { KEYS_OF_SIZES ("n_layer", "hidden_size", "n_head"), KEY ("n_embed", d_model, SIZE),
              KEY ("num_hidden_layers", n_layers, SIZE), KEY ("num_attention_heads", n_heads, SIZE),
              KEY ("seq_length", longest, COUNT) } },
  /* llm-foundry's; Transformers reads those of its checkpoints, which have ALiBi and no biases */
  { .names = "mpt",
    .architectures = "Mpt MPT",
    .shape = { SIZES (24, 2048, 16, 0, 50368), .norm = MODEL_NORM_LAYER_UNBIASED,
               .position = MODEL_POSITION_ALIBI, .max_positions = 2048, .tied_embeddings = TRUE },
    .keys = { KEYS_OF_SIZES ("n_layers", "d_model", "n_heads"),
              KEY ("max_seq_len", max_positions, SIZE),
              KEY ("attn_config.kv_n_heads", n_kv_heads, COUNT),
              KEY_OF ("attn_config.qk_ln", qk_norm, norms_of_all) },
    .readers = { read_mpt } },
  { .names = "falcon RefinedWeb RefinedWebModel",
    .architectures = "Falcon RW",
    .shape = { SHAPE_NEOX, SIZES (32, 4544, 71, 0, 65024), .tied_embeddings = TRUE },
    .keys = { KEYS, KEY ("n_layer", n_layers, SIZE), KEY ("n_head", n_heads, SIZE),
              KEY ("n_embed", d_model, SIZE), KEY ("ffn_hidden_size", d_ff, COUNT),
              KEY ("n_head_kv", n_kv_heads, COUNT), KEY ("num_kv_heads", n_kv_heads, COUNT),
              KEYS_BIAS ("bias"), KEY_ACTIVATION ("activation") },
    .readers = { read_falcon } },
  { .names = "phi phi-msft",
    .architectures = "Phi",
    .shape = { SHAPE_NEOX, BIASES, SIZES (24, 2048, 32, 8192, 51200), .block = MODEL_BLOCK_PARALLEL,
               .head_bias = TRUE },
    .keys = { KEYS, KEY_MLP, KEY_KV_HEADS, KEY ("n_layer", n_layers, SIZE),
              KEY ("n_embd", d_model, SIZE), KEY ("n_head", n_heads, SIZE),
              KEY ("n_inner", d_ff, COUNT), KEY ("n_positions", longest, COUNT),
              KEY_ACTIVATION ("hidden_act"), KEY_OF ("qk_layernorm", qk_norm, norms_of_heads) } },
  { .names = "starcoder2",
    .architectures = "Starcoder2",
    .shape = { SHAPE_NEOX, BIASES, SIZES (30, 3072, 24, 12288, 49152), .n_kv_heads = 2,
               .tied_embeddings = TRUE },
    .keys = { KEYS, KEY_MLP, KEY_KV_HEADS, KEY_WINDOW, KEYS_BIAS ("use_bias"),
              KEY_ACTIVATION ("hidden_act") },
    .readers = { import_layer_types } },
  { .names = "persimmon",
    .architectures = "Persimmon",
    .shape = { SHAPE_NEOX, BIASES, SIZES (36, 4096, 64, 16384, 262144),
               .activation = MODEL_ACTIVATION_SQUARED_RELU, .qk_norm = MODEL_QK_NORM_HEAD },
    .keys = { KEYS, KEY_MLP, KEY_ACTIVATION ("hidden_act"),
              KEY_OF ("qk_layernorm", qk_norm, norms_of_heads) } },
  { .names = "stablelm stablelm_epoch",
    .architectures = "StableLm StableLM StableLMEpoch",
    .shape = { SIZES (32, 2560, 32, 6912, 50304), .norm = MODEL_NORM_LAYER,
               .position = MODEL_POSITION_ROTARY, .gated_mlp = TRUE, .n_kv_heads = 32 },
    .keys = { KEYS_LLAMA, KEY ("use_qkv_bias", attention_bias, FLAG),
              KEY_OF ("qk_layernorm", qk_norm, norms_of_each),
              KEY_OF ("use_parallel_residual", block, blocks_of_stablelm) } },
  { .names = "nemotron",
    .architectures = "Nemotron",
    .shape = { SIZES (32, 6144, 48, 24576, 256000), .norm = MODEL_NORM_LAYER,
               .position = MODEL_POSITION_ROTARY, .activation = MODEL_ACTIVATION_SQUARED_RELU },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY ("mlp_bias", mlp_bias, FLAG),
              KEY_ACTIVATION ("hidden_act") } },
  { .names = "cohere",
    .architectures = "Cohere",
    .shape = { SHAPE_COHERE },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_OF ("use_qk_norm", qk_norm, norms_of_each) } },
  { .names = "cohere2",
    .architectures = "Cohere2",
    .shape = { SHAPE_COHERE, .sliding_window = 4096, .sliding_period = 4 },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS, KEY_WINDOW },
    .readers = { import_window_pattern, import_layer_types } },
  { .names = "olmo hf_olmo",
    .architectures = "Olmo OLMo",
    .shape = { SIZES (32, 4096, 32, 11008, 50304), .norm = MODEL_NORM_LAYER_PLAIN,
               .position = MODEL_POSITION_ROTARY, .gated_mlp = TRUE },
    .keys = { KEYS_LLAMA, KEYS_ATTENTION_BIAS } },
  { 0 },
};
