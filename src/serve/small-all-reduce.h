/*
 * All-reduce of small messages by one kernel between the GPUs of a node, as serving engines have it
 * (vLLM's custom_all_reduce, TensorRT-LLM's one-shot and two-shot).
 *
 * Set: n ranks, S bytes, the time g (x) that the links take to bring each rank x bytes of all. One
 * shot: each rank waits for all others' flags, reads what they have, and adds it up: g (n S). Two
 * shots: each adds up its n-th part, waits again, and reads the others' parts: 2 g (S). A flag
 * travels while nothing else does: FLAG seconds for each wait.
 */
#pragma once

#include "cost/collective/library/collective.h"
#include "serve/generation-options.h"

/*
 * Seconds of BYTES by SHOT (one or two shots), of which GATHER plans the all-gather over the ranks.
 * START: of a kernel.
 */
double small_all_reduce_seconds (ServeAllReduce shot, CollectivePlan *gather, double bytes,
                                 double start);
