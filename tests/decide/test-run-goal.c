/*
 * Options of a planned run that do nothing are said to do nothing: what failures, checkpoints and
 * chance are about, where there are none of them. With all of them nothing is said. What the
 * options do to a plan has tests of its own (test-run-plan.c).
 */
#include <check.h>

#include "../suite.h"
#include "decide/plan/run-goal.h"

/* Each option of the table that needs something, and a value. */
static const struct
{
  const char *key, *value;
} idle[] = {
  { "restart", "10 min" },
  { "checkpoint_bytes", "1 TB" },
  { "checkpoint_bandwidth", "1 GB/s" },
  { "checkpoint_node_bandwidth", "1 GB/s" },
  { "checkpoint_tier", "nvme" },
  { "checkpoint_stall", "1 s" },
  { "repair", "1 h" },
  { "site_repair", "1 h" },
  { "notice", "1 min" },
  { "join", "1 min" },
  { "straggler_time", "1 h" },
  { "straggler_slowdown", "1.5" },
  { "slow_node_rate", "0.9" },
  { "runs", "100" },
  { "runs_seed", "7" },
};

/* Of a run of 1 T tokens with KEY at VALUE, and of EVENTS, what is diagnosed. */
static char *
said_of (const char *key, const char *value, gboolean events)
{
  static const char *const frequent[][2] = {
    { "gpu_mtbf", "50000 h" },     { "site_mtbf", "96 h" },
    { "restart", "10 min" },       { "checkpoint_bandwidth", "1 GB/s" },
    { "straggler_mtbf", "500 h" }, { "straggler_time", "1 h" },
    { "straggler_slowdown", "2" }, { "slow_node_probability", "0.01" },
    { "slow_node_rate", "0.5" },
  };
  const RunFacts facts = {
    .type = "dgx-h100", .bytes_per_parameter = 12, .drive_write_bps = 1e9, .has_sites = TRUE
  };
  RunOptions           options = { 0 };
  RunGoal              goal;
  g_autoptr (DiagList) diags = diag_list_new ();
  char                *text;

  option_table_defaults (run_options, &options);
  ck_assert (option_set_key (run_options, &options, "tokens", "1T", NULL, diags));
  for (guint i = 0; events && i < G_N_ELEMENTS (frequent); i++)
    ck_assert (option_set_key (run_options, &options, frequent[i][0], frequent[i][1], NULL, diags));
  ck_assert (option_set_key (run_options, &options, key, value, NULL, diags));
  ck_assert (run_options_goal (&options, &facts, &goal, diags));
  text = diag_list_format (diags, FALSE);
  option_table_clear (run_options, &options);
  return text;
}

START_TEST (test_without_events)
{
  g_autofree char *text = said_of (idle[_i].key, idle[_i].value, FALSE);
  g_autofree char *wanted = g_strdup_printf ("warning: '%s' has no effect without", idle[_i].key);

  ck_assert_msg (g_str_has_prefix (text, wanted), "%s", text);
}
END_TEST

START_TEST (test_with_events)
{
  g_autofree char *text = said_of (idle[_i].key, idle[_i].value, TRUE);

  ck_assert_str_eq (text, "");
}
END_TEST

/* A new option is one of those above, or does something in every run. */
START_TEST (test_all_are_here)
{
  guint n = 0;

  for (const OptionSpec *spec = run_options; spec->key != NULL; spec++)
    n += spec->needs != NULL;
  ck_assert_uint_eq (n, G_N_ELEMENTS (idle));
}
END_TEST

SUITE_MAIN (run_goal)
{
  Suite *suite = suite_create ("run-goal");
  TCase *tcase = tcase_create ("run-goal");

  tcase_add_loop_test (tcase, test_without_events, 0, G_N_ELEMENTS (idle));
  tcase_add_loop_test (tcase, test_with_events, 0, G_N_ELEMENTS (idle));
  tcase_add_test (tcase, test_all_are_here);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
