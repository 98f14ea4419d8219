/* What the FLOP conventions count, before any layer is built. */
#include "workload/family-private.h"
#include "workload/flops.h"

static double
attention_matrix (const ModelShape *s)
{
  double h = (double) s->d_model, heads = (double) s->n_heads, qk = (double) model_qk_dim (s);
  double out = heads * (double) model_value_dim (s) * h, q_rank = (double) s->q_lora_rank,
         kv_rank = (double) s->kv_lora_rank;

  if (s->kv_lora_rank == 0)
    return h * qk * (heads + 2 * (double) s->n_kv_heads) + out;
  return (q_rank > 0 ? q_rank * (h + heads * qk) : h * heads * qk)
         + h * (kv_rank + (double) s->qk_rope_head_dim)
         + kv_rank * heads * (double) (s->qk_nope_head_dim + s->v_head_dim) + out;
}

/* Of one expert. */
static double
expert_matrices (const ModelShape *s)
{
  return (s->gated_mlp ? 3 : 2) * (double) s->d_model * (double) s->d_expert;
}

double
flops_routed_parameters (const ModelShape *s)
{
  double total = 0;

  for (gint64 i = 0; i < s->n_layers; i++)
    if (model_layer_is_moe (s, i))
      total += expert_matrices (s) * (double) s->n_experts_per_token;
  return total;
}

double
flops_matrix_parameters (const ModelShape *s)
{
  double h = (double) s->d_model, matrices = s->gated_mlp ? 3 : 2, total = 0;
  double experts = expert_matrices (s) * (double) (s->n_experts_per_token + s->n_shared_experts)
                   + h * (double) s->n_experts;

  for (gint64 i = 0; i < s->n_layers; i++)
    total += attention_matrix (s)
             + (model_layer_is_moe (s, i) ? experts : matrices * h * (double) s->d_ff);
  if (s->embed_dim > 0)
    return total + (double) s->embed_dim * (double) s->vocab + 2 * h * (double) s->embed_dim;
  return total + h * (double) s->vocab;
}

double
flops_attention_pairs (const ModelShape *shape, const TrainingOptions *training,
                       FlopsConvention convention, gboolean windowed, double seq_len)
{
  switch (convention)
    {
    case FLOPS_PALM:
      return seq_len * seq_len;
    case FLOPS_CAUSAL:
      return model_attention_pairs (shape, windowed, training->causal, seq_len,
                                    (double) training->document_length);
    case FLOPS_6N:
      return 0;
    }
  g_assert_not_reached ();
}

static const struct
{
  const char *name, *words;
} conventions[] = {
  { "palm", "all pairs of tokens, masked ones too" },
  { "causal", "pairs of tokens that masks leave" },
  { "6n", "no pairs of tokens" },
};

const char *
flops_convention_name (FlopsConvention convention)
{
  g_assert (convention < G_N_ELEMENTS (conventions));
  return conventions[convention].name;
}

const char *
flops_convention_words (FlopsConvention convention)
{
  g_assert (convention < G_N_ELEMENTS (conventions));
  return conventions[convention].words;
}
