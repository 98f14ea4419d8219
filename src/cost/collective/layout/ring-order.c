#include "cost/collective/layout/ring-order.h"

#include <stdlib.h>

#include "cost/collective/library/collective.h"
#include "hardware/sites/sites.h"

/* ---- what an order is worth ------------------------------------------------------------------ */

typedef struct
{
  double rate;   /* of the slowest edge */
  guint  n_slow; /* edges that are no faster */
  double rtt;    /* of all edges in sum */
} CycleWorth;

static CycleWorth
cycle_worth (const SiteEdge *edges, guint n, const guint *order)
{
  CycleWorth worth = { G_MAXDOUBLE, 0, 0 };

  for (guint i = 0; i < n; i++)
    {
      const SiteEdge *edge = &edges[order[i] * n + order[(i + 1) % n]];

      if (edge->rate < worth.rate)
        worth.n_slow = 0;
      worth.rate = MIN (worth.rate, edge->rate);
      worth.n_slow += edge->rate == worth.rate;
      worth.rtt += edge->rtt;
    }
  return worth;
}

static gboolean
is_better (CycleWorth a, CycleWorth b)
{
  if (a.rate != b.rate)
    return a.rate > b.rate;
  return a.n_slow != b.n_slow ? a.n_slow < b.n_slow : a.rtt < b.rtt * (1 - 1e-12);
}

/* ---- exactly --------------------------------------------------------------------------------- */

/* Whether a cycle over all N sites has edges of at least LEAST only. ENDS: [2^(n-1)], scratch. */
static gboolean
has_cycle (const SiteEdge *edges, guint n, double least, guint32 *ends)
{
  const guint32 all = (1u << (n - 1)) - 1;
  guint32       into[RING_ORDER_EXACT];

  /* Sites but 0 are numbered by bits from 0. INTO[v]: those with an edge to site v that is kept. */
  for (guint to = 0; to < n; to++)
    {
      into[to] = 0;
      for (guint from = 1; from < n; from++)
        if (from != to && edges[from * n + to].rate >= least)
          into[to] |= 1u << (from - 1);
    }
  for (guint32 set = 1; set <= all; set++)
    {
      ends[set] = 0;
      for (guint v = 1; v < n; v++)
        {
          const guint32  bit = 1u << (v - 1), before = set & ~bit;
          const gboolean reached =
              before == 0 ? edges[v].rate >= least : (ends[before] & into[v]) != 0;

          if ((set & bit) && reached)
            ends[set] |= bit;
        }
    }
  return (ends[all] & into[0]) != 0;
}

static int
compare_rates (const void *a, const void *b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* The largest rate of an edge that a cycle can do with. */
static double
best_bottleneck (const SiteEdge *edges, guint n)
{
  g_autofree double  *rates = g_new0 (double, (gsize) n *n);
  g_autofree guint32 *ends = g_new0 (guint32, (gsize) 1 << (n - 1));
  guint               low = 0, high, n_rates = 0;

  for (guint i = 0; i < n * n; i++)
    if (i / n != i % n)
      rates[n_rates++] = edges[i].rate;
  qsort (rates, n_rates, sizeof *rates, compare_rates);
  for (high = n_rates; high - low > 1;)
    {
      const guint middle = (low + high) / 2;

      if (has_cycle (edges, n, rates[middle], ends))
        low = middle;
      else
        high = middle;
    }
  return rates[low];
}

/* Round trips of the shortest way from 0 over SET to site V, which is the last of it. */
static void
find_last (const SiteEdge *edges, guint n, double least, const double *sums, guint32 set, guint v,
           double *sum, guint8 *last)
{
  const guint32 before = set & ~(1u << (v - 1));

  *sum = G_MAXDOUBLE;
  if (before == 0 && edges[v].rate >= least)
    *sum = edges[v].rtt;
  for (guint u = 1; u < n; u++)
    {
      const SiteEdge *edge = &edges[u * n + v];
      const double    way = sums[(gsize) before * n + u];

      if ((before & 1u << (u - 1)) && edge->rate >= least && way < G_MAXDOUBLE
          && way + edge->rtt < *sum)
        {
          *sum = way + edge->rtt;
          *last = (guint8) u;
        }
    }
}

/* The cycle of edges of at least LEAST whose round trips add up to least. */
static void
shortest_cycle (const SiteEdge *edges, guint n, double least, guint *order)
{
  const guint32      all = (1u << (n - 1)) - 1;
  g_autofree double *sums = g_new0 (double, (gsize) (all + 1) * n);
  g_autofree guint8 *last = g_new0 (guint8, (gsize) (all + 1) * n);
  double             most = G_MAXDOUBLE;
  guint              end = 1;

  for (guint32 set = 1; set <= all; set++)
    for (guint v = 1; v < n; v++)
      if (set & 1u << (v - 1))
        find_last (edges, n, least, sums, set, v, &sums[(gsize) set * n + v],
                   &last[(gsize) set * n + v]);
  for (guint v = 1; v < n; v++)
    {
      const double way = sums[(gsize) all * n + v];

      if (edges[(gsize) v * n].rate < least || way == G_MAXDOUBLE
          || way + edges[(gsize) v * n].rtt >= most)
        continue;
      most = way + edges[(gsize) v * n].rtt;
      end = v;
    }
  for (guint32 set = all, i = n - 1; i > 0; i--)
    {
      const guint v = end;

      order[i] = v;
      end = last[(gsize) set * n + v];
      set &= ~(1u << (v - 1));
    }
}

/* ---- by local search ------------------------------------------------------------------------- */

/* The site at FROM goes to place TO, both beyond the first. */
static void
move_site (guint *order, guint from, guint to)
{
  const guint site = order[from];

  for (; from < to; from++)
    order[from] = order[from + 1];
  for (; from > to; from--)
    order[from] = order[from - 1];
  order[to] = site;
}

static gboolean
improve (const SiteEdge *edges, guint n, guint *order)
{
  const CycleWorth worth = cycle_worth (edges, n, order);

  for (guint from = 1; from < n; from++)
    for (guint to = 1; to < n; to++)
      {
        move_site (order, from, to);
        if (is_better (cycle_worth (edges, n, order), worth))
          return TRUE;
        move_site (order, to, from);
      }
  return FALSE;
}

double
ring_order_sites (const SiteEdge *edges, guint n, guint *order)
{
  for (guint i = 0; i < n; i++)
    order[i] = i;
  if (n >= 3)
    {
      if (n <= RING_ORDER_EXACT)
        shortest_cycle (edges, n, best_bottleneck (edges, n), order);
      else
        while (improve (edges, n, order))
          ;
    }
  return cycle_worth (edges, n, order).rate;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* What a flow from site FROM to site TO goes at. */
static SiteEdge
edge_between (const Cluster *cluster, guint from, guint to)
{
  WanLink link;

  if (from == to)
    return (SiteEdge){ 0, 0 };
  link = cluster_wan_link (cluster, from, to);
  return (SiteEdge){ link.flow > 0 ? MIN (link.rate, link.flow) : link.rate, link.rtt };
}

void
ring_order_ranks (const Cluster *cluster, const guint32 *ranks, guint n, guint32 *ordered)
{
  const guint          most = MAX (cluster_n_sites (cluster), 1);
  g_autofree guint    *sites = g_new (guint, most), *order = g_new (guint, most);
  g_autofree guint    *place = g_new (guint, most);
  g_autofree SiteEdge *edges = NULL;
  guint                n_sites = 0, at = 0;

  for (guint i = 0; i < most; i++)
    place[i] = G_MAXUINT;
  for (guint i = 0; i < n; i++)
    {
      const guint site = cluster_site_of_node (cluster, cluster_node_of_gpu (cluster, ranks[i]));

      if (place[site] == G_MAXUINT)
        {
          place[site] = n_sites;
          sites[n_sites++] = site;
        }
    }
  edges = g_new0 (SiteEdge, (gsize) n_sites * n_sites);
  for (guint i = 0; i < n_sites * n_sites; i++)
    edges[i] = edge_between (cluster, sites[i / n_sites], sites[i % n_sites]);
  ring_order_sites (edges, n_sites, order);
  for (guint s = 0; s < n_sites; s++)
    for (guint i = 0; i < n; i++)
      if (cluster_site_of_node (cluster, cluster_node_of_gpu (cluster, ranks[i]))
          == sites[order[s]])
        ordered[at++] = ranks[i];
}

RingOrder
collective_ring_order (const CollectiveOptions *options)
{
  return options->ring_wish == RING_WISH_AUTO ? options->ring_order
                                              : (RingOrder) (options->ring_wish - 1);
}
