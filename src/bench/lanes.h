/*
 * Device time of work on one or two streams, without the time that the host needs to issue it.
 *
 * All work is queued behind a gate, a kernel of one thread that waits a given time; when it ends,
 * the whole queue is there and the device runs it back to back, and work on both streams starts at
 * once. A gate that ends before the queue is complete is tried again with a longer one. The gate
 * never waits for the host, so a full queue delays, and cannot block for good.
 */
#pragma once

#include "bench/bench.h"

#ifdef BENCH_CUDA

#include "bench/cuda.h"

/*
 * Commands (launches, copies, records, waits) of both lanes together that are queued behind the
 * gate; the driver takes about 1024.
 */
#define LANES_MAX_COMMANDS 800

/* Repeats that one case has at most. */
#define LANES_MAX_REPEATS 1000

typedef struct
{
  CudaModule  *module;
  cudaKernel_t spin;
  cudaStream_t gate;
  cudaStream_t stream[2]; /* the second: highest priority, as frameworks give to communication */
  cudaEvent_t  open, start[2], stop[2];
  double       gate_us; /* of the next gate */
  double       used;    /* when the device last had work; 0: not yet */
  bool         late; /* in some measurement the gate opened too early: its time includes issuing */
} Lanes;

/*
 * What one stream does. FROM and TO are results: us from the opening of the gate to the first
 * call's start and the last one's end.
 */
typedef struct
{
  CudaWork work; /* NULL: nothing */
  void    *user;
  unsigned calls;
  double   from, to;
} Lane;

/* After a failure too, lanes_close releases what there is. */
bool lanes_open (const Bench *bench, Lanes *self);
void lanes_close (Lanes *self);

/* Runs lane 0 on the first stream and lane 1 on the second, and waits for both. */
bool lanes_run (const Bench *bench, Lanes *self, Lane lanes[2]);

/* The repeats of one case. */
unsigned lanes_repeats (const Bench *bench);

/*
 * How many calls a measurement has, each of COMMANDS commands on its busier lane and about CALL_US
 * long: the options' iterations or more, so that they take a millisecond; fewer where they would
 * take longer than 0.05 s or not fit behind the gate.
 */
unsigned lanes_calls (const Bench *bench, double call_us, unsigned commands);

/*
 * Time of one call of WORK, of COMMANDS commands, back to back, into RESULT's value, low, high and
 * repeats. OTHER not NULL: WORK on the first stream and OTHER on the second, equally many calls;
 * the time is until both are done.
 */
bool lanes_time (const Bench *bench, Lanes *self, CudaWork work, CudaWork other, void *user,
                 unsigned commands, Result *result);

/*
 * Host time of one of CALLS calls of WORK back to back on an idle first stream; CALLS times its
 * commands stay below LANES_MAX_COMMANDS.
 */
bool lanes_time_host (const Bench *bench, Lanes *self, CudaWork work, void *user, unsigned calls,
                      Result *result);

#endif
