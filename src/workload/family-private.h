/*
 * What the reference implementations of the model families differ in beyond their shape: the names
 * of modules and the way that projections are stored. Internal to the layer.
 */
#pragma once

#include "workload/model.h"

typedef enum
{
  ROUTER_SOFTMAX, /* softmax, top-k, renormalised (Mixtral, Qwen) */
  ROUTER_GROUPED, /* sigmoid, bias, top-k of groups, top-k (DeepSeek-V3) */
  ROUTER_TOP_K,   /* top-k, softmax over the chosen (gpt-oss) */
} RouterKind;

typedef struct
{
  const char *family;
  const char *qkv; /* one fused projection; NULL: separate q, k, v */
  const char *q, *k, *v, *out;
  const char *attention; /* the module that owns attention sinks */
  const char *gate, *up, *down;
  const char *router, *experts, *shared; /* shared: prefix of the shared expert's projections */
  const char *expert_gate, *expert_up,
      *expert_down; /* tensors of the experts module; up NULL: gate and up in one */
  const char *norm1, *norm2;
  const char *embed, *positions, *embed_norm, *final_norm, *head;
  gboolean    transposed; /* weights stored in x out (GPT-2's Conv1D, gpt-oss's experts) */
  gboolean    transposed_experts;
  gboolean    relu;         /* two-matrix MLP with ReLU instead of GELU */
  gboolean    clamped_gate; /* gpt-oss: clamped SwiGLU with a +1 */
  RouterKind  routing;
} FamilyStyle;

/* The style of FAMILY; an unknown one has llama's names. Never NULL. */
const FamilyStyle *family_style (const char *family);

/* TRUE when layer I (from 0) of SHAPE has routed experts; when it attends over a window only. */
gboolean model_layer_is_moe (const ModelShape *shape, gint64 i);
gboolean model_layer_is_windowed (const ModelShape *shape, gint64 i);

/* Widths of one head's query/key and value, and of all heads' output. */
gint64 model_qk_dim (const ModelShape *shape);
gint64 model_value_dim (const ModelShape *shape);

/*
 * Query-key pairs that attention needs for one sequence of SEQ_LEN tokens, as a continuum: s * s,
 * or s * s / 2 when causal; within a window w < s, w * s - w * w / 2 when causal and twice that
 * otherwise. Of documents of mean DOCUMENT_LENGTH, if that is not 0: workload/documents.h.
 */
double model_attention_pairs (const ModelShape *shape, gboolean windowed, gboolean causal,
                              double seq_len, double document_length);

/* Checks a filled shape; every inconsistency is diagnosed at MARK. */
gboolean model_shape_check (const ModelShape *shape, const OptionMarks *marks, DiagList *diags);
