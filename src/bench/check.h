/*
 * Does the device compute what it should? What the runner times (products, fused attention, a
 * layer's passes, streaming and strided kernels) on small data against arithmetic in double on the
 * host. A kernel that does something else would be timed all the same.
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/cuda.h"

/* Each says what it has checked and returns false after a message: something failed or is wrong. */
bool check_products (const Bench *bench);
bool check_attention (const Bench *bench);
bool check_layer (const Bench *bench);
bool check_streams (const Bench *bench);
bool check_strided_copy (const Bench *bench);
bool check_codecs (const Bench *bench);

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
