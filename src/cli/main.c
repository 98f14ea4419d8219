/* shardsim: the program. A table of commands; each has a file of its own. */
#include <locale.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/file-roles.h"
#include "base/layout.h"
#include "base/suggest.h"
#include "base/temporary.h"
#include "cli/common.h"
#include "cli/help.h"
#include "cli/out-of-memory.h"

/* Those of common.h, in the order of the help. */
const Command commands[] = {
  { "simulate", cmd_simulate, "one scenario: throughput, memory, where the time goes, what binds" },
  { "compare", cmd_compare,
    "several strategies or scenarios side by side, with the difference explained" },
  { "search", cmd_search, "the best configuration of what a scenario leaves open, and why" },
  { "sensitivity", cmd_sensitivity,
    "which figure of the hardware, and which option, buys how much" },
  { "sweep", cmd_sweep, "a grid or a table of scenarios, in parallel, into a store; resumable" },
  { "merge", cmd_merge, "joins the result stores of a sharded sweep" },
  { "plan", cmd_plan, "tokens, a deadline and a budget to nodes, days, money and energy" },
  { "collective", cmd_collective, "one collective over sizes, in nccl-tests' format" },
  { "flows", cmd_flows, "the bare network simulator: flows on links, from two tables" },
  { "schedule", cmd_schedule, "what the ranks of a scenario issue, item by item" },
  { "shards", cmd_shards, "how sharding formats pad a model, over numbers of ranks" },
  { "strategies", cmd_strategies, "the strategies, or one explained" },
  { "hardware", cmd_hardware, "the hardware profiles, or the figures of one" },
  { "import", cmd_import, "profiles and measured kernels from other tools' files" },
  { "models", cmd_models, "the models, or the tensors of one" },
  { "figures", cmd_figures, "published figures beside predictions of the same runs" },
  { "calibrate", cmd_calibrate, "fits hardware profiles to measurements" },
  { "validate", cmd_validate, "predictions against measurements: errors and their statistics" },
  { "regress", cmd_regress, "predictions against a stored baseline: what moved, and why" },
  { "help", cmd_help, "what a command does, or what has to do with a word" },
  { "completion", cmd_completion, "the script that completes command lines in a shell" },
  { "manual", cmd_manual, "manual pages, as man reads them" },
  { NULL, NULL, NULL },
};

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
  for (guint i = 0; commands[i].name != NULL; i++)
    help_append_item (text, commands[i].name, commands[i].help, width);
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

static int
unknown_command (const char *word)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char      *hint = NULL;

  for (guint i = 0; commands[i].name != NULL; i++)
    g_ptr_array_add (names, (gpointer) commands[i].name);
  g_ptr_array_add (names, NULL);
  hint = suggest_hint (word, (const char *const *) names->pdata);
  stream_say ("shardsim: unknown command '%s'\n  hint: %s\n", word, hint);
  return EXIT_USAGE;
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
  g_autofree char *usage = usage_text ();

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
  for (guint i = 0; commands[i].name != NULL; i++)
    if (g_str_equal (argv[1], commands[i].name))
      return commands[i].main (argc - 1, argv + 1);
  return unknown_command (argv[1]);
}

/*
 * What one prediction gives back serves the next: without this the C library returns it to the
 * system each time and faults it in again, a twelfth of the time of a large table.
 */
static void
keep_freed_memory (void)
{
#ifdef __GLIBC__
  mallopt (M_MMAP_THRESHOLD, 32 << 20);
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
