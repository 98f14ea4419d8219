/*
 * One simulated rank of a run: run.c interprets its items, run-ops.c makes the ops that they ask for.
 */
#pragma once

#include "replay/replay-private.h"

struct _RankHost
{
  Run               *run;
  guint              rank; /* in Binding.ranks */
  const Program     *program;
  guint              period; /* 0 init, 1 first, 2 .. steady */
  guint              item;
  gboolean           paid; /* the issue time of the item has passed */
  ScheduleItems      items;
  const ProgramItem *compiled;
  OpId              *events;     /* of the section */
  guint             *issued;     /* [comms]: collectives so far */
  gboolean          *waited;     /* [streams]: waits stand behind the last op */
  guint              n_steps;    /* of the section so far */
  GArray            *boundaries; /* Boundary */
};

static inline const Binding *
host_binding (const RankHost *self)
{
  return self->run->replay->binding;
}

static inline const Schedule *
host_schedule (const RankHost *self)
{
  return self->run->replay->schedule;
}

static inline StreamId
host_stream (const RankHost *self, StreamRef stream)
{
  return self->run->ranks[self->rank].first_stream + stream;
}

static inline guint64
host_tag (const RankHost *self)
{
  return tag_new (self->period, self->rank, self->item);
}

/* Puts the op of ITEM, self->item of the section, at the end of its stream, which has room. A record is an op of no length. */
void host_submit (RankHost *self, Engine *engine, const ScheduleItem *item);
