/* `collective`: a sweep over sizes as nccl-tests prints it, and as CSV and JSON. */
#pragma once

#include "analysis/collective-sweep.h"

/*
 * The layout of nccl-tests 2.17 and later: comment lines start with '#'; size, count, type, redop,
 * root, then time, algbw, busbw and errors out of place and in place (predicted alike; N/A where it
 * has no run in place); after them the algorithm, the protocol, the channels, with neighbours the
 * time alone and that of the slowest neighbour, and what binds.
 */
void report_collective_text (const CollectiveSweep *self, GString *out);

/* Columns are only ever appended. */
void report_collective_csv (const CollectiveSweep *self, GString *out);
void report_collective_json (const CollectiveSweep *self, GString *out);
