#include "evidence/figures/figure-table.h"

#include <math.h>
#include <string.h>

#include "base/config/suggest.h"
#include "base/config/units.h"
#include "evidence/figures/figure-metric.h"

GArray *
figure_table_lines (const FigureTable *table)
{
  GArray *lines = g_array_new (FALSE, TRUE, (guint) MAX (table->size, 1));

  g_array_set_clear_func (lines, table->clear);
  return lines;
}

SourceMark
figure_table_mark (const CsvReader *reader, const char *column)
{
  const gint at = csv_reader_find (reader, column);

  return at >= 0 ? csv_reader_mark (reader, (guint) at) : (SourceMark){ 0 };
}

const char *
figure_table_cell (const CsvReader *reader, const char *column)
{
  const gint at = csv_reader_find (reader, column);

  return at >= 0 ? csv_reader_field (reader, (guint) at) : "";
}

double
figure_rounding (const char *number)
{
  const char *point = strchr (number, '.');

  return 0.5 * pow (10, point != NULL ? -(double) strlen (point + 1) : 0);
}

/* The number that TEXT is in COLUMN, which MARK is the place of. FALSE after a diagnostic. */
static gboolean
read_number (const FigureColumn *column, const char *text, const SourceMark *mark, double *value,
             DiagList *diags)
{
  const gboolean ranged = column->type <= FIGURE_WHOLE, whole = column->type == FIGURE_WHOLE;
  char          *end;

  *value = g_ascii_strtod (text, &end);
  if (ranged && *text != '\0' && *end == '\0' && *value >= column->min && *value <= column->max
      && (!whole || *value == floor (*value)))
    return TRUE;
  if (!ranged && *end == '\0' && number_is_usable (*value)
      && (*value > 0 || (*value == 0 && column->type == FIGURE_FROM_0)))
    return TRUE;
  if (ranged)
    diag_error (diags, mark, NULL, "expected a %snumber from %g to %g for '%s', got '%s'",
                whole ? "whole " : "", column->min, column->max, column->name, text);
  else if (column->type == FIGURE_GAIN)
    diag_error (diags, mark, NULL, "expected a number above 0 or nothing, got '%s'", text);
  else
    diag_error (diags, mark, NULL, "expected a number %s 0 for '%s', got '%s'",
                column->type == FIGURE_ABOVE_0 ? "above" : "from", column->name, text);
  return FALSE;
}

/* TEXT, of COLUMN, in LINE. FALSE after a diagnostic at MARK. */
static gboolean
read_cell (const FigureColumn *column, const char *text, const SourceMark *mark, gpointer line,
           GStringChunk *strings, DiagList *diags)
{
  double value = NAN;

  if (column->type <= FIGURE_METRIC)
    {
      const gint       word = column->words != NULL ? name_index (text, column->words) : -1;
      g_autofree char *hint = column->words != NULL ? suggest_hint (text, column->words) : NULL;

      G_STRUCT_MEMBER (const char *, line, column->offset) =
          word >= 0 ? column->words[word] : g_string_chunk_insert_const (strings, text);
      if (column->type == FIGURE_METRIC ? figure_metric_find (text) != NULL
                                        : word >= 0 || column->words == NULL)
        return TRUE;
      diag_error (diags, mark, hint, "unknown value '%s' for '%s'", text, column->name);
      return FALSE;
    }
  if ((*text != '\0' || (column->type != FIGURE_OPTIONAL && column->type != FIGURE_GAIN))
      && !read_number (column, text, mark, &value, diags))
    return FALSE;
  if (column->type == FIGURE_WHOLE)
    G_STRUCT_MEMBER (guint, line, column->offset) = (guint) value;
  else
    G_STRUCT_MEMBER (double, line, column->offset) =
        value * (column->scale > 0 ? column->scale : 1);
  return TRUE;
}

/* FALSE after a diagnostic: a column is missing, or of no use. */
static gboolean
check_columns (const CsvReader *reader, const FigureTable *table, DiagList *diags)
{
  g_autofree const char **names = g_new0 (const char *, table->n + 1);
  const guint             n_errors = diag_list_n_errors (diags);

  for (guint c = 0; c < table->n; c++)
    {
      names[c] = table->columns[c].name;
      if (csv_reader_find (reader, names[c]) < 0 && c + table->n_optional < table->n)
        csv_reader_missing (reader, names[c], NULL, diags);
    }
  if (!table->open)
    csv_reader_check_names (reader, names, diags);
  return diag_list_n_errors (diags) == n_errors;
}

/* Reads the row at which READER is into LINE, and appends it: once for each number of a list. */
static void
read_line (const FigureTable *table, const CsvReader *reader, gpointer self, gpointer line,
           GArray *lines, GStringChunk *strings, DiagList *diags)
{
  const char    *lists = table->lists != NULL ? figure_table_cell (reader, table->lists) : "";
  const guint    before = diag_list_n_errors (diags);
  gint           list = -1;
  g_auto (GStrv) values = NULL;

  for (guint c = 0; c < table->n; c++)
    {
      const FigureColumn *column = &table->columns[c];
      const SourceMark    mark = figure_table_mark (reader, column->name);

      if (g_str_equal (lists, column->name) && column->type >= FIGURE_NUMBER)
        list = (gint) c;
      else
        read_cell (column, figure_table_cell (reader, column->name), &mark, line, strings, diags);
    }
  if (*lists != '\0' && list < 0)
    {
      const SourceMark mark = figure_table_mark (reader, table->lists);

      diag_error (diags, &mark, NULL, "there is no column of numbers '%s'", lists);
    }
  if (diag_list_n_errors (diags) == before && table->check != NULL)
    table->check (self, line, reader, diags);
  if (diag_list_n_errors (diags) > before)
    return;
  if (list < 0)
    {
      g_array_append_vals (lines, line, 1);
      return;
    }
  values = g_strsplit (figure_table_cell (reader, lists), " ", -1);
  for (guint i = 0; values[i] != NULL; i++)
    {
      const SourceMark mark = figure_table_mark (reader, lists);

      if (!read_cell (&table->columns[list], values[i], &mark, line, strings, diags))
        return;
      G_STRUCT_MEMBER (double, line, table->listed) = g_ascii_strtod (values[i], NULL);
      g_array_append_vals (lines, line, 1);
    }
}

gboolean
figure_table_read (const char *file, const FigureTable *table, gpointer self, GArray *lines,
                   GStringChunk *strings, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  const guint           n_errors = diag_list_n_errors (diags);
  g_autofree gpointer   line = g_malloc (table->size);

  if (reader == NULL || !check_columns (reader, table, diags))
    return FALSE;
  while (csv_reader_next (reader, diags))
    {
      memset (line, 0, table->size);
      read_line (table, reader, self, line, lines, strings, diags);
    }
  return diag_list_n_errors (diags) == n_errors;
}
