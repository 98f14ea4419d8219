#include "cli/argument/parse.h"

#include <stdio.h>
#include <string.h>

#include "base/config/suggest.h"
#include "base/file/layout.h"
#include "base/intern.h"
#include "base/own-memory.h"
#include "cli/argument/general-options.h"
#include "cli/argument/section-options.h"
#include "cli/help/help.h"

/* An option that GOption reads; where the value is no member as it is, it is kept here first. */
typedef struct
{
  const PageOption *option;
  gpointer          target; /* the member, or the structure of a table */
  char             *text;   /* of quantities and of tables; NULL: not given */
  gint              number; /* of counts */
  gboolean          given;  /* of a table's switches */
} Slot;

typedef struct
{
  Common    *common;
  Page      *page;
  GPtrArray *slots; /* Slot */
  GPtrArray *names; /* of all options, owned */
  gboolean   help_all;
  gboolean   help_group[N_OPTION_SECTIONS];
} Parser;

static void
slot_free (gpointer data)
{
  Slot *self = data;

  g_free (self->text);
  g_free (self);
}

static void
parser_clear (Parser *self)
{
  page_free (self->page);
  g_ptr_array_unref (self->slots);
  g_ptr_array_unref (self->names);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Parser, parser_clear)

/* ---- what GOption gets ----------------------------------------------------------------------- */

/* Texts are bytes: GLib would convert from the locale's characters, or refuse them. */
static GOptionEntry
entry_of (Slot *slot)
{
  const PageOption *option = slot->option;
  GOptionEntry      entry = { .long_name = option->name,
                              .short_name = option->letter,
                              .arg = G_OPTION_ARG_FILENAME,
                              .arg_data = slot->target,
                              .arg_description = option->value };

  switch (option->told->type)
    {
    case VALUE_SWITCH:
      entry.arg = G_OPTION_ARG_NONE;
      break;
    case VALUE_TEXT:
    case VALUE_FILE:
    case VALUE_FOLDER:
      break;
    case VALUE_TEXTS:
    case VALUE_FILES:
      entry.arg = G_OPTION_ARG_FILENAME_ARRAY;
      break;
    case VALUE_INT:
      entry.arg = G_OPTION_ARG_INT;
      break;
    case VALUE_INT64:
      entry.arg = G_OPTION_ARG_INT64;
      break;
    case VALUE_COUNT:
      entry.arg = G_OPTION_ARG_INT;
      entry.arg_data = &slot->number;
      break;
    case VALUE_QUANTITY:
      entry.arg_data = &slot->text;
      break;
    case VALUE_TABLE:
      entry.arg = option->value == NULL ? G_OPTION_ARG_NONE : G_OPTION_ARG_FILENAME;
      entry.arg_data = option->value == NULL ? (gpointer) &slot->given : (gpointer) &slot->text;
      break;
    }
  return entry;
}

/* What is not given is the fallback. */
static void
set_fallback (const CommandOption *option, gpointer target)
{
  switch (option->type)
    {
    case VALUE_INT:
    case VALUE_COUNT:
      *(gint *) target = option->fallback;
      break;
    case VALUE_INT64:
      *(gint64 *) target = option->fallback;
      break;
    case VALUE_QUANTITY:
      *(double *) target = option->fallback;
      break;
    default:
      break;
    }
}

/* The options of GROUP, into members of BASE. */
static void
add_members (Parser *self, const PageGroup *group, gpointer base, GOptionContext *context)
{
  g_autoptr (GArray) entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));

  for (guint i = 0; i < group->options->len; i++)
    {
      const PageOption *option = &g_array_index (group->options, PageOption, i);
      Slot             *slot = g_new0 (Slot, 1);
      GOptionEntry      entry;

      slot->option = option;
      slot->target = (char *) base + option->told->offset;
      slot->number = NOT_GIVEN;
      set_fallback (option->told, slot->target);
      entry = entry_of (slot);
      g_array_append_val (entries, entry);
      g_ptr_array_add (self->slots, slot);
      g_ptr_array_add (self->names, g_strdup (option->name));
    }
  g_option_context_add_main_entries (context, (const GOptionEntry *) (void *) entries->data, NULL);
}

/* The options that are keys of a scenario, which become overrides. */
static void
add_sections (Parser *self, GOptionContext *context)
{
  GOptionGroup      *group = g_option_group_new ("scenario", "", "", self->common, NULL);
  g_autoptr (GArray) entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));

  for (guint g = 0; g < self->page->groups->len; g++)
    {
      const PageGroup *from = g_ptr_array_index (self->page->groups, g);

      for (guint i = 0; from->kind == PAGE_SECTION && i < from->options->len; i++)
        {
          const PageOption  *option = &g_array_index (from->options, PageOption, i);
          const GOptionEntry entry = {
            .long_name = option->name,
            .flags = G_OPTION_FLAG_FILENAME /* as bytes: names may be in any locale */
                     | (option->optional ? G_OPTION_FLAG_OPTIONAL_ARG : 0),
            .arg = G_OPTION_ARG_CALLBACK,
            .arg_data = GSIZE_TO_POINTER ((gsize) section_options_set),
          };

          g_array_append_val (entries, entry);
          g_ptr_array_add (self->names, g_strdup (option->name));
        }
    }
  g_option_group_add_entries (group, (const GOptionEntry *) (void *) entries->data);
  g_option_context_add_group (context, group);
}

/* --help-all, and --help-model and its like of the sections that the command has. */
static void
add_help (Parser *self, GOptionContext *context)
{
  g_autoptr (GArray) entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  GOptionEntry       entry = { .long_name = "help-all", .arg_data = &self->help_all };

  g_array_append_val (entries, entry);
  for (guint s = 0; s < N_OPTION_SECTIONS; s++)
    {
      g_autofree char *name = g_strdup_printf ("help-%s", option_sections[s].name);

      if (!(option_sections[s].flags & self->common->command->takes))
        continue;
      entry.long_name = g_string_chunk_insert_const (self->page->strings, name);
      entry.arg_data = &self->help_group[s];
      g_array_append_val (entries, entry);
    }
  for (guint i = 0; i < entries->len; i++)
    g_ptr_array_add (self->names, g_strdup (g_array_index (entries, GOptionEntry, i).long_name));
  g_option_context_add_main_entries (context, (const GOptionEntry *) (void *) entries->data, NULL);
}

/* ---- what is typed --------------------------------------------------------------------------- */

/* GOption takes "-j 4" only: makes "-j4" "--jobs=4". */
static void
spell_out_jobs (char **words)
{
  for (; *words != NULL && !g_str_equal (*words, "--"); words++)
    if (g_str_has_prefix (*words, "-j") && (*words)[2] != '\0')
      {
        char *spelled = g_strconcat ("--jobs=", *words + 2, NULL);

        g_free (*words);
        *words = spelled;
      }
}

/* GOption says "Unknown option --foo"; a hint with the nearest name is added. FALSE. */
static gboolean
refuse_option (const Parser *self, const GError *error)
{
  const char      *dashes = strstr (error->message, "--");
  g_autofree char *hint = NULL;

  g_ptr_array_add (self->names, NULL);
  if (error->code == G_OPTION_ERROR_UNKNOWN_OPTION && dashes != NULL)
    hint = suggest_near (dashes + 2, (const char *const *) self->names->pdata);
  if (hint != NULL)
    { /* names as they are typed */
      g_auto (GStrv) parts = g_strsplit (hint, " '", -1);
      char          *dashed = g_strjoinv (" '--", parts);

      g_free (hint);
      hint = dashed;
    }
  common_say (self->common, "%s\n%s%s%s  see 'shardsim %s --help'\n", error->message,
              hint != NULL ? "  hint: " : "", hint != NULL ? hint : "", hint != NULL ? "\n" : "",
              self->common->command->name);
  return FALSE;
}

/* FALSE: no help is asked for. */
static gboolean
wants_help (const Parser *self, const char **wanted)
{
  *wanted = self->help_all ? "all" : NULL;
  for (guint s = 0; *wanted == NULL && s < N_OPTION_SECTIONS; s++)
    if (self->help_group[s])
      *wanted = option_sections[s].name;
  return *wanted != NULL || self->common->help;
}

static gboolean
load_plugins (Common *self)
{
  self->read = input_files_new ();
  self->strategies = strategy_set_new ();
  for (guint i = 0; self->plugins != NULL && self->plugins[i] != NULL; i++)
    {
      g_autoptr (GError) error = NULL;

      if (!strategy_set_load (self->strategies, self->plugins[i], &error))
        {
          stream_report_error (error);
          return FALSE;
        }
    }
  return TRUE;
}

/* FALSE after a message. */
static gboolean
print_help (Parser *self, const char *wanted)
{
  g_autofree char *text = NULL;

  if (wanted != NULL && !load_plugins (self->common))
    return FALSE;
  if (wanted != NULL && (self->common->command->takes & COMMON_SCENARIO)
      && (g_str_equal (wanted, "all") || g_str_equal (wanted, "strategy")))
    page_add_strategies (self->page, self->common->strategies);
  text = help_format (self->page, wanted, help_terminal_width ());
  fputs (text, stdout);
  return TRUE;
}

/* ---- values ---------------------------------------------------------------------------------- */

/*
 * FALSE after a message where the option was given an empty value: it says nothing, and no command
 * expects lists of none and files without a name.
 */
static gboolean
refuse_empty (const Parser *self, const Slot *slot)
{
  const PageOption  *option = slot->option;
  const char *const *values = NULL;
  gboolean           empty = slot->text != NULL && *slot->text == '\0';

  switch (option->told->type)
    {
    case VALUE_TEXT:
    case VALUE_FILE:
    case VALUE_FOLDER:
      empty = g_strcmp0 (*(char *const *) slot->target, "") == 0;
      break;
    case VALUE_TEXTS:
    case VALUE_FILES:
      values = *(const char *const *const *) slot->target;
      empty = values != NULL && g_strv_contains (values, "");
      break;
    default:
      break;
    }
  if (empty)
    common_say (self->common, "--%s: expected %s, got nothing\n  see 'shardsim %s --help'\n",
                option->name, option->value, self->common->command->name);
  return !empty;
}

/* FALSE after a message; what is wrong with an option of a table goes into DIAGS. */
static gboolean
set_value (const Parser *self, const Slot *slot, DiagList *diags)
{
  const PageOption *option = slot->option;
  g_autofree char  *why = NULL, *name = g_strconcat ("--", option->name, NULL);
  const SourceMark  mark = { .file = intern_text (name) };

  if (option->told->type == VALUE_COUNT && slot->number != NOT_GIVEN)
    {
      *(gint *) slot->target = slot->number;
      if (slot->number < 1)
        common_say (self->common, "expected at least 1 for '%s', got %d\n", name, slot->number);
      return slot->number >= 1;
    }
  if (option->told->type == VALUE_QUANTITY && slot->text != NULL
      && !quantity_parse (option->told->kind, slot->text, slot->target, &why))
    {
      common_say (self->common, "%s: %s\n", name, why);
      return FALSE;
    }
  if (option->told->type == VALUE_TABLE && (slot->given || slot->text != NULL))
    option_set (option->spec, slot->target, slot->given ? "true" : slot->text, &mark, diags);
  return TRUE;
}

static gboolean
set_values (const Parser *self, DiagList *diags)
{
  const CommandOption *table = NULL;

  for (guint i = 0; i < self->slots->len; i++)
    if (!refuse_empty (self, g_ptr_array_index (self->slots, i)))
      return FALSE;
  for (guint i = 0; i < self->slots->len; i++)
    {
      const Slot *slot = g_ptr_array_index (self->slots, i);

      if (slot->option->told->type == VALUE_TABLE && slot->option->told != table)
        option_table_defaults ((table = slot->option->told)->table, slot->target);
      if (!set_value (self, slot, diags))
        return FALSE;
    }
  return TRUE;
}

/* The last --format counts. FALSE after a message. */
static gboolean
set_format (Common *self)
{
  const char *const names[] = { "text", "csv", "json",
                                self->command->takes & COMMON_CHAKRA ? "chakra" : NULL, NULL };
  const guint       n = self->formats != NULL ? g_strv_length (self->formats) : 0;
  const gint        index = n > 0 ? name_index (self->formats[n - 1], names) : FORMAT_TEXT;
  g_autofree char  *hint = index < 0 ? suggest_hint (self->formats[n - 1], names) : NULL;

  self->chakra = index > FORMAT_JSON;
  self->format = self->chakra || index < 0 ? FORMAT_TEXT : (DocumentFormat) index;
  if (index < 0)
    common_say (self, "unknown format '%s': %s\n", self->formats[n - 1], hint);
  return index >= 0;
}

/* The clock runs from here on: what is loaded is part of the time. FALSE after a message. */
static gboolean
set_limits (Common *self)
{
  const gboolean limited = common_has (self, "max-memory-use");

  if (limited && self->max_memory_use < 1)
    common_say (self, "--max-memory-use: nothing runs in no memory: leave it out for half of the "
                      "machine's\n");
  else if (common_has (self, "time-limit") && self->time_limit == 0)
    common_say (self, "--time-limit: no time at all leaves nothing: '2 min'\n");
  else
    {
      if (limited)
        own_memory_set_limit (self->max_memory_use < (double) G_MAXINT64
                                  ? (guint64) self->max_memory_use
                                  : (guint64) G_MAXINT64);
      if (self->command->takes & COMMON_TIME)
        self->patience = patience_new (MAX (self->time_limit, 0));
      return TRUE;
    }
  return FALSE;
}

/*
 * Makes --hwprofiles, one folder or several as in PATH, the search path that ends with the shipped
 * profiles.
 */
static gboolean
complete_profile_path (Common *self)
{
  g_auto (GStrv) dirs =
      g_strsplit (self->hwprofiles != NULL ? self->hwprofiles : "", G_SEARCHPATH_SEPARATOR_S, -1);
  g_autofree char *given = NULL, *shipped = NULL;

  if (self->hwprofiles == NULL)
    return TRUE;
  for (guint i = 0; dirs[i] != NULL; i++)
    if (!g_file_test (dirs[i], G_FILE_TEST_IS_DIR))
      {
        common_say (self, "--hwprofiles: '%s' is not a folder\n", dirs[i]);
        return FALSE;
      }
  given = self->hwprofiles;
  shipped = layout_data_file ("hwprofiles");
  self->hwprofiles = g_strconcat (given, G_SEARCHPATH_SEPARATOR_S, shipped, NULL);
  return TRUE;
}

static gboolean
has_any (const Common *self, const char *names)
{
  g_auto (GStrv) all = g_strsplit (names, " ", -1);
  gboolean       any = FALSE;

  for (guint i = 0; all[i] != NULL; i++)
    any |= common_has (self, all[i]);
  return any;
}

/* How many words there are, and what goes with what. FALSE after a message. */
static gboolean
check_line (const Common *self)
{
  const Command    *command = self->command;
  const OptionRule *rule = command->rules;

  if (!common_want_words (self, command->most_words))
    return FALSE;
  for (; rule != NULL && rule->words != NULL; rule++)
    if ((rule->given == NULL || has_any (self, rule->given))
        && ((rule->excludes != NULL && has_any (self, rule->excludes))
            || (rule->needs != NULL && !has_any (self, rule->needs))))
      {
        common_say (self, "%s\n", rule->words);
        return FALSE;
      }
  if (command->missing == NULL || self->files[0] != NULL)
    return TRUE;
  common_say (self, "%s\n  see 'shardsim %s --help'\n", command->missing, command->name);
  return FALSE;
}

gboolean
parse_words (Common *self, const Command *command, gpointer settings, char *const *words,
             gboolean *done)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError)         error = NULL;
  g_autoptr (DiagList)       diags = diag_list_new ();
  g_auto (GStrv)             typed = g_strdupv ((char **) words);
  g_auto (Parser)            parser = { .common = self,
                                        .page = page_new (command),
                                        .slots = g_ptr_array_new_with_free_func (slot_free),
                                        .names = g_ptr_array_new_with_free_func (g_free) };
  const char                *wanted;

  self->command = command;
  self->settings = settings;
  self->strings = g_string_chunk_new (1024);
  self->overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  self->asked = command->takes & COMMON_ASKED ? g_ptr_array_new () : NULL;
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_set_strict_posix (context, FALSE);
  add_members (&parser, parser.page->groups->pdata[0], settings, context);
  add_members (&parser, parser.page->groups->pdata[1], self, context);
  add_help (&parser, context);
  add_sections (&parser, context);
  if (command->takes & (COMMON_RUN | COMMON_JOBS))
    spell_out_jobs (typed);
  if (command->prepare != NULL && !command->prepare (&typed, settings))
    return FALSE;
  if (!g_option_context_parse_strv (context, &typed, &error))
    return refuse_option (&parser, error);
  *done = wants_help (&parser, &wanted);
  if (*done)
    return print_help (&parser, wanted);
  self->files = g_strdupv (typed + 1);
  if (!set_values (&parser, diags) || !set_format (self) || !set_limits (self)
      || !complete_profile_path (self) || !load_plugins (self) || !check_line (self)
      || (command->check != NULL && !command->check (self, settings, diags)))
    return FALSE;
  return stream_report_diags (diags) == EXIT_DONE;
}

void
settings_clear (const Command *command, gpointer settings)
{
  for (const CommandOption *option = command->options; option != NULL && option->name != NULL;
       option++)
    {
      gpointer member = (char *) settings + option->offset;

      switch (option->type)
        {
        case VALUE_TEXT:
        case VALUE_FILE:
        case VALUE_FOLDER:
          g_clear_pointer ((char **) member, g_free);
          break;
        case VALUE_TEXTS:
        case VALUE_FILES:
          g_clear_pointer ((char ***) member, g_strfreev);
          break;
        case VALUE_TABLE:
          option_table_clear (option->table, member);
          break;
        default:
          break;
        }
    }
  if (command->clear != NULL)
    command->clear (settings);
}
