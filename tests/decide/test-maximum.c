/*
 * The largest value that fits: of a state worked by hand; of others the value fits and the next
 * does not, as a prediction of each one by one says. Also: what ends the search is said, and a
 * value that the plan alone takes to fit does not count; warnings are of what is reported. Not
 * asserted: how many values are tried.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "base/intern.h"
#include "decide/explore/maximum.h"

#define MAX_KEYS 40

/* On the hand-made hardware, whose GPU has 10 GB. */
static const char *const small[] = {
  "cluster.node",
  "hand-pair",
  "cluster.nodes",
  "1",
  "model.arch",
  "llama",
  "model.n_layers",
  "2",
  "model.d_model",
  "200",
  "model.n_heads",
  "2",
  "model.d_ff",
  "400",
  "model.vocab",
  "500",
  "training.seq_len",
  "100",
  "memory.allocator",
  "ideal",
  NULL,
};

static guint
add_keys (ScenarioOverride *list, guint n, const char *const *keys)
{
  for (; *keys != NULL; keys += 2)
    {
      ck_assert_uint_lt (n, MAX_KEYS);
      list[n++] = (ScenarioOverride){ keys[0], keys[1], "test" };
    }
  return n;
}

static Scenario *
load (const char *const *keys)
{
  ScenarioOverride      list[MAX_KEYS];
  g_autoptr (DiagList)  diags = diag_list_new ();
  guint                 n = add_keys (list, add_keys (list, 0, small), keys);
  g_autoptr (GPtrArray) all = scenario_load (NULL, NULL, list, n, diags);

  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  return scenario_copy (g_ptr_array_index (all, 0));
}

static PredictOptions
predict_options (void)
{
  g_autofree char *folder =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "worked", "hwprofiles", NULL);

  return (PredictOptions){ .profile_dir = intern_text (folder) };
}

static Maximum *
find (const Scenario *scenario, const char *key, DiagList *diags)
{
  PredictOptions     options = predict_options ();
  g_autoptr (GError) error = NULL;

  return maximum_find (scenario, NULL, maximum_find_key (key, diags), &options, diags, &error);
}

/* Whether SCENARIO with VALUE of KEY fits, by itself. */
static gboolean
fits_with (const Scenario *scenario, const Lever *key, gint64 value)
{
  PredictOptions         options = predict_options ();
  g_autofree char       *name = g_strdup_printf ("%s.%s", key->section, key->key);
  g_autofree char       *text = g_strdup_printf ("%" G_GINT64_FORMAT, value);
  const ScenarioOverride override = { name, text, "test" };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GError)     error = NULL;
  g_autoptr (Scenario)   with = scenario_with (scenario, NULL, &override, 1, diags);
  g_autoptr (Prediction) prediction = NULL;

  ck_assert_ptr_nonnull (with);
  prediction = predict (with, &options, diags, &error);
  ck_assert_ptr_nonnull (prediction);
  return prediction->fits;
}

/*
 * fsdp2 with its states on the host: 16 bytes a parameter in the node's 100 MB are 6.25 million
 * parameters. A block has 4 x 200^2 + 3 x 200 x 400 + 2 x 200 = 400 400; table, head and norm have
 * 2 x 500 x 200 + 200 = 200 200: 15 blocks and a tenth.
 */
START_TEST (test_by_hand)
{
  static const char *const keys[] = {
    "strategy.name", "fsdp2", "strategy.cpu_offload", "true", "cluster.dram_bytes", "100 MB", NULL
  };
  g_autoptr (Scenario) scenario = load (keys);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Maximum)  maximum = find (scenario, "n_layers", diags);

  ck_assert_ptr_nonnull (maximum);
  ck_assert_int_eq (maximum->value, 15);
  ck_assert_int_eq (maximum->next, 16);
  ck_assert (maximum->prediction->fits);
  ck_assert (!maximum->beyond->host.fits);
  ck_assert (maximum->beyond->hbm.fits);
  ck_assert_uint_eq (maximum->beyond->host.excess, 16 * (200200 + 16 * 400400) - 100000000);
  ck_assert_ptr_null (maximum->bound);
}
END_TEST

#define STEPS      4
#define MISPLANNED 5

static const struct
{
  const char *key;
  const char *keys[MAX_KEYS];
} cases[] = {
  { "micro_batch", { "strategy.name", "zero2", "training.seq_len", "20001", NULL } },
  { "seq_len", { "strategy.name", "fsdp1", "training.micro_batch", "16", NULL } },
  { "n_layers", { "strategy.name", "ddp", "model.d_model", "2000", "model.d_ff", "4000", NULL } },
  /* stages: values begin at a block each */
  { "n_layers",
    { "strategy.name", "zero1", "mesh.pp", "2", "training.grad_accum", "8", "model.d_model", "2000",
      "model.d_ff", "4000", NULL } },
  /* sequences that two context ranks and two tensor ranks divide: steps of eight */
  { "seq_len",
    { "strategy.name", "fsdp2", "cluster.nodes", "2", "mesh.cp", "2", "mesh.tp", "2", "mesh.sp",
      "1", "training.micro_batch", "16", NULL } },
  /* The plan does not see that blocks wait for another stream: what it says fits does not. */
  { "micro_batch",
    { "strategy.name", "fsdp1", "strategy.limit_all_gathers", "true", "memory.allocator", "caching",
      "model.n_layers", "3", "model.d_model", "4000", "model.d_ff", "8000", "model.vocab", "5000",
      "training.seq_len", "500", NULL } },
};

START_TEST (test_next_does_not_fit)
{
  g_autoptr (Scenario) scenario = load (cases[_i].keys);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Maximum)  maximum = find (scenario, cases[_i].key, diags);

  ck_assert_msg (maximum != NULL, "%s", diag_list_first_message (diags));
  ck_assert_int_gt (maximum->value, 0);
  ck_assert_int_eq (maximum->next, maximum->value + maximum->step);
  ck_assert (fits_with (scenario, maximum->key, maximum->value));
  ck_assert (!fits_with (scenario, maximum->key, maximum->next));
  ck_assert (maximum->prediction->fits && !maximum->beyond->fits);
  ck_assert_int_eq (maximum->step, _i == STEPS ? 8 : 1);
  if (_i == MISPLANNED)
    ck_assert_uint_gt (maximum->n_simulated, 2);
}
END_TEST

/* A table of 300 learned rows; as many micro-batches as are tried; nothing; no number. */
START_TEST (test_bounds)
{
  static const char *const learned[] = {
    "strategy.name",       "ddp", "model.arch", "gpt", "model.n_heads", "2",
    "model.max_positions", "300", NULL
  };
  static const char *const tiny[] = { "strategy.name",
                                      "ddp",
                                      "training.seq_len",
                                      "1",
                                      "model.d_model",
                                      "2",
                                      "model.vocab",
                                      "2",
                                      "model.d_ff",
                                      "2",
                                      "model.n_layers",
                                      "1",
                                      NULL };
  static const char *const huge[] = { "strategy.name", "ddp", "model.d_model", "20000", NULL };
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (Scenario)     positions = load (learned), least = load (tiny), most = load (huge);
  g_autoptr (Maximum)      sequence = find (positions, "SEQ-LEN", diags);
  g_autoptr (Maximum)      all = find (least, "training.micro_batch", diags);
  g_autoptr (Maximum)      none = find (most, "micro_batch", diags);

  ck_assert_int_eq (sequence->value, 300);
  ck_assert_str_eq (sequence->bound, "sequences of 301 tokens, but 'gpt' has 300 positions");
  ck_assert_int_eq (sequence->next, 0);
  ck_assert_int_eq (all->value, 1 << 20);
  ck_assert_str_eq (all->bound, "none beyond 1048576 is tried");
  ck_assert_int_eq (none->value, 0);
  ck_assert_int_eq (none->next, 1);
  ck_assert (!none->prediction->hbm.fits);
  ck_assert_ptr_null (none->beyond);
  ck_assert (diag_list_is_empty (diags));
  ck_assert_ptr_null (maximum_find_key ("micro_batches", diags));
  ck_assert_ptr_null (maximum_find_key ("model.micro_batch", diags));
  ck_assert_uint_eq (diag_list_n_errors (diags), 2);
}
END_TEST

/* What there is after ever longer times: the largest known to fit, and no bound not met. */
START_TEST (test_early_end)
{
  static const double  first_s = 2e-6;
  g_autoptr (Scenario) scenario = load (cases[MISPLANNED].keys);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Maximum)  whole = find (scenario, cases[MISPLANNED].key, diags);
  gboolean             is_cut = TRUE;

  ck_assert (!whole->is_cut);
  for (double seconds = first_s; is_cut; seconds *= 1.5)
    {
      Stop                stop = { 0 };
      PredictOptions      options = predict_options ();
      g_autoptr (GError)  error = NULL;
      g_autoptr (Maximum) maximum = NULL;

      stop_after (&stop, seconds);
      options.replay.stop = &stop;
      maximum = maximum_find (scenario, NULL, whole->key, &options, diags, &error);
      ck_assert_msg (maximum != NULL, "%s", diag_list_first_message (diags));
      is_cut = maximum->is_cut;
      ck_assert (is_cut || seconds > first_s);
      ck_assert (is_cut == (stop_reason (&stop) != NULL));
      ck_assert_int_le (maximum->value, whole->value);
      ck_assert_int_eq (maximum->value > 0,
                        maximum->prediction != NULL && maximum->prediction->fits);
      ck_assert (maximum->next == 0 || maximum->next >= whole->next);
      ck_assert_ptr_null (maximum->bound);
      if (!is_cut)
        ck_assert_int_eq (maximum->value, whole->value);
    }
}
END_TEST

/* What is wrong whatever the value is an error, said once; sequences of a file have no largest. */
START_TEST (test_refused)
{
  static const char *const ranks[] = { "strategy.name", "ddp", "mesh.tp", "3", NULL };
  static const char *const file[] = { "strategy.name", "ddp", "training.lengths", "some.csv",
                                      NULL };
  g_autoptr (DiagList)     first = diag_list_new (), second = diag_list_new ();
  g_autoptr (Scenario)     three = load (ranks), lengths = load (file);

  ck_assert_ptr_null (find (three, "micro_batch", first));
  ck_assert_str_eq (diag_list_first_message (first),
                    "'tp' 3 x 'cp' 1 x 'pp' 1 does not divide 2 ranks");
  ck_assert_ptr_null (find (lengths, "seq_len", second));
  ck_assert_str_eq (diag_list_first_message (second),
                    "'seq_len' has no largest value where a file says the sequences");
}
END_TEST

/*
 * Shards over two ranks cut all seven matrices of a block: what Muon's exchange costs is warned of
 * once, for the layers that are reported. Fewer and more than these were simulated too.
 */
START_TEST (test_warns_once)
{
  static const char *const keys[] = { "strategy.name",
                                      "fsdp2",
                                      "training.optimizer",
                                      "muon",
                                      "strategy.shard_format",
                                      "rows",
                                      "model.d_model",
                                      "2000",
                                      "model.d_ff",
                                      "4000",
                                      NULL };
  static const char *const many[] = { "strategy.name",
                                      "fsdp2",
                                      "training.optimizer",
                                      "muon",
                                      "model.d_model",
                                      "2000",
                                      "model.d_ff",
                                      "4000",
                                      "model.n_layers",
                                      "90",
                                      NULL };
  g_autoptr (Scenario)     scenario = load (keys), unfit = load (many);
  g_autoptr (DiagList)     diags = diag_list_new (), others = diag_list_new ();
  g_autoptr (Maximum)      maximum = find (scenario, "n_layers", diags);
  g_autoptr (Maximum)      none = find (unfit, "micro_batch", others);
  g_autofree char         *cut = NULL;
  DiagView                 view;

  ck_assert (maximum != NULL && none != NULL);
  ck_assert_int_gt (maximum->value, 2);
  ck_assert_uint_gt (maximum->n_simulated, 1);
  ck_assert (diag_list_get (diags, 0, &view) && view.severity == DIAG_WARNING);
  cut = g_strdup_printf ("cut %d of %d tensors", (int) (7 * maximum->value),
                         (int) (7 * maximum->value));
  ck_assert_msg (strstr (view.message, cut) != NULL, "%s", view.message);
  ck_assert (!diag_list_get (diags, 1, &view));
  /* Where none fits it is said of the smallest, which is reported. */
  ck_assert_int_eq (none->value, 0);
  ck_assert (diag_list_get (others, 0, &view) && !diag_list_get (others, 1, &view));
  ck_assert_ptr_nonnull (strstr (diag_list_first_message (others), "cut 630 of 630 tensors"));
}
END_TEST

SUITE_MAIN (maximum)
{
  Suite *suite = suite_create ("maximum");
  TCase *tcase = tcase_create ("all");

  tcase_set_timeout (tcase, 60);
  tcase_add_test (tcase, test_by_hand);
  tcase_add_loop_test (tcase, test_next_does_not_fit, 0, G_N_ELEMENTS (cases));
  tcase_add_test (tcase, test_bounds);
  tcase_add_test (tcase, test_early_end);
  tcase_add_test (tcase, test_refused);
  tcase_add_test (tcase, test_warns_once);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
