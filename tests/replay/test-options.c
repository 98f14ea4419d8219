/*
 * Every option of every table: what it refuses, in which letters its words are taken, and that a
 * finding points at the option that is wrong.
 * Not asserted: what the values do.
 */
#include <string.h>

#include "../suite.h"
#include "fixture.h"

#define SCRATCH_BYTES 65536

static const char *const sections[] = { "cluster", "model",      "training", "mesh",
                                        "memory",  "collective", "replay" };

typedef void (*Visit) (const OptionSpec *spec, gpointer scratch);

static void
visit_table (const OptionSpec *table, Visit visit)
{
  g_autofree gpointer scratch = g_malloc0 (SCRATCH_BYTES);

  if (table == NULL)
    return;
  option_table_defaults (table, scratch);
  for (const OptionSpec *spec = table; spec->key != NULL; spec++)
    {
      ck_assert_uint_lt (spec->offset, SCRATCH_BYTES - 8);
      visit (spec, scratch);
    }
  option_table_clear (table, scratch);
}

static void
visit_all (Visit visit)
{
  for (guint s = 0; s < G_N_ELEMENTS (sections); s++)
    visit_table (scenario_section_table (sections[s]), visit);
  for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
    visit_table ((*list)->options, visit);
}

/*
 * TEXT is refused with a message that names the option and, unless it is NULL, BOUND; the value
 * stays.
 */
static void
assert_refused (const OptionSpec *spec, gpointer scratch, const char *text, const char *bound)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *before = option_format (spec, scratch);
  g_autofree char     *after = NULL, *quoted = g_strdup_printf ("'%s'", spec->key);
  const char          *message;

  ck_assert_msg (!option_set (spec, scratch, text, NULL, diags), "'%s' takes '%s'", spec->key,
                 text);
  message = diag_list_first_message (diags);
  ck_assert_msg (strstr (message, quoted) != NULL, "'%s': '%s' does not name it", spec->key,
                 message);
  if (bound != NULL)
    ck_assert_msg (strstr (message, bound) != NULL, "'%s': '%s' does not say '%s'", spec->key,
                   message, bound);
  after = option_format (spec, scratch);
  ck_assert_str_eq (before, after);
}

static void
check_whole_number (const OptionSpec *spec, gpointer scratch)
{
  const gboolean   zero = spec->or_zero && spec->min == 1; /* what is below it is taken */
  g_autofree char *bound = number_format_exact (spec->min);
  g_autofree char *below = number_format_exact (spec->min - 1 - zero);
  g_autofree char *above = number_format_exact (spec->max * 2);

  ck_assert_msg (spec->min != 0 || spec->max != 0, "'%s' has no range", spec->key);
  assert_refused (spec, scratch, below, bound);
  if (spec->max >= spec->min && spec->max < 9e15)
    assert_refused (spec, scratch, above, NULL);
  assert_refused (spec, scratch, "1e30", NULL);
  assert_refused (spec, scratch, "many", NULL);
  assert_refused (spec, scratch, "1.5", NULL);
}

static void
check_quantity (const OptionSpec *spec, gpointer scratch)
{
  g_autofree char *bound = quantity_format_exact (spec->kind, spec->min);
  g_autofree char *half = quantity_format_exact (spec->kind, spec->min / 2);
  g_autofree char *one = quantity_format_exact (spec->kind, 1);
  g_autofree char *minus = g_strconcat ("-", one, NULL);

  ck_assert_msg (spec->min != 0 || spec->max != 0, "'%s' has no range", spec->key);
  if (spec->min > 0)
    assert_refused (spec, scratch, half, bound);
  assert_refused (spec, scratch, minus, NULL);
  assert_refused (spec, scratch, "many", NULL);
}

static void
check_numbers (const OptionSpec *spec, gpointer scratch)
{
  if (spec->type == OPTION_INT)
    check_whole_number (spec, scratch);
  else if (spec->type == OPTION_QUANTITY)
    check_quantity (spec, scratch);
}

START_TEST (test_numbers)
{
  visit_all (check_numbers);
}
END_TEST

/* Words of an option are taken in either case, and no others. */
static void
check_words (const OptionSpec *spec, gpointer scratch)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  if (spec->type == OPTION_BOOL)
    assert_refused (spec, scratch, "maybe", NULL);
  if (spec->type != OPTION_ENUM)
    return;
  for (gint i = 0; spec->choices[i] != NULL; i++)
    {
      const gboolean numbered =
          g_str_has_suffix (spec->choices[i], ":K") || g_str_equal (spec->choices[i], "K");
      g_autofree char *word = g_strndup (spec->choices[i], strlen (spec->choices[i]) - numbered);
      g_autofree char *given = g_strconcat (word, numbered ? "3" : "", NULL);
      g_autofree char *upper = g_ascii_strup (given, -1), *kept = NULL;

      ck_assert_msg (option_set (spec, scratch, upper, NULL, diags), "'%s' refuses '%s'", spec->key,
                     upper);
      kept = option_format (spec, scratch);
      ck_assert_str_eq (kept, given);
    }
  assert_refused (spec, scratch, "no-such-word", NULL);
}

START_TEST (test_words)
{
  visit_all (check_words);
}
END_TEST

/* ---- origins --------------------------------------------------------------------------------- */

#define PARTS     "nodes=1", "gpus-per-node=1", "gpu=a100-sxm-40", "intra=none", "nic=none"
#define MAX_WORDS 12

/*
 * Options as on a command line, the wrong one last but for the last option; of it the message
 * starts.
 */
static const struct
{
  const char *place, *words[MAX_WORDS];
} origins[] = {
  { "--intra=pcie4-hots: error",
    { "intra=pcie4-hots", "nodes=1", "gpus-per-node=2", "gpu=a100-sxm-40", "nic=none" } },
  { "--gpu=a100-sxm-4: error",
    { "gpu=a100-sxm-4", "nodes=1", "gpus-per-node=2", "intra=pcie4", "nic=none" } },
  { "--arch=llama: error: 'd_ff'",
    { "arch=llama", "n-layers=2", "d-model=256", "n-heads=2", "vocab=500", PARTS } },
  { "--n-heads=3: error",
    { "arch=gpt", "n-heads=3", "n-layers=2", "d-model=256", "vocab=500", PARTS } },
  { "--config=gpt2-xxl: error", { "config=gpt2-xxl", "tp=1", PARTS } },
  { "--shard=3: error", { "shard=3", "tp=1", "name=dgx-a100" } },
  { "--tp=3: error", { "tp=3", "pp=1", "name=dgx-a100" } },
  { "--seq-len=5000: error", { "seq-len=5000", "micro-batch=2", "name=dgx-a100" } },
  { "--group-nodes=2: error", { "group-nodes=2", "gpu-direct=off", "name=2 x dgx-a100" } },
  { "--slow-gpus=9:0.5: error", { "slow-gpus=9:0.5", "gpu-direct=off", "name=dgx-a100" } },
};

static const char *
section_of (const char *key)
{
  for (guint s = 0; s < G_N_ELEMENTS (sections); s++)
    if (option_table_find (scenario_section_table (sections[s]), key) != NULL)
      return sections[s];
  ck_abort_msg ("no option '%s'", key);
}

static void
add_word (GArray *overrides, GStringChunk *strings, const char *word)
{
  const char      *equals = strchr (word, '=');
  g_autofree char *name = g_strndup (word, (gsize) (equals - word));
  g_autofree char *key = g_strdelimit (g_strdup (name), "-", '_');
  g_autofree char *full = g_strdup_printf ("%s.%s", section_of (key), key);
  g_autofree char *origin = g_strdup_printf ("--%s", name);
  ScenarioOverride override = { .key = g_string_chunk_insert (strings, full),
                                .value = g_string_chunk_insert (strings, equals + 1),
                                .origin = g_string_chunk_insert (strings, origin) };

  g_array_append_val (overrides, override);
}

START_TEST (test_origins)
{
  static const ScenarioOverride rest[] = { { "strategy.name", "fsdp2", "--strategy" } };
  g_autoptr (GArray)            overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  GStringChunk                 *strings = g_string_chunk_new (256);
  g_autoptr (DiagList)          diags = diag_list_new ();
  g_autoptr (ProfileSet)        profiles = profile_set_new (NULL);
  g_autoptr (GPtrArray)         scenarios = NULL;
  g_autoptr (ReplayPlan)        plan = NULL;
  g_autofree char              *text = NULL, *wanted = NULL;
  const char *const            *words = origins[_i].words;
  gboolean                      model = FALSE, length = FALSE;

  for (guint i = 0; i < MAX_WORDS && words[i] != NULL; i++)
    {
      add_word (overrides, strings, words[i]);
      model |= g_str_has_prefix (words[i], "arch=") || g_str_has_prefix (words[i], "config=");
      length |= g_str_has_prefix (words[i], "seq-len=");
    }
  g_array_append_vals (overrides, rest, 1);
  if (!model)
    add_word (overrides, strings, "config=gpt2-xl");
  if (!length)
    add_word (overrides, strings, "seq-len=128");
  scenarios = scenario_load (NULL, NULL, (const ScenarioOverride *) (gconstpointer) overrides->data,
                             overrides->len, diags);
  ck_assert_ptr_nonnull (scenarios);
  plan = replay_plan_scenario (g_ptr_array_index (scenarios, 0), profiles, diags);
  ck_assert_ptr_null (plan);
  text = diag_list_format (diags, FALSE);
  wanted = g_strdup (origins[_i].place);
  *strchr (wanted, '=') = ' '; /* "--intra pcie4-hots: error" */
  ck_assert_msg (g_str_has_prefix (text, wanted), "expected '%s', got '%s'", wanted, text);
  g_string_chunk_free (strings);
}
END_TEST

/* ---- names ----------------------------------------------------------------------------------- */

static char *
title_of (const char *cluster, const char *model, const char *strategy)
{
  const ScenarioOverride overrides[] = { { "cluster.name", cluster, "--cluster" },
                                         { "model.config", model, "--model" },
                                         { "strategy.name", strategy, "--strategy" },
                                         { "training.seq_len", "128", "--seq-len" } };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GPtrArray)  scenarios =
      scenario_load (NULL, NULL, overrides, G_N_ELEMENTS (overrides), diags);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (ReplayPlan) plan = NULL;
  const Scenario        *scenario;

  ck_assert_ptr_nonnull (scenarios);
  scenario = g_ptr_array_index (scenarios, 0);
  plan = replay_plan_scenario (scenario, profiles, diags);
  ck_assert_ptr_nonnull (plan);
  return g_strdup_printf ("%s %s %s", cluster_title (replay_plan_resolved (plan)->cluster),
                          workload_shape (replay_plan_resolved (plan)->workload)->name,
                          scenario->strategy->strategy->name);
}

/* Profiles, models and strategies go by their names in letters of either case. */
START_TEST (test_names)
{
  g_autofree char *plain = title_of ("2 x dgx-a100", "gpt2-xl", "fsdp2");
  g_autofree char *upper = title_of ("2 x DGX-A100", "GPT2-XL", "FSDP2");

  ck_assert_str_eq (plain, upper);
}
END_TEST

static Suite *
options_suite (void)
{
  Suite *suite = suite_create ("options");
  TCase *tests = tcase_create ("options");

  tcase_add_test (tests, test_numbers);
  tcase_add_test (tests, test_words);
  tcase_add_loop_test (tests, test_origins, 0, G_N_ELEMENTS (origins));
  tcase_add_test (tests, test_names);
  suite_add_tcase (suite, tests);
  return suite;
}

SUITE_MAIN (options)
{
  return fixture_main (options_suite ());
}
