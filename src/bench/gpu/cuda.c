#ifdef BENCH_CUDA

#include "bench/gpu/cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/results.h"

#define RANDOM_BYTES (16u << 20) /* generated; longer buffers repeat them */

/* ---- errors ---------------------------------------------------------------------------------- */

/* The function's name in the source text of a call. */
static const char *
name_of_call (const char *call, char *name, size_t size)
{
  size_t length = strcspn (call, " (");

  snprintf (name, size, "%.*s", (int) (length < size ? length : size - 1), call);
  return name;
}

bool
cuda_failed (const Bench *bench, const char *call, cudaError_t error)
{
  char name[64];

  bench_error (bench, name_of_call (call, name, sizeof name), "%s (%s, %d)",
               cudaGetErrorString (error), cudaGetErrorName (error), (int) error);
  return false;
}

bool
cublas_failed (const Bench *bench, const char *call, cublasStatus_t status)
{
  char name[64];

  bench_error (bench, name_of_call (call, name, sizeof name), "%s (%d)",
               cublasGetStatusString (status), (int) status);
  return false;
}

bool
nccl_failed (const Bench *bench, const char *call, ncclResult_t result)
{
  char name[64];

  bench_error (bench, name_of_call (call, name, sizeof name), "%s (%d); NCCL says: %s",
               ncclGetErrorString (result), (int) result, ncclGetLastError (NULL));
  return false;
}

/* ---- the device ------------------------------------------------------------------------------ */

/*
 * The driver's release, "580.95.05", of the line "NVRM version: NVIDIA ... Module  580.95.05  ...",
 * or as the management library says it that comes with the driver, where /proc is not the host's;
 * empty where neither does.
 */
static void
read_driver (char *driver, unsigned size)
{
  FILE *file = fopen ("/proc/driver/nvidia/version", "r");
  char  line[512] = "";
  void *library;
  int (*start) (void);
  int (*version) (char *text, unsigned length);
  int (*stop) (void);

  *driver = '\0';
  if (file != NULL)
    {
      if (fgets (line, sizeof line, file) == NULL)
        *line = '\0';
      fclose (file);
    }
  for (const char *word = strtok (line, " \t\n"); word != NULL && *driver == '\0';
       word = strtok (NULL, " \t\n"))
    if (word[0] >= '1' && word[0] <= '9' && strchr (word, '.') != NULL)
      snprintf (driver, size, "%s", word);
  library = *driver == '\0' ? dlopen ("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library == NULL)
    return;
  *(void **) &start = dlsym (library, "nvmlInit_v2");
  *(void **) &version = dlsym (library, "nvmlSystemGetDriverVersion");
  *(void **) &stop = dlsym (library, "nvmlShutdown");
  if (start != NULL && version != NULL && stop != NULL && start () == 0)
    {
      if (version (driver, size) != 0)
        *driver = '\0';
      stop ();
    }
  dlclose (library);
}

/* Two ranks on one GPU share its time: their measurements would mean nothing. */
static bool
check_shared (const Bench *bench, int device)
{
  const WorldPlace *place = world_place (bench->world);
  char              own[96] = "", *all = calloc (place->size, sizeof own);
  char              bus[32];
  bool              good = all != NULL;

  CUDA_TRY (cudaDeviceGetPCIBusId (bus, sizeof bus, device));
  snprintf (own, sizeof own, "%s %s", place->host, bus);
  good = good && world_gather (bench->world, own, all, sizeof own);
  if (!good)
    bench_error (bench, "world_gather", "another rank has ended, or does not answer");
  for (unsigned i = 0; good && i < place->size; i++)
    if (i != place->rank && strcmp (all + i * sizeof own, own) == 0)
      {
        bench_error (bench, "device",
                     "rank %u has the same GPU (%s): start one rank a GPU, or ask for --one-gpu", i,
                     own);
        good = false;
      }
  free (all);
  return good;
}

/* One device a process. */
static size_t first_free;

size_t
cuda_first_free (void)
{
  return first_free;
}

bool
cuda_open (const Bench *bench, unsigned local_rank, bool one_gpu, CudaMachine *machine)
{
  struct cudaDeviceProp properties;
  int                   n = 0, device, runtime, nccl;
  size_t                total;

  CUDA_TRY (cudaGetDeviceCount (&n));
  device = one_gpu ? 0 : (int) local_rank % n;
  CUDA_TRY (cudaSetDevice (device));
  CUDA_TRY (cudaFree (NULL)); /* makes the context */
  CUDA_TRY (cudaMemGetInfo (&first_free, &total));
  CUDA_TRY (cudaGetDeviceProperties (&properties, device));
  CUDA_TRY (cudaRuntimeGetVersion (&runtime));
  NCCL_TRY (ncclGetVersion (&nccl));
  snprintf (machine->device, sizeof machine->device, "%s", properties.name);
  snprintf (machine->cuda, sizeof machine->cuda, "%d.%d", runtime / 1000, runtime % 1000 / 10);
  snprintf (machine->nccl, sizeof machine->nccl, "%d.%d.%d", nccl / 10000, nccl / 100 % 100,
            nccl % 100);
  read_driver (machine->driver, sizeof machine->driver);
  return one_gpu || check_shared (bench, device);
}

bool
cuda_recovers (void)
{
  cudaError_t waited = cudaDeviceSynchronize ();

  cudaGetLastError (); /* forgets errors of single calls */
  return waited == cudaSuccess;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* 64 random BITS as one value of DTYPE in [-1, 1] at OUT, or as they are (NULL); its bytes. */
static size_t
put_random (uint64_t bits, const char *dtype, unsigned char *out)
{
  const float value = (float) ((double) (int64_t) bits * 0x1p-63);
  /* fp16: sign, exponent from -4 to -1, mantissa; e4m3: the same */
  const uint16_t half = (uint16_t) ((bits >> 48 & 0x8000) | (0x2c00 + (bits >> 40 & 0x0fff)));
  const uint8_t  byte = (uint8_t) ((bits >> 56 & 0x80) | (0x18 + (bits >> 40 & 0x1f)));
  const struct
  {
    const char *dtype;
    const void *value;
    size_t      bytes;
  } types[] = {
    { "fp32", &value, 4 },
    { "bf16", (const char *) &value + 2, 2 }, /* little-endian: the upper half */
    { "fp16", &half, 2 },
    { "fp8", &byte, 1 },
  };

  for (size_t i = 0; dtype != NULL && i < sizeof types / sizeof *types; i++)
    if (strcmp (types[i].dtype, dtype) == 0)
      {
        memcpy (out, types[i].value, types[i].bytes);
        return types[i].bytes;
      }
  memcpy (out, &bits, sizeof bits);
  return sizeof bits;
}

bool
cuda_fill_random (const Bench *bench, void *device, size_t bytes, const char *dtype, uint64_t seed)
{
  size_t         first = bytes < RANDOM_BYTES ? bytes : RANDOM_BYTES;
  unsigned char *block = calloc (1, first + sizeof (uint64_t));
  cudaError_t    error;

  if (block == NULL)
    {
      bench_error (bench, "malloc", "out of host memory: %zu bytes", first);
      return false;
    }
  for (size_t at = 0; at < first;)
    at += put_random (bench_random (&seed), dtype, block + at);
  error = cudaMemcpy (device, block, first, cudaMemcpyHostToDevice);
  free (block);
  for (size_t done = first; done < bytes && error == cudaSuccess; done *= 2)
    error = cudaMemcpy ((char *) device + done, device, done < bytes - done ? done : bytes - done,
                        cudaMemcpyDeviceToDevice);
  if (error != cudaSuccess)
    return cuda_failed (bench, "cudaMemcpy", error);
  CUDA_TRY (cudaDeviceSynchronize ());
  return true;
}

#endif
