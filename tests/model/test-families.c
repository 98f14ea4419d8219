/*
 * Families of config.json: of each a model with a published number of parameters, counted to the
 * parameter (where only a rounded one is published, by arithmetic over the tensors of its reference
 * implementation, done apart from the program), and the table of docs/models.md, which is that of
 * the program. UPDATE_GOLDEN=1 writes the table. What a family's kernels take is tested where its
 * blocks are. Totals that are 'looked up' stand in public listings, code or logs as what is in that
 * checkpoint; others said to be of 'safetensors' or of a model card are quoted from memory.
 */
#include <glib/gstdio.h>

#include "../suite.h"
#include "base/config/csv.h"
#include "base/file/layout.h"
#include "fixture.h"
#include "model/family/families.h"
#include "model/family/model-names.h"
#include "model/layer/flops.h"
#include "model/shape/family-private.h"

static ModelShape
import (const char *text)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *file = NULL;
  gint                 fd = g_file_open_tmp ("family-XXXXXX.json", &file, NULL);
  ModelShape           shape;
  gboolean             ok;

  ck_assert_int_ge (fd, 0);
  ck_assert (g_close (fd, NULL));
  ck_assert (g_file_set_contents (file, text, -1, NULL));
  ok = model_import (file, &shape, diags);
  g_unlink (file);
  ck_assert_msg (ok, "%s: %s", text, diag_list_first_message (diags));
  return shape;
}

typedef struct
{
  const char *family, *model, *keys;
  guint64     parameters;
  const char *source; /* of the number: what the Hub counts in the checkpoint, or the model card */
} Published;

static const Published published[] = {
  { "gpt2", "gpt2",
    "'n_layer': 12, 'n_embd': 768, 'n_head': 12, 'n_positions': 1024, "
    "'vocab_size': 50257",
    124439808UL, "model card" },
  { "gpt_bigcode", "starcoderbase-1b",
    "'n_layer': 24, 'n_embd': 2048, 'n_head': 16, 'n_positions': 8192, "
    "'vocab_size': 49152, 'n_inner': 8192, 'multi_query': true",
    1137207296UL, "safetensors, looked up" },
  { "gpt_neo", "gpt-neo-1.3B",
    "'num_layers': 24, 'hidden_size': 2048, 'num_heads': 16, "
    "'vocab_size': 50257, 'max_position_embeddings': 2048, "
    "'attention_types': [[['global', 'local'], 12]], 'window_size': 256, "
    "'intermediate_size': null",
    1315575808UL, "safetensors, looked up" },
  { "gptj", "gpt-j-6b",
    "'n_layer': 28, 'n_embd': 4096, 'n_head': 16, 'vocab_size': 50400, "
    "'rotary_dim': 64, 'n_inner': null, 'tie_word_embeddings': false",
    6050882784UL, "safetensors, looked up" },
  { "codegen", "codegen-350M",
    "'n_layer': 20, 'n_embd': 1024, 'n_head': 16, 'vocab_size': 51200, "
    "'tie_word_embeddings': false",
    356712448UL, "safetensors" },
  { "gpt_neox", "pythia-6.9b",
    "'num_hidden_layers': 32, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'intermediate_size': 16384, "
    "'vocab_size': 50432, 'use_parallel_residual': true",
    6857302016UL, "EleutherAI/pythia" },
  { "gpt_neox", "gpt-neox-20b",
    "'num_hidden_layers': 44, 'hidden_size': 6144, "
    "'num_attention_heads': 64, 'intermediate_size': 24576, "
    "'vocab_size': 50432",
    20554567680UL, "model card" },
  { "bloom", "bloom-7b1",
    "'n_layer': 30, 'hidden_size': 4096, 'num_attention_heads': 32, "
    "'vocab_size': 250880",
    7069016064UL, "model card" },
  { "mpt", "mpt-7b",
    "'n_layers': 32, 'd_model': 4096, 'n_heads': 32, 'expansion_ratio': 4, "
    "'max_seq_len': 2048, 'vocab_size': 50432, 'no_bias': true, "
    "'attn_config': {'alibi': true}",
    6649286656UL, "safetensors" },
  { "falcon", "falcon-7b",
    "'num_hidden_layers': 32, 'hidden_size': 4544, "
    "'num_attention_heads': 71, 'vocab_size': 65024, 'multi_query': true, "
    "'parallel_attn': true, 'bias': false",
    6921720704UL, "safetensors, the head tied" },
  { "falcon", "falcon-40b",
    "'num_hidden_layers': 60, 'hidden_size': 8192, "
    "'num_attention_heads': 128, 'num_kv_heads': 8, 'vocab_size': 65024, "
    "'new_decoder_architecture': true, 'bias': false",
    41303293952UL, "safetensors, the head tied" },
  { "falcon", "falcon-rw-1b",
    "'num_hidden_layers': 24, 'hidden_size': 2048, "
    "'num_attention_heads': 32, 'vocab_size': 50304, 'multi_query': false, "
    "'parallel_attn': false, 'alibi': true, 'bias': true",
    1311625216UL, "safetensors" },
  { "phi", "phi-2",
    "'num_hidden_layers': 32, 'hidden_size': 2560, "
    "'num_attention_heads': 32, 'intermediate_size': 10240, "
    "'vocab_size': 51200",
    2779683840UL, "safetensors, looked up" },
  { "starcoder2", "starcoder2-3b",
    "'num_hidden_layers': 30, 'hidden_size': 3072, "
    "'num_attention_heads': 24, 'num_key_value_heads': 2, "
    "'intermediate_size': 12288, 'vocab_size': 49152, 'use_bias': true",
    3030371328UL, "safetensors" },
  { "persimmon", "persimmon-8b",
    "'num_hidden_layers': 36, 'hidden_size': 4096, "
    "'num_attention_heads': 64, 'intermediate_size': 16384, "
    "'vocab_size': 262144",
    9397175296UL, "arithmetic; model card: 9.4e9" },
  { "stablelm", "stablelm-3b-4e1t",
    "'num_hidden_layers': 32, 'hidden_size': 2560, "
    "'num_attention_heads': 32, 'num_key_value_heads': 32, "
    "'intermediate_size': 6912, 'vocab_size': 50304, 'use_qkv_bias': false",
    2795443200UL, "model card" },
  { "stablelm", "stablelm-2-1_6b",
    "'num_hidden_layers': 24, 'hidden_size': 2048, "
    "'num_attention_heads': 32, 'num_key_value_heads': 32, "
    "'intermediate_size': 5632, 'vocab_size': 100352, 'use_qkv_bias': true",
    1644515328UL, "safetensors, looked up" },
  { "stablelm", "stablelm-2-12b",
    "'num_hidden_layers': 40, 'hidden_size': 5120, "
    "'num_attention_heads': 32, 'num_key_value_heads': 8, "
    "'intermediate_size': 13824, 'vocab_size': 100352, "
    "'use_qkv_bias': false, 'qk_layernorm': true, "
    "'use_parallel_residual': true",
    12143185920UL, "safetensors" },
  { "cohere", "command-r",
    "'num_hidden_layers': 40, 'hidden_size': 8192, "
    "'num_attention_heads': 64, 'num_key_value_heads': 64, "
    "'intermediate_size': 22528, 'vocab_size': 256000",
    34980831232UL, "safetensors" },
  { "cohere", "command-r-plus",
    "'num_hidden_layers': 64, 'hidden_size': 12288, "
    "'num_attention_heads': 96, 'num_key_value_heads': 8, "
    "'intermediate_size': 33792, 'vocab_size': 256000, 'use_qk_norm': true",
    103810674688UL, "safetensors" },
  { "cohere2", "command-r7b",
    "'num_hidden_layers': 32, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'num_key_value_heads': 8, "
    "'intermediate_size': 14336, 'vocab_size': 256000",
    8028033024UL, "safetensors, looked up" },
  { "olmo", "OLMo-7B",
    "'num_hidden_layers': 32, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'intermediate_size': 11008, "
    "'vocab_size': 50304",
    6888095744UL, "safetensors, looked up" },
  { "qwen", "Qwen-7B",
    "'num_hidden_layers': 32, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'intermediate_size': 22016, "
    "'vocab_size': 151936, 'kv_channels': 128",
    7721324544UL, "safetensors, looked up" },
  { "baichuan", "Baichuan-7B",
    "'num_hidden_layers': 32, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'intermediate_size': 11008, "
    "'vocab_size': 64000, 'max_position_embeddings': 4096",
    7000559616UL, "model card" },
  { "baichuan", "Baichuan2-13B",
    "'num_hidden_layers': 40, 'hidden_size': 5120, "
    "'num_attention_heads': 40, 'intermediate_size': 13696, "
    "'vocab_size': 125696, 'model_max_length': 4096",
    13896668160UL, "model card" },
  { "internlm2", "internlm2-7b",
    "'num_hidden_layers': 32, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'num_key_value_heads': 8, "
    "'intermediate_size': 14336, 'vocab_size': 92544",
    7737708544UL, "safetensors, looked up" },
  { "phi3", "Phi-3-mini",
    "'num_hidden_layers': 32, 'hidden_size': 3072, "
    "'num_attention_heads': 32, 'num_key_value_heads': 32, "
    "'intermediate_size': 8192, 'vocab_size': 32064, 'sliding_window': 2047",
    3821079552UL, "safetensors, looked up" },
  { "phi3", "Phi-4-mini",
    "'num_hidden_layers': 32, 'hidden_size': 3072, "
    "'num_attention_heads': 24, 'num_key_value_heads': 8, "
    "'intermediate_size': 8192, 'vocab_size': 200064, "
    "'tie_word_embeddings': true",
    3836021760UL, "safetensors, looked up" },
  { "minicpm", "MiniCPM-2B",
    "'num_hidden_layers': 40, 'hidden_size': 2304, "
    "'num_attention_heads': 36, 'num_key_value_heads': 36, "
    "'intermediate_size': 5760, 'vocab_size': 122753",
    2724880896UL, "safetensors, looked up" },
  { "minicpm3", "MiniCPM3-4B",
    "'num_hidden_layers': 62, 'hidden_size': 2560, "
    "'num_attention_heads': 40, 'num_key_value_heads': 40, "
    "'intermediate_size': 6400, 'vocab_size': 73448, 'q_lora_rank': 768, "
    "'kv_lora_rank': 256, 'qk_nope_head_dim': 64, 'qk_rope_head_dim': 32, "
    "'v_head_dim': 64",
    4073875968UL, "arithmetic; safetensors: 4.07e9" },
  { "granite", "granite-3.1-8b",
    "'num_hidden_layers': 40, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'num_key_value_heads': 8, "
    "'intermediate_size': 12800, 'vocab_size': 49155, "
    "'tie_word_embeddings': true",
    8170848256UL, "safetensors" },
  { "granitemoe", "granite-3.1-1b-a400m",
    "'num_hidden_layers': 24, 'hidden_size': 1024, "
    "'num_attention_heads': 16, 'num_key_value_heads': 8, "
    "'intermediate_size': 512, 'vocab_size': 49155, 'num_local_experts': 32, "
    "'num_experts_per_tok': 8, 'tie_word_embeddings': true",
    1334628352UL, "safetensors, looked up" },
  { "smollm3", "SmolLM3-3B",
    "'num_hidden_layers': 36, 'hidden_size': 2048, "
    "'num_attention_heads': 16, 'num_key_value_heads': 4, "
    "'intermediate_size': 11008, 'vocab_size': 128256",
    3075098624UL, "safetensors, looked up" },
  { "exaone", "EXAONE-3.5-7.8B",
    "'num_layers': 32, 'hidden_size': 4096, 'num_attention_heads': 32, "
    "'num_key_value_heads': 8, 'intermediate_size': 14336, "
    "'vocab_size': 102400",
    7818448896UL, "safetensors" },
  { "exaone4", "EXAONE-4.0-1.2B",
    "'num_hidden_layers': 30, 'hidden_size': 2048, "
    "'num_attention_heads': 32, 'num_key_value_heads': 8, 'head_dim': 64, "
    "'intermediate_size': 4096, 'vocab_size': 102400, "
    "'tie_word_embeddings': true, 'sliding_window': null",
    1279391488UL, "safetensors" },
  { "ernie4_5", "ERNIE-4.5-0.3B",
    "'num_hidden_layers': 18, 'hidden_size': 1024, "
    "'num_attention_heads': 16, 'num_key_value_heads': 2, 'head_dim': 128, "
    "'intermediate_size': 3072, 'vocab_size': 103424",
    360748032UL, "safetensors, looked up" },
  { "ernie4_5_moe", "ERNIE-4.5-21B-A3B",
    "'num_hidden_layers': 28, 'hidden_size': 2560, "
    "'num_attention_heads': 20, 'num_key_value_heads': 4, "
    "'intermediate_size': 12288, 'vocab_size': 103424, "
    "'moe_num_experts': 64, 'moe_k': 6, 'moe_num_shared_experts': 2, "
    "'moe_intermediate_size': 1536, 'moe_layer_start_index': 1, "
    "'moe_layer_end_index': 27, 'moe_layer_interval': 1",
    21825437888UL, "safetensors" },
  { "hunyuan_v1_dense", "Hunyuan-7B",
    "'num_hidden_layers': 32, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'num_key_value_heads': 8, 'head_dim': 128, "
    "'intermediate_size': 14336, 'vocab_size': 128167, "
    "'tie_word_embeddings': true",
    7504568320UL, "arithmetic; safetensors: 7.5e9" },
  { "hunyuan_v1_moe", "Hunyuan-A13B",
    "'num_hidden_layers': 32, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'num_key_value_heads': 8, 'head_dim': 128, "
    "'intermediate_size': 3072, 'vocab_size': 128167, 'num_experts': 64, "
    "'moe_topk': [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, "
    "8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8], 'num_shared_expert': [1, 1, 1, "
    "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
    "1, 1, 1, 1, 1], 'moe_intermediate_size': [3072, 3072, 3072, 3072, 3072, "
    "3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, "
    "3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, "
    "3072, 3072, 3072], 'tie_word_embeddings': true",
    80393183232UL, "safetensors" },
  { "olmo2", "OLMo-2-7B",
    "'num_hidden_layers': 32, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'intermediate_size': 11008, "
    "'vocab_size': 100352",
    7298617344UL, "safetensors, looked up" },
  { "olmo2", "OLMo-2-13B",
    "'num_hidden_layers': 40, 'hidden_size': 5120, "
    "'num_attention_heads': 40, 'intermediate_size': 13824, "
    "'vocab_size': 100352",
    13716198400UL, "safetensors, looked up" },
  { "olmo2", "OLMo-2-1B",
    "'num_hidden_layers': 16, 'hidden_size': 2048, "
    "'num_attention_heads': 16, 'intermediate_size': 8192, "
    "'vocab_size': 100352",
    1484916736UL, "safetensors, looked up" },
  { "olmo3", "Olmo-3-7B",
    "'num_hidden_layers': 32, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'intermediate_size': 11008, "
    "'vocab_size': 100278",
    7298011136UL, "safetensors, looked up" },
  { "olmoe", "OLMoE-1B-7B",
    "'num_hidden_layers': 16, 'hidden_size': 2048, "
    "'num_attention_heads': 16, 'intermediate_size': 1024, "
    "'vocab_size': 50304, 'num_experts': 64, 'num_experts_per_tok': 8",
    6919161856UL, "safetensors, looked up" },
  { "seed_oss", "Seed-OSS-36B",
    "'num_hidden_layers': 64, 'hidden_size': 5120, "
    "'num_attention_heads': 80, 'num_key_value_heads': 8, 'head_dim': 128, "
    "'intermediate_size': 27648, 'vocab_size': 155136, "
    "'attention_bias': true, 'attention_out_bias': false",
    36151104512UL, "safetensors, looked up" },
  { "gemma", "gemma-7b",
    "'num_hidden_layers': 28, 'hidden_size': 3072, "
    "'num_attention_heads': 16, 'num_key_value_heads': 16, 'head_dim': 256, "
    "'intermediate_size': 24576, 'vocab_size': 256000",
    8537680896UL, "safetensors, looked up" },
  { "gemma2", "gemma-2-2b",
    "'num_hidden_layers': 26, 'hidden_size': 2304, 'num_attention_heads': 8, "
    "'num_key_value_heads': 4, 'head_dim': 256, 'intermediate_size': 9216, "
    "'vocab_size': 256000",
    2614341888UL, "safetensors, looked up" },
  { "gemma2", "gemma-2-9b",
    "'num_hidden_layers': 42, 'hidden_size': 3584, "
    "'num_attention_heads': 16, 'num_key_value_heads': 8, 'head_dim': 256, "
    "'intermediate_size': 14336, 'vocab_size': 256000",
    9241705984UL, "safetensors, looked up" },
  /* 256000 x 1152 + 26 (4 x 1152 x 1024 + 3 x 1152 x 6912 + 2 x 1152) + 1152 */
  { "vaultgemma", "vaultgemma-1b",
    "'num_hidden_layers': 26, 'hidden_size': 1152, 'num_attention_heads': 4, "
    "'num_key_value_heads': 4, 'head_dim': 256, 'intermediate_size': 6912, "
    "'vocab_size': 256000",
    1038741120UL, "by hand; published as 1B" },
  { "gemma3_text", "gemma-3-1b",
    "'num_hidden_layers': 26, 'hidden_size': 1152, 'num_attention_heads': 4, "
    "'num_key_value_heads': 1, 'head_dim': 256, 'intermediate_size': 6912, "
    "'vocab_size': 262144, 'sliding_window': 512, "
    "'sliding_window_pattern': 6",
    999885952UL, "safetensors, looked up" },
  { "gemma3", "gemma-3-4b text",
    "'text_config': {'hidden_size': 2560, 'intermediate_size': 10240, "
    "'num_hidden_layers': 34, 'model_type': 'gemma3_text', "
    "'sliding_window': 1024}",
    3880263168UL, "safetensors less tower and projector" },
  { "gemma3_text", "gemma-3-270m",
    "'num_hidden_layers': 18, 'hidden_size': 640, 'num_attention_heads': 4, "
    "'num_key_value_heads': 1, 'head_dim': 256, 'intermediate_size': 2048, "
    "'vocab_size': 262144, 'sliding_window': 512",
    268098176UL, "safetensors, looked up" },
  { "glm", "glm-4-9b",
    "'num_hidden_layers': 40, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'num_key_value_heads': 2, 'head_dim': 128, "
    "'intermediate_size': 13696, 'vocab_size': 151552, "
    "'attention_bias': true",
    9399951360UL, "safetensors, looked up" },
  { "glm4", "GLM-4-9B-0414",
    "'num_hidden_layers': 40, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'num_key_value_heads': 2, 'head_dim': 128, "
    "'intermediate_size': 13696, 'vocab_size': 151552, "
    "'attention_bias': true",
    9400279040UL, "safetensors, looked up" },
  { "chatglm", "chatglm3-6b",
    "'num_layers': 28, 'hidden_size': 4096, 'num_attention_heads': 32, "
    "'ffn_hidden_size': 13696, 'padded_vocab_size': 65024, "
    "'kv_channels': 128, 'multi_query_attention': true, "
    "'multi_query_group_num': 2, 'add_qkv_bias': true, "
    "'add_bias_linear': false",
    6243584000UL, "safetensors, looked up" },
  { "glm4_moe", "GLM-4.5-Air",
    "'num_hidden_layers': 46, 'hidden_size': 4096, "
    "'num_attention_heads': 96, 'num_key_value_heads': 8, 'head_dim': 128, "
    "'intermediate_size': 10944, 'vocab_size': 151552, "
    "'moe_intermediate_size': 1408, 'n_routed_experts': 128, "
    "'n_shared_experts': 1, 'num_experts_per_tok': 8, "
    "'first_k_dense_replace': 1, 'attention_bias': true, "
    "'use_qk_norm': false",
    106852251264UL, "safetensors, looked up: 110468824832 less the further-token layer" },
  { "glm4_moe", "GLM-4.5",
    "'num_hidden_layers': 92, 'hidden_size': 5120, "
    "'num_attention_heads': 96, 'num_key_value_heads': 8, 'head_dim': 128, "
    "'intermediate_size': 12288, 'vocab_size': 151552, "
    "'moe_intermediate_size': 1536, 'n_routed_experts': 160, "
    "'n_shared_experts': 1, 'num_experts_per_tok': 8, "
    "'first_k_dense_replace': 3, 'attention_bias': true, "
    "'use_qk_norm': true",
    352797829024UL, "safetensors, looked up: 358337791296 less the further-token layer" },
  { "dots1", "dots.llm1",
    "'num_hidden_layers': 62, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'num_key_value_heads': 32, 'head_dim': 128, "
    "'intermediate_size': 10944, 'vocab_size': 152064, "
    "'moe_intermediate_size': 1408, 'n_routed_experts': 128, "
    "'n_shared_experts': 2, 'num_experts_per_tok': 6, "
    "'first_k_dense_replace': 1",
    142774381696UL, "safetensors" },
  { "deepseek", "deepseek-moe-16b",
    "'num_hidden_layers': 28, 'hidden_size': 2048, "
    "'num_attention_heads': 16, 'num_key_value_heads': 16, "
    "'intermediate_size': 10944, 'vocab_size': 102400, "
    "'moe_intermediate_size': 1408, 'n_routed_experts': 64, "
    "'n_shared_experts': 2, 'num_experts_per_tok': 6, "
    "'first_k_dense_replace': 1, 'moe_layer_freq': 1",
    16375728128UL, "safetensors, looked up" },
  { "deepseek_v2", "DeepSeek-V2-Lite",
    "'num_hidden_layers': 27, 'hidden_size': 2048, "
    "'num_attention_heads': 16, 'num_key_value_heads': 16, "
    "'intermediate_size': 10944, 'vocab_size': 102400, "
    "'moe_intermediate_size': 1408, 'n_routed_experts': 64, "
    "'n_shared_experts': 2, 'num_experts_per_tok': 6, "
    "'first_k_dense_replace': 1, 'q_lora_rank': null, 'kv_lora_rank': 512, "
    "'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128",
    15706484224UL, "safetensors, looked up" },
  { "deepseek_v2", "DeepSeek-V2",
    "'num_hidden_layers': 60, 'hidden_size': 5120, "
    "'num_attention_heads': 128, 'num_key_value_heads': 128, "
    "'intermediate_size': 12288, 'vocab_size': 102400, "
    "'moe_intermediate_size': 1536, 'n_routed_experts': 160, "
    "'n_shared_experts': 2, 'num_experts_per_tok': 6, "
    "'first_k_dense_replace': 1, 'q_lora_rank': 1536, 'kv_lora_rank': 512, "
    "'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128",
    235741434880UL, "safetensors, looked up" },
  { "kimi_k2", "Kimi-K2",
    "'num_hidden_layers': 61, 'hidden_size': 7168, "
    "'num_attention_heads': 64, 'num_key_value_heads': 64, "
    "'intermediate_size': 18432, 'vocab_size': 163840, "
    "'moe_intermediate_size': 2048, 'n_routed_experts': 384, "
    "'n_shared_experts': 1, 'num_experts_per_tok': 8, "
    "'first_k_dense_replace': 1, 'q_lora_rank': 1536, 'kv_lora_rank': 512, "
    "'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128",
    1026408232448UL, "safetensors, looked up" },
  { "qwen2_moe", "Qwen1.5-MoE-A2.7B",
    "'num_hidden_layers': 24, 'hidden_size': 2048, "
    "'num_attention_heads': 16, 'num_key_value_heads': 16, "
    "'intermediate_size': 5632, 'vocab_size': 151936, "
    "'moe_intermediate_size': 1408, 'shared_expert_intermediate_size': 5632, "
    "'num_experts': 60, 'num_experts_per_tok': 4",
    14315784192UL, "safetensors, looked up" },
  { "qwen2_moe", "Qwen2-57B-A14B",
    "'num_hidden_layers': 28, 'hidden_size': 3584, "
    "'num_attention_heads': 28, 'num_key_value_heads': 4, "
    "'intermediate_size': 18944, 'vocab_size': 151936, "
    "'moe_intermediate_size': 2560, 'shared_expert_intermediate_size': 20480, "
    "'num_experts': 64, 'num_experts_per_tok': 8",
    57408658944UL, "arithmetic; model card: 57e9" },
  { "phimoe", "Phi-3.5-MoE",
    "'num_hidden_layers': 32, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'num_key_value_heads': 8, "
    "'intermediate_size': 6400, 'vocab_size': 32064, "
    "'num_local_experts': 16, 'num_experts_per_tok': 2, "
    "'attention_bias': true, 'lm_head_bias': true",
    41873153344UL, "safetensors" },
  { "dbrx", "dbrx",
    "'n_layers': 40, 'd_model': 6144, 'n_heads': 48, 'max_seq_len': 32768, "
    "'vocab_size': 100352, 'attn_config': {'kv_n_heads': 8}, "
    "'ffn_config': {'ffn_hidden_size': 10752, 'moe_num_experts': 16, "
    "'moe_top_k': 4}",
    131596523520UL, "safetensors" },
  { "mixtral", "Mixtral-8x22B",
    "'num_hidden_layers': 56, 'hidden_size': 6144, "
    "'num_attention_heads': 48, 'num_key_value_heads': 8, "
    "'intermediate_size': 16384, 'vocab_size': 32000, "
    "'num_local_experts': 8, 'num_experts_per_tok': 2",
    140620634112UL, "safetensors, looked up" },
  { "minimax_m2", "MiniMax-M2",
    "'num_hidden_layers': 62, 'hidden_size': 3072, "
    "'num_attention_heads': 48, 'num_key_value_heads': 8, 'head_dim': 128, "
    "'intermediate_size': 1536, 'vocab_size': 200064, "
    "'num_local_experts': 256, 'num_experts_per_tok': 8",
    228689764864UL, "safetensors, looked up: 228703644928 less 13880064 scales of fp8" },
  { "llama4", "Llama-4-Scout text",
    "'text_config': {'model_type': 'llama4_text', 'num_hidden_layers': 48, "
    "'hidden_size': 5120, 'num_attention_heads': 40, "
    "'num_key_value_heads': 8, 'head_dim': 128, 'intermediate_size': 8192, "
    "'intermediate_size_mlp': 16384, 'vocab_size': 202048, "
    "'num_local_experts': 16, 'num_experts_per_tok': 1, "
    "'interleave_moe_layer_step': 1}",
    107769861120UL, "safetensors less the tower" },
  { "llama4", "Llama-4-Maverick text",
    "'text_config': {'model_type': 'llama4_text', 'num_hidden_layers': 48, "
    "'hidden_size': 5120, 'num_attention_heads': 40, "
    "'num_key_value_heads': 8, 'head_dim': 128, 'intermediate_size': 8192, "
    "'intermediate_size_mlp': 16384, 'vocab_size': 202048, "
    "'num_local_experts': 128, 'num_experts_per_tok': 1, "
    "'interleave_moe_layer_step': 2}",
    400711848960UL, "safetensors less the tower" },
  { "grok-1", "grok-1",
    "'num_hidden_layers': 64, 'hidden_size': 6144, "
    "'num_attention_heads': 48, 'num_key_value_heads': 8, "
    "'intermediate_size': 32768, 'vocab_size': 131072, 'num_experts': 8, "
    "'num_experts_per_tok': 2",
    315684820992UL, "arithmetic; model card: 314e9" },
  { "arctic", "arctic",
    "'num_hidden_layers': 35, 'hidden_size': 7168, "
    "'num_attention_heads': 56, 'num_key_value_heads': 8, "
    "'intermediate_size': 4864, 'vocab_size': 32000, "
    "'num_local_experts': 128, 'num_experts_per_tok': 2, "
    "'moe_layer_frequency': 1, 'parallel_attn_mlp_res': true, "
    "'use_residual': true",
    478584608768UL, "arithmetic; model card: 480e9" },
  { "mimo", "MiMo-7B",
    "'num_hidden_layers': 36, 'hidden_size': 4096, "
    "'num_attention_heads': 32, 'num_key_value_heads': 8, 'head_dim': 128, "
    "'intermediate_size': 11008, 'vocab_size': 151680, "
    "'attention_bias': true, 'num_nextn_predict_layers': 1",
    7622619136UL, "safetensors 7833409536 less the further-token layer" },
  { "gemma4", "gemma-4-26B-A4B text",
    "'text_config': {'model_type': 'gemma4_text', 'num_hidden_layers': 30, "
    "'hidden_size': 2816, 'num_attention_heads': 16, "
    "'num_key_value_heads': 8, 'head_dim': 256, 'global_head_dim': 512, "
    "'num_global_key_value_heads': 2, 'attention_k_eq_v': true, "
    "'hidden_size_per_layer_input': 0, 'intermediate_size': 2112, "
    "'moe_intermediate_size': 704, 'num_experts': 128, 'top_k_experts': 8, "
    "'enable_moe_block': true, 'vocab_size': 262144, "
    "'sliding_window': 1024}",
    25233141760UL, "arithmetic; model card: 25.2e9" },
  { "nemotron", "nemotron-4-340b",
    "'num_hidden_layers': 96, 'hidden_size': 18432, "
    "'num_attention_heads': 96, 'num_key_value_heads': 8, "
    "'intermediate_size': 73728, 'vocab_size': 256000",
    341029195776UL, "arithmetic; model card: 340e9" },
  { "arcee", "AFM-4.5B",
    "'num_hidden_layers': 36, 'hidden_size': 2560, "
    "'num_attention_heads': 20, 'num_key_value_heads': 4, 'head_dim': 128, "
    "'intermediate_size': 18432, 'vocab_size': 128004",
    4619184640UL, "arithmetic; safetensors: 4.62e9" },
  { "bailing_moe", "Ling-lite",
    "'num_hidden_layers': 28, 'hidden_size': 2048, "
    "'num_attention_heads': 16, 'num_key_value_heads': 4, "
    "'intermediate_size': 5632, 'vocab_size': 126464, "
    "'moe_intermediate_size': 1408, 'num_experts': 64, "
    "'num_shared_experts': 2, 'num_experts_per_tok': 6",
    16801974272UL, "safetensors" },
};

/* Keys are written with the quotes of Python, and a model_type before them. */
static char *
config_of (const Published *row)
{
  g_autofree char *text = g_strdup_printf ("{'model_type': '%s', %s}", row->family, row->keys);

  return g_strdelimit (g_steal_pointer (&text), "'", '"');
}

START_TEST (test_published)
{
  const Published     *row = &published[_i];
  g_autofree char     *text = config_of (row);
  ModelShape           shape = import (text);
  TrainingOptions      options = training (128, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options);

  ck_assert_msg (workload_n_parameters (workload) == row->parameters,
                 "%s: %" G_GUINT64_FORMAT " parameters, published %" G_GUINT64_FORMAT " (%s)",
                 row->model, workload_n_parameters (workload), row->parameters, row->source);
  model_shape_clear (&shape);
}
END_TEST

/* ---- forms of blocks ---- */

#define S 256
#define D 64
#define V 1000

#define TINY                                                                    \
  "\"num_hidden_layers\": 1, \"hidden_size\": 64, \"num_attention_heads\": 4, " \
  "\"num_key_value_heads\": 4, \"head_dim\": 16, \"intermediate_size\": 128, \"vocab_size\": 1000"

static TrainingOptions
fused_training (void)
{
  TrainingOptions options = training (S, 1);

  options.attention = ATTENTION_FLASH2;
  options.fused_norm = TRUE;
  return options;
}

/* Norms behind both branches keep what the branches made, 2 S D bytes, and 4 bytes a token. */
START_TEST (test_norms_on_both_sides)
{
  ModelShape           shape = import ("{\"model_type\": \"llama\", " TINY "}");
  TrainingOptions      options = fused_training ();
  g_autoptr (Workload) before = workload_new (&shape, &options), both = NULL;
  const LayerDesc     *block;

  shape.norms = MODEL_NORMS_BOTH;
  both = workload_new (&shape, &options);
  block = workload_layer (both, 1);
  ck_assert_uint_eq (block->saved_bytes - workload_layer (before, 1)->saved_bytes,
                     2 * (2 * S * D + 4 * S));
  ck_assert_uint_eq (block->elements - workload_layer (before, 1)->elements, 2 * D);
  ck_assert_uint_eq (block->n_forward, workload_layer (before, 1)->n_forward + 2);
  find_kernel (block->forward, block->n_forward, "norm1_behind");
  find_kernel (block->forward, block->n_forward, "norm2_behind");
  model_shape_clear (&shape);
}
END_TEST

/* What is capped is kept, 2 S V bytes, by three kernels. */
START_TEST (test_softcap)
{
  ModelShape           shape = import ("{\"model_type\": \"gemma2\", " TINY "}");
  TrainingOptions      options = fused_training ();
  g_autoptr (Workload) capped = workload_new (&shape, &options), plain = NULL;
  const LayerDesc     *head = workload_layer (capped, 2);

  shape.logit_softcap = FALSE;
  plain = workload_new (&shape, &options);
  ck_assert_uint_eq (head->saved_bytes - workload_layer (plain, 2)->saved_bytes, 2 * S * V);
  ck_assert_uint_eq (find_kernel (head->forward, head->n_forward, "head.softcap")->launches, 3);
  model_shape_clear (&shape);
}
END_TEST

/*
 * A token's matrices, by hand. Attention: 4 D^2; an MLP of 128 or experts of 32: 3 D times that,
 * and the router D times 8. Qwen2-MoE: 2 experts, a shared one of 96 and its gate. Arctic: its MLP
 * of D, and one expert of 128. The head V D.
 */
START_TEST (test_flops)
{
  const double head = V * D, attention = 4 * D * D;
  ModelShape   qwen = import ("{\"model_type\": \"qwen2_moe\", " TINY
                              ", \"num_experts\": 8, \"num_experts_per_tok\": 2, "
                                "\"moe_intermediate_size\": 32, "
                                "\"shared_expert_intermediate_size\": 96}");
  ModelShape   arctic = import ("{\"model_type\": \"arctic\", " TINY
                                ", \"num_local_experts\": 8, \"num_experts_per_tok\": 1, "
                                  "\"moe_layer_frequency\": 1, \"parallel_attn_mlp_res\": true}");
  ModelShape   scout = import ("{\"model_type\": \"llama4_text\", " TINY
                               ", \"intermediate_size_mlp\": 128, \"num_local_experts\": 8}");

  ck_assert_double_eq (flops_matrix_parameters (&qwen),
                       head + attention + 3 * D * (2 * 32 + 96) + D * 8 + D);
  ck_assert_double_eq (flops_matrix_parameters (&arctic),
                       head + attention + 3 * D * (D + 128) + D * 8);
  /* of 4 chunks, half of each one's pairs */
  ck_assert_double_eq (model_attention_pairs (&scout, TRUE, TRUE, 4 * 8192., 0),
                       4 * 8192. * 8192. / 2);
  model_shape_clear (&qwen);
  model_shape_clear (&arctic);
  model_shape_clear (&scout);
}
END_TEST

/* ---- ids ---- */

START_TEST (test_ids)
{
  static const struct
  {
    const char *id, *name;
  } ids[] = {
    { "meta-llama/Llama-3.1-70B", "llama-3.1-70b" },
    { "meta-llama/Meta-Llama-3-8B", "llama-3-8b" },
    { "meta-llama/Llama-3.3-70B-Instruct", "llama-3.1-70b" },
    { "Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b" },
    { "Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b" },
    { "mistralai/Mistral-7B-Instruct-v0.1", "mistral-7b" },
    { "GPT2-XL", "gpt2-xl" },
    { "deepseek-ai/DeepSeek-R1", "deepseek-v3" },
    { "nobody/llama", NULL },
    { "a/b/llama-3-8b", NULL },
    { "", NULL },
    { "-instruct", NULL },
  };
  g_auto (GStrv) shipped_names = model_list_shipped ();

  for (gsize i = 0; i < G_N_ELEMENTS (ids); i++)
    ck_assert_msg (
        g_strcmp0 (model_names_find (ids[i].id, (const char *const *) shipped_names), ids[i].name)
            == 0,
        "%s", ids[i].id);
}
END_TEST

/* Rows of names.csv name shapes that are there, and each row is of use. */
START_TEST (test_rows_of_ids)
{
  g_autofree char      *file = layout_data_file ("workloads/models/names.csv");
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  g_auto (GStrv)        names = model_list_shipped ();
  guint                 n = 0;

  ck_assert_ptr_nonnull (reader);
  for (; csv_reader_next (reader, diags); n++)
    {
      const char *name = csv_reader_field (reader, 0), *id = csv_reader_field (reader, 1);

      ck_assert_msg (*name == '\0' ? *id == '-'
                                   : g_strv_contains ((const char *const *) names, name),
                     "%s, %s", name, id);
    }
  ck_assert_uint_gt (n, 40);
  ck_assert (diag_list_is_empty (diags));
}
END_TEST

/* ---- what a file holds beside its shape ---- */

static void
assert_warned (const char *text, const char *message)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *file = NULL;
  gint                 fd = g_file_open_tmp ("family-XXXXXX.json", &file, NULL);
  ModelShape           shape;

  ck_assert (g_close (fd, NULL));
  ck_assert (g_file_set_contents (file, text, -1, NULL));
  ck_assert (model_import (file, &shape, diags));
  g_unlink (file);
  ck_assert_str_eq (diag_list_first_message (diags), message);
  model_shape_clear (&shape);
}

START_TEST (test_beside)
{
  assert_warned ("{\"model_type\": \"qwen3_vl\", \"text_config\": {" TINY "}, "
                 "\"vision_config\": {\"depth\": 27, \"hidden_size\": 1152, "
                 "\"intermediate_size\": 4304}}",
                 "the language model alone is simulated, without a vision tower: 'vision_config' "
                 "(27 blocks of width 1152, about 410M parameters)");
  assert_warned ("{\"architectures\": [\"Llama4ForConditionalGeneration\"], \"model_type\": "
                 "\"llama4\", \"text_config\": {" TINY ", \"intermediate_size_mlp\": 128, "
                 "\"num_local_experts\": 4, \"num_experts_per_tok\": 1}}",
                 "the language model alone is simulated, without the towers that its kind has");
  assert_warned ("{\"model_type\": \"llama\", " TINY
                 ", \"quantization_config\": {\"quant_method\": \"fp8\"}}",
                 "the checkpoint holds weights in fp8 with a scale a block; they are simulated as "
                 "they are trained, in the types of 'precision'");
  assert_warned (
      "{\"model_type\": \"llama\", " TINY ", \"quantization_config\": {\"load_in_4bit\": true}}",
      "the checkpoint holds weights in 8 or 4 bits (bitsandbytes); they are simulated as "
      "they are trained, in the types of 'precision'");
}
END_TEST

#define MARK  "<!-- families -->\n\n"
#define TITLE "| family | also | architectures | blocks |\n| --- | --- | --- | --- |\n"

static void
append_code (GString *out, const char *words)
{
  g_auto (GStrv) each = g_strsplit (words, " ", -1);

  for (guint i = 0; each[i] != NULL && *each[i] != '\0'; i++)
    g_string_append_printf (out, "%s`%s`", i > 0 ? " " : "", each[i]);
}

START_TEST (test_table_of_docs)
{
  g_autofree char *path =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "models.md", NULL);
  g_autofree char    *text = NULL;
  g_autoptr (GString) want = g_string_new (NULL);
  const char         *at;
  ModelFamily         family;

  ck_assert (g_file_get_contents (path, &text, NULL, NULL));
  at = strstr (text, MARK);
  ck_assert_ptr_nonnull (at);
  at += strlen (MARK);
  g_string_append_len (want, text, at - text);
  g_string_append (want, TITLE);
  for (guint i = 0; model_family_at (i, &family); i++)
    {
      g_string_append_printf (want, "| `%s` | ", family.name);
      append_code (want, family.aliases);
      g_string_append (want, *family.aliases != '\0' ? " | " : "| ");
      append_code (want, family.architectures != NULL ? family.architectures : "");
      g_string_append_printf (want, " | %s |\n", family.block);
      model_family_clear (&family);
    }
  while (*at == '|')
    at = strchr (at, '\n') + 1;
  g_string_append (want, at);
  if (g_getenv ("UPDATE_GOLDEN") != NULL)
    ck_assert (g_file_set_contents (path, want->str, -1, NULL));
  else
    ck_assert_msg (g_str_equal (text, want->str),
                   "docs/models.md: the table of families is not the program's; UPDATE_GOLDEN=1 "
                   "writes it");
}
END_TEST

/* Every family and every other name is one family's, and those of this file are all read. */
START_TEST (test_names)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  ModelFamily            family;

  for (guint i = 0; model_family_at (i, &family); i++)
    {
      g_auto (GStrv) names = g_strsplit (family.aliases, " ", -1);

      ck_assert_msg (g_hash_table_add (seen, g_strdup (family.name)), "%s", family.name);
      for (guint n = 0; names[n] != NULL && *names[n] != '\0'; n++)
        ck_assert_msg (g_hash_table_add (seen, g_strdup (names[n])), "%s", names[n]);
      model_family_clear (&family);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (published); i++)
    ck_assert_msg (g_hash_table_contains (seen, published[i].family), "%s", published[i].family);
}
END_TEST

SUITE_MAIN (families)
{
  TCase *tcase = tcase_create ("families");

  tcase_add_loop_test (tcase, test_published, 0, G_N_ELEMENTS (published));
  tcase_add_test (tcase, test_norms_on_both_sides);
  tcase_add_test (tcase, test_softcap);
  tcase_add_test (tcase, test_flops);
  tcase_add_test (tcase, test_ids);
  tcase_add_test (tcase, test_rows_of_ids);
  tcase_add_test (tcase, test_beside);
  tcase_add_test (tcase, test_table_of_docs);
  tcase_add_test (tcase, test_names);
  return run_case ("families", tcase);
}
