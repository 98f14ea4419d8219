/*
 * A stand-in for a GPU: libcudart, libcublas, libcublasLt, libnccl and libcudnn with just what
 * shardsim-bench calls, on the CPU. It lets tests run the whole program where there is no GPU.
 * Nothing that it "measures" says anything about a real one.
 *
 * Copies and collectives move real bytes; kernels and matrix products compute nothing. Time on the
 * device is virtual: a stream is a clock that each operation advances by what the figures below
 * give, engines (one for each direction of the host link, one for kernels, one for collectives)
 * take one operation at a time, and events read the clock. So calibration of what the program
 * writes must find these figures again.
 *
 * STAND_IN_GPUS=N       how many there are (default 1)
 * STAND_IN_CAPABILITY=80  what they can (default 90): kernels are compiled for it
 * STAND_IN_FAIL=NAME:I  call number I (from 1) of function NAME fails; with :R after it only on
 * rank R
 * STAND_IN_LEAKS=1      what is not released at the end is told on stderr
 */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>

#define STAND_IN_MEMORY     (1ull << 30)  /* B */
#define STAND_IN_RESERVED   (64ull << 20) /* of them, the context's */
#define STAND_IN_SMS        100
#define STAND_IN_COPY_START 4e-6   /* s of a copy over the host link */
#define STAND_IN_H2D        50e9   /* B/s */
#define STAND_IN_D2H        40e9   /* B/s */
#define STAND_IN_HBM        2e12   /* B/s, reads and writes together */
#define STAND_IN_KERNEL     2.5e-6 /* s of any kernel */
#define STAND_IN_WAIT       1e-6   /* s until a stream goes on after an event it waited for */
#define STAND_IN_PRODUCT    400e12 /* FLOP/s of matrix products */
#define STAND_IN_NCCL_START 10e-6  /* s of a collective */
#define STAND_IN_NCCL_LINK  100e9  /* B/s that a rank sends */

typedef enum
{
  ENGINE_KERNEL,
  ENGINE_H2D,
  ENGINE_D2H,
  ENGINE_NCCL,
  ENGINE_N,
} StandInEngine;

/* Advances STREAM's clock by SECONDS on ENGINE. */
void stand_in_run (cudaStream_t stream, StandInEngine engine, double seconds);

/* When STREAM begins what is put on it next; and moves that to SECONDS at the earliest. */
double stand_in_clock (cudaStream_t stream);
void   stand_in_wait_until (cudaStream_t stream, double seconds);

/* Is this the call of NAME that STAND_IN_FAIL names? */
bool stand_in_fails (const char *name);

/* Things that are to be released: +1, -1. */
void stand_in_count (const char *kind, int change);
