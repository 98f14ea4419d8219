#include "cli/help.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PIPE_WIDTH    80
#define LEAST_WIDTH   40
#define DESCRIPTION   30 /* column of the descriptions */
#define OPTION_INDENT 2
#define ITEM          14 /* column of what a command or subject does */

static void
help_group_free (gpointer data)
{
  HelpGroup *self = data;

  g_array_unref (self->entries);
  g_free (self);
}

GPtrArray *
help_groups_new (void)
{
  return g_ptr_array_new_with_free_func (help_group_free);
}

HelpGroup *
help_groups_add (GPtrArray *groups, const char *name, const char *title)
{
  HelpGroup *self = g_new0 (HelpGroup, 1);

  self->name = name;
  self->title = title;
  self->entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  g_ptr_array_add (groups, self);
  return self;
}

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
append_option (GString *out, const GOptionEntry *entry, guint width)
{
  g_autoptr (GString) option = g_string_new (NULL);
  guint               length;

  append_spaces (option, OPTION_INDENT);
  if (entry->short_name != 0)
    g_string_append_printf (option, "-%c, ", entry->short_name);
  g_string_append_printf (option, "--%s", entry->long_name);
  if (entry->arg_description != NULL)
    g_string_append_printf (option, "%s%s", *entry->arg_description == '[' ? "" : "=",
                            entry->arg_description);
  g_string_append (out, option->str);
  length = (guint) g_utf8_strlen (option->str, -1);
  if (length + 2 > DESCRIPTION)
    {
      g_string_append_c (out, '\n');
      length = 0;
    }
  append_spaces (out, DESCRIPTION - length);
  help_wrap (out, entry->description != NULL ? entry->description : "", DESCRIPTION, DESCRIPTION,
             width);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void
append_group (GString *out, const HelpGroup *group, guint width)
{
  g_autofree char *title = g_strconcat (group->title, ":", NULL);

  if (group->entries->len == 0)
    return;
  g_string_append_c (out, '\n');
  help_wrap (out, title, 0, 0, width);
  for (guint i = 0; i < group->entries->len; i++)
    append_option (out, &g_array_index (group->entries, GOptionEntry, i), width);
}

static const GOptionEntry *
find_entry (const GPtrArray *groups, const char *name)
{
  for (guint g = 0; g < groups->len; g++)
    {
      const HelpGroup *group = g_ptr_array_index (groups, g);

      for (guint i = 0; i < group->entries->len; i++)
        if (strcmp (g_array_index (group->entries, GOptionEntry, i).long_name, name) == 0)
          return &g_array_index (group->entries, GOptionEntry, i);
    }
  return NULL;
}

static void
append_common (GString *out, const Help *self)
{
  g_string_append (out, "\nMost used:\n");
  for (guint i = 0; self->common[i] != NULL; i++)
    {
      const GOptionEntry *entry = find_entry (self->groups, self->common[i]);

      if (entry != NULL)
        append_option (out, entry, self->width);
    }
}

/* "--help-model   Model: 14 options", for each group that is not shown. */
static void
append_directory (GString *out, const Help *self)
{
  g_string_append (out, "\nMore options:\n");
  for (guint g = 0; g < self->groups->len; g++)
    {
      const HelpGroup *group = g_ptr_array_index (self->groups, g);
      g_autofree char *name = g_strdup_printf ("help-%s", group->name);
      g_autofree char *text = g_strdup_printf ("%s: %u options", group->title, group->entries->len);
      GOptionEntry     entry = { .long_name = name, .description = text };

      if (group->name != NULL)
        append_option (out, &entry, self->width);
    }
  append_option (out,
                 &(const GOptionEntry){ .long_name = "help-all", .description = "all of them" },
                 self->width);
}

char *
help_format (const Help *self, const char *wanted)
{
  GString         *out = g_string_new (NULL);
  g_autofree char *usage =
      g_strdup_printf ("Usage: shardsim %s [OPTION...] %s", self->command, self->arguments);

  help_wrap (out, g_strchomp (usage), 2, 0, self->width);
  if (wanted == NULL)
    {
      g_string_append_c (out, '\n');
      help_append_text (out, self->summary, self->width);
    }
  for (guint g = 0; g < self->groups->len; g++)
    {
      const HelpGroup *group = g_ptr_array_index (self->groups, g);

      if (wanted != NULL ? strcmp (wanted, "all") == 0 || g_strcmp0 (group->name, wanted) == 0
                         : self->common == NULL || group->name == NULL)
        append_group (out, group, self->width);
      if (g == 0 && wanted == NULL && self->common != NULL)
        append_common (out, self);
    }
  if (wanted == NULL && self->common != NULL)
    append_directory (out, self);
  if (wanted == NULL && self->examples != NULL)
    {
      g_string_append_c (out, '\n');
      help_append_text (out, self->examples, self->width);
    }
  return g_string_free (out, FALSE);
}
