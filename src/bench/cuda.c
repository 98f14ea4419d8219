#ifdef BENCH_CUDA

#include "bench/cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/results.h"

#define REPEAT_SECONDS 0.2         /* a repeat takes about so long at most */
#define RANDOM_BYTES   (16u << 20) /* generated; longer buffers repeat them */

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
 * The driver's release, "580.95.05", of the line "NVRM version: NVIDIA ... Module  580.95.05  ...";
 * empty where it is not said.
 */
static void
read_driver (char *driver, size_t size)
{
  FILE *file = fopen ("/proc/driver/nvidia/version", "r");
  char  line[512];

  *driver = '\0';
  if (file == NULL)
    return;
  if (fgets (line, sizeof line, file) != NULL)
    for (const char *word = strtok (line, " \t\n"); word != NULL; word = strtok (NULL, " \t\n"))
      if (word[0] >= '1' && word[0] <= '9' && strchr (word, '.') != NULL)
        {
          snprintf (driver, size, "%s", word);
          break;
        }
  fclose (file);
}

/*
 * The same as the management library says it, where /proc is not the host's; it comes with the
 * driver.
 */
static void
ask_driver (char *driver, size_t size)
{
  void *library = dlopen ("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  int (*start) (void);
  int (*version) (char *text, unsigned length);
  int (*stop) (void);

  if (library == NULL)
    return;
  *(void **) &start = dlsym (library, "nvmlInit_v2");
  *(void **) &version = dlsym (library, "nvmlSystemGetDriverVersion");
  *(void **) &stop = dlsym (library, "nvmlShutdown");
  if (start != NULL && version != NULL && stop != NULL && start () == 0)
    {
      if (version (driver, (unsigned) size) != 0)
        *driver = '\0';
      stop ();
    }
  dlclose (library);
}

static bool
read_versions (const Bench *bench, CudaMachine *machine)
{
  int runtime, nccl;

  CUDA_TRY (cudaRuntimeGetVersion (&runtime));
  NCCL_TRY (ncclGetVersion (&nccl));
  snprintf (machine->cuda, sizeof machine->cuda, "%d.%d", runtime / 1000, runtime % 1000 / 10);
  snprintf (machine->nccl, sizeof machine->nccl, "%d.%d.%d", nccl / 10000, nccl / 100 % 100,
            nccl % 100);
  read_driver (machine->driver, sizeof machine->driver);
  if (*machine->driver == '\0')
    ask_driver (machine->driver, sizeof machine->driver);
  return true;
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
  int                   n = 0, device;
  size_t                total;

  CUDA_TRY (cudaGetDeviceCount (&n));
  device = one_gpu ? 0 : (int) local_rank % n;
  CUDA_TRY (cudaSetDevice (device));
  CUDA_TRY (cudaFree (NULL)); /* makes the context */
  CUDA_TRY (cudaMemGetInfo (&first_free, &total));
  CUDA_TRY (cudaGetDeviceProperties (&properties, device));
  snprintf (machine->device, sizeof machine->device, "%s", properties.name);
  return read_versions (bench, machine) && (one_gpu || check_shared (bench, device));
}

bool
cuda_recovers (void)
{
  cudaError_t waited = cudaDeviceSynchronize ();

  cudaGetLastError (); /* forgets errors of single calls */
  return waited == cudaSuccess;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* One random value of DTYPE in [-1, 1] at OUT; its bytes. */
static size_t
put_random (uint64_t bits, const char *dtype, unsigned char *out)
{
  float    value = (float) ((double) (int64_t) bits * 0x1p-63);
  uint32_t word;

  memcpy (&word, &value, sizeof word);
  if (strcmp (dtype, "fp32") == 0)
    {
      memcpy (out, &word, 4);
      return 4;
    }
  if (strcmp (dtype, "bf16") == 0)
    {
      memcpy (out, (unsigned char *) &word + 2, 2); /* little-endian: the upper half */
      return 2;
    }
  if (strcmp (dtype, "fp16") == 0)
    {
      uint16_t half = (uint16_t) ((bits >> 48 & 0x8000) | (0x2c00 + (bits >> 40 & 0x0fff)));

      memcpy (out, &half, 2); /* sign, exponent from -4 to -1, mantissa */
      return 2;
    }
  *out = (unsigned char) ((bits >> 56 & 0x80)
                          | (0x18 + (bits >> 40 & 0x1f))); /* e4m3: exponent from -4 to -1 */
  return 1;
}

static void
fill_block (unsigned char *block, size_t bytes, const char *dtype, uint64_t seed)
{
  unsigned char value[8];

  for (size_t at = 0; at < bytes;)
    {
      uint64_t bits = bench_random (&seed);
      size_t   size = sizeof bits;

      if (dtype != NULL)
        size = put_random (bits, dtype, value);
      else
        memcpy (value, &bits, sizeof bits);
      if (size > bytes - at)
        size = bytes - at;
      memcpy (block + at, value, size);
      at += size;
    }
}

bool
cuda_fill_random (const Bench *bench, void *device, size_t bytes, const char *dtype, uint64_t seed)
{
  size_t         first = bytes < RANDOM_BYTES ? bytes : RANDOM_BYTES;
  unsigned char *block = calloc (1, first + 1);
  cudaError_t    error;

  if (block == NULL)
    {
      bench_error (bench, "malloc", "out of host memory: %zu bytes", first);
      return false;
    }
  fill_block (block, first, dtype, seed);
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

/* ---- timing ---------------------------------------------------------------------------------- */

typedef struct
{
  cudaEvent_t begin, end;
} Events;

static bool
events_open (const Bench *bench, Events *events)
{
  *events = (Events){ 0 };
  CUDA_TRY (cudaEventCreate (&events->begin));
  CUDA_TRY (cudaEventCreate (&events->end));
  return true;
}

static void
events_close (Events *events)
{
  if (events->begin != NULL)
    cudaEventDestroy (events->begin);
  if (events->end != NULL)
    cudaEventDestroy (events->end);
}

/* Seconds that N calls of WORK take on STREAM. */
static bool
time_calls (const Bench *bench, const Events *events, cudaStream_t stream, CudaWork work,
            void *user, unsigned n, double *seconds)
{
  float milliseconds;

  CUDA_TRY (cudaEventRecord (events->begin, stream));
  for (unsigned i = 0; i < n; i++)
    if (!work (bench, stream, user))
      return false;
  CUDA_TRY (cudaEventRecord (events->end, stream));
  CUDA_TRY (cudaEventSynchronize (events->end));
  CUDA_TRY (cudaGetLastError ());
  CUDA_TRY (cudaEventElapsedTime (&milliseconds, events->begin, events->end));
  *seconds = 1e-3 * milliseconds;
  return true;
}

static bool
take_samples (const Bench *bench, const Events *events, cudaStream_t stream, CudaWork work,
              void *user, double *samples)
{
  const BenchOptions *options = bench->options;
  unsigned            n = options->iterations;
  double              once;

  if (!time_calls (bench, events, stream, work, user, options->warmup, &once)
      || !time_calls (bench, events, stream, work, user, 1, &once))
    return false;
  if (once * n > REPEAT_SECONDS)
    n = once < REPEAT_SECONDS ? (unsigned) (REPEAT_SECONDS / once) : 1;
  for (unsigned i = 0; i < options->repeats; i++)
    {
      if (!time_calls (bench, events, stream, work, user, n, &samples[i]))
        return false;
      samples[i] /= n;
    }
  return true;
}

bool
cuda_time (const Bench *bench, cudaStream_t stream, CudaWork work, void *user, Result *result)
{
  double *samples = calloc (bench->options->repeats, sizeof *samples);
  Events  events;
  bool    good = samples != NULL && events_open (bench, &events);

  if (good)
    {
      good = take_samples (bench, &events, stream, work, user, samples);
      events_close (&events);
    }
  if (good)
    result_set_times (result, samples, bench->options->repeats);
  free (samples);
  return good;
}

#endif
