/* Completion for fish. */
#include <string.h>

#include "cli/completion.h"

static const char head[] =
    "# fish completion of shardsim: what 'shardsim completion fish' prints.\n"
    "function __shardsim_at --description 'whether the command, or its subject, is one of these'\n"
    "    set -l words (commandline -opc)\n"
    "    set -l page \"$words[2]\"\n"
    "    if set -q words[3]; and contains -- \"$page $words[3]\" $__shardsim_subjects\n"
    "        set page \"$page $words[3]\"\n"
    "    end\n"
    "    contains -- \"$page\" $argv\n"
    "end\n"
    "complete -c shardsim -f\n";

/* fish reads \\ and \' between single quotes. */
static void
append_quoted (GString *out, const char *text)
{
  g_string_append_c (out, '\'');
  for (; *text != '\0'; text++)
    {
      if (*text == '\'' || *text == '\\')
        g_string_append_c (out, '\\');
      g_string_append_c (out, *text);
    }
  g_string_append_c (out, '\'');
}

/* -n "__shardsim_at simulate 'validate training'" */
static void
append_condition (GString *out, const GPtrArray *pages)
{
  g_string_append (out, "complete -c shardsim -n \"__shardsim_at");
  for (guint i = 0; i < pages->len; i++)
    g_string_append_printf (out, " '%s'", ((const Page *) pages->pdata[i])->command);
  g_string_append_c (out, '"');
}

static void
append_words (GString *out, char *const *words)
{
  g_autofree char *all = g_strjoinv (" ", (char **) words);

  g_string_append (out, " -a ");
  append_quoted (out, all);
}

static void
append_value (GString *out, const PageValue *value)
{
  if (value->files)
    g_string_append (out, " -F");
  if (value->folders)
    g_string_append (out, " -a '(__fish_complete_directories)'");
  if (value->words != NULL)
    append_words (out, value->words);
}

static void
append_option (GString *out, const SharedOption *shared)
{
  const PageOption *option = shared->option;

  append_condition (out, shared->pages);
  g_string_append_printf (out, " -l %s", option->name);
  if (option->letter != 0)
    g_string_append_printf (out, " -s %c", option->letter);
  if (option->argument != NULL)
    {
      if (!option->optional)
        g_string_append (out, option->value.files ? " -r" : " -x");
      append_value (out, &option->value);
    }
  g_string_append (out, " -d ");
  append_quoted (out, option->help);
  g_string_append_c (out, '\n');
}

/* The subjects and the positional words of PAGE. */
static void
append_arguments (GString *out, const Page *page)
{
  g_autoptr (GPtrArray) one = g_ptr_array_new ();

  g_ptr_array_add (one, (gpointer) page);
  for (guint i = 0; i < page->n_subjects; i++)
    {
      append_condition (out, one);
      g_string_append_printf (out, " -a %s -d ", page->subjects[i].name);
      append_quoted (out, page->subjects[i].help);
      g_string_append_c (out, '\n');
    }
  if (!page->argument.files && page->argument.words == NULL)
    return;
  append_condition (out, one);
  append_value (out, &page->argument);
  g_string_append_c (out, '\n');
}

void
completion_write_fish (const GPtrArray *pages, GString *out)
{
  g_autoptr (GPtrArray) shared = completion_share_options (pages);

  g_string_append (out, head);
  g_string_append (out, "set -g __shardsim_subjects");
  for (guint p = 0; p < pages->len; p++)
    {
      const Page *page = g_ptr_array_index (pages, p);

      if (strchr (page->command, ' ') != NULL)
        g_string_append_printf (out, " '%s'", page->command);
    }
  g_string_append (out, "\ncomplete -c shardsim -n '__shardsim_at \"\"' -l help -s h "
                        "-d 'list the commands'\n"
                        "complete -c shardsim -n '__shardsim_at \"\"' -l version "
                        "-d 'print the version'\n");
  for (guint i = 0; commands[i].name != NULL; i++)
    {
      g_string_append_printf (out, "complete -c shardsim -n '__shardsim_at \"\"' -a %s -d ",
                              commands[i].name);
      append_quoted (out, commands[i].help);
      g_string_append_c (out, '\n');
    }
  for (guint p = 0; p < pages->len; p++)
    append_arguments (out, g_ptr_array_index (pages, p));
  for (guint i = 0; i < shared->len; i++)
    append_option (out, g_ptr_array_index (shared, i));
}
