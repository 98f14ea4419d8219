/*
 * The network as a user measured it. Of each collective that was measured over all GPUs, the scale
 * s of the network (of what cards and fabric carry) solves
 *   T (s) = S f / bus
 * where T is the predicted time of S bytes, which falls as s grows until something else binds, f
 * the ratio of bus to algorithm bandwidth, and bus what was measured. Of several the network gets
 * the geometric mean of their scales.
 *
 * Where no network takes as little time, because something else holds it, s is the smallest one of
 * at least 1 at which T is within a thousandth of its least: what is raised further is in vain.
 */
#pragma once

#include "cost/collective/library/collective.h"

/*
 * Scales the network of CLUSTER to what `measured` says of it; nothing where it says nothing.
 * OPTIONS: how the library runs. FALSE after errors at MARK (may be NULL) where it is above
 * collective_bus_limit, or all but nothing of the network is left. A warning where it is out of
 * reach for what else takes time: channels, the node's inside, latency. NEAREST: neither, but the
 * nearest scale.
 */
gboolean collective_scale_to_measured (Cluster *cluster, const CollectiveOptions *options,
                                       gboolean nearest, const SourceMark *mark, DiagList *diags);
