#include "strategy/runtime/buckets/host-slices.h"

#include "strategy/emit/common.h"
#include "strategy/emit/host-update.h"
#include "strategy/emit/route.h"

guint64
host_slices_off_gpu (const StrategyRun *run, guint64 share)
{
  return share - (guint64) ((double) share * run->policy->on_gpu);
}

/* Bytes of STATE at its home. */
static guint64
away_bytes (const StrategyRun *run, PolicyStateKind state)
{
  guint64 sum = 0;

  for (guint kind = 0; kind < run->policy->n_kinds; kind++)
    sum += host_slices_off_gpu (run, strategy_share_of (run, kind, state))
           * policy_state_bytes (&run->policy->kinds[kind].states[state]);
  return sum;
}

static BufferRef
alloc_gradients (StrategyRun *run)
{
  return schedule_alloc (run->b, run->policy->kinds[0].states[STATE_GRADIENTS].home, POOL_GRADIENT,
                         away_bytes (run, STATE_GRADIENTS), "gradient slices");
}

void
host_slices_init_states (HostSlices *self, StrategyRun *run)
{
  self->cpu = host_update_stream (run);
  if (!run->policy->late_update)
    self->gradients = alloc_gradients (run);
  self->states =
      schedule_alloc (run->b, run->policy->kinds[0].states[STATE_OPTIMIZER].home, POOL_OPTIMIZER,
                      away_bytes (run, STATE_OPTIMIZER) + kept_beside (run), "optimizer state");
  for (guint u = 0; u < run->n_units; u++)
    self->all[run->units[u].expert] += run->units[u].trainable_elements;
}

void
host_slices_init (HostSlices *self, StrategyRun *run)
{
  const TrainingOptions *training = workload_training (run->in->workload);
  guint64                rounding = 0;

  host_slices_init_states (self, run);
  /*
   * Master, gradient and updated parameters are a pinned block each of a kind of units, moments are
   * not. Source: stage_1_and_2.py, __init__ and initialize_optimizer_states.
   */
  for (guint kind = 0; kind < run->policy->n_kinds; kind++)
    {
      guint64     share = strategy_share_of (run, kind, STATE_OPTIMIZER);
      const guint of[] = { policy_state_bytes (&run->policy->kinds[kind].states[STATE_GRADIENTS]),
                           dtype_bytes (training_master_dtype (training)),
                           compute_bytes (run->policy) };

      for (guint i = 0; i < G_N_ELEMENTS (of); i++)
        rounding += pinned_rounding (run, share * of[i]);
    }
  schedule_alloc (run->b, PLACE_PINNED, POOL_CACHE, rounding, "rounding of pinned blocks");
  self->updated = schedule_alloc (
      run->b, PLACE_PINNED, POOL_PARAMETER,
      strategy_share (run, STATE_OPTIMIZER) * compute_bytes (run->policy), "updated parameters");
}

void
host_slices_begin_step (HostSlices *self, StrategyRun *run)
{
  self->staged = 0;
  if (run->policy->late_update) /* those of the step before are still read */
    self->gradients = alloc_gradients (run);
  strategy_data (run, SCHEDULE_NONE, UNIT_REDUCED, SCHEDULE_NONE, self->gradients);
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Of the slice of units of KIND, when REDUCED elements of them have been: all of it in the end. */
static guint64
slice_until (const HostSlices *self, const StrategyRun *run, guint kind, guint64 reduced)
{
  guint64 share = host_slices_off_gpu (run, strategy_share_of (run, kind, STATE_GRADIENTS));

  if (reduced == self->all[kind])
    return share;
  return (guint64) ((double) share * (double) reduced / (double) self->all[kind]);
}

/* The host's gradients of the units of a bucket. */
typedef struct
{
  const GradientBucket *bucket;
  BufferRef             buffer;
} HostGradients;

static void
use_gradients (StrategyRun *run, gconstpointer data, ScheduleAccess access)
{
  const HostGradients *self = data;

  gradient_bucket_uses (self->bucket, run, self->buffer, access);
}

/* The slice's hops to the GPU (BACK) or from there, between the host's gradients and MADE. */
static void
walk_slice (const HostSlices *self, StrategyRun *run, const GradientBucket *bucket, guint64 slice,
            BufferRef made, gboolean back)
{
  const PolicyRoute *route = &run->policy->kinds[0].routes[ROUTE_STORE];
  HostGradients      gradients = { bucket, self->gradients };
  const RouteEnd     staging = route_part (self->staging, self->slot);
  const RouteEnd     host = { .use = use_gradients, .data = &gradients };
  guint              turn = 0;

  while (turn < route->n && route->hops[turn].from != PLACE_HBM)
    turn++;
  emit_route (run, &(RouteWalk){ .route = ROUTE_STORE,
                                 .first = back ? 0 : turn,
                                 .end = back ? turn : route->n,
                                 .first_micro = bucket->first,
                                 .last_micro = bucket->last,
                                 .held = slice,
                                 .moves = bucket->stream,
                                 .drives = self->drives,
                                 .staging = self->drives != NULL ? &staging : NULL,
                                 .from = back ? host : route_whole (made),
                                 .to = back ? route_whole (made) : host,
                                 .passing = "gradient slice on its way" });
}

/* The slice as the host keeps it, on the GPU: cast, and added to what the host has. */
static BufferRef
make_slice (const HostSlices *self, StrategyRun *run, const GradientBucket *bucket, BufferRef input,
            guint wire, guint64 slice)
{
  guint     kept = policy_state_bytes (&run->policy->kinds[0].states[STATE_GRADIENTS]);
  double    n = (double) slice;
  BufferRef made = schedule_alloc_on (run->b, bucket->stream, PLACE_HBM, POOL_GRADIENT,
                                      slice * kept, "gradient slice on its way");

  walk_slice (self, run, bucket, slice, made, TRUE);
  emit_stream_kernel (run->b, bucket->stream, bucket->first ? KERNEL_COPY : KERNEL_ELEMENTWISE,
                      bucket->first ? "slice_cast" : "gradient_add", DTYPE_FP32,
                      n * (bucket->first ? wire : wire + kept), n * kept);
  schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, made, SCHEDULE_WHOLE, bucket->first ? ACCESS_WRITE : ACCESS_READ_WRITE);
  if (bucket->last && host_update_clips (run))
    {
      emit_stream_kernel (run->b, bucket->stream, KERNEL_REDUCTION, "slice_norm", DTYPE_FP32,
                          n * kept, 0);
      schedule_uses (run->b, made, SCHEDULE_WHOLE, ACCESS_READ);
    }
  return made;
}

void
host_slices_store (HostSlices *self, StrategyRun *run, const GradientBucket *bucket,
                   BufferRef input, guint wire)
{
  guint64   before[2] = { self->reduced[0], self->reduced[1] }, slice = 0;
  BufferRef made;

  for (guint i = 0; i < bucket->waiting->len; i++)
    {
      const PlanUnit *unit = &run->units[g_array_index (bucket->waiting, guint, i)];

      self->reduced[unit->expert] += unit->trainable_elements;
    }
  for (guint kind = 0; kind < MIN (run->policy->n_kinds, G_N_ELEMENTS (before)); kind++)
    slice += slice_until (self, run, kind, self->reduced[kind])
             - slice_until (self, run, kind, before[kind]);
  /*
   * Slices fill the buffers that lead to drives one behind the other. When they are full the host
   * waits until all are written (deepspeed/runtime/swap_tensor/async_swapper.py, _make_swap_space).
   */
  if (self->drives != NULL)
    {
      if (self->staged > 0 && self->staged + slice > self->room)
        {
          schedule_host_wait (run->b, schedule_record (run->b, *self->drives));
          self->staged = self->slot = 0;
        }
      self->staged += slice;
      self->slot++;
    }
  made = make_slice (self, run, bucket, input, wire, slice);
  walk_slice (self, run, bucket, slice, made, FALSE);
  free_behind (run, made, bucket->stream);
}

void
host_slices_end_micro_step (HostSlices *self)
{
  self->reduced[0] = self->reduced[1] = 0;
}

/* ---- update ---------------------------------------------------------------------------------- */

static void
update (const HostSlices *self, StrategyRun *run, gboolean blocks)
{
  emit_host_update (run, self->cpu, compute_bytes (run->policy), blocks);
  schedule_uses (run->b, self->gradients, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, self->updated, SCHEDULE_WHOLE, ACCESS_WRITE);
}

static void
clip (const HostSlices *self, StrategyRun *run, gboolean blocks)
{
  guint kept = policy_state_bytes (&run->policy->kinds[0].states[STATE_GRADIENTS]);

  if (!host_update_clips (run))
    return;
  emit_host_clip (run, self->cpu, strategy_share (run, STATE_GRADIENTS), kept, blocks);
  schedule_uses (run->b, self->gradients, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
}

/* What the host has updated comes to the GPU. */
static void
fetch (const HostSlices *self, StrategyRun *run, BufferRef parameters)
{
  const PolicyRoute *route = &run->policy->kinds[0].routes[ROUTE_UPDATE];

  emit_route (run, &(RouteWalk){ .route = ROUTE_UPDATE,
                                 .end = policy_next (route, 0, HOP_COLLECTIVE),
                                 .last_micro = TRUE,
                                 .held = strategy_share (run, STATE_OPTIMIZER),
                                 .moves = SCHEDULE_COMPUTE,
                                 .from = route_whole (self->updated),
                                 .to = route_whole (parameters),
                                 .passing = "updated parameters on their way" });
}

void
host_slices_update (const HostSlices *self, StrategyRun *run, BufferRef parameters)
{
  EventRef updated;

  if (host_update_clips (run))
    emit_norm (run, run->policy->kinds[0].states[STATE_OPTIMIZER].group, SCHEDULE_COMPUTE,
               TRANSPORT_GPU);
  if (!run->policy->late_update)
    {
      schedule_host_wait (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
      clip (self, run, TRUE);
      update (self, run, TRUE);
      fetch (self, run, parameters);
      emit_gather_updated (run, parameters);
      return;
    }
  /* What the step before made; then the cores begin on this step's, and the GPU trains on. */
  updated = schedule_carried (run->b, "update");
  schedule_wait (run->b, SCHEDULE_COMPUTE, updated);
  schedule_free_after (run->b, schedule_carried_buffer (run->b, "gradient slices"), updated);
  fetch (self, run, parameters);
  schedule_wait_stream (run->b, self->cpu, SCHEDULE_COMPUTE);
  clip (self, run, FALSE);
  update (self, run, FALSE);
  schedule_carry (run->b, "update", schedule_record (run->b, self->cpu));
  schedule_carry_buffer (run->b, "gradient slices", self->gradients);
  emit_gather_updated (run, parameters);
}
