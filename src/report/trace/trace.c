/* The events of a trace. */
#include "report/trace/trace-private.h"

#include <json-c/json.h>

#define NO_COUNTER G_MAXUINT64

/* ---- names ----------------------------------------------------------------------------------- */

/* PLACE: where it stands among the threads of its process. */
static void
write_thread (const Track *track, guint pid, guint tid, const char *name, guint place)
{
  trace_write_metadata (track, "thread_name", pid, tid, name, 0);
  trace_write_metadata (track, "thread_sort_index", pid, tid, NULL, place);
}

/* Steps, host, and the streams, the lanes of each below each other. */
static void
write_threads (const Track *track, guint rank, const guint *n_lanes)
{
  const Schedule *schedule = replay_schedule (track->replay);
  guint           pid = trace_rank_pid (track, rank), place = TID_FIRST_STREAM;

  write_thread (track, pid, TID_STEPS, "steps", TID_STEPS);
  write_thread (track, pid, TID_HOST, "host (blocked)", TID_HOST);
  for (StreamRef s = 0; s < schedule_n_streams (schedule); s++)
    for (guint lane = 0; lane < n_lanes[rank * schedule_n_streams (schedule) + s]; lane++)
      {
        const char      *stream = schedule_stream_info (schedule, s)->name;
        g_autofree char *name =
            lane > 0 ? g_strdup_printf ("%s (%u)", stream, lane + 1) : g_strdup (stream);

        write_thread (track, pid, trace_lane_tid (track, s, lane), name, place++);
      }
}

/* ", stage 1 of 4", or "" without a pipeline. */
static char *
stage_text (const Schedule *schedule, guint rank)
{
  guint n = schedule_n_stages (schedule);

  return n > 1 ? g_strdup_printf (
             ", stage %u of %u",
             schedule_role_stage (schedule, schedule_role_of_rank (schedule, rank)), n)
               : g_strdup ("");
}

static void
write_names (const Track *track, const guint *n_lanes)
{
  const Schedule *schedule = replay_schedule (track->replay);

  for (guint i = 0; i < track->n_ranks; i++)
    {
      const ReplayRank *rank = replay_rank (track->replay, i);
      g_autofree char  *alike =
          rank->size > 1 ? g_strdup_printf (" (stands for %u)", rank->size) : g_strdup ("");
      g_autofree char *stage = stage_text (schedule, rank->rank);
      g_autofree char *name =
          g_strdup_printf ("%s: rank %u%s%s", track->name, rank->rank, stage, alike);

      trace_write_process (track, trace_rank_pid (track, i), name);
      write_threads (track, i, n_lanes);
    }
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* Microseconds by cause. */
static struct json_object *
causes_of (const Track *track, const OpRecord *record)
{
  struct json_object *causes = json_object_new_object ();
  g_autoptr (GArray)  sums = trace_causes (track, record);

  for (guint i = 0; i < sums->len; i++)
    trace_add_time (causes, g_array_index (sums, TraceCause, i).name,
                    g_array_index (sums, TraceCause, i).time);
  return causes;
}

/* The group of a collective, and how the library ran it. */
static void
add_collective (const Track *track, struct json_object *args, OpId id, CommRef comm)
{
  CollectiveAlgorithm algorithm;
  CollectiveProtocol  protocol;
  guint               channels;

  trace_add_text (args, "group", schedule_comm_info (replay_schedule (track->replay), comm)->name);
  if (!replay_op_choice (track->replay, id, &algorithm, &protocol, &channels))
    return;
  trace_add_text (args, "algorithm", collective_algorithm_name (algorithm));
  trace_add_text (args, "protocol", collective_protocol_name (protocol));
  trace_add_int (args, "channels", channels);
}

static struct json_object *
args_of (const Track *track, OpId id, const ScheduleItem *item, const OpRecord *record)
{
  struct json_object *args = json_object_new_object ();

  if (item->phase != PHASE_NONE)
    trace_add_text (args, "phase", schedule_phase_name ((SchedulePhase) item->phase));
  if (item->kind == ITEM_COLLECTIVE || item->kind == ITEM_P2P)
    add_collective (track, args, id, item->ref);
  if (item->kind == ITEM_KERNEL)
    {
      trace_add_int (args, "bytes",
                     (guint64) (item->kernel->read_bytes + item->kernel->write_bytes));
      if (item->kernel->flops > 0)
        trace_add_int (args, "flops", (guint64) item->kernel->flops);
    }
  else if (item->kind == ITEM_HOST_OP)
    {
      trace_add_int (args, "bytes", (guint64) (item->host->read_bytes + item->host->write_bytes));
      trace_add_int (args, "elements", item->host->elements);
    }
  else
    trace_add_int (args, "bytes", item->bytes);
  trace_add_text (args, "started after", cause_name (record->gate));
  if (record->begin > record->first_arrival)
    trace_add_time (args, "waited for peers (us)", record->begin - record->first_arrival);
  json_object_object_add (args, "held back by (us)", causes_of (track, record));
  return args;
}

static const char *
category_of (const ScheduleItem *item)
{
  static const char *const names[] = {
    [ITEM_KERNEL] = "kernel",   [ITEM_COLLECTIVE] = "collective", [ITEM_MOVE] = "copy",
    [ITEM_HOST_OP] = "host op", [ITEM_P2P] = "message",
  };

  g_assert (names[item->kind] != NULL);
  return names[item->kind];
}

static void
write_op (const Track *track, OpId id, guint rank)
{
  const OpRecord     *record = engine_op_record (track->engine, id);
  ReplayOp            op = replay_op (track->replay, id);
  g_autofree char    *label = replay_op_label (track->replay, id);
  struct json_object *event =
      trace_event_new ("X", label, trace_rank_pid (track, rank), trace_op_tid (track, id));

  trace_add_text (event, "cat", category_of (op.item));
  trace_add_time (event, "ts", record->begin - track->start);
  trace_add_time (event, "dur", record->end - record->begin);
  json_object_object_add (event, "args", args_of (track, id, op.item, record));
  trace_event_write (track, event);
}

static void
write_flow_end (const Track *track, const char *phase, guint64 flow, OpId id, guint rank)
{
  struct json_object *event =
      trace_event_new (phase, "waits for", trace_rank_pid (track, rank), trace_op_tid (track, id));

  trace_add_text (event, "cat", "wait");
  trace_add_int (event, "id", flow);
  if (*phase == 'f')
    trace_add_text (event, "bp", "e");
  /*
   * Inside the slice that it belongs to, at its start: the viewer draws from the end of one slice
   * to the start of the other.
   */
  trace_add_time (event, "ts", engine_op_record (track->engine, id)->begin - track->start);
  trace_event_write (track, event);
}

/* An arrow from the op that ID waited for, when that ran on another stream and is shown. */
static void
write_flow (const Track *track, OpId id)
{
  const OpRecord *record = engine_op_record (track->engine, id), *gate = NULL;
  OpId            gate_op;
  guint           from, to = replay_op (track->replay, id).rank;

  /* What has no length is not shown: it waited for something itself. */
  for (gate_op = record->gate_op; gate_op != ENGINE_NONE; gate_op = gate->gate_op)
    {
      gate = engine_op_record (track->engine, gate_op);
      if (gate->end > gate->begin)
        break;
    }
  if (gate_op == ENGINE_NONE)
    return;
  from = replay_op (track->replay, gate_op).rank;
  if (gate->stream == record->stream || !trace_shows (track, gate) || from >= track->n_ranks
      || to >= track->n_ranks)
    return;
  write_flow_end (track, "s", *track->next_flow, gate_op, from);
  write_flow_end (track, "f", *track->next_flow, id, to);
  (*track->next_flow)++;
}

static void
write_ops (Track *track)
{
  guint written = 0;

  for (OpId id = 0; id < engine_n_ops (track->engine); id++)
    {
      g_autoptr (GArray) members = NULL;

      if (!trace_shows (track, engine_op_record (track->engine, id)) || written >= track->budget)
        continue;
      members = trace_members (track, id);
      for (guint i = 0; i < members->len; i++)
        {
          write_op (track, id, g_array_index (members, guint, i));
          written++;
          if (written >= track->budget)
            track->cut = engine_op_record (track->engine, id)->begin;
        }
      write_flow (track, id);
    }
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void
write_block (const Track *track, guint rank, const HostBlock *block)
{
  g_autofree char *label =
      block->op != ENGINE_NONE ? replay_op_label (track->replay, block->op) : NULL;
  g_autofree char    *name = label != NULL ? g_strdup_printf ("waits for %s", label)
                                           : g_strdup ("waits for memory to be freed");
  struct json_object *event = trace_event_new ("X", name, trace_rank_pid (track, rank), TID_HOST);
  SimTime             start = MAX (block->start, track->start), end = MIN (block->end, track->end);

  trace_add_text (event, "cat", "host");
  trace_add_time (event, "ts", start - track->start);
  trace_add_time (event, "dur", end - start);
  trace_event_write (track, event);
}

static void
write_blocks (const Track *track)
{
  for (guint i = 0; i < track->n_ranks; i++)
    {
      guint            n;
      const HostBlock *blocks =
          engine_host_blocks (track->engine, replay_rank (track->replay, i)->host, &n);

      for (guint b = 0; b < n; b++)
        if (blocks[b].end > track->start && blocks[b].start < track->end
            && blocks[b].end > blocks[b].start)
          write_block (track, i, &blocks[b]);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void
write_counter (const Track *track, guint pid, const char *tier, PoolCategory category, SimTime time,
               guint64 bytes)
{
  g_autofree char    *name = g_strdup_printf ("%s: %s", tier, pool_category_name (category));
  struct json_object *event = trace_event_new ("C", name, pid, 0),
                     *args = json_object_new_object ();

  trace_add_int (args, "bytes", bytes);
  json_object_object_add (event, "args", args);
  trace_add_time (event, "ts", time - track->start);
  trace_event_write (track, event);
}

/*
 * The counters of one pool: the level at the start, then each change; of changes at one time the
 * last.
 */
static void
write_pool (const Track *track, PoolId pool, guint pid, const char *tier)
{
  guint             n;
  const PoolChange *log = engine_pool_log (track->engine, &n);

  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    {
      guint64 level = NO_COUNTER;
      SimTime at = track->start;

      for (guint i = 0; i < n && log[i].time < track->end; i++)
        {
          if (log[i].pool != pool || log[i].category != c)
            continue;
          if (level != NO_COUNTER && log[i].time > at)
            write_counter (track, pid, tier, (PoolCategory) c, at, level);
          at = MAX (log[i].time, track->start);
          level = log[i].bytes;
        }
      if (level != NO_COUNTER)
        write_counter (track, pid, tier, (PoolCategory) c, at, level);
    }
}

static void
write_memory (const Track *track)
{
  for (guint i = 0; i < track->n_ranks; i++)
    write_pool (track, replay_rank (track->replay, i)->hbm, trace_rank_pid (track, i),
                "GPU memory");
  for (guint i = 0; i < replay_n_host_pools (track->replay) && i < track->n_ranks; i++)
    {
      guint  node;
      PoolId pool = replay_host_pool (track->replay, i, &node);

      if (engine_pool_stats (track->engine, pool)->device.bytes > 0)
        write_pool (track, pool, trace_node_pid (track, i), "host memory");
    }
}

/* ---- what is shown --------------------------------------------------------------------------- */

/*
 * Events of each simulated rank: ops, arrows and blocks, and counters; those of nodes count with
 * the first one.
 */
static guint64 *
count_events (const Track *track)
{
  guint64 *counts = g_new0 (guint64, replay_n_ranks (track->replay));

  for (OpId id = 0; id < engine_n_ops (track->engine); id++)
    {
      g_autoptr (GArray) members = NULL;

      if (!trace_shows (track, engine_op_record (track->engine, id)))
        continue;
      members = replay_op_members (track->replay, id);
      for (guint i = 0; i < members->len; i++)
        counts[g_array_index (members, guint, i)] += 3;
    }
  trace_use_count (track, counts);
  return counts;
}

static void
choose_ranks (Track *track, guint budget)
{
  g_autofree guint64 *counts = count_events (track);
  guint64             sum = 0;

  track->budget = G_MAXUINT;
  for (track->n_ranks = 0; track->n_ranks < replay_n_ranks (track->replay); track->n_ranks++)
    {
      sum += counts[track->n_ranks];
      if (sum > budget)
        break;
    }
  if (track->n_ranks == 0)
    {
      track->n_ranks = 1;
      track->budget = budget / 3;
    }
}

static void
write_omission (const Track *track)
{
  guint            missing = replay_n_ranks (track->replay) - track->n_ranks;
  g_autofree char *name =
      g_strdup_printf ("left out: %u simulated ranks%s", missing,
                       track->budget < G_MAXUINT ? " and the latest ops of this one" : "");
  struct json_object *event;

  if (missing == 0 && track->budget == G_MAXUINT)
    return;
  event = trace_event_new ("i", name, track->first_pid, TID_HOST);
  trace_add_text (event, "s", "p");
  trace_add_time (event, "ts", 0);
  trace_event_write (track, event);
}

static void
write_replay (Track *track, guint budget)
{
  guint             last = replay_n_boundaries (track->replay) - 1;
  const Scenario   *scenario = replay_resolved (track->replay)->scenario;
  g_autofree guint *n_lanes = NULL;

  track->engine = replay_engine (track->replay);
  track->name = scenario->name != NULL ? scenario->name : scenario->strategy->strategy->name;
  track->start = replay_boundary (track->replay, last >= 2 ? last - 2 : 0);
  track->end = replay_boundary (track->replay, last);
  track->cut = track->end;
  choose_ranks (track, budget);
  n_lanes = trace_find_lanes (track);
  write_names (track, n_lanes);
  write_omission (track);
  write_ops (track);
  write_blocks (track);
  write_memory (track);
  trace_write_steps (track);
  trace_write_use (track);
  g_clear_pointer (&track->lanes, g_free);
}

void
trace_write_document (FILE *out, const Replay *const *replays, guint n)
{
  gboolean comma = FALSE;
  guint64  next_flow = 1;
  guint    pid = 1;

  fputs ("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"schema\":1},\"traceEvents\":[", out);
  for (guint i = 0; i < n; i++)
    {
      Track track = {
        .out = out, .replay = replays[i], .first_pid = pid, .comma = &comma, .next_flow = &next_flow
      };

      write_replay (&track, REPORT_TRACE_MAX_EVENTS / n);
      pid += replay_n_ranks (replays[i]) + replay_n_host_pools (replays[i]);
    }
  fputs ("\n]}\n", out);
}
