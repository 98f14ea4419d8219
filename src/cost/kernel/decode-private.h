/*
 * Decoding attention over a cache.
 *
 * Set: B blocks, one for each key-value head of a sequence, on S SMs, each of which takes c for
 * what no bandwidth buys (its page table, softmax, its output); the cache's bytes at the rate of
 * memory. Computed: start + both together, c max (1, B / S) and bytes / rate. Where there are fewer
 * blocks than SMs, long sequences are cut, and a further kernel adds the parts up.
 */
#pragma once

#include "cost/kernel/kernel.h"

/* Of a KERNEL_DECODE: COST has its FLOPs and bytes, and gets the rest. */
void kernel_decode_cost (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost);
