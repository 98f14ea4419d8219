#include "model/family/import-refused-private.h"

#include <string.h>

#include "model/family/import-values-private.h"

#define HINT                                                                               \
  "a model of other layers that is as large can be given by '--arch llama --n-layers ... " \
  "--d-model ...'"

typedef struct
{
  const char *name; /* a key, or what names of families begin with */
  const char *layers;
} Refused;

/* Longer names before what they begin with. */
static const Refused families[] = {
  { "zamba2", "blocks whose weights several layers share, with adapters" },
  { "zamba", "blocks whose weights several layers share" },
  { "plamo2", "Mamba layers with norms of their own" },
  { "phi4flash", "Mamba layers whose states and keys later layers share" },
  { "hymba", "blocks whose heads attend and scan, and layers that share keys and values" },
  { "recurrent_gemma", "recurrent RG-LRU layers" },
  { "rwkv", "RWKV's recurrent layers" },
  { "xlstm", "xLSTM's recurrent layers" },
  { "retnet", "retention layers" },
  { "deepseek_v4", "hyper-connections and compressed sparse attention" },
  { "minimax_m3", "attention to blocks of tokens that an indexer chooses" },
  { "albert", "an encoder whose layers share their weights, and no loss over next tokens" },
  { "bert", "an encoder, and no loss over next tokens" },
  { "roberta", "an encoder, and no loss over next tokens" },
  { "xlm", "an encoder, and no loss over next tokens" },
  { "deberta", "an encoder, and no loss over next tokens" },
  { "distilbert", "an encoder, and no loss over next tokens" },
  { "electra", "an encoder, and no loss over next tokens" },
  { "modernbert", "an encoder, and no loss over next tokens" },
  { "nomic_bert", "an encoder, and no loss over next tokens" },
  { "esm", "an encoder, and no loss over next tokens" },
  { "t5gemma", "an encoder and a decoder that attends to it" },
  { "t5", "an encoder and a decoder that attends to it" },
  { "mt5", "an encoder and a decoder that attends to it" },
  { "umt5", "an encoder and a decoder that attends to it" },
  { "bart", "an encoder and a decoder that attends to it" },
  { "mbart", "an encoder and a decoder that attends to it" },
  { "marian", "an encoder and a decoder that attends to it" },
  { "pegasus", "an encoder and a decoder that attends to it" },
  { "m2m_100", "an encoder and a decoder that attends to it" },
  { "whisper", "an audio encoder and a decoder that attends to it" },
  { "mllama", "layers that attend to a vision tower" },
  { "wav2vec2", "an audio encoder alone" },
  { "vit", "a vision tower alone" },
  { "clip", "towers of images and text that are compared" },
  { "siglip", "towers of images and text that are compared" },
  { "dinov2", "a vision tower alone" },
  { "gemma3n", "alternating updates and embeddings of each layer by itself" },
  { "yuan", "convolutions over tokens before attention (localized filtering)" },
  { "phi3small", "block-sparse attention" },
  { "longcat_flash", "two attentions a block, and experts that pass tokens on" },
  { "openelm", "widths that differ from layer to layer" },
  { "bitnet", "linears of 1.58 bits" },
  { "llada", "a loss over tokens that are masked, and no causal attention" },
  { "dream", "a loss over tokens that are masked, and no causal attention" },
  { "olmo_hybrid", "gated delta rules between norms of their own" },
};

static const Refused keys[] = {
  { "attn_res_block_size", "attention residuals, over the outputs of blocks before" },
  { "sparse_attention_config", "attention to blocks of tokens that an indexer chooses" },
  { "_diffusers_version", "layers of a diffusion model" },
  { "compress_ratios", "compressed sparse attention" },
  { "hc_mult", "hyper-connections" },
};

gboolean
import_refuse_family (const ConfigNode *node, const char *name, DiagList *diags)
{
  for (gsize i = 0; i < G_N_ELEMENTS (families); i++)
    if (g_str_has_prefix (name, families[i].name))
      {
        if (families[i].layers != NULL)
          diag_error (diags, config_node_mark (node), HINT, "'%s' has %s, which are not simulated",
                      config_node_text (node), families[i].layers);
        return families[i].layers != NULL;
      }
  return FALSE;
}

gboolean
import_refuse_keys (const ConfigNode *map, DiagList *diags)
{
  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      const ConfigNode *node = config_node_get (map, keys[i].name);

      if (import_absent (node))
        continue;
      diag_error (diags, config_node_mark (node), HINT, "'%s': %s are not simulated", keys[i].name,
                  keys[i].layers);
      return TRUE;
    }
  return FALSE;
}
