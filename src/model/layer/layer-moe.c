/* A layer of experts: the router, and how tokens reach the experts that it chose. */
#include "model/layer/layer-experts-private.h"

#include "model/layer/expert-dispatch.h"

#include <math.h>

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

  if (b->mesh->ep > 1 && layer_local_experts (b) > 1)
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
 * (Megatron-LM's all-to-all dispatcher). SHARED as in layer_cover_exchange.
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
  layer_cover_exchange (b, shared, layer_widen);
  if (gathers_rows (b))
    rows = tape_comm_gather (b->tape, "experts.gather", rows, tensor);
  rows = sort_rows (b, "experts.sort", rows);
  b->tape->counted = counted_rows (b, rows);
  rows = layer_add_expert_mlp (b, rows);
  b->tape->counted = 1;
  rows = sort_rows (b, "experts.unsort", rows);
  if (gathers_rows (b))
    rows = tape_comm_scatter (b->tape, "experts.scatter", rows, tensor);
  rows = tape_comm_exchange (b->tape, "experts.return", rows,
                             sent * (double) model_expert_width (b->shape), experts);
  layer_cover_exchange (b, shared, layer_narrow);
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
  rows = layer_add_expert_mlp (b, rows);
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

TapeValue
layer_add_moe (LayerBuilder *b, TapeValue x)
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
    shared = layer_add_shared_experts (b, x);
  return tape_add (b->tape, "experts.add_shared", out, layer_weigh_shared (b, x, shared));
}
