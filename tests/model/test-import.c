/*
 * config.json files and model options: what each family takes from them, what is refused, with
 * which words and where. Whole messages are compared; how diagnostics are printed is tested in
 * base.
 */
#include <glib/gstdio.h>

#include "../suite.h"
#include "fixture.h"
#include "model/shape/family-private.h"

typedef struct
{
  char *folder, *file;
} Temporary;

static Temporary
write_config (const char *text)
{
  Temporary temporary = { .folder = g_dir_make_tmp ("shardsim-model-XXXXXX", NULL) };

  temporary.file = g_build_filename (temporary.folder, "config.json", NULL);
  ck_assert (g_file_set_contents (temporary.file, text, -1, NULL));
  return temporary;
}

static void
remove_config (Temporary *temporary)
{
  g_remove (temporary->file);
  g_rmdir (temporary->folder);
  g_free (temporary->file);
  g_free (temporary->folder);
}

static ModelShape
import (const char *text)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Temporary            temporary = write_config (text);
  ModelShape           shape;
  gboolean             ok = model_import (temporary.file, &shape, diags);

  ck_assert_msg (ok, "%s", diag_list_first_message (diags));
  remove_config (&temporary);
  return shape;
}

/* Fails unless TEXT is refused with EXPECTED, lines "line:column: message" joined by "|". */
static void
assert_refused (const char *text, const char *expected)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GString)  got = g_string_new (NULL);
  Temporary            temporary = write_config (text);
  ModelShape           shape;
  g_autofree char     *printed = NULL;
  g_auto (GStrv)       lines = NULL;

  ck_assert (!model_import (temporary.file, &shape, diags));
  ck_assert_ptr_null (shape.name);
  printed = diag_list_format (diags, FALSE);
  lines = g_strsplit (printed, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (g_str_has_prefix (lines[i], temporary.file))
      {
        g_auto (GStrv) parts = g_strsplit (lines[i] + strlen (temporary.file) + 1, " error: ", 2);
        g_string_append_printf (got, "%s%s %s", got->len > 0 ? "|" : "", parts[0], parts[1]);
      }
  ck_assert_str_eq (got->str, expected);
  remove_config (&temporary);
}

#define LLAMA_BODY                                                              \
  "\"num_hidden_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 4, " \
  "\"vocab_size\": 100, \"intermediate_size\": 128"

START_TEST (test_defaults)
{
  ModelShape shape =
      import ("{\"model_type\": \"llama\", " LLAMA_BODY ", \"unknown\": {\"deep\": [1, 2]}}");

  ck_assert_int_eq (shape.n_kv_heads, 4);
  ck_assert_int_eq (shape.head_dim, 16);
  ck_assert (!shape.tied_embeddings && !shape.attention_bias && shape.gated_mlp);
  ck_assert_int_eq (shape.norm, MODEL_NORM_RMS);
  ck_assert_int_eq (shape.position, MODEL_POSITION_ROTARY);
  ck_assert_str_eq (shape.family, "llama");
  model_shape_clear (&shape);

  shape = import ("{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_embd\": 64, \"n_head\": 4, "
                  "\"n_positions\": 32, \"vocab_size\": 100, \"n_inner\": null}");
  ck_assert_int_eq (shape.d_ff, 256);
  ck_assert_int_eq (shape.max_positions, 32);
  ck_assert (shape.tied_embeddings && shape.attention_bias && !shape.gated_mlp);
  model_shape_clear (&shape);
}
END_TEST

START_TEST (test_keys_of_families)
{
  ModelShape shape = import (
      "{\"architectures\": [\"LlamaForCausalLM\"], \"head_dim\": 32, \"num_key_value_heads\": 2,"
      " \"attention_bias\": true, \"mlp_bias\": true, \"tie_word_embeddings\": true, " LLAMA_BODY
      "}");

  ck_assert_int_eq (shape.head_dim, 32);
  ck_assert_int_eq (shape.n_kv_heads, 2);
  ck_assert (shape.attention_bias && shape.output_bias && shape.mlp_bias && shape.tied_embeddings);
  model_shape_clear (&shape);

  shape = import ("{\"model_type\": \"qwen2\", \"num_key_value_heads\": 2, " LLAMA_BODY "}");
  ck_assert (shape.attention_bias && !shape.output_bias);
  model_shape_clear (&shape);

  shape = import ("{\"model_type\": \"qwen3\", \"num_key_value_heads\": 2, " LLAMA_BODY "}");
  ck_assert (shape.qk_norm);
  ck_assert_int_eq (shape.head_dim, 128);
  model_shape_clear (&shape);

  shape = import (
      "{\"model_type\": \"qwen3_moe\", \"num_key_value_heads\": 2, \"num_experts\": 8, "
      "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 16, \"decoder_sparse_step\": 2, "
      "\"mlp_only_layers\": [0, 1], " LLAMA_BODY "}");
  ck_assert_int_eq (shape.moe_period, 1);
  ck_assert_int_eq (shape.first_dense_layers, 2);
  ck_assert_int_eq (shape.d_expert, 16);
  model_shape_clear (&shape);

  /*
   * the published shape of OPT-350m: 331 196 416 parameters, narrow embedding, norms after the
   * blocks
   */
  shape = import ("{\"model_type\": \"opt\", \"num_hidden_layers\": 24, \"hidden_size\": 1024, "
                  "\"num_attention_heads\": 16, \"ffn_dim\": 4096, \"vocab_size\": 50272, "
                  "\"max_position_embeddings\": 2048, \"word_embed_proj_dim\": 512, "
                  "\"do_layer_norm_before\": false}");
  ck_assert_int_eq (shape.embed_dim, 512);
  ck_assert_int_eq (shape.max_positions, 2050);
  TrainingOptions      options = training (16, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  ck_assert_uint_eq (workload_n_parameters (workload), 331196416);
  model_shape_clear (&shape);
}
END_TEST

START_TEST (test_windows)
{
  ModelShape shape = import ("{\"model_type\": \"mistral\", \"num_key_value_heads\": 2, "
                             "\"sliding_window\": 32, " LLAMA_BODY "}");

  ck_assert_int_eq (shape.sliding_window, 32);
  ck_assert_int_eq (shape.sliding_period, 0);
  model_shape_clear (&shape);
  shape = import ("{\"model_type\": \"mistral\", \"num_key_value_heads\": 2, "
                  "\"sliding_window\": null, " LLAMA_BODY "}");
  ck_assert_int_eq (shape.sliding_window, 0);
  model_shape_clear (&shape);
  shape = import ("{\"model_type\": \"qwen2\", \"num_key_value_heads\": 2, \"sliding_window\": 32,"
                  " \"use_sliding_window\": false, \"max_window_layers\": 1, " LLAMA_BODY "}");
  ck_assert_int_eq (shape.sliding_window, 0);
  model_shape_clear (&shape);
  shape =
      import ("{\"model_type\": \"mistral\", \"num_key_value_heads\": 2, \"sliding_window\": 32,"
              " \"layer_types\": [\"sliding_attention\", \"full_attention\"], " LLAMA_BODY "}");
  ck_assert_int_eq (shape.sliding_period, 2);
  model_shape_clear (&shape);
  shape =
      import ("{\"model_type\": \"mistral\", \"num_key_value_heads\": 2, \"sliding_window\": 32,"
              " \"layer_types\": [\"full_attention\", \"full_attention\"], " LLAMA_BODY "}");
  ck_assert_int_eq (shape.sliding_window, 0);
  model_shape_clear (&shape);
  shape = shipped ("gpt-oss-120b");
  ck_assert_int_eq (shape.sliding_window, 128);
  ck_assert_int_eq (shape.sliding_period, 2);
  model_shape_clear (&shape);
}
END_TEST

/* The mixer and the feed-forward half of layers that follow no rule, a letter each. */
static void
assert_layers (const char *text, const char *mixers, const char *feeds)
{
  ModelShape shape = import (text);

  for (gint64 i = 0; i < shape.n_layers; i++)
    {
      ModelLayer layer = model_layer (&shape, i);

      ck_assert_int_eq (layer.mixer, mixers[i] == 'w' ? MODEL_MIXER_WINDOW : MODEL_MIXER_ATTENTION);
      ck_assert_int_eq (layer.feed, feeds[i] == 'e' ? MODEL_FEED_EXPERTS : MODEL_FEED_DENSE);
    }
  model_shape_clear (&shape);
}

#define LAYERS(n)                                                                   \
  "\"num_hidden_layers\": " n ", \"hidden_size\": 64, \"num_attention_heads\": 4, " \
  "\"vocab_size\": 100, \"intermediate_size\": 128, \"num_key_value_heads\": 2, "
#define EXPERTS "\"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 16, "

START_TEST (test_layers_by_themselves)
{
  assert_layers ("{\"model_type\": \"qwen3_moe\", " LAYERS ("4") EXPERTS
                 "\"mlp_only_layers\": [1, 3, 17]}",
                 "aaaa", "eded");
  assert_layers ("{\"model_type\": \"mistral\", " LAYERS (
                     "4") "\"layer_types\": "
                          "[\"full_attention\", \"sliding_attention\", \"sliding_attention\", "
                          "\"full_attention\"]}",
                 "awwa", "dddd");
  assert_layers ("{\"model_type\": \"qwen2\", " LAYERS (
                     "3") "\"use_sliding_window\": true, \"max_window_layers\": 1}",
                 "aww", "ddd");
  assert_layers ("{\"model_type\": \"deepseek_v3\", " LAYERS (
                     "6") "\"first_k_dense_replace\": 1, \"moe_layer_freq\": 2}",
                 "aaaaaa", "ddeded");
  assert_layers ("{\"model_type\": \"deepseek\", " LAYERS (
                     "4") "\"n_routed_experts\": 8, \"num_experts_per_tok\": 2, "
                          "\"moe_layer_freq\": [0, 1, 0, 1]}",
                 "aaaa", "dede");
  assert_layers ("{\"model_type\": \"gemma3_text\", " LAYERS ("7") "\"sliding_window\": 16}",
                 "wwwwwaw", "ddddddd");
  assert_layers ("{\"model_type\": \"gpt_neo\", \"num_layers\": 4, \"hidden_size\": 64, "
                 "\"num_heads\": 4, \"attention_types\": [[[\"global\", \"local\"], 1], "
                 "[[\"local\"], 2]]}",
                 "awww", "dddd");
  assert_layers (
      "{\"model_type\": \"llama4_text\", " LAYERS ("8") "\"interleave_moe_layer_step\": 2}",
      "wwwawwwa", "dededede");
}
END_TEST

START_TEST (test_nested_text_config)
{
  ModelShape shape = import (
      "{\"model_type\": \"llava\", \"text_config\": {\"model_type\": \"llama\", " LLAMA_BODY "}}");

  ck_assert_int_eq (shape.d_model, 64);
  model_shape_clear (&shape);
}
END_TEST

typedef struct
{
  const char *text, *expected;
} Refused;

static const Refused refused[] = {
  { "{\"model_type\": \"nothing\"}", "1:16: unsupported model family 'nothing'" },
  { "{\"architectures\": [\"NothingForCausalLM\"]}",
    "1:20: unsupported model family 'NothingForCausalLM'" },
  { "{\"model_type\": \"rwkv\"}",
    "1:16: 'rwkv' has RWKV's recurrent layers, which are not simulated" },
  { "{\"architectures\": [\"Zamba2ForCausalLM\"]}",
    "1:20: 'Zamba2ForCausalLM' has blocks whose weights several layers share, with adapters, which "
    "are not simulated" },
  { "{\"architectures\": [\"Qwen3NovelForCausalLM\"]}",
    "1:20: unsupported model family 'Qwen3NovelForCausalLM'" },
  { "{\"model_type\": \"albert\"}",
    "1:16: 'albert' has an encoder whose layers share their weights, and no loss over next tokens, "
    "which are not simulated" },
  { "{\"model_type\": \"gpt_neo\", \"num_layers\": 4, \"hidden_size\": 64, \"num_heads\": 4, "
    "\"vocab_size\": 100, \"max_position_embeddings\": 64, \"attention_types\": [[], [2]]}",
    "1:148: 'attention_types' does not say 4 layers" },
  { "{\"hidden_size\": 64}", "1:1: missing key 'model_type'" },
  { "{\"architectures\": []}", "1:1: missing key 'model_type'" },
  { "{\"model_type\": [1]}", "1:16: expected a value, got a list" },
  { "[1]", "1:1: expected a map, got a list" },
  { "{\"model_type\": \"llava\", \"text_config\": 3}", "1:40: expected a map, got a value" },
  /* all errors in one pass */
  { "{\"model_type\": \"llama\",\n \"num_hidden_layers\": 0,\n \"hidden_size\": 2.5,\n"
    " \"num_attention_heads\": \"four\"}",
    "2:23: expected a positive integer for 'num_hidden_layers', got '0'|3:17: expected a positive "
    "integer for 'hidden_size', got '2.5'|4:25: expected a positive integer for "
    "'num_attention_heads', got 'four'" },
  { "{\"model_type\": \"llama\", \"tie_word_embeddings\": 1, " LLAMA_BODY "}",
    "1:48: expected true or false for 'tie_word_embeddings', got '1'" },
  { "{\"model_type\": \"llama\", \"num_key_value_heads\": {}, " LLAMA_BODY "}",
    "1:48: expected a value, got a map" },
  { "{\"model_type\": \"llama\", \"num_key_value_heads\": 3, " LLAMA_BODY "}",
    "1:1: 4 heads do not divide into 3 key-value heads" },
  { "{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"hidden_size\": 65, "
    "\"num_attention_heads\": 4, \"vocab_size\": 100, \"intermediate_size\": 128}",
    "1:91: 4 heads do not divide the width 65" },
  { "{\"model_type\": \"llama\", \"num_hidden_layers\": null, \"hidden_size\": 65, "
    "\"num_attention_heads\": 4, \"vocab_size\": 100, \"intermediate_size\": 128}",
    "1:46: expected a positive integer for 'num_hidden_layers', got 'null'" },
  { "{\"model_type\": \"llama\", \"num_hidden_layers\": 1000000, \"hidden_size\": 64, "
    "\"num_attention_heads\": 4, \"vocab_size\": 100, \"intermediate_size\": 128}",
    "1:1: 'n_layers' is 1000000, expected 1 to 100000" },
  { "{\"model_type\": \"llama\", \"num_hidden_layers\": 100000, \"hidden_size\": 4194304, "
    "\"num_attention_heads\": 64, \"vocab_size\": 100, \"intermediate_size\": 128}",
    "1:1: the model has more than 1e15 parameters" },
  { "{\"model_type\": \"mixtral\", \"num_key_value_heads\": 4, \"sliding_window\": null, "
    "\"num_local_experts\": 2, \"num_experts_per_tok\": 3, " LLAMA_BODY "}",
    "1:1: 3 experts a token, but there are 2" },
  { "{\"model_type\": \"mistral\", \"num_key_value_heads\": 2, \"sliding_window\": 32, "
    "\"layer_types\": [\"full_attention\"], " LLAMA_BODY "}",
    "1:90: 'layer_types' has 1 entries for 2 layers" },
  { "{\"model_type\": \"mistral\", \"num_key_value_heads\": 2, \"sliding_window\": 32, "
    "\"layer_types\": [\"full_attention\", \"linear_attention\"], " LLAMA_BODY "}",
    "1:109: unsupported layer type 'linear_attention'" },
};

START_TEST (test_refused)
{
  assert_refused (refused[_i].text, refused[_i].expected);
}
END_TEST

/* What a file leaves out is as Transformers has it; sizes that are taken so are said. */
START_TEST (test_defaults_of_families)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Temporary  temporary = write_config ("{\"model_type\": \"mistral\", \"num_hidden_layers\": 2}");
  ModelShape shape;

  ck_assert (model_import (temporary.file, &shape, diags));
  ck_assert_int_eq (shape.n_layers, 2);
  ck_assert_int_eq (shape.n_kv_heads, 8);
  ck_assert_int_eq (shape.sliding_window, 4096);
  ck_assert_str_eq (diag_list_first_message (diags),
                    "keys that are not given have the defaults of Transformers: hidden_size 4096, "
                    "num_attention_heads 32, vocab_size 32000, intermediate_size 14336");
  model_shape_clear (&shape);
  remove_config (&temporary);
}
END_TEST

/* The hint of an unknown family names the nearest one, and the way to give a shape. */
START_TEST (test_unknown_family)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Temporary            temporary = write_config ("{\"model_type\": \"Mistrall\"}");
  ModelShape           shape;
  g_autofree char     *printed = NULL;

  ck_assert (!model_import (temporary.file, &shape, diags));
  printed = diag_list_format (diags, FALSE);
  ck_assert_ptr_nonnull (strstr (printed, "did you mean 'mistral'?; any shape can be given by "
                                          "'--arch llama --n-layers ... --d-model ...'"));
  remove_config (&temporary);
}
END_TEST

static void
assert_unresolved (const ModelOptions *options, const char *message)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelShape           shape;

  ck_assert (!model_resolve (options, NULL, NULL, &shape, NULL, diags));
  ck_assert_str_eq (diag_list_first_message (diags), message);
  ck_assert_ptr_null (shape.name);
}

/* A file's model with other blocks says so; as many as the file has change nothing. */
START_TEST (test_depth)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelOptions         options = { .config = (char *) "llama-3-8b", .n_layers = 3 };
  ModelShape           shape;

  ck_assert (model_resolve (&options, NULL, NULL, &shape, NULL, diags));
  ck_assert_int_eq (shape.n_layers, 3);
  ck_assert_int_eq (shape.d_model, 4096);
  ck_assert_str_eq (shape.name, "llama-3-8b, 3 layers");
  model_shape_clear (&shape);
  options.n_layers = 32;
  ck_assert (model_resolve (&options, NULL, NULL, &shape, NULL, diags));
  ck_assert_str_eq (shape.name, "llama-3-8b");
  model_shape_clear (&shape);
  ck_assert (diag_list_is_empty (diags));
}
END_TEST

START_TEST (test_bad_options)
{
  assert_unresolved (&(ModelOptions){ 0 }, "a model needs 'config' or 'arch'");
  assert_unresolved (&(ModelOptions){ .config = (char *) "llama-3-8b", .arch = (char *) "gpt" },
                     "a model has either 'config' or 'arch', not both");
  assert_unresolved (&(ModelOptions){ .config = (char *) "llama-3-8b", .d_model = 3 },
                     "'d_model' cannot be given beside 'config'");
  assert_unresolved (&(ModelOptions){ .config = (char *) "llama-9" },
                     "no model 'llama-9': neither a file nor a shipped model");
  assert_unresolved (
      &(ModelOptions){
          .arch = (char *) "lama", .n_layers = 1, .d_model = 8, .n_heads = 1, .vocab = 9 },
      "unknown architecture 'lama'");
  assert_unresolved (
      &(ModelOptions){ .arch = (char *) "gpt", .d_model = 8, .n_heads = 1, .vocab = 9 },
      "'n_layers' is missing: a model given by 'arch' needs it");
  assert_unresolved (
      &(ModelOptions){
          .arch = (char *) "llama", .n_layers = 1, .d_model = 8, .n_heads = 1, .vocab = 9 },
      "'d_ff' is missing: a model given by 'arch' needs it");
  assert_unresolved (
      &(ModelOptions){
          .arch = (char *) "gpt", .n_layers = 1, .d_model = 8, .n_heads = 3, .vocab = 9 },
      "3 heads do not divide the width 8");
  assert_unresolved (&(ModelOptions){ .arch = (char *) "gpt",
                                      .n_layers = 1,
                                      .d_model = 8,
                                      .n_heads = 4,
                                      .n_kv_heads = 3,
                                      .vocab = 9 },
                     "4 heads do not divide into 3 key-value heads");
  assert_unresolved (&(ModelOptions){ .arch = (char *) "gpt",
                                      .n_layers = 1,
                                      .d_model = 8,
                                      .n_heads = 4,
                                      .vocab = 9,
                                      .d_expert = 3 },
                     "'d_expert' is given, but not 'n_experts'");
  assert_unresolved (&(ModelOptions){ .arch = (char *) "bloom",
                                      .n_layers = 1,
                                      .d_model = 8,
                                      .n_heads = 4,
                                      .vocab = 9,
                                      .max_positions = 3 },
                     "'max_positions' has no meaning for 'bloom', which has no position table");
}
END_TEST

START_TEST (test_where_configs_are_found)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Temporary            temporary = write_config ("{\"model_type\": \"llama\", " LLAMA_BODY "}");
  g_autofree char     *base = g_path_get_basename (temporary.folder);
  ModelOptions         beside = { .config = (char *) "config.json", .name = (char *) "mine" };
  ModelOptions         any_case = { .config = (char *) "Llama-3-8B" };
  ModelShape           shape, copy;

  ck_assert (model_resolve (&beside, temporary.folder, NULL, &shape, NULL, diags));
  ck_assert_str_eq (shape.name, "mine");
  model_shape_clear (&shape);
  beside.name = NULL;
  ck_assert (model_resolve (&beside, temporary.folder, NULL, &shape, NULL, diags));
  ck_assert_str_eq (shape.name, base); /* a config.json is called by its folder */
  model_shape_copy (&shape, &copy);
  model_shape_clear (&shape);
  ck_assert_str_eq (copy.family, "llama");
  model_shape_clear (&copy);
  ck_assert (model_resolve (&any_case, temporary.folder, NULL, &shape, NULL, diags));
  ck_assert_str_eq (shape.name, "llama-3-8b");
  ck_assert_int_eq (shape.d_model, 4096);
  model_shape_clear (&shape);
  ck_assert_uint_eq (diag_list_n_errors (diags), 0);
  remove_config (&temporary);
}
END_TEST

/* Options of a table row: ALiBi or a table for mpt; experts in any architecture. */
START_TEST (test_arch_options)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelOptions         options = {
            .arch = (char *) "mpt", .n_layers = 1, .d_model = 8, .n_heads = 2, .vocab = 9
  };
  ModelShape shape;

  ck_assert (model_resolve (&options, NULL, NULL, &shape, NULL, diags));
  ck_assert_int_eq (shape.position, MODEL_POSITION_ALIBI);
  ck_assert_int_eq (shape.d_ff, 32);
  model_shape_clear (&shape);
  options.max_positions = 64;
  ck_assert (model_resolve (&options, NULL, NULL, &shape, NULL, diags));
  ck_assert_int_eq (shape.position, MODEL_POSITION_LEARNED);
  ck_assert_int_eq (shape.max_positions, 64);
  model_shape_clear (&shape);
  options = (ModelOptions){ .arch = (char *) "llama",
                            .n_layers = 1,
                            .d_model = 8,
                            .n_heads = 2,
                            .vocab = 9,
                            .d_ff = 20,
                            .n_experts = 4,
                            .n_experts_per_token = 2 };
  ck_assert (model_resolve (&options, NULL, NULL, &shape, NULL, diags));
  ck_assert_int_eq (shape.d_expert, 20);
  model_shape_clear (&shape);
}
END_TEST

/*
 * Of 4 layers of width 64 the first has an MLP of 128, the others 8 experts of 32 and a shared one.
 * Embedding and head 128 000, last norm 64; a layer's attention and norms 16 384 + 128; MLP 24 576;
 * router 512, experts 49 152, shared 6 144: 386 112 parameters.
 */
START_TEST (test_shared_and_dense)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelShape           shape;
  ModelOptions         options = { .arch = (char *) "llama",
                                   .n_layers = 4,
                                   .d_model = 64,
                                   .n_heads = 4,
                                   .d_ff = 128,
                                   .vocab = 1000,
                                   .n_experts = 8,
                                   .n_experts_per_token = 2,
                                   .d_expert = 32,
                                   .n_shared_experts = 1,
                                   .first_dense_layers = 1 };
  TrainingOptions      training_ = training (128, 1);

  ck_assert (model_resolve (&options, NULL, NULL, &shape, NULL, diags));
  g_autoptr (Workload) workload = workload_new (&shape, &training_);
  ck_assert_uint_eq (workload_n_parameters (workload), 386112);
  model_shape_clear (&shape);
  options.first_dense_layers = 4;
  assert_unresolved (&options, "4 leading dense layers of 4 leave none with experts");
  options.n_experts = options.n_experts_per_token = options.d_expert = 0;
  assert_unresolved (&options, "'n_shared_experts' is given, but not 'n_experts'");
  options.n_shared_experts = 0;
  assert_unresolved (&options, "'first_dense_layers' is given, but not 'n_experts'");
}
END_TEST

START_TEST (test_sequence_beyond_positions)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelShape           shape = shipped ("gpt2-xl"), rotary = shipped ("llama-3-8b");
  TrainingOptions      options = training (1024, 1);

  ck_assert (workload_check (&shape, &options, NULL, diags));
  options.seq_len = 1025;
  ck_assert (workload_check (&rotary, &options, NULL, diags));
  ck_assert (!workload_check (&shape, &options, NULL, diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "sequences of 1025 tokens, but 'gpt2-xl' has 1024 positions");
  model_shape_clear (&shape);
  model_shape_clear (&rotary);
}
END_TEST

/* The largest micro-step that passes and the next one lie on both sides of 2^60 bytes. */
START_TEST (test_activations_beyond_counting)
{
  ModelShape      shape = shipped ("llama-3-8b");
  TrainingOptions options = training (1 << 24, 1);
  gint64          low = 1, high = 1 << 20;

  while (high - low > 1)
    {
      g_autoptr (DiagList) diags = diag_list_new ();

      options.micro_batch = (low + high) / 2;
      if (workload_check (&shape, &options, NULL, diags))
        low = options.micro_batch;
      else
        {
          high = options.micro_batch;
          ck_assert_ptr_nonnull (strstr (diag_list_first_message (diags), "more than 2^60 bytes"));
        }
    }
  for (guint beyond = 0; beyond < 2; beyond++)
    {
      g_autoptr (Workload) workload = NULL;
      double               saved = 0, transient = 0;

      options.micro_batch = beyond ? high : low;
      workload = workload_new (&shape, &options);
      for (guint i = 0; i < workload_n_layers (workload); i++)
        {
          const LayerDesc *l = workload_layer (workload, i);

          saved += (double) l->saved_bytes;
          transient = MAX (transient, (double) (l->working_bytes + l->backward_bytes));
        }
      ck_assert ((saved + transient > 0x1p60) == (beyond == 1));
    }
  model_shape_clear (&shape);
}
END_TEST

START_TEST (test_training_options)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  TrainingOptions      options = { 0 };

  option_table_defaults (training_options, &options);
  ck_assert (option_set_key (training_options, &options, "seq_len", "4k", NULL, diags));
  ck_assert (option_set_key (training_options, &options, "activation_checkpointing", "selective",
                             NULL, diags));
  ck_assert (
      option_set_key (training_options, &options, "attention", "fused-softmax", NULL, diags));
  ck_assert (option_set_key (training_options, &options, "flops_convention", "6n", NULL, diags));
  ck_assert_int_eq (options.seq_len, 4000);
  ck_assert_int_eq (options.micro_batch, 1);
  ck_assert_int_eq (options.checkpointing, CHECKPOINT_SELECTIVE);
  ck_assert_int_eq (options.attention, ATTENTION_FUSED_SOFTMAX);
  ck_assert_int_eq (options.reduce_dtype, REDUCE_AUTO);
  ck_assert_int_eq (options.flops, FLOPS_6N);
  ck_assert (options.causal && options.clip_gradients && !options.compile && !options.fused_norm);
  ck_assert_uint_eq (training_compute_bytes (&options), 2);
  ck_assert_uint_eq (training_tokens (&options), 4000);
  ck_assert (!option_set_key (training_options, &options, "seq_len", "0", NULL, diags));
  option_table_clear (training_options, &options);
}
END_TEST

/* Numbers of a numbered choice: read, printed as they were, and refused where they are none. */
START_TEST (test_every_kth_option)
{
  static const char *const bad[] = { "layers:0",  "layers:",    "layers:K",
                                     "layers:-2", "layers:2.5", "layers" };
  g_autoptr (DiagList)     diags = diag_list_new ();
  const OptionSpec        *spec = option_table_find (training_options, "activation_checkpointing");
  TrainingOptions          options = { 0 };

  for (gint k = 1; k <= 100; k += 33)
    {
      g_autofree char *text = g_strdup_printf ("layers:%d", k), *back = NULL;

      ck_assert (option_set (spec, &options, text, NULL, diags));
      ck_assert_int_eq (options.checkpointing, CHECKPOINT_LAYERS + k);
      back = option_format (spec, &options);
      ck_assert_str_eq (back, text);
    }
  ck_assert (option_set (spec, &options, "selective-layer", NULL, diags));
  ck_assert_int_eq (options.checkpointing, CHECKPOINT_SELECTIVE_LAYER);
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    ck_assert_msg (!option_set (spec, &options, bad[i], NULL, diags), "%s", bad[i]);
  ck_assert_int_eq (options.checkpointing, CHECKPOINT_SELECTIVE_LAYER);
}
END_TEST

SUITE_MAIN (import)
{
  TCase *tcase = tcase_create ("import");

  tcase_add_test (tcase, test_defaults);
  tcase_add_test (tcase, test_keys_of_families);
  tcase_add_test (tcase, test_windows);
  tcase_add_test (tcase, test_layers_by_themselves);
  tcase_add_test (tcase, test_nested_text_config);
  tcase_add_loop_test (tcase, test_refused, 0, G_N_ELEMENTS (refused));
  tcase_add_test (tcase, test_defaults_of_families);
  tcase_add_test (tcase, test_unknown_family);
  tcase_add_test (tcase, test_depth);
  tcase_add_test (tcase, test_bad_options);
  tcase_add_test (tcase, test_where_configs_are_found);
  tcase_add_test (tcase, test_arch_options);
  tcase_add_test (tcase, test_shared_and_dense);
  tcase_add_test (tcase, test_sequence_beyond_positions);
  tcase_add_test (tcase, test_activations_beyond_counting);
  tcase_add_test (tcase, test_training_options);
  tcase_add_test (tcase, test_every_kth_option);
  return run_case ("model-import", tcase);
}
