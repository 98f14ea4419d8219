/*
 * What the host's cores do to memory when states are offloaded: AdamW, a loop of one thread over
 * its part of the arrays, four values at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Four floats, as vector instructions have them (gcc and clang). */
typedef float    HostFloats __attribute__ ((vector_size (16)));
typedef uint16_t HostHalves __attribute__ ((vector_size (8)));

/* Of one length; from malloc or mmap, so aligned. */
typedef struct
{
  HostFloats *parameter, *moment1, *moment2, *gradient;
  HostHalves *copy; /* bf16 */
} HostArrays;

/*
 * AdamW over N fours of elements, STEP counted from 1: 16 bytes an element are read and 12 written,
 * and 2 of the parameter in bf16, rounded to nearest even.
 */
void host_kernel_adam (const HostArrays *arrays, size_t n, unsigned step);
