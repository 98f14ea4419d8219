/* What held an op back while it ran. */
#include "report/trace/trace-private.h"

static const char *
segment_name (const Track *track, const TraceSegment *segment)
{
  const Cluster *cluster = replay_cluster (track->replay);

  if (segment->cause == CAUSE_CAP)
    return "channels";
  if (segment->cause != CAUSE_RESOURCE)
    return cause_name (segment->cause);
  return resource_kind_name (
      cluster_resource (cluster, replay_bound_cluster_resource (replay_bound (track->replay),
                                                                segment->resource, NULL))
          ->kind);
}

/* The entry of NAME in SUMS, made where there is none. */
static TraceCause *
cause_of_name (GArray *sums, const char *name)
{
  const TraceCause fresh = { .name = name };

  for (guint i = 0; i < sums->len; i++)
    if (g_array_index (sums, TraceCause, i).name == name)
      return &g_array_index (sums, TraceCause, i);
  g_array_append_val (sums, fresh);
  return &g_array_index (sums, TraceCause, sums->len - 1);
}

GArray *
trace_causes (const Track *track, const OpRecord *record)
{
  const TraceSegment *segments = engine_segments (track->engine, record);
  GArray             *sums = g_array_new (FALSE, FALSE, sizeof (TraceCause));

  for (guint i = 0; i < record->n_segments; i++)
    cause_of_name (sums, segment_name (track, &segments[i]))->time += segments[i].duration;
  return sums;
}

const char *
trace_binding (const Track *track, const OpRecord *record)
{
  g_autoptr (GArray) sums = NULL;
  TraceCause         most = { 0 };

  if (record->n_segments == 1)
    return segment_name (track, engine_segments (track->engine, record));
  sums = trace_causes (track, record);
  for (guint i = 0; i < sums->len; i++)
    if (g_array_index (sums, TraceCause, i).time > most.time)
      most = g_array_index (sums, TraceCause, i);
  return most.name;
}
