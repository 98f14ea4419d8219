#include "decide/plan/site-loss.h"

#include <float.h>
#include <math.h>

#include "hardware/sites/sites.h"

/* Nodes of each site, in the order of the cluster's matrix. Newly allocated. */
static guint *
count_nodes (const Cluster *cluster)
{
  guint *nodes = g_new0 (guint, cluster_n_sites (cluster) + 1);

  for (guint node = 0; cluster_n_sites (cluster) > 0 && node < cluster_n_nodes (cluster); node++)
    nodes[cluster_site_of_node (cluster, node)]++;
  return nodes;
}

/* "oregon:2,tokyo:4", in rank order, without SITE. Newly allocated. */
static char *
sites_without (const Cluster *cluster, const guint *nodes, guint site)
{
  GString *text = g_string_new (NULL);
  guint    n;

  for (guint node = 0; node < cluster_n_nodes (cluster); node += n)
    {
      const guint at = cluster_site_of_node (cluster, node);

      n = MAX (nodes[at], 1);
      if (at != site)
        g_string_append_printf (text, "%s%s:%u", text->len > 0 ? "," : "",
                                cluster_site_name (cluster, at), nodes[at]);
    }
  return g_string_free (text, FALSE);
}

/* What is left of SCENARIO's throughput without SITE; a negative number: it cannot be predicted. */
static double
throughput_without (const Scenario *scenario, const StrategySet *strategies, const Cluster *cluster,
                    const guint *nodes, guint site, const PredictOptions *options)
{
  const guint          n_nodes = cluster_n_nodes (cluster) - nodes[site];
  g_autofree char     *places = sites_without (cluster, nodes, site);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (Scenario) left =
      scenario_on_nodes (scenario, strategies, scenario_node_type (scenario), n_nodes, places,
                         "a site is lost", diags);
  g_autoptr (Prediction) prediction = left != NULL ? predict (left, options, diags, &error) : NULL;

  return prediction != NULL ? prediction->tokens_per_step / prediction->step_time_s : -1;
}

/* Whether sites A and B may change places without anybody noticing. */
static gboolean
are_alike (const Cluster *cluster, const guint *nodes, guint a, guint b)
{
  gboolean alike = nodes[a] == nodes[b];

  for (guint to = 0; alike && to < cluster_n_sites (cluster); to++)
    for (guint way = 0; alike && way < 2 && to != a; way++)
      {
        const guint   other = to == b ? a : to; /* of B, what TO is of A */
        const WanLink one =
            way == 0 ? cluster_wan_link (cluster, a, to) : cluster_wan_link (cluster, to, a);
        const WanLink two =
            way == 0 ? cluster_wan_link (cluster, b, other) : cluster_wan_link (cluster, other, b);

        alike = one.rate == two.rate && one.rtt == two.rtt && one.loss == two.loss;
      }
  return alike;
}

/* The first of the sites that are like SITE. */
static guint
first_alike (const Cluster *cluster, const guint *nodes, guint site)
{
  guint first = 0;

  while (first < site && !are_alike (cluster, nodes, first, site))
    first++;
  return first;
}

/* The mean share over the sites that have nodes, USED of them; 1 / USED of what cannot be told. */
static double
mean_share (const Scenario *scenario, const StrategySet *strategies, const Cluster *cluster,
            guint used, const Prediction *given, const PredictOptions *options)
{
  const guint        n = cluster_n_sites (cluster), tries = MIN (used, SITE_LOSS_TRIES);
  g_autofree guint  *nodes = count_nodes (cluster);
  g_autofree double *shares = g_new0 (double, n); /* 0: not known yet */
  const double       whole = given->tokens_per_step / given->step_time_s;
  double             sum = 0;

  for (guint site = 0, i = 0; site < n; site++)
    {
      const guint first = first_alike (cluster, nodes, site);
      double      left;

      if (nodes[site] == 0)
        continue;
      i++;
      if ((i - 1) * tries / used == i * tries / used)
        continue; /* another one of those around it is tried */
      if (shares[first] == 0)
        {
          left = throughput_without (scenario, strategies, cluster, nodes, site, options);
          shares[first] = left < 0 ? 1.0 / used : CLAMP (1 - left / whole, DBL_EPSILON, 1);
        }
      sum += shares[first];
    }
  return sum / tries;
}

double
site_join_rate (const Cluster *cluster)
{
  const guint       n = cluster_n_sites (cluster);
  g_autofree guint *nodes = count_nodes (cluster);
  double            least = INFINITY;

  for (guint to = 0; to < n; to++)
    {
      double best = 0;

      for (guint from = 0; from < n; from++)
        if (from != to && nodes[from] > 0)
          {
            const WanLink link = cluster_wan_link (cluster, from, to);

            best = MAX (best, link.flow > 0 ? MIN (link.flow, link.rate) : link.rate);
          }
      if (nodes[to] > 0 && best > 0)
        least = MIN (least, best);
    }
  return isfinite (least) ? least : 0;
}

SiteLoss
site_loss_find (const Scenario *scenario, const StrategySet *strategies, const Prediction *given,
                const PredictOptions *options)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = predict_profiles (options);
  g_autoptr (Cluster)    cluster = scenario_cluster_new (scenario, profiles, diags);
  SiteLoss               loss = { .share = 1, .sites_each = 1 };

  if (cluster == NULL)
    return loss;
  loss.n_sites = cluster_n_sites_in_use (cluster);
  loss.join_bps = site_join_rate (cluster);
  if (given->elastic_steps == 0)
    return loss;
  if (loss.n_sites < 2 || loss.n_sites > given->n_workers) /* a worker at all sites, or several */
    {
      loss.are_workers = TRUE;
      loss.sites_each = MAX ((double) loss.n_sites / MAX (given->n_workers, 1), 1);
      loss.n_sites = given->n_workers;
      loss.share = 1.0 / MAX (given->n_workers, 1);
    }
  else
    loss.share = mean_share (scenario, strategies, cluster, loss.n_sites, given, options);
  return loss;
}
