#include "vocabulary/collective-algorithm.h"

#include "base/config/suggest.h"

const char *const collective_algorithm_words[] = { "auto", COLLECTIVE_ALGORITHM_LIST NULL };
G_STATIC_ASSERT (G_N_ELEMENTS (collective_algorithm_words) == ALGORITHM_N + 2);

const char *const collective_protocol_words[] = { "auto", "ll", "ll128", "simple", NULL };
G_STATIC_ASSERT (G_N_ELEMENTS (collective_protocol_words) == PROTOCOL_N + 2);

const char *
collective_algorithm_name (CollectiveAlgorithm algorithm)
{
  g_assert ((guint) algorithm < ALGORITHM_N);
  return COLLECTIVE_ALGORITHM_NAMES[algorithm];
}

CollectiveAlgorithm
collective_algorithm_parse (const char *name)
{
  return (CollectiveAlgorithm) name_find_loosely (COLLECTIVE_ALGORITHM_NAMES, ALGORITHM_N, name);
}

const char *
collective_protocol_name (CollectiveProtocol protocol)
{
  g_assert ((guint) protocol < PROTOCOL_N);
  return COLLECTIVE_PROTOCOL_NAMES[protocol];
}

CollectiveProtocol
collective_protocol_parse (const char *name)
{
  return (CollectiveProtocol) name_find_loosely (COLLECTIVE_PROTOCOL_NAMES, PROTOCOL_N, name);
}
