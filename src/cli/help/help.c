#include "cli/help/help.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PIPE_WIDTH    80
#define LEAST_WIDTH   40
#define DESCRIPTION   30 /* column of the descriptions */
#define OPTION_INDENT 2
#define ITEM          14 /* column of what a command or subject does */

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
                                         "set" };

guint
help_terminal_width (void)
{
  const char    *columns = g_getenv ("COLUMNS");
  struct winsize size = { 0 };
  gint64         width = columns != NULL ? g_ascii_strtoll (columns, NULL, 10) : 0;

  if (width <= 0 && isatty (STDOUT_FILENO) && ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
    width = size.ws_col;
  return (guint) CLAMP (width > 0 ? width : PIPE_WIDTH, LEAST_WIDTH, 1000);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void
append_spaces (GString *out, guint n)
{
  g_string_append_printf (out, "%*s", (int) n, "");
}

void
help_wrap (GString *out, const char *text, guint indent, guint at, guint width)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  gboolean       first = TRUE;

  for (guint i = 0; words[i] != NULL; i++)
    {
      guint length = (guint) g_utf8_strlen (words[i], -1);

      if (!first && at + 1 + length > width)
        {
          g_string_append_c (out, '\n');
          append_spaces (out, indent);
          at = indent;
        }
      else if (!first)
        {
          g_string_append_c (out, ' ');
          at++;
        }
      g_string_append (out, words[i]);
      at += length;
      first = FALSE;
    }
  g_string_append_c (out, '\n');
}

void
help_append_text (GString *out, const char *text, guint width)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    if (*lines[i] == ' ')
      g_string_append_printf (out, "%s\n", lines[i]);
    else if (*lines[i] != '\0' || lines[i + 1] != NULL)
      help_wrap (out, lines[i], 0, 0, width);
}

void
help_append_item (GString *out, const char *name, const char *text, guint width)
{
  g_string_append_printf (out, "  %-*s", ITEM - 2, name);
  help_wrap (out, text, ITEM, ITEM, width);
}

/* "  -j, --jobs=N   work in N threads". */
static void
append_option (GString *out, const PageOption *option, guint width)
{
  g_autoptr (GString) words = g_string_new (NULL);
  guint               length;

  append_spaces (words, OPTION_INDENT);
  if (option->letter != 0)
    g_string_append_printf (words, "-%c, ", option->letter);
  g_string_append_printf (words, "--%s", option->name);
  if (option->value != NULL)
    g_string_append_printf (words, option->optional ? "[=%s]" : "=%s", option->value);
  g_string_append (out, words->str);
  length = (guint) g_utf8_strlen (words->str, -1);
  if (length + 2 > DESCRIPTION)
    {
      g_string_append_c (out, '\n');
      length = 0;
    }
  append_spaces (out, DESCRIPTION - length);
  help_wrap (out, option->help, DESCRIPTION, DESCRIPTION, width);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void
append_group (GString *out, const PageGroup *group, guint width)
{
  g_autofree char *title = g_strconcat (group->title, ":", NULL);

  if (group->options->len == 0)
    return;
  g_string_append_c (out, '\n');
  help_wrap (out, title, 0, 0, width);
  for (guint i = 0; i < group->options->len; i++)
    append_option (out, &g_array_index (group->options, PageOption, i), width);
}

static void
append_most_used (GString *out, const Page *page, guint width)
{
  const PageOption *option;

  g_string_append (out, "\nMost used:\n");
  for (guint m = 0; m < G_N_ELEMENTS (most_used); m++)
    for (guint i = 0; (option = page_option (page, i)) != NULL; i++)
      if (option->of_section && g_str_equal (option->name, most_used[m]))
        append_option (out, option, width);
}

/* "--help-model   Model: 14 options", for each group that is not shown. */
static void
append_directory (GString *out, const Page *page, guint width)
{
  g_string_append (out, "\nMore options:\n");
  for (guint g = 0; g < page->groups->len; g++)
    {
      const PageGroup *group = g_ptr_array_index (page->groups, g);
      g_autofree char *name = g_strdup_printf ("help-%s", group->name);
      g_autofree char *text = g_strdup_printf ("%s: %u options", group->title, group->options->len);

      if (group->kind == PAGE_SECTION)
        append_option (out, &(const PageOption){ .name = name, .help = text }, width);
    }
  append_option (out, &(const PageOption){ .name = "help-all", .help = "all of them" }, width);
}

char *
help_format (const Page *page, const char *wanted, guint width)
{
  const Command   *command = page->command;
  const gboolean   whole = !(command->takes & COMMON_SCENARIO); /* fits a screen */
  GString         *out = g_string_new (NULL);
  g_autofree char *usage = g_strdup_printf ("Usage: shardsim %s [OPTION...] %s", command->name,
                                            command->arguments != NULL ? command->arguments : "");

  help_wrap (out, g_strchomp (usage), 2, 0, width);
  if (wanted == NULL)
    {
      g_string_append_c (out, '\n');
      help_append_text (out, command->summary, width);
    }
  for (guint g = 0; g < page->groups->len; g++)
    {
      const PageGroup *group = g_ptr_array_index (page->groups, g);

      if (group->kind == PAGE_HELP)
        continue;
      if (wanted != NULL ? g_str_equal (wanted, "all") || g_strcmp0 (group->name, wanted) == 0
                         : whole || group->kind != PAGE_SECTION)
        append_group (out, group, width);
      if (group->kind == PAGE_OWN && wanted == NULL && !whole)
        append_most_used (out, page, width);
    }
  if (wanted == NULL && !whole)
    append_directory (out, page, width);
  if (wanted == NULL && command->examples != NULL)
    {
      g_string_append_c (out, '\n');
      help_append_text (out, command->examples, width);
    }
  return g_string_free (out, FALSE);
}
