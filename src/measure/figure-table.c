#include "measure/figure-table.h"

#include <math.h>
#include <string.h>

SourceMark
figure_table_mark (const CsvReader *reader, const char *column)
{
  return csv_reader_mark (reader, (guint) csv_reader_find (reader, column));
}

/* The number that TEXT is in COLUMN. FALSE after a diagnostic. */
static gboolean
read_number (const CsvReader *reader, const FigureColumn *column, const char *text, double *value,
             DiagList *diags)
{
  const gboolean   whole = column->type == FIGURE_WHOLE;
  const SourceMark mark = figure_table_mark (reader, column->name);
  char            *end;

  *value = g_ascii_strtod (text, &end);
  if (*text != '\0' && *end == '\0' && *value >= column->min && *value <= column->max
      && (!whole || *value == floor (*value)))
    return TRUE;
  diag_error (diags, &mark, NULL, "expected a %snumber from %g to %g for '%s', got '%s'",
              whole ? "whole " : "", column->min, column->max, column->name, text);
  return FALSE;
}

static void
read_field (const CsvReader *reader, const FigureColumn *column, gpointer row,
            GStringChunk *strings, DiagList *diags)
{
  const char *text = csv_reader_field (reader, (guint) csv_reader_find (reader, column->name));
  double      value = NAN;

  if (column->type == FIGURE_WORD)
    {
      G_STRUCT_MEMBER (const char *, row, column->offset) =
          g_string_chunk_insert_const (strings, text);
      return;
    }
  if ((column->type != FIGURE_OPTIONAL || *text != '\0')
      && !read_number (reader, column, text, &value, diags))
    return;
  if (column->type == FIGURE_WHOLE)
    G_STRUCT_MEMBER (guint, row, column->offset) = (guint) value;
  else
    G_STRUCT_MEMBER (double, row, column->offset) = value;
}

/* FALSE after a diagnostic: a column is missing, or of no use. */
static gboolean
check_columns (const CsvReader *reader, const FigureColumn *columns, guint n, DiagList *diags)
{
  g_autofree const char **names = g_new0 (const char *, n + 1);
  guint                   n_errors = diag_list_n_errors (diags);

  for (guint c = 0; c < n; c++)
    {
      names[c] = columns[c].name;
      if (csv_reader_find (reader, names[c]) < 0)
        csv_reader_missing (reader, names[c], NULL, diags);
    }
  csv_reader_check_names (reader, names, diags);
  return diag_list_n_errors (diags) == n_errors;
}

gboolean
figure_table_read (const char *file, const FigureColumn *columns, guint n, FigureCheck check,
                   gpointer self, GArray *rows, GStringChunk *strings, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  guint                 n_errors = diag_list_n_errors (diags);
  g_autofree gpointer   row = g_malloc (g_array_get_element_size (rows));

  if (reader == NULL || !check_columns (reader, columns, n, diags))
    return FALSE;
  while (csv_reader_next (reader, diags))
    {
      const guint before = diag_list_n_errors (diags);

      memset (row, 0, g_array_get_element_size (rows));
      for (guint c = 0; c < n; c++)
        read_field (reader, &columns[c], row, strings, diags);
      if (diag_list_n_errors (diags) == before && check != NULL)
        check (self, row, reader, diags);
      if (diag_list_n_errors (diags) == before)
        g_array_append_vals (rows, row, 1);
    }
  return diag_list_n_errors (diags) == n_errors;
}
