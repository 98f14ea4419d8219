/* shardsim regress: predictions against a stored baseline. */
#include "base/parallel.h"
#include "cli/common.h"
#include "cli/progress.h"
#include "report/regress.h"

typedef struct
{
  char    *baseline, *junit, *markdown, *html;
  char   **tolerances;
  gboolean update, prune;
} Arguments;

static void
arguments_clear (Arguments *self)
{
  g_free (self->baseline);
  g_free (self->junit);
  g_free (self->markdown);
  g_free (self->html);
  g_strfreev (self->tolerances);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Arguments, arguments_clear)

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Adds those of FILE to ALL: names tell rows apart. */
static void
load_file (const Common *common, const char *file, GPtrArray *all, GHashTable *names,
           DiagList *diags)
{
  g_autoptr (GPtrArray) scenarios = scenario_load (
      common->strategies, file, (const ScenarioOverride *) (void *) common->overrides->data,
      common->overrides->len, diags);

  while (scenarios != NULL && scenarios->len > 0)
    {
      Scenario *scenario = g_ptr_array_steal_index (scenarios, 0);

      g_ptr_array_add (all, scenario);
      if (!g_hash_table_insert (names, scenario->name, scenario->name))
        diag_error (diags, NULL, "a baseline tells scenarios apart by 'name:'",
                    "two scenarios are called '%s', the second of '%s'", scenario->name, file);
    }
}

/* NULL after diagnostics. */
static GPtrArray *
load_scenarios (const Common *common, DiagList *diags)
{
  g_autoptr (GPtrArray)  all = g_ptr_array_new_with_free_func ((GDestroyNotify) scenario_free);
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; common->files[i] != NULL; i++)
    load_file (common, common->files[i], all, names, diags);
  if (common->files[0] == NULL)
    diag_error (diags, NULL, "such as 'shardsim regress runs.yaml --baseline baseline.json'",
                "no scenario file is given");
  return diag_list_has_errors (diags) ? NULL : g_steal_pointer (&all);
}

/* The stored one; with --update an empty one where there is none yet. NULL after diagnostics. */
static Baseline *
load_baseline (const Arguments *arguments, DiagList *diags)
{
  if (g_file_test (arguments->baseline, G_FILE_TEST_EXISTS))
    return baseline_load (arguments->baseline, diags);
  if (arguments->update)
    return baseline_new ();
  diag_error (diags, NULL, "--update writes it from the predictions of today",
              "there is no baseline '%s'", arguments->baseline);
  return NULL;
}

/* Rows that only one side has: an error of the baseline, or a warning about it. */
static void
check_rows (const Arguments *arguments, const Baseline *baseline, const GPtrArray *scenarios,
            DiagList *diags)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
  const char            *rest = NULL;
  guint                  n_rest = 0;

  for (guint i = 0; i < scenarios->len; i++)
    {
      char *name = ((Scenario *) g_ptr_array_index (scenarios, i))->name;

      g_hash_table_add (names, name);
      if (!arguments->update && baseline_find (baseline, name) == NULL)
        diag_error (diags, NULL, "--update adds it", "the baseline '%s' has no row of '%s'",
                    arguments->baseline, name);
    }
  for (guint i = 0; i < baseline->rows->len && !arguments->prune; i++)
    {
      const RegressRow *row = g_ptr_array_index (baseline->rows, i);

      if (g_hash_table_contains (names, row->scenario))
        continue;
      rest = rest != NULL ? rest : row->scenario;
      n_rest++;
    }
  if (n_rest > 0)
    diag_warning (diags, NULL, "--update --prune drops them",
                  "the baseline '%s' has %u %s, such as '%s', that no scenario of this run has",
                  arguments->baseline, n_rest, n_rest == 1 ? "row" : "rows", rest);
}

/* Array of RegressLimit. */
static GArray *
read_limits (const Arguments *arguments, DiagList *diags)
{
  g_autofree const char **names = report_result_names ();
  GArray                 *limits = g_array_new (FALSE, FALSE, sizeof (RegressLimit));

  for (guint i = 0; arguments->tolerances != NULL && arguments->tolerances[i] != NULL; i++)
    {
      RegressLimit limit;

      if (regress_limit_parse (arguments->tolerances[i], names, &limit, diags))
        g_array_append_val (limits, limit);
    }
  return limits;
}

/* ---- work in threads ------------------------------------------------------------------------- */

/* Each scenario has slots of its own. */
typedef struct
{
  const Common    *common;
  PredictOptions   options;
  const GPtrArray *scenarios;
  GPtrArray       *comparisons;
  RegressRow     **rows;
  DiagList       **diags;
  GError         **errors;
} Jobs;

static void
predict_one (guint i, gpointer user)
{
  Jobs *jobs = user;

  jobs->rows[i] = regress_row_predict (g_ptr_array_index (jobs->scenarios, i), &jobs->options,
                                       report_results, jobs->diags[i], &jobs->errors[i]);
}

static void
explain_one (guint i, gpointer user)
{
  Jobs *jobs = user;

  regress_explain (g_ptr_array_index (jobs->comparisons, i), g_ptr_array_index (jobs->scenarios, i),
                   jobs->common->strategies, &jobs->options, report_results);
}

/* The rows of all scenarios into ROWS; what is wrong is said scenario by scenario. */
static ExitStatus
predict_all (const Common *common, const GPtrArray *scenarios, GPtrArray *rows)
{
  g_autofree RegressRow **slots = g_new0 (RegressRow *, scenarios->len);
  g_autofree DiagList   **diags = g_new0 (DiagList *, scenarios->len);
  g_autofree GError     **errors = g_new0 (GError *, scenarios->len);
  g_autoptr (GHashTable)  said = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Progress               *progress = progress_start ("predicting", "scenarios", NULL);
  ExitStatus              status = EXIT_DONE, one;
  Jobs                    jobs = { .common = common,
                                   .options = common_predict_options (common),
                                   .scenarios = scenarios,
                                   .rows = slots,
                                   .diags = diags,
                                   .errors = errors };

  for (guint i = 0; i < scenarios->len; i++)
    diags[i] = diag_list_new ();
  parallel_run (scenarios->len, common_n_jobs (common), predict_one, &jobs,
                progress_count (progress));
  progress_end (progress);
  for (guint i = 0; i < scenarios->len; i++)
    {
      diag_list_drop_said (diags[i], said);
      one = stream_report_diags (diags[i]);
      if (one == EXIT_DONE && errors[i] != NULL)
        one = stream_report_error (errors[i]);
      if (one != EXIT_DONE)
        stream_say ("shardsim regress: '%s' cannot be predicted\n",
                    ((Scenario *) g_ptr_array_index (scenarios, i))->name);
      status = stream_worse (status, one);
      if (slots[i] != NULL)
        g_ptr_array_add (rows, slots[i]);
      diag_list_free (diags[i]);
      g_clear_error (&errors[i]);
    }
  return status;
}

/* ---- answers --------------------------------------------------------------------------------- */

typedef void (*Report) (const GPtrArray *comparisons, const char *baseline, GString *out);

/* REPORT into FILE, "-" for standard output; NULL: not asked for. */
static ExitStatus
write_report (ExitStatus status, const char *file, Report report, const GPtrArray *comparisons,
              const char *baseline)
{
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GError)  error = NULL;
  gboolean            written;

  if (file == NULL)
    return status;
  report (comparisons, baseline, out);
  if (g_str_equal (file, "-"))
    return stream_worse (status, stream_print (out));
  written = output_file_write (file, out->str, &error);
  return stream_note_output (status, written, error);
}

static gboolean
is_stdout (const char *file)
{
  return g_strcmp0 (file, "-") == 0;
}

static ExitStatus
write_page (const Common *common, const Arguments *arguments, const GPtrArray *comparisons,
            ExitStatus status)
{
  g_autofree char    *baseline = g_shell_quote (arguments->baseline);
  g_autofree char    *options = g_strdup_printf ("--baseline %s --update", baseline);
  g_autofree char    *update = common_command_line (common, "regress", options);
  const RegressAnswer answer = { comparisons, arguments->baseline, update };
  g_autoptr (GError)  error = NULL;

  if (arguments->html == NULL)
    return status;
  return stream_note_output (
      status, report_page_of (&regress_page, &answer, NULL, NULL, arguments->html, &error), error);
}

static ExitStatus
print_answer (const Common *common, const Arguments *arguments, const GPtrArray *comparisons)
{
  static const Report print[] = {
    [FORMAT_TEXT] = report_regress_text,
    [FORMAT_CSV] = report_regress_csv,
    [FORMAT_JSON] = report_regress_json,
  };
  const char *baseline = arguments->baseline;
  ExitStatus  status = EXIT_DONE;

  if (!is_stdout (arguments->markdown) && !is_stdout (arguments->junit)) /* else that is it */
    status = write_report (status, "-", print[common->format], comparisons, baseline);
  status =
      write_report (status, arguments->markdown, report_regress_markdown, comparisons, baseline);
  status = write_report (status, arguments->junit, report_regress_junit, comparisons, baseline);
  status = write_page (common, arguments, comparisons, status);
  if (g_strcmp0 (g_getenv ("GITHUB_ACTIONS"), "true") == 0 && !arguments->update)
    {
      g_autoptr (GString) out = g_string_new (NULL);

      report_regress_annotations (comparisons, baseline, out);
      stream_say ("%s", out->str);
    }
  return status;
}

/* ROWS, whose ownership goes to BASELINE, in the place of the stored ones. */
static ExitStatus
write_baseline (const Arguments *arguments, Baseline *baseline, GPtrArray *rows)
{
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GError)  error = NULL;
  gboolean            written;

  if (arguments->prune)
    baseline_prune (baseline, rows);
  while (rows->len > 0)
    baseline_take (baseline, g_ptr_array_steal_index (rows, 0));
  report_baseline (baseline, out);
  written = output_file_write (arguments->baseline, out->str, &error);
  return stream_note_output (EXIT_DONE, written, error);
}

/* Those of ROWS that BASELINE has; NULL after diagnostics. */
static GPtrArray *
compare_rows (const Baseline *baseline, const GPtrArray *rows, const GArray *limits)
{
  g_autoptr (GPtrArray) comparisons =
      g_ptr_array_new_with_free_func ((GDestroyNotify) regress_comparison_free);
  g_autoptr (DiagList) diags = diag_list_new ();

  for (guint i = 0; i < rows->len; i++)
    g_ptr_array_add (comparisons,
                     regress_compare (baseline, g_ptr_array_index (rows, i), limits, diags));
  return stream_report_diags (diags) == EXIT_DONE ? g_steal_pointer (&comparisons) : NULL;
}

static guint
count_moved (const GPtrArray *comparisons)
{
  guint n = 0;

  for (guint i = 0; i < comparisons->len; i++)
    n += ((RegressComparison *) g_ptr_array_index (comparisons, i))->n[REGRESS_MOVED];
  return n;
}

static ExitStatus
regress (const Common *common, const Arguments *arguments, const GPtrArray *scenarios,
         Baseline *baseline, const GArray *limits)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify) regress_row_free);
  g_autoptr (GPtrArray) comparisons = NULL;
  ExitStatus            status = predict_all (common, scenarios, rows), written = EXIT_DONE;
  Progress             *progress;
  Jobs                  jobs = { .common = common,
                                 .scenarios = scenarios,
                                 .options = common_predict_options (common) };

  if (status != EXIT_DONE)
    return status;
  comparisons = compare_rows (baseline, rows, limits);
  if (comparisons == NULL)
    return EXIT_USAGE;
  jobs.comparisons = comparisons;
  progress = progress_start ("explaining", "scenarios", NULL);
  parallel_run (scenarios->len, common_n_jobs (common), explain_one, &jobs,
                progress_count (progress));
  progress_end (progress);
  status = print_answer (common, arguments, comparisons);
  if (status == EXIT_DONE && count_moved (comparisons) > 0 && !arguments->update)
    status = EXIT_NO;
  g_clear_pointer (&comparisons, g_ptr_array_unref); /* it borrows the rows */
  if (arguments->update)
    written = write_baseline (arguments, baseline, rows);
  return stream_worse (status, written);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* FALSE after a message. */
static gboolean
check_arguments (const Common *common, const Arguments *arguments)
{
  if (arguments->baseline == NULL)
    stream_say ("shardsim regress: --baseline is missing: the file that the predictions are "
                "compared with, or with --update written to\n");
  else if (arguments->prune && !arguments->update)
    stream_say ("shardsim regress: --prune goes with --update\n");
  else if ((is_stdout (arguments->markdown) || is_stdout (arguments->junit))
               + (is_stdout (arguments->markdown) && is_stdout (arguments->junit))
               + (common->format != FORMAT_TEXT)
           > 1)
    stream_say ("shardsim regress: --markdown - and --junit - take the place of --format: one of "
                "them at a time\n");
  else
    return TRUE;
  return FALSE;
}

static ExitStatus
check_outputs (const Arguments *arguments)
{
  const char *markdown = is_stdout (arguments->markdown) ? NULL : arguments->markdown;
  const char *junit = is_stdout (arguments->junit) ? NULL : arguments->junit;
  const char *baseline = arguments->update ? arguments->baseline : NULL;
  ExitStatus  status = stream_check_output ("--junit", junit, OUTPUT_FILE);

  status = stream_worse (status, stream_check_output ("--markdown", markdown, OUTPUT_FILE));
  status = stream_worse (status, stream_check_output ("--html", arguments->html, OUTPUT_FILE));
  return stream_worse (status, stream_check_output ("--baseline", baseline, OUTPUT_UPDATED));
}

static ExitStatus
run (const Common *common, const Arguments *arguments)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) scenarios = load_scenarios (common, diags);
  g_autoptr (Baseline)  baseline = load_baseline (arguments, diags);
  g_autoptr (GArray)    limits = read_limits (arguments, diags);
  ExitStatus            status;

  if (scenarios != NULL && baseline != NULL)
    check_rows (arguments, baseline, scenarios, diags);
  status = stream_report_diags (diags);
  if (scenarios == NULL || baseline == NULL)
    return EXIT_USAGE;
  if (status == EXIT_DONE)
    status = check_outputs (arguments);
  return status == EXIT_DONE ? regress (common, arguments, scenarios, baseline, limits) : status;
}

int
cmd_regress (int argc, char **argv)
{
  g_auto (Common)    common = { 0 };
  g_auto (Arguments) arguments = { 0 };
  gboolean           done = FALSE;
  const GOptionEntry extra[] = {
    { "baseline", 0, 0, G_OPTION_ARG_FILENAME, &arguments.baseline,
      "the stored predictions: JSON that is kept beside the scenarios", "FILE" },
    { "update", 0, 0, G_OPTION_ARG_NONE, &arguments.update,
      "write the predictions of today into the baseline; rows of other scenarios stay", NULL },
    { "prune", 0, 0, G_OPTION_ARG_NONE, &arguments.prune,
      "with --update: drop rows that no scenario of this run has", NULL },
    { "tolerance", 0, 0, G_OPTION_ARG_STRING_ARRAY, &arguments.tolerances,
      "how far a result may move: step_time_s=0.5%, peak_host_gib=0.25 (in its unit), "
      "binding_resource=any; all=... for the others (default: not at all)",
      "RESULT=X" },
    { "markdown", 0, 0, G_OPTION_ARG_FILENAME, &arguments.markdown,
      "write what moved as Markdown, with '-' in the place of the text", "FILE" },
    { "junit", 0, 0, G_OPTION_ARG_FILENAME, &arguments.junit,
      "write JUnit XML, a test case for each scenario and result; '-' as above", "FILE" },
    { "html", 0, 0, G_OPTION_ARG_FILENAME, &arguments.html,
      "write one self-contained page of what moved and why", "FILE" },
    G_OPTION_ENTRY_NULL,
  };

  if (!common_parse (
          &common, COMMON_SCENARIO | COMMON_FORMAT | COMMON_JOBS, "SCENARIOS.yaml...",
          "Predicts every scenario of the files and compares each result with that of the "
          "baseline; says which changed input moved it.\n"
          "Exit status: 0 nothing moved beyond its tolerance, 3 something did, 2 bad input, "
          "1 runtime failure.",
          "Examples:\n"
          "  shardsim regress workloads/quickstart.yaml --baseline baseline.json --update\n"
          "  shardsim regress workloads/quickstart.yaml --baseline baseline.json \\\n"
          "    --tolerance step_time_s=0.5% --junit regress.xml\n",
          extra, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  return check_arguments (&common, &arguments) ? run (&common, &arguments) : EXIT_USAGE;
}
