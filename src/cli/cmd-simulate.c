/* shardsim simulate: one scenario. */
#include "analysis/advice.h"
#include "analysis/maximum.h"
#include "analysis/remedies.h"
#include "cli/common.h"
#include "cli/emit-arguments.h"
#include "cli/progress.h"
#include "report/maximum.h"
#include "report/report.h"
#include "report/stages.h"

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

/* What is said about a scenario beyond its prediction. */
typedef struct
{
  gboolean no_remedies, advise, stages;
  char    *rank; /* NULL: none */
  guint64  rank_number;
} Wanted;

static void
wanted_clear (Wanted *self)
{
  g_free (self->rank);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Wanted, wanted_clear)

static ExitStatus
simulate (Common *common, const GPtrArray *scenarios, const Wanted *wanted, EmitArguments *emit)
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
  ExitStatus             status = common_check_files (common);

  if (status == EXIT_DONE)
    status = emit_arguments_check (emit);
  if (status == EXIT_DONE)
    status = emit_arguments_make (emit, common, g_ptr_array_index (scenarios, 0));
  if (status != EXIT_DONE || emit_arguments_prints (emit))
    return status;
  options.replay.keep_pools = common_keeps_replays (common, 1);
  options.n_threads = common_n_jobs (common);
  options.stages = wanted->stages;
  options.of_rank = wanted->rank != NULL;
  options.rank = (guint) wanted->rank_number;
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
  if (wanted->advise && prediction->fits)
    find_advice (common, g_ptr_array_index (scenarios, 0), prediction, &options);
  if (!wanted->no_remedies && !prediction->fits && common->format != FORMAT_CSV)
    {
      patience_open (common->patience); /* who has read the verdict may interrupt */
      status = print_verdict (common, prediction, &printed);
      if (status != EXIT_DONE)
        return status;
      find_remedies (common, g_ptr_array_index (scenarios, 0), prediction, &options, work.done);
    }
  status = print (common, predictions, printed);
  status = common_write_files (common, predictions, (const Replay *const *) &replay, status);
  status = emit_arguments_write (emit, status);
  return status != EXIT_DONE ? status : prediction->fits ? EXIT_DONE : EXIT_NO;
}

/* ---- the largest that fits ------------------------------------------------------------------- */

static ExitStatus
print_maximum (const Common *common, const Maximum *maximum)
{
  static void (*const print[]) (const Maximum *, GString *) = {
    [FORMAT_TEXT] = report_maximum_text,
    [FORMAT_CSV] = report_maximum_csv,
    [FORMAT_JSON] = report_maximum_json,
  };
  g_autoptr (GString) out = g_string_new (NULL);

  print[common->format](maximum, out);
  return common_print_result (common, out);
}

static ExitStatus
find_maximum (Common *common, const Scenario *scenario, const Lever *key)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (Maximum)  maximum = NULL;
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
  status = print_maximum (common, maximum);
  return status != EXIT_DONE ? status : maximum->value > 0 ? EXIT_DONE : EXIT_NO;
}

/* The key of --max into KEY, where WORD is given; FALSE after a message. */
static gboolean
take_maximum (Common *common, const char *word, gboolean emits, const Lever **key)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  if (word == NULL)
    return TRUE;
  *key = maximum_find_key (word, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return FALSE;
  maximum_add_override (*key, common->overrides);
  if (common->trace == NULL && common->plot == NULL && common->html == NULL && !emits)
    return TRUE;
  stream_say ("shardsim simulate: --max takes none of --trace, --plot, --html and --emit: run the "
              "scenario with the value that it finds\n");
  return FALSE;
}

/* FALSE after a message. */
static gboolean
check_rank (const Common *common, Wanted *wanted, const Lever *maximum)
{
  if (wanted->rank == NULL)
    return TRUE;
  if (!g_ascii_string_to_unsigned (wanted->rank, 10, 0, G_MAXUINT32, &wanted->rank_number, NULL))
    stream_say ("shardsim simulate: --rank expects the number of a rank, from 0 on, got '%s'\n",
                wanted->rank);
  else if (maximum != NULL)
    stream_say ("shardsim simulate: --rank cannot be combined with --max: run the scenario with "
                "the value that it finds\n");
  else if (common->format == FORMAT_CSV)
    stream_say ("shardsim simulate: --rank has no CSV: take text or json\n");
  else
    return TRUE;
  return FALSE;
}

/* FALSE after a message. */
static gboolean
check_advise (const Common *common, Wanted *wanted, const Lever *maximum)
{
  if (!check_rank (common, wanted, maximum))
    return FALSE;
  if (wanted->stages && maximum != NULL)
    stream_say ("shardsim simulate: --stages cannot be combined with --max: run the scenario with "
                "the value that it finds\n");
  else if (wanted->advise && maximum != NULL)
    stream_say ("shardsim simulate: --advise cannot be combined with --max: advise on the scenario "
                "with the value that it finds\n");
  else if (wanted->advise && common->format == FORMAT_CSV)
    stream_say ("shardsim simulate: --advise has no CSV: take text or json, or 'shardsim "
                "sensitivity'\n");
  else
    return TRUE;
  return FALSE;
}

/* ---- the command ----------------------------------------------------------------------------- */

int
cmd_simulate (int argc, char **argv)
{
  g_auto (Common)           common = { 0 };
  gboolean                  done = FALSE;
  g_auto (Wanted)           wanted = { 0 };
  g_autofree char          *word = NULL;
  const Lever              *key = NULL;
  g_auto (GStrv)            emitted = NULL;
  g_autoptr (EmitArguments) emit = NULL;
  g_autoptr (DiagList)      diags = diag_list_new ();
  g_autoptr (GPtrArray)     scenarios = NULL;
  const GOptionEntry        extra[] = {
           { "max", 0, 0, G_OPTION_ARG_STRING, &word,
             "find the largest value of KEY that fits: micro_batch, seq_len or n_layers", "KEY" },
           { "advise", 0, 0, G_OPTION_ARG_NONE, &wanted.advise,
             "also look for the options and the hardware that would be faster", NULL },
           { "stages", 0, 0, G_OPTION_ARG_NONE, &wanted.stages,
             "also say what each stage of the pipeline holds and does; CSV: a row a stage", NULL },
           { "rank", 0, 0, G_OPTION_ARG_STRING, &wanted.rank,
             "also say what the GPU memory of rank R holds", "R" },
           { "no-remedies", 0, 0, G_OPTION_ARG_NONE, &wanted.no_remedies,
             "do not look for what would fit when the scenario does not", NULL },
           EMIT_OPTION (&emitted),
           G_OPTION_ENTRY_NULL,
  };

  if (!common_parse (
          &common,
          COMMON_SCENARIO | COMMON_FORMAT | COMMON_RUN | COMMON_TRACE | COMMON_PAGES | COMMON_TIME,
          "[SCENARIO.yaml]",
          "Predicts throughput, memory and bottlenecks of one training scenario.\n"
          "Exit status: 0 it fits, 3 it does not fit (--max: no value does), 2 bad input, "
          "1 runtime failure.",
          "Examples:\n"
          "  shardsim simulate --cluster '2 x dgx-h100' --model llama-3-8b \\\n"
          "    --strategy fsdp2 --seq-len 8192\n"
          "  shardsim simulate workloads/llama-3.1-405b-h100.yaml \\\n"
          "    --set strategy.name=hsdp\n"
          "  shardsim simulate --cluster dgx-h100 --model llama-3-8b --strategy fsdp2 \\\n"
          "    --seq-len 8192 --max micro_batch\n"
          "  shardsim simulate --cluster '8 x dgx-h100' --model llama-3-70b \\\n"
          "    --strategy zero1 --seq-len 8192 --grad-accum 16 --tp 8 --sp 1 --pp 4 \\\n"
          "    --stages\n",
          extra, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (!take_maximum (&common, word, emitted != NULL, &key) || !check_advise (&common, &wanted, key))
    return EXIT_USAGE;
  emit = emit_arguments_new (emitted, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  scenarios = common_load_scenarios (&common);
  if (scenarios == NULL)
    return EXIT_USAGE;
  if (!common_want_one (&common, scenarios))
    return EXIT_USAGE;
  if (common.print_scenario)
    return common_print_scenarios (&common, scenarios);
  if (key != NULL)
    return (int) patience_status (common.patience,
                                  find_maximum (&common, g_ptr_array_index (scenarios, 0), key));
  return (int) patience_status (common.patience, simulate (&common, scenarios, &wanted, emit));
}
