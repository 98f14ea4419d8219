/* What the streams did in a step, as boxes for a picture. */
#pragma once

#include "report/trace/timeline-boxes.h"

/*
 * Appends {"length_s": of what there is, "period_s", "n_steps": of the period, "from_s", "to_s",
 * "ranks": ["rank 0, stage 0 of 4"], "n_left_out": simulated ranks that are not among them,
 * "lanes": [{"name": "compute", "rank": 0}], "parts": ["compute"], "labels": ["mlp.up block 3"],
 * "bindings": ["sm"], "phases": ["forward"], "boxes": [[lane, begin_s, duration_s, label, part,
 * binding, slices, phase]]}: the boxes of WINDOW, whose numbers are places in the lists; a binding
 * or phase of -1 is none. Lanes without a box are left out.
 */
void report_timeline_json (const Timeline *self, const TimelineWindow *window, GString *out);
