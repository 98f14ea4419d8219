#include "cli/argument/command.h"

#include <stdio.h>
#include <string.h>

#include "base/config/suggest.h"
#include "cli/argument/parse.h"
#include "cli/help/help.h"

const Command *
command_find (const char *name)
{
  for (guint i = 0; commands[i] != NULL; i++)
    if (g_ascii_strcasecmp (commands[i]->name, name) == 0)
      return commands[i];
  return NULL;
}

/* "validate training" of "validate". */
static gboolean
is_subject_of (const Command *self, const Command *command)
{
  return g_str_has_prefix (self->name, command->name) && self->name[strlen (command->name)] == ' ';
}

const Command *
command_next_subject (const Command *self, const Command *previous)
{
  gboolean behind = previous == NULL;

  for (guint i = 0; commands[i] != NULL; i++)
    if (behind && is_subject_of (commands[i], self))
      return commands[i];
    else
      behind |= commands[i] == previous;
  return NULL;
}

const char *
command_word (const Command *self)
{
  const char *blank = strchr (self->name, ' ');

  return blank != NULL ? blank + 1 : self->name;
}

const char **
command_names (const Command *self)
{
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; commands[i] != NULL; i++)
    if (self != NULL ? is_subject_of (commands[i], self) : strchr (commands[i]->name, ' ') == NULL)
      g_ptr_array_add (names, (gpointer) command_word (commands[i]));
  g_ptr_array_add (names, NULL);
  return (const char **) g_ptr_array_free (names, FALSE);
}

/* The list of the subjects of SELF, which does nothing without one, or what is wrong with WORD. */
static ExitStatus
want_subject (const Command *self, const char *word)
{
  const guint             width = help_terminal_width ();
  g_autofree const char **names = command_names (self);
  g_autofree char        *hint = suggest_hint (word != NULL ? word : "", names);
  g_autoptr (GString)     text = g_string_new (NULL);
  g_autofree char        *head = g_strdup_printf ("Usage: shardsim %s SUBJECT [OPTIONS] FILE\n\n"
                                                         "%s\n\nSubjects:\n",
                                                  self->name, self->summary);
  g_autofree char        *end =
      g_strdup_printf ("\n'shardsim %s SUBJECT --help' explains one.\n", self->name);
  const Command *subject = NULL;

  help_append_text (text, head, width);
  while ((subject = command_next_subject (self, subject)) != NULL)
    help_append_item (text, command_word (subject), subject->help, width);
  help_append_text (text, end, width);
  if (word != NULL && (g_str_equal (word, "--help") || g_str_equal (word, "-h")))
    {
      fputs (text->str, stdout);
      return EXIT_DONE;
    }
  if (word == NULL)
    stream_say ("%s", text->str);
  else
    stream_say ("shardsim %s: unknown subject '%s'\n  hint: %s\n", self->name, word, hint);
  return EXIT_USAGE;
}

static ExitStatus
parse_and_run (const Command *self, char *const *words)
{
  g_auto (Common)     common = { 0 };
  g_autofree gpointer settings = g_malloc0 (self->settings_size);
  gboolean            done = FALSE;
  ExitStatus          status = EXIT_USAGE;

  if (parse_words (&common, self, settings, words, &done))
    status = done ? EXIT_DONE : patience_status (common.patience, self->run (&common, settings));
  settings_clear (self, settings);
  return status;
}

int
command_run (const Command *self, char *const *words)
{
  g_auto (GStrv) own = g_strdupv ((char **) words);
  const Command *other = NULL;

  while (own[1] != NULL && (other = command_next_subject (self, other)) != NULL)
    if (g_str_equal (command_word (other), own[1]))
      return parse_and_run (other, own + 1);
  other = self->meant != NULL ? self->meant (&own) : NULL;
  if (other != NULL)
    return command_run (other, own);
  return self->run != NULL ? parse_and_run (self, own) : want_subject (self, own[1]);
}
