#include "cli/help/pages.h"

#include <string.h>

#include "cli/argument/general-options.h"
#include "cli/argument/section-options.h"

static void
group_free (gpointer data)
{
  PageGroup *self = data;

  g_array_unref (self->options);
  g_free (self);
}

void
page_free (Page *self)
{
  g_ptr_array_unref (self->groups);
  g_string_chunk_free (self->strings);
  g_free (self);
}

/* TEXT, which is freed, as long as the page is there. */
static const char *
keep (Page *self, char *text)
{
  const char *kept = g_string_chunk_insert_const (self->strings, text);

  g_free (text);
  return kept;
}

static PageGroup *
add_group (Page *self, PageGroupKind kind, const char *name, const char *title)
{
  PageGroup *group = g_new0 (PageGroup, 1);

  *group = (PageGroup){ kind, name, title, g_array_new (FALSE, FALSE, sizeof (PageOption)) };
  g_ptr_array_add (self->groups, group);
  return group;
}

static void
add_option (PageGroup *group, PageOption option)
{
  g_array_append_val (group->options, option);
}

/* "micro_batch" as it is typed. */
static const char *
dashed (Page *self, const char *key)
{
  return keep (self, g_strdelimit (g_strdup (key), "_", '-'));
}

/* An option for each key of the table of TOLD. */
static void
add_table (Page *self, PageGroup *group, const CommandOption *told)
{
  for (const OptionSpec *spec = told->table; spec->key != NULL; spec++)
    {
      const gboolean is_switch = spec->type == OPTION_BOOL;

      add_option (group, (PageOption){
                             .name = dashed (self, spec->key),
                             .value = is_switch ? NULL
                                      : spec->type == OPTION_ENUM
                                          ? keep (self, g_strjoinv ("|", (char **) spec->choices))
                                      : spec->type == OPTION_INT ? "N"
                                                                 : "VALUE",
                             .help = spec->fallback != NULL && !is_switch
                                         ? keep (self, g_strdup_printf ("%s (default %s)",
                                                                        spec->help, spec->fallback))
                                         : spec->help,
                             .told = told,
                             .spec = spec,
                         });
    }
}

static void
add_told (Page *self, PageGroup *group, const CommandOption *told)
{
  if (told->type == VALUE_TABLE)
    add_table (self, group, told);
  else
    add_option (group, (PageOption){ .name = told->name,
                                     .letter = told->letter,
                                     .value = told->value,
                                     .help = told->help,
                                     .told = told });
}

/* SPEC: NULL where the option is short for a key. */
static void
add_key (Page *self, PageGroup *group, const char *name, const char *help, const OptionSpec *spec)
{
  const gboolean is_switch = spec != NULL && spec->type == OPTION_BOOL;

  add_option (group, (PageOption){
                         .name = name,
                         .value = is_switch                     ? "on|off"
                                  : spec != NULL && spec->pairs ? "NAME=VALUE"
                                                                : "VALUE",
                         .optional = is_switch,
                         .of_section = TRUE,
                         .help = help != NULL ? help : keep (self, section_options_describe (spec)),
                         .spec = spec });
}

/* The option that is short for one of the keys, and those keys. */
static void
add_section (Page *self, const OptionSection *section)
{
  PageGroup        *group = add_group (self, PAGE_SECTION, section->name, section->title);
  const OptionSpec *table = scenario_section_table (section->name);

  if (section->shorthand != NULL)
    add_key (self, group, section->name, section->shorthand, NULL);
  if (table == NULL) /* any key by its name: those of a strategy have no option of their own */
    add_option (group,
                (PageOption){ .name = SECTION_OPTION_SET,
                              .value = "SECTION.KEY=VALUE",
                              .of_section = TRUE,
                              .help = "set any key of the scenario, one of the strategy's own "
                                      "such as strategy.shard among them; may be repeated" });
  for (const OptionSpec *spec = table; spec != NULL && spec->key != NULL; spec++)
    if (!g_str_equal (spec->key, "name"))
      add_key (self, group, dashed (self, spec->key), NULL, spec);
}

/* Of the sections before, which --help leaves out. */
static void
add_more_help (Page *self)
{
  const guint n = self->groups->len;
  PageGroup  *group = add_group (self, PAGE_HELP, NULL, "More help");

  for (guint g = 0; g < n; g++)
    {
      const PageGroup *from = g_ptr_array_index (self->groups, g);

      if (from->kind == PAGE_SECTION)
        add_option (
            group,
            (PageOption){ .name = keep (self, g_strconcat ("help-", from->name, NULL)),
                          .help = keep (self, g_strdup_printf ("show the options of the group '%s'",
                                                               from->title)) });
    }
  add_option (group, (PageOption){ .name = "help-all", .help = "show all options" });
}

Page *
page_new (const Command *command)
{
  Page      *self = g_new0 (Page, 1);
  PageGroup *group;

  *self = (Page){ command, g_ptr_array_new_with_free_func (group_free), g_string_chunk_new (1024) };
  if (command->run == NULL)
    return self;
  group = add_group (self, PAGE_OWN, NULL, "Options");
  for (const CommandOption *own = command->options; own != NULL && own->name != NULL; own++)
    add_told (self, group, own);
  group = add_group (self, PAGE_GENERAL, NULL, "General options");
  for (const GeneralOption *one = general_options; one->option.name != NULL; one++)
    if (general_option_is_of (one, command))
      add_told (self, group, &one->option);
  for (guint s = 0; s < N_OPTION_SECTIONS; s++)
    if (option_sections[s].flags & command->takes)
      add_section (self, &option_sections[s]);
  if (command->takes & COMMON_SCENARIO)
    add_more_help (self);
  return self;
}

void
page_add_strategies (Page *self, const StrategySet *strategies)
{
  for (const Strategy *const *list = strategy_set_list (strategies); *list != NULL; list++)
    {
      PageGroup *group =
          add_group (self, PAGE_SECTION, "strategy",
                     keep (self, g_strdup_printf ("%s (%s)", (*list)->name, (*list)->title)));

      for (const OptionSpec *spec = (*list)->options; spec != NULL && spec->key != NULL; spec++)
        add_key (self, group, keep (self, g_strconcat ("set strategy.", spec->key, NULL)),
                 keep (self, section_options_describe (spec)), NULL);
    }
}

GPtrArray *
pages_collect (void)
{
  GPtrArray *pages = g_ptr_array_new_with_free_func ((GDestroyNotify) page_free);

  for (guint i = 0; commands[i] != NULL; i++)
    g_ptr_array_add (pages, page_new (commands[i]));
  return pages;
}

const Page *
pages_find (const GPtrArray *pages, const char *command)
{
  for (guint i = 0; i < pages->len; i++)
    {
      const Page *page = g_ptr_array_index (pages, i);

      if (g_str_equal (page->command->name, command))
        return page;
    }
  return NULL;
}

const PageOption *
page_option (const Page *page, guint i)
{
  for (guint g = 0; g < page->groups->len; g++)
    {
      const GArray *options = ((const PageGroup *) page->groups->pdata[g])->options;

      if (i < options->len)
        return &g_array_index (options, PageOption, i);
      i -= options->len;
    }
  return NULL;
}
