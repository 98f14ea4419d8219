/* One event of a trace, and whose it is. */
#include "report/trace/trace-private.h"

void
trace_add_text (struct json_object *object, const char *key, const char *text)
{
  json_object_object_add (object, key, json_object_new_string (text));
}

void
trace_add_int (struct json_object *object, const char *key, guint64 value)
{
  json_object_object_add (object, key, json_object_new_uint64 (value));
}

/* Picoseconds as microseconds with six decimals: exact. */
void
trace_add_time (struct json_object *object, const char *key, SimTime time)
{
  char text[40];

  g_snprintf (text, sizeof text, "%" G_GUINT64_FORMAT ".%06u", time / 1000000,
              (guint) (time % 1000000));
  json_object_object_add (object, key, json_object_new_double_s ((double) time / 1e6, text));
}

struct json_object *
trace_event_new (const char *phase, const char *name, guint pid, guint tid)
{
  struct json_object *event = json_object_new_object ();

  trace_add_text (event, "ph", phase);
  trace_add_text (event, "name", name);
  trace_add_int (event, "pid", pid);
  trace_add_int (event, "tid", tid);
  return event;
}

/* Takes EVENT. Errors of the stream are found when it is closed. */
void
trace_event_write (const Track *track, struct json_object *event)
{
  fputs (*track->comma ? ",\n" : "\n", track->out);
  fputs (json_object_to_json_string_ext (event,
                                         JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
         track->out);
  *track->comma = TRUE;
  json_object_put (event);
}

void
trace_write_metadata (const Track *track, const char *what, guint pid, guint tid, const char *name,
                      guint64 sort)
{
  struct json_object *event = trace_event_new ("M", what, pid, tid),
                     *args = json_object_new_object ();

  if (name != NULL)
    trace_add_text (args, "name", name);
  else
    trace_add_int (args, "sort_index", sort);
  json_object_object_add (event, "args", args);
  trace_event_write (track, event);
}

void
trace_write_process (const Track *track, guint pid, const char *name)
{
  trace_write_metadata (track, "process_name", pid, 0, name, 0);
  trace_write_metadata (track, "process_sort_index", pid, 0, NULL, pid);
}

guint
trace_rank_pid (const Track *track, guint rank)
{
  return track->first_pid + rank;
}

guint
trace_node_pid (const Track *track, guint node)
{
  return track->first_pid + replay_n_ranks (track->replay) + node;
}

gboolean
trace_shows (const Track *track, const OpRecord *record)
{
  return record->begin >= track->start && record->begin < track->end && record->end > record->begin;
}

GArray *
trace_members (const Track *track, OpId id)
{
  g_autoptr (GArray) all = replay_op_members (track->replay, id);
  GArray            *members = g_array_sized_new (FALSE, FALSE, sizeof (guint), all->len);

  for (guint i = 0; i < all->len; i++)
    if (g_array_index (all, guint, i) < track->n_ranks)
      g_array_append_val (members, g_array_index (all, guint, i));
  return members;
}
