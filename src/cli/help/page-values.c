#include "cli/help/page-values.h"

#include <string.h>

#include "base/compare.h"
#include "base/file/layout.h"
#include "cli/argument/collective-arguments.h"
#include "cli/argument/section-options.h"
#include "decide/explore/levers.h"
#include "evidence/figures/figure.h"
#include "report/export/emit.h"
#include "report/prediction/report.h"
#include "report/regress/regress.h"
#include "strategy/shards/format.h"

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
  g_autofree const char **names = command_names (NULL);

  (void) unused;
  return g_strdupv ((char **) names);
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
  return framework_names (TRUE);
}

static char **
list_readers (const char *unused)
{
  (void) unused;
  return framework_names (FALSE);
}

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

/* "training.attention=flash2" and "training.seq_len=": what --set takes. */
static char **
list_keys (const char *unused)
{
  g_autoptr (GHashTable) keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree gpointer   *words = NULL;
  guint                  n;

  (void) unused;
  g_hash_table_add (keys, g_strdup ("strategy.name="));
  for (guint s = 0; s < N_OPTION_SECTIONS; s++)
    add_keys (keys, option_sections[s].name, scenario_section_table (option_sections[s].name));
  for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
    add_keys (keys, "strategy", (*list)->options);
  words = g_hash_table_get_keys_as_array (keys, &n);
  qsort (words, n, sizeof *words, compare_texts);
  return g_strdupv ((char **) words);
}

/* ---- which of them --------------------------------------------------------------------------- */

const ValueWords words_strategies = { list_strategies, NULL, FALSE };
const ValueWords words_profiles = { list_profiles,
                                    "gpu link node cluster framework library kernels tuner",
                                    FALSE };
const ValueWords words_models = { list_models, NULL, TRUE };
const ValueWords words_figures = { list_figures, NULL, FALSE };
const ValueWords words_commands = { list_commands, NULL, FALSE };
const ValueWords words_shard_formats = { list_shard_formats, NULL, FALSE };
const ValueWords words_collectives = { list_collectives, NULL, FALSE };
const ValueWords words_algorithms = { list_library, "algorithm", FALSE };
const ValueWords words_protocols = { list_library, "protocol", FALSE };
const ValueWords words_sections = { list_sections, NULL, FALSE };
const ValueWords words_maxima = { list_maxima, NULL, FALSE };
const ValueWords words_keys = { list_keys, NULL, FALSE };
const ValueWords words_results = { list_results, "", FALSE };
const ValueWords words_tolerances = { list_results, "=", FALSE };
const ValueWords words_frameworks = { list_frameworks, NULL, FALSE };
const ValueWords words_readers = { list_readers, NULL, FALSE };
const ValueWords words_gpus = { list_profiles, "gpu", FALSE };
const ValueWords words_links = { list_profiles, "link", FALSE };
const ValueWords words_bases = { list_profiles, "gpu node", FALSE };

/* Of keys of a scenario whose words no option table holds, by the names of their options. */
static const struct
{
  const char *name;
  ValueWords  words;
} known_keys[] = {
  { "cluster", { list_profiles, "cluster node", FALSE } },
  { "node", { list_profiles, "node", FALSE } },
  { "gpu", { list_profiles, "gpu", FALSE } },
  { "intra", { list_profiles, "link", FALSE } },
  { "nic", { list_profiles, "link", FALSE } },
  { "framework", { list_profiles, "framework", FALSE } },
  { "kernels", { list_profiles, "kernels", FALSE } },
  { "model", { list_models, NULL, TRUE } },
  { "config", { list_models, NULL, TRUE } },
  { "strategy", { list_strategies, NULL, FALSE } },
  { SECTION_OPTION_SET, { list_keys, NULL, FALSE } },
  { "lengths", { NULL, NULL, TRUE } },
};

void
page_value_clear (PageValue *self)
{
  g_strfreev (self->words);
}

static PageValue
value_of (const ValueWords *words)
{
  return (PageValue){ .files = words->files,
                      .words = words->list != NULL ? words->list (words->of) : NULL };
}

PageValue
page_value_of_option (const PageOption *option)
{
  const ValueType type = option->told != NULL ? option->told->type : VALUE_TEXT;

  if (option->value == NULL)
    return (PageValue){ 0 };
  if (option->spec != NULL && option->spec->type == OPTION_ENUM)
    return (PageValue){ .words = list_choices (option->spec->choices) };
  if (type == VALUE_FILE || type == VALUE_FILES || type == VALUE_FOLDER)
    return (PageValue){ .folders = type == VALUE_FOLDER, .files = type != VALUE_FOLDER };
  if (strchr (option->value, '|') != NULL) /* they are all there are */
    return (PageValue){ .words = g_strsplit (option->value, "|", -1) };
  if (option->told != NULL && option->told->words != NULL)
    return value_of (option->told->words);
  for (guint i = 0; option->of_section && i < G_N_ELEMENTS (known_keys); i++)
    if (g_str_equal (known_keys[i].name, option->name))
      return value_of (&known_keys[i].words);
  return (PageValue){ 0 };
}

PageValue
page_value_of_command (const Command *command)
{
  if (command->words != NULL)
    return value_of (command->words);
  if (command->arguments != NULL && strstr (command->arguments, " | ") != NULL)
    return (PageValue){ .words = g_strsplit (command->arguments, " | ", -1) };
  return (PageValue){ .files = command->most_words > 0 };
}
