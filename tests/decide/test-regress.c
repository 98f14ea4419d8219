/*
 * Predictions against a baseline: limits, the file's round trip, and what is said to have moved a
 * result. Does not judge the predictions.
 */
#include <check.h>
#include <float.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "../suite.h"
#include "report/regress/regress.h"

static const ScenarioOverride words[] = {
  { "name", "small", "test" },          { "cluster.node", "dgx-a100", "test" },
  { "cluster.nodes", "2", "test" },     { "model.arch", "llama", "test" },
  { "model.n_layers", "2", "test" },    { "model.d_model", "2048", "test" },
  { "model.n_heads", "4", "test" },     { "model.d_ff", "8192", "test" },
  { "model.vocab", "1000", "test" },    { "training.seq_len", "2048", "test" },
  { "strategy.name", "fsdp2", "test" },
};

/* The small scenario with N further options. */
static Scenario *
small (const ScenarioOverride *further, guint n)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = scenario_load (NULL, NULL, words, G_N_ELEMENTS (words), diags);
  Scenario             *scenario;

  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  scenario = scenario_with (g_ptr_array_index (all, 0), NULL, further, n, diags);
  ck_assert_msg (scenario != NULL, "%s", diag_list_first_message (diags));
  return scenario;
}

static RegressRow *
row_of (const Scenario *scenario, const PredictOptions *options)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  RegressRow          *row = regress_row_predict (scenario, options, report_results, diags, &error);

  ck_assert_msg (row != NULL, "%s", diag_list_first_message (diags));
  return row;
}

static double
number_of (const RegressRow *row, const char *name)
{
  const RegressResult *result = regress_row_result (row, name);

  ck_assert_ptr_nonnull (result);
  return result->number;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static const struct
{
  const char *text;
  gboolean    good, relative, any;
  double      value;
} limit_cases[] = {
  { "step_time_s=0.5%", TRUE, TRUE, FALSE, 0.005 },
  { "step_time_s=0.5 %", TRUE, TRUE, FALSE, 0.005 },
  { "peak_host_gib=0.25", TRUE, FALSE, FALSE, 0.25 },
  { "all=1%", TRUE, TRUE, FALSE, 0.01 },
  { "binding_resource=any", TRUE, FALSE, TRUE, 0 },
  { "step_time_s", FALSE, FALSE, FALSE, 0 },
  { "step_time_s=", FALSE, FALSE, FALSE, 0 },
  { "step_time_s=-1%", FALSE, FALSE, FALSE, 0 },
  { "step_time_s=nan", FALSE, FALSE, FALSE, 0 },
  { "step_time_s=1 s", FALSE, FALSE, FALSE, 0 },
  { "speed=1%", FALSE, FALSE, FALSE, 0 },
  { "scenario=any", FALSE, FALSE, FALSE, 0 }, /* no result: what it is of */
};

START_TEST (test_limits)
{
  g_autofree const char **names = report_result_names ();
  g_autoptr (DiagList)    diags = diag_list_new ();
  RegressLimit            limit;
  const gboolean          good = regress_limit_parse (limit_cases[_i].text, names, &limit, diags);

  ck_assert_msg (good == limit_cases[_i].good, "%s", limit_cases[_i].text);
  ck_assert_int_eq (diag_list_has_errors (diags), !good);
  if (!good)
    return;
  ck_assert_int_eq (limit.relative, limit_cases[_i].relative);
  ck_assert_int_eq (limit.any, limit_cases[_i].any);
  ck_assert_double_eq_tol (limit.value, limit_cases[_i].value, 1e-15);
}
END_TEST

/* ---- verdicts -------------------------------------------------------------------------------- */

static const struct
{
  double         was, now;
  const char    *limit; /* NULL: none */
  RegressVerdict verdict;
} verdict_cases[] = {
  { 2, 2, NULL, REGRESS_SAME },
  { 2, 2 * (1 + 0.9e-9), NULL, REGRESS_SAME },
  { 2, 2 * (1 + 1.1e-9), NULL, REGRESS_MOVED },
  { 2, 2 * (1 - 1.1e-9), NULL, REGRESS_MOVED }, /* better is a move as well */
  { 2, 2.0199, "step_time_s=1%", REGRESS_WITHIN },
  { 2, 2.0201, "step_time_s=1%", REGRESS_MOVED },
  { 2, 1.9799, "step_time_s=1%", REGRESS_MOVED },
  { 2, 2.2, "step_time_s=0.25", REGRESS_WITHIN },
  { 2, 2.3, "step_time_s=0.25", REGRESS_MOVED },
  { 2, 2.3, "mfu_percent=any", REGRESS_MOVED }, /* of another result */
  { 2, 2.3, "all=any", REGRESS_WITHIN },
  { 0, 0, NULL, REGRESS_SAME },
  { 0, 1e-30, "step_time_s=50%", REGRESS_MOVED }, /* any share of nothing */
  { 0, 1e-30, "step_time_s=1e-20", REGRESS_WITHIN },
  { NAN, NAN, NULL, REGRESS_SAME },
  { NAN, 1, "step_time_s=50%", REGRESS_MOVED },
  { 1, NAN, "step_time_s=any", REGRESS_WITHIN },
};

static RegressRow *
row_with (const char *scenario, const char *name, double number, const char *text)
{
  RegressRow   *row = regress_row_new (scenario, "0.0.1");
  RegressResult result = { .name = g_strdup (name), .number = number, .text = g_strdup (text) };

  g_array_append_val (row->results, result);
  regress_row_sort (row);
  return row;
}

START_TEST (test_verdicts)
{
  g_autofree const char       **names = report_result_names ();
  g_autoptr (DiagList)          diags = diag_list_new ();
  g_autoptr (Baseline)          baseline = baseline_new ();
  g_autoptr (GArray)            limits = g_array_new (FALSE, FALSE, sizeof (RegressLimit));
  g_autoptr (RegressRow)        now = row_with ("x", "step_time_s", verdict_cases[_i].now, NULL);
  g_autoptr (RegressComparison) compared = NULL;
  RegressLimit                  limit;

  baseline_put (baseline, row_with ("x", "step_time_s", verdict_cases[_i].was, NULL));
  if (verdict_cases[_i].limit != NULL)
    {
      ck_assert (regress_limit_parse (verdict_cases[_i].limit, names, &limit, diags));
      g_array_append_val (limits, limit);
    }
  compared = regress_compare (baseline, now, limits, diags);
  ck_assert_uint_eq (compared->changes->len, 1);
  ck_assert_int_eq (g_array_index (compared->changes, RegressChange, 0).verdict,
                    verdict_cases[_i].verdict);
  ck_assert_uint_eq (compared->n[verdict_cases[_i].verdict], 1);
  ck_assert_uint_eq (compared->causes->len, 0);
}
END_TEST

/* Words, and results that only one side has. */
START_TEST (test_words_and_sides)
{
  g_autoptr (DiagList)          diags = diag_list_new ();
  g_autoptr (Baseline)          baseline = baseline_new ();
  g_autoptr (RegressRow)        now = row_with ("x", "binding_resource", NAN, "hbm");
  g_autoptr (RegressRow)        same = row_with ("x", "binding_resource", NAN, "sm");
  g_autoptr (RegressRow)        later = row_with ("x", "new_result", 1, NULL);
  g_autoptr (RegressComparison) moved = NULL, kept = NULL, sides = NULL;
  guint                         index = 0;

  baseline_put (baseline, row_with ("x", "binding_resource", NAN, "sm"));
  moved = regress_compare (baseline, now, NULL, diags);
  kept = regress_compare (baseline, same, NULL, diags);
  sides = regress_compare (baseline, later, NULL, diags);
  ck_assert_uint_eq (moved->n[REGRESS_MOVED], 1);
  ck_assert_ptr_null (regress_headline (moved, &index)); /* no number did */
  ck_assert_uint_eq (kept->n[REGRESS_SAME], 1);
  ck_assert_uint_eq (sides->n[REGRESS_NEW], 1);   /* that the program gained */
  ck_assert_uint_eq (sides->n[REGRESS_MOVED], 1); /* that it lost */
  ck_assert (!diag_list_has_errors (diags));
}
END_TEST

/* ---- the file -------------------------------------------------------------------------------- */

static const double awkward[] = {
  0.1 + 0.2, 1.0 / 3.0, -0.0, DBL_MIN, DBL_TRUE_MIN, DBL_MAX, 1e23, 123456789012345680.0, NAN,
};

/* Every number comes back bit for bit, and what is written twice is the same. */
START_TEST (test_round_trip)
{
  static const char    odd[] = "a \"b\" \\ / \xC3\xA9: [1], #2 \x7F\xE2\x80\xA8\t\n\x01";
  g_autoptr (Baseline) baseline = baseline_new (), back = NULL;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GString)  first = g_string_new (NULL), second = g_string_new (NULL);
  g_autofree char     *file = NULL;
  RegressRow          *row = regress_row_new (odd, "0.0.1");
  const RegressRow    *read;
  int                  fd = g_file_open_tmp ("baseline-XXXXXX", &file, NULL);

  ck_assert_int_ge (fd, 0);
  close (fd);
  for (guint i = 0; i < G_N_ELEMENTS (awkward); i++)
    {
      RegressResult result = { .name = g_strdup_printf ("n%u", i), .number = awkward[i] };

      g_array_append_val (row->results, result);
    }
  regress_row_add_input (row, "options", "training.micro_batch", "1");
  regress_row_add_input (row, "gpu g-1", "efficiency", "0.5");
  regress_row_add_input (row, "gpu g-1", "bandwidth", "900 GB/s");
  regress_row_sort (row);
  baseline_put (baseline, row);
  baseline_put (baseline, row_with ("zz", "step_time_s", 1, NULL));
  baseline_put (baseline, row_with ("aa", "binding_resource", NAN, "null"));
  report_baseline (baseline, first);
  ck_assert (g_file_set_contents (file, first->str, -1, NULL));
  back = baseline_load (file, diags);
  g_unlink (file);
  ck_assert_msg (back != NULL, "%s", diag_list_first_message (diags));
  report_baseline (back, second);
  ck_assert_str_eq (first->str, second->str);
  read = baseline_find (back, odd);
  ck_assert_ptr_nonnull (read);
  for (guint i = 0; i < G_N_ELEMENTS (awkward); i++)
    {
      g_autofree char *name = g_strdup_printf ("n%u", i);
      const double     number = number_of (read, name);

      ck_assert (isnan (awkward[i]) ? isnan (number)
                                    : memcmp (&number, &awkward[i], sizeof number) == 0);
    }
  ck_assert_str_eq (regress_row_input (read, "gpu g-1", "bandwidth")->value, "900 GB/s");
  ck_assert_str_eq (((RegressRow *) g_ptr_array_index (back->rows, 0))->scenario, odd);
}
END_TEST

/* A run of a part of the scenarios keeps the rows of the others, unless they are pruned. */
START_TEST (test_prune)
{
  g_autoptr (Baseline)  baseline = baseline_new ();
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify) regress_row_free);

  baseline_put (baseline, row_with ("a", "step_time_s", 1, NULL));
  baseline_put (baseline, row_with ("b", "step_time_s", 1, NULL));
  baseline_put (baseline, row_with ("b", "step_time_s", 2, NULL));
  ck_assert_uint_eq (baseline->rows->len, 2);
  ck_assert_double_eq (number_of (baseline_find (baseline, "b"), "step_time_s"), 2);
  g_ptr_array_add (rows, row_with ("b", "step_time_s", 3, NULL));
  baseline_prune (baseline, rows);
  ck_assert_uint_eq (baseline->rows->len, 1);
  ck_assert_ptr_null (baseline_find (baseline, "a"));
}
END_TEST

/* ---- causes ---------------------------------------------------------------------------------- */

/* NOW against the row of BEFORE, explained. */
static RegressComparison *
explained (Baseline *baseline, RegressRow *before, const Scenario *scenario, const RegressRow *now)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  const PredictOptions plain = { 0 };
  RegressComparison   *self;

  baseline_put (baseline, before);
  self = regress_compare (baseline, now, NULL, diags);
  regress_explain (self, scenario, NULL, &plain, report_results);
  return self;
}

static const RegressCause *
cause_of (const RegressComparison *self, const char *group, const char *key)
{
  for (guint i = 0; i < self->causes->len; i++)
    {
      const RegressCause *cause = &g_array_index (self->causes, RegressCause, i);

      if (g_str_equal (cause->group, group) && g_str_equal (cause->key, key))
        return cause;
    }
  return NULL;
}

static double
effect_on_time (const RegressComparison *self, const GArray *effects)
{
  ck_assert_ptr_nonnull (effects);
  for (guint i = 0; i < self->changes->len; i++)
    if (g_str_equal (g_array_index (self->changes, RegressChange, i).now->name, "step_time_s"))
      return g_array_index (effects, double, i);
  return NAN;
}

/* An option and a figure changed: each does alone what a run with it alone says. */
START_TEST (test_two_causes)
{
  const ScenarioOverride        more = { "training.micro_batch", "4", "test" };
  FigureChange                  low = { "gpu", "a100-sxm-40", "sustained_clock", 0.5, FALSE };
  const PredictOptions          plain = { 0 };
  const PredictOptions          lowered = { .changes = &low, .n_changes = 1 };
  g_autoptr (Scenario)          before = small (NULL, 0), after = small (&more, 1);
  g_autoptr (Baseline)          baseline = baseline_new ();
  g_autoptr (RegressRow)        now = row_of (after, &plain), option = NULL, figure = NULL;
  g_autoptr (RegressComparison) self = NULL;
  const RegressCause           *batch, *clock;
  RegressRow                   *was;
  double                        base;

  const RegressInput *gpu = NULL;

  for (guint i = 0; i < now->inputs->len && gpu == NULL; i++)
    if (g_str_has_prefix (g_array_index (now->inputs, RegressInput, i).group, "gpu "))
      gpu = &g_array_index (now->inputs, RegressInput, i);
  ck_assert_ptr_nonnull (gpu);
  low.id = gpu->group + strlen ("gpu ");
  was = row_of (before, &lowered);
  base = number_of (was, "step_time_s");
  option = row_of (after, &lowered);
  figure = row_of (before, &plain);
  ck_assert_double_gt (base, number_of (figure, "step_time_s")); /* a figure that counts */
  self = explained (baseline, was, after, now);
  ck_assert_uint_eq (self->causes->len, 2);
  batch = cause_of (self, "options", "training.micro_batch");
  clock = cause_of (self, gpu->group, "sustained_clock");
  ck_assert_ptr_nonnull (batch);
  ck_assert_ptr_nonnull (clock);
  ck_assert_str_eq (clock->was, "0.5");
  ck_assert_double_eq_tol (effect_on_time (self, batch->effects),
                           (number_of (option, "step_time_s") - base) / base, 1e-12);
  ck_assert_double_eq_tol (effect_on_time (self, clock->effects),
                           (number_of (figure, "step_time_s") - base) / base, 1e-12);
  ck_assert_double_eq (effect_on_time (self, self->program), 0);
}
END_TEST

/*
 * A profile's file says another figure: the program moved nothing, though products were measured on
 * that GPU, which another GPU would have otherwise.
 */
START_TEST (test_changed_file)
{
  static const char      text[] = "extends: h100-sxm-80\nmatmul_16bit:\n  value: 800 TFLOP/s\n"
                                  "  source: test\n  confidence: estimate\n";
  const ScenarioOverride own[] = { { "cluster.node", "dgx-h100", "test" },
                                   { "training.seq_len", "4096", "test" } };
  g_autofree char       *dir = g_dir_make_tmp ("regress-XXXXXX", NULL);
  g_autofree char       *gpus = g_build_filename (dir, "gpu", NULL);
  g_autofree char       *file = g_build_filename (gpus, "h100-sxm-80.yaml", NULL);
  g_autofree char       *shipped = layout_data_file ("hwprofiles");
  g_autofree char       *path = g_strconcat (dir, G_SEARCHPATH_SEPARATOR_S, shipped, NULL);
  const PredictOptions   plain = { 0 };
  const PredictOptions   laid = { .profile_dir = path };
  g_autoptr (Scenario)   scenario = small (own, G_N_ELEMENTS (own));
  g_autoptr (Baseline)   baseline = baseline_new ();
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (RegressRow) now = NULL;
  g_autoptr (RegressComparison) self = NULL;
  const RegressCause           *rate;

  g_mkdir (gpus, 0700);
  ck_assert (g_file_set_contents (file, text, -1, NULL));
  now = row_of (scenario, &laid);
  baseline_put (baseline, row_of (scenario, &plain));
  self = regress_compare (baseline, now, NULL, diags);
  regress_explain (self, scenario, NULL, &laid, report_results);
  rate = cause_of (self, "gpu h100-sxm-80", "matmul_16bit");
  ck_assert_ptr_nonnull (rate);
  ck_assert_double_gt (effect_on_time (self, rate->effects), 0.01);
  ck_assert_double_eq (effect_on_time (self, self->program), 0);
  g_unlink (file);
  g_rmdir (gpus);
  g_rmdir (dir);
}
END_TEST

/* Another strategy is one cause, whatever options come and go, and can be taken back. */
START_TEST (test_other_strategy)
{
  const ScenarioOverride        other[] = { { "strategy.name", "zero3", "test" } };
  const ScenarioOverride        tuned[] = { { "strategy.reshard_after_forward", "false", "test" },
                                            { "training.micro_batch", "2", "test" } };
  const PredictOptions          plain = { 0 };
  g_autoptr (Scenario)          before = small (tuned, 2), after = small (other, 1);
  g_autoptr (Baseline)          baseline = baseline_new ();
  g_autoptr (RegressRow)        now = row_of (after, &plain);
  g_autoptr (RegressComparison) self = explained (baseline, row_of (before, &plain), after, now);
  const RegressCause           *strategy = cause_of (self, "options", "strategy.name");

  ck_assert_uint_eq (self->causes->len, 2);
  ck_assert_ptr_nonnull (strategy);
  ck_assert_str_eq (strategy->was, "fsdp2");
  ck_assert_str_eq (strategy->now, "zero3");
  ck_assert_ptr_nonnull (strategy->effects);
  ck_assert_double_eq (effect_on_time (self, self->program), 0);
}
END_TEST

/* No input changed: it is the program. */
START_TEST (test_program)
{
  const PredictOptions          plain = { 0 };
  g_autoptr (Scenario)          scenario = small (NULL, 0);
  g_autoptr (Baseline)          baseline = baseline_new ();
  g_autoptr (RegressRow)        now = row_of (scenario, &plain);
  g_autoptr (GPtrArray)         all = g_ptr_array_new ();
  g_autoptr (GString)           out = g_string_new (NULL);
  g_autoptr (RegressComparison) self = NULL;
  const RegressAnswer           answer = { all, "b.json", NULL };
  RegressRow                   *was = row_of (scenario, &plain);

  ((RegressResult *) regress_row_result (was, "step_time_s"))->number /= 2;
  g_free (was->program_version);
  was->program_version = g_strdup ("0.0.1");
  self = explained (baseline, was, scenario, now);
  ck_assert_uint_eq (self->causes->len, 0);
  ck_assert_uint_eq (self->n[REGRESS_MOVED], 1);
  g_ptr_array_add (all, self);
  report_answer (&regress_page, &answer, FORMAT_TEXT, out);
  ck_assert_ptr_nonnull (strstr (out->str, "no input changed: shardsim 0.0.1 -> "));
  ck_assert_ptr_nonnull (strstr (out->str, "+100.0 %"));
}
END_TEST

/* An option that the program gained since counts where somebody set it, and nowhere else. */
START_TEST (test_gained_option)
{
  const ScenarioOverride        batch = { "training.micro_batch", "2", "test" };
  const PredictOptions          plain = { 0 };
  g_autoptr (DiagList)          diags = diag_list_new ();
  g_autoptr (Scenario)          scenario = small (&batch, 1);
  g_autoptr (Baseline)          baseline = baseline_new ();
  g_autoptr (RegressRow)        now = row_of (scenario, &plain);
  g_autoptr (RegressComparison) self = NULL;
  RegressRow                   *was = row_of (scenario, &plain);

  for (guint i = was->inputs->len; i-- > 0;)
    {
      const char *key = g_array_index (was->inputs, RegressInput, i).key;

      if (g_str_equal (key, "training.compile") || g_str_equal (key, "training.micro_batch"))
        g_array_remove_index (was->inputs, i);
    }
  ck_assert_uint_eq (was->inputs->len + 2, now->inputs->len);
  baseline_put (baseline, was);
  self = regress_compare (baseline, now, NULL, diags);
  ck_assert_uint_eq (self->causes->len, 1);
  ck_assert_ptr_nonnull (cause_of (self, "options", "training.micro_batch"));
  ck_assert_uint_eq (self->n[REGRESS_SAME], self->changes->len);
}
END_TEST

/* Names and words that XML, Markdown and annotations would read as their own. */
START_TEST (test_escapes)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Baseline)   baseline = baseline_new ();
  g_autoptr (RegressRow) now = row_with ("<a|b> & \"c\"%", "step_time_s", 2, NULL);
  g_autoptr (GPtrArray)  all = g_ptr_array_new ();
  g_autoptr (GString)    junit = g_string_new (NULL), markdown = g_string_new (NULL),
                      said = g_string_new (NULL);
  g_autoptr (RegressComparison) self = NULL;

  baseline_put (baseline, row_with (now->scenario, "step_time_s", 1, NULL));
  self = regress_compare (baseline, now, NULL, diags);
  g_ptr_array_add (all, self);
  report_regress_junit (all, "b.json", junit);
  report_regress_markdown (all, "b.json", markdown);
  report_regress_annotations (all, "a,b:c.json", said);
  ck_assert_ptr_nonnull (
      strstr (junit->str, "classname=\"&lt;a|b&gt; &amp; &quot;c&quot;%\" name=\"step_time_s\""));
  ck_assert_ptr_nonnull (strstr (junit->str, "tests=\"1\" failures=\"1\""));
  ck_assert_ptr_nonnull (strstr (markdown->str, "| <a\\|b> & \"c\"% | step_time_s | 1 | 2 |"));
  ck_assert (
      g_str_has_prefix (said->str, "::error file=a%2Cb%3Ac.json,line=0::<a|b> & \"c\"%25: "));
  ck_assert_ptr_eq (strchr (said->str, '\n'), said->str + said->len - 1);
}
END_TEST

SUITE_MAIN (regress)
{
  Suite *suite = suite_create ("regress");
  TCase *tcase = tcase_create ("regress");

  tcase_add_loop_test (tcase, test_limits, 0, G_N_ELEMENTS (limit_cases));
  tcase_add_loop_test (tcase, test_verdicts, 0, G_N_ELEMENTS (verdict_cases));
  tcase_add_test (tcase, test_words_and_sides);
  tcase_add_test (tcase, test_round_trip);
  tcase_add_test (tcase, test_prune);
  tcase_add_test (tcase, test_two_causes);
  tcase_add_test (tcase, test_other_strategy);
  tcase_add_test (tcase, test_changed_file);
  tcase_add_test (tcase, test_program);
  tcase_add_test (tcase, test_gained_option);
  tcase_add_test (tcase, test_escapes);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
