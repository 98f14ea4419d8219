/*
 * What a kernel costs on a GPU: service demands on its SMs and its HBM. The roofline with tile and
 * wave quantization: a matrix product runs ceil (m / tile_m) * ceil (n / tile_n) * batch thread
 * blocks, each k deep, in whole waves over the SMs that are left to it; streaming kernels move
 * their bytes at the profile's efficiency.
 */
#pragma once

#include "hardware/cluster/cluster.h"
#include "model/step/workload.h"

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
  double in_turn;      /* of them, those that follow one another on the GPU */
} KernelCost;

/* Never fails. SPEED scales the GPU's SMs and HBM (cluster_gpu_speed). */
void kernel_cost (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost);

/* A GPU with its measured matrix products (MatmulPoint), where its profile has any. */
typedef struct _KernelModel KernelModel;

/* GPU must outlive the result. */
KernelModel *kernel_model_new (const GpuProfile *gpu);
/* The same: what follows from the measured products is made once for all that read from FILES. */
KernelModel *kernel_model_new_shared (const GpuProfile *gpu, InputFiles *files);
void         kernel_model_free (KernelModel *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (KernelModel, kernel_model_free)

/*
 * kernel_cost, with matrix products (their start-up included) corrected by what measured ones of
 * like size take against kernel_cost: the mean of the logarithms of those ratios, weighted by exp
 * (- distance^2 / 2), the distance in powers of two of batch, m, n and k, together with a ratio of
 * 1 of weight 0.3. A product between measured ones is close to them, one far from all is as
 * kernel_cost says.
 */
void kernel_model_cost (KernelModel *self, const KernelDesc *kernel, KernelCost *cost);
