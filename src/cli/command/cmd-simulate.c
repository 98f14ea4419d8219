/* shardsim simulate: one scenario. */
#include "cli/argument/common.h"
#include "cli/argument/emit-arguments.h"
#include "cli/output/progress.h"
#include "decide/explore/advice.h"
#include "decide/explore/maximum.h"
#include "decide/explore/remedies.h"
#include "report/answer/maximum.h"
#include "report/answer/rl-step.h"
#include "report/prediction/report.h"

/* N_EVENTS: of the prediction. */
static void
find_remedies (const Common *common, const Scenario *scenario, Prediction *prediction,
               const PredictOptions *options, guint64 n_events)
{
  RemedyBudget   budget = remedy_budget_after (n_events);
  PredictOptions counted = *options;
  Progress      *progress = patience_begin (common->patience, "looking for what fits", "changes");

  budget.n_threads = common_n_jobs (common);
  counted.count = progress_count (progress);
  counted.replay.stop = patience_stop (common->patience);
  prediction->remedies =
      remedies_find (scenario, common->strategies, prediction, &counted, &budget);
  patience_end (common->patience, progress);
  patience_close (common->patience);
}

static void
find_advice (const Common *common, const Scenario *scenario, Prediction *prediction,
             const PredictOptions *options)
{
  AdviceBudget   budget = advice_default_budget;
  PredictOptions counted = *options;
  Progress *progress = patience_begin (common->patience, "looking for what is faster", "changes");

  budget.n_threads = common_n_jobs (common);
  counted.count = progress_count (progress);
  counted.replay.stop = patience_stop (common->patience);
  prediction->advice = advice_find (scenario, common->strategies, prediction, &counted, &budget);
  patience_end (common->patience, progress);
  patience_close (common->patience);
}

/*
 * Text begins with what does not fit: it is there before the search for what would, which takes
 * longer than the prediction. How many bytes it is goes into PRINTED.
 */
static ExitStatus
print_verdict (const Common *common, const Prediction *prediction, gsize *printed)
{
  g_autoptr (GString) out = g_string_new (NULL);

  if (common->format != FORMAT_TEXT)
    return EXIT_DONE;
  report_verdict_text (prediction, out);
  *printed = out->len;
  return stream_print (out);
}

/* Without the first PRINTED bytes of a text. With stages its CSV is a row a stage. */
static ExitStatus
print (const Common *common, const GPtrArray *predictions, gsize printed)
{
  const Prediction   *first = g_ptr_array_index (predictions, 0);
  g_autoptr (GString) out = g_string_new (NULL);

  if (common->format == FORMAT_TEXT)
    report_prediction_text (first, out);
  else if (first->stages != NULL && common->format == FORMAT_CSV)
    report_stages_csv (first, out);
  else
    return common_print_report (common, predictions, NULL);
  g_string_erase (out, 0, (gssize) printed);
  return stream_print (out);
}

typedef struct
{
  gboolean       no_remedies, advise, stages;
  char          *max, *rank; /* NULL: none */
  char         **emitted;
  const Lever   *key; /* of `max` */
  guint64        rank_number;
  EmitArguments *emit;
} Settings;

static ExitStatus
simulate (Common *common, const GPtrArray *scenarios, const Settings *settings)
{
  g_autoptr (GPtrArray) predictions =
      g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GError)     error = NULL;
  PredictOptions         options = common_predict_options (common);
  g_autoptr (ProfileSet) profiles = NULL;
  g_autoptr (Replay)     replay = NULL;
  Prediction            *prediction;
  EngineWork             work = { 0 };
  gsize                  printed = 0;
  Progress              *progress = NULL;
  ExitStatus             status = common_check_outputs (common);

  if (status == EXIT_DONE)
    status = emit_arguments_make (settings->emit, common, g_ptr_array_index (scenarios, 0));
  if (status != EXIT_DONE || emit_arguments_prints (settings->emit))
    return status;
  options.replay.keep_pools = common_keeps_replays (common, 1);
  options.n_threads = common_n_jobs (common);
  options.idle_figures = TRUE;
  options.stages = settings->stages;
  options.of_rank = settings->rank != NULL;
  options.rank = (guint) settings->rank_number;
  options.replay.work = &work;
  options.replay.stop = NULL; /* the limit is for what is said beside the prediction */
  progress = progress_start ("simulating", "scenarios", NULL);
  prediction = common_keeps_replays (common, 1)
                   ? predict_with_replay (g_ptr_array_index (scenarios, 0), &options, &replay,
                                          &profiles, diags, &error)
                   : predict (g_ptr_array_index (scenarios, 0), &options, diags, &error);
  progress_end (progress);
  if (stream_report_diags (diags) != EXIT_DONE)
    {
      prediction_free (prediction);
      return EXIT_USAGE;
    }
  if (prediction == NULL)
    return stream_report_error (error);
  g_ptr_array_add (predictions, prediction);
  options.replay.work = NULL;
  options.stages = options.of_rank = FALSE; /* of this one, not of what might be instead */
  if (settings->advise && prediction->fits)
    find_advice (common, g_ptr_array_index (scenarios, 0), prediction, &options);
  if (!settings->no_remedies && !prediction->fits && common->format != FORMAT_CSV)
    {
      patience_open (common->patience); /* who has read the verdict may interrupt */
      status = print_verdict (common, prediction, &printed);
      if (status != EXIT_DONE)
        return status;
      find_remedies (common, g_ptr_array_index (scenarios, 0), prediction, &options, work.done);
    }
  status = print (common, predictions, printed);
  status = common_write_files (common, predictions, (const Replay *const *) &replay, status);
  status = emit_arguments_write (settings->emit, status);
  return status != EXIT_DONE ? status : prediction->fits ? EXIT_DONE : EXIT_NO;
}

/* ---- the largest that fits ------------------------------------------------------------------- */

static ExitStatus
find_maximum (Common *common, const Scenario *scenario, const Lever *key)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (Maximum)  maximum = NULL;
  g_autoptr (GString)  out = g_string_new (NULL);
  PredictOptions       options = common_predict_options (common);
  Progress  *progress = patience_begin (common->patience, "looking for the largest", "values");
  ExitStatus status;

  options.count = progress_count (progress);
  maximum = maximum_find (scenario, common->strategies, key, &options, diags, &error);
  patience_end (common->patience, progress);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  if (maximum == NULL)
    return stream_report_error (error);
  report_answer (&maximum_answer, maximum, common->format, out);
  status = common_print_result (common, out);
  return status != EXIT_DONE ? status : maximum->value > 0 ? EXIT_DONE : EXIT_NO;
}

/* ---- reinforcement learning ------------------------------------------------------------------ */

/* What is asked of one training step, and not of a step that is made of several things. */
static ExitStatus
check_rl (const Common *common, const Settings *settings)
{
  const char *const asked = settings->key != NULL       ? "--max"
                            : settings->advise          ? "--advise"
                            : settings->stages          ? "--stages"
                            : settings->rank != NULL    ? "--rank"
                            : settings->emitted != NULL ? "--emit"
                            : common->trace != NULL     ? "--trace"
                                                        : NULL;

  if (asked == NULL)
    return EXIT_DONE;
  common_say (common,
              "%s is about training alone, and the scenario is of reinforcement learning\n"
              "  hint: set 'rl.algorithm' to none\n",
              asked);
  return EXIT_USAGE;
}

static ExitStatus
simulate_rl (Common *common, const Scenario *scenario, const Settings *settings)
{
  const PredictOptions options = common_predict_options (common);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (RlStep)   step = NULL;
  g_autoptr (GString)  out = g_string_new (NULL);
  Progress            *progress;
  ExitStatus           status = check_rl (common, settings);

  if (status == EXIT_DONE)
    status = common_check_outputs (common);
  if (status != EXIT_DONE)
    return status;
  progress = progress_start ("simulating", "scenarios", NULL);
  step = rl_step_predict (scenario, common->strategies, &options, diags, &error);
  progress_end (progress);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  if (step == NULL)
    return stream_report_error (error);
  report_answer (&rl_step_answer, step, common->format, out);
  status = common_write_pages (common, &rl_step_answer, step, stream_print (out));
  return status != EXIT_DONE ? status : step->training->fits ? EXIT_DONE : EXIT_NO;
}

/* ---- the command ----------------------------------------------------------------------------- */

static gboolean
check (Common *common, gpointer data, DiagList *diags)
{
  Settings *settings = data;

  if (settings->max != NULL)
    settings->key = maximum_find_key (settings->max, diags);
  if (settings->key != NULL)
    maximum_add_override (settings->key, common->overrides);
  if (settings->rank != NULL
      && !g_ascii_string_to_unsigned (settings->rank, 10, 0, G_MAXUINT32, &settings->rank_number,
                                      NULL))
    {
      common_say (common, "--rank expects the number of a rank, from 0 on, got '%s'\n",
                  settings->rank);
      return FALSE;
    }
  settings->emit = emit_arguments_new (settings->emitted, diags);
  return TRUE;
}

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings       *settings = data;
  g_autoptr (GPtrArray) scenarios = common_load_scenarios (common);

  if (scenarios == NULL || !common_want_one (common, scenarios))
    return EXIT_USAGE;
  if (common->print_scenario)
    return common_print_scenarios (common, scenarios);
  if (((const Scenario *) g_ptr_array_index (scenarios, 0))->rl.algorithm != RL_NONE)
    return simulate_rl (common, g_ptr_array_index (scenarios, 0), settings);
  return settings->key != NULL
             ? find_maximum (common, g_ptr_array_index (scenarios, 0), settings->key)
             : simulate (common, scenarios, settings);
}

static void
clear (gpointer data)
{
  emit_arguments_free (((Settings *) data)->emit);
}

static const CommandOption options[] = {
  { OPTION ("max", VALUE_TEXT, max, "KEY",
            "find the largest value of KEY that fits: micro_batch, seq_len or n_layers"),
    .words = &words_maxima },
  { OPTION ("advise", VALUE_SWITCH, advise, NULL,
            "also look for the options and the hardware that would be faster") },
  { OPTION ("stages", VALUE_SWITCH, stages, NULL,
            "also say what each stage of the pipeline holds and does; CSV: a row a stage") },
  { OPTION ("rank", VALUE_TEXT, rank, "R", "also say what the GPU memory of rank R holds") },
  { OPTION ("no-remedies", VALUE_SWITCH, no_remedies, NULL,
            "do not look for what would fit when the scenario does not") },
  { OPTION_EMIT (emitted) },
  { 0 },
};

static const OptionRule rules[] = {
  { .given = "max",
    .excludes = "trace plot html emit",
    .words = "--max takes none of --trace, --plot, --html and --emit: run the scenario with the "
             "value that it finds" },
  { .given = "rank",
    .excludes = "max",
    .words = "--rank cannot be combined with --max: run the scenario with the value that it "
             "finds" },
  { .given = "rank", .excludes = "format=csv", .words = "--rank has no CSV: take text or json" },
  { .given = "stages",
    .excludes = "max",
    .words = "--stages cannot be combined with --max: run the scenario with the value that it "
             "finds" },
  { .given = "advise",
    .excludes = "max",
    .words = "--advise cannot be combined with --max: advise on the scenario with the value that "
             "it finds" },
  { .given = "advise",
    .excludes = "format=csv",
    .words = "--advise has no CSV: take text or json, or 'shardsim sensitivity'" },
  { 0 },
};

const Command command_simulate = {
  .name = "simulate",
  .help = "one scenario: throughput, memory, where the time goes, what binds",
  .arguments = "[SCENARIO.yaml]",
  .summary = "Predicts throughput, memory and bottlenecks of one training scenario.\n"
             "Exit status: 0 it fits, 3 it does not fit (--max: no value does), 2 bad input, "
             "1 runtime failure.",
  .examples = "Examples:\n"
              "  shardsim simulate --cluster '2 x dgx-h100' --model llama-3-8b \\\n"
              "    --strategy fsdp2 --seq-len 8192\n"
              "  shardsim simulate workloads/llama-3.1-405b-h100.yaml \\\n"
              "    --set strategy.name=hsdp\n"
              "  shardsim simulate --cluster dgx-h100 --model llama-3-8b --strategy fsdp2 \\\n"
              "    --seq-len 8192 --max micro_batch\n"
              "  shardsim simulate --cluster '8 x dgx-h100' --model llama-3-70b \\\n"
              "    --strategy zero1 --seq-len 8192 --grad-accum 16 --tp 8 --sp 1 --pp 4 \\\n"
              "    --stages\n",
  .takes = COMMON_SCENARIO | COMMON_FORMAT | COMMON_RUN | COMMON_TRACE | COMMON_PAGES | COMMON_TIME,
  .options = options,
  .rules = rules,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .check = check,
  .run = run,
  .clear = clear,
};
