#include "predict/collective-sweep.h"

#define ELEMENT 4  /* float, nccl-tests' default type */
#define BLOCK   16 /* bytes: parts of a rank are whole multiples of it */

static gboolean
is_by_rank (CollectiveKind kind)
{
  return kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_REDUCE_SCATTER
         || kind == COLLECTIVE_ALL_TO_ALL;
}

/* As collective_cost_binding, of what ran concurrently with others. */
static char *
name_bound (const Cluster *cluster, const CollectiveBound *bound)
{
  if (bound->cause == CAUSE_RESOURCE)
    return cluster_resource_name (cluster, bound->resource);
  return g_strdup (bound->cause == CAUSE_CAP ? "channels" : "latency");
}

guint64
collective_whole_size (CollectiveKind kind, guint n_ranks, guint64 bytes)
{
  guint64 part = is_by_rank (kind) ? (guint64) BLOCK * n_ranks : ELEMENT;

  return bytes / part * part;
}

/* What a row is run with: plans stand for the whole sweep, the rest is scratch. */
typedef struct
{
  const Cluster     *cluster;
  CollectivePlan   **plans; /* [1 + n_concurrent], that of the rows first */
  CollectiveRunItem *items; /* [1 + n_concurrent] */
  guint           *whose;  /* [1 + n_concurrent] neighbour of an item; the first is the row's own */
  SimTime         *finish; /* [1 + n_concurrent] */
  CollectiveBound *bound;  /* [1 + n_concurrent] of the last run that was `fluid` */
} Sweeper;

/* Runs the first N items. FALSE with ERROR set. */
static gboolean
run_items (const Sweeper *self, Fidelity fidelity, guint n, GError **error)
{
  return fidelity == FIDELITY_FLUID
             ? collective_run_fluid_bound (self->cluster, self->items, n, self->finish, self->bound,
                                           error)
             : collective_run_step (self->cluster, self->items, n, self->finish, error);
}

/* What ITEM took, s. */
static double
time_of (const Sweeper *self, guint item)
{
  return sim_time_to_seconds (self->finish[item] - sim_time_from_seconds (self->items[item].start));
}

static gboolean
time_alone (const CollectiveSweep *self, const Sweeper *sweeper, CollectiveSample *sample,
            GError **error)
{
  double bytes = (double) sample->bytes;

  sweeper->items[0] = (CollectiveRunItem){ sweeper->plans[0], bytes, 0 };
  if (self->fidelity == FIDELITY_ANALYTIC)
    sample->alone = collective_plan_time (sweeper->plans[0], bytes);
  else if (run_items (sweeper, self->fidelity, 1, error))
    sample->alone = time_of (sweeper, 0);
  else
    return FALSE;
  sample->time = sample->alone;
  return TRUE;
}

/* Neighbours that have something to do in this row become items; returns their number. */
static guint
add_neighbours (const CollectiveSweep *self, const Sweeper *sweeper, guint64 row_bytes)
{
  guint n = 1;

  for (guint i = 0; i < self->options.n_concurrent; i++)
    {
      const CollectiveNeighbour *concurrent = &self->concurrent[i];
      guint64                    asked = concurrent->bytes > 0 ? concurrent->bytes : row_bytes;
      guint64 bytes = collective_whole_size (concurrent->kind, concurrent->n_ranks, asked);

      if (bytes == 0)
        continue;
      sweeper->whose[n] = i;
      sweeper->items[n++] =
          (CollectiveRunItem){ sweeper->plans[1 + i], (double) bytes, concurrent->start };
    }
  return n;
}

static gboolean
time_concurrent (const CollectiveSweep *self, const Sweeper *sweeper, CollectiveSample *sample,
                 GError **error)
{
  guint n = add_neighbours (self, sweeper, sample->bytes);

  if (!run_items (sweeper, self->fidelity, n, error))
    return FALSE;
  sample->time = time_of (sweeper, 0);
  sample->concurrent = g_new0 (double, self->options.n_concurrent);
  for (guint i = 1; i < n; i++)
    sample->concurrent[sweeper->whose[i]] = time_of (sweeper, i);
  return TRUE;
}

static gboolean
add_sample (CollectiveSweep *self, const Sweeper *sweeper, guint64 asked, GError **error)
{
  CollectiveSample sample = { .bytes = collective_whole_size (self->kind, self->n_ranks, asked) };
  double           s = (double) sample.bytes;
  CollectiveCost   cost;

  if (sample.bytes == 0)
    return TRUE;
  if (!time_alone (self, sweeper, &sample, error))
    return FALSE;
  if (self->options.n_concurrent > 0 && !time_concurrent (self, sweeper, &sample, error))
    return FALSE;
  collective_plan_cost (sweeper->plans[0], s, &cost);
  sample.count = sample.bytes / ELEMENT / (is_by_rank (self->kind) ? self->n_ranks : 1);
  sample.algbw = sample.time > 0 ? s / sample.time : 0;
  sample.busbw = sample.algbw * collective_bus_factor (self->kind, self->n_ranks);
  sample.algorithm = cost.algorithm;
  sample.protocol = cost.protocol;
  sample.channels = cost.channels;
  sample.binding = self->options.n_concurrent > 0 && self->fidelity == FIDELITY_FLUID
                       ? name_bound (sweeper->cluster, &sweeper->bound[0])
                       : collective_cost_binding (&cost, sweeper->cluster, s);
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

guint
collective_sweep_n_sizes (const CollectiveSweepOptions *options)
{
  guint n = 0;

  for (guint64 bytes = options->min_bytes; bytes > 0 && n <= COLLECTIVE_SWEEP_MAX_SIZES;
       bytes = next_size (options, bytes))
    n++;
  return n;
}

static void
clear_sample (gpointer data)
{
  CollectiveSample *sample = data;

  g_free (sample->binding);
  g_free (sample->concurrent);
}

static CollectiveSweep *
sweep_new (const Cluster *cluster, guint n_ranks, const CollectiveSweepOptions *options)
{
  CollectiveSweep *self = g_new0 (CollectiveSweep, 1);
  g_autofree char *network = cluster_network_title (cluster);

  self->kind = options->kind;
  self->cluster = network != NULL
                      ? g_strdup_printf ("%s; network %s", cluster_title (cluster), network)
                      : g_strdup (cluster_title (cluster));
  self->measured = cluster_copy_measured (cluster);
  self->network_scale = cluster_network_scale (cluster);
  self->n_ranks = n_ranks;
  self->fidelity = options->fidelity;
  self->samples = g_array_new (FALSE, FALSE, sizeof (CollectiveSample));
  g_array_set_clear_func (self->samples, clear_sample);
  self->concurrent = g_new0 (CollectiveNeighbour, options->n_concurrent);
  for (guint i = 0; i < options->n_concurrent; i++)
    {
      self->concurrent[i] = options->concurrent[i];
      self->concurrent[i].ranks = NULL;
      self->concurrent[i].library.library = NULL;
    }
  self->options = *options;
  self->options.concurrent = self->concurrent;
  return self;
}

static void
sweeper_init (Sweeper *self, const Cluster *cluster, const guint32 *ranks, guint n_ranks,
              const CollectiveOptions *library, const CollectiveSweepOptions *options)
{
  guint n = 1 + options->n_concurrent;

  *self = (Sweeper){ .cluster = cluster,
                     .plans = g_new (CollectivePlan *, n),
                     .items = g_new (CollectiveRunItem, n),
                     .whose = g_new0 (guint, n),
                     .finish = g_new (SimTime, n),
                     .bound = g_new0 (CollectiveBound, n) };
  self->plans[0] = collective_plan_new (cluster, options->kind, ranks, n_ranks, library);
  for (guint i = 1; i < n; i++)
    {
      const CollectiveNeighbour *concurrent = &options->concurrent[i - 1];

      self->plans[i] = collective_plan_new (cluster, concurrent->kind, concurrent->ranks,
                                            concurrent->n_ranks, &concurrent->library);
    }
}

CollectiveSweep *
collective_sweep (const Cluster *cluster, const guint32 *ranks, guint n_ranks,
                  const CollectiveOptions *library, const CollectiveSweepOptions *options,
                  GError **error)
{
  g_autoptr (CollectiveSweep) self = sweep_new (cluster, n_ranks, options);
  gboolean                    ok = TRUE;
  Sweeper                     sweeper;

  g_assert (options->n_concurrent == 0 || options->fidelity != FIDELITY_ANALYTIC);
  sweeper_init (&sweeper, cluster, ranks, n_ranks, library, options);
  work_count_add (options->count, collective_sweep_n_sizes (options));
  for (guint64 bytes = options->min_bytes; bytes > 0 && ok; bytes = next_size (options, bytes))
    {
      ok = add_sample (self, &sweeper, bytes, error);
      work_count_done (options->count);
    }
  for (guint i = 0; i < 1 + options->n_concurrent; i++)
    collective_plan_free (sweeper.plans[i]);
  g_free (sweeper.plans);
  g_free (sweeper.items);
  g_free (sweeper.whose);
  g_free (sweeper.finish);
  g_free (sweeper.bound);
  if (self->samples->len > 0)
    self->mean_busbw /= self->samples->len;
  return ok ? g_steal_pointer (&self) : NULL;
}

void
collective_sweep_free (CollectiveSweep *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->samples, g_array_unref);
  g_free (self->concurrent);
  g_free (self->cluster);
  g_clear_pointer (&self->measured, g_array_unref);
  g_free (self->profiles);
  g_free (self);
}
