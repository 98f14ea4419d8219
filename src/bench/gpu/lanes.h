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

#include "bench/gpu/cuda.h"

typedef struct
{
  CudaKernel   spin;
  cudaStream_t gate;
  cudaStream_t stream[2]; /* the second: highest priority, as frameworks give to communication */
  cudaEvent_t  open, start[2], stop[2];
  double       gate_us; /* of the next gate */
  double       used;    /* when the device last had work; 0: not yet */
  bool         late; /* in some measurement the gate opened too early: its time includes issuing */
} Lanes;

/* After a failure too, lanes_close releases what there is. */
bool lanes_open (const Bench *bench, Lanes *self);
void lanes_close (Lanes *self);

/*
 * Time of one call of WORK, of COMMANDS commands, back to back, into RESULT's value, low, high and
 * repeats. OTHER not NULL: WORK on the first stream and OTHER on the second, equally many calls;
 * the time is until both are done. A measurement has the options' iterations or more, so that they
 * take a millisecond; fewer where they would take longer than 0.05 s or not fit behind the gate.
 */
bool lanes_time (const Bench *bench, Lanes *self, CudaWork work, CudaWork other, void *user,
                 unsigned commands, Result *result);

#endif
