#include "collective/measured.h"

#include <math.h>

#define OTHER_BOUND  1.1  /* what is not the network's is predicted no better: it forbids nothing */
#define LEAST_SCALE  1e-3 /* as of one slow card: less is a network that is broken */
#define CLOSE        1e-9 /* of time and scale */
#define MOST_TRIES   200
#define LEAST_HOPS   1e-3 /* of what the profile says a hop takes */
#define MOST_HOPS    1e3
#define NO_HOPS      1e-9
#define SAYS_NOTHING (-1.0)
#define MUCH         0.5 /* of the time: what takes more is what was measured */

typedef struct
{
  Cluster                 *cluster;
  const CollectiveOptions *options;
  const ClusterMeasured   *measured;
  const guint32           *ranks;
  guint                    n_ranks;
  double                   seconds; /* measured */
  gboolean                 others;  /* were measured that something else may explain */
  gboolean                 nearest; /* where nothing explains it, what comes nearest */
  const SourceMark        *mark;
  DiagList                *diags;
} Fit;

static double
seconds_of (const Fit *fit, double bus)
{
  return fit->measured->bytes * collective_bus_factor (fit->measured->kind, fit->n_ranks) / bus;
}

static void
cost_at (const Fit *fit, double scale, CollectiveCost *cost)
{
  g_autoptr (CollectivePlan) plan = NULL;

  cluster_scale_network (fit->cluster, scale);
  plan = collective_plan_new (fit->cluster, fit->measured->kind, fit->ranks, fit->n_ranks,
                              fit->options);
  collective_plan_cost (plan, fit->measured->bytes, cost);
}

static double
time_at (const Fit *fit, double scale)
{
  CollectiveCost cost;

  cost_at (fit, scale, &cost);
  return cost.time;
}

/* With hops that take SCALE times as long as their profile says, on the network as it is. */
static double
time_of_hops (const Fit *fit, double scale)
{
  cluster_scale_hops (fit->cluster, scale);
  return time_at (fit, cluster_network_scale (fit->cluster));
}

/*
 * The scale between LOW, where it takes longer than measured, and HIGH, where it does not. While
 * the network binds, the time is a straight line in 1 / scale, so a secant hits it at once; halving
 * takes over where it is not.
 */
static double
solve (const Fit *fit, double low, double high)
{
  double slow = time_at (fit, low), fast = time_at (fit, high);

  for (guint i = 0; i < MOST_TRIES && high / low > 1 + CLOSE; i++)
    {
      const double part = (slow - fit->seconds) / (slow - fast);
      const double secant = 1 / (1 / low + part * (1 / high - 1 / low));
      const double middle = i % 3 == 2 ? sqrt (low * high) : CLAMP (secant, low, high);
      const double time = time_at (fit, middle);

      if (fabs (time - fit->seconds) <= CLOSE * fit->seconds)
        return middle;
      if (time > fit->seconds)
        {
          low = middle;
          slow = time;
        }
      else
        {
          high = middle;
          fast = time;
        }
    }
  return high;
}

/* ---- what cannot be -------------------------------------------------------------------------- */

static char *
name_measurement (const Fit *fit)
{
  g_autofree char *rate = quantity_format (QUANTITY_BANDWIDTH, fit->measured->bus, 4);
  g_autofree char *size = quantity_format (QUANTITY_BYTES, fit->measured->bytes, 4);

  return g_strdup_printf ("%s of %s at %s", collective_kind_name (fit->measured->kind), size, rate);
}

static gboolean
binds_network (const Fit *fit, const CollectiveCost *cost)
{
  return cost->latency < fit->seconds && cost->binding != G_MAXUINT32
         && resource_kind_is_network (cluster_resource (fit->cluster, cost->binding)->kind);
}

/* B/s of all cards of the first node. */
static double
line_rate (const Cluster *cluster)
{
  return cluster_nic_profile (cluster, 0)->bandwidth.value * cluster_nics_of_node (cluster, 0);
}

/* Something else takes longer than was measured: COST, with cards at their line rate. */
static void
report_other_bound (const Fit *fit, const CollectiveCost *cost, const char *what,
                    const SourceMark *mark, DiagList *diags)
{
  const double     bus = fit->measured->bus * fit->seconds / cost->time;
  g_autofree char *most = quantity_format (QUANTITY_BANDWIDTH, bus, 4);
  g_autofree char *latency = quantity_format (QUANTITY_TIME, cost->latency, 4);
  g_autofree char *time = quantity_format (QUANTITY_TIME, fit->seconds, 4);
  g_autofree char *sum = quantity_format (QUANTITY_BANDWIDTH, line_rate (fit->cluster), 4);
  g_autofree char *binding = NULL;

  if (cost->latency >= fit->seconds)
    {
      diag_error (diags, mark, "measure a larger size",
                  "'measured': no network does %s, which takes %s: latency alone is %s", what, time,
                  latency);
      return;
    }
  if (cost->binding != G_MAXUINT32)
    binding = cluster_resource_name (fit->cluster, cost->binding);
  diag_error (diags, mark, "bus bandwidth as nccl-tests prints it, over all GPUs of the job",
              "'measured': no network does %s: %s holds it at %s, a node's cards sum to %s", what,
              binding != NULL ? binding : "what its channels carry", most, sum);
}

/* Cards at their line rate, COST, hold it up. */
static void
report_above (const Fit *fit, const CollectiveCost *cost, const char *what, const SourceMark *mark,
              DiagList *diags)
{
  const double     bus = fit->measured->bus * fit->seconds / cost->time;
  g_autofree char *sum = quantity_format (QUANTITY_BANDWIDTH, line_rate (fit->cluster), 4);
  g_autofree char *most = quantity_format (QUANTITY_BANDWIDTH, bus, 4);

  diag_error (
      diags, mark, "bus bandwidth as nccl-tests prints it, over all GPUs of the job",
      "'measured': %s is above what the cards carry: %s at their line rate, in sum %s a node", what,
      most, sum);
}

/* ---- the scale ------------------------------------------------------------------------------- */

/*
 * Of FIT's measurement; 0 after a diagnostic, or (nearest) an end of what there may be; or
 * SAYS_NOTHING where others were measured and not the network holds up what is predicted.
 */
static double
find_scale (const Fit *fit)
{
  const double     most = cluster_most_network_scale (fit->cluster);
  g_autofree char *what = name_measurement (fit);
  CollectiveCost   cost;

  if (fabs (time_at (fit, 1) - fit->seconds) <= CLOSE * fit->seconds)
    return 1; /* where something else binds, many scales would do */
  if (time_at (fit, LEAST_SCALE) < fit->seconds)
    {
      if (!fit->nearest)
        diag_error (fit->diags, fit->mark, NULL,
                    "'measured': %s is less than a thousandth of the network", what);
      return fit->nearest ? LEAST_SCALE : 0;
    }
  cost_at (fit, most, &cost);
  if (cost.time <= fit->seconds)
    return solve (fit, LEAST_SCALE, most);
  if (fit->nearest || (!binds_network (fit, &cost) && cost.time <= OTHER_BOUND * fit->seconds))
    return most;
  if (binds_network (fit, &cost))
    report_above (fit, &cost, what, fit->mark, fit->diags);
  else if (fit->others)
    return SAYS_NOTHING;
  else
    report_other_bound (fit, &cost, what, fit->mark, fit->diags);
  return 0;
}

/* ---- hops ------------------------------------------------------------------------------------ */

/* Whether hops between nodes take most of the time, so that it says what they take. */
static gboolean
tells_hops (const Fit *fit)
{
  const double whole = time_of_hops (fit, 1), rest = time_of_hops (fit, NO_HOPS);

  cluster_scale_hops (fit->cluster, 1);
  return whole - rest > MUCH * whole;
}

/* What explains FIT's measurement on the network as it is; as find_scale. */
static double
find_hops (const Fit *fit)
{
  double low = LEAST_HOPS, high = MOST_HOPS;

  if (time_of_hops (fit, low) >= fit->seconds)
    {
      g_autofree char *what = name_measurement (fit);
      CollectiveCost   cost;

      if (fit->nearest)
        return low;
      cost_at (fit, cluster_network_scale (fit->cluster), &cost);
      cost.latency = MAX (cost.latency, fit->seconds); /* what is not hops' takes as long */
      report_other_bound (fit, &cost, what, fit->mark, fit->diags);
      return 0;
    }
  if (time_of_hops (fit, high) <= fit->seconds)
    return high;
  for (guint i = 0; i < MOST_TRIES && high / low > 1 + CLOSE; i++)
    {
      const double middle = sqrt (low * high);

      if (time_of_hops (fit, middle) > fit->seconds)
        high = middle;
      else
        low = middle;
    }
  return high;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void
turn_to (Fit *fit, guint i)
{
  fit->measured = cluster_measured (fit->cluster, i);
  fit->seconds = seconds_of (fit, fit->measured->bus);
}

/* The geometric mean of what explains each measurement whose element of TAKEN is WANTED, or 1. */
static double
mean_of (Fit *fit, double (*find) (const Fit *), const gboolean *taken, gboolean wanted)
{
  const guint n = cluster_n_measured (fit->cluster);
  double      logs = 0, last = 1, scale;
  guint       found = 0;

  for (guint i = 0; i < n; i++)
    {
      if (taken[i] != wanted)
        continue;
      turn_to (fit, i);
      scale = find (fit);
      if (scale <= 0)
        continue;
      cluster_note_measured (fit->cluster, i, scale, 0);
      last = scale;
      logs += log (scale);
      found++;
    }
  return found < 2 ? last : exp (logs / found);
}

gboolean
collective_scale_to_measured (Cluster *cluster, const CollectiveOptions *options, gboolean nearest,
                              const SourceMark *mark, DiagList *diags)
{
  const guint          n = cluster_n_measured (cluster), n_ranks = cluster_n_gpus (cluster);
  const guint          errors = diag_list_n_errors (diags);
  g_autofree guint32  *ranks = g_new (guint32, n_ranks);
  g_autofree gboolean *hops = g_new0 (gboolean, n);
  CollectiveOptions    own = *options;
  Fit    fit = { cluster, &own, NULL, ranks, n_ranks, 0, n > 1, nearest, mark, diags };
  double scale;

  if (n == 0)
    return TRUE;
  own.layouts = NULL; /* of a network at another scale */
  for (guint i = 0; i < n_ranks; i++)
    ranks[i] = i;
  for (guint i = 0; i < n; i++)
    {
      turn_to (&fit, i);
      hops[i] = tells_hops (&fit);
    }
  scale = mean_of (&fit, find_scale, hops, FALSE);
  if (diag_list_n_errors (diags) > errors)
    return FALSE;
  cluster_scale_network (cluster, scale);
  scale = mean_of (&fit, find_hops, hops, TRUE);
  if (diag_list_n_errors (diags) > errors)
    return FALSE;
  cluster_scale_hops (cluster, scale);
  for (guint i = 0; i < n; i++)
    {
      turn_to (&fit, i);
      cluster_note_measured (
          cluster, i, fit.measured->scale,
          seconds_of (&fit, 1) / time_at (&fit, cluster_network_scale (cluster)));
    }
  return TRUE;
}
