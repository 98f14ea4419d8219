/*
 * The software of a scenario: which framework it runs on, what that implies, and that a scenario
 * which is printed with both is the same to a later release. Not asserted: what a framework costs,
 * which is its profile's.
 */
#include "../cases.h"
#include "../replay/fixture.h"
#include "../suite.h"
#include "hardware/profile/kernel-release.h"
#include "scenario/resolved.h"
#include "scenario/software.h"
#include "scenario/strategy-hint.h"
#include <glib/gstdio.h>

static ProfileSet *
todays_profiles (void)
{
  const ProfileVariant variant = { .todays_frameworks = TRUE };

  return profile_set_new_shared (NULL, &variant, NULL);
}

static Scenario *
plain (const char *strategy, const char *node)
{
  return fixture_scenario ("cluster.name", node, "model.config", "llama-3-8b", "training.seq_len",
                           "2048", "strategy.name", strategy, NULL);
}

static Scenario *
in_force (const Scenario *scenario, ProfileSet *profiles)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Scenario            *self = scenario_in_force (scenario, profiles, diags);

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  return self;
}

static Scenario *
with (const Scenario *scenario, const char *key, const char *value)
{
  const ScenarioOverride override = { key, value, "test" };
  g_autoptr (DiagList)   diags = diag_list_new ();
  Scenario              *self = scenario_with (scenario, NULL, &override, 1, diags);

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  return self;
}

static char *
setting (const Scenario *scenario, const char *section, const char *key)
{
  const OptionSpec *table = scenario_section_table (section);

  return option_format (option_table_find (table, key), scenario_options (scenario, table));
}

static void
check_setting (const Scenario *scenario, const char *section, const char *key, const char *value)
{
  g_autofree char *found = setting (scenario, section, key);

  ck_assert_str_eq (found, value);
}

/* ---- which one ------------------------------------------------------------------------------- */

/* Nobody is given a framework who did not ask for today's; who names one, or none, keeps that. */
START_TEST (test_named_and_not)
{
  g_autoptr (ProfileSet) plainly = profile_set_new (NULL), today = todays_profiles ();
  g_autoptr (Scenario)   scenario = plain ("fsdp2", "1 x dgx-h100");
  g_autoptr (Scenario)   none = with (scenario, "training.framework", "none");
  g_autoptr (Scenario)   old = with (scenario, "training.framework", "torchtitan-2024");
  g_autoptr (DiagList)   diags = diag_list_new ();
  const struct
  {
    const Scenario *scenario;
    ProfileSet     *profiles;
    const char     *id; /* NULL: none */
    gboolean        by_default;
  } cases[] = { { scenario, plainly, NULL, FALSE },
                { scenario, today, "torchtitan-2026", TRUE },
                { none, today, NULL, FALSE },
                { old, today, "torchtitan-2024", FALSE },
                { old, plainly, "torchtitan-2024", FALSE } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (ResolvedScenario) resolved =
          resolved_new (cases[i].scenario, cases[i].profiles, diags);

      ck_assert_msg (resolved != NULL, "%s", diag_list_first_message (diags));
      ck_assert_str_eq (resolved->framework != NULL ? resolved->framework->id : "none",
                        cases[i].id != NULL ? cases[i].id : "none");
      ck_assert_int_eq (resolved->framework_by_default, cases[i].by_default);
    }
}
END_TEST

/* Every strategy has one of today, whose name says its year; an outer one has its inner one's. */
START_TEST (test_every_strategy)
{
  g_autoptr (ProfileSet) profiles = todays_profiles ();
  g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal);
  g_auto (GStrv)         ids = profile_set_list (profiles, "framework");
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Scenario)   outer = fixture_scenario (
        "cluster.name", "2 x dgx-h100", "model.config", "llama-3-8b", "training.seq_len", "2048",
        "strategy.name", "local-sgd", "strategy.inner.name", "zero1", NULL);
  g_autoptr (Scenario) settled = in_force (outer, profiles);

  for (const Strategy *const *s = strategy_list (); *s != NULL; s++)
    {
      const FrameworkProfile *framework = profile_set_todays_framework (profiles, (*s)->name);

      g_hash_table_add (known, (gpointer) (*s)->name);
      ck_assert_msg (framework != NULL, "%s", (*s)->name);
      ck_assert_msg (g_regex_match_simple ("-20[0-9]{2}$", framework->id, 0, 0),
                     "the default of %s, %s, says no year", (*s)->name, framework->id);
    }
  check_setting (settled, "training", "framework",
                 profile_set_todays_framework (profiles, "zero1")->id);
  for (guint i = 0; ids[i] != NULL; i++)
    {
      const FrameworkProfile *framework = profile_set_framework (profiles, ids[i], NULL, diags);
      g_auto (GStrv)          words =
          g_strsplit (framework->default_for != NULL ? framework->default_for : "*", " ", -1);

      for (guint w = 0; words[w] != NULL; w++)
        ck_assert_msg (g_str_equal (words[w], "*") || g_hash_table_contains (known, words[w]),
                       "%s: there is no strategy '%s'", ids[i], words[w]);
    }
}
END_TEST

/* Of two that are for a strategy that of the later year serves; one without a year never does. */
START_TEST (test_latest_year)
{
  static const char *const ids[] = { "b-2030", "a-2029", "zz-mine", "c-2030" };
  const ProfileVariant     variant = { .todays_frameworks = TRUE };
  g_autofree char         *dir = g_dir_make_tmp ("frameworks-XXXXXX", NULL);
  g_autofree char         *folder = g_build_filename (dir, "framework", NULL);
  g_autoptr (ProfileSet)   profiles = NULL;

  g_assert (g_mkdir (folder, 0700) == 0);
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    {
      g_autofree char *file = g_strdup_printf ("%s/%s.yaml", folder, ids[i]);

      g_assert (g_file_set_contents (file, "title: t\ndefault_for: \"fsdp2 *\"\n", -1, NULL));
    }
  profiles = profile_set_new_shared (dir, &variant, NULL);
  ck_assert_str_eq (profile_set_todays_framework (profiles, "fsdp2")->id, "b-2030");
  ck_assert_str_eq (profile_set_todays_framework (profiles, "another")->id, "b-2030");
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    {
      g_autofree char *file = g_strdup_printf ("%s/%s.yaml", folder, ids[i]);

      g_unlink (file);
    }
  g_rmdir (folder);
  g_rmdir (dir);
}
END_TEST

/* ---- what it implies ------------------------------------------------------------------------- */

/*
 * A setting goes where nobody set another, on the GPUs and under the strategy that it is for; what
 * tables call a framework, and models, are not a scenario's.
 */
START_TEST (test_implied)
{
  g_autoptr (ProfileSet) profiles = todays_profiles ();
  g_autoptr (Scenario)   hopper = plain ("zero1", "1 x dgx-h100");
  g_autoptr (Scenario)   ampere = plain ("zero1", "1 x dgx-a100");
  g_autoptr (Scenario)   said = with (hopper, "training.attention", "flash2");
  g_autoptr (Scenario)   ddp = plain ("ddp", "1 x dgx-h100");
  g_autoptr (Scenario)   megatron = with (ddp, "training.framework", "megatron-core-2025");
  g_autoptr (Scenario)   neox =
      with (hopper, "training.framework", "gpt-neox 2022, megatron-deepspeed");
  g_autoptr (Scenario) on_hopper = in_force (hopper, profiles);
  g_autoptr (Scenario) on_ampere = in_force (ampere, profiles);
  g_autoptr (Scenario) as_said = in_force (said, profiles);
  g_autoptr (Scenario) of_ddp = in_force (megatron, profiles);
  g_autoptr (Scenario) of_neox = in_force (neox, profiles);
  const OptionSpec    *table = on_hopper->strategy->marks.table;
  g_autofree char *fused = option_format (option_table_find (table, "gradient_accumulation_fusion"),
                                          on_hopper->strategy->options);

  check_setting (on_hopper, "training", "framework", "megatron-core-2025");
  check_setting (on_hopper, "training", "attention", "cudnn");
  check_setting (on_hopper, "training", "fused_norm", "true");
  ck_assert_str_eq (fused, "true");
  check_setting (on_ampere, "training", "attention", "flash2");
  check_setting (as_said, "training", "attention", "flash2");
  check_setting (as_said, "training", "fused_norm", "true");
  ck_assert_int_eq (memcmp (of_ddp->strategy->options, megatron->strategy->options,
                            ddp->strategy->strategy->options_size),
                    0);
  check_setting (of_neox, "model", "block", "auto");
  ck_assert (!option_marks_has (scenario_marks (on_hopper, training_options), "attention"));
}
END_TEST

/* ---- releases of kernels --------------------------------------------------------------------- */

/* What resolving SCENARIO says first; "" where it says nothing, *OK where it resolves. */
static char *
first_message (const Scenario *scenario, ProfileSet *profiles, gboolean *ok)
{
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);
  const char                  *message = diag_list_first_message (diags);

  *ok = resolved != NULL;
  return g_strdup (message != NULL ? message : "");
}

/*
 * A framework's year implies its release on the GPUs that it differs on, and a word goes before it.
 * A version that no profile has is the one before it, or the oldest, and is said; a release that
 * knows no such GPU, or is none, is an error.
 */
START_TEST (test_kernel_releases)
{
  static const struct
  {
    const char *cluster, *kernels, *says;
    gboolean    ok;
  } cases[] = {
    { "1 x dgx-h100", "cuda-12.1", "", TRUE },
    { "1 x dgx-h100", "cuda-12.4", "taken as those of 'cuda-12.1'", TRUE },
    { "1 x dgx-h100", "CUDA-13", "taken as those of 'cuda-12.8'", TRUE },
    { "1 x dgx-h100", "cuda-11.8", "taken as those of 'cuda-12.1'", TRUE },
    { "1 x dgx-b200", "cuda-12.1", "has no kernels for b200-sxm-180 (blackwell)", FALSE },
    { "1 x dgx-h100", "rocm-6.1", "has no kernels for h100-sxm-80 (hopper)", FALSE },
    { "1 x mi300x-8", "rocm-6.1", "", TRUE },
    { "1 x dgx-h100", "cuda", "is no release of kernels", FALSE },
    { "1 x dgx-h100", "oneapi-2024", "is no release of kernels", FALSE },
  };
  g_autoptr (ProfileSet) profiles = todays_profiles ();
  g_autoptr (Scenario)   hopper = plain ("fsdp1", "1 x dgx-h100");
  g_autoptr (Scenario)   ampere = plain ("fsdp1", "1 x dgx-a100");
  g_autoptr (Scenario)   old = with (hopper, "training.framework", "composer-2023");
  g_autoptr (Scenario)   on_ampere = with (ampere, "training.framework", "composer-2023");
  g_autoptr (Scenario)   newer = with (old, "training.kernels", "cuda-12.6");
  g_autoptr (Scenario)   implied = in_force (old, profiles);
  g_autoptr (Scenario)   elsewhere = in_force (on_ampere, profiles);
  g_autoptr (Scenario)   said = in_force (newer, profiles);

  check_setting (implied, "training", "kernels", "cuda-12.1");
  ck_assert_ptr_null (elsewhere->training.kernels);
  check_setting (said, "training", "kernels", "cuda-12.6");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Scenario) base = plain ("fsdp1", cases[i].cluster);
      g_autoptr (Scenario) scenario = with (base, "training.kernels", cases[i].kernels);
      gboolean             ok;
      g_autofree char     *message = first_message (scenario, profiles, &ok);

      ck_assert_msg (ok == cases[i].ok && strstr (message, cases[i].says) != NULL
                         && (*cases[i].says != '\0' || *message == '\0'),
                     "case %u: %s", i, message);
    }
}
END_TEST

/* The GPUs that a release differs on have it, whichever group they are in, and no others. */
START_TEST (test_kernels_of_gpus)
{
  g_autoptr (ProfileSet)       profiles = todays_profiles ();
  g_autoptr (Scenario)         base = plain ("fsdp1", "1 x dgx-a100 + 2 x dgx-h100");
  g_autoptr (Scenario)         scenario = with (base, "training.kernels", "cuda-12.1");
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);

  ck_assert_msg (resolved != NULL, "%s", diag_list_first_message (diags));
  ck_assert_ptr_null (cluster_gpu_profile (resolved->cluster, 0)->release);
  ck_assert_str_eq (cluster_gpu_profile (resolved->cluster, 8)->release->id, "cuda-12.1");
  ck_assert_ptr_eq (cluster_gpu_profile (resolved->cluster, 8),
                    cluster_gpu_profile (resolved->cluster, 23));
}
END_TEST

/* Read again, what is printed in force is in force as it is, of today's or any other frameworks. */
static void
check_print (const Scenario *scenario, ProfileSet *profiles, guint i)
{
  g_autoptr (Scenario)   settled = in_force (scenario, profiles);
  g_autofree char       *text = scenario_print (settled);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GPtrArray)  read = scenario_load_text (NULL, "printed", text, NULL, 0, diags);
  g_autoptr (ProfileSet) plainly = profile_set_new (NULL);
  g_autoptr (Scenario)   again = NULL, other = NULL;
  g_autofree char       *second = NULL, *third = NULL;

  ck_assert_msg (read != NULL, "case %u: %s\n%s", i, diag_list_first_message (diags), text);
  again = in_force (g_ptr_array_index (read, 0), profiles);
  other = in_force (g_ptr_array_index (read, 0), plainly);
  second = scenario_print (again);
  third = scenario_print (other);
  ck_assert_str_eq (second, text);
  ck_assert_str_eq (third, text);
}

/* What goes together under no framework goes together under each, with what that implies. */
START_TEST (test_frameworks_take_scenarios)
{
  g_autoptr (ProfileSet) profiles = todays_profiles ();
  g_auto (GStrv)         ids = profile_set_list (profiles, "framework");
  g_autoptr (GRand)      rand = g_rand_new_with_seed (20261128);
  const guint            n = cases_of (300);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (Scenario) scenario =
          i % 2 == 0 ? fixture_random (rand, profiles) : fixture_random_mesh (rand, i, profiles);
      g_autoptr (Scenario)         none = with (scenario, "training.framework", "none");
      g_autoptr (DiagList)         before = diag_list_new ();
      g_autoptr (ResolvedScenario) alone = resolved_new (none, profiles, before);
      const guint                  id = i % (g_strv_length (ids) + 1);
      g_autoptr (Scenario) named = ids[id] != NULL ? with (scenario, "training.framework", ids[id])
                                                   : scenario_copy (scenario);
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autoptr (ResolvedScenario) resolved = resolved_new (named, profiles, diags);

      if (alone == NULL)
        continue;
      ck_assert_msg (resolved != NULL, "case %u, %s: %s", i, ids[id] != NULL ? ids[id] : "today's",
                     diag_list_first_message (diags));
      check_print (named, profiles, i);
    }
}
END_TEST

/* A framework where a strategy is wanted leads to its strategies, as its profile names them. */
START_TEST (test_framework_for_a_strategy)
{
  static const char *const cases[][2] = { { "deepspeed", " zero3 " },
                                          { "Megatron", " megatron-fsdp" },
                                          { "torchtitan", " fsdp2 " },
                                          { "megatron-lm", "--as megatron-lm" },
                                          { "Accelerate", "--as accelerate" },
                                          { "pytorch", "that is a framework; strategies: co2" },
                                          { "fsdp", "did you mean one of fsdp2 " },
                                          { "", "strategies: " } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *hint = strategy_hint (NULL, cases[i][0]);

      ck_assert_msg (strstr (hint, cases[i][1]) != NULL, "%s: %s", cases[i][0], hint);
    }
}
END_TEST

SUITE_MAIN (software)
{
  Suite *suite = suite_create ("software");
  TCase *tcase = tcase_create ("software");

  tcase_set_timeout (tcase, 300);
  tcase_add_test (tcase, test_named_and_not);
  tcase_add_test (tcase, test_every_strategy);
  tcase_add_test (tcase, test_latest_year);
  tcase_add_test (tcase, test_implied);
  tcase_add_test (tcase, test_kernel_releases);
  tcase_add_test (tcase, test_kernels_of_gpus);
  tcase_add_test (tcase, test_framework_for_a_strategy);
  tcase_add_test (tcase, test_frameworks_take_scenarios);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
