/*
 * The kernels of a step against what their GPU can do: what each of them computes a second when it
 * has the GPU to itself, over what it computes for a byte of GPU memory.
 */
#pragma once

#include "replay/run/replay.h"

/* All kernels of one name, of the last period of a rank. */
typedef struct
{
  const char *name; /* "mlp.up": lives as long as the replay's plan */
  KernelKind  kind;
  Dtype       dtype;
  guint       count;
  double      flops, bytes; /* nominal, in all */
  double      seconds;      /* in all, one at a time with nothing else on the GPU */
} RooflineKernel;

typedef struct
{
  char   *gpu;              /* its id */
  double  flops, fp8_flops; /* FLOP/s of 16-bit products, datasheet; of fp8, where kernels use it */
  double  bandwidth;        /* B/s of its memory, datasheet */
  GArray *kernels;          /* RooflineKernel, the one that takes longest first */
} Roofline;

/* Of simulated rank 0. */
Roofline *roofline_new (const Replay *replay);
void      roofline_free (Roofline *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Roofline, roofline_free)
