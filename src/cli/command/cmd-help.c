/*
 * shardsim help: what a command does, or everything that has to do with some words: commands,
 * options, strategies, profiles, models.
 */
#include <string.h>

#include "cli/help/help.h"
#include "cli/help/listing.h"
#include "cli/help/page-values.h"
#include "cli/help/search.h"

extern const Command command_help;

#define DESCRIPTION 34 /* column of the descriptions */

static const ListingColumn columns[] = {
  { "kind", LISTING_TEXT },
  { "name", LISTING_TEXT },
  { "help", LISTING_TEXT },
  { NULL, LISTING_TEXT },
};

static void
append_found (GString *out, const Found *found, guint width)
{
  gsize start = out->len;

  g_string_append_printf (out, "%-9s %s", found->kind, found->name);
  if (out->len - start + 2 > DESCRIPTION && *found->help != '\0')
    {
      g_string_append_c (out, '\n');
      start = out->len;
    }
  if (*found->help != '\0')
    g_string_append_printf (out, "%*s", (int) (DESCRIPTION - (guint) (out->len - start)), "");
  help_wrap (out, found->help, DESCRIPTION, DESCRIPTION, width);
}

static gint
compare_options (gconstpointer a, gconstpointer b)
{
  const Found *const *first = a, *const *second = b;

  return g_str_equal ((*second)->kind, "option") - g_str_equal ((*first)->kind, "option");
}

typedef struct
{
  gboolean options; /* some words were written as options, which then stand before all else */
} Settings;

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings       *settings = data;
  g_autofree char      *hint = NULL, *words = g_strjoinv (" ", common->files);
  g_autoptr (GPtrArray) found = NULL;
  g_autoptr (Listing)   listing = listing_new ("found", columns);
  g_autoptr (GString)   text = g_string_new (NULL);

  for (guint i = 0; common->files[i] != NULL; i++)
    if (common->files[i][strspn (common->files[i], "-")] == '\0')
      return common_refuse (common, "'%s' is no word to look for\n", common->files[i]);
  if (common->files[0] == NULL)
    return common_refuse (common, "which word? 'shardsim --help' lists the commands\n");
  found = search_all (common, common->files, &hint);
  if (settings->options)
    g_ptr_array_sort (found, compare_options); /* which is stable */
  for (guint i = 0; i < found->len; i++)
    {
      const Found *one = g_ptr_array_index (found, i);

      listing_add (listing, one->kind, one->name, one->help);
      append_found (text, one, help_terminal_width ());
    }
  if (found->len > 0)
    return listing_print (listing, common->format, text);
  common_say (common, "nothing has to do with '%s'\n", words);
  if (hint != NULL)
    stream_say ("  hint: did you mean '%s'?\n", hint);
  else
    stream_say ("  hint: 'shardsim --help' lists the commands\n");
  return EXIT_USAGE;
}

/* ---- words that are options of other commands ------------------------------------------------ */

/* Whether WORD is an option of another command; NEXT: what stands behind it, or NULL. */
static gboolean
is_foreign (const char *word, const char *next)
{
  static const char *const alone[] = { "-h", "--", NULL };
  static const char *const valued[] = { "--format", "--plugin", "--hwprofiles", NULL };
  const char              *equals = strchr (word, '=');
  g_autofree char         *name = equals != NULL ? g_strndup (word, (gsize) (equals - word)) : NULL;
  const gboolean           own = g_str_has_prefix (word, "--help") || g_strv_contains (alone, word)
                       || (name != NULL ? g_strv_contains (valued, name)
                                        : next != NULL && g_strv_contains (valued, word));

  return *word == '-' && word[strspn (word, "-")] != '\0' && !own;
}

static gboolean
has_foreign (char *const *words)
{
  gboolean any = FALSE;

  for (guint i = 0; words[i] != NULL; i++)
    any |= is_foreign (words[i], words[i + 1]);
  return any;
}

/* The command that is called NAME and explains itself; NULL: none. */
static const Command *
find_other (const char *name)
{
  const Command *command = name != NULL && strchr (name, ' ') == NULL ? command_find (name) : NULL;

  return command != &command_help ? command : NULL;
}

/*
 * Options of other commands are words to look for, "figure" for "--figure=X"; of `help COMMAND
 * --figure` without the command.
 */
static gboolean
prepare (char ***words, gpointer data)
{
  Settings                *settings = data;
  g_autoptr (GStrvBuilder) plain = g_strv_builder_new ();

  settings->options = has_foreign (*words);
  if (!settings->options)
    return TRUE;
  for (guint i = 0; (*words)[i] != NULL; i++)
    {
      const char      *word = (*words)[i], *bare = word + strspn (word, "-");
      g_autofree char *name = is_foreign (word, (*words)[i + 1])
                                  ? g_strndup (bare, strcspn (bare, "="))
                                  : g_strdup (word);

      if (i != 1 || find_other (name) == NULL)
        g_strv_builder_add (plain, name);
    }
  g_strfreev (*words);
  *words = g_strv_builder_end (plain);
  return TRUE;
}

/* `shardsim help WORDS...` is `shardsim WORDS... --help`. */
static const Command *
meant (char ***words)
{
  const Command           *command = has_foreign (*words) ? NULL : find_other ((*words)[1]);
  g_autoptr (GStrvBuilder) asked = g_strv_builder_new ();

  if (command == NULL)
    return NULL;
  g_strv_builder_add (asked, command->name);
  g_strv_builder_addv (asked, (const char **) *words + 2);
  g_strv_builder_add (asked, "--help");
  g_strfreev (*words);
  *words = g_strv_builder_end (asked);
  return command;
}

const Command command_help = {
  .name = "help",
  .help = "what a command does, or what has to do with a word",
  .arguments = "COMMAND [SUBJECT] | WORD...",
  .summary = "Explains a command, or a word: what it means, and the commands, options, strategies, "
             "hardware profiles, models and pages that have to do with it, the nearest first; with "
             "several words, what has to do with all of them.",
  .examples = "Examples:\n"
              "  shardsim help validate training\n"
              "  shardsim help checkpointing\n"
              "  shardsim help h100 sxm\n",
  .takes = COMMON_FORMAT,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .words = &words_commands,
  .prepare = prepare,
  .run = run,
  .meant = meant,
};
