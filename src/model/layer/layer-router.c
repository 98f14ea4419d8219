/* Scores of experts: a gate's product, or a product with their keys (router.h). */
#include "model/layer/layer-experts-private.h"
#include "model/layer/router.h"

/*
 * What the router's product takes: X, or its norm by a scale, where each expert has a scale of its
 * weight, too.
 */
static TapeValue
scale_router (LayerBuilder *b, gint module, TapeValue x)
{
  const ModelShape *s = b->shape;

  if (!s->router_scales)
    return x;
  layer_add_replicated (b, "scale", s->d_model, 0);
  layer_add_replicated (b, "per_expert_scale", s->n_experts, 0);
  return tape_norm (b->tape, "router.norm", x, module, b->stream_tokens, b->width, MODEL_NORM_RMS);
}

static TapeValue
score_by_gate (LayerBuilder *b, TapeValue x)
{
  const ModelShape *s = b->shape;
  const gboolean    corrects = b->style->routing != ROUTER_TOP_K;
  const gint        module = layer_add_module (b, b->style->router);

  layer_add_replicated (b, "weight", s->n_experts, s->d_model);
  if (s->router_bias)
    layer_add_replicated (b, corrects ? "e_score_correction_bias" : "bias", s->n_experts, 0);
  x = scale_router (b, module, x);
  b->tape->counted = layer_whole_share (b, b->stream_tokens);
  return tape_linear (b->tape, "router", x,
                      (LinearSpec){ .module = module,
                                    .rows = b->stream_tokens,
                                    .k = (guint64) s->d_model,
                                    .n = (guint64) s->n_experts,
                                    .batch = 1,
                                    .bias = s->router_bias && !corrects });
}

/* Expert ranks have the keys of their own experts, and get the means of the others. */
static TapeValue
score_by_means (LayerBuilder *b, TapeValue x)
{
  const ModelShape *s = b->shape;
  const CommGroup   experts = { .axis = MESH_EXPERT, .members = (guint) b->mesh->ep };
  TapeValue means = tape_key_means (b->tape, "router.means", (double) layer_local_experts (b),
                                    (double) s->d_expert, (double) s->d_model);

  means = tape_comm_gather (b->tape, "router.gather", means, experts);
  b->tape->counted = layer_whole_share (b, b->stream_tokens);
  return tape_product (b->tape, "router", x, means, 1, (guint64) b->stream_tokens,
                       (guint64) s->n_experts, (guint64) s->d_model);
}

static TapeValue
score_all_keys (LayerBuilder *b, TapeValue x)
{
  const ModelShape *s = b->shape;

  b->tape->counted = layer_whole_share (b, b->stream_tokens);
  return tape_key_scores (b->tape, "router", x,
                          (KeySpec){ .rows = (guint64) b->stream_tokens,
                                     .width = (guint64) s->d_model,
                                     .keys = (guint64) model_router_keys (s),
                                     .experts = (guint64) s->n_experts });
}

TapeValue
layer_add_scores (LayerBuilder *b, TapeValue x)
{
  static TapeValue (*const score[]) (LayerBuilder *, TapeValue) = {
    [MODEL_ROUTER_INDIRECT] = score_by_gate,
    [MODEL_ROUTER_AVG_K] = score_by_means,
    [MODEL_ROUTER_DIRECT] = score_all_keys,
  };
  const TapeValue scores = score[b->shape->router](b, x);

  b->tape->counted = 1;
  return scores;
}

void
router_check_mesh (const ModelShape *shape, const TrainingOptions *training,
                   const MeshOptions *mesh, const OptionMarks *marks, DiagList *diags)
{
  const gboolean direct = shape->router == MODEL_ROUTER_DIRECT;
  const char    *name = direct ? "direct" : "avg-k";

  if (shape->router == MODEL_ROUTER_INDIRECT)
    return;
  if (mesh->etp > 1)
    diag_error (diags, option_mark (marks, "etp", "tp", NULL),
                "take 'etp: 1', which with 'tp' needs 'sp: 1', or 'router: indirect'",
                "'router: %s' of experts whose cells %" G_GINT64_FORMAT
                " tensor ranks divide is not modelled",
                name, mesh->etp);
  if (direct && mesh->ep > 1)
    diag_error (diags, option_mark (marks, "ep", NULL),
                "take 'ep: 1', or 'router: avg-k', of which means are gathered",
                "'router: direct' scores the keys of all experts on each rank, and 'ep' of "
                "%" G_GINT64_FORMAT " divides these",
                mesh->ep);
  if (training->peft != PEFT_NONE)
    diag_error (diags, NULL, "leave 'peft' out, or 'router'",
                "adapters of experts that are found by their keys are not modelled");
}
