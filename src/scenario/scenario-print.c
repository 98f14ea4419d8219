/* A scenario as YAML, with every option that it uses. */
#include "scenario/scenario-private.h"

/* A reader of YAML 1.1 takes U+2028 and U+2029 for the end of a line, which quotes would fold. */
static gboolean
is_plain (gunichar u)
{
  return g_unichar_isprint (u) && g_unichar_type (u) != G_UNICODE_LINE_SEPARATOR
         && g_unichar_type (u) != G_UNICODE_PARAGRAPH_SEPARATOR;
}

/*
 * Double-quoted YAML, which needs no look at what the text might otherwise mean. What does not
 * print is escaped.
 */
static void
append_quoted (GString *out, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1); /* a file's name may be other bytes */

  g_string_append_c (out, '"');
  for (const char *c = valid; *c != '\0'; c = g_utf8_next_char (c))
    {
      gunichar u = g_utf8_get_char (c);

      if (u == '"' || u == '\\')
        g_string_append_printf (out, "\\%c", (char) u);
      else if (is_plain (u))
        g_string_append_unichar (out, u);
      else
        g_string_append_printf (out, "\\U%08X", u);
    }
  g_string_append_c (out, '"');
}

static void
append_indent (GString *out, guint indent)
{
  g_string_append_printf (out, "%*s", (int) indent, "");
}

/* What another option decides is not printed, or it would read back as given. */
static gboolean
is_decided (const OptionSpec *table, const OptionSpec *spec, gconstpointer structure)
{
  return spec->follows != NULL
         && !scenario_option_is_unset (option_table_find (table, spec->follows), structure);
}

static void
append_table (GString *out, guint indent, const OptionSpec *table, gconstpointer structure)
{
  for (const OptionSpec *spec = table; spec->key != NULL; spec++)
    {
      g_autofree char *text = NULL;

      if (scenario_option_is_unset (spec, structure) || is_decided (table, spec, structure))
        continue;
      text = option_format (spec, structure);
      append_indent (out, indent);
      g_string_append_printf (out, "%s: ", spec->key);
      if (spec->type == OPTION_INT || spec->type == OPTION_BOOL)
        g_string_append (out, text);
      else
        append_quoted (out, text);
      g_string_append_c (out, '\n');
    }
}

static gboolean
table_is_unset (const OptionSpec *table, gconstpointer structure)
{
  for (const OptionSpec *spec = table; spec->key != NULL; spec++)
    if (!scenario_option_is_unset (spec, structure))
      return FALSE;
  return TRUE;
}

char *
scenario_print (const Scenario *self)
{
  GString *out = g_string_new (NULL);
  guint    indent = 2;

  g_string_append (out, "name: ");
  append_quoted (out, self->name != NULL ? self->name : "");
  g_string_append_c (out, '\n');
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    {
      const ScenarioSection *section = &scenario_sections[i];
      gconstpointer          options = scenario_section_options (self, section);

      /* Without its name, a model that says nothing yet would read back as none. */
      g_string_append_printf (out, "%s:%s\n", section->name,
                              table_is_unset (section->table, options) ? " {}" : "");
      append_table (out, 2, section->table, options);
    }
  for (const StrategyConfig *c = self->strategy; c != NULL; c = c->inner, indent += 2)
    {
      append_indent (out, indent - 2);
      g_string_append (out, c == self->strategy ? "strategy:\n" : "inner:\n");
      append_indent (out, indent);
      g_string_append_printf (out, "name: %s\n", c->strategy->name);
      append_table (out, indent, scenario_strategy_table (c->strategy), c->options);
    }
  return g_string_free (out, FALSE);
}

char *
scenario_digest (const Scenario *self)
{
  g_autofree char *text = scenario_print (self);

  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
}

/* ---- one by one ------------------------------------------------------------------------------ */

const OptionSpec scenario_strategy_name = { .key = "name", .type = OPTION_STRING };

static void
setting_clear (gpointer data)
{
  g_free (((ScenarioSetting *) data)->value);
}

static void
add_settings (GArray *all, const char *section, const OptionSpec *table, gconstpointer structure)
{
  for (const OptionSpec *spec = table; spec->key != NULL; spec++)
    if (!scenario_option_is_unset (spec, structure))
      {
        ScenarioSetting setting = { g_intern_string (section), spec,
                                    option_format (spec, structure) };

        g_array_append_val (all, setting);
      }
}

GArray *
scenario_settings (const Scenario *self)
{
  GArray             *all = g_array_new (FALSE, FALSE, sizeof (ScenarioSetting));
  g_autoptr (GString) section = g_string_new ("strategy");

  g_array_set_clear_func (all, setting_clear);
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    add_settings (all, scenario_sections[i].name, scenario_sections[i].table,
                  scenario_section_options (self, &scenario_sections[i]));
  for (const StrategyConfig *c = self->strategy; c != NULL; c = c->inner)
    {
      ScenarioSetting name = { g_intern_string (section->str), &scenario_strategy_name,
                               g_strdup (c->strategy->name) };

      g_array_append_val (all, name);
      add_settings (all, section->str, scenario_strategy_table (c->strategy), c->options);
      g_string_append (section, ".inner");
    }
  return all;
}
