/* The events of a trace. */
#include "report/trace-private.h"

#include <json-c/json.h>

#define TID_HOST         1
#define TID_FIRST_STREAM 2
#define NO_COUNTER       G_MAXUINT64

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
  gboolean     *comma;
  guint64      *next_flow;
} Track;

/* ---- one event ------------------------------------------------------------------------------------------------------ */

static void
add_text (struct json_object *object, const char *key, const char *text)
{
  json_object_object_add (object, key, json_object_new_string (text));
}

static void
add_int (struct json_object *object, const char *key, guint64 value)
{
  json_object_object_add (object, key, json_object_new_uint64 (value));
}

/* Picoseconds as microseconds with six decimals: exact. */
static void
add_time (struct json_object *object, const char *key, SimTime time)
{
  char text[40];

  g_snprintf (text, sizeof text, "%" G_GUINT64_FORMAT ".%06u", time / 1000000,
              (guint) (time % 1000000));
  json_object_object_add (object, key, json_object_new_double_s ((double) time / 1e6, text));
}

static struct json_object *
event_new (const char *phase, const char *name, guint pid, guint tid)
{
  struct json_object *event = json_object_new_object ();

  add_text (event, "ph", phase);
  add_text (event, "name", name);
  add_int (event, "pid", pid);
  add_int (event, "tid", tid);
  return event;
}

/* Takes EVENT. Errors of the stream are found when it is closed. */
static void
event_write (const Track *track, struct json_object *event)
{
  fputs (*track->comma ? ",\n" : "\n", track->out);
  fputs (json_object_to_json_string_ext (event,
                                         JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
         track->out);
  *track->comma = TRUE;
  json_object_put (event);
}

/* ---- names ---------------------------------------------------------------------------------------------------------- */

static void
write_metadata (const Track *track, const char *what, guint pid, guint tid, const char *name,
                guint64 sort)
{
  struct json_object *event = event_new ("M", what, pid, tid), *args = json_object_new_object ();

  if (name != NULL)
    add_text (args, "name", name);
  else
    add_int (args, "sort_index", sort);
  json_object_object_add (event, "args", args);
  event_write (track, event);
}

static void
write_process (const Track *track, guint pid, const char *name)
{
  write_metadata (track, "process_name", pid, 0, name, 0);
  write_metadata (track, "process_sort_index", pid, 0, NULL, pid);
}

static void
write_thread (const Track *track, guint pid, guint tid, const char *name)
{
  write_metadata (track, "thread_name", pid, tid, name, 0);
  write_metadata (track, "thread_sort_index", pid, tid, NULL, tid);
}

static guint
rank_pid (const Track *track, guint rank)
{
  return track->first_pid + rank;
}

static guint
node_pid (const Track *track, guint node)
{
  return track->first_pid + replay_n_ranks (track->replay) + node;
}

static void
write_names (const Track *track)
{
  const Schedule *schedule = replay_schedule (track->replay);

  for (guint i = 0; i < track->n_ranks; i++)
    {
      const ReplayRank *rank = replay_rank (track->replay, i);
      g_autofree char  *alike =
          rank->size > 1 ? g_strdup_printf (" (stands for %u)", rank->size) : g_strdup ("");
      g_autofree char *name = g_strdup_printf ("%s: rank %u%s", track->name, rank->rank, alike);

      write_process (track, rank_pid (track, i), name);
      write_thread (track, rank_pid (track, i), TID_HOST, "host (blocked)");
      for (StreamRef s = 0; s < schedule_n_streams (schedule); s++)
        write_thread (track, rank_pid (track, i), TID_FIRST_STREAM + s,
                      schedule_stream_info (schedule, s)->name);
    }
}

/* ---- ops ------------------------------------------------------------------------------------------------------------ */

static gboolean
is_shown (const Track *track, const OpRecord *record)
{
  return record->begin >= track->start && record->begin < track->end;
}

static const char *
segment_name (const Track *track, const TraceSegment *segment)
{
  const Cluster *cluster = replay_cluster (track->replay);

  if (segment->cause == CAUSE_CAP)
    return "channels";
  if (segment->cause != CAUSE_RESOURCE)
    return cause_name (segment->cause);
  return resource_kind_name (
      cluster_resource (cluster, replay_cluster_resource (track->replay, segment->resource, NULL))->kind);
}

/* What held the op back while it ran: microseconds by cause, in order of their first occurrence. */
static struct json_object *
causes_of (const Track *track, const OpRecord *record)
{
  struct json_object   *causes = json_object_new_object ();
  const TraceSegment   *segments = engine_segments (track->engine, record);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GArray)    sums = g_array_new (FALSE, TRUE, sizeof (SimTime));

  for (guint i = 0; i < record->n_segments; i++)
    {
      gpointer name = (gpointer) segment_name (track, &segments[i]);
      guint    at;

      if (!g_ptr_array_find (names, name, &at))
        {
          at = names->len;
          g_ptr_array_add (names, name);
          g_array_set_size (sums, names->len);
        }
      g_array_index (sums, SimTime, at) += segments[i].duration;
    }
  for (guint i = 0; i < names->len; i++)
    add_time (causes, g_ptr_array_index (names, i), g_array_index (sums, SimTime, i));
  return causes;
}

/* The group of a collective, and how the library ran it. */
static void
add_collective (const Track *track, struct json_object *args, OpId id, CommRef comm)
{
  CollectiveAlgorithm algorithm;
  CollectiveProtocol  protocol;
  guint               channels;

  add_text (args, "group", schedule_comm_info (replay_schedule (track->replay), comm)->name);
  if (!replay_op_choice (track->replay, id, &algorithm, &protocol, &channels))
    return;
  add_text (args, "algorithm", collective_algorithm_name (algorithm));
  add_text (args, "protocol", collective_protocol_name (protocol));
  add_int (args, "channels", channels);
}

static struct json_object *
args_of (const Track *track, OpId id, const ScheduleItem *item, const OpRecord *record)
{
  struct json_object *args = json_object_new_object ();

  if (item->phase != PHASE_NONE)
    add_text (args, "phase", schedule_phase_name ((SchedulePhase) item->phase));
  if (item->kind == ITEM_COLLECTIVE || item->kind == ITEM_P2P)
    add_collective (track, args, id, item->ref);
  if (item->kind == ITEM_KERNEL)
    {
      add_int (args, "bytes", (guint64) (item->kernel->read_bytes + item->kernel->write_bytes));
      if (item->kernel->flops > 0)
        add_int (args, "flops", (guint64) item->kernel->flops);
    }
  else
    add_int (args, "bytes", item->bytes);
  add_text (args, "started after", cause_name (record->gate));
  if (record->begin > record->first_arrival)
    add_time (args, "waited for peers (us)", record->begin - record->first_arrival);
  json_object_object_add (args, "held back by (us)", causes_of (track, record));
  return args;
}

static const char *
category_of (const ScheduleItem *item)
{
  static const char *const names[] = {
    [ITEM_KERNEL] = "kernel",
    [ITEM_COLLECTIVE] = "collective",
    [ITEM_COPY] = "copy",
    [ITEM_P2P] = "message",
  };

  return names[item->kind];
}

static void
write_op (const Track *track, OpId id, guint rank)
{
  const OpRecord     *record = engine_op_record (track->engine, id);
  ReplayOp            op = replay_op (track->replay, id);
  g_autofree char    *label = replay_op_label (track->replay, id);
  struct json_object *event =
      event_new ("X", label, rank_pid (track, rank), TID_FIRST_STREAM + op.item->stream);

  add_text (event, "cat", category_of (op.item));
  add_time (event, "ts", record->begin - track->start);
  add_time (event, "dur", record->end - record->begin);
  json_object_object_add (event, "args", args_of (track, id, op.item, record));
  event_write (track, event);
}

static void
write_flow_end (const Track *track, const char *phase, guint64 flow, OpId id, guint rank)
{
  ReplayOp            op = replay_op (track->replay, id);
  struct json_object *event =
      event_new (phase, "waits for", rank_pid (track, rank), TID_FIRST_STREAM + op.item->stream);

  add_text (event, "cat", "wait");
  add_int (event, "id", flow);
  if (*phase == 'f')
    add_text (event, "bp", "e");
  /* Inside the slice that it belongs to, at its start: the viewer draws from the end of one slice to the start of the other. */
  add_time (event, "ts", engine_op_record (track->engine, id)->begin - track->start);
  event_write (track, event);
}

/* An arrow from the op that ID waited for, when that ran on another stream and is shown. */
static void
write_flow (const Track *track, OpId id)
{
  const OpRecord *record = engine_op_record (track->engine, id), *gate;
  guint           from, to = replay_op (track->replay, id).rank;

  if (record->gate_op == ENGINE_NONE)
    return;
  gate = engine_op_record (track->engine, record->gate_op);
  from = replay_op (track->replay, record->gate_op).rank;
  if (gate->stream == record->stream || !is_shown (track, gate) || from >= track->n_ranks
      || to >= track->n_ranks)
    return;
  write_flow_end (track, "s", *track->next_flow, record->gate_op, from);
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

      if (!is_shown (track, engine_op_record (track->engine, id)) || written >= track->budget)
        continue;
      members = replay_op_members (track->replay, id);
      for (guint i = 0; i < members->len; i++)
        if (g_array_index (members, guint, i) < track->n_ranks)
          {
            write_op (track, id, g_array_index (members, guint, i));
            written++;
          }
      write_flow (track, id);
    }
}

/* ---- hosts ---------------------------------------------------------------------------------------------------------- */

static void
write_block (const Track *track, guint rank, const HostBlock *block)
{
  g_autofree char *label =
      block->op != ENGINE_NONE ? replay_op_label (track->replay, block->op) : NULL;
  g_autofree char    *name = label != NULL ? g_strdup_printf ("waits for %s", label)
                                           : g_strdup ("waits for memory to be freed");
  struct json_object *event = event_new ("X", name, rank_pid (track, rank), TID_HOST);
  SimTime             start = MAX (block->start, track->start), end = MIN (block->end, track->end);

  add_text (event, "cat", "host");
  add_time (event, "ts", start - track->start);
  add_time (event, "dur", end - start);
  event_write (track, event);
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

/* ---- memory --------------------------------------------------------------------------------------------------------- */

static void
write_counter (const Track *track, guint pid, const char *tier, PoolCategory category, SimTime time,
               guint64 bytes)
{
  g_autofree char    *name = g_strdup_printf ("%s: %s", tier, pool_category_name (category));
  struct json_object *event = event_new ("C", name, pid, 0), *args = json_object_new_object ();

  add_int (args, "bytes", bytes);
  json_object_object_add (event, "args", args);
  add_time (event, "ts", time - track->start);
  event_write (track, event);
}

/* The counters of one pool: the level at the start, then each change; of changes at one time the last. */
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
    write_pool (track, replay_rank (track->replay, i)->hbm, rank_pid (track, i), "GPU memory");
  for (guint i = 0; i < replay_n_host_pools (track->replay) && i < track->n_ranks; i++)
    {
      guint            node;
      PoolId           pool = replay_host_pool (track->replay, i, &node);
      g_autofree char *name = g_strdup_printf ("%s: node %u", track->name, node);

      if (engine_pool_stats (track->engine, pool)->device.bytes == 0)
        continue;
      write_process (track, node_pid (track, i), name);
      write_pool (track, pool, node_pid (track, i), "host memory");
    }
}

/* ---- what is shown -------------------------------------------------------------------------------------------------- */

/* Events of each simulated rank: ops, arrows and blocks; counters go with the first ones. */
static guint64 *
count_events (const Track *track)
{
  guint64 *counts = g_new0 (guint64, replay_n_ranks (track->replay));

  for (OpId id = 0; id < engine_n_ops (track->engine); id++)
    {
      g_autoptr (GArray) members = NULL;

      if (!is_shown (track, engine_op_record (track->engine, id)))
        continue;
      members = replay_op_members (track->replay, id);
      for (guint i = 0; i < members->len; i++)
        counts[g_array_index (members, guint, i)] += 3;
    }
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
  event = event_new ("i", name, track->first_pid, TID_HOST);
  add_text (event, "s", "p");
  add_time (event, "ts", 0);
  event_write (track, event);
}

static void
write_replay (Track *track, guint budget)
{
  guint           last = replay_n_boundaries (track->replay) - 1;
  const Scenario *scenario = replay_scenario (track->replay);

  track->engine = replay_engine (track->replay);
  track->name = scenario->name != NULL ? scenario->name : scenario->strategy->strategy->name;
  track->start = replay_boundary (track->replay, last >= 2 ? last - 2 : 0);
  track->end = replay_boundary (track->replay, last);
  choose_ranks (track, budget);
  write_names (track);
  write_omission (track);
  write_ops (track);
  write_blocks (track);
  write_memory (track);
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
