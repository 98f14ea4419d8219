/*
 * Zeroth-order fine-tuning with blocks in host memory (ZO2, Wang et al., arXiv:2503.12668).
 *
 * A block comes to the GPU once a micro-step. There it is updated with the step before's projected
 * gradient, of whose random direction z the seed is kept; moved by eps z; used; moved by -2 eps z;
 * used; moved back; and leaves. While block i is computed, i + 1 comes and i - 1 leaves, so that
 * three are in GPU memory. The host orders all of it: it waits for compute before it lets a block
 * leave, and for compute and upload before it launches the next block (zo2/optimizer/mezo_sgd/
 * zo2.py, task_upload, task_compute_module, task_offload), so that it never runs ahead.
 *
 * Embedding and head stay on the GPU. What ranks tell each other of a step are losses.
 */
#include "strategy/runtime/zeroth-order/issue-zo.h"

#include "strategy/emit/common.h"
#include "strategy/emit/route.h"

typedef struct
{
  BufferRef home;   /* in host memory; SCHEDULE_NONE: it stays on the GPU */
  BufferRef stored; /* on the GPU, as the host keeps it: on its way in or out */
  BufferRef used;   /* as it is used; the same where the types are */
  EventRef  there;
} ZoUnit;

typedef struct
{
  StreamRef upload, exchange, offload;
  ZoUnit   *units;
  guint     done;       /* unit whose use is over, and which is to leave; SCHEDULE_NONE */
  BufferRef leaving;    /* on its way out */
  BufferRef projection; /* what the losses say of the gradient: numbers */
} ZoState;

static const ZoIssue *
options_of (const StrategyRun *run)
{
  return run->policy->issue;
}

static const TrainingOptions *
training_of (const StrategyRun *run)
{
  return workload_training (run->in->workload);
}

static guint
working_bytes (const StrategyRun *run)
{
  return dtype_bytes (zo_working (training_of (run)));
}

static guint
stored_bytes (const StrategyRun *run)
{
  return dtype_bytes (zo_stored_dtype (training_of (run), options_of (run)));
}

static gboolean
is_stored_as_used (const StrategyRun *run)
{
  return !training_has_master (training_of (run));
}

static gboolean
is_streamed (const StrategyRun *run, guint unit)
{
  return unit < run->n_units && run->units[unit].desc->kind == LAYER_BLOCK;
}

/* Slices and buckets are one copy. */
static gboolean
copies_tensors (const StrategyRun *run)
{
  return options_of (run)->copies == ZO_MODULE
         && run->policy->kinds[0].states[STATE_PARAMETERS].group.size == 1;
}

/* ---- init ------------------------------------------------------------------------------------ */

static guint64
host_bytes (const StrategyRun *run, guint64 elements)
{
  const ZoIssue *o = options_of (run);
  guint64        bytes = elements * stored_bytes (run);

  if (o->memory != ZO_PINNED || !o->rounds || bytes == 0)
    return bytes;
  return (guint64) 1 << g_bit_storage (bytes - 1);
}

static guint64
home_bytes (const StrategyRun *run, guint unit)
{
  const PlanUnit *plan = &run->units[unit];
  guint64         sum = 0;

  if (!copies_tensors (run))
    return host_bytes (run, run->shares[unit].elements);
  for (guint t = 0; t < plan->n_tensors; t++)
    sum += host_bytes (run, plan->tensors[t].elements);
  return sum;
}

static void
init_unit (StrategyRun *run, guint unit)
{
  ZoUnit *self = &((ZoState *) run->state)->units[unit];
  Place   home = run->policy->kinds[0].states[STATE_PARAMETERS].home;

  *self = (ZoUnit){ SCHEDULE_NONE, SCHEDULE_NONE, SCHEDULE_NONE, SCHEDULE_NONE };
  if (is_streamed (run, unit))
    {
      self->home =
          schedule_alloc (run->b, home, POOL_PARAMETER, home_bytes (run, unit), "block at home");
      return;
    }
  self->used =
      schedule_alloc (run->b, PLACE_HBM, POOL_PARAMETER,
                      run->units[unit].own_elements * working_bytes (run), "resident parameters");
  strategy_data (run, unit, UNIT_PARAMETERS, self->used, SCHEDULE_NONE);
}

static void
zo_init (StrategyRun *run)
{
  ZoState *s = run->state;
  gboolean overlap = options_of (run)->overlap;

  s->upload = overlap ? schedule_stream (run->b, "upload", 0) : SCHEDULE_COMPUTE;
  s->offload = overlap ? schedule_stream (run->b, "offload", 0) : SCHEDULE_COMPUTE;
  s->exchange = s->upload;
  if (overlap && run->policy->kinds[0].states[STATE_PARAMETERS].group.size > 1)
    s->exchange = schedule_stream (run->b, "exchange", 0);
  s->done = s->leaving = SCHEDULE_NONE;
  s->projection = schedule_data (run->b, "projected gradient");
  schedule_host_touches (run->b, s->projection, SCHEDULE_WHOLE, ACCESS_WRITE);
  s->units = g_new (ZoUnit, run->n_units);
  for (guint u = 0; u < run->n_units; u++)
    init_unit (run, u);
}

static void
zo_clear (StrategyRun *run)
{
  g_free (((ZoState *) run->state)->units);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* UNIT's part over ROUTE, tensor by tensor or as one. */
static void
walk_copies (StrategyRun *run, guint unit, PolicyRouteKind route, BufferRef from, BufferRef to)
{
  const ZoState  *s = run->state;
  const PlanUnit *plan = &run->units[unit];
  guint           n = copies_tensors (run) ? plan->n_tensors : 1;

  for (guint t = 0; t < n; t++)
    emit_route (run, &(RouteWalk){ .route = route,
                                   .end = POLICY_MAX_HOPS,
                                   .last_micro = TRUE,
                                   .held = copies_tensors (run) ? plan->tensors[t].elements
                                                                : run->shares[unit].elements,
                                   .moves = route == ROUTE_GATHER ? s->upload : s->offload,
                                   .collectives = s->exchange,
                                   .from = route_whole (from),
                                   .to = route_whole (to),
                                   .passing = "slice of a block" });
}

static void
wait_for (StrategyRun *run, StreamRef stream)
{
  schedule_host_wait (run->b, schedule_record (run->b, stream));
}

static void
upload (StrategyRun *run, guint unit)
{
  ZoState *s = run->state;
  ZoUnit  *self = &s->units[unit];
  guint    old = schedule_set_unit (run->b, unit);

  self->stored = schedule_alloc_on (run->b, s->exchange, PLACE_HBM, POOL_GATHERED,
                                    run->shares[unit].padded * stored_bytes (run), "block");
  walk_copies (run, unit, ROUTE_GATHER, self->home, self->stored);
  self->there = schedule_record (run->b, s->exchange);
  if (!options_of (run)->overlap)
    schedule_host_wait (run->b, self->there);
  schedule_set_unit (run->b, old);
}

/* What is on its way out has left. */
static void
await_leaving (StrategyRun *run)
{
  ZoState *s = run->state;

  if (s->leaving == SCHEDULE_NONE)
    return;
  wait_for (run, s->offload);
  schedule_free (run->b, s->leaving);
  s->leaving = SCHEDULE_NONE;
}

/* The block whose use is over leaves. */
static void
offload (StrategyRun *run)
{
  ZoState *s = run->state;
  guint    unit = s->done, old;

  await_leaving (run);
  if (unit == SCHEDULE_NONE)
    return;
  old = schedule_set_unit (run->b, unit);
  wait_for (run, SCHEDULE_COMPUTE);
  walk_copies (run, unit, ROUTE_RENEW, s->units[unit].stored, s->units[unit].home);
  s->leaving = s->units[unit].stored;
  s->done = SCHEDULE_NONE;
  if (!options_of (run)->overlap)
    await_leaving (run);
  schedule_set_unit (run->b, old);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* The trained tensors that a unit uses: its own, and the table of a tied head. */
typedef struct
{
  const TensorDesc *tensors[2];
  guint             n[2];
} ZoTensors;

static ZoTensors
tensors_of (const StrategyRun *run, guint unit, gboolean owned)
{
  const PlanUnit *plan = &run->units[unit];
  ZoTensors       self = { { plan->trainable, NULL }, { plan->n_trainable, 0 } };

  if (owned || plan->shares == unit)
    return self;
  plan = &run->units[plan->shares];
  for (guint t = 0; t < plan->n_trainable && self.n[1] == 0; t++)
    if (plan->trainable[t].n_dims == 2)
      {
        self.tensors[1] = &plan->trainable[t];
        self.n[1] = 1;
      }
  return self;
}

/* A chain of kernels over each of some tensors, as PyTorch runs it. */
typedef struct
{
  const char *name;
  gboolean    owned;     /* of a unit's own tensors alone */
  guint       values[2]; /* tensors of temporaries, of matrices and of vectors; */
  guint       reads[2];  /* tensors that pass, likewise */
  guint       writes[2];
  guint       kernels[2];
} ZoChain;

/*
 * z = normal (), param.add_ (scale * z * eps): three temporaries; and with weight decay, of
 * matrices only, param.sub_ (lr * (g * z + wd * param)): four (zo2/optimizer/mezo_sgd/zo.py).
 */
static const ZoChain zo_perturb = { "perturb", FALSE, { 3, 3 }, { 4, 4 }, { 4, 4 }, { 4, 4 } };
static const ZoChain zo_update = { "zo_update", TRUE, { 4, 2 }, { 7, 3 }, { 6, 3 }, { 6, 3 } };

/* It goes tensor by tensor: the temporaries are those of the largest. */
static void
run_chain (StrategyRun *run, guint unit, const ZoChain *chain)
{
  ZoState  *s = run->state;
  ZoTensors of = tensors_of (run, unit, chain->owned);
  double    read = 0, write = 0;
  guint64   most = 0, bytes = working_bytes (run);
  guint     kernels = 0, values = 0;
  BufferRef taken[4];

  for (guint list = 0; list < G_N_ELEMENTS (of.n); list++)
    for (guint t = 0; t < of.n[list]; t++)
      {
        const TensorDesc *tensor = &of.tensors[list][t];
        guint             vector = tensor->n_dims < 2;

        read += (double) (tensor->elements * bytes) * chain->reads[vector];
        write += (double) (tensor->elements * bytes) * chain->writes[vector];
        kernels += chain->kernels[vector];
        if (tensor->elements > most)
          values = chain->values[vector];
        most = MAX (most, tensor->elements);
      }
  if (kernels == 0)
    return;
  for (guint i = 0; i < values; i++)
    taken[i] = schedule_alloc (run->b, PLACE_HBM, POOL_WORKSPACE, most * bytes, chain->name);
  KernelDesc kernel = kernel_desc_stream (KERNEL_ELEMENTWISE, chain->name,
                                          zo_working (training_of (run)), read, write, kernels);
  schedule_kernel (run->b, SCHEDULE_COMPUTE, &kernel);
  for (guint i = 0; i < values; i++)
    schedule_uses (run->b, taken[i], SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_uses (run->b, s->projection, SCHEDULE_WHOLE, ACCESS_READ);
  strategy_uses (run, unit, UNIT_PARAMETERS, ACCESS_READ_WRITE);
  if (of.n[1] > 0)
    strategy_uses (run, run->units[unit].shares, UNIT_PARAMETERS, ACCESS_READ_WRITE);
  for (guint i = values; i-- > 0;)
    schedule_free (run->b, taken[i]);
}

/* The stored block and the used one, where their types differ. */
static void
widen (StrategyRun *run, guint unit)
{
  ZoUnit *self = &((ZoState *) run->state)->units[unit];
  double  n = (double) run->units[unit].elements;

  if (is_stored_as_used (run))
    {
      self->used = self->stored;
      strategy_data (run, unit, UNIT_PARAMETERS, self->used, SCHEDULE_NONE);
      return;
    }
  self->used = schedule_alloc (run->b, PLACE_HBM, POOL_GATHERED, (guint64) n * working_bytes (run),
                               "block as it is used");
  strategy_data (run, unit, UNIT_PARAMETERS, self->used, SCHEDULE_NONE);
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "decompress",
                      zo_working (training_of (run)), n * stored_bytes (run),
                      n * working_bytes (run));
  schedule_uses (run->b, self->stored, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, self->used, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_free_after (run->b, self->stored, schedule_record (run->b, SCHEDULE_COMPUTE));
}

static void
narrow (StrategyRun *run, guint unit)
{
  ZoUnit *self = &((ZoState *) run->state)->units[unit];
  double  n = (double) run->units[unit].elements;

  if (is_stored_as_used (run))
    return;
  self->stored = schedule_alloc (run->b, PLACE_HBM, POOL_GATHERED,
                                 run->shares[unit].padded * stored_bytes (run), "block");
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "compress",
                      zo_working (training_of (run)), n * working_bytes (run),
                      n * stored_bytes (run));
  schedule_uses (run->b, self->used, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, self->stored, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_free (run->b, self->used);
}

/* ---- uses ------------------------------------------------------------------------------------ */

static void
zo_use_begin (StrategyRun *run, const UnitSlot *slot)
{
  ZoState *s = run->state;

  offload (run);
  wait_for (run, SCHEDULE_COMPUTE);
  if (is_streamed (run, slot->unit))
    {
      schedule_host_wait (run->b, s->units[slot->unit].there);
      widen (run, slot->unit);
    }
  if (slot->first)
    run_chain (run, slot->unit, &zo_update);
}

static void
zo_pass_begin (StrategyRun *run, const UnitSlot *slot)
{
  const PlanUnit *plan = slot->plan;
  guint64         most = 0, all = 0;
  guint           n = 0;
  BufferRef       copy;

  run_chain (run, slot->unit, &zo_perturb);
  /* Autocast has each product cast its weights, in every pass anew. */
  for (guint t = 0; t < plan->n_tensors && !is_stored_as_used (run); t++)
    if (plan->tensors[t].n_dims > 1)
      {
        most = MAX (most, plan->tensors[t].elements);
        all += plan->tensors[t].elements;
        n++;
      }
  if (n == 0)
    return;
  copy = schedule_alloc (run->b, PLACE_HBM, POOL_WORKSPACE, most * compute_bytes (run->policy),
                         "weights as they are multiplied");
  KernelDesc kernel = kernel_desc_stream (KERNEL_COPY, "autocast", run->policy->compute,
                                          (double) (all * working_bytes (run)),
                                          (double) (all * compute_bytes (run->policy)), n);
  schedule_kernel (run->b, SCHEDULE_COMPUTE, &kernel);
  schedule_uses (run->b, copy, SCHEDULE_WHOLE, ACCESS_WRITE);
  strategy_uses (run, slot->unit, UNIT_PARAMETERS, ACCESS_READ);
  schedule_free (run->b, copy);
}

static void
zo_use_end (StrategyRun *run, const UnitSlot *slot)
{
  ZoState *s = run->state;

  run_chain (run, slot->unit, &zo_perturb);
  if (is_streamed (run, slot->unit))
    {
      narrow (run, slot->unit);
      s->done = slot->unit;
    }
  if (is_streamed (run, slot->unit + 1))
    upload (run, slot->unit + 1);
}

/* ---- the step -------------------------------------------------------------------------------- */

/* The losses of a pair's passes, and their difference over all micro-batches. */
static void
zo_step_end (StrategyRun *run)
{
  ZoState       *s = run->state;
  const ZoIssue *o = options_of (run);
  MeshGroup      pair = zo_pair (run->in, o);
  CommRef        within = schedule_comm (run->b, "passes", pair);
  CommRef        across = schedule_comm (run->b, "replicas", zo_replicas (run->in, o));

  await_leaving (run);
  schedule_all_gather (run->b, SCHEDULE_COMPUTE, within, payload_plain (pair.size, DTYPE_FP32),
                       "losses");
  schedule_uses (run->b, s->projection, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
  schedule_all_reduce (run->b, SCHEDULE_COMPUTE, across, payload_plain (1, DTYPE_FP32),
                       "loss_difference");
  schedule_uses (run->b, s->projection, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
}

const Issue issue_zo = {
  .carries = { .homes = { 1u << PLACE_PINNED | 1u << PLACE_PAGEABLE, 1u << PLACE_HBM,
                          1u << PLACE_HBM },
               .routes = 1u << ROUTE_GATHER | 1u << ROUTE_RENEW,
               .moves = 1u << ROUTE_GATHER | 1u << ROUTE_RENEW,
               .one_kind = TRUE,
               .perturbs = TRUE },
  .hooks = { .state_size = sizeof (ZoState),
             .init = zo_init,
             .clear = zo_clear,
             .use_begin = zo_use_begin,
             .pass_begin = zo_pass_begin,
             .use_end = zo_use_end,
             .step_end = zo_step_end },
  .form = zo_form,
};
