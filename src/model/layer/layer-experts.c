/* Experts: those that are shared, and the weights and products of those that tokens are sent to. */
#include "model/layer/layer-experts-private.h"

#include <math.h>

/* ---- shared experts ---- */

static LayerMlp
shared_mlp (const LayerBuilder *b)
{
  return (LayerMlp){ .names = { tape_join (b->style->shared, ".gate_proj"),
                                tape_join (b->style->shared, ".up_proj"),
                                tape_join (b->style->shared, ".down_proj") },
                     .width = model_shared_width (b->shape) };
}

TapeValue
layer_add_shared_experts (LayerBuilder *b, TapeValue x)
{
  const LayerMlp mlp = shared_mlp (b);
  guint          outer = tape_enter (b->tape, PART_SHARED_EXPERTS);

  x = layer_narrow (b, layer_widen (b, x, &mlp), &mlp);
  b->tape->parts = outer;
  return x;
}

TapeValue
layer_weigh_shared (LayerBuilder *b, TapeValue x, TapeValue shared)
{
  TapeValue gate;

  if (!b->shape->shared_gate)
    return shared;
  gate = layer_add_linear_on (b, tape_join (b->style->shared, "_gate"), "shared.gate", x,
                              b->stream_tokens, b->shape->d_model, 1, FALSE, WHOLE);
  return tape_weigh_rows (b->tape, "shared.weigh", shared, gate);
}

void
layer_cover_exchange (LayerBuilder *b, TapeValue *shared, LayerMlpHalf *half)
{
  const guint    exchange = b->tape->ops->len - 1;
  const LayerMlp mlp = shared_mlp (b);
  guint          outer;

  if (shared == NULL)
    return;
  outer = tape_enter (b->tape, PART_SHARED_EXPERTS);
  b->covering = TRUE;
  *shared = half (b, *shared, &mlp);
  b->covering = FALSE;
  b->tape->parts = outer;
  tape_comm_cover (b->tape, exchange);
}

/* ---- experts ---- */

gint64
layer_local_experts (const LayerBuilder *b)
{
  return b->shape->n_experts / (b->mesh->ep * mesh_expert_owners (b->mesh));
}

/* Transformer Engine's recipes take the products of experts too; so does whatever generates. */
static gboolean
experts_are_fp8 (const LayerBuilder *b)
{
  const Fp8Recipe *recipe = &b->tape->fp8;

  return recipe->kept || (recipe->name != NULL && b->training->pass != PASS_TRAINING);
}

static gboolean
experts_are_narrow (const LayerBuilder *b)
{
  return layer_widens_weights (b) || (b->tape->fp8.narrow && experts_are_fp8 (b));
}

/* A weight of the experts. K and N are those of this rank's part of an expert. */
typedef struct
{
  const char *name;
  gint64      k, n;
  Division    division;
} ExpertWeight;

/* Those of all experts here in one tensor: experts x N x K, or x K x N where they are stored so. */
static void
add_stacked (LayerBuilder *b, const ExpertWeight *weight)
{
  const gboolean transposed = b->style->transposed_experts;
  const gint64   k = weight->k, n = weight->n;
  TensorDesc    *tensor, *bias;

  tensor = layer_add_tensor (b, weight->name, layer_local_experts (b), transposed ? k : n,
                             transposed ? n : k, TRUE);
  tensor->stacked = TRUE;
  tensor->narrow = experts_are_narrow (b);
  if (!b->shape->expert_bias)
    return;
  bias =
      layer_add_tensor (b, tape_join (weight->name, "_bias"), layer_local_experts (b), n, 0, TRUE);
  bias->stacked = TRUE;
  bias->replicated = weight->division == ROWS && mesh_expert_slices (b->mesh) > 1;
}

/* That of EXPERT alone, a linear layer of its own: N x K. */
static void
add_expert (LayerBuilder *b, gint64 expert, const ExpertWeight *weight)
{
  g_autofree char *weights =
      g_strdup_printf ("%" G_GINT64_FORMAT ".%s.weight", expert, weight->name);
  g_autofree char *bias = g_strdup_printf ("%" G_GINT64_FORMAT ".%s.bias", expert, weight->name);

  layer_add_tensor (b, weights, weight->n, weight->k, 0, TRUE)->narrow = experts_are_narrow (b);
  if (b->shape->expert_bias)
    layer_add_tensor (b, bias, weight->n, 0, 0, TRUE)->replicated =
        weight->division == ROWS && mesh_expert_slices (b->mesh) > 1;
}

/*
 * Experts here that have some of ROWS. Generated tokens are few: routed evenly at random, as many
 * as are expected do, and the weights of no others are read.
 */
static guint64
experts_with_rows (const LayerBuilder *b, double rows)
{
  const double experts = (double) layer_local_experts (b);

  if (b->training->pass == PASS_TRAINING)
    return MIN ((guint64) experts, (guint64) rows);
  return (guint64) MAX (round (experts * (1 - pow (1 - 1 / experts, rows))), 1);
}

/* Rows of the experts through one of their weights, each expert its share. */
static TapeValue
expert_linear (LayerBuilder *b, const char *role, TapeValue in, gint module, gint64 k, gint64 n)
{
  double rows = tape_tensor (b->tape, in)->elements / (double) k;

  return tape_linear (b->tape, role, in,
                      (LinearSpec){ .module = module,
                                    .rows = rows,
                                    .k = (guint64) k,
                                    .n = (guint64) n,
                                    .batch = experts_with_rows (b, rows),
                                    .bias = b->shape->expert_bias,
                                    .fp8 = experts_are_fp8 (b),
                                    .narrow = layer_widens_weights (b) });
}

/* One expert after the other: what was last put on the tape is done for each by itself. */
static void
repeat_for_experts (LayerBuilder *b)
{
  TapeOp     *op = &g_array_index (b->tape->ops, TapeOp, b->tape->ops->len - 1);
  TapeKernel *kernel = &g_array_index (b->tape->forward, TapeKernel, b->tape->forward->len - 1);

  if (b->training->expert_products != EXPERT_PRODUCTS_SEQUENTIAL)
    return;
  op->launches *= (guint) layer_local_experts (b);
  kernel->desc.launches *= (guint) layer_local_experts (b);
}

/* GATE: of experts whose gate is a value of its own. */
static TapeValue
activate_experts (LayerBuilder *b, TapeValue gate, TapeValue hidden)
{
  static const char name[] = "experts.activation";
  guint             outer = tape_enter (b->tape, PART_MOE_ACT);

  if (!b->shape->gated_mlp)
    hidden = layer_activate (b, name, hidden);
  else if (b->style->expert_up == NULL)
    hidden = tape_clamped_gate (b->tape, name, hidden);
  else
    hidden = tape_gate (b->tape, name, gate, hidden);
  repeat_for_experts (b);
  b->tape->parts = outer;
  return hidden;
}

/* Results of one expert after the other put together; backwards, gradients of their inputs. */
static TapeValue
join_experts (LayerBuilder *b, TapeValue rows)
{
  double elements = tape_tensor (b->tape, rows)->elements;

  if (b->training->expert_products == EXPERT_PRODUCTS_SEQUENTIAL && layer_local_experts (b) > 1)
    tape_map (b->tape, "experts.join", &rows, 1, &elements, 1,
              (MapSpec){ .kind = KERNEL_COPY, .forward_launches = 1, .backward_launches = 1 },
              &rows);
  return rows;
}

/* Their weights in forward order; a gate comes first, or with what it gates in one. */
static guint
expert_weights (const LayerBuilder *b, gint64 inner, ExpertWeight weights[3])
{
  const FamilyStyle *style = b->style;
  const gint64       width = model_expert_width (b->shape);
  guint              n = 0;

  if (b->shape->gated_mlp && style->expert_up == NULL)
    weights[n++] = (ExpertWeight){ style->expert_gate, width, 2 * inner, COLUMNS };
  else
    {
      if (b->shape->gated_mlp)
        weights[n++] = (ExpertWeight){ style->expert_gate, width, inner, COLUMNS };
      weights[n++] = (ExpertWeight){ style->expert_up, width, inner, COLUMNS };
    }
  weights[n++] = (ExpertWeight){ style->expert_down, inner, width, ROWS };
  return n;
}

TapeValue
layer_add_expert_mlp (LayerBuilder *b, TapeValue rows)
{
  const ModelShape  *s = b->shape;
  const FamilyStyle *style = b->style;
  gint               module = layer_add_module (b, style->experts);
  gint64         inner = s->d_expert / mesh_expert_slices (b->mesh), width = model_expert_width (s);
  ExpertWeight   weights[3];
  TapeValue      hidden, gate;
  guint          n = expert_weights (b, inner, weights);
  const gboolean each = b->training->expert_tensors == EXPERT_TENSORS_EACH;

  for (guint w = 0; w < n && !each; w++)
    add_stacked (b, &weights[w]);
  for (gint64 expert = 0; expert < layer_local_experts (b) && each; expert++)
    for (guint w = 0; w < n; w++)
      add_expert (b, expert, &weights[w]);
  if (!s->gated_mlp)
    {
      hidden = expert_linear (b, "experts.up", rows, module, width, inner);
      hidden = activate_experts (b, hidden, hidden);
    }
  else if (style->expert_up == NULL)
    {
      hidden = expert_linear (b, "experts.gate_up", rows, module, width, 2 * inner);
      hidden = activate_experts (b, hidden, hidden);
    }
  else
    {
      gate = expert_linear (b, "experts.gate", rows, module, width, inner);
      hidden = expert_linear (b, "experts.up", rows, module, width, inner);
      hidden = activate_experts (b, gate, hidden);
    }
  hidden = expert_linear (b, "experts.down", hidden, module, inner, width);
  return join_experts (b, hidden);
}
