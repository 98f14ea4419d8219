/*
 * What ordering work costs, with events that keep no time, as frameworks use them.
 *
 *   record        host time of cudaEventRecord on an idle stream
 *   wait          host time of cudaStreamWaitEvent for an event of another stream that has happened
 *   synchronize   host time of cudaEventRecord and cudaEventSynchronize on an idle device: the
 *                 shortest wait of the host
 *   cross_stream  device time that a step from one stream to another adds (record there, wait
 *                 here): a chain of empty kernels that changes the stream with each kernel, less
 *                 the same chain on one stream
 */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include "bench/lanes.h"

#define MANY 256

typedef struct
{
  CudaModule  *module;
  cudaKernel_t empty;
  cudaEvent_t  here, there;
  bool         crosses;
  Lanes        lanes;
} Events;

static const char source[] = "extern \"C\" __global__ void empty (void)\n{\n}\n";

static bool
record (const Bench *bench, cudaStream_t stream, void *user)
{
  Events *self = user;

  CUDA_TRY (cudaEventRecord (self->here, stream));
  return true;
}

static bool
wait_for_event (const Bench *bench, cudaStream_t stream, void *user)
{
  Events *self = user;

  CUDA_TRY (cudaStreamWaitEvent (stream, self->there, 0));
  return true;
}

static bool
record_and_synchronize (const Bench *bench, cudaStream_t stream, void *user)
{
  Events *self = user;

  CUDA_TRY (cudaEventRecord (self->here, stream));
  CUDA_TRY (cudaEventSynchronize (self->here));
  return true;
}

/*
 * Two kernels: both on this stream, or the second on the other one, with a step there and a step
 * back.
 */
static bool
two_kernels (const Bench *bench, cudaStream_t stream, void *user)
{
  Events      *self = user;
  cudaStream_t other = self->crosses ? self->lanes.stream[1] : stream;

  if (!cuda_launch (bench, self->empty, 1, 32, NULL, stream))
    return false;
  if (self->crosses)
    {
      CUDA_TRY (cudaEventRecord (self->here, stream));
      CUDA_TRY (cudaStreamWaitEvent (other, self->here, 0));
    }
  if (!cuda_launch (bench, self->empty, 1, 32, NULL, other))
    return false;
  if (self->crosses)
    {
      /* A wait refers to the last record before it, so one event serves all steps. */
      CUDA_TRY (cudaEventRecord (self->there, other));
      CUDA_TRY (cudaStreamWaitEvent (stream, self->there, 0));
    }
  return true;
}

static bool
time_chain (const Bench *bench, Events *self, bool crosses, unsigned calls, double *seconds)
{
  Lane lanes[2] = { { .work = two_kernels, .user = self, .calls = calls } };

  self->crosses = crosses;
  if (!lanes_run (bench, &self->lanes, lanes))
    return false;
  *seconds = (lanes[0].to - lanes[0].from) * 1e-6;
  return true;
}

static bool
measure_cross_stream (const Bench *bench, Events *self, Result *result)
{
  double         samples[LANES_MAX_REPEATS], one, two;
  unsigned       repeats = lanes_repeats (bench);
  const unsigned calls = LANES_MAX_COMMANDS / 8; /* six commands each */

  /* Repeat 0 warms up. */
  for (unsigned i = 0; i <= repeats; i++)
    {
      if (!time_chain (bench, self, false, calls, &one)
          || !time_chain (bench, self, true, calls, &two))
        return false;
      if (i > 0)
        samples[i - 1] = (two - one) / (2 * calls);
    }
  result_set_times (result, samples, repeats);
  return true;
}

static bool
open_events (const Bench *bench, Events *self)
{
  if (!lanes_open (bench, &self->lanes))
    return false;
  CUDA_TRY (cudaEventCreateWithFlags (&self->here, cudaEventDisableTiming));
  CUDA_TRY (cudaEventCreateWithFlags (&self->there, cudaEventDisableTiming));
  CUDA_TRY (cudaEventRecord (self->there, self->lanes.stream[1]));
  CUDA_TRY (cudaStreamSynchronize (self->lanes.stream[1]));
  self->module = cuda_module_open (bench, source);
  if (self->module == NULL)
    return false;
  self->empty = cuda_module_kernel (bench, self->module, "empty");
  return self->empty != NULL;
}

static bool
measure (const Bench *bench, Events *self)
{
  static const struct
  {
    const char *variant;
    CudaWork    work;
  } on_host[] = {
    { "record", record },
    { "wait", wait_for_event },
    { "synchronize", record_and_synchronize },
  };
  Result result = { .benchmark = bench->name };

  if (!open_events (bench, self))
    return false;
  for (unsigned i = 0; i < sizeof on_host / sizeof on_host[0]; i++)
    {
      result.variant = on_host[i].variant;
      if (!lanes_time_host (bench, &self->lanes, on_host[i].work, self, MANY, &result)
          || !results_add (bench->results, &result))
        return false;
    }
  result.variant = "cross_stream";
  return measure_cross_stream (bench, self, &result) && results_add (bench->results, &result);
}

static bool
run (Bench *bench)
{
  Events self = { .module = NULL };
  bool   ok = measure (bench, &self);

  lanes_close (&self.lanes);
  if (self.here != NULL)
    cudaEventDestroy (self.here);
  if (self.there != NULL)
    cudaEventDestroy (self.there);
  if (self.module != NULL)
    cuda_module_close (self.module);
  return ok;
}

const Benchmark benchmark_event = {
  .name = "event",
  .title = "cost of recording, waiting for and synchronising with events",
  .needs = NEEDS_CUDA,
  .in_all = true,
  .run = run,
};

#endif
