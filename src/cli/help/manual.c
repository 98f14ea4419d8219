#include "cli/help/manual.h"

#include <string.h>

#include "base/file/layout.h"
#include "cli/argument/section-options.h"

/*
 * TEXT as roff takes it: no character of it is a request, an escape or typographic, and a line that
 * begins with a dot stays a line.
 */
static void
append_text (GString *out, const char *text)
{
  gboolean line_start = out->len == 0 || out->str[out->len - 1] == '\n';

  for (; *text != '\0'; text++)
    {
      if (line_start && (*text == '.' || *text == '\''))
        g_string_append (out, "\\&");
      line_start = *text == '\n';
      if (*text == '\\')
        g_string_append (out, "\\e");
      else if (*text == '-')
        g_string_append (out, "\\-");
      else if (*text == '\'')
        g_string_append (out, "\\(aq");
      else if (*text == '`')
        g_string_append (out, "\\(ga");
      else if (*text == '~')
        g_string_append (out, "\\(ti");
      else if (*text == '^')
        g_string_append (out, "\\(ha");
      else
        g_string_append_c (out, *text);
    }
}

static void
append_name (GString *out, const char *name, guint section, const char *what)
{
  g_autofree char *title = g_ascii_strup (name, -1);

  g_string_append (out, ".\\\" written by 'shardsim manual'\n.TH ");
  append_text (out, title);
  g_string_append_printf (out, " %u \"\" \"shardsim %s\" \"%s\"\n", section,
                          layout_program_version (),
                          section == 1 ? "User Commands" : "Miscellaneous");
  g_string_append (out, ".SH NAME\n");
  append_text (out, name);
  g_string_append (out, " \\- ");
  append_text (out, what);
  g_string_append (out, "\n.SH SYNOPSIS\n");
}

static void
append_section (GString *out, const char *kind, const char *title)
{
  g_string_append_printf (out, ".%s ", kind);
  append_text (out, title);
  g_string_append_c (out, '\n');
}

/* Lines are paragraphs; those that begin with a blank, which are commands, stay as they are. */
static void
append_paragraphs (GString *out, const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  gboolean       code = FALSE;

  for (guint i = 0; lines[i] != NULL; i++)
    {
      const gboolean is_code = *lines[i] == ' ';

      if (*lines[i] == '\0')
        continue;
      if (is_code != code)
        g_string_append (out, is_code ? ".nf\n" : ".fi\n");
      if (!is_code)
        g_string_append (out, ".PP\n");
      code = is_code;
      append_text (out, lines[i]);
      g_string_append_c (out, '\n');
    }
  if (code)
    g_string_append (out, ".fi\n");
}

/* -j, --jobs=N */
static void
append_option (GString *out, const PageOption *option)
{
  g_string_append (out, ".TP\n");
  if (option->letter != 0)
    g_string_append_printf (out, "\\fB\\-%c\\fR, ", option->letter);
  g_string_append (out, "\\fB\\-\\-");
  append_text (out, option->name);
  g_string_append (out, "\\fR");
  if (option->value != NULL)
    {
      g_string_append (out, option->optional ? "[=\\fI" : "=\\fI");
      append_text (out, option->value);
      g_string_append (out, option->optional ? "\\fR]" : "\\fR");
    }
  g_string_append_c (out, '\n');
  append_text (out, option->help);
  g_string_append_c (out, '\n');
}

static void
append_groups (GString *out, const Page *page)
{
  if (page->groups->len > 0)
    g_string_append (out, ".SH OPTIONS\n");
  for (guint g = 0; g < page->groups->len; g++)
    {
      const PageGroup *group = g_ptr_array_index (page->groups, g);

      if (group->options->len == 0)
        continue;
      if (group->kind != PAGE_OWN)
        append_section (out, "SS", group->title);
      for (guint i = 0; i < group->options->len; i++)
        append_option (out, &g_array_index (group->options, PageOption, i));
    }
}

/* What stands before "Examples:" at the end of the help, newly allocated, and what behind. */
static char *
split_examples (const char *text, const char **examples)
{
  static const char heading[] = "Examples:\n";
  const char       *at = text != NULL ? strstr (text, heading) : NULL;

  *examples = at != NULL ? at + strlen (heading) : NULL;
  return at != NULL ? g_strndup (text, (gsize) (at - text)) : g_strdup (text != NULL ? text : "");
}

/* A list of commands, each with the name of its own page. */
static void
append_command (GString *out, const Command *command)
{
  g_autofree char *name = manual_name (command);

  g_string_append (out, ".TP\n.BR ");
  append_text (out, name);
  g_string_append (out, " (1)\n");
  append_text (out, command->help);
  g_string_append_c (out, '\n');
}

char *
manual_name (const Command *command)
{
  char *name = g_strconcat ("shardsim-", command->name, NULL);

  return g_strdelimit (name, " ", '-');
}

void
manual_write_command (const Page *page, GString *out)
{
  const Command   *command = page->command, *subject = NULL;
  const char      *examples;
  g_autofree char *name = manual_name (command);
  g_autofree char *more = split_examples (command->examples, &examples);

  append_name (out, name, 1, command->help);
  g_string_append (out, ".B shardsim ");
  append_text (out, command->name);
  g_string_append (out, "\n[\\fIOPTION\\fR...]\n");
  append_text (out, command->arguments != NULL ? command->arguments : "");
  g_string_append (out, "\n.SH DESCRIPTION\n");
  append_paragraphs (out, command->summary);
  append_paragraphs (out, more);
  if (command_next_subject (command, NULL) != NULL)
    g_string_append (out, ".SH SUBJECTS\n");
  while ((subject = command_next_subject (command, subject)) != NULL)
    append_command (out, subject);
  append_groups (out, page);
  if (examples != NULL)
    {
      g_string_append (out, ".SH EXAMPLES\n");
      append_paragraphs (out, examples);
    }
  g_string_append (out, ".SH SEE ALSO\n.BR shardsim (1),\n.BR shardsim\\-scenario (7)\n");
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void
append_keys (GString *out, const char *section, const OptionSpec *table)
{
  for (const OptionSpec *spec = table; spec != NULL && spec->key != NULL; spec++)
    {
      g_autofree char *help = section_options_describe (spec);

      g_string_append (out, ".TP\n\\fB");
      append_text (out, section);
      g_string_append_c (out, '.');
      append_text (out, spec->key);
      g_string_append (out, "\\fR\n");
      append_text (out, help);
      g_string_append_c (out, '\n');
    }
}

void
manual_write_scenario (GString *out)
{
  append_name (out, "shardsim-scenario", 7, "the keys of a scenario");
  g_string_append (out, ".B shardsim simulate \\-\\-set\n\\fISECTION.KEY=VALUE\\fR\n"
                        ".SH DESCRIPTION\n"
                        "A scenario's file is YAML: sections, and in each its keys. Most keys are "
                        "options of the commands as well; every one can be given with\n"
                        ".BR \\-\\-set .\n");
  for (guint s = 0; s < N_OPTION_SECTIONS; s++)
    {
      const OptionSpec *table = scenario_section_table (option_sections[s].name);

      if (table != NULL)
        append_section (out, "SH", option_sections[s].title);
      append_keys (out, option_sections[s].name, table);
    }
  g_string_append (out, ".SH Strategies\n.TP\n\\fBstrategy.name\\fR\none of the following\n");
  for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
    {
      append_section (out, "SS", (*list)->name);
      append_text (out, (*list)->title);
      g_string_append_c (out, '\n');
      append_keys (out, "strategy", (*list)->options);
    }
  g_string_append (out, ".SH SEE ALSO\n.BR shardsim (1)\n");
}

/* ---- the program ----------------------------------------------------------------------------- */

void
manual_write_program (const GPtrArray *pages, GString *out)
{
  static const struct
  {
    const char *name, *meaning;
  } statuses[] = {
    { "0", "done" },
    { "1", "a failure while running: a file that cannot be written, a child process" },
    { "2", "bad usage or input; every error of a file is reported, with its line and a hint" },
    { "3", "the answer is no: the scenario does not fit, or an error is above its bound" },
  }, variables[] = {
    { "SHARDSIM_DATADIR", "the folder that holds hwprofiles and workloads" },
    { "NO_COLOR", "set and not empty: no colours" },
    { "COLUMNS", "the width of the help" },
  };

  append_name (out, "shardsim", 1, "predict how fast a model trains on a GPU cluster");
  g_string_append (out, ".B shardsim\n\\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIFILE\\fR]\n"
                        ".SH DESCRIPTION\n");
  append_paragraphs (out, program_summary);
  g_string_append (out, ".SH COMMANDS\n");
  for (guint p = 0; p < pages->len; p++)
    append_command (out, ((const Page *) pages->pdata[p])->command);
  g_string_append (out, ".SH EXIT STATUS\n");
  for (guint i = 0; i < G_N_ELEMENTS (statuses); i++)
    g_string_append_printf (out, ".TP\n.B %s\n%s\n", statuses[i].name, statuses[i].meaning);
  g_string_append (out, ".SH ENVIRONMENT\n");
  for (guint i = 0; i < G_N_ELEMENTS (variables); i++)
    g_string_append_printf (out, ".TP\n.B %s\n%s\n", variables[i].name, variables[i].meaning);
  g_string_append (out, ".SH SEE ALSO\n.BR shardsim\\-scenario (7)\n");
}
