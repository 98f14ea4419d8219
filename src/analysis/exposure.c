/*
 * Exposed communication: the time of the last period during which a rank's collectives run, from the arrival of the last rank to the
 * end, and no kernel runs on its compute stream. Kernels of one stream never overlap, so intervals are subtracted in one sweep.
 */
#include "analysis/prediction.h"

typedef struct
{
  SimTime start, end;
} Interval;

/* Adds the part of start..end that lies inside floor..ceiling. */
static void
add_interval (GArray *list, SimTime start, SimTime end, SimTime floor, SimTime ceiling)
{
  Interval interval = { MAX (start, floor), MIN (end, ceiling) };

  if (interval.start < interval.end)
    g_array_append_val (list, interval);
}

static gint
compare_intervals (gconstpointer a, gconstpointer b)
{
  const Interval *x = a, *y = b;

  return x->start < y->start ? -1 : x->start > y->start;
}

/* Length of the union of LIST (sorted) outside the union of BUSY (sorted). */
static SimTime
uncovered (const GArray *list, const GArray *busy)
{
  SimTime sum = 0, done = 0; /* everything before `done` has been counted or skipped */
  guint   b = 0;

  for (guint i = 0; i < list->len; i++)
    {
      Interval at = g_array_index (list, Interval, i);

      at.start = MAX (at.start, done);
      while (at.start < at.end)
        {
          const Interval *block;

          while (b < busy->len && g_array_index (busy, Interval, b).end <= at.start)
            b++;
          block = b < busy->len ? &g_array_index (busy, Interval, b) : NULL;
          if (block == NULL || block->start >= at.end)
            {
              sum += at.end - at.start;
              at.start = at.end;
            }
          else
            {
              if (block->start > at.start)
                sum += block->start - at.start;
              at.start = MIN (block->end, at.end);
            }
        }
      done = MAX (done, at.end);
    }
  return sum;
}

static gboolean
takes_part (const Replay *replay, OpId op, guint rank)
{
  g_autoptr (GArray) members = replay_op_members (replay, op);

  for (guint i = 0; i < members->len; i++)
    if (g_array_index (members, guint, i) == rank)
      return TRUE;
  return FALSE;
}

static gboolean
is_of (const ScheduleItem *item, guint32 comm, ScheduleCollective kind)
{
  if (item->kind == ITEM_P2P)
    return comm == SCHEDULE_NONE || (item->ref == comm && kind == SCHEDULE_SEND_RECV);
  return item->kind == ITEM_COLLECTIVE
         && (comm == SCHEDULE_NONE || (item->ref == comm && item->collective == kind));
}

/* Kernels of RANK's compute stream, and the collectives of COMM and KIND (comm SCHEDULE_NONE: all) that it takes part in. */
static void
collect (const Replay *replay, guint rank, guint32 comm, ScheduleCollective kind, GArray *busy,
         GArray *collectives)
{
  const Engine *engine = replay_engine (replay);
  guint         last = replay_n_boundaries (replay) - 1;
  SimTime  floor = replay_boundary (replay, last - 1), ceiling = replay_boundary (replay, last);
  StreamId compute = replay_rank (replay, rank)->first_stream + SCHEDULE_COMPUTE;

  for (OpId op = 0; op < engine_n_ops (engine); op++)
    {
      const OpRecord     *record = engine_op_record (engine, op);
      const ScheduleItem *item;

      if (record->end <= floor || record->begin >= ceiling)
        continue;
      item = replay_op (replay, op).item;
      if (item->kind == ITEM_KERNEL && record->stream == compute)
        add_interval (busy, record->begin, record->end, floor, ceiling);
      else if (is_of (item, comm, kind) && takes_part (replay, op, rank))
        add_interval (collectives, record->begin, record->end, floor, ceiling);
    }
  g_array_sort (busy, compare_intervals);
  g_array_sort (collectives, compare_intervals);
}

double
exposed_communication (const Replay *replay, guint rank, guint32 comm, ScheduleCollective kind)
{
  g_autoptr (GArray) busy = g_array_new (FALSE, FALSE, sizeof (Interval));
  g_autoptr (GArray) collectives = g_array_new (FALSE, FALSE, sizeof (Interval));

  collect (replay, rank, comm, kind, busy, collectives);
  return sim_time_to_seconds (uncovered (collectives, busy))
         / schedule_steps_per_period (replay_schedule (replay));
}
