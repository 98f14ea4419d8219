/*
 * Predictions against training runs of others (tests/data/validation/training.csv). The tables of errors go to stderr.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "report/validate-training.h"

#define N_ROWS 1268

static TrainingValidation *
validate_file (void)
{
  g_autofree char     *file = g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"),
                                                "tests/data/validation/training.csv", NULL);
  g_autoptr (DiagList) diags = diag_list_new ();
  TrainingTable       *table = training_table_load (file, diags);
  const PredictOptions options = { 0 };

  gint64              start = g_get_monotonic_time ();
  clock_t             cpu = clock ();
  TrainingValidation *self;

  ck_assert_msg (table != NULL, "%s", diag_list_first_message (diags));
  self = validate_training (table, &options, g_get_num_processors ());
  fprintf (stderr, "%u rows in %.1f s, %.1f s of CPU on %u cores (goal: 30 s on two)\n\n",
           self->rows->len, (double) (g_get_monotonic_time () - start) / 1e6,
           (double) (clock () - cpu) / CLOCKS_PER_SEC, g_get_num_processors ());
  return self;
}

/* Every row has a prediction or says why it has none. */
static void
check_rows (const TrainingValidation *v)
{
  ck_assert_uint_eq (v->rows->len, N_ROWS);
  for (guint i = 0; i < v->rows->len; i++)
    {
      const ValidatedTraining *row = &g_array_index (v->rows, ValidatedTraining, i);

      ck_assert (row->reason == NULL
                     ? isfinite (row->predicted)
                           && (row->predicted > 0 || row->measured->metric == METRIC_FITS)
                     : *row->reason != '\0');
    }
}

/*
 * What each goal came to when this was last written down, rounded up: a change that makes it worse fails. The goals themselves are in
 * the program; those that are missed say so in the table that is printed, and in docs/validation.md by cause.
 */
static const struct
{
  const char *goal;
  double      first, second; /* median and 90th percentile; share right and offenders; tau */
  guint       n_failed;      /* rows that may be without a prediction */
} reached[] = {
  { "fsdp1, fsdp2: time", 0.06, 0.19, 0 },
  { "megatron-sc21, bloom, layouts: time", 0.08, 0.20, 0 },
  { "vtrain-single: time", 0.12, 0.30, 0 },
  { "torchtitan: peak reserved memory", 0.06, 0.15, 0 },
  { "layouts: fits", 0.92, 15, 0 },
  { "layouts, bloom, vtrain-single: tau", 0.80, 0, 0 },
};

static void
check_reached (const TrainingValidation *v)
{
  for (guint i = 0; i < v->goals->len; i++)
    {
      const GoalResult *result = &g_array_index (v->goals, GoalResult, i);

      for (guint r = 0; r < G_N_ELEMENTS (reached); r++)
        {
          gboolean more_is_better =
              result->goal->kind == GOAL_FITS || result->goal->kind == GOAL_RANKING;

          if (strcmp (reached[r].goal, result->goal->title) != 0)
            continue;
          ck_assert_msg (more_is_better ? result->first >= reached[r].first
                                        : result->first <= reached[r].first,
                         "%s: %g, was %g", result->goal->title, result->first, reached[r].first);
          ck_assert_msg (result->second <= reached[r].second, "%s: %g, was %g", result->goal->title,
                         result->second, reached[r].second);
          ck_assert_uint_le (result->n_failed, reached[r].n_failed);
        }
    }
}

START_TEST (test_training)
{
  g_autoptr (TrainingValidation) v = validate_file ();
  g_autoptr (GString)            text = g_string_new (NULL);

  report_training_summary (v, text);
  fputs (text->str, stderr);
  check_rows (v);
  ck_assert_uint_eq (v->goals->len, 6);
  check_reached (v);
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("training");
  TCase   *tests = tcase_create ("training");
  SRunner *runner = srunner_create (suite);
  int      failed;

  tcase_set_timeout (tests, 280);
  tcase_add_test (tests, test_training);
  suite_add_tcase (suite, tests);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed != 0;
}
