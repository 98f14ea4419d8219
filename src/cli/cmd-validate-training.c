/* shardsim validate training: a table of measured training runs against predictions. */
#include <stdio.h>

#include "base/layout.h"
#include "cli/progress.h"
#include "cli/subjects.h"
#include "cli/validation-arguments.h"
#include "report/validate-training.h"

static ExitStatus
print_result (const Common *common, const ValidationArguments *arguments,
              const TrainingValidation *result)
{
  g_autoptr (GString) rows = g_string_new (NULL), summary = g_string_new (NULL);

  report_training_summary (result, summary);
  if (common->format == FORMAT_CSV)
    report_training_csv (result, rows);
  else if (common->format == FORMAT_JSON)
    report_training_json (result, rows);
  else if (arguments->rows)
    report_training_rows (result, rows);
  return validation_print (arguments, common, rows, summary);
}

static ExitStatus
check_limit (const Common *common, const ValidationArguments *arguments,
             const TrainingValidation *result)
{
  return validation_check_limit (arguments, common, "rows of speed", result->speed.n,
                                 result->speed.median_abs);
}

static ExitStatus
validate (const Common *common, const ValidationArguments *arguments)
{
  g_autoptr (DiagList)           diags = diag_list_new ();
  g_autoptr (ProfileSet)         profiles = NULL;
  g_autoptr (TrainingValidation) result = NULL;
  g_autoptr (GError)             error = NULL;
  g_autofree char               *style = layout_data_file ("plots/style.gp");
  PredictOptions options = { .profile_dir = common->hwprofiles, .files = common->read };
  Progress      *progress;
  TrainingTable *table = NULL;
  gboolean       drawn;
  ExitStatus     status = stream_check_pictures ("--plot", arguments->plot);

  if (status != EXIT_DONE)
    return status;
  profiles = profile_set_new (common->hwprofiles);
  table = training_table_load (common->files[0], profiles, diags);
  stream_report_diags (diags);
  if (table == NULL)
    return EXIT_USAGE;
  if (!arguments->own_network)
    training_table_use_networks (table);
  progress = progress_start ("predicting", "runs", NULL);
  options.count = progress_count (progress);
  result = validate_training (table, &options, common_n_jobs (common));
  progress_end (progress);
  status = validation_check_any (common, result->rows->len, result->n_failed,
                                 print_result (common, arguments, result));
  progress = progress_start ("drawing", "pictures", NULL);
  drawn = arguments->plot == NULL || report_training_plot (result, arguments->plot, style, &error);
  progress_end (progress);
  status = stream_note_output (status, drawn, error);
  return status == EXIT_DONE ? check_limit (common, arguments, result) : status;
}

int
cmd_validate_training (int argc, char **argv)
{
  g_auto (Common)     common = { 0 };
  gboolean            done = FALSE;
  ValidationArguments arguments = { 0 };

  const GOptionEntry entries[] = {
    { "rows", 0, 0, G_OPTION_ARG_NONE, &arguments.rows, "text: print every row as well", NULL },
    { "own-network", 0, 0, G_OPTION_ARG_NONE, &arguments.own_network,
      "keep the profile's network where a run measured its own (columns "
      "all_reduce_bus_gbs, all_gather_bus_gbs, reduce_scatter_bus_gbs: bus "
      "bandwidth of 1 GiB over all GPUs), to which it is scaled else",
      NULL },
    { "max-error", 0, 0, G_OPTION_ARG_STRING, &arguments.max_error,
      "exit with 3 when the median |error| of the rows of speed is above X: '0.1' or '10 %'", "X" },
    { "plot", 0, 0, G_OPTION_ARG_FILENAME, &arguments.plot,
      "draw measured against predicted step times and memory into the folder DIR (gnuplot)",
      "DIR" },
    G_OPTION_ENTRY_NULL,
  };

  ExitStatus status = EXIT_USAGE;

  if (common_parse (
          &common, COMMON_FORMAT | COMMON_JOBS, "FILE.csv",
          "Predicts each row of a table of measured training runs and summarises the errors by "
          "source and metric. Columns: id, strategy, metric, value, seq_len, the hardware "
          "(cluster, such as '4 x dgx-a100', or nodes, gpus_per_node, gpu, intra, nics, nic), the "
          "model (config, a model's name, or arch, n_layers, d_model, n_heads, vocab), and any "
          "other key of a scenario's sections; optional: use, shard, options, "
          "all_reduce_bus_gbs. A row with an unknown word counts nowhere and says why; exit "
          "status 1 when no row could be predicted. "
          "Metrics: tokens_per_s_per_gpu, step_time_s, mfu_percent, hardware_tflops_per_gpu, fits, "
          "peak_allocated_gib, peak_reserved_gib, peak_device_gb, peak_gib.",
          "Examples:\n"
          "  shardsim validate training runs.csv\n"
          "  shardsim validate training runs.csv --format csv >errors.csv\n"
          "  shardsim validate training runs.csv --plot pictures --max-error '10 %'\n",
          entries, argc, argv, &done))
    {
      if (done)
        status = EXIT_DONE;
      else if (validation_arguments_check (&arguments, &common, 1))
        status = validate (&common, &arguments);
    }
  validation_arguments_clear (&arguments);
  return status;
}
