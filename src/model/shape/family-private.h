/*
 * What the reference implementations of the model families differ in beyond their shape: the names
 * of modules and the way that projections are stored. Internal to the layer.
 */
#pragma once

#include "model/shape/model.h"

typedef enum
{
  ROUTER_SOFTMAX, /* softmax, top-k, renormalised (Mixtral, Qwen) */
  ROUTER_GROUPED, /* sigmoid, bias, top-k of groups, top-k (DeepSeek-V3) */
  ROUTER_TOP_K,   /* top-k, softmax over the chosen (gpt-oss) */
  ROUTER_SIGMOID, /* sigmoid, bias, top-k (MiniMax-M2, Llama 4) */
} RouterKind;

typedef struct
{
  const char *qkv; /* one fused projection; NULL: separate q, k, v */
  const char *q, *k, *v, *out;
  const char *attention; /* the module that owns attention sinks */
  const char *mixer;     /* that of a state-space layer */
  const char *gate, *up, *down;
  const char *gate_up;                   /* gate and up as one projection; NULL: separate */
  const char *router, *experts, *shared; /* shared: prefix of the shared expert's projections */
  const char *expert_gate, *expert_up,
      *expert_down; /* tensors of the experts module; up NULL: gate and up in one */
  const char *norm1, *norm2;
  const char *behind1, *behind2; /* norms of the branches' outputs */
  const char *embed, *positions, *embed_norm, *final_norm, *head;
  gboolean    transposed; /* weights stored in x out (GPT-2's Conv1D, gpt-oss's experts) */
  gboolean    transposed_experts;
  gboolean    relu;         /* two-matrix MLP with ReLU instead of GELU */
  gboolean    clamped_gate; /* gpt-oss: clamped SwiGLU with a +1 */
  RouterKind  routing;
} FamilyStyle;

/* The style of FAMILY; an unknown one has llama's names. */
FamilyStyle family_style (const char *family);

/* What block I (from 0) of SHAPE is made of, with all its widths: of model_n_blocks. */
ModelLayer model_layer (const ModelShape *shape, gint64 i);

/* Lists every block of SHAPE by itself, so that one may differ from the others. */
void model_list_layers (ModelShape *shape);

/* SHAPE with the widths of LAYER in the place of its own. Owns nothing: SHAPE must outlive it. */
ModelShape model_layer_shape (const ModelShape *shape, const ModelLayer *layer);

/* Whether some block of SHAPE has that. */
gboolean model_has_feed (const ModelShape *shape, ModelFeed feed);
gboolean model_attends (const ModelShape *shape); /* some softmax attention */

/* Widths of one head's query/key and value, and of all heads' output. */
gint64 model_qk_dim (const ModelShape *shape);
gint64 model_value_dim (const ModelShape *shape);

/*
 * Query-key pairs that attention needs for one sequence of SEQ_LEN tokens, as a continuum: s * s,
 * or s * s / 2 when causal; within a window w < s, w * s - w * w / 2 when causal and twice that
 * otherwise. Where an indexer chooses the keys, they are as many as a window has. Of documents of
 * mean DOCUMENT_LENGTH, if that is not 0: model/step/documents.h.
 */
double model_attention_pairs (const ModelShape *shape, gboolean windowed, gboolean causal,
                              double seq_len, double document_length);

/* Checks a filled shape; every inconsistency is diagnosed at MARK. */
gboolean model_shape_check (const ModelShape *shape, const OptionMarks *marks, DiagList *diags);
