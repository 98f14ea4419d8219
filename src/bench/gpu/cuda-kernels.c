/* Kernels from C strings: compiled by NVRTC for the current device, loaded as a library. */
#ifdef BENCH_CUDA

#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/gpu/cuda.h"

/* The device's code of SOURCE for ARCHITECTURE; owned by the caller. NULL after a message. */
static char *
compile (const Bench *bench, const char *source, const char *architecture)
{
  const char  *flags[] = { architecture, "--std=c++17" };
  nvrtcProgram program;
  nvrtcResult  result = nvrtcCreateProgram (&program, source, "bench.cu", 0, NULL, NULL);
  size_t       size = 0;
  char        *code = NULL, *log = NULL;

  if (result != NVRTC_SUCCESS)
    {
      bench_error (bench, "nvrtcCreateProgram", "%s (%d)", nvrtcGetErrorString (result),
                   (int) result);
      return NULL;
    }
  result = nvrtcCompileProgram (program, 2, flags);
  if (result != NVRTC_SUCCESS && nvrtcGetProgramLogSize (program, &size) == NVRTC_SUCCESS
      && (log = malloc (size)) != NULL && nvrtcGetProgramLog (program, log) == NVRTC_SUCCESS)
    bench_error (bench, "nvrtcCompileProgram", "%s", log);
  if (result == NVRTC_SUCCESS)
    result = nvrtcGetCUBINSize (program, &size);
  if (result == NVRTC_SUCCESS && (code = malloc (size)) != NULL)
    result = nvrtcGetCUBIN (program, code);
  if (result != NVRTC_SUCCESS)
    {
      bench_error (bench, "NVRTC", "%s (%d)", nvrtcGetErrorString (result), (int) result);
      free (code);
      code = NULL;
    }
  else if (code == NULL)
    bench_error (bench, "malloc", "out of host memory");
  nvrtcDestroyProgram (&program);
  free (log);
  return code;
}

bool
cuda_kernel_open (const Bench *bench, CudaKernel *self, const char *source, const char *name)
{
  int         device, major, minor;
  char        architecture[48], *code;
  cudaError_t error;

  *self = (CudaKernel){ 0 };
  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaDeviceGetAttribute (&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_TRY (cudaDeviceGetAttribute (&minor, cudaDevAttrComputeCapabilityMinor, device));
  snprintf (architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
  code = compile (bench, source, architecture);
  if (code == NULL)
    return false;
  error = cudaLibraryLoadData (&self->library, code, NULL, NULL, 0, NULL, NULL, 0);
  free (code);
  if (error != cudaSuccess)
    return cuda_failed (bench, "cudaLibraryLoadData", error);
  CUDA_TRY (cudaLibraryGetKernel (&self->kernel, self->library, name));
  return true;
}

void
cuda_kernel_close (CudaKernel *self)
{
  if (self->library != NULL)
    cudaLibraryUnload (self->library);
}

bool
cuda_kernel_launch (const Bench *bench, const CudaKernel *self, unsigned grid, unsigned block,
                    void **args, cudaStream_t stream)
{
  dim3 blocks = { grid, 1, 1 }, threads = { block, 1, 1 };

  CUDA_TRY (cudaLaunchKernel ((const void *) self->kernel, blocks, threads, args, 0, stream));
  return true;
}

#endif
