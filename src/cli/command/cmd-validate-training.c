/* shardsim validate training: a table of measured training runs against predictions. */
#include "base/file/layout.h"
#include "cli/argument/validation-arguments.h"
#include "cli/output/progress.h"
#include "report/validation/validate-training.h"

static ExitStatus
print_result (const Common *common, const ValidationArguments *arguments,
              const TrainingValidation *result)
{
  g_autoptr (GString) rows = g_string_new (NULL), summary = g_string_new (NULL);

  report_answer (&training_summary, result, FORMAT_TEXT, summary);
  report_answer (&training_rows, result, common->format, rows);
  return validation_print (arguments, common, rows, summary);
}

typedef struct
{
  ValidationArguments shared;
} Settings;

static ExitStatus
run (Common *common, gpointer data)
{
  const ValidationArguments     *arguments = &((const Settings *) data)->shared;
  g_autoptr (DiagList)           diags = diag_list_new ();
  g_autoptr (ProfileSet)         profiles = NULL;
  g_autoptr (TrainingValidation) result = NULL;
  g_autoptr (GError)             error = NULL;
  g_autofree char               *style = layout_data_file ("plots/style.gp");
  PredictOptions predict = { .profile_dir = common->hwprofiles, .files = common->read };
  Progress      *progress;
  TrainingTable *table = NULL;
  gboolean       drawn;
  ExitStatus     status = common_check_outputs (common);

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
  predict.count = progress_count (progress);
  result = validate_training (table, &predict, common_n_jobs (common));
  progress_end (progress);
  status = validation_check_any (common, result->rows->len, result->n_failed,
                                 print_result (common, arguments, result));
  progress = progress_start ("drawing", "pictures", NULL);
  drawn = arguments->plot == NULL || report_training_plot (result, arguments->plot, style, &error);
  progress_end (progress);
  status = stream_note_output (status, drawn, error);
  return status == EXIT_DONE ? validation_check_limit (arguments, common, "rows of speed",
                                                       result->speed.n, result->speed.median_abs)
                             : status;
}

static const CommandOption options[] = {
  { OPTION_ROWS (shared) },
  { OPTION ("own-network", VALUE_SWITCH, shared.own_network, NULL,
            "keep the profile's network where a run measured its own (columns all_reduce_bus_gbs, "
            "all_gather_bus_gbs, reduce_scatter_bus_gbs: bus bandwidth of 1 GiB over all GPUs), to "
            "which it is scaled else") },
  { OPTION_MAX_ERROR (shared, "the rows of speed") },
  { OPTION ("plot", VALUE_FOLDER, shared.plot, "DIR",
            "draw measured against predicted step times and memory into the folder DIR "
            "(gnuplot)"),
    .check = stream_check_pictures },
  { 0 },
};

const Command command_validate_training = {
  .name = "validate training",
  .help = "training runs: throughput, step time, memory",
  .arguments = "FILE.csv",
  .summary =
      "Predicts each row of a table of measured training runs and summarises the errors by source "
      "and metric. Columns: id, strategy, metric, value, seq_len, the hardware (cluster, such as "
      "'4 x dgx-a100', or nodes, gpus_per_node, gpu, intra, nics, nic), the model (config, a "
      "model's name, or arch, n_layers, d_model, n_heads, vocab), and any other key of a "
      "scenario's sections; optional: use, shard, options, all_reduce_bus_gbs. A row with an "
      "unknown word counts nowhere and says why; exit status 1 when no row could be predicted. "
      "Metrics: tokens_per_s_per_gpu, step_time_s, mfu_percent, hardware_tflops_per_gpu, fits, "
      "peak_allocated_gib, peak_reserved_gib, peak_device_gb, peak_gib.",
  .examples = "Examples:\n"
              "  shardsim validate training runs.csv\n"
              "  shardsim validate training runs.csv --format csv >errors.csv\n"
              "  shardsim validate training runs.csv --plot pictures --max-error '10 %'\n",
  .takes = COMMON_FORMAT | COMMON_JOBS,
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = 1,
  .missing = NO_MEASUREMENTS,
  .run = run,
};
