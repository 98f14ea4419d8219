/* shardsim validate collectives: a table of nccl-tests' runs against predictions. */
#include <stdio.h>

#include "base/layout.h"
#include "cli/subjects.h"
#include "report/validate.h"

typedef struct
{
  char    *plot, *max_error, *leave_one_out;
  gboolean rows;
  double   limit; /* of the median; negative: none */
} Arguments;

/* FALSE after a message. */
static gboolean
read_limit (const Common *common, Arguments *arguments)
{
  g_autofree char *why = NULL;

  arguments->limit = -1;
  if (arguments->max_error == NULL
      || quantity_parse (QUANTITY_RATIO, arguments->max_error, &arguments->limit, &why))
    return TRUE;
  fprintf (stderr, "shardsim %s: --max-error: %s\n", common->command, why);
  return FALSE;
}

/* FALSE after a message. */
static gboolean
check_left_out (const Common *common, const Arguments *arguments)
{
  if (arguments->leave_one_out == NULL || g_str_equal (arguments->leave_one_out, "source"))
    return TRUE;
  fprintf (stderr, "shardsim %s: --leave-one-out: expected 'source', got '%s'\n", common->command,
           arguments->leave_one_out);
  return FALSE;
}

static ExitStatus
print_result (const Common *common, const Arguments *arguments, const CollectiveValidation *result)
{
  g_autoptr (GString) out = g_string_new (NULL), summary = g_string_new (NULL);

  report_validation_summary (result, summary);
  switch (common->format)
    {
    case FORMAT_CSV:
      report_validation_csv (result, out);
      fputs (summary->str, stderr);
      break;
    case FORMAT_JSON:
      report_validation_json (result, out);
      break;
    default:
      if (arguments->rows)
        {
          report_validation_rows (result, out);
          g_string_append_c (out, '\n');
        }
      g_string_append_len (out, summary->str, (gssize) summary->len);
      break;
    }
  return common_print (out);
}

/* Nothing that could be predicted is no better than a bad prediction. */
static ExitStatus
check_limit (const Common *common, const Arguments *arguments, const CollectiveValidation *result)
{
  const ValidationGroup *overall = collective_validation_overall (result, VALIDATION_MAIN);

  if (arguments->limit < 0 || (overall != NULL && overall->errors.median_abs <= arguments->limit))
    return EXIT_DONE;
  if (overall == NULL)
    fprintf (stderr, "shardsim %s: no healthy row could be simulated\n", common->command);
  else
    fprintf (stderr, "shardsim %s: the median error of healthy rows is %.1f %%, above %.1f %%\n",
             common->command, 100 * overall->errors.median_abs, 100 * arguments->limit);
  return EXIT_NO;
}

static ExitStatus
validate (const Common *common, Arguments *arguments)
{
  g_autoptr (DiagList)             diags = diag_list_new ();
  g_autoptr (CollectiveValidation) result = NULL;
  g_autoptr (GError)               error = NULL;
  g_autofree char                 *style = layout_data_file ("plots/style.gp");
  GPtrArray                       *measurements = measurement_table_load (common->files[0], diags);
  ExitStatus                       status;

  common_report_diags (diags);
  if (measurements == NULL)
    return EXIT_USAGE;
  result =
      arguments->leave_one_out != NULL
          ? validate_collectives_left_out (measurements, common->hwprofiles, common_n_jobs (common))
          : validate_collectives (measurements, common->hwprofiles);
  if (arguments->plot != NULL && !report_validation_plot (result, arguments->plot, style, &error))
    return common_report_error (error);
  status = print_result (common, arguments, result);
  return status == EXIT_DONE ? check_limit (common, arguments, result) : status;
}

int
cmd_validate_collectives (int argc, char **argv)
{
  g_auto (Common)    common = { 0 };
  gboolean           done = FALSE;
  Arguments          arguments = { 0 };
  const GOptionEntry entries[] = {
    { "rows", 0, 0, G_OPTION_ARG_NONE, &arguments.rows, "text: print every row as well", NULL },
    { "max-error", 0, 0, G_OPTION_ARG_STRING, &arguments.max_error,
      "exit with 3 when the median |error| of healthy rows is above X: '0.1' or '10 %'", "X" },
    { "leave-one-out", 0, 0, G_OPTION_ARG_STRING, &arguments.leave_one_out,
      "'source': predict each source (ids without their numbers) with link profiles fitted to the others",
      "WHAT" },
    { "plot", 0, 0, G_OPTION_ARG_FILENAME, &arguments.plot,
      "draw each run and an overview into DIR (gnuplot)", "DIR" },
    G_OPTION_ENTRY_NULL,
  };
  ExitStatus status = EXIT_USAGE;

  if (common_parse (
          &common, COMMON_FORMAT | COMMON_JOBS, "FILE.csv",
          "Predicts each row of a table of measured collectives and summarises the errors by size, collective, link and "
          "run. Columns: id, nodes, gpus_per_node, gpu, intra, nics, nic, collective, bytes, time_us; optional: source, "
          "healthy, nccl, env and every key of the section 'cluster'.",
          "Examples:\n"
          "  shardsim validate collectives runs.csv\n"
          "  shardsim validate collectives runs.csv --format csv >errors.csv\n"
          "  shardsim validate collectives runs.csv --plot pictures --max-error '10 %'\n"
          "  shardsim validate collectives runs.csv --leave-one-out source\n",
          entries, argc, argv, &done))
    {
      if (done)
        status = EXIT_DONE;
      else if (common.files[0] == NULL)
        fprintf (stderr, "shardsim %s: no table of measurements given\n  see 'shardsim %s --help'\n",
                 common.command, common.command);
      else if (common_want_words (&common, 1) && read_limit (&common, &arguments)
               && check_left_out (&common, &arguments))
        status = validate (&common, &arguments);
    }
  g_free (arguments.plot);
  g_free (arguments.max_error);
  g_free (arguments.leave_one_out);
  return status;
}
