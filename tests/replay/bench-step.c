/*
 * A ring all-reduce of 1 GiB over 4 096 ranks, as nodes of one GPU and of eight, 33.5 million
 * steps: time of the three fidelities against their goals, and the peak memory of the process.
 * Fails beyond a goal. (ASTRA-sim's analytical back-end, as measured once: 1 098 s and 5.57 GB.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "replay/run/collective-run.h"

#define RANKS       4096
#define BYTES       (1 << 30)
#define FLUID_RUNS  20
#define FLUID_GOAL  1e-3 /* s; of the fastest run, the plan stands */
#define STEP_GOAL   30.0 /* s */
#define MEMORY_GOAL 500  /* MB */

typedef gboolean (*RunFunction) (const Cluster *, const CollectiveRunItem *, guint, SimTime *,
                                 GError **);

static double
seconds_since (gint64 start)
{
  return (double) (g_get_monotonic_time () - start) * 1e-6;
}

static double
peak_megabytes (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return (double) usage.ru_maxrss * 1.024e-3;
}

/* Fastest of N runs against GOAL. */
static gboolean
run (const char *what, RunFunction function, const Cluster *cluster, CollectivePlan *plan, guint n,
     double goal)
{
  CollectiveRunItem item = { plan, BYTES, 0 };
  double            best = G_MAXDOUBLE;
  SimTime           finish = 0;

  for (guint i = 0; i < n; i++)
    {
      gint64 start = g_get_monotonic_time ();

      if (!function (cluster, &item, 1, &finish, NULL))
        return FALSE;
      best = MIN (best, seconds_since (start));
    }
  printf ("  %-8s %9.3f ms (goal %5g), simulated %.6f s, peak %.0f MB (goal %d)\n", what,
          1e3 * best, 1e3 * goal, sim_time_to_seconds (finish), peak_megabytes (), MEMORY_GOAL);
  fflush (stdout);
  return best <= goal && peak_megabytes () <= MEMORY_GOAL;
}

static CollectivePlan *
plan_ring (const Cluster *cluster)
{
  CollectiveOptions   ring = collective_default_options;
  g_autofree guint32 *ranks = g_new (guint32, RANKS);

  for (guint i = 0; i < RANKS; i++)
    ranks[i] = i;
  ring.algorithm = ALGORITHM_RING;
  ring.protocol = PROTOCOL_SIMPLE;
  return collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, ranks, RANKS, &ring);
}

static gboolean
run_cluster (ProfileSet *profiles, const char *node, guint gpus_per_node)
{
  g_autoptr (DiagList)       diags = diag_list_new ();
  ClusterOptions             options = { 0 };
  g_autoptr (Cluster)        cluster = NULL;
  g_autoptr (CollectivePlan) plan = NULL;
  gint64                     start;
  double                     simulated;
  gboolean                   good;

  option_table_defaults (cluster_options, &options);
  options.node = g_strdup (node);
  options.nodes = RANKS / gpus_per_node;
  options.gpus_per_node = gpus_per_node;
  cluster = cluster_new (&options, profiles, NULL, diags);
  option_table_clear (cluster_options, &options);
  if (cluster == NULL)
    {
      fprintf (stderr, "%s\n", diag_list_first_message (diags));
      return FALSE;
    }
  start = g_get_monotonic_time ();
  plan = plan_ring (cluster);
  simulated = collective_plan_time (plan, BYTES);
  printf ("ring all-reduce of 1 GiB, %s\n  %-8s %9.3f ms, analytic %.6f s\n",
          cluster_title (cluster), "plan", 1e3 * seconds_since (start), simulated);
  good = run ("fluid", collective_run_fluid, cluster, plan, FLUID_RUNS, FLUID_GOAL);
  return run ("step", collective_run_step, cluster, plan, 1, STEP_GOAL) && good;
}

int
main (void)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  gboolean               good = run_cluster (profiles, "dgx-a100", 1);

  return run_cluster (profiles, "dgx-h100", 8) && good ? EXIT_SUCCESS : EXIT_FAILURE;
}
