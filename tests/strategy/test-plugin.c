/*
 * Plug-ins: docs/examples/zero2-by-hand.c, built as the guide says, against its closed form; and
 * what is said about shared objects that are no plug-ins. Arguments: the folder of the shared
 * objects.
 */
#include <check.h>
#include <glib/gstdio.h>

#include "../suite.h"
#include "random-plan.h"

static char *
module (const char *name)
{
  return g_strdup_printf ("%s/%s.so", g_getenv ("SHARDSIM_TEST_PLUGINS"), name);
}

/* The example on a random mesh; it refuses what it says that it does not model. */
static void
assert_example (const Strategy *strategy, guint i, guint *n_pipelines, guint *n_experts)
{
  g_autoptr (RandomPlan) plan = random_plan_new_mesh (strategy, 4000 + i, i);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Schedule)   schedule = NULL;

  if (plan->schedule == NULL)
    plan->schedule = schedule_build (&plan->in, plan->choice, diags);
  schedule = g_steal_pointer (&plan->schedule);
  if (plan->training.precision == PRECISION_FP32)
    {
      ck_assert_ptr_null (schedule);
      ck_assert_str_eq (diag_list_first_message (diags),
                        "zero2-by-hand counts two bytes a parameter: it does not train in full "
                        "precision");
      return;
    }
  ck_assert_msg (schedule != NULL && schedule_check (schedule, &plan->in.mesh, NULL, diags),
                 "%s\n%s", plan->text, diag_list_first_message (diags));
  for (guint stage = 0; stage < plan->stages->len; stage++)
    {
      PlanTotals       measured = { 0 }, expected = { 0 };
      g_autofree char *why = NULL;
      PlanInput        in = plan->in;

      in.workload = plan->in.stages[stage];
      schedule_totals (schedule, stage * schedule_n_roles (schedule) / plan->stages->len,
                       &measured);
      ck_assert (strategy_expect (&in, plan->choice, &expected));
      ck_assert_msg (plan_totals_match (&measured, &expected, &why), "%s\n%s", plan->text, why);
    }
  *n_pipelines += plan->mesh.pipeline == PIPELINE_ZB_H1 || plan->mesh.pipeline == PIPELINE_ZBV;
  *n_experts += plan->mesh.ep > 1;
}

START_TEST (test_example)
{
  g_autoptr (StrategySet) set = strategy_set_new ();
  g_autoptr (GError)      error = NULL;
  g_autofree char        *file = module ("plugin-example");
  const Strategy         *example;
  guint                   built_in = 0, listed = 0, n_pipelines = 0, n_experts = 0;

  ck_assert_msg (strategy_set_load (set, file, &error), "%s", error != NULL ? error->message : "");
  example = strategy_set_find (set, "zero2-by-hand");
  ck_assert_ptr_nonnull (example);
  ck_assert_ptr_null (strategy_find ("zero2-by-hand"));
  while (strategy_list ()[built_in] != NULL)
    built_in++;
  for (const Strategy *const *s = strategy_set_list (set); *s != NULL; s++, listed++)
    ck_assert (s[1] == NULL || g_strcmp0 (s[0]->name, s[1]->name) < 0);
  ck_assert_uint_eq (listed, built_in + 1);
  for (guint i = 0; i < 300; i++)
    assert_example (example, i, &n_pipelines, &n_experts);
  ck_assert_uint_gt (n_pipelines, 5); /* whose backward passes are split */
  ck_assert_uint_gt (n_experts, 5);
}
END_TEST

static const struct
{
  const char *module, *message;
} refused[] = {
  { "plugin-old", "was built for strategy API 15, this program has 14: build it again" },
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
  g_autofree char        *file = module ("plugin-example");

  ck_assert (strategy_set_load (set, file, NULL));
  ck_assert (!strategy_set_load (set, file, &error));
  ck_assert (g_strrstr (error->message, "exists already") != NULL);
}
END_TEST

/* A shared object that was cut off is refused in words, also where its headers are there. */
START_TEST (test_cut)
{
  g_autoptr (StrategySet) set = strategy_set_new ();
  g_autofree char        *whole = module ("plugin-example"), *text = NULL;
  g_autofree char        *folder = g_dir_make_tmp ("plugin-XXXXXX", NULL);
  g_autofree char        *file = g_build_filename (folder, "cut.so", NULL);
  gsize                   length;

  ck_assert (g_file_get_contents (whole, &text, &length, NULL));
  for (gsize left = 0; left <= 8192; left += 512)
    {
      g_autoptr (GError) error = NULL;

      ck_assert (g_file_set_contents (file, text, (gssize) left, NULL));
      ck_assert (!strategy_set_load (set, file, &error));
      ck_assert_msg (left < 1024 || g_strrstr (error->message, "it is cut off") != NULL, "%s",
                     error->message);
    }
  ck_assert_uint_gt (length, 8192); /* as long as its segments at least */
  ck_assert_int_eq (g_remove (file) + g_rmdir (folder), 0);
}
END_TEST

/* What people call families of strategies, and what begins a name, leads to the names. */
START_TEST (test_hints)
{
  static const struct
  {
    const char *word, *in_hint;
  } cases[] = {
    { "fsdp", "did you mean one of fsdp2 (" },
    { "FSDP", "hsdp" },
    { "fsdp3", "fsdp2" },
    { "zero4", "did you mean 'zero" },
    { "zero-", "zero-offload" },
    { "nothing-like-it", "strategies: co2, ddp" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *hint = strategy_set_hint (NULL, cases[i].word);

      ck_assert_msg (strstr (hint, cases[i].in_hint) != NULL, "%s: %s", cases[i].word, hint);
    }
}
END_TEST

SUITE_MAIN (plugin)
{
  Suite *suite = suite_create ("plugin");
  TCase *tcase = tcase_create ("all");

  if (argc > 1)
    g_setenv ("SHARDSIM_TEST_PLUGINS", argv[1], TRUE);
  tcase_add_test (tcase, test_example);
  tcase_add_loop_test (tcase, test_refused, 0, G_N_ELEMENTS (refused));
  tcase_add_test (tcase, test_twice);
  tcase_add_test (tcase, test_cut);
  tcase_add_test (tcase, test_hints);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
