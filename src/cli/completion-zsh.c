/* Completion for zsh. */
#include <string.h>

#include "cli/completion.h"

static const char head[] = "#compdef shardsim\n"
                           "# zsh completion of shardsim: what 'shardsim completion zsh' prints.\n";
static const char tail[] =
    "_shardsim() {\n"
    "  local -a commands\n"
    "  local page=$words[2] context state line\n"
    "  typeset -A opt_args\n"
    "  (( CURRENT > 3 )) && [[ -n ${_shardsim_pages[(re)$page $words[3]]} ]] &&\n"
    "    page=\"$page $words[3]\"\n"
    "  if (( CURRENT == 2 )); then\n"
    "    _shardsim_commands\n"
    "  elif [[ -n ${_shardsim_pages[(re)$page]} ]]; then\n"
    "    shift words\n"
    "    (( CURRENT-- ))\n"
    "    \"_shardsim_${page//[ -]/_}\"\n"
    "  fi\n"
    "}\n"
    "# loaded by the completion system it runs at once, sourced it registers itself\n"
    "if [[ ${funcstack[1]-} == _shardsim ]]; then\n"
    "  _shardsim \"$@\"\n"
    "elif (( ${+functions[compdef]} )); then\n"
    "  compdef _shardsim shardsim\n"
    "fi\n";

/* Lists of words that are more than a few have functions, one a list. */
typedef struct
{
  GString    *out;
  GHashTable *lists; /* joined words -> name of the function */
} Writer;

static char *
function_name (const char *command)
{
  char *name = g_strconcat ("_shardsim_", command, NULL);

  return g_strdelimit (name, " -", '_');
}

/* TEXT as a part of a specification of _arguments: its own brackets, colons are escaped. */
static void
append_escaped (GString *out, const char *text)
{
  for (; *text != '\0'; text++)
    {
      if (strchr ("[]:\\", *text) != NULL)
        g_string_append_c (out, '\\');
      g_string_append_c (out, *text);
    }
}

/* The function that offers WORDS, written when they are first met. */
static const char *
function_of_words (Writer *self, char *const *words)
{
  g_autofree char *all = g_strjoinv (" ", (char **) words);
  char            *name = g_hash_table_lookup (self->lists, all);
  gboolean         joins = FALSE; /* a value follows some of the words at once */

  if (name != NULL)
    return name;
  name = g_strdup_printf ("_shardsim_words_%u", g_hash_table_size (self->lists) + 1);
  g_hash_table_insert (self->lists, g_strdup (all), name);
  for (guint i = 0; words[i] != NULL; i++)
    joins |= g_str_has_suffix (words[i], "=") || g_str_has_suffix (words[i], ":");
  g_string_append_printf (self->out, "%s() { compadd \"$@\"%s -- %s }\n", name,
                          joins ? " -S ''" : "", all);
  return name;
}

/* ":FILE:_files", the action of what VALUE may be; nothing where nothing is known. */
static void
append_action (Writer *self, GString *spec, const char *what, const PageValue *value)
{
  g_string_append_c (spec, ':');
  append_escaped (spec, what);
  g_string_append_c (spec, ':');
  if (value->words != NULL && value->files)
    g_string_append_printf (spec, "_alternative \"w:%s:%s\" \"f:file:_files\"", "name",
                            function_of_words (self, value->words));
  else if (value->words != NULL)
    g_string_append (spec, function_of_words (self, value->words));
  else if (value->folders)
    g_string_append (spec, "_files -/");
  else if (value->files)
    g_string_append (spec, "_files");
}

static void
append_spec (Writer *self, GString *body, const PageOption *option, const char *name,
             const char *joint)
{
  g_autoptr (GString) spec = g_string_new (option->repeats ? "*" : NULL);

  g_string_append_printf (spec, "%s%s[", name,
                          option->argument == NULL ? ""
                          : option->optional       ? "=-"
                                                   : joint);
  append_escaped (spec, option->help);
  g_string_append_c (spec, ']');
  if (option->optional)
    g_string_append_c (spec, ':');
  if (option->argument != NULL)
    append_action (self, spec, option->argument, &option->value);
  g_string_append (body, " \\\n    ");
  completion_append_quoted (body, spec->str);
}

static void
append_page (Writer *self, const Page *page)
{
  g_autoptr (GString) body = g_string_new (NULL);
  g_autofree char    *name = function_name (page->command);
  PageValue           argument = page->argument;
  g_autofree char    *subjects = completion_subject_words (page);
  g_auto (GStrv)      words = page->n_subjects > 0 ? g_strsplit (subjects, " ", -1) : NULL;

  g_string_append_printf (body, "%s() {\n  _arguments", name);
  for (guint g = 0; g < page->groups->len; g++)
    {
      const PageGroup *group = g_ptr_array_index (page->groups, g);

      for (guint i = 0; i < group->options->len; i++)
        {
          const PageOption *option = g_ptr_array_index (group->options, i);
          g_autofree char  *option_long = g_strconcat ("--", option->name, NULL);
          g_autofree char  *option_short = g_strdup_printf ("-%c", option->letter);

          append_spec (self, body, option, option_long, "=");
          if (option->letter != 0)
            append_spec (self, body, option, option_short, "+");
        }
    }
  if (words != NULL)
    argument.words = words;
  if (argument.files || argument.words != NULL)
    {
      g_autoptr (GString) spec = g_string_new ("*");

      append_action (self, spec, "argument", &argument);
      g_string_append (body, " \\\n    ");
      completion_append_quoted (body, spec->str);
    }
  g_string_append (body, "\n}\n");
  g_string_append (self->out, body->str);
}

void
completion_write_zsh (const GPtrArray *pages, GString *out)
{
  g_autoptr (GHashTable) lists = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  Writer                 self = { out, lists };

  g_string_append (out, head);
  g_string_append (out, "typeset -ga _shardsim_pages=(");
  for (guint p = 0; p < pages->len; p++)
    g_string_append_printf (out, "%s'%s'", p > 0 ? " " : "",
                            ((const Page *) pages->pdata[p])->command);
  g_string_append (out, ")\n");
  for (guint p = 0; p < pages->len; p++)
    append_page (&self, g_ptr_array_index (pages, p));
  g_string_append (out, "_shardsim_commands() {\n"
                        "  local -a commands=(\n");
  for (guint i = 0; commands[i].name != NULL; i++)
    {
      g_autofree char *item = g_strdup_printf ("%s:%s", commands[i].name, commands[i].help);

      g_string_append (out, "    ");
      completion_append_quoted (out, item);
      g_string_append_c (out, '\n');
    }
  g_string_append (out, "    '--help:list the commands'\n"
                        "    '--version:print the version'\n"
                        "  )\n"
                        "  _describe command commands\n"
                        "}\n");
  g_string_append (out, tail);
}
