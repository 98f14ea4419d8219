#ifdef BENCH_CUDA

#include "bench/nccl-session.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "bench/nccl-data.h"

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

static bool
find_device (NcclSession *self)
{
  const Bench          *bench = self->bench;
  struct cudaDeviceProp properties;
  char                  bus[32];

  CUDA_TRY (cudaGetDevice (&self->device.device));
  CUDA_TRY (cudaGetDeviceProperties (&properties, self->device.device));
  CUDA_TRY (cudaDeviceGetPCIBusId (bus, sizeof bus, self->device.device));
  for (char *c = bus; *c != '\0'; c++)
    *c = *c == '.' ? '\0' : (char) tolower ((unsigned char) *c); /* without the function */
  snprintf (self->device.bus, sizeof self->device.bus, "%.15s", bus);
  snprintf (self->device.name, sizeof self->device.name, "%.63s", properties.name);
  return true;
}

static bool
count_sharers (NcclSession *self)
{
  const Bench *bench = self->bench;
  const size_t length = sizeof self->place->host + sizeof self->device.bus;
  char         own[128] = "";
  char        *all = calloc (self->place->size, length);
  bool         good;

  snprintf (own, length, "%s %s", self->place->host, self->device.bus);
  good = all != NULL && world_gather (bench->world, own, all, length);
  for (unsigned i = 0; good && i < self->place->size; i++)
    {
      unsigned n = 0;

      for (unsigned j = 0; j < self->place->size; j++)
        n += strcmp (all + i * length, all + j * length) == 0;
      if (n > self->ranks_on_gpu)
        self->ranks_on_gpu = n;
    }
  free (all);
  if (!good)
    bench_error (bench, "world_gather", "another rank has ended, or does not answer");
  return good;
}

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

static bool
describe (NcclSession *self)
{
  if (!find_device (self) || !count_sharers (self))
    return false;
  if (self->place->size == 1)
    {
      snprintf (self->remark, sizeof self->remark, "one rank");
      return true;
    }
  return self->ranks_on_gpu == 1 || allow_sharing (self);
}

const char *
nccl_version_text (char *text, size_t size)
{
  int version = 0;

  if (ncclGetVersion (&version) == ncclSuccess)
    snprintf (text, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
  else
    snprintf (text, size, "unknown");
  return text;
}

/* ---- communicators --------------------------------------------------------------------------- */

static bool
open_communicator (NcclSession *self, unsigned slot)
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
  NCCL_TRY (ncclCommInitRankConfig (&self->comms[slot], (int) self->place->size, id,
                                    (int) self->place->rank, &config));
  nccl_watch_set (self->watch, slot, self->comms[slot]);
  return nccl_watch_end (self->watch);
}

static bool
open_communicators (NcclSession *self)
{
  const Bench *bench = self->bench;

  for (unsigned i = 0; i < self->n; i++)
    {
      if (!open_communicator (self, i))
        return false;
      CUDA_TRY (cudaStreamCreateWithFlags (&self->streams[i], cudaStreamNonBlocking));
    }
  CUDA_TRY (cudaEventCreateWithFlags (&self->aligned, cudaEventDisableTiming));
  for (unsigned i = 0; i < 2; i++)
    {
      CUDA_TRY (cudaEventCreate (&self->begin[i]));
      CUDA_TRY (cudaEventCreate (&self->end[i]));
    }
  return true;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* What the GPU with the least free memory can give to each of this session's buffers. */
static bool
find_room (NcclSession *self, size_t *room)
{
  const Bench *bench = self->bench;
  size_t       available, total;
  double       least;

  CUDA_TRY (cudaMemGetInfo (&available, &total));
  least = -(double) available;
  if (!world_max (bench->world, &least))
    {
      bench_error (bench, "world_max", "another rank has ended, or does not answer");
      return false;
    }
  *room = (size_t) (-least * MEMORY_SHARE / (self->ranks_on_gpu * 2 * self->n));
  *room -= *room % ALIGNMENT;
  return true;
}

static bool
allocate (NcclSession *self, uint64_t *bytes)
{
  const Bench *bench = self->bench;
  size_t       room = 0, wanted = *bytes;
  int          cache;

  CUDA_TRY (cudaDeviceGetAttribute (&cache, cudaDevAttrL2CacheSize, self->device.device));
  if (!find_room (self, &room))
    return false;
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
  for (unsigned i = 0; i < self->n; i++)
    {
      CUDA_TRY (cudaMalloc ((void **) &self->send[i], self->bytes));
      CUDA_TRY (cudaMalloc ((void **) &self->recv[i], self->bytes));
    }
  CUDA_TRY (cudaMalloc ((void **) &self->pattern, NCCL_DATA_PERIOD * sizeof (float)));
  CUDA_TRY (cudaMalloc ((void **) &self->scratch, sizeof (float)));
  CUDA_TRY (cudaMemset (self->scratch, 0, sizeof (float)));
  CUDA_TRY (cudaDeviceSynchronize ());
  return true;
}

static bool
fill_buffers (NcclSession *self, const NcclType *type)
{
  const Bench *bench = self->bench;

  for (unsigned i = 0; i < self->n; i++)
    {
      const uint64_t elements = self->bytes / type->size;

      if (!nccl_data_fill (self, type, self->send[i], elements, self->streams[i])
          || !nccl_data_fill (self, type, self->recv[i], elements, self->streams[i]))
        return false;
      CUDA_TRY (cudaStreamSynchronize (self->streams[i]));
    }
  return true;
}

bool
nccl_session_fill (NcclSession *self, const NcclType *type)
{
  double begun;

  if (!nccl_data_upload (self, type))
    return false;
  begun = bench_now ();
  /*
   * again and again, until the clock is up that making a communicator has let sink: the first sizes
   * are small
   */
  do
    if (!fill_buffers (self, type))
      return false;
  while (bench_now () - begun < WAKE_SECONDS);
  return true;
}

/* ---- opening and closing --------------------------------------------------------------------- */

bool
nccl_session_open (NcclSession *self, Bench *bench, unsigned n, unsigned channels, uint64_t *bytes)
{
  *self = (NcclSession){
    .bench = bench, .place = world_place (bench->world), .n = n, .channels = channels
  };
  self->watch = nccl_watch_open (bench);
  return self->watch != NULL && describe (self) && open_communicators (self)
         && allocate (self, bytes);
}

static bool
close_communicators (NcclSession *self, bool good)
{
  const Bench *bench = self->bench;

  for (unsigned i = 0; i < self->n; i++)
    {
      ncclResult_t result;

      if (self->comms[i] == NULL)
        continue;
      nccl_watch_set (self->watch, i, NULL);
      nccl_watch_begin (self->watch, good ? "ncclCommDestroy" : "ncclCommAbort");
      result = good ? ncclCommDestroy (self->comms[i]) : ncclCommAbort (self->comms[i]);
      nccl_watch_end (self->watch);
      if (good && result != ncclSuccess)
        good = nccl_failed (bench, "ncclCommDestroy", result);
    }
  return good;
}

static void
close_event (cudaEvent_t event)
{
  if (event != NULL)
    cudaEventDestroy (event);
}

bool
nccl_session_close (NcclSession *self, bool good)
{
  if (self->watch == NULL)
    return false;
  good = close_communicators (self, good);
  nccl_watch_close (self->watch);
  close_event (self->aligned);
  for (unsigned i = 0; i < 2; i++)
    {
      close_event (self->begin[i]);
      close_event (self->end[i]);
    }
  for (unsigned i = 0; i < self->n; i++)
    {
      if (self->streams[i] != NULL)
        cudaStreamDestroy (self->streams[i]);
      cudaFree (self->send[i]);
      cudaFree (self->recv[i]);
    }
  cudaFree (self->pattern);
  cudaFree (self->scratch);
  *self = (NcclSession){ 0 };
  return good;
}

bool
nccl_session_wait (NcclSession *self, const char *call)
{
  for (unsigned i = 0; i < self->n; i++)
    {
      const cudaError_t error = cudaStreamSynchronize (self->streams[i]);

      if (error == cudaSuccess)
        continue;
      bench_error (self->bench, call, "its kernel failed: %s (%s, %d)", cudaGetErrorString (error),
                   cudaGetErrorName (error), (int) error);
      return false;
    }
  return true;
}

/* ---- channels -------------------------------------------------------------------------------- */

unsigned
nccl_parse_channels (const Bench *bench, const char *list, const char *otherwise, unsigned *out,
                     unsigned max)
{
  unsigned n = 0;

  for (const char *word = list != NULL ? list : otherwise; *word != '\0' && n < max;)
    {
      char      *end;
      const long value = strtol (word, &end, 10);

      if (end == word || (*end != ',' && *end != '\0') || value < 0 || value > 64)
        {
          bench_error (bench, "--channels",
                       "'%s': expected numbers from 1 to 64, or 0 for NCCL's choice, "
                       "with commas between them",
                       list);
          return 0;
        }
      out[n++] = (unsigned) value;
      word = *end == ',' ? end + 1 : end;
    }
  return n;
}

#endif
