#include "base/intern.h"
#include "strategy/compression/compression-private.h"
#include "strategy/compression/layer-ranks.h"
#include "strategy/shards/group.h"

const char *const compression_choices[] = { "none",       "fp16", "bf16",     "fp8",   "int8-block",
                                            "int4-block", "qsgd", "powersgd", "top-k", NULL };
const char *const layer_ranks_choices[] = { "uniform", "l-greco", NULL };

static gboolean
check_at_most (const char *key, gint64 value, guint64 most, const char *what, DiagList *diags)
{
  g_autofree char *hint = g_strdup_printf ("at most %" G_GUINT64_FORMAT, most);

  if (value <= (gint64) most)
    return TRUE;
  return diag_option_error (diags, key, hint, "%" G_GINT64_FORMAT " is above %s", value, what);
}

/* Whether each matrix can be given a rank. */
static gboolean
check_ranks (const PlanInput *in, const CompressionOptions *o, DiagList *diags)
{
  const guint errors = diag_list_n_errors (diags);
  const guint n = in->stages != NULL ? MAX (in->mesh.stages, 1) : 1;

  if (o->layer_ranks == LAYER_RANKS_GRECO && o->layer_errors == NULL
      && o->spectrum_spread > o->spectrum_exponent)
    {
      return diag_option_error (diags, "spectrum_spread", "at most 'spectrum_exponent'",
                                "singular values of the first layer would grow");
    }
  for (guint i = 0; i < 2 * n && diag_list_n_errors (diags) == errors; i++)
    {
      PlanInput stage = *in;

      stage.workload = in->stages != NULL ? in->stages[i / 2] : in->workload;
      layer_ranks_free (layer_ranks_new (&stage, o, i % 2, diags));
    }
  return diag_list_n_errors (diags) == errors;
}

gboolean
compression_check (const PlanInput *in, const CompressionOptions *options, DiagList *diags)
{
  guint64 elements, rank;
  guint   stages = in->stages != NULL ? MAX (in->mesh.stages, 1) : 1;

  /* The bounds are the most elements of a trained tensor, and the largest rank of a matrix. */
  elements = rank = 0;
  for (guint s = 0; s < stages; s++)
    {
      const Workload *workload = in->stages != NULL ? in->stages[s] : in->workload;

      for (guint i = 0; i < workload_n_layers (workload); i++)
        for (guint t = 0; t < workload_layer (workload, i)->n_trainable; t++)
          {
            const TensorDesc *tensor = &workload_layer (workload, i)->trainable[t];

            elements = MAX (elements, tensor->elements);
            rank = MAX (rank, MIN (tensor->shape[0], tensor->elements / tensor->shape[0]));
          }
    }
  if (options->scheme == COMPRESSION_POWERSGD)
    return check_at_most ("matrix_approximation_rank", options->rank, rank,
                          "the rank of every matrix of gradients", diags)
           && check_ranks (in, options, diags);
  if (options->scheme == COMPRESSION_TOP_K)
    return check_at_most ("top_k", options->top_k, elements, "the elements of every tensor", diags);
  return TRUE;
}

/*
 * Factors and the largest elements are of whole matrices: all ranks reduce them as one, whatever
 * part of the sum each keeps. Where one rank has it all there is nothing to send.
 */
static void
set_compressor (const CompressionOptions *options, const ShardGroups *all, UnitPolicy *kind)
{
  PolicyRoute *reduce = &kind->routes[ROUTE_REDUCE];
  PolicyRoute  whole = { .n = 0 };
  PolicyHop   *first = &reduce->hops[0];

  if (all->shard_group.size == 1)
    return;
  policy_add_collective (&whole, COLLECTIVE_ALL_REDUCE,
                         mesh_group_equal (first->group, all->shard_group) ? first->name
                                                                           : "compression",
                         all->shard_group, first->dtype, first->cadence)
      ->label = first->label;
  for (guint h = 1; h < reduce->n; h++)
    if (reduce->hops[h].hop == HOP_MOVE)
      {
        whole.hops[whole.n] = reduce->hops[h];
        whole.hops[whole.n++].cadence = first->cadence; /* no replicas are left to wait for */
      }
  *reduce = whole;
  kind->compressor =
      options->scheme == COMPRESSION_POWERSGD ? &compressor_powersgd : &compressor_top_k;
  kind->compression = options;
}

static void
cast_to (PolicyRoute *route, Dtype dtype)
{
  for (guint h = 0; h < route->n; h++)
    if (route->hops[h].hop == HOP_COLLECTIVE)
      route->hops[h].dtype = dtype;
}

/*
 * The ranks of GROUP in a node, where each of its nodes has as many and some ranks are elsewhere;
 * else 0.
 */
static guint
ranks_in_node (const Mesh *mesh, MeshGroup group)
{
  guint n = 0;

  if (mesh_group_equal (group, mesh_all (mesh)))
    n = mesh_node_ranks (mesh);
  else if (group.run == 0 && mesh->ranks_per_node > 0 && mesh->ranks_per_node % group.stride == 0)
    n = mesh->ranks_per_node / group.stride;
  return n > 1 && group.size > n && group.size % n == 0 ? n : 0;
}

static void
add_exchange (PolicyRoute *route, CollectiveKind kind, const PolicyHop *hop, MeshGroup group,
              const char *where, const Codec *codec)
{
  g_autofree char *name = g_strconcat (hop->name, where, NULL);

  policy_add_collective (route, kind, intern_text (name), group, hop->dtype, hop->cadence)->codec =
      codec;
}

/*
 * HOP sums in place: parts are exchanged and added up, and gathered if it left all. Where its ranks
 * are on several nodes the parts are those of the node first, so that each byte crosses the network
 * once: two levels, as torch_cgx and qgZ have them.
 */
static void
exchange_parts (const Mesh *mesh, const PolicyHop *hop, const Codec *codec, PolicyRoute *route)
{
  const MeshGroup group = hop->group;
  const gboolean  gathers = hop->kind == COLLECTIVE_ALL_REDUCE;
  const guint     n = ranks_in_node (mesh, group);
  MeshGroup       node, across;

  if (n == 0)
    {
      add_exchange (route, COLLECTIVE_ALL_TO_ALL, hop, group, "", codec);
      if (gathers)
        add_exchange (route, COLLECTIVE_ALL_GATHER, hop, group, "", codec);
      return;
    }
  node = mesh_group_part (group, n);
  across = mesh_group_every (group, n);
  add_exchange (route, COLLECTIVE_ALL_TO_ALL, hop, node, " in a node", codec);
  add_exchange (route, COLLECTIVE_ALL_TO_ALL, hop, across, " across nodes", codec);
  if (!gathers)
    return;
  add_exchange (route, COLLECTIVE_ALL_GATHER, hop, across, " across nodes", codec);
  add_exchange (route, COLLECTIVE_ALL_GATHER, hop, node, " in a node", codec);
}

static void
send_codes (const PlanInput *in, const CompressionOptions *options, PolicyRoute *route)
{
  const PolicyRoute plain = *route;

  route->n = 0;
  for (guint h = 0; h < plain.n; h++)
    if (plain.hops[h].hop == HOP_MOVE)
      route->hops[route->n++] = plain.hops[h];
    else
      exchange_parts (&in->mesh, &plain.hops[h],
                      options->scheme == COMPRESSION_QSGD
                          ? codec_max_min ((guint) options->bits, plain.hops[h].dtype)
                          : codec_find (compression_choices[options->scheme]),
                      route);
}

void
compression_apply (const PlanInput *in, const CompressionOptions *options, Policy *policy)
{
  ShardGroups all[2];

  unit_groups (&in->mesh, "all", all, NULL);
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      PolicyRoute *reduce = &policy->kinds[k].routes[ROUTE_REDUCE];

      switch ((CompressionScheme) options->scheme)
        {
        case COMPRESSION_NONE:
          break;
        case COMPRESSION_FP16:
        case COMPRESSION_BF16:
          cast_to (reduce, options->scheme == COMPRESSION_FP16 ? DTYPE_FP16 : DTYPE_BF16);
          break;
        case COMPRESSION_FP8:
        case COMPRESSION_INT8_BLOCK:
        case COMPRESSION_INT4_BLOCK:
        case COMPRESSION_QSGD:
          send_codes (in, options, reduce);
          break;
        case COMPRESSION_POWERSGD:
        case COMPRESSION_TOP_K:
          set_compressor (options, &all[k], &policy->kinds[k]);
          break;
        }
    }
}
