/*
 * The pace of many GPUs that wait for one another.
 *
 * GPUs of one kind differ from each other for good (binning, power management): the profile's
 * figure `jitter` is the coefficient of variation of their speeds. Ranks that synchronise every
 * step, however often within it, go at the pace of the slowest, so kernels take
 *   1 + jitter * (M (n) - M (g))
 * times as long, where n is the number of GPUs, g that of a node, and M (n) the largest of n
 * standard normal deviates: expected, or drawn once. It counts from a node because the kernel model
 * is calibrated on runs of one, whose slowest GPU is in its figures. Collectives that overlap
 * kernels hide nothing of it, because what is late is the kernels; nor does it add up over
 * synchronisations, because the slowest GPU is the same one each time. Kernel latency and the host
 * keep their time.
 */
#pragma once

#include "hardware/cluster/cluster.h"
#include "scenario/replay-config.h"

/* Mean of the largest of N standard normal deviates, n >= 1; by integration to 1e-9. */
double skew_expected_maximum (guint n);

/* One draw of it: the same for the same N and SEED. */
double skew_sampled_maximum (guint n, guint64 seed);

/* How much longer kernels take on a GPU of CLUSTER; 1 on one node or without `jitter`. */
double skew_factor (const Cluster *cluster, const ReplayConfig *config, const GpuProfile *gpu);
