/*
 * Kernels at the times that were measured: those of a layer and phase that a table of measured
 * kernels has are scaled by one factor, so that the sum of their stand-alone times is the measured
 * one; their shares of SMs and HBM stay. So are the optimizer's kernels, each to measured time a
 * byte times its bytes. What the strategy launches itself (casts, copies into buckets, codecs) is
 * not the model's, and keeps the kernel model's times.
 */
#pragma once

#include "cost/kernel/kernel.h"
#include "model/layer/measured-kernels.h"

typedef struct _MeasuredTimes MeasuredTimes;

/* All three must outlive the result. TABLE NULL: nothing is measured. */
MeasuredTimes *measured_times_new (KernelModel *model, const Workload *workload,
                                   const MeasuredKernels *table);
void           measured_times_free (MeasuredTimes *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MeasuredTimes, measured_times_free)

/*
 * kernel_model_cost with what was measured. KERNEL: the workload's own, by its address, or another.
 * OPTIMIZER: it is one of the optimizer's.
 */
void measured_times_cost (const MeasuredTimes *self, const KernelDesc *kernel, gboolean optimizer,
                          KernelCost *cost);

/* What the kernels of LAYER in PHASE take alone by MODEL, s: a measured time is held against it. */
double measured_times_modelled (KernelModel *model, const LayerDesc *layer, MeasuredPhase phase);
