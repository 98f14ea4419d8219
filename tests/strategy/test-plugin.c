/*
 * Plug-ins: docs/examples/zero2.c, built as the guide says, against its closed form; and what is
 * said about shared objects that are no plug-ins. Arguments: the folder of the shared objects.
 */
#include <check.h>

#include "random-plan.h"

static char *
module (const char *name)
{
  return g_strdup_printf ("%s/%s.so", g_getenv ("SHARDSIM_TEST_PLUGINS"), name);
}

START_TEST (test_example)
{
  g_autoptr (StrategySet) set = strategy_set_new ();
  g_autoptr (GError)      error = NULL;
  g_autofree char        *file = module ("plugin-zero2");
  const Strategy         *zero2;
  guint                   listed = 0;

  ck_assert_msg (strategy_set_load (set, file, &error), "%s", error != NULL ? error->message : "");
  zero2 = strategy_set_find (set, "zero2");
  ck_assert_ptr_nonnull (zero2);
  ck_assert_ptr_null (strategy_find ("zero2"));
  for (const Strategy *const *s = strategy_set_list (set); *s != NULL; s++, listed++)
    ck_assert (s[1] == NULL || g_strcmp0 (s[0]->name, s[1]->name) < 0);
  ck_assert_uint_eq (listed, 9);
  for (guint i = 0; i < 200; i++)
    {
      g_autoptr (RandomPlan) plan = random_plan_new (zero2, 4000 + i, i);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (Schedule)   schedule = schedule_build (&plan->in, plan->choice, diags);
      g_autofree char       *why = NULL;
      PlanTotals             measured = { 0 }, expected = { 0 };

      ck_assert_msg (schedule != NULL && schedule_check (schedule, &plan->in.mesh, diags), "%s\n%s",
                     plan->text, diag_list_first_message (diags));
      schedule_totals (schedule, 0, &measured);
      ck_assert (strategy_expect (&plan->in, plan->choice, &expected));
      ck_assert_msg (plan_totals_match (&measured, &expected, &why), "%s\n%s", plan->text, why);
    }
}
END_TEST

static const struct
{
  const char *module, *message;
} refused[] = {
  { "plugin-old", "was built for strategy API 4, this program has 3: build it again" },
  { "plugin-taken", "a strategy 'fsdp2' exists already" },
  { "plugin-empty", "does not export 'shardsim_strategy'" },
  { "no-such-plugin", "cannot load plugin" },
};

START_TEST (test_refused)
{
  g_autoptr (StrategySet) set = strategy_set_new ();
  g_autoptr (GError)      error = NULL;
  g_autofree char        *file = module (refused[_i].module);

  ck_assert (!strategy_set_load (set, file, &error));
  ck_assert_msg (g_strrstr (error->message, refused[_i].message) != NULL, "%s", error->message);
  ck_assert_ptr_nonnull (strategy_set_find (set, "fsdp2"));
}
END_TEST

START_TEST (test_twice)
{
  g_autoptr (StrategySet) set = strategy_set_new ();
  g_autoptr (GError)      error = NULL;
  g_autofree char        *file = module ("plugin-zero2");

  ck_assert (strategy_set_load (set, file, NULL));
  ck_assert (!strategy_set_load (set, file, &error));
  ck_assert (g_strrstr (error->message, "exists already") != NULL);
}
END_TEST

int
main (int argc, char **argv)
{
  Suite   *suite = suite_create ("plugin");
  TCase   *tcase = tcase_create ("all");
  SRunner *runner = srunner_create (suite);
  int      failed;

  if (argc > 1)
    g_setenv ("SHARDSIM_TEST_PLUGINS", argv[1], TRUE);
  tcase_add_test (tcase, test_example);
  tcase_add_loop_test (tcase, test_refused, 0, G_N_ELEMENTS (refused));
  tcase_add_test (tcase, test_twice);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
