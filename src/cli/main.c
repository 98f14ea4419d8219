/* shardsim: the program. Its commands have a file each (argument/command.h). */
#include <locale.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/config/suggest.h"
#include "base/file/file-roles.h"
#include "base/file/layout.h"
#include "base/file/temporary.h"
#include "cli/argument/command.h"
#include "cli/command/complete.h"
#include "cli/help/help.h"
#include "cli/output/out-of-memory.h"

const char program_summary[] =
    "Predicts how fast a model trains on a GPU cluster with a strategy, how much memory it takes, "
    "and what holds it back.";

/* Newly allocated. */
static char *
usage_text (void)
{
  GString    *text = g_string_new (NULL);
  const guint width = help_terminal_width ();

  help_append_text (text, "Usage: shardsim COMMAND [OPTIONS] [FILE]\n\n", width);
  help_append_text (text, program_summary, width);
  help_append_text (text, "\nCommands:\n", width);
  for (guint i = 0; commands[i] != NULL; i++)
    if (command_word (commands[i]) == commands[i]->name) /* no subject */
      help_append_item (text, commands[i]->name, commands[i]->help, width);
  help_append_text (text,
                    "\n'shardsim help COMMAND' explains one, 'shardsim help WORD' searches.\n"
                    "'shardsim --version' prints the version.\n\n"
                    "Examples:\n"
                    "  shardsim compare workloads/quickstart.yaml\n"
                    "  shardsim simulate --cluster '2 x dgx-h100' --model llama-3-8b \\\n"
                    "    --strategy fsdp2 --seq-len 8192\n",
                    width);
  return g_string_free (text, FALSE);
}

/*
 * Names are bytes and texts are UTF-8, whatever the locale: where it has other characters, the
 * plain one with UTF-8.
 */
static void
set_locale (void)
{
  const char *charset;

  setlocale (LC_CTYPE, "");
  if (!g_get_charset (&charset))
    setlocale (LC_CTYPE, "C.UTF-8");
}

static int
run (int argc, char **argv)
{
  g_autofree char        *usage = usage_text (), *hint = NULL;
  g_autofree const char **names = command_names (NULL);

  if (argc < 2)
    {
      stream_say ("%s", usage);
      return EXIT_USAGE;
    }
  if (g_str_equal (argv[1], "--help") || g_str_equal (argv[1], "-h")
      || (g_str_equal (argv[1], "help") && argc == 2))
    {
      fputs (usage, stdout);
      return EXIT_DONE;
    }
  if (g_str_equal (argv[1], "--version"))
    {
      printf ("shardsim %s\n", layout_program_version ());
      return EXIT_DONE;
    }
  if (g_str_equal (argv[1], "complete"))
    return complete_words (argv + 2);
  if (g_strv_contains (names, argv[1]))
    return command_run (command_find (argv[1]), argv + 1);
  hint = suggest_hint (argv[1], names);
  stream_say ("shardsim: unknown command '%s'\n  hint: %s\n", argv[1], hint);
  return EXIT_USAGE;
}

/*
 * What one prediction gives back serves the next: without this the C library returns it to the
 * system each time and faults it in again, a twelfth of the time of a large table. Only arrays of
 * 4 MB and more go back: they grow without being copied, and no thread keeps what its largest run
 * took.
 */
static void
keep_freed_memory (void)
{
#ifdef __GLIBC__
  mallopt (M_MMAP_THRESHOLD, 4 << 20);
  mallopt (M_TRIM_THRESHOLD, 256 << 20);
  mallopt (M_TOP_PAD, 16 << 20);
#endif
}

int
main (int argc, char **argv)
{
  static char help[1 << 16]; /* a page whole, so that only its flush at the end can fail */

  keep_freed_memory ();
  stream_open_all ();
  out_of_memory_prepare ();
  setvbuf (stdout, help, _IOFBF, sizeof help);
  signal (SIGPIPE, SIG_IGN); /* who writes hears of it, */
  signal (SIGXFSZ, SIG_IGN); /* also of a file that may not grow */
  temporary_watch_signals ();
  file_roles_keep ();
  set_locale ();
  return (int) stream_close_stdout ((ExitStatus) run (argc, argv));
}
