/* What the schedules of a step are made of: buffers that are counted, events, casts, passes. */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include <math.h>

#include "bench/step.h"

#define BLOCK 256

static const char source[] = CUDA_BF16_SOURCE
    "__device__ float4 fp32_4 (uint2 x)\n"
    "{\n"
    "  return make_float4 (__uint_as_float (x.x << 16), __uint_as_float (x.x & 0xffff0000u),\n"
    "                      __uint_as_float (x.y << 16), __uint_as_float (x.y & 0xffff0000u));\n"
    "}\n"
    "extern \"C\" __global__ void narrow (uint2 *out, const float4 *in, float s, u64 n)\n"
    "{\n"
    "  u64 i = INDEX;\n"
    "  if (i >= n)\n"
    "    return;\n"
    "  float4 x = in[i];\n"
    "  out[i] = bf16_4 (make_float4 (s * x.x, s * x.y, s * x.z, s * x.w));\n"
    "}\n"
    "extern \"C\" __global__ void widen (float4 *out, const uint2 *in, u64 n)\n"
    "{\n"
    "  u64 i = INDEX;\n"
    "  if (i < n)\n"
    "    out[i] = fp32_4 (in[i]);\n"
    "}\n"
    "extern \"C\" __global__ void add (uint2 *sum, const uint2 *in, u64 n)\n"
    "{\n"
    "  u64 i = INDEX;\n"
    "  if (i >= n)\n"
    "    return;\n"
    "  float4 a = fp32_4 (sum[i]), b = fp32_4 (in[i]);\n"
    "  sum[i] = bf16_4 (make_float4 (a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w));\n"
    "}\n";

/* ---- buffers and events ---------------------------------------------------------------------- */

bool
step_device (const Bench *bench, Step *step, uint64_t bytes, void **buffer)
{
  cudaError_t error;

  if (step->n_device == STEP_MAX_BUFFERS)
    {
      bench_error (bench, "cudaMalloc", "more than %u buffers", STEP_MAX_BUFFERS);
      return false;
    }
  error = cudaMalloc (buffer, bytes);
  if (error != cudaSuccess)
    {
      bench_error (bench, "cudaMalloc", "%.1f MiB beside %.1f MiB: %s", (double) bytes / 1048576,
                   (double) step->device_bytes / 1048576, cudaGetErrorString (error));
      return false;
    }
  step->device[step->n_device++] = *buffer;
  step->device_bytes += bytes;
  return true;
}

bool
step_host (const Bench *bench, Step *step, uint64_t bytes, void **buffer)
{
  cudaError_t error;

  if (step->n_host == STEP_MAX_BUFFERS)
    {
      bench_error (bench, "cudaMallocHost", "more than %u buffers", STEP_MAX_BUFFERS);
      return false;
    }
  error = cudaMallocHost (buffer, bytes);
  if (error != cudaSuccess)
    {
      bench_error (bench, "cudaMallocHost", "%.1f MiB beside %.1f MiB: %s",
                   (double) bytes / 1048576, (double) step->host_bytes / 1048576,
                   cudaGetErrorString (error));
      return false;
    }
  step->host[step->n_host++] = *buffer;
  step->host_bytes += bytes;
  return true;
}

bool
step_event (const Bench *bench, Step *step, cudaEvent_t *event)
{
  if (step->n_events == STEP_MAX_EVENTS)
    {
      bench_error (bench, "cudaEventCreateWithFlags", "more than %u events", STEP_MAX_EVENTS);
      return false;
    }
  CUDA_TRY (cudaEventCreateWithFlags (event, cudaEventDisableTiming));
  step->events[step->n_events++] = *event;
  return true;
}

bool
step_order (const Bench *bench, cudaStream_t stream, cudaStream_t other, cudaEvent_t event)
{
  CUDA_TRY (cudaEventRecord (event, other));
  CUDA_TRY (cudaStreamWaitEvent (stream, event, 0));
  return true;
}

/* ---- casts ----------------------------------------------------------------------------------- */

static bool
launch (const Bench *bench, cudaKernel_t kernel, uint64_t n, void **args, cudaStream_t stream)
{
  return cuda_launch (bench, kernel, (unsigned) ((n + BLOCK - 1) / BLOCK), BLOCK, args, stream);
}

bool
step_narrow (const Bench *bench, const Step *step, void *out, const void *in, float scale,
             uint64_t n, cudaStream_t stream)
{
  unsigned long long fours = n / 4;
  void              *args[] = { &out, &in, &scale, &fours };

  return launch (bench, step->narrow, fours, args, stream);
}

bool
step_widen (const Bench *bench, const Step *step, void *out, const void *in, uint64_t n,
            cudaStream_t stream)
{
  unsigned long long fours = n / 4;
  void              *args[] = { &out, &in, &fours };

  return launch (bench, step->widen, fours, args, stream);
}

bool
step_add (const Bench *bench, const Step *step, void *sum, const void *in, uint64_t n,
          cudaStream_t stream)
{
  unsigned long long fours = n / 4;
  void              *args[] = { &sum, &in, &fours };

  return launch (bench, step->add, fours, args, stream);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* WIDE and NARROW: buffers of a layer's elements in fp32 and bf16. */
static bool
make_weights (const Bench *bench, const Step *step, uint64_t seed, void *wide, void *narrow,
              void *host)
{
  /* values in [-1, 1] have a variance of 1/3: rows of d_model products then keep the variance */
  float scale = (float) sqrt (3.0 / step->model.shape.d_model);

  if (!cuda_fill_random (bench, wide, step->elements * 4, "fp32", seed)
      || !step_narrow (bench, step, narrow, wide, scale, step->elements, step->compute))
    return false;
  if (host != NULL)
    {
      if (!step_widen (bench, step, wide, narrow, step->elements, step->compute))
        return false;
      CUDA_TRY (
          cudaMemcpyAsync (host, wide, step->elements * 4, cudaMemcpyDeviceToHost, step->compute));
    }
  CUDA_TRY (cudaStreamSynchronize (step->compute));
  return true;
}

bool
step_random_weights (const Bench *bench, const Step *step, uint64_t seed, void *device, void *host)
{
  void *wide = NULL, *narrow = device;
  bool  good;

  CUDA_TRY (cudaMalloc (&wide, step->elements * 4));
  if (device == NULL)
    {
      cudaError_t error = cudaMalloc (&narrow, step->elements * 2);

      if (error != cudaSuccess)
        {
          cudaFree (wide);
          return cuda_failed (bench, "cudaMalloc", error);
        }
    }
  good = make_weights (bench, step, seed, wide, narrow, host);
  cudaFree (wide);
  if (device == NULL)
    cudaFree (narrow);
  return good;
}

/* ---- passes ---------------------------------------------------------------------------------- */

uint64_t
step_module_at (const Step *step, LayerModule module)
{
  uint64_t at = 0;

  for (LayerModule m = 0; m < module; m++)
    at += layer_module_elements (&step->model.shape, m);
  return at;
}

bool
step_forward (const Bench *bench, Step *step, unsigned i, LayerModule module, const void *weight)
{
  void *output = i + 1 < step->model.n_layers ? step->saved[i + 1] : step->output;

  return layer_forward (step->layer, bench, module, weight, step->saved[i], step->work, output);
}

bool
step_backward (const Bench *bench, Step *step, unsigned i, LayerModule module, const void *weight,
               void *gradient)
{
  return layer_backward (step->layer, bench, module, weight, step->saved[i], step->work,
                         step->gradient, gradient);
}

bool
step_forward_layer (const Bench *bench, Step *step, unsigned i, const void *weights)
{
  for (LayerModule m = 0; m < LAYER_N_MODULES; m++)
    if (!step_forward (bench, step, i, m, (const char *) weights + 2 * step_module_at (step, m)))
      return false;
  return true;
}

bool
step_backward_layer (const Bench *bench, Step *step, unsigned i, const void *weights,
                     void *gradients)
{
  for (unsigned left = LAYER_N_MODULES; left > 0; left--)
    {
      LayerModule m = (LayerModule) (left - 1);
      uint64_t    at = 2 * step_module_at (step, m);

      if (!step_backward (bench, step, i, m, (const char *) weights + at, (char *) gradients + at))
        return false;
    }
  return true;
}

bool
step_turn (const Bench *bench, Step *step)
{
  CUDA_TRY (cudaMemcpyAsync (step->gradient, step->loss_gradient,
                             layer_stream_bytes (&step->model.shape), cudaMemcpyDeviceToDevice,
                             step->compute));
  return true;
}

bool
step_finish (const Bench *bench, Step *step)
{
  CUDA_TRY (cudaEventRecord (step->done, step->compute));
  CUDA_TRY (cudaEventSynchronize (step->done));
  return true;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool
open_streams (const Bench *bench, Step *step, bool urgent)
{
  int lowest, highest, side;

  CUDA_TRY (cudaDeviceGetStreamPriorityRange (&lowest, &highest));
  side = urgent ? highest : lowest;
  CUDA_TRY (cudaStreamCreateWithPriority (&step->compute, cudaStreamNonBlocking, lowest));
  CUDA_TRY (cudaStreamCreateWithPriority (&step->copies, cudaStreamNonBlocking, side));
  CUDA_TRY (cudaStreamCreateWithPriority (&step->gather, cudaStreamNonBlocking, side));
  CUDA_TRY (cudaStreamCreateWithPriority (&step->reduce, cudaStreamNonBlocking, side));
  return true;
}

static bool
open_kernels (const Bench *bench, Step *step)
{
  step->module = cuda_module_open (bench, source);
  return step->module != NULL
         && (step->narrow = cuda_module_kernel (bench, step->module, "narrow")) != NULL
         && (step->widen = cuda_module_kernel (bench, step->module, "widen")) != NULL
         && (step->add = cuda_module_kernel (bench, step->module, "add")) != NULL;
}

static bool
open_activations (const Bench *bench, Step *step)
{
  const LayerShape *shape = &step->model.shape;
  size_t            bytes = layer_stream_bytes (shape);

  for (unsigned i = 0; i < step->model.n_layers; i++)
    if (!step_device (bench, step, layer_saved_bytes (shape), &step->saved[i]))
      return false;
  return step_device (bench, step, layer_work_bytes (shape), &step->work)
         && step_device (bench, step, bytes, &step->output)
         && step_device (bench, step, bytes, &step->gradient)
         && step_device (bench, step, bytes, &step->loss_gradient)
         && cuda_fill_random (bench, step->saved[0], bytes, "bf16", 1)
         && cuda_fill_random (bench, step->loss_gradient, bytes, "bf16", 2);
}

bool
step_open (const Bench *bench, Step *step, const StepSchedule *schedule, const StepModel *model)
{
  *step = (Step){ .model = *model, .elements = layer_elements (&model->shape) };
  if (!open_streams (bench, step, schedule->urgent) || !open_kernels (bench, step)
      || !step_event (bench, step, &step->done) || !open_activations (bench, step))
    return false;
  step->layer = layer_open (bench, &model->shape, step->compute);
  return step->layer != NULL;
}

void
step_close (Step *step)
{
  cudaStream_t streams[] = { step->compute, step->copies, step->gather, step->reduce };

  cudaDeviceSynchronize (); /* also after a failure, when copies may still run */
  layer_close (step->layer);
  cuda_module_close (step->module);
  for (unsigned i = 0; i < step->n_events; i++)
    cudaEventDestroy (step->events[i]);
  for (unsigned i = 0; i < sizeof streams / sizeof streams[0]; i++)
    if (streams[i] != NULL)
      cudaStreamDestroy (streams[i]);
  for (unsigned i = 0; i < step->n_device; i++)
    cudaFree (step->device[i]);
  for (unsigned i = 0; i < step->n_host; i++)
    cudaFreeHost (step->host[i]);
}

#endif
