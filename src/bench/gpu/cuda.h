/*
 * CUDA as the benchmarks use it: checked calls, device buffers, timing by events, kernels from C
 * strings compiled by NVRTC. Plain allocations only; clocks, power and MIG stay as they are.
 */
#pragma once

#ifdef BENCH_CUDA

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include "bench/bench.h"

/*
 * In a function that returns bool with a `bench` in reach: false after a message that names the
 * call, the rank and the cause.
 */
#define CUDA_TRY(call)                                \
  do                                                  \
    {                                                 \
      cudaError_t cuda_try_ = (call);                 \
      if (cuda_try_ != cudaSuccess)                   \
        return cuda_failed (bench, #call, cuda_try_); \
    }                                                 \
  while (0)
#define CUBLAS_TRY(call)                                  \
  do                                                      \
    {                                                     \
      cublasStatus_t cublas_try_ = (call);                \
      if (cublas_try_ != CUBLAS_STATUS_SUCCESS)           \
        return cublas_failed (bench, #call, cublas_try_); \
    }                                                     \
  while (0)
#define NCCL_TRY(call)                                \
  do                                                  \
    {                                                 \
      ncclResult_t nccl_try_ = (call);                \
      if (nccl_try_ != ncclSuccess)                   \
        return nccl_failed (bench, #call, nccl_try_); \
    }                                                 \
  while (0)

/* They return false. CALL is the source text: the message names the function in it. */
bool cuda_failed (const Bench *bench, const char *call, cudaError_t error);
bool cublas_failed (const Bench *bench, const char *call, cublasStatus_t status);
bool nccl_failed (const Bench *bench, const char *call, ncclResult_t result);

/*
 * Selects device (local rank modulo the devices here) and reads MACHINE's strings (owned by this
 * module's static storage is not allowed: they lie in TEXT).
 */
typedef struct
{
  char device[256], driver[64], cuda[32], nccl[32];
} CudaMachine;
bool cuda_open (const Bench *bench, unsigned local_rank, bool one_gpu, CudaMachine *machine);

/* Free bytes of device memory right after the context was made, before anything else was loaded. */
size_t cuda_first_free (void);

/*
 * After a case that failed: waits for what is queued. FALSE: the device's context is lost, and no
 * other case can be measured.
 */
bool cuda_recovers (void);

/* Cases of one benchmark that may fail before it gives up; each has said why. */
#define CUDA_MAX_FAILURES 8

/* A kernel, compiled for the current device. */
typedef struct
{
  cudaLibrary_t library;
  cudaKernel_t  kernel;
} CudaKernel;

/* NAME of SOURCE (CUDA C). FALSE after a message with the compiler's log; close it all the same. */
bool cuda_kernel_open (const Bench *bench, CudaKernel *self, const char *source, const char *name);
void cuda_kernel_close (CudaKernel *self);

/* <<<GRID, BLOCK, 0, STREAM>>> with ARGS, pointers to the arguments. */
bool cuda_kernel_launch (const Bench *bench, const CudaKernel *self, unsigned grid, unsigned block,
                         void **args, cudaStream_t stream);

/*
 * BYTES of random bits made into normal values of DTYPE ("fp32", "bf16", "fp16", "fp8") in [-1, 1],
 * or raw bits (NULL), at DEVICE.
 */
bool cuda_fill_random (const Bench *bench, void *device, size_t bytes, const char *dtype,
                       uint64_t seed);

/* What is timed: puts one call on STREAM. FALSE after a message. */
typedef bool (*CudaWork) (const Bench *bench, cudaStream_t stream, void *user);

/*
 * N calls of WORK on STREAM, one after another, as a graph that is uploaded: *CHAIN, which
 * cudaGraphExecDestroy frees. The stream leaves capture mode also where a call has failed.
 */
bool cuda_capture (const Bench *bench, cudaStream_t stream, CudaWork work, void *user, unsigned n,
                   cudaGraphExec_t *chain);

#endif
