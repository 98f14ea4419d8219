/* shardsim validate collectives: nccl-tests' runs, from tables and logs, against predictions. */
#include "base/file/layout.h"
#include "calibrate/leave-one-out.h"
#include "cli/argument/measurement-arguments.h"
#include "cli/argument/validation-arguments.h"
#include "cli/output/progress.h"
#include "report/validation/validate.h"

typedef struct
{
  ValidationArguments  shared;
  MeasurementArguments logs;
  char                *leave_one_out;
} Settings;

static ExitStatus
print_result (const Common *common, const ValidationArguments *arguments,
              const CollectiveValidation *result)
{
  g_autoptr (GString) rows = g_string_new (NULL), summary = g_string_new (NULL);

  report_answer (&collective_summary, result, FORMAT_TEXT, summary);
  report_answer (&collective_rows, result, common->format, rows);
  return validation_print (arguments, common, rows, summary);
}

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings                  *settings = data;
  const ValidationArguments       *shared = &settings->shared;
  g_autoptr (DiagList)             diags = diag_list_new ();
  g_autoptr (CollectiveValidation) result = NULL;
  g_autoptr (GError)               error = NULL;
  g_autofree char                 *style = layout_data_file ("plots/style.gp");
  GPtrArray                       *measurements = NULL;
  const ValidationGroup           *overall;
  gboolean                         drawn;
  Progress                        *progress;
  ExitStatus                       words, status = common_check_outputs (common);

  if (status != EXIT_DONE)
    return status;
  measurements = measurement_arguments_load (common, &settings->logs, FALSE, diags);
  words = stream_report_diags (diags);
  if (measurements == NULL)
    return EXIT_USAGE;
  progress = progress_start ("predicting", "sources", NULL);
  result = settings->leave_one_out != NULL
               ? validate_collectives_left_out (measurements, common->hwprofiles,
                                                common_n_jobs (common), progress_count (progress))
               : validate_collectives (measurements, common->hwprofiles);
  progress_end (progress);
  status = validation_check_any (common, result->rows->len, result->n_failed,
                                 print_result (common, shared, result));
  progress = progress_start ("drawing", "pictures", NULL);
  drawn = shared->plot == NULL || report_validation_plot (result, shared->plot, style, &error);
  progress_end (progress);
  status = stream_note_output (status, drawn, error);
  if (words != EXIT_DONE) /* the other rows count all the same */
    return words;
  if (status != EXIT_DONE)
    return status;
  overall = collective_validation_overall (result, VALIDATION_MAIN);
  return validation_check_limit (shared, common, "healthy rows",
                                 overall != NULL ? overall->errors.n : 0,
                                 overall != NULL ? overall->errors.median_abs : 0);
}

static gboolean
check (Common *common, gpointer data, DiagList *diags)
{
  const char *left_out = ((const Settings *) data)->leave_one_out;

  (void) diags;
  if (left_out == NULL || g_str_equal (left_out, "source"))
    return TRUE;
  common_say (common, "--leave-one-out: expected 'source', got '%s'\n", left_out);
  return FALSE;
}

static const CommandOption options[] = {
  { OPTION_ROWS (shared) },
  { OPTION_MAX_ERROR (shared, "healthy rows") },
  { OPTION ("leave-one-out", VALUE_TEXT, leave_one_out, "WHAT",
            "'source': predict each source (ids without their numbers) with link profiles fitted "
            "to the others") },
  { OPTION ("plot", VALUE_FOLDER, shared.plot, "DIR",
            "draw each run and an overview into the folder DIR (gnuplot)"),
    .check = stream_check_pictures },
  OPTIONS_OF_LOGS (logs),
  { 0 },
};

const Command command_validate_collectives = {
  .name = "validate collectives",
  .help = "runs of nccl-tests or rccl-tests",
  .arguments = "FILE...",
  .summary = "Predicts each row of measured collectives and summarises the errors by size, "
             "collective, link and run.\n" MEASUREMENT_FILES_HELP,
  .examples = "Examples:\n"
              "  shardsim validate collectives runs.csv\n"
              "  shardsim validate collectives runs.csv --format csv >errors.csv\n"
              "  shardsim validate collectives runs.csv --plot pictures --max-error '10 %'\n"
              "  shardsim validate collectives runs.csv --leave-one-out source\n"
              "  shardsim validate collectives all_reduce.log --cluster '2 x dgx-h100' --rows\n",
  .takes = COMMON_FORMAT | COMMON_JOBS | COMMON_CLUSTER,
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .missing = NO_MEASUREMENTS,
  .check = check,
  .run = run,
};
