#include "cli/common.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/layout.h"
#include "base/suggest.h"
#include "report/plot.h"
#include "report/report.h"
#include "report/trace.h"

#define NOT_GIVEN G_MININT /* an option of whole numbers */

/* Sections whose keys become options, and the short names of the common ones. */
static const char *const sections[] = { "training", "mesh",       "cluster",
                                        "model",    "collective", "replay" };
static const char *const network_sections[] = { "cluster", "collective" }; /* of COMMON_NETWORK */
#define N_CLUSTER_SECTIONS 1 /* the first: of COMMON_CLUSTER */

static const struct
{
  const char *option, *key, *help;
} shorthands[] = {
  { "cluster", "cluster.name", "cluster: '4 x dgx-a100', a node or a profile" },
  { "model", "model.config", "model: a shipped name or a config.json" },
  { "strategy", "strategy.name", "strategy" },
};

static gboolean
stderr_has_colour (void)
{
  const char *no_color = g_getenv ("NO_COLOR");

  return (no_color == NULL || *no_color == '\0') && isatty (STDERR_FILENO)
         && g_strcmp0 (g_getenv ("TERM"), "dumb") != 0;
}

ExitStatus
common_report_diags (const DiagList *diags)
{
  g_autofree char *text = diag_list_format (diags, stderr_has_colour ());

  fputs (text, stderr);
  return diag_list_has_errors (diags) ? EXIT_USAGE : EXIT_DONE;
}

ExitStatus
common_report_error (const GError *error)
{
  fprintf (stderr, "shardsim: %s\n", error->message);
  return EXIT_RUNTIME;
}

/* ---- options out of tables --------------------------------------------------------------------------------------- */

static void
add_override (Common *self, const char *key, const char *value, const char *origin)
{
  ScenarioOverride override = {
    .key = g_string_chunk_insert (self->strings, key),
    .value = g_string_chunk_insert (self->strings, value),
    .origin = g_string_chunk_insert (self->strings, origin),
  };

  g_array_append_val (self->overrides, override);
}

static gboolean
on_set (const char *option, const char *value, gpointer data, GError **error)
{
  const char      *equals = strchr (value, '=');
  g_autofree char *key = equals != NULL ? g_strndup (value, (gsize) (equals - value)) : NULL;

  if (key == NULL || *key == '\0')
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "%s wants section.key=value, got '%s'", option, value);
      return FALSE;
    }
  add_override (data, key, equals + 1, "--set");
  return TRUE;
}

/* "--micro-batch" to "training.micro_batch". */
static char *
key_of_option (const char *option)
{
  g_autofree char *key = g_strdelimit (g_strdup (option), "-", '_');

  for (guint i = 0; i < G_N_ELEMENTS (shorthands); i++)
    if (g_str_equal (shorthands[i].option, option))
      return g_strdup (shorthands[i].key);
  for (guint i = 0; i < G_N_ELEMENTS (sections); i++)
    if (option_table_find (scenario_section_table (sections[i]), key) != NULL)
      return g_strdup_printf ("%s.%s", sections[i], key);
  return NULL;
}

/* A switch may stand alone: --single-process. */
static gboolean
on_table_option (const char *option, const char *value, gpointer data, GError **error)
{
  const char      *name = option + strspn (option, "-");
  g_autofree char *key = key_of_option (name);

  g_return_val_if_fail (key != NULL, FALSE);
  (void) error;
  add_override (data, key, value != NULL ? value : "true", option);
  return TRUE;
}

static gboolean
is_taken (const GArray *entries, const char *name)
{
  for (guint i = 0; i < entries->len; i++)
    if (g_str_equal (g_array_index (entries, GOptionEntry, i).long_name, name))
      return TRUE;
  return FALSE;
}

/* "tokens a sequence (default 2048)", with the words of an enumeration. */
static char *
describe_option (const OptionSpec *spec)
{
  g_autoptr (GString) text = g_string_new (spec->help);

  if (spec->type == OPTION_ENUM)
    {
      g_autofree char *words = g_strjoinv (", ", (char **) spec->choices);

      g_string_append_printf (text, ": %s", words);
    }
  if (spec->fallback != NULL && *spec->fallback != '\0')
    g_string_append_printf (text, " (default %s)", spec->fallback);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
add_table_entry (Common *self, GArray *entries, const char *name, const char *help, gboolean is_switch)
{
  GOptionEntry entry = {
    .long_name = g_string_chunk_insert_const (self->strings, name),
    .flags = is_switch ? G_OPTION_FLAG_OPTIONAL_ARG : 0,
    .arg = G_OPTION_ARG_CALLBACK,
    .arg_data = GSIZE_TO_POINTER ((gsize) on_table_option),
    .description = g_string_chunk_insert_const (self->strings, help),
    .arg_description = is_switch ? "[on|off]" : "VALUE",
  };

  if (!is_taken (entries, name))
    g_array_append_val (entries, entry);
}

static void
add_sections (Common *self, GArray *entries, const char *const *names, guint n)
{
  for (guint s = 0; s < n; s++)
    for (const OptionSpec *spec = scenario_section_table (names[s]); spec->key != NULL; spec++)
      {
        g_autofree char *name = g_strdelimit (g_strdup (spec->key), "_", '-');
        g_autofree char *help = describe_option (spec);

        if (!g_str_equal (name, "name"))
          add_table_entry (self, entries, name, help, spec->type == OPTION_BOOL);
      }
}

/* Cluster and collective library only. */
static guint
n_network_sections (CommonFlags flags)
{
  return flags & COMMON_NETWORK ? G_N_ELEMENTS (network_sections) : N_CLUSTER_SECTIONS;
}

static GOptionGroup *
network_group (Common *self, CommonFlags flags)
{
  GOptionGroup *group = g_option_group_new (
      "network", flags & COMMON_NETWORK ? "Cluster and collective library:" : "Cluster:",
      "Show the cluster's options", self, NULL);
  g_autoptr (GArray) entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));

  add_table_entry (self, entries, shorthands[0].option, shorthands[0].help, FALSE);
  add_sections (self, entries, network_sections, n_network_sections (flags));
  g_option_group_add_entries (group, (const GOptionEntry *) (void *) entries->data);
  return group;
}

static GOptionGroup *
scenario_group (Common *self)
{
  GOptionGroup *group = g_option_group_new (
      "scenario", "Scenario options (every key of a scenario file):", "Show the scenario's options",
      self, NULL);
  g_autoptr (GArray) entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  GOptionEntry       set = { .long_name = "set",
                             .arg = G_OPTION_ARG_CALLBACK,
                             .arg_data = GSIZE_TO_POINTER ((gsize) on_set),
                             .description = "set any key of the scenario; may be repeated",
                             .arg_description = "SECTION.KEY=VALUE" };

  g_array_append_val (entries, set);
  for (guint i = 0; i < G_N_ELEMENTS (shorthands); i++)
    add_table_entry (self, entries, shorthands[i].option, shorthands[i].help, FALSE);
  add_sections (self, entries, sections, G_N_ELEMENTS (sections));
  g_option_group_add_entries (group, (const GOptionEntry *) (void *) entries->data);
  return group;
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

static gboolean
parse_format (Common *self, const char *format)
{
  static const char *const names[] = { "text", "csv", "json", NULL };

  if (format == NULL)
    return TRUE;
  for (guint i = 0; names[i] != NULL; i++)
    if (g_str_equal (names[i], format))
      {
        self->format = (OutputFormat) i;
        return TRUE;
      }
  {
    g_autofree char *hint = suggest_hint (format, names);

    fprintf (stderr, "shardsim %s: unknown format '%s': %s\n", self->command, format, hint);
  }
  return FALSE;
}

/* GOption takes "-j 4" only: makes "-j4" "--jobs=4". */
static void
spell_out_jobs (char **words)
{
  for (; *words != NULL && !g_str_equal (*words, "--"); words++)
    if (g_str_has_prefix (*words, "-j") && (*words)[2] != '\0')
      {
        char *spelled = g_strconcat ("--jobs=", *words + 2, NULL);

        g_free (*words);
        *words = spelled;
      }
}

/* Sets *TARGET to VALUE when it was given; FALSE after a message when it is less than 1. */
static gboolean
take_count (const Common *self, const char *option, gint value, gint *target)
{
  if (value == NOT_GIVEN)
    return TRUE;
  if (value >= 1)
    {
      *target = value;
      return TRUE;
    }
  fprintf (stderr, "shardsim %s: expected at least 1 for '%s', got %d\n", self->command, option,
           value);
  return FALSE;
}

/* Makes --hwprofiles, one folder or several as in PATH, the search path that ends with the shipped profiles. */
static gboolean
complete_profile_path (Common *self)
{
  g_auto (GStrv) dirs =
      g_strsplit (self->hwprofiles != NULL ? self->hwprofiles : "", G_SEARCHPATH_SEPARATOR_S, -1);

  if (self->hwprofiles == NULL)
    return TRUE;
  for (guint i = 0; dirs[i] != NULL; i++)
    if (!g_file_test (dirs[i], G_FILE_TEST_IS_DIR))
      {
        fprintf (stderr, "shardsim %s: --hwprofiles: '%s' is not a folder\n", self->command, dirs[i]);
        return FALSE;
      }
  {
    g_autofree char *given = self->hwprofiles, *shipped = layout_data_file ("hwprofiles");

    self->hwprofiles = g_strconcat (given, G_SEARCHPATH_SEPARATOR_S, shipped, NULL);
  }
  return TRUE;
}

static gboolean
load_plugins (Common *self)
{
  self->strategies = strategy_set_new ();
  for (guint i = 0; self->plugins != NULL && self->plugins[i] != NULL; i++)
    {
      g_autoptr (GError) error = NULL;

      if (!strategy_set_load (self->strategies, self->plugins[i], &error))
        {
          common_report_error (error);
          return FALSE;
        }
    }
  return TRUE;
}

/* What the options that all commands share fill, beside Common itself. */
typedef struct
{
  gboolean help;
  char    *format;
  gint     steps, jobs;
} SharedWords;

static void
add_entries (GOptionContext *context, const GOptionEntry *entries, GPtrArray *names)
{
  g_option_context_add_main_entries (context, entries, NULL);
  for (const GOptionEntry *entry = entries; entry->long_name != NULL; entry++)
    g_ptr_array_add (names, g_strdup (entry->long_name));
}

static void
add_run_entries (Common *self, SharedWords *words, GOptionContext *context, GPtrArray *names)
{
  const GOptionEntry entries[] = {
    { "trace", 0, 0, G_OPTION_ARG_FILENAME, &self->trace, "write a Chrome/Perfetto trace", "FILE" },
    { "plot", 0, 0, G_OPTION_ARG_FILENAME, &self->plot, "draw the time split into DIR (gnuplot)",
      "DIR" },
    { "print-scenario", 0, 0, G_OPTION_ARG_NONE, &self->print_scenario,
      "print all that would be used, as YAML, and stop", NULL },
    { "unfolded", 0, 0, G_OPTION_ARG_NONE, &self->unfolded,
      "simulate every rank instead of representatives", NULL },
    { "interval", 0, 0, G_OPTION_ARG_NONE, &self->interval,
      "also simulate at both ends of the hardware figures' ranges", NULL },
    { "steps", 0, 0, G_OPTION_ARG_INT, &words->steps,
      "simulate at least N steady periods (the steady state is the same)", "N" },
    G_OPTION_ENTRY_NULL,
  };

  add_entries (context, entries, names);
}

static void
add_shared_entries (Common *self, CommonFlags flags, SharedWords *words, GOptionContext *context,
                    GPtrArray *names)
{
  const GOptionEntry always[] = {
    { "help", 'h', 0, G_OPTION_ARG_NONE, &words->help, "show this help", NULL },
    { "plugin", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &self->plugins,
      "load a strategy from a shared object", "FILE" },
    { "hwprofiles", 0, 0, G_OPTION_ARG_FILENAME, &self->hwprofiles,
      "folder of hardware profiles laid over the shipped ones", "DIR" },
    G_OPTION_ENTRY_NULL,
  };
  const GOptionEntry formats[] = {
    { "format", 0, 0, G_OPTION_ARG_STRING, &words->format, "text, csv or json", "FORMAT" },
    G_OPTION_ENTRY_NULL,
  };
  const GOptionEntry jobs[] = {
    { "jobs", 'j', 0, G_OPTION_ARG_INT, &words->jobs,
      "work side by side in N threads (default: one a core)", "N" },
    G_OPTION_ENTRY_NULL,
  };

  add_entries (context, always, names);
  if (flags & COMMON_FORMAT)
    add_entries (context, formats, names);
  if (flags & COMMON_RUN)
    add_run_entries (self, words, context, names);
  if (flags & (COMMON_RUN | COMMON_JOBS))
    add_entries (context, jobs, names);
}

static void
name_keys (const char *const *tables, guint n, GPtrArray *names)
{
  for (guint s = 0; s < n; s++)
    for (const OptionSpec *spec = scenario_section_table (tables[s]); spec->key != NULL; spec++)
      g_ptr_array_add (names, g_strdelimit (g_strdup (spec->key), "_", '-'));
  for (guint i = 0; i < G_N_ELEMENTS (shorthands); i++)
    g_ptr_array_add (names, g_strdup (shorthands[i].option));
}

static void
name_options (CommonFlags flags, GPtrArray *names)
{
  if (flags & COMMON_SCENARIO)
    {
      name_keys (sections, G_N_ELEMENTS (sections), names);
      g_ptr_array_add (names, g_strdup ("set"));
    }
  if (flags & (COMMON_NETWORK | COMMON_CLUSTER))
    name_keys (network_sections, n_network_sections (flags), names);
}

/* GOption says "Unknown option --foo"; a hint with the nearest of NAMES is added. */
static void
print_usage_error (const Common *self, GPtrArray *names, const GError *error)
{
  const char *dashes = strstr (error->message, "--");
  const char *nearest = NULL;

  g_ptr_array_add (names, NULL);
  if (error->code == G_OPTION_ERROR_UNKNOWN_OPTION && dashes != NULL)
    nearest = suggest_nearest (dashes + 2, (const char *const *) names->pdata);
  fprintf (stderr, "shardsim %s: %s\n", self->command, error->message);
  if (nearest != NULL)
    fprintf (stderr, "  hint: did you mean '--%s'?\n", nearest);
  fprintf (stderr, "  see 'shardsim %s --help'\n", self->command);
}

static GOptionContext *
new_context (const char *arguments, const char *summary, const char *examples)
{
  GOptionContext *context = g_option_context_new (arguments);

  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_set_strict_posix (context, FALSE);
  g_option_context_set_summary (context, summary);
  g_option_context_set_description (context, examples);
  return context;
}

static void
print_help (GOptionContext *context)
{
  g_autofree char *text = g_option_context_get_help (context, FALSE, NULL);

  fputs (text, stdout);
}

gboolean
common_parse (Common *self, CommonFlags flags, const char *arguments, const char *summary,
              const char *examples, const GOptionEntry *extra, int argc, char **argv, gboolean *done)
{
  g_autoptr (GOptionContext) context = new_context (arguments, summary, examples);
  g_autoptr (GPtrArray)      names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError)         error = NULL;
  g_auto (GStrv)             words = g_strdupv (argv);
  SharedWords                shared = { .steps = NOT_GIVEN, .jobs = NOT_GIVEN };
  g_autofree char           *format = NULL;

  (void) argc;
  self->command = argv[0];
  self->strings = g_string_chunk_new (1024);
  self->overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  add_shared_entries (self, flags, &shared, context, names);
  if (extra != NULL)
    add_entries (context, extra, names);
  if (flags & COMMON_SCENARIO)
    g_option_context_add_group (context, scenario_group (self));
  if (flags & (COMMON_NETWORK | COMMON_CLUSTER))
    g_option_context_add_group (context, network_group (self, flags));
  name_options (flags, names);
  if (flags & (COMMON_RUN | COMMON_JOBS))
    spell_out_jobs (words);
  if (!g_option_context_parse_strv (context, &words, &error))
    {
      g_free (shared.format);
      print_usage_error (self, names, error);
      return FALSE;
    }
  format = shared.format;
  if (shared.help)
    {
      print_help (context);
      *done = TRUE;
      return TRUE;
    }
  self->files = g_strdupv (words + 1);
  return take_count (self, "--steps", shared.steps, &self->steps)
         && take_count (self, "--jobs", shared.jobs, &self->jobs) && parse_format (self, format)
         && complete_profile_path (self) && load_plugins (self);
}

void
common_clear (Common *self)
{
  g_strfreev (self->files);
  g_strfreev (self->plugins);
  g_free (self->trace);
  g_free (self->plot);
  g_free (self->hwprofiles);
  if (self->overrides != NULL)
    g_array_unref (self->overrides);
  if (self->strings != NULL)
    g_string_chunk_free (self->strings);
  strategy_set_free (self->strategies);
}

GPtrArray *
common_load_scenarios (Common *self)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  GPtrArray           *scenarios = NULL;

  if (g_strv_length (self->files) > 1)
    diag_error (diags, NULL, NULL, "one scenario file is wanted, got '%s' and '%s'", self->files[0],
                self->files[1]);
  else
    scenarios = scenario_load (self->strategies, self->files[0],
                               (const ScenarioOverride *) (void *) self->overrides->data,
                               self->overrides->len, diags);
  common_report_diags (diags);
  return scenarios;
}

PredictOptions
common_predict_options (const Common *self)
{
  return (PredictOptions){
    .replay = { .unfolded = self->unfolded,
                .keep_pools = self->trace != NULL,
                .min_periods = (guint) MAX (self->steps, 0) },
    .interval = self->interval,
    .profile_dir = self->hwprofiles,
  };
}

guint
common_n_jobs (const Common *self)
{
  return self->jobs > 0 ? (guint) self->jobs : g_get_num_processors ();
}

gboolean
common_stderr_is_terminal (void)
{
  return isatty (STDERR_FILENO) != 0;
}

/* A full disk or a closed pipe shows at the flush. */
ExitStatus
common_print (const GString *out)
{
  if (fwrite (out->str, 1, out->len, stdout) == out->len && fflush (stdout) == 0)
    return EXIT_DONE;
  perror ("shardsim: cannot write the result");
  return EXIT_RUNTIME;
}

ExitStatus
common_print_scenarios (const GPtrArray *scenarios)
{
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint i = 0; i < scenarios->len; i++)
    {
      g_autofree char *text = scenario_print (g_ptr_array_index (scenarios, i));

      g_string_append_printf (out, "%s%s", i > 0 ? "---\n" : "", text);
    }
  return common_print (out);
}

ExitStatus
common_print_report (const Common *self, const GPtrArray *predictions,
                     void (*text) (const GPtrArray *predictions, GString *out))
{
  g_autoptr (GString) out = g_string_new (NULL);

  switch (self->format)
    {
    case FORMAT_TEXT:
      text (predictions, out);
      break;
    case FORMAT_CSV:
      report_csv (predictions, out);
      break;
    case FORMAT_JSON:
      report_json (predictions, out);
      break;
    }
  return common_print (out);
}

gboolean
common_write_files (const Common *self, const GPtrArray *predictions, const Replay *const *replays,
                    GError **error)
{
  g_autofree char *style = layout_data_file ("plots/style.gp");

  return (self->trace == NULL || report_trace_write (replays, predictions->len, self->trace, error))
         && (self->plot == NULL || report_plot_write (predictions, self->plot, style, error));
}

gboolean
common_want_words (const Common *self, guint n)
{
  if (g_strv_length (self->files) <= n)
    return TRUE;
  fprintf (stderr, "shardsim %s: unexpected argument '%s'\n  see 'shardsim %s --help'\n",
           self->command, self->files[n], self->command);
  return FALSE;
}

gboolean
common_want_one (const Common *self, const GPtrArray *scenarios)
{
  if (scenarios->len == 1)
    return TRUE;
  fprintf (stderr, "shardsim %s: the file holds %u scenarios: 'shardsim compare' takes them\n",
           self->command, scenarios->len);
  return FALSE;
}
