#include "cli/section-options.h"

#include <string.h>

const OptionSection option_sections[N_OPTION_SECTIONS] = {
  { "model", "Model", COMMON_SCENARIO },
  { "cluster", "Cluster", COMMON_SCENARIO | COMMON_NETWORK | COMMON_CLUSTER },
  { "training", "Training", COMMON_SCENARIO },
  { "mesh", "Mesh", COMMON_SCENARIO },
  { "memory", "Memory", 0 },
  { "collective", "Collective library", COMMON_SCENARIO | COMMON_NETWORK },
  { "replay", "Replay", COMMON_SCENARIO },
  { "strategy", "Strategy, and any key by its name", COMMON_SCENARIO },
};

/* The short names of sections' most used keys: scenario_full_key. */
static const struct
{
  const char *option, *help;
} shorthands[] = {
  { "cluster", "cluster: '4 x dgx-a100', a node or a profile" },
  { "model", "model: a shipped name or a config.json" },
  { "strategy", "strategy" },
};

/*
 * The later of two values counts, so that a command line may be gone on with: remedies are added to
 * it. Another value from before is named, as it may have been forgotten.
 */
static void
add_override (Common *self, const char *key, const char *value, const char *origin)
{
  g_autofree char *whole = scenario_whole_key (key);

  for (guint i = 0; i < self->overrides->len; i++)
    {
      const ScenarioOverride *before = &g_array_index (self->overrides, ScenarioOverride, i);
      g_autofree char        *other = scenario_whole_key (before->key);

      if (!g_str_equal (whole, other) || g_str_equal (value, before->value))
        continue;
      stream_say ("shardsim %s: '%s' is set twice: '%s' by %s counts, '%s' by %s does not\n",
                  self->command, whole, value, origin, before->value, before->origin);
      g_array_remove_index (self->overrides, i);
      break;
    }
  ScenarioOverride override = {
    .key = g_string_chunk_insert (self->strings, key),
    .value = g_string_chunk_insert (self->strings, value),
    .origin = g_string_chunk_insert (self->strings, origin),
  };

  g_array_append_val (self->overrides, override);
}

static gboolean
on_set (const char *option, const char *value, gpointer data, GError **error)
{
  const char      *equals = strchr (value, '=');
  g_autofree char *key = equals != NULL ? g_strndup (value, (gsize) (equals - value)) : NULL;

  if (key == NULL || *key == '\0')
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "%s wants section.key=value, got '%s'", option, value);
      return FALSE;
    }
  add_override (data, key, equals + 1, "--set");
  return TRUE;
}

/* "micro-batch" to "micro_batch". Newly allocated. */
static char *
word_of_option (const char *option)
{
  return g_strdelimit (g_strdup (option), "-", '_');
}

const OptionSpec *
section_options_find (const char *option)
{
  g_autofree char  *word = word_of_option (option), *key = scenario_full_key (word);
  const char       *dot = key != NULL ? strchr (key, '.') : NULL;
  g_autofree char  *section = dot != NULL ? g_strndup (key, (gsize) (dot - key)) : NULL;
  const OptionSpec *table = section != NULL ? scenario_section_table (section) : NULL;

  return table != NULL && g_str_equal (dot + 1, word) ? option_table_find (table, word) : NULL;
}

/* "NAME=VALUE"; a name alone is one that the command asks about. FALSE with ERROR set. */
static gboolean
add_pair (Common *self, const char *option, const char *value, GError **error)
{
  const char      *equals = strchr (value, '=');
  g_autofree char *name = equals != NULL ? g_strndup (value, (gsize) (equals - value)) : NULL;

  if (name != NULL && (scenario_key_is_figure (name) || hardware_figure_is_option (name)))
    add_override (self, name, equals + 1, option);
  else if (name != NULL)
    add_override (self, "cluster.figure", value, option); /* which says what is wrong */
  else if (self->asked != NULL)
    g_ptr_array_add (self->asked, g_string_chunk_insert (self->strings, value));
  else
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 "%s wants NAME=VALUE, such as nic.bandwidth='200 Gbit/s', got '%s'", option,
                 value);
  return name != NULL || self->asked != NULL;
}

/* A switch may stand alone: --single-process. */
static gboolean
on_table_option (const char *option, const char *value, gpointer data, GError **error)
{
  g_autofree char  *word = word_of_option (option + strspn (option, "-"));
  g_autofree char  *key = scenario_full_key (word);
  const OptionSpec *spec;

  g_return_val_if_fail (key != NULL, FALSE);
  spec = section_options_find (word);
  if (spec != NULL && spec->pairs)
    return add_pair (data, option, value, error);
  add_override (data, key, value != NULL ? value : "true", option);
  return TRUE;
}

char *
section_options_describe (const OptionSpec *spec)
{
  g_autoptr (GString) text = g_string_new (spec->help);

  if (spec->type == OPTION_ENUM)
    {
      g_autofree char *words = g_strjoinv (", ", (char **) spec->choices);

      g_string_append_printf (text, ": %s", words);
    }
  if (spec->fallback != NULL && *spec->fallback != '\0')
    g_string_append_printf (text, " (default %s)", spec->fallback);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* What stands behind the option of SPEC (NULL: a word). */
static const char *
argument_of (const OptionSpec *spec)
{
  if (spec != NULL && spec->type == OPTION_BOOL)
    return "[=on|off]";
  return spec != NULL && spec->pairs ? "NAME=VALUE" : "VALUE";
}

/* SPEC: of a table, or NULL. */
static void
add_table_entry (Common *self, HelpGroup *group, const char *name, const char *help,
                 const OptionSpec *spec)
{
  const gboolean is_switch = spec != NULL && spec->type == OPTION_BOOL;
  GOptionEntry   entry = {
      .long_name = g_string_chunk_insert_const (self->strings, name),
      .flags =
          G_OPTION_FLAG_FILENAME
          | (is_switch ? G_OPTION_FLAG_OPTIONAL_ARG : 0), /* as bytes: names may be in any locale */
      .arg = G_OPTION_ARG_CALLBACK,
      .arg_data = GSIZE_TO_POINTER ((gsize) on_table_option),
      .description = g_string_chunk_insert_const (self->strings, help),
      .arg_description = argument_of (spec),
  };

  g_array_append_val (group->entries, entry);
}

static void
add_shorthand (Common *self, HelpGroup *group)
{
  for (guint i = 0; i < G_N_ELEMENTS (shorthands); i++)
    if (g_str_equal (shorthands[i].option, group->name))
      add_table_entry (self, group, shorthands[i].option, shorthands[i].help, NULL);
}

/* Any key by its name: those of a strategy have no option of their own. */
static void
add_set (HelpGroup *group)
{
  const GOptionEntry set = { .long_name = "set",
                             .flags =
                                 G_OPTION_FLAG_FILENAME, /* as bytes: names may be in any locale */
                             .arg = G_OPTION_ARG_CALLBACK,
                             .arg_data = GSIZE_TO_POINTER ((gsize) on_set),
                             .description =
                                 "set any key of the scenario, one of the strategy's own such as "
                                 "strategy.shard among them; may be repeated",
                             .arg_description = "SECTION.KEY=VALUE" };

  g_array_append_val (group->entries, set);
}

/* The option that is short for one of the keys, and those keys. */
static void
add_section (Common *self, GPtrArray *groups, const OptionSection *section)
{
  HelpGroup        *group = help_groups_add (groups, section->name, section->title);
  const OptionSpec *table = scenario_section_table (section->name);

  add_shorthand (self, group);
  if (table == NULL)
    add_set (group);
  for (const OptionSpec *spec = table; spec != NULL && spec->key != NULL; spec++)
    {
      g_autofree char *name = g_strdelimit (g_strdup (spec->key), "_", '-');
      g_autofree char *help = section_options_describe (spec);

      if (!g_str_equal (name, "name"))
        add_table_entry (self, group, name, help, spec);
    }
}

void
section_options_add (Common *self, CommonFlags flags, GPtrArray *groups, GOptionContext *context)
{
  GOptionGroup *options = g_option_group_new ("scenario", "", "", self, NULL);
  guint         first = groups->len;

  for (guint s = 0; s < N_OPTION_SECTIONS; s++)
    if (option_sections[s].flags & flags)
      add_section (self, groups, &option_sections[s]);
  for (guint g = first; g < groups->len; g++)
    g_option_group_add_entries (
        options, (const GOptionEntry *) (void *) ((HelpGroup *) groups->pdata[g])->entries->data);
  g_option_context_add_group (context, options);
}

void
section_options_add_strategies (Common *self, GPtrArray *groups)
{
  for (const Strategy *const *list = strategy_set_list (self->strategies); *list != NULL; list++)
    {
      g_autofree char *title = g_strdup_printf ("%s (%s)", (*list)->name, (*list)->title);
      HelpGroup       *group =
          help_groups_add (groups, "strategy", g_string_chunk_insert_const (self->strings, title));

      for (const OptionSpec *spec = (*list)->options; spec != NULL && spec->key != NULL; spec++)
        {
          g_autofree char *name = g_strdup_printf ("set strategy.%s", spec->key);
          g_autofree char *help = section_options_describe (spec);

          add_table_entry (self, group, name, help, NULL);
        }
    }
}
