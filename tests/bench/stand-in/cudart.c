#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand-in.h"

/* The error that STAND_IN_FAIL asks for. */
#define ENTER(name)                            \
  do                                           \
    if (stand_in_fails (name))                 \
      return fail (cudaErrorMemoryAllocation); \
  while (0)

struct CUstream_st
{
  double   clock;
  bool     capturing;
  double   captured; /* s of what was captured */
  unsigned n_captured;
};

struct CUevent_st
{
  double clock;
  bool   recorded, asked;
};

struct CUgraph_st
{
  double seconds;
};

struct CUgraphExec_st
{
  double seconds;
};

static struct CUstream_st legacy;
static double             engines[ENGINE_N];
/* the device time that the host has last waited for: nothing that it issues now starts before */
static double      host;
static cudaError_t last;
static size_t      used = STAND_IN_RESERVED;
static int         device;

static cudaError_t
fail (cudaError_t error)
{
  last = error;
  return error;
}

/* ---- faults and leaks ------------------------------------------------------------------------ */

#define MAX_KINDS 16

static struct
{
  const char *name;
  int         n;
} kinds[MAX_KINDS];

void
stand_in_count (const char *kind, int change)
{
  for (unsigned i = 0; i < MAX_KINDS; i++)
    {
      if (kinds[i].name != NULL && strcmp (kinds[i].name, kind) != 0)
        continue;
      kinds[i].name = kind;
      kinds[i].n += change;
      return;
    }
}

__attribute__ ((destructor)) static void
tell_leaks (void)
{
  if (getenv ("STAND_IN_LEAKS") == NULL)
    return;
  for (unsigned i = 0; i < MAX_KINDS && kinds[i].name != NULL; i++)
    if (kinds[i].n != 0)
      fprintf (stderr, "stand-in: %d of %s not released\n", kinds[i].n, kinds[i].name);
}

/* "cudaMalloc:3" or "ncclAllReduce:1:2": name, number of the call, rank in a forked run. */
bool
stand_in_fails (const char *name)
{
  static int  n_calls;
  const char *text = getenv ("STAND_IN_FAIL");
  char        wanted[64] = "";
  int         number = 1, rank = -1;

  if (text == NULL || sscanf (text, "%63[^:]:%d:%d", wanted, &number, &rank) < 1
      || strcmp (wanted, name) != 0)
    return false;
  if (rank >= 0 && rank != device)
    return false;
  return ++n_calls == number;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static struct CUstream_st *
stream_of (cudaStream_t stream)
{
  return stream != NULL && stream != cudaStreamLegacy && stream != cudaStreamPerThread ? stream
                                                                                       : &legacy;
}

static double
larger (double a, double b)
{
  return a > b ? a : b;
}

void
stand_in_run (cudaStream_t stream, StandInEngine engine, double seconds)
{
  struct CUstream_st *self = stream_of (stream);

  if (self->capturing)
    {
      self->captured += seconds;
      self->n_captured++;
      return;
    }
  self->clock = larger (larger (self->clock, host), engines[engine]) + seconds;
  engines[engine] = self->clock;
}

double
stand_in_clock (cudaStream_t stream)
{
  return larger (stream_of (stream)->clock, host);
}

void
stand_in_wait_until (cudaStream_t stream, double seconds)
{
  stream_of (stream)->clock = larger (stream_of (stream)->clock, seconds);
}

/* ---- device ---------------------------------------------------------------------------------- */

static int
n_devices (void)
{
  const char *text = getenv ("STAND_IN_GPUS");

  return text != NULL ? atoi (text) : 1;
}

cudaError_t
cudaGetDeviceCount (int *count)
{
  ENTER ("cudaGetDeviceCount");
  *count = n_devices ();
  return *count > 0 ? cudaSuccess : fail (cudaErrorNoDevice);
}

cudaError_t
cudaSetDevice (int index)
{
  ENTER ("cudaSetDevice");
  if (index < 0 || index >= n_devices ())
    return fail (cudaErrorInvalidDevice);
  device = index;
  return cudaSuccess;
}

cudaError_t
cudaGetDevice (int *index)
{
  *index = device;
  return cudaSuccess;
}

cudaError_t
cudaDeviceSynchronize (void)
{
  ENTER ("cudaDeviceSynchronize");
  for (unsigned i = 0; i < ENGINE_N; i++)
    host = larger (host, engines[i]);
  return cudaSuccess;
}

/* 90 = 9.0 */
static int
capability (void)
{
  const char *text = getenv ("STAND_IN_CAPABILITY");

  return text != NULL ? atoi (text) : 90;
}

cudaError_t
cudaGetDeviceProperties (struct cudaDeviceProp *properties, int index)
{
  ENTER ("cudaGetDeviceProperties");
  memset (properties, 0, sizeof *properties);
  snprintf (properties->name, sizeof properties->name, "Stand-in GPU");
  properties->totalGlobalMem = STAND_IN_MEMORY;
  properties->multiProcessorCount = STAND_IN_SMS;
  properties->major = capability () / 10;
  properties->minor = capability () % 10;
  properties->l2CacheSize = 8 << 20;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->asyncEngineCount = 2;
  properties->warpSize = 32;
  properties->pciBusID = 16 + index;
  properties->memoryBusWidth = 5120;
  return cudaSuccess;
}

cudaError_t
cudaDeviceGetAttribute (int *value, enum cudaDeviceAttr attribute, int index)
{
  (void) index;
  ENTER ("cudaDeviceGetAttribute");
  switch (attribute)
    {
    case cudaDevAttrComputeCapabilityMajor:
      *value = capability () / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = capability () % 10;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = STAND_IN_SMS;
      break;
    case cudaDevAttrL2CacheSize:
      *value = 8 << 20;
      break;
    default:
      *value = 0;
    }
  return cudaSuccess;
}

cudaError_t
cudaDeviceGetPCIBusId (char *text, int length, int index)
{
  snprintf (text, (size_t) length, "0000:%02x:00.0", 16 + index);
  return cudaSuccess;
}

cudaError_t
cudaDeviceGetStreamPriorityRange (int *least, int *greatest)
{
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t
cudaRuntimeGetVersion (int *version)
{
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t
cudaGetLastError (void)
{
  cudaError_t error = last;

  last = cudaSuccess;
  return error;
}

const char *
cudaGetErrorString (cudaError_t error)
{
  return error == cudaErrorMemoryAllocation ? "out of memory" : "stand-in error";
}

const char *
cudaGetErrorName (cudaError_t error)
{
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorStandIn";
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Sizes lie before the memory, so that free can give them back. */
#define HEAD 256

static void *
take (size_t bytes)
{
  size_t *head;

  if (used + bytes > STAND_IN_MEMORY)
    return NULL;
  head = aligned_alloc (HEAD, (HEAD + bytes + HEAD - 1) / HEAD * HEAD);
  if (head == NULL)
    return NULL;
  *head = bytes;
  used += bytes;
  return (char *) head + HEAD;
}

static void
give (void *memory)
{
  size_t *head = (size_t *) (void *) ((char *) memory - HEAD);

  used -= *head;
  free (head);
}

cudaError_t
cudaMalloc (void **memory, size_t bytes)
{
  ENTER ("cudaMalloc");
  *memory = take (bytes);
  if (*memory == NULL)
    return fail (cudaErrorMemoryAllocation);
  stand_in_count ("device memory", 1);
  return cudaSuccess;
}

cudaError_t
cudaFree (void *memory)
{
  ENTER ("cudaFree");
  if (memory == NULL)
    return cudaSuccess;
  give (memory);
  stand_in_count ("device memory", -1);
  return cudaSuccess;
}

cudaError_t
cudaMallocHost (void **memory, size_t bytes)
{
  ENTER ("cudaMallocHost");
  *memory = aligned_alloc (4096, (bytes + 4095) / 4096 * 4096);
  if (*memory == NULL)
    return fail (cudaErrorMemoryAllocation);
  stand_in_count ("pinned memory", 1);
  return cudaSuccess;
}

cudaError_t
cudaFreeHost (void *memory)
{
  ENTER ("cudaFreeHost");
  free (memory);
  stand_in_count ("pinned memory", memory != NULL ? -1 : 0);
  return cudaSuccess;
}

cudaError_t
cudaHostRegister (void *memory, size_t bytes, unsigned flags)
{
  (void) memory, (void) bytes, (void) flags;
  ENTER ("cudaHostRegister");
  stand_in_count ("registered memory", 1);
  return cudaSuccess;
}

cudaError_t
cudaHostUnregister (void *memory)
{
  (void) memory;
  ENTER ("cudaHostUnregister");
  stand_in_count ("registered memory", -1);
  return cudaSuccess;
}

cudaError_t
cudaMemGetInfo (size_t *available, size_t *total)
{
  ENTER ("cudaMemGetInfo");
  *available = STAND_IN_MEMORY - used;
  *total = STAND_IN_MEMORY;
  return cudaSuccess;
}

cudaError_t
cudaMemcpyAsync (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                 cudaStream_t stream)
{
  bool   h2d = kind == cudaMemcpyHostToDevice;
  double rate = h2d ? STAND_IN_H2D : STAND_IN_D2H;

  ENTER ("cudaMemcpyAsync");
  if (kind == cudaMemcpyDeviceToDevice)
    stand_in_run (stream, ENGINE_KERNEL, STAND_IN_KERNEL + 2.0 * (double) bytes / STAND_IN_HBM);
  else
    stand_in_run (stream, h2d ? ENGINE_H2D : ENGINE_D2H,
                  STAND_IN_COPY_START + (double) bytes / rate);
  memmove (to, from, bytes);
  return cudaSuccess;
}

cudaError_t
cudaMemcpy (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
  ENTER ("cudaMemcpy");
  cudaMemcpyAsync (to, from, bytes, kind, NULL);
  host = legacy.clock;
  return cudaSuccess;
}

cudaError_t
cudaMemsetAsync (void *memory, int value, size_t bytes, cudaStream_t stream)
{
  ENTER ("cudaMemsetAsync");
  stand_in_run (stream, ENGINE_KERNEL, STAND_IN_KERNEL + (double) bytes / STAND_IN_HBM);
  memset (memory, value, bytes);
  return cudaSuccess;
}

cudaError_t
cudaMemset (void *memory, int value, size_t bytes)
{
  return cudaMemsetAsync (memory, value, bytes, NULL);
}

/* ---- streams and events ---------------------------------------------------------------------- */

cudaError_t
cudaStreamCreateWithPriority (cudaStream_t *stream, unsigned flags, int priority)
{
  (void) flags, (void) priority;
  ENTER ("cudaStreamCreateWithFlags");
  *stream = calloc (1, sizeof **stream);
  stand_in_count ("streams", 1);
  return cudaSuccess;
}

cudaError_t
cudaStreamCreateWithFlags (cudaStream_t *stream, unsigned flags)
{
  return cudaStreamCreateWithPriority (stream, flags, 0);
}

cudaError_t
cudaStreamDestroy (cudaStream_t stream)
{
  free (stream);
  stand_in_count ("streams", -1);
  return cudaSuccess;
}

cudaError_t
cudaStreamSynchronize (cudaStream_t stream)
{
  ENTER ("cudaStreamSynchronize");
  host = stand_in_clock (stream);
  return cudaSuccess;
}

cudaError_t
cudaStreamWaitEvent (cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
  (void) flags;
  ENTER ("cudaStreamWaitEvent");
  if (event->recorded && stand_in_clock (stream) < event->clock)
    stream_of (stream)->clock = event->clock + STAND_IN_WAIT;
  return cudaSuccess;
}

cudaError_t
cudaEventCreate (cudaEvent_t *event)
{
  ENTER ("cudaEventCreate");
  *event = calloc (1, sizeof **event);
  stand_in_count ("events", 1);
  return cudaSuccess;
}

cudaError_t
cudaEventDestroy (cudaEvent_t event)
{
  free (event);
  stand_in_count ("events", -1);
  return cudaSuccess;
}

cudaError_t
cudaEventRecord (cudaEvent_t event, cudaStream_t stream)
{
  ENTER ("cudaEventRecord");
  event->clock = stand_in_clock (stream);
  event->recorded = true;
  event->asked = false;
  return cudaSuccess;
}

cudaError_t
cudaEventSynchronize (cudaEvent_t event)
{
  ENTER ("cudaEventSynchronize");
  host = larger (host, event->clock);
  return cudaSuccess;
}

cudaError_t
cudaEventQuery (cudaEvent_t event) /* the first question comes too early */
{
  bool early = event->recorded && !event->asked;

  ENTER ("cudaEventQuery");
  event->asked = true;
  return early ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t
cudaEventElapsedTime (float *milliseconds, cudaEvent_t begin, cudaEvent_t end)
{
  ENTER ("cudaEventElapsedTime");
  if (!begin->recorded || !end->recorded)
    return fail (cudaErrorInvalidResourceHandle);
  *milliseconds = (float) (1e3 * (end->clock - begin->clock));
  return cudaSuccess;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

cudaError_t
cudaStreamBeginCapture (cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
  (void) mode;
  ENTER ("cudaStreamBeginCapture");
  stream->capturing = true;
  stream->captured = 0;
  return cudaSuccess;
}

cudaError_t
cudaStreamEndCapture (cudaStream_t stream, cudaGraph_t *graph)
{
  ENTER ("cudaStreamEndCapture");
  *graph = calloc (1, sizeof **graph);
  (*graph)->seconds = stream->captured;
  stream->capturing = false;
  stand_in_count ("graphs", 1);
  return cudaSuccess;
}

cudaError_t
cudaGraphInstantiateWithFlags (cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
  (void) flags;
  ENTER ("cudaGraphInstantiate");
  *exec = calloc (1, sizeof **exec);
  (*exec)->seconds = graph->seconds;
  stand_in_count ("graphs", 1);
  return cudaSuccess;
}

cudaError_t
cudaGraphUpload (cudaGraphExec_t exec, cudaStream_t stream)
{
  (void) exec, (void) stream;
  ENTER ("cudaGraphUpload");
  return cudaSuccess;
}

cudaError_t
cudaGraphLaunch (cudaGraphExec_t exec, cudaStream_t stream)
{
  ENTER ("cudaGraphLaunch");
  stand_in_run (stream, ENGINE_KERNEL, exec->seconds);
  return cudaSuccess;
}

cudaError_t
cudaGraphDestroy (cudaGraph_t graph)
{
  free (graph);
  stand_in_count ("graphs", -1);
  return cudaSuccess;
}

cudaError_t
cudaGraphExecDestroy (cudaGraphExec_t exec)
{
  free (exec);
  stand_in_count ("graphs", -1);
  return cudaSuccess;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* NVRTC's real code is not run, but a kernel must be in it. */
struct library
{
  size_t bytes;
  char   code[];
};

/* An ELF file ends with its section headers. */
static size_t
bytes_of_elf (const void *code)
{
  const Elf64_Ehdr *head = code;

  return memcmp (code, ELFMAG, SELFMAG) == 0
             ? head->e_shoff + (size_t) head->e_shnum * head->e_shentsize
             : 0;
}

cudaError_t
cudaLibraryLoadData (cudaLibrary_t *library, const void *code, enum cudaJitOption *jit_options,
                     void **jit_values, unsigned n_jit, enum cudaLibraryOption *options,
                     void **values, unsigned n)
{
  size_t          bytes = bytes_of_elf (code);
  struct library *self;

  (void) jit_options, (void) jit_values, (void) n_jit, (void) options, (void) values, (void) n;
  ENTER ("cudaLibraryLoadData");
  if (bytes == 0)
    return fail (cudaErrorInvalidKernelImage);
  self = malloc (sizeof *self + bytes);
  self->bytes = bytes;
  memcpy (self->code, code, bytes);
  *library = (cudaLibrary_t) self;
  stand_in_count ("libraries", 1);
  return cudaSuccess;
}

cudaError_t
cudaLibraryUnload (cudaLibrary_t library)
{
  free (library);
  stand_in_count ("libraries", -1);
  return cudaSuccess;
}

cudaError_t
cudaLibraryGetKernel (cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
  struct library *self = (struct library *) library;

  ENTER ("cudaLibraryGetKernel");
  if (memmem (self->code, self->bytes, name, strlen (name) + 1) == NULL)
    return fail (cudaErrorSymbolNotFound);
  *kernel = (cudaKernel_t) library;
  return cudaSuccess;
}

cudaError_t
cudaLaunchKernel (const void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                  cudaStream_t stream)
{
  (void) args, (void) shared;
  ENTER ("cudaLaunchKernel");
  if (kernel == NULL || grid.x == 0 || block.x == 0 || block.x * block.y * block.z > 1024)
    return fail (cudaErrorInvalidConfiguration);
  stand_in_run (stream, ENGINE_KERNEL, STAND_IN_KERNEL);
  return cudaSuccess;
}
