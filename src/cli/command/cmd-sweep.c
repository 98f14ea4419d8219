/* shardsim sweep: many scenarios into a store, which a second call goes on with. */
#include <string.h>

#include "base/file/file-roles.h"
#include "cli/argument/common.h"
#include "cli/argument/sweep-arguments.h"
#include "cli/argument/value-lists.h"
#include "cli/mpi/sweep-launcher.h"
#include "cli/output/progress.h"
#include "cli/output/store-output.h"
#include "report/answer/sweep.h"

#define ASK_ABOVE   1000000 /* points: minutes of work */
#define FLUSH_BYTES 65536

/* ---- the store ------------------------------------------------------------------------------- */

static ResultStore *
open_store (const SweepArguments *arguments, const Common *common, const PlannedSweep *planned,
            GError **error)
{
  g_autoptr (ResultStore) store =
      result_store_open (arguments->store, planned->columns, planned->plan.source->options, error);
  g_autofree char *inputs =
      sweep_inputs_hash (common->hwprofiles, (const char *const *) common->plugins);
  g_autofree char *options = /* what results depend on beside the scenarios */
      g_strdup_printf ("%s%s%s%d", common->unfolded ? "unfolded " : "",
                       common->interval ? "interval " : "", "steps=", MAX (common->steps, 0));

  if (store == NULL
      || !result_store_set_context (store, layout_program_version (), inputs, options, error)
      || !file_roles_check (error)
      || (arguments->retry_failed && !result_store_forget_failures (store, error)))
    return NULL;
  return g_steal_pointer (&store);
}

/* The ids of BASES, strv; they are put into STORE, where it is not NULL. NULL with ERROR. */
static char **
add_bases (ResultStore *store, const GPtrArray *bases, GError **error)
{
  g_autoptr (GPtrArray) ids = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < bases->len; i++)
    {
      g_autofree char *yaml = scenario_print (g_ptr_array_index (bases, i));

      if (store != NULL && !result_store_add_base (store, yaml, error))
        return NULL;
      g_ptr_array_add (ids, result_base_id (yaml));
    }
  g_ptr_array_add (ids, NULL);
  return (char **) g_ptr_array_steal (ids, NULL);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Rows on their way to stdout. */
typedef struct
{
  DocumentFormat format;
  const char    *called;  /* what this sweep calls the run; NULL: as the store does */
  const Partial *partial; /* what is not among the rows */
  char          *note;    /* the same, in CSV a last column; NULL: nothing */
  GString       *out;
  gboolean       begun;
  ExitStatus     status;
} Writer;

static void
flush (Writer *self, gsize least)
{
  if (self->out->len < least)
    return;
  if (self->status == EXIT_DONE)
    self->status = stream_print (self->out);
  g_string_truncate (self->out, 0);
}

static gboolean
write_row (const char *const *names, const ResultValue *values, guint n, gpointer user)
{
  Writer                 *self = user;
  g_autofree ResultValue *shown = g_new (ResultValue, n + 1);
  g_autofree const char **called = g_new (const char *, n + 1);

  memcpy (shown, values, n * sizeof *values);
  memcpy (called, names, n * sizeof *names);
  for (guint i = 0; self->called != NULL && i < n; i++)
    if (g_str_equal (names[i], "scenario") && shown[i].type == RESULT_TEXT)
      shown[i].text = (char *) self->called;
  called[n] = "partial";
  shown[n] = (ResultValue){ .type = RESULT_TEXT, .text = self->note };
  if (self->format == FORMAT_JSON)
    report_stored_json (names, shown, n, !self->begun, self->out);
  else
    report_stored_csv (called, shown, n + (self->note != NULL), !self->begun, self->out);
  self->begun = TRUE;
  flush (self, FLUSH_BYTES);
  return self->status == EXIT_DONE;
}

static Writer
writer_of (const Common *common)
{
  const Partial *partial = patience_partial (common->patience);

  return (Writer){ .format = common->format,
                   .out = g_string_new (NULL),
                   .partial = partial,
                   .note = partial->reason != NULL ? partial_text (partial) : NULL };
}

/* Takes the writer's texts. */
static ExitStatus
finish_rows (Writer *self)
{
  if (self->format == FORMAT_JSON)
    report_stored_json_end (!self->begun, self->partial, self->out);
  flush (self, 1);
  g_string_free (self->out, TRUE);
  g_free (self->note);
  return self->status;
}

/* The rows of this sweep, by their points. Those with equal settings are one run of the store. */
static ExitStatus
print_points (const SweepArguments *arguments, const Common *common, const SweepPlan *plan,
              ResultStore *store)
{
  Writer             writer = writer_of (common);
  g_autoptr (GError) error = NULL;
  const guint64      n = sweep_length (plan);

  for (guint64 i = arguments->shard_at; i < n && error == NULL && writer.status == EXIT_DONE;
       i += arguments->n_shards)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autofree char     *digest = NULL;
      g_autoptr (Scenario) scenario = sweep_scenario (plan, i, &digest, diags, &error);

      writer.called = scenario != NULL ? scenario->name : NULL;
      if (digest != NULL)
        result_store_visit_one (store, digest, write_row, &writer, &error);
    }
  finish_rows (&writer);
  return error != NULL ? store_report_error (error) : writer.status;
}

static ExitStatus
print_summary (const SweepArguments *arguments, const Common *common, const SweepSummary *summary,
               ResultStore *store)
{
  g_autoptr (GError)    error = NULL;
  g_autoptr (StoreView) best = store_view_of (store, summary->best, summary->n_best, &error);
  g_autoptr (GString)   out = g_string_new (NULL);

  if (best == NULL)
    return store_report_error (error);
  report_answer (&sweep_end, &(SweepEnd){ summary, best, arguments->store }, FORMAT_TEXT, out);
  return common_print_result (common, out);
}

/* --format, --html or --plot without a scenario: all that the store holds. */
static ExitStatus
print_store (const SweepArguments *arguments, const Common *common)
{
  g_autoptr (GError)      error = NULL;
  g_autoptr (ResultStore) store = result_store_open_existing (arguments->store, &error);
  Writer                  writer = { 0 };

  if (store == NULL)
    return store_report_error (error);
  if (common->format == FORMAT_TEXT)
    return store_write_pages (common, store, arguments->store, EXIT_DONE);
  writer = writer_of (common);
  result_store_visit_all (store, write_row, &writer, &error);
  finish_rows (&writer);
  return error != NULL ? store_report_error (error)
                       : store_write_pages (common, store, arguments->store, writer.status);
}

static void
say_findings (const SweepSummary *summary)
{
  guint64 told = 0;

  for (guint i = 0; i < summary->reasons->len; i++)
    {
      const CountedText *reason = &g_array_index (summary->reasons, CountedText, i);

      stream_say ("shardsim sweep: %" G_GUINT64_FORMAT " failed: %s\n", reason->n, reason->text);
      told += reason->n;
    }
  if (summary->failed > told)
    stream_say ("shardsim sweep: %" G_GUINT64_FORMAT " failed%s: see column 'failure'\n",
                summary->failed - told, told > 0 ? " for other reasons or before" : " before");
  if (summary->warned > 0)
    stream_say ("shardsim sweep: %" G_GUINT64_FORMAT
                " with a warning (column 'warning'), the first: %s\n",
                summary->warned, summary->warning);
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static void
say_early_end (const SweepArguments *arguments, const SweepSummary *summary)
{
  stream_say ("shardsim sweep: ended early; %" G_GUINT64_FORMAT
              " runs are in '%s', and the same command goes on with the rest\n",
              summary->n, arguments->store);
}

static ExitStatus
report_end (const SweepArguments *arguments, const Common *common, const SweepPlan *plan,
            const SweepSummary *summary, ResultStore *store)
{
  ExitStatus status;

  if (summary->others > 0)
    stream_say ("shardsim sweep: '%s' also holds %" G_GUINT64_FORMAT
                " runs of another version, other profiles or options, which count nowhere here\n",
                arguments->store, summary->others);
  patience_close (common->patience);
  if (patience_partial (common->patience)->reason != NULL)
    {
      say_early_end (arguments, summary);
      patience_count (common->patience, summary->n, sweep_arguments_n_points (arguments, plan));
      common_say_partial (common);
    }
  status = common->format == FORMAT_TEXT ? print_summary (arguments, common, summary, store)
                                         : print_points (arguments, common, plan, store);
  status = store_write_pages (common, store, arguments->store, status);
  return status == EXIT_DONE && summary->n > 0 && summary->failed == summary->n ? EXIT_USAGE
                                                                                : status;
}

/* NULL: the sweep is over. */
static void
set_last_words (const char *store)
{
  g_autofree char *words =
      store != NULL
          ? g_strdup_printf ("\nshardsim sweep: interrupted; what is done is in '%s', and "
                             "the same command goes on with the rest\n",
                             store)
          : NULL;
  g_autofree char *printable = words != NULL ? printable_text (words, strlen (words), FALSE) : NULL;

  temporary_set_last_words (printable);
}

/* Here, or by the other processes of a launcher. */
static gboolean
work (const Common *common, const PlannedSweep *planned, char *const *ids, SweepKeeper *keeper,
      GError **error)
{
  SweepWorld *world;

  if (sweep_launcher_size () == 1)
    return sweep_work (&planned->plan, (const char *const *) ids, sweep_keeper_desk (keeper),
                       common_n_jobs (common), error);
  world = sweep_launcher_join (error);
  if (world == NULL)
    return FALSE;
  sweep_remote_serve (keeper, world);
  world->end ();
  g_free (world);
  return TRUE;
}

static ExitStatus
sweep (const SweepArguments *arguments, const Common *common, PlannedSweep *planned)
{
  g_autoptr (GError)      error = NULL, no_work = NULL;
  g_autoptr (ResultStore) store = open_store (arguments, common, planned, &error);
  g_auto (GStrv)          ids = store != NULL ? add_bases (store, planned->bases, &error) : NULL;
  g_autoptr (SweepKeeper) keeper = NULL;
  g_auto (SweepSummary)   summary = { 0 };
  Progress               *progress;
  const GError           *why;
  gboolean                worked, finished;

  if (ids == NULL)
    return store_report_error (error);
  progress = sweep_launcher_size () == 1 /* else interrupts are the launcher's: it ends all */
                 ? patience_begin (common->patience, "sweeping", "runs")
                 : progress_start ("sweeping", "runs", patience_stop (common->patience));
  keeper = sweep_keeper_new (store, planned->columns, arguments->shard_at, arguments->n_shards,
                             sweep_length (&planned->plan), progress_count (progress));
  set_last_words (arguments->store);
  worked = work (common, planned, ids, keeper, &no_work);
  set_last_words (NULL);
  if (worked)
    sweep_count_left (&planned->plan, keeper);
  patience_end (common->patience, progress);
  finished = sweep_keeper_finish (keeper, &summary, &error);
  say_findings (&summary);
  if (!worked || !finished
      || (summary.n < sweep_arguments_n_points (arguments, &planned->plan)
          && patience_partial (common->patience)->reason == NULL))
    { /* by a failure */
      say_early_end (arguments, &summary);
      why = worked ? error : no_work;
      return why != NULL ? store_report_error (why) : EXIT_RUNTIME;
    }
  return report_end (arguments, common, &planned->plan, &summary, store);
}

/* A process of a launcher that works for the first one, in one thread unless told otherwise. */
static ExitStatus
work_for_another (const Common *common, PlannedSweep *planned)
{
  g_autoptr (GError)      error = NULL;
  g_auto (GStrv)          ids = add_bases (NULL, planned->bases, NULL);
  SweepWorld             *world = sweep_launcher_join (&error);
  g_autoptr (SweepRemote) remote = NULL;

  if (world == NULL)
    return EXIT_RUNTIME; /* the first one says why */
  remote = sweep_remote_new (world);
  sweep_work (&planned->plan, (const char *const *) ids, sweep_remote_desk (remote),
              (guint) MAX (common->jobs, 1), &error);
  g_clear_pointer (&remote, sweep_remote_free);
  world->end ();
  g_free (world);
  return error != NULL ? stream_report_error (error) : EXIT_DONE;
}

/* FALSE after a message. */
static gboolean
check_size (const SweepArguments *arguments, const SweepPlan *plan)
{
  const guint64    n = sweep_arguments_n_points (arguments, plan);
  g_autofree char *text = n < G_MAXUINT64 / arguments->n_shards
                              ? g_strdup_printf ("%" G_GUINT64_FORMAT, n)
                              : g_strdup ("more than 10^19");

  if (n > G_MAXINT)
    stream_say ("shardsim sweep: the grid has %s points (at most %d)\n  hint: narrow the ranges, "
                "or give each of N calls a --shard K/N\n",
                text, G_MAXINT);
  else if (n > ASK_ABOVE && !arguments->yes)
    stream_say ("shardsim sweep: the grid has %s points\n  hint: --yes runs them all\n", text);
  else
    return TRUE;
  return FALSE;
}

static ExitStatus
print_scenarios (const Common *common, const SweepPlan *plan)
{
  const guint64 n = sweep_length (plan);
  ExitStatus    status = EXIT_DONE;

  for (guint64 i = 0; i < n && status == EXIT_DONE; i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autoptr (GError)   error = NULL;
      g_autofree char     *digest = NULL;
      g_autoptr (Scenario) scenario = sweep_scenario (plan, i, &digest, diags, &error);
      g_autofree char     *text =
          scenario != NULL ? common_print_scenario (common, scenario, ".") : NULL;
      g_autoptr (GString) out = g_string_new (i > 0 ? "---\n" : "");

      stream_report_diags (diags);
      if (error != NULL)
        return stream_report_error (error);
      if (text != NULL)
        status = stream_print (g_string_append (out, text));
    }
  return status;
}

static gboolean
check (Common *common, gpointer data, DiagList *diags)
{
  (void) diags;
  return sweep_arguments_check (data, common);
}

static ExitStatus
run (Common *common, gpointer data)
{
  const SweepArguments *arguments = data;
  const gboolean        shows =
      common->format != FORMAT_TEXT || common->html != NULL || common->plot != NULL;
  const ExitStatus      status = common_check_outputs (common);
  g_auto (PlannedSweep) planned = { 0 };

  if (status != EXIT_DONE)
    return status;
  if (!sweep_arguments_have_scenarios (arguments, common))
    return shows
               ? print_store (arguments, common)
               : common_refuse (common, "give a scenario or a table\n  hint: --format csv or json "
                                        "prints what a store holds\n");
  if (!sweep_arguments_plan (arguments, common, &planned) || !check_size (arguments, &planned.plan))
    return EXIT_USAGE;
  if (common->print_scenario)
    return print_scenarios (common, &planned.plan);
  return sweep_launcher_rank () > 0 ? work_for_another (common, &planned)
                                    : sweep (arguments, common, &planned);
}

typedef SweepArguments Settings;

static const CommandOption options[] = {
  { OPTION ("vary", VALUE_TEXTS, vary, "KEY=VALUES",
            "an axis of the grid: training.micro_batch=1..16, cluster.nodes=1,2,4..64"),
    .words = &words_keys },
  { OPTION ("rows", VALUE_FILE, rows, "FILE.csv",
            "a table of settings, one run a row, laid over the scenario") },
  { OPTION ("store", VALUE_FILE, store, "FILE",
            "where results are kept (SQLite); runs that it has are not repeated") },
  { OPTION ("shard", VALUE_TEXT, shard, "K/N",
            "only every N-th run, from the K-th on (from 0): one of N calls") },
  { OPTION ("retry-failed", VALUE_SWITCH, retry_failed, NULL, "run again what failed before") },
  { OPTION ("yes", VALUE_SWITCH, yes, NULL, "also run more than a million points") },
  { 0 },
};

const Command command_sweep = {
  .name = "sweep",
  .help = "a grid or a table of scenarios, in parallel, into a store; resumable",
  .arguments = "[SCENARIO.yaml|ROWS.csv]",
  .summary = "Predicts every point of a grid or a table, in parallel, into a store. Killed at any "
             "moment it loses no finished run; the same command goes on. --format csv or json "
             "prints all rows of the sweep; without a scenario, all of the store. --html and "
             "--plot show what the store holds.",
  .examples = "Examples:\n"
              "  shardsim sweep workloads/quickstart.yaml --store results.db \\\n"
              "    --vary training.micro_batch=1..4\n"
              "  shardsim sweep rows.csv --store results.db --shard 0/2\n"
              "  shardsim sweep --store results.db --format csv\n",
  .takes = COMMON_SCENARIO | COMMON_FORMAT | COMMON_RUN | COMMON_PAGES | COMMON_TIME,
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = 1,
  .check = check,
  .run = run,
};
