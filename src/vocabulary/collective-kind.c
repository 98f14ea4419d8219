#include "vocabulary/collective-kind.h"

#include "base/config/suggest.h"

typedef struct
{
  gboolean rooted, paired, sums;
  guint    rounds;
} KindTraits;

const char *const collective_kind_names[COLLECTIVE_N_KINDS + 1] = {
  [COLLECTIVE_ALL_GATHER] = "all_gather", [COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
  [COLLECTIVE_ALL_REDUCE] = "all_reduce", [COLLECTIVE_BROADCAST] = "broadcast",
  [COLLECTIVE_REDUCE] = "reduce",         [COLLECTIVE_ALL_TO_ALL] = "all_to_all",
  [COLLECTIVE_SEND_RECV] = "send_recv",
};

static const KindTraits traits[COLLECTIVE_N_KINDS] = {
  [COLLECTIVE_ALL_GATHER] = { .rounds = 1 },
  [COLLECTIVE_REDUCE_SCATTER] = { .sums = TRUE, .rounds = 1 },
  [COLLECTIVE_ALL_REDUCE] = { .sums = TRUE, .rounds = 2 },
  [COLLECTIVE_BROADCAST] = { .rooted = TRUE, .rounds = 1 },
  [COLLECTIVE_REDUCE] = { .rooted = TRUE, .sums = TRUE, .rounds = 1 },
  [COLLECTIVE_ALL_TO_ALL] = { .paired = TRUE, .rounds = 1 },
  [COLLECTIVE_SEND_RECV] = { .paired = TRUE, .rounds = 1 },
};

const char *
collective_kind_name (CollectiveKind kind)
{
  g_assert ((guint) kind < COLLECTIVE_N_KINDS);
  return collective_kind_names[kind];
}

CollectiveKind
collective_kind_parse (const char *name)
{
  return (CollectiveKind) name_find_loosely (collective_kind_names, COLLECTIVE_N_KINDS, name);
}

gboolean
collective_kind_is_rooted (CollectiveKind kind)
{
  return traits[kind].rooted;
}

gboolean
collective_kind_is_paired (CollectiveKind kind)
{
  return traits[kind].paired;
}

gboolean
collective_kind_sums (CollectiveKind kind)
{
  return traits[kind].sums;
}

guint
collective_kind_rounds (CollectiveKind kind)
{
  return traits[kind].rounds;
}
