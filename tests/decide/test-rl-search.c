/*
 * The search of a step of reinforcement learning: the answer is what simulating every layout of
 * generation with every micro-batch finds; no layout beats its bound; what a scenario sets stays;
 * options and YAML lead to the step that was found; threads change nothing. Not asserted: that
 * training's own search orders configurations as packed responses do.
 */
#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "../suite.h"
#include "decide/search/rl-search.h"

#define MOST_PAIRS  40
#define CLOSE(a, b) ck_assert_double_eq_tol (a, b, 1e-12 * fabs (b))

/* All of training is set but the micro-batch. */
#define SMALL                                                                              \
  { "model.config", "qwen3-0.6b", "test" }, { "training.seq_len", "1024", "test" },        \
      { "strategy.name", "zero1", "test" }, { "training.global_batch", "64", "test" },     \
      { "training.activation_checkpointing", "none", "test" }, { "mesh.tp", "1", "test" }, \
      { "mesh.cp", "1", "test" }, { "mesh.pp", "1", "test" }, { "mesh.ep", "1", "test" },  \
      { "rl.algorithm", "grpo", "test" }, { "rl.prompts", "16", "test" },                  \
      { "rl.responses", "8", "test" }, { "rl.response_tokens", "400", "test" },

/* With KEY, VALUE, ..., NULL on CLUSTER. */
static Scenario *
scenario_of (const char *cluster, va_list pairs)
{
  ScenarioOverride      all[MOST_PAIRS] = { SMALL{ "cluster.name", cluster, "test" } };
  guint                 n = 14;
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) loaded = NULL;

  for (const char *key = va_arg (pairs, const char *); key != NULL;
       key = va_arg (pairs, const char *))
    all[n++] = (ScenarioOverride){ key, va_arg (pairs, const char *), "test" };
  loaded = scenario_load_open (NULL, NULL, all, n, diags);
  ck_assert_msg (loaded != NULL, "%s", diag_list_first_message (diags));
  return scenario_copy (g_ptr_array_index (loaded, 0));
}

static RlSearchResult *
search (const Scenario *scenario, guint n_threads, DiagList *diags)
{
  const SearchOptions  options = { .n_threads = n_threads };
  const PredictOptions predict = { 0 };
  g_autoptr (GError)   error = NULL;

  return rl_search_run (scenario, NULL, &options, &predict, diags, &error);
}

static RlSearchResult *G_GNUC_NULL_TERMINATED
search_on (const char *cluster, ...)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Scenario) scenario = NULL;
  RlSearchResult      *result;
  va_list              pairs;

  va_start (pairs, cluster);
  scenario = scenario_of (cluster, pairs);
  va_end (pairs);
  result = search (scenario, 2, diags);
  ck_assert_msg (result != NULL, "%s", diag_list_first_message (diags));
  return result;
}

static void G_GNUC_NULL_TERMINATED
refuses (const char *words, ...)
{
  g_autoptr (DiagList)       diags = diag_list_new ();
  g_autoptr (Scenario)       scenario = NULL;
  g_autoptr (RlSearchResult) result = NULL;
  va_list                    pairs;

  va_start (pairs, words);
  scenario = scenario_of ("dgx-h100", pairs);
  va_end (pairs);
  result = search (scenario, 1, diags);
  ck_assert_ptr_null (result);
  ck_assert_msg (strstr (diag_list_first_message (diags), words) != NULL, "%s",
                 diag_list_first_message (diags));
}

static const RlFound *
best_of (const RlSearchResult *result)
{
  ck_assert_msg (result->found->len > 0, "%s", result->reason);
  return g_ptr_array_index (result->found, 0);
}

/* ---- against every layout -------------------------------------------------------------------- */

typedef struct
{
  double step, generation, least; /* s; STEP 0: there is none; LEAST 0: nobody asked */
} Point;

static Point
point_of (const Scenario *from, const char *tp, const char *pp, const char *micro, gboolean bound)
{
  const ScenarioOverride all[] = { { "generation.tp", tp, "test" },
                                   { "generation.pp", pp, "test" },
                                   { "training.micro_batch", micro, "test" } };
  const PredictOptions   options = { 0 };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GError)     error = NULL;
  g_autoptr (Scenario)   scenario = scenario_with (from, NULL, all, G_N_ELEMENTS (all), diags);
  g_autoptr (RlStep)     step = NULL;
  Point                  point = { 0 };

  ck_assert_ptr_nonnull (scenario);
  step = rl_step_predict (scenario, NULL, &options, diags, &error);
  if (step == NULL)
    return point;
  point.step = step->step_time_s;
  point.generation = step->phases[RL_GENERATION];
  if (bound)
    point.least = rl_step_least_generation (scenario, NULL, &options, diags);
  return point;
}

/* 16 layouts, of which ten divide 8 GPUs, with the micro-batches from FIRST on: 1, 2, 4, 8. */
static void
compare_with_all (const RlSearchResult *result, guint first)
{
  static const char *const degrees[] = { "1", "2", "4", "8" };
  const RlFound           *best = best_of (result);
  double                   least = INFINITY;
  guint                    n = 0;

  for (guint t = 0; t < 4; t++)
    for (guint p = 0; p < 4; p++)
      for (guint m = first; m < 4; m++)
        {
          const Point point = point_of (best->scenario, degrees[t], degrees[p], degrees[m], m == 3);

          if (point.step == 0)
            continue;
          n++;
          ck_assert_msg (point.least <= point.generation * (1 + 1e-9), "tp %s pp %s: %g over %g",
                         degrees[t], degrees[p], point.least, point.generation);
          least = MIN (least, point.step);
        }
  ck_assert_uint_ge (n, 10);
  CLOSE (best->step->step_time_s, least);
}

START_TEST (test_fastest)
{
  g_autoptr (RlSearchResult) few = search_on ("dgx-h100", NULL);
  g_autoptr (RlSearchResult) queued =
      search_on ("dgx-h100", "serving.max_sequences", "4", "training.micro_batch", "8", NULL);
  g_autoptr (RlSearchResult) many = search_on ("dgx-h100", "rl.prompts", "128", "rl.refit",
                                               "reshard", "training.micro_batch", "8", NULL);

  compare_with_all (few, 0);
  compare_with_all (queued, 3);
  compare_with_all (many, 3);
  ck_assert_uint_eq (few->n_splits, 1);
  ck_assert_uint_eq (few->n_layouts, 10);
  ck_assert_uint_gt (few->n_cut, 0);
}
END_TEST

/* ---- what stays ------------------------------------------------------------------------------ */

START_TEST (test_set_options_stay)
{
  g_autoptr (RlSearchResult) result =
      search_on ("dgx-h100", "generation.tp", "2", "training.micro_batch", "2", NULL);

  for (guint i = 0; i < result->found->len; i++)
    {
      const RlFound *found = g_ptr_array_index (result->found, i);

      ck_assert_int_eq (found->scenario->generation.tp, 2);
      ck_assert_int_eq (found->scenario->training.micro_batch, 2);
      ck_assert_int_eq (found->scenario->training.global_batch, 64);
      ck_assert_ptr_null (strstr (found->options, "generation.tp"));
      ck_assert_ptr_nonnull (strstr (found->options, "--set generation.pp="));
    }
  ck_assert_uint_eq (result->n_layouts, 3); /* pp 1, 2, 4 */
}
END_TEST

/* Printed and read again, the best's scenario makes the same step. */
START_TEST (test_scenario_of_best)
{
  g_autoptr (RlSearchResult) result = search_on ("2 x dgx-h100", "rl.off_policy_steps", "1", NULL);
  const RlFound             *best = best_of (result);
  g_autofree char           *text = scenario_print (best->scenario);
  g_autoptr (DiagList)       diags = diag_list_new ();
  g_autoptr (GError)         error = NULL;
  g_autoptr (GPtrArray)      again = scenario_load_text (NULL, "again", text, NULL, 0, diags);
  const PredictOptions       options = { 0 };
  g_autoptr (RlStep)         step = NULL;

  ck_assert_msg (again != NULL, "%s", diag_list_first_message (diags));
  step = rl_step_predict (g_ptr_array_index (again, 0), NULL, &options, diags, &error);
  ck_assert_msg (step != NULL, "%s", diag_list_first_message (diags));
  CLOSE (step->step_time_s, best->step->step_time_s);
}
END_TEST

/* ---- splits ---------------------------------------------------------------------------------- */

/* Of four nodes one, two or three may generate; by halves two of these splits are looked at. */
START_TEST (test_split)
{
  static const char *const   nodes[] = { "1", "2", "3" };
  g_autoptr (RlSearchResult) open =
      search_on ("4 x dgx-h100", "rl.off_policy_steps", "1", "training.micro_batch", "2", NULL);
  double least = INFINITY;

  ck_assert_uint_eq (open->n_splits, 2);
  for (guint i = 0; i < G_N_ELEMENTS (nodes); i++)
    {
      g_autoptr (RlSearchResult) one =
          search_on ("4 x dgx-h100", "rl.off_policy_steps", "1", "rl.generation_nodes", nodes[i],
                     "training.micro_batch", "2", NULL);

      ck_assert_uint_eq (one->n_splits, 1);
      ck_assert_uint_eq (best_of (one)->step->n_generating, 8 * (i + 1));
      least = MIN (least, best_of (one)->step->step_time_s);
    }
  CLOSE (best_of (open)->step->step_time_s, least);
}
END_TEST

/* ---- the rest -------------------------------------------------------------------------------- */

START_TEST (test_threads)
{
  g_autoptr (DiagList)       diags = diag_list_new ();
  g_autoptr (RlSearchResult) two = search_on ("dgx-h100", NULL);
  g_autoptr (RlSearchResult) one = search (best_of (two)->scenario, 1, diags);
  g_autoptr (RlSearchResult) again = search (best_of (two)->scenario, 3, diags);

  ck_assert_uint_eq (one->found->len, again->found->len);
  for (guint i = 0; i < one->found->len; i++)
    {
      const RlFound *a = g_ptr_array_index (one->found, i),
                    *b = g_ptr_array_index (again->found, i);

      ck_assert_str_eq (a->label, b->label);
      ck_assert (a->step->step_time_s == b->step->step_time_s);
    }
}
END_TEST

/* Memory for no layout: there is no answer, and why. */
START_TEST (test_nothing_fits)
{
  g_autoptr (RlSearchResult) result =
      search_on ("dgx-h100", "model.config", "qwen3-4b", "generation.memory_utilization", "0.05",
                 "generation.tp", "1", "generation.pp", "1", NULL);

  ck_assert_uint_eq (result->found->len, 0);
  ck_assert_uint_eq (result->n_too_large, result->n_layouts);
  ck_assert_ptr_nonnull (strstr (result->reason, "do not fit"));
}
END_TEST

START_TEST (test_bad_input)
{
  refuses ("is more than the 128 responses", "training.global_batch", "256", NULL);
  refuses ("leave no room for responses", "rl.prompt_tokens", "1024", NULL);
  refuses ("leave none of the cluster's 1", "rl.off_policy_steps", "1", NULL);
  refuses ("no responses wait in a queue", "rl.off_policy_steps", "1", "rl.generation_nodes", "0",
           NULL);
}
END_TEST

SUITE_MAIN (rl_search)
{
  Suite *suite = suite_create ("rl-search");
  TCase *all = tcase_create ("all");

  tcase_set_timeout (all, 120);
  tcase_add_test (all, test_fastest);
  tcase_add_test (all, test_set_options_stay);
  tcase_add_test (all, test_scenario_of_best);
  tcase_add_test (all, test_split);
  tcase_add_test (all, test_threads);
  tcase_add_test (all, test_nothing_fits);
  tcase_add_test (all, test_bad_input);
  suite_add_tcase (suite, all);
  return suite_run (suite);
}
