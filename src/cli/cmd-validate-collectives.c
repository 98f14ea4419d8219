/* shardsim validate collectives: nccl-tests' runs, from tables and logs, against predictions. */
#include <stdio.h>

#include "base/layout.h"
#include "calibrate/leave-one-out.h"
#include "cli/measurement-arguments.h"
#include "cli/progress.h"
#include "cli/subjects.h"
#include "cli/validation-arguments.h"
#include "report/validate.h"

typedef struct
{
  ValidationArguments shared;
  char               *leave_one_out, *collective;
} Arguments;

/* FALSE after a message. */
static gboolean
check_left_out (const Common *common, const Arguments *arguments)
{
  if (arguments->leave_one_out == NULL || g_str_equal (arguments->leave_one_out, "source"))
    return TRUE;
  stream_say ("shardsim %s: --leave-one-out: expected 'source', got '%s'\n", common->command,
              arguments->leave_one_out);
  return FALSE;
}

static ExitStatus
print_result (const Common *common, const ValidationArguments *arguments,
              const CollectiveValidation *result)
{
  g_autoptr (GString) rows = g_string_new (NULL), summary = g_string_new (NULL);

  report_validation_summary (result, summary);
  if (common->format == FORMAT_CSV)
    report_validation_csv (result, rows);
  else if (common->format == FORMAT_JSON)
    report_validation_json (result, rows);
  else if (arguments->rows)
    report_validation_rows (result, rows);
  return validation_print (arguments, common, rows, summary);
}

static ExitStatus
check_limit (const Common *common, const ValidationArguments *arguments,
             const CollectiveValidation *result)
{
  const ValidationGroup *overall = collective_validation_overall (result, VALIDATION_MAIN);

  return validation_check_limit (arguments, common, "healthy rows",
                                 overall != NULL ? overall->errors.n : 0,
                                 overall != NULL ? overall->errors.median_abs : 0);
}

static ExitStatus
validate (const Common *common, Arguments *arguments)
{
  g_autoptr (DiagList)             diags = diag_list_new ();
  g_autoptr (CollectiveValidation) result = NULL;
  g_autoptr (GError)               error = NULL;
  g_autofree char                 *style = layout_data_file ("plots/style.gp");
  GPtrArray                       *measurements = NULL;
  gboolean                         drawn;
  Progress                        *progress;
  ExitStatus words, status = stream_check_pictures ("--plot", arguments->shared.plot);

  if (status != EXIT_DONE)
    return status;
  measurements = measurement_arguments_load (common, arguments->collective, FALSE, diags);
  words = stream_report_diags (diags);
  if (measurements == NULL)
    return EXIT_USAGE;
  progress = progress_start ("predicting", "sources", NULL);
  result = arguments->leave_one_out != NULL
               ? validate_collectives_left_out (measurements, common->hwprofiles,
                                                common_n_jobs (common), progress_count (progress))
               : validate_collectives (measurements, common->hwprofiles);
  progress_end (progress);
  status = validation_check_any (common, result->rows->len, result->n_failed,
                                 print_result (common, &arguments->shared, result));
  progress = progress_start ("drawing", "pictures", NULL);
  drawn = arguments->shared.plot == NULL
          || report_validation_plot (result, arguments->shared.plot, style, &error);
  progress_end (progress);
  status = stream_note_output (status, drawn, error);
  if (words != EXIT_DONE) /* the other rows count all the same */
    return words;
  return status == EXIT_DONE ? check_limit (common, &arguments->shared, result) : status;
}

int
cmd_validate_collectives (int argc, char **argv)
{
  g_auto (Common)    common = { 0 };
  gboolean           done = FALSE;
  Arguments          arguments = { 0 };
  const GOptionEntry entries[] = {
    { "rows", 0, 0, G_OPTION_ARG_NONE, &arguments.shared.rows, "text: print every row as well",
      NULL },
    { "max-error", 0, 0, G_OPTION_ARG_STRING, &arguments.shared.max_error,
      "exit with 3 when the median |error| of healthy rows is above X: '0.1' or '10 %'", "X" },
    { "leave-one-out", 0, 0, G_OPTION_ARG_STRING, &arguments.leave_one_out,
      "'source': predict each source (ids without their numbers) with link profiles fitted to the "
      "others",
      "WHAT" },
    { "plot", 0, 0, G_OPTION_ARG_FILENAME, &arguments.shared.plot,
      "draw each run and an overview into the folder DIR (gnuplot)", "DIR" },
    MEASUREMENT_COLLECTIVE_ENTRY (&arguments.collective),
    G_OPTION_ENTRY_NULL,
  };
  ExitStatus status = EXIT_USAGE;

  if (common_parse (
          &common, COMMON_FORMAT | COMMON_JOBS | COMMON_CLUSTER, "FILE...",
          "Predicts each row of measured collectives and summarises the errors by size, "
          "collective, link and run.\n" MEASUREMENT_FILES_HELP,
          "Examples:\n"
          "  shardsim validate collectives runs.csv\n"
          "  shardsim validate collectives runs.csv --format csv >errors.csv\n"
          "  shardsim validate collectives runs.csv --plot pictures --max-error '10 %'\n"
          "  shardsim validate collectives runs.csv --leave-one-out source\n"
          "  shardsim validate collectives all_reduce.log --cluster '2 x dgx-h100' --rows\n",
          entries, argc, argv, &done))
    {
      if (done)
        status = EXIT_DONE;
      else if (validation_arguments_check (&arguments.shared, &common, G_MAXUINT)
               && check_left_out (&common, &arguments))
        status = validate (&common, &arguments);
    }
  validation_arguments_clear (&arguments.shared);
  g_free (arguments.leave_one_out);
  g_free (arguments.collective);
  return status;
}
