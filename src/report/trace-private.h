/*
 * What the files of the trace share: trace.c makes the events, trace-file.c the file.
 */
#pragma once

#include <stdio.h>

#include "report/trace.h"

/* The whole document. Errors of the stream are found when it is closed. */
void trace_write_document (FILE *out, const Replay *const *replays, guint n);
