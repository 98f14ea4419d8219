/* `regress` for people, and as CSV and JSON. */
#include <math.h>

#include "report/fields-private.h"
#include "report/regress-private.h"
#include "report/report.h"
#include "report/terminal-private.h"

/* ---- words ----------------------------------------------------------------------------------- */

guint
regress_n_moved (const GPtrArray *comparisons)
{
  guint n = 0;

  for (guint i = 0; i < comparisons->len; i++)
    n += ((RegressComparison *) g_ptr_array_index (comparisons, i))->n[REGRESS_MOVED] > 0;
  return n;
}

char *
regress_summary (const GPtrArray *comparisons, const char *baseline)
{
  const guint moved = regress_n_moved (comparisons);
  guint       n_new = 0;
  GString    *text = g_string_new (NULL);

  for (guint i = 0; i < comparisons->len; i++)
    n_new += ((RegressComparison *) g_ptr_array_index (comparisons, i))->was == NULL;
  g_string_printf (text, "%u %s against '%s': %u moved, %u as before", comparisons->len,
                   comparisons->len == 1 ? "scenario" : "scenarios", baseline, moved,
                   comparisons->len - moved - n_new);
  if (n_new > 0)
    g_string_append_printf (text, ", %u new", n_new);
  return g_string_free (text, FALSE);
}

const char *
regress_change_name (const RegressChange *change)
{
  return change->now != NULL ? change->now->name : change->was->name;
}

static char *
result_text (const RegressResult *result, guint digits)
{
  if (result == NULL || (result->text == NULL && isnan (result->number)))
    return g_strdup ("none");
  if (result->text != NULL)
    return g_strdup (result->text);
  return digits > 16 ? number_format_exact (result->number)
                     : g_strdup_printf ("%.*g", (int) digits, result->number);
}

void
regress_cells (const RegressChange *change, char **was, char **now)
{
  for (guint digits = 5; digits <= 17; digits++)
    {
      *was = result_text (change->was, digits);
      *now = result_text (change->now, digits);
      if (digits == 17 || change->verdict == REGRESS_SAME || !g_str_equal (*was, *now))
        return;
      g_free (*was);
      g_free (*now);
    }
}

char *
regress_cell_change (double change)
{
  if (!isfinite (change))
    return g_strdup ("");
  return fabs (change) >= 0.0005 || change == 0 ? g_strdup_printf ("%+.1f %%", 100 * change)
                                                : g_strdup_printf ("%+.2g %%", 100 * change);
}

char *
regress_cell_limit (const RegressLimit *limit)
{
  if (limit->any || limit->value == 0)
    return g_strdup (limit->any ? "any" : "0");
  return limit->relative ? g_strdup_printf ("%g %%", 100 * limit->value)
                         : g_strdup_printf ("%g", limit->value);
}

char *
regress_change_text (const RegressChange *change)
{
  g_autofree char *was = NULL, *now = NULL;
  g_autofree char *percent = regress_cell_change (change->change);
  g_autofree char *limit = regress_cell_limit (&change->limit);

  regress_cells (change, &was, &now);
  return g_strdup_printf ("%s %s -> %s (%s%slimit %s)", regress_change_name (change), was, now,
                          percent, *percent != '\0' ? ", " : "", limit);
}

char *
regress_cause_text (const RegressCause *cause)
{
  const gboolean option = g_str_equal (cause->group, "options");

  return g_strdup_printf ("%s%s%s: %s -> %s", option ? "option" : cause->group,
                          *cause->key != '\0' ? " " : "", cause->key,
                          cause->was != NULL ? cause->was : "unset",
                          cause->now != NULL ? cause->now : "unset");
}

char *
regress_program_text (const RegressComparison *self)
{
  const char      *was = self->was->program_version, *now = self->now->program_version;
  g_autofree char *program = g_str_equal (was, now)
                                 ? g_strdup_printf ("another build of shardsim %s", now)
                                 : g_strdup_printf ("shardsim %s -> %s", was, now);

  if (self->causes->len == 0)
    return g_strconcat ("no input changed: ", program, NULL);
  return g_steal_pointer (&program);
}

double
regress_effect (const GArray *effects, guint index)
{
  return effects != NULL ? g_array_index (effects, double, index) : NAN;
}

static void
clear_effect (gpointer data)
{
  g_free (((RegressEffect *) data)->text);
}

/* Takes TEXT. */
static void
take_effect (GArray *effects, char *text, double value)
{
  const RegressEffect effect = { text, value };

  g_array_append_val (effects, effect);
}

GArray *
regress_effects_of (const RegressComparison *self, const RegressChange *headline, guint index)
{
  GArray      *effects = g_array_new (FALSE, FALSE, sizeof (RegressEffect));
  const double program = regress_effect (self->program, index);
  double       rest = headline != NULL ? headline->change - program : NAN;

  g_array_set_clear_func (effects, clear_effect);
  for (guint i = 0; i < self->causes->len; i++)
    {
      const RegressCause *cause = &g_array_index (self->causes, RegressCause, i);

      rest -= regress_effect (cause->effects, index);
      take_effect (effects, regress_cause_text (cause), regress_effect (cause->effects, index));
    }
  if (self->causes->len == 0 || fabs (program) > REGRESS_EQUAL)
    take_effect (effects, regress_program_text (self), program);
  if (self->causes->len > 0 && fabs (rest) > 1e-6)
    take_effect (effects, g_strdup ("these together, beyond each alone"), rest);
  return effects;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void
append_changes (const RegressComparison *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "RESULT", FALSE }, { "BASELINE", TRUE }, { "NOW", TRUE },
    { "CHANGE", TRUE },  { "LIMIT", TRUE },    { "", FALSE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < self->changes->len; i++)
    {
      const RegressChange *change = &g_array_index (self->changes, RegressChange, i);
      char                *cells[7] = { NULL };

      if (change->verdict == REGRESS_SAME || change->verdict == REGRESS_NEW)
        continue;
      cells[0] = g_strdup (regress_change_name (change));
      regress_cells (change, &cells[1], &cells[2]);
      cells[3] = regress_cell_change (change->change);
      cells[4] = regress_cell_limit (&change->limit);
      cells[5] = g_strdup (regress_verdict_name (change->verdict));
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

/* What changed, and what each does to the headline. */
static void
append_causes (const RegressComparison *self, GString *out)
{
  guint                  index = 0;
  const RegressChange   *headline = regress_headline (self, &index);
  g_autoptr (GArray)     effects = regress_effects_of (self, headline, index);
  g_autofree char       *title = headline != NULL
                                     ? g_strdup_printf ("%s ALONE", regress_change_name (headline))
                                     : g_strdup ("");
  const TerminalColumn   columns[] = { { "WHAT CHANGED", FALSE }, { title, TRUE } };
  struct libscols_table *table;

  if (self->causes->len == 0)
    {
      g_string_append_printf (out, "%s\n", g_array_index (effects, RegressEffect, 0).text);
      return;
    }
  table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  for (guint i = 0; i < effects->len; i++)
    {
      const RegressEffect *effect = &g_array_index (effects, RegressEffect, i);
      char *cells[3] = { g_strdup (effect->text), regress_cell_change (effect->effect), NULL };

      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

void
report_regress_text (const GPtrArray *comparisons, const char *baseline, GString *out)
{
  g_autofree char *summary = regress_summary (comparisons, baseline);

  for (guint i = 0; i < comparisons->len; i++)
    {
      const RegressComparison *self = g_ptr_array_index (comparisons, i);

      if (self->was == NULL || self->n[REGRESS_SAME] == self->changes->len)
        continue;
      g_string_append_printf (out, "%s: %u of %u results moved", self->now->scenario,
                              self->n[REGRESS_MOVED], self->changes->len);
      if (self->n[REGRESS_WITHIN] > 0)
        g_string_append_printf (out, ", %u within limits", self->n[REGRESS_WITHIN]);
      if (self->n[REGRESS_NEW] > 0)
        g_string_append_printf (out, ", %u new", self->n[REGRESS_NEW]);
      g_string_append (out, "\n\n");
      if (self->n[REGRESS_MOVED] + self->n[REGRESS_WITHIN] == 0)
        continue;
      append_changes (self, out);
      g_string_append_c (out, '\n');
      append_causes (self, out);
      g_string_append_c (out, '\n');
    }
  g_string_append_printf (out, "%s\n", summary);
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

static double
number_of (const RegressResult *result)
{
  return result != NULL ? result->number : NAN;
}

static const char *
words_of (const RegressResult *result)
{
  return result != NULL ? result->text : NULL;
}

FIELD_TEXT_OF (RegressChange, change_scenario, p->row->scenario)
FIELD_TEXT_OF (RegressChange, change_name, regress_change_name (p))
FIELD_TEXT_OF (RegressChange, change_verdict, regress_verdict_name (p->verdict))
FIELD_TEXT_OF (RegressChange, change_words_was, words_of (p->was))
FIELD_TEXT_OF (RegressChange, change_words_now, words_of (p->now))
FIELD_NUMBER_OF (RegressChange, change_was, number_of (p->was))
FIELD_NUMBER_OF (RegressChange, change_now, number_of (p->now))
FIELD_NUMBER_OF (RegressChange, change_relative, p->change)
FIELD_NUMBER_OF (RegressChange, change_limit, p->limit.any ? INFINITY : p->limit.value)
FIELD_NUMBER_OF (RegressChange, change_limit_relative, p->limit.relative)

static const Field change_fields[] = {
  { .name = "scenario", .text = change_scenario, .place = FIELD_IN_CSV },
  { .name = "result", .type = FIELD_WORD, .text = change_name },
  { .name = "verdict", .type = FIELD_WORD, .text = change_verdict },
  { .name = "baseline", .type = FIELD_NUMBER, .number = change_was },
  { .name = "now", .type = FIELD_NUMBER, .number = change_now },
  { .name = "change", .type = FIELD_NUMBER, .number = change_relative },
  { .name = "limit", .type = FIELD_NUMBER, .number = change_limit },
  { .name = "limit_is_relative", .type = FIELD_BOOL, .number = change_limit_relative },
  { .name = "baseline_words", .type = FIELD_WORD, .text = change_words_was },
  { .name = "now_words", .type = FIELD_WORD, .text = change_words_now },
  FIELDS_OF_THE_PROGRAM,
  { 0 },
};

void
report_regress_csv (const GPtrArray *comparisons, const char *baseline, GString *out)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (RegressChange));

  (void) baseline;
  for (guint i = 0; i < comparisons->len; i++)
    {
      const GArray *changes = ((RegressComparison *) g_ptr_array_index (comparisons, i))->changes;

      g_array_append_vals (all, changes->data, changes->len);
    }
  fields_csv (change_fields, all->data, all->len, sizeof (RegressChange), out);
}

/* {"step_time_s": 0.032, ...} of what moved; NULL where nobody simulated it. */
static struct json_object *
effects_json (const RegressComparison *self, const GArray *effects)
{
  struct json_object *object = effects != NULL ? json_object_new_object () : NULL;

  for (guint i = 0; effects != NULL && i < self->changes->len; i++)
    {
      const RegressChange *change = &g_array_index (self->changes, RegressChange, i);

      if (change->verdict != REGRESS_SAME && isfinite (regress_effect (effects, i)))
        json_add_number (object, regress_change_name (change), regress_effect (effects, i));
    }
  return object;
}

static struct json_object *
causes_json (const RegressComparison *self)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < self->causes->len; i++)
    {
      const RegressCause *cause = &g_array_index (self->causes, RegressCause, i);
      struct json_object *one = json_object_new_object ();

      json_add_text (one, "group", cause->group);
      json_add_text (one, "key", cause->key);
      json_add_text (one, "baseline", cause->was);
      json_add_text (one, "now", cause->now);
      json_object_object_add (one, "effects", effects_json (self, cause->effects));
      json_object_array_add (list, one);
    }
  return list;
}

static struct json_object *
comparison_json (const RegressComparison *self)
{
  struct json_object *one = json_object_new_object ();

  json_add_text (one, "scenario", self->now->scenario);
  json_object_object_add (one, "moved", json_object_new_boolean (self->n[REGRESS_MOVED] > 0));
  json_add_text (one, "baseline_version", self->was != NULL ? self->was->program_version : NULL);
  json_object_object_add (one, "inputs", causes_json (self));
  json_object_object_add (one, "program_effects", effects_json (self, self->program));
  json_object_object_add (one, "results",
                          fields_json_list (change_fields, self->changes->data, self->changes->len,
                                            sizeof (RegressChange)));
  return one;
}

void
report_regress_json (const GPtrArray *comparisons, const char *baseline, GString *out)
{
  struct json_object *root = json_document_new (), *list = json_object_new_array ();

  json_add_text (root, "baseline", baseline);
  json_add_count (root, "moved", regress_n_moved (comparisons));
  for (guint i = 0; i < comparisons->len; i++)
    json_object_array_add (list, comparison_json (g_ptr_array_index (comparisons, i)));
  json_object_object_add (root, "scenarios", list);
  json_finish (root, out);
}
