/*
 * shardsim help: what a command does, or everything that has to do with some words: commands,
 * options, strategies, profiles, models.
 */
#include <stdio.h>
#include <string.h>

#include "cli/help.h"
#include "cli/listing.h"
#include "cli/search.h"

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

static ExitStatus
search (const Common *common)
{
  g_autofree char      *hint = NULL, *words = g_strjoinv (" ", common->files);
  g_autoptr (GPtrArray) found = search_all (common, common->files, &hint);
  g_autoptr (Listing)   listing = listing_new ("found", columns);
  g_autoptr (GString)   text = g_string_new (NULL);

  for (guint i = 0; i < found->len; i++)
    {
      const Found *one = g_ptr_array_index (found, i);

      listing_add (listing, one->kind, one->name, one->help);
      append_found (text, one, help_terminal_width ());
    }
  if (found->len > 0)
    return listing_print (listing, common->format, text);
  stream_say ("shardsim help: nothing has to do with '%s'\n", words);
  if (hint != NULL)
    stream_say ("  hint: did you mean '%s'?\n", hint);
  else
    stream_say ("  hint: 'shardsim --help' lists the commands\n");
  return EXIT_USAGE;
}

/* `shardsim help WORDS...` is `shardsim WORDS... --help`. */
static int
explain (const Command *command, int argc, char **argv)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();

  g_ptr_array_add (words, (gpointer) command->name);
  for (int i = 2; i < argc; i++)
    g_ptr_array_add (words, argv[i]);
  g_ptr_array_add (words, (gpointer) "--help");
  g_ptr_array_add (words, NULL);
  return command->main ((int) words->len - 1, (char **) words->pdata);
}

int
cmd_help (int argc, char **argv)
{
  g_auto (Common) common = { 0 };
  gboolean        done = FALSE;

  for (guint i = 0; argc > 1 && commands[i].name != NULL; i++)
    if (g_ascii_strcasecmp (commands[i].name, argv[1]) == 0 && commands[i].main != cmd_help)
      return explain (&commands[i], argc, argv);
  if (!common_parse (&common, COMMON_FORMAT, "COMMAND [SUBJECT] | WORD...",
                     "Explains a command, or a word: what it means, and the commands, options, "
                     "strategies, hardware profiles, models and pages that have to do with it, "
                     "the nearest first; with several words, what has to do with all of them.",
                     "Examples:\n"
                     "  shardsim help validate training\n"
                     "  shardsim help checkpointing\n"
                     "  shardsim help h100 sxm\n",
                     NULL, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  for (guint i = 0; common.files[i] != NULL; i++)
    if (common.files[i][strspn (common.files[i], "-")] == '\0')
      {
        stream_say ("shardsim help: '%s' is no word to look for\n", common.files[i]);
        return EXIT_USAGE;
      }
  if (common.files[0] != NULL)
    return search (&common);
  stream_say ("shardsim help: which word? 'shardsim --help' lists the commands\n");
  return EXIT_USAGE;
}
