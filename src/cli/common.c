#include "cli/common.h"

#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "base/suggest.h"
#include "cli/help.h"
#include "cli/out-of-memory.h"
#include "cli/pages.h"
#include "cli/progress.h"
#include "cli/section-options.h"
#include "report/page.h"
#include "report/partial.h"
#include "report/plot.h"
#include "report/report.h"
#include "report/trace.h"
#include "scenario/software.h"

/* Of the options of a scenario, which are too many for one screen, those that --help shows. */
static const char *const most_used[] = { "cluster",
                                         "model",
                                         "strategy",
                                         "seq-len",
                                         "micro-batch",
                                         "grad-accum",
                                         "activation-checkpointing",
                                         "tp",
                                         "pp",
                                         "figure",
                                         "set",
                                         NULL };

/* Of commands that may take much memory. */
#define SIMULATES (COMMON_SCENARIO | COMMON_RUN | COMMON_JOBS | COMMON_NETWORK | COMMON_CLUSTER)

/* Scenarios whose steps a page shows: each of them takes memory until it is written. */
#define MAX_SHOWN 8

/* ---- parsing --------------------------------------------------------------------------------- */

static gboolean
parse_format (Common *self, CommonFlags flags, const char *format)
{
  const char *const names[] = { "text", "csv", "json", flags & COMMON_CHAKRA ? "chakra" : NULL,
                                NULL };

  if (format == NULL)
    return TRUE;
  self->chakra = (flags & COMMON_CHAKRA) && g_str_equal (format, "chakra");
  if (self->chakra)
    return TRUE;
  if (name_index (format, names) >= 0)
    {
      self->format = (OutputFormat) name_index (format, names);
      return TRUE;
    }
  {
    g_autofree char *hint = suggest_hint (format, names);

    stream_say ("shardsim %s: unknown format '%s': %s\n", self->command, format, hint);
  }
  return FALSE;
}

/* The clock runs from here on: what is loaded is part of the time. FALSE after a message. */
static gboolean
begin_time (Common *self, CommonFlags flags, const char *limit)
{
  const QuantityKind kind = QUANTITY_TIME;
  double             seconds = 0;
  g_autofree char   *why = NULL;

  if (limit != NULL && (!quantity_parse (kind, limit, &seconds, &why) || !(seconds > 0)))
    {
      stream_say ("shardsim %s: --time-limit: %s\n", self->command,
                  why != NULL ? why : "no time at all leaves nothing: '2 min'");
      return FALSE;
    }
  if (flags & COMMON_TIME)
    self->patience = patience_new (seconds);
  return TRUE;
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

gboolean
common_take_count (const Common *self, const char *option, gint value, gint *target)
{
  if (value == NOT_GIVEN)
    return TRUE;
  if (value >= 1)
    {
      *target = value;
      return TRUE;
    }
  stream_say ("shardsim %s: expected at least 1 for '%s', got %d\n", self->command, option, value);
  return FALSE;
}

/*
 * Makes --hwprofiles, one folder or several as in PATH, the search path that ends with the shipped
 * profiles.
 */
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
        stream_say ("shardsim %s: --hwprofiles: '%s' is not a folder\n", self->command, dirs[i]);
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
  self->read = input_files_new ();
  self->strategies = strategy_set_new ();
  for (guint i = 0; self->plugins != NULL && self->plugins[i] != NULL; i++)
    {
      g_autoptr (GError) error = NULL;

      if (!strategy_set_load (self->strategies, self->plugins[i], &error))
        {
          stream_report_error (error);
          return FALSE;
        }
    }
  return TRUE;
}

/* What the options that all commands share fill, beside Common itself. */
typedef struct
{
  gboolean help, help_all;
  gboolean help_group[N_OPTION_SECTIONS];
  char    *format, *time_limit, *max_memory_use;
  gint     steps, jobs;
} SharedWords;

static void
shared_words_clear (SharedWords *self)
{
  g_free (self->format);
  g_free (self->time_limit);
  g_free (self->max_memory_use);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SharedWords, shared_words_clear)

/* Taken as bytes: GLib would convert from the locale's characters, or refuse them. */
static GOptionArg
as_bytes (GOptionArg type)
{
  return type == G_OPTION_ARG_STRING         ? G_OPTION_ARG_FILENAME
         : type == G_OPTION_ARG_STRING_ARRAY ? G_OPTION_ARG_FILENAME_ARRAY
                                             : type;
}

/* GROUP: of the help; NULL: told of otherwise. */
static void
add_entries (GOptionContext *context, const GOptionEntry *entries, HelpGroup *group,
             GPtrArray *names)
{
  g_autoptr (GArray) own = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));

  for (const GOptionEntry *entry = entries; entry->long_name != NULL; entry++)
    {
      GOptionEntry copy = *entry;

      copy.arg = as_bytes (entry->arg);
      g_array_append_val (own, copy);
    }
  g_option_context_add_main_entries (context, (const GOptionEntry *) (void *) own->data, NULL);
  for (const GOptionEntry *entry = entries; entry->long_name != NULL; entry++)
    {
      g_ptr_array_add (names, g_strdup (entry->long_name));
      if (group != NULL)
        g_array_append_val (group->entries, *entry);
    }
}

/* --help-model and its like, of the groups that FLAGS ask for. */
static void
add_help_entries (Common *self, CommonFlags flags, SharedWords *words, GOptionContext *context,
                  GPtrArray *names)
{
  g_autoptr (GArray) entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  GOptionEntry       entry = { .long_name = "help-all", .arg_data = &words->help_all };

  g_array_append_val (entries, entry);
  for (guint s = 0; s < N_OPTION_SECTIONS; s++)
    {
      g_autofree char *name = g_strdup_printf ("help-%s", option_sections[s].name);

      entry.long_name = g_string_chunk_insert_const (self->strings, name);
      entry.arg_data = &words->help_group[s];
      if (option_sections[s].flags & flags)
        g_array_append_val (entries, entry);
    }
  add_entries (context, (const GOptionEntry *) (void *) entries->data, NULL, names);
}

static void
add_run_entries (Common *self, SharedWords *words, GOptionContext *context, HelpGroup *group,
                 GPtrArray *names)
{
  const GOptionEntry entries[] = {
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

  add_entries (context, entries, group, names);
}

static void
add_shared_entries (Common *self, CommonFlags flags, SharedWords *words, GOptionContext *context,
                    HelpGroup *group, GPtrArray *names)
{
  const GOptionEntry always[] = {
    { "help", 'h', 0, G_OPTION_ARG_NONE, &words->help, "show this help", NULL },
    { "plugin", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &self->plugins,
      "load a strategy from a shared object: trusted code, which runs with your rights", "FILE" },
    { "hwprofiles", 0, 0, G_OPTION_ARG_FILENAME, &self->hwprofiles,
      "folder of hardware profiles laid over the shipped ones", "DIR" },
    G_OPTION_ENTRY_NULL,
  };
  const GOptionEntry formats[] = {
    { "format", 0, 0, G_OPTION_ARG_STRING, &words->format,
      "how the result is printed (default text)",
      flags & COMMON_CHAKRA ? "text|csv|json|chakra" : "text|csv|json" },
    G_OPTION_ENTRY_NULL,
  };
  const GOptionEntry traces[] = {
    { "trace", 0, 0, G_OPTION_ARG_FILENAME, &self->trace, "write a Chrome/Perfetto trace", "FILE" },
    G_OPTION_ENTRY_NULL,
  };
  const GOptionEntry pages[] = {
    { "plot", 0, 0, G_OPTION_ARG_FILENAME, &self->plot,
      "draw pictures into the folder DIR (gnuplot)", "DIR" },
    { "html", 0, 0, G_OPTION_ARG_FILENAME, &self->html,
      "write one self-contained page with tables and pictures (gnuplot)", "FILE" },
    G_OPTION_ENTRY_NULL,
  };
  const GOptionEntry jobs[] = {
    { "jobs", 'j', 0, G_OPTION_ARG_INT, &words->jobs,
      "work side by side in N threads (default: one a core)", "N" },
    G_OPTION_ENTRY_NULL,
  };
  const GOptionEntry memory[] = {
    { "max-memory-use", 0, 0, G_OPTION_ARG_STRING, &words->max_memory_use,
      "memory that shardsim itself may take, such as '16 GB' (default: half of the machine's)",
      "SIZE" },
    G_OPTION_ENTRY_NULL,
  };

  const GOptionEntry times[] = {
    { "time-limit", 0, 0, G_OPTION_ARG_STRING, &words->time_limit,
      "end after so long with what there is by then, such as '2 min'", "TIME" },
    G_OPTION_ENTRY_NULL,
  };

  add_entries (context, always, group, names);
  if (flags & COMMON_FORMAT)
    add_entries (context, formats, group, names);
  if (flags & COMMON_TRACE)
    add_entries (context, traces, group, names);
  if (flags & COMMON_PAGES)
    add_entries (context, pages, group, names);
  if (flags & COMMON_RUN)
    add_run_entries (self, words, context, group, names);
  if (flags & (COMMON_RUN | COMMON_JOBS))
    add_entries (context, jobs, group, names);
  if (flags & COMMON_TIME)
    add_entries (context, times, group, names);
  if (flags & SIMULATES)
    add_entries (context, memory, group, names);
  add_help_entries (self, flags, words, context, names);
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
  stream_say ("shardsim %s: %s\n", self->command, error->message);
  if (nearest != NULL)
    stream_say ("  hint: did you mean '--%s'?\n", nearest);
  stream_say ("  see 'shardsim %s --help'\n", self->command);
}

static GOptionContext *
new_context (void)
{
  GOptionContext *context = g_option_context_new (NULL);

  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_set_strict_posix (context, FALSE);
  return context;
}

/*
 * FALSE after a message where one of ENTRIES was given an empty value: it says nothing, and no
 * command expects lists of none and files without a name.
 */
static gboolean
refuse_empty (const Common *self, const GOptionEntry *entries)
{
  for (; entries != NULL && entries->long_name != NULL; entries++)
    {
      const gboolean one =
          entries->arg == G_OPTION_ARG_STRING || entries->arg == G_OPTION_ARG_FILENAME;
      const gboolean many =
          entries->arg == G_OPTION_ARG_STRING_ARRAY || entries->arg == G_OPTION_ARG_FILENAME_ARRAY;
      const char *const *values = one    ? (const char *const *) entries->arg_data
                                  : many ? *(const char *const *const *) entries->arg_data
                                         : NULL;

      for (guint i = 0; values != NULL && (many || i == 0) && values[i] != NULL; i++)
        if (*values[i] == '\0')
          {
            stream_say ("shardsim %s: --%s: expected %s, got nothing\n  see 'shardsim %s --help'\n",
                        self->command, entries->long_name, entries->arg_description, self->command);
            return FALSE;
          }
    }
  return TRUE;
}

/* What part of the help is asked for; *ANY: any at all. */
static const char *
wanted_help (const SharedWords *words, gboolean *any)
{
  *any = words->help || words->help_all;
  if (words->help_all)
    return "all";
  for (guint s = 0; s < N_OPTION_SECTIONS; s++)
    if (words->help_group[s])
      {
        *any = TRUE;
        return option_sections[s].name;
      }
  return NULL;
}

/* FALSE after a message. */
static gboolean
print_help (Common *self, Help *help, GPtrArray *groups, const char *wanted)
{
  g_autofree char *text = NULL;

  if (wanted != NULL && !load_plugins (self))
    return FALSE;
  if (wanted != NULL && help->common != NULL
      && (g_str_equal (wanted, "all") || g_str_equal (wanted, "strategy")))
    section_options_add_strategies (self, groups);
  help->width = help_terminal_width ();
  text = help_format (help, wanted);
  fputs (text, stdout);
  return TRUE;
}

/* Those of the sections: add_entries named the others. */
static void
name_options (const GPtrArray *groups, GPtrArray *names)
{
  for (guint g = 0; g < groups->len; g++)
    {
      const HelpGroup *group = g_ptr_array_index (groups, g);

      for (guint i = 0; group->name != NULL && i < group->entries->len; i++)
        g_ptr_array_add (names,
                         g_strdup (g_array_index (group->entries, GOptionEntry, i).long_name));
    }
}

gboolean
common_parse (Common *self, CommonFlags flags, const char *arguments, const char *summary,
              const char *examples, const GOptionEntry *extra, int argc, char **argv,
              gboolean *done)
{
  g_autoptr (GOptionContext) context = new_context ();
  g_autoptr (GPtrArray)      names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray)      groups = help_groups_new ();
  HelpGroup                 *own = help_groups_add (groups, NULL, "Options");
  HelpGroup                 *general = help_groups_add (groups, NULL, "General options");
  g_autoptr (GError)         error = NULL;
  g_auto (GStrv)             words = g_strdupv (argv);
  g_auto (SharedWords)       shared = { .steps = NOT_GIVEN, .jobs = NOT_GIVEN };
  Help                       help = { .command = argv[0],
                                      .arguments = arguments,
                                      .summary = summary,
                                      .examples = examples,
                                      .groups = groups };
  const char                *wanted;

  (void) argc;
  if (flags & COMMON_SCENARIO)
    help.common = most_used;
  self->command = argv[0];
  self->strings = g_string_chunk_new (1024);
  self->overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  self->asked = flags & COMMON_ASKED ? g_ptr_array_new () : NULL;
  if (extra != NULL)
    add_entries (context, extra, own, names);
  add_shared_entries (self, flags, &shared, context, general, names);
  section_options_add (self, flags, groups, context);
  *done = pages_take_help (&help);
  if (*done)
    return TRUE;
  name_options (groups, names);
  if (flags & (COMMON_RUN | COMMON_JOBS))
    spell_out_jobs (words);
  if (!g_option_context_parse_strv (context, &words, &error))
    {
      print_usage_error (self, names, error);
      return FALSE;
    }
  wanted = wanted_help (&shared, done);
  if (*done)
    return print_help (self, &help, groups, wanted);
  self->files = g_strdupv (words + 1);
  return refuse_empty (self, (const GOptionEntry *) (void *) own->entries->data)
         && refuse_empty (self, (const GOptionEntry *) (void *) general->entries->data)
         && common_take_count (self, "--steps", shared.steps, &self->steps)
         && common_take_count (self, "--jobs", shared.jobs, &self->jobs)
         && out_of_memory_take_limit (self->command, shared.max_memory_use)
         && parse_format (self, flags, shared.format) && begin_time (self, flags, shared.time_limit)
         && complete_profile_path (self) && load_plugins (self);
}

void
common_clear (Common *self)
{
  g_strfreev (self->files);
  g_strfreev (self->plugins);
  g_free (self->trace);
  g_free (self->plot);
  g_free (self->html);
  g_free (self->hwprofiles);
  input_files_free (self->read);
  if (self->overrides != NULL)
    g_array_unref (self->overrides);
  g_clear_pointer (&self->asked, g_ptr_array_unref);
  if (self->strings != NULL)
    g_string_chunk_free (self->strings);
  strategy_set_free (self->strategies);
  patience_free (self->patience);
}

static GPtrArray *
load_scenarios (Common *self, gboolean open)
{
  g_autoptr (DiagList)    diags = diag_list_new ();
  const ScenarioOverride *overrides = (const ScenarioOverride *) (void *) self->overrides->data;
  GPtrArray              *scenarios = NULL;

  if (g_strv_length (self->files) > 1)
    diag_error (diags, NULL, NULL, "one scenario file is wanted, got '%s' and '%s'", self->files[0],
                self->files[1]);
  else
    scenarios = (open ? scenario_load_open : scenario_load) (
        self->strategies, self->files[0], overrides, self->overrides->len, diags);
  stream_report_diags (diags);
  return scenarios;
}

GPtrArray *
common_load_scenarios (Common *self)
{
  return load_scenarios (self, FALSE);
}

GPtrArray *
common_load_open_scenarios (Common *self)
{
  return load_scenarios (self, TRUE);
}

gboolean
common_keeps_replays (const Common *self, guint n)
{
  return self->trace != NULL || (self->html != NULL && n <= MAX_SHOWN)
         || (self->plot != NULL && n == 1);
}

PredictOptions
common_predict_options (const Common *self)
{
  return (PredictOptions){
    .unfolded = self->unfolded,
    .replay = { .min_periods = (guint) MAX (self->steps, 0),
                .stop = patience_stop (self->patience) },
    .interval = self->interval,
    .profile_dir = self->hwprofiles,
    .files = self->read,
    .todays_frameworks = TRUE,
  };
}

guint
common_n_jobs (const Common *self)
{
  return self->jobs > 0 ? (guint) self->jobs : g_get_num_processors ();
}

char *
common_print_scenario (const Common *self, const Scenario *scenario, const char *dir)
{
  const PredictOptions   options = common_predict_options (self);
  g_autoptr (ProfileSet) profiles = predict_profiles (&options);
  g_autoptr (DiagList)   untold = diag_list_new ();
  g_autoptr (Scenario)   in_force = scenario_in_force (scenario, profiles, untold);

  return scenario_print_in (in_force != NULL ? in_force : scenario, dir);
}

ExitStatus
common_print_scenarios (const Common *self, const GPtrArray *scenarios)
{
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint i = 0; i < scenarios->len; i++)
    {
      g_autofree char *text = common_print_scenario (self, g_ptr_array_index (scenarios, i), ".");

      g_string_append_printf (out, "%s%s", i > 0 ? "---\n" : "", text);
    }
  return stream_print (out);
}

ExitStatus
common_print_result (const Common *self, GString *out)
{
  static void (*const mark[]) (const Partial *, GString *) = {
    [FORMAT_TEXT] = partial_mark_text,
    [FORMAT_CSV] = partial_mark_csv,
    [FORMAT_JSON] = partial_mark_json,
  };

  patience_close (self->patience);
  mark[self->format](patience_partial (self->patience), out);
  common_say_partial (self);
  return stream_print (out);
}

void
common_say_partial (const Common *self)
{
  const Partial   *partial = patience_partial (self->patience);
  g_autofree char *text = partial->reason != NULL ? partial_text (partial) : NULL;

  if (text != NULL && self->format != FORMAT_TEXT)
    stream_say ("shardsim %s: partial: %s\n", self->command, text);
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
  return stream_print (out);
}

ExitStatus
common_check_files (const Common *self)
{
  ExitStatus trace = stream_check_output ("--trace", self->trace, OUTPUT_FILE);
  ExitStatus plot = stream_check_pictures ("--plot", self->plot);
  ExitStatus html = stream_check_page ("--html", self->html);

  return trace != EXIT_DONE ? trace : plot != EXIT_DONE ? plot : html;
}

ExitStatus
common_write_files (const Common *self, const GPtrArray *predictions, const Replay *const *replays,
                    ExitStatus status)
{
  g_autofree char   *style = layout_data_file ("plots/style.gp");
  g_autoptr (GError) no_trace = NULL, no_plot = NULL, no_page = NULL;
  Progress          *progress = progress_start ("writing", "files", NULL);
  gboolean           traced =
      self->trace == NULL || report_trace_write (replays, predictions->len, self->trace, &no_trace);
  gboolean drawn =
      self->plot == NULL || report_plot_write (predictions, replays, self->plot, style, &no_plot);
  gboolean paged =
      self->html == NULL || report_page_write (predictions, replays, style, self->html, &no_page);

  progress_end (progress);
  status = stream_note_output (status, traced, no_trace);
  status = stream_note_output (status, drawn, no_plot);
  return stream_note_output (status, paged, no_page);
}

ExitStatus
common_write_pages (const Common *self, const PageKind *kind, gconstpointer answer,
                    ExitStatus status)
{
  const Partial     *partial = patience_partial (self->patience);
  g_autofree char   *style = layout_data_file ("plots/style.gp");
  g_autofree char   *note = partial->reason != NULL ? partial_text (partial) : NULL;
  g_autoptr (GError) no_plot = NULL, no_page = NULL;
  gboolean           drawn =
      self->plot == NULL || report_pictures_of (kind, answer, style, self->plot, &no_plot);
  gboolean paged =
      self->html == NULL || report_page_of (kind, answer, note, style, self->html, &no_page);

  status = stream_note_output (status, drawn, no_plot);
  return stream_note_output (status, paged, no_page);
}

/* Appends a space and WORD, quoted where a shell would read something into it. */
static void
append_word (GString *out, const char *word)
{
  g_autofree char *quoted = printable_shell_word (word);

  g_string_append_printf (out, " %s", quoted);
}

char *
common_command_line (const Common *self, const char *command, const char *options)
{
  GString *out = g_string_new ("shardsim ");

  g_string_append (out, command);
  for (guint i = 0; self->files[i] != NULL; i++)
    append_word (out, self->files[i]);
  for (guint i = 0; i < self->overrides->len; i++)
    {
      const ScenarioOverride *set = &g_array_index (self->overrides, ScenarioOverride, i);
      g_autofree char        *text = scenario_option_text (set->key, set->value);

      g_string_append_printf (out, " %s", text);
    }
  for (guint i = 0; self->plugins != NULL && self->plugins[i] != NULL; i++)
    {
      append_word (out, "--plugin");
      append_word (out, self->plugins[i]);
    }
  if (self->hwprofiles != NULL)
    {
      append_word (out, "--hwprofiles");
      append_word (out, self->hwprofiles);
    }
  g_string_append_printf (out, "%s%s", *options != '\0' ? " " : "", options);
  return g_string_free (out, FALSE);
}

gboolean
common_want_words (const Common *self, guint n)
{
  if (g_strv_length (self->files) <= n)
    return TRUE;
  stream_say ("shardsim %s: unexpected argument '%s'\n  see 'shardsim %s --help'\n", self->command,
              self->files[n], self->command);
  return FALSE;
}

gboolean
common_want_one (const Common *self, const GPtrArray *scenarios)
{
  if (scenarios->len == 1)
    return TRUE;
  stream_say ("shardsim %s: the file holds %u scenarios: 'shardsim compare' takes them\n",
              self->command, scenarios->len);
  return FALSE;
}
