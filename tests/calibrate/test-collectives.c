/*
 * Fits: the minimiser on functions whose minima are known, link profiles recovered from times that
 * the model itself made, data that are refused, written profiles laid over the shipped ones.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>

#include "../suite.h"
#include "base/parallel.h"
#include "calibrate/collectives.h"
#include "calibrate/leave-one-out.h"
#include "calibrate/minimise.h"
#include "evidence/tables/collective-predictor.h"
#include "evidence/tables/validate-collectives.h"

#define HEADER \
  "id,nodes,gpus_per_node,gpu,intra,nics,nic,collective,bytes,time_us,healthy,nccl,env\n"
#define NODES ",2,8,a100-sxm-40,nvlink3-switch,8,ib-hdr-200,all_reduce,"

static GPtrArray *
load_text (const char *text)
{
  g_autofree char     *name = NULL;
  g_autoptr (DiagList) diags = diag_list_new ();
  GPtrArray           *rows;

  g_close (g_file_open_tmp ("shardsim-runs-XXXXXX.csv", &name, NULL), NULL);
  ck_assert (g_file_set_contents (name, text, -1, NULL));
  rows = measurement_table_load (name, BAD_ROWS_FAIL, diags);
  ck_assert_msg (rows != NULL, "%s", diag_list_first_message (diags));
  g_unlink (name);
  return rows;
}

/* ---- the minimiser --------------------------------------------------------------------------- */

static double
bowl (const double *x, gpointer user)
{
  guint *calls = user;

  ++*calls;
  ck_assert (x[1] >= 1e-6 && x[1] <= 1);
  return fabs (x[0] - 0.3) + fabs (log (x[1] / 1e-4))
         + 0.5 * fabs (x[0] - 0.3) * fabs (log (x[1] / 1e-4));
}

/*
 * The minimum at (0.3, 1e-4) is found; the third variable, which costs nothing, stays, outside its
 * range as it is.
 */
START_TEST (test_minimise)
{
  const MinimiseRange  ranges[] = { { 0, 1, FALSE }, { 1e-6, 1, TRUE }, { 1, 2, FALSE } };
  const MinimiseEffort effort = { .grid = 11, .sections = 12, .rounds = 8, .tolerance = 1e-6 };
  double               x[] = { 0.9, 0.5, 7 };
  guint                calls = 0;
  double               cost = minimise_coordinates (x, ranges, 3, &effort, bowl, &calls);

  ck_assert_double_eq_tol (x[0], 0.3, 1e-3);
  ck_assert_double_eq_tol (log (x[1] / 1e-4), 0, 1e-2);
  ck_assert_double_eq (x[2], 7);
  ck_assert_double_lt (cost, 1e-2);
  ck_assert_uint_lt (calls, 1000);
}
END_TEST

static double
steps (const double *x, gpointer user)
{
  (void) user;
  return x[0] < 0.62 ? 3 : x[0] < 0.68 ? 1 : 2;
}

/*
 * A narrow step between two plateaus: the grid finds it. A tolerance above the gain leaves
 * everything.
 */
START_TEST (test_minimise_jumps)
{
  const MinimiseRange range = { 0, 1, FALSE };
  MinimiseEffort      effort = { .grid = 21, .sections = 4, .rounds = 3, .tolerance = 1e-6 };
  double              x = 0.1;

  ck_assert_double_eq (minimise_coordinates (&x, &range, 1, &effort, steps, NULL), 1);
  ck_assert (x >= 0.62 && x < 0.68);
  effort.tolerance = 5;
  x = 0.1;
  ck_assert_double_eq (minimise_coordinates (&x, &range, 1, &effort, steps, NULL), 3);
  ck_assert_double_eq (x, 0.1);
}
END_TEST

static void
count_job (guint i, gpointer user)
{
  guint *counts = user;

  counts[i] += i + 1;
}

START_TEST (test_parallel)
{
  for (guint threads = 1; threads <= 5; threads += 2)
    {
      guint counts[7] = { 0 };

      parallel_run (7, threads, count_job, counts, NULL);
      for (guint i = 0; i < 7; i++)
        ck_assert_uint_eq (counts[i], i + 1);
    }
}
END_TEST

/* ---- fits ------------------------------------------------------------------------------------ */

static const struct
{
  const char *key;
  double      value;
} truth[] = { { "efficiency", 0.7 }, { "hop_ll", 9e-6 }, { "hop_simple", 4e-5 } };

/* Times, in two sources, that the model gives with the figures of `truth` for ib-hdr-200. */
static GPtrArray *
synthetic_rows (void)
{
  g_autoptr (GString)             text = g_string_new (HEADER);
  g_autoptr (ProfileSet)          profiles = profile_set_new (NULL);
  g_autoptr (CollectivePredictor) predictor = NULL;
  GPtrArray                      *rows;

  for (guint source = 0; source < 2; source++)
    for (guint power = 3 + source; power <= 33; power += 2)
      g_string_append_printf (text, "%s-0%u" NODES "%.0f,1,yes,2.18.5,\n",
                              source == 0 ? "made" : "more", source, exp2 (power));
  rows = load_text (text->str);
  for (guint i = 0; i < G_N_ELEMENTS (truth); i++)
    ck_assert (profile_set_override (profiles, "link", "ib-hdr-200", truth[i].key, truth[i].value));
  predictor = collective_predictor_new (rows, profiles);
  for (guint i = 0; i < rows->len; i++)
    {
      CollectiveCost cost;

      ck_assert_ptr_null (collective_predictor_cost (predictor, i, &cost));
      ((Measurement *) g_ptr_array_index (rows, i))->time_us = 1e6 * cost.time;
    }
  return rows;
}

/*
 * The network's figures come back, and with them every time; those of the links inside, which are
 * right, hardly move.
 */
START_TEST (test_recovers)
{
  g_autoptr (GPtrArray)             rows = synthetic_rows ();
  g_autoptr (ProfileSet)            profiles = profile_set_new (NULL);
  g_autoptr (CollectiveCalibration) fit = calibrate_collectives (rows, profiles, NULL, NULL);
  const FittedFamily               *family = collective_calibration_find (fit, "infiniband");
  g_autoptr (DiagList)              diags = diag_list_new ();
  const LinkProfile                *link = profile_set_link (profiles, "ib-hdr-200", NULL, diags);

  ck_assert_ptr_nonnull (family);
  ck_assert_ptr_null (family->refusal);
  ck_assert_uint_eq (family->n_rows, rows->len);
  ck_assert_uint_eq (family->sources->len, 2);
  ck_assert_double_gt (family->before, 0.1);
  ck_assert_double_lt (family->after, 0.02);
  ck_assert_double_eq_tol (link->efficiency.value, 0.7, 0.02);
  ck_assert_ptr_nonnull (collective_calibration_find (fit, "nvlink3 switch"));
  ck_assert_ptr_null (collective_calibration_find (fit, "roce"));
}
END_TEST

/* What one source says is predicted from the other, to the same bytes with one and four threads. */
START_TEST (test_leave_one_out)
{
  g_autoptr (CollectiveValidation) one =
      validate_collectives_left_out (synthetic_rows (), NULL, 1, NULL);
  g_autoptr (CollectiveValidation) four =
      validate_collectives_left_out (synthetic_rows (), NULL, 4, NULL);
  const ValidationGroup *overall = collective_validation_overall (one, VALIDATION_MAIN);

  ck_assert (one->left_out);
  ck_assert_uint_eq (overall->errors.n, one->rows->len);
  ck_assert_double_lt (overall->errors.median_abs, 0.05);
  for (guint i = 0; i < one->rows->len; i++)
    ck_assert_double_eq (g_array_index (one->rows, ValidatedRow, i).predicted,
                         g_array_index (four->rows, ValidatedRow, i).predicted);
}
END_TEST

/* Switches that reduce, of one source alone: refused without it, and counted where it would be. */
START_TEST (test_refused)
{
  GPtrArray                       *rows = synthetic_rows ();
  const guint                      n = rows->len;
  Measurement                     *last = g_ptr_array_index (rows, n - 1); /* 4 GiB */
  g_autoptr (CollectiveValidation) v = NULL;

  g_free (last->env);
  last->env = g_strdup ("sharp");
  v = validate_collectives_left_out (rows, NULL, 1, NULL);
  ck_assert_ptr_nonnull (
      strstr (g_array_index (v->rows, ValidatedRow, n - 1).reason, "no 'sharp_efficiency'"));
  for (guint i = 0; i < 3; i++) /* all, from 256 MiB on, from 1 MiB on */
    ck_assert_uint_eq (g_array_index (v->groups, ValidationGroup, i).n_failed, i < 2);
  ck_assert_uint_eq (collective_validation_overall (v, VALIDATION_MAIN)->errors.n, n - 1);
}
END_TEST

/* A family with one source alone stands apart, as fitted. */
START_TEST (test_single_source)
{
  g_autoptr (GPtrArray)            all = synthetic_rows ();
  GPtrArray                       *rows = g_ptr_array_ref (all);
  g_autoptr (CollectiveValidation) v = NULL;

  for (guint i = 0; i < rows->len; i++)
    {
      Measurement *row = g_ptr_array_index (rows, i);

      g_free (row->id);
      row->id = g_strdup ("made-01");
    }
  v = validate_collectives_left_out (rows, NULL, 2, NULL);
  ck_assert_ptr_null (collective_validation_overall (v, VALIDATION_MAIN));
  ck_assert_uint_eq (collective_validation_overall (v, VALIDATION_AS_FITTED)->errors.n, rows->len);
}
END_TEST

static char *
refusal_of (const char *text, const char *family)
{
  g_autoptr (GPtrArray)             rows = load_text (text);
  g_autoptr (ProfileSet)            profiles = profile_set_new (NULL);
  g_autoptr (CollectiveCalibration) fit = calibrate_collectives (rows, profiles, NULL, NULL);
  const FittedFamily               *fitted = collective_calibration_find (fit, family);

  ck_assert_ptr_nonnull (fitted);
  for (guint i = 0; i < fitted->figures->len; i++)
    ck_assert (!g_array_index (fitted->figures, FittedFigure, i).moved);
  return g_strdup (fitted->refusal);
}

START_TEST (test_refusals)
{
  g_autofree char *little =
      refusal_of (HEADER "a-01" NODES "1024,30,yes,,\na-01" NODES "2048,30,yes,,\n"
                         "a-01" NODES "4096,30,no,,\n",
                  "infiniband");
  g_autofree char *both =
      refusal_of (HEADER "a-01" NODES "1024,30,yes,,\nb-01" NODES "1024,61,yes,,\n"
                         "a-01" NODES "2048,30,yes,,\na-01" NODES "4096,30,yes,,\n"
                         "a-01" NODES "8192,30,yes,,\n",
                  "infiniband");
  g_autofree char *slow =
      refusal_of (HEADER "a-01" NODES "1024,1,yes,,\nb-01" NODES "2048,90000000,yes,,\n"
                         "a-01" NODES "4096,1,yes,,\na-01" NODES "8192,90000000,yes,,\n"
                         "a-01" NODES "16384,1,yes,,\n",
                  "infiniband");

  ck_assert_str_eq (little, "too little data: 2 healthy rows, at least 5 are needed");
  ck_assert_str_eq (
      both,
      "contradictory: 'a-01' and 'b-01' differ by a factor of 2.03 at 1024 bytes of all_reduce");
  ck_assert (g_str_has_prefix (slow, "contradictory: the best fit is off by a factor of "));
}
END_TEST

/* ---- folders of profiles --------------------------------------------------------------------- */

static void
remove_link (const char *dir, const char *id)
{
  g_autofree char *name = g_strdup_printf ("%s/link/%s.yaml", dir, id);

  g_unlink (name);
}

/* A profile that cannot be written leaves nothing of itself, nor of others. */
static void
check_none (const CollectiveCalibration *fit, const char *dir, const char *folder)
{
  g_autofree char   *blocked = g_strdup_printf ("%s/ib-hdr-200.yaml", folder);
  g_autoptr (GError) error = NULL;
  guint              n_files = 1;

  ck_assert_int_eq (g_mkdir_with_parents (blocked, 0777), 0);
  ck_assert (!collective_calibration_write (fit, dir, &n_files, &error));
  ck_assert (g_str_has_suffix (error->message, "ib-hdr-200.yaml': Is a directory"));
  ck_assert_uint_eq (n_files, 0);
  ck_assert_int_eq (g_rmdir (blocked), 0);
  ck_assert_int_eq (g_rmdir (folder), 0); /* empty */
}

/* What is written, laid over the shipped profiles, predicts as the fit in memory does. */
START_TEST (test_written_profiles)
{
  g_autoptr (GError) error = NULL;
  g_autofree char   *dir = g_dir_make_tmp ("shardsim-fitted-XXXXXX", &error);
  g_autofree char   *shipped =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "hwprofiles", NULL);
  g_autofree char                  *path = g_strdup_printf ("%s:%s", dir, shipped);
  g_autofree char                  *folder = g_build_filename (dir, "link", NULL);
  g_autoptr (GPtrArray)             rows = synthetic_rows ();
  g_autoptr (ProfileSet)            profiles = profile_set_new (NULL);
  g_autoptr (CollectiveCalibration) fit = calibrate_collectives (rows, profiles, NULL, NULL);
  g_autoptr (ProfileSet)            layered = profile_set_new (path);
  g_autoptr (CollectivePredictor)   fitted = NULL, read = NULL;
  g_autoptr (DiagList)              diags = diag_list_new ();
  guint                             n_files;

  check_none (fit, dir, folder);
  ck_assert (collective_calibration_write (fit, dir, &n_files, &error));
  ck_assert_uint_ge (n_files, 1);
  fitted = collective_predictor_new (rows, profiles);
  read = collective_predictor_new (rows, layered);
  for (guint i = 0; i < rows->len; i++)
    {
      CollectiveCost a, b;

      ck_assert_ptr_null (collective_predictor_cost (fitted, i, &a));
      ck_assert_ptr_null (collective_predictor_cost (read, i, &b));
      ck_assert_double_eq (a.time, b.time);
    }
  ck_assert_int_eq (profile_set_link (layered, "ib-hdr-200", NULL, diags)->efficiency.confidence,
                    CONFIDENCE_MEASURED);
  ck_assert_str_eq (profile_set_link (layered, "ib-hdr-200", NULL, diags)->title,
                    "InfiniBand HDR 200 Gbit/s");
  ck_assert_ptr_nonnull (profile_set_gpu (layered, "a100-sxm-40", NULL, diags));
  remove_link (dir, "ib-hdr-200");
  remove_link (dir, "nvlink3-switch");
  g_rmdir (folder);
  g_rmdir (dir);
}
END_TEST

/* The first folder wins, an id is listed once, without a later folder nothing extends itself. */
START_TEST (test_layers)
{
  g_autofree char *dir = g_dir_make_tmp ("shardsim-layer-XXXXXX", NULL);
  g_autofree char *shipped =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "hwprofiles", NULL);
  g_autofree char       *path = g_strdup_printf ("%s:%s", dir, shipped);
  g_autofree char       *folder = g_build_filename (dir, "link", NULL);
  g_autofree char       *file = g_build_filename (folder, "pcie4.yaml", NULL);
  g_autoptr (ProfileSet) stock = profile_set_new (NULL), layered = profile_set_new (path),
                         alone = profile_set_new (dir);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_auto (GStrv)       before = profile_set_list (stock, "link"),
                 after = profile_set_list (layered, "link");
  g_autofree char *found = NULL;

  ck_assert_int_eq (g_mkdir (folder, 0777), 0);
  ck_assert (g_file_set_contents (
      file,
      "extends: pcie4\nefficiency: { value: 0.5, source: \"a guess\", confidence: estimate }\n", -1,
      NULL));
  ck_assert_double_eq (profile_set_link (layered, "pcie4", NULL, diags)->efficiency.value, 0.5);
  ck_assert_double_eq (profile_set_link (layered, "pcie4", NULL, diags)->bandwidth.value,
                       profile_set_link (stock, "pcie4", NULL, diags)->bandwidth.value);
  ck_assert_uint_eq (diag_list_n_errors (diags), 0);
  ck_assert_uint_eq (g_strv_length (before), g_strv_length (after));
  found = profile_set_file (layered, "link", "pcie4");
  ck_assert_str_eq (found, file);
  ck_assert_ptr_null (profile_set_link (alone, "pcie4", NULL, diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "'pcie4' extends itself: pcie4.yaml -> pcie4.yaml");
  ck_assert (!profile_set_override (stock, "link", "pcie4", "colour", 1));
  ck_assert (!profile_set_override (stock, "link", "pcie44", "efficiency", 1));
  g_unlink (file);
  g_rmdir (folder);
  g_rmdir (dir);
}
END_TEST

SUITE_MAIN (collectives)
{
  Suite *suite = suite_create ("calibrate");
  TCase *tests = tcase_create ("calibrate");

  tcase_add_test (tests, test_minimise);
  tcase_add_test (tests, test_minimise_jumps);
  tcase_add_test (tests, test_parallel);
  tcase_add_test (tests, test_recovers);
  tcase_add_test (tests, test_leave_one_out);
  tcase_add_test (tests, test_refused);
  tcase_add_test (tests, test_single_source);
  tcase_add_test (tests, test_refusals);
  tcase_add_test (tests, test_written_profiles);
  tcase_add_test (tests, test_layers);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
