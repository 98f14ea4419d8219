/* A shape by itself: its texts, and whether its widths fit each other. */
#include "model/shape/family-private.h"

void
model_shape_clear (ModelShape *self)
{
  g_free (self->name);
  g_free (self->family);
  g_free (self->layers);
  *self = (ModelShape){ 0 };
}

void
model_shape_copy (const ModelShape *source, ModelShape *target)
{
  *target = *source;
  target->name = g_strdup (source->name);
  target->family = g_strdup (source->family);
  target->layers = g_memdup2 (source->layers, (gsize) source->n_listed * sizeof *source->layers);
}

#define MAX_PARAMETERS 1e15 /* keeps every product of widths within 64 bits */

typedef struct
{
  const char *name;
  gsize       offset;
  gint64      max;
} Bound;

#define BOUND(member, max)                            \
  {                                                   \
#member, G_STRUCT_OFFSET(ModelShape, member), max \
  }

static const Bound positive[] = {
  BOUND (n_layers, MODEL_MAX_LAYERS), BOUND (d_model, 1 << 22),  BOUND (n_heads, 1 << 16),
  BOUND (n_kv_heads, 1 << 16),        BOUND (head_dim, 1 << 16), BOUND (vocab, 1 << 26),
};

static const Bound positive_moe[] = {
  BOUND (n_experts_per_token, 1 << 16),
  BOUND (d_expert, 1 << 24),
  BOUND (moe_period, 100000),
};

static const Bound positive_mla[] = {
  BOUND (qk_nope_head_dim, 1 << 16),
  BOUND (qk_rope_head_dim, 1 << 16),
  BOUND (v_head_dim, 1 << 16),
};

static const Bound positive_states[] = {
  BOUND (ssm_heads, 1 << 16), BOUND (ssm_head_dim, 1 << 16), BOUND (ssm_groups, 1 << 16),
  BOUND (ssm_state, 1 << 16), BOUND (ssm_chunk, 1 << 16),    BOUND (conv_taps, 1 << 8),
};

static const Bound positive_scan[] = {
  BOUND (ssm_heads, 1 << 16),
  BOUND (ssm_state, 1 << 16),
  BOUND (ssm_rank, 1 << 16),
  BOUND (conv_taps, 1 << 8),
};

static const Bound positive_linear[] = {
  BOUND (linear_key_heads, 1 << 16),
  BOUND (linear_value_heads, 1 << 16),
  BOUND (linear_key_dim, 1 << 16),
  BOUND (linear_value_dim, 1 << 16),
};

static const Bound positive_taps[] = { BOUND (conv_taps, 1 << 8) };

static const Bound positive_index[] = {
  BOUND (index_heads, 1 << 16),
  BOUND (index_dim, 1 << 16),
};

static const Bound not_negative[] = {
  BOUND (d_ff, 1 << 24),           BOUND (max_positions, 1 << 26),     BOUND (embed_dim, 1 << 24),
  BOUND (sliding_window, 1 << 26), BOUND (sliding_period, 100000),     BOUND (n_experts, 1 << 16),
  BOUND (n_shared_experts, 1024),  BOUND (first_dense_layers, 100000), BOUND (q_lora_rank, 1 << 22),
  BOUND (kv_lora_rank, 1 << 22),   BOUND (n_mtp_layers, 1024),         BOUND (d_shared, 1 << 24),
  BOUND (moe_latent, 1 << 24),     BOUND (index_topk, 1 << 26),
};

static void
check_bounds (const ModelShape *shape, const Bound *bounds, gsize n, gint64 min,
              const OptionMarks *marks, DiagList *diags)
{
  for (gsize i = 0; i < n; i++)
    {
      gint64 value = G_STRUCT_MEMBER (gint64, shape, bounds[i].offset);

      if (value < min || value > bounds[i].max)
        diag_error (diags, option_mark (marks, bounds[i].name, NULL), NULL,
                    "'%s' is %" G_GINT64_FORMAT ", expected %" G_GINT64_FORMAT
                    " to %" G_GINT64_FORMAT,
                    bounds[i].name, value, min, bounds[i].max);
    }
}

/*
 * An upper estimate in floating point, so that absurd widths are refused before integers multiply.
 */
static double
estimate_parameters (const ModelShape *shape)
{
  double h = (double) shape->d_model, heads = (double) shape->n_heads;
  double wide = MAX ((double) model_qk_dim (shape), (double) model_value_dim (shape)) * heads;
  double ranks =
      (double) shape->q_lora_rank + (double) shape->kv_lora_rank + (double) shape->ssm_rank;
  double attention = (4 * h + 3 * ranks) * (wide + h);
  double states =
      4 * (double) shape->ssm_heads * ((double) shape->ssm_head_dim + (double) shape->ssm_state);
  double linear = 6 * ((double) shape->linear_key_heads + (double) shape->linear_value_heads)
                  * ((double) shape->linear_key_dim + (double) shape->linear_value_dim);
  double index = (double) shape->index_heads * (double) shape->index_dim;
  double mlp = 3 * h * (double) shape->d_ff;
  double experts = 3 * h
                   * ((double) shape->d_expert * (double) shape->n_experts
                      + (double) model_shared_width (shape));

  double mixers =
      2 * attention + (h + ranks) * (states + linear + index) + 2 * h * (double) shape->moe_latent;

  return (double) shape->n_layers * (mixers + mlp + experts)
         + 2 * h
               * ((double) shape->vocab + (double) shape->max_positions
                  + (double) shape->embed_dim);
}

/* What each kind of mixer that SHAPE has needs. */
static void
check_mixers (const ModelShape *shape, const OptionMarks *marks, DiagList *diags)
{
  static const struct
  {
    ModelMixer   mixer;
    const Bound *bounds;
    gsize        n;
  } needs[] = {
    { MODEL_MIXER_MAMBA1, positive_scan, G_N_ELEMENTS (positive_scan) },
    { MODEL_MIXER_MAMBA2, positive_states, G_N_ELEMENTS (positive_states) },
    { MODEL_MIXER_SIDE, positive_states, G_N_ELEMENTS (positive_states) },
    { MODEL_MIXER_DELTA, positive_linear, G_N_ELEMENTS (positive_linear) },
    { MODEL_MIXER_DELTA, positive_taps, G_N_ELEMENTS (positive_taps) },
    { MODEL_MIXER_KDA, positive_linear, G_N_ELEMENTS (positive_linear) },
    { MODEL_MIXER_KDA, positive_taps, G_N_ELEMENTS (positive_taps) },
    { MODEL_MIXER_LIGHTNING, positive_linear, G_N_ELEMENTS (positive_linear) },
    { MODEL_MIXER_CONV, positive_taps, G_N_ELEMENTS (positive_taps) },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (needs); i++)
    if (shape->layers != NULL && model_has_mixer (shape, needs[i].mixer))
      check_bounds (shape, needs[i].bounds, needs[i].n, 1, marks, diags);
  if (shape->index_topk > 0)
    check_bounds (shape, positive_index, G_N_ELEMENTS (positive_index), 1, marks, diags);
}

/* Heads of states that do not divide into groups, as two numbers; FALSE: all do. */
static gboolean
find_odd_heads (const ModelShape *shape, gint64 *heads, gint64 *parts)
{
  const gint64 pairs[][2] = { { shape->ssm_heads, shape->ssm_groups },
                              { shape->linear_value_heads, shape->linear_key_heads } };

  for (gsize i = 0; i < G_N_ELEMENTS (pairs); i++)
    if (pairs[i][1] > 0 && pairs[i][0] % pairs[i][1] != 0)
      {
        *heads = pairs[i][0];
        *parts = pairs[i][1];
        return TRUE;
      }
  return FALSE;
}

gboolean
model_shape_check (const ModelShape *shape, const OptionMarks *marks, DiagList *diags)
{
  guint  before = diag_list_n_errors (diags);
  gint64 heads, parts;

  check_bounds (shape, positive, G_N_ELEMENTS (positive), 1, marks, diags);
  check_bounds (shape, not_negative, G_N_ELEMENTS (not_negative), 0, marks, diags);
  if (shape->n_experts > 0)
    check_bounds (shape, positive_moe, G_N_ELEMENTS (positive_moe), 1, marks, diags);
  if (shape->kv_lora_rank > 0)
    check_bounds (shape, positive_mla, G_N_ELEMENTS (positive_mla), 1, marks, diags);
  check_mixers (shape, marks, diags);
  if (diag_list_n_errors (diags) == before)
    {
      if (shape->n_heads % shape->n_kv_heads != 0)
        diag_error (diags, option_mark (marks, "n_kv_heads", NULL),
                    "every key head serves the same number of query heads",
                    "%" G_GINT64_FORMAT " heads do not divide into %" G_GINT64_FORMAT
                    " key-value heads",
                    shape->n_heads, shape->n_kv_heads);
      if (find_odd_heads (shape, &heads, &parts))
        diag_error (diags, option_mark (marks, "n_heads", NULL), NULL,
                    "%" G_GINT64_FORMAT " heads of states do not divide into %" G_GINT64_FORMAT
                    " groups",
                    heads, parts);
      if (shape->n_experts_per_token > shape->n_experts)
        diag_error (diags, option_mark (marks, "n_experts_per_token", NULL), NULL,
                    "%" G_GINT64_FORMAT " experts a token, but there are %" G_GINT64_FORMAT,
                    shape->n_experts_per_token, shape->n_experts);
      if (shape->d_ff == 0
          && (model_has_feed (shape, MODEL_FEED_DENSE) || shape->beside != MODEL_BESIDE_NONE))
        diag_error (diags, option_mark (marks, "n_experts", NULL), NULL,
                    "'d_ff' is needed for the dense layers");
      if (estimate_parameters (shape) > MAX_PARAMETERS)
        diag_error (diags, option_mark (marks, "d_model", NULL), NULL,
                    "the model has more than 1e15 parameters");
    }
  return diag_list_n_errors (diags) == before;
}
