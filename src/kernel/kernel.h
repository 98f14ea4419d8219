/*
 * What a kernel costs on a GPU: service demands on its SMs and its HBM. The roofline with tile and
 * wave quantization: a matrix product runs ceil (m / tile_m) * ceil (n / tile_n) * batch thread
 * blocks, each k deep, in whole waves over the SMs that are left to it; streaming kernels move
 * their bytes at the profile's efficiency.
 */
#pragma once

#include "cluster/cluster.h"
#include "workload/workload.h"

typedef struct
{
  double flops, bytes; /* nominal */
  double wave_units;   /* thread blocks; 0 = no wave quantization */
  double wave_seconds; /* of one thread block on one SM */
  double sm_seconds;   /* SM-seconds of kernels without waves */
  double hbm_bytes;    /* service: nominal over efficiency */
  double latency;      /* s: start-up and tail on the device, times the launches */
  double alone;        /* s: stand-alone duration with all SMs, latency included */
  guint  launches;     /* for the host's issue cost */
} KernelCost;

/* Never fails. SPEED scales the GPU's SMs and HBM (cluster_gpu_speed). */
void kernel_cost (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost);
