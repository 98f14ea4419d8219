/* Chains of calls as CUDA graphs, whose launches the host does not pay one by one. */
#ifdef BENCH_CUDA

#include "bench/gpu/cuda.h"

static bool
upload (const Bench *bench, cudaStream_t stream, cudaGraph_t graph, cudaGraphExec_t *chain)
{
  CUDA_TRY (cudaGraphInstantiateWithFlags (chain, graph, 0));
  CUDA_TRY (cudaGraphUpload (*chain, stream));
  CUDA_TRY (cudaStreamSynchronize (stream));
  return true;
}

bool
cuda_capture (const Bench *bench, cudaStream_t stream, CudaWork work, void *user, unsigned n,
              cudaGraphExec_t *chain)
{
  cudaGraph_t graph = NULL;
  bool        ok = true;
  cudaError_t error;

  CUDA_TRY (cudaStreamBeginCapture (stream, cudaStreamCaptureModeThreadLocal));
  for (unsigned i = 0; i < n && ok; i++)
    ok = work (bench, stream, user);
  error = cudaStreamEndCapture (stream, &graph);
  if (ok && error != cudaSuccess)
    ok = cuda_failed (bench, "cudaStreamEndCapture", error);
  ok = ok && upload (bench, stream, graph, chain);
  if (graph != NULL)
    cudaGraphDestroy (graph);
  return ok;
}

#endif
