/*
 * The schedules `resident` and `offload`.
 *
 * Offload is what fsdp2 with cpu_offload issues on one rank, where all-gather and reduce-scatter
 * are nothing. Copy stream: a layer's fp32 parameters come from the host, are cast and copied into
 * the gathered buffer (copy-in). Compute stream: waits for that, copies them out, runs the kernels;
 * the gathered buffers alternate, and the copy stream waits for a copy-out before the buffer's next
 * turn. Backward, the layer before is fetched as soon as a layer's parameters have been copied out.
 * The gradients are copied into a buffer for the reduce stream (two, alternating; compute first
 * waits until the reduction of the layer above has begun, which is behind the end of the one above
 * that), which casts them to fp32 and sends them to the host.
 */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include <stdio.h>

#include "bench/step.h"

/* ---- resident -------------------------------------------------------------------------------- */

typedef struct
{
  void *weights[STEP_MAX_LAYERS], *gradients[STEP_MAX_LAYERS];
} Resident;

static bool
resident_open (const Bench *bench, Step *step, void *state)
{
  Resident *self = state;

  for (unsigned i = 0; i < step->model.n_layers; i++)
    if (!step_device (bench, step, 2 * step->elements, &self->weights[i])
        || !step_device (bench, step, 2 * step->elements, &self->gradients[i])
        || !step_random_weights (bench, step, 100 + i, self->weights[i], NULL))
      return false;
  return true;
}

static bool
resident_run (const Bench *bench, Step *step, void *state)
{
  Resident *self = state;

  for (unsigned i = 0; i < step->model.n_layers; i++)
    if (!step_forward_layer (bench, step, i, self->weights[i]))
      return false;
  if (!step_turn (bench, step))
    return false;
  for (unsigned i = step->model.n_layers; i-- > 0;)
    if (!step_backward_layer (bench, step, i, self->weights[i], self->gradients[i]))
      return false;
  return step_finish (bench, step);
}

static void
no_options (const StepModel *model, char *text, size_t size)
{
  (void) model;
  snprintf (text, size, "%s", "");
}

const StepSchedule step_resident = {
  .name = "resident",
  .strategy = "ddp",
  .all_in_use = true,
  .state_size = sizeof (Resident),
  .open = resident_open,
  .run = resident_run,
  .options = no_options,
};

/* ---- offload --------------------------------------------------------------------------------- */

typedef struct
{
  void *host_weights[STEP_MAX_LAYERS], *host_gradients[STEP_MAX_LAYERS]; /* fp32, pinned */
  void *staged, *narrow; /* fp32 and bf16 of the layer that comes */
  void *gathered[2];     /* by the layer's parity */
  void *weights, *gradients;
  void *reducing[2]; /* by the layer's parity */
  void *shard;       /* fp32 gradients on their way */
  /*
   * ready: the gathered buffer is full; copied: and has been copied out; computed: the gradients
   * are in their buffer; reduced: the reduce stream has come to them; offloaded: the last ones are
   * on the host. The last two are recorded before they are waited for within a step; a wait for an
   * event of the step before is over at once.
   */
  cudaEvent_t ready, copied, computed, reduced, offloaded, order;
} Offload;

static bool
offload_buffers (const Bench *bench, Step *step, Offload *self)
{
  uint64_t n = step->elements;

  for (unsigned i = 0; i < step->model.n_layers; i++)
    if (!step_host (bench, step, 4 * n, &self->host_weights[i])
        || !step_host (bench, step, 4 * n, &self->host_gradients[i])
        || !step_random_weights (bench, step, 100 + i, NULL, self->host_weights[i]))
      return false;
  for (unsigned i = 0; i < 2; i++)
    if (!step_device (bench, step, 2 * n, &self->gathered[i])
        || !step_device (bench, step, 2 * n, &self->reducing[i]))
      return false;
  return step_device (bench, step, 4 * n, &self->staged)
         && step_device (bench, step, 2 * n, &self->narrow)
         && step_device (bench, step, 2 * n, &self->weights)
         && step_device (bench, step, 2 * n, &self->gradients)
         && step_device (bench, step, 4 * n, &self->shard);
}

static bool
offload_open (const Bench *bench, Step *step, void *state)
{
  Offload     *self = state;
  cudaEvent_t *events[] = { &self->ready,   &self->copied,    &self->computed,
                            &self->reduced, &self->offloaded, &self->order };

  for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++)
    if (!step_event (bench, step, events[i]))
      return false;
  return offload_buffers (bench, step, self);
}

/* Layer I's parameters come over, into its gathered buffer. */
static bool
unshard (const Bench *bench, Step *step, Offload *self, unsigned i)
{
  uint64_t n = step->elements;

  CUDA_TRY (cudaMemcpyAsync (self->staged, self->host_weights[i], 4 * n, cudaMemcpyHostToDevice,
                             step->copies));
  if (!step_narrow (bench, step, self->narrow, self->staged, 1, n, step->copies))
    return false;
  CUDA_TRY (cudaMemcpyAsync (self->gathered[i % 2], self->narrow, 2 * n, cudaMemcpyDeviceToDevice,
                             step->copies));
  CUDA_TRY (cudaEventRecord (self->ready, step->copies));
  return true;
}

/*
 * What was fetched last becomes the weights; those before are no longer used by the kernels in
 * front of this copy.
 */
static bool
copy_out (const Bench *bench, Step *step, Offload *self, unsigned i)
{
  CUDA_TRY (cudaStreamWaitEvent (step->compute, self->ready, 0));
  CUDA_TRY (cudaMemcpyAsync (self->weights, self->gathered[i % 2], 2 * step->elements,
                             cudaMemcpyDeviceToDevice, step->compute));
  CUDA_TRY (cudaEventRecord (self->copied, step->compute));
  return true;
}

static bool
forward (const Bench *bench, Step *step, Offload *self, unsigned i)
{
  if (!unshard (bench, step, self, i))
    return false;
  /* The buffer of the layer before is free for the next one when it has been copied out. */
  if (i > 0)
    CUDA_TRY (cudaStreamWaitEvent (step->copies, self->copied, 0));
  return copy_out (bench, step, self, i) && step_forward_layer (bench, step, i, self->weights);
}

/* Behind layer I's backward pass; TOP: the first one of the step. */
static bool
reduce (const Bench *bench, Step *step, Offload *self, unsigned i, bool top)
{
  uint64_t n = step->elements;
  void    *buffer = self->reducing[i % 2];

  if (!top)
    CUDA_TRY (cudaStreamWaitEvent (step->compute, self->reduced, 0));
  CUDA_TRY (
      cudaMemcpyAsync (buffer, self->gradients, 2 * n, cudaMemcpyDeviceToDevice, step->compute));
  if (!step_order (bench, step->reduce, step->compute, self->computed))
    return false;
  CUDA_TRY (cudaEventRecord (self->reduced, step->reduce));
  if (!step_widen (bench, step, self->shard, buffer, n, step->reduce))
    return false;
  CUDA_TRY (cudaMemcpyAsync (self->host_gradients[i], self->shard, 4 * n, cudaMemcpyDeviceToHost,
                             step->reduce));
  CUDA_TRY (cudaEventRecord (self->offloaded, step->reduce));
  return true;
}

static bool
backward (const Bench *bench, Step *step, Offload *self, unsigned i)
{
  if (!copy_out (bench, step, self, i))
    return false;
  CUDA_TRY (cudaStreamWaitEvent (step->copies, self->copied, 0));
  if (i > 0 && !unshard (bench, step, self, i - 1))
    return false;
  return step_backward_layer (bench, step, i, self->weights, self->gradients)
         && reduce (bench, step, self, i, i + 1 == step->model.n_layers);
}

static bool
offload_run (const Bench *bench, Step *step, void *state)
{
  Offload *self = state;
  unsigned n = step->model.n_layers;

  if (!step_order (bench, step->copies, step->compute, self->order))
    return false;
  for (unsigned i = 0; i < n; i++)
    if (!forward (bench, step, self, i))
      return false;
  CUDA_TRY (cudaStreamWaitEvent (step->copies, self->copied, 0));
  if (!unshard (bench, step, self, n - 1) || !step_turn (bench, step))
    return false;
  for (unsigned i = n; i-- > 0;)
    if (!backward (bench, step, self, i))
      return false;
  if (!step_order (bench, step->compute, step->reduce, self->order))
    return false;
  CUDA_TRY (cudaEventSynchronize (self->offloaded));
  return step_finish (bench, step);
}

static void
offload_options (const StepModel *model, char *text, size_t size)
{
  (void) model;
  snprintf (text, size, "cpu_offload=true");
}

const StepSchedule step_offload = {
  .name = "offload",
  .strategy = "fsdp2",
  .urgent = true,
  .state_size = sizeof (Offload),
  .open = offload_open,
  .run = offload_run,
  .options = offload_options,
};

#endif
