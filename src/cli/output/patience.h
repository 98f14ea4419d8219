/*
 * Work that ends early with what it has: at --time-limit, and at the first SIGINT or SIGTERM, of
 * which a second one ends the program. What commands with COMMON_TIME share.
 *
 * A partial result says so in its own format, on its page, and (of CSV and JSON) on stderr. The
 * exit status is that of the result at a time limit, and 128 + the signal's number after a signal.
 */
#pragma once

#include "base/stop.h"
#include "cli/output/progress.h"
#include "cli/output/stream.h"

typedef struct _Patience Patience;

/* SECONDS from now on; 0: as long as it takes. */
Patience *patience_new (double seconds);
void      patience_free (Patience *self);

/* What the work asks (PredictOptions.replay.stop); NULL: SELF is. */
Stop *patience_stop (const Patience *self);

/* From now on a signal is told to the work; SELF may be NULL: nothing ends early then. */
void patience_open (Patience *self);

/* The same, and its progress is shown as progress_start says. */
Progress *patience_begin (Patience *self, const char *work, const char *unit);

/* Wipes the line; what was cut first is what the result says. */
void patience_end (Patience *self, Progress *progress);

/* The work is over: a signal ends the program again. */
void patience_close (Patience *self);

/* What was cut was a part of WORK: "searching 8 x dgx-h100". */
void patience_name (Patience *self, const char *work);

/* So many of so many were done, which tells more than the work's own count. */
void patience_count (Patience *self, guint64 done, guint64 todo);

/* What was left out; its reason is NULL where nothing was. SELF may be NULL. */
const Partial *patience_partial (const Patience *self);

/* STATUS of the result, unless a signal ended the work. */
ExitStatus patience_status (const Patience *self, ExitStatus status);
