#include "analysis/collective-sweep.h"

#define ELEMENT 4 /* float, nccl-tests' default type */

static gboolean
is_by_rank (CollectiveKind kind)
{
  return kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_REDUCE_SCATTER
         || kind == COLLECTIVE_ALL_TO_ALL;
}

static char *
name_binding (const Cluster *cluster, const CollectiveCost *cost, double bytes)
{
  if (cost->binding != G_MAXUINT32)
    return cluster_resource_name (cluster, cost->binding);
  return g_strdup (cost->rate_cap > 0 && bytes / cost->rate_cap > cost->latency ? "channels"
                                                                                : "latency");
}

/* Time of one operation alone; negative with ERROR set. */
static double
time_of (const Cluster *cluster, CollectivePlan *plan, Fidelity fidelity, double bytes, GError **error)
{
  CollectiveRunItem item = { plan, bytes, 0 };
  SimTime           finish = 0;
  gboolean          ok;

  if (fidelity == FIDELITY_ANALYTIC)
    return collective_plan_time (plan, bytes);
  ok = fidelity == FIDELITY_FLUID ? collective_run_fluid (cluster, &item, 1, &finish, error)
                                  : collective_run_step (cluster, &item, 1, &finish, error);
  return ok ? sim_time_to_seconds (finish) : -1;
}

static gboolean
add_sample (CollectiveSweep *self, const Cluster *cluster, CollectivePlan *plan, guint64 bytes,
            GError **error)
{
  guint64          each = is_by_rank (self->kind) ? (guint64) ELEMENT * self->n_ranks : ELEMENT;
  CollectiveSample sample = { .bytes = bytes / each * each };
  double           s = (double) sample.bytes;
  CollectiveCost   cost;

  if (sample.bytes == 0)
    return TRUE;
  collective_plan_cost (plan, s, &cost);
  sample.time = time_of (cluster, plan, self->fidelity, s, error);
  if (sample.time < 0)
    return FALSE;
  sample.count = sample.bytes / each;
  sample.algbw = sample.time > 0 ? s / sample.time : 0;
  sample.busbw = sample.algbw * collective_bus_factor (self->kind, self->n_ranks);
  sample.algorithm = cost.algorithm;
  sample.protocol = cost.protocol;
  sample.channels = cost.channels;
  sample.binding = name_binding (cluster, &cost, s);
  g_array_append_val (self->samples, sample);
  self->mean_busbw += sample.busbw;
  return TRUE;
}

/* The size after BYTES; 0 when there is none that fits. */
static guint64
next_size (const CollectiveSweepOptions *options, guint64 bytes)
{
  double next = options->step_bytes > 0 ? (double) bytes + (double) options->step_bytes
                                        : (double) bytes * options->step_factor;

  if (next > (double) options->max_bytes)
    return 0;
  return MAX ((guint64) next, bytes + 1);
}

static void
clear_sample (gpointer data)
{
  g_free (((CollectiveSample *) data)->binding);
}

CollectiveSweep *
collective_sweep (const Cluster *cluster, const guint32 *ranks, guint n_ranks,
                  const CollectiveOptions *library, const CollectiveSweepOptions *options,
                  GError **error)
{
  g_autoptr (CollectiveSweep) self = g_new0 (CollectiveSweep, 1);
  g_autoptr (CollectivePlan)  plan =
      collective_plan_new (cluster, options->kind, ranks, n_ranks, library);

  self->kind = options->kind;
  self->cluster = g_strdup (cluster_title (cluster));
  self->n_ranks = n_ranks;
  self->fidelity = options->fidelity;
  self->samples = g_array_new (FALSE, FALSE, sizeof (CollectiveSample));
  g_array_set_clear_func (self->samples, clear_sample);
  for (guint64 bytes = options->min_bytes; bytes > 0; bytes = next_size (options, bytes))
    if (!add_sample (self, cluster, plan, bytes, error))
      return NULL;
  if (self->samples->len > 0)
    self->mean_busbw /= self->samples->len;
  return g_steal_pointer (&self);
}

void
collective_sweep_free (CollectiveSweep *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->samples, g_array_unref);
  g_free (self->cluster);
  g_free (self);
}
