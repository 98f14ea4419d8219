/*
 * Curves: each point against a prediction of its scenario by itself, what is refused, and what must
 * hold of the shipped figure of L-GreCo whatever spectra are. Not asserted: its numbers.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "base/file/layout.h"
#include "evidence/figures/figure-curves.h"

#define SCENARIOS                                                                     \
  "cluster: { node: hand-pair, nodes: 1 }\n"                                          \
  "model: { arch: gpt, n_layers: 2, d_model: 200, n_heads: 2, vocab: 500 }\n"         \
  "scenarios:\n"                                                                      \
  "  - { name: 'a, ddp', strategy: ddp, training: { seq_len: [100, 50] } }\n"         \
  "  - { name: 'a, fsdp2', strategy: fsdp2, training: { seq_len: [50, 100, 90] } }\n" \
  "  - { name: elsewhere, strategy: ddp, training: { seq_len: 10 } }\n"
#define HEADER "figure,x,scenarios,metric,gain_over,published,assumptions\n"

static Figures *
predict_curves (const char *table, DiagList *diags)
{
  g_autofree char *folder = g_dir_make_tmp ("shardsim-curves-XXXXXX", NULL);
  g_autofree char *yaml = g_build_filename (folder, "c.yaml", NULL);
  g_autofree char *csv = g_build_filename (folder, "c.curves.csv", NULL);
  g_autofree char *profiles =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "worked", "hwprofiles", NULL);
  const PredictOptions options = { .profile_dir = profiles };
  Figures             *self;

  ck_assert (g_file_set_contents (yaml, SCENARIOS, -1, NULL));
  ck_assert (g_file_set_contents (csv, table, -1, NULL));
  self = figures_compute (folder, "c", &options, 2, diags);
  g_unlink (yaml);
  g_unlink (csv);
  g_rmdir (folder);
  return self;
}

static double
step_of (const char *strategy, const char *seq_len)
{
  g_autofree char *profiles =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "worked", "hwprofiles", NULL);
  const PredictOptions   options = { .profile_dir = profiles };
  const ScenarioOverride overrides[] = {
    { "cluster.node", "hand-pair", "--set" }, { "cluster.nodes", "1", "--set" },
    { "model.arch", "gpt", "--set" },         { "model.n_layers", "2", "--set" },
    { "model.d_model", "200", "--set" },      { "model.n_heads", "2", "--set" },
    { "model.vocab", "500", "--set" },        { "training.seq_len", seq_len, "--set" },
    { "strategy.name", strategy, "--set" }
  };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) scenarios =
      scenario_load (NULL, NULL, overrides, G_N_ELEMENTS (overrides), diags);
  Prediction *prediction;
  double      seconds;

  ck_assert_msg (scenarios != NULL, "%s", diag_list_first_message (diags));
  prediction = predict (g_ptr_array_index (scenarios, 0), &options, diags, NULL);
  ck_assert_msg (prediction != NULL, "%s", diag_list_first_message (diags));
  seconds = prediction->step_time_s;
  prediction_free (prediction);
  return seconds;
}

START_TEST (points)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self =
      predict_curves (HEADER "plain,training.seq_len,a,step_time_s,,,\n", diags);
  const CurvePanel *panel;

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  ck_assert_int_eq (self->kind, FIGURE_CURVES);
  panel = FIGURE_LINE (self, CurvePanel, 0);
  ck_assert_uint_eq (panel->xs->len, 3);
  ck_assert_double_eq (g_array_index (panel->xs, double, 0), 50);
  ck_assert_double_eq (g_array_index (panel->xs, double, 2), 100);
  ck_assert_uint_eq (panel->series->len, 2);
  ck_assert_str_eq (g_ptr_array_index (panel->series, 0), "ddp");
  ck_assert_str_eq (g_ptr_array_index (panel->series, 1), "fsdp2");
  ck_assert_double_eq (curve_value (panel, 0, 0), step_of ("ddp", "50"));
  ck_assert_double_eq (curve_value (panel, 1, 1), step_of ("fsdp2", "90"));
  ck_assert_double_eq (curve_value (panel, 1, 2), step_of ("fsdp2", "100"));
  ck_assert_double_nan (curve_value (panel, 0, 1)); /* ddp has no 90 */
  ck_assert_double_nan (panel->published);
  ck_assert_double_eq (panel->low, fmin (step_of ("ddp", "50"), step_of ("fsdp2", "50")));
  ck_assert_double_eq (panel->high, fmax (step_of ("ddp", "100"), step_of ("fsdp2", "100")));
}
END_TEST

START_TEST (gains)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self =
      predict_curves (HEADER "gain,training.seq_len,a,step_time_s,ddp,2.5,why\n", diags);
  const CurvePanel *panel;
  double            gain = step_of ("ddp", "50") / step_of ("fsdp2", "50");

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  panel = FIGURE_LINE (self, CurvePanel, 0);
  ck_assert_double_eq (curve_value (panel, 0, 0), 1);
  ck_assert_double_eq (curve_value (panel, 1, 0), gain);
  ck_assert_double_eq (panel->published, 2.5);
  /* ddp's own 1 counts nowhere */
  ck_assert_double_eq (panel->low, fmin (gain, step_of ("ddp", "100") / step_of ("fsdp2", "100")));
  ck_assert_str_eq (panel->assumptions, "why");
}
END_TEST

static const struct
{
  const char *table, *message;
} refused[] = {
  { HEADER "f,training.seq_len,a,speed,,,\n", "unknown value 'speed' for 'metric'" },
  { HEADER "f,training.seq_len,a,step_time_s,,-2,\n", "expected a number above 0" },
  { HEADER "f,training.seq_len,a,step_time_s,zero9,2,\n", "no series 'zero9'" },
  { HEADER "f,model.arch,a,step_time_s,,2,\n", "has no number for 'model.arch'" },
  { "figure,x,scenarios,metric\n", "gain_over" },
};

START_TEST (bad_tables)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert_ptr_null (predict_curves (refused[_i].table, diags));
  ck_assert_msg (strstr (diag_list_first_message (diags), refused[_i].message) != NULL, "%s",
                 diag_list_first_message (diags));
}
END_TEST

/*
 * No rank is below half of the uniform one, or a quarter of it, so bytes shrink by less than 2 or
 * 4; and what is sent in less gains more over a slower network.
 */
START_TEST (shipped)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *folder = layout_data_file ("workloads/figures");
  const PredictOptions options = { .profile_dir = NULL };
  g_autoptr (Figures)  self = figures_compute (folder, "l-greco", &options, 2, diags);

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (self->lines->len, 2);
  for (guint p = 0; p < 2; p++)
    {
      const CurvePanel *panel = FIGURE_LINE (self, CurvePanel, p);

      ck_assert_ptr_null (panel->reason);
      for (guint s = 1; s < panel->series->len; s++)
        for (guint i = 0; i < panel->xs->len; i++)
          {
            double      value = curve_value (panel, s, i);
            const char *series = g_ptr_array_index (panel->series, s);

            if (p == 0)
              ck_assert (value > 1 && value < (g_str_has_suffix (series, "wide") ? 4 : 2));
            else if (i > 0)
              ck_assert_double_lt (value, curve_value (panel, s, i - 1));
          }
    }
}
END_TEST

SUITE_MAIN (figure_curves)
{
  Suite *suite = suite_create ("figure-curves");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, points);
  tcase_add_test (tcase, gains);
  tcase_add_loop_test (tcase, bad_tables, 0, (gint) G_N_ELEMENTS (refused));
  tcase_add_test (tcase, shipped);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
