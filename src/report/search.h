/* What a search found: formatting only. */
#pragma once

#include "analysis/search.h"
#include "report/page.h"

/* The best ones in a table, the winner's options, the Pareto front, near misses, what was cut. */
void report_search_text (const SearchResult *result, const SearchOptions *options, GString *out);

/* The configurations found, in the columns of report_csv. */
void report_search_csv (const SearchResult *result, GString *out);

/* A search as a page and as pictures: an answer of kind search_page. */
typedef struct
{
  const SearchResult *result;
  const Replay       *replay;  /* of the best, which kept its pools; NULL: there is none */
  const char         *command; /* that simulates the best; NULL: there is none */
} SearchAnswer;

extern const PageKind search_page;

/* {"schema": 1, "results": [...], "search": {...}}: report_json's with what the search says. */
void report_search_json (const SearchResult *result, GString *out);
