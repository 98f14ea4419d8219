/*
 * Whatever is printed as a part of the step: the parts add up to the step, in text, JSON, CSV and
 * pages, under pipelines as well. What is not on the critical path, such as the mean idle time of
 * a pipeline's GPUs, is said elsewhere. Pictures draw Prediction.parts alone.
 */
#include "../replay/fixture.h"
#include "../suite.h"

#include <glib/gstdio.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "../cases.h"
#include "base/config/csv.h"
#include "predict/prediction.h"
#include "report/document/html-private.h"
#include "report/prediction/describe.h"

#define N_RANDOM 200
#define SEED     37
#define HEADING  "\nWhere the time of a step goes (critical path)\n"

/* What BEGIN and END enclose in TEXT: newly allocated. */
static char *
between (const char *text, const char *begin, const char *end)
{
  const char *from = strstr (text, begin), *to;

  ck_assert_ptr_nonnull (from);
  from += strlen (begin);
  to = strstr (from, end);
  ck_assert_ptr_nonnull (to);
  return g_strndup (from, (gsize) (to - from));
}

/* Shares are rounded to a tenth of a percent each. */
static void
check_text (const Prediction *p, guint seed)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char    *section = NULL;
  g_auto (GStrv)      lines = NULL;
  double              percent = 0;
  guint               n;

  report_prediction_text (p, text);
  section = between (text->str, HEADING, "\n\n");
  lines = g_strsplit (section, "\n", -1);
  n = g_strv_length (lines);
  for (guint i = 1; i < n; i++) /* below the titles */
    {
      const char *sign = strstr (lines[i], " %");

      ck_assert_ptr_nonnull (sign);
      while (sign > lines[i] && !g_ascii_isspace (sign[-1]))
        sign--;
      percent += g_ascii_strtod (sign, NULL);
    }
  ck_assert_msg (fabs (percent - 100) <= 0.05 * n + 1e-9, "case %u: %u parts of %.1f %%\n%s", seed,
                 n, percent, section);
  ck_assert (strstr (section, "bubble") == NULL);
  ck_assert_int_eq (strstr (text->str, "pipeline bubble ") != NULL, p->bubble_s > 0);
}

static gboolean
is_part (const char *name)
{
  return g_str_has_prefix (name, "time_") && g_str_has_suffix (name, "_s");
}

static void
check_sum (double sum, const Prediction *p, const char *what, guint seed)
{
  ck_assert_msg (fabs (sum - p->step_time_s) <= 1e-9 * p->step_time_s,
                 "case %u, %s: parts of %.17g s in a step of %.17g s", seed, what, sum,
                 p->step_time_s);
}

static void
check_json (const GPtrArray *all, guint seed)
{
  g_autoptr (GString)         text = g_string_new (NULL);
  struct json_object         *root, *results, *result;
  struct json_object_iterator at, end;
  double                      sum = 0;
  const Prediction           *p = g_ptr_array_index (all, 0);

  report_json (all, text);
  root = json_tokener_parse (text->str);
  ck_assert (json_object_object_get_ex (root, "results", &results));
  result = json_object_array_get_idx (results, 0);
  end = json_object_iter_end (result);
  for (at = json_object_iter_begin (result); !json_object_iter_equal (&at, &end);
       json_object_iter_next (&at))
    if (is_part (json_object_iter_peek_name (&at)))
      sum += json_object_get_double (json_object_iter_peek_value (&at));
  check_sum (sum, p, "JSON", seed);
  ck_assert (json_object_object_get_ex (result, "bubble_s", &results));
  ck_assert_double_eq (json_object_get_double (results), p->bubble_s);
  json_object_put (root);
}

static void
check_csv (const GPtrArray *all, guint seed)
{
  g_autoptr (GString)   text = g_string_new (NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (CsvReader) reader = NULL;
  double                sum = 0, bubble = NAN;
  const Prediction     *p = g_ptr_array_index (all, 0);

  report_csv (all, text);
  reader = csv_reader_open_text ("results", text->str, text->len, diags);
  ck_assert (csv_reader_next (reader, diags));
  for (guint i = 0; i < csv_reader_n_columns (reader); i++)
    {
      const double value = g_ascii_strtod (csv_reader_field (reader, i), NULL);

      if (is_part (csv_reader_column (reader, i)))
        sum += value;
      if (g_str_equal (csv_reader_column (reader, i), "bubble_s"))
        bubble = value;
    }
  check_sum (sum, p, "CSV", seed);
  ck_assert_double_eq (bubble, p->bubble_s);
}

static void
describe_parts (Document *document, gconstpointer answer)
{
  describe_time (document, answer);
}

/* The numbers behind the cells of the section: each part's time, and its share of the step. */
static void
check_page (const Prediction *p, guint seed)
{
  const PageKind       kind = { .describe = describe_parts };
  g_autoptr (HtmlPage) page = html_page_new ("page");
  g_autoptr (GError)   error = NULL;
  g_autofree char     *dir = g_dir_make_tmp ("shardsim-parts-XXXXXX", NULL);
  g_autofree char *file = g_build_filename (dir, "page.html", NULL), *text = NULL, *section = NULL;
  double           sum = 0;

  html_page_add_section (page, "begin");
  page_describe (&kind, p, page, NULL);
  html_page_add_section (page, "end");
  ck_assert_msg (html_page_write (page, file, &error), "%s", error != NULL ? error->message : "");
  ck_assert (g_file_get_contents (file, &text, NULL, NULL));
  g_unlink (file);
  g_rmdir (dir);
  section = between (text, "<h2>begin</h2>", "<h2>end</h2>");
  for (const char *at = section; (at = strstr (at, "data-value=\"")) != NULL;)
    {
      at += strlen ("data-value=\"");
      sum += g_ascii_strtod (at, NULL);
    }
  check_sum (sum - 1, p, "page", seed);
  ck_assert_msg (strcasestr (section, "bubble") == NULL, "case %u: %s", seed, section);
}

static gboolean
check_one (const Scenario *scenario, guint seed, guint *n_bubbles)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  PredictOptions        options = { .unfolded = FALSE };
  Prediction           *p = predict (scenario, &options, diags, NULL);

  if (p == NULL) /* a combination that the strategy refuses */
    return FALSE;
  g_ptr_array_add (all, p);
  check_text (p, seed);
  check_json (all, seed);
  check_csv (all, seed);
  check_page (p, seed);
  *n_bubbles += p->bubble_s > 0;
  return TRUE;
}

START_TEST (test_parts)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  guint                  n_cases = cases_of (N_RANDOM), n = 0, n_bubbles = 0;

  for (guint i = 0; i < n_cases; i++)
    {
      g_autoptr (Scenario) scenario = fixture_random_case (SEED, i, profiles);

      n += check_one (scenario, SEED + i, &n_bubbles);
    }
  ck_assert_uint_gt (n, n_cases / 2);
  ck_assert_uint_gt (n_bubbles, n_cases / 10);
}
END_TEST

SUITE_MAIN (parts)
{
  Suite *suite = suite_create ("parts");
  TCase *tcase = tcase_create ("parts");

  tcase_set_timeout (tcase, 600);
  tcase_add_test (tcase, test_parts);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
