/* A layer of experts: the router, and how tokens reach the experts that it chose. */
#include "model/layer/layer-experts-private.h"

#include "model/layer/expert-dispatch.h"

#include <math.h>

/* ---- router ---- */

/*
 * Kernels behind the router's product, and fp32 passes over all scores.
 *
 * By numbers. Softmax: softmax, top-k | sum, divide, cast of the chosen. Grouped: sigmoid, + bias,
 * top-2 and sum of groups, top-k of groups, mask (2), fill, top-k, gather, sum, divide, scale.
 * Top-k: top-k, softmax and cast of the chosen. Sigmoid: sigmoid, + bias, top-k | gather, sum,
 * divide, cast.
 *
 * By maps (Megatron-LM, core/transformer/moe/moe_utils.py and router.py): softmax, cast, top-k and
 * its sort (4); weights cleared, copied, filled in (3); the map cleared, cast, copied, filled in,
 * cast (5) and summed up (1); for the auxiliary loss a softmax, a sum, the product, its sum, a
 * scale (5), and two that log it. Backwards a gather, a cast, softmax, clear and scatter of the
 * top-k (5); of the loss ones, scale, two products, softmax, and the sum of both gradients (6).
 * Routers with a bias have no such loss, but count the map's sums for it (1); each of their top-k
 * is sorted. Casts and copies are of 1, 2 and 4 bytes an element: parts of a pass.
 *
 * Fused (Transformer Engine, fused_router.py): one kernel for the choice, two for the loss, the
 * map's sum, and two that log it; backwards one each, ones and their scale, and the sum of both
 * gradients.
 */
static const RouteSpec routes[][4] = {
  [EXPERT_KERNELS_INDICES] = { [ROUTER_SOFTMAX] = { .score_reads = 1,
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
                                                    .backward_launches = 5 } },
  [EXPERT_KERNELS_MAPS] = { [ROUTER_SOFTMAX] = { .score_reads = 6.75,
                                                 .score_writes = 6.25,
                                                 .forward_launches = 20,
                                                 .backward_launches = 11 },
                            [ROUTER_GROUPED] = { .score_reads = 8.25,
                                                 .score_writes = 7.75,
                                                 .forward_launches = 26,
                                                 .backward_launches = 7 },
                            [ROUTER_TOP_K] = { .score_reads = 6.75,
                                               .score_writes = 6.25,
                                               .forward_launches = 20,
                                               .backward_launches = 11 },
                            [ROUTER_SIGMOID] = { .score_reads = 5.25,
                                                 .score_writes = 5.75,
                                                 .forward_launches = 18,
                                                 .backward_launches = 6 } },
  [EXPERT_KERNELS_FUSED] = { [ROUTER_SOFTMAX] = { .score_reads = 1.25,
                                                  .score_writes = 2.75,
                                                  .forward_launches = 6,
                                                  .backward_launches = 6 },
                             [ROUTER_GROUPED] = { .score_reads = 0.25,
                                                  .score_writes = 1.75,
                                                  .forward_launches = 2,
                                                  .backward_launches = 1 },
                             [ROUTER_TOP_K] = { .score_reads = 1.25,
                                                .score_writes = 2.75,
                                                .forward_launches = 6,
                                                .backward_launches = 6 },
                             [ROUTER_SIGMOID] = { .score_reads = 0.25,
                                                  .score_writes = 1.75,
                                                  .forward_launches = 2,
                                                  .backward_launches = 1 } },
};

/*
 * No framework has routers by keys: they choose by numbers, without a loss; by all keys with a
 * top-k alone.
 *
 * What a capacity adds where maps say who is chosen, fused or not: the top-k of each expert's
 * tokens, a mask that is cleared, copied, filled in and cast, and two products with it (7);
 * backwards one (moe_utils.py, apply_router_token_dropping).
 */
static RouteSpec
route_spec (const LayerBuilder *b)
{
  static const RouteSpec top_k = { .forward_launches = 1 };
  /*
   * Generation: the choice, and places of rows by expert (vLLM, topk_softmax and
   * moe_align_block_size); there is no loss to balance them.
   */
  static const RouteSpec choice = { .score_reads = 1, .forward_launches = 2 };
  const gint             router = b->shape->router;
  const gint             form =
      router == MODEL_ROUTER_INDIRECT ? b->training->expert_routing : EXPERT_KERNELS_INDICES;
  RouteSpec spec = b->training->pass != PASS_TRAINING ? choice
                   : router == MODEL_ROUTER_INDIRECT  ? routes[form][b->style->routing]
                   : router == MODEL_ROUTER_AVG_K     ? routes[form][ROUTER_TOP_K]
                                                      : top_k;

  spec.tokens = b->stream_tokens;
  spec.experts = (double) b->shape->n_experts;
  spec.chosen = (double) b->shape->n_experts_per_token;
  if (form == EXPERT_KERNELS_INDICES || b->mesh->capacity_factor == 0)
    return spec;
  spec.score_reads += 3;
  spec.score_writes += 2.5;
  spec.forward_launches += 7;
  spec.backward_launches++;
  return spec;
}

/* ---- rows and their numbers ---- */

/* What is captured as one graph cannot wait, and rows that are padded to a capacity are known. */
static gboolean
knows_rows (const LayerBuilder *b)
{
  return b->mesh->pad_to_capacity || b->training->cuda_graphs == GRAPHS_STEP;
}

/* ROWS of TOKENS that visit some of EXPERTS. */
static PermuteSpec
permute_spec (const LayerBuilder *b, double tokens, gint64 experts, double rows)
{
  return (PermuteSpec){ .kernels = (guint) b->training->expert_permutation,
                        .waits = !knows_rows (b),
                        .tokens = tokens,
                        .experts = (double) experts,
                        .rows = rows };
}

/*
 * How many rows each rank sends to each expert: summed up and gathered from all ranks. The host
 * needs the numbers for the all-to-all's splits and for the products of each expert, so it waits,
 * in the forward pass alone: the backward pass sends the same rows the other way. One grouped
 * product finds its rows on the GPU.
 *
 * Megatron-LM, core/transformer/moe/token_dispatcher.py: preprocess, six sums and five copies to
 * the host, then cuda_sync_point; torchtitan, distributed/expert_parallel.py. DeepEP counts in one
 * kernel and exchanges in another, for which it waits; with the handle of a dispatch, as on the way
 * back and in the backward pass, it does not (deep_ep/buffer.py, dispatch; Megatron-LM,
 * core/transformer/moe/fused_a2a.py).
 */
static void
count_rows (LayerBuilder *b)
{
  const gboolean alone =
      b->mesh->ep == 1 && b->training->expert_products == EXPERT_PRODUCTS_GROUPED;
  const gboolean deepep = mesh_dispatches_by_node (b->mesh);
  const double   experts = (double) b->shape->n_experts;
  const double   read = deepep ? 8 * (double) b->shape->n_experts_per_token : experts;
  GArray        *list = b->tape->forward;

  if (alone || knows_rows (b))
    return;
  tape_push (b->tape, list,
             tape_stream (b->tape, KERNEL_REDUCTION, "experts.count", b->stream_tokens * read, 0,
                          b->mesh->ep == 1 || deepep ? 2 : 11),
             FALSE);
  if (b->mesh->ep > 1)
    tape_push (b->tape, list,
               tape_comm_desc (b->tape, "experts.counts", COLLECTIVE_ALL_GATHER, MESH_EXPERT,
                               8 * experts * (double) b->mesh->ep),
               FALSE);
  g_array_index (list, TapeKernel, list->len - 1).desc.host_waits = TRUE;
}

/*
 * What came from several ranks, in the order of the ranks, sorted by expert; and back. A fused
 * kernel has another one find the places of the parts.
 */
static TapeValue
sort_rows (LayerBuilder *b, const char *name, TapeValue rows)
{
  const gboolean fused = b->training->expert_permutation == EXPERT_KERNELS_FUSED;
  double         elements = tape_tensor (b->tape, rows)->elements;

  if (b->mesh->ep > 1 && layer_local_experts (b) > 1)
    tape_map (b->tape, name, &rows, 1, &elements, 1,
              (MapSpec){ .kind = KERNEL_GATHER,
                         .forward_launches = fused ? 2 : 1,
                         .backward_launches = 1 },
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
 * (Megatron-LM's all-to-all dispatcher). Where tensor ranks have whole experts, each sends the rows
 * of its own alone: all have all tokens. There they are weighed and added up. SHARED as in
 * layer_cover_exchange.
 */
static TapeValue
dispatch_rows (LayerBuilder *b, TapeValue x, TapeValue weights, TapeValue *shared)
{
  double routed = b->stream_tokens * (double) b->shape->n_experts_per_token
                  / (double) mesh_expert_owners (b->mesh),
         fill = mesh_expert_fill (b->mesh);
  double    sent = whole_rows (routed * MIN (fill, 1)), received = whole_rows (routed * fill);
  CommGroup experts = { .axis = MESH_EXPERT, .members = (guint) b->mesh->ep },
            tensor = expert_tensor_group (b);
  const double      width = (double) model_expert_width (b->shape);
  const PermuteSpec spec = permute_spec (b, b->stream_tokens, b->shape->n_experts, sent);
  TapeValue         rows = tape_permute (b->tape, "experts.permute", x, width, spec);

  count_rows (b);
  rows = tape_comm_exchange (b->tape, "experts.dispatch", rows, received * width, experts);
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
  rows = tape_comm_exchange (b->tape, "experts.return", rows, sent * width, experts);
  layer_cover_exchange (b, shared, layer_narrow);
  return tape_combine (b->tape, "experts.combine", rows, weights, b->stream_tokens * width, spec);
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
  const double width = (double) model_expert_width (b->shape);
  const double came = whole_rows (b->stream_tokens * reached * fill);
  const double routed = b->stream_tokens * (double) b->shape->n_experts_per_token;
  const PermuteSpec spec =
      permute_spec (b, came, layer_local_experts (b), whole_rows (routed * fill));
  CommGroup experts = { .axis = MESH_EXPERT, .members = (guint) b->mesh->ep };
  TapeValue rows;

  count_rows (b);
  rows = tape_comm_dispatch (b->tape, "experts.dispatch", x, came * width, wire, experts);
  rows = tape_permute (b->tape, "experts.permute", rows, width, spec);
  b->tape->counted = counted_rows (b, rows);
  rows = layer_add_expert_mlp (b, rows);
  b->tape->counted = 1;
  rows = tape_combine (b->tape, "experts.combine", rows, weights, came * width, spec);
  return tape_comm_return (b->tape, "experts.return", rows, b->stream_tokens * width, wire,
                           experts);
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
 * Engines that generate add the parts of shared experts to those of routed ones before tensor ranks
 * sum them: one all-reduce for both (vLLM, models/deepseek_v2.py).
 */
static gboolean
sums_once (const LayerBuilder *b)
{
  return b->training->pass != PASS_TRAINING && b->mesh->sp == 0 && b->shape->moe_latent == 0;
}

/* The shared experts' part on this rank, which is not summed over the tensor group. */
static TapeValue
add_shared_part (LayerBuilder *b, TapeValue x)
{
  const gboolean outer = b->parallel;

  b->parallel = TRUE;
  x = layer_add_shared_experts (b, x);
  b->parallel = outer;
  return x;
}

TapeValue
layer_add_moe (LayerBuilder *b, TapeValue x)
{
  const ModelShape *s = b->shape;
  gboolean          shares = model_shared_width (s) > 0, once = shares && sums_once (b);
  gboolean          covers = b->mesh->shared_expert_overlap && shares;
  const gint64      width = model_expert_width (s);
  TapeValue         in, logits, weights, out, shared = x;

  logits = layer_add_scores (b, x);
  weights = tape_route (b->tape, "router.choose", logits, route_spec (b));
  in = add_latent (b, "fc1_latent_proj", "experts.latent_in", x, s->d_model, width);
  if (b->mesh->sp == 0)
    tape_comm_copy (b->tape, "experts.copy", in, layer_tensor_group (b));
  if (mesh_dispatches_by_node (b->mesh))
    out = dispatch_tokens (b, in, weights);
  else
    out = dispatch_rows (b, in, weights, covers ? &shared : NULL);
  if (b->mesh->sp == 0 && !once)
    tape_comm_reduce (b->tape, "experts.reduce", out, layer_tensor_group (b));
  out = add_latent (b, "fc2_latent_proj", "experts.latent_out", out, width, s->d_model);
  if (!shares)
    return out;
  if (!covers)
    shared = once ? add_shared_part (b, x) : layer_add_shared_experts (b, x);
  out = tape_add (b->tape, "experts.add_shared", out, layer_weigh_shared (b, x, shared));
  if (once)
    tape_comm_reduce (b->tape, "experts.reduce", out, layer_tensor_group (b));
  return out;
}
