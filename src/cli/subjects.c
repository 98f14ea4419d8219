#include "cli/subjects.h"

#include <stdio.h>

#include "base/suggest.h"

static void
print_usage (const Subject *subjects, guint n, const char *command, const char *summary, FILE *out)
{
  fprintf (out, "Usage: shardsim %s SUBJECT [OPTIONS] FILE\n\n%s\n\nSubjects:\n", command, summary);
  for (guint i = 0; i < n; i++)
    fprintf (out, "  %-12s%s\n", subjects[i].name, subjects[i].help);
  fprintf (out, "\n'shardsim %s SUBJECT --help' explains one.\n", command);
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
  fprintf (stderr, "shardsim %s: unknown subject '%s'\n  hint: %s\n", command, word, hint);
  return EXIT_USAGE;
}

static int
run (const Subject *subject, int argc, char **argv)
{
  g_autofree char  *command = g_strdup_printf ("%s %s", argv[0], subject->name);
  g_autofree char  *program = g_strdup_printf ("shardsim %s", command);
  g_autofree char **words = g_memdup2 (argv + 1, (gsize) argc * sizeof *argv); /* with its NULL */

  words[0] = command;
  g_set_prgname (program);
  return subject->main (argc - 1, words);
}

int
subjects_run (const Subject *subjects, guint n, const char *summary, int argc, char **argv)
{
  if (argc < 2)
    {
      print_usage (subjects, n, argv[0], summary, stderr);
      return EXIT_USAGE;
    }
  if (g_str_equal (argv[1], "--help") || g_str_equal (argv[1], "-h"))
    {
      print_usage (subjects, n, argv[0], summary, stdout);
      return EXIT_DONE;
    }
  for (guint i = 0; i < n; i++)
    if (g_str_equal (subjects[i].name, argv[1]))
      return run (&subjects[i], argc, argv);
  return unknown_subject (subjects, n, argv[0], argv[1]);
}
