/*
 * How long it takes to plan collectives of 16 384 ranks, per rank and against reading the same
 * number of routes.
 */
#include "fixture.h"

#include "cost/collective/library/collective.h"

#include <stdio.h>

static double
seconds_since (gint64 start)
{
  return (double) (g_get_monotonic_time () - start) * 1e-6;
}

static double
time_routes (const Cluster *cluster, guint rings)
{
  gint64 start = g_get_monotonic_time ();
  guint  n = cluster_n_gpus (cluster);

  for (guint ring = 0; ring < rings; ring++)
    for (guint i = 0; i < n; i++)
      {
        Route route;

        cluster_route_gpus (cluster, i, (i + 1) % n, (gint) ring, &route);
      }
  return seconds_since (start);
}

int
main (void)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  ClusterOptions         options = { 0 };
  Cluster               *cluster;
  g_autofree guint32    *ranks = g_new (guint32, 16384);
  double                 routes;

  option_table_defaults (cluster_options, &options);
  options.name = g_strdup ("2048 x dgx-h100");
  cluster = cluster_new (&options, profiles, NULL, diags);
  if (cluster == NULL)
    {
      fprintf (stderr, "%s\n", diag_list_first_message (diags));
      return 1;
    }
  for (guint i = 0; i < 16384; i++)
    ranks[i] = i;
  routes = time_routes (cluster, 8);
  printf ("%-16s %-14s %8s %8s\n", "collective", "algorithm", "ms", "/ routes");
  for (guint kind = 0; kind < COLLECTIVE_N_KINDS; kind++)
    for (guint algorithm = 0; algorithm < ALGORITHM_N; algorithm++)
      {
        gint64           start = g_get_monotonic_time ();
        g_autoptr (Laid) plan = laid_new (cluster, (CollectiveKind) kind, ranks, 16384,
                                          (CollectiveAlgorithm) algorithm);
        double           spent = seconds_since (start);

        if (plan->algorithm == (CollectiveAlgorithm) algorithm)
          printf ("%-16s %-14s %8.2f %8.2f\n", collective_kind_name (plan->kind),
                  collective_algorithm_name (plan->algorithm), 1e3 * spent, spent / routes);
      }
  cluster_free (cluster);
  option_table_clear (cluster_options, &options);
  return 0;
}
