/*
 * A scenario that is printed and read again is the same scenario: of every strategy, with every
 * option, each value of switches and words, and at random, both give the same results to the byte,
 * or the same messages; and nothing is warned of that was not before. From another folder its files
 * are found as well. Not asserted: that a
 * search of both tries the same, which leaves alone what was given.
 */
#include "../replay/fixture.h"
#include "../suite.h"

#include <glib/gstdio.h>

#include "../cases.h"
#include "predict/prediction.h"
#include "report/prediction/report.h"
#include "scenario/software.h"
#include "strategy/registry.h"

#define N_RANDOM 200
#define SEED     11
#define MAX_BASE 32 /* keys of a scenario to which one is added */

static char *folder;

static void
set_up (void)
{
  folder = g_dir_make_tmp ("shardsim-print-XXXXXX", NULL);
}

static void
tear_down (void)
{
  g_rmdir (folder);
  g_free (folder);
}

/* The results as JSON, or all errors, wherever they point to. Newly allocated. */
static char *
answer_of (const Scenario *scenario, DiagList *diags)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  const PredictOptions  options = { .todays_frameworks = TRUE };
  Prediction           *p = predict (scenario, &options, diags, NULL);
  GString              *out = g_string_new (NULL);
  DiagView              view;

  if (p != NULL)
    {
      g_ptr_array_add (all, p);
      report_json (all, out);
    }
  for (guint i = 0; p == NULL && diag_list_get (diags, i, &view); i++)
    if (view.severity == DIAG_ERROR)
      g_string_append_printf (out, "%s\n", view.message);
  return g_string_free (out, FALSE);
}

/* TEXT, read as a file of FOLDER. */
static Scenario *
read_again (const char *text, const char *what)
{
  g_autofree char      *file = g_build_filename (folder, "printed.yaml", NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = NULL;

  ck_assert (g_file_set_contents (file, text, -1, NULL));
  all = scenario_load (NULL, file, NULL, 0, diags);
  g_unlink (file);
  ck_assert_msg (all != NULL && all->len == 1, "%s: %s", what, diag_list_first_message (diags));
  return scenario_copy (g_ptr_array_index (all, 0));
}

/* Who prints a scenario and reads it again has said nothing new, so nothing new is warned of. */
static void
check_warnings (const DiagList *before, const DiagList *after, const char *what)
{
  g_autoptr (GHashTable) said = g_hash_table_new (g_str_hash, g_str_equal);
  DiagView               view;

  for (guint i = 0; diag_list_get (before, i, &view); i++)
    g_hash_table_add (said, (gpointer) view.message);
  for (guint i = 0; diag_list_get (after, i, &view); i++)
    ck_assert_msg (g_hash_table_contains (said, view.message), "%s: read again it is warned of: %s",
                   what, view.message);
}

static void
check_identity (const Scenario *scenario, const char *what)
{
  const PredictOptions   options = { .todays_frameworks = TRUE };
  g_autoptr (ProfileSet) profiles = predict_profiles (&options);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Scenario)   in_force = scenario_in_force (scenario, profiles, diags);
  g_autofree char       *text = scenario_print_in (in_force != NULL ? in_force : scenario, folder);
  g_autoptr (Scenario)   again = read_again (text, what);
  g_autoptr (DiagList)   given = diag_list_new (), printed = diag_list_new ();
  g_autofree char       *before = answer_of (scenario, given), *after = answer_of (again, printed);

  if (!g_str_equal (before, after))
    {
      g_printerr ("%s\nprinted and read again:\n%s\n", before, after);
      ck_abort_msg ("%s: not the same when it is printed and read again", what);
    }
  check_warnings (given, printed, what);
}

/* ---- every option ---------------------------------------------------------------------------- */

/* Keys and values of a small scenario under STRATEGY: how many. */
static guint
base_of (const Strategy *strategy, ScenarioOverride *o)
{
  static const char *const base[] = {
    "cluster.node",     "dgx-a100", "cluster.nodes",       "2",   "cluster.gpus_per_node", "4",
    "model.arch",       "llama",    "model.n_layers",      "2",   "model.d_model",         "256",
    "model.n_heads",    "4",        "model.d_ff",          "512", "model.vocab",           "1000",
    "training.seq_len", "64",       "training.grad_accum", "2",   "strategy.inner.name",   "ddp",
  };
  guint n = 0;

  o[n++] = (ScenarioOverride){ "strategy.name", strategy->name, "test" };
  for (guint i = 0; i < G_N_ELEMENTS (base); i += 2)
    if (!g_str_equal (base[i], "strategy.inner.name") || strategy->outer)
      o[n++] = (ScenarioOverride){ base[i], base[i + 1], "test" };
  g_assert (n < MAX_BASE);
  return n;
}

/* Values of the options that are texts; what names files has a test of its own. */
static const char *const texts[][4] = {
  { "name", "2 x dgx-h100", "mine" },
  { "gpu", "h100-sxm-80" },
  { "intra", "nvlink4-switch" },
  { "nic", "ib-hdr-200" },
  { "node", "dgx-a100", "p4d" },
  { "slow_gpus", "1:0.5", "0:0.9,5:0.7" },
  { "slow_nics", "0:0.5" },
  { "figure", "gpu.hbm_bandwidth=1 TB/s, nic.latency=3 us" },
  { "measured", "all_reduce 1GiB 20 GB/s" },
  { "placement", "packed", "spread:2", "random" },
  { "sites", "2 x 1 Gbit/s 60 ms" },
  { "config", "gpt2-xl", "mixtral-8x7b" },
  { "arch", "gpt", "bloom" },
  { "recompute_modules", "mlp", "core_attn mlp" },
  { "matrix_parameters", "*attn*" },
  { "lora_target_modules", "all-linear", "*q_proj*" },
  { "framework", "torchtitan 2025", "deepspeed" },
  { "kernels", "cuda-12.1", "cuda-12.8" },
  { "shard_block", "16rows", "32x32" },
  { "shard", "node", "all", "2" },
  { "order", "tp-cp-dp-pp", "tp-cp-pp-dp" },
  { "layers", "1 1" },
  { "nccl", "2.18.5", "2.28.9" },
  { "worker", "node", "2" },
  { "zero_hpz_partition_size", "node", "4" },
};

/* NULL behind the last one. Newly allocated. */
static char *
text_at (const char *key, guint i)
{
  for (guint k = 0; k < G_N_ELEMENTS (texts); k++)
    if (g_str_equal (texts[k][0], key))
      return i + 1 < G_N_ELEMENTS (texts[k]) ? g_strdup (texts[k][i + 1]) : NULL;
  return NULL;
}

/* The I-th value of SPEC to be tried, NULL behind the last one. Newly allocated. */
static char *
value_at (const OptionSpec *spec, guint i)
{
  const double numbers[] = { spec->min, 2, 4 };

  switch (spec->type)
    {
    case OPTION_BOOL:
      return i < 2 ? g_strdup (i == 0 ? "true" : "false") : NULL;
    case OPTION_ENUM:
      if (spec->choices[i] != NULL && g_str_has_suffix (spec->choices[i], "K"))
        return g_strdup_printf ("%.*s3", (int) strlen (spec->choices[i]) - 1, spec->choices[i]);
      return g_strdup (spec->choices[i]);
    case OPTION_INT:
      return i < 3 ? g_strdup_printf ("%.0f", numbers[i]) : NULL;
    case OPTION_QUANTITY:
      return i == 0 ? g_strdup (spec->fallback) : NULL;
    case OPTION_STRING:
      return text_at (spec->key, i);
    }
  g_assert_not_reached ();
}

/* Which of all combinations are tried: one in STRIDE. */
typedef struct
{
  guint stride, n, n_checked;
} Sample;

static void
try_value (const Strategy *strategy, const char *key, const char *value, Sample *sample)
{
  ScenarioOverride      o[MAX_BASE + 1];
  guint                 n = base_of (strategy, o);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = NULL;
  g_autofree char      *what = g_strdup_printf ("%s, %s=%s", strategy->name, key, value);

  if (key != NULL && sample->n++ % sample->stride != 0)
    return;
  if (key != NULL)
    o[n++] = (ScenarioOverride){ key, value, "test" };
  all = scenario_load (NULL, NULL, o, n, diags);
  if (all == NULL) /* a value of another key's range */
    return;
  sample->n_checked++;
  check_identity (g_ptr_array_index (all, 0), what);
}

static void
try_table (const Strategy *strategy, const char *section, const OptionSpec *table, Sample *sample)
{
  for (const OptionSpec *spec = table; spec != NULL && spec->key != NULL; spec++)
    {
      g_autofree char *key = g_strdup_printf ("%s.%s", section, spec->key);
      char            *value;

      for (guint i = 0; (value = value_at (spec, i)) != NULL; i++)
        {
          try_value (strategy, key, value, sample);
          g_free (value);
        }
    }
}

/* Every strategy as it is and with each of its options; each other option under one of them. */
START_TEST (test_options)
{
  static const char *const sections[] = { "cluster", "model",      "training", "mesh",
                                          "memory",  "collective", "replay" };
  const Strategy *const   *list = strategy_list ();
  Sample                   sample = { .stride = 100 / MAX (cases_of (100), 1) };
  guint                    n_strategies = g_strv_length ((char **) list);

  for (guint s = 0; s < n_strategies; s++)
    {
      try_value (list[s], NULL, "", &sample);
      try_table (list[s], "strategy", list[s]->options, &sample);
    }
  ck_assert_uint_ge (sample.n_checked, n_strategies);
  for (guint i = 0; i < G_N_ELEMENTS (sections); i++)
    for (guint s = i; s < n_strategies; s += 5)
      try_table (list[s], sections[i], scenario_section_table (sections[i]), &sample);
}
END_TEST

START_TEST (test_random)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  for (guint i = 0; i < cases_of (N_RANDOM); i++)
    {
      g_autofree char     *what = g_strdup_printf ("seed %u", SEED + i);
      g_autoptr (Scenario) scenario = fixture_random_case (SEED, i, profiles);

      check_identity (scenario, what);
    }
}
END_TEST

/* ---- files ----------------------------------------------------------------------------------- */

/* Files that a scenario names by their places beside it are found from where it is printed to. */
START_TEST (test_files)
{
  static const char yaml[] =
      "cluster: { node: dgx-a100, nodes: 1, placement: hosts.txt }\n"
      "model: { arch: gpt, n_layers: 2, d_model: 256, n_heads: 4, vocab: 1000 }\n"
      "training: { seq_len: 512, lengths: lengths.csv }\nstrategy: { name: ddp }\n";
  g_autofree char      *beside = g_dir_make_tmp ("shardsim-beside-XXXXXX", NULL);
  const char *const     names[] = { "s.yaml", "lengths.csv", "hosts.txt" };
  const char *const     texts[] = { yaml, "length\n512\n256\n128\n", "a\n" };
  g_autofree char      *file = g_build_filename (beside, names[0], NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = NULL;
  g_autofree char      *here = NULL, *there = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (beside, names[i], NULL);

      ck_assert (g_file_set_contents (path, texts[i], -1, NULL));
    }
  all = scenario_load (NULL, file, NULL, 0, diags);
  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  here = scenario_print_in (g_ptr_array_index (all, 0), beside);
  ck_assert_ptr_nonnull (strstr (here, "lengths: \"lengths.csv\""));
  there = scenario_print_in (g_ptr_array_index (all, 0), folder);
  ck_assert_ptr_nonnull (strstr (there, beside));
  check_identity (g_ptr_array_index (all, 0), "files");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (beside, names[i], NULL);

      g_unlink (path);
    }
  g_rmdir (beside);
}
END_TEST

SUITE_MAIN (print)
{
  Suite *suite = suite_create ("print");
  TCase *tcase = tcase_create ("print");

  tcase_set_timeout (tcase, 900);
  tcase_add_checked_fixture (tcase, set_up, tear_down);
  tcase_add_test (tcase, test_options);
  tcase_add_test (tcase, test_random);
  tcase_add_test (tcase, test_files);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
