/* What a search found: formatting only. */
#pragma once

#include "decide/search/search.h"
#include "report/document/page.h"

/*
 * The best ones in a table, the winner's options, the Pareto front, near misses, what was cut; an
 * answer of kind search_page. CSV has the columns of report_csv, JSON report_json's results with
 * what the search says.
 */
typedef struct
{
  const SearchResult  *result;
  const SearchOptions *options; /* NULL: nobody reads words */
  const Replay        *replay;  /* of the best, which kept its pools; NULL: there is none */
  const char          *command; /* that simulates the best; NULL: there is none */
} SearchAnswer;

extern const PageKind search_page;
