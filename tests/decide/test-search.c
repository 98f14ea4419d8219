/*
 * The search: over three spaces the best is what simulating every configuration finds, and no
 * configuration beats its bound; what a scenario sets stays; constraints hold, and who meets none
 * says why; one thread and two find the same; however early it ends, what it left is no better than
 * it says. Not asserted: how many configurations are simulated.
 */
#include <check.h>

#include <string.h>

#include "../cases.h"
#include "../suite.h"
#include "base/config/option-needs.h"
#include "decide/explore/levers.h"
#include "decide/search/search.h"

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

/* When a search is stopped: times that its work asks whether it is. */
static const guint stops[] = { 1, 3, 40, 60, 80, 120, 200, 400, 1000 };

/*
 * A search that STOP or a budget of SIMULATED ends: it has found BEST, a step of all, or says that
 * something of no bound is left, or that something of a bound which is not above BEST.
 */
static void
check_left (const Scenario *scenario, const SearchVary *vary, guint n_vary, double best,
            guint most_asked, guint simulated)
{
  Stop                     stop = { .most_asked = (gint) most_asked };
  PredictOptions           options = shared_options ();
  const SearchOptions      wanted = { .n_threads = 1, .max_simulated = simulated, .effort = 1e6 };
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GError)       error = NULL;
  g_autoptr (SearchResult) result = NULL;
  const SearchFound       *found;

  options.replay.stop = &stop;
  result = search_run (scenario, NULL, vary, n_vary, TRUE, &wanted, &options, diags, &error);
  ck_assert_msg (result != NULL, "%s", diag_list_first_message (diags));
  found = result->found->len > 0 ? g_ptr_array_index (result->found, 0) : NULL;
  if (found != NULL && found->prediction->step_time_s == best)
    ck_assert (result->n_open == 0 || result->open_gain >= 1);
  else
    {
      ck_assert_msg (result->n_open > 0,
                     "%u asked, %u simulated: the best is not there, and nothing "
                     "is left",
                     most_asked, simulated);
      ck_assert_uint_le (result->n_unbounded, result->n_open);
    }
  if (found != NULL && found->prediction->step_time_s > best && result->n_unbounded == 0)
    ck_assert_msg (search_open_step (result) <= best, "%u asked: left is %g s at least, and %g s",
                   most_asked, search_open_step (result), best);
  input_files_free (options.files);
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
  for (guint i = 0; i < G_N_ELEMENTS (stops); i++)
    check_left (scenario, vary, n_vary, best, stops[i], 10000);
  for (guint n = 1; n < 20; n += 6)
    check_left (scenario, vary, n_vary, best, 0, n);
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

/* ---- what is free ---------------------------------------------------------------------------- */

/* Of the Hopper's kernels the fastest run unasked, and what is set stays. */
START_TEST (test_kernels_are_settled)
{
  static const char *const keys[] = { "model.config",
                                      "llama-3-8b",
                                      "training.seq_len",
                                      "8192",
                                      "training.global_batch",
                                      "64",
                                      "cluster.name",
                                      "1 x dgx-h100",
                                      "strategy.name",
                                      "fsdp2",
                                      "mesh.tp",
                                      "1",
                                      "mesh.cp",
                                      "1",
                                      "mesh.pp",
                                      "1",
                                      "training.micro_batch",
                                      "1",
                                      "training.activation_checkpointing",
                                      "full",
                                      NULL,
                                      NULL,
                                      NULL };
  const SearchOptions      wanted = { .refine = FALSE };
  const char              *eager[G_N_ELEMENTS (keys)];
  g_autoptr (SearchResult) result = run_keys (keys, &wanted, 2), held = NULL;
  const SearchFound       *found = g_ptr_array_index (result->found, 0), *other;

  memcpy (eager, keys, sizeof keys);
  eager[G_N_ELEMENTS (keys) - 3] = "training.compile";
  eager[G_N_ELEMENTS (keys) - 2] = "false";
  held = run_keys (eager, &wanted, 2);
  other = g_ptr_array_index (held->found, 0);
  ck_assert (found->scenario->training.compile && !other->scenario->training.compile);
  ck_assert_int_ge (training_flash_version (&found->scenario->training), FLASH_3);
  ck_assert_int_ge (training_flash_version (&other->scenario->training), FLASH_3);
  ck_assert_double_lt (found->prediction->step_time_s, other->prediction->step_time_s);
  ck_assert_msg (strstr (found->options, "--compile=true") != NULL, "%s", found->options);
  ck_assert_msg (strstr (found->label, "compile") == NULL, "%s", found->label);
}
END_TEST

/* What a search tries around the best, on a mesh where all of it has an effect. */
START_TEST (test_free_moves)
{
  static const char *const tried[] = { "training.compile=true",
                                       "training.attention=cudnn",
                                       "training.fused_norm=true",
                                       "training.optimizer=adamw-fused",
                                       "training.loss=fused",
                                       "training.loss=chunked",
                                       "mesh.async_tp=true",
                                       "mesh.dispatch=two-level",
                                       "mesh.etp=1",
                                       "mesh.moe_overlap=true" };
  static const char *const not_tried[] = { "training.loss=16-bit", "mesh.dispatch_dtype=fp8",
                                           "collective.algorithm=tree" };
  static const char *const keys[] = { LLAMA,
                                      "cluster.name",
                                      "2 x dgx-h100",
                                      "model.n_experts",
                                      "16",
                                      "model.n_experts_per_token",
                                      "2",
                                      "strategy.name",
                                      "zero1",
                                      "mesh.tp",
                                      "2",
                                      "mesh.sp",
                                      "1",
                                      "mesh.ep",
                                      "16",
                                      NULL };
  g_autoptr (Scenario)     scenario = load (keys);
  g_autoptr (GArray)       moves = lever_moves (scenario, NULL, 16, LEVER_FREE);
  g_autoptr (GString)      all = g_string_new ("\n");

  for (guint i = 0; i < moves->len; i++)
    g_string_append_printf (all, "%s=%s\n", g_array_index (moves, Move, i).key,
                            g_array_index (moves, Move, i).value);
  for (guint i = 0; i < G_N_ELEMENTS (tried); i++)
    ck_assert_msg (strstr (all->str, tried[i]) != NULL, "%s is not in %s", tried[i], all->str);
  for (guint i = 0; i < G_N_ELEMENTS (not_tried); i++)
    ck_assert_msg (strstr (all->str, not_tried[i]) == NULL, "%s is in %s", not_tried[i], all->str);
}
END_TEST

/* What an option needs its table alone tells, and a lever nothing of it again. */
START_TEST (test_levers_need_what_options_need)
{
  const char *const stages[] = {
    LLAMA, "cluster.name", "2 x dgx-h100", "strategy.name", "zero1", "mesh.pp", "2", NULL
  };
  g_autoptr (Scenario) scenario = load (stages);
  g_autoptr (GArray)   moves = lever_moves (scenario, NULL, 16, LEVER_FREE);
  const MeshOptions    alone = { .tp = 1, .cp = 1, .ep = 1, .pp = 1 };
  const OptionScope    scope = { .table = mesh_options, .options = &alone };
  guint                n = 0;

  for (guint i = 0; i < moves->len; i++) /* without 'tp', too, there is nothing to scatter */
    ck_assert_str_ne (g_array_index (moves, Move, i).key, "mesh.scatter_gather");
  for (const Lever *lever = levers; lever->section != NULL; lever++)
    if (lever->values_need != NULL)
      {
        ck_assert_ptr_null (option_short_of (&scope, option_table_find (mesh_options, lever->key)));
        n++;
      }
  ck_assert_uint_gt (n, 0);
}
END_TEST

static gboolean has_move (const GArray *moves, const ScenarioOverride *option,
                          const ScenarioOverride *also);

/*
 * What advice and remedies make of 8 context ranks: each other kind, and 2 or 4 that divide heads
 * inside of rings, never all or one; where there are 2, it is 4.
 */
START_TEST (test_context_moves)
{
  static const char *const rings[] = {
    LLAMA, "cluster.name", "1 x dgx-h100", "strategy.name", "zero1", "mesh.cp", "8", NULL
  };
  static const char *const both[] = {
    LLAMA, "cluster.name", "1 x dgx-h100", "strategy.name", "zero1", "mesh.cp",
    "8",   "mesh.context", "usp",          "mesh.ulysses",  "2",     NULL
  };
  const ScenarioOverride usp = { "mesh.context", "usp", "test" };
  const ScenarioOverride ulysses = { "mesh.context", "ulysses", "test" };
  const ScenarioOverride by[] = { { "mesh.ulysses", "1", "test" },
                                  { "mesh.ulysses", "2", "test" },
                                  { "mesh.ulysses", "4", "test" },
                                  { "mesh.ulysses", "8", "test" } };
  g_autoptr (Scenario)   scenario = load (rings), inner = load (both);
  g_autoptr (GArray)     moves = lever_moves (scenario, NULL, 8, LEVER_ADVICE);
  g_autoptr (GArray)     others = lever_moves (inner, NULL, 8, LEVER_ADVICE);

  ck_assert (has_move (moves, &ulysses, NULL) && !has_move (moves, &usp, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (by); i++)
    {
      ck_assert_int_eq (has_move (moves, &usp, &by[i]), i == 1 || i == 2);
      ck_assert_int_eq (has_move (others, &by[i], NULL), i == 2);
    }
}
END_TEST

/* Two nodes, experts and stages: every axis has choices, every strategy variants. */
static SearchSpace *
open_space (const Scenario *scenario)
{
  const SearchRoom     room = { 16, 8, 8, 16 };
  g_autoptr (DiagList) diags = diag_list_new ();
  SearchSpace         *space = search_space_new (scenario, NULL, &room, NULL, 0, FALSE, diags);

  ck_assert_ptr_nonnull (space);
  return space;
}

static gboolean
has_move (const GArray *moves, const ScenarioOverride *option, const ScenarioOverride *also)
{
  for (guint i = 0; i < moves->len; i++)
    {
      const Move *move = &g_array_index (moves, Move, i);

      if (g_str_equal (move->key, option->key)
          && (option->value == NULL || g_str_equal (move->value, option->value))
          && g_strcmp0 (also != NULL ? also->key : NULL, move->also_key) == 0
          && g_strcmp0 (also != NULL ? also->value : NULL, move->also_value) == 0)
        return TRUE;
    }
  return FALSE;
}

/* Whether a choice of SPACE sets KEY. */
static gboolean
is_in_space (const SearchSpace *space, const char *key)
{
  for (guint a = 0; a < space->axes->len; a++)
    {
      const SearchAxis *axis = g_ptr_array_index (space->axes, a);

      for (guint c = 0; c < axis->choices->len; c++)
        {
          const GArray *options = ((SearchChoice *) g_ptr_array_index (axis->choices, c))->options;

          for (guint i = 0; i < options->len; i++)
            if (g_str_equal (g_array_index (options, ScenarioOverride, i).key, key))
              return TRUE;
        }
    }
  return FALSE;
}

#define EXPERTS \
  LLAMA, "cluster.name", "2 x dgx-h100", "model.n_experts", "16", "model.n_experts_per_token", "2"

/*
 * The table of levers is the space: each of its axes sets something there (that nothing else is set
 * is asserted where it is), and remedies move it, at once or with what it needs.
 */
START_TEST (test_axes_are_levers)
{
  static const char *const open[] = { EXPERTS, NULL };
  static const char *const keys[] = { EXPERTS, "strategy.name", "ddp", "mesh.tp",
                                      "2",     "mesh.sp",       "1",   NULL };
  g_autoptr (Scenario)     scenario = load (open), set = load (keys);
  g_autoptr (SearchSpace)  space = open_space (scenario);
  g_autoptr (GArray)       moves = lever_moves (set, NULL, 16, LEVER_REMEDY);
  guint                    n = 0;

  for (const Lever *lever = levers; lever->section != NULL; lever++)
    if ((lever->uses & LEVER_AXIS) != 0)
      {
        g_autofree char *key = g_strdup_printf ("%s.%s", lever->section, lever->key);
        gboolean         moved = g_str_equal (key, "training.micro_batch"); /* it is 1: the least */

        ck_assert_msg (is_in_space (space, key), "no axis sets '%s'", key);
        for (guint i = 0; i < moves->len; i++)
          moved |= g_str_equal (g_array_index (moves, Move, i).key, key);
        ck_assert_msg (moved, "no remedy moves '%s'", key);
        n++;
      }
  ck_assert_uint_gt (n, 6);
}
END_TEST

/* What a search tries around the best, and each of its variants, is tried by remedies. */
START_TEST (test_remedies_try_it)
{
  static const char *const open[] = { EXPERTS, NULL };
  static const char *const keys[] = {
    EXPERTS, "strategy.name", "ddp", "mesh.tp", "2", "mesh.sp", "1", "mesh.pp",
    "2",     "mesh.cp",       "2",   "mesh.ep", "2", NULL
  };
  g_autoptr (Scenario)    scenario = load (open), set = load (keys);
  g_autoptr (SearchSpace) space = open_space (scenario);
  g_autoptr (GArray)      moves = lever_moves (set, NULL, 16, LEVER_REMEDY);
  g_autoptr (GArray)      tried = lever_moves (set, NULL, 16, LEVER_FREE | LEVER_KERNELS);
  guint                   n = 0;

  ck_assert_uint_gt (tried->len, 10);
  for (guint i = 0; i < tried->len; i++)
    {
      const Move            *move = &g_array_index (tried, Move, i);
      const ScenarioOverride option = { move->key, move->value, "test" };

      ck_assert_msg (has_move (moves, &option, NULL), "no remedy tries %s=%s", move->key,
                     move->value);
    }
  for (guint v = 0; v < space->variants->len; v++)
    {
      const GArray *options = ((SearchVariant *) g_ptr_array_index (space->variants, v))->options;
      const ScenarioOverride *name = &g_array_index (options, ScenarioOverride, 0);
      const ScenarioOverride *own = options->len > 1 ? name + 1 : NULL;

      /* fewer ranks to shard over take no less memory; ddp's own are moves of their own */
      if (g_str_equal (name->value, "ddp")
          || (own != NULL && g_str_has_suffix (own->key, ".shard")))
        continue;
      ck_assert_msg (has_move (moves, name, own), "no remedy tries %s %s=%s", name->value,
                     own != NULL ? own->key : "", own != NULL ? own->value : "");
      n++;
    }
  ck_assert_uint_gt (n, 60);
}
END_TEST

/* ---- kinds of context ranks ------------------------------------------------------------------ */

/* Nothing is open but how context ranks meet: CP of them of HEADS heads, KV of keys. */
static SearchResult *
run_contexts (const char *cluster, const char *cp, const char *heads, const char *kv,
              const char *width, const char *seq, SearchRunners runners)
{
  const char *const        keys[] = { "model.arch",
                                      "llama",
                                      "model.n_layers",
                                      "2",
                                      "model.d_model",
                                      width,
                                      "model.n_heads",
                                      heads,
                                      "model.n_kv_heads",
                                      kv,
                                      "model.d_ff",
                                      "8192",
                                      "model.vocab",
                                      "32000",
                                      "training.seq_len",
                                      seq,
                                      "training.attention",
                                      "flash2",
                                      "cluster.name",
                                      cluster,
                                      "mesh.cp",
                                      cp,
                                      NULL };
  ScenarioOverride         list[G_N_ELEMENTS (keys) / 2 + 8];
  const SearchVary         one = { .key = "strategy.name",
                                   .values = (const char *const[]){ "zero1", NULL } };
  const SearchOptions      wanted = { .n_threads = 2, .runners = runners };
  static const char *const fixed[][2] = { { "mesh.tp", "1" },
                                          { "mesh.pp", "1" },
                                          { "training.micro_batch", "1" },
                                          { "training.global_batch", "2" },
                                          { "training.compile", "false" },
                                          { "training.fused_norm", "false" },
                                          { "training.activation_checkpointing", "none" } };
  PredictOptions           options = shared_options ();
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GError)       error = NULL;
  g_autoptr (GPtrArray)    all = NULL;
  SearchResult            *result;
  guint                    n = 0;

  for (guint i = 0; keys[i] != NULL; i += 2)
    list[n++] = (ScenarioOverride){ keys[i], keys[i + 1], "test" };
  for (guint i = 0; i < G_N_ELEMENTS (fixed); i++)
    list[n++] = (ScenarioOverride){ fixed[i][0], fixed[i][1], "test" };
  all = scenario_load_open (NULL, NULL, list, n, diags);
  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  result = search_run (g_ptr_array_index (all, 0), NULL, &one, 1, FALSE, &wanted, &options, diags,
                       &error);
  ck_assert_msg (result != NULL, "%s", diag_list_first_message (diags));
  input_files_free (options.files);
  return result;
}

/* Whether a configuration of KIND was found, with BY ranks that divide heads (usp). */
static gboolean
has_context (const SearchResult *result, ContextKind kind, gint64 by)
{
  for (guint i = 0; i < result->found->len; i++)
    {
      const MeshOptions *mesh =
          &((SearchFound *) g_ptr_array_index (result->found, i))->scenario->mesh;

      if ((ContextKind) mesh->context == kind && (kind != CONTEXT_USP || mesh->ulysses == by))
        return TRUE;
    }
  return FALSE;
}

static ContextKind
best_context (const SearchResult *result)
{
  return (ContextKind) ((SearchFound *) g_ptr_array_index (result->found, 0))
      ->scenario->mesh.context;
}

/*
 * 8 ranks of a node whose GPUs meet over PCIe, 8192 tokens, as many heads of keys as of queries.
 * Forward and a layer a ring's rank sends 7 blocks of 1024 tokens of keys and values, 7 x 2 x 1024
 * x 4096 x 2 bytes = 117 MB; under ulysses 7/8 of four tensors of 1024 tokens, 29 MB, a fourth. A
 * step of the ring computes 4 x 1024^2 x 4096 / 2 = 8.6 GFLOP, 0.1 ms on an A40, and moves 16.8 MB,
 * 0.7 ms at PCIe's 24 GB/s: nothing hides the difference.
 */
START_TEST (test_all_to_alls_win)
{
  g_autoptr (SearchResult) result =
      run_contexts ("1 x a40x8-nvlink-pairs", "8", "32", "32", "4096", "8192", NULL);

  ck_assert_uint_eq (result->n_structures, 2);
  ck_assert_int_eq (best_context (result), CONTEXT_ULYSSES);
  ck_assert (has_context (result, CONTEXT_RING, 1));
  ck_assert_msg (
      strstr (((SearchFound *) g_ptr_array_index (result->found, 0))->label, "context=ulysses"),
      "%s", ((SearchFound *) g_ptr_array_index (result->found, 0))->label);
}
END_TEST

/*
 * The same of 32768 tokens and 2 heads of keys. A ring's block is 4096 tokens x 2 x 256 x 2 bytes =
 * 4.2 MB, 0.17 ms at 24 GB/s, behind 137 GFLOP of attention, above 1 ms: it is hidden. Under
 * ulysses each of 8 ranks has a head of keys, so that 2 travel as 8: 7/8 of 4096 tokens x (32 + 8 +
 * 8 + 32) heads x 256 bytes = 73 MB a layer, 3 ms that nothing hides.
 */
START_TEST (test_rings_win)
{
  g_autoptr (SearchResult) result =
      run_contexts ("1 x a40x8-nvlink-pairs", "8", "32", "2", "4096", "32768", NULL);

  ck_assert_uint_eq (result->n_structures, 2);
  ck_assert_int_eq (best_context (result), CONTEXT_RING);
  ck_assert (has_context (result, CONTEXT_ULYSSES, 1));
}
END_TEST

/*
 * 40 heads, 10 of keys (Phi-3-medium), 4 ranks: they divide 40, but neither 10 nor are they a
 * multiple of it. Two of them do, in a ring of two pairs. What is refused counts and is named.
 */
START_TEST (test_heads_forbid)
{
  g_autoptr (SearchResult) result =
      run_contexts ("1 x dgx-h100", "4", "40", "10", "5120", "8192", NULL);
  guint64 named = 0;

  ck_assert_uint_eq (result->n_structures, 3);
  ck_assert (!has_context (result, CONTEXT_ULYSSES, 1));
  ck_assert (has_context (result, CONTEXT_RING, 1) && has_context (result, CONTEXT_USP, 2));
  ck_assert_uint_eq (result->n_refused, 1);
  for (guint i = 0; i < result->drops->len; i++)
    if (strstr (g_array_index (result->drops, SearchDrop, i).reason, "divide the heads") != NULL)
      named += g_array_index (result->drops, SearchDrop, i).n;
  ck_assert_uint_eq (named, 1);
}
END_TEST

/*
 * 16 ranks of two nodes of 8: a ring, all-to-alls over all, and rings over the nodes of all-to-alls
 * inside: not of 2 or 4 ranks, which leave rings 1/2 - 1/16 = 7 and 3 times the 1/8 - 1/16.
 */
START_TEST (test_all_to_alls_stay_in_nodes)
{
  g_autoptr (SearchResult) result =
      run_contexts ("2 x dgx-h100", "16", "32", "8", "4096", "32768", NULL);

  ck_assert_uint_eq (result->n_structures, 3);
  ck_assert (has_context (result, CONTEXT_RING, 1) && has_context (result, CONTEXT_ULYSSES, 1)
             && has_context (result, CONTEXT_USP, 8));
}
END_TEST

static char *
run_rings (const Scenario *scenario, gpointer user)
{
  (void) user;
  return scenario->mesh.cp == 1 || scenario->mesh.context == CONTEXT_RING ? g_strdup ("somebody")
                                                                          : NULL;
}

static char *
run_all_to_alls (const Scenario *scenario, gpointer user)
{
  (void) user;
  return scenario->mesh.cp == 1 || scenario->mesh.context == CONTEXT_ULYSSES ? g_strdup ("somebody")
                                                                             : NULL;
}

static char *
run_nothing (const Scenario *scenario, gpointer user)
{
  (void) scenario;
  (void) user;
  return NULL;
}

/* A kind that no framework runs is not tried, unless none runs the strategy on any mesh. */
static const struct
{
  SearchRunners runners;
  gboolean      ring, ulysses;
} run_kinds[] = { { run_rings, TRUE, FALSE },
                  { run_all_to_alls, FALSE, TRUE },
                  { run_nothing, TRUE, TRUE } };

START_TEST (test_frameworks_refuse)
{
  g_autoptr (SearchResult) result =
      run_contexts ("1 x dgx-h100", "8", "32", "32", "4096", "8192", run_kinds[_i].runners);

  ck_assert_int_eq (has_context (result, CONTEXT_RING, 1), run_kinds[_i].ring);
  ck_assert_int_eq (has_context (result, CONTEXT_ULYSSES, 1), run_kinds[_i].ulysses);
  ck_assert_uint_eq (result->n_simulated, run_kinds[_i].ring + run_kinds[_i].ulysses);
}
END_TEST

/*
 * Context ranks open on 8 GPUs: none, and a ring and all-to-alls of 2, 4 and 8. Who sets the kind
 * has 4, and who names the numbers to try has their kinds, too.
 */
START_TEST (test_kinds_of_each_number)
{
  static const char *const keys[] = { LLAMA,
                                      "cluster.name",
                                      "1 x dgx-h100",
                                      "strategy.name",
                                      "zero1",
                                      "mesh.tp",
                                      "1",
                                      "mesh.pp",
                                      "1",
                                      "training.micro_batch",
                                      "1",
                                      "training.activation_checkpointing",
                                      "none",
                                      NULL,
                                      "ulysses",
                                      NULL };
  static const char *const two[] = { "1", "2", NULL };
  const char              *set[G_N_ELEMENTS (keys)];
  const SearchOptions      wanted = { .n_threads = 2 };
  const SearchVary         vary = { "mesh.cp", two, { .file = "test" } };
  PredictOptions           options = shared_options ();
  g_autoptr (Scenario)     scenario = load (keys);
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GError)       error = NULL;
  g_autoptr (SearchResult) open = run_keys (keys, &wanted, 2), held = NULL;
  g_autoptr (SearchResult) varied =
      search_run (scenario, NULL, &vary, 1, FALSE, &wanted, &options, diags, &error);

  memcpy (set, keys, sizeof keys);
  set[G_N_ELEMENTS (keys) - 3] = "mesh.context";
  held = run_keys (set, &wanted, 2);
  ck_assert_uint_eq (open->n_structures, 7);
  ck_assert_uint_eq (held->n_structures, 4);
  ck_assert_uint_eq (varied->n_structures, 3);
  input_files_free (options.files);
}
END_TEST

/* ---- the answer ------------------------------------------------------------------------------ */

/* Somebody runs no context ranks, and nobody FSDP1. */
static char *
run_by (const Scenario *scenario, gpointer user)
{
  (void) user;
  return scenario->mesh.cp > 1 || g_str_equal (scenario->strategy->strategy->name, "fsdp1")
             ? NULL
             : g_strdup ("somebody");
}

/* Ten thousands a kind of parallelism, one a rank of a replica: less is simpler. */
static guint
complexity_by_hand (const Scenario *scenario)
{
  const MeshOptions *mesh = &scenario->mesh;

  return 10000u * (guint) ((mesh->tp > 1) + (mesh->cp > 1) + (mesh->pp > 1))
         + (guint) (mesh->tp * mesh->cp * mesh->pp);
}

/*
 * How much slower than the fastest is as good. Two nodes on a slow network: a pipeline stage on
 * each sends activations there, not parameters and gradients, and is more than a tenth faster than
 * the simplest, which is less than twice as slow.
 */
static const double withins[] = { 0.1, 1 };

/*
 * Over every point of a space: of what is as good as the fastest, and is run, none is simpler than
 * the answer, and of equals none is faster.
 */
START_TEST (test_answer)
{
  const double             within = withins[_i];
  static const char *const names[] = { "fsdp1", "fsdp2", "zero3", NULL };
  static const char *const ranks[] = { "1", "2", "4", NULL }, *const two[] = { "1", "2", NULL };
  static const char *const keys[] = { LLAMA,          "training.seq_len",       "4096",
                                      "cluster.name", "2 x a40x8-nvlink-pairs", NULL };
  const SearchVary         vary[] = { { "strategy.name", names, { .file = "test" } },
                                      { "mesh.tp", ranks, { .file = "test" } },
                                      { "mesh.cp", two, { .file = "test" } },
                                      { "mesh.pp", two, { .file = "test" } } };
  const SearchOptions      wanted = {
         .n_threads = 2, .max_simulated = 10000, .effort = 1e6, .within = within, .runners = run_by
  };
  g_autoptr (Scenario)     scenario = load (keys);
  PredictOptions           options = shared_options ();
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GError)       error = NULL;
  g_autoptr (SearchResult) result = search_run (scenario, NULL, vary, G_N_ELEMENTS (vary), TRUE,
                                                &wanted, &options, diags, &error);
  const SearchFound       *answer, *fastest;
  guint                    n_as_good = 0;

  ck_assert_msg (result != NULL, "%s", diag_list_first_message (diags));
  answer = result->headline;
  fastest = g_ptr_array_index (result->found, 0);
  ck_assert_str_eq (answer->runs_on, "somebody");
  for (guint p = 0; p < 3 * 3 * 2 * 2; p++)
    {
      const ScenarioOverride list[] = { { "strategy.name", names[p % 3], "test" },
                                        { "mesh.tp", ranks[p / 3 % 3], "test" },
                                        { "mesh.cp", two[p / 9 % 2], "test" },
                                        { "mesh.pp", two[p / 18], "test" } };
      g_autoptr (DiagList)   own = diag_list_new ();
      g_autoptr (GError)     failed = NULL;
      g_autoptr (Scenario)   one = scenario_with (scenario, NULL, list, G_N_ELEMENTS (list), own);
      g_autoptr (Prediction) at = one != NULL ? predict (one, &options, own, &failed) : NULL;
      g_autofree char       *who = one != NULL ? run_by (one, NULL) : NULL;

      if (at == NULL || !at->fits || who == NULL
          || at->step_time_s > (1 + within) * fastest->prediction->step_time_s)
        continue;
      n_as_good++;
      ck_assert_uint_le (complexity_by_hand (answer->scenario), complexity_by_hand (one));
      if (complexity_by_hand (answer->scenario) == complexity_by_hand (one))
        ck_assert_double_le (answer->prediction->step_time_s, at->step_time_s);
    }
  ck_assert_uint_gt (n_as_good, _i);
  ck_assert_int_eq (answer->scenario->mesh.pp, _i == 0 ? 2 : 1);
  ck_assert_int_eq (fastest->scenario->mesh.pp, 2);
  input_files_free (options.files);
}
END_TEST

/* Nothing asked for: the fastest is the answer. */
START_TEST (test_answer_is_the_fastest)
{
  const SearchOptions      wanted = { .refine = TRUE };
  g_autoptr (SearchResult) result = run_plain (&wanted, 2);

  ck_assert_ptr_eq (result->headline, g_ptr_array_index (result->found, 0));
}
END_TEST

/* A part of each GPU's memory stays free. */
START_TEST (test_margin)
{
  const SearchOptions      open = { 0 };
  g_autoptr (SearchResult) all = run_plain (&open, 2), some = NULL;
  const Prediction        *best = ((SearchFound *) g_ptr_array_index (all->found, 0))->prediction;
  const double             room = (double) best->hbm.device * 0.9;
  const SearchOptions      margin = { .memory_margin = 1 - room / (double) best->hbm.capacity };

  some = run_plain (&margin, 2);
  ck_assert_uint_gt (some->found->len, 0);
  for (guint i = 0; i < some->found->len; i++)
    ck_assert_double_le (
        (double) ((SearchFound *) g_ptr_array_index (some->found, i))->prediction->hbm.device,
        room);
}
END_TEST

/* By hand: 97 of 100 bytes leave enough, 98 do not; nor does what was allocated at a second try. */
START_TEST (test_tight)
{
  Prediction p = { .fits = TRUE, .hbm = { .capacity = 100, .device = 97 } };

  ck_assert (!prediction_is_tight (&p));
  p.hbm.n_retries = 1;
  ck_assert (prediction_is_tight (&p));
  p.hbm.n_retries = 0;
  p.hbm.device = 98;
  ck_assert (prediction_is_tight (&p));
  p.fits = FALSE;
  ck_assert (!prediction_is_tight (&p));
}
END_TEST

/*
 * Before all of many structures have a bound there is a best one: a search that ends as soon as
 * something was found has no bound of most configurations.
 */
START_TEST (test_known_soon)
{
  static const char *const keys[] = { LLAMA,           "cluster.name", "4 x dgx-a100",
                                      "strategy.name", "fsdp2",        NULL };
  const SearchOptions      wanted = { .n_threads = 1 };
  g_autoptr (Scenario)     scenario = load (keys);

  for (guint asked = 64;; asked *= 2)
    {
      Stop                     stop = { .most_asked = (gint) asked };
      PredictOptions           options = shared_options ();
      g_autoptr (DiagList)     diags = diag_list_new ();
      g_autoptr (SearchResult) result = NULL;

      options.replay.stop = &stop;
      result = search_run (scenario, NULL, NULL, 0, FALSE, &wanted, &options, diags, NULL);
      input_files_free (options.files);
      ck_assert_msg (result != NULL, "%s", diag_list_first_message (diags));
      ck_assert (result->is_cut);
      if (result->headline != NULL)
        {
          ck_assert_uint_gt (result->n_unbounded, result->n_configurations / 2);
          break;
        }
    }
}
END_TEST

SUITE_MAIN (search)
{
  Suite *suite = suite_create ("search");
  TCase *tcase = tcase_create ("search");

  tcase_set_timeout (tcase, 600);
  tcase_add_loop_test (tcase, test_nothing_better_is_cut, 0, G_N_ELEMENTS (spaces));
  tcase_add_test (tcase, test_known_soon);
  tcase_add_test (tcase, test_what_is_set_stays);
  tcase_add_test (tcase, test_experts_fold);
  tcase_add_test (tcase, test_threads_change_nothing);
  tcase_add_test (tcase, test_memory_is_kept);
  tcase_add_test (tcase, test_cost_is_gpu_hours);
  tcase_add_test (tcase, test_front);
  tcase_add_test (tcase, test_bad_spaces);
  tcase_add_test (tcase, test_kernels_are_settled);
  tcase_add_test (tcase, test_free_moves);
  tcase_add_test (tcase, test_levers_need_what_options_need);
  tcase_add_test (tcase, test_context_moves);
  tcase_add_test (tcase, test_all_to_alls_win);
  tcase_add_test (tcase, test_rings_win);
  tcase_add_test (tcase, test_heads_forbid);
  tcase_add_test (tcase, test_all_to_alls_stay_in_nodes);
  tcase_add_loop_test (tcase, test_frameworks_refuse, 0, G_N_ELEMENTS (run_kinds));
  tcase_add_test (tcase, test_kinds_of_each_number);
  tcase_add_test (tcase, test_axes_are_levers);
  tcase_add_test (tcase, test_remedies_try_it);
  tcase_add_loop_test (tcase, test_answer, 0, G_N_ELEMENTS (withins));
  tcase_add_test (tcase, test_answer_is_the_fastest);
  tcase_add_test (tcase, test_margin);
  tcase_add_test (tcase, test_tight);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
