/* shardsim regress: predictions against a stored baseline. */
#include "base/parallel.h"
#include "cli/argument/common.h"
#include "cli/help/page-values.h"
#include "cli/output/progress.h"
#include "predict/batch.h"
#include "report/regress/regress.h"

typedef struct
{
  char    *baseline, *junit, *markdown, *html;
  char   **tolerances;
  gboolean update, prune;
} Settings;

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Adds those of FILE to ALL: names tell rows apart. */
static void
load_file (Common *common, const char *file, GPtrArray *all, GHashTable *names, DiagList *diags)
{
  g_autoptr (GPtrArray) scenarios =
      common_load (common, file, (const ScenarioOverride *) (void *) common->overrides->data,
                   common->overrides->len, FALSE, diags);

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
load_scenarios (Common *common, DiagList *diags)
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
load_baseline (const Settings *arguments, DiagList *diags)
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
check_rows (const Settings *arguments, const Baseline *baseline, const GPtrArray *scenarios,
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
read_limits (const Settings *arguments, DiagList *diags)
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

typedef struct
{
  const Common    *common;
  PredictOptions   options;
  const GPtrArray *scenarios;
  RegressRow     **rows;        /* of the scenarios */
  GPtrArray       *comparisons; /* the same */
} Jobs;

static void
read_row (gpointer user, guint i, Predicted *one)
{
  const Jobs *jobs = user;

  if (one->prediction != NULL)
    jobs->rows[i] = regress_row_read (g_ptr_array_index (jobs->scenarios, i), one->prediction,
                                      &one->inputs, report_results);
}

static void
explain_one (guint i, gpointer user)
{
  const Jobs *jobs = user;

  regress_explain (g_ptr_array_index (jobs->comparisons, i), g_ptr_array_index (jobs->scenarios, i),
                   jobs->common->strategies, &jobs->options, report_results);
}

/* The rows of all scenarios into ROWS; what is wrong is said scenario by scenario. */
static ExitStatus
predict_all (const Common *common, const GPtrArray *scenarios, GPtrArray *rows)
{
  g_autofree RegressRow  **slots = g_new0 (RegressRow *, scenarios->len);
  g_autoptr (GHashTable)   said = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Progress                *progress = progress_start ("predicting", "scenarios", NULL);
  ExitStatus               status = EXIT_DONE, one;
  PredictOptions           options = common_predict_options (common);
  Jobs                     jobs = { .scenarios = scenarios, .rows = slots };
  g_auto (PredictionBatch) batch = { .n = scenarios->len,
                                     .n_threads = common_n_jobs (common),
                                     .options = &options,
                                     .scenarios = scenarios,
                                     .read = read_row,
                                     .user = &jobs };

  options.count = progress_count (progress);
  options.idle_figures = TRUE;
  prediction_batch_run (&batch);
  progress_end (progress);
  for (guint i = 0; i < batch.n; i++)
    {
      diag_list_drop_said (batch.each[i].diags, said);
      one = stream_report_diags (batch.each[i].diags);
      if (one == EXIT_DONE && batch.each[i].error != NULL)
        one = stream_report_error (batch.each[i].error);
      if (one != EXIT_DONE)
        stream_say ("shardsim regress: '%s' cannot be predicted\n",
                    ((Scenario *) g_ptr_array_index (scenarios, i))->name);
      status = stream_worse (status, one);
      if (slots[i] != NULL)
        g_ptr_array_add (rows, slots[i]);
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
write_page (const Common *common, const Settings *arguments, const GPtrArray *comparisons,
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
print_answer (const Common *common, const Settings *arguments, const GPtrArray *comparisons)
{
  const RegressAnswer answer = { comparisons, arguments->baseline, NULL };
  g_autoptr (GString) text = g_string_new (NULL);
  const char         *baseline = arguments->baseline;
  ExitStatus          status = EXIT_DONE;

  if (!is_stdout (arguments->markdown) && !is_stdout (arguments->junit)) /* else that is it */
    {
      report_answer (&regress_page, &answer, common->format, text);
      status = stream_print (text);
    }
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
write_baseline (const Settings *arguments, Baseline *baseline, GPtrArray *rows)
{
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GError)  error = NULL;
  gboolean            written;

  if (arguments->prune)
    baseline_prune (baseline, rows);
  while (rows->len > 0)
    baseline_put (baseline, g_ptr_array_steal_index (rows, 0));
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

static ExitStatus
regress (const Common *common, const Settings *arguments, const GPtrArray *scenarios,
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
  parallel_run (comparisons->len, common_n_jobs (common), explain_one, &jobs,
                progress_count (progress));
  progress_end (progress);
  status = print_answer (common, arguments, comparisons);
  for (guint i = 0; i < comparisons->len && status == EXIT_DONE && !arguments->update; i++)
    if (((RegressComparison *) g_ptr_array_index (comparisons, i))->n[REGRESS_MOVED] > 0)
      status = EXIT_NO;
  g_clear_pointer (&comparisons, g_ptr_array_unref); /* it borrows the rows */
  if (arguments->update)
    written = write_baseline (arguments, baseline, rows);
  return stream_worse (status, written);
}

/* ---- the command ----------------------------------------------------------------------------- */

static gboolean
check (Common *common, gpointer data, DiagList *diags)
{
  const Settings *settings = data;
  const guint     printed = is_stdout (settings->markdown) + is_stdout (settings->junit)
                        + (common->format != FORMAT_TEXT);

  (void) diags;
  if (printed > 1)
    common_say (common, "--markdown - and --junit - take the place of --format: one of them at a "
                        "time\n");
  return printed <= 1;
}

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings       *settings = data;
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) scenarios = load_scenarios (common, diags);
  g_autoptr (Baseline)  baseline = load_baseline (settings, diags);
  g_autoptr (GArray)    limits = read_limits (settings, diags);
  ExitStatus            status;

  if (scenarios != NULL && baseline != NULL)
    check_rows (settings, baseline, scenarios, diags);
  status = stream_report_diags (diags);
  if (scenarios == NULL || baseline == NULL)
    return EXIT_USAGE;
  if (status == EXIT_DONE)
    status = common_check_outputs (common);
  if (status == EXIT_DONE && settings->update)
    status = stream_check_output ("--baseline", settings->baseline, OUTPUT_UPDATED);
  return status == EXIT_DONE ? regress (common, settings, scenarios, baseline, limits) : status;
}

/* "-" is standard output. */
static ExitStatus
check_report (const char *option, const char *path)
{
  return is_stdout (path) ? EXIT_DONE : stream_check_file (option, path);
}

static const CommandOption options[] = {
  { OPTION ("baseline", VALUE_FILE, baseline, "FILE",
            "the stored predictions: JSON that is kept beside the scenarios") },
  { OPTION ("update", VALUE_SWITCH, update, NULL,
            "write the predictions of today into the baseline; rows of other scenarios stay") },
  { OPTION ("prune", VALUE_SWITCH, prune, NULL,
            "with --update: drop rows that no scenario of this run has") },
  { OPTION ("tolerance", VALUE_TEXTS, tolerances, "RESULT=X",
            "how far a result may move: step_time_s=0.5%, peak_host_gib=0.25 (in its unit), "
            "binding_resource=any; all=... for the others (default: not at all)"),
    .words = &words_tolerances },
  { OPTION ("markdown", VALUE_FILE, markdown, "FILE",
            "write what moved as Markdown, with '-' in the place of the text"),
    .check = check_report },
  { OPTION ("junit", VALUE_FILE, junit, "FILE",
            "write JUnit XML, a test case for each scenario and result; '-' as above"),
    .check = check_report },
  { OPTION ("html", VALUE_FILE, html, "FILE",
            "write one self-contained page of what moved and why"),
    .check = stream_check_file },
  { 0 },
};

static const OptionRule rules[] = {
  { .needs = "baseline",
    .words = "--baseline is missing: the file that the predictions are compared with, or with "
             "--update written to" },
  { .given = "prune", .needs = "update", .words = "--prune goes with --update" },
  { 0 },
};

const Command command_regress = {
  .name = "regress",
  .help = "predictions against a stored baseline: what moved, and why",
  .arguments = "SCENARIOS.yaml...",
  .summary = "Predicts every scenario of the files and compares each result with that of the "
             "baseline; says which changed input moved it.\n"
             "Exit status: 0 nothing moved beyond its tolerance, 3 something did, 2 bad input, "
             "1 runtime failure.",
  .examples = "Examples:\n"
              "  shardsim regress workloads/quickstart.yaml --baseline baseline.json --update\n"
              "  shardsim regress workloads/quickstart.yaml --baseline baseline.json \\\n"
              "    --tolerance step_time_s=0.5% --junit regress.xml\n",
  .takes = COMMON_SCENARIO | COMMON_FORMAT | COMMON_JOBS,
  .options = options,
  .rules = rules,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .check = check,
  .run = run,
};
