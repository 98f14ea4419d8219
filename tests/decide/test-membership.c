/*
 * Nodes that leave and join: traces and what is wrong with them, a run followed by hand, and that a
 * site which is lost costs what a cluster without it does. Not asserted: what real systems wait.
 */
#include <check.h>
#include <string.h>
#include <unistd.h>

#include "../suite.h"
#include "decide/plan/membership.h"
#include "decide/plan/site-loss.h"

static void
near (double got, double want, const char *what)
{
  ck_assert_msg (ABS (got - want) <= 1e-9 * ABS (want), "%s: got %.12g, want %.12g", what, got,
                 want);
}

/* The trace TEXT of SITES; NULL after diagnostics. */
static Membership *
read_text (const char *text, const char *const *sites, DiagList *diags)
{
  g_autofree char *file = g_build_filename (g_get_tmp_dir (), "shardsim-trace-XXXXXX", NULL);
  const int        fd = g_mkstemp (file);
  Membership      *self;

  ck_assert_int_ge (fd, 0);
  ck_assert (g_file_set_contents (file, text, -1, NULL));
  self = membership_read (file, sites, diags);
  ck_assert_int_eq (unlink (file), 0);
  close (fd);
  return self;
}

/* Ten steps of 1 s a round, of 10 tokens a node. */
static gboolean
ten_a_node (guint row, gpointer who, MembershipPace *pace)
{
  *pace = (MembershipPace){ 1, 10.0 * membership_row (who, row)->n_nodes, 10 };
  return TRUE;
}

/*
 * 2 nodes, 3 from 25 s on, 1 from 40 s on. Two rounds end before 25 s and the third at 30 s: 600
 * tokens, then all wait 5 s for the third node. The round from 35 to 45 s loses the 200 of two of
 * its nodes, and all wait 2 s. Three rounds of one node make up the thousand: 77 s.
 */
START_TEST (test_by_hand)
{
  static const struct
  {
    double  from_s, to_s, tokens, lost;
    guint64 rounds;
    guint   left, joined;
  } want[] = { { 0, 35, 600, 0, 3, 0, 1 },
               { 35, 47, 100, 200, 1, 2, 0 },
               { 47, 77, 300, 0, 3, 0, 0 } };
  static const char *const sites[] = { "a", "b", NULL };
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (Membership)   trace =
      read_text ("time,b,a\n0 s,1,1\n25 s,1,2\n40 s,0,1\n", sites, diags);
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (MembershipSpan));
  g_autofree char   *places = NULL;
  gboolean           stuck;

  ck_assert_msg (trace != NULL, "%s", diag_list_first_message (diags));
  places = membership_site_nodes (trace, 1);
  ck_assert_str_eq (places, "b:1,a:2");
  ck_assert (membership_walk (trace, 1000, 2, 5, ten_a_node, trace, spans, &stuck));
  ck_assert_uint_eq (spans->len, G_N_ELEMENTS (want));
  for (guint i = 0; i < spans->len; i++)
    {
      const MembershipSpan *span = &g_array_index (spans, MembershipSpan, i);

      ck_assert_uint_eq (span->row, i);
      near (span->from_s, want[i].from_s, "from");
      near (span->to_s, want[i].to_s, "to");
      near (span->tokens, want[i].tokens, "tokens");
      near (span->lost_tokens, want[i].lost, "lost");
      ck_assert_uint_eq (span->n_rounds, want[i].rounds);
      ck_assert_uint_eq (span->n_left, want[i].left);
      ck_assert_uint_eq (span->n_joined, want[i].joined);
    }
}
END_TEST

/*
 * Site a goes and comes within a round: its tokens of that round are lost, and it joins. Nobody is
 * there from 40 to 90 s. A change at the very end of a round is seen by it: nobody leaves in the
 * next one.
 */
START_TEST (test_within_a_round)
{
  static const char *const sites[] = { "a", "b", NULL };
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (Membership)   trace = read_text (
        "time,a,b\n0 s,1,1\n12 s,0,1\n14 s,1,1\n40 s,0,0\n90 s,0,1\n110 s,0,2\n", sites, diags);
  g_autoptr (GArray)    spans = g_array_new (FALSE, FALSE, sizeof (MembershipSpan));
  const MembershipSpan *span;
  gboolean              stuck;

  ck_assert_msg (trace != NULL, "%s", diag_list_first_message (diags));
  ck_assert (membership_walk (trace, 900, 0, 0, ten_a_node, trace, spans, &stuck));
  ck_assert_uint_eq (spans->len, 5);
  span = (MembershipSpan *) (void *) spans->data;
  ck_assert_uint_eq (span[0].n_left, 1); /* rounds to 10 and 20 s: 200 + 100 */
  ck_assert_uint_eq (span[0].n_joined, 1);
  near (span[0].tokens, 300, "a is without its round");
  ck_assert_uint_eq (span[1].row, 2);
  near (span[1].to_s, 40, "the change at 40 s is seen");
  near (span[1].tokens, 200, "both leave at the end of a round"); /* they lose that of 30 to 40 s */
  ck_assert_uint_eq (span[1].n_left, 2);
  near (span[2].to_s, 90, "nobody is there");
  ck_assert_uint_eq (span[2].n_rounds, 0);
  near (span[3].to_s, 110, "one");
  near (span[4].to_s, 120, "two");
}
END_TEST

START_TEST (test_nobody_left)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Membership) trace = read_text ("time,nodes\n0 h,1\n1 h,0\n", NULL, diags);
  g_autoptr (GArray)     spans = g_array_new (FALSE, FALSE, sizeof (MembershipSpan));
  gboolean               stuck;

  ck_assert_msg (trace != NULL, "%s", diag_list_first_message (diags));
  ck_assert_ptr_null (membership_site_nodes (trace, 0));
  ck_assert (!membership_walk (trace, 1e6, 0, 0, ten_a_node, trace, spans, &stuck));
  ck_assert (stuck);
}
END_TEST

static const struct
{
  const char *text, *message;
} bad[] = {
  { "nodes,time\n1,0 h\n", "columns in the wrong order: 'time' is the first" },
  { "tim,nodes\n0 h,1\n", "missing column 'time'" },
  { "time,sites\n0 h,1\n", "unknown column 'sites'" },
  { "time\n0 h\n", "missing column 'nodes'" },
  { "time,nodes\n", "no row says who is there" },
  { "time,nodes\n1 h,2\n", "the first time is not 0" },
  { "time,nodes\n0 h,2\n0 h,3\n", "a time that is not later than that of the row before" },
  { "time,nodes\n0 h,many\n", "'many' is no number of nodes" },
  { "time,nodes\n0 h,-1\n", "'-1' is no number of nodes" },
};

START_TEST (test_bad)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Membership) trace = read_text (bad[_i].text, NULL, diags);

  ck_assert_ptr_null (trace);
  ck_assert_str_eq (diag_list_first_message (diags), bad[_i].message);
}
END_TEST

/* ---- a site that is lost --------------------------------------------------------------------- */

static Scenario *
prime_on (const char *sites, const char *site_nodes, guint n_nodes, const char *elastic)
{
  g_autofree char       *name = g_strdup_printf ("%u x dgx-a100", n_nodes);
  const ScenarioOverride words[] = {
    { "cluster.name", name, "test" },           { "cluster.sites", sites, "test" },
    { "model.config", "llama-3-8b", "test" },   { "model.n_layers", "2", "test" },
    { "training.seq_len", "2048", "test" },     { "strategy.name", "prime", "test" },
    { "strategy.inner.name", "fsdp2", "test" }, { "strategy.local_steps", "5000", "test" },
    { "strategy.elastic", elastic, "test" },    { "cluster.site_nodes", site_nodes, "test" },
  };
  const guint           n_words = G_N_ELEMENTS (words) - (site_nodes == NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = scenario_load (NULL, NULL, words, n_words, diags);

  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  return scenario_copy (g_ptr_array_index (all, 0));
}

static Prediction *
predict_it (const Scenario *scenario)
{
  const PredictOptions options = { 0 };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  Prediction          *prediction = predict (scenario, &options, diags, &error);

  ck_assert_msg (prediction != NULL, "%s", diag_list_first_message (diags));
  return prediction;
}

static double
throughput_of (const char *sites, const char *site_nodes, guint n_nodes)
{
  g_autoptr (Scenario)   scenario = prime_on (sites, site_nodes, n_nodes, "true");
  g_autoptr (Prediction) prediction = predict_it (scenario);

  return prediction->tokens_per_step / prediction->step_time_s;
}

/* Three sites of 2, 1 and 1 nodes with unlike links: the mean of what is left without each. */
START_TEST (test_lost_site)
{
  const PredictOptions options = { 0 };
  g_autofree char     *sites =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "tests/hardware/sites/three.csv", NULL);
  g_autoptr (Scenario)   scenario = prime_on (sites, "a:2,b:1,c:1", 4, "true");
  g_autoptr (Prediction) given = predict_it (scenario);
  const double           whole = given->tokens_per_step / given->step_time_s;
  const double left = throughput_of (sites, "b:1,c:1", 2) + throughput_of (sites, "a:2,c:1", 3)
                      + throughput_of (sites, "a:2,b:1", 3);
  const SiteLoss loss = site_loss_find (scenario, NULL, given, &options);

  ck_assert_uint_eq (given->elastic_steps, 5000);
  ck_assert_uint_eq (given->n_workers, 4);
  ck_assert_uint_eq (loss.n_sites, 3);
  near (loss.share, (3 - left / whole) / 3, "share");
  ck_assert_double_gt (loss.join_bps, 0);
}
END_TEST

/* Sites that are all joined alike are predicted once; a job of one piece says so. */
START_TEST (test_like_sites)
{
  const char            *uniform = "4 x 1 Gbit/s 60 ms";
  const PredictOptions   options = { 0 };
  g_autoptr (Scenario)   scenario = prime_on (uniform, NULL, 4, "true");
  g_autoptr (Scenario)   rigid = prime_on (uniform, NULL, 4, "false");
  g_autoptr (Prediction) given = predict_it (scenario), stops = predict_it (rigid);
  SiteLoss               loss = site_loss_find (scenario, NULL, given, &options);

  near (loss.share,
        1
            - throughput_of (uniform, "site-0:1,site-1:1,site-2:1", 3) * given->step_time_s
                  / given->tokens_per_step,
        "share");
  near (loss.join_bps, 1e9 / 8, "rate");
  ck_assert_double_eq (stops->step_time_s, given->step_time_s);
  loss = site_loss_find (rigid, NULL, stops, &options);
  ck_assert_uint_eq (loss.n_sites, 4);
  ck_assert_uint_eq (stops->elastic_steps, 0);
  near (loss.share, 1, "all stop");
}
END_TEST

SUITE_MAIN (membership)
{
  Suite *suite = suite_create ("membership");
  TCase *tests = tcase_create ("membership");

  tcase_add_test (tests, test_by_hand);
  tcase_add_test (tests, test_within_a_round);
  tcase_add_test (tests, test_nobody_left);
  tcase_add_loop_test (tests, test_bad, 0, G_N_ELEMENTS (bad));
  tcase_add_test (tests, test_lost_site);
  tcase_add_test (tests, test_like_sites);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
