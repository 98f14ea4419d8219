/* The threads of ops that overlap. */
#include "report/trace/trace-private.h"

guint
trace_lane_tid (const Track *track, StreamRef s, guint lane)
{
  return TID_FIRST_STREAM + lane * schedule_n_streams (replay_schedule (track->replay)) + s;
}

guint
trace_op_tid (const Track *track, OpId id)
{
  return trace_lane_tid (track, replay_op (track->replay, id).item->stream, track->lanes[id]);
}

/* An op that is shown. */
typedef struct
{
  SimTime begin;
  OpId    id;
} ShownOp;

static gint
compare_begins (gconstpointer a, gconstpointer b)
{
  const ShownOp *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

static GArray *
shown_ops (const Track *track)
{
  GArray *ops = g_array_new (FALSE, FALSE, sizeof (ShownOp));

  for (OpId id = 0; id < engine_n_ops (track->engine); id++)
    {
      const OpRecord *record = engine_op_record (track->engine, id);
      const ShownOp   op = { record->begin, id };

      if (trace_shows (track, record))
        g_array_append_val (ops, op);
    }
  g_array_sort (ops, compare_begins);
  return ops;
}

static gboolean
is_free (const GArray *ends, guint lane, SimTime time)
{
  return lane >= ends->len || g_array_index (ends, SimTime, lane) <= time;
}

/* ENDS: of rank R and stream S at R * N_STREAMS + S, when the latest op of each lane ends. */
static guint
take_lane (const Track *track, const ShownOp *op, GArray *const *ends, guint n_streams)
{
  g_autoptr (GArray) members = trace_members (track, op->id);
  const OpRecord    *record = engine_op_record (track->engine, op->id);
  StreamRef          stream = replay_op (track->replay, op->id).item->stream;
  guint              lane = 0, i = 0;

  while (i < members->len)
    if (is_free (ends[g_array_index (members, guint, i) * n_streams + stream], lane, op->begin))
      i++;
    else
      {
        lane++;
        i = 0;
      }
  for (i = 0; i < members->len; i++)
    {
      GArray *own = ends[g_array_index (members, guint, i) * n_streams + stream];

      if (lane >= own->len)
        g_array_set_size (own, lane + 1);
      g_array_index (own, SimTime, lane) = record->end;
    }
  return lane;
}

guint *
trace_find_lanes (Track *track)
{
  g_autoptr (GArray)  ops = shown_ops (track);
  guint               n_streams = schedule_n_streams (replay_schedule (track->replay));
  guint               n = track->n_ranks * n_streams;
  g_autofree GArray **ends = g_new (GArray *, n);
  guint              *n_lanes = g_new (guint, n);

  for (guint i = 0; i < n; i++)
    ends[i] = g_array_new (FALSE, TRUE, sizeof (SimTime));
  track->lanes = g_new0 (guint, engine_n_ops (track->engine));
  for (guint i = 0; i < ops->len; i++)
    {
      const ShownOp *op = &g_array_index (ops, ShownOp, i);

      track->lanes[op->id] = take_lane (track, op, ends, n_streams);
    }
  for (guint i = 0; i < n; i++)
    {
      n_lanes[i] = MAX (ends[i]->len, 1);
      g_array_unref (ends[i]);
    }
  return n_lanes;
}
