/*
 * Steps and micro-steps of the ranks in a trace.
 *
 * A step of a rank begins with its first kernel, and ends where the next one begins. A micro-step
 * begins with the first kernel of its forward pass; micro-steps overlap in a pipeline, so they are
 * marks, not slices.
 */
#include "report/trace/trace-private.h"

/* Where a rank is. */
typedef struct
{
  gboolean begun;
  guint    period, step;
  SimTime  since;      /* of the step */
  guint    next_micro; /* mark of the period's section that comes next */
} StepMark;

static void
write_step (const Track *track, guint rank, const StepMark *place, SimTime end)
{
  guint number =
      place->period * schedule_steps_per_period (replay_schedule (track->replay)) + place->step;
  SimTime             start = MAX (place->since, track->start), stop = MIN (end, track->end);
  g_autofree char    *name = g_strdup_printf ("step %u", number);
  struct json_object *event;

  if (!place->begun || stop <= start)
    return;
  event = trace_event_new ("X", name, trace_rank_pid (track, rank), TID_STEPS);
  trace_add_text (event, "cat", "step");
  trace_add_time (event, "ts", start - track->start);
  trace_add_time (event, "dur", stop - start);
  trace_event_write (track, event);
}

static void
write_micro (const Track *track, guint rank, guint micro, SimTime time)
{
  g_autofree char    *name = g_strdup_printf ("micro-step %u", micro);
  struct json_object *event;

  if (time < track->start || time >= track->end)
    return;
  event = trace_event_new ("i", name, trace_rank_pid (track, rank), TID_STEPS);
  trace_add_text (event, "cat", "micro-step");
  trace_add_text (event, "s", "t");
  trace_add_time (event, "ts", time - track->start);
  trace_event_write (track, event);
}

/* OP, a kernel of PLACE's rank that begins at TIME, and all marks up to it. */
static void
pass_kernel (const Track *track, StepMark *place, const ReplayOp *op, SimTime time)
{
  guint                n;
  const ScheduleMicro *micros =
      schedule_micros (replay_schedule (track->replay), replay_rank (track->replay, op->rank)->role,
                       op->section, &n);

  if (!place->begun || op->period != place->period || op->step != place->step)
    {
      write_step (track, op->rank, place, time);
      if (!place->begun || op->period != place->period)
        place->next_micro = 0;
      place->begun = TRUE;
      place->period = op->period;
      place->step = op->step;
      place->since = time;
    }
  for (; place->next_micro < n && micros[place->next_micro].item <= op->index; place->next_micro++)
    write_micro (track, op->rank, micros[place->next_micro].micro, time);
}

void
trace_write_steps (const Track *track)
{
  g_autofree StepMark *places = g_new0 (StepMark, track->n_ranks);

  for (OpId id = 0; id < engine_n_ops (track->engine); id++)
    {
      const OpRecord *record = engine_op_record (track->engine, id);
      ReplayOp        op = replay_op (track->replay, id);

      if (op.item->kind == ITEM_KERNEL && op.section != SECTION_INIT && op.rank < track->n_ranks
          && record->end > record->begin)
        pass_kernel (track, &places[op.rank], &op, record->begin);
    }
  for (guint i = 0; i < track->n_ranks; i++)
    write_step (track, i, &places[i], track->end);
}
