/* Numbers of ranks that share parameters, as somebody says them. */
#pragma once

#include "base/config/diag.h"

/*
 * "8,16,96"; "8..1024" doubles; "8..64+8" goes by a step, "3..81*3" by a ratio; all of it with
 * commas between. Ascending, each once: a newly allocated array of guint. Diagnostics are at MARK.
 */
GArray *shard_ranks_parse (const char *text, const SourceMark *mark, DiagList *diags);
