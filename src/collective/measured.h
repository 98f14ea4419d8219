/*
 * The network as a user measured it. Of each collective that was measured over all GPUs, the scale
 * s of the network (of what cards and fabric carry) solves
 *   T (s) = S f / bus
 * where T is the predicted time of S bytes, which falls as s grows until something else binds, f
 * the ratio of bus to algorithm bandwidth, and bus what was measured. Of several the network gets
 * the geometric mean of their scales.
 */
#pragma once

#include "collective/collective.h"

/*
 * Scales the network of CLUSTER to what `measured` says of it; nothing where it says nothing.
 * OPTIONS: how the library runs. FALSE after diagnostics at MARK (may be NULL) where no network of
 * these cards does as measured: it is above their line rate, or GPUs, channels or latency alone
 * take longer, or all but nothing is left. NEAREST: then the nearest scale instead.
 */
gboolean collective_scale_to_measured (Cluster *cluster, const CollectiveOptions *options,
                                       gboolean nearest, const SourceMark *mark, DiagList *diags);
