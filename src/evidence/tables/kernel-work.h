/*
 * What a row of a table of measured kernels (kernel-table.h) ran, as kernels of the simulator, and
 * what they take by a GPU's profile.
 *
 * A row of fp8 or nvfp4 begins with its input in bf16: fp8 per tensor finds the largest magnitude
 * and casts by it, blocks (1 x 128 of an input, 128 x 128 of a weight; nvfp4: 16) are cast in one
 * pass. Weights are cast beforehand. Attention is causal and fused; its FLOPs are those of pairs
 * within mask and window. Experts: expert-work.h.
 */
#pragma once

#include "cost/kernel/kernel.h"
#include "evidence/tables/kernel-table.h"

/* A GPU as it is in a short measurement. */
typedef struct _KernelBench KernelBench;

/* GPU must outlive it. */
KernelBench *kernel_bench_new (const GpuProfile *gpu);
void         kernel_bench_free (KernelBench *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (KernelBench, kernel_bench_free)

/*
 * Seconds of ROW on the GPU of SELF. Products that are launched one after another in a CUDA graph,
 * as the tables' are, start with its graph_latency; casts are launched by themselves. Unless CASTS
 * is NULL, *CASTS is the part of them. NAN where the row cannot be predicted, with *REASON (static,
 * or interned) set.
 */
double kernel_bench_seconds (const KernelBench *self, const KernelRow *row, double *casts,
                             const char **reason);

/* Attention whose products are of fp8: with a cache of it they are, whatever the queries' type. */
gboolean kernel_row_is_fp8_attention (const KernelRow *row);

/* The product of a row of products; FALSE where its type has no kernel of training. */
gboolean kernel_row_product (const KernelRow *row, KernelDesc *product);
