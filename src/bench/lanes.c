#include "bench/lanes.h"

#ifdef BENCH_CUDA

#include <string.h>

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

/* A measurement takes about so long at most. */
#define LONGEST_US 5e4

static bool
open_streams (const Bench *bench, Lanes *self)
{
  int lowest, highest;

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

bool
lanes_open (const Bench *bench, Lanes *self)
{
  memset (self, 0, sizeof *self);
  self->gate_us = GATE_FIRST_US;
  self->module = cuda_module_open (bench, spin_source);
  if (self->module == NULL)
    return false;
  self->spin = cuda_module_kernel (bench, self->module, "spin");
  return self->spin != NULL && open_streams (bench, self);
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
  if (self->module != NULL)
    cuda_module_close (self->module);
  memset (self, 0, sizeof *self);
}

static bool
issue (const Bench *bench, Lanes *self, Lane lanes[2])
{
  unsigned calls = lanes[0].calls > lanes[1].calls ? lanes[0].calls : lanes[1].calls;

  for (unsigned i = 0; i < 2; i++)
    {
      CUDA_TRY (cudaStreamWaitEvent (self->stream[i], self->open, 0));
      CUDA_TRY (cudaEventRecord (self->start[i], self->stream[i]));
    }
  for (unsigned call = 0; call < calls; call++)
    for (unsigned i = 0; i < 2; i++)
      if (lanes[i].work != NULL && call < lanes[i].calls
          && !lanes[i].work (bench, self->stream[i], lanes[i].user))
        return false;
  for (unsigned i = 0; i < 2; i++)
    CUDA_TRY (cudaEventRecord (self->stop[i], self->stream[i]));
  return true;
}

/* Keeps the gate's stream busy for US. */
static bool
spin (const Bench *bench, Lanes *self, double us)
{
  unsigned long long ns = (unsigned long long) (us * 1e3);
  void              *args[] = { &ns };

  return cuda_launch (bench, self->spin, 1, 1, args, self->gate);
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
attempt (const Bench *bench, Lanes *self, Lane lanes[2], bool *late)
{
  cudaError_t state;

  if (!spin (bench, self, self->gate_us))
    return false;
  CUDA_TRY (cudaEventRecord (self->open, self->gate));
  if (!issue (bench, self, lanes))
    return false;
  state = cudaEventQuery (self->open);
  if (state != cudaSuccess && state != cudaErrorNotReady)
    return cuda_failed (bench, "cudaEventQuery", state);
  *late = state == cudaSuccess;
  for (unsigned i = 0; i < 2; i++)
    CUDA_TRY (cudaStreamSynchronize (self->stream[i]));
  CUDA_TRY (cudaStreamSynchronize (self->gate));
  return true;
}

bool
lanes_run (const Bench *bench, Lanes *self, Lane lanes[2])
{
  bool late = true;

  if (!wake (bench, self))
    return false;
  while (true)
    {
      if (!attempt (bench, self, lanes, &late))
        return false;
      /*
       * Once a gate cannot be long enough, waiting for longer ones in every further case gains
       * nothing.
       */
      if (!late || self->late || self->gate_us >= GATE_LAST_US)
        break;
      self->gate_us *= 3;
    }
  if (late && !self->late)
    {
      self->late = true;
      bench_note (bench,
                  "the host is too slow to queue the work before the device starts it: short "
                  "times include issuing");
    }
  self->used = bench_now ();
  for (unsigned i = 0; i < 2; i++)
    {
      float from_ms, to_ms;

      /* Both from the opening: of events on two streams either may be the earlier one. */
      CUDA_TRY (cudaEventElapsedTime (&from_ms, self->open, self->start[i]));
      CUDA_TRY (cudaEventElapsedTime (&to_ms, self->open, self->stop[i]));
      lanes[i].from = 1e3 * (double) from_ms;
      lanes[i].to = 1e3 * (double) to_ms;
    }
  return true;
}

unsigned
lanes_repeats (const Bench *bench)
{
  unsigned repeats = bench->options->repeats;

  return repeats == 0 ? 1 : repeats < LANES_MAX_REPEATS ? repeats : LANES_MAX_REPEATS;
}

unsigned
lanes_calls (const Bench *bench, double call_us, unsigned commands)
{
  double   calls = bench->options->iterations;
  unsigned most = LANES_MAX_COMMANDS / 2 / commands;

  if (call_us > 0)
    {
      if (calls < 1e3 / call_us)
        calls = 1e3 / call_us;
      if (calls > LONGEST_US / call_us)
        calls = LONGEST_US / call_us;
    }
  if (calls > most)
    calls = most;
  return calls < 1 ? 1 : (unsigned) calls;
}

/* Loads kernels and touches pages, which takes longer than any gate. */
static bool
warm_up (const Bench *bench, Lanes *self, Lane lanes[2])
{
  for (unsigned call = 0; call < 2 && call <= bench->options->warmup; call++)
    for (unsigned i = 0; i < 2; i++)
      if (lanes[i].work != NULL && !lanes[i].work (bench, self->stream[i], lanes[i].user))
        return false;
  for (unsigned i = 0; i < 2; i++)
    CUDA_TRY (cudaStreamSynchronize (self->stream[i]));
  return true;
}

/* Seconds from the first start to the last end of the lanes in use. */
static double
lanes_span (const Lane lanes[2])
{
  double from = lanes[0].from, to = lanes[0].to;

  if (lanes[1].work != NULL)
    {
      from = lanes[1].from < from ? lanes[1].from : from;
      to = lanes[1].to > to ? lanes[1].to : to;
    }
  return (to - from) * 1e-6;
}

bool
lanes_time (const Bench *bench, Lanes *self, CudaWork work, CudaWork other, void *user,
            unsigned commands, Result *result)
{
  double   samples[LANES_MAX_REPEATS];
  unsigned repeats = lanes_repeats (bench), calls;
  Lane     lanes[2] = { { .work = work, .user = user }, { .work = other, .user = user } };

  lanes[0].calls = lanes[1].calls = 1;
  if (!warm_up (bench, self, lanes) || !lanes_run (bench, self, lanes))
    return false;
  calls = lanes_calls (bench, 1e6 * lanes_span (lanes), commands);
  if (calls > bench->options->warmup)
    calls = bench->options->warmup > 0 ? bench->options->warmup : 1;
  lanes[0].calls = lanes[1].calls = calls;
  if (!lanes_run (bench, self, lanes))
    return false;
  calls = lanes_calls (bench, 1e6 * lanes_span (lanes) / calls, commands);

  lanes[0].calls = lanes[1].calls = calls;
  for (unsigned i = 0; i < repeats; i++)
    {
      if (!lanes_run (bench, self, lanes))
        return false;
      samples[i] = lanes_span (lanes) / calls;
    }
  result_set_times (result, samples, repeats);
  return true;
}

bool
lanes_time_host (const Bench *bench, Lanes *self, CudaWork work, void *user, unsigned calls,
                 Result *result)
{
  double   samples[LANES_MAX_REPEATS];
  unsigned repeats = lanes_repeats (bench);

  if (!wake (bench, self))
    return false;
  /* Repeat 0 warms up. */
  for (unsigned i = 0; i <= repeats; i++)
    {
      double start;

      CUDA_TRY (cudaStreamSynchronize (self->stream[0]));
      start = bench_now ();
      for (unsigned call = 0; call < calls; call++)
        if (!work (bench, self->stream[0], user))
          return false;
      if (i > 0)
        samples[i - 1] = (bench_now () - start) / calls;
      CUDA_TRY (cudaStreamSynchronize (self->stream[0]));
    }
  self->used = bench_now ();
  result_set_times (result, samples, repeats);
  return true;
}

#endif
