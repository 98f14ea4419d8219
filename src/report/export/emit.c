#include "report/export/emit.h"

#include <string.h>

#include "base/file/layout.h"
#include "report/export/emit-facts.h"
#include "report/export/emit-write.h"

typedef struct
{
  const Framework *framework;
  GArray          *facts;
  char           **texts; /* of each of the framework's options; NULL: not set */
  GPtrArray       *notes;
  guint            n_refused;
  DiagList        *diags; /* NULL: refusals are counted only */
} Emission;

/* ---- matching -------------------------------------------------------------------------------- */

/* Conditions on settings that there are not do not hold. */
static gboolean
conditions_hold (const Emission *self, const GPtrArray *when)
{
  for (guint i = 0; i < when->len; i++)
    {
      const FrameworkMatch *match = g_ptr_array_index (when, i);
      const EmitSetting    *setting = emit_facts_find (self->facts, match->name);
      const char           *rest;

      if (setting == NULL || !framework_values_match (match->values, setting->value, &rest))
        return FALSE;
    }
  return TRUE;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static char *
base_units (const EmitSetting *setting)
{
  char   text[G_ASCII_DTOSTR_BUF_SIZE];
  double value;

  if (setting->spec == NULL || setting->spec->type != OPTION_QUANTITY
      || !quantity_parse (setting->spec->kind, setting->value, &value, NULL))
    return g_strdup (setting->value);
  return g_strdup (g_ascii_formatd (text, sizeof text, "%.15g", value));
}

/* "$NAME" of TEXT by what they stand for. Newly allocated. */
static char *
expand (const Emission *self, const char *text, const EmitSetting *setting, const char *rest)
{
  GString *out = g_string_new (NULL);

  while (*text != '\0')
    {
      const gsize n =
          *text == '$' ? strspn (text + 1, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "._") : 0;
      g_autofree char   *name = g_strndup (text + 1, n);
      const EmitSetting *other = n > 0 ? emit_facts_find (self->facts, name) : NULL;

      if (n == 0)
        g_string_append_c (out, *text);
      else if (g_str_equal (name, "value"))
        g_string_append (out, setting->value);
      else if (g_str_equal (name, "rest"))
        g_string_append (out, rest);
      else if (g_str_equal (name, "number"))
        {
          g_autofree char *number = base_units (setting);

          g_string_append (out, number);
        }
      else if (other != NULL)
        g_string_append (out, other->value);
      else
        g_string_append_printf (out, "$%s", name);
      text += n + 1;
    }
  return g_string_free (out, FALSE);
}

/* As users know it. */
static const char *
shown_name (const EmitSetting *setting)
{
  return setting->spec == NULL ? strchr (setting->name, '.') + 1 : setting->name;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void
refuse (Emission *self, const EmitSetting *setting, const char *reason)
{
  self->n_refused++;
  if (self->diags != NULL)
    diag_error (self->diags, setting->mark, reason, "%s cannot say '%s: %s'",
                self->framework->title, shown_name (setting), setting->value);
}

static void
apply (Emission *self, const FrameworkRule *rule, const EmitSetting *setting, const char *rest)
{
  const FrameworkOption *option;
  g_autofree char       *text = expand (self, rule->text, setting, rest);

  switch (rule->action)
    {
    case RULE_SET:
      option = g_ptr_array_index (self->framework->options, rule->option);
      if (!framework_option_accepts (option, text))
        {
          g_autofree char *reason = g_strdup_printf ("'%s' does not take '%s'", option->key, text);

          refuse (self, setting, reason);
          break;
        }
      g_free (self->texts[rule->option]);
      self->texts[rule->option] = g_steal_pointer (&text);
      break;
    case RULE_NOTE:
      g_ptr_array_add (self->notes,
                       g_strdup_printf ("%s: %s: %s", shown_name (setting), setting->value, text));
      break;
    case RULE_REFUSE:
      refuse (self, setting, text);
      break;
    case RULE_SKIP:
      break;
    }
}

/* What matches values that no row above it is for. */
static gboolean
is_otherwise (const FrameworkRule *rule)
{
  return g_str_equal (rule->match.values[0], "otherwise");
}

/* Whether a rule of RULES is for SETTING. */
static gboolean
apply_rules (Emission *self, const GPtrArray *rules, const EmitSetting *setting)
{
  gboolean any = FALSE;

  for (guint r = 0; r < rules->len; r++)
    {
      const FrameworkRule *rule = g_ptr_array_index (rules, r);
      const char          *rest;

      if (!framework_pattern_matches (rule->match.name, setting->name, &rest)
          || (is_otherwise (rule)
                  ? any
                  : !framework_values_match (rule->match.values, setting->value, &rest))
          || !conditions_hold (self, rule->when))
        continue;
      apply (self, rule, setting, rest);
      any = TRUE;
    }
  return any;
}

/* The options of a strategy that is refused say nothing more. */
static void
emission_run (Emission *self)
{
  gboolean refused = FALSE;

  for (guint i = 0; i < self->facts->len; i++)
    {
      const EmitSetting *setting = &g_array_index (self->facts, EmitSetting, i);
      const guint        before = self->n_refused;

      if (refused && g_str_has_prefix (setting->name, "strategy."))
        continue;
      if (!apply_rules (self, self->framework->rules, setting)
          && !apply_rules (self, self->framework->common, setting) && setting->spec != NULL)
        refuse (self, setting, NULL);
      refused |= setting->spec == &scenario_strategy_name && self->n_refused > before;
    }
}

static void
emission_init (Emission *self, const Framework *framework, const ResolvedScenario *resolved,
               DiagList *diags)
{
  *self = (Emission){ .framework = framework,
                      .facts = emit_facts (resolved),
                      .texts = g_new0 (char *, framework->options->len),
                      .notes = g_ptr_array_new_with_free_func (g_free),
                      .diags = diags };
  emission_run (self);
}

static void
emission_clear (Emission *self)
{
  for (guint i = 0; i < self->framework->options->len; i++)
    g_free (self->texts[i]);
  g_free (self->texts);
  g_ptr_array_unref (self->notes);
  g_array_unref (self->facts);
}

/* ---- who can --------------------------------------------------------------------------------- */

static gboolean
can_say (const Framework *framework, const ResolvedScenario *resolved)
{
  Emission emission;
  gboolean can;

  emission_init (&emission, framework, resolved, NULL);
  can = emission.n_refused == 0;
  emission_clear (&emission);
  return can;
}

char *
emit_runners (const GPtrArray *frameworks, const ResolvedScenario *resolved)
{
  g_autoptr (GString) able = g_string_new (NULL);

  for (guint i = 0; i < frameworks->len; i++)
    {
      const Framework *framework = g_ptr_array_index (frameworks, i);

      if (can_say (framework, resolved))
        g_string_append_printf (able, "%s%s", able->len > 0 ? ", " : "", framework->name);
    }
  return able->len > 0 ? g_strdup (able->str) : NULL;
}

static void
name_others (const Emission *self, const ResolvedScenario *resolved)
{
  g_autoptr (DiagList)  untold = diag_list_new ();
  g_autoptr (GPtrArray) all = framework_load_all (TRUE, untold);
  g_autofree char      *able = emit_runners (all, resolved);
  g_autofree char      *hint = able != NULL ? g_strconcat ("these can: ", able, NULL) : NULL;

  diag_error (self->diags, NULL, hint != NULL ? hint : "no other framework here can",
              "%s cannot run this scenario: it lacks %u of its options", self->framework->title,
              self->n_refused);
}

/* ---- the file -------------------------------------------------------------------------------- */

static GArray *
collect (const Emission *self)
{
  GArray *values = g_array_new (FALSE, FALSE, sizeof (EmitValue));

  for (guint i = 0; i < self->framework->options->len; i++)
    if (self->texts[i] != NULL)
      {
        EmitValue value = { g_ptr_array_index (self->framework->options, i), self->texts[i] };

        g_array_append_val (values, value);
      }
  return values;
}

static void
write_comments (const Emission *self, const EmitFormat *format, const char *scenario, GString *out)
{
  g_autofree char *first = g_strdup_printf ("%s, written by shardsim %s for %s", scenario,
                                            layout_program_version (), self->framework->version);

  if (format->comment == NULL)
    {
      for (guint i = 0; i < self->notes->len; i++)
        diag_warning (self->diags, NULL, NULL, "%s: %s", self->framework->title,
                      (const char *) g_ptr_array_index (self->notes, i));
      return;
    }
  format->comment (first, out);
  if (self->notes->len > 0)
    format->comment ("Of the scenario, what these settings do not say:", out);
  for (guint i = 0; i < self->notes->len; i++)
    format->comment (g_ptr_array_index (self->notes, i), out);
}

gboolean
emit_settings (const Framework *self, const ResolvedScenario *resolved, GString *out,
               DiagList *diags)
{
  const EmitFormat *format = emit_format_find (self->format, diags);
  const char       *name = resolved->scenario->name;
  Emission          emission;
  gboolean          good;

  if (format == NULL)
    return FALSE;
  emission_init (&emission, self, resolved, diags);
  good = emission.n_refused == 0;
  if (good)
    {
      g_autoptr (GArray) values = collect (&emission);

      write_comments (&emission, format, name != NULL ? name : "a scenario", out);
      format->write (values, out);
    }
  else
    name_others (&emission, resolved);
  emission_clear (&emission);
  return good;
}
