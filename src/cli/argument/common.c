#include "cli/argument/common.h"

#include "base/file/layout.h"
#include "cli/argument/general-options.h"
#include "cli/argument/value-lists.h"
#include "cli/output/progress.h"
#include "report/answer/job.h"
#include "report/document/page.h"
#include "report/document/partial.h"
#include "report/plot/plot.h"
#include "report/prediction/report.h"
#include "report/trace/trace.h"
#include "scenario/software.h"

/* Scenarios whose steps a page shows: each of them takes memory until it is written. */
#define MAX_SHOWN 8

void
common_say (const Common *self, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list          arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  stream_say ("shardsim %s: %s", self->command->name, text);
}

ExitStatus
common_refuse (const Common *self, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list          arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  common_say (self, "%s", text);
  return EXIT_USAGE;
}

/* ---- options that are given ------------------------------------------------------------------ */

/* An option of the command, or one that it shares. */
typedef struct
{
  const CommandOption *option; /* NULL: the last was before */
  gconstpointer        member;
} GivenOption;

/* The one at I: those that are shared first. */
static GivenOption
option_at (const Common *self, guint i)
{
  const GeneralOption *general = general_options;
  const CommandOption *own = self->command->options;

  for (; general->option.name != NULL; general++)
    if (general_option_is_of (general, self->command) && i-- == 0)
      return (GivenOption){ &general->option, (const char *) self + general->option.offset };
  for (; own != NULL && own->name != NULL; own++)
    if (i-- == 0)
      return (GivenOption){ own, (const char *) self->settings + own->offset };
  return (GivenOption){ 0 };
}

static gboolean
is_given (const GivenOption *self)
{
  switch (self->option->type)
    {
    case VALUE_SWITCH:
      return *(const gboolean *) self->member;
    case VALUE_INT:
    case VALUE_COUNT:
      return *(const gint *) self->member != self->option->fallback;
    case VALUE_INT64:
      return *(const gint64 *) self->member != self->option->fallback;
    case VALUE_QUANTITY:
      return *(const double *) self->member != self->option->fallback;
    case VALUE_TABLE:
      return FALSE;
    default:
      return *(const gconstpointer *) self->member != NULL;
    }
}

gboolean
common_has (const Common *self, const char *name)
{
  static const char *const formats[] = { "format=text", "format=csv", "format=json" };

  if (g_str_equal (name, "format=chakra"))
    return self->chakra;
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (g_str_equal (name, formats[i]))
      return !self->chakra && self->format == i;
  for (guint i = 0;; i++)
    {
      const GivenOption given = option_at (self, i);

      if (given.option == NULL || g_str_equal (given.option->name, name))
        return given.option != NULL && is_given (&given);
    }
}

ExitStatus
common_check_outputs (const Common *self)
{
  ExitStatus  status = EXIT_DONE;
  GivenOption given;

  for (guint i = 0; (given = option_at (self, i)).option != NULL; i++)
    {
      g_autofree char   *name = g_strconcat ("--", given.option->name, NULL);
      const gboolean     many = given.option->type == VALUE_TEXTS;
      const char *const *paths;

      if (given.option->check == NULL || !is_given (&given))
        continue;
      paths = many ? *(const char *const *const *) given.member : given.member;
      for (guint p = 0; p < (many ? g_strv_length ((char **) paths) : 1); p++)
        status = stream_worse (status, given.option->check (name, paths[p]));
    }
  return status;
}

void
common_clear (Common *self)
{
  g_strfreev (self->files);
  g_strfreev (self->formats);
  g_strfreev (self->plugins);
  g_free (self->trace);
  g_free (self->plot);
  g_free (self->html);
  g_free (self->hwprofiles);
  g_free (self->as);
  input_files_free (self->read);
  if (self->overrides != NULL)
    g_array_unref (self->overrides);
  g_clear_pointer (&self->asked, g_ptr_array_unref);
  if (self->strings != NULL)
    g_string_chunk_free (self->strings);
  strategy_set_free (self->strategies);
  patience_free (self->patience);
}

/* Above a text answer; beside all that others read. */
static void
say_account (Common *self, const JobAccount *account)
{
  g_autoptr (GString) out = g_string_new (NULL);

  if (self->job_said)
    return;
  self->job_said = TRUE;
  (self->account ? report_job_keys : report_job) (account, out);
  g_string_append_c (out, '\n');
  if (self->format == FORMAT_TEXT && !self->chakra && !self->print_scenario
      && !common_has (self, "emit"))
    stream_print (out);
  else
    stream_say ("%s", out->str);
}

GPtrArray *
common_load (Common *self, const char *file, const ScenarioOverride *overrides, guint n_overrides,
             gboolean open, DiagList *diags)
{
  const JobRequest       request = { .strategies = self->strategies,
                                     .as = self->as,
                                     .lenient = self->lenient,
                                     .open = open,
                                     .overrides = overrides,
                                     .n_overrides = n_overrides,
                                     .profile_dir = self->hwprofiles,
                                     .files = self->read };
  g_autoptr (JobAccount) account = NULL;
  GPtrArray             *scenarios = job_load (file, NULL, &request, &account, diags);

  if (account != NULL && scenarios != NULL)
    say_account (self, account);
  return scenarios;
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
  else if (!value_lists_refuse (self->overrides, diags))
    scenarios = common_load (self, self->files[0], overrides, self->overrides->len, open, diags);
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
    common_say (self, "partial: %s\n", text);
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
    default:
      report_json (predictions, out);
      break;
    }
  return stream_print (out);
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
  common_say (self, "unexpected argument '%s'\n  see 'shardsim %s --help'\n", self->files[n],
              self->command->name);
  return FALSE;
}

gboolean
common_want_one (const Common *self, const GPtrArray *scenarios)
{
  if (scenarios->len == 1)
    return TRUE;
  common_say (self, "the file holds %u scenarios: 'shardsim compare' takes them\n", scenarios->len);
  return FALSE;
}
