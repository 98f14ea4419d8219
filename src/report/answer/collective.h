/* `collective`: a sweep over sizes as nccl-tests prints it, and as CSV and JSON. */
#pragma once

#include "predict/collective-sweep.h"
#include "report/document/page.h"

/*
 * The answer is a CollectiveSweep; no page of it is made.
 *
 * Its text has the layout of nccl-tests 2.17 and later: comment lines start with '#'; size, count,
 * type, redop, root, then time, algbw, busbw and errors out of place and in place (predicted alike;
 * N/A where it has no run in place); after them the algorithm, the protocol, the channels, with
 * neighbours the time alone and that of the slowest neighbour, and what binds. Columns of CSV are
 * only ever appended.
 */
extern const PageKind collective_answer;
