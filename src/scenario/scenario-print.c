/* A scenario as YAML, with every option that it uses. */
#include <string.h>

#include "base/file/file-roles.h"
#include "base/intern.h"
#include "scenario/scenario-private.h"

const OptionSpec scenario_strategy_name = { .key = "name", .type = OPTION_STRING };

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

      if (u >= ' ' && u < 0x7f && u != '"' && u != '\\')
        g_string_append_c (out, (char) u);
      else if (u == '"' || u == '\\')
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
  for (guint i = 0; i < indent; i++)
    g_string_append_c (out, ' ');
}

/* What another option decides is not printed, or it would read back as given. */
static gboolean
is_decided (const ScenarioSetting *self, const GArray *settings)
{
  for (guint i = 0; self->spec->follows != NULL && i < settings->len; i++)
    {
      const ScenarioSetting *other = &g_array_index (settings, ScenarioSetting, i);

      if (g_str_equal (other->spec->key, self->spec->follows)
          && g_str_equal (other->section, self->section))
        return TRUE;
    }
  return FALSE;
}

static void
append_setting (GString *out, guint indent, const ScenarioSetting *setting)
{
  OptionType type = setting->spec->type;

  append_indent (out, indent);
  g_string_append (out, setting->spec->key);
  g_string_append (out, ": ");
  if (type == OPTION_INT || type == OPTION_BOOL || setting->spec == &scenario_strategy_name)
    g_string_append (out, setting->value);
  else
    append_quoted (out, setting->value);
  g_string_append_c (out, '\n');
}

/* Without its name, a model that says nothing yet would read back as none. */
static void
append_section (GString *out, const char *name, const GArray *settings)
{
  gsize before;

  g_string_append_printf (out, "%s:\n", name);
  before = out->len;
  for (guint i = 0; i < settings->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (settings, ScenarioSetting, i);

      if (g_str_equal (setting->section, name) && !is_decided (setting, settings))
        append_setting (out, 2, setting);
    }
  if (out->len == before)
    g_string_insert (out, (gssize) before - 1, " {}");
}

static gboolean
tells_of (const GArray *settings, const char *section)
{
  for (guint i = 0; i < settings->len; i++)
    if (g_str_equal (g_array_index (settings, ScenarioSetting, i).section, section))
      return TRUE;
  return FALSE;
}

char *
scenario_print_settings (const char *name, const GArray *settings)
{
  GString *out = g_string_new ("name: ");
  guint    indent = 0;

  append_quoted (out, name != NULL ? name : "");
  g_string_append_c (out, '\n');
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    if (!scenario_sections[i].if_given || tells_of (settings, scenario_sections[i].name))
      append_section (out, scenario_sections[i].name, settings);
  /* a strategy's name comes before its options; one inside another is indented below it */
  for (guint i = 0; i < settings->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (settings, ScenarioSetting, i);

      if (!g_str_has_prefix (setting->section, "strategy"))
        continue;
      if (setting->spec == &scenario_strategy_name)
        {
          append_indent (out, indent);
          g_string_append (out, indent == 0 ? "strategy:\n" : "inner:\n");
          indent += 2;
        }
      append_setting (out, indent, setting);
    }
  return g_string_free (out, FALSE);
}

char *
scenario_print (const Scenario *self)
{
  g_autoptr (GArray) settings = scenario_settings (self);

  return scenario_print_settings (self->name, settings);
}

/* The file that TEXT, a value of SPEC, names; NULL: it names none. Newly allocated. */
static char *
named_file (const Scenario *self, const OptionSpec *spec, const char *text)
{
  g_autofree char *path = NULL;

  if (!spec->file)
    return NULL;
  path = self->base_dir != NULL && !g_path_is_absolute (text)
             ? g_build_filename (self->base_dir, text, NULL)
             : g_strdup (text);
  return g_file_test (path, G_FILE_TEST_IS_REGULAR) ? g_steal_pointer (&path) : NULL;
}

char *
scenario_print_in (const Scenario *self, const char *dir)
{
  g_autoptr (GArray) settings = scenario_settings (self);
  g_autofree char   *here =
      g_canonicalize_filename (self->base_dir != NULL ? self->base_dir : ".", NULL);
  g_autofree char *there = g_canonicalize_filename (dir, NULL);

  for (guint i = 0; i < settings->len && !g_str_equal (here, there); i++)
    {
      ScenarioSetting *setting = &g_array_index (settings, ScenarioSetting, i);
      g_autofree char *file = named_file (self, setting->spec, setting->value);

      if (file != NULL)
        {
          g_free (setting->value);
          setting->value = g_canonicalize_filename (file, NULL);
        }
    }
  return scenario_print_settings (self->name, settings);
}

char *
scenario_digest (const Scenario *self)
{
  g_autofree char *text = scenario_print (self);

  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
}

/* The hash of a file's contents; NULL where it cannot be read. */
static gpointer
hash_file (gconstpointer user, DiagList *diags)
{
  g_autofree char *text = NULL;
  gsize            length;

  (void) diags;
  if (file_roles_read (user) != 0 || !g_file_get_contents (user, &text, &length, NULL))
    return NULL;
  return g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *) text, length);
}

/* Adds the contents of the files that TABLE's texts name. */
static void
hash_files (const Scenario *self, const OptionSpec *table, gconstpointer structure,
            InputFiles *files, GChecksum *sum)
{
  g_autoptr (DiagList) none = diag_list_new ();

  for (const OptionSpec *spec = table; spec->key != NULL; spec++)
    if (spec->file && !scenario_option_is_unset (spec, structure))
      {
        g_autofree char *text = option_format (spec, structure);
        g_autofree char *path = named_file (self, spec, text);
        g_autofree char *key = g_strconcat ("hash of ", path, NULL);
        const char      *hash =
            path != NULL ? input_files_get (files, key, hash_file, path, g_free, none) : NULL;

        if (hash != NULL)
          g_checksum_update (sum, (const guchar *) hash, -1);
      }
}

char *
scenario_key (const Scenario *self, InputFiles *files)
{
  g_autofree char      *text = scenario_print (self);
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);

  g_checksum_update (sum, (const guchar *) strchr (text, '\n'), -1); /* after the name */
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    hash_files (self, scenario_sections[i].table,
                scenario_section_options (self, &scenario_sections[i]), files, sum);
  for (const StrategyConfig *c = self->strategy; c != NULL; c = c->inner)
    hash_files (self, scenario_strategy_table (c->strategy), c->options, files, sum);
  return g_strdup (g_checksum_get_string (sum));
}

/* ---- one by one ------------------------------------------------------------------------------ */

static void
setting_clear (gpointer data)
{
  g_free (((ScenarioSetting *) data)->value);
}

static void
add_settings (GArray *all, const char *section, const OptionSpec *table, gconstpointer structure)
{
  const char *kept = intern_text (section);

  for (const OptionSpec *spec = table; spec->key != NULL; spec++)
    if (!scenario_option_is_unset (spec, structure))
      {
        ScenarioSetting setting = { kept, spec, option_format (spec, structure), FALSE };

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
    if (!scenario_sections[i].if_given || option_marks_has_any (&self->marks[i]))
      add_settings (all, scenario_sections[i].name, scenario_sections[i].table,
                    scenario_section_options (self, &scenario_sections[i]));
  for (const StrategyConfig *c = self->strategy; c != NULL; c = c->inner)
    {
      ScenarioSetting name = { intern_text (section->str), &scenario_strategy_name,
                               g_strdup (c->strategy->name), FALSE };

      g_array_append_val (all, name);
      add_settings (all, section->str, scenario_strategy_table (c->strategy), c->options);
      g_string_append (section, ".inner");
    }
  return all;
}
