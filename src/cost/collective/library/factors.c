#include "cost/collective/library/factors-private.h"

double
collective_wire_factor (CollectiveKind kind, guint n_ranks)
{
  double share = n_ranks > 1 ? (n_ranks - 1.0) / n_ranks : 0;

  if (kind == COLLECTIVE_SEND_RECV)
    return n_ranks > 1;
  return collective_kind_rounds (kind) * share;
}

double
collective_bus_factor (CollectiveKind kind, guint n_ranks)
{
  if (collective_kind_is_rooted (kind) || kind == COLLECTIVE_SEND_RECV)
    return 1;
  return collective_wire_factor (kind, n_ranks);
}

guint
collective_ring_steps (CollectiveKind kind, guint n_ranks)
{
  return collective_kind_rounds (kind) * (n_ranks - 1);
}

double
collective_passed_on (CollectiveKind kind, guint n_ranks)
{
  return collective_kind_is_rooted (kind) ? 1 : collective_wire_factor (kind, n_ranks);
}
