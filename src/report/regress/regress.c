/* `regress` for people, and as CSV and JSON. */
#include <math.h>

#include "report/document/html-private.h"
#include "report/document/json-private.h"
#include "report/prediction/describe.h"
#include "report/prediction/report.h"
#include "report/regress/regress-private.h"

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

/* ---- columns --------------------------------------------------------------------------------- */

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

static char *
show_was (const Column *column, gconstpointer row)
{
  char            *was = NULL;
  g_autofree char *now = NULL;

  (void) column;
  regress_cells (row, &was, &now);
  return was;
}

static char *
show_now (const Column *column, gconstpointer row)
{
  g_autofree char *was = NULL;
  char            *now = NULL;

  (void) column;
  regress_cells (row, &was, &now);
  return now;
}

static char *
show_limit (const Column *column, gconstpointer row)
{
  (void) column;
  return regress_cell_limit (&((const RegressChange *) row)->limit);
}

static char *
show_change (const Column *column, gconstpointer row)
{
  return regress_cell_change (column_number (column, row));
}

COLUMN_TEXT_OF (RegressChange, change_name, regress_change_name (p))
COLUMN_TEXT_OF (RegressChange, change_verdict, regress_verdict_name (p->verdict))
COLUMN_TEXT_OF (RegressChange, change_words_was, words_of (p->was))
COLUMN_TEXT_OF (RegressChange, change_words_now, words_of (p->now))
COLUMN_NUMBER_OF (RegressChange, change_was, number_of (p->was))
COLUMN_NUMBER_OF (RegressChange, change_now, number_of (p->now))
COLUMN_NUMBER_OF (RegressChange, change_limit, p->limit.any ? INFINITY : p->limit.value)

static const Column change_columns[] = {
  { "scenario", NULL, COLUMN_TEXT, COLUMN_CSV_ONLY, COLUMN_VIA (RegressChange, row, scenario) },
  { "result", "result", COLUMN_WORD, 0, .text = change_name,
    .about = "a column of the first table" },
  { "verdict", "verdict", COLUMN_WORD, 0, .text = change_verdict,
    .about = "`same`, `within`, `moved`, `new`" },
  { "baseline", "baseline", COLUMN_NUMBER, 0, .number = change_was, .show = show_was,
    .unit = "of the result", .about = "empty: none, or words" },
  { "now", "now", COLUMN_NUMBER, 0, .number = change_now, .show = show_now,
    .unit = "of the result" },
  { "change", "change", COLUMN_NUMBER, 0, COLUMN_MEMBER (RegressChange, change),
    .show = show_change, .unit = "ratio", .about = "(now - baseline) / \\|baseline\\|" },
  { "limit", "limit", COLUMN_NUMBER, 0, .number = change_limit, .show = show_limit,
    .unit = "ratio, or of the result", .about = "empty: any" },
  { "limit_is_relative", NULL, COLUMN_BOOL, 0, COLUMN_MEMBER (RegressChange, limit.relative),
    .unit = "", .about = "1 or 0" },
  { "baseline_words", NULL, COLUMN_WORD, 0, .text = change_words_was,
    .about = "of results in words" },
  { "now_words", NULL, COLUMN_WORD, 0, .text = change_words_now },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* ---- what moved, and why --------------------------------------------------------------------- */

static const RegressComparison *
comparison_at (const RegressAnswer *self, guint i)
{
  return g_ptr_array_index (self->comparisons, i);
}

static gboolean
differs (const RegressComparison *self)
{
  return self->n[REGRESS_MOVED] + self->n[REGRESS_WITHIN] > 0;
}

/* A scenario, and the result that is told of it. */
typedef struct
{
  const char *scenario, *result;
  guint       n[REGRESS_N];
  double      change;
} Line;

static void
describe_scenarios (Document *document, const RegressAnswer *self)
{
  static const Column columns[] = {
    { NULL, "scenario", COLUMN_WORD, 0, COLUMN_MEMBER (Line, scenario) },
    { NULL, "moved", COLUMN_COUNT, 0, COLUMN_MEMBER (Line, n[REGRESS_MOVED]) },
    { NULL, "within limits", COLUMN_COUNT, 0, COLUMN_MEMBER (Line, n[REGRESS_WITHIN]) },
    { NULL, "as before", COLUMN_COUNT, 0, COLUMN_MEMBER (Line, n[REGRESS_SAME]) },
    { NULL, "new", COLUMN_COUNT, 0, COLUMN_MEMBER (Line, n[REGRESS_NEW]) },
    { NULL, "result", COLUMN_WORD, 0, COLUMN_MEMBER (Line, result) },
    { NULL, "change", COLUMN_CHANGE, 0, COLUMN_MEMBER (Line, change), .show = show_change },
    { 0 },
  };
  const guint          n = self->comparisons->len;
  g_autofree Line     *lines = g_new0 (Line, n);
  g_autofree HtmlTone *tones = g_new (HtmlTone, n);
  const TableBlock     block = { columns, { lines, n, sizeof (Line) }, NULL };

  for (guint i = 0; i < n; i++)
    {
      const RegressComparison *one = comparison_at (self, i);
      guint                    index = 0;
      const RegressChange     *headline = regress_headline (one, &index);

      lines[i].scenario = one->now->scenario;
      lines[i].result = headline != NULL ? regress_change_name (headline) : "";
      lines[i].change = headline != NULL ? headline->change : NAN;
      for (guint v = 0; v < REGRESS_N; v++)
        lines[i].n[v] = one->n[v];
      tones[i] = one->n[REGRESS_MOVED] > 0 ? HTML_BAD : HTML_PLAIN;
    }
  document_section (document, "Scenarios");
  document_blocks (document, &block, 1, tones);
}

/* What changed, and what each does to the headline. */
static void
describe_causes (Document *document, const RegressComparison *self)
{
  guint                index = 0;
  const RegressChange *headline = regress_headline (self, &index);
  g_autoptr (GArray)   effects = regress_effects_of (self, headline, index);
  g_autofree char     *alone =
      g_strdup_printf ("%s%salone", headline != NULL ? regress_change_name (headline) : "",
                       headline != NULL ? " " : "");
  const Column columns[] = {
    { NULL, "what changed", COLUMN_WORD, 0, COLUMN_MEMBER (RegressEffect, text) },
    { NULL, alone, COLUMN_CHANGE, 0, COLUMN_MEMBER (RegressEffect, effect), .show = show_change },
    { 0 },
  };

  if (self->causes->len == 0)
    document_line (document, "%s", g_array_index (effects, RegressEffect, 0).text);
  else
    document_table (document, columns, rows_of_array (effects));
}

static void
describe_changes (Document *document, const RegressComparison *self)
{
  g_autoptr (GPtrArray) changes = g_ptr_array_new ();
  g_autoptr (GArray)    tones = g_array_new (FALSE, FALSE, sizeof (HtmlTone));
  TableBlock            block = { change_columns, { 0 }, NULL };

  for (guint i = 0; i < self->changes->len; i++)
    {
      RegressChange *change = &g_array_index (self->changes, RegressChange, i);
      const HtmlTone tone = change->verdict == REGRESS_MOVED ? HTML_BAD : HTML_PLAIN;

      if (change->verdict == REGRESS_SAME || change->verdict == REGRESS_NEW)
        continue;
      g_ptr_array_add (changes, change);
      g_array_append_val (tones, tone);
    }
  block.rows = rows_of_pointers (changes);
  document_section (document, self->now->scenario);
  document_blocks (document, &block, 1, (const HtmlTone *) (void *) tones->data);
  describe_causes (document, self);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

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
                          column_list (change_columns, rows_of_array (self->changes)));
  return one;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Versions of the rows of the baseline, each once. */
static void
describe_baseline (Document *document, const RegressAnswer *self)
{
  g_autoptr (GPtrArray)  none = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GString)    versions = g_string_new (NULL);

  for (guint i = 0; i < self->comparisons->len; i++)
    {
      const RegressRow *was = comparison_at (self, i)->was;

      if (was != NULL && g_hash_table_add (seen, was->program_version))
        g_string_append_printf (versions, "%s%s", versions->len > 0 ? ", " : "",
                                was->program_version);
    }
  describe_provenance (document, none);
  document_fact (document, "baseline", g_strdup (self->baseline), NULL);
  document_fact (document, "the baseline was made by", g_strdup (versions->str),
                 "shardsim's version");
}

static void
describe (Document *document, gconstpointer answer)
{
  const RegressAnswer *self = answer;
  const guint          n_moved = regress_n_moved (self->comparisons);
  struct json_object  *root = document_json (document), *list = json_object_new_array ();
  g_autofree char     *summary = regress_summary (self->comparisons, self->baseline);
  g_autoptr (GArray)   all = g_array_new (FALSE, FALSE, sizeof (RegressChange));

  document_title (document, "Predictions against '%s'", self->baseline);
  document_verdict (document, n_moved > 0 ? HTML_BAD : HTML_GOOD, "%s", summary);
  describe_scenarios (document, self);
  for (guint i = 0; i < self->comparisons->len; i++)
    {
      const RegressComparison *one = comparison_at (self, i);

      json_object_array_add (list, comparison_json (one));
      g_array_append_vals (all, one->changes->data, one->changes->len);
      if (one->was != NULL && differs (one))
        describe_changes (document, one);
    }
  if (n_moved > 0 && self->update != NULL)
    {
      document_section (document, "If that is wanted");
      document_line (document,
                     "This writes the predictions of today into the baseline; look at its "
                     "diff, as of any change.");
      document_copyable (document, self->update);
    }
  if (root != NULL)
    {
      json_add_text (root, "baseline", self->baseline);
      json_add_count (root, "moved", n_moved);
      json_object_object_add (root, "scenarios", json_object_get (list));
    }
  json_object_put (list);
  document_results (document, NULL, change_columns, rows_of_array (all));
  if (document_page (document) != NULL)
    describe_baseline (document, self);
}

const PageKind regress_page = { .describe = describe, .columns = change_columns };
