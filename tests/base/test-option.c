/*
 * Option tables: every type with its good and bad values, all errors of a map in one pass, and a
 * property over random values: what option_format prints, option_set reads back, in a copy that
 * shares nothing with its source.
 */
#include <math.h>

#include "../suite.h"
#include "base/config/option.h"
#include "fixture.h"

typedef struct
{
  char    *name;
  gboolean compile;
  gint64   micro_batch;
  gint     checkpointing;
  double   bandwidth;
  double   efficiency;
  gint64   limit;
  double   delay;
  char    *note;
  gint64   offset;
  char    *group;
} Options;

static const char *const checkpointing_names[] = { "none", "selective", "full", NULL };

static const OptionSpec table[] = {
  { .key = "name",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Options, name),
    .help = "what it is called" },
  { .key = "compile",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Options, compile),
    .fallback = "yes" },
  { .key = "micro_batch",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (Options, micro_batch),
    .min = 1,
    .max = 4096,
    .help = "sequences per step and GPU" },
  { .key = "activation_checkpointing",
    .type = OPTION_ENUM,
    .choices = checkpointing_names,
    .offset = G_STRUCT_OFFSET (Options, checkpointing),
    .fallback = "selective" },
  { .key = "bandwidth",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BANDWIDTH,
    .offset = G_STRUCT_OFFSET (Options, bandwidth),
    .fallback = "25 GB/s",
    .min = 1e6,
    .max = 1e13 },
  { .key = "efficiency",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    .offset = G_STRUCT_OFFSET (Options, efficiency),
    .fallback = "85 %",
    .max = 1 },
  { .key = "limit",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (Options, limit),
    .optional = TRUE,
    .min = 1,
    .max = -1 },
  { .key = "delay",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_TIME,
    .offset = G_STRUCT_OFFSET (Options, delay),
    .optional = TRUE },
  { .key = "note",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Options, note),
    .optional = TRUE },
  { .key = "offset",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (Options, offset),
    .fallback = "-1" },
  { .key = "group",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Options, group),
    .fallback = "all" },
  { 0 },
};

START_TEST (test_defaults)
{
  Options options = { 0 };

  option_table_defaults (table, &options);
  ck_assert_ptr_null (options.name);
  ck_assert_int_eq (options.compile, TRUE);
  ck_assert_int_eq (options.micro_batch, 0);
  ck_assert_int_eq (options.checkpointing, 1);
  ck_assert (options.bandwidth == 25e9);
  ck_assert (options.efficiency == 0.85);
  ck_assert_int_eq (options.offset, -1);
  option_table_clear (table, &options);
}
END_TEST

/* Sets KEY to TEXT; NULL, or the diagnostics printed. */
static char *
set (Options *options, const char *key, const char *text)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  const SourceMark     mark = { "--set", 0, 0, 0, NULL };
  gboolean             ok = option_set_key (table, options, key, text, &mark, diags);

  ck_assert_int_eq (ok, !diag_list_has_errors (diags));
  return ok ? NULL : diag_list_format (diags, FALSE);
}

START_TEST (test_bools)
{
  static const char *const on[] = { "1", "true", "True", "yes", "ON", " true " };
  static const char *const off[] = { "0", "false", "FALSE", "no", "Off" };
  Options                  options = { 0 };
  g_autofree char         *refused = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (on); i++)
    {
      options.compile = FALSE;
      ck_assert_ptr_null (set (&options, "compile", on[i]));
      ck_assert_int_eq (options.compile, TRUE);
    }
  for (guint i = 0; i < G_N_ELEMENTS (off); i++)
    {
      options.compile = TRUE;
      ck_assert_ptr_null (set (&options, "compile", off[i]));
      ck_assert_int_eq (options.compile, FALSE);
    }
  refused = set (&options, "compile", "maybe");
  ck_assert_str_eq (refused, "--set: error: expected true or false for 'compile', got 'maybe'\n");
}
END_TEST

START_TEST (test_ints)
{
  static const struct
  {
    const char *text;
    gint64      value;
  } good[] = {
    { "0", 0 },
    { "-17", -17 },
    { "+3", 3 },
    { "007", 7 },
    { "5e8", 500000000 },
    { "1.5k", 1500 },
    { "2.50e1", 25 },
    { "2M", 2000000 },
    { "3G", G_GINT64_CONSTANT (3000000000) },
    { "4T", G_GINT64_CONSTANT (4000000000000) },
    { "100e-2", 1 },
    { "1e3k", 1000000 },
    { "0e999999999999999999999", 0 },
    { "9007199254740993", G_GINT64_CONSTANT (9007199254740993) }, /* 2^53 + 1 */
    { "9223372036854775807", G_MAXINT64 },
    { "-9223372036854775807", -G_MAXINT64 },
  };
  static const char *const bad[] = { "",
                                     "x",
                                     "1.5",
                                     "1e-1",
                                     "0x10",
                                     "1 2",
                                     "1,000",
                                     "--1",
                                     "1e",
                                     "5 GB",
                                     "1Ki",
                                     "nan",
                                     "inf",
                                     ".",
                                     "1k5",
                                     "1..5",
                                     "1e99",
                                     "9223372036854775808",
                                     "1e",
                                     "1e+",
                                     "- 1",
                                     "true",
                                     "99999999999999999999999" };
  Options                  options = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autofree char *refused = set (&options, "offset", good[i].text);
      ck_assert_msg (!refused, "%s", refused);
      ck_assert_int_eq (options.offset, good[i].value);
    }
  options.offset = 42;
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autofree char *refused = set (&options, "offset", bad[i]);
      g_autofree char *expected =
          g_strdup_printf ("--set: error: expected a whole number for 'offset', got '%s'\n"
                           "  hint: such as 8, 4k or 5e8\n",
                           bad[i]);

      ck_assert_msg (refused, "'%s' was accepted", bad[i]);
      ck_assert_str_eq (refused, expected);
      ck_assert_int_eq (options.offset, 42);
    }
}
END_TEST

static const struct
{
  const char *key, *text, *message;
} bad_values[] = {
  { "micro_batch", "0", "--set: error: 'micro_batch' must be between 1 and 4096, got '0'\n" },
  { "micro_batch", "5k", "--set: error: 'micro_batch' must be between 1 and 4096, got '5k'\n" },
  { "limit", "0", "--set: error: 'limit' must be at least 1, got '0'\n" },
  { "efficiency", "101 %",
    "--set: error: 'efficiency' must be between 0 and 100 %, got '101 %'\n" },
  { "bandwidth", "1 B/s",
    "--set: error: 'bandwidth' must be between 1 MB/s and 10 TB/s, got '1 B/s'\n" },
  { "bandwidth", "fast",
    "--set: error: 'bandwidth': expected a bandwidth such as '900 GB/s', got 'fast'\n"
    "  hint: units of a bandwidth: bytes as B/s, kB/s, MB/s, GB/s, TB/s, PB/s or KiB/s, MiB/s, "
    "GiB/s, TiB/s; bits as bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s\n" },
  { "delay", "0 s",
    "--set: error: 'delay' must be above 0, got '0 s': leave it out for its default\n" },
  { "delay", "-1 s",
    "--set: error: 'delay': expected a time such as '1.3 us', got '-1 s', which is negative\n"
    "  hint: units of a time: ps, ns, us, ms, s, min, h\n" },
  { "activation_checkpointing", "ful",
    "--set: error: unknown value 'ful' for 'activation_checkpointing'\n"
    "  hint: did you mean 'full'?\n" },
  { "activation_checkpointing", "Fulll",
    "--set: error: unknown value 'Fulll' for 'activation_checkpointing'\n"
    "  hint: did you mean 'full'?\n" },
  { "activation_checkpointing", "sometimes",
    "--set: error: unknown value 'sometimes' for 'activation_checkpointing'\n"
    "  hint: valid values: none, selective, full\n" },
  { "micro_bacth", "1",
    "--set: error: unknown key 'micro_bacth'\n  hint: did you mean 'micro_batch'?\n" },
  { "volume", "1",
    "--set: error: unknown key 'volume'\n"
    "  hint: valid keys: name, compile, micro_batch, activation_checkpointing, bandwidth, "
    "efficiency, limit, delay, note, offset, group\n" },
};

START_TEST (test_bad_values)
{
  Options          options = { 0 };
  g_autofree char *refused = NULL;

  option_table_defaults (table, &options);
  options.micro_batch = 3;
  refused = set (&options, bad_values[_i].key, bad_values[_i].text);
  ck_assert_str_eq (refused, bad_values[_i].message);
  ck_assert_int_eq (options.micro_batch, 3);
  ck_assert_int_eq (options.checkpointing, 1);
  ck_assert (options.bandwidth == 25e9 && options.efficiency == 0.85 && options.delay == 0);
  option_table_clear (table, &options);
}
END_TEST

START_TEST (test_range_is_inclusive)
{
  Options options = { 0 };

  ck_assert_ptr_null (set (&options, "micro_batch", "1"));
  ck_assert_ptr_null (set (&options, "micro_batch", "4096"));
  ck_assert_ptr_null (set (&options, "efficiency", "0"));
  ck_assert_ptr_null (set (&options, "efficiency", "100 %"));
  ck_assert_ptr_null (set (&options, "limit", "9223372036854775807"));
}
END_TEST

START_TEST (test_strings)
{
  static const char *const empty[] = { "", " ", "\t " };
  Options                  options = { 0 };

  ck_assert_ptr_null (set (&options, "name", "a"));
  ck_assert_ptr_null (set (&options, "name", " b "));
  ck_assert_str_eq (options.name, " b ");
  for (guint i = 0; i < G_N_ELEMENTS (empty); i++)
    {
      g_autofree char *refused = set (&options, "name", empty[i]);

      ck_assert_ptr_nonnull (strstr (refused, "'name' has no value"));
      ck_assert_str_eq (options.name, " b ");
    }
  option_unset (option_table_find (table, "name"), &options);
  ck_assert_ptr_null (options.name);
}
END_TEST

/* What is unset prints as nothing: it must be the default. */
START_TEST (test_string_unset_is_default)
{
  Options options = { 0 };

  ck_assert_ptr_null (set (&options, "group", "node"));
  option_unset (option_table_find (table, "group"), &options);
  ck_assert_str_eq (options.group, "all");
  option_table_clear (table, &options);
}
END_TEST

START_TEST (test_optional_unset)
{
  Options          options = { 0 };
  g_autofree char *refused = NULL, *required = NULL;

  ck_assert_ptr_null (set (&options, "limit", "8"));
  refused = set (&options, "limit", "");
  ck_assert_ptr_nonnull (refused);
  ck_assert_int_eq (options.limit, 8);
  option_unset (option_table_find (table, "limit"), &options);
  ck_assert_int_eq (options.limit, 0);
  required = set (&options, "micro_batch", "");
  ck_assert_ptr_nonnull (required);
}
END_TEST

static gboolean
load_map (const char *text, Options *options, DiagList *diags)
{
  static const char *const ignore[] = { "source", "confidence", NULL };
  g_autoptr (ConfigDoc)    doc = config_load_text ("x.yaml", text, -1, diags);

  return option_load_map (table, options, config_doc_root (doc), ignore, diags);
}

START_TEST (test_load_map)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Options              options = { 0 };

  option_table_defaults (table, &options);
  ck_assert (load_map ("name: x\nsource: a page\nmicro_batch: 4\nbandwidth: 400 Gbit/s\n"
                       "activation_checkpointing: full\ncompile: off\ndelay: ~\nlimit: 7\n",
                       &options, diags));
  assert_diags (diags, "");
  ck_assert_str_eq (options.name, "x");
  ck_assert_int_eq (options.micro_batch, 4);
  ck_assert (options.bandwidth == 50e9);
  ck_assert_int_eq (options.checkpointing, 2);
  ck_assert_int_eq (options.compile, FALSE);
  ck_assert (options.efficiency == 0.85); /* absent: kept */
  ck_assert_int_eq (options.limit, 7);
  ck_assert (load_map ("", &options, diags));
  ck_assert (load_map ("---\n", &options, diags));
  ck_assert_str_eq (options.name, "x");
  option_table_clear (table, &options);
  ck_assert_ptr_null (options.name);
}
END_TEST

/* Keys of one beginning may stand in a map under it; what is in it is diagnosed as its own. */
START_TEST (test_load_group)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Options              options = { 0 };

  ck_assert (
      load_map ("micro: { batch: 4 }\nactivation: { checkpointing: full }\n", &options, diags));
  assert_diags (diags, "");
  ck_assert_int_eq (options.micro_batch, 4);
  ck_assert_int_eq (options.checkpointing, 2);
  ck_assert (!load_map ("micro: { batch: 0, bach: 1 }\nmicro_: { batch: 1 }\n", &options, diags));
  assert_diags (diags, "x.yaml:1:17: error: 'micro_batch' must be between 1 and 4096, got '0'\n"
                       "  micro: { batch: 0, bach: 1 }\n"
                       "                  ^\n"
                       "x.yaml:1:20: error: unknown key 'micro_bach'\n"
                       "  micro: { batch: 0, bach: 1 }\n"
                       "                     ^~~~\n"
                       "  hint: did you mean 'micro_batch'?\n"
                       "x.yaml:2:1: error: unknown key 'micro_'\n"
                       "  micro_: { batch: 1 }\n"
                       "  ^~~~~~\n"
                       "  hint: valid keys: name, compile, micro_batch, activation_checkpointing, "
                       "bandwidth, efficiency, limit, delay, note, offset, group, source, "
                       "confidence\n");
  option_table_clear (table, &options);
}
END_TEST

/* Nothing between the brackets is another mistake than too much. */
START_TEST (test_empty_list)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Options              options = { 0 };
  ck_assert (!load_map ("micro_batch: []\n", &options, diags));
  assert_diags (diags, "x.yaml:1:14: error: the list of 'micro_batch' is empty\n"
                       "  micro_batch: []\n"
                       "               ^\n");
}
END_TEST

/* Every error of a map, in the order of the file, and the good values beside them still set. */
START_TEST (test_all_errors_in_one_pass)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Options              options = { 0 };

  ck_assert (!load_map (
      "micro_batch: 0\nbandwidth: 900\nmicro_bach: 1\nname: [a]\ncompile: {}\n"
      "activation_checkpointing: all\nconfidnce: x\nmicro_batch: 2\nefficiency:\nnote: kept\n",
      &options, diags));
  assert_diags (
      diags,
      "x.yaml:8:1: error: duplicate key 'micro_batch'\n"
      "  micro_batch: 2\n"
      "  ^~~~~~~~~~~\n"
      "  hint: first given in line 1\n"
      "x.yaml:1:14: error: 'micro_batch' must be between 1 and 4096, got '0'\n"
      "  micro_batch: 0\n"
      "               ^\n"
      "x.yaml:2:12: error: expected a bandwidth such as '900 GB/s', got '900', which has no unit\n"
      "  bandwidth: 900\n"
      "             ^~~\n"
      "  hint: units of a bandwidth: bytes as B/s, kB/s, MB/s, GB/s, TB/s, PB/s or KiB/s, MiB/s, "
      "GiB/s, TiB/s; bits as bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s\n"
      "x.yaml:3:1: error: unknown key 'micro_bach'\n"
      "  micro_bach: 1\n"
      "  ^~~~~~~~~~\n"
      "  hint: did you mean 'micro_batch'?\n"
      "x.yaml:4:7: error: expected a single value for 'name', got a list\n"
      "  name: [a]\n"
      "        ^\n"
      "x.yaml:5:10: error: expected a single value for 'compile', got a map\n"
      "  compile: {}\n"
      "           ^\n"
      "x.yaml:6:27: error: unknown value 'all' for 'activation_checkpointing'\n"
      "  activation_checkpointing: all\n"
      "                            ^~~\n"
      "  hint: valid values: none, selective, full\n"
      "x.yaml:7:1: error: unknown key 'confidnce'\n"
      "  confidnce: x\n"
      "  ^~~~~~~~~\n"
      "  hint: did you mean 'confidence'?\n"
      "x.yaml:9:1: error: 'efficiency' has no value\n"
      "  efficiency:\n"
      "  ^~~~~~~~~~\n");
  ck_assert_str_eq (options.note, "kept");
  option_table_clear (table, &options);
}
END_TEST

START_TEST (test_load_map_of_another_kind)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Options              options = { 0 };

  ck_assert (!load_map ("[a, b]\n", &options, diags));
  ck_assert (!load_map ("text\n", &options, diags));
  assert_diags (diags, "x.yaml:1:1: error: expected a map, got a list\n  [a, b]\n  ^\n"
                       "x.yaml:1:1: error: expected a map, got a value\n  text\n  ^~~~\n");
}
END_TEST

START_TEST (test_required)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Options              options = { 0 };

  option_table_defaults (table, &options);
  ck_assert (
      !option_check_required (table, &options, &(SourceMark){ "x.yaml", 0, 0, 0, NULL }, diags));
  assert_diags (diags,
                "x.yaml: error: missing 'name'\n  hint: what it is called\n"
                "x.yaml: error: missing 'micro_batch'\n  hint: sequences per step and GPU\n");
  options.micro_batch = 1;
  options.name = g_strdup ("x");
  ck_assert (option_check_required (table, &options, NULL, diags));
  ck_assert_uint_eq (diag_list_n_errors (diags), 2);
  option_table_clear (table, &options);
}
END_TEST

START_TEST (test_keys)
{
  g_autofree const char **keys = option_table_keys (table);

  ck_assert_str_eq (keys[0], "name");
  ck_assert_str_eq (keys[9], "offset");
  ck_assert_str_eq (keys[10], "group");
  ck_assert_ptr_null (keys[11]);
  ck_assert_ptr_eq (option_table_find (table, "bandwidth"), &table[4]);
  ck_assert_ptr_null (option_table_find (table, "band"));
}
END_TEST

static void
randomize (GRand *rand, Options *options)
{
  static const char *const words[] = { "a", "two words", " \303\244 ", "x: y # z", "\"quoted\"" };

  options->name = g_strdup (words[g_rand_int_range (rand, 0, G_N_ELEMENTS (words))]);
  options->compile = g_rand_boolean (rand);
  options->micro_batch = g_rand_int_range (rand, 1, 4097);
  options->checkpointing = g_rand_int_range (rand, 0, 3);
  options->bandwidth = pow (10, g_rand_double_range (rand, 6, 13));
  options->efficiency = g_rand_double (rand);
  options->limit = g_rand_boolean (rand) ? 0 : g_rand_int_range (rand, 1, G_MAXINT);
  options->delay = pow (10, g_rand_double_range (rand, -12, 5));
  options->note = g_rand_boolean (rand) ? NULL : g_strdup ("note");
  options->offset = (gint64) (((guint64) g_rand_int (rand) << 32) | g_rand_int (rand));
  if (options->offset == G_MININT64)
    options->offset = 0;
}

static void
assert_same (const Options *a, const Options *b)
{
  ck_assert_int_eq (g_strcmp0 (a->name, b->name), 0);
  ck_assert_int_eq (a->compile, b->compile);
  ck_assert_int_eq (a->micro_batch, b->micro_batch);
  ck_assert_int_eq (a->checkpointing, b->checkpointing);
  ck_assert (a->bandwidth == b->bandwidth);
  ck_assert (a->efficiency == b->efficiency);
  ck_assert_int_eq (a->limit, b->limit);
  ck_assert (a->delay == b->delay);
  ck_assert_int_eq (g_strcmp0 (a->note, b->note), 0);
  ck_assert_int_eq (a->offset, b->offset);
}

START_TEST (test_round_trips)
{
  const guint32     seed = 7;
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

  for (guint i = 0; i < 500; i++)
    {
      Options source = { 0 }, copy = { 0 }, again = { 0 };

      randomize (rand, &source);
      option_table_copy (table, &source, &copy);
      assert_same (&source, &copy);
      ck_assert (source.name != copy.name && (!source.note || source.note != copy.note));
      for (const OptionSpec *spec = table; spec->key; spec++)
        {
          g_autofree char *text = option_format (spec, &source);
          g_autofree char *refused = *text != '\0' ? set (&again, spec->key, text) : NULL;

          if (*text == '\0')
            option_unset (spec, &again);
          ck_assert_msg (!refused, "seed %u, case %u: %s", seed, i, refused);
        }
      option_table_clear (table, &source);
      assert_same (&copy, &again);
      option_table_clear (table, &copy);
      option_table_clear (table, &again);
    }
}
END_TEST

SUITE_MAIN (option)
{
  TCase *tcase = tcase_create ("option");

  tcase_add_test (tcase, test_defaults);
  tcase_add_test (tcase, test_bools);
  tcase_add_test (tcase, test_ints);
  tcase_add_loop_test (tcase, test_bad_values, 0, G_N_ELEMENTS (bad_values));
  tcase_add_test (tcase, test_range_is_inclusive);
  tcase_add_test (tcase, test_strings);
  tcase_add_test (tcase, test_string_unset_is_default);
  tcase_add_test (tcase, test_optional_unset);
  tcase_add_test (tcase, test_load_map);
  tcase_add_test (tcase, test_load_group);
  tcase_add_test (tcase, test_empty_list);
  tcase_add_test (tcase, test_all_errors_in_one_pass);
  tcase_add_test (tcase, test_load_map_of_another_kind);
  tcase_add_test (tcase, test_required);
  tcase_add_test (tcase, test_keys);
  tcase_add_test (tcase, test_round_trips);
  return run_case (suite_create ("option"), tcase);
}
