#include "cli/page-values.h"

#include <string.h>

#include "analysis/levers.h"
#include "base/layout.h"
#include "cli/collective-arguments.h"
#include "cli/completion.h"
#include "cli/section-options.h"
#include "report/emit.h"
#include "report/figures.h"
#include "report/regress.h"
#include "report/report.h"
#include "strategy/format.h"

/* ---- lists ----------------------------------------------------------------------------------- */

/* KINDS: blank-separated kinds of profiles. */
static char **
list_profiles (const char *kinds)
{
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);
  g_autoptr (GStrvBuilder) all = g_strv_builder_new ();
  g_auto (GStrv)           wanted = g_strsplit (kinds, " ", -1);

  for (guint k = 0; wanted[k] != NULL; k++)
    {
      g_auto (GStrv) ids = profile_set_list (profiles, wanted[k]);

      g_strv_builder_addv (all, (const char **) ids);
    }
  return g_strv_builder_end (all);
}

static char **
list_strategies (const char *unused)
{
  g_autoptr (GStrvBuilder) all = g_strv_builder_new ();

  (void) unused;
  for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
    g_strv_builder_add (all, (*list)->name);
  return g_strv_builder_end (all);
}

static char **
list_models (const char *unused)
{
  (void) unused;
  return model_list_shipped ();
}

static char **
list_shard_formats (const char *unused)
{
  g_autoptr (GStrvBuilder) all = g_strv_builder_new ();

  (void) unused;
  for (const ShardFormat *const *list = shard_format_list (); *list != NULL; list++)
    g_strv_builder_add (all, (*list)->name);
  return g_strv_builder_end (all);
}

static char **
list_figures (const char *unused)
{
  g_autofree char *folder = layout_data_file ("workloads/figures");

  (void) unused;
  return figures_list (folder);
}

static char **
list_commands (const char *unused)
{
  g_autoptr (GStrvBuilder) all = g_strv_builder_new ();

  (void) unused;
  for (guint i = 0; commands[i].name != NULL; i++)
    g_strv_builder_add (all, commands[i].name);
  return g_strv_builder_end (all);
}

static char **
list_shells (const char *unused)
{
  (void) unused;
  return g_strdupv ((char **) completion_shells);
}

static char **
list_collectives (const char *unused)
{
  (void) unused;
  return g_strdupv ((char **) collective_kind_names);
}

static char **
list_sections (const char *unused)
{
  g_autoptr (GStrvBuilder) all = g_strv_builder_new ();

  (void) unused;
  for (guint i = 0; i < SECTION_N; i++)
    g_strv_builder_add (all, schedule_section_name ((ScheduleSection) i));
  return g_strv_builder_end (all);
}

static char **
list_maxima (const char *unused)
{
  g_autoptr (GStrvBuilder) all = g_strv_builder_new ();

  (void) unused;
  for (const Lever *lever = levers; lever->section != NULL; lever++)
    if (lever->most > 0)
      g_strv_builder_add (all, lever->key);
  return g_strv_builder_end (all);
}

/*
 * The words of a choice. A last one takes a number: "layers:K" begins with "layers:", and "K" alone
 * is no word.
 */
static char **
list_choices (const char *const *choices)
{
  g_autoptr (GStrvBuilder) all = g_strv_builder_new ();

  for (guint i = 0; choices[i] != NULL; i++)
    {
      const gboolean   number = choices[i + 1] == NULL && g_str_has_suffix (choices[i], "K");
      g_autofree char *word = g_strndup (choices[i], strlen (choices[i]) - number);

      if (*word != '\0')
        g_strv_builder_add (all, word);
    }
  return g_strv_builder_end (all);
}

/* The choices of the collective library's KEY: --algo is --algorithm. */
static char **
list_library (const char *key)
{
  return list_choices (option_table_find (collective_options, key)->choices);
}

/* The names of results, each with END. */
static char **
list_results (const char *end)
{
  g_autofree const char  **names = report_result_names ();
  g_autoptr (GStrvBuilder) all = g_strv_builder_new ();

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autofree char *word = g_strconcat (names[i], end, NULL);

      g_strv_builder_add (all, word);
    }
  return g_strv_builder_end (all);
}

static char **
list_frameworks (const char *unused)
{
  (void) unused;
  return emit_framework_names ();
}

static char **
list_keys (const char *unused)
{
  (void) unused;
  return page_keys ();
}

/* ---- which of them --------------------------------------------------------------------------- */

/* Options and commands whose words no option table holds. */
typedef struct
{
  const char *name;
  char **(*list) (const char *of);
  const char *of;
  gboolean    files;
} Known;

static const Known known_options[] = {
  { "cluster", list_profiles, "cluster node", FALSE },
  { "node", list_profiles, "node", FALSE },
  { "gpu", list_profiles, "gpu", FALSE },
  { "intra", list_profiles, "link", FALSE },
  { "nic", list_profiles, "link", FALSE },
  { "extends", list_profiles, "gpu node", FALSE },
  { "framework", list_profiles, "framework", FALSE },
  { "model", list_models, NULL, TRUE },
  { "config", list_models, NULL, TRUE },
  { "strategy", list_strategies, NULL, FALSE },
  { "shard-format", list_shard_formats, NULL, FALSE },
  { "collective", list_collectives, NULL, FALSE },
  { "algo", list_library, "algorithm", FALSE },
  { "proto", list_library, "protocol", FALSE },
  { "section", list_sections, NULL, FALSE },
  { "max", list_maxima, NULL, FALSE },
  { "set", list_keys, NULL, FALSE },
  { "vary", list_keys, NULL, FALSE },
  { "map", list_keys, NULL, FALSE },
  { "sort", list_results, "", FALSE },
  { "tolerance", list_results, "=", FALSE },
  { "emit", list_frameworks, NULL, FALSE },
  { "lengths", NULL, NULL, TRUE },
};

static const Known known_commands[] = {
  { "strategies", list_strategies, NULL, FALSE },
  { "hardware", list_profiles, "gpu link node cluster framework library tuner", FALSE },
  { "models", list_models, NULL, TRUE },
  { "figures", list_figures, NULL, FALSE },
  { "help", list_commands, NULL, FALSE },
  { "manual", list_commands, NULL, FALSE },
  { "completion", list_shells, NULL, FALSE },
};

static const Known *
find_known (const Known *list, guint n, const char *name)
{
  for (guint i = 0; i < n; i++)
    if (g_str_equal (list[i].name, name))
      return &list[i];
  return NULL;
}

static PageValue
value_of_known (const Known *known)
{
  return (PageValue){ .files = known->files,
                      .words = known->list != NULL ? known->list (known->of) : NULL };
}

PageValue
page_value_of_option (const GOptionEntry *entry, const OptionSpec *spec)
{
  static const char *const switch_words[] = { "on", "off", NULL };
  const char              *argument = entry->arg_description;
  const Known             *known;

  if (argument == NULL)
    return (PageValue){ 0 };
  if (spec != NULL && spec->type == OPTION_BOOL)
    return (PageValue){ .words = g_strdupv ((char **) switch_words) };
  if (spec != NULL && spec->type == OPTION_ENUM)
    return (PageValue){ .words = list_choices (spec->choices) };
  if (entry->arg == G_OPTION_ARG_FILENAME || entry->arg == G_OPTION_ARG_FILENAME_ARRAY)
    return (PageValue){ .folders = strstr (argument, "DIR") != NULL,
                        .files = strstr (argument, "DIR") == NULL };
  if (strchr (argument, '|') != NULL) /* they are all there are */
    return (PageValue){ .words = g_strsplit (argument, "|", -1) };
  known = find_known (known_options, G_N_ELEMENTS (known_options), entry->long_name);
  return known != NULL ? value_of_known (known) : (PageValue){ 0 };
}

PageValue
page_value_of_command (const char *command, const char *arguments)
{
  const Known *known = find_known (known_commands, G_N_ELEMENTS (known_commands), command);

  if (known != NULL)
    return value_of_known (known);
  return (PageValue){ .files = *arguments != '\0' };
}

/* ---- keys of a scenario ---------------------------------------------------------------------- */

static void
add_keys (GHashTable *keys, const char *section, const OptionSpec *table)
{
  for (const OptionSpec *spec = table; spec != NULL && spec->key != NULL; spec++)
    {
      g_auto (GStrv) words = spec->type == OPTION_ENUM ? list_choices (spec->choices) : NULL;

      g_hash_table_add (keys, g_strdup_printf ("%s.%s=", section, spec->key));
      for (guint i = 0; words != NULL && words[i] != NULL; i++)
        g_hash_table_add (keys, g_strdup_printf ("%s.%s=%s", section, spec->key, words[i]));
    }
}

static gint
compare_words (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

char **
page_keys (void)
{
  g_autoptr (GHashTable) keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree gpointer   *words = NULL;
  guint                  n;

  g_hash_table_add (keys, g_strdup ("strategy.name="));
  for (guint s = 0; s < N_OPTION_SECTIONS; s++)
    add_keys (keys, option_sections[s].name, scenario_section_table (option_sections[s].name));
  for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
    add_keys (keys, "strategy", (*list)->options);
  words = g_hash_table_get_keys_as_array (keys, &n);
  qsort (words, n, sizeof *words, compare_words);
  return g_strdupv ((char **) words);
}
