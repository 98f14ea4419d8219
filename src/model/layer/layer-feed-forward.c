/* The second half of a block: an MLP, or experts behind a router. */
#include "model/layer/layer-parts-private.h"

#include "model/layer/expert-dispatch.h"

#include <math.h>

/* ---- MLP ---- */

static TapeValue
activate (const LayerBuilder *b, const char *name, TapeValue hidden)
{
  const gint kind = b->shape->activation;

  if (kind == MODEL_ACTIVATION_SQUARED_RELU)
    return tape_squared_relu (b->tape, name, hidden);
  if (kind == MODEL_ACTIVATION_RELU || (kind == MODEL_ACTIVATION_AUTO && b->style->relu))
    return tape_relu (b->tape, name, hidden);
  return tape_gelu (b->tape, name, hidden);
}

/* Names of the projections: gate, up, down; of gate and up as one, or NULL. */
typedef struct
{
  const char *names[3], *gate_up;
  gint64      width;
} Mlp;

/* As layer_add_linear, of whose hidden features a rank may train a slice. */
static TapeValue
add_projection (LayerBuilder *b, const char *name, const char *role, TapeValue in, gint64 k,
                gint64 n, Division division)
{
  TapeValue out;

  b->slices = training_slices (b->training);
  out = layer_add_linear (b, name, role, in, k, n, b->shape->mlp_bias, division);
  b->slices = 1;
  return out;
}

/* Either half of an MLP. */
typedef TapeValue MlpHalf (LayerBuilder *b, TapeValue x, const Mlp *mlp);

static TapeValue
widen (LayerBuilder *b, TapeValue x, const Mlp *mlp)
{
  const ModelShape *s = b->shape;
  TapeValue         hidden, gate;

  x = layer_enter (b, "mlp.gather", x);
  if (!s->gated_mlp)
    return activate (
        b, "mlp.activation",
        add_projection (b, mlp->names[1], "mlp.up", x, s->d_model, mlp->width, COLUMNS));
  if (mlp->gate_up != NULL)
    {
      gint64    width = mlp->width / b->tp;
      double    elements = b->tokens * (double) width;
      TapeValue halves[2];

      hidden =
          add_projection (b, mlp->gate_up, "mlp.gate_up", x, s->d_model, 2 * mlp->width, COLUMNS);
      layer_split (b, "mlp.split", hidden, (double[]){ elements, elements }, 2, halves);
      return tape_gate (b->tape, "mlp.activation", halves[0], halves[1]);
    }
  gate = add_projection (b, mlp->names[0], "mlp.gate", x, s->d_model, mlp->width, COLUMNS);
  if (s->branch_scales)
    gate = layer_add_scale (b, "mlp.scale_gate", gate);
  hidden = add_projection (b, mlp->names[1], "mlp.up", x, s->d_model, mlp->width, COLUMNS);
  return tape_gate (b->tape, "mlp.activation", gate, hidden);
}

static TapeValue
narrow (LayerBuilder *b, TapeValue hidden, const Mlp *mlp)
{
  hidden =
      add_projection (b, mlp->names[2], "mlp.down", hidden, mlp->width, b->shape->d_model, ROWS);
  return b->shape->branch_scales ? layer_add_scale (b, "mlp.scale_down", hidden) : hidden;
}

static TapeValue
add_mlp (LayerBuilder *b, TapeValue x, const Mlp *mlp)
{
  return narrow (b, widen (b, x, mlp), mlp);
}

/* ---- shared experts ---- */

static Mlp
shared_mlp (const LayerBuilder *b)
{
  return (Mlp){ .names = { tape_join (b->style->shared, ".gate_proj"),
                           tape_join (b->style->shared, ".up_proj"),
                           tape_join (b->style->shared, ".down_proj") },
                .width = model_shared_width (b->shape) };
}

static TapeValue
add_shared_experts (LayerBuilder *b, TapeValue x)
{
  const Mlp mlp = shared_mlp (b);
  guint     outer = tape_enter (b->tape, PART_SHARED_EXPERTS);

  x = add_mlp (b, x, &mlp);
  b->tape->parts = outer;
  return x;
}

/* What the shared experts made of X, weighed by their gate where they have one. */
static TapeValue
weigh_shared (LayerBuilder *b, TapeValue x, TapeValue shared)
{
  TapeValue gate;

  if (!b->shape->shared_gate)
    return shared;
  gate = layer_add_linear_on (b, tape_join (b->style->shared, "_gate"), "shared.gate", x,
                              b->stream_tokens, b->shape->d_model, 1, FALSE, WHOLE);
  return tape_weigh_rows (b->tape, "shared.weigh", shared, gate);
}

/*
 * HALF of the shared experts runs concurrently with the exchange that was recorded last: the first
 * one with the dispatch, the other with the return (Megatron-Core, core/transformer/moe: stream of
 * shared_experts.py, called by token_dispatcher.py). *SHARED is what it is applied to, and then
 * what it makes; without SHARED nothing runs then. Order stands for the stream of their own: what
 * lasts longer than the exchange delays what comes next, with which it would share the GPU.
 */
static void
cover_exchange (LayerBuilder *b, TapeValue *shared, MlpHalf *half)
{
  const guint exchange = b->tape->ops->len - 1;
  const Mlp   mlp = shared_mlp (b);
  guint       outer;

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

static gint64
local_experts (const LayerBuilder *b)
{
  return b->shape->n_experts / b->mesh->ep;
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

  tensor = layer_add_tensor (b, weight->name, local_experts (b), transposed ? k : n,
                             transposed ? n : k, TRUE);
  tensor->stacked = TRUE;
  tensor->narrow = b->tape->fp8.narrow && b->tape->fp8.kept;
  if (!b->shape->expert_bias)
    return;
  bias = layer_add_tensor (b, tape_join (weight->name, "_bias"), local_experts (b), n, 0, TRUE);
  bias->stacked = TRUE;
  bias->replicated = weight->division == ROWS && b->mesh->etp > 1;
}

/* That of EXPERT alone, a linear layer of its own: N x K. */
static void
add_expert (LayerBuilder *b, gint64 expert, const ExpertWeight *weight)
{
  g_autofree char *weights =
      g_strdup_printf ("%" G_GINT64_FORMAT ".%s.weight", expert, weight->name);
  g_autofree char *bias = g_strdup_printf ("%" G_GINT64_FORMAT ".%s.bias", expert, weight->name);

  layer_add_tensor (b, weights, weight->n, weight->k, 0, TRUE)->narrow =
      b->tape->fp8.narrow && b->tape->fp8.kept;
  if (b->shape->expert_bias)
    layer_add_tensor (b, bias, weight->n, 0, 0, TRUE)->replicated =
        weight->division == ROWS && b->mesh->etp > 1;
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
                                    .batch = MIN ((guint64) local_experts (b), (guint64) rows),
                                    .bias = b->shape->expert_bias,
                                    .fp8 = b->tape->fp8.kept });
}

/* One expert after the other: what was last put on the tape is done for each by itself. */
static void
repeat_for_experts (LayerBuilder *b)
{
  TapeOp     *op = &g_array_index (b->tape->ops, TapeOp, b->tape->ops->len - 1);
  TapeKernel *kernel = &g_array_index (b->tape->forward, TapeKernel, b->tape->forward->len - 1);

  if (b->training->expert_products != EXPERT_PRODUCTS_SEQUENTIAL)
    return;
  op->launches *= (guint) local_experts (b);
  kernel->desc.launches *= (guint) local_experts (b);
}

/* GATE: of experts whose gate is a value of its own. */
static TapeValue
activate_experts (LayerBuilder *b, TapeValue gate, TapeValue hidden)
{
  static const char name[] = "experts.activation";
  guint             outer = tape_enter (b->tape, PART_MOE_ACT);

  if (!b->shape->gated_mlp)
    hidden = activate (b, name, hidden);
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

  if (b->training->expert_products == EXPERT_PRODUCTS_SEQUENTIAL && local_experts (b) > 1)
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

static TapeValue
add_expert_mlp (LayerBuilder *b, TapeValue rows)
{
  const ModelShape  *s = b->shape;
  const FamilyStyle *style = b->style;
  gint               module = layer_add_module (b, style->experts);
  gint64             inner = s->d_expert / b->mesh->etp, width = model_expert_width (s);
  ExpertWeight       weights[3];
  TapeValue          hidden, gate;
  guint              n = expert_weights (b, inner, weights);
  const gboolean     each = b->training->expert_tensors == EXPERT_TENSORS_EACH;

  for (guint w = 0; w < n && !each; w++)
    add_stacked (b, &weights[w]);
  for (gint64 expert = 0; expert < local_experts (b) && each; expert++)
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

/*
 * Passes over the scores. Softmax: softmax, top-k | sum, divide, cast of the chosen. Grouped:
 * sigmoid, + bias, top-2 and sum of groups, top-k of groups, mask (2), fill, top-k, gather, sum,
 * divide, scale. Top-k: top-k, softmax and cast of the chosen. Sigmoid: sigmoid, + bias, top-k |
 * gather, sum, divide, cast.
 */
static const RouteSpec routes[] = {
  [ROUTER_SOFTMAX] = { .score_reads = 1,
                       .score_writes = 1,
                       .forward_launches = 5,
                       .backward_launches = 5 },
  [ROUTER_GROUPED] = { .score_reads = 5,
                       .score_writes = 4,
                       .forward_launches = 13,
                       .backward_launches = 6 },
  [ROUTER_TOP_K] = { .score_reads = 0,
                     .score_writes = 0,
                     .forward_launches = 3,
                     .backward_launches = 3 },
  [ROUTER_SIGMOID] = { .score_reads = 2,
                       .score_writes = 2,
                       .forward_launches = 7,
                       .backward_launches = 5 },
};

/*
 * Rows of tokens copied to the experts that they visit, and the sort of the token numbers before it
 * (3 kernels).
 */
static TapeValue
permute (LayerBuilder *b, TapeValue x, double rows)
{
  double    elements = rows * (double) model_expert_width (b->shape);
  double    came = tape_tensor (b->tape, x)->elements;
  double    again = tape_tensor (b->tape, x)->bytes / came * MAX (elements - came, 0);
  TapeOp   *op;
  TapeValue out;

  tape_map (b->tape, "experts.permute", &x, 1, &elements, 1,
            (MapSpec){ .kind = KERNEL_GATHER, .forward_launches = 4, .backward_launches = 1 },
            &out);
  op = &g_array_index (b->tape->ops, TapeOp, b->tape->ops->len - 1);
  op->aux = tape_add_aux (b->tape, "experts.row_ids", 8 * rows, FALSE);
  g_array_index (b->tape->forward, TapeKernel, b->tape->forward->len - 1).desc.read_bytes += again;
  return out;
}

/*
 * How many rows each rank sends to each expert: summed up and gathered from all ranks. The host
 * needs the numbers for the all-to-all's splits and for the products of each expert, so it waits
 * (Megatron-LM, core/transformer/moe/token_dispatcher.py: preprocess, six sums and five copies to
 * the host, then cuda_sync_point; torchtitan, distributed/expert_parallel.py; DeepEP waits for its
 * notify kernel). One grouped product finds its rows on the GPU. Rows that are padded to a capacity
 * are known beforehand, and what is captured as one graph cannot wait.
 */
static void
count_rows (LayerBuilder *b)
{
  const gboolean known =
      b->mesh->pad_to_capacity || b->training->cuda_graphs == GRAPHS_STEP
      || (b->mesh->ep == 1 && b->training->expert_products == EXPERT_PRODUCTS_GROUPED);
  const double experts = (double) b->shape->n_experts;
  GArray      *list = b->tape->forward;

  if (known)
    return;
  tape_push (b->tape, list,
             tape_stream (b->tape, KERNEL_REDUCTION, "experts.count", b->stream_tokens * experts, 0,
                          b->mesh->ep > 1 ? 11 : 2),
             FALSE);
  if (b->mesh->ep > 1)
    tape_push (b->tape, list,
               tape_comm_desc (b->tape, "experts.counts", COLLECTIVE_ALL_GATHER, MESH_EXPERT,
                               8 * experts * (double) b->mesh->ep),
               FALSE);
  g_array_index (list, TapeKernel, list->len - 1).desc.host_waits = TRUE;
}

/* What came from several ranks, in the order of the ranks, sorted by expert; and back. */
static TapeValue
sort_rows (LayerBuilder *b, const char *name, TapeValue rows)
{
  double elements = tape_tensor (b->tape, rows)->elements;

  if (b->mesh->ep > 1 && local_experts (b) > 1)
    tape_map (b->tape, name, &rows, 1, &elements, 1,
              (MapSpec){ .kind = KERNEL_GATHER, .forward_launches = 1, .backward_launches = 1 },
              &rows);
  return rows;
}

/* Of a rank's rows, none in part; and one at least, however low the capacity of its experts is. */
static double
whole_rows (double rows)
{
  return MAX (floor (rows), 1);
}

/*
 * The ranks that divide an expert. Megatron-LM's dispatcher gathers before the sort, the products
 * keep what was gathered and sorted, and nothing runs concurrently with the collectives
 * (core/transformer/moe/token_dispatcher.py: dispatch_postprocess, combine_preprocess).
 */
static CommGroup
expert_tensor_group (const LayerBuilder *b)
{
  CommGroup group = layer_tensor_group (b);

  if (mesh_folds_experts (b->mesh))
    {
      group.axis = MESH_EXPERT_TENSOR;
      group.members = (guint) b->mesh->etp;
    }
  group.sliced = group.concurrent = FALSE;
  group.kept = TRUE;
  group.fp8 = group.fp8 && b->tape->fp8.kept; /* as the experts' products are */
  return group;
}

/* Whether the ranks that divide an expert get different tokens, which all of them need. */
static gboolean
gathers_rows (const LayerBuilder *b)
{
  return b->mesh->sp == 1 || mesh_folds_experts (b->mesh);
}

/*
 * Of an expert rank's ROWS, the share that MFU counts: the fullest rank has more than the mean, and
 * what is dropped is no work.
 */
static double
counted_rows (const LayerBuilder *b, TapeValue rows)
{
  double sources = gathers_rows (b) ? (double) b->mesh->etp : 1;

  return b->stream_tokens * sources * (double) b->shape->n_experts_per_token
         * (double) model_expert_width (b->shape) * mesh_rows_kept (b->mesh)
         / tape_tensor (b->tape, rows)->elements;
}

/*
 * Rows travel to the ranks that have their experts and back (all-to-all). Each tensor rank sends
 * those of its own tokens, and the ranks that divide an expert gather what they received
 * (Megatron-LM's all-to-all dispatcher). SHARED as in cover_exchange.
 */
static TapeValue
dispatch_rows (LayerBuilder *b, TapeValue x, TapeValue *shared)
{
  double routed = b->stream_tokens * (double) b->shape->n_experts_per_token,
         fill = mesh_expert_fill (b->mesh);
  double    sent = whole_rows (routed * MIN (fill, 1)), received = whole_rows (routed * fill);
  CommGroup experts = { .axis = MESH_EXPERT, .members = (guint) b->mesh->ep },
            tensor = expert_tensor_group (b);
  TapeValue rows = permute (b, x, sent);

  count_rows (b);
  rows = tape_comm_exchange (b->tape, "experts.dispatch", rows,
                             received * (double) model_expert_width (b->shape), experts);
  cover_exchange (b, shared, widen);
  if (gathers_rows (b))
    rows = tape_comm_gather (b->tape, "experts.gather", rows, tensor);
  rows = sort_rows (b, "experts.sort", rows);
  b->tape->counted = counted_rows (b, rows);
  rows = add_expert_mlp (b, rows);
  b->tape->counted = 1;
  rows = sort_rows (b, "experts.unsort", rows);
  if (gathers_rows (b))
    rows = tape_comm_scatter (b->tape, "experts.scatter", rows, tensor);
  rows = tape_comm_exchange (b->tape, "experts.return", rows,
                             sent * (double) model_expert_width (b->shape), experts);
  cover_exchange (b, shared, narrow);
  return rows;
}

/*
 * The same where a token goes once to each rank that has an expert of it: what arrives is copied to
 * its experts there, and results are weighted and added up before they return.
 */
static TapeValue
dispatch_tokens (LayerBuilder *b, TapeValue x, TapeValue weights)
{
  const Dispatch dispatch = expert_dispatch (b->shape, b->mesh);
  const double wire = expert_dispatch_bytes (b->shape, b->mesh), fill = mesh_expert_fill (b->mesh);
  const double reached = dispatch_parts (&dispatch, (guint) b->mesh->ep);
  const double copies =
      whole_rows (b->stream_tokens * reached * fill) * (double) model_expert_width (b->shape);
  const double routed = b->stream_tokens * (double) b->shape->n_experts_per_token;
  CommGroup    experts = { .axis = MESH_EXPERT, .members = (guint) b->mesh->ep };
  TapeValue    rows;

  count_rows (b);
  rows = tape_comm_dispatch (b->tape, "experts.dispatch", x, copies, wire, experts);
  rows = permute (b, rows, whole_rows (routed * fill));
  b->tape->counted = counted_rows (b, rows);
  rows = add_expert_mlp (b, rows);
  b->tape->counted = 1;
  rows = tape_combine (b->tape, "experts.combine", rows, weights, copies);
  return tape_comm_return (b->tape, "experts.return", rows,
                           b->stream_tokens * (double) model_expert_width (b->shape), wire,
                           experts);
}

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

/* X through a weight that every rank has whole, or X: experts may work on a projection. */
static TapeValue
add_latent (LayerBuilder *b, const char *name, const char *role, TapeValue x, gint64 k, gint64 n)
{
  if (b->shape->moe_latent == 0)
    return x;
  return layer_add_linear_on (b, tape_join ("mlp.", name), role, x, b->stream_tokens, k, n, FALSE,
                              WHOLE);
}

/*
 * Routed experts as grouped products over tokens sorted by expert; the experts of a rank get even
 * shares. Auxiliary losses are left out. Without sequence parallelism every tensor rank has all
 * tokens and its part of each expert.
 */
static TapeValue
add_moe (LayerBuilder *b, TapeValue x)
{
  const ModelShape *s = b->shape;
  RouteSpec         route = routes[b->style->routing];
  gint              module = layer_add_module (b, b->style->router);
  gboolean          shares = model_shared_width (s) > 0;
  gboolean          covers = b->mesh->shared_expert_overlap && shares;
  gboolean          corrects = b->style->routing != ROUTER_TOP_K;
  const gint64      width = model_expert_width (s);
  TapeValue         in, logits, weights, out, shared = x;

  layer_add_replicated (b, "weight", s->n_experts, s->d_model);
  if (s->router_bias)
    layer_add_replicated (b, corrects ? "e_score_correction_bias" : "bias", s->n_experts, 0);
  in = scale_router (b, module, x);
  b->tape->counted = layer_whole_share (b, b->stream_tokens);
  logits = tape_linear (b->tape, "router", in,
                        (LinearSpec){ .module = module,
                                      .rows = b->stream_tokens,
                                      .k = (guint64) s->d_model,
                                      .n = (guint64) s->n_experts,
                                      .batch = 1,
                                      .bias = s->router_bias && !corrects });
  b->tape->counted = 1;
  route.tokens = b->stream_tokens;
  route.experts = (double) s->n_experts;
  route.chosen = (double) s->n_experts_per_token;
  weights = tape_route (b->tape, "router.choose", logits, route);
  in = add_latent (b, "fc1_latent_proj", "experts.latent_in", x, s->d_model, width);
  if (b->mesh->sp == 0)
    tape_comm_copy (b->tape, "experts.copy", in, layer_tensor_group (b));
  if (mesh_dispatches_by_node (b->mesh))
    out = dispatch_tokens (b, in, weights);
  else
    {
      out = dispatch_rows (b, in, covers ? &shared : NULL);
      out = tape_combine (b->tape, "experts.combine", out, weights,
                          b->stream_tokens * (double) width);
    }
  if (b->mesh->sp == 0)
    tape_comm_reduce (b->tape, "experts.reduce", out, layer_tensor_group (b));
  out = add_latent (b, "fc2_latent_proj", "experts.latent_out", out, width, s->d_model);
  if (!shares)
    return out;
  if (!covers)
    shared = add_shared_experts (b, x);
  return tape_add (b->tape, "experts.add_shared", out, weigh_shared (b, x, shared));
}

TapeValue
layer_add_mlp (LayerBuilder *b, TapeValue x)
{
  return add_mlp (b, x,
                  &(Mlp){ .names = { b->style->gate, b->style->up, b->style->down },
                          .gate_up = b->style->gate_up,
                          .width = b->shape->d_ff });
}

TapeValue
layer_add_feed_forward (LayerBuilder *b, TapeValue x)
{
  gboolean experts = b->layer.block.feed == MODEL_FEED_EXPERTS;
  guint    outer = tape_enter (b->tape, experts ? PART_MOE : PART_MLP);

  if (experts)
    x = add_moe (b, x);
  else
    x = layer_add_mlp (b, x);
  b->tape->parts = outer;
  return x;
}
