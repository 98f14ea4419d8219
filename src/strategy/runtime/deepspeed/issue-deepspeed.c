/*
 * DeepSpeed's coordinator of parameters, module by module (ZeRO-3's runtime).
 *
 * A unit is a module that owns parameters. Before a module runs, its missing parameters are
 * all-gathered, and the compute stream waits for those that it uses: not for what is on its way to
 * others. Before each wait at most three are outstanding on the host. What was gathered as one is
 * copied out of its buffer when the first of its modules is used. Then the prefetcher walks on in
 * the recorded order of uses and gathers, as one collective, until prefetch_bucket_size elements
 * are on their way. After a
 * module has run, its parameters are freed unless they are persistent (small), used again within
 * max_reuse_distance elements, or the prefetcher has already passed over a later use. Gradients are
 * copied into a bucket and reduce-scattered when it is full, every micro-step, at whose end the
 * host waits for the last one. Source:
 * deepspeed/runtime/zero (partitioned_param_coordinator.py, stage3.py).
 */
#include "strategy/runtime/deepspeed/issue-deepspeed.h"

#include "model/step/privacy.h"
#include "strategy/emit/common.h"
#include "strategy/emit/route.h"
#include "strategy/runtime/deepspeed/issue-deepspeed-private.h"

static const DeepspeedIssue *
options_of (const StrategyRun *run)
{
  return run->policy->issue;
}

/* Elements of parameters of all units that are whole on every rank; with their padding. */
static guint64
persistent_elements (const StrategyRun *run, gboolean padded)
{
  guint64 sum = 0;

  for (guint i = 0; i < run->n_units; i++)
    if (run->units[i].own_elements > 0)
      sum += padded ? run->shares[i].padded - run->shares[i].cut_padded
                    : run->units[i].elements - run->shares[i].cut;
  return sum;
}

/* This rank's slices of the second copy, at its home or KEPT on the GPU, in PLACE. */
static BufferRef
allocate_copies (StrategyRun *run, Place place, gboolean kept)
{
  const PolicyState *copy = &deepspeed_unit_policy (run)->copy;
  guint64            sum = 0;

  for (guint i = 0; i < run->n_units; i++)
    if (run->units[i].own_elements > 0 && run->shares[i].keeps_copy == kept)
      sum += run->shares[i].copy_padded / copy->group.size;
  return schedule_alloc (run->b, place, POOL_CACHE, sum * policy_state_bytes (copy),
                         "parameter cache");
}

static void
allocate_states (StrategyRun *run)
{
  DeepspeedState *s = run->state;
  guint           compute = compute_bytes (run->policy);
  guint64         all = 0;

  for (guint i = 0; i < run->n_units; i++)
    all += run->units[i].own_elements;
  s->shards =
      schedule_alloc (run->b, deepspeed_unit_policy (run)->states[STATE_PARAMETERS].home,
                      POOL_PARAMETER, held_bytes (run, STATE_PARAMETERS), "parameter shards");
  s->persistent =
      schedule_alloc (run->b, PLACE_HBM, POOL_PARAMETER, persistent_elements (run, FALSE) * compute,
                      "persistent parameters");
  if (!deepspeed_is_away (run, STATE_OPTIMIZER))
    {
      s->gradients = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                                     held_bytes (run, STATE_GRADIENTS), "gradient shards");
      hold_optimizer (run);
    }
  s->bucket.buffer = schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION,
                                     MIN (s->bucket.size, all) * compute, "gradient bucket");
  if (deepspeed_has_copy (run))
    {
      s->cache = allocate_copies (run, deepspeed_unit_policy (run)->copy.home, FALSE);
      s->kept = allocate_copies (run, PLACE_HBM, TRUE);
    }
  deepspeed_offload_init (run);
  if (!deepspeed_is_away (run, STATE_OPTIMIZER))
    strategy_data (run, SCHEDULE_NONE, UNIT_REDUCED, SCHEDULE_NONE, s->gradients);
  for (guint i = 0; i < run->n_units; i++)
    deepspeed_place_parameters (run, i);
}

static void
deepspeed_init (StrategyRun *run)
{
  DeepspeedState *s = run->state;
  gboolean        overlap = options_of (run)->overlap_comm;

  s->synchronises = workload_training (run->in->workload)->traits.first_coordinator;
  s->in_place |= s->synchronises;
  s->m = deepspeed_unit_policy (run)->states[STATE_PARAMETERS].group.size;
  s->copies = MAX (deepspeed_unit_policy (run)->copy.group.size, 1);
  s->gather = overlap ? schedule_stream (run->b, "all_gather", 0) : SCHEDULE_COMPUTE;
  s->assemble = overlap ? schedule_stream (run->b, "assemble", 0) : SCHEDULE_COMPUTE;
  s->fetches = g_array_new (FALSE, FALSE, sizeof (DeepspeedFetch));
  s->reduce = overlap ? schedule_stream (run->b, "reduce", 0) : SCHEDULE_COMPUTE;
  if (deepspeed_has_copy (run))
    s->copy = deepspeed_unit_policy (run)->copy.home == PLACE_HBM
                  ? SCHEDULE_COMPUTE
                  : schedule_stream (run->b, "host_copy", 0);
  gradient_bucket_init (&s->bucket, s->reduce, (guint64) options_of (run)->reduce_bucket_size);
  s->bucket.reduce = deepspeed_reduce_bucket;
  if (s->synchronises)
    s->bucket.most = 1;
  s->units = g_new0 (DeepspeedUnit, run->n_units);
  for (guint i = 0; i < run->n_units; i++)
    {
      DeepspeedUnit *u = &s->units[i];

      u->full = u->grads = u->stashed = u->fetch = SCHEDULE_NONE;
      u->passed = -1;
    }
  s->of_table = SCHEDULE_NONE;
  deepspeed_mark_reuse (run);
  allocate_states (run);
  compressed_init (&s->compressed, run);
}

/* Tensors are gathered each to its own place, in one group of collectives: mics.py. */
static void
mics_init (StrategyRun *run)
{
  ((DeepspeedState *) run->state)->in_place = TRUE;
  deepspeed_init (run);
}

static void
deepspeed_clear (StrategyRun *run)
{
  DeepspeedState *s = run->state;

  deepspeed_drop_fetches (s);
  g_array_unref (s->fetches);
  g_free (s->units);
  g_free (s->reused);
  gradient_bucket_clear (&s->bucket);
  compressed_clear (&s->compressed, run);
  deepspeed_offload_clear (s);
}

static void
restart_walk (DeepspeedState *s, guint n_units)
{
  s->position = s->queue = 0;
  deepspeed_drop_fetches (s);
  for (guint i = 0; i < n_units; i++)
    s->units[i].passed = -1;
}

static void
deepspeed_step_begin (StrategyRun *run)
{
  DeepspeedState *s = run->state;

  s->traced = s->traced || run->section == SECTION_STEADY || run->step > 0;
  for (guint i = 0; i < DEEPSPEED_OUTSTANDING; i++)
    s->outstanding[i] = SCHEDULE_NONE;
  gradient_bucket_begin_step (&s->bucket);
  restart_walk (s, run->n_units);
  if (s->assemble != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, s->assemble, SCHEDULE_COMPUTE);
  deepspeed_offload_begin_step (run);
}

static void
prefetch (StrategyRun *run)
{
  DeepspeedState       *s = run->state;
  const DeepspeedIssue *o = options_of (run);
  gint64                limit = MIN (o->prefetch_bucket_size, o->max_live_parameters - s->live);
  gint64                ahead = 0;
  g_autoptr (GArray)    units = g_array_new (FALSE, FALSE, sizeof (guint));

  s->queue = MAX (s->queue, s->position + 1);
  for (; s->queue < run->n_uses && ahead < limit; s->queue++)
    {
      guint          owner = run->uses[s->queue].owner;
      DeepspeedUnit *u = &s->units[owner];

      if (run->shares[owner].cut == 0)
        continue;
      if (!u->available && u->passed < (gint) s->position)
        {
          g_array_append_val (units, owner);
          ahead += (gint64) run->shares[owner].cut;
        }
      else if (deepspeed_goes_before (run, s->queue))
        break; /* it will be freed before that use: nothing can be gathered past it yet */
      u->passed = (gint) s->queue;
    }
  if (units->len > 0)
    deepspeed_gather (run, (const guint *) (void *) units->data, units->len);
}

static void
deepspeed_use_begin (StrategyRun *run, const UnitSlot *slot)
{
  DeepspeedState *s = run->state;
  guint           owner = slot->plan->shares;
  DeepspeedUnit  *u = &s->units[owner];

  deepspeed_hold_tied_gradient (run, slot);
  g_assert (run->uses[s->position].owner == owner);
  schedule_host_hooks (run->b, 1);
  if (run->shares[owner].cut > 0 && !u->available)
    deepspeed_gather (run, &owner, 1);
  deepspeed_await (run, owner);
  if (run->shares[owner].cut > 0 && s->assemble != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->assemble);
  if (s->traced)
    prefetch (run);
}

static void
release (StrategyRun *run, const UnitSlot *slot)
{
  DeepspeedState *s = run->state;
  DeepspeedUnit  *u = &s->units[slot->plan->shares];
  gboolean        cached = u->cached;
  gboolean        goes = run->shares[slot->plan->shares].cut > 0 && !s->reused[s->position]
                  && u->passed <= (gint) s->position;

  deepspeed_stash (run, slot->plan->shares);
  schedule_host_hooks (run->b, 1);
  if (goes)
    {
      deepspeed_free_gathered (run, u, u->cached && !cached);
      deepspeed_place_parameters (run, slot->plan->shares);
      u->available = FALSE;
      s->live -= (gint64) run->shares[slot->plan->shares].cut;
    }
  s->position++;
}

/*
 * Autograd's hooks take a gradient before the module's own gives the parameters back (see
 * deepspeed_gradient_ready), unless gradients are made in a pass of their own.
 */
static gboolean
releases_with_gradient (const StrategyRun *run)
{
  return !training_holds_gradients_back (workload_training (run->in->workload));
}

static void
deepspeed_use_end (StrategyRun *run, const UnitSlot *slot)
{
  if (slot->use != USE_BACKWARD || slot->plan->trainable_elements == 0
      || !releases_with_gradient (run))
    release (run, slot);
}

static void
deepspeed_gradient_begin (StrategyRun *run, const UnitSlot *slot)
{
  DeepspeedState *s = run->state;

  s->units[slot->unit].grads =
      schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                      slot->plan->trainable_elements * compute_bytes (run->policy), "gradients");
  strategy_data (run, slot->unit, UNIT_GRADIENT, s->units[slot->unit].grads, SCHEDULE_NONE);
}

static void
deepspeed_gradient_ready (StrategyRun *run, const UnitSlot *slot)
{
  DeepspeedState *s = run->state;

  deepspeed_join_tied_gradient (run, slot->unit);
  gradient_bucket_add (&s->bucket, run, slot, s->units[slot->unit].grads);
  if (releases_with_gradient (run))
    release (run, slot);
}

static void
deepspeed_micro_step_end (StrategyRun *run)
{
  DeepspeedState *s = run->state;

  gradient_bucket_flush (&s->bucket, run);
  schedule_host_wait (run->b, schedule_record (run->b, s->reduce));
  host_slices_end_micro_step (&s->host);
  s->traced = TRUE;
  restart_walk (s, run->n_units);
}

static void
deepspeed_backward_done (StrategyRun *run)
{
  const DeepspeedState *s = run->state;

  if (s->host.drives != NULL)
    schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->swap);
}

/* The optimizer leaves UNIT as its second copy has it. */
static gboolean
stays_valid (const StrategyRun *run, guint unit)
{
  return deepspeed_unit_policy (run)->invalidate == INVALIDATE_TRAINABLE
         && run->units[unit].trainable_elements == 0;
}

/* The optimizer on the GPU, by sub-groups. */
static void
step_on_gpu (StrategyRun *run)
{
  DeepspeedState        *s = run->state;
  const TrainingOptions *training = workload_training (run->in->workload);
  guint                  compute = compute_bytes (run->policy);
  guint                  master = dtype_bytes (training_master_dtype (training));
  guint64                shard_elements = strategy_share (run, STATE_OPTIMIZER);
  guint64                tile = MIN (shard_elements, (guint64) options_of (run)->sub_group_size);
  gboolean               mixed = master_values (training) > 0;
  BufferRef              wide = SCHEDULE_NONE;

  if (mixed)
    {
      wide = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT, tile * master,
                             "fp32 gradient of a sub-group");
      emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "gradient_cast", DTYPE_FP32,
                          (double) shard_elements * compute, (double) shard_elements * master);
      schedule_uses (run->b, s->gradients, SCHEDULE_WHOLE, ACCESS_READ);
      schedule_uses (run->b, wide, SCHEDULE_WHOLE, ACCESS_WRITE);
    }
  emit_optimizer (run, deepspeed_unit_policy (run)->states[STATE_OPTIMIZER].group, shard_elements,
                  master, mixed && !deepspeed_is_away (run, STATE_PARAMETERS) ? compute : 0);
  schedule_uses (run->b, wide, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_free (run->b, wide);
  deepspeed_renew_from_gpu (run);
}

static void
deepspeed_step_end (StrategyRun *run)
{
  DeepspeedState *s = run->state;

  /*
   * Copies to the host end with the step. Those of a lone rank read the shard that is updated now.
   */
  if (deepspeed_has_copy (run) && s->copy != SCHEDULE_COMPUTE)
    {
      if (s->m == 1)
        schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->copy);
      else
        schedule_pace (run->b, SCHEDULE_COMPUTE, schedule_record (run->b, s->copy));
    }
  if (deepspeed_is_away (run, STATE_OPTIMIZER))
    deepspeed_host_step (run);
  else
    step_on_gpu (run);
  compressed_step_end (&s->compressed, run);
  emit_route (run, &(RouteWalk){ .route = ROUTE_UPDATE,
                                 .end = POLICY_MAX_HOPS,
                                 .last_micro = TRUE,
                                 .held = persistent_elements (run, TRUE) / s->m,
                                 .moves = SCHEDULE_COMPUTE,
                                 .collectives = SCHEDULE_COMPUTE,
                                 .from = route_whole (s->shards),
                                 .to = route_whole (s->persistent),
                                 .passing = "persistent parameters on their way" });
  for (guint i = 0; i < run->n_units; i++)
    s->units[i].cached &= stays_valid (run, i);
}

#define HOMES (1u << PLACE_HBM | 1u << PLACE_PINNED | 1u << PLACE_NVME)

#define DEEPSPEED_ISSUE(init_)                                                             \
  {                                                                                        \
    .carries = { .homes = { HOMES, HOMES, HOMES },                                         \
                 .copies = (1u << PLACE_N) - 1,                                            \
                 .routes = (1u << ROUTE_N) - 1,                                            \
                 .moves = (1u << ROUTE_N) - 1 - (1u << ROUTE_REDUCE) - (1u << ROUTE_REST), \
                 .cadences = 1u << CADENCE_MICRO_STEP | 1u << CADENCE_LAST,                \
                 .mixed_cadence = TRUE,                                                    \
                 .compressors = TRUE,                                                      \
                 .updates_home = TRUE,                                                     \
                 .part_on_gpu = TRUE,                                                      \
                 .one_kind = TRUE,                                                         \
                 .whole_tensors = TRUE },                                                  \
    .keeps_gradients = TRUE,                                                               \
    .hooks = { .state_size = sizeof (DeepspeedState),                                      \
               .granularity = UNIT_MODULE,                                                 \
               .init = init_,                                                              \
               .clear = deepspeed_clear,                                                   \
               .step_begin = deepspeed_step_begin,                                         \
               .use_begin = deepspeed_use_begin,                                           \
               .use_end = deepspeed_use_end,                                               \
               .gradient_begin = deepspeed_gradient_begin,                                 \
               .gradient_ready = deepspeed_gradient_ready,                                 \
               .micro_step_end = deepspeed_micro_step_end,                                 \
               .backward_done = deepspeed_backward_done,                                   \
               .step_end = deepspeed_step_end },                                           \
    .form = deepspeed_form,                                                                \
  }

const Issue issue_deepspeed = DEEPSPEED_ISSUE (deepspeed_init);
const Issue issue_mics = DEEPSPEED_ISSUE (mics_init);
