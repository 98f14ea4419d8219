/*
 * What starting a kernel costs, with kernels that do nothing.
 *
 *   host        host time of one launch, many back to back into a queue with room
 *   device      device time from one kernel to the next, all of them queued before the first starts
 *   round_trip  host time of one launch and the wait for its end on an idle device
 *   graph       device time of one kernel of a chain inside a graph, captured from a stream and
 *               uploaded before
 */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include "bench/lanes.h"

/*
 * Launches of one host measurement, and kernels of the graph: well below what the driver queues
 * (about 1024).
 */
#define MANY        512
#define ROUND_TRIPS 200

/* What a graph counts for in the queue (lanes.h): about ten of them are enough, and as many fit. */
#define GRAPH_COMMANDS 40

typedef struct
{
  CudaModule     *module;
  cudaKernel_t    empty;
  cudaGraph_t     graph;
  cudaGraphExec_t graph_run;
  Lanes           lanes;
} Launch;

static const char source[] = "extern \"C\" __global__ void empty (void)\n{\n}\n";

static bool
launch (const Bench *bench, cudaStream_t stream, void *user)
{
  Launch *self = user;

  return cuda_launch (bench, self->empty, 1, 32, NULL, stream);
}

static bool
launch_and_wait (const Bench *bench, cudaStream_t stream, void *user)
{
  if (!launch (bench, stream, user))
    return false;
  CUDA_TRY (cudaStreamSynchronize (stream));
  return true;
}

static bool
launch_graph (const Bench *bench, cudaStream_t stream, void *user)
{
  Launch *self = user;

  CUDA_TRY (cudaGraphLaunch (self->graph_run, stream));
  return true;
}

/* The stream leaves capture mode also where a launch has failed. */
static bool
capture (const Bench *bench, Launch *self)
{
  cudaStream_t stream = self->lanes.stream[0];
  bool         ok = true;
  cudaError_t  error;

  CUDA_TRY (cudaStreamBeginCapture (stream, cudaStreamCaptureModeThreadLocal));
  for (unsigned i = 0; i < MANY && ok; i++)
    ok = launch (bench, stream, self);
  error = cudaStreamEndCapture (stream, &self->graph);
  return ok && (error == cudaSuccess || cuda_failed (bench, "cudaStreamEndCapture", error));
}

static bool
measure_graph (const Bench *bench, Launch *self, Result *result)
{
  if (!capture (bench, self))
    return false;
  CUDA_TRY (cudaGraphInstantiateWithFlags (&self->graph_run, self->graph, 0));
  CUDA_TRY (cudaGraphUpload (self->graph_run, self->lanes.stream[0]));
  CUDA_TRY (cudaStreamSynchronize (self->lanes.stream[0]));
  if (!lanes_time (bench, &self->lanes, launch_graph, NULL, self, GRAPH_COMMANDS, result))
    return false;
  result->value /= MANY;
  result->low /= MANY;
  result->high /= MANY;
  return true;
}

static bool
measure (const Bench *bench, Launch *self)
{
  Result   host = { .benchmark = bench->name, .variant = "host" };
  Result   device = { .benchmark = bench->name, .variant = "device" };
  Result   round_trip = { .benchmark = bench->name, .variant = "round_trip" };
  Result   graph = { .benchmark = bench->name, .variant = "graph" };
  Results *results = bench->results;

  if (!lanes_open (bench, &self->lanes))
    return false;
  self->module = cuda_module_open (bench, source);
  if (self->module == NULL)
    return false;
  self->empty = cuda_module_kernel (bench, self->module, "empty");
  return self->empty != NULL && lanes_time_host (bench, &self->lanes, launch, self, MANY, &host)
         && results_add (results, &host)
         && lanes_time (bench, &self->lanes, launch, NULL, self, 1, &device)
         && results_add (results, &device)
         && lanes_time_host (bench, &self->lanes, launch_and_wait, self, ROUND_TRIPS, &round_trip)
         && results_add (results, &round_trip) && measure_graph (bench, self, &graph)
         && results_add (results, &graph);
}

static bool
run (Bench *bench)
{
  Launch self = { .module = NULL };
  bool   ok = measure (bench, &self);

  lanes_close (&self.lanes);
  if (self.graph_run != NULL)
    cudaGraphExecDestroy (self.graph_run);
  if (self.graph != NULL)
    cudaGraphDestroy (self.graph);
  if (self.module != NULL)
    cuda_module_close (self.module);
  return ok;
}

const Benchmark benchmark_launch = {
  .name = "launch",
  .title = "cost of a kernel launch: host, device, round trip, inside a graph",
  .needs = NEEDS_CUDA,
  .in_all = true,
  .run = run,
};

#endif
