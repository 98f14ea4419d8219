/* What moved and why, as a page: `regress --html`. */
#include <math.h>

#include "report/html-private.h"
#include "report/regress-private.h"

#define MAX_ROWS 2000 /* of results that differ */

static const RegressComparison *
comparison_at (const RegressAnswer *self, guint i)
{
  return g_ptr_array_index (self->comparisons, i);
}

static const RegressChange *
change_at (const RegressComparison *self, guint i)
{
  return &g_array_index (self->changes, RegressChange, i);
}

static HtmlTone
tone_of (const RegressComparison *self)
{
  return self->n[REGRESS_MOVED] > 0 ? HTML_BAD : HTML_PLAIN;
}

static void
add_count (HtmlTable *table, guint n)
{
  g_autofree char *text = g_strdup_printf ("%u", n);

  html_table_add_number (table, text, n);
}

static void
add_change (HtmlTable *table, double change)
{
  g_autofree char *text = regress_cell_change (change);

  html_table_add_number (table, text, change);
}

/* ---- each scenario --------------------------------------------------------------------------- */

static void
add_scenarios (HtmlPage *page, const RegressAnswer *self)
{
  static const HtmlColumn columns[] = {
    { "scenario", FALSE }, { "moved", TRUE },   { "within", TRUE }, { "as before", TRUE },
    { "new", TRUE },       { "result", FALSE }, { "change", TRUE },
  };
  HtmlTable *table = html_table_new (columns, G_N_ELEMENTS (columns));

  html_page_add_section (page, "Scenarios");
  for (guint i = 0; i < self->comparisons->len; i++)
    {
      const RegressComparison *one = comparison_at (self, i);
      guint                    index = 0;
      const RegressChange     *headline = regress_headline (one, &index);

      html_table_mark_row (table, tone_of (one));
      html_table_add_text (table, one->now->scenario);
      add_count (table, one->n[REGRESS_MOVED]);
      add_count (table, one->n[REGRESS_WITHIN]);
      add_count (table, one->n[REGRESS_SAME]);
      add_count (table, one->n[REGRESS_NEW]);
      html_table_add_text (table, headline != NULL ? regress_change_name (headline) : "");
      add_change (table, headline != NULL ? headline->change : NAN);
    }
  html_page_take_table (page, table);
}

/* ---- each result that differs ---------------------------------------------------------------- */

static gboolean
differs (const RegressChange *change)
{
  return change->verdict == REGRESS_MOVED || change->verdict == REGRESS_WITHIN;
}

static void
add_number_or_none (HtmlTable *table, const RegressResult *result, const char *text)
{
  if (result != NULL && result->text == NULL)
    html_table_add_number (table, text, result->number);
  else
    html_table_add_text (table, text);
}

static void
add_row (HtmlTable *table, const RegressComparison *one, const RegressChange *change)
{
  g_autofree char *was = NULL, *now = NULL;
  g_autofree char *limit = regress_cell_limit (&change->limit);

  regress_cells (change, &was, &now);
  html_table_mark_row (table, change->verdict == REGRESS_MOVED ? HTML_BAD : HTML_PLAIN);
  html_table_add_text (table, one->now->scenario);
  html_table_add_text (table, regress_change_name (change));
  add_number_or_none (table, change->was, was);
  add_number_or_none (table, change->now, now);
  add_change (table, change->change);
  html_table_add_number (table, limit, change->limit.any ? INFINITY : change->limit.value);
  html_table_add_text (table, regress_verdict_name (change->verdict));
}

/* How many results differ in all. */
static guint
count_differing (const RegressAnswer *self)
{
  guint n = 0;

  for (guint i = 0; i < self->comparisons->len; i++)
    n += comparison_at (self, i)->n[REGRESS_MOVED] + comparison_at (self, i)->n[REGRESS_WITHIN];
  return n;
}

static void
add_changes (HtmlPage *page, const RegressAnswer *self)
{
  static const HtmlColumn columns[] = {
    { "scenario", FALSE }, { "result", FALSE },   { "baseline", TRUE }, { "now", TRUE },
    { "change", TRUE },    { "tolerance", TRUE }, { "verdict", FALSE },
  };
  HtmlTable *table = html_table_new (columns, G_N_ELEMENTS (columns));
  guint      n = 0;

  for (guint i = 0; i < self->comparisons->len; i++)
    for (guint c = 0; c < comparison_at (self, i)->changes->len; c++)
      if (differs (change_at (comparison_at (self, i), c)) && n++ < MAX_ROWS)
        add_row (table, comparison_at (self, i), change_at (comparison_at (self, i), c));
  html_page_add_section (page, "What moved");
  html_page_take_table (page, table);
  if (n > MAX_ROWS)
    html_page_add_text (page, "%u more differ: --format csv has all.", n - MAX_ROWS);
  html_page_add_text (page, "A tolerance of 0: any difference beyond 1e-9 of the number moves. "
                            "--tolerance RESULT=0.5%% allows so much of the baseline's number, "
                            "RESULT=0.25 so much in its unit, RESULT=any whatever it likes.");
}

/* ---- why ------------------------------------------------------------------------------------- */

static void
add_causes (HtmlPage *page, const RegressComparison *one)
{
  guint                index = 0;
  const RegressChange *headline = regress_headline (one, &index);
  g_autoptr (GArray)   causes = regress_effects_of (one, headline, index);
  g_autofree char     *alone = headline != NULL
                                   ? g_strdup_printf ("%s alone", regress_change_name (headline))
                                   : g_strdup ("alone");
  const HtmlColumn     columns[] = { { "what changed", FALSE }, { alone, TRUE } };
  HtmlTable           *table = html_table_new (columns, G_N_ELEMENTS (columns));

  html_page_add_subheading (page, one->now->scenario);
  for (guint i = 0; i < causes->len; i++)
    {
      const RegressEffect *cause = &g_array_index (causes, RegressEffect, i);

      html_table_add_text (table, cause->text);
      add_change (table, cause->effect);
    }
  html_page_take_table (page, table);
}

static void
add_reasons (HtmlPage *page, const RegressAnswer *self)
{
  html_page_add_section (page, "Why");
  for (guint i = 0; i < self->comparisons->len; i++)
    {
      const RegressComparison *one = comparison_at (self, i);

      if (one->n[REGRESS_MOVED] + one->n[REGRESS_WITHIN] > 0)
        add_causes (page, one);
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

static void
add_all_results (HtmlPage *page, const RegressAnswer *self)
{
  g_autoptr (GString) csv = g_string_new (NULL);

  report_regress_csv (self->comparisons, self->baseline, csv);
  html_page_add_section (page, "All results");
  html_page_begin_fold (page, "Every column of --format csv");
  html_page_add_csv (page, csv->str);
  html_page_end_fold (page);
}

/* Versions of the rows of the baseline, each once. */
static void
add_provenance (HtmlPage *page, const RegressAnswer *self)
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
  html_page_add_section (page, "Provenance");
  page_add_provenance (page, none);
  {
    const HtmlFact facts[] = {
      { "baseline", self->baseline, NULL },
      { "the baseline was made by", versions->str, "shardsim's version" },
    };

    html_page_add_facts (page, facts, G_N_ELEMENTS (facts));
  }
}

static char *
title (gconstpointer answer)
{
  return g_strdup_printf ("Predictions against '%s'", ((const RegressAnswer *) answer)->baseline);
}

static void
fill (HtmlPage *page, const PagePictures *pictures, gconstpointer answer)
{
  const RegressAnswer *self = answer;
  g_autofree char     *summary = regress_summary (self->comparisons, self->baseline);
  const gboolean       moved = regress_n_moved (self->comparisons) > 0;

  (void) pictures;
  html_page_add_verdict (page, moved ? HTML_BAD : HTML_GOOD, summary);
  add_scenarios (page, self);
  if (count_differing (self) > 0)
    {
      add_reasons (page, self);
      add_changes (page, self);
    }
  html_page_add_section (page, "If that is wanted");
  html_page_add_text (page, "This writes the predictions of today into the baseline; look at its "
                            "diff, as of any change.");
  html_page_add_copyable (page, self->update);
  add_all_results (page, self);
  add_provenance (page, self);
}

const PageKind regress_page = { title, NULL, fill };
