/* shardsim plan: tokens, a deadline and a budget to nodes, days, money and energy. */
#include <string.h>

#include "analysis/run-goal.h"
#include "base/suggest.h"
#include "cli/common.h"
#include "cli/progress.h"
#include "report/run-plan.h"

#define MOST_NODES   1024 /* of the numbers that are tried unless told */
#define MOST_COUNTS  256
#define MAX_RUN_KEYS 32

/* ---- the command line ------------------------------------------------------------------------ */

typedef struct
{
  char    *texts[MAX_RUN_KEYS]; /* of run_options, by their order; NULL: not given */
  char   **types;
  char    *counts;
  GArray  *nodes; /* guint, ascending */
  gboolean every;
} PlanWords;

static void
plan_words_clear (PlanWords *self)
{
  for (guint i = 0; i < MAX_RUN_KEYS; i++)
    g_free (self->texts[i]);
  g_strfreev (self->types);
  g_free (self->counts);
  g_clear_pointer (&self->nodes, g_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PlanWords, plan_words_clear)

/* The options of the command, with names from STRINGS. Newly allocated. */
static GArray *
entries_new (PlanWords *words, GStringChunk *strings)
{
  GArray            *entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  const GOptionEntry own[] = {
    { "gpu-nodes", 0, 0, G_OPTION_ARG_STRING_ARRAY, &words->types,
      "type of node, in the place of the scenario's cluster; may be repeated", "NODE" },
    { "node-counts", 0, 0, G_OPTION_ARG_STRING, &words->counts,
      "numbers of nodes, all of them: '8,12,16', '8..64' by doubling; unset: from 1 by doubling, "
      "up to the first that meets the goal",
      "LIST" },
  };
  guint n = 0;

  for (const OptionSpec *spec = run_options; spec->key != NULL; spec++)
    {
      g_autofree char *name = g_strdelimit (g_strdup (spec->key), "_", '-');
      g_autofree char *help = spec->fallback != NULL
                                  ? g_strdup_printf ("%s (default %s)", spec->help, spec->fallback)
                                  : g_strdup (spec->help);
      GOptionEntry     entry = { .long_name = g_string_chunk_insert (strings, name),
                                 .arg = G_OPTION_ARG_STRING,
                                 .description = g_string_chunk_insert (strings, help),
                                 .arg_description = "VALUE" };

      g_assert (n < MAX_RUN_KEYS);
      entry.arg_data = &words->texts[n++];
      g_array_append_val (entries, entry);
    }
  g_array_append_vals (entries, own, G_N_ELEMENTS (own));
  return entries;
}

/* FALSE after diagnostics. */
static gboolean
take_options (const PlanWords *words, RunOptions *options, DiagList *diags)
{
  guint n = 0;

  option_table_defaults (run_options, options);
  for (const OptionSpec *spec = run_options; spec->key != NULL; spec++, n++)
    {
      g_autofree char *name = g_strdelimit (g_strconcat ("--", spec->key, NULL), "_", '-');
      SourceMark       mark = { .file = g_intern_string (name) };

      if (words->texts[n] != NULL)
        option_set (spec, options, words->texts[n], &mark, diags);
    }
  if (!diag_list_has_errors (diags) && options->goal.tokens == 0)
    diag_error (diags, NULL, "--tokens 2T", "how many tokens to train on is not said");
  return !diag_list_has_errors (diags);
}

/* "8,12,16", "8..64" and both together. FALSE after a diagnostic. */
static gboolean
take_counts (PlanWords *self, DiagList *diags)
{
  g_autofree char *doubled = g_strdup_printf ("1..%u", MOST_NODES);
  g_auto (GStrv)   parts = g_strsplit (self->counts != NULL ? self->counts : doubled, ",", -1);

  self->every = self->counts != NULL;
  self->nodes = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; parts[i] != NULL; i++)
    {
      const char  *dots = strstr (parts[i], "..");
      char        *end;
      const gint64 first = g_ascii_strtoll (parts[i], &end, 10);
      const gint64 last = dots != NULL ? g_ascii_strtoll (dots + 2, &end, 10) : first;
      const guint  before = self->nodes->len;

      for (gint64 n = first; *end == '\0' && n >= 1 && n <= MIN (last, 1 << 20); n *= 2)
        {
          const guint count = (guint) n;

          if (self->nodes->len > 0
              && g_array_index (self->nodes, guint, self->nodes->len - 1) >= count)
            break;
          g_array_append_val (self->nodes, count);
        }
      if (self->nodes->len == before || self->nodes->len > MOST_COUNTS)
        {
          diag_error (diags, NULL, "numbers in ascending order, and 'A..B' for A, 2 A, 4 A, ...",
                      "--node-counts: '%s' is no list of numbers of nodes",
                      self->counts != NULL ? self->counts : doubled);
          return FALSE;
        }
    }
  return TRUE;
}

/* ---- a step on so many nodes ----------------------------------------------------------------- */

typedef struct
{
  const Common   *common;
  const Scenario *scenario;
  const char     *type; /* NULL: the scenario's own cluster, by its parts */
  PredictOptions  options;
} Chooser;

/* The scenario on N_NODES, else as it is. NULL after diagnostics. */
static Scenario *
scenario_on (const Chooser *self, guint n_nodes, DiagList *diags)
{
  g_autofree char *value = self->type != NULL ? g_strdup_printf ("%u x %s", n_nodes, self->type)
                                              : g_strdup_printf ("%u", n_nodes);
  const ScenarioOverride override = {
    .key = self->type != NULL ? "cluster.name" : "cluster.nodes",
    .value = value,
    .origin = "--node-counts",
  };

  return scenario_with (self->scenario, self->common->strategies, &override, 1, diags);
}

static Prediction *
predict_on (guint n_nodes, gpointer who, DiagList *diags, GError **error)
{
  const Chooser       *self = who;
  g_autoptr (Scenario) scenario = scenario_on (self, n_nodes, diags);
  Prediction          *prediction =
      scenario != NULL ? predict (scenario, &self->options, diags, error) : NULL;

  work_count_done (self->options.count);
  return prediction;
}

/* At which a node writes to its drives; 0: not known. */
static double
drive_rate (const Chooser *self)
{
  g_autoptr (DiagList)   diags = diag_list_new (); /* what is wrong is told by the predictions */
  g_autoptr (Scenario)   scenario = scenario_on (self, 1, diags);
  g_autoptr (ProfileSet) profiles = predict_profiles (&self->options);
  g_autoptr (Cluster)    cluster =
      scenario != NULL ? cluster_new (&scenario->cluster, profiles, NULL, diags) : NULL;

  return cluster != NULL ? cluster_node_profile (cluster, 0)->nvme_write.value : 0;
}

/* The type of node in a cluster's name, "4 x TYPE" or "TYPE"; NULL: it has no name. */
static const char *
type_of (const Scenario *scenario)
{
  const char *name = scenario->cluster.name;
  const char *x = name != NULL ? name + strspn (name, "0123456789 ") : NULL;

  if (x == NULL || x == name || (*x != 'x' && *x != '*'))
    return name;
  x++;
  return x + strspn (x, " ");
}

/* Weights and moments that the optimizer keeps, of which a checkpoint is made. */
static double
bytes_per_parameter (const Scenario *scenario)
{
  const TrainingOptions *training = &scenario->training;
  const gboolean         adam =
      training->optimizer == OPTIMIZER_ADAMW || training->optimizer == OPTIMIZER_ADAMW_FUSED;

  return dtype_bytes (training_master_dtype (training))
         + (adam ? 2.0 * dtype_bytes (training_moment_dtype (training)) : 0);
}

/* ---- the command ----------------------------------------------------------------------------- */

static ExitStatus
print_plans (const Common *common, const GPtrArray *plans, const RunGoal *goals)
{
  g_autoptr (GString) out = g_string_new (NULL);

  switch (common->format)
    {
    case FORMAT_TEXT:
      report_run_plan_text (plans, goals, out);
      break;
    case FORMAT_CSV:
      report_run_plan_csv (plans, out);
      break;
    case FORMAT_JSON:
      report_run_plan_json (plans, out);
      break;
    }
  return stream_print (out);
}

/* EXIT_NO where no type of node meets the goal; EXIT_USAGE where there is no prediction at all. */
static ExitStatus
status_of (const GPtrArray *plans)
{
  const RunOption *first = NULL;
  gboolean         predicted = FALSE, met = FALSE;

  for (guint p = 0; p < plans->len; p++)
    {
      const RunPlan *plan = g_ptr_array_index (plans, p);

      met = met || plan->best != NULL;
      for (guint i = 0; i < plan->options->len; i++)
        {
          const RunOption *option = g_ptr_array_index (plan->options, i);

          predicted = predicted || option->prediction != NULL;
          first = first != NULL ? first : option;
        }
    }
  if (!predicted)
    stream_say ("shardsim plan: %s\n", first->why);
  return !predicted ? EXIT_USAGE : met ? EXIT_DONE : EXIT_NO;
}

static ExitStatus
plan (const Common *common, const Scenario *scenario, const PlanWords *words,
      const RunOptions *options)
{
  const char           *own[] = { type_of (scenario), NULL };
  const guint           n = words->types != NULL ? g_strv_length (words->types) : 1;
  g_autofree RunGoal   *goals = g_new0 (RunGoal, n);
  g_autoptr (GPtrArray) plans = g_ptr_array_new_with_free_func ((GDestroyNotify) run_plan_free);
  g_autoptr (DiagList)  diags = diag_list_new ();
  Progress             *progress;
  Chooser               chooser = { common, scenario, NULL, common_predict_options (common) };
  ExitStatus            status;

  for (guint i = 0; i < n; i++)
    {
      RunFacts facts = { .bytes_per_parameter = bytes_per_parameter (scenario) };

      chooser.type = words->types != NULL ? words->types[i] : own[0];
      facts.type = chooser.type != NULL ? chooser.type : "cluster";
      if (options->checkpoint_tier == RUN_TIER_NVME)
        facts.drive_write_bps = drive_rate (&chooser);
      run_options_goal (options, &facts, &goals[i], diags);
    }
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  progress = progress_start ("planning", "predictions");
  chooser.options.count = progress_count (progress);
  for (guint i = 0; i < n; i++)
    {
      chooser.type = words->types != NULL ? words->types[i] : own[0];
      g_ptr_array_add (plans,
                       run_plan_new (&goals[i], chooser.type != NULL ? chooser.type : "cluster",
                                     (const guint *) (void *) words->nodes->data, words->nodes->len,
                                     words->every, predict_on, &chooser));
    }
  progress_end (progress);
  status = status_of (plans);
  if (status == EXIT_USAGE)
    return status;
  return print_plans (common, plans, goals) != EXIT_DONE ? EXIT_RUNTIME : status;
}

int
cmd_plan (int argc, char **argv)
{
  g_auto (Common)       common = { 0 };
  g_auto (PlanWords)    words = { 0 };
  RunOptions            options = { 0 };
  gboolean              done = FALSE;
  g_autoptr (GPtrArray) scenarios = NULL;
  g_autoptr (DiagList)  diags = diag_list_new ();
  GStringChunk         *strings = g_string_chunk_new (1024);
  g_autoptr (GArray)    entries = entries_new (&words, strings);
  gboolean              parsed;
  ExitStatus            status = EXIT_USAGE;

  parsed = common_parse (
      &common, COMMON_SCENARIO | COMMON_FORMAT, "[SCENARIO.yaml]",
      "Plans a run: how many nodes train so many tokens by a deadline, within a budget; days, "
      "GPU-hours, money and energy, with failures, checkpoints, spare and slow nodes.\n"
      "Exit status: 0 some number of nodes meets it, 3 none does, 2 bad input, 1 runtime failure.",
      "Examples:\n"
      "  shardsim plan --model llama-3-8b --strategy fsdp2 --seq-len 8192 --tokens 1T \\\n"
      "    --days 30 --gpu-nodes dgx-h100 --gpu-nodes dgx-a100\n"
      "  shardsim plan run.yaml --tokens 15T --days 90 --gpu-mtbf '50000 h' \\\n"
      "    --restart '10 min' --checkpoint-bandwidth '400 GB/s' --price 2.5\n",
      (const GOptionEntry *) (void *) entries->data, argc, argv, &done);
  if (parsed && !done && take_counts (&words, diags) && take_options (&words, &options, diags))
    {
      g_autofree char *first =
          words.types != NULL ? g_strdup_printf ("1 x %s", words.types[0]) : NULL;
      const ScenarioOverride cluster = { "cluster.name", first, "--gpu-nodes" };

      if (first != NULL)
        g_array_append_val (common.overrides, cluster);
      scenarios = common_load_scenarios (&common);
      if (scenarios != NULL && common_want_one (&common, scenarios))
        status = plan (&common, g_ptr_array_index (scenarios, 0), &words, &options);
    }
  stream_report_diags (diags);
  option_table_clear (run_options, &options);
  g_string_chunk_free (strings);
  return parsed && done ? EXIT_DONE : status;
}
