/*
 * PAT (parallel aggregated trees): all-gather and reduce-scatter in log2 N steps over one rank a
 * node; in the step of distance d a rank sends min (d, N - d) of N parts, (N-1)/N S in all.
 * (NCCL 2.23, src/graph/tuning.cc; Bruck et al. for the steps.)
 */
#pragma once

#include "collective/ring-private.h"

void pat_lay (const LayContext *context, const Members *members);
