/* shardsim: the program. A table of commands; each has a file of its own. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/common.h"
#include "shardsim-config.h"

static const struct
{
  const char *name;
  CommandMain main;
  const char *help;
} commands[] = {
  { "simulate", cmd_simulate, "one scenario: throughput, memory, where the time goes, what binds" },
  { "compare", cmd_compare,
    "several strategies or scenarios side by side, with the difference explained" },
  { "collective", cmd_collective, "one collective over sizes, in nccl-tests' format" },
  { "flows", cmd_flows, "the bare network simulator: flows on links, from two tables" },
  { "schedule", cmd_schedule, "what the ranks of a scenario issue, item by item" },
  { "strategies", cmd_strategies, "the strategies, or one explained" },
  { "hardware", cmd_hardware, "the hardware profiles, or the figures of one" },
  { "import", cmd_import, "hardware profiles from a machine's own description" },
  { "models", cmd_models, "the models, or the tensors of one" },
  { "figures", cmd_figures, "published figures beside predictions of the same runs" },
  { "calibrate", cmd_calibrate, "fits hardware profiles to measurements" },
  { "validate", cmd_validate, "predictions against measurements: errors and their statistics" },
};

static void
print_usage (FILE *out)
{
  fputs ("Usage: shardsim COMMAND [OPTIONS] [FILE]\n\n"
         "Predicts how fast a model trains on a GPU cluster with a strategy, how much memory it takes, and what\n"
         "holds it back.\n\nCommands:\n",
         out);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    fprintf (out, "  %-12s%s\n", commands[i].name, commands[i].help);
  fputs ("\n'shardsim COMMAND --help' explains one. 'shardsim --version' prints the version.\n\n"
         "Examples:\n"
         "  shardsim compare workloads/quickstart.yaml\n"
         "  shardsim simulate --cluster '2 x dgx-h100' --model llama-3-8b --strategy fsdp2 --seq-len 8192\n",
         out);
}

static int
unknown_command (const char *word)
{
  const char      *names[G_N_ELEMENTS (commands) + 1] = { NULL };
  g_autofree char *hint = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    names[i] = commands[i].name;
  hint = suggest_hint (word, names);
  fprintf (stderr, "shardsim: unknown command '%s'\n  hint: %s\n", word, hint);
  return EXIT_USAGE;
}

int
main (int argc, char **argv)
{
  setlocale (LC_CTYPE, "");
  if (argc < 2)
    {
      print_usage (stderr);
      return EXIT_USAGE;
    }
  if (g_str_equal (argv[1], "--help") || g_str_equal (argv[1], "-h") || g_str_equal (argv[1], "help"))
    {
      print_usage (stdout);
      return EXIT_DONE;
    }
  if (g_str_equal (argv[1], "--version"))
    {
      puts ("shardsim " SHARDSIM_VERSION);
      return EXIT_DONE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (g_str_equal (argv[1], commands[i].name))
      {
        g_autofree char *name = g_strdup_printf ("shardsim %s", commands[i].name);

        g_set_prgname (name); /* for the usage line of --help */
        return commands[i].main (argc - 1, argv + 1);
      }
  return unknown_command (argv[1]);
}
