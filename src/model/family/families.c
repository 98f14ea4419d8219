#include "model/family/families.h"

#include <string.h>

#include "model/family/import-family-private.h"
#include "model/family/import-hybrid-private.h"

static void
add_word (GString *words, gboolean is_so, const char *word)
{
  if (is_so)
    g_string_append_printf (words, "%s%s", words->len > 0 ? ", " : "", word);
}

/* Whether files of FAMILY say the member at OFFSET. */
static gboolean
has_key (const ImportFamily *family, gsize offset)
{
  for (const ImportKey *key = family->keys; key->key != NULL; key++)
    if (key->offset == offset)
      return TRUE;
  return FALSE;
}

/* What a reader of blocks finds in a file beside attention. */
static void
add_mixers (GString *words, const ImportFamily *family)
{
  static const struct
  {
    ImportReader *reader;
    const char   *mixer;
  } mixers[] = {
    { import_nemotron_blocks, "Mamba-2" },
    { import_mamba_blocks, "Mamba-2" },
    { import_attention_indices, "Mamba-2" },
    { import_all_mamba, "Mamba-2 alone" },
    { import_all_mamba1, "Mamba-1 alone" },
    { import_jamba_blocks, "Mamba-1" },
    { import_side_blocks, "Mamba-2 beside attention in each block" },
    { import_delta_blocks, "gated delta rule" },
    { import_kimi_blocks, "Kimi delta attention" },
    { import_lightning_blocks, "lightning attention" },
    { import_conv_blocks, "short convolutions" },
    { import_deci_blocks, "widths of each block, halves left out" },
  };

  for (guint r = 0; r < IMPORT_MAX_READERS && family->readers[r] != NULL; r++)
    for (gsize i = 0; i < G_N_ELEMENTS (mixers); i++)
      add_word (words, mixers[i].reader == family->readers[r], mixers[i].mixer);
}

static void
add_attention (GString *words, const ImportFamily *family)
{
  const ModelShape        *s = &family->shape;
  static const char *const norms[] = { [MODEL_QK_NORM_HEAD] = "norms of heads",
                                       [MODEL_QK_NORM_WHOLE] = "norms of all heads together",
                                       [MODEL_QK_NORM_EACH] = "norms of each head",
                                       [MODEL_QK_NORM_PLAIN] = "norms of heads without weights" };
  static const char *const positions[] = { [MODEL_POSITION_LEARNED] = "learned positions",
                                           [MODEL_POSITION_ALIBI] = "ALiBi",
                                           [MODEL_POSITION_NONE] = "no positions" };

  add_word (words, has_key (family, G_STRUCT_OFFSET (ModelShape, kv_lora_rank)),
            "latent attention");
  add_word (words, s->index_topk > 0, "indexer");
  add_word (words, s->qk_norm != MODEL_QK_NORM_NONE, norms[s->qk_norm]);
  add_word (words, s->attention_sinks, "sinks");
  add_word (words, s->attention_gate || s->head_gate, "gated attention");
  add_word (words, s->sliding_period > 0,
            s->window_is_chunk ? "chunks in some layers" : "windows in some layers");
  add_word (words, s->position != MODEL_POSITION_ROTARY, positions[s->position]);
  add_word (words, s->attention_bias && s->output_bias && s->mlp_bias, "biases");
  add_word (words, s->attention_bias && !s->output_bias, "biases of q, k, v");
  add_word (words, s->output_bias && !s->mlp_bias, "biases of attention");
  add_word (words, !s->attention_bias && s->mlp_bias,
            s->output_bias ? "biases but of q, k, v" : "biases of the MLP");
}

static void
add_norms (GString *words, const ModelShape *s)
{
  static const char *const kinds[] = { [MODEL_NORM_LAYER] = "LayerNorm",
                                       [MODEL_NORM_RMS] = "RMSNorm",
                                       [MODEL_NORM_LAYER_UNBIASED] = "LayerNorm without bias",
                                       [MODEL_NORM_LAYER_PLAIN] = "LayerNorm without weights",
                                       [MODEL_NORM_RMS_PLAIN] = "RMSNorm without weights" };
  static const char *const places[] = { [MODEL_NORMS_BEHIND] = "behind residuals",
                                        [MODEL_NORMS_BRANCH] = "behind branches",
                                        [MODEL_NORMS_BOTH] = "before and behind branches" };
  static const char *const blocks[] = {
    [MODEL_BLOCK_PARALLEL] = "parallel", [MODEL_BLOCK_TWO_NORMS] = "parallel, two norms"
  };

  g_string_append (words, kinds[s->norm]);
  if (s->norms != MODEL_NORMS_BEFORE)
    g_string_append_printf (words, " %s", places[s->norms]);
  add_word (words, s->block != MODEL_BLOCK_SEQUENTIAL, blocks[s->block]);
}

static void
add_feed_forward (GString *words, const ImportFamily *family)
{
  const ModelShape        *s = &family->shape;
  static const char *const activations[] = {
    [MODEL_ACTIVATION_AUTO] = "GELU", [MODEL_ACTIVATION_GELU] = "GELU",
    [MODEL_ACTIVATION_RELU] = "ReLU", [MODEL_ACTIVATION_SQUARED_RELU] = "squared ReLU",
    [MODEL_ACTIVATION_SWIGLU] = "",   [MODEL_ACTIVATION_GEGLU] = ""
  };
  const gboolean experts = has_key (family, G_STRUCT_OFFSET (ModelShape, n_experts));
  const gboolean shared = has_key (family, G_STRUCT_OFFSET (ModelShape, n_shared_experts))
                          || has_key (family, G_STRUCT_OFFSET (ModelShape, d_shared))
                          || model_shared_width (s) > 0;

  if (family->readers[0] == import_all_mamba || family->readers[0] == import_all_mamba1)
    return;
  add_word (words, s->gated_mlp, "gated MLP");
  add_word (words, !s->gated_mlp, activations[s->activation]);
  add_word (words, experts, "experts");
  add_word (words, experts && shared, "shared experts");
  add_word (words, experts && s->shared_gate, "their gate");
  add_word (words, experts && s->moe_latent > 0, "latent experts");
  add_word (words, s->beside == MODEL_BESIDE_RESIDUAL, "MLP beside them");
  add_word (words, s->beside == MODEL_BESIDE_NORMED, "MLP beside experts");
}

gboolean
model_family_at (guint i, ModelFamily *family)
{
  const ImportFamily *row = import_family_at (i);
  const ModelShape   *s;
  GString            *words;

  if (row == NULL)
    return FALSE;
  s = &row->shape;
  words = g_string_new (NULL);
  add_norms (words, s);
  add_mixers (words, row);
  add_attention (words, row);
  add_feed_forward (words, row);
  add_word (words, s->embedding_norm, "norm of the embedding");
  add_word (words, s->head_bias, "bias of the head");
  add_word (words, s->tied_embeddings, "tied head");
  *family = (ModelFamily){ .name = import_family_name (row),
                           .architectures = g_strdup (row->architectures),
                           .block = g_string_free (words, FALSE) };
  family->aliases = g_strdup (row->names + strlen (family->name));
  g_strchug (family->aliases);
  return TRUE;
}

void
model_family_clear (ModelFamily *self)
{
  g_free (self->name);
  g_free (self->aliases);
  g_free (self->architectures);
  g_free (self->block);
}
