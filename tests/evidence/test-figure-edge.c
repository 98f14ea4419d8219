/*
 * Files of stars: what a panel draws of them, the shipped ones as a whole, and what is wrong in a
 * file. The numbers themselves are tests/edge's.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>

#include "../suite.h"
#include "base/file/layout.h"
#include "evidence/figures/figure-edge.h"

static const PredictOptions options = { 0 }; /* nothing is predicted */

static const char star_text[] =
    "bandwidth: 8 MHz\nchannels: 2\nnoise: 1.25e-16 W/Hz\n"
    "server_compute: 1 GFLOP/s\nserver_power: 2 W\nelement: 4 B\ncut: 1\naggregation: 0.5\n"
    "clients:\n"
    "  - { name: a, gain: 3e-9, power: 1 W, compute: 1 GFLOP/s, batch: 4, channels: [1] }\n"
    "  - { name: b, gain: 3e-9, power: 1 W, compute: 1 GFLOP/s, batch: 4, channels: [2] }\n"
    "layers:\n"
    "  - { name: one, forward: 1M, backward: 2M, output: 1000 }\n"
    "  - { name: two, forward: 1M, backward: 2M, output: 10 }\n"
    "  - { name: three, forward: 1M, backward: 2M, output: 10 }\n"
    "panels:\n"
    "  - { figure: f, x: cut, values: [1, 2], series: method, of: [psl, epsl] }\n";

static const char slim_text[] =
    "bandwidth: 8 MHz\nnoise: 1.25e-16 W/Hz\npower_share: 0.8\nupload: 1 s\nelement: 1 B\n"
    "steps: 1\n"
    "clients:\n"
    "  - { name: a, gain: 1e-8, power: 1 W, compute: 1 GFLOP/s, compute_power: 1 W, batch: 1 }\n"
    "layers:\n"
    "  - { name: one, forward: 4M, backward: 8M, parameters: 4M }\n"
    "panels:\n"
    "  - { figure: f, x: power_share, values: [0.4, 0.8], series: snr, of: [10] }\n";

/* The figures of TEXT in a file that ends in SUFFIX. */
static Figures *
compute (const char *text, const char *suffix, DiagList *diags)
{
  g_autofree char *dir = g_dir_make_tmp ("edge-XXXXXX", NULL);
  g_autofree char *name = g_strconcat ("own", suffix, NULL);
  g_autofree char *file = g_build_filename (dir, name, NULL);
  Figures         *self;

  ck_assert (g_file_set_contents (file, text, -1, NULL));
  self = figures_compute (dir, "own", &options, 1, diags);
  g_unlink (file);
  g_rmdir (dir);
  return self;
}

/*
 * A row by hand: cut 1, psl. 2 bit/s a Hz are 2 MB/s. 4 samples of 1 MFLOP and 4000 B: 4 ms + 8 ms;
 * the server 8 x 2 MFLOP and 8 x 4 MFLOP: 48 ms; 8 ms + 8 ms back.
 */
START_TEST (test_rows)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self = compute (star_text, ".star.yaml", diags);
  const CurvePoint    *row;

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (self->rows->len, 4);
  row = FIGURE_ROW (self, CurvePoint, 0);
  ck_assert_str_eq (row->series, "method psl");
  ck_assert_str_eq (row->panel->metric, "seconds");
  ck_assert_double_eq (row->x, 1);
  ck_assert_double_eq_tol (row->value, 0.004 + 0.008 + 0.048 + 0.008 + 0.008, 1e-12);
  row = FIGURE_ROW (self, CurvePoint, 3);
  ck_assert_str_eq (row->series, "method epsl");
  ck_assert_double_eq (row->x, 2);
}
END_TEST

/* Series of quantities that differ have no one metric: it is the series' key. */
START_TEST (test_metrics)
{
  g_auto (GStrv)   parts = g_strsplit (slim_text, "series: snr, of: [10]", 2);
  g_autofree char *text =
      g_strjoin ("series: quantity, of: [half-arrives, full-arrives]", parts[0], parts[1], NULL);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self = compute (text, ".slim.yaml", diags);

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  ck_assert_str_eq (FIGURE_LINE (self, CurvePanel, 0)->metric, "quantity");
}
END_TEST

/* Where message 1 never arrives there is no point, and the panel says why; the rest is drawn. */
START_TEST (test_gaps)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self = compute (slim_text, ".slim.yaml", diags);

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  ck_assert (isnan (FIGURE_ROW (self, CurvePoint, 0)->value));
  ck_assert_double_eq_tol (FIGURE_ROW (self, CurvePoint, 1)->value, exp (-3.5), 1e-9);
  ck_assert_ptr_nonnull (g_strrstr (FIGURE_LINE (self, CurvePanel, 0)->reason, "never arrives"));
}
END_TEST

/* Sums of ResNet-18 as published: 11.69M parameters, 1.8G multiply-adds (arXiv:1512.03385). */
START_TEST (test_shipped)
{
  g_autofree char     *folder = layout_data_file ("workloads/figures");
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  epsl = figures_compute (folder, "epsl", &options, 1, diags);
  g_autoptr (Figures)  slim = figures_compute (folder, "slimfl", &options, 1, diags);
  double               parameters = 0, forward = 0;

  ck_assert_msg (epsl != NULL && slim != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (epsl->lines->len, 4);
  for (guint p = 0; p < epsl->lines->len; p++)
    ck_assert_ptr_null (FIGURE_LINE (epsl, CurvePanel, p)->reason);
  const EdgeFigure *edge = epsl->extra;
  for (guint l = 0; l < edge->star->layers->len; l++)
    {
      parameters += EDGE_LAYER (edge->star, l)->parameters;
      forward += EDGE_LAYER (edge->star, l)->forward;
    }
  ck_assert_double_eq (parameters, 11689512);
  ck_assert_double_eq_tol (forward / 2, 1.8e9, 0.05e9);
  ck_assert_double_eq_tol (edge->seconds[SPLIT_BARRIER], edge->seconds[SPLIT_CLOSED], 1e-9);
  ck_assert_double_lt (edge->seconds[SPLIT_FREE], edge->seconds[SPLIT_BARRIER]);
  edge = slim->extra;
  ck_assert_double_eq_tol (slim_half_share (edge->star), 0.2587, 1e-4);
}
END_TEST

static const struct
{
  const char *from, *to, *message;
} bad_star[] = {
  { "aggregation: 0.5", "aggregation: 1.5", "'1.5'" },
  { "aggregation: 0.5", "aggregation: -0.5", "which is negative" },
  { "cut: 1", "cut: 3", "a cut after layer 3 of 3 leaves the server none" },
  { "cut: 1", "cut: 0", "'0'" },
  { "noise: 1.25e-16 W/Hz\n", "", "missing 'noise'" },
  { "noise: 1.25e-16 W/Hz\n", "noise: 4e-21\n", "expected a noise density" },
  { "bandwidth: 8 MHz", "bandwith: 8 MHz", "bandwith" },
  { "gain: 3e-9", "gain: 1e-28", "nothing gets through to or from client 'a'" },
  { "gain: 3e-9", "distance: 10 m", "needs 'frequency' and 'path_loss_exponent'" },
  { "gain: 3e-9, ", "", "client 'a' needs a 'gain' or a 'distance'" },
  { "gain: 3e-9, ", "gain: 3e-9, distance: 10 m, ", "and not both" },
  { "channels: [2]", "channels: [1]", "client 'b' has channel 1, which is another's" },
  { "channels: [2]", "channels: [3]", "client 'b' has channel 3 of 2" },
  { "channels: [2]", "channels: [0]", "expected the number of a channel, got '0'" },
  { "channels: [2]", "channels: []", "'channels' has 0 entries" },
  { ", channels: [2]", "", "missing 'channels'" },
  { "x: cut", "x: method", "method" },
  { "x: cut", "x: cuts", "cuts" },
  { "of: [psl, epsl]", "of: [psl, epsi]", "epsi" },
};

static const struct
{
  const char *from, *to, *message;
} bad_slim[] = {
  { "power_share: 0.8", "power_share: 0.4", "message 1 never arrives" },
  { "power_share: 0.8", "power_share: 1", "'1'" },
  { "gain: 1e-8", "gain: 1e-15", "nothing arrives" },
  { "upload: 1 s", "upload: 0 s", "'0 s'" },
  { "parameters: 4M", "parameters: 4M, narrows: left", "left" },
};

static void
assert_bad (const char *whole, const char *suffix, const char *from, const char *to,
            const char *message)
{
  g_auto (GStrv)       parts = g_strsplit (whole, from, 2);
  g_autofree char     *text = g_strjoin (to, parts[0], parts[1], NULL);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *said = NULL;

  ck_assert_msg (parts[1] != NULL, "no '%s'", from);
  ck_assert_msg (compute (text, suffix, diags) == NULL, "'%s' is taken", to);
  said = diag_list_format (diags, FALSE);
  ck_assert_msg (g_strrstr (said, message) != NULL, "%s: %s", to, said);
}

START_TEST (test_bad_star)
{
  assert_bad (star_text, ".star.yaml", bad_star[_i].from, bad_star[_i].to, bad_star[_i].message);
}
END_TEST

START_TEST (test_bad_slim)
{
  assert_bad (slim_text, ".slim.yaml", bad_slim[_i].from, bad_slim[_i].to, bad_slim[_i].message);
}
END_TEST

/* No client, no layer, no map at all. */
START_TEST (test_empty)
{
  static const char *const texts[] = { "clients: []\nlayers: []\n", "- 1\n", "", "clients: 3\n" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();

      ck_assert_ptr_null (compute (texts[i], ".star.yaml", diags));
      ck_assert (diag_list_has_errors (diags));
    }
}
END_TEST

SUITE_MAIN (figure_edge)
{
  Suite *suite = suite_create ("figure-edge");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_rows);
  tcase_add_test (tcase, test_metrics);
  tcase_add_test (tcase, test_gaps);
  tcase_add_test (tcase, test_shipped);
  tcase_add_loop_test (tcase, test_bad_star, 0, G_N_ELEMENTS (bad_star));
  tcase_add_loop_test (tcase, test_bad_slim, 0, G_N_ELEMENTS (bad_slim));
  tcase_add_test (tcase, test_empty);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
