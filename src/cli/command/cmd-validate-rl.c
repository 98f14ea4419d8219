/* shardsim validate rl: published steps of reinforcement learning against predictions. */
#include "cli/argument/validation-arguments.h"
#include "cli/output/progress.h"
#include "report/validation/validate-rl.h"

typedef struct
{
  ValidationArguments shared;
} Settings;

static ExitStatus
print_result (const Common *common, const ValidationArguments *arguments,
              const RlValidation *result)
{
  g_autoptr (GString) rows = g_string_new (NULL), summary = g_string_new (NULL);

  report_answer (&rl_summary, result, FORMAT_TEXT, summary);
  report_answer (&rl_rows, result, common->format, rows);
  return validation_print (arguments, common, rows, summary);
}

static ExitStatus
run (Common *common, gpointer data)
{
  const ValidationArguments *arguments = &((const Settings *) data)->shared;
  g_autoptr (DiagList)       diags = diag_list_new ();
  g_autoptr (RlValidation)   result = NULL;
  PredictOptions             predict = { .profile_dir = common->hwprofiles, .files = common->read };
  Progress                  *progress;
  GArray                    *measured;
  ExitStatus                 status = common_check_outputs (common);

  if (status != EXIT_DONE)
    return status;
  measured = rl_rows_load (common->files[0], diags);
  stream_report_diags (diags);
  if (measured == NULL)
    return EXIT_USAGE;
  progress = progress_start ("predicting", "steps", NULL);
  predict.count = progress_count (progress);
  result = validate_rl (measured, &predict, common_n_jobs (common));
  progress_end (progress);
  status = validation_check_any (common, result->rows->len, result->n_failed,
                                 print_result (common, arguments, result));
  return status == EXIT_DONE ? validation_check_limit (
             arguments, common, "steps", result->errors[0].n, result->errors[0].median_abs)
                             : status;
}

static const CommandOption options[] = {
  { OPTION_ROWS (shared) },
  { OPTION_MAX_ERROR (shared, "steps") },
  { 0 },
};

const Command command_validate_rl = {
  .name = "validate rl",
  .help = "steps of reinforcement learning",
  .arguments = "FILE.csv",
  .summary =
      "Predicts each row of a table of measured steps of reinforcement learning, and summarises "
      "the errors of steps and of the parts that the table has. Columns: id, source, gpu (a "
      "profile), gpus, gpus_per_node, algorithm, model, policy (on, or 1-off for weights one step "
      "old), max_len (of prompt and response), mean_len (of responses), gen_batch, train_batch, "
      "gen_tp, gen_pp, train_tp, train_cp, train_ep, train_pp, precision, step_time_s; optional: "
      "train_vp, framework (of training), generation_s, logprobs_s, training_s, refit_s. What a "
      "row does not say is assumed alike for all: docs/rl.md lists it. Exit status 1 when no row "
      "could be predicted.",
  .examples = "Examples:\n"
              "  shardsim validate rl steps.csv --rows\n"
              "  shardsim validate rl steps.csv --format csv >errors.csv\n",
  .takes = COMMON_FORMAT | COMMON_JOBS,
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = 1,
  .missing = NO_MEASUREMENTS,
  .run = run,
};
