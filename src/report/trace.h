/*
 * A timeline of replays for chrome://tracing and ui.perfetto.dev (the JSON trace event format).
 *
 * A process is one simulated rank of one scenario, or a node's host memory; a thread is one of the rank's streams, or its issuing
 * thread (blocked times only). Per op: a complete event with what held it back (of a collective also how the library ran it), and a
 * flow arrow from the op of another stream that it waited for. Per memory category: a counter. Times are in microseconds from the start of the last but one period; the last
 * two periods are written.
 */
#pragma once

#include "analysis/prediction.h"

/*
 * Events in one file, about 120 MB of text. Each replay has an equal part; its ranks are left out from the last one on, then its
 * first rank's latest ops, when they exceed it, and an event says so.
 */
#define REPORT_TRACE_MAX_EVENTS 600000

/*
 * Writes REPLAYS to FILE by way of a temporary file beside it: FILE is complete or untouched, and
 * nothing else is left over. Where FILE is a symbolic link this holds for what it leads to. A
 * device, a pipe, or this process's standard output or error is written to as it is. FALSE with
 * ERROR set when it cannot be written. Memory appears when the replays kept their pools
 * (ReplayOptions.keep_pools).
 */
gboolean report_trace_write (const Replay *const *replays, guint n, const char *file, GError **error);
