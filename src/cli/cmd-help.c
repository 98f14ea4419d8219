/*
 * shardsim help: what a command does, or everything that has to do with a word: commands, options,
 * strategies, profiles, models.
 */
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/common.h"
#include "cli/help.h"
#include "cli/section-options.h"

#define DESCRIPTION 34 /* column of the descriptions */

/* What is looked for, and what there is. */
typedef struct
{
  char      *word;  /* lower case, '-' for '_' */
  GString   *found; /* lines of the answer */
  GPtrArray *names; /* of everything, for a hint */
  guint      width;
} Search;

static gboolean
mentions (const Search *self, const char *text)
{
  g_autofree char *lower = g_ascii_strdown (text != NULL ? text : "", -1);

  return strstr (g_strdelimit (lower, "_", '-'), self->word) != NULL;
}

/* NAME is hinted at; LINE ("--micro-batch") is what is printed of it. */
static void
look_at (Search *self, const char *kind, const char *name, const char *line, const char *help)
{
  gsize start = self->found->len;

  g_ptr_array_add (self->names, g_strdup (name));
  if (!mentions (self, name) && !mentions (self, help))
    return;
  g_string_append_printf (self->found, "%-9s %s", kind, line);
  if (self->found->len - start + 2 > DESCRIPTION)
    {
      g_string_append_c (self->found, '\n');
      start = self->found->len;
    }
  g_string_append_printf (self->found, "%*s",
                          (int) (DESCRIPTION - (guint) (self->found->len - start)), "");
  help_wrap (self->found, help != NULL ? help : "", DESCRIPTION, DESCRIPTION, self->width);
}

static void
look_at_options (Search *self, const OptionSpec *table, const char *prefix)
{
  for (const OptionSpec *spec = table; spec != NULL && spec->key != NULL; spec++)
    {
      g_autofree char *name = g_strdelimit (g_strdup (spec->key), "_", '-');
      g_autofree char *line =
          g_strdup_printf ("%s%s", prefix, g_str_equal (prefix, "--") ? name : spec->key);

      if (!g_str_equal (spec->key, "name"))
        look_at (self, "option", name, line, spec->help);
    }
}

static void
look_at_all (Search *self)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_auto (GStrv)         models = model_list_shipped ();

  for (guint i = 0; commands[i].name != NULL; i++)
    look_at (self, "command", commands[i].name, commands[i].name, commands[i].help);
  for (guint s = 0; s < N_OPTION_SECTIONS; s++)
    {
      const OptionSection *section = &option_sections[s];
      g_autofree char     *prefix =
          section->flags == 0 ? g_strdup_printf ("--set %s.", section->name) : g_strdup ("--");

      look_at_options (self, scenario_section_table (section->name), prefix);
    }
  for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
    {
      g_autofree char *prefix = g_strdup_printf ("%s: --set strategy.", (*list)->name);

      look_at (self, "strategy", (*list)->name, (*list)->name, (*list)->title);
      look_at_options (self, (*list)->options, prefix);
    }
  for (guint k = 0; profile_kind_names[k] != NULL; k++)
    {
      g_auto (GStrv) ids = profile_set_list (profiles, profile_kind_names[k]);

      for (guint i = 0; ids[i] != NULL; i++)
        look_at (self, profile_kind_names[k], ids[i], ids[i], NULL);
    }
  for (guint i = 0; models[i] != NULL; i++)
    look_at (self, "model", models[i], models[i], NULL);
}

static ExitStatus
search (const char *word)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString)   found = g_string_new (NULL);
  g_autofree char *bare = g_strdelimit (g_ascii_strdown (word + strspn (word, "-"), -1), "_", '-');
  Search           self = { bare, found, names, help_terminal_width () };
  const char      *nearest;

  look_at_all (&self);
  if (found->len > 0 && *bare != '\0')
    return stream_print (found);
  g_ptr_array_add (names, NULL);
  nearest = suggest_nearest (bare, (const char *const *) names->pdata);
  stream_say ("shardsim help: nothing has to do with '%s'\n", word);
  if (nearest != NULL)
    stream_say ("  hint: did you mean '%s'?\n", nearest);
  else
    stream_say ("  hint: 'shardsim --help' lists the commands\n");
  return EXIT_USAGE;
}

static ExitStatus
explain (gboolean asked)
{
  g_autoptr (GString) text = g_string_new (NULL);

  help_append_text (text,
                    "Usage: shardsim help COMMAND [SUBJECT] | WORD\n\n"
                    "Explains a command, or lists the commands, options, strategies, hardware "
                    "profiles and models that have to do with a word.\n",
                    help_terminal_width ());
  if (asked)
    fputs (text->str, stdout);
  else
    stream_say ("%s", text->str);
  return asked ? EXIT_DONE : EXIT_USAGE;
}

int
cmd_help (int argc, char **argv)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  gint                  command = -1;

  for (gint i = 0; argc > 1 && commands[i].name != NULL; i++)
    if (g_ascii_strcasecmp (commands[i].name, argv[1]) == 0 && commands[i].main != cmd_help)
      command = i;
  if (argc < 2 || (command < 0 && argc > 2) || g_str_equal (argv[1], "--help")
      || g_str_equal (argv[1], "-h"))
    return explain (argc == 2);
  if (command < 0)
    return search (argv[1]);
  g_ptr_array_add (words, (gpointer) commands[command].name);
  for (int i = 2; i < argc; i++)
    g_ptr_array_add (words, argv[i]);
  g_ptr_array_add (words, (gpointer) "--help");
  g_ptr_array_add (words, NULL);
  return commands[command].main ((int) words->len - 1, (char **) words->pdata);
}
