/*
 * A timeline of replays for chrome://tracing and ui.perfetto.dev (the JSON trace event format).
 *
 * A process is one simulated rank of one scenario (its name says the pipeline stage), or a node; a
 * thread is one of the rank's streams ("pipeline (2)": what overlaps the ops on "pipeline"), its
 * issuing thread (blocked times only), or its steps: a slice a step, a mark where each micro-step
 * begins. Per op that takes time: a complete event with what held it back (of a collective also how
 * the library ran it), and a flow arrow from the op of another stream that it waited for. Counters:
 * memory by category; of a rank "SM in use (%)", "HBM in use (%)", "NVLink out (GB/s)" and "in"; of
 * a node its cards ("nic0.tx (GB/s)") and direct links. They change where what they count does, and
 * end at 0. Times are in microseconds from the start of the last but one period; the last two
 * periods are written.
 */
#pragma once

#include "predict/prediction.h"

/*
 * Events in one file, about 120 MB of text (an op counts as three, for its arrows). Each replay has
 * an equal part; its ranks are left out from the last one on, then its first rank's latest ops,
 * when they exceed it, and an event says so.
 */
#define REPORT_TRACE_MAX_EVENTS 1100000

/*
 * Writes REPLAYS to FILE by way of a temporary file beside it: FILE is complete or untouched, and
 * nothing else is left over. Where FILE is a symbolic link this holds for what it leads to. A
 * device, a pipe, or this process's standard output or error is written to as it is. FALSE with
 * ERROR set when it cannot be written. Memory appears when the replays kept their pools
 * (ReplayOptions.keep_pools).
 */
gboolean report_trace_write (const Replay *const *replays, guint n, const char *file,
                             GError **error);
