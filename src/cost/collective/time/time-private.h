/*
 * What an operation of S bytes takes, as the GPUs run it: the algorithm's layout says what it puts
 * on the links, this adds launch, hops, pipeline fill, and what the channels can carry.
 *
 *   time = latency + max (S / rate_cap, S x max (service x service_scale / capacity))
 *   ring    latency = launch + base + (T - I) x hop_intra + I x hop_net, less what slower edges
 *           hide
 *   tree    latency = launch + base + 2 ((p-1) x hop_intra + ceil (log2 N) x hop_net) + fill
 *   fill    the first chunk passes the stages one after another (docs/collectives.md)
 *
 * Hops, rates and efficiencies are the link profiles', calibrated a family at a time; where a
 * profile has none, NCCL's tables stand in.
 */
#pragma once

#include "cost/collective/layout/layout-private.h"
#include "cost/collective/library/choose-private.h"
#include "cost/collective/steps/steps.h"

/* Fills all of COST but loads. LAYOUT: of the choice's algorithm. */
void collective_time (const CollectiveGraph *graph, CollectiveKind kind, CollectiveChoice choice,
                      double bytes, const CollectiveOptions *options,
                      const CollectiveLayout *layout, CollectiveCost *cost);

/* COST: what collective_time said. */
void collective_time_steps (const CollectiveGraph *graph, CollectiveKind kind,
                            const Algorithm *algorithm, double bytes,
                            const CollectiveLayout *layout, const CollectiveCost *cost,
                            StepParameters *parameters);

/*
 * What no run of the operation goes below, s, whatever overlaps in it. COST: what collective_time
 * said.
 */
double collective_time_bound (const CollectiveGraph *graph, CollectiveKind kind,
                              const Algorithm *algorithm, double bytes,
                              const CollectiveLayout *layout, const CollectiveCost *cost);
