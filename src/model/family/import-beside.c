#include "model/family/import-beside-private.h"

#include <string.h>

#include "base/config/units.h"
#include "model/family/import-values-private.h"

/* ---- the language model within a larger one ---- */

static const char *const text_keys[] = { "thinker_config", "text_config", "llm_config",
                                         "language_config", "language_model_config" };

const ConfigNode *
import_text_map (const ConfigNode *root, DiagList *diags)
{
  for (gsize i = 0; i < G_N_ELEMENTS (text_keys); i++)
    {
      const ConfigNode *text = config_node_get (root, text_keys[i]);

      if (import_absent (text))
        continue;
      if (!config_node_expect (text, CONFIG_MAP, diags))
        return NULL;
      root = text; /* and within a thinker its text */
    }
  return root;
}

/* ---- towers ---- */

#define TOWER_HINT "weights, activations and time of a tower come on top of what is predicted"

typedef struct
{
  const char *key, *what;
} Tower;

static const Tower towers[] = {
  { "vision_config", "a vision tower" },        { "vision_tower_config", "a vision tower" },
  { "mm_vision_tower", "a vision tower" },      { "visual", "a vision tower" },
  { "img_processor", "a vision tower" },        { "audio_config", "an audio tower" },
  { "audio_encoder_config", "an audio tower" }, { "speech_config", "an audio tower" },
  { "audio_processor", "an audio tower" },      { "embd_layer", "towers of images and audio" },
  { "talker_config", "a model that talks" },    { "token2wav_config", "a decoder of audio" },
};

/* Of a tower's map, by the names that models give them. 0: not said. */
static gint64
first_count (const ConfigNode *map, const char *const *keys)
{
  gint64 value = 0;

  for (; *keys != NULL; keys++)
    {
      const ConfigNode *node = config_node_get (map, *keys);
      const char       *text = import_absent (node) ? NULL : config_node_text (node);

      if (text != NULL && g_ascii_string_to_signed (text, 10, 1, 1 << 24, &value, NULL))
        return value;
    }
  return 0;
}

/* ", 27 blocks of width 1152, about 410 M parameters", as far as the tower's map says that. */
static char *
tower_size (const ConfigNode *tower)
{
  static const char *const layers[] = {
    "num_hidden_layers", "vt_num_hidden_layers", "depth", "encoder_layers", "layers", NULL
  };
  static const char *const widths[] = { "embed_dim", "vt_hidden_size", "hidden_size",
                                        "width",     "d_model",        NULL };
  static const char *const hidden[] = { "intermediate_size", "vt_intermediate_size",
                                        "encoder_ffn_dim", NULL };
  gint64                   n = 0, width = 0, mlp = 0;
  g_autofree char         *count = NULL;

  if (config_node_kind (tower) == CONFIG_MAP)
    {
      n = first_count (tower, layers);
      width = first_count (tower, widths);
      mlp = first_count (tower, hidden);
    }
  if (n == 0 || width == 0)
    return g_strdup ("");
  if (mlp == 0)
    mlp = 4 * width;
  count = quantity_format (
      QUANTITY_COUNT, (double) n * (double) width * (4. * (double) width + 2. * (double) mlp), 2);
  return g_strdup_printf (" (%" G_GINT64_FORMAT " blocks of width %" G_GINT64_FORMAT
                          ", about %s parameters)",
                          n, width, count);
}

/* What a model is that is made to answer about images, where its file says no tower. */
static gboolean
answers_about_images (const ConfigNode *root)
{
  const ConfigNode *list = config_node_get (root, "architectures");
  const char       *name = import_absent (list) || config_node_kind (list) != CONFIG_LIST
                             || config_node_length (list) == 0
                               ? NULL
                               : config_node_text (config_node_item (list, 0));

  return name != NULL && g_str_has_suffix (name, "ForConditionalGeneration");
}

void
import_warn_of_towers (const ConfigNode *root, const ConfigNode *text, DiagList *diags)
{
  gboolean said = FALSE;

  for (gsize i = 0; i < G_N_ELEMENTS (towers); i++)
    {
      const ConfigNode *tower = config_node_get (root, towers[i].key);
      g_autofree char  *size = NULL;

      if (import_absent (tower))
        tower = root != text ? config_node_get (text, towers[i].key) : NULL;
      if (import_absent (tower))
        continue;
      size = tower_size (tower);
      diag_warning (diags, config_node_mark (tower), TOWER_HINT,
                    "the language model alone is simulated, without %s: '%s'%s", towers[i].what,
                    towers[i].key, size);
      said = TRUE;
    }
  if (!said && root != text && answers_about_images (root))
    diag_warning (diags, config_node_mark (root), TOWER_HINT,
                  "the language model alone is simulated, without the towers that its kind has");
}

/* ---- quantized checkpoints ---- */

typedef struct
{
  const char *method, *weights, *hint;
} Quantization;

#define HINT_FP8                                                                               \
  "'fp8_recipe' trains with fp8 products; parameters are counted as they are, whatever their " \
  "type"
#define HINT_4BIT "'peft: lora' with 'load_in_4bit: true' trains adapters beside weights in 4 bits"

static const Quantization quantizations[] = {
  { "fp8", "fp8 with a scale a block", HINT_FP8 },
  { "fbgemm_fp8", "fp8 with a scale a row", HINT_FP8 },
  { "finegrained_fp8", "fp8 with a scale a block", HINT_FP8 },
  { "mxfp4", "4 bits with a scale a block (MXFP4)", HINT_4BIT },
  { "modelopt", "fp8 or 4 bits (ModelOpt)", HINT_FP8 },
  { "compressed-tensors", "8 or 4 bits (compressed-tensors)", HINT_4BIT },
  { "awq", "4 bits (AWQ)", HINT_4BIT },
  { "gptq", "4 bits (GPTQ)", HINT_4BIT },
  { "bitsandbytes", "8 or 4 bits (bitsandbytes)", HINT_4BIT },
};

void
import_warn_of_quantization (const ConfigNode *root, const ConfigNode *text, DiagList *diags)
{
  const ConfigNode   *map = config_node_get (root, "quantization_config"), *node;
  const char         *method = NULL;
  const Quantization *known = NULL;

  if (import_absent (map))
    map = config_node_get (text, "quantization_config");
  if (import_absent (map) || config_node_kind (map) != CONFIG_MAP)
    return;
  node = config_node_get (map, "quant_method");
  if (!import_absent (node))
    method = config_node_text (node);
  else if (config_node_get (map, "load_in_4bit") != NULL
           || config_node_get (map, "load_in_8bit") != NULL)
    method = "bitsandbytes";
  for (gsize i = 0; i < G_N_ELEMENTS (quantizations); i++)
    if (g_strcmp0 (quantizations[i].method, method) == 0)
      known = &quantizations[i];
  diag_warning (diags, config_node_mark (map), known != NULL ? known->hint : NULL,
                "the checkpoint holds weights in %s; they are simulated as they are trained, in "
                "the types of 'precision'",
                known != NULL    ? known->weights
                : method != NULL ? method
                                 : "a type of its own");
}
