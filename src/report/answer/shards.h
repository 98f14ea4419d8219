/*
 * `shards`: the table, what to do where much is padded, and the layout where there is one size. The
 * answer is Shards; "padding", over several numbers of ranks, is its picture. CSV has a row a
 * number of ranks and format, JSON {"results": [the same], "layout": [...], "advice": [...]}.
 */
#pragma once

#include "decide/parts/shards.h"
#include "report/document/page.h"

extern const PageKind shards_page;
