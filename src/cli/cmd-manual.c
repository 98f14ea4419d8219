/* shardsim manual: manual pages. */
#include "base/output.h"
#include "base/suggest.h"
#include "cli/manual.h"

/* The page NAME.1 into DIR, beside the others. */
static gboolean
write_page (const char *dir, const char *name, const GString *text, GError **error)
{
  g_autofree char *file = g_strdup_printf ("%s/%s.1", dir, name);

  return output_file_write (file, text->str, error);
}

static ExitStatus
write_all (const GPtrArray *pages, const char *dir)
{
  g_autoptr (GString) program = g_string_new (NULL);
  g_autoptr (GError)  error = NULL;
  ExitStatus          status = stream_check_output ("--output", dir, OUTPUT_FOLDER);
  gboolean            written;

  if (status != EXIT_DONE)
    return status;
  g_mkdir_with_parents (dir, 0777); /* where it fails, the first page says why */
  manual_write_program (pages, program);
  written = write_page (dir, "shardsim", program, &error);
  for (guint p = 0; written && p < pages->len; p++)
    {
      const Page         *page = g_ptr_array_index (pages, p);
      g_autoptr (GString) text = g_string_new (NULL);
      g_autofree char    *name = manual_name (page->command);

      manual_write_command (page, text);
      written = write_page (dir, name, text, &error);
    }
  return written ? EXIT_DONE : stream_report_error (error);
}

static ExitStatus
unknown_page (const GPtrArray *pages, const char *words)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char      *hint = NULL;

  for (guint p = 0; p < pages->len; p++)
    g_ptr_array_add (names, ((const Page *) pages->pdata[p])->command);
  g_ptr_array_add (names, NULL);
  hint = suggest_hint (words, (const char *const *) names->pdata);
  stream_say ("shardsim manual: there is no command '%s'\n  hint: %s\n", words, hint);
  return EXIT_USAGE;
}

static ExitStatus
print_page (const GPtrArray *pages, char *const *words)
{
  g_autofree char    *command = g_strjoinv (" ", (char **) words);
  const Page         *page = pages_find (pages, command);
  g_autoptr (GString) out = g_string_new (NULL);

  if (*command == '\0')
    manual_write_program (pages, out);
  else if (g_str_equal (command, "scenario"))
    manual_write_scenario (out);
  else if (page == NULL)
    return unknown_page (pages, command);
  else
    manual_write_command (page, out);
  return stream_print (out);
}

int
cmd_manual (int argc, char **argv)
{
  g_auto (Common)       common = { 0 };
  gboolean              done = FALSE;
  g_autofree char      *dir = NULL;
  g_autoptr (GPtrArray) pages = NULL;
  const GOptionEntry    extra[] = {
       { "output", 'o', 0, G_OPTION_ARG_FILENAME, &dir, "write all pages into DIR", "DIR" },
       G_OPTION_ENTRY_NULL,
  };

  if (!common_parse (
          &common, 0, "[COMMAND [SUBJECT] | scenario]",
          "Prints the manual page of a command, of the program, or of a scenario's keys, "
          "in the language of man(7). An installed program has all of them: man shardsim-simulate.",
          "Examples:\n"
          "  shardsim manual simulate | man -l -\n"
          "  shardsim manual -o ~/.local/share/man/man1\n",
          extra, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (!common_want_words (&common, dir != NULL ? 0 : 2))
    return EXIT_USAGE;
  pages = pages_collect ();
  return dir != NULL ? write_all (pages, dir) : print_page (pages, common.files);
}
