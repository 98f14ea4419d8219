/* Kernels from C strings: compiled by NVRTC for the current device, loaded as a library. */
#ifdef BENCH_CUDA

#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/cuda.h"

struct CudaModule
{
  cudaLibrary_t library;
};

static bool
nvrtc_failed (const Bench *bench, const char *call, nvrtcResult result)
{
  bench_error (bench, call, "%s (%d)", nvrtcGetErrorString (result), (int) result);
  return false;
}

/* The compiler's words, on stderr. */
static void
show_log (const Bench *bench, nvrtcProgram program)
{
  size_t size = 0;
  char  *log;

  if (nvrtcGetProgramLogSize (program, &size) != NVRTC_SUCCESS || size < 2)
    return;
  log = malloc (size);
  if (log != NULL && nvrtcGetProgramLog (program, log) == NVRTC_SUCCESS)
    bench_error (bench, "nvrtcCompileProgram", "%s", log);
  free (log);
}

/* The device's code of PROGRAM; owned by the caller. */
static char *
compile (const Bench *bench, nvrtcProgram program, const char *architecture)
{
  const char *flags[] = { architecture, "--std=c++17" };
  nvrtcResult result = nvrtcCompileProgram (program, 2, flags);
  size_t      size = 0;
  char       *code;

  if (result != NVRTC_SUCCESS)
    {
      show_log (bench, program);
      nvrtc_failed (bench, "nvrtcCompileProgram", result);
      return NULL;
    }
  result = nvrtcGetCUBINSize (program, &size);
  code = result == NVRTC_SUCCESS ? malloc (size) : NULL;
  if (code != NULL)
    result = nvrtcGetCUBIN (program, code);
  if (code != NULL && result == NVRTC_SUCCESS)
    return code;
  nvrtc_failed (bench, "nvrtcGetCUBIN", result);
  free (code);
  return NULL;
}

/* "--gpu-architecture=sm_90" of the current device. */
static bool
name_architecture (const Bench *bench, char *text, size_t size)
{
  int device, major, minor;

  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaDeviceGetAttribute (&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_TRY (cudaDeviceGetAttribute (&minor, cudaDevAttrComputeCapabilityMinor, device));
  snprintf (text, size, "--gpu-architecture=sm_%d%d", major, minor);
  return true;
}

static bool
load (const Bench *bench, const char *source, cudaLibrary_t *library)
{
  nvrtcProgram program;
  nvrtcResult  result;
  char         architecture[48], *code;
  cudaError_t  error;

  if (!name_architecture (bench, architecture, sizeof architecture))
    return false;
  result = nvrtcCreateProgram (&program, source, "bench.cu", 0, NULL, NULL);
  if (result != NVRTC_SUCCESS)
    return nvrtc_failed (bench, "nvrtcCreateProgram", result);
  code = compile (bench, program, architecture);
  nvrtcDestroyProgram (&program);
  if (code == NULL)
    return false;
  error = cudaLibraryLoadData (library, code, NULL, NULL, 0, NULL, NULL, 0);
  free (code);
  return error == cudaSuccess || cuda_failed (bench, "cudaLibraryLoadData", error);
}

CudaModule *
cuda_module_open (const Bench *bench, const char *source)
{
  CudaModule *self = calloc (1, sizeof *self);

  if (self == NULL)
    bench_error (bench, "calloc", "out of host memory");
  else if (load (bench, source, &self->library))
    return self;
  free (self);
  return NULL;
}

cudaKernel_t
cuda_module_kernel (const Bench *bench, CudaModule *self, const char *name)
{
  cudaKernel_t kernel = NULL;
  cudaError_t  error = cudaLibraryGetKernel (&kernel, self->library, name);

  if (error == cudaSuccess)
    return kernel;
  cuda_failed (bench, "cudaLibraryGetKernel", error);
  return NULL;
}

void
cuda_module_close (CudaModule *self)
{
  if (self == NULL)
    return;
  cudaLibraryUnload (self->library);
  free (self);
}

bool
cuda_launch (const Bench *bench, cudaKernel_t kernel, unsigned grid, unsigned block, void **args,
             cudaStream_t stream)
{
  dim3 blocks = { grid, 1, 1 }, threads = { block, 1, 1 };

  CUDA_TRY (cudaLaunchKernel ((const void *) kernel, blocks, threads, args, 0, stream));
  return true;
}

#endif
