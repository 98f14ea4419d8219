/*
 * Tables of flows: every column does what it says, seen in finish times that are computed by hand,
 * and every wrong field is an error. What a diagnostic says is held by golden text.
 */
#include "../suite.h"
#include "engine/flow-table.h"
#include "fixture.h"

#include <glib/gstdio.h>
#include <math.h>

static const char links_text[] = "link,bandwidth,latency\n"
                                 "a,10 GB/s,1 us\n"
                                 "b,10 GB/s,\n"
                                 "c,20 GB/s,\n";

#define FLOW_HEAD "flow,links,bytes,start_s,latency,rate_cap,weight,loads,finish_s\n"

/* Each row stands alone in time, but for the last two. */
static const struct
{
  const char *row;
  double      finish; /* s */
} rows[] = {
  /* 1 us of link a, then 1 GB at 10 GB/s */
  { "two links,a c,1e9,0,,,,,0.100001\n", 0.100001 },
  /* 2 us of its own, then half a GB */
  { "its own latency,b c,5e8,1,2 us,,,,1.050002\n", 1.050002 },
  { "a cap,b,1e9,2,,2 GB/s,,,\n", 2.5 },
  /* link a carries two bytes a byte: 5 GB/s */
  { "loads,a c,1e9,3,,,,2 1,\n", 3.200001 },
  /* three quarters of b until its end; the other has moved 1/3 GB, and goes on at 10 GB/s */
  { "heavy,b,1e9,5,,,3,,\n", 5 + 1e9 / 7.5e9 },
  { "light,b,1e9,5,,,1,,\n", 5.2 },
};

/* Each is wrong by itself. */
static const char *const wrong[] = {
  "f,a d,1e9,0,,,,,\n",               /* no such link */
  "f,a c a,1e9,0,,,,,\n",             /* a loop */
  "f,,1e9,0,,,,,\n",                  /* no route */
  "f,a,0,0,,,,,\n",                   /* nothing to move */
  "f,a,1e9,-1,,,,,\n",                /* before time 0 */
  "f,a,1e9,,,,,,\n",                  /* no start */
  "f,a,1e9,0,1,,,,\n",                /* a latency without its unit */
  "f,a,1e9,0,,2 GB,,,\n",             /* no bandwidth */
  "f,a,1e9,0,,,0,,\n",                /* no share */
  "f,a c,1e9,0,,,,2,\n",              /* one load for two links */
  "f,a,1e9,0,,,,-1,\n",               /* a load below zero */
  "f,a,1e9,0,,,,,soon\n",             /* no time */
  "f,a,1e9,0,,,,,\nf,b,1e9,0,,,,,\n", /* a name twice */
};

static FlowTable *
load (const char *flows, DiagList *diags)
{
  g_autofree char *folder = g_dir_make_tmp ("flow-table-XXXXXX", NULL);
  g_autofree char *links_file = g_build_filename (folder, "links.csv", NULL);
  g_autofree char *flows_file = g_build_filename (folder, "flows.csv", NULL);
  FlowTable       *table;

  ck_assert (g_file_set_contents (links_file, links_text, -1, NULL));
  ck_assert (g_file_set_contents (flows_file, flows, -1, NULL));
  table = flow_table_load (links_file, flows_file, diags);
  g_unlink (links_file);
  g_unlink (flows_file);
  g_rmdir (folder);
  return table;
}

START_TEST (columns)
{
  g_autoptr (GString)   text = g_string_new (FLOW_HEAD);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (FlowTable) table = NULL;
  FlowNet              *net;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    g_string_append (text, rows[i].row);
  table = load (text->str, diags);
  ck_assert_ptr_nonnull (table);
  ck_assert (!diag_list_has_errors (diags));
  net = flow_table_net (table);
  ck_assert_uint_eq (flow_net_n_flows (net), G_N_ELEMENTS (rows));
  ck_assert_uint_eq (flow_net_n_links (net), 3);
  ck_assert (flow_net_run (net, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    ck_assert_double_eq_tol (sim_time_to_seconds (flow_net_finish (net, i)), rows[i].finish, 1e-11);
  ck_assert_str_eq (flow_table_flow_names (table)[1], "its own latency");
  ck_assert_str_eq (flow_table_link_names (table)[2], "c");
  ck_assert_double_eq (flow_table_expected (table)[0], rows[0].finish);
  ck_assert (isnan (flow_table_expected (table)[2]));
}
END_TEST

START_TEST (wrong_fields)
{
  g_autofree char      *text = g_strconcat (FLOW_HEAD, rows[0].row, wrong[_i], NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (FlowTable) table = load (text, diags);

  ck_assert_ptr_null (table);
  ck_assert_uint_eq (diag_list_n_errors (diags), 1);
}
END_TEST

SUITE_MAIN (flow_table)
{
  Suite *suite = suite_create ("flow-table");
  TCase *tcase = tcase_create ("tables");

  tcase_add_test (tcase, columns);
  tcase_add_loop_test (tcase, wrong_fields, 0, G_N_ELEMENTS (wrong));
  suite_add_tcase (suite, tcase);
  return test_main (suite);
}
