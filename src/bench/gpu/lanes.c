#include "bench/gpu/lanes.h"

#ifdef BENCH_CUDA

/*
 * Commands (launches, copies, records, waits) of both lanes together that are queued behind the
 * gate; the driver takes about 1024.
 */
#define MAX_COMMANDS 800

#define MAX_REPEATS 1000 /* of one case */

/* What the two streams do: equally many calls each; the second may be NULL. */
typedef struct
{
  CudaWork work[2];
  void    *user;
  unsigned calls;
} Load;

/*
 * globaltimer counts ns, though on some devices in steps of about 1 us: good enough for a gate of
 * milliseconds.
 */
static const char spin_source[] =
    "extern \"C\" __global__ void spin (unsigned long long ns)\n"
    "{\n"
    "  unsigned long long start, now;\n"
    "  asm volatile (\"mov.u64 %0, %globaltimer;\" : \"=l\"(start));\n"
    "  do\n"
    "    asm volatile (\"mov.u64 %0, %globaltimer;\" : \"=l\"(now));\n"
    "  while (now - start < ns);\n"
    "}\n";

#define GATE_FIRST_US 1000.0
#define GATE_LAST_US  400000.0

/*
 * A device that has been idle for so long has lowered its clock, and raises it again while a kernel
 * runs.
 */
#define IDLE_S  0.5
#define WAKE_US 200000.0

/* A measurement takes about so long. */
#define LEAST_US   1e3
#define LONGEST_US 5e4

bool
lanes_open (const Bench *bench, Lanes *self)
{
  int lowest, highest;

  *self = (Lanes){ .gate_us = GATE_FIRST_US };
  if (!cuda_kernel_open (bench, &self->spin, spin_source, "spin"))
    return false;
  CUDA_TRY (cudaDeviceGetStreamPriorityRange (&lowest, &highest));
  CUDA_TRY (cudaStreamCreateWithFlags (&self->gate, cudaStreamNonBlocking));
  CUDA_TRY (cudaStreamCreateWithFlags (&self->stream[0], cudaStreamNonBlocking));
  CUDA_TRY (cudaStreamCreateWithPriority (&self->stream[1], cudaStreamNonBlocking, highest));
  CUDA_TRY (cudaEventCreate (&self->open));
  for (unsigned i = 0; i < 2; i++)
    {
      CUDA_TRY (cudaEventCreate (&self->start[i]));
      CUDA_TRY (cudaEventCreate (&self->stop[i]));
    }
  return true;
}

void
lanes_close (Lanes *self)
{
  cudaEvent_t  events[] = { self->open, self->start[0], self->start[1], self->stop[0],
                            self->stop[1] };
  cudaStream_t streams[] = { self->gate, self->stream[0], self->stream[1] };

  for (unsigned i = 0; i < sizeof streams / sizeof streams[0]; i++)
    if (streams[i] != NULL)
      {
        /* After a failure work may still be queued that uses what the caller frees next. */
        cudaStreamSynchronize (streams[i]);
        cudaStreamDestroy (streams[i]);
      }
  for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++)
    if (events[i] != NULL)
      cudaEventDestroy (events[i]);
  cuda_kernel_close (&self->spin);
  *self = (Lanes){ 0 };
}

/* Keeps the gate's stream busy for US. */
static bool
spin (const Bench *bench, Lanes *self, double us)
{
  unsigned long long ns = (unsigned long long) (us * 1e3);
  void              *args[] = { &ns };

  return cuda_kernel_launch (bench, &self->spin, 1, 1, args, self->gate);
}

/* The clock of a device that was idle is up again before anything is timed. */
static bool
wake (const Bench *bench, Lanes *self)
{
  if (self->used > 0 && bench_now () - self->used < IDLE_S)
    return true;
  if (!spin (bench, self, WAKE_US))
    return false;
  CUDA_TRY (cudaStreamSynchronize (self->gate));
  self->used = bench_now ();
  return true;
}

/* One attempt; *LATE: the gate opened before everything was queued. */
static bool
attempt (const Bench *bench, Lanes *self, const Load *load, bool *late)
{
  cudaError_t state;

  if (!spin (bench, self, self->gate_us))
    return false;
  CUDA_TRY (cudaEventRecord (self->open, self->gate));
  for (unsigned i = 0; i < 2; i++)
    {
      CUDA_TRY (cudaStreamWaitEvent (self->stream[i], self->open, 0));
      CUDA_TRY (cudaEventRecord (self->start[i], self->stream[i]));
    }
  for (unsigned call = 0; call < load->calls; call++)
    for (unsigned i = 0; i < 2; i++)
      if (load->work[i] != NULL && !load->work[i](bench, self->stream[i], load->user))
        return false;
  for (unsigned i = 0; i < 2; i++)
    CUDA_TRY (cudaEventRecord (self->stop[i], self->stream[i]));
  state = cudaEventQuery (self->open);
  if (state != cudaSuccess && state != cudaErrorNotReady)
    return cuda_failed (bench, "cudaEventQuery", state);
  *late = state == cudaSuccess;
  for (unsigned i = 0; i < 2; i++)
    CUDA_TRY (cudaStreamSynchronize (self->stream[i]));
  CUDA_TRY (cudaStreamSynchronize (self->gate));
  return true;
}

/*
 * Runs LOAD's calls. *SECONDS: of one call, from the first start to the last end on the streams in
 * use.
 */
static bool
run_load (const Bench *bench, Lanes *self, const Load *load, double *seconds)
{
  float from = 0, to = 0;
  bool  late = true;

  if (!wake (bench, self) || !attempt (bench, self, load, &late))
    return false;
  /* Once a gate cannot be long enough, longer ones in every further case gain nothing. */
  while (late && !self->late && self->gate_us < GATE_LAST_US)
    {
      self->gate_us *= 3;
      if (!attempt (bench, self, load, &late))
        return false;
    }
  if (late && !self->late)
    {
      self->late = true;
      bench_note (bench,
                  "the host is too slow to queue the work before the device starts it: short "
                  "times include issuing");
    }
  self->used = bench_now ();
  for (unsigned i = 0; i < 2 && load->work[i] != NULL; i++)
    {
      float start, stop; /* ms from the opening: of events on two streams either may be earlier */

      CUDA_TRY (cudaEventElapsedTime (&start, self->open, self->start[i]));
      CUDA_TRY (cudaEventElapsedTime (&stop, self->open, self->stop[i]));
      from = i == 0 || start < from ? start : from;
      to = i == 0 || stop > to ? stop : to;
    }
  *seconds = 1e-3 * (double) (to - from) / load->calls;
  return true;
}

/* Of a measurement, where a call takes about SECONDS. */
static unsigned
count_calls (const Bench *bench, double seconds, unsigned commands)
{
  double   calls = bench->options->iterations, us = 1e6 * seconds;
  unsigned most = MAX_COMMANDS / 2 / commands;

  if (us > 0)
    {
      if (calls < LEAST_US / us)
        calls = LEAST_US / us;
      if (calls > LONGEST_US / us)
        calls = LONGEST_US / us;
    }
  if (calls > most)
    calls = most;
  return calls < 1 ? 1 : (unsigned) calls;
}

bool
lanes_time (const Bench *bench, Lanes *self, CudaWork work, CudaWork other, void *user,
            unsigned commands, Result *result)
{
  double         samples[MAX_REPEATS], seconds = 0;
  const unsigned repeats = bench->options->repeats, warmup = bench->options->warmup;
  const unsigned n = repeats < MAX_REPEATS ? repeats : MAX_REPEATS;
  Load           load = { { work, other }, user, 1 };

  /* The first calls load kernels and touch pages, which takes longer than any gate. */
  for (unsigned call = 0; call < 2 && call <= warmup; call++)
    for (unsigned i = 0; i < 2 && load.work[i] != NULL; i++)
      if (!load.work[i](bench, self->stream[i], user))
        return false;
  for (unsigned i = 0; i < 2; i++)
    CUDA_TRY (cudaStreamSynchronize (self->stream[i]));
  if (!run_load (bench, self, &load, &seconds))
    return false;
  load.calls = count_calls (bench, seconds, commands);
  if (load.calls > warmup)
    load.calls = warmup > 0 ? warmup : 1;
  if (!run_load (bench, self, &load, &seconds))
    return false;
  load.calls = count_calls (bench, seconds, commands);
  for (unsigned i = 0; i < n; i++)
    if (!run_load (bench, self, &load, &samples[i]))
      return false;
  result_set_times (result, samples, n);
  return true;
}

#endif
