/* shardsim validate training: a table of measured training runs against predictions. */
#include <stdio.h>

#include "base/layout.h"
#include "cli/subjects.h"
#include "report/validate-training.h"

typedef struct
{
  char    *plot, *max_error;
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

static ExitStatus
print_result (const Common *common, const Arguments *arguments, const TrainingValidation *result)
{
  g_autoptr (GString) out = g_string_new (NULL), summary = g_string_new (NULL);

  report_training_summary (result, summary);
  switch (common->format)
    {
    case FORMAT_CSV:
      report_training_csv (result, out);
      fputs (summary->str, stderr);
      break;
    case FORMAT_JSON:
      report_training_json (result, out);
      break;
    default:
      if (arguments->rows)
        {
          report_training_rows (result, out);
          g_string_append_c (out, '\n');
        }
      g_string_append_len (out, summary->str, (gssize) summary->len);
      break;
    }
  return common_print (out);
}

/* Nothing that could be predicted is no better than a bad prediction. */
static ExitStatus
check_limit (const Common *common, const Arguments *arguments, const TrainingValidation *result)
{
  const ErrorStatistics *speed = &result->speed;

  if (arguments->limit < 0 || (speed->n > 0 && speed->median_abs <= arguments->limit))
    return EXIT_DONE;
  if (speed->n == 0)
    fprintf (stderr, "shardsim %s: no row of speed could be simulated\n", common->command);
  else
    fprintf (stderr, "shardsim %s: the median error of the rows of speed is %.1f %%, above %.1f %%\n",
             common->command, 100 * speed->median_abs, 100 * arguments->limit);
  return EXIT_NO;
}

static ExitStatus
validate (const Common *common, const Arguments *arguments)
{
  g_autoptr (DiagList)           diags = diag_list_new ();
  g_autoptr (TrainingValidation) result = NULL;
  g_autoptr (GError)             error = NULL;
  g_autofree char               *style = layout_data_file ("plots/style.gp");
  const PredictOptions           options = { .profile_dir = common->hwprofiles };
  TrainingTable                 *table = training_table_load (common->files[0], diags);
  ExitStatus                     status;

  common_report_diags (diags);
  if (table == NULL)
    return EXIT_USAGE;
  result = validate_training (table, &options, common_n_jobs (common));
  if (arguments->plot != NULL && !report_training_plot (result, arguments->plot, style, &error))
    return common_report_error (error);
  status = print_result (common, arguments, result);
  return status == EXIT_DONE ? check_limit (common, arguments, result) : status;
}

int
cmd_validate_training (int argc, char **argv)
{
  g_auto (Common)    common = { 0 };
  gboolean           done = FALSE;
  Arguments          arguments = { 0 };
  const GOptionEntry entries[] = {
    { "rows", 0, 0, G_OPTION_ARG_NONE, &arguments.rows, "text: print every row as well", NULL },
    { "max-error", 0, 0, G_OPTION_ARG_STRING, &arguments.max_error,
      "exit with 3 when the median |error| of the rows of speed is above X: '0.1' or '10 %'", "X" },
    { "plot", 0, 0, G_OPTION_ARG_FILENAME, &arguments.plot,
      "draw measured against predicted step times and memory into DIR (gnuplot)", "DIR" },
    G_OPTION_ENTRY_NULL,
  };
  ExitStatus status = EXIT_USAGE;

  if (common_parse (
          &common, COMMON_FORMAT | COMMON_JOBS, "FILE.csv",
          "Predicts each row of a table of measured training runs and summarises the errors by source and metric. Columns: "
          "id, strategy, metric, value, the keys of a scenario's sections (nodes, gpus_per_node, gpu, intra, nics, nic, arch, "
          "n_layers, d_model, n_heads, vocab, seq_len are needed); optional: use, shard, options. Metrics: "
          "tokens_per_s_per_gpu, step_time_s, mfu_percent, hardware_tflops_per_gpu, fits, peak_allocated_gib, "
          "peak_reserved_gib, peak_device_gb, peak_gib.",
          "Examples:\n"
          "  shardsim validate training runs.csv\n"
          "  shardsim validate training runs.csv --format csv >errors.csv\n"
          "  shardsim validate training runs.csv --plot pictures --max-error '10 %'\n",
          entries, argc, argv, &done))
    {
      if (done)
        status = EXIT_DONE;
      else if (common.files[0] == NULL)
        fprintf (stderr, "shardsim %s: no table of measurements given\n  see 'shardsim %s --help'\n",
                 common.command, common.command);
      else if (common_want_words (&common, 1) && read_limit (&common, &arguments))
        status = validate (&common, &arguments);
    }
  g_free (arguments.plot);
  g_free (arguments.max_error);
  return status;
}
