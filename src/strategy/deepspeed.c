#include "strategy/deepspeed.h"

struct _DeepspeedUnit
{
  guint64   numel;       /* all its parameters */
  guint64   fetched;     /* elements that are partitioned, i.e. gathered at a use */
  guint64   padded;      /* the same, padded for the shard group */
  guint64   node_padded; /* and for the node group */
  guint64   grad_padded; /* padded gradient of what it owns, persistent tensors included */
  gboolean  available;
  gboolean  cached;  /* the node's host copy is valid */
  gint      passed;  /* latest visit that the prefetcher passed over; -1 = none */
  StreamRef home;    /* the stream that writes `full`, whose pool it is of */
  EventRef  stashed; /* the copy to the host reads `full` until then; SCHEDULE_NONE: none does */
  BufferRef full, grads;
};

struct _DeepspeedVisit
{
  guint    owner;  /* unit that owns what is used */
  gboolean reused; /* used again within max_reuse_distance */
};

static const DeepspeedOptions *
options_of (const StrategyRun *run)
{
  return run->options;
}

static StateBytes
bytes_of (const StrategyRun *run)
{
  return state_bytes (workload_training (run->in->workload));
}

/*
 * The uses of one micro-step in the driver's order: forward, then per layer backwards:
 * recomputation, gradients.
 */
static void
record_visits (StrategyRun *run)
{
  DeepspeedState *s = run->state;
  guint           n = run->n_units;

  s->visits = g_new0 (DeepspeedVisit, 3 * (gsize) n);
  for (guint i = 0; i < n; i++)
    s->visits[s->n_visits++].owner = run->units[i].shares;
  for (guint end = n; end > 0;)
    {
      guint first = end - 1;

      while (first > 0 && run->units[first - 1].layer == run->units[end - 1].layer)
        first--;
      for (guint i = first; i < end; i++)
        if (plan_unit_recomputes (run->in->workload, &run->units[i]))
          s->visits[s->n_visits++].owner = run->units[i].shares;
      for (guint i = end; i-- > first;)
        s->visits[s->n_visits++].owner = run->units[i].shares;
      end = first;
    }
}

/*
 * A use is followed by another one within the distance when fewer than that many elements are
 * traversed in between.
 */
static void
mark_reuse (StrategyRun *run)
{
  DeepspeedState    *s = run->state;
  gint64             distance = options_of (run)->max_reuse_distance;
  g_autofree gint64 *next =
      g_new (gint64, run->n_units); /* traversed elements before the next use, from the end */
  gint64 from_end = 0;

  for (guint i = 0; i < run->n_units; i++)
    next[i] = -1;
  for (guint v = s->n_visits; v-- > 0;)
    {
      guint  owner = s->visits[v].owner;
      gint64 numel = (gint64) s->units[owner].numel;

      s->visits[v].reused = next[owner] >= 0 && from_end - next[owner] < distance;
      from_end += numel;
      next[owner] = from_end;
    }
}

static void
init_unit (StrategyRun *run, guint i)
{
  DeepspeedState *s = run->state;
  const PlanUnit *plan = &run->units[i];
  DeepspeedUnit  *u = &s->units[i];
  gint64          threshold = options_of (run)->param_persistence_threshold;

  u->full = u->grads = u->stashed = SCHEDULE_NONE;
  u->passed = -1;
  u->numel = padded_each (plan->tensors, plan->n_tensors, 1);
  u->fetched = deepspeed_partitioned (plan->tensors, plan->n_tensors, 1, threshold);
  u->padded = deepspeed_partitioned (plan->tensors, plan->n_tensors, s->m, threshold);
  u->node_padded = deepspeed_partitioned (plan->tensors, plan->n_tensors, s->node_size, threshold);
  u->grad_padded = plan->own_elements > 0 ? padded_each (plan->tensors, plan->n_tensors, s->m) : 0;
}

static guint64
own_sum (const StrategyRun *run, guint64 (*of) (const StrategyRun *run, guint i))
{
  guint64 sum = 0;

  for (guint i = 0; i < run->n_units; i++)
    if (run->units[i].shares == i)
      sum += of (run, i);
  return sum;
}

static guint64
shard_elements_of (const StrategyRun *run, guint i)
{
  const DeepspeedState *s = run->state;

  return s->units[i].grad_padded / s->m;
}

static guint64
persistent_elements_of (const StrategyRun *run, guint i)
{
  const DeepspeedState *s = run->state;

  return s->units[i].numel - s->units[i].fetched;
}

static guint64
persistent_padded_of (const StrategyRun *run, guint i)
{
  const DeepspeedState *s = run->state;

  return s->units[i].grad_padded - s->units[i].padded;
}

static guint64
cache_elements_of (const StrategyRun *run, guint i)
{
  const DeepspeedState *s = run->state;

  return s->units[i].node_padded / s->node_size;
}

static guint64
numel_of (const StrategyRun *run, guint i)
{
  return ((const DeepspeedState *) run->state)->units[i].numel;
}

/* Kernels read what is gathered, or the shard of a lone rank, and what is persistent. */
static void
place_parameters (StrategyRun *run, guint unit)
{
  const DeepspeedState *s = run->state;
  const DeepspeedUnit  *u = &s->units[unit];
  BufferRef             shared = u->fetched < u->numel ? s->persistent : SCHEDULE_NONE;

  if (s->m == 1 && u->full == SCHEDULE_NONE)
    shared = s->shards;
  strategy_data (run, unit, UNIT_PARAMETERS, u->full, shared);
}

static void
allocate_states (StrategyRun *run)
{
  DeepspeedState *s = run->state;
  StateBytes      bytes = bytes_of (run);
  guint64         shard = own_sum (run, shard_elements_of);
  guint64 bucket = MIN ((guint64) options_of (run)->reduce_bucket_size, own_sum (run, numel_of));

  s->shards =
      schedule_alloc (run->b, TIER_HBM, POOL_PARAMETER, shard * bytes.compute, "parameter shards");
  s->persistent = schedule_alloc (run->b, TIER_HBM, POOL_PARAMETER,
                                  own_sum (run, persistent_elements_of) * bytes.compute,
                                  "persistent parameters");
  s->gradients =
      schedule_alloc (run->b, TIER_HBM, POOL_GRADIENT, shard * bytes.compute, "gradient shards");
  schedule_alloc (run->b, TIER_HBM, POOL_OPTIMIZER,
                  shard * (bytes.moments + master_copy_bytes (workload_training (run->in->workload))),
                  "optimizer state");
  s->bucket = schedule_alloc (run->b, TIER_HBM, POOL_COMMUNICATION, bucket * bytes.compute,
                              "gradient bucket");
  if (s->residency == RESIDENCY_HOST_NODE)
    s->cache = schedule_alloc (run->b, TIER_HOST, POOL_CACHE,
                               own_sum (run, cache_elements_of) * bytes.compute, "parameter cache");
  strategy_data (run, SCHEDULE_NONE, UNIT_REDUCED, SCHEDULE_NONE, s->gradients);
  for (guint i = 0; i < run->n_units; i++)
    place_parameters (run, i);
}

void
deepspeed_init (StrategyRun *run)
{
  DeepspeedState *s = run->state;
  gboolean        overlap = options_of (run)->overlap_comm;

  s->oversized = SCHEDULE_NONE;
  s->m = run->in->mesh.n_ranks;
  s->node_size = s->residency == RESIDENCY_HOST_NODE ? mesh_node (&run->in->mesh).size : 1;
  s->gather = overlap ? schedule_stream (run->b, "all_gather", 0) : SCHEDULE_COMPUTE;
  s->reduce = overlap ? schedule_stream (run->b, "reduce", 0) : SCHEDULE_COMPUTE;
  s->all = schedule_comm (run->b, "data", mesh_all (&run->in->mesh));
  if (s->residency == RESIDENCY_HOST_NODE)
    {
      s->host_copy = schedule_stream (run->b, "host_copy", 0);
      s->node = schedule_comm (run->b, "node", mesh_node (&run->in->mesh));
    }
  s->units = g_new0 (DeepspeedUnit, run->n_units);
  for (guint i = 0; i < run->n_units; i++)
    init_unit (run, i);
  s->waiting = g_array_new (FALSE, FALSE, sizeof (guint));
  record_visits (run);
  mark_reuse (run);
  allocate_states (run);
}

void
deepspeed_clear (StrategyRun *run)
{
  DeepspeedState *s = run->state;

  g_free (s->units);
  g_free (s->visits);
  g_array_unref (s->waiting);
}

static void
restart_walk (DeepspeedState *s, guint n_units)
{
  s->position = s->queue = 0;
  for (guint i = 0; i < n_units; i++)
    s->units[i].passed = -1;
}

void
deepspeed_step_begin (StrategyRun *run)
{
  DeepspeedState *s = run->state;

  s->traced = s->traced || run->section == SECTION_STEADY || run->step > 0;
  s->fetches[0] = s->fetches[1] = s->reduces[0] = s->reduces[1] = SCHEDULE_NONE;
  restart_walk (s, run->n_units);
  if (s->gather != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, s->gather, SCHEDULE_COMPUTE);
}

/*
 * Gives BUFFER back when STREAM has passed its last use. Where all runs on the compute stream that
 * is now, in host order: the next use there comes later.
 */
static void
free_after_use (StrategyRun *run, BufferRef buffer, StreamRef stream)
{
  const DeepspeedState *s = run->state;

  if (stream == SCHEDULE_COMPUTE && s->gather == SCHEDULE_COMPUTE)
    schedule_free (run->b, buffer);
  else
    schedule_free_after (run->b, buffer, schedule_record (run->b, stream));
}

/* At most two are outstanding: the host waits for the one before the last. */
static void
throttle (StrategyRun *run, EventRef outstanding[2], EventRef event)
{
  schedule_host_pace (run->b, outstanding[0]);
  outstanding[0] = outstanding[1];
  outstanding[1] = event;
}

/* The op emitted last writes the gathered parameters of UNITS. */
static void
uses_gathered (StrategyRun *run, const guint *units, guint n)
{
  const DeepspeedState *s = run->state;

  for (guint i = 0; i < n; i++)
    schedule_uses (run->b, s->units[units[i]].full, SCHEDULE_WHOLE, ACCESS_WRITE);
}

static void
uses_part_of_each (StrategyRun *run, BufferRef buffer, const guint *units, guint n,
                   ScheduleAccess access)
{
  for (guint i = 0; i < n; i++)
    schedule_uses (run->b, buffer, units[i], access);
}

/*
 * The node's slices come from its host copy; the GPUs of the node then gather them over their own
 * links.
 */
static void
gather_from_host (StrategyRun *run, const guint *units, guint n)
{
  DeepspeedState *s = run->state;
  guint           compute = bytes_of (run).compute;
  guint64         padded = 0;
  BufferRef       slices;

  for (guint i = 0; i < n; i++)
    padded += s->units[units[i]].node_padded;
  if (s->node_size == 1) /* a slice is the whole: nothing to gather */
    {
      schedule_copy (run->b, s->host_copy, COPY_FROM_HOST, padded * compute, "fetch");
      uses_part_of_each (run, s->cache, units, n, ACCESS_READ);
      uses_gathered (run, units, n);
      schedule_wait_stream (run->b, s->gather, s->host_copy);
      return;
    }
  slices = schedule_alloc_on (run->b, s->host_copy, TIER_HBM, POOL_GATHERED,
                              padded / s->node_size * compute, "slices of the node copy");
  schedule_copy (run->b, s->host_copy, COPY_FROM_HOST, padded / s->node_size * compute, "fetch");
  uses_part_of_each (run, s->cache, units, n, ACCESS_READ);
  schedule_uses (run->b, slices, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_wait_stream (run->b, s->gather, s->host_copy);
  schedule_all_gather (run->b, s->gather, s->node, padded * compute, "all_gather_node");
  schedule_uses (run->b, slices, SCHEDULE_WHOLE, ACCESS_READ);
  uses_gathered (run, units, n);
  schedule_free_after (run->b, slices, schedule_record (run->b, s->gather));
}

static void
gather_from_shards (StrategyRun *run, const guint *units, guint n)
{
  DeepspeedState *s = run->state;
  guint           compute = bytes_of (run).compute;
  guint64         padded = 0;

  for (guint i = 0; i < n; i++)
    padded += s->units[units[i]].padded;
  schedule_all_gather (run->b, s->gather, s->all, padded * compute, "all_gather");
  uses_part_of_each (run, s->shards, units, n, ACCESS_READ);
  uses_gathered (run, units, n);
}

/* Gathers UNITS (owners) as one collective a source, named after the first of them. */
static void
gather_units (StrategyRun *run, const guint *units, guint n)
{
  DeepspeedState   *s = run->state;
  guint             compute = bytes_of (run).compute;
  g_autofree guint *sorted = g_new (guint, n);
  guint             cached = 0, plain = n;
  guint             old = schedule_set_unit (run->b, units[0]);

  for (guint i = 0; i < n; i++)
    {
      DeepspeedUnit *u = &s->units[units[i]];

      schedule_set_unit (run->b, units[i]);
      /*
       * One rank's shard is the whole, and used where it is (partition_parameters.py,
       * NoGatherHandle).
       */
      u->home = u->cached && s->node_size == 1 ? s->host_copy : s->gather;
      if (s->m > 1 || u->cached)
        u->full =
            schedule_alloc_on (run->b, u->home, TIER_HBM, POOL_GATHERED,
                               MAX (u->padded, u->node_padded) * compute, "gathered parameters");
      place_parameters (run, units[i]);
      u->available = TRUE;
      s->live += (gint64) u->fetched;
      if (u->cached)
        sorted[cached++] = units[i];
      else
        sorted[--plain] = units[i];
    }
  schedule_set_unit (run->b, units[0]);
  if (plain < n)
    gather_from_shards (run, sorted + plain, n - plain);
  if (cached > 0)
    gather_from_host (run, sorted, cached);
  schedule_set_unit (run->b, old);
}

static void
prefetch (StrategyRun *run)
{
  DeepspeedState         *s = run->state;
  const DeepspeedOptions *o = options_of (run);
  gint64                  limit = MIN (o->prefetch_bucket_size, o->max_live_parameters - s->live);
  gint64                  ahead = 0;
  g_autoptr (GArray)      units = g_array_new (FALSE, FALSE, sizeof (guint));

  s->queue = MAX (s->queue, s->position + 1);
  for (; s->queue < s->n_visits && ahead < limit; s->queue++)
    {
      guint          owner = s->visits[s->queue].owner;
      DeepspeedUnit *u = &s->units[owner];

      if (u->fetched == 0)
        continue;
      if (!u->available && u->passed < (gint) s->position)
        {
          g_array_append_val (units, owner);
          ahead += (gint64) u->fetched;
        }
      else if (o->max_reuse_distance == 0)
        break; /* it will be freed before that use: nothing can be gathered past it yet */
      u->passed = (gint) s->queue;
    }
  if (units->len > 0)
    gather_units (run, (const guint *) (void *) units->data, units->len);
}

void
deepspeed_fetch (StrategyRun *run, const UnitSlot *slot)
{
  DeepspeedState *s = run->state;
  guint           owner = slot->plan->shares;
  DeepspeedUnit  *u = &s->units[owner];

  g_assert (s->visits[s->position].owner == owner);
  schedule_host_hooks (run->b, 1);
  if (u->fetched > 0 && !u->available)
    gather_units (run, &owner, 1);
  if (u->fetched > 0)
    {
      /* The whole gathering stream, whatever of it the unit needs. */
      EventRef fetched = schedule_record (run->b, s->gather);

      schedule_wait (run->b, SCHEDULE_COMPUTE, fetched);
      throttle (run, s->fetches, fetched);
    }
  if (s->traced)
    prefetch (run);
}

/*
 * The first use of a step leaves the own slice of the node copy in host memory. The copy waits for
 * the module.
 */
static void
stash (StrategyRun *run, guint unit)
{
  DeepspeedState *s = run->state;
  DeepspeedUnit  *u = &s->units[unit];

  if (s->residency != RESIDENCY_HOST_NODE || u->cached || u->fetched == 0)
    return;
  schedule_wait_stream (run->b, s->host_copy, SCHEDULE_COMPUTE);
  schedule_copy (run->b, s->host_copy, COPY_TO_HOST,
                 u->node_padded / s->node_size * bytes_of (run).compute, "stash");
  schedule_uses (run->b, u->full, SCHEDULE_WHOLE, ACCESS_READ);
  if (u->full == SCHEDULE_NONE)
    schedule_uses (run->b, s->shards, unit, ACCESS_READ);
  schedule_uses (run->b, s->cache, unit, ACCESS_WRITE);
  u->cached = TRUE;
  u->stashed = schedule_record (run->b, s->host_copy);
}

/*
 * When the gathered parameters of U have had their last use, by compute and by the copy to the
 * host, which waited for compute. They may have stayed gathered since that copy.
 */
static EventRef
last_use (StrategyRun *run, const DeepspeedUnit *u, gboolean copied_now)
{
  if (copied_now)
    return u->stashed;
  return schedule_join (run->b, schedule_record (run->b, SCHEDULE_COMPUTE), u->stashed);
}

static void
free_gathered (StrategyRun *run, DeepspeedUnit *u, gboolean copied_now)
{
  if (u->stashed == SCHEDULE_NONE && u->home == SCHEDULE_COMPUTE)
    schedule_free (run->b, u->full);
  else
    schedule_free_after (run->b, u->full, last_use (run, u, copied_now));
  u->full = SCHEDULE_NONE;
  u->stashed = SCHEDULE_NONE;
}

void
deepspeed_release (StrategyRun *run, const UnitSlot *slot)
{
  DeepspeedState       *s = run->state;
  DeepspeedUnit        *u = &s->units[slot->plan->shares];
  const DeepspeedVisit *visit = &s->visits[s->position];
  gboolean              cached = u->cached;
  gboolean              goes = u->fetched > 0 && !visit->reused && u->passed <= (gint) s->position;

  stash (run, slot->plan->shares);
  schedule_host_hooks (run->b, 1);
  if (goes)
    {
      free_gathered (run, u, u->cached && !cached);
      place_parameters (run, slot->plan->shares);
      u->available = FALSE;
      s->live -= (gint64) u->fetched;
    }
  s->position++;
}

void
deepspeed_backward_begin (StrategyRun *run, const UnitSlot *slot)
{
  DeepspeedState *s = run->state;

  deepspeed_fetch (run, slot);
  s->units[slot->unit].grads =
      schedule_alloc (run->b, TIER_HBM, POOL_GRADIENT,
                      slot->plan->own_elements * bytes_of (run).compute, "gradients");
  strategy_data (run, slot->unit, UNIT_GRADIENT, s->units[slot->unit].grads, SCHEDULE_NONE);
}

/*
 * Reduce-scatters what the bucket holds, or the gradient that is too large for it, in the
 * reduction's precision.
 */
static void
flush_bucket (StrategyRun *run)
{
  DeepspeedState *s = run->state;
  guint           compute = bytes_of (run).compute;
  guint           reduce = reduce_bytes (workload_training (run->in->workload));
  double          shard = (double) s->bucket_padded / s->m;
  BufferRef       input;

  if (s->bucket_elements == 0)
    return;
  input = schedule_alloc_on (run->b, s->reduce, TIER_HBM, POOL_COMMUNICATION,
                             s->bucket_padded * reduce, "reduce-scatter input");
  emit_stream_kernel (run->b, s->reduce, KERNEL_COPY, "interleave", DTYPE_FP16,
                      (double) s->bucket_elements * compute, (double) s->bucket_padded * reduce);
  schedule_uses (run->b, s->oversized != SCHEDULE_NONE ? s->oversized : s->bucket, SCHEDULE_WHOLE,
                 ACCESS_READ);
  schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_reduce_scatter (run->b, s->reduce, s->all, s->bucket_padded * reduce, "reduce_scatter");
  schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
  emit_stream_kernel (run->b, s->reduce, KERNEL_ELEMENTWISE, "gradient_add", DTYPE_FP16,
                      shard * (reduce + compute), shard * compute);
  schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_READ);
  uses_part_of_each (run, s->gradients, (const guint *) (void *) s->waiting->data, s->waiting->len,
                     run->micro == 0 ? ACCESS_WRITE : ACCESS_READ_WRITE);
  free_after_use (run, input, s->reduce);
  if (s->oversized != SCHEDULE_NONE)
    free_after_use (run, s->oversized, s->reduce);
  throttle (run, s->reduces, schedule_record (run->b, s->reduce));
  s->bucket_elements = s->bucket_padded = 0;
  g_array_set_size (s->waiting, 0);
  s->oversized = SCHEDULE_NONE;
}

/* A gradient that the bucket cannot hold is reduced from where it is and lives until then. */
static void
add_to_bucket (StrategyRun *run, const UnitSlot *slot)
{
  DeepspeedState *s = run->state;
  DeepspeedUnit  *u = &s->units[slot->unit];
  guint64         elements = slot->plan->own_elements;
  guint64         size = (guint64) options_of (run)->reduce_bucket_size;
  double          bytes = (double) elements * bytes_of (run).compute;

  if (elements == 0)
    return;
  if (s->reduce != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, s->reduce, SCHEDULE_COMPUTE);
  if (s->bucket_elements + elements > size)
    flush_bucket (run);
  if (elements > size)
    s->oversized = u->grads;
  else
    {
      emit_stream_kernel (run->b, s->reduce, KERNEL_COPY, "bucket_copy", DTYPE_FP16, bytes, bytes);
      schedule_uses (run->b, u->grads, SCHEDULE_WHOLE, ACCESS_READ);
      schedule_uses (run->b, s->bucket, SCHEDULE_WHOLE, ACCESS_WRITE);
      free_after_use (run, u->grads, s->reduce);
    }
  g_array_append_val (s->waiting, slot->unit);
  s->bucket_elements += elements;
  s->bucket_padded += u->grad_padded;
}

void
deepspeed_backward_end (StrategyRun *run, const UnitSlot *slot)
{
  add_to_bucket (run, slot);
  deepspeed_release (run, slot);
}

void
deepspeed_micro_step_end (StrategyRun *run)
{
  DeepspeedState *s = run->state;

  flush_bucket (run);
  if (run->last_backward && s->reduce != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->reduce);
  s->traced = TRUE;
  restart_walk (s, run->n_units);
}

void
deepspeed_step_end (StrategyRun *run)
{
  DeepspeedState *s = run->state;
  StateBytes      bytes = bytes_of (run);
  guint64         shard = own_sum (run, shard_elements_of);
  guint64         tile = MIN (shard, (guint64) options_of (run)->sub_group_size);
  gboolean        mixed = master_copy_bytes (workload_training (run->in->workload)) > 0;
  BufferRef       wide = SCHEDULE_NONE;

  /*
   * Copies to the host end with the step. Those of a lone rank read the shard that is updated now.
   */
  if (s->residency == RESIDENCY_HOST_NODE && s->m == 1)
    schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->host_copy);
  else if (s->residency == RESIDENCY_HOST_NODE)
    schedule_pace (run->b, SCHEDULE_COMPUTE, schedule_record (run->b, s->host_copy));
  if (mixed)
    {
      wide = schedule_alloc (run->b, TIER_HBM, POOL_GRADIENT, tile * bytes.master,
                             "fp32 gradient of a sub-group");
      emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "gradient_cast", DTYPE_FP32,
                          (double) shard * bytes.compute, (double) shard * bytes.master);
      schedule_uses (run->b, s->gradients, SCHEDULE_WHOLE, ACCESS_READ);
      schedule_uses (run->b, wide, SCHEDULE_WHOLE, ACCESS_WRITE);
    }
  emit_optimizer (run, mesh_all (&run->in->mesh), shard, bytes.master, mixed ? bytes.compute : 0);
  schedule_uses (run->b, wide, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_free (run->b, wide);
  schedule_all_gather (run->b, SCHEDULE_COMPUTE, s->all,
                       own_sum (run, persistent_padded_of) * bytes.compute, "all_gather_persistent");
  schedule_uses (run->b, s->shards, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, s->persistent, SCHEDULE_WHOLE, ACCESS_WRITE);
  for (guint i = 0; i < run->n_units; i++)
    s->units[i].cached = FALSE;
}
