#include "cli/argument/section-options.h"

#include <string.h>

const OptionSection option_sections[N_OPTION_SECTIONS] = {
  { "model", "Model", COMMON_SCENARIO, "model: a shipped name or a config.json" },
  { "cluster", "Cluster", COMMON_SCENARIO | COMMON_NETWORK | COMMON_CLUSTER,
    "cluster: '4 x dgx-a100', a node or a profile" },
  { "training", "Training", COMMON_SCENARIO, NULL },
  { "mesh", "Mesh", COMMON_SCENARIO, NULL },
  { "memory", "Memory", 0, NULL },
  { "collective", "Collective library", COMMON_SCENARIO | COMMON_NETWORK, NULL },
  { "replay", "Replay", COMMON_SCENARIO, NULL },
  { "generation", "Generation", 0, NULL },
  { "serving", "Requests that are generated for", 0, NULL },
  { "rl", "Reinforcement learning", 0, NULL },
  { "strategy", "Strategy, and any key by its name", COMMON_SCENARIO, "strategy" },
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
      common_say (self, "'%s' is set twice: '%s' by %s counts, '%s' by %s does not\n", whole, value,
                  origin, before->value, before->origin);
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

/* "SECTION.KEY=VALUE". FALSE with ERROR set. */
static gboolean
add_any (Common *self, const char *option, const char *value, GError **error)
{
  const char      *equals = strchr (value, '=');
  g_autofree char *key = equals != NULL ? g_strndup (value, (gsize) (equals - value)) : NULL;

  if (key == NULL || *key == '\0')
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "%s wants section.key=value, got '%s'", option, value);
      return FALSE;
    }
  add_override (self, key, equals + 1, "--" SECTION_OPTION_SET);
  return TRUE;
}

/* A switch may stand alone: --single-process. */
gboolean
section_options_set (const char *option, const char *value, gpointer data, GError **error)
{
  g_autofree char  *word = word_of_option (option + strspn (option, "-")), *key = NULL;
  const OptionSpec *spec = section_options_find (word);

  if (g_str_equal (word, SECTION_OPTION_SET))
    return add_any (data, option, value, error);
  if (spec != NULL && spec->pairs)
    return add_pair (data, option, value, error);
  key = scenario_full_key (word);
  g_return_val_if_fail (key != NULL, FALSE);
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
