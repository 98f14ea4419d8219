#include "op/collective-kind.h"

#include "base/suggest.h"

static const char *const kind_names[COLLECTIVE_N_KINDS] = {
  [COLLECTIVE_ALL_GATHER] = "all_gather", [COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
  [COLLECTIVE_ALL_REDUCE] = "all_reduce", [COLLECTIVE_BROADCAST] = "broadcast",
  [COLLECTIVE_REDUCE] = "reduce",         [COLLECTIVE_ALL_TO_ALL] = "all_to_all",
  [COLLECTIVE_SEND_RECV] = "send_recv",
};

const char *
collective_kind_name (CollectiveKind kind)
{
  g_assert ((guint) kind < COLLECTIVE_N_KINDS);
  return kind_names[kind];
}

CollectiveKind
collective_kind_parse (const char *name)
{
  return (CollectiveKind) name_find_loosely (kind_names, COLLECTIVE_N_KINDS, name);
}
