/*
 * One simulated rank of a run: run.c interprets its items, run-ops.c makes the ops that they ask
 * for.
 */
#pragma once

#include "replay/run/replay-private.h"

/* CUDA's queue holds about a thousand launches a stream; then the launching thread blocks. */
#define STREAM_DEPTH 1024

/* What a stream's launch queue holds: ops, and the launches up to each. */
typedef struct
{
  OpId    ops[STREAM_DEPTH]; /* a ring */
  guint64 upto[STREAM_DEPTH];
  guint   head, n;
  guint64 launched, done;
} LaunchQueue;

/* What has been done of the current item. */
typedef enum
{
  STAGE_NOTHING,
  STAGE_EARLY, /* the time before its group has passed */
  STAGE_GROUP, /* its group has been submitted */
  STAGE_PAID,  /* the issue time has passed */
} ItemStage;

struct _RankHost
{
  Run               *run;
  guint              rank; /* in Binding.ranks */
  const Program     *program;
  guint              period; /* 0 init, 1 first, 2 .. steady */
  guint              item;
  ItemStage          stage;
  ScheduleItems      items;
  const ProgramItem *compiled;
  OpId              *events;          /* of the section */
  OpId              *carried;         /* [slots]: what crosses the ends of sections */
  HeapRequest       *requests;        /* [buffers] */
  guint             *issued;          /* [comms]: collectives so far */
  guint             *turns;           /* [ends of the rank]: messages so far */
  guint              call;            /* messages of the current group call so far */
  guint              ways[MESSAGE_N]; /* of them, by direction */
  OpId               before;          /* what the stream held before the call */
  LaunchQueue       *queues;          /* [streams] */
  gboolean          *waited;          /* [streams]: waits stand behind the last op */
  guint              n_steps;         /* of the section so far */
  GArray            *boundaries;      /* Boundary: ends of periods */
  GArray            *steps;      /* Boundary: ends of the last period's steps; NULL: not kept */
  GArray            *micros;     /* MicroMark: of the last period; NULL: not kept */
  guint              next_micro; /* item where the next one begins; REPLAY_NONE: there is none */
};

static inline const Binding *
host_binding (const RankHost *self)
{
  return self->run->bound->binding;
}

static inline const Schedule *
host_schedule (const RankHost *self)
{
  return self->run->bound->schedule;
}

static inline StreamId
host_stream (const RankHost *self, StreamRef stream)
{
  return self->run->ranks[self->rank].first_stream + stream;
}

/* Streams of a rank: the schedule's, and lanes for a group call's messages behind its first. */
static inline guint
host_n_streams (const RankHost *self)
{
  return schedule_n_streams (host_schedule (self)) * MAX (self->program->max_call, 1);
}

static inline guint
host_n_carried (const RankHost *self)
{
  return schedule_n_carried (host_schedule (self), self->program->role);
}

/* Ops that a boundary keeps. */
static inline guint
host_n_lasts (const RankHost *self)
{
  return host_n_streams (self) + host_n_carried (self);
}

static inline StreamId
host_lane (const RankHost *self, StreamRef stream, guint message)
{
  guint n = schedule_n_streams (host_schedule (self));

  return host_stream (self, stream) + message * n;
}

static inline guint64
host_tag (const RankHost *self)
{
  return tag_new (self->period, self->rank, self->item);
}

/* ENGINE_NONE when STREAM takes N more launches, else the op whose end makes room. */
OpId host_room (RankHost *self, const Engine *engine, StreamRef stream, guint n);

/* Puts GROUP at the end of its stream, which has room. */
void host_submit_group (RankHost *self, Engine *engine, const FusedGroup *group);

/*
 * Puts the op of ITEM, self->item of the section, at the end of its stream, which has room. A
 * record is an op of no length.
 */
void host_submit (RankHost *self, Engine *engine, const ScheduleItem *item);

/*
 * Puts a message of a group call on its lane, and whatever follows on the stream behind it. The
 * first lane is the stream itself.
 */
void host_submit_message (RankHost *self, Engine *engine, const ScheduleItem *item);

/* An op of no length at the end of STREAM. */
void host_submit_marker (RankHost *self, Engine *engine, StreamRef stream);

/* A section begins: none of its micro-batches has. */
void host_open_micros (RankHost *self);

/* The host is where one of them begins, of which it keeps the state. */
void host_mark_micro (RankHost *self, Engine *engine);
