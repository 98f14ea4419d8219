/* What a kind sends, by arithmetic alone. */
#pragma once

#include "cost/collective/library/collective.h"

/* Steps of a ring: 2(n-1) for all-reduce, n-1 otherwise. */
guint collective_ring_steps (CollectiveKind kind, guint n_ranks);

/*
 * Bytes that a rank passes on, per byte of S: the whole buffer where it comes from one rank, or
 * goes to one; elsewhere collective_wire_factor.
 */
double collective_passed_on (CollectiveKind kind, guint n_ranks);
