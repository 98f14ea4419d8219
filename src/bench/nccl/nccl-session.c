#ifdef BENCH_CUDA

#include "bench/nccl/nccl-session.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "bench/nccl/nccl-data.h"

#define ALIGNMENT     512
#define CACHES        4   /* buffers are as large as so many L2 caches at least */
#define MEMORY_SHARE  0.8 /* of a GPU's free memory */
#define WAKE_SECONDS  0.2
#define FIRST_SHARING 23000 /* NCCL_MULTI_RANK_GPU_ENABLE: since 2.30 */

const NcclType nccl_types[NCCL_N_TYPES] = {
  { "fp32", "float", ncclFloat32, 4, 24 },
  { "bf16", "bfloat16", ncclBfloat16, 2, 8 },
  { "fp16", "half", ncclFloat16, 2, 11 },
};

/* ---- who shares a GPU ------------------------------------------------------------------------ */

/* Sets NAME where the user has not, and says so. */
static void
set_variable (const Bench *bench, const char *name, const char *value)
{
  if (getenv (name) != NULL)
    return;
  setenv (name, value, 1);
  bench_note (bench, "sets %s=%s (here on rank 0), so that ranks may share a GPU", name, value);
}

static bool
allow_sharing (NcclSession *self)
{
  const Bench *bench = self->bench;
  char         host[96];
  int          version;

  NCCL_TRY (ncclGetVersion (&version));
  if (version >= FIRST_SHARING)
    {
      set_variable (bench, "NCCL_MULTI_RANK_GPU_ENABLE", "1");
      snprintf (self->remark, sizeof self->remark,
                "several ranks on one GPU; NCCL_MULTI_RANK_GPU_ENABLE=1");
    }
  else
    {
      snprintf (host, sizeof host, "%s-rank%u", self->place->host, self->place->rank);
      set_variable (bench, "NCCL_HOSTID", host);
      set_variable (bench, "NCCL_NET", "Socket");
      snprintf (self->remark, sizeof self->remark,
                "several ranks on one GPU; a NCCL_HOSTID each; NCCL_NET=Socket");
    }
  bench_note (bench,
              "several ranks share one GPU: its kernels and, up to NCCL 2.29, its time slices are "
              "measured, no link between GPUs");
  return true;
}

/* Which GPU this rank has, and whether it is another's as well. */
static bool
describe (NcclSession *self)
{
  const Bench          *bench = self->bench;
  const unsigned        ranks = self->place->size;
  const size_t          length = sizeof self->place->host + sizeof self->device.bus;
  struct cudaDeviceProp properties;
  char                  bus[32], own[128] = "", *all;
  bool                  good;

  CUDA_TRY (cudaGetDevice (&self->device.device));
  CUDA_TRY (cudaGetDeviceProperties (&properties, self->device.device));
  CUDA_TRY (cudaDeviceGetPCIBusId (bus, sizeof bus, self->device.device));
  for (char *c = bus; *c != '\0'; c++)
    *c = *c == '.' ? '\0' : (char) tolower ((unsigned char) *c); /* without the function */
  snprintf (self->device.bus, sizeof self->device.bus, "%.15s", bus);
  snprintf (self->device.name, sizeof self->device.name, "%.63s", properties.name);
  snprintf (own, length, "%s %s", self->place->host, self->device.bus);
  all = calloc (ranks, length);
  good = all != NULL && world_gather (bench->world, own, all, length);
  for (unsigned i = 0; good && i < ranks; i++)
    {
      unsigned n = 0;

      for (unsigned j = 0; j < ranks; j++)
        n += strcmp (all + i * length, all + j * length) == 0;
      if (n > self->ranks_on_gpu)
        self->ranks_on_gpu = n;
    }
  free (all);
  if (!good)
    bench_error (bench, "world_gather", "another rank has ended, or does not answer");
  if (ranks == 1)
    snprintf (self->remark, sizeof self->remark, "one rank");
  return good && (ranks == 1 || self->ranks_on_gpu == 1 || allow_sharing (self));
}

/* ---- the communicator ------------------------------------------------------------------------ */

static bool
open_communicator (NcclSession *self)
{
  const Bench *bench = self->bench;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclUniqueId id;

  memset (&id, 0, sizeof id);
  config.blocking = 1;
  if (self->channels > 0)
    config.minCTAs = config.maxCTAs = (int) self->channels;
  if (self->place->rank == 0)
    NCCL_TRY (ncclGetUniqueId (&id));
  if (!world_broadcast (bench->world, &id, sizeof id))
    {
      bench_error (bench, "world_broadcast",
                   "NCCL's id: another rank has ended, or does not answer");
      return false;
    }
  nccl_watch_begin (self->watch, "ncclCommInitRankConfig");
  NCCL_TRY (ncclCommInitRankConfig (&self->comm, (int) self->place->size, id,
                                    (int) self->place->rank, &config));
  nccl_watch_set (self->watch, self->comm);
  if (!nccl_watch_end (self->watch))
    return false;
  CUDA_TRY (cudaStreamCreateWithFlags (&self->stream, cudaStreamNonBlocking));
  CUDA_TRY (cudaEventCreate (&self->begin));
  CUDA_TRY (cudaEventCreate (&self->end));
  return true;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/*
 * Buffers of *BYTES and more than the caches, but no more than what the GPU with the least free
 * memory can give to each.
 */
static bool
allocate (NcclSession *self, uint64_t *bytes)
{
  const Bench *bench = self->bench;
  size_t       room, wanted = *bytes, available, total;
  double       least;
  int          cache;

  CUDA_TRY (cudaDeviceGetAttribute (&cache, cudaDevAttrL2CacheSize, self->device.device));
  CUDA_TRY (cudaMemGetInfo (&available, &total));
  least = -(double) available;
  if (!world_max (bench->world, &least))
    {
      bench_error (bench, "world_max", "another rank has ended, or does not answer");
      return false;
    }
  room = (size_t) (-least * MEMORY_SHARE / (self->ranks_on_gpu * 2));
  room -= room % ALIGNMENT;
  if (wanted < (size_t) cache * CACHES)
    wanted = (size_t) cache * CACHES;
  wanted += (ALIGNMENT - wanted % ALIGNMENT) % ALIGNMENT;
  self->bytes = wanted < room ? wanted : room;
  if (self->bytes < *bytes)
    {
      bench_note (bench, "operations of at most %zu bytes fit beside each other in the free memory",
                  self->bytes);
      *bytes = self->bytes;
    }
  CUDA_TRY (cudaMalloc ((void **) &self->send, self->bytes));
  CUDA_TRY (cudaMalloc ((void **) &self->recv, self->bytes));
  CUDA_TRY (cudaMalloc ((void **) &self->pattern, NCCL_DATA_PERIOD * sizeof (float)));
  CUDA_TRY (cudaMalloc ((void **) &self->scratch, sizeof (float)));
  CUDA_TRY (cudaMemset (self->scratch, 0, sizeof (float)));
  CUDA_TRY (cudaDeviceSynchronize ());
  return true;
}

bool
nccl_session_fill (NcclSession *self, const NcclType *type)
{
  const Bench   *bench = self->bench;
  const uint64_t elements = self->bytes / type->size;
  double         begun;

  if (!nccl_data_upload (self, type))
    return false;
  begun = bench_now ();
  /*
   * again and again, until the clock is up that making a communicator has let sink: the first sizes
   * are small
   */
  do
    {
      if (!nccl_data_fill (self, type, self->send, elements)
          || !nccl_data_fill (self, type, self->recv, elements))
        return false;
      CUDA_TRY (cudaStreamSynchronize (self->stream));
    }
  while (bench_now () - begun < WAKE_SECONDS);
  return true;
}

/* ---- opening and closing --------------------------------------------------------------------- */

bool
nccl_session_open (NcclSession *self, Bench *bench, unsigned channels, uint64_t *bytes)
{
  *self =
      (NcclSession){ .bench = bench, .place = world_place (bench->world), .channels = channels };
  self->watch = nccl_watch_open (bench);
  return self->watch != NULL && describe (self) && open_communicator (self)
         && allocate (self, bytes);
}

bool
nccl_session_close (NcclSession *self, bool good)
{
  if (self->watch == NULL)
    return false;
  if (self->comm != NULL)
    {
      ncclResult_t result;

      nccl_watch_set (self->watch, NULL);
      nccl_watch_begin (self->watch, good ? "ncclCommDestroy" : "ncclCommAbort");
      result = good ? ncclCommDestroy (self->comm) : ncclCommAbort (self->comm);
      nccl_watch_end (self->watch);
      if (good && result != ncclSuccess)
        good = nccl_failed (self->bench, "ncclCommDestroy", result);
    }
  nccl_watch_close (self->watch);
  if (self->begin != NULL)
    cudaEventDestroy (self->begin);
  if (self->end != NULL)
    cudaEventDestroy (self->end);
  if (self->stream != NULL)
    cudaStreamDestroy (self->stream);
  cudaFree (self->send);
  cudaFree (self->recv);
  cudaFree (self->pattern);
  cudaFree (self->scratch);
  *self = (NcclSession){ 0 };
  return good;
}

bool
nccl_session_wait (NcclSession *self, const char *call)
{
  const cudaError_t error = cudaStreamSynchronize (self->stream);

  if (error != cudaSuccess)
    bench_error (self->bench, call, "its kernel failed: %s (%s, %d)", cudaGetErrorString (error),
                 cudaGetErrorName (error), (int) error);
  return error == cudaSuccess;
}

#endif
