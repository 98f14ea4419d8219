/*
 * Flows on links, read from tables or made up:
 *  - finish times against those of SimGrid 3.32 on a fat tree of 1024 hosts (max-min fair, no TCP
 *    corrections), 1e-6 relative per flow; lists of the same columns named on the command line are
 *    checked as well. Speed is printed, not asserted;
 *  - 300 seeded random nets with latencies, caps, weights, loads and simultaneous events against a
 *    reference that steps from event to event and fills from nothing, written here; the same with
 *    the solver's own filling from nothing;
 *  - results do not depend on the order in which flows are added;
 *  - a ring through one switch takes 2 (n - 1) / n S / B, as one without a switch does.
 */
#include "../suite.h"
#include "engine/flow-table.h"
#include "fixture.h"

#include <math.h>

/* ---- stored lists ---------------------------------------------------------------------------- */

static char *
data_path (const char *name)
{
  const char *root = g_getenv ("SHARDSIM_SOURCE_ROOT");

  return g_build_filename (root != NULL ? root : ".", "tests", "data", "validation", "flows", name,
                           NULL);
}

static void
check_list (const char *path)
{
  g_autofree char      *links = data_path ("links_ft1024.csv");
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (FlowTable) table = flow_table_load (links, path, diags);
  g_autofree char      *text = diag_list_format (diags, FALSE);
  double                worst = 0;

  ck_assert_msg (table != NULL, "%s", text);
  FlowNet      *net = flow_table_net (table);
  const double *expected = flow_table_expected (table);
  gint64        start = g_get_monotonic_time ();
  ck_assert (flow_net_run (net, NULL));
  gint64 elapsed = g_get_monotonic_time () - start;
  ck_assert_ptr_nonnull (expected);
  for (guint i = 0; i < flow_net_n_flows (net); i++)
    {
      double end = sim_time_to_seconds (flow_net_finish (net, i));
      double error = fabs (end - expected[i]) / expected[i];
      worst = MAX (worst, error);
      ck_assert_msg (error <= 1e-6, "%s: flow %u ends at %.12g s, not %.12g s", path, i, end,
                     expected[i]);
    }
  g_printerr ("%s: %u flows, largest error %.2g, %.3f s, %" G_GUINT64_FORMAT " visited\n", path,
              flow_net_n_flows (net), worst, (double) elapsed / 1e6, flow_net_visited (net));
}

static const char *const stored[] = { "1000_t0.csv", "1000_stag.csv", "10000_t0.csv.gz",
                                      "10000_dense.csv.gz", "100000_stag.csv.gz" };

START_TEST (stored_lists)
{
  g_autofree char *path = data_path (stored[_i]);

  check_list (path);
}
END_TEST

static char **named;

START_TEST (named_lists)
{
  check_list (named[_i]);
}
END_TEST

/* ---- a reference ----------------------------------------------------------------------------- */

#define MAX_FLOWS 60
#define MAX_LINKS 12
#define MAX_HOPS  5

typedef struct
{
  guint32 links[MAX_HOPS];
  double  loads[MAX_HOPS];
  guint   n;
  double  bytes, start, latency, weight, cap;
  /* of the reference */
  double   left, level, finish;
  gboolean frozen;
} RefFlow;

typedef struct
{
  guint   n_links, n_flows;
  double  capacity[MAX_LINKS];
  RefFlow flows[MAX_FLOWS];
} Net;

static gboolean
runs (const RefFlow *flow, double now)
{
  return flow->left > 0 && flow->start + flow->latency <= now;
}

/* The level at which a link saturates, or INFINITY. */
static double
link_level (const Net *net, guint link, double now)
{
  double left = net->capacity[link], weight = 0;

  for (guint i = 0; i < net->n_flows; i++)
    for (guint j = 0; j < net->flows[i].n && runs (&net->flows[i], now); j++)
      if (net->flows[i].links[j] == link)
        {
          double w = net->flows[i].weight * net->flows[i].loads[j];
          if (net->flows[i].frozen)
            left -= net->flows[i].level * w;
          else
            weight += w;
        }
  return weight > 0 ? MAX (left, 0) / weight : INFINITY;
}

static gboolean
crosses (const RefFlow *flow, guint link)
{
  for (guint j = 0; j < flow->n; j++)
    if (flow->links[j] == link)
      return TRUE;
  return FALSE;
}

/* Freezes what is lowest: the flows of a link, or one at its cap. FALSE when all are frozen. */
static gboolean
fill_once (Net *net, double now)
{
  double lowest = INFINITY;
  guint  link = 0, capped = MAX_FLOWS;

  for (guint l = 0; l < net->n_links; l++)
    if (link_level (net, l, now) < lowest)
      {
        lowest = link_level (net, l, now);
        link = l;
      }
  for (guint i = 0; i < net->n_flows; i++)
    {
      RefFlow *flow = &net->flows[i];
      if (runs (flow, now) && !flow->frozen && flow->cap > 0 && flow->cap / flow->weight < lowest)
        {
          lowest = flow->cap / flow->weight;
          capped = i;
        }
    }
  for (guint i = 0; i < net->n_flows; i++)
    {
      RefFlow *flow = &net->flows[i];
      if (!runs (flow, now) || flow->frozen
          || (capped < MAX_FLOWS ? i != capped : !crosses (flow, link)))
        continue;
      flow->frozen = TRUE;
      flow->level = lowest;
    }
  return isfinite (lowest);
}

static double
next_event (const Net *net, double now)
{
  double next = INFINITY;

  for (guint i = 0; i < net->n_flows; i++)
    {
      const RefFlow *flow = &net->flows[i];
      if (runs (flow, now))
        next = MIN (next, now + flow->left / (flow->level * flow->weight));
      else if (flow->left > 0)
        next = MIN (next, flow->start + flow->latency);
    }
  return next;
}

static void
run_reference (Net *net)
{
  double now = 0;

  for (guint i = 0; i < net->n_flows; i++)
    net->flows[i].left = net->flows[i].bytes;
  for (;;)
    {
      for (guint i = 0; i < net->n_flows; i++)
        net->flows[i].frozen = FALSE;
      while (fill_once (net, now))
        ;
      double next = next_event (net, now);
      if (isinf (next))
        return;
      for (guint i = 0; i < net->n_flows; i++)
        {
          RefFlow *flow = &net->flows[i];
          if (!runs (flow, now))
            continue;
          flow->left -= flow->level * flow->weight * (next - now);
          if (flow->left > 1e-9 * flow->bytes)
            continue;
          flow->left = 0;
          flow->finish = next;
        }
      now = next;
    }
}

/* ---- random nets ----------------------------------------------------------------------------- */

static void
make_flow (GRand *rand, RefFlow *flow, guint n_links, gboolean plain)
{
  guint first = (guint) g_rand_int_range (rand, 0, (gint) n_links);

  *flow = (RefFlow){ .n = (guint) g_rand_int_range (rand, 1, (gint) MIN (MAX_HOPS, n_links) + 1),
                     .bytes = g_rand_int_range (rand, 1, 30),
                     .start = g_rand_int_range (rand, 0, 4) / 4.0,
                     .weight = 1 };
  for (guint j = 0; j < flow->n; j++)
    {
      flow->links[j] = (first + j) % n_links;
      flow->loads[j] = 1;
    }
  if (plain)
    return;
  if (g_rand_boolean (rand))
    flow->latency = g_rand_int_range (rand, 0, 1000) / 512.0;
  if (g_rand_boolean (rand))
    flow->weight = g_rand_double_range (rand, 0.2, 8);
  if (g_rand_int_range (rand, 0, 3) == 0)
    flow->cap = g_rand_double_range (rand, 0.1, 3);
  for (guint j = 0; j < flow->n && g_rand_boolean (rand); j++)
    flow->loads[j] = g_rand_double_range (rand, 0.3, 4);
}

static void
make_net (Net *net, guint seed)
{
  GRand   *rand = g_rand_new_with_seed (seed);
  gboolean plain = seed % 3 == 0; /* equal flows on equal links: ties everywhere */

  net->n_links = (guint) g_rand_int_range (rand, 1, MAX_LINKS + 1);
  net->n_flows = (guint) g_rand_int_range (rand, 1, MAX_FLOWS + 1);
  for (guint l = 0; l < net->n_links; l++)
    net->capacity[l] = plain ? 4 : g_rand_double_range (rand, 1, 10);
  for (guint i = 0; i < net->n_flows; i++)
    make_flow (rand, &net->flows[i], net->n_links, plain);
  g_rand_free (rand);
}

/* Flows are added from FIRST on, round about. */
static void
solve_net (const Net *net, guint first, gboolean full, SimTime *finish)
{
  g_autoptr (FlowNet) flows = flow_net_new ();

  flow_net_set_full (flows, full);
  for (guint l = 0; l < net->n_links; l++)
    flow_net_add_link (flows, net->capacity[l]);
  for (guint i = 0; i < net->n_flows; i++)
    {
      const RefFlow *flow = &net->flows[(first + i) % net->n_flows];
      flow_net_add_flow (flows, &(FlowSpec){ .links = flow->links,
                                             .loads = flow->loads,
                                             .n_links = flow->n,
                                             .bytes = flow->bytes,
                                             .start = SECONDS (flow->start),
                                             .latency = SECONDS (flow->latency),
                                             .weight = flow->weight,
                                             .cap = flow->cap });
    }
  ck_assert (flow_net_run (flows, NULL));
  for (guint i = 0; i < net->n_flows; i++)
    finish[(first + i) % net->n_flows] = flow_net_finish (flows, i);
}

/* Ends are rounded up to a picosecond, and each may delay others by as much. */
static void
check_finish (const Net *net, guint seed, const char *what, const SimTime *finish)
{
  for (guint i = 0; i < net->n_flows; i++)
    {
      double end = sim_time_to_seconds (finish[i]), expected = net->flows[i].finish;
      ck_assert_msg (fabs (end - expected) <= 1e-9 * expected,
                     "seed %u, %s: flow %u ends at %.15g s, not %.15g s", seed, what, i, end,
                     expected);
    }
}

START_TEST (random_nets)
{
  for (guint seed = 0; seed < 300; seed++)
    {
      Net     net;
      SimTime finish[MAX_FLOWS];

      make_net (&net, seed);
      run_reference (&net);
      solve_net (&net, 0, FALSE, finish);
      check_finish (&net, seed, "as added", finish);
      solve_net (&net, net.n_flows / 2, FALSE, finish);
      check_finish (&net, seed, "in another order", finish);
      solve_net (&net, 0, TRUE, finish);
      check_finish (&net, seed, "filled from nothing", finish);
    }
}
END_TEST

/* ---- rings ----------------------------------------------------------------------------------- */

/*
 * Every rank sends what it has to send to the next one, at once; RANKS links, twice as many through
 * a switch.
 */
static double
ring_time (guint n, double bytes, double bandwidth, gboolean through_switch)
{
  g_autoptr (FlowNet) net = flow_net_new ();

  for (guint i = 0; i < (through_switch ? 2 * n : n); i++)
    flow_net_add_link (net, bandwidth);
  for (guint i = 0; i < n; i++)
    flow_net_add_flow (net, &(FlowSpec){ .links = (guint32[]){ i, n + (i + 1) % n },
                                         .n_links = through_switch ? 2 : 1,
                                         .bytes = 2.0 * (n - 1) / n * bytes,
                                         .weight = 1 });
  ck_assert (flow_net_run (net, NULL));
  return sim_time_to_seconds (flow_net_makespan (net));
}

START_TEST (an_idle_switch_does_not_double_a_ring)
{
  double expected = 2.0 * 63 / 64 * 1e9 / 50e9; /* 0.039375 s */

  ck_assert_double_eq_tol (ring_time (64, 1e9, 50e9, TRUE), expected, 1e-6 * expected);
  ck_assert_double_eq_tol (ring_time (64, 1e9, 50e9, FALSE), expected, 1e-6 * expected);
}
END_TEST

/* ---- by hand --------------------------------------------------------------------------------- */

START_TEST (weights_and_caps_by_hand)
{
  g_autoptr (FlowNet) net = flow_net_new ();
  guint32             link = flow_net_add_link (net, 10), other = flow_net_add_link (net, 100);

  /*
   * 1 : 3 of 10 B/s: 2.5 and 7.5 B/s; the second ends after 2 s, then the first has 5 of 10 bytes
   * left: 0.5 s
   */
  flow_net_add_flow (net, &(FlowSpec){ .links = &link, .n_links = 1, .bytes = 10, .weight = 1 });
  flow_net_add_flow (net, &(FlowSpec){ .links = &link, .n_links = 1, .bytes = 15, .weight = 3 });
  /* capped to 2 B/s, after 1 s of latency: 1 + 4 / 2 */
  flow_net_add_flow (net, &(FlowSpec){ .links = &other,
                                       .n_links = 1,
                                       .bytes = 4,
                                       .latency = SECONDS (1),
                                       .weight = 1,
                                       .cap = 2 });
  ck_assert (flow_net_run (net, NULL));
  ck_assert_uint_eq (flow_net_finish (net, 0), SECONDS (2.5));
  ck_assert_uint_eq (flow_net_finish (net, 1), SECONDS (2));
  ck_assert_uint_eq (flow_net_finish (net, 2), SECONDS (3));
  ck_assert_double_eq (flow_net_moved (net, link), 25);
}
END_TEST

START_TEST (what_never_ends_is_an_error)
{
  g_autoptr (FlowNet) net = flow_net_new ();
  g_autoptr (GError)  error = NULL;
  guint32             link = flow_net_add_link (net, 1);

  flow_net_add_flow (net, &(FlowSpec){ .links = &link, .n_links = 1, .bytes = 1e9, .weight = 1 });
  ck_assert (!flow_net_run (net, &error));
  ck_assert (g_error_matches (error, ENGINE_ERROR, ENGINE_ERROR_TOO_LONG));
}
END_TEST

SUITE_MAIN (flow_net)
{
  Suite *suite = suite_create ("flow-net");
  TCase *tcase = tcase_create ("flows");

  named = argv + 1;
  tcase_add_loop_test (tcase, stored_lists, 0, G_N_ELEMENTS (stored));
  tcase_add_loop_test (tcase, named_lists, 0, argc - 1);
  tcase_add_test (tcase, random_nets);
  tcase_add_test (tcase, an_idle_switch_does_not_double_a_ring);
  tcase_add_test (tcase, weights_and_caps_by_hand);
  tcase_add_test (tcase, what_never_ends_is_an_error);
  suite_add_tcase (suite, tcase);
  return test_main (suite);
}
