#include "cli/pages.h"

#include <string.h>

#include "cli/page-values.h"
#include "cli/section-options.h"

/* The page that this thread asks a command to fill: a command's main takes words and no more. */
static GPrivate asked;

/* ---- memory ---------------------------------------------------------------------------------- */

static void
option_free (gpointer data)
{
  PageOption *self = data;

  g_free (self->name);
  g_free (self->argument);
  g_free (self->help);
  g_strfreev (self->value.words);
  g_free (self);
}

static void
group_free (gpointer data)
{
  PageGroup *self = data;

  g_free (self->name);
  g_free (self->title);
  g_ptr_array_unref (self->options);
  g_free (self);
}

static void
page_free (gpointer data)
{
  Page *self = data;

  g_free (self->command);
  g_free (self->help);
  g_free (self->arguments);
  g_free (self->summary);
  g_free (self->examples);
  g_strfreev (self->argument.words);
  g_ptr_array_unref (self->groups);
  g_free (self);
}

/* ---- filling --------------------------------------------------------------------------------- */

static PageGroup *
add_group (Page *page, const char *name, const char *title)
{
  PageGroup *self = g_new0 (PageGroup, 1);

  self->name = g_strdup (name);
  self->title = g_strdup (title);
  self->options = g_ptr_array_new_with_free_func (option_free);
  g_ptr_array_add (page->groups, self);
  return self;
}

static void
add_option (PageGroup *group, const GOptionEntry *entry)
{
  PageOption *self = g_new0 (PageOption, 1);
  const char *argument = entry->arg_description;

  self->of_section = group->name != NULL;
  self->spec = group->name != NULL ? section_options_find (entry->long_name) : NULL;
  self->name = g_strdup (entry->long_name);
  self->letter = entry->short_name;
  self->optional = argument != NULL && *argument == '[';
  self->argument =
      self->optional ? g_strndup (argument + 2, strlen (argument) - 3) : g_strdup (argument);
  self->repeats = entry->arg == G_OPTION_ARG_STRING_ARRAY
                  || entry->arg == G_OPTION_ARG_FILENAME_ARRAY
                  || (entry->arg == G_OPTION_ARG_CALLBACK && self->spec == NULL);
  self->help = g_strdup (entry->description != NULL ? entry->description : "");
  self->value = page_value_of_option (entry, self->spec);
  g_ptr_array_add (group->options, self);
}

/* --help-model and its like, where --help does not show all. */
static void
add_help_options (PageGroup *group, const Help *help)
{
  for (guint g = 0; g < help->groups->len; g++)
    {
      const HelpGroup *from = g_ptr_array_index (help->groups, g);
      g_autofree char *name = g_strdup_printf ("help-%s", from->name);
      g_autofree char *text = g_strdup_printf ("show the options of the group '%s'", from->title);
      GOptionEntry     entry = { .long_name = name, .description = text };

      if (from->name != NULL)
        add_option (group, &entry);
    }
  add_option (group,
              &(const GOptionEntry){ .long_name = "help-all", .description = "show all options" });
}

gboolean
pages_take_help (const Help *help)
{
  Page *page = g_private_get (&asked);

  if (page == NULL)
    return FALSE;
  page->arguments = g_strdup (help->arguments);
  page->summary = g_strdup (help->summary);
  page->examples = g_strdup (help->examples);
  page->argument = page_value_of_command (page->command, help->arguments);
  for (guint g = 0; g < help->groups->len; g++)
    {
      const HelpGroup *from = g_ptr_array_index (help->groups, g);
      PageGroup       *group = add_group (page, from->name, from->title);

      for (guint i = 0; i < from->entries->len; i++)
        add_option (group, &g_array_index (from->entries, GOptionEntry, i));
    }
  if (help->common != NULL)
    add_help_options (add_group (page, NULL, "More help"), help);
  return TRUE;
}

gboolean
pages_take_subjects (const Subject *subjects, guint n, const char *summary)
{
  Page *page = g_private_get (&asked);

  if (page == NULL)
    return FALSE;
  page->subjects = subjects;
  page->n_subjects = n;
  if (summary != NULL)
    {
      page->arguments = g_strdup ("SUBJECT");
      page->summary = g_strdup (summary);
    }
  return TRUE;
}

static void
collect (GPtrArray *pages, const char *command, const char *help, CommandMain run)
{
  g_autofree char *name = g_strdup (command), *option = g_strdup ("--help");
  char            *words[] = { name, option, NULL };
  Page            *page = g_new0 (Page, 1);

  page->command = g_strdup (command);
  page->help = g_strdup (help);
  page->groups = g_ptr_array_new_with_free_func (group_free);
  g_ptr_array_add (pages, page);
  g_private_set (&asked, page);
  run (2, words);
  g_private_set (&asked, NULL);
  for (guint i = 0; i < page->n_subjects; i++)
    {
      g_autofree char *both = g_strdup_printf ("%s %s", command, page->subjects[i].name);

      collect (pages, both, page->subjects[i].help, page->subjects[i].main);
    }
}

GPtrArray *
pages_collect (void)
{
  GPtrArray *pages = g_ptr_array_new_with_free_func (page_free);

  for (guint i = 0; commands[i].name != NULL; i++)
    collect (pages, commands[i].name, commands[i].help, commands[i].main);
  return pages;
}

const Page *
pages_find (const GPtrArray *pages, const char *command)
{
  for (guint i = 0; i < pages->len; i++)
    {
      const Page *page = g_ptr_array_index (pages, i);

      if (g_str_equal (page->command, command))
        return page;
    }
  return NULL;
}
