/*
 * Counters of what is taken of resources in a trace.
 *
 * SMs and HBM are shares of what the GPU has. NVLink and cards are GB/s (10^9) of what the
 * collective library sends: what is taken of the link, less what framing costs (its efficiency).
 * Every counter ends at 0.
 */
#include "report/trace/trace-private.h"

#include <string.h>

/* A counter, or none. */
typedef struct
{
  gboolean shown;
  gboolean of_node;
  guint    owner; /* index of the simulated rank, or of the node's host pool */
  char    *name;  /* "HBM in use (%)" */
  double   scale; /* of the resource's unit per second */
  double   level;
  char     written[32]; /* the last value as text */
  gboolean begun;       /* something was written */
} Counter;

static void
counters_free (Counter *counters, guint n)
{
  for (guint i = 0; i < n; i++)
    g_free (counters[i].name);
  g_free (counters);
}

static gboolean
find_rank (const Replay *replay, guint gpu, guint *index)
{
  for (*index = 0; *index < replay_n_ranks (replay); (*index)++)
    if (replay_rank (replay, *index)->rank == gpu)
      return TRUE;
  return FALSE;
}

static gboolean
find_node (const Replay *replay, guint wanted, guint *index)
{
  guint node;

  for (*index = 0; *index < replay_n_host_pools (replay); (*index)++)
    {
      replay_host_pool (replay, *index, &node);
      if (node == wanted)
        return TRUE;
    }
  return FALSE;
}

/* Of a GPU's own resource. */
static void
describe_gpu (Counter *self, const char *name, const Replay *replay,
              const ClusterResource *resource, double scale)
{
  guint gpu = cluster_first_gpu (replay_cluster (replay), resource->node) + resource->index;

  self->shown = find_rank (replay, gpu, &self->owner);
  self->name = g_strdup (name);
  self->scale = scale;
}

/* Of a link of a node: "nic0.tx (GB/s)". */
static void
describe_link (Counter *self, const Replay *replay, guint id, const ClusterResource *resource)
{
  g_autofree char *whole = cluster_resource_name (replay_cluster (replay), id);
  const char      *dot = strchr (whole, '.');

  self->of_node = TRUE;
  self->shown = find_node (replay, resource->node, &self->owner);
  self->name = g_strdup_printf ("%s (GB/s)", dot != NULL ? dot + 1 : whole);
  self->scale = resource->efficiency / 1e9;
}

static Counter *
counters_new (const Replay *replay, guint n)
{
  Counter *counters = g_new0 (Counter, n);

  for (ResourceId r = 0; r < n; r++)
    {
      guint                  id = replay_bound_cluster_resource (replay_bound (replay), r, NULL);
      const ClusterResource *resource = cluster_resource (replay_cluster (replay), id);

      switch (resource->kind)
        {
        case RESOURCE_SM:
          describe_gpu (&counters[r], "SM in use (%)", replay, resource, 100 / resource->capacity);
          break;
        case RESOURCE_HBM:
          describe_gpu (&counters[r], "HBM in use (%)", replay, resource, 100 / resource->capacity);
          break;
        case RESOURCE_NVLINK_OUT:
          describe_gpu (&counters[r], "NVLink out (GB/s)", replay, resource,
                        resource->efficiency / 1e9);
          break;
        case RESOURCE_NVLINK_IN:
          describe_gpu (&counters[r], "NVLink in (GB/s)", replay, resource,
                        resource->efficiency / 1e9);
          break;
        case RESOURCE_NVLINK_PAIR:
        case RESOURCE_NIC_TX:
        case RESOURCE_NIC_RX:
          describe_link (&counters[r], replay, id, resource);
          break;
        default:
          break;
        }
    }
  return counters;
}

static void
write_level (const Track *track, Counter *self, double level, SimTime time)
{
  guint pid =
      self->of_node ? trace_node_pid (track, self->owner) : trace_rank_pid (track, self->owner);
  struct json_object *event, *args;
  char                text[sizeof self->written];
  double              value = level * self->scale;

  g_ascii_formatd (text, sizeof text, "%.6g", value);
  if (self->begun && g_str_equal (text, self->written))
    return;
  event = trace_event_new ("C", self->name, pid, 0);
  args = json_object_new_object ();
  json_object_object_add (args, "value", json_object_new_double_s (value, text));
  json_object_object_add (event, "args", args);
  trace_add_time (event, "ts", time - track->start);
  trace_event_write (track, event);
  self->begun = TRUE;
  g_strlcpy (self->written, text, sizeof self->written);
}

/* Every change in the window that TRACK shows, after what there was at its start. */
static void
write_changes (const Track *track, Counter *counters)
{
  guint            n;
  const UseChange *log = engine_use_log (track->engine, &n);

  for (guint i = 0; i < n && log[i].time < track->cut; i++)
    {
      Counter *counter = &counters[log[i].resource];

      if (!counter->shown)
        continue;
      if (log[i].time > track->start && !counter->begun)
        write_level (track, counter, counter->level, track->start);
      counter->level = log[i].use;
      if (log[i].time >= track->start)
        write_level (track, counter, counter->level, log[i].time);
    }
}

static void
write_nodes (const Track *track, const gboolean *counted)
{
  for (guint i = 0; i < replay_n_host_pools (track->replay) && i < track->n_ranks; i++)
    {
      guint            node;
      PoolId           pool = replay_host_pool (track->replay, i, &node);
      g_autofree char *name = g_strdup_printf ("%s: node %u", track->name, node);

      if (counted[i] || engine_pool_stats (track->engine, pool)->device.bytes > 0)
        trace_write_process (track, trace_node_pid (track, i), name);
    }
}

void
trace_write_use (const Track *track)
{
  guint                n = engine_n_resources (track->engine);
  Counter             *counters = counters_new (track->replay, n);
  g_autofree gboolean *counted = g_new0 (gboolean, MAX (replay_n_host_pools (track->replay), 1));

  for (guint r = 0; r < n; r++)
    counters[r].shown = counters[r].shown && counters[r].owner < track->n_ranks;
  write_changes (track, counters);
  for (guint r = 0; r < n; r++)
    {
      Counter *counter = &counters[r];

      if (counter->shown && !counter->begun && counter->level > 0) /* all the time */
        write_level (track, counter, counter->level, track->start);
      if (!counter->begun)
        continue;
      write_level (track, counter, 0, track->cut);
      if (counter->of_node)
        counted[counter->owner] = TRUE;
    }
  write_nodes (track, counted);
  counters_free (counters, n);
}

void
trace_use_count (const Track *track, guint64 *counts)
{
  guint            n_resources = engine_n_resources (track->engine), n;
  Counter         *counters = counters_new (track->replay, n_resources);
  const UseChange *log = engine_use_log (track->engine, &n);

  for (guint i = 0; i < n && log[i].time < track->end; i++)
    if (log[i].time >= track->start && counters[log[i].resource].shown)
      counts[counters[log[i].resource].of_node ? 0 : counters[log[i].resource].owner]++;
  counters_free (counters, n_resources);
}
