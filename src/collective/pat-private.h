/*
 * PAT (parallel aggregated trees): all-gather and reduce-scatter in log2 N steps over one rank a
 * node. Each rank's part goes down a binomial tree, the farthest rank first: rank x hands it on to
 * x + d with d halved from step to step, so that few bytes go far and many go near; (N-1)/N S a
 * rank in all. A reduction takes the same edges the other way. (Jeaugey, "PAT: a new algorithm for
 * all-gather and reduce-scatter operations at scale", arXiv:2506.20252; NCCL 2.23.)
 */
#pragma once

#include "collective/ring-private.h"

/* Parts of N that a rank sends over DISTANCE, a power of two below N: its odd multiples below N. */
guint pat_parts (guint distance, guint n);

void pat_lay (const LayContext *context, const Members *members, CollectiveKind kind);
