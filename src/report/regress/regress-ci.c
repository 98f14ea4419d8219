/* `regress` for CI servers: JUnit XML, Markdown, annotations. */
#include <math.h>
#include <string.h>

#include "base/config/printable.h"
#include "report/regress/regress-private.h"

/* ---- what moved it, in words ----------------------------------------------------------------- */

/*
 * A line with BULLET for each cause, with what it does to CHANGE INDEX: "gpu h100-sxm-80
 * matmul_efficiency: 0.71 -> 0.68 (alone: step_time_s +3.2 %)".
 */
static void
append_causes_of (const RegressComparison *self, guint index, const char *bullet, GString *out)
{
  const RegressChange *change = &g_array_index (self->changes, RegressChange, index);
  const double         program = regress_effect (self->program, index);
  g_autofree char     *said = regress_program_text (self);
  g_autofree char     *share = regress_cell_change (program);

  for (guint i = 0; i < self->causes->len; i++)
    {
      const RegressCause *cause = &g_array_index (self->causes, RegressCause, i);
      g_autofree char    *text = regress_cause_text (cause);
      g_autofree char    *alone = regress_cell_change (regress_effect (cause->effects, index));

      g_string_append_printf (out, "%s%s", bullet, text);
      if (*alone != '\0')
        g_string_append_printf (out, " (alone: %s %s)", regress_change_name (change), alone);
      g_string_append_c (out, '\n');
    }
  if (self->causes->len == 0)
    g_string_append_printf (out, "%s%s\n", bullet, said);
  else if (fabs (program) > REGRESS_EQUAL)
    g_string_append_printf (out, "%s%s (alone: %s %s)\n", bullet, said,
                            regress_change_name (change), share);
}

/* The same of the headline. */
static void
append_causes (const RegressComparison *self, const char *bullet, GString *out)
{
  guint index = 0; /* words moved, and no number did: whose effects nobody knows */

  regress_headline (self, &index);
  append_causes_of (self, index, bullet, out);
}

/* ---- JUnit ----------------------------------------------------------------------------------- */

static void
append_case (const RegressComparison *self, guint index, GString *out)
{
  const RegressChange *change = &g_array_index (self->changes, RegressChange, index);
  g_autofree char     *scenario = printable_name (self->now->scenario);
  g_autofree char     *text = regress_change_text (change);
  g_autoptr (GString)  causes = g_string_new (NULL);
  g_autofree char *begin = g_markup_printf_escaped ("    <testcase classname=\"%s\" name=\"%s\"",
                                                    scenario, regress_change_name (change));
  g_autofree char *failure = NULL;

  g_string_append (out, begin);
  if (change->verdict != REGRESS_MOVED)
    {
      g_string_append (out, "/>\n");
      return;
    }
  append_causes_of (self, index, "", causes);
  failure =
      g_markup_printf_escaped ("      <failure message=\"%s\">%s</failure>\n", text, causes->str);
  g_string_append_printf (out, ">\n%s    </testcase>\n", failure);
}

void
report_regress_junit (const GPtrArray *comparisons, const char *baseline, GString *out)
{
  guint            n = 0, failures = 0;
  g_autofree char *file = printable_name (baseline);
  g_autofree char *suite = NULL;

  for (guint i = 0; i < comparisons->len; i++)
    {
      const RegressComparison *self = g_ptr_array_index (comparisons, i);

      n += self->changes->len;
      failures += self->n[REGRESS_MOVED];
    }
  suite = g_markup_printf_escaped ("  <testsuite name=\"shardsim regress\" file=\"%s\" "
                                   "tests=\"%u\" failures=\"%u\">\n",
                                   file, n, failures);
  g_string_append_printf (out,
                          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                          "<testsuites tests=\"%u\" failures=\"%u\">\n%s",
                          n, failures, suite);
  for (guint i = 0; i < comparisons->len; i++)
    {
      const RegressComparison *self = g_ptr_array_index (comparisons, i);

      for (guint c = 0; c < self->changes->len; c++)
        append_case (self, c, out);
    }
  g_string_append (out, "  </testsuite>\n</testsuites>\n");
}

/* ---- Markdown -------------------------------------------------------------------------------- */

/* TEXT in a cell of a table. */
static void
append_cell (const char *text, GString *out)
{
  g_autofree char *name = printable_name (text);

  g_string_append (out, "| ");
  for (const char *c = name; *c != '\0'; c++)
    g_string_append_printf (out, "%s%c", *c == '|' || *c == '\\' ? "\\" : "", *c);
  g_string_append_c (out, ' ');
}

static void
append_row (const RegressComparison *self, const RegressChange *change, GString *out)
{
  g_autofree char *was = NULL, *now = NULL;
  g_autofree char *percent = regress_cell_change (change->change);
  g_autofree char *limit = regress_cell_limit (&change->limit);

  regress_cells (change, &was, &now);
  append_cell (self->now->scenario, out);
  append_cell (regress_change_name (change), out);
  append_cell (was, out);
  append_cell (now, out);
  append_cell (percent, out);
  append_cell (limit, out);
  append_cell (
      change->verdict == REGRESS_MOVED ? "**moved**" : regress_verdict_name (change->verdict), out);
  g_string_append (out, "|\n");
}

void
report_regress_markdown (const GPtrArray *comparisons, const char *baseline, GString *out)
{
  g_autofree char *summary = regress_summary (comparisons, baseline);
  gboolean         any = FALSE;

  g_string_append_printf (out, "### shardsim regress\n\n%s\n", summary);
  for (guint i = 0; i < comparisons->len; i++)
    {
      const RegressComparison *self = g_ptr_array_index (comparisons, i);

      for (guint c = 0; c < self->changes->len; c++)
        {
          const RegressChange *change = &g_array_index (self->changes, RegressChange, c);

          if (change->verdict == REGRESS_SAME || change->verdict == REGRESS_NEW)
            continue;
          if (!any)
            g_string_append (out, "\n| scenario | result | baseline | now | change | limit | |\n"
                                  "| --- | --- | ---: | ---: | ---: | ---: | --- |\n");
          any = TRUE;
          append_row (self, change, out);
        }
    }
  for (guint i = 0; i < comparisons->len; i++)
    {
      const RegressComparison *self = g_ptr_array_index (comparisons, i);
      g_autofree char         *name = printable_name (self->now->scenario);

      if (self->was == NULL || self->n[REGRESS_MOVED] == 0)
        continue;
      g_string_append_printf (out, "\n%s:\n\n", name);
      append_causes (self, "- ", out);
    }
}

/* ---- annotations ----------------------------------------------------------------------------- */

/* What ends a property or a message is escaped as the runner reads it back. */
static void
append_escaped (const char *text, const char *special, GString *out)
{
  for (const char *c = text; *c != '\0'; c++)
    if (strchr (special, *c) != NULL)
      g_string_append_printf (out, "%%%02X", (guint) (guchar) *c);
    else
      g_string_append_c (out, *c);
}

void
report_regress_annotations (const GPtrArray *comparisons, const char *baseline, GString *out)
{
  for (guint i = 0; i < comparisons->len; i++)
    {
      const RegressComparison *self = g_ptr_array_index (comparisons, i);
      guint                    index = 0;
      const RegressChange     *headline = regress_headline (self, &index);
      g_autoptr (GString)      message = g_string_new (self->now->scenario);

      if (self->n[REGRESS_MOVED] == 0)
        continue;
      if (headline != NULL)
        {
          g_autofree char *text = regress_change_text (headline);

          g_string_append_printf (message, ": %s", text);
        }
      g_string_append_printf (message, "; %u of %u results moved\n", self->n[REGRESS_MOVED],
                              self->changes->len);
      append_causes (self, "", message);
      g_strchomp (message->str);
      g_string_append (out, "::error file=");
      append_escaped (baseline, "%\r\n:,", out);
      g_string_append_printf (
          out, ",line=%u::", headline != NULL ? headline->was->mark.line : self->was->mark.line);
      append_escaped (message->str, "%\r\n", out);
      g_string_append_c (out, '\n');
    }
}
