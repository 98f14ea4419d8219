/*
 * The search: over three spaces the best is what simulating every configuration finds, and no
 * configuration beats its bound; what a scenario sets stays; constraints hold, and who meets none
 * says why; one thread and two find the same. Not asserted: how many configurations are simulated,
 * and what a search finds whose budget is spent.
 */
#include <check.h>

#include "../cases.h"
#include "analysis/search.h"

#define GIB      1073741824.0
#define MAX_VARY 6

typedef struct
{
  const char       *keys[24]; /* pairs of the scenario; NULL-terminated */
  const char *const values[MAX_VARY][8];
  const char       *vary[MAX_VARY]; /* their keys; the first one's values are all taken always */
} Space;

#define LLAMA                                                                                   \
  "model.arch", "llama", "model.n_layers", "8", "model.d_model", "1024", "model.n_heads", "16", \
      "model.d_ff", "2816", "model.vocab", "32000", "training.seq_len", "1024",                 \
      "training.global_batch", "64", "training.attention", "flash2"

static const Space spaces[] = {
  /* 6 x 3 x 3 x 3 x 3 = 486 */
  { .keys = { LLAMA, "cluster.name", "2 x dgx-a100", NULL },
    .vary = { "strategy.name", "mesh.tp", "mesh.pp", "training.micro_batch",
              "training.activation_checkpointing" },
    .values = { { "ddp", "zero1", "zero3", "fsdp1", "fsdp2", "hsdp", NULL },
                { "1", "2", "4", NULL },
                { "1", "2", "4", NULL },
                { "1", "2", "4", NULL },
                { "none", "selective", "full", NULL } } },
  /* a slow network: 5 x 3 x 4 x 3 x 3 = 540 */
  { .keys = { LLAMA, "cluster.name", "4 x a40x8-nvlink-pairs", NULL },
    .vary = { "strategy.name", "mesh.cp", "training.micro_batch",
              "training.activation_checkpointing", "mesh.tp" },
    .values = { { "fsdp2", "zeropp", "fcdp", "zero2", "hsdp", NULL },
                { "1", "2", "4", NULL },
                { "1", "2", "4", "8", NULL },
                { "none", "full", "layers:2", NULL },
                { "1", "2", "8", NULL } } },
  /* kinds of pipelines: 3 x 7 x 3 x 4 x 2 = 504 */
  { .keys = { LLAMA, "cluster.name", "1 x dgx-h100", NULL },
    .vary = { "strategy.name", "mesh.pipeline", "mesh.pp", "training.micro_batch", "mesh.tp" },
    .values = { { "ddp", "zero1", "fsdp2", NULL },
                { "auto", "gpipe", "1f1b", "zb-h1", "zb-h2", "zbv", "dualpipe", NULL },
                { "2", "4", "8", NULL },
                { "1", "2", "4", "8", NULL },
                { "1", "2", NULL } } },
};

static Scenario *
load (const char *const *keys)
{
  ScenarioOverride      list[24];
  guint                 n = 0;
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = NULL;

  for (; *keys != NULL; keys += 2)
    list[n++] = (ScenarioOverride){ keys[0], keys[1], "test" };
  all = scenario_load_open (NULL, NULL, list, n, diags);
  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  return scenario_copy (g_ptr_array_index (all, 0));
}

static PredictOptions
shared_options (void)
{
  return (PredictOptions){ .files = input_files_new () };
}

/* ---- against every configuration ------------------------------------------------------------- */

/* The least step time of what fits, over all points; steps of points as they are enumerated. */
static double
simulate_all (const Scenario *scenario, const SearchVary *vary, guint n_vary,
              const PredictOptions *options, guint *n_points)
{
  guint64 n = 1;
  double  best = INFINITY;

  for (guint v = 0; v < n_vary; v++)
    n *= g_strv_length ((char **) vary[v].values);
  *n_points = (guint) n;
  for (guint64 point = 0; point < n; point++)
    {
      ScenarioOverride       list[MAX_VARY];
      guint64                rest = point;
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (Scenario)   one = NULL;
      g_autoptr (Prediction) prediction = NULL;
      g_autoptr (GError)     error = NULL;

      for (guint v = 0; v < n_vary; v++)
        {
          guint length = g_strv_length ((char **) vary[v].values);

          list[v] = (ScenarioOverride){ vary[v].key, vary[v].values[rest % length], "test" };
          rest /= length;
        }
      one = scenario_with (scenario, NULL, list, n_vary, diags);
      if (one != NULL)
        prediction = predict (one, options, diags, &error);
      if (prediction != NULL && prediction->fits)
        best = MIN (best, prediction->step_time_s);
    }
  return best;
}

/* A part of the values where only a part of the cases is run: the first ones of later axes. */
static guint
take_values (const Space *space, SearchVary *vary, const char *kept[MAX_VARY][8])
{
  const guint percent = cases_of (100);
  guint       n = 0;

  for (; n < MAX_VARY && space->vary[n] != NULL; n++)
    {
      guint length = g_strv_length ((char **) space->values[n]);
      guint most = percent >= 100 || n == 0 ? length : percent >= 10 ? 2 : n < 3 ? 2 : 1;

      for (guint i = 0; i < MIN (most, length); i++)
        kept[n][i] = space->values[n][i * length / MIN (most, length)];
      kept[n][MIN (most, length)] = NULL;
      vary[n] = (SearchVary){ space->vary[n], kept[n], { .file = "test" } };
    }
  return n;
}

START_TEST (test_nothing_better_is_cut)
{
  const Space             *space = &spaces[_i];
  const char              *kept[MAX_VARY][8];
  SearchVary               vary[MAX_VARY];
  guint                    n_vary = take_values (space, vary, kept), n_points;
  g_autoptr (Scenario)     scenario = load (space->keys);
  PredictOptions           options = shared_options ();
  const SearchOptions      wanted = { .n_threads = 2, .max_simulated = 10000, .effort = 1e6 };
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GError)       error = NULL;
  g_autoptr (SearchResult) result =
      search_run (scenario, NULL, vary, n_vary, TRUE, &wanted, &options, diags, &error);
  double best = simulate_all (scenario, vary, n_vary, &options, &n_points);

  ck_assert_msg (result != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_gt (result->found->len, 0);
  ck_assert_uint_eq (result->n_open, 0);
  ck_assert_double_eq (
      ((SearchFound *) g_ptr_array_index (result->found, 0))->prediction->step_time_s, best);
  for (guint i = 0; i < result->found->len; i++)
    {
      const SearchFound *found = g_ptr_array_index (result->found, i);

      ck_assert_msg (found->bound <= found->prediction->step_time_s,
                     "%s: the bound of %g s is above the simulated %g s", found->label,
                     found->bound, found->prediction->step_time_s);
    }
  g_printerr ("space %d: %u points, %u simulated, best %g s, bound %.3f of it\n", _i, n_points,
              result->n_simulated, best,
              ((SearchFound *) g_ptr_array_index (result->found, 0))->bound / best);
  input_files_free (options.files);
}
END_TEST

/* ---- constraints ----------------------------------------------------------------------------- */

static const char *const plain[] = { LLAMA,
                                     "cluster.name",
                                     "1 x dgx-h100",
                                     "strategy.name",
                                     "fsdp2",
                                     "mesh.tp",
                                     "2",
                                     "mesh.cp",
                                     "1",
                                     "mesh.pp",
                                     "1",
                                     NULL };

static SearchResult *
run_keys (const char *const *keys, const SearchOptions *wanted, guint n_threads)
{
  g_autoptr (Scenario) scenario = load (keys);
  PredictOptions       options = shared_options ();
  SearchOptions        with = *wanted;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  SearchResult        *result;

  with.n_threads = n_threads;
  result = search_run (scenario, NULL, NULL, 0, FALSE, &with, &options, diags, &error);
  ck_assert_msg (result != NULL, "%s", diag_list_first_message (diags));
  input_files_free (options.files);
  return result;
}

static SearchResult *
run_plain (const SearchOptions *wanted, guint n_threads)
{
  return run_keys (plain, wanted, n_threads);
}

START_TEST (test_what_is_set_stays)
{
  const SearchOptions      wanted = { .refine = TRUE };
  g_autoptr (SearchResult) result = run_plain (&wanted, 2);

  for (guint i = 0; i < result->found->len; i++)
    {
      const SearchFound *found = g_ptr_array_index (result->found, i);

      ck_assert_str_eq (found->scenario->strategy->strategy->name, "fsdp2");
      ck_assert_int_eq (found->scenario->mesh.tp, 2);
      ck_assert_double_eq_tol (found->prediction->samples_per_s * found->prediction->step_time_s,
                               64, 1e-6);
    }
}
END_TEST

/*
 * Tensor ranks of a model with experts, nothing else open: 1, and of each of 2, 4 and 8 without and
 * with sequence parallelism, and with experts that they do not divide: 10. Who sets etp has 7.
 */
START_TEST (test_experts_fold)
{
  for (guint set = 0; set < 2; set++)
    {
      const char *const        keys[] = { LLAMA,
                                          "cluster.name",
                                          "2 x dgx-a100",
                                          "model.n_experts",
                                          "8",
                                          "model.n_experts_per_token",
                                          "2",
                                          "strategy.name",
                                          "zero1",
                                          "mesh.cp",
                                          "1",
                                          "mesh.pp",
                                          "1",
                                          "mesh.ep",
                                          "8",
                                          "training.micro_batch",
                                          "1",
                                          "training.activation_checkpointing",
                                          "none",
                                   set == 1 ? "mesh.etp" : NULL,
                                          "1",
                                          NULL };
      const SearchOptions      wanted = { .refine = FALSE };
      g_autoptr (SearchResult) result = run_keys (keys, &wanted, 2);

      ck_assert_uint_eq (result->n_structures, set == 1 ? 7 : 10);
    }
}
END_TEST

START_TEST (test_threads_change_nothing)
{
  const SearchOptions      wanted = { .refine = TRUE };
  g_autoptr (SearchResult) one = run_plain (&wanted, 1), two = run_plain (&wanted, 2);

  ck_assert_uint_eq (one->found->len, two->found->len);
  ck_assert_uint_eq (one->n_simulated, two->n_simulated);
  for (guint i = 0; i < one->found->len; i++)
    {
      const SearchFound *a = g_ptr_array_index (one->found, i);
      const SearchFound *b = g_ptr_array_index (two->found, i);

      ck_assert_str_eq (a->options, b->options);
      ck_assert_double_eq (a->prediction->step_time_s, b->prediction->step_time_s);
    }
}
END_TEST

/* A limit below what the best takes gives another best, under it; one below all gives none. */
START_TEST (test_memory_is_kept)
{
  const SearchOptions      open = { 0 };
  g_autoptr (SearchResult) free_one = run_plain (&open, 2), tight = NULL, none = NULL;
  const Prediction   *best = ((SearchFound *) g_ptr_array_index (free_one->found, 0))->prediction;
  const SearchOptions half = { .max_hbm = (double) best->hbm.device * 0.9 };
  const SearchOptions little = { .max_hbm = 0.5 * GIB };

  tight = run_plain (&half, 2);
  ck_assert_uint_gt (tight->found->len, 0);
  for (guint i = 0; i < tight->found->len; i++)
    ck_assert_double_le (
        (double) ((SearchFound *) g_ptr_array_index (tight->found, i))->prediction->hbm.device,
        half.max_hbm);
  none = run_plain (&little, 2);
  ck_assert_uint_eq (none->found->len, 0);
  ck_assert_uint_gt (none->n_too_large + none->n_hopeless, 0);
}
END_TEST

/* Money: price x GPU-hours a token, by hand of the prediction. */
START_TEST (test_cost_is_gpu_hours)
{
  const SearchOptions      wanted = { .objective = SEARCH_COST, .price_per_gpu_hour = 2.5 };
  g_autoptr (SearchResult) result = run_plain (&wanted, 2);
  const SearchFound       *best = g_ptr_array_index (result->found, 0);

  ck_assert_double_eq_tol (best->money_per_million_tokens,
                           2.5 / 3600 * 8 / best->prediction->tokens_per_s * 1e6, 1e-12);
}
END_TEST

/* Of any two on the front one is faster and the other smaller. */
START_TEST (test_front)
{
  const SearchOptions      wanted = { .n_best = 50 };
  g_autoptr (SearchResult) result = run_plain (&wanted, 2);

  for (guint i = 0; i < result->found->len; i++)
    for (guint k = 0; k < result->found->len; k++)
      {
        const SearchFound *a = g_ptr_array_index (result->found, i);
        const SearchFound *b = g_ptr_array_index (result->found, k);

        if (i == k || !a->pareto)
          continue;
        ck_assert (b->prediction->tokens_per_s < a->prediction->tokens_per_s
                   || b->prediction->hbm.device > a->prediction->hbm.device
                   || (b->prediction->tokens_per_s == a->prediction->tokens_per_s
                       && b->prediction->hbm.device == a->prediction->hbm.device && i < k));
      }
}
END_TEST

START_TEST (test_bad_spaces)
{
  static const char *const odd[] = { LLAMA,
                                     "cluster.name",
                                     "1 x dgx-h100",
                                     "mesh.tp",
                                     "8",
                                     "mesh.pp",
                                     "1",
                                     "mesh.cp",
                                     "1",
                                     "training.micro_batch",
                                     "3",
                                     NULL };
  static const char *const one[] = { "1", NULL };
  const SearchVary         unknown = { "mesh.pq", one, { .file = "--vary" } };
  g_autoptr (Scenario)     scenario = load (plain), uneven = load (odd);
  PredictOptions           options = shared_options ();
  const SearchOptions      wanted = { .n_threads = 1 };
  g_autoptr (DiagList)     diags = diag_list_new (), others = diag_list_new ();
  g_autoptr (GError)       error = NULL;

  ck_assert_ptr_null (
      search_run (scenario, NULL, &unknown, 1, FALSE, &wanted, &options, diags, &error));
  ck_assert_str_eq (diag_list_first_message (diags), "there is no option 'mesh.pq'");
  ck_assert_ptr_null (search_run (uneven, NULL, NULL, 0, FALSE, &wanted, &options, others, &error));
  ck_assert_str_eq (diag_list_first_message (others),
                    "no mesh and micro-batch of the space divide the GPUs and the batch");
  input_files_free (options.files);
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("search");
  TCase   *tcase = tcase_create ("search");
  SRunner *runner = srunner_create (suite);
  int      n_failed;

  tcase_set_timeout (tcase, 600);
  tcase_add_loop_test (tcase, test_nothing_better_is_cut, 0, G_N_ELEMENTS (spaces));
  tcase_add_test (tcase, test_what_is_set_stays);
  tcase_add_test (tcase, test_experts_fold);
  tcase_add_test (tcase, test_threads_change_nothing);
  tcase_add_test (tcase, test_memory_is_kept);
  tcase_add_test (tcase, test_cost_is_gpu_hours);
  tcase_add_test (tcase, test_front);
  tcase_add_test (tcase, test_bad_spaces);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_ENV);
  n_failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return n_failed == 0 ? 0 : 1;
}
