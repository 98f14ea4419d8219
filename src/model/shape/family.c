#include "model/shape/family-private.h"

#include "model/step/documents.h"

gint64
model_shared_width (const ModelShape *shape)
{
  return shape->d_shared > 0 ? shape->d_shared : shape->n_shared_experts * shape->d_expert;
}

gint64
model_expert_width (const ModelShape *shape)
{
  return shape->moe_latent > 0 ? shape->moe_latent : shape->d_model;
}

gint64
model_router_keys (const ModelShape *shape)
{
  return shape->router == MODEL_ROUTER_DIRECT ? shape->n_experts * shape->d_expert
                                              : shape->n_experts;
}

gint64
model_qk_dim (const ModelShape *shape)
{
  return shape->kv_lora_rank > 0 ? shape->qk_nope_head_dim + shape->qk_rope_head_dim
                                 : shape->head_dim;
}

gint64
model_value_dim (const ModelShape *shape)
{
  return shape->kv_lora_rank > 0 ? shape->v_head_dim : shape->head_dim;
}

double
model_attention_pairs (const ModelShape *shape, gboolean windowed, gboolean causal, double seq_len,
                       double document_length)
{
  double most = windowed                ? (double) shape->sliding_window
                : shape->index_topk > 0 ? (double) shape->index_topk
                                        : seq_len;
  double window = MIN (seq_len, most);
  double pairs = document_length > 0 ? documents_pairs (seq_len, window, document_length)
                                     : window * seq_len - window * window / 2;

  if (windowed && shape->window_is_chunk)
    pairs = MIN (pairs, window * seq_len / 2);

  return causal ? pairs : 2 * pairs;
}
