/* What options of a scenario are called: in short, in full, and as words of a command line. */
#include <string.h>

#include "scenario/scenario-private.h"

/* What stands for the name of what a section is. */
static const char *const shorthands[][2] = {
  { "cluster", "cluster.name" },
  { "model", "model.config" },
  { "strategy", "strategy.name" },
};

char *
scenario_full_key (const char *word)
{
  for (guint i = 0; i < G_N_ELEMENTS (shorthands); i++)
    if (g_str_equal (shorthands[i][0], word))
      return g_strdup (shorthands[i][1]);
  for (guint i = 0; i < SCENARIO_N_SECTIONS && !g_str_equal (word, "name"); i++)
    if (option_table_find (scenario_sections[i].table, word) != NULL)
      return g_strdup_printf ("%s.%s", scenario_sections[i].name, word);
  return NULL;
}

GPtrArray *
scenario_words (void)
{
  GPtrArray *words = g_ptr_array_new ();

  for (guint i = 0; i < G_N_ELEMENTS (shorthands); i++)
    g_ptr_array_add (words, (gpointer) shorthands[i][0]);
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    for (const OptionSpec *spec = scenario_sections[i].table; spec->key != NULL; spec++)
      g_ptr_array_add (words, (gpointer) spec->key);
  return words;
}

char *
scenario_whole_key (const char *key)
{
  char *full = strchr (key, '.') == NULL ? scenario_full_key (key) : NULL;

  return full != NULL ? full : g_strdup (key);
}

gboolean
scenario_key_is_figure (const char *key)
{
  g_autofree char *id = NULL;
  const char      *kind, *rest;

  return hardware_figure_split (key, &kind, &id, &rest);
}

/* The part of KEY behind the first dot, where that alone means KEY; else NULL. */
static const char *
leaf_of (const char *key)
{
  const char      *leaf = strchr (key, '.') != NULL ? strchr (key, '.') + 1 : NULL;
  g_autofree char *full = leaf != NULL ? scenario_full_key (leaf) : NULL;
  const gboolean   is_own = full == NULL && g_str_has_prefix (key, "strategy.");

  if (leaf == NULL || g_str_equal (leaf, "name") || strchr (leaf, '.') != NULL)
    return NULL;
  return is_own || g_strcmp0 (full, key) == 0 ? leaf : NULL;
}

char *
scenario_short_key (const char *key)
{
  for (guint i = 0; i < G_N_ELEMENTS (shorthands); i++)
    if (g_str_equal (shorthands[i][1], key))
      return g_strdup (shorthands[i][0]);
  return g_strdup (leaf_of (key) != NULL ? leaf_of (key) : key);
}

/* The option of a section's table that KEY means; NULL: a strategy's, a figure, or none. */
static const OptionSpec *
spec_of (const char *key)
{
  const char            *dot = strchr (key, '.');
  g_autofree char       *name = dot != NULL ? g_strndup (key, (gsize) (dot - key)) : NULL;
  const ScenarioSection *section = name != NULL ? scenario_find_section (name) : NULL;

  return section != NULL && !section->by_set ? option_table_find (section->table, dot + 1) : NULL;
}

char *
scenario_option_word (const char *key)
{
  g_autofree char *whole = scenario_whole_key (key), *word = scenario_short_key (whole);

  if (scenario_key_is_figure (whole))
    return g_strdup_printf ("--figure %s", whole);
  if (strchr (word, '.') != NULL
      || (spec_of (whole) == NULL && !g_str_equal (whole, "strategy.name")))
    return g_strdup_printf ("--set %s", whole);
  return g_strdup_printf ("--%s", g_strdelimit (word, "_", '-'));
}

char *
scenario_option_text (const char *key, const char *value)
{
  g_autofree char  *whole = scenario_whole_key (key), *word = scenario_option_word (key);
  g_autofree char  *quoted = printable_shell_word (value);
  const OptionSpec *spec = spec_of (whole);
  const gboolean    is_switch = spec != NULL && spec->type == OPTION_BOOL;

  return g_strdup_printf ("%s%s%s", word, is_switch || strchr (word, ' ') != NULL ? "=" : " ",
                          quoted);
}
