/*
 * What the streams of some ranks did in the last period of a replay, and what filled the memory of
 * their first one meanwhile: the data of the pictures and pages that show it.
 */
#pragma once

#include "predict/prediction.h"

/* A row: a stream, a lane of one whose ops overlap, or the host that waits. */
typedef struct
{
  char *name;
  guint rank; /* index in `ranks` */
} TimelineLane;

typedef struct
{
  SimTime begin, duration; /* from the start of the period, inside it */
  guint   lane;
  guint   label; /* index in `labels` */
  guint   layer; /* of the whole model; SCHEDULE_NONE: of none */
  guint8  part;  /* TimePart */
  guint8  phase; /* SchedulePhase */
  /* What held the op back for longest, "nic.tx"; static. NULL: the host that waits. */
  const char *binding;
} TimelineSlice;

/* Bytes of each category from TIME on. */
typedef struct
{
  SimTime time;
  guint64 bytes[POOL_N_CATEGORIES];
} TimelineLevel;

typedef struct
{
  SimTime    length; /* of what is shown: the period, or where that is too much its beginning */
  SimTime    period;
  guint      n_steps;    /* of the period */
  GPtrArray *ranks;      /* names: "rank 0, stage 0 of 4 (stands for 8)" */
  GPtrArray *labels;     /* "mlp.up block 3" */
  GArray    *lanes;      /* TimelineLane, those of a rank one after another */
  GArray    *slices;     /* TimelineSlice, by lane and then by time */
  GArray    *memory;     /* TimelineLevel of the first rank's GPU; empty where no pools were kept */
  guint64    capacity;   /* of that GPU, bytes */
  guint      n_left_out; /* simulated ranks that are not shown */
} Timeline;

/*
 * At most MAX_RANKS simulated ranks of REPLAY, one of each pipeline stage first, as long as they
 * have at most MAX_SLICES ops between them. The first one is there in any case: where it has more
 * by itself, the period is shown up to about so many.
 */
Timeline *timeline_new (const Replay *replay, guint max_ranks, guint max_slices);
void      timeline_free (Timeline *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Timeline, timeline_free)

/*
 * The levels of memory thinned out to at most about MOST of them: of each of MOST equal stretches
 * of the period the fullest one, and the first and last of all. Newly allocated, of TimelineLevel.
 */
GArray *timeline_thin_memory (const Timeline *self, guint most);
