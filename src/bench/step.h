/*
 * A training step on one GPU: a transformer layer's real kernels (layer.h) as often as the model
 * has layers, forward and backward, under one of three schedules that shardsim simulates as well.
 * There is no optimizer, no embedding and no head: a copy of random data stands for the loss's
 * gradient.
 *
 *   resident     everything in GPU memory                          ddp, one rank
 *   offload      fp32 parameters in pinned host memory: a layer's
 *                come over before its passes, its gradients go     fsdp2 with cpu_offload,
 *                when they are there                               one rank
 *   host_cache   bf16 parameters in GPU memory; a module's go to
 *                pinned host memory after its forward pass and
 *                come back for the other                           fcdp, one rank
 *
 * Each schedule issues what the simulator's strategy issues, stream by stream and wait by wait, and
 * the host waits for the device at the end of each step as it does there.
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/layer.h"

#define STEP_MAX_LAYERS  128
#define STEP_MAX_BUFFERS (STEP_MAX_LAYERS * 3 + 32)
#define STEP_MAX_EVENTS  96

typedef struct
{
  LayerShape shape;
  unsigned   n_layers;
} StepModel;

/*
 * What a schedule has to work with. Buffers and events go with it: step_device and the like never
 * release one alone.
 */
typedef struct
{
  StepModel    model;
  uint64_t     elements;        /* parameters of a layer */
  cudaStream_t compute, copies; /* copies: side stream of all host copies but gradients' */
  cudaStream_t gather, reduce;
  Layer       *layer;
  CudaModule  *module;
  cudaKernel_t narrow, widen, add;
  void        *saved[STEP_MAX_LAYERS]; /* a layer's activations, its input first */
  void        *work, *output;
  void        *gradient, *loss_gradient; /* of the activations; and what it begins with */
  cudaEvent_t  done;
  void        *device[STEP_MAX_BUFFERS], *host[STEP_MAX_BUFFERS];
  cudaEvent_t  events[STEP_MAX_EVENTS];
  unsigned     n_device, n_host, n_events;
  uint64_t     device_bytes, host_bytes; /* of all those buffers */
} Step;

typedef struct
{
  const char *name;       /* "offload" */
  const char *strategy;   /* the simulator's: "fsdp2" */
  bool        urgent;     /* the side streams go before the compute stream where both have work */
  bool        all_in_use; /* at the peak: all that it has allocated is what the simulator counts */
  size_t      state_size;
  bool (*open) (const Bench *bench, Step *step, void *state); /* STATE is zeroed */
  bool (*run) (const Bench *bench, Step *step, void *state);  /* a step, until the device idles */
  /* The strategy's options, as words "key=value" separated by spaces. */
  void (*options) (const StepModel *model, char *text, size_t size);
} StepSchedule;

extern const StepSchedule step_resident, step_offload, step_host_cache;

/* ---- what schedules are made of (step-parts.c) ---- */

bool step_open (const Bench *bench, Step *step, const StepSchedule *schedule,
                const StepModel *model);
void step_close (Step *step);

/* New buffers, counted; false after a message that says how much was asked for. */
bool step_device (const Bench *bench, Step *step, uint64_t bytes, void **buffer);
bool step_host (const Bench *bench, Step *step, uint64_t bytes, void **buffer); /* pinned */
bool step_event (const Bench *bench, Step *step, cudaEvent_t *event);

/*
 * STREAM waits for all that was put on OTHER until now. EVENT may be used again as soon as this
 * returns.
 */
bool step_order (const Bench *bench, cudaStream_t stream, cudaStream_t other, cudaEvent_t event);

/*
 * N elements, a multiple of 4: OUT (bf16) = SCALE IN (fp32); OUT (fp32) = IN (bf16); SUM += IN
 * (bf16).
 */
bool step_narrow (const Bench *bench, const Step *step, void *out, const void *in, float scale,
                  uint64_t n, cudaStream_t stream);
bool step_widen (const Bench *bench, const Step *step, void *out, const void *in, uint64_t n,
                 cudaStream_t stream);
bool step_add (const Bench *bench, const Step *step, void *sum, const void *in, uint64_t n,
               cudaStream_t stream);

/*
 * Random weights of one layer, of a size that keeps activations near 1, in bf16 at DEVICE, fp32 at
 * HOST; either may be NULL.
 */
bool step_random_weights (const Bench *bench, const Step *step, uint64_t seed, void *device,
                          void *host);

/* First element of a module within its layer's buffer. */
uint64_t step_module_at (const Step *step, LayerModule module);

/* A module's part of layer I's pass on the compute stream. */
bool step_forward (const Bench *bench, Step *step, unsigned i, LayerModule module,
                   const void *weight);
bool step_backward (const Bench *bench, Step *step, unsigned i, LayerModule module,
                    const void *weight, void *gradient);

/* All modules of a layer, with WEIGHTS and GRADIENTS one buffer a layer. */
bool step_forward_layer (const Bench *bench, Step *step, unsigned i, const void *weights);
bool step_backward_layer (const Bench *bench, Step *step, unsigned i, const void *weights,
                          void *gradients);

/* The gradient that the last layer's backward pass begins with. */
bool step_turn (const Bench *bench, Step *step);

/* The host waits for the compute stream: the loss is read. */
bool step_finish (const Bench *bench, Step *step);

#endif
