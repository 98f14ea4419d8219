/* shardsim completion: the script that completes command lines in a shell. */
#include "base/suggest.h"
#include "cli/completion.h"

/* SHELL: an index of completion_shells. */
static ExitStatus
print_script (gint shell)
{
  static void (*const write[]) (const GPtrArray *pages, GString *out) = {
    completion_write_bash,
    completion_write_zsh,
    completion_write_fish,
  };
  g_autoptr (GPtrArray) pages = pages_collect ();
  g_autoptr (GString)   out = g_string_new (NULL);

  write[shell](pages, out);
  return stream_print (out);
}

int
cmd_completion (int argc, char **argv)
{
  g_auto (Common)  common = { 0 };
  gboolean         done = FALSE;
  gint             shell;
  g_autofree char *hint = NULL;

  if (!common_parse (&common, 0, "bash | zsh | fish",
                     "Prints the script that completes command lines in a shell: commands, their "
                     "options, what these may be, names of profiles, models and strategies. An "
                     "installed program has the scripts where the shells look for them.",
                     "Examples:\n"
                     "  source <(shardsim completion bash)\n"
                     "  shardsim completion zsh >~/.zsh/functions/_shardsim\n"
                     "  shardsim completion fish >~/.config/fish/completions/shardsim.fish\n",
                     NULL, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (!common_want_words (&common, 1))
    return EXIT_USAGE;
  shell = common.files[0] != NULL ? name_index (common.files[0], completion_shells) : -1;
  if (shell >= 0)
    return print_script (shell);
  hint = suggest_hint (common.files[0] != NULL ? common.files[0] : "", completion_shells);
  if (common.files[0] == NULL)
    stream_say ("shardsim completion: which shell? %s\n", hint);
  else
    stream_say ("shardsim completion: unknown shell '%s': %s\n", common.files[0], hint);
  return EXIT_USAGE;
}
