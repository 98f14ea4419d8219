/* The answer of `shardsim search` on a scenario of reinforcement learning. */
#pragma once

#include "decide/search/rl-search.h"
#include "report/document/page.h"

typedef struct
{
  const RlSearchResult *result;
  const char           *command; /* that simulates the best; NULL: its options are enough */
} RlSearchAnswer;

/*
 * An RlSearchAnswer. CSV has a row for each step that was found, JSON {"results": [...], "search":
 * {...}}, whose `scenario` is the best as YAML.
 */
extern const PageKind rl_search_answer;
