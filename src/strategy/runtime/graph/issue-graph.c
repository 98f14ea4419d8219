/*
 * The issue of a compiled graph (SimpleFSDP): collectives are nodes of the graph that computes.
 *
 * A bucket is what is gathered or reduced as one: the parameters of a module, or of a layer. Its
 * shards are cast and packed on the compute stream; the library's stream, one for both directions,
 * gathers them; before their first use the compute stream waits, and copies a layer's bucket out. A
 * tensor goes behind its last use: gathered parameters are not saved for the backward graph, which
 * gathers them anew, once for recomputation and gradients. Gradients are packed and reduced as the
 * bucket's last one is complete; then they are cast or added into the shard on the compute stream.
 *
 * Reordered, the next bucket is gathered before the compute stream waits for the current one, and
 * the wait for a reduction stands before the next reduction. Source: Zhang et al.,
 * arXiv:2411.00284, 3 and 4; torchtitan/experiments/simple_fsdp.
 */
#include "strategy/runtime/graph/issue-graph.h"

#include "strategy/compression/compressed.h"
#include "strategy/emit/common.h"
#include "strategy/emit/route.h"

typedef struct
{
  BufferRef full, grads;
  guint     bucket;
} GraphUnit;

typedef struct
{
  guint     first, end;    /* its units */
  BufferRef input, output; /* of its all-gather, until it is copied out */
  BufferRef shard;         /* of its gradients */
  EventRef  gathered;
  gboolean  there;    /* gathered, or on its way */
  guint     left;     /* units whose parameters have not been given back */
  guint     complete; /* gradients of this backward pass */
} GraphBucket;

typedef struct
{
  StreamRef  collectives, all_reduce;
  BufferRef  shards;
  GraphUnit *units;
  GArray    *buckets;       /* GraphBucket */
  guint      use;           /* of the micro-step */
  guint      reducing;      /* bucket whose reduction the compute stream has not waited for */
  gboolean   first;         /* of the step's micro-steps: that reduction's */
  BufferRef  input, output; /* of it */
  EventRef   reduced;
  Compressed compressed;
} GraphState;

static const GraphIssue *
options_of (const StrategyRun *run)
{
  return run->policy->issue;
}

static GraphBucket *
bucket_at (const StrategyRun *run, guint bucket)
{
  return &g_array_index (((GraphState *) run->state)->buckets, GraphBucket, bucket);
}

/* The bucket of UNIT, or of the table that it uses. */
static guint
bucket_of (const StrategyRun *run, guint unit)
{
  const PlanUnit *plan = &run->units[unit];

  return ((GraphState *) run->state)->units[plan->own_elements > 0 ? unit : plan->shares].bucket;
}

static gboolean
has_tied_table (const StrategyRun *run)
{
  for (guint u = 0; u < run->n_units; u++)
    if (run->units[u].own_elements == 0)
      return TRUE;
  return FALSE;
}

/* Between forward and backward uses: all, or the layer whose table the head uses too. */
static gboolean
stays (const StrategyRun *run, guint unit)
{
  return run->policy->stays
         || (run->units[unit].desc->kind == LAYER_EMBEDDING && has_tied_table (run));
}

/* ---- init ------------------------------------------------------------------------------------ */

/* Whether UNIT goes into the bucket of OTHER. */
static gboolean
is_together (const StrategyRun *run, guint unit, guint other)
{
  return options_of (run)->buckets != BUCKET_MODULE
         && run->units[unit].layer == run->units[other].layer
         && run->units[unit].expert == run->units[other].expert;
}

static gboolean
has_replicas (const StrategyRun *run)
{
  const PolicyRoute *reduce = &run->policy->kinds[0].routes[ROUTE_REDUCE];

  return !compresses (run, 0) && reduce->n > policy_n_scatters (reduce);
}

static void
graph_init (StrategyRun *run)
{
  GraphState *s = run->state;

  s->collectives = schedule_stream (run->b, "collectives", 0);
  if (has_replicas (run))
    s->all_reduce = schedule_stream (run->b, "all_reduce", 0);
  s->reducing = SCHEDULE_NONE;
  s->buckets = g_array_new (FALSE, FALSE, sizeof (GraphBucket));
  s->units = g_new0 (GraphUnit, run->n_units);
  for (guint u = 0; u < run->n_units; u++)
    {
      GraphBucket next = { .first = u, .end = u + 1 };

      next.input = next.output = next.shard = SCHEDULE_NONE;
      s->units[u] = (GraphUnit){ SCHEDULE_NONE, SCHEDULE_NONE, s->buckets->len };
      if (run->units[u].own_elements == 0)
        continue;
      if (s->buckets->len == 0
          || !is_together (run, u, bucket_at (run, s->buckets->len - 1)->first))
        g_array_append_val (s->buckets, next);
      s->units[u].bucket = s->buckets->len - 1;
      bucket_at (run, s->buckets->len - 1)->end = u + 1;
    }
  s->shards = schedule_alloc (run->b, PLACE_HBM, POOL_PARAMETER, held_bytes (run, STATE_PARAMETERS),
                              "parameter shards");
  hold_optimizer (run);
  compressed_init (&s->compressed, run);
}

static void
graph_clear (StrategyRun *run)
{
  GraphState *s = run->state;

  g_free (s->units);
  g_clear_pointer (&s->buckets, g_array_unref);
  compressed_clear (&s->compressed, run);
}

static void
graph_step_begin (StrategyRun *run)
{
  ((GraphState *) run->state)->use = 0;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static void
gather (StrategyRun *run, guint bucket)
{
  GraphState  *s = run->state;
  GraphBucket *self = bucket_at (run, bucket);
  guint   compute = compute_bytes (run->policy), master = element_bytes (run, STATE_PARAMETERS);
  guint   old = schedule_set_unit (run->b, self->first);
  guint64 elements = 0, padded = 0;

  if (self->there)
    return;
  for (guint u = self->first; u < self->end; u++)
    {
      elements += run->shares[u].elements;
      padded += run->shares[u].padded;
    }
  self->input = schedule_alloc (run->b, PLACE_HBM, POOL_GATHERED, elements * compute,
                                "shards in compute precision");
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "gather_copy_in", DTYPE_FP32,
                      (double) elements * master, (double) elements * compute);
  for (guint u = self->first; u < self->end; u++)
    schedule_uses (run->b, s->shards, u, ACCESS_READ);
  schedule_uses (run->b, self->input, SCHEDULE_WHOLE, ACCESS_WRITE);
  self->output =
      schedule_alloc (run->b, PLACE_HBM, POOL_GATHERED, padded * compute, "all-gather output");
  schedule_wait_stream (run->b, s->collectives, SCHEDULE_COMPUTE);
  emit_route (run, &(RouteWalk){ .kind = run->units[self->first].expert,
                                 .route = ROUTE_GATHER,
                                 .end = POLICY_MAX_HOPS,
                                 .held = elements,
                                 .collectives = s->collectives,
                                 .from = route_whole (self->input),
                                 .to = route_whole (self->output),
                                 .passing = "parameters on their way" });
  self->gathered = schedule_record (run->b, s->collectives);
  self->there = TRUE;
  self->left = self->end - self->first;
  schedule_set_unit (run->b, old);
}

/* A bucket of several modules becomes a tensor each. */
static void
copy_out (StrategyRun *run, GraphBucket *self)
{
  GraphState *s = run->state;
  guint       compute = compute_bytes (run->policy);
  guint64     elements = 0, padded = 0;

  for (guint u = self->first; u < self->end; u++)
    {
      elements += run->units[u].elements;
      padded += run->shares[u].padded;
      s->units[u].full = schedule_alloc (run->b, PLACE_HBM, POOL_GATHERED,
                                         run->units[u].elements * compute, "parameters");
      strategy_data (run, u, UNIT_PARAMETERS, s->units[u].full, SCHEDULE_NONE);
    }
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "gather_copy_out", DTYPE_BF16,
                      (double) padded * compute, (double) elements * compute);
  schedule_uses (run->b, self->output, SCHEDULE_WHOLE, ACCESS_READ);
  for (guint u = self->first; u < self->end; u++)
    schedule_uses (run->b, s->units[u].full, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_free (run->b, self->output);
}

/* The bucket that this graph, forward or backward, uses behind the current one. */
static void
gather_next (StrategyRun *run, const UnitSlot *slot)
{
  const GraphState *s = run->state;
  guint             current = bucket_of (run, slot->unit);

  for (guint i = s->use + 1; i < run->n_uses; i++)
    {
      guint next = bucket_of (run, run->uses[i].owner);

      if ((slot->use == USE_FORWARD) != (run->uses[i].use == USE_FORWARD))
        return;
      if (next == current)
        continue;
      gather (run, next);
      return;
    }
}

static void
graph_use_begin (StrategyRun *run, const UnitSlot *slot)
{
  GraphState  *s = run->state;
  guint        bucket = bucket_of (run, slot->unit);
  GraphBucket *self = bucket_at (run, bucket);

  gather (run, bucket);
  if (options_of (run)->reorders)
    gather_next (run, slot);
  if (self->output != SCHEDULE_NONE)
    {
      schedule_wait (run->b, SCHEDULE_COMPUTE, self->gathered);
      schedule_free (run->b, self->input);
      if (self->end - self->first > 1)
        copy_out (run, self);
      else
        {
          s->units[self->first].full = self->output;
          strategy_data (run, self->first, UNIT_PARAMETERS, self->output, SCHEDULE_NONE);
        }
      self->input = self->output = SCHEDULE_NONE;
    }
  s->use = (s->use + 1) % run->n_uses;
}

static void
graph_use_end (StrategyRun *run, const UnitSlot *slot)
{
  GraphUnit   *u = &((GraphState *) run->state)->units[slot->unit];
  GraphBucket *bucket = bucket_at (run, u->bucket);

  if (slot->plan->own_elements == 0 || slot->use == USE_RECOMPUTATION
      || (slot->use == USE_FORWARD && stays (run, slot->unit)))
    return;
  schedule_free (run->b, u->full);
  u->full = SCHEDULE_NONE;
  bucket->there = --bucket->left > 0;
}

/* ---- gradients ------------------------------------------------------------------------------- */

static void
graph_gradient_begin (StrategyRun *run, const UnitSlot *slot)
{
  GraphUnit *u = &((GraphState *) run->state)->units[slot->unit];

  u->grads =
      schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                      slot->plan->trainable_elements * compute_bytes (run->policy), "gradients");
  strategy_data (run, slot->unit, UNIT_GRADIENT, u->grads, SCHEDULE_NONE);
}

/* Elements of a bucket's gradients: as computed, padded, and on a rank. */
typedef struct
{
  guint64 elements, padded, held;
  guint   units; /* that have one */
} Gradients;

static Gradients
gradients_of (const StrategyRun *run, const GraphBucket *self)
{
  Gradients sum = { 0 };

  for (guint u = self->first; u < self->end; u++)
    {
      sum.elements += run->units[u].trainable_elements;
      sum.padded += run->shares[u].trainable_padded;
      sum.held += run->shares[u].trainable;
      sum.units += run->units[u].trainable_elements > 0;
    }
  return sum;
}

/* Behind the wait for its reduction a bucket's gradient is cast or added to its shard. */
static void
settle (StrategyRun *run)
{
  GraphState  *s = run->state;
  guint        reduce = reduced_bytes (run), kept = element_bytes (run, STATE_GRADIENTS);
  GraphBucket *self;
  double       n;

  if (s->reducing == SCHEDULE_NONE)
    return;
  self = bucket_at (run, s->reducing);
  n = (double) gradients_of (run, self).held;
  schedule_wait (run->b, SCHEDULE_COMPUTE, s->reduced);
  schedule_free (run->b, s->input);
  if (self->shard == SCHEDULE_NONE)
    self->shard =
        schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT, (guint64) n * kept, "gradient shards");
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE,
                      s->first ? "gradient_cast" : "gradient_add", DTYPE_FP32,
                      n * (s->first ? reduce : reduce + kept), n * kept);
  schedule_uses (run->b, s->output, SCHEDULE_WHOLE, ACCESS_READ);
  for (guint u = self->first; u < self->end; u++)
    if (run->units[u].trainable_elements > 0)
      {
        strategy_data (run, u, UNIT_REDUCED, SCHEDULE_NONE, self->shard);
        schedule_uses (run->b, self->shard, u, s->first ? ACCESS_WRITE : ACCESS_READ_WRITE);
      }
  schedule_free (run->b, s->output);
  s->reducing = SCHEDULE_NONE;
}

/* The gradients of a bucket, packed and cast. */
static BufferRef
pack (StrategyRun *run, const GraphBucket *self, const Gradients *of)
{
  GraphState *s = run->state;
  guint       reduce = reduced_bytes (run), compute = compute_bytes (run->policy);
  BufferRef   input = schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION, of->padded * reduce,
                                      "reduce-scatter input");

  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "reduce_copy_in", DTYPE_BF16,
                      (double) of->elements * compute, (double) of->padded * reduce);
  for (guint u = self->first; u < self->end; u++)
    if (run->units[u].trainable_elements > 0)
      {
        schedule_uses (run->b, s->units[u].grads, SCHEDULE_WHOLE, ACCESS_READ);
        schedule_free (run->b, s->units[u].grads);
        s->units[u].grads = SCHEDULE_NONE;
      }
  schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_WRITE);
  return input;
}

static void
reduce_bucket (StrategyRun *run, guint bucket, gboolean first)
{
  GraphState  *s = run->state;
  GraphBucket *self = bucket_at (run, bucket);
  Gradients    of = gradients_of (run, self);
  guint scatters = policy_n_scatters (&run->shares[self->first].policy->routes[ROUTE_REDUCE]);

  settle (run);
  s->input = pack (run, self, &of);
  s->output = schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION, of.held * reduced_bytes (run),
                              "reduce-scatter output");
  schedule_wait_stream (run->b, s->collectives, SCHEDULE_COMPUTE);
  if (compresses (run, run->units[self->first].expert))
    {
      g_autoptr (GArray) units = g_array_new (FALSE, FALSE, sizeof (guint));

      for (guint u = self->first; u < self->end; u++)
        if (run->units[u].trainable_elements > 0)
          g_array_append_val (units, u);
      compressed_reduce_units (&s->compressed, run, (const guint *) (const void *) units->data,
                               units->len, s->collectives, route_whole (s->input),
                               route_whole (s->output), of.held);
    }
  else
    emit_reduction (run, self->first, 0, scatters, of.padded, s->collectives,
                    route_whole (s->input), route_whole (s->output));
  s->reduced = schedule_record (run->b, s->collectives);
  if (has_replicas (run))
    {
      schedule_wait (run->b, s->all_reduce, s->reduced);
      emit_reduction (run, self->first, scatters, POLICY_MAX_HOPS, of.held, s->all_reduce,
                      route_whole (s->output), route_whole (s->output));
      s->reduced = schedule_record (run->b, s->all_reduce);
    }
  s->reducing = bucket;
  s->first = first;
  if (!options_of (run)->reorders)
    settle (run);
}

static void
graph_gradient_ready (StrategyRun *run, const UnitSlot *slot)
{
  guint        bucket = bucket_of (run, slot->unit);
  GraphBucket *self = bucket_at (run, bucket);

  if (++self->complete < gradients_of (run, self).units)
    return;
  self->complete = 0;
  reduce_bucket (run, bucket, slot->first);
}

static void
graph_micro_step_end (StrategyRun *run)
{
  settle (run);
}

static void
graph_step_end (StrategyRun *run)
{
  const GraphState *s = run->state;

  emit_share_update (run, FALSE);
  for (guint i = 0; i < s->buckets->len; i++)
    {
      schedule_free (run->b, bucket_at (run, i)->shard);
      bucket_at (run, i)->shard = SCHEDULE_NONE;
    }
  compressed_step_end (&s->compressed, run);
}

const Issue issue_graph = {
  .carries = { .homes = { 1u << PLACE_HBM, 1u << PLACE_HBM, 1u << PLACE_HBM },
               .routes = 1u << ROUTE_GATHER | 1u << ROUTE_REDUCE,
               .cadences = 1u << CADENCE_MICRO_STEP,
               .compressors = TRUE,
               .stays = TRUE,
               .shared_tables = TRUE },
  .hooks = { .state_size = sizeof (GraphState),
             .granularity = UNIT_MODULE,
             .init = graph_init,
             .clear = graph_clear,
             .step_begin = graph_step_begin,
             .use_begin = graph_use_begin,
             .use_end = graph_use_end,
             .gradient_begin = graph_gradient_begin,
             .gradient_ready = graph_gradient_ready,
             .micro_step_end = graph_micro_step_end,
             .step_end = graph_step_end },
  .form = graph_form,
};
