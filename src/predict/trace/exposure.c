/*
 * Exposed communication: the time of a stretch during which a rank's collectives run, from
 * the arrival of the last rank to the end, and no kernel runs on its compute stream. Kernels of one
 * stream never overlap, so intervals are subtracted in one sweep.
 */
#include "predict/prediction.h"
#include "predict/trace/intervals.h"

#include <string.h>

/* ---- of one rank ----------------------------------------------------------------------------- */

typedef struct
{
  Interval       interval;
  guint32        comm;
  CollectiveKind kind;
} Communication;

struct _Exposure
{
  GArray *busy; /* Interval: kernels of the compute stream */
  GArray *all;  /* Communication */
  SimTime ran[BUSY_N];
  double  steps;
};

gboolean
rank_computes_on (const Replay *replay, guint rank, StreamId stream)
{
  const Schedule *schedule = replay_schedule (replay);
  /* unsigned: streams of lower ranks are beyond all of its own */
  StreamId own = stream - replay_rank (replay, rank)->first_stream;

  return own < schedule_n_streams (schedule)
         && schedule_stream_info (schedule, own)->role == STREAM_COMPUTES;
}

/* BUSY_N: it is none of them. */
static BusyKind
busy_kind (const ScheduleItem *item)
{
  switch ((ItemKind) item->kind)
    {
    case ITEM_KERNEL:
      return BUSY_KERNELS;
    case ITEM_COLLECTIVE:
    case ITEM_P2P:
      return BUSY_COMMUNICATION;
    case ITEM_MOVE:
      if ((move_from (item->collective) == PLACE_HBM) == (move_to (item->collective) == PLACE_HBM))
        return BUSY_N;
      return move_to (item->collective) == PLACE_HBM ? BUSY_FROM_HOST : BUSY_TO_HOST;
    default:
      return BUSY_N;
    }
}

static void
add_communication (Exposure *self, const ScheduleItem *item, Interval interval)
{
  Communication entry = { interval, item->ref,
                          item->kind == ITEM_P2P ? COLLECTIVE_SEND_RECV
                                                 : (CollectiveKind) item->collective };

  if (interval.start < interval.end)
    g_array_append_val (self->all, entry);
}

Exposure *
exposure_new (const Replay *replay, const ReplayStretch *stretch, guint rank)
{
  Exposure      *self = g_new0 (Exposure, 1);
  const Engine  *engine = replay_engine (replay);
  const SimTime  floor = stretch->begin, ceiling = stretch->end;
  const Interval within = { floor, ceiling };

  self->busy = g_array_new (FALSE, FALSE, sizeof (Interval));
  self->all = g_array_new (FALSE, FALSE, sizeof (Communication));
  self->steps = schedule_steps_per_period (replay_schedule (replay));
  for (OpId op = engine_first_op (engine); op < engine_n_ops (engine); op++)
    {
      const OpRecord *record = engine_op_record (engine, op);
      const Interval  interval = { MAX (record->begin, floor), MIN (record->end, ceiling) };
      BusyKind        kind;
      ReplayOp        what;

      if (record->end <= floor || record->begin >= ceiling)
        continue;
      what = replay_op (replay, op);
      kind = busy_kind (what.item);
      if (kind == BUSY_N || !replay_op_has_member (replay, &what, rank))
        continue;
      self->ran[kind] += interval.end - interval.start;
      if (kind == BUSY_COMMUNICATION)
        add_communication (self, what.item, interval);
      else if (kind == BUSY_KERNELS && rank_computes_on (replay, rank, record->stream))
        intervals_add (self->busy, record->begin, record->end, within);
    }
  intervals_sort (self->busy);
  g_array_sort (self->all, intervals_compare);
  return self;
}

void
exposure_free (Exposure *self)
{
  g_array_unref (self->busy);
  g_array_unref (self->all);
  g_free (self);
}

double
exposure_seconds (const Exposure *self, guint32 comm, CollectiveKind kind)
{
  g_autoptr (GArray) of = g_array_new (FALSE, FALSE, sizeof (Interval));

  for (guint i = 0; i < self->all->len; i++)
    {
      const Communication *entry = &g_array_index (self->all, Communication, i);

      if (comm == SCHEDULE_NONE || (entry->comm == comm && entry->kind == kind))
        g_array_append_val (of, entry->interval);
    }
  return sim_time_to_seconds (intervals_outside (of, self->busy)) / self->steps;
}

void
exposure_busy_shares (const Exposure *self, double percent[BUSY_N])
{
  SimTime all = 0;

  for (guint k = 0; k < BUSY_N; k++)
    all += self->ran[k];
  for (guint k = 0; k < BUSY_N; k++)
    percent[k] = all > 0 ? 100 * (double) self->ran[k] / (double) all : 0;
}

Exposure *
exposure_largest (const Replay *replay, const ReplayStretch *stretch, guint *rank)
{
  g_autoptr (Exposure) largest = NULL;
  const char          *best = NULL;
  double               most = 0;

  for (guint i = 0; i < replay_n_ranks (replay); i++)
    {
      const char          *make = make_represented (replay, i);
      g_autoptr (Exposure) self = make != NULL ? exposure_new (replay, stretch, i) : NULL;
      double               seconds =
          self != NULL ? exposure_seconds (self, SCHEDULE_NONE, COLLECTIVE_ALL_GATHER) : 0;

      if (self == NULL || seconds < most
          || (best != NULL && seconds == most && strcmp (make, best) > 0))
        continue;
      g_clear_pointer (&largest, exposure_free);
      largest = g_steal_pointer (&self);
      most = seconds;
      best = make;
      *rank = replay_rank (replay, i)->rank;
    }
  return g_steal_pointer (&largest);
}

/* ---- of all ranks ---------------------------------------------------------------------------- */

/* When something ran for each simulated rank: arrays of Interval. */
static GPtrArray *
collect_work (const Replay *replay, SimTime floor, SimTime ceiling)
{
  const Engine      *engine = replay_engine (replay);
  GPtrArray         *work = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  g_autoptr (GArray) members = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < replay_n_ranks (replay); i++)
    g_ptr_array_add (work, g_array_new (FALSE, FALSE, sizeof (Interval)));
  for (OpId op = engine_first_op (engine); op < engine_n_ops (engine); op++)
    {
      const OpRecord *record = engine_op_record (engine, op);

      if (record->end <= floor || record->begin >= ceiling)
        continue;
      replay_op_members_into (replay, op, members);
      for (guint i = 0; i < members->len; i++)
        intervals_add (g_ptr_array_index (work, g_array_index (members, guint, i)), record->begin,
                       record->end, (Interval){ floor, ceiling });
    }
  return work;
}

double
idle_seconds (const Replay *replay, const ReplayStretch *stretch)
{
  Interval              whole = { stretch->begin, stretch->end };
  g_autoptr (GPtrArray) work = collect_work (replay, whole.start, whole.end);
  g_autoptr (GArray)    period = g_array_new (FALSE, FALSE, sizeof (Interval));
  double                idle = 0, n = 0;

  g_array_append_val (period, whole);
  for (guint i = 0; i < replay_n_ranks (replay); i++)
    {
      GArray *busy = g_ptr_array_index (work, i);
      double  size = replay_rank (replay, i)->size;

      intervals_sort (busy);
      idle += size * sim_time_to_seconds (intervals_outside (period, busy));
      n += size;
    }
  return idle / n / schedule_steps_per_period (replay_schedule (replay));
}
