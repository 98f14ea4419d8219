/*
 * shardsim complete: what may stand at the end of a command line that is still typed. The shells'
 * scripts (cmd-completion.c) ask it; it says nothing of mistakes, which are not yet made.
 */
#include <string.h>

#include "cli/command/complete.h"
#include "cli/help/page-values.h"

/* LINE as a shell cuts it, its last word even if empty; a quote at its end may be open. */
static GPtrArray *
cut_words (const char *line)
{
  GPtrArray          *words = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) word = g_string_new (NULL);
  char                quote = '\0';

  for (; *line != '\0'; line++)
    if (*line == quote)
      quote = '\0';
    else if (quote == '\0' && (*line == '\'' || *line == '"'))
      quote = *line;
    else if (quote == '\0' && g_ascii_isspace (*line))
      {
        if (word->len > 0)
          g_ptr_array_add (words, g_strdup (word->str));
        g_string_truncate (word, 0);
      }
    else
      {
        line += *line == '\\' && quote != '\'' && line[1] != '\0';
        g_string_append_c (word, *line);
      }
  g_ptr_array_add (words, g_strdup (word->str));
  return words;
}

/* One line: LEAD, which is typed already, with WORD and, if known, what that is. */
static void
offer (GString *out, const char *lead, const char *word, const char *help)
{
  g_string_append_printf (out, "%s%s", lead, word);
  if (help != NULL)
    g_string_append_printf (out, "\t%s", help);
  g_string_append_c (out, '\n');
}

/* A count that is typed before the name, "4 x dgx-h100", stays. Files are what the shell asks. */
static void
offer_value (GString *out, PageValue found, const char *lead, const char *typed)
{
  g_auto (PageValue) value = found;
  const Scenario     scenario = { .cluster.name = (char *) typed };
  const char        *name = scenario_node_type (&scenario);
  g_autofree char   *count = g_strndup (typed, (gsize) (name - typed));
  g_autofree char   *before = g_strconcat (lead, count, NULL);

  for (guint i = 0; value.words != NULL && value.words[i] != NULL; i++)
    offer (out, before, value.words[i], NULL);
  if (value.files)
    offer (out, ":", "file", NULL);
  if (value.folders)
    offer (out, ":", "directory", NULL);
}

static void
offer_commands (GString *out, gboolean options)
{
  if (options)
    {
      offer (out, "--", "help", "list the commands");
      offer (out, "--", "version", "print the version");
      return;
    }
  for (guint i = 0; commands[i] != NULL; i++)
    if (command_word (commands[i]) == commands[i]->name)
      offer (out, "", commands[i]->name, commands[i]->help);
}

static void
offer_options (GString *out, const Page *page)
{
  const PageOption *option;

  if (page->groups->len == 0) /* its subjects have them */
    offer (out, "--", "help", "show this help");
  for (guint i = 0; (option = page_option (page, i)) != NULL; i++)
    {
      const char letter[] = { option->letter, '\0' };

      offer (out, "--", option->name, option->help);
      if (option->letter != '\0')
        offer (out, "-", letter, option->help);
    }
}

/* The option of PAGE that WORD is: "--jobs", "--jobs=4" or "-j"; NULL: none. */
static const PageOption *
find_option (const Page *page, const char *word)
{
  g_autofree char  *name = g_strndup (word, strcspn (word, "="));
  const PageOption *option;

  for (guint i = 0; (option = page_option (page, i)) != NULL; i++)
    {
      const char letter[] = { '-', option->letter, '\0' };

      if (g_str_equal (name, letter)
          || (g_str_has_prefix (name, "--") && g_str_equal (name + 2, option->name)))
        return option;
    }
  return NULL;
}

/* What may stand for the last of WORDS, of which there are N. */
static void
offer_all (GString *out, const Page *page, char *const *words, guint n)
{
  const char       *last = words[n - 1];
  const char       *equals = *last == '-' ? strchr (last, '=') : NULL;
  const PageOption *before = find_option (page, words[n - 2]);
  const Command    *subject = NULL;

  if (equals != NULL)
    {
      const PageOption *option = find_option (page, last);
      g_autofree char  *lead = g_strndup (last, (gsize) (equals + 1 - last));

      if (option != NULL)
        offer_value (out, page_value_of_option (option), lead, equals + 1);
    }
  else if (*last == '-')
    offer_options (out, page);
  else if (before != NULL && before->value != NULL && !before->optional
           && strchr (words[n - 2], '=') == NULL)
    offer_value (out, page_value_of_option (before), "", last);
  else
    {
      while ((subject = command_next_subject (page->command, subject)) != NULL)
        offer (out, "", command_word (subject), subject->help);
      offer_value (out, page_value_of_command (page->command), "", last);
    }
}

ExitStatus
complete_words (char *const *typed)
{
  const gboolean        dashes = *typed != NULL && g_str_equal (*typed, "--");
  g_autofree char      *line = g_strjoinv (" ", (char **) typed + dashes);
  g_autoptr (GPtrArray) words = cut_words (line);
  g_autoptr (GString)   out = g_string_new (NULL);

  if (words->len < 2)
    offer_commands (out, *(const char *) words->pdata[0] == '-');
  else
    {
      g_autofree char *both = g_strjoin (" ", words->pdata[0], words->pdata[1], NULL);
      const Command   *command = words->len > 2 ? command_find (both) : NULL;

      if (command == NULL)
        command = command_find (words->pdata[0]);
      if (command != NULL)
        {
          Page *page = page_new (command);

          offer_all (out, page, (char *const *) words->pdata, words->len);
          page_free (page);
        }
    }
  stream_print (out);
  return EXIT_DONE;
}
