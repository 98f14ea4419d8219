/* shardsim import job: a framework's own file as a scenario. */
#include "base/file/output.h"
#include "cli/argument/common.h"
#include "report/answer/job.h"

typedef struct
{
  char *output; /* NULL: to stdout */
} Settings;

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings         *settings = data;
  const ScenarioOverride *overrides = (const ScenarioOverride *) (void *) common->overrides->data;
  const JobRequest        request = { .strategies = common->strategies,
                                      .as = common->as,
                                      .lenient = common->lenient,
                                      .overrides = overrides,
                                      .n_overrides = common->overrides->len,
                                      .profile_dir = common->hwprofiles,
                                      .files = common->read };
  g_autoptr (DiagList)    diags = diag_list_new ();
  g_autoptr (JobAccount)  account = NULL;
  g_autofree char        *text = NULL;
  g_autoptr (GString)     said = g_string_new (NULL), out = NULL;
  g_autoptr (GError)      error = NULL;
  ExitStatus              status = common_check_outputs (common);

  if (status != EXIT_DONE)
    return status;
  text = job_scenario_text (common->files[0], &request, &account, diags);
  stream_report_diags (diags);
  if (text == NULL)
    return EXIT_USAGE;
  (common->account ? report_job_keys : report_job) (account, said);
  stream_say ("%s", said->str);
  if (settings->output == NULL)
    {
      out = g_string_new (text);
      return stream_print (out);
    }
  if (!output_file_write (settings->output, text, &error))
    return stream_report_error (error);
  return EXIT_DONE;
}

static const CommandOption options[] = {
  { OPTION ("output", VALUE_FILE, output, "FILE", "the scenario's file; default: stdout"),
    .letter = 'o', .check = stream_check_file },
  { 0 },
};

const Command command_import_job = {
  .name = "import job",
  .help = "a scenario, from a framework's own file or command line",
  .arguments = "FILE",
  .summary = "Writes the job of a framework (docs/jobs.md) as a scenario: what its file says and "
             "what options beside it give, each with where it comes from. What is still missing is "
             "a comment. Every command that takes a scenario takes the job itself, too.",
  .examples = "Examples:\n"
              "  shardsim import job llama3_70b.toml -o scenario.yaml\n"
              "  shardsim import job ds_z3.json --cluster '4 x dgx-h100' --model llama-3-8b\n",
  .takes = COMMON_SCENARIO,
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = 1,
  .missing = "no file given",
  .run = run,
};
