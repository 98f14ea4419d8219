/*
 * The families whose config.json is read. A family is a row: the names that it goes by, a shape
 * with what it fixes and with Transformers' defaults of what a file may leave out, the keys that
 * files have, and readers for what a key by itself does not say. What no row names is ignored,
 * because such files hold much that does not concern a shape.
 * Source: transformers, models/<family>/configuration_<family>.py and modeling_<family>.py.
 */
#pragma once

#include "base/config/config.h"
#include "model/shape/model.h"

typedef enum
{
  KEY_SIZE,   /* a positive integer; missing: the row's, which is said, or an error where it is 0 */
  KEY_COUNT,  /* a positive integer; missing: the row's; null: 0 */
  KEY_AMOUNT, /* the same, and zero is a value */
  KEY_FLAG,   /* true or false; missing or null: the row's */
  KEY_NOT_FLAG, /* the same of what is true when it is false */
  KEY_WORD,     /* one of the words; another one or none: the row's */
} KeyKind;

typedef struct
{
  const char *word;
  gint        value;
} ImportWord;

typedef struct
{
  const char       *key; /* of a map within the map behind a dot */
  gsize             offset;
  KeyKind           kind;
  const ImportWord *words; /* of KEY_WORD; ends with an empty one */
} ImportKey;

/* What SHAPE takes from MAP beyond single keys. */
typedef void ImportReader (const ConfigNode *map, ModelShape *shape, DiagList *diags);

#define IMPORT_MAX_KEYS    28
#define IMPORT_MAX_READERS 4

typedef struct
{
  const char   *names;         /* model_type, the family's own first, and others, by blanks */
  const char   *architectures; /* what architectures[0] begins with, by blanks */
  ModelShape    shape;
  ImportKey     keys[IMPORT_MAX_KEYS]; /* several may name one member: the last that is there */
  ImportReader *readers[IMPORT_MAX_READERS];
} ImportFamily;

/* ---- the keys that most files have ---- */

#define KEY(name, member, kind_)                                                     \
  {                                                                                  \
    .key = name, .offset = G_STRUCT_OFFSET (ModelShape, member), .kind = KEY_##kind_ \
  }
#define KEY_OF(name, member, table)                                                               \
  {                                                                                               \
    .key = name, .offset = G_STRUCT_OFFSET (ModelShape, member), .kind = KEY_WORD, .words = table \
  }
#define KEYS_OF_SIZES(layers, width, heads)                                             \
  KEY (layers, n_layers, SIZE), KEY (width, d_model, SIZE), KEY (heads, n_heads, SIZE), \
      KEY ("vocab_size", vocab, SIZE), KEY ("tie_word_embeddings", tied_embeddings, FLAG)
#define KEYS                                                                 \
  KEYS_OF_SIZES ("num_hidden_layers", "hidden_size", "num_attention_heads"), \
      KEY ("max_position_embeddings", longest, COUNT)
#define KEY_MLP      KEY ("intermediate_size", d_ff, SIZE)
#define KEY_KV_HEADS KEY ("num_key_value_heads", n_kv_heads, COUNT)
#define KEY_HEAD_DIM KEY ("head_dim", head_dim, COUNT)
#define KEY_WINDOW   KEY ("sliding_window", sliding_window, COUNT)
#define KEYS_ATTENTION_BIAS \
  KEY ("attention_bias", attention_bias, FLAG), KEY ("attention_bias", output_bias, FLAG)
#define KEYS_LLAMA KEYS, KEY_MLP, KEY_KV_HEADS, KEY_HEAD_DIM

/* What RMSNorm, rotary positions and a gated MLP have in common. */
#define SHAPE_LLAMA .norm = MODEL_NORM_RMS, .position = MODEL_POSITION_ROTARY, .gated_mlp = TRUE
#define SHAPE_GPT2  .norm = MODEL_NORM_LAYER, .position = MODEL_POSITION_LEARNED
#define BIASES      .attention_bias = TRUE, .output_bias = TRUE, .mlp_bias = TRUE
#define SIZES(layers, width, heads, mlp, rows) \
  .n_layers = layers, .d_model = width, .n_heads = heads, .d_ff = mlp, .vocab = rows

/* What an activation without a gate is called. */
extern const ImportWord import_activations[];

/* ---- tables, each of a kind of block; they end with an empty row ---- */

extern const ImportFamily import_families_gpt[];
extern const ImportFamily import_families_llama[];
extern const ImportFamily import_families_experts[];
extern const ImportFamily import_families_latent[];
extern const ImportFamily import_families_hybrid[];

/* By model_type; by "LlamaForCausalLM", the family and the kind of head. NULL: none. */
const ImportFamily *import_family_by_type (const char *name);
const ImportFamily *import_family_by_architecture (const char *name);

/* The I-th of all, from 0; NULL: there are not so many. */
const ImportFamily *import_family_at (guint i);

/* The name that FAMILY has in reports. Newly allocated. */
char *import_family_name (const ImportFamily *family);

/* All names that any goes by, NULL-terminated. To be freed with g_strfreev. */
char **import_family_names (void);
