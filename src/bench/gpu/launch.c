/*
 * What starting a kernel costs the device, with kernels that do nothing: from one kernel to the
 * next, all of them queued before the first starts, and one of a chain inside a graph that was
 * captured from a stream and uploaded before.
 */
#ifdef BENCH_CUDA

#include "bench/benchmarks.h"
#include "bench/gpu/lanes.h"

/* Kernels of the graph: well below what the driver queues (about 1024). */
#define CHAIN 512

/* What a graph counts for in the queue (lanes.h): about ten of them are enough, and as many fit. */
#define GRAPH_COMMANDS 40

typedef struct
{
  CudaKernel      empty;
  cudaGraphExec_t chain;
  Lanes           lanes;
} Launch;

static const char source[] = "extern \"C\" __global__ void empty (void)\n{\n}\n";

static bool
launch (const Bench *bench, cudaStream_t stream, void *user)
{
  const Launch *self = user;

  return cuda_kernel_launch (bench, &self->empty, 1, 32, NULL, stream);
}

static bool
launch_chain (const Bench *bench, cudaStream_t stream, void *user)
{
  const Launch *self = user;

  CUDA_TRY (cudaGraphLaunch (self->chain, stream));
  return true;
}

static bool
measure (const Bench *bench, Launch *self)
{
  Result device = { .benchmark = bench->name, .variant = "device" };
  Result graph = { .benchmark = bench->name, .variant = "graph" };

  if (!lanes_open (bench, &self->lanes) || !cuda_kernel_open (bench, &self->empty, source, "empty")
      || !lanes_time (bench, &self->lanes, launch, NULL, self, 1, &device)
      || !results_add (bench->results, &device)
      || !cuda_capture (bench, self->lanes.stream[0], launch, self, CHAIN, &self->chain)
      || !lanes_time (bench, &self->lanes, launch_chain, NULL, self, GRAPH_COMMANDS, &graph))
    return false;
  graph.value /= CHAIN;
  graph.low /= CHAIN;
  graph.high /= CHAIN;
  return results_add (bench->results, &graph);
}

bool
bench_launch (Bench *bench)
{
  Launch self = { .chain = NULL };
  bool   ok = measure (bench, &self);

  lanes_close (&self.lanes);
  if (self.chain != NULL)
    cudaGraphExecDestroy (self.chain);
  cuda_kernel_close (&self.empty);
  return ok;
}

#endif
