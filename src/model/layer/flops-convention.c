/* What the FLOP conventions count, before any layer is built. */
#include "model/layer/flops.h"
#include "model/shape/family-private.h"

/* ---- parameters in matrix products, and FLOPs of states ---- */

static double
indexer_matrix (const ModelShape *s)
{
  double h = (double) s->d_model, queries = s->q_lora_rank > 0 ? (double) s->q_lora_rank : h;

  if (s->index_topk == 0)
    return 0;
  return queries * (double) (s->index_heads * s->index_dim)
         + h * (double) (s->index_dim + s->index_heads);
}

static double
attention_matrix (const ModelShape *s)
{
  double h = (double) s->d_model, heads = (double) s->n_heads, qk = (double) model_qk_dim (s);
  double out = heads * (double) model_value_dim (s) * h, q_rank = (double) s->q_lora_rank,
         kv_rank = (double) s->kv_lora_rank;

  if (s->kv_lora_rank == 0)
    return h * qk * ((s->attention_gate ? 2 : 1) * heads + 2 * (double) s->n_kv_heads) + out
           + (s->head_gate ? h * heads : 0);
  return (q_rank > 0 ? q_rank * (h + heads * qk) : h * heads * qk)
         + h * (kv_rank + (double) s->qk_rope_head_dim)
         + kv_rank * heads * (double) (s->qk_nope_head_dim + s->v_head_dim) + out
         + indexer_matrix (s);
}

static double
mamba1_matrix (const ModelShape *s)
{
  double inner = (double) s->ssm_heads, rank = (double) s->ssm_rank;

  return inner * (3 * (double) s->d_model + 2 * rank + 2 * (double) s->ssm_state);
}

/* Megatron-LM's figure is of the selective scan: decay, input, step, output. */
static double
mamba1_states (const ModelShape *s)
{
  return 7 * (double) (s->ssm_heads * s->ssm_state);
}

static double
mamba2_matrix (const ModelShape *s)
{
  double h = (double) s->d_model, inner = (double) (s->ssm_heads * s->ssm_head_dim);

  return h * (3 * inner + 2 * (double) (s->ssm_groups * s->ssm_state) + (double) s->ssm_heads);
}

static double
mamba2_states (const ModelShape *s)
{
  return 7 * (double) (s->ssm_heads * s->ssm_head_dim * s->ssm_state);
}

static double
side_matrix (const ModelShape *s)
{
  return attention_matrix (s) + mamba2_matrix (s);
}

/* Keys, queries and values, through the convolution: a tap is a multiply-add. */
static double
convolved (const ModelShape *s)
{
  return 2 * (double) (s->linear_key_heads * s->linear_key_dim)
         + (double) (s->linear_value_heads * s->linear_value_dim);
}

static double
delta_matrix (const ModelShape *s)
{
  double values = (double) (s->linear_value_heads * s->linear_value_dim);

  return (double) s->d_model * (convolved (s) + 2 * values + 2 * (double) s->linear_value_heads)
         + (double) s->conv_taps * convolved (s);
}

/* K K', V K', S (I - b K K') and S Q: as many products as the state is large. */
static double
delta_states (const ModelShape *s)
{
  return 8 * (double) (s->linear_value_heads * s->linear_key_dim * s->linear_value_dim);
}

/* Decay and gate pass a bottleneck as wide as a head, or the gate does not. */
static double
kda_matrix (const ModelShape *s)
{
  double h = (double) s->d_model, values = (double) (s->linear_value_heads * s->linear_value_dim),
         narrow = (double) s->linear_key_dim * (h + values);

  return h * (convolved (s) + values + (double) s->linear_value_heads) + narrow
         + (s->linear_whole_gate ? h * values : narrow) + (double) s->conv_taps * convolved (s);
}

static double
lightning_matrix (const ModelShape *s)
{
  return (double) s->d_model
         * (convolved (s) + 2 * (double) (s->linear_value_heads * s->linear_value_dim));
}

/* K' V is added to the state, Q times the state is the result. */
static double
lightning_states (const ModelShape *s)
{
  return 4 * (double) (s->linear_value_heads * s->linear_key_dim * s->linear_value_dim);
}

static double
conv_matrix (const ModelShape *s)
{
  return (double) s->d_model * (4 * (double) s->d_model + (double) s->conv_taps);
}

/*
 * What each mixer has: a token's parameters in products, and FLOPs of its states forwards, as
 * Megatron-LM counts them (training.py: mamba_layer_flops, gdn_layer_flops). NULL: none.
 */
static const struct
{
  double (*matrix) (const ModelShape *s);
  double (*states) (const ModelShape *s);
} mixers[MODEL_N_MIXERS] = {
  [MODEL_MIXER_ATTENTION] = { attention_matrix, NULL },
  [MODEL_MIXER_WINDOW] = { attention_matrix, NULL },
  [MODEL_MIXER_MAMBA2] = { mamba2_matrix, mamba2_states },
  [MODEL_MIXER_DELTA] = { delta_matrix, delta_states },
  [MODEL_MIXER_KDA] = { kda_matrix, delta_states },
  [MODEL_MIXER_LIGHTNING] = { lightning_matrix, lightning_states },
  [MODEL_MIXER_CONV] = { conv_matrix, NULL },
  [MODEL_MIXER_MAMBA1] = { mamba1_matrix, mamba1_states },
  [MODEL_MIXER_SIDE] = { side_matrix, mamba2_states },
};

double
flops_state (const ModelShape *shape, ModelMixer mixer)
{
  return mixers[mixer].states != NULL ? mixers[mixer].states (shape) : 0;
}

/* Of one expert. */
static double
expert_matrices (const ModelShape *s)
{
  return (s->gated_mlp ? 3 : 2) * (double) model_expert_width (s) * (double) s->d_expert;
}

double
flops_routed_parameters (const ModelShape *s)
{
  double total = 0;

  for (gint64 i = 0; i < model_n_blocks (s); i++)
    if (model_layer (s, i).feed == MODEL_FEED_EXPERTS)
      total += expert_matrices (s) * (double) s->n_experts_per_token;
  return total;
}

double
flops_matrix_parameters (const ModelShape *s)
{
  double h = (double) s->d_model, matrices = s->gated_mlp ? 3 : 2, total = 0;
  double experts = expert_matrices (s) * (double) s->n_experts_per_token
                   + matrices * h * (double) model_shared_width (s)
                   + h * (double) model_router_keys (s) + (s->shared_gate ? h : 0)
                   + 2 * h * (double) s->moe_latent;

  for (gint64 i = 0; i < model_n_blocks (s); i++)
    {
      ModelLayer layer = model_layer (s, i);
      ModelShape own = model_layer_shape (s, &layer);

      if (mixers[layer.mixer].matrix != NULL)
        total += mixers[layer.mixer].matrix (&own);
      if (layer.feed == MODEL_FEED_EXPERTS)
        total += experts;
      if (layer.feed == MODEL_FEED_DENSE
          || (layer.feed == MODEL_FEED_EXPERTS && s->beside != MODEL_BESIDE_NONE))
        total += matrices * h * (double) own.d_ff;
      if (layer.mtp > 0)
        total += 2 * h * h;
    }
  if (s->embed_dim > 0)
    return total + (double) s->embed_dim * (double) s->vocab + 2 * h * (double) s->embed_dim;
  return total + (double) (1 + s->n_mtp) * h * (double) s->vocab;
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
