/* `collective`: a sweep over sizes as nccl-tests prints it, and as CSV and JSON. */
#pragma once

#include "analysis/collective-sweep.h"

/*
 * nccl-tests' own layout: comment lines start with '#'; size, count, type, redop, root, then time,
 * algbw, busbw and errors out of place and in place (predicted alike); after them the algorithm, the
 * protocol, the channels and what binds.
 */
void report_collective_text (const CollectiveSweep *self, GString *out);
void report_collective_csv (const CollectiveSweep *self, GString *out);
void report_collective_json (const CollectiveSweep *self, GString *out);
