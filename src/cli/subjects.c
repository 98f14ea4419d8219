#include "cli/subjects.h"

#include <stdio.h>

#include "base/suggest.h"
#include "cli/help.h"
#include "cli/pages.h"

/* Newly allocated. */
static char *
usage_text (const Subject *subjects, guint n, const char *command, const char *summary)
{
  GString         *text = g_string_new (NULL);
  g_autofree char *head = g_strdup_printf (
      "Usage: shardsim %s SUBJECT [OPTIONS] FILE\n\n%s\n\nSubjects:\n", command, summary);
  g_autofree char *end =
      g_strdup_printf ("\n'shardsim %s SUBJECT --help' explains one.\n", command);
  const guint width = help_terminal_width ();

  help_append_text (text, head, width);
  for (guint i = 0; i < n; i++)
    help_append_item (text, subjects[i].name, subjects[i].help, width);
  help_append_text (text, end, width);
  return g_string_free (text, FALSE);
}

static int
unknown_subject (const Subject *subjects, guint n, const char *command, const char *word)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char      *hint = NULL;

  for (guint i = 0; i < n; i++)
    g_ptr_array_add (names, (gpointer) subjects[i].name);
  g_ptr_array_add (names, NULL);
  hint = suggest_hint (word, (const char *const *) names->pdata);
  stream_say ("shardsim %s: unknown subject '%s'\n  hint: %s\n", command, word, hint);
  return EXIT_USAGE;
}

static int
run (const Subject *subject, int argc, char **argv)
{
  g_autofree char  *command = g_strdup_printf ("%s %s", argv[0], subject->name);
  g_autofree char **words = g_memdup2 (argv + 1, (gsize) argc * sizeof *argv); /* with its NULL */

  words[0] = command;
  return subject->main (argc - 1, words);
}

int
subjects_run (const Subject *subjects, guint n, const char *summary, int argc, char **argv)
{
  g_autofree char *usage = usage_text (subjects, n, argv[0], summary);

  if (pages_take_subjects (subjects, n, summary))
    return EXIT_DONE;
  if (argc < 2)
    {
      stream_say ("%s", usage);
      return EXIT_USAGE;
    }
  if (g_str_equal (argv[1], "--help") || g_str_equal (argv[1], "-h"))
    {
      fputs (usage, stdout);
      return EXIT_DONE;
    }
  for (guint i = 0; i < n; i++)
    if (g_str_equal (subjects[i].name, argv[1]))
      return run (&subjects[i], argc, argv);
  return unknown_subject (subjects, n, argv[0], argv[1]);
}
