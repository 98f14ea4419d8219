/*
 * The schedule `host_cache`: what fcdp issues on one rank, DeepSpeed's ZeRO-3 runtime whose
 * parameters leave a copy in pinned host memory.
 *
 * The walk visits the modules forward and then backward. The first use of a module's parameters
 * reads them where they are (one rank's shard is all of them), and after it they go to the host on
 * the copy stream (stash). Its second use waits for them to come back on the same stream (fetch).
 * At most three fetches are outstanding on the host. Behind each fetch the prefetcher walks on and
 * fetches, in the order of visits, until a bucket of elements is on its way or `live` ones are
 * there. A module's gradient is copied into a bucket on the reduce stream; a full bucket is
 * interleaved (a copy) and added to the shard. Norms are smaller than the persistence threshold and
 * never move. Embedding, final norm and head, which the simulated model has and this loop has not,
 * are visits without parameters.
 */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include <stdio.h>

#include "bench/step.h"

#define SLOTS \
  3 /* layers whose fetched parameters may be there: the window is two layers and a module */
#define FETCHES     3 /* outstanding at most: DeepSpeed's max_ongoing_fetch_events and one more */
#define REDUCES     3
#define ENDS_BEFORE 1 /* the embedding */
#define ENDS_BEHIND 2 /* final norm, head */
#define MAX_UNITS   (STEP_MAX_LAYERS * LAYER_N_MODULES + ENDS_BEFORE + ENDS_BEHIND)

typedef struct
{
  uint64_t elements; /* that are fetched; 0: it persists, or is none of the loop's */
  bool     available, cached;
  int      passed; /* latest visit that the prefetcher passed over; -1: none */
} Unit;

/* The options of the strategy, in elements. */
typedef struct
{
  uint64_t prefetch_bucket, max_live, reduce_bucket, threshold;
} Window;

typedef struct
{
  Window      window;
  Unit        units[MAX_UNITS];
  unsigned    n_units, position, queue; /* visits: forward, then backward */
  uint64_t    live;
  unsigned    n_fetches, n_reduces; /* of this step */
  uint64_t    filled;               /* elements in the bucket */
  void       *weights[STEP_MAX_LAYERS];
  void       *shards;                      /* gradients of all layers */
  void       *cache[STEP_MAX_LAYERS];      /* pinned */
  void       *slots[SLOTS], *gradients[2]; /* by the layer modulo their number */
  void       *bucket, *interleaved;
  cudaEvent_t used[SLOTS][LAYER_N_MODULES]; /* the backward pass has used the slot's parameters */
  cudaEvent_t reduced[2][LAYER_N_MODULES];  /* the gradient is in the bucket */
  cudaEvent_t fetches[FETCHES + 1], reduces[REDUCES], order;
} Cache;

static Window
window_of (const StepModel *model)
{
  uint64_t n = layer_elements (&model->shape);

  return (Window){ .prefetch_bucket = n,
                   .max_live = 2 * n,
                   .reduce_bucket = n + n / 2,
                   .threshold = model->shape.d_model };
}

/* ---- units ----------------------------------------------------------------------------------- */

static bool
is_end (const Cache *self, unsigned unit)
{
  return unit < ENDS_BEFORE || unit >= self->n_units - ENDS_BEHIND;
}

static unsigned
layer_of (unsigned unit)
{
  return (unit - ENDS_BEFORE) / LAYER_N_MODULES;
}

static LayerModule
module_of (unsigned unit)
{
  return (LayerModule) ((unit - ENDS_BEFORE) % LAYER_N_MODULES);
}

static unsigned
unit_of_visit (const Cache *self, unsigned visit)
{
  return visit < self->n_units ? visit : 2 * self->n_units - 1 - visit;
}

/* Where UNIT's bf16 lies in a buffer of its layer. */
static char *
part (const Step *step, void *buffer, unsigned unit)
{
  return (char *) buffer + 2 * step_module_at (step, module_of (unit));
}

/* Its parameters for a kernel: what was fetched, or where they are. */
static const void *
weight_of (const Step *step, const Cache *self, unsigned unit, bool forward)
{
  unsigned layer = layer_of (unit);
  bool     fetched = !forward && self->units[unit].elements > 0;

  return part (step, fetched ? self->slots[layer % SLOTS] : self->weights[layer], unit);
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool
open_events (const Bench *bench, Step *step, Cache *self)
{
  cudaEvent_t *all[] = { self->used[0], self->reduced[0], self->fetches, self->reduces,
                         &self->order };
  unsigned     n[] = { SLOTS * LAYER_N_MODULES, 2 * LAYER_N_MODULES, FETCHES + 1, REDUCES, 1 };

  for (unsigned a = 0; a < sizeof n / sizeof n[0]; a++)
    for (unsigned i = 0; i < n[a]; i++)
      if (!step_event (bench, step, &all[a][i]))
        return false;
  return true;
}

static bool
open_buffers (const Bench *bench, Step *step, Cache *self)
{
  uint64_t bytes = 2 * step->elements, all = step->elements * step->model.n_layers;
  uint64_t bucket = self->window.reduce_bucket < all ? self->window.reduce_bucket : all;

  if (!step_device (bench, step, 2 * all, &self->shards))
    return false;
  CUDA_TRY (cudaMemset (self->shards, 0, 2 * all)); /* over when the first weights are there */
  for (unsigned i = 0; i < step->model.n_layers; i++)
    if (!step_device (bench, step, bytes, &self->weights[i])
        || !step_host (bench, step, bytes, &self->cache[i])
        || !step_random_weights (bench, step, 100 + i, self->weights[i], NULL))
      return false;
  for (unsigned i = 0; i < SLOTS && i < step->model.n_layers; i++)
    if (!step_device (bench, step, bytes, &self->slots[i]))
      return false;
  return step_device (bench, step, bytes, &self->gradients[0])
         && step_device (bench, step, bytes, &self->gradients[1])
         && step_device (bench, step, 2 * bucket, &self->bucket)
         && step_device (bench, step, 2 * bucket, &self->interleaved);
}

static bool
cache_open (const Bench *bench, Step *step, void *state)
{
  Cache *self = state;

  self->window = window_of (&step->model);
  self->n_units = step->model.n_layers * LAYER_N_MODULES + ENDS_BEFORE + ENDS_BEHIND;
  for (unsigned u = 0; u < self->n_units; u++)
    {
      uint64_t n = is_end (self, u) ? 0 : layer_module_elements (&step->model.shape, module_of (u));

      self->units[u].elements = n > self->window.threshold ? n : 0;
    }
  return open_events (bench, step, self) && open_buffers (bench, step, self);
}

/* ---- fetching -------------------------------------------------------------------------------- */

/* UNIT's parameters come to its slot, which an earlier layer may still be using. */
static bool
fetch_one (const Bench *bench, Step *step, Cache *self, unsigned unit)
{
  Unit    *u = &self->units[unit];
  unsigned layer = layer_of (unit), slot = layer % SLOTS;

  u->available = true;
  self->live += u->elements;
  if (!u->cached) /* the shard is used where it is */
    return true;
  if (layer + SLOTS < step->model.n_layers && self->units[unit + SLOTS * LAYER_N_MODULES].available)
    {
      bench_error (bench, "step", "the window is wider than %d layers", SLOTS);
      return false;
    }
  CUDA_TRY (cudaStreamWaitEvent (step->copies, self->used[slot][module_of (unit)], 0));
  CUDA_TRY (cudaMemcpyAsync (part (step, self->slots[slot], unit),
                             part (step, self->cache[layer], unit), 2 * u->elements,
                             cudaMemcpyHostToDevice, step->copies));
  return true;
}

static bool
prefetch (const Bench *bench, Step *step, Cache *self)
{
  uint64_t limit = self->window.max_live > self->live ? self->window.max_live - self->live : 0;
  uint64_t ahead = 0;

  if (limit > self->window.prefetch_bucket)
    limit = self->window.prefetch_bucket;
  if (self->queue < self->position + 1)
    self->queue = self->position + 1;
  for (; self->queue < 2 * self->n_units && ahead < limit; self->queue++)
    {
      unsigned unit = unit_of_visit (self, self->queue);
      Unit    *u = &self->units[unit];

      if (u->elements == 0)
        continue;
      if (u->available || u->passed >= (int) self->position)
        break; /* it goes before that use: nothing can be fetched past it yet */
      if (!fetch_one (bench, step, self, unit))
        return false;
      ahead += u->elements;
      u->passed = (int) self->queue;
    }
  return ahead == 0 || step_order (bench, step->gather, step->copies, self->order);
}

/* The fetch before the last FETCHES is over: the last one has just been recorded. */
static bool
throttle (const Bench *bench, Cache *self)
{
  unsigned now = self->n_fetches++;

  if (now >= FETCHES)
    CUDA_TRY (cudaEventSynchronize (self->fetches[(now - FETCHES) % (FETCHES + 1)]));
  return true;
}

static bool
fetch (const Bench *bench, Step *step, Cache *self, unsigned unit)
{
  const Unit *u = &self->units[unit];

  if (u->elements > 0 && !u->available)
    if (!fetch_one (bench, step, self, unit)
        || !step_order (bench, step->gather, step->copies, self->order))
      return false;
  if (u->elements > 0)
    {
      if (!step_order (bench, step->compute, step->gather,
                       self->fetches[self->n_fetches % (FETCHES + 1)])
          || !throttle (bench, self))
        return false;
    }
  return prefetch (bench, step, self);
}

/* The first use of a step leaves a copy on the host. */
static bool
stash (const Bench *bench, Step *step, Cache *self, unsigned unit)
{
  Unit    *u = &self->units[unit];
  unsigned layer = layer_of (unit);

  if (!step_order (bench, step->copies, step->compute, self->order))
    return false;
  CUDA_TRY (cudaMemcpyAsync (part (step, self->cache[layer], unit),
                             part (step, self->weights[layer], unit), 2 * u->elements,
                             cudaMemcpyDeviceToHost, step->copies));
  u->cached = true;
  return true;
}

static bool
release (const Bench *bench, Step *step, Cache *self, unsigned unit)
{
  Unit *u = &self->units[unit];
  bool  forward = self->position < self->n_units;

  if (u->elements > 0 && !u->cached && !stash (bench, step, self, unit))
    return false;
  if (u->elements > 0 && u->passed <= (int) self->position)
    {
      if (!forward)
        CUDA_TRY (
            cudaEventRecord (self->used[layer_of (unit) % SLOTS][module_of (unit)], step->compute));
      u->available = false;
      self->live -= u->elements;
    }
  self->position++;
  return true;
}

/* ---- gradients ------------------------------------------------------------------------------- */

/*
 * What the bucket holds is added to the shards: to the first ones, which is as much work as to
 * those that it belongs to.
 */
static bool
flush (const Bench *bench, Step *step, Cache *self)
{
  uint64_t n = self->filled;

  if (n == 0)
    return true;
  if (self->n_reduces >= REDUCES)
    CUDA_TRY (cudaEventSynchronize (self->reduces[(self->n_reduces - REDUCES) % REDUCES]));
  CUDA_TRY (cudaMemcpyAsync (self->interleaved, self->bucket, 2 * n, cudaMemcpyDeviceToDevice,
                             step->reduce));
  if (!step_add (bench, step, self->shards, self->interleaved, n, step->reduce))
    return false;
  self->filled = 0;
  CUDA_TRY (cudaEventRecord (self->reduces[self->n_reduces++ % REDUCES], step->reduce));
  return true;
}

static bool
add_to_bucket (const Bench *bench, Step *step, Cache *self, unsigned unit)
{
  unsigned    set = layer_of (unit) % 2;
  LayerModule module = module_of (unit);
  uint64_t    n = layer_module_elements (&step->model.shape, module);

  if (!step_order (bench, step->reduce, step->compute, self->order))
    return false;
  if (self->filled + n > self->window.reduce_bucket && !flush (bench, step, self))
    return false;
  CUDA_TRY (cudaMemcpyAsync ((char *) self->bucket + 2 * self->filled,
                             part (step, self->gradients[set], unit), 2 * n,
                             cudaMemcpyDeviceToDevice, step->reduce));
  CUDA_TRY (cudaEventRecord (self->reduced[set][module], step->reduce));
  self->filled += n;
  return true;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bool
visit_forward (const Bench *bench, Step *step, Cache *self, unsigned unit)
{
  return is_end (self, unit)
         || step_forward (bench, step, layer_of (unit), module_of (unit),
                          weight_of (step, self, unit, true));
}

/* The gradient's buffer is written again two layers on: it must be in the bucket by then. */
static bool
visit_backward (const Bench *bench, Step *step, Cache *self, unsigned unit)
{
  unsigned layer, set;

  if (is_end (self, unit))
    return true;
  layer = layer_of (unit);
  set = layer % 2;
  CUDA_TRY (cudaStreamWaitEvent (step->compute, self->reduced[set][module_of (unit)], 0));
  return step_backward (bench, step, layer, module_of (unit), weight_of (step, self, unit, false),
                        part (step, self->gradients[set], unit))
         && add_to_bucket (bench, step, self, unit);
}

static void
restart (Cache *self)
{
  self->position = self->queue = 0;
  self->n_fetches = self->n_reduces = 0;
  for (unsigned u = 0; u < self->n_units; u++)
    {
      self->units[u].passed = -1;
      self->units[u].cached = false;
    }
}

static bool
cache_run (const Bench *bench, Step *step, void *state)
{
  Cache *self = state;

  restart (self);
  if (!step_order (bench, step->gather, step->compute, self->order))
    return false;
  for (unsigned v = 0; v < 2 * self->n_units; v++)
    {
      unsigned unit = unit_of_visit (self, v);
      bool     forward = v < self->n_units;

      if (v == self->n_units && !step_turn (bench, step))
        return false;
      if (!fetch (bench, step, self, unit)
          || !(forward ? visit_forward : visit_backward) (bench, step, self, unit)
          || !release (bench, step, self, unit))
        return false;
    }
  if (!flush (bench, step, self) || !step_order (bench, step->compute, step->reduce, self->order))
    return false;
  CUDA_TRY (cudaEventSynchronize (self->order)); /* the micro-step ends when all is reduced */
  return step_order (bench, step->compute, step->copies, self->order) && step_finish (bench, step);
}

static void
cache_options (const StepModel *model, char *text, size_t size)
{
  Window w = window_of (model);

  snprintf (text, size,
            "prefetch_bucket_size=%llu max_live_parameters=%llu max_reuse_distance=0 "
            "param_persistence_threshold=%llu reduce_bucket_size=%llu",
            (unsigned long long) w.prefetch_bucket, (unsigned long long) w.max_live,
            (unsigned long long) w.threshold, (unsigned long long) w.reduce_bucket);
}

const StepSchedule step_host_cache = {
  .name = "host_cache",
  .strategy = "fcdp",
  .state_size = sizeof (Cache),
  .open = cache_open,
  .run = cache_run,
  .options = cache_options,
};

#endif
