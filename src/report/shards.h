/* Reports of `shards`. */
#pragma once

#include "analysis/shards.h"
#include "report/page.h"

/* The table, the layout where there is one size, and what to do where much is padded. */
void report_shards_text (const Shards *self, GString *out);

/* A row a number of ranks and format. */
void report_shards_csv (const Shards *self, GString *out);

/* {"schema": 1, ..., "results": [the same], "layout": [...], "advice": [...]} */
void report_shards_json (const Shards *self, GString *out);

/* The answer is Shards; "padding", over several numbers of ranks, is its picture. */
extern const PageKind shards_page;
