/* Completion for bash, with or without the package bash-completion. */
#include <string.h>

#include "cli/completion.h"

/*
 * bash breaks words at '=' and ':' as well; so the line is cut at blanks, and from what completes
 * the whole word its part up to the last break is taken off again.
 */
static const char head[] =
    "# bash completion of shardsim: what 'shardsim completion bash' prints.\n"
    "_shardsim() {\n"
    "  local line=${COMP_LINE:0:COMP_POINT} IFS=$' \\t\\n' page word option lead='' words\n"
    "  local options='' values='' files='' folders='' known found\n"
    "  local breaks=${COMP_WORDBREAKS//[!=:]/}\n"
    "  read -r -a words <<<\"$line\"\n"
    "  [[ $line == *[[:blank:]] ]] && words+=('')\n"
    "  word=${words[${#words[@]} - 1]}\n"
    "  page=${words[1]-}\n"
    "  COMPREPLY=()\n"
    "  if ((${#words[@]} > 3)); then\n"
    "    case \"$page ${words[2]}\" in\n";
static const char options_head[] = "    esac\n"
                                   "  fi\n"
                                   "  ((${#words[@]} <= 2)) && page=''\n"
                                   "  case $page in\n";
static const char values_head[] = "    *) return ;;\n"
                                  "  esac\n"
                                  "  option=${words[${#words[@]} - 2]}\n"
                                  "  if [[ $word == --*=* ]]; then\n"
                                  "    option=${word%%=*}=\n"
                                  "    lead=$option\n"
                                  "  elif [[ $word == -* ]]; then\n"
                                  "    option=''\n"
                                  "  fi\n"
                                  "  known=1\n"
                                  "  case $page:$option in\n";
static const char tail[] =
    "    *) known='' ;;\n"
    "  esac\n"
    "  if [[ ! $known && $word == -* ]]; then\n"
    "    values=$options files='' folders=''\n"
    "  fi\n"
    "  while IFS= read -r found; do\n"
    "    COMPREPLY+=(\"$lead$found\")\n"
    "  done < <(compgen -W \"$values\" -- \"${word#\"$lead\"}\")\n"
    "  if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=:] ]]; then\n"
    "    compopt -o nospace 2>/dev/null\n"
    "  fi\n"
    "  if [[ $files$folders ]]; then\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    while IFS= read -r found; do\n"
    "      COMPREPLY+=(\"$lead$found\")\n"
    "    done < <(compgen ${files:+-f} ${folders:+-d} -- \"${word#\"$lead\"}\")\n"
    "  fi\n"
    "  [[ $breaks ]] && COMPREPLY=(\"${COMPREPLY[@]#\"${word%\"${word##*[$breaks]}\"}\"}\")\n"
    "}\n"
    "complete -F _shardsim shardsim\n";

static void
append_value (GString *out, const PageValue *value, const char *more)
{
  g_autofree char *words = value->words != NULL ? g_strjoinv (" ", value->words) : g_strdup ("");
  g_autofree char *all =
      g_strconcat (words, *words != '\0' && *more != '\0' ? " " : "", more, NULL);

  if (*all != '\0')
    {
      g_string_append (out, " values=");
      completion_append_quoted (out, all);
    }
  if (value->files)
    g_string_append (out, " files=1");
  if (value->folders)
    g_string_append (out, " folders=1");
}

/* The options of PAGE, in the order of its help, and what else may stand in its line. */
static void
append_page (GString *out, const Page *page)
{
  g_autofree char    *subjects = completion_subject_words (page);
  g_autoptr (GString) options = g_string_new (NULL);

  for (guint g = 0; g < page->groups->len; g++)
    {
      const PageGroup *group = g_ptr_array_index (page->groups, g);

      for (guint i = 0; i < group->options->len; i++)
        g_string_append_printf (options, "%s--%s", options->len > 0 ? " " : "",
                                ((PageOption *) group->options->pdata[i])->name);
    }
  g_string_append (out, "    ");
  completion_append_quoted (out, page->command);
  g_string_append (out, ")\n      options=");
  completion_append_quoted (out, options->len > 0 ? options->str : "--help");
  append_value (out, &page->argument, subjects);
  g_string_append (out, " ;;\n");
}

/* "simulate:--format|simulate:--format=" or, where it is the same everywhere, "*:--format...". */
static void
append_patterns (GString *out, const SharedOption *shared)
{
  const PageOption *option = shared->option;
  const guint       n = shared->everywhere ? 1 : shared->pages->len;

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *page = g_shell_quote (((const Page *) shared->pages->pdata[i])->command);
      const char      *where = shared->everywhere ? "*" : page;

      g_string_append_printf (out, "%s%s:--%s=", i > 0 ? "|" : "    ", where, option->name);
      if (!option->optional)
        g_string_append_printf (out, "|%s:--%s", where, option->name);
    }
  for (guint i = 0; option->letter != 0 && i < shared->pages->len; i++)
    {
      g_autofree char *page = g_shell_quote (((const Page *) shared->pages->pdata[i])->command);

      g_string_append_printf (out, "|%s:-%c", page, option->letter);
    }
}

void
completion_write_bash (const GPtrArray *pages, GString *out)
{
  g_autoptr (GPtrArray) shared = completion_share_options (pages);

  g_string_append (out, head);
  for (guint p = 0; p < pages->len; p++)
    {
      const Page *page = g_ptr_array_index (pages, p);

      if (strchr (page->command, ' ') != NULL)
        g_string_append_printf (out, "      '%s') page='%s' ;;\n", page->command, page->command);
    }
  g_string_append (out, options_head);
  g_string_append (out, "    '') options='--help --version' values='");
  for (guint i = 0; commands[i].name != NULL; i++)
    g_string_append_printf (out, "%s%s", i > 0 ? " " : "", commands[i].name);
  g_string_append (out, "' ;;\n");
  for (guint p = 0; p < pages->len; p++)
    append_page (out, g_ptr_array_index (pages, p));
  g_string_append (out, values_head);
  for (guint i = 0; i < shared->len; i++)
    {
      const SharedOption *one = g_ptr_array_index (shared, i);

      if (one->option->argument == NULL)
        continue;
      append_patterns (out, one);
      g_string_append (out, ") values='' files='' folders=''");
      append_value (out, &one->option->value, "");
      g_string_append (out, " ;;\n");
    }
  g_string_append (out, tail);
}
