/*
 * Bandwidth for utilisation: the rules by hand on few layers, the shipped table as a whole, and
 * what is wrong in a table. Not asserted: that the rules are the paper's (its simulator is not
 * public).
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>

#include "../suite.h"
#include "base/file/layout.h"
#include "evidence/figures/figure-utilisation.h"

static const PredictOptions options = { 0 }; /* nothing is predicted */

/* One layer of 1 s forward and 2 s backward, whose payload of 8 bit takes 1 s at 8 bit/s. */
static UtilisationLine
one_layer (guint every, guint overlap, guint steps)
{
  return (UtilisationLine){ .parameters = 1,
                            .step_s = 3,
                            .bits = 8,
                            .replicas = 2,
                            .layers = 1,
                            .every = every,
                            .overlap = overlap,
                            .steps = steps };
}

START_TEST (every_step_waits)
{
  UtilisationLine row = one_layer (1, 0, 4);

  /* 3, and then three times 1 s of waiting and 3 s of work */
  ck_assert_double_eq_tol (utilisation_of (&row, 8), 12.0 / 15, 1e-12);
  /* half the rate: 2 s of waiting */
  ck_assert_double_eq_tol (utilisation_of (&row, 4), 12.0 / 18, 1e-12);
  /* of four replicas 1.5 times as much travels: 1.5 s */
  row.replicas = 4;
  ck_assert_double_eq_tol (utilisation_of (&row, 8), 12.0 / 16.5, 1e-12);
}
END_TEST

START_TEST (a_round_waits_once)
{
  const UtilisationLine row = one_layer (2, 0, 5);

  /* sent after steps 2 and 4: 2 s of waiting over 5 steps */
  ck_assert_double_eq_tol (utilisation_of (&row, 8), 15.0 / 17, 1e-12);
}
END_TEST

START_TEST (overlap_hides)
{
  const UtilisationLine row = one_layer (2, 1, 5), slow = one_layer (4, 1, 6);

  ck_assert_double_eq (utilisation_of (&row, 8), 1);
  /* sent after 4 steps (12 s), there 8 s later; step 6 could begin at 15 and waits until 20 */
  ck_assert_double_eq_tol (utilisation_of (&slow, 1), 18.0 / 23, 1e-12);
}
END_TEST

/* Two fragments of a layer each: the second half of a payload is sent half a round later. */
START_TEST (fragments_take_turns)
{
  UtilisationLine row = one_layer (4, 0, 8);

  row.layers = 2;
  row.fragment_layers = 1;
  /*
   * Layer 0 leaves after steps 2 and 6, layer 1 after 4 and 8; half a payload takes 0.5 s. Layer 0
   * is the last one of a backward pass and the first of the next step: 0.5 s of waiting each.
   * Layer 1 ends 1 s before layer 0 does: nothing waits for it.
   */
  ck_assert_double_eq_tol (utilisation_of (&row, 8), 24.0 / 25, 1e-12);
}
END_TEST

START_TEST (the_grid)
{
  ck_assert_double_eq_tol (utilisation_rate (0), 1e8, 1);
  ck_assert_double_eq_tol (utilisation_rate (49), 1e12, 1e3);
  ck_assert_double_eq_tol (utilisation_rate (1) / utilisation_rate (0), 1.2068, 1e-4);
}
END_TEST

/* All published cells of the shipped table are within two steps of the grid. */
START_TEST (the_shipped_table)
{
  g_autofree char     *folder = layout_data_file ("workloads/figures");
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self = figures_compute (folder, "diloco", &options, 1, diags);
  guint                n = 0;

  ck_assert_ptr_nonnull (self);
  ck_assert_uint_eq (self->rows->len, 15 * UTILISATION_N_TARGETS);
  for (guint i = 0; i < self->rows->len; i++)
    {
      const double off = fabs (FIGURE_ROW (self, UtilisationCell, i)->off);

      ck_assert_double_le (off, 2);
      n += off <= 1;
    }
  ck_assert_uint_ge (n, 74);
}
END_TEST

static const struct
{
  const char *line, *message;
} bad[] = {
  { "f,m,d,0,1,16,2,1,1,0,0,4,1,1,1,1,1,", "for 'parameters', got '0'" },
  { "f,m,d,1,1,16,2,x,1,0,0,4,1,1,1,1,1,", "for 'layers', got 'x'" },
  { "f,m,d,1,1,16,2,1,0,0,0,4,1,1,1,1,1,", "for 'every', got '0'" },
  { "f,m,d,1,1,16,2,1,1,0,0,4,1,1,,1,1,", "for 'p90', got ''" },
};

START_TEST (test_bad)
{
  g_autofree char *dir = g_dir_make_tmp ("utilisation-XXXXXX", NULL);
  g_autofree char *file = g_build_filename (dir, "bad.utilisation.csv", NULL);
  g_autofree char *text = g_strconcat (
      "figure,model,method,parameters,step_s,bits,replicas,layers,every,fragment_layers,"
      "overlap,steps,p50,p80,p90,p95,p99,assumptions\n",
      bad[_i].line, "\n", NULL);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *said = NULL;

  ck_assert (g_file_set_contents (file, text, -1, NULL));
  ck_assert_ptr_null (figures_compute (dir, "bad", &options, 1, diags));
  said = diag_list_format (diags, FALSE);
  ck_assert_msg (g_strrstr (said, bad[_i].message) != NULL, "%s", said);
  g_unlink (file);
  g_rmdir (dir);
}
END_TEST

SUITE_MAIN (figure_utilisation)
{
  Suite *suite = suite_create ("figure-utilisation");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, every_step_waits);
  tcase_add_test (tcase, a_round_waits_once);
  tcase_add_test (tcase, overlap_hides);
  tcase_add_test (tcase, fragments_take_turns);
  tcase_add_test (tcase, the_grid);
  tcase_add_test (tcase, the_shipped_table);
  tcase_add_loop_test (tcase, test_bad, 0, G_N_ELEMENTS (bad));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
