/*
 * What the files of the trace share: trace-event.c makes one event, trace.c those of ops, hosts and
 * memory, trace-causes.c what held an op back, trace-lanes.c the threads of ops that overlap,
 * trace-steps.c the marks of steps, trace-use.c the counters of what is taken of resources,
 * trace-file.c the file.
 */
#pragma once

#include <json-c/json.h>
#include <stdio.h>

#include "report/trace/trace.h"

#define TID_STEPS        1
#define TID_HOST         2
#define TID_FIRST_STREAM 3

/* What is written of one replay. */
typedef struct
{
  FILE         *out;
  const Replay *replay;
  const Engine *engine;
  const char   *name;      /* of the scenario */
  guint         first_pid; /* of simulated rank 0; nodes follow the ranks */
  guint         n_ranks;   /* that are shown */
  guint         budget;    /* events of rank 0 */
  SimTime       start, end;
  SimTime       cut;   /* counters end here: `end`, or where the latest ops were left out */
  guint        *lanes; /* of each op: which of the threads of its stream shows it */
  gboolean     *comma;
  guint64      *next_flow;
} Track;

/* ---- one event (trace-event.c): json-c objects that trace_event_write takes ------------------ */

struct json_object *trace_event_new (const char *phase, const char *name, guint pid, guint tid);
void                trace_add_text (struct json_object *object, const char *key, const char *text);
void                trace_add_int (struct json_object *object, const char *key, guint64 value);
void                trace_add_time (struct json_object *object, const char *key, SimTime time);
void                trace_event_write (const Track *track, struct json_object *event);

/* The name NAME, or where that is NULL the place SORT, of a process or thread. */
void  trace_write_metadata (const Track *track, const char *what, guint pid, guint tid,
                            const char *name, guint64 sort);
void  trace_write_process (const Track *track, guint pid, const char *name);
guint trace_rank_pid (const Track *track, guint rank);
guint trace_node_pid (const Track *track, guint node);

/* Whether an op is a slice: it begins in the window and takes time. */
gboolean trace_shows (const Track *track, const OpRecord *record);

/* Every simulated rank that takes part in an op and is shown: newly allocated. */
GArray *trace_members (const Track *track, OpId id);

/* ---- parts ----------------------------------------------------------------------------------- */

/*
 * Ops of one stream may overlap: the messages of a group call do. Viewers show what overlaps on one
 * thread wrongly or not at all, so a stream has as many threads, lanes, as it needs. An op is on
 * the first lane that is free on all its ranks.
 *
 * Sets TRACK's lanes, newly allocated, and returns how many each stream S of each shown rank R has:
 * element R * streams + S.
 */
guint *trace_find_lanes (Track *track);
/* The thread of an op, and of lane LANE of stream S. */
guint trace_op_tid (const Track *track, OpId id);
guint trace_lane_tid (const Track *track, StreamRef s, guint lane);

/* A cause and how long it held an op back. */
typedef struct
{
  const char *name; /* "nic.tx", "channels"; static */
  SimTime     time;
} TraceCause;

/* What held the op back while it ran, in order of first occurrence: newly allocated. */
GArray *trace_causes (const Track *track, const OpRecord *record);
/* The one that did for longest; NULL: the op took no time. */
const char *trace_binding (const Track *track, const OpRecord *record);

/* Slices of the steps and marks of the micro-steps of every rank that is shown. */
void trace_write_steps (const Track *track);

/* Counters of SMs, HBM and NVLink by rank, and of cards by node; the processes of nodes. */
void trace_write_use (const Track *track);
/*
 * Adds the number of such events of each simulated rank to COUNTS; those of nodes to the first
 * one's.
 */
void trace_use_count (const Track *track, guint64 *counts);

/* The whole document. Errors of the stream are found when it is closed. */
void trace_write_document (FILE *out, const Replay *const *replays, guint n);
