/*
 * Scenario files: what they may say, every error with its place in one pass (golden files,
 * rewritten with UPDATE_GOLDEN=1), and that what is printed reads back to the same.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "../cases.h"
#include "../replay/fixture.h"
#include "../suite.h"
#include "hardware/profile/figure-settings.h"

static char *
golden_path (const char *name)
{
  return g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "tests", "scenario", "golden", name,
                           NULL);
}

/* Loads TEXT as x.yaml in a folder of its own, so that messages do not depend on where that is. */
static GPtrArray *
load_text (const char *text, const ScenarioOverride *overrides, guint n, DiagList *diags)
{
  g_autofree char *dir = g_dir_make_tmp ("scenario-XXXXXX", NULL);
  g_autofree char *old = g_get_current_dir ();
  GPtrArray       *all;

  ck_assert_int_eq (g_chdir (dir), 0);
  ck_assert (g_file_set_contents ("x.yaml", text, -1, NULL));
  all = scenario_load (NULL, "x.yaml", overrides, n, diags);
  g_remove ("x.yaml");
  ck_assert_int_eq (g_chdir (old), 0);
  g_rmdir (dir);
  return all;
}

static GPtrArray *
load_good (const char *text, const ScenarioOverride *overrides, guint n)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  GPtrArray           *all = load_text (text, overrides, n, diags);
  g_autofree char     *messages = diag_list_format (diags, FALSE);

  ck_assert_str_eq (messages, "");
  ck_assert_ptr_nonnull (all);
  return all;
}

static const char *
name_of (const GPtrArray *all, guint i)
{
  return ((const Scenario *) g_ptr_array_index (all, i))->name;
}

#define BASE                          \
  "cluster: { name: 4 x dgx-a100 }\n" \
  "model: { config: llama-3-8b }\n"   \
  "training: { seq_len: 2048 }\n"

/* ---- what a file may say --------------------------------------------------------------------- */

START_TEST (test_one)
{
  g_autoptr (GPtrArray) all =
      load_good (BASE "name: mine\nstrategy: { name: fsdp2, shard: node }\n", NULL, 0);
  const Scenario *s = g_ptr_array_index (all, 0);

  ck_assert_uint_eq (all->len, 1);
  ck_assert_str_eq (s->name, "mine");
  ck_assert_str_eq (s->cluster.name, "4 x dgx-a100");
  ck_assert_int_eq (s->training.seq_len, 2048);
  ck_assert_str_eq (s->strategy->strategy->name, "fsdp2");
  ck_assert_ptr_null (s->strategy->inner);
  ck_assert_uint_eq (s->strategy_mark.line, 5);
  ck_assert_str_eq (s->base_dir, ".");
}
END_TEST

START_TEST (test_shorthand)
{
  g_autoptr (GPtrArray) all = load_good (
      "cluster: 4 x dgx-a100\nmodel: llama-3-8b\ntraining: { seq_len: 512 }\nstrategy: zero3\n",
      NULL, 0);
  const Scenario *s = g_ptr_array_index (all, 0);

  ck_assert_str_eq (s->name, "x");
  ck_assert_str_eq (s->cluster.name, "4 x dgx-a100");
  ck_assert_str_eq (s->model.config, "llama-3-8b");
  ck_assert_str_eq (s->strategy->strategy->name, "zero3");
}
END_TEST

START_TEST (test_product)
{
  g_autoptr (GPtrArray) all = load_good (
      BASE "models: [{ config: gpt-10b }, llama-3-8b]\n"
           "strategies: [zero3, { name: fsdp2, label: sharded }, { name: local-sgd, inner: ddp }, "
           "zero3]\n",
      NULL, 0);

  ck_assert_uint_eq (all->len, 8);
  ck_assert_str_eq (name_of (all, 0), "gpt-10b / zero3");
  ck_assert_str_eq (name_of (all, 1), "gpt-10b / sharded");
  ck_assert_str_eq (name_of (all, 2), "gpt-10b / local-sgd+ddp");
  ck_assert_str_eq (name_of (all, 3), "gpt-10b / zero3 (2)");
  ck_assert_str_eq (name_of (all, 4), "llama-3-8b / zero3");
}
END_TEST

static void
check_names (const GPtrArray *all, const char *const *names)
{
  ck_assert_uint_eq (all->len, g_strv_length ((char **) names));
  for (guint i = 0; i < all->len; i++)
    ck_assert_str_eq (name_of (all, i), names[i]);
}

static gint64
micro_batch_of (const GPtrArray *all, guint i)
{
  return ((const Scenario *) g_ptr_array_index (all, i))->training.micro_batch;
}

/* Lists of values multiply, the file's last one fastest, and the names say the values. */
START_TEST (test_grid)
{
  static const char text[] = "cluster: { name: [2 x dgx-a100, dgx-h100] }\nmodel: llama-3-8b\n"
                             "training: { seq_len: 512, micro_batch: [1, 2, 4] }\n"
                             "strategy: { name: fsdp2 }\n";
  static const char *const names[] = { "2 x dgx-a100, micro_batch=1",
                                       "2 x dgx-a100, micro_batch=2",
                                       "2 x dgx-a100, micro_batch=4",
                                       "dgx-h100, micro_batch=1",
                                       "dgx-h100, micro_batch=2",
                                       "dgx-h100, micro_batch=4",
                                       NULL };
  const ScenarioOverride   fixed = { "training.micro_batch", "8", "--micro-batch" };
  static const char *const left[] = { "2 x dgx-a100", "dgx-h100", NULL };
  g_autoptr (GPtrArray)    all = load_good (text, NULL, 0), one = load_good (text, &fixed, 1);

  check_names (all, names);
  for (guint i = 0; i < all->len; i++)
    {
      const Scenario *s = g_ptr_array_index (all, i);

      ck_assert_int_eq (micro_batch_of (all, i), 1 << i % 3);
      ck_assert_str_eq (s->cluster.name, i < 3 ? "2 x dgx-a100" : "dgx-h100");
    }
  /* What the command line sets is no list any more. */
  check_names (one, left);
  ck_assert_int_eq (micro_batch_of (one, 1), 8);
}
END_TEST

/* The lists of an entry multiply that entry alone; those of the file every one. */
START_TEST (test_grid_of_entries)
{
  static const char *const names[] = { "zero3 / grad_accum=1",
                                       "zero3 / grad_accum=3",
                                       "fsdp2, reshard_after_forward=true / grad_accum=1",
                                       "fsdp2, reshard_after_forward=true / grad_accum=3",
                                       "fsdp2, reshard_after_forward=false / grad_accum=1",
                                       "fsdp2, reshard_after_forward=false / grad_accum=3",
                                       "ddp / grad_accum=1",
                                       "ddp / grad_accum=3",
                                       "zero1 / grad_accum=1",
                                       "zero1 / grad_accum=3",
                                       NULL };
  g_autoptr (GPtrArray)    all =
      load_good ("cluster: dgx-a100\nmodel: llama-3-8b\n"
                 "training: { seq_len: 512, grad_accum: [1, 3] }\n"
                 "strategies: [zero3, { name: fsdp2, reshard_after_forward: [true, false] },"
                 " { name: [ddp, zero1] }]\n",
                 NULL, 0);

  check_names (all, names);
  ck_assert_int_eq (((const Scenario *) g_ptr_array_index (all, 5))->training.grad_accum, 3);
}
END_TEST

START_TEST (test_scenarios_override)
{
  g_autoptr (GPtrArray) all = load_good (BASE "strategy: { name: fsdp2, shard: node }\n"
                                              "scenarios:\n"
                                              "- name: long\n"
                                              "  training: { seq_len: 8192 }\n"
                                              "- name: kept\n"
                                              "  strategy: { reshard_after_forward: false }\n"
                                              "- name: other\n"
                                              "  strategy: { name: zero3 }\n",
                                         NULL, 0);
  const Scenario       *longer = g_ptr_array_index (all, 0), *kept = g_ptr_array_index (all, 1);
  g_autofree char      *text = scenario_print (kept);

  ck_assert_uint_eq (all->len, 3);
  ck_assert_str_eq (longer->name, "long");
  ck_assert_int_eq (longer->training.seq_len, 8192);
  ck_assert_str_eq (longer->cluster.name, "4 x dgx-a100");
  ck_assert_int_eq (kept->training.seq_len, 2048);
  ck_assert_ptr_nonnull (strstr (text, "shard: \"node\""));
  ck_assert_ptr_nonnull (strstr (text, "reshard_after_forward: \"false\""));
  ck_assert_str_eq (((const Scenario *) g_ptr_array_index (all, 2))->strategy->strategy->name,
                    "zero3");
}
END_TEST

/* Figures are laid over each other one by one: in an entry, and by an override. */
START_TEST (test_figures_override)
{
  const struct
  {
    const char *entry, *figures;
  } cases[] = {
    { "{}", "gpu.jitter=1 %, node.cores=8, nic.bandwidth=50 Gbit/s" },
    { "{ figure: {} }", "gpu.jitter=1 %, node.cores=8, nic.bandwidth=50 Gbit/s" },
    { "2 x dgx-h100", "gpu.jitter=1 %, node.cores=8, nic.bandwidth=50 Gbit/s" },
    { "{ figure: { nic.bandwidth: 0.1 Tbit/s } }",
      "gpu.jitter=1 %, node.cores=8, nic.bandwidth=100 Gbit/s" },
    { "{ figure: 'nic.bandwidth=100 Gbit/s, gpu.hbm_bandwidth=1 TB/s' }",
      "gpu.hbm_bandwidth=1 TB/s, gpu.jitter=1 %, node.cores=8, nic.bandwidth=100 Gbit/s" },
    { "{ figure: ~ }", "node.cores=8" },
  };
  const ScenarioOverride cores = { "node.cores", "8", "--figure" };
  g_autoptr (GString)    text = g_string_new (
         "cluster: { name: 4 x dgx-a100, figure: { nic.bandwidth: 50 Gbit/s, gpu.jitter: 0.01 } }\n"
            "model: { config: llama-3-8b }\ntraining: { seq_len: 2048 }\nstrategy: fsdp2\n"
            "scenarios:\n");
  g_autoptr (GPtrArray) all = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_string_append_printf (text, "- { name: c%u, cluster: %s }\n", i, cases[i].entry);
  all = load_good (text->str, &cores, 1);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const Scenario      *scenario = g_ptr_array_index (all, i);
      g_autofree char     *wanted = NULL;
      g_autoptr (DiagList) none = diag_list_new ();

      figure_settings_add (&wanted, cases[i].figures, NULL, none); /* in order */
      ck_assert_str_eq (scenario->cluster.figure, wanted);
    }
}
END_TEST

/* Values of figures in a list name their scenarios, once. */
START_TEST (test_figures_in_a_list)
{
  g_autoptr (GPtrArray) all = load_good (
      "cluster: { name: dgx-a100, figure: [nic.bandwidth=50 Gbit/s, nic.bandwidth=75 Gbit/s] }\n"
      "model: { config: llama-3-8b }\ntraining: { seq_len: 2048 }\nstrategy: fsdp2\n",
      NULL, 0);

  ck_assert_uint_eq (all->len, 2);
  ck_assert_str_eq (name_of (all, 0), "nic.bandwidth=50 Gbit/s");
  ck_assert_str_eq (name_of (all, 1), "nic.bandwidth=75 Gbit/s");
}
END_TEST

/* The order in which overrides are given does not matter where they do not set the same. */
START_TEST (test_overrides)
{
  const ScenarioOverride a[] = {
    { "strategy.inner.shard", "node", "--set" },      { "strategy.inner.name", "fsdp2", "--set" },
    { "strategy.name", "local-sgd", "--strategy" },   { "strategy.local_steps", "4", "--set" },
    { "training.micro_batch", "3", "--micro-batch" }, { "name", "renamed", "--name" }
  };
  const ScenarioOverride b[] = { a[2], a[1], a[5], a[4], a[3], a[0] };
  g_autoptr (GPtrArray)  x = load_good (BASE "strategy: ddp\n", a, G_N_ELEMENTS (a));
  g_autoptr (GPtrArray)  y = load_good (BASE "strategy: ddp\n", b, G_N_ELEMENTS (b));
  g_autofree char       *first = scenario_print (g_ptr_array_index (x, 0));
  g_autofree char       *second = scenario_print (g_ptr_array_index (y, 0));
  const Scenario        *s = g_ptr_array_index (x, 0);

  ck_assert_str_eq (first, second);
  ck_assert_str_eq (s->name, "renamed");
  ck_assert_int_eq (s->training.micro_batch, 3);
  ck_assert_str_eq (s->strategy->strategy->name, "local-sgd");
  ck_assert_str_eq (s->strategy->inner->strategy->name, "fsdp2");
}
END_TEST

START_TEST (test_mesh_shard)
{
  g_autoptr (GPtrArray) all = load_good (
      BASE "mesh: { shard: 4 }\nstrategy: { name: local-sgd, inner: { name: fsdp2 } }\n", NULL, 0);
  const Scenario  *s = g_ptr_array_index (all, 0);
  g_autofree char *shard =
      option_format (option_table_find (s->strategy->inner->strategy->options, "shard"),
                     s->strategy->inner->options);

  ck_assert_str_eq (shard, "4");
}
END_TEST

START_TEST (test_digest)
{
  g_autoptr (GPtrArray) a = load_good (BASE "strategy: fsdp2\n", NULL, 0);
  g_autoptr (GPtrArray) b = load_good ("strategy: { name: fsdp2 }\n" BASE, NULL, 0);
  g_autoptr (GPtrArray) c = load_good (BASE "strategy: fsdp1\n", NULL, 0);
  g_autofree char      *x = scenario_digest (g_ptr_array_index (a, 0));
  g_autofree char      *y = scenario_digest (g_ptr_array_index (b, 0));
  g_autofree char      *z = scenario_digest (g_ptr_array_index (c, 0));

  ck_assert_uint_eq (strlen (x), 64);
  ck_assert_str_eq (x, y);
  ck_assert_str_ne (x, z);
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

typedef struct
{
  const char      *name;
  const char      *text;
  ScenarioOverride overrides[4];
} BadScenario;

static const BadScenario bad[] = {
  { "sections",
    "clutser: { name: x }\nmodel: { confg: llama-3-8b }\ntraining: { seq_len: 2k, seq_len: 4k }\n"
    "strategy: fsdp3\n",
    { { 0 } } },
  { "missing", "training: { seq_len: 2048 }\n", { { 0 } } },
  { "values",
    "cluster: dgx-a100\nmodel: gpt-10b\n"
    "training: { seq_len: 16, micro_batch: none, grad_accum: 0 }\n"
    "strategy: { name: fsdp2, backward_prefetch: perhaps, shrad: all }\n",
    { { 0 } } },
  { "units",
    "cluster: { name: dgx-a100, dram_bytes: 512 }\nmodel: gpt-10b\ntraining: { seq_len: 16 }\n"
    "strategy: ddp\n",
    { { 0 } } },
  { "kinds", "cluster: [[a]]\nmodel:\ntraining: 3\nstrategy: { name: [] }\n", { { 0 } } },
  { "grid",
    "cluster: [dgx-a100, dgx-h100]\nmodel: llama-3-8b\nstrategy: [fsdp2, fsdp3]\n"
    "training: { seq_len: [512, x], micro_batch: [1, [2]], foo: [1, 2], grad_accum: [0, 1, null] "
    "}\n",
    { { 0 } } },
  { "axes",
    BASE "mesh: { tp: two, pipeline: 2f2b, ep: -4, vpp: 2 }\nstrategy: ddp\n",
    { { "mesh.cp", "none", "--set" } } },
  { "inner",
    BASE "strategies: [{ name: ddp, inner: fsdp2 }, local-sgd, { inner: ddp }]\n",
    { { 0 } } },
  { "shard",
    BASE "mesh: { shard: node }\nstrategies: [ddp, { name: fsdp2, shard: 4 }, fsdp2]\n",
    { { 0 } } },
  { "overrides",
    BASE "strategies: [fsdp2, zero3]\n",
    { { "training.micro_batsh", "2", "--set" },
      { "trainnig.micro_batch", "2", "--set" },
      { "micro_batch", "2", "--set" },
      { "strategy.inner.name", "ddp", "--set" } } },
  { "override-values",
    BASE "strategy: fsdp2\n",
    { { "training.micro_batch", "many", "--micro-batch" }, { "strategy.shrad", "all", "--set" } } },
  { "override-strategy",
    BASE "strategy: fsdp2\n",
    { { "strategy.shard", "all", "--set" }, { "strategy.name", "fsdp22", "--strategy" } } },
  { "lists",
    BASE "strategies: fsdp2\nmodels: []\nscenarios: [3, { strategies: [] }]\n",
    { { 0 } } },
  { "truncated", BASE "strategy: { name: fsdp2\n", { { 0 } } },
  { "empty", "", { { 0 } } },
};

/* The list of all strategies grows; the messages that end with it should not change. */
static char *
without_list (const char *text)
{
  g_autoptr (GRegex) list = g_regex_new ("strategies: [a-z0-9, -]+", 0, 0, NULL);

  return g_regex_replace_literal (list, text, -1, 0, "strategies: ...", 0, NULL);
}

START_TEST (test_errors)
{
  const BadScenario   *c = &bad[_i];
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *name = g_strdup_printf ("%s.txt", c->name);
  g_autofree char     *path = golden_path (name);
  g_autofree char     *all = NULL;
  g_autofree char     *want = NULL;
  g_autofree char     *got = NULL;
  guint                n = 0;

  while (n < G_N_ELEMENTS (c->overrides) && c->overrides[n].key != NULL)
    n++;
  ck_assert_ptr_null (load_text (c->text, c->overrides, n, diags));
  all = diag_list_format (diags, FALSE);
  got = without_list (all);
  if (g_getenv ("UPDATE_GOLDEN") != NULL)
    ck_assert (g_file_set_contents (path, got, -1, NULL));
  ck_assert_msg (g_file_get_contents (path, &want, NULL, NULL), "no golden file '%s'", path);
  ck_assert_str_eq (got, want);
}
END_TEST

START_TEST (test_files)
{
  static const char *const files[] = { "/", "/nonexistent/x.yaml" };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();

      ck_assert_ptr_null (scenario_load (NULL, files[i], NULL, 0, diags));
      ck_assert_uint_eq (diag_list_n_errors (diags), 1);
    }
}
END_TEST

/* 200 x 200 entries are refused, not run out of memory on. */
START_TEST (test_too_many)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GString)  text = g_string_new (BASE "strategies: [ddp");

  for (guint i = 0; i < 200; i++)
    g_string_append (text, ", ddp");
  g_string_append (text, "]\nmodels: [gpt-10b");
  for (guint i = 0; i < 200; i++)
    g_string_append (text, ", gpt-10b");
  g_string_append (text, "]\n");
  ck_assert_ptr_null (load_text (text->str, NULL, 0, diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "'strategies' makes 40401 scenarios (at most 10000)");
}
END_TEST

/* The same of lists of values: each dimension too large is named, with what it would make. */
START_TEST (test_too_many_values)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GString)  text = g_string_new (BASE "strategies: [ddp, { name: zero3 }]\n"
                                                  "mesh: { tp: [1");

  for (guint i = 0; i < 99; i++)
    g_string_append (text, ", 1");
  g_string_append (text, "], pp: [1");
  for (guint i = 0; i < 50; i++)
    g_string_append (text, ", 1");
  g_string_append (text, "] }\n");
  ck_assert_ptr_null (load_text (text->str, NULL, 0, diags));
  ck_assert_str_eq (diag_list_first_message (diags), "'pp' makes 10200 scenarios (at most 10000)");
  ck_assert_uint_eq (diag_list_n_errors (diags), 1);
}
END_TEST

/* ---- printing -------------------------------------------------------------------------------- */

static char *
random_value (GRand *rand, const OptionSpec *spec)
{
  static const char *const strings[] = { "all",  "a b", "x: \"y\" # z", "\\n", "\xc3\xa9t\xc3\xa9",
                                         "null", "0.5", " led" };
  guint                    n = 0;
  double low = spec->min, high = spec->max > spec->min ? spec->max : spec->min + 1000;

  switch (spec->type)
    {
    case OPTION_STRING:
      if (spec->pairs)
        return g_strdup ("gpu.hbm_bandwidth=1 TB/s, nic:x.latency=1 us");
      return g_strdup (strings[g_rand_int_range (rand, 0, G_N_ELEMENTS (strings))]);
    case OPTION_BOOL:
      return g_strdup (g_rand_int_range (rand, 0, 2) ? "true" : "false");
    case OPTION_ENUM:
      while (spec->choices[n] != NULL)
        n++;
      n = (guint) g_rand_int_range (rand, 0, (gint) n);
      if (g_str_has_suffix (spec->choices[n], ":K") || g_str_equal (spec->choices[n], "K"))
        return g_strdup_printf ("%.*s3", (int) strlen (spec->choices[n]) - 1, spec->choices[n]);
      return g_strdup (spec->choices[n]);
    case OPTION_INT:
      return g_strdup_printf ("%.0f", low + g_rand_double (rand) * (MIN (high, low + 1e6) - low));
    case OPTION_QUANTITY:
      return NULL;
    }
  return NULL;
}

static void
randomise (GRand *rand, const OptionSpec *table, gpointer structure)
{
  for (const OptionSpec *spec = table; spec->key != NULL; spec++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autofree char     *value = random_value (rand, spec);

      if (spec->type == OPTION_QUANTITY)
        *(double *) G_STRUCT_MEMBER_P (structure, spec->offset) =
            spec->min
            + g_rand_double (rand) * (spec->max > spec->min ? spec->max - spec->min : 1e12);
      else if (g_rand_int_range (rand, 0, 3) != 0
               && !option_set (spec, structure, value, NULL, diags))
        ck_abort_msg ("'%s' = '%s': %s", spec->key, value, diag_list_first_message (diags));
    }
}

static Scenario *
random_scenario (GRand *rand)
{
  const Strategy *const *list = strategy_list ();
  guint                  n = 0;
  const Strategy        *strategy;
  Scenario              *s;

  while (list[n] != NULL)
    n++;
  strategy = list[g_rand_int_range (rand, 0, (gint) n)];
  s = fixture_scenario ("cluster.name", "dgx-a100", "model.config", "gpt-10b", "training.seq_len",
                        "1024", "strategy.name", strategy->name,
                        strategy->outer ? "strategy.inner.name" : NULL, "ddp", NULL);
  randomise (rand, cluster_options, &s->cluster);
  randomise (rand, model_options, &s->model);
  randomise (rand, training_options, &s->training);
  if (strategy->options != NULL)
    randomise (rand, strategy->options, s->strategy->options);
  return s;
}

/*
 * Few where a sanitizer runs: beyond 2048 interned lines in a process GLib drops its table for a
 * larger one, which is a leak to it.
 */
START_TEST (test_round_trip)
{
  for (guint seed = 1; seed <= cases_of (400); seed++)
    {
      g_autoptr (GRand)     rand = g_rand_new_with_seed (seed);
      g_autoptr (Scenario)  scenario = random_scenario (rand);
      g_autofree char      *text = scenario_print (scenario);
      g_autoptr (GPtrArray) all = load_good (text, NULL, 0);
      g_autofree char      *again = scenario_print (g_ptr_array_index (all, 0));
      g_autoptr (Scenario)  copy = scenario_copy (scenario);
      g_autofree char      *copied = scenario_print (copy);

      ck_assert_uint_eq (all->len, 1);
      ck_assert_str_eq (text, again);
      ck_assert_str_eq (text, copied);
    }
}
END_TEST

START_TEST (test_tables)
{
  ck_assert_ptr_eq (scenario_section_table ("cluster"), cluster_options);
  ck_assert_ptr_eq (scenario_section_table ("mesh"), mesh_options);
  ck_assert_ptr_null (scenario_section_table ("strategy"));
}
END_TEST

static Suite *
scenario_suite (void)
{
  Suite *suite = suite_create ("scenario");
  TCase *good = tcase_create ("good"), *errors = tcase_create ("errors"),
        *print = tcase_create ("print");

  tcase_add_test (good, test_one);
  tcase_add_test (good, test_shorthand);
  tcase_add_test (good, test_product);
  tcase_add_test (good, test_grid);
  tcase_add_test (good, test_grid_of_entries);
  tcase_add_test (good, test_scenarios_override);
  tcase_add_test (good, test_figures_override);
  tcase_add_test (good, test_figures_in_a_list);
  tcase_add_test (good, test_overrides);
  tcase_add_test (good, test_mesh_shard);
  tcase_add_test (good, test_digest);
  suite_add_tcase (suite, good);
  tcase_add_loop_test (errors, test_errors, 0, G_N_ELEMENTS (bad));
  tcase_add_test (errors, test_files);
  tcase_add_test (errors, test_too_many);
  tcase_add_test (errors, test_too_many_values);
  suite_add_tcase (suite, errors);
  tcase_add_test (print, test_round_trip);
  tcase_add_test (print, test_tables);
  suite_add_tcase (suite, print);
  return suite;
}

SUITE_MAIN (scenario)
{
  return fixture_main (scenario_suite ());
}
