/*
 * The families whose config.json is read: a table of the keys that each takes its shape from, and
 * what the family fixes. What the tables do not name is ignored, because such files hold much that
 * does not concern a shape. Keys whose absence would mean a family-specific default that is easily
 * forgotten (KV heads, sliding windows) are required in the families where files carry them.
 * Source: transformers, models/<family>/configuration_<family>.py.
 */
#pragma once

#include "workload/model.h"

typedef enum
{
  KEY_REQUIRED,      /* a positive integer */
  KEY_NULLABLE,      /* must be there; null leaves 0 */
  KEY_OPTIONAL,      /* absent or null: the default */
  KEY_OPTIONAL_ZERO, /* the same, and zero is a value */
  KEY_BOOL,          /* true or false; absent: the default */
} KeyNeed;

typedef struct
{
  const char *key;
  gsize       offset;
  KeyNeed     need;
  gint64      fallback;
} ImportKey;

typedef struct
{
  const char      *family;       /* model_type */
  const char      *architecture; /* start of architectures[0] */
  const ImportKey *keys;
  const char      *heads;             /* the key of the number of heads */
  void (*fill) (ModelShape *shape);   /* what the family fixes; runs before the keys */
  void (*finish) (ModelShape *shape); /* what follows from them; NULL: nothing of its own */
  gboolean sliding;                   /* sliding_window counts (others ignore the key) ... */
  gboolean sliding_flag;              /* ... where use_sliding_window says so */
  gboolean dense_list;                /* mlp_only_layers counts */
  gboolean expert_period;             /* moe_layer_freq counts */
} ImportFamily;

/* By model_type; by "LlamaForCausalLM", the family and the kind of head. NULL: none. */
const ImportFamily *import_family_by_type (const char *name);
const ImportFamily *import_family_by_architecture (const char *name);

#define IMPORT_FAMILIES \
  "supported: gpt2, opt, llama, mistral, qwen2, qwen3, mixtral, qwen3_moe, deepseek_v3, gpt_oss"
