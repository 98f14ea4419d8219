#include "cost/collective/library/measured.h"

#include <math.h>

#include "cost/collective/layout/layout-store.h"
#include "cost/collective/library/bus-limit.h"

#define LEAST_SCALE 1e-3 /* as of one slow card: less is a network that is broken */
#define CLOSE       1e-9 /* of time and scale */
#define MOST_TRIES  200
#define LEAST_HOPS  1e-3 /* of what the profile says a hop takes */
#define MOST_HOPS   1e3
#define NO_HOPS     1e-9
#define MUCH        0.5   /* of the time: what takes more is what was measured */
#define MISSED      1.03  /* of the measured time: from there on it is said what holds it */
#define HELPS       1.001 /* of the least time: what is saved below that is no help */

typedef struct
{
  Cluster                 *cluster;
  const CollectiveOptions *options;
  ClusterMeasured         *measured;
  const guint32           *ranks;
  guint                    n_ranks;
  double                   seconds; /* measured */
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

/* ---- what is out of reach -------------------------------------------------------------------- */

static char *
name_measurement (const Fit *fit)
{
  g_autofree char *rate = quantity_format (QUANTITY_BANDWIDTH, fit->measured->bus, 4);
  g_autofree char *size = quantity_format (QUANTITY_BYTES, fit->measured->bytes, 4);

  return g_strdup_printf ("%s of %s at %s", collective_kind_name (fit->measured->kind), size, rate);
}

/* Whether cards at their line rate may do as FIT's measurement says; FALSE after an error. */
static gboolean
check_limit (const Fit *fit)
{
  const gboolean   sharp = fit->options->sharp;
  const double     most = collective_bus_limit (fit->cluster, fit->measured->kind, sharp);
  const double     reduced = collective_bus_limit (fit->cluster, fit->measured->kind, TRUE);
  g_autofree char *what = NULL, *limit = NULL, *sum = NULL;

  if (fit->nearest || fit->measured->bus <= most)
    return TRUE;
  what = name_measurement (fit);
  limit = quantity_format (QUANTITY_BANDWIDTH, most, 4);
  sum = quantity_format (QUANTITY_BANDWIDTH, collective_line_rate (fit->cluster, 0), 4);
  diag_error (fit->diags, fit->mark,
              fit->measured->bus <= reduced
                  ? "where the network's switches reduce, set 'sharp'"
                  : "bus bandwidth as nccl-tests prints it, over all GPUs of the job",
              "'measured': %s is above what the cards carry: %s at their line rate, in sum %s a "
              "node",
              what, limit, sum);
  return FALSE;
}

/* What holds COST, which takes longer than was measured, and what to look at. */
static const char *
name_bound (const Fit *fit, const CollectiveCost *cost, char **name)
{
  const double     capped = cost->rate_cap > 0 ? fit->measured->bytes / cost->rate_cap : 0;
  g_autofree char *resource = NULL;

  if (cost->latency >= fit->seconds || (cost->binding == G_MAXUINT32 && cost->latency > capped))
    {
      g_autofree char *time = quantity_format (QUANTITY_TIME, cost->latency, 4);

      *name = g_strdup_printf ("latency alone, which is %s,", time);
      return "a larger size says more of the network";
    }
  if (cost->binding == G_MAXUINT32)
    {
      *name = g_strdup ("what the library's channels carry");
      return "give the release and settings that it was measured with: 'nccl', 'algorithm', "
             "'nchannels'";
    }
  resource = cluster_resource_name (fit->cluster, cost->binding);
  if (resource_kind_is_network (cluster_resource (fit->cluster, cost->binding)->kind))
    {
      *name = g_strdup_printf ("'%s', at the line rate of cards,", resource);
      return "look at the number of cards and at their profile";
    }
  *name = g_strdup_printf ("'%s', inside the node,", resource);
  return "look at the node's profile: how GPUs reach each other and the cards";
}

/* COST is as near as any network comes to what was measured, which takes less time. */
static void
warn_of_bound (const Fit *fit, const CollectiveCost *cost)
{
  g_autofree char *what = NULL, *most = NULL, *name = NULL;
  const char      *hint;

  if (fit->nearest || cost->time <= MISSED * fit->seconds)
    return;
  what = name_measurement (fit);
  most = quantity_format (QUANTITY_BANDWIDTH, fit->measured->bus * fit->seconds / cost->time, 4);
  hint = name_bound (fit, cost, &name);
  diag_warning (fit->diags, fit->mark, hint, "'measured': %s is out of reach: %s holds it at %s",
                what, name, most);
}

/* ---- the scale ------------------------------------------------------------------------------- */

/*
 * The least scale, but no less than 1, from which on a faster network helps no more. COST: with
 * cards at their line rate, MOST, which something else holds.
 */
static double
least_that_helps (const Fit *fit, const CollectiveCost *cost, double most)
{
  Fit held = *fit;

  held.seconds = cost->time * HELPS;
  if (cost->latency >= fit->seconds || time_at (fit, 1) <= held.seconds)
    return 1;
  return solve (&held, 1, most);
}

/*
 * Of FIT's measurement, or 0 after an error. Where it is out of reach the nearest: TELLS says
 * whether the network is what holds it.
 */
static double
find_scale (const Fit *fit, gboolean *tells)
{
  const double   most = cluster_most_network_scale (fit->cluster);
  CollectiveCost cost;

  *tells = TRUE;
  if (fabs (time_at (fit, 1) - fit->seconds) <= CLOSE * fit->seconds)
    return 1; /* where something else binds, many scales would do */
  if (time_at (fit, LEAST_SCALE) < fit->seconds)
    {
      g_autofree char *what = name_measurement (fit);

      if (!fit->nearest)
        diag_error (fit->diags, fit->mark, NULL,
                    "'measured': %s is less than a thousandth of the network", what);
      return fit->nearest ? LEAST_SCALE : 0;
    }
  cost_at (fit, most, &cost);
  *tells = cost.latency < fit->seconds && cost.binding != G_MAXUINT32
           && resource_kind_is_network (cluster_resource (fit->cluster, cost.binding)->kind);
  if (cost.time * (*tells ? 1 : HELPS) <= fit->seconds)
    {
      *tells = TRUE;
      return solve (fit, LEAST_SCALE, most);
    }
  warn_of_bound (fit, &cost);
  return *tells ? most : least_that_helps (fit, &cost, most);
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

/*
 * What explains FIT's measurement on the network as it is, as find_scale. What takes as long as
 * without hops, or less, does not say that they are free: no more is taken from them than helps.
 */
static double
find_hops (const Fit *fit, gboolean *tells)
{
  const double rest = time_of_hops (fit, NO_HOPS), seconds = MAX (fit->seconds, MISSED * rest);
  double       low = LEAST_HOPS, high = MOST_HOPS;

  *tells = TRUE;
  if (rest > fit->seconds)
    {
      CollectiveCost cost;

      cost_at (fit, cluster_network_scale (fit->cluster), &cost);
      warn_of_bound (fit, &cost);
    }
  if (time_of_hops (fit, high) <= seconds)
    return high;
  for (guint i = 0; i < MOST_TRIES && high / low > 1 + CLOSE; i++)
    {
      const double middle = sqrt (low * high);

      if (time_of_hops (fit, middle) > seconds)
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
  fit->measured = cluster_note_measured (fit->cluster, i);
  fit->seconds = seconds_of (fit, fit->measured->bus);
}

/*
 * The geometric mean of what explains each measurement whose element of TAKEN is WANTED and that
 * tells it; if none does, the largest that one of them comes down to, or 1.
 */
static double
mean_of (Fit *fit, double (*find) (const Fit *, gboolean *), const gboolean *taken, gboolean wanted)
{
  const guint n = cluster_n_measured (fit->cluster);
  double      logs = 0, last = 1, scale;
  guint       found = 0;
  gboolean    tells;

  for (guint i = 0; i < n; i++)
    {
      if (taken[i] != wanted)
        continue;
      turn_to (fit, i);
      scale = find (fit, &tells);
      if (scale <= 0)
        continue;
      fit->measured->scale = scale;
      if (tells)
        {
          last = scale;
          logs += log (scale);
          found++;
        }
      else if (found == 0)
        last = MAX (last, scale);
    }
  return found < 2 ? last : exp (logs / found);
}

gboolean
collective_scale_to_measured (Cluster *cluster, const CollectiveOptions *options, gboolean nearest,
                              const SourceMark *mark, DiagList *diags)
{
  const guint             n = cluster_n_measured (cluster), n_ranks = cluster_n_gpus (cluster);
  const guint             errors = diag_list_n_errors (diags);
  g_autoptr (LayoutStore) layouts = layout_store_new ();
  g_autofree guint32     *ranks = g_new (guint32, n_ranks);
  g_autofree gboolean    *hops = g_new0 (gboolean, n);
  CollectiveOptions       own = *options;
  Fit                     fit = { cluster, &own, NULL, ranks, n_ranks, 0, nearest, mark, diags };
  double                  scale;
  gboolean                good = TRUE;

  if (n == 0)
    return TRUE;
  own.layouts = layouts; /* tries would drive out what OPTIONS keeps for other clusters */
  for (guint i = 0; i < n_ranks; i++)
    ranks[i] = i;
  for (guint i = 0; i < n; i++)
    {
      turn_to (&fit, i);
      hops[i] = fit.measured->hops = tells_hops (&fit);
      fit.measured->before = seconds_of (&fit, 1) / time_at (&fit, 1);
      good = check_limit (&fit) && good;
    }
  if (!good)
    return FALSE;
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
      fit.measured->after = seconds_of (&fit, 1) / time_at (&fit, cluster_network_scale (cluster));
    }
  return TRUE;
}
