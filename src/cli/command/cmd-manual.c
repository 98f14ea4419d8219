/* shardsim manual: manual pages. */
#include "base/config/suggest.h"
#include "base/file/output.h"
#include "cli/argument/common.h"
#include "cli/help/manual.h"
#include "cli/help/page-values.h"

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
  gboolean            written;

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
print_page (const Common *common, const GPtrArray *pages)
{
  g_autofree char      *words = g_strjoinv (" ", common->files), *hint = NULL;
  const Page           *page = pages_find (pages, words);
  g_autoptr (GString)   out = g_string_new (NULL);
  g_autoptr (GPtrArray) names = NULL;

  if (*words == '\0')
    manual_write_program (pages, out);
  else if (g_str_equal (words, "scenario"))
    manual_write_scenario (out);
  else if (page != NULL)
    manual_write_command (page, out);
  else
    {
      names = g_ptr_array_new ();
      for (guint p = 0; commands[p] != NULL; p++)
        g_ptr_array_add (names, (gpointer) commands[p]->name);
      g_ptr_array_add (names, NULL);
      hint = suggest_hint (words, (const char *const *) names->pdata);
      return common_refuse (common, "there is no command '%s'\n  hint: %s\n", words, hint);
    }
  return stream_print (out);
}

typedef struct
{
  char *dir;
} Settings;

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings       *settings = data;
  g_autoptr (GPtrArray) pages = pages_collect ();
  const ExitStatus      status = common_check_outputs (common);

  if (settings->dir != NULL && !common_want_words (common, 0))
    return EXIT_USAGE;
  if (status != EXIT_DONE)
    return status;
  return settings->dir != NULL ? write_all (pages, settings->dir) : print_page (common, pages);
}

static const CommandOption options[] = {
  { OPTION ("output", VALUE_FOLDER, dir, "DIR", "write all pages into DIR"), .letter = 'o',
    .check = stream_check_folder },
  { 0 },
};

const Command command_manual = {
  .name = "manual",
  .help = "manual pages, as man reads them",
  .arguments = "[COMMAND [SUBJECT] | scenario]",
  .summary = "Prints the manual page of a command, of the program, or of a scenario's keys, in the "
             "language of man(7). An installed program has all of them: man shardsim-simulate.",
  .examples = "Examples:\n"
              "  shardsim manual simulate | man -l -\n"
              "  shardsim manual -o ~/.local/share/man/man1\n",
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = 2,
  .words = &words_commands,
  .run = run,
};
