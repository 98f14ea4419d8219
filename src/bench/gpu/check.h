/*
 * Does the device compute what it should? Products, fused attention and attention over a cache, on
 * small data, against arithmetic in double on the host. A kernel that does something else would be
 * timed all the same.
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/gpu/cuda.h"

/* FALSE after a message: something failed or is wrong. */
bool check_attention (const Bench *bench);
bool check_decode_attention (const Bench *bench);

/* The value of DTYPE whose bytes are at IN; what is infinite or no number there is NAN. */
double check_decode (const char *dtype, const unsigned char *in);

/* N values of DTYPE ("fp32", "bf16", "fp16", "fp8") at DEVICE. */
bool check_read (const Bench *bench, const void *device, const char *dtype, size_t n,
                 double *values);

/*
 * Root mean square of what GOT is off, over that of WANT, against BOUND: a note or an error about
 * WHAT.
 */
bool check_close (const Bench *bench, const char *what, const double *want, const double *got,
                  size_t n, double bound);

#endif
