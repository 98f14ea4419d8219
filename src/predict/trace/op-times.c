#include "predict/trace/op-times.h"

#include "predict/prediction.h"

/* Kernels that are no copies may be several in one (replay/bind/fuse.c), with one's label. */
static gboolean
is_told_apart (const Replay *replay, OpId op)
{
  const ScheduleItem *item = replay_op (replay, op).item;

  return item->kind == ITEM_COLLECTIVE || item->kind == ITEM_P2P || item->kind == ITEM_MOVE
         || (item->kind == ITEM_KERNEL && time_part_of_op (replay, op) == TIME_COPY_KERNELS);
}

static void
op_time_clear (gpointer data)
{
  g_free (((OpTime *) data)->label);
}

static GArray *
times_new (void)
{
  GArray *times = g_array_new (FALSE, FALSE, sizeof (OpTime));

  g_array_set_clear_func (times, op_time_clear);
  return times;
}

static gint
compare_times (gconstpointer a, gconstpointer b)
{
  const SimTime x = *(const SimTime *) a, y = *(const SimTime *) b;

  return x < y ? -1 : x > y;
}

/* Seconds. */
static double
median_of (GArray *durations)
{
  const guint n = durations->len;

  g_array_sort (durations, compare_times);
  return (sim_time_to_seconds (g_array_index (durations, SimTime, (n - 1) / 2))
          + sim_time_to_seconds (g_array_index (durations, SimTime, n / 2)))
         / 2;
}

/* The durations of the ops labelled LABEL, which DURATIONS has by index of TIMES. */
static GArray *
durations_of (GArray *times, GPtrArray *durations, const char *label)
{
  OpTime time;

  for (guint i = 0; i < times->len; i++)
    if (g_str_equal (g_array_index (times, OpTime, i).label, label))
      return g_ptr_array_index (durations, i);
  time = (OpTime){ .label = g_strdup (label) };
  g_array_append_val (times, time);
  g_ptr_array_add (durations, g_array_new (FALSE, FALSE, sizeof (SimTime)));
  return g_ptr_array_index (durations, durations->len - 1);
}

static gboolean
has_member (const Replay *replay, const GArray *members, guint rank)
{
  for (guint i = 0; i < members->len; i++)
    if (replay_rank (replay, g_array_index (members, guint, i))->rank == rank)
      return TRUE;
  return FALSE;
}

GArray *
op_times_new (const Replay *replay, guint rank)
{
  g_autoptr (GPtrArray) durations = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  g_autoptr (GArray)    members = g_array_new (FALSE, FALSE, sizeof (guint));
  GArray               *times = times_new ();
  const Engine         *engine = replay_engine (replay);
  const guint           last = replay_n_boundaries (replay) - 1;
  const SimTime         floor = replay_boundary (replay, last - 1);
  const SimTime         ceiling = replay_boundary (replay, last);

  for (OpId op = engine_first_op (engine); op < engine_n_ops (engine); op++)
    {
      const OpRecord *record = engine_op_record (engine, op);
      SimTime         duration = record->end - record->begin;

      if (record->end <= floor || record->end > ceiling || !is_told_apart (replay, op))
        continue;
      replay_op_members_into (replay, op, members);
      if (has_member (replay, members, rank))
        g_array_append_val (durations_of (times, durations, replay_op_name (replay, op)), duration);
    }
  for (guint i = 0; i < times->len; i++)
    {
      OpTime *time = &g_array_index (times, OpTime, i);
      GArray *of = g_ptr_array_index (durations, i);

      time->n = of->len;
      time->median_s = median_of (of);
    }
  return times;
}

GArray *
op_times_copy (const GArray *times)
{
  GArray *copy = times_new ();

  for (guint i = 0; i < times->len; i++)
    {
      OpTime time = g_array_index (times, OpTime, i);

      time.label = g_strdup (time.label);
      g_array_append_val (copy, time);
    }
  return copy;
}
