/*
 * A ring all-reduce of 1 GiB over 4 096 ranks with a card each, 33.5 million steps: time of the
 * three fidelities, and the peak memory of the process. (ASTRA-sim's analytical back-end, as
 * measured once: 1 098 s and 5.57 GB.)
 */
#include <stdio.h>
#include <sys/resource.h>

#include "replay/collective-run.h"

#define RANKS 4096

static double
seconds_since (gint64 start)
{
  return (double) (g_get_monotonic_time () - start) * 1e-6;
}

static void
report (const char *what, double spent, double result)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  printf ("%-16s %12.6f s of %12.6f s, peak %5ld MB\n", what, spent, result, usage.ru_maxrss / 1024);
}

int
main (void)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  ClusterOptions         options = { 0 };
  CollectiveOptions      ring = collective_default_options;
  g_autoptr (Cluster)    cluster = NULL;
  g_autofree guint32    *ranks = g_new (guint32, RANKS);
  CollectiveRunItem      item = { NULL, 1 << 30, 0 };
  SimTime                finish = 0;
  gint64                 start;

  option_table_defaults (cluster_options, &options);
  options.node = g_strdup ("dgx-a100");
  options.nodes = RANKS;
  options.gpus_per_node = 1;
  cluster = cluster_new (&options, profiles, NULL, diags);
  option_table_clear (cluster_options, &options);
  if (cluster == NULL)
    {
      fprintf (stderr, "%s\n", diag_list_first_message (diags));
      return 1;
    }
  for (guint i = 0; i < RANKS; i++)
    ranks[i] = i;
  ring.algorithm = ALGORITHM_RING;
  ring.protocol = PROTOCOL_SIMPLE;
  start = g_get_monotonic_time ();
  item.plan = collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, ranks, RANKS, &ring);
  report ("plan, analytic", seconds_since (start), collective_plan_time (item.plan, item.bytes));
  start = g_get_monotonic_time ();
  if (!collective_run_fluid (cluster, &item, 1, &finish, NULL))
    return 1;
  report ("fluid", seconds_since (start), sim_time_to_seconds (finish));
  start = g_get_monotonic_time ();
  if (!collective_run_step (cluster, &item, 1, &finish, NULL))
    return 1;
  report ("step", seconds_since (start), sim_time_to_seconds (finish));
  collective_plan_free (item.plan);
  return 0;
}
